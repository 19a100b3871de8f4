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
text = " ".join(quote("--provider", "acme").split())
report("the short answer counts it, and shows it nowhere", "Not shown 1 doubtful" in text and "acme/wrong" not in text and "Cheapest: acme/both," in text, text)
text = quote("--provider", "acme", "--all")
report("it is marked", "price doubtful" in text and " 0.0108 " in text and "Listed last: the price is less than the electricity of its GPUs costs: it must be wrong." in " ".join(text.split()), text)
report("its bill says why", any("less than the electricity of its GPUs" in n for n in bills[-1]["notes"]), bills[-1]["notes"])
text = quote("--provider", "acme", "--budget", "0.0205")
report("no budget is met by it", "For 0.0205 USD no offer is affordable; the cheapest is acme/both," in " ".join(text.split()), text)

text = quote("--provider", "acme", "--deadline", "1h")
report("no sentence names it", "acme/wrong" not in " ".join(text.split("offer  ")[0].split()), text)


# ---- `fare prices` marks it too, and never lists it first
def prices(*args):
    p = subprocess.run([FARE, "prices", *args, "--provider", "acme", "--date", "2026-11-10", "--book", "-"], capture_output=True, text=True)
    return p.stdout if p.returncode == 0 else p.stderr


got = [(o["offer"], o.get("price_impossible", False)) for o in json.loads(prices("--json"))["offers"]]
report("prices: it comes last, and a place with a possible price counts",
       got == [("acme/both@west", False), ("acme/just", False), ("acme/right", False), ("acme/wrong", True)], got)
got = [(o["offer"], o.get("price_impossible", False)) for o in json.loads(prices("--json", "--all"))["offers"]]
report("prices --all: all of them come last", [o for o, bad in got if bad] == ["acme/both@east", "acme/wrong"] and not any(b for _, b in got[:3]), got)
text = " ".join(prices().split())
report("prices: it is marked", "[1] Listed last: the price is less than the electricity of its GPUs costs: it must be wrong." in text and text.count("[1]") == 2, text)
p = subprocess.run([FARE, "prices", "show", "acme/wrong", "--date", "2026-11-10", "--book", "-"], capture_output=True, text=True)
report("prices: its page says so", "must be wrong" in " ".join(p.stdout.split()), p.stdout + p.stderr)
p = subprocess.run([FARE, "prices", "show", "acme/wrong", "--date", "2026-11-10", "--book", "-", "--json"], capture_output=True, text=True)
report("prices: its record has the flag", json.loads(p.stdout)["price_impossible"] is True, p.stdout)

# ---- advice: a faster machine at such a price is neither the fastest nor the cheapest, and not summed up
(CONFIG / "offers" / "test.csv").write_text(
    "provider,name,region,kind,gpu,gpus,price,currency,date,source\n"
    "acme,wrong,,on-demand,H100,1,0.01,USD,2026-11-01,test\nacme,right,,on-demand,A100-80GB-SXM,1,1.00,USD,2026-11-01,test\n"
    "acme,just,,on-demand,L4,1,0.021,USD,2026-11-01,test\n")
runs = [{"schema": "fare.run/1", "id": f"20261110T000000Z-{name}", "workload": "mlp", "framework": "fare", "full": True, "started": "2026-11-10T00:00:00Z",
         "machine": {"name": name, "provider": "acme", "instance_type": name, "gpu": gpu, "gpus": 1}, "ended": "finished",
         "use": {"gpus": 1, "gpu_list": [{"name": gpu}]}, "phases": {"wall_ns": hours * 3600 * 10**9}}
        for name, gpu, hours in (("wrong", "NVIDIA H100 80GB HBM3", 1), ("right", "NVIDIA A100-SXM4-80GB", 2), ("just", "NVIDIA L4", 3))]
(Path(os.environ["TMPDIR"]) / "runs.jsonl").write_text("".join(json.dumps(r) + "\n" for r in runs))
subprocess.run([FARE, "runs", "import", os.path.join(os.environ["TMPDIR"], "runs.jsonl")], capture_output=True, check=True)
for wish in ((), ("--deadline", "90m"), ("--deadline", "30m"), ("--budget", "0.05"), ("--hours-per-month", "100"), ("--runs", "3")):
    p = subprocess.run([FARE, "quote", "mlp", "--provider", "acme", "--date", "2026-11-11", "--book", "-", "--measured", "--json", *wish],
                       capture_output=True, text=True)
    got = json.loads(p.stdout)
    report(f"quote {' '.join(wish)}: no advice names it", got["advice"] and not any("acme/wrong" in a for a in got["advice"])
           and any("acme/right" in a or "acme/just" in a for a in got["advice"]) and [b["offer"] for b in got["bills"]][-1] == "acme/wrong", got["advice"])
(CONFIG / "offers" / "test.csv").write_text(
    "provider,name,region,kind,gpu,gpus,price,currency,date,source\nacme,wrong,,on-demand,H100,1,0.01,USD,2026-11-01,test\n")
p = subprocess.run([FARE, "quote", "mlp", "--provider", "acme", "--date", "2026-11-11", "--book", "-", "--measured"], capture_output=True, text=True)
report("where every price is one, none is recommended", "No offer is recommended" in p.stdout and "Not shown 1 doubtful" in p.stdout, p.stdout + p.stderr)
p = subprocess.run([FARE, "report", "--workload", "mlp", "--date", "2026-11-11", "--book", "-", "--measured", "--format", "md"], capture_output=True, text=True)
for deadline in ("90m", "30m"):
    q = subprocess.run([FARE, "report", "--workload", "mlp", "--date", "2026-11-11", "--book", "-", "--measured", "--format", "md", "--deadline", deadline],
                       capture_output=True, text=True)
    report(f"nor does the report's deadline of {deadline} name it", q.returncode == 0 and "acme/wrong, 0.0" not in q.stdout.split("\n## ")[0],
           q.stdout[:900] + q.stderr)
report("nor does the report's verdict count it", "cost 0.0" not in p.stdout.split("\n## ")[0], p.stdout)

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
