# SPDX-License-Identifier: Apache-2.0
"""Electricity in every command, against sums done by hand (in the comments)."""
import json
import os
import re
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, os.environ["TESTS"])
from tap import done, report  # noqa: E402

FARE = os.environ["FARE"]
HERE = Path(os.environ["TMPDIR"])


def fare(*args):
    p = subprocess.run([FARE, *args], capture_output=True, text=True)
    return " ".join((p.stdout + p.stderr).split())


def record(name, gpu, watts, **use):
    listed = [{"name": gpu, "power_w": watts}] if gpu else []
    return {"schema": "fare.run/1", "id": f"20261110T000000Z-{name}", "workload": "mlp", "framework": "fare", "full": True,
            "started": "2026-11-10T00:00:00Z", "machine": {"name": name, "gpus": len(listed), **({"gpu": gpu} if gpu else {})}, "ended": "finished",
            "use": {"gpus": len(listed), "gpu_list": listed, **use}, "phases": {"wall_ns": 7200 * 10**9}}


runs = [record("desk", "NVIDIA GeForce RTX 4090", 250), record("server", "NVIDIA H100 80GB HBM3", 700),
        record("plain", None, 0, cpu_energy_j=60 * 7200), record("unknown", None, 0),
        # 100 W of GPU and 300 W of processors are more than 1.4 × 100 W
        record("hungry", "NVIDIA GeForce GTX 1080", 100, cpu_energy_j=300 * 7200)]
(HERE / "runs.jsonl").write_text("".join(json.dumps(r) + "\n" for r in runs))
print("#", fare("runs", "import", str(HERE / "runs.jsonl")))

# ---- compare: two hours each at 0.30 USD a kWh. 250 W × 1.4 = 350 W: 0.7 kWh, 0.21 USD; 700 W × 1.5 = 1050 W: 2.1 kWh,
# 0.63 USD; 60 W: 0.12 kWh, 0.036 USD; 400 W: 0.8 kWh, 0.24 USD.
p = subprocess.run([FARE, "compare", "--kwh", "0.30", "--json"], capture_output=True, text=True)
got = {r["machine"]: r.get("power", {}) for w in json.loads(p.stdout)["workloads"] for r in w["rows"] + w["apart"]}
for name, watts, usd in (("desk", 350, "0.21"), ("server", 1050, "0.63"), ("plain", 60, "0.036"), ("hungry", 400, "0.24")):
    power = got.get(name, {})
    report(f"compare: {watts} W of {name}", abs(power.get("watts", 0) - watts) < 1e-6 and abs(float(power.get("usd", 0)) - float(usd)) < 1e-9
           and abs(power["kwh"] - watts * 2 / 1000) < 1e-9, power)
report("compare: unknown power is not 0", got.get("unknown") == {}, got)
report("compare: the host's share is named", "× 1.4 for the rest of a workstation" in got["desk"]["how"]
       and "× 1.5 for the rest of a server" in got["server"]["how"] and "without the rest" in got["plain"]["how"], got)
text = fare("compare", "--kwh", "0.30", "--watts", "500")
report("compare: given watts are the whole machine's: 1 kWh, 0.30 USD", re.search(r"power \$ +kWh\b", text) and "0.30 1.00" in text
       and "500 W, as given" in text, text)
text = fare("compare", "--published", "2018-tweets", "--kwh", "0.30", "--watts", "500")
report("compare: rented machines have a price, not electricity", "kWh" not in text, text)

# ---- quote
text = fare("quote", "20261110T000000Z-desk", "--kwh", "0.30")
report("quote: beside the rent", "Power for the whole training on desk: 0.21 USD for 0.7 kWh (350 W, from 250 W measured at the GPUs, × 1.4" in text, text)
# 10 W idle for (720 - 180) / 180 = 3 hours for each hour of use: 6 h, 0.06 kWh, 0.018 USD
text = fare("quote", "20261110T000000Z-desk", "--kwh", "0.30", "--watts", "400", "--idle-watts", "10", "--hours-per-month", "180")
report("quote: with its share of the idle time", "0.24 USD for 0.8 kWh (400 W, as given), and 0.018 USD for 0.06 kWh (10 W, while it is idle)"
       in text, text)

# ---- run, and bare fare with a command
text = fare("run", "l1", "--n", "128", "--m", "128", "--dim", "64", "--watts", "360", "--kwh", "0.25", "--no-ledger", "--no-cloud")
report("run", "power for the whole training: " in text and "kWh (360 W, as given)" in text and "USD for" in text, text)
text = fare("run", "--watts", "360", "--kwh", "0.25", "--no-ledger", "--no-cloud", "--", "true")
report("run, of a command", "power for the whole training: " in text and "kWh (360 W, as given)" in text, text)
text = fare("--watts", "360", "--kwh", "0.25", "--no-ledger", "--no-cloud", "--no-report", "--", "sleep", "1")
report("bare fare", "here, power" in text and "USD for" in text and "(360 W, as given)" in text, text)
# 3600 W for about a second at 1000 USD a kWh: about 1 USD, beside the rent
text = fare("run", "--watts", "3600", "--kwh", "1000", "--no-ledger", "--no-cloud", "--offer", "gcp/n1-standard-1", "--", "sleep", "1")
power = re.search(r"power for the whole training: (\S+) USD for", text)
report("run: money beside the rent", power and 1 <= float(power.group(1)) < 10 and "USD for this run" in text, text)
for command in (["run", "l1"], ["compare"], ["quote", "tweets"], ["--no-report"]):
    text = fare(*command, "--watts", "1000000")
    report(f"{command[0]}: impossible watts are refused", "less than a million" in text, text)
done()
