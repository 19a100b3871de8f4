# SPDX-License-Identifier: Apache-2.0
"""--currency in every command that prints money. The expected rates are the European Central Bank's: 1.1172 USD for a euro on
2026-10-30, 1.1318 on 2018-10-31 and 1.2141 on 2014-12-31, the first day of the shipped history; a dollar was 0.83380 / 1.1172 pounds on
2026-10-30."""
import json
import os
import re
import subprocess
import sys
from fractions import Fraction as F
from pathlib import Path

sys.path.insert(0, os.environ["TESTS"])
from tap import done, report  # noqa: E402

FARE = os.environ["FARE"]
HERE = Path(os.environ["TMPDIR"])
CONFIG = Path(os.environ["XDG_CONFIG_HOME"]) / "fare"


def fare(*args, code=0):
    p = subprocess.run([FARE, *args], capture_output=True, text=True)
    if p.returncode != code:
        raise AssertionError(f"{args}: {p.returncode}\n{p.stdout}\n{p.stderr}")
    return " ".join((p.stdout + p.stderr).split())


def near(text, value):
    return text is not None and abs(F(text) - value) <= F(1, 10**9)


# ---- a currency that nobody knows
for args in (["quote", "tweets"], ["prices", "h100"], ["cron", "@hourly", "--up", "2m", "--offer", "gcp/n1-standard-1:spot"],
             ["compare", "--published", "2018-tweets"], ["report", "--published", "2018-tweets", "-o", "-"], ["run", "l1"],
             ["run", "--", "touch", str(HERE / "ran")], ["--no-report"], ["prices", "show", "aws/p5.48xlarge"]):
    at = 1 if "--" in args else len(args)
    text = fare(*args[:at], "--currency", "EUX", *args[at:], code=2)
    report(f"{' '.join(args[:2])}: an unknown currency is refused with those nearby",
           "no exchange rate for the currency 'EUX'" in text and "did you mean EUR?" in text, text)
report("before anything runs", not (HERE / "ran").exists())
text = fare("prices", "h100", "--currency", "Q", code=2)
report("with none nearby, all are listed", "known are " in text and "EUR" in text and "JPY" in text and "USD" in text, text)

# ---- prices
(CONFIG / "offers").mkdir(parents=True, exist_ok=True)
(CONFIG / "offers" / "test.csv").write_text(
    "provider,name,region,kind,gpu,gpus,vcpus,price,currency,date,source\n"
    "acme,one,,on-demand,A100-80GB-SXM,1,8,11.172,USD,2026-10-30,test\nacme,old,,on-demand,K40,1,8,1.00,USD,2013-06-01,test\n"
    "acme,plain,,on-demand,,0,2,3600.00,USD,2026-10-30,test\n")
AT = ("--date", "2026-10-31", "--book", "-", "--currency")
text = fare("prices", "acme/", "--gpu", "A100-80GB-SXM", *AT, "EUR")
report("prices: 11.172 USD an hour are 10 EUR", "on demand machine EUR" in text and " 11.17 11.17 10.00 " in text, text)
report("prices: the rate's date is stated once", text.count("1 EUR = 1.1172 USD on 2026-10-30") == 1, text)
got = json.loads(subprocess.run([FARE, "prices", "acme/", "--gpu", "A100-80GB-SXM", *AT, "EUR", "--json"], capture_output=True, text=True).stdout)
one = got["offers"][0]
report("prices: JSON has both", one["price_per_hour"] == "11.172" and one["currency"] == "USD" and one["local_currency"] == "EUR"
       and near(one["local_price_per_hour"], F(10)) and "2026-10-30" in got["exchange"], got)
text = fare("prices", "acme/one", *AT, "GBP")
report("prices: one offer, in pounds: 10 × 0.8338", "GBP 8.34 an hour (1 GBP = 1.3398" in text, text)
text = fare("prices", "acme/old", "--date", "2013-07-01", "--book", "-", "--currency", "EUR")
report("prices: before the history", "EUR unknown (amounts in EUR are unknown: the first known rate is of 2014-12-31)" in text, text)

# ---- quote, at a date
QUOTE = ("quote", "--time", "1h", "--boot", "0", "--book", "-")
bill = json.loads(subprocess.run([FARE, *QUOTE, "--offer", "acme/one", *AT[:2], "--currency", "EUR", "--json"], capture_output=True,
                                 text=True).stdout)["bills"][0]
report("quote: an hour costs 11.172 USD, 10 EUR", bill["total"] == "11.172" and bill["local_currency"] == "EUR" and near(bill["local_total"], F(10)),
       bill)
bill = json.loads(subprocess.run([FARE, *QUOTE, "--offer", "acme/old", "--date", "2013-07-01", "--currency", "EUR", "--json"],
                                 capture_output=True, text=True).stdout)["bills"][0]
report("quote: before the history there is no amount, and the bill says so", "local_total" not in bill and bill["total"] == "1.00"
       and any("unknown: the first known rate is of 2014-12-31" in n for n in bill["notes"]), bill)

# A dollar was 175.68 / 1.1172 yen, which have no hundredths: 1756.8 for that hour.
text = fare(*QUOTE, "--offer", "acme/one", *AT[:2], "--currency", "JPY")
report("quote: yen are whole", "the same in JPY 1757" in text and "1757." not in text, text)
text = fare("prices", "acme/one", *AT, "JPY")
report("prices: yen are whole", "JPY 1757 an hour" in text, text)

