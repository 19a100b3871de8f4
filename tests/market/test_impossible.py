# SPDX-License-Identifier: Apache-2.0
"""A price that cannot be is marked and never leads: an A100 of 400 W (NVIDIA's data sheet, SXM) needs 0.4 kWh an hour, 0.02 USD at
0.05 USD a kWh, so that 0.01 USD an hour is an error. Every GPU name of the public catalogues is known."""
import glob
import json
import os
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, os.environ["TESTS"])
from tap import done, report, skip  # noqa: E402

FARE = os.environ["FARE"]
CONFIG = Path(os.environ["XDG_CONFIG_HOME"]) / "fare"


def quote(*args):
    p = subprocess.run([FARE, "quote", "--time", "1h", "--gpu", "A100-80GB-SXM", "--date", "2026-11-10", "--book", "-", *args],
                       capture_output=True, text=True)
    return p.stdout if p.returncode == 0 else p.stderr


(CONFIG / "offers").mkdir(parents=True, exist_ok=True)
(CONFIG / "offers" / "test.csv").write_text(
    "provider,name,region,kind,gpu,gpus,price,currency,date,source\n"
    "acme,wrong,,on-demand,A100-80GB-SXM,1,0.01,USD,2026-11-01,test\nacme,right,,on-demand,A100-80GB-SXM,1,1.00,USD,2026-11-01,test\n"
    "acme,both,east,on-demand,A100-80GB-SXM,1,0.01,USD,2026-11-01,test\nacme,both,west,on-demand,A100-80GB-SXM,1,0.02,USD,2026-11-01,test\n"
    "acme,just,,on-demand,A100-80GB-SXM,1,0.021,USD,2026-11-01,test\n")
bills = json.loads(quote("--provider", "acme", "--json"))["bills"]
order = [(b["offer"], b.get("price_impossible", False)) for b in bills]
report("0.01 USD an hour comes last, and the region with a possible price counts",
       order == [("acme/both@west", False), ("acme/just", False), ("acme/right", False), ("acme/wrong", True)], order)
text = quote("--provider", "acme")
report("it is marked", "0.0108? " in text and "it cannot be, and is listed last" in " ".join(text.split()), text)
report("its bill says why", any("less than the electricity of its GPUs" in n for n in bills[-1]["notes"]), bills[-1]["notes"])
text = quote("--provider", "acme", "--budget", "0.0205")
report("no budget is met by it", "For 0.0205 USD no offer is affordable; the cheapest is acme/both@west" in " ".join(text.split()), text)

# ---- the names of GPUs in the public catalogues
files = sorted(glob.glob(os.path.join(os.environ.get("FARE_DATA", "/none"), "prices", "skypilot", "*.csv.gz")))
if len(files) < 24:
    skip("the GPU names of 24 catalogues", "FARE_DATA has no catalogues")
else:
    p = subprocess.run([FARE, "prices", "import", "--book", os.path.join(os.environ["TMPDIR"], "book"), "--date", "2026-08-22", "--json", *files],
                       capture_output=True, text=True)
    got = json.loads(p.stdout)
    report("the GPU names of 24 catalogues", len(got["files"]) == 24 and not got.get("unknown_gpus"), got.get("unknown_gpus"))
done()
