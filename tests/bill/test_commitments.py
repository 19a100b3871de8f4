# SPDX-License-Identifier: Apache-2.0
"""Commitments: the price with one, and what is owed in all. Shares are worked out here from the prices that the sources have:
AWS, one year, paid in advance (price list of 2023-08-30, us-east-1): g5.xlarge 0.591553 of 1.006 USD an hour, p3.2xlarge 1.949201 of
3.06, p4d.24xlarge 18.830479 of 32.7726, until AWS lowered its prices in June 2025. Google (catalogue of 2024-11-07, us-central1, USD a
month): n1-standard-1 21.8443375 and 15.6046625 of 730 × 0.04749975, a2-highgpu-1g 1689.3711392 and 938.56707798 of 2681.57105,
a3-highgpu-1g 5601.26008308 and 3546.37477674 of 8074.71249111, g2-standard-12 460.09144542 and 328.63672535 of 730.30388951."""
import json
import os
import subprocess
import sys
from fractions import Fraction as F
from pathlib import Path

sys.path.insert(0, os.environ["TESTS"])
from tap import done, report  # noqa: E402

FARE = os.environ["FARE"]
CONFIG = Path(os.environ["XDG_CONFIG_HOME"]) / "fare"
NAMES = {"aws": ["g5.xlarge", "p3.2xlarge", "p4d.24xlarge", "p5.48xlarge"],
         "gcp": ["n1-standard-1", "n1-standard-8+1xV100", "a2-highgpu-1g", "a2-ultragpu-1g", "a3-highgpu-1g", "g2-standard-12"],
         "azure": ["Standard_NC24ads_A100_v4"]}
(CONFIG / "offers").mkdir(parents=True, exist_ok=True)
(CONFIG / "offers" / "test.csv").write_text(
    "provider,name,region,kind,gpu,gpus,vcpus,price,currency,date,source\n"
    + "".join(f"{p},{n},here,on-demand,,0,4,10.00,USD,2024-11-07,test\n" for p in NAMES for n in NAMES[p])
    + "gcp,n1-standard-1,here,spot,,0,4,1.00,USD,2024-11-07,test\n")


def quote(offer, months, date, *args):
    p = subprocess.run([FARE, "quote", "--time", "1h", "--boot", "0", "--book", "-", "--offer", offer, "--commit", str(months), "--date", date,
                        *args], capture_output=True, text=True)
    return p.stdout if p.returncode == 0 else p.stderr


def bill(*args):
    return json.loads(quote(*args, "--json"))["bills"][0]


# ---- the share is that of the source, to a thousandth; owed in all: 730 hours × months at that price
for name, months, paid, of, date in (
        ("aws/g5.xlarge@here", 12, "0.591553", "1.006", "2026-11-01"), ("aws/p3.2xlarge@here", 12, "1.949201", "3.06", "2026-11-01"),
        ("aws/p4d.24xlarge@here", 12, "18.830479", "32.7726", "2025-05-31"),
        ("gcp/n1-standard-1@here", 12, "21.8443375", str(F(730) * F("0.04749975")), "2026-11-01"),
        ("gcp/n1-standard-1@here", 36, "15.6046625", str(F(730) * F("0.04749975")), "2026-11-01"),
        ("gcp/a2-highgpu-1g@here", 12, "1689.3711392", "2681.57105", "2026-11-01"),
        ("gcp/a2-highgpu-1g@here", 36, "938.56707798", "2681.57105", "2026-11-01"),
        ("gcp/a3-highgpu-1g@here", 12, "5601.26008308", "8074.71249111", "2026-11-01"),
        ("gcp/a3-highgpu-1g@here", 36, "3546.37477674", "8074.71249111", "2026-11-01"),
        ("gcp/g2-standard-12@here", 12, "460.09144542", "730.30388951", "2026-11-01"),
        ("gcp/g2-standard-12@here", 36, "328.63672535", "730.30388951", "2026-11-01")):
    b = bill(name, months, date)
    share = F(b["rate"]) / 10
    report(f"{name}, {months} months", abs(share - F(paid) / F(of)) <= F(6, 10000) and b["committed_months"] == months
           and F(b["committed"]) == F(b["rate"]) * 730 * months and F(b["total"]) == F(b["rate"]), b)
    report(f"{name}, {months} months: with its source", any("used or not; github.com/" in n and "20" in n for n in b["notes"]), b["notes"])

# ---- nothing to cite: unknown, at the price without one
for name, months, date in (("aws/p5.48xlarge@here", 12, "2026-11-01"), ("aws/g5.xlarge@here", 36, "2026-11-01"),
                           ("aws/p4d.24xlarge@here", 12, "2025-06-01"), ("gcp/a2-ultragpu-1g@here", 36, "2026-11-01"),
                           ("gcp/n1-standard-8+1xV100@here", 36, "2026-11-01"), ("azure/Standard_NC24ads_A100_v4@here", 36, "2026-11-01")):
    b = bill(name, months, date)
    report(f"{name}, {months} months on {date}: unknown", b["committed"] == "unknown" and "committed_months" not in b and b["total"] == "10.00"
           and any(f"the price with a commitment of {months} months is unknown" in n for n in b["notes"]), b)
b = bill("gcp/n1-standard-1@here:spot", 36, "2026-11-01")
report("spot machines have none", "committed" not in b, b)