# ---- cron: the published task costs 0.76 USD a month
record = json.loads(subprocess.run([FARE, "cron", "0 */4 * * *", "--up", "2m", "--offer", "gcp/n1-standard-1:spot", "--date", "2018-11-01",
                                    "--currency", "EUR", "--json"], capture_output=True, text=True).stdout)
report("cron: USD and EUR", near(record["local_total"], F(record["total"]) / F("1.1318")) and record["local_currency"] == "EUR", record)
text = fare("cron", "0 */4 * * *", "--up", "2m", "--offer", "gcp/n1-standard-1:spot", "--date", "2018-11-01", "--currency", "EUR")
report("cron: both in the table, the rate once", "total 0.76 0.06 EUR 0.672 0.053 the total in this currency" in text
       and text.count("1 EUR = 1.1318 USD on 2018-10-31") == 1, text)


# ---- compare and report: 1 h and 3 h on a machine for 11.172 USD an hour; runs of one row on two days each at its own rate
def record_of(name, day, hours, **more):
    return {"schema": "fare.run/1", "id": f"{day.replace('-', '')}T000000Z-{name}", "workload": "mlp", "framework": "fare", "full": True,
            "started": f"{day}T00:00:00Z", "machine": {"name": name, "cpu": name}, "ended": "finished",
            "labels": [{"key": "price_per_hour_usd", "value": "11.172"}], "phases": {"wall_ns": hours * 3600 * 10**9}, **more}


runs = [record_of("desk", "2026-11-01", 1), record_of("shed", "2026-11-01", 3), record_of("attic", "2026-11-01", 2),
        record_of("attic", "2018-11-01", 2)]
(HERE / "runs.jsonl").write_text("".join(json.dumps(r) + "\n" for r in runs))
print("#", fare("runs", "import", str(HERE / "runs.jsonl")))
p = subprocess.run([FARE, "compare", "--currency", "EUR", "--rule", "prorated", "--json"], capture_output=True, text=True)
rows = {r["machine"]: r["cost"] for w in json.loads(p.stdout)["workloads"] for r in w["rows"] + w["apart"]}
report("compare: 1 h is 10 EUR, 3 h are 30", near(rows["desk"]["local"], F(10)) and near(rows["shed"]["local"], F(30))
       and rows["desk"]["usd"] == "11.172" and rows["desk"]["local_currency"] == "EUR", rows)
mean = (F(20) + F("22.344") / F("1.1318")) / 2
report("compare: each run at the rate of its own day", near(rows["attic"]["local"], mean)
       and rows["attic"]["exchange"].endswith("each run at the rate of its own day"), rows["attic"])
text = fare("compare", "--currency", "EUR", "--rule", "prorated", "desk", "shed")
report("compare: a column, and the rate once", "EUR cost ÷" in text and " 10.00 " in text and text.count("1 EUR = 1.1172 USD on 2026-10-30") == 1, text)
text = fare("compare", "--currency", "EUR", "--rule", "prorated", "desk", "shed", "--format", "md")
report("compare: in Markdown", "| 11.17, 10.00 EUR |" in text and text.count("1 EUR = ") == 1, text)
text = fare("compare", "--currency", "EUR", "--rule", "prorated", "desk", "shed", "--format", "csv")
report("compare: in CSV", ",EUR,10.00,," in text or ",EUR,10," in text, text)
text = fare("report", "--workload", "mlp", "--currency", "EUR", "--rule", "prorated", "--format", "html", "-o", "-").replace("\u00a0", " ")
report("report: beside USD", "11.17, 10.00 EUR" in text and "1 EUR = 1.1172 USD on 2026-10-30" in text, text[-3000:])
text = fare("compare", "--currency", "EUR", "--rule", "prorated", "desk", "shed", "--date", "2013-07-01", "--price", "11.172")
report("compare: before the history", "unknown" in text and "the first known rate is of 2014-12-31" in text, text)

# ---- run and bare fare
text = fare("run", "l1", "--n", "64", "--m", "64", "--dim", "16", "--max-time", "100ms", "--no-ledger", "--no-cloud", "--offer", "acme/plain", "--currency", "EUR")
report("run: the bill in both", " EUR) for this run" in text and "; 1 EUR = " in text, text)
text = fare("run", "--no-ledger", "--no-cloud", "--offer", "acme/plain", "--currency", "EUR", "--", "true")
report("run: a command's bill in both", " EUR) for this run" in text and text.count("1 EUR = ") == 1, text)
p = subprocess.run([FARE, "--no-ledger", "--no-cloud", "--no-report", "--offer", "acme/plain", "--currency", "EUR", "--json", "--", "sleep", "1"],
                   capture_output=True, text=True)
bills = [b for q in json.loads(p.stdout)["quotes"] for b in q["bills"] + q.get("estimates", [])]
report("bare fare: bills in both", bills and all(b["local_currency"] == "EUR" and "local_total" in b for b in bills), p.stdout[-2000:] + p.stderr)
text = fare("--no-ledger", "--no-cloud", "--no-report", "--offer", "acme/plain", "--currency", "EUR", "--", "sleep", "1")
report("bare fare: a column, and the rate once", re.search(r" on demand EUR 2 vCPU acme/plain 5 min 01 s 5 min 00 s 182.00-3600.00 ", text) and text.count("1 EUR = ") == 2, text)
done()
