#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""fare cron --run: the machine is up for its provider's boot (share/startup.csv) and the time that the run was measured to take."""
import csv
import json
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.environ["ROOT"], "tests"))
from tap import done, report  # noqa: E402

scratch = tempfile.TemporaryDirectory(prefix="fare-cron-run-")
env = {**os.environ, "XDG_DATA_HOME": scratch.name, "XDG_CONFIG_HOME": scratch.name, "FARE_METADATA": "off", "FARE_BOOK": "-"}
env.pop("FARE_LEDGER", None)


def fare(*args):
    return subprocess.run([os.environ["FARE"], *args], capture_output=True, text=True, env=env, cwd=scratch.name)


fare("run", "--no-trace", "--", "sleep", "1.5")
run = json.loads(fare("runs", "last", "--json").stdout)
own = run["phases"]["wall_ns"] / 1e9
with open(os.path.join(os.environ["ROOT"], "share/startup.csv")) as rows:
    boot = {(r["provider"], r["part"]): float(r["seconds"]) for r in csv.DictReader(rows) if r["machine"] == "vm"}
for provider in ("gcp", "aws", "azure"):
    p = fare("cron", "0 3 * * *", "--run", "last", "--offer", f"{provider}/x", "--rate", "1", "--json")
    up = json.loads(p.stdout)["up_s"] if p.returncode == 0 else 0
    report(f"{provider}: boot and run", abs(up - boot[provider, "boot"] - own) < 0.01 and 1.5 <= own < 30, f"{up} {own} {p.stderr}")
p = fare("cron", "0 3 * * *", "--run", "last", "--offer", "gcp/x", "--rate", "1")
report("the page says where the time is from", "boot 1 min 15 s by default" in p.stdout and "measured by run" in p.stdout, p.stdout + p.stderr)
p = fare("cron", "0 3 * * *", "--run", "last", "--offer", "gcp/x", "--rate", "1", "--region", "us-east1", "--emit", "gcloud", "--", "true")
report("the limit is twice that time, 10 minutes at least", "limit_s=600\n" in p.stdout, p.stdout[:600] + p.stderr)
p = fare("cron", "0 3 * * *", "--run", "last", "--emit", "systemd", "--", "true")
report("on a machine of one's own no boot counts", "-k 60 600 " in p.stdout and "Cost: unknown" in p.stdout, p.stdout[:600] + p.stderr)
p = fare("cron", "0 3 * * *", "--run", "nosuch", "--offer", "gcp/x", "--rate", "1")
report("a run that is not there is said", p.returncode != 0 and "nosuch" in p.stderr, p.stderr)
p = fare("cron", "0 3 * * *", "--run", "last", "--up", "2m", "--offer", "gcp/x", "--rate", "1")
report("--up and --run are one too many", p.returncode == 2 and "use one" in p.stderr, p.stderr)
done()