# ---- in a list: what is owed stands beside the amount, and the advice says it
p = subprocess.run([FARE, "quote", "--time", "1h", "--gpu", "a100", "--boot", "0", "--provider", "gcp", "--commit", "36"], capture_output=True, text=True)
text = " ".join(p.stdout.split())
report("a list has a column for it", "owed in all" in text and "A100 gcp/a2-highgpu-1g 1.29 ≥2.10 33787.84" in text, text)
report("a machine without a known price is marked", "gcp/a2-ultragpu-1g 5.03 ≥1.88 unknown" in text, text)
# An hour of a2-highgpu-1g costs 1.29 USD and owes 33,787.84; one of a2-ultragpu-1g costs 5.03 and owes nothing.
rows = json.loads(subprocess.run(p.args + ["--kind", "on-demand", "--json"], capture_output=True, text=True).stdout)["bills"]
report("what is owed decides the order", [b["name"] for b in rows] == ["a2-ultragpu-1g", "a2-highgpu-1g"]
       and F(rows[1]["owed"]) == F(rows[1]["rate"]) * 730 * 36 > F(rows[0]["total"]) > F(rows[1]["total"]) > 0, rows)
report("the cheapest owes nothing", "Cheapest: gcp/a2-ultragpu-1g, 5.03 USD" in text and "owed in all" in text, text)
one = " ".join(subprocess.run([FARE, "quote", "--time", "1h", "--gpu", "a100", "--gpus", "1", "--boot", "0", "--provider", "gcp", "--kind", "on-demand",
                               "--commit", "12", "--budget", "100", "--hours-per-month", "20"], capture_output=True, text=True).stdout.split())
# A month of a commitment is 730 hours, used or not: 20 hours of another machine are cheaper.
report("a month of a commitment counts whole", "20 h a month on 1 × A100 (20.0 runs): gcp/a2-ultragpu-1g, " in one, one)

p = subprocess.run([FARE, "quote", "--time", "1h", "--boot", "0", "--offer", "gcp/a2-highgpu-1g@us-central1", "--commit", "36", "--hours-per-month", "20"],
                   capture_output=True, text=True)
month = f"{float(F(rows[1]['rate']) * 730):.2f} USD a month, committed for 36 months ({float(F(rows[1]['rate']) * 730 * 36):.2f} USD in all, used or not)"
report("730 hours of it, however few are used", " ".join(p.stdout.split()).count(month) == 3, (month, p.stdout))

# ---- tariffs of the user's own
(CONFIG / "providers").mkdir(parents=True, exist_ok=True)
for row, good in (('{"months": 12, "permille": 588}', True), ('{"months": 12, "percent": 58, "permille": 588}', False),
                  ('{"months": 12}', False), ('{"months": 12, "permille": 1001}', False), ('{"months": 12, "permille": 0}', False),
                  ('{"months": 12, "percent": 50, "valid_to": "soon"}', False)):
    (CONFIG / "providers" / "own.json").write_text(
        '{"schema": "fare.tariffs/1", "tariffs": [{"id": "own", "provider": "azure", "commitments": [' + row + "]}]}")
    text = quote("azure/Standard_NC24ads_A100_v4@here", 12, "2026-11-01", "--json")
    fine = json.loads(text)["bills"][0].get("committed_months") == 12 if text.startswith("{") else "commitments" not in text
    report(f"a commitment of {row} is {'read' if good else 'refused'}", fine == good, text[-500:])

# ---- fees in another currency than the rate: what is owed is the rate's, in USD; spot machines have no commitments; a tariff by the month keeps
# its unit, also where that is assumed
(CONFIG / "offers" / "other.csv").write_text(
    "provider,name,region,kind,gpu,gpus,vcpus,price,currency,date,source\n"
    "mixed,one,here,on-demand,,0,4,0.50,GBP,2026-10-30,test\nspotty,one,here,spot,,0,4,1.50,USD,2026-10-30,test\n"
    "monthly,one,here,monthly,,0,4,30.00,USD,2026-10-30,test\n")
twelve = '"commitments": [{"months": 12, "percent": 50}]'
(CONFIG / "providers" / "own.json").write_text(
    '{"schema": "fare.tariffs/1", "tariffs": ['
    f'{{"id": "mixed", "provider": "mixed", "currency": "EUR", "setup_fee": "1.23", {twelve}}},'
    f'{{"id": "spotty", "provider": "spotty", "kind": "spot", {twelve}}},'
    '{"id": "monthly", "provider": "monthly", "kind": "monthly", "assumed": true, "per_s": 2592000, "unit_ms": 86400000}]}')
b = bill("mixed/one@here", 12, "2026-11-01")
pounds = F("0.25") * 730 * 12  # and the ECB's 1.1172 USD and 0.8338 GBP for a euro, of 2026-10-30
report("what is owed is converted as the rate is", F(b["committed"]) == pounds and abs(F(b["owed"]) - pounds * F("1.1172") / F("0.8338")) < F(1, 1000), b)
b = bill("spotty/one@here:spot", 12, "2026-11-01")
report("a spot machine has no commitment", F(b["rate"]) == F("1.50") and "committed_months" not in b, b)
b = bill("monthly/one@here:monthly", 12, "2026-11-01")
report("an assumed tariff by the month keeps its unit of a day", F(b["total"]) == 1, b)  # an hour: one of thirty days of 30 USD
done()
