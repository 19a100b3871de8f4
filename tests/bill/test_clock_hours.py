# SPDX-License-Identifier: Apache-2.0
"""A quote does not know at what time of day a machine will be ordered. Where the provider charges every clock hour that is
touched (OVHcloud, github.com/ovh/docs analyze_billing), midnight is the best of all starts: a bill is the mean over all of
them, its ends are the best and the worst. Here each second of an hour is tried as a start."""
import json
import os
import subprocess
import sys
from fractions import Fraction as F
from pathlib import Path

sys.path.insert(0, os.environ["TESTS"])
import tap  # noqa: E402

FARE = os.environ["FARE"]
CONFIG = Path(os.environ["XDG_CONFIG_HOME"]) / "fare"
HERE = Path(os.environ["TMPDIR"])
RATE = F("3.60")


def fare(*args):
    p = subprocess.run([FARE, *args], capture_output=True, text=True)
    assert p.returncode == 0, f"{args}: {p.returncode}\n{p.stdout}\n{p.stderr}"
    return p.stdout


(CONFIG / "offers").mkdir(parents=True)
(CONFIG / "offers" / "test.csv").write_text("""\
provider,name,region,kind,gpu,gpus,price,currency,date,source
ovhcloud,one,here,on-demand,H100,1,3.60,USD,2026-11-01,test
""")


def hours(seconds):
    """How many clock hours a use of so many seconds touches, for starts in the middle of each second of an hour."""
    counts = [int(start + 0.5 + seconds) // 3600 + 1 for start in range(3600)]
    return F(sum(counts), 3600), min(counts), max(counts)


for time, seconds in (("10m", 600), ("59m", 3540), ("90m", 5400), ("5h", 18000)):
    for date in (("--date", "2026-11-10"), ()):
        b = json.loads(fare("quote", "--time", time, "--offer", "ovhcloud/one", *date, "--boot", "0", "--image-time", "0s", "--json"))["bills"][0]
        mean, best, worst = hours(seconds)
        got = [F(b[k]) for k in ("total", "low", "high")]
        # Exactly between two hours only a start on the hour touches fewer: the best is one start in infinitely many.
        whole = seconds % 3600 == 0
        good = got == [RATE * mean, RATE * (best - whole), RATE * worst] and any("times of day" in n for n in b["notes"])
        tap.report(f"{time}{' on a date' if date else ''}: the mean, the best and the worst start", good, f"{got}: {b['notes']}")

# The published example: from 09:40 on the 4th to 16:30 on the 12th are 200 clock hours; ten minutes from 09:55 touch two.
for name, started, wall_s, touched in (("long", "2026-11-04T09:40:00Z", (8 * 24 + 6) * 3600 + 50 * 60, 200), ("short", "2026-11-04T09:55:00Z", 600, 2)):
    run = {"schema": "fare.run/1", "id": f"20261104T094000Z-{name}", "workload": "mlp", "framework": "fare", "started": started,
           "machine": {"cpu": "Acme", "gpu": "NVIDIA H100 80GB HBM3", "gpus": 1, "provider": "ovhcloud", "instance_type": "one", "region": "here"},
           "use": {"gpus": 1, "gpu_list": [{"name": "NVIDIA H100 80GB HBM3"}]}, "full": True, "ended": "finished",
           "phases": {"wall_ns": wall_s * 10**9, "train_ns": wall_s * 10**9}}
    (HERE / "run.jsonl").write_text(json.dumps(run) + "\n")
    fare("runs", "import", str(HERE / "run.jsonl"))

    def cost(*more):
        rows = json.loads(fare("compare", run["id"], "--rule", "paid", "--json", *more))["workloads"][0]["rows"]
        return F(rows[0]["cost"]["usd"])

    tap.report(f"{name}: a run that was made is charged by its own hours", cost() == RATE * touched, str(cost()))
    dated = cost("--date", "2026-11-10")
    tap.report(f"{name}: on another date, by the mean", dated == RATE * (F(wall_s, 3600) + 1), str(dated))
tap.done()
