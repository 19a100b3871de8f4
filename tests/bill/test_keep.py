# SPDX-License-Identifier: Apache-2.0
"""fare quote --keep: a machine that is kept after its training costs what its provider charges while it is stopped.

The rules are the providers' own (docs.digitalocean.com/products/droplets/details/pricing: full price until destroyed;
docs.hyperstack.cloud/docs/billing/states-and-billing: SHUTOFF at full price; Hetzner: until deleted, at most the month's
price; AWS: the volume alone; Paperspace in 2018: 5 USD a month, flat). The sums are done by hand in the comments."""
import csv
import io
import json
import os
import subprocess
import sys
from datetime import datetime
from fractions import Fraction as F
from pathlib import Path

sys.path.insert(0, os.environ["TESTS"])
import tap  # noqa: E402

FARE = os.environ["FARE"]
HERE = Path(os.environ["TMPDIR"])
CONFIG = Path(os.environ["XDG_CONFIG_HOME"]) / "fare"


def fare(*args):
    p = subprocess.run([FARE, *args], capture_output=True, text=True)
    assert p.returncode == 0, f"{args}: {p.returncode}\n{p.stdout}\n{p.stderr}"
    return p.stdout


def quote(offer, time, *more, date="2026-11-10"):
    return ("quote", "--time", time, "--offer", offer, "--date", date, "--boot", "0", "--image-time", "0s", *more)


def bill(offer, time, *more, date="2026-11-10"):
    return json.loads(fare(*quote(offer, time, *more, date=date), "--json"))["bills"][0]


def total(*args, **named):
    return F(bill(*args, **named)["total"])


def check(name, *pairs):
    wrong = [f"{got} is not {expected}" for got, expected in pairs if got != expected]
    tap.report(name, not wrong, "; ".join(wrong))


(CONFIG / "offers").mkdir(parents=True)
(CONFIG / "offers" / "test.csv").write_text("""\
provider,name,region,kind,gpu,gpus,price,currency,date,source
do,droplet,here,on-demand,,,0.14732,USD,2026-11-01,test
hyperstack,one,here,on-demand,H100,1,1.92,USD,2026-11-01,test
hetzner,small,here,on-demand,,,0.10,EUR,2026-11-01,test
hetzner,small,here,monthly,,,39.60,EUR,2026-11-01,test
aws,fast,here,on-demand,H100,1,3.60,USD,2026-11-01,test
aws,fast,here,spot,H100,1,1.20,USD,2026-11-01,test
cudo,one,here,on-demand,H100,1,2.00,USD,2026-11-01,test
paperspace,old,here,on-demand,,,0.36,USD,2018-02-01,test
""")
(CONFIG / "currencies.csv").write_text("date,currency,usd,source\n2026-11-01,EUR,1.25,test\n")

# Three days of a droplet are 72 h x 0.14732 = 10.60704 USD, not the minimum of 0.01 for ten seconds.
b = bill("do/droplet", "10s", "--keep", "3d")
lines = {i["what"]: F(i["amount"]) for i in b["items"]}
check("DigitalOcean charges a droplet until it is destroyed", (F(b["total"]), F("10.60704")), (lines["time while stopped"], F("10.59704")))

# 30 days x 24 h x 1.92 = 1382.40 USD, for a training of ten minutes as for one of ten days.
check("Hyperstack charges a machine that is shut off", *((total("hyperstack/one", t, "--keep", "30d"), F("1382.40")) for t in ("10m", "10h", "10d")))
check("and without --keep the training alone", (total("hyperstack/one", "10m"), F("0.32")))

# From the 10th, 504 h in November and 456 h in December, each capped at 39.60 EUR: 79.20 EUR x 1.25.
check("Hetzner's cap holds for each month in which it is kept", (total("hetzner/small", "10s", "--keep", "40d"), F(99)))

# A minute of the machine at 3.60 an hour, and 100 GB for 30 days at 0.08: 0.06 + 8.00. The disk is there before and after.
got = total("aws/fast", "10s", "--storage", "100GB", "--keep", "30d")
check("AWS charges the volume alone", (abs(got - F("8.06")) <= F(2, 10**9), True), (total("aws/fast", "10s", "--keep", "30d"), F("0.06")))

# The machine cannot go before its training ends: 100 GB for ten hours, not for one, and not for none.
whole = bill("aws/fast", "10h", "--storage", "100GB")
check("--keep shorter than the training changes nothing",
      *((bill("aws/fast", "10h", "--storage", "100GB", "--keep", k)["items"], whole["items"]) for k in ("0s", "1h", "10h")))

# February and March 2018: 2 x 5 USD; ten seconds at 0.36 an hour are 0.001.
check("a fee by the month is due for each month in which it is kept",
      (total("paperspace/old", "10s", "--keep", "20d", date="2018-02-20"), F("10.001")))

# 1000 GB at 0.08 a month are 80 / 720 an hour. Interruptions make ten hours longer: the disk is there until the training ends, and
# if that is before the end of --keep, until then. Without --storage the bill is that of the machines.
spot = ("aws/fast:spot", "10h", "--save-every", "1h", "--checkpoint-time", "2m")
pairs = []
for keep, mtbi in ((11, "2h"), (13, "2h"), (13, "9h"), (11, "200h"), (40, "2h")):
    named = (*spot, "--keep", f"{keep}h", "--mtbi", mtbi)
    with_disk, without = bill(*named, "--storage", "1000GB"), bill(*named)
    hours = max(F(keep), F(with_disk["time_s"]) / 3600)
    pairs.append((abs(F(with_disk["total"]) - F(without["total"]) - hours * 80 / 720) < F(1, 10**4), True))
    pairs.append((F(with_disk["time_s"]) > 3600 * keep, (keep, mtbi) in ((11, "2h"), (13, "2h"))))
check("a spot machine's disk is kept until its training ends, if that is later", *pairs)

# Most machines are taken in their first hour, which AWS does not charge: less is charged than used, and the export has all of the time.
b = bill(*spot, "--mtbi", "30m", "--save-every", "5m")
row = next(csv.DictReader(io.StringIO(fare(*quote(*spot, "--mtbi", "30m", "--save-every", "5m"), "--format", "focus"))))
ends = (datetime.fromisoformat(row["ChargePeriodEnd"]) - datetime.fromisoformat(row["ChargePeriodStart"])).total_seconds()
check("an hour that is broken off is not charged, but was used",
      (b["charged_s"] < 0.6 * b["time_s"], True), (abs(ends - b["time_s"]) <= 1, True),
      (abs(F(b["total"]) - F(b["charged_s"]) * F("1.20") / 3600) < F(1, 1000), True))

b = bill("cudo/one", "10s", "--keep", "3d")
check("what nobody says about a stopped machine is unknown, not free",
      (b.get("incomplete"), True), (any(n.startswith("the machine while stopped: not in the total") for n in b["notes"]), True),
      (bill("cudo/one", "10s").get("incomplete"), None))

row = next(r for r in csv.DictReader(io.StringIO(fare(*quote("do/droplet", "10s", "--keep", "3d"), "--format", "focus")))
           if r["ChargeDescription"] == "time while stopped")
check("an export has it as compute, at the price of an hour",
      (row["ServiceCategory"], "Compute"), (F(row["BilledCost"]), F("10.59704")), (F(row["ListUnitPrice"]), F("0.14732")),
      (row["ChargePeriodEnd"], "2026-11-13T00:00:00Z"))
tap.done()
