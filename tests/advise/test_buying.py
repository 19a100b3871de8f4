# SPDX-License-Identifier: Apache-2.0
"""Rent or buy, against the sums of the published comparisons of 2017 and 2018 (in the comments)."""
import json
import os
import re
import subprocess
import sys

sys.path.insert(0, os.environ["TESTS"])
from tap import done, report  # noqa: E402

FARE = os.environ["FARE"]


def fare(*args):
    p = subprocess.run([FARE, *args], capture_output=True, text=True)
    return " ".join((p.stdout + p.stderr).split())


def quote(*args):
    p = subprocess.run([FARE, "quote", *args, "--json"], capture_output=True, text=True)
    return json.loads(p.stdout) if p.returncode == 0 else {"error": p.stderr, "advice": [p.stderr]}


def days(text, rent):
    m = re.search(re.escape(rent) + r"\S* after [^:]+ of use: ([\d.]+) days", text)
    return m and float(m[1])


# ---- speeds only: 2500 / (0.90 x 24 x 167 / 43) = 29.8 days, as the post of 2017 says
TI = ("published-2017-inception-gtx-1080-ti", "--buy", "2500", "--date", "2017-04-15")
text = fare("quote", *TI)
report("speeds alone tell when buying has paid", days(text, "aws/p2.xlarge") == 29.8 and "on 2017-05-14" in text, text)
report("and say that they are relative", "speeds are relative" in text, text)
report("cheaper rents are named too", (days(text, "paperspace/P5000") or 0) > 100, text)
report("the same in JSON", "29.8 days" in " ".join(quote(*TI)["advice"]), quote(*TI))
report("no bill of another machine stands beside it", "own/this machine" not in text, text)
named = fare("quote", *TI, "--offer", "aws/p2.xlarge")
report("against one offer", days(named, "aws/p2.xlarge") == 29.8 and "paperspace" not in named, named)
report("with power: 0.3 kW at 0.20 are 0.06 an hour", days(fare("quote", *TI, "--watts", "300", "--kwh", "0.20"), "aws/p2.xlarge")
       == round(2500 / ((0.90 * 167 / 43 - 0.06) * 24), 1), fare("quote", *TI, "--watts", "300", "--kwh", "0.20"))
for form in ("md", "html"):
    out = fare("report", *TI, "--format", form, "-o", "-")
    report(f"the report says so too ({form})", "29.8 days" in out, out[:3000])

# ---- the rented machine's own time: a GTX 1080 takes 2.27 h, p2.xlarge 3.62 h: 2500 / (0.90 x 24 x 3.62 / 2.27) = 72.6 days
GTX = ("published-2018-tweets-hetzner-ex51-ssd-gpu", "--offer", "aws/p2.xlarge", "--buy", "2500", "--date", "2018-02-15")
text = fare("quote", *GTX)
report("with --offer the time measured on the rented machine counts", days(text, "aws/p2.xlarge") == 72.6, text)
report("the bill is that machine's", quote(*GTX)["bills"][0]["run"] == "published-2018-tweets-aws-p2-xlarge", quote(*GTX))
# p3.2xlarge as its own rent: as fast as the bought one, 8000 / (3.06 x 24) = 108.9 days
V100 = ("published-2018-tweets-aws-p3-2xlarge", "--offer", "aws/p3.2xlarge", "--buy", "8000", "--date", "2018-02-15")
report("a rented machine like the bought one is as fast", days(fare("quote", *V100), "aws/p3.2xlarge") == 108.9,
       fare("quote", *V100))

# ---- a machine that was not measured, or by another run
P2 = ("published-2018-tweets-aws-p2-xlarge", "--date", "2018-02-15", "--buy", "2500")
text = fare("quote", *P2, "--gpu", "gtx1080", "--offer", "aws/p2.xlarge")
# Two machines have a GTX 1080 and one GPU in use, 2.27 h and 2.49 h; the slower one is the median:
# 2500 / (0.90 x 24 x 3.62 / 2.49) = 79.6 days
report("the GPU to buy was measured by other runs", days(text, "aws/p2.xlarge") == 79.6
       and "Buying a machine with 1 × GTX1080" in text, text)
got = quote(*P2, "--gpu", "rtx4090", "--offer", "aws/p2.xlarge")
text = " ".join(got["advice"])
own = next((b for b in got.get("estimates", []) if b["provider"] == "own"), {})
rent = got["bills"][0] if got.get("bills") else {"time_s": 0, "startup_s": 0}
want = own and 2500 / (0.90 * 24 * (rent["time_s"] - rent["startup_s"]) / own["time_s"])
report("a GPU that nobody measured is estimated", own and own["certainty"] and own["gpu"] == "RTX4090"
       and abs(days(text, "aws/p2.xlarge") - want) < 0.11, (text, want))
ends = re.search(r"\(([\d.]+) to ([\d.]+|never)\)", text)
report("with an interval, and marked as an estimate", ends and float(ends[1]) < want < float(ends[2])
       and "is not measured but estimated" in text, text)
report("an unknown GPU is refused", "no GPU is called 'gtx9999'" in fare("quote", *P2, "--gpu", "gtx9999"))
done()
