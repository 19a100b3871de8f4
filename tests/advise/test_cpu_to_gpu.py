#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What a run on a CPU tells about a GPU: a lower bound, with its reason. The truth is the program's own H200 runs of the same nets with
the same software (share/published/2026-h200.jsonl), 7 nets with fare and with PyTorch: 14 pairs from 16 virtual CPUs, and 12 more from samples that were
taken on 2 CPUs while other programs used most of them (cpu-samples.jsonl, 2026-11-18)."""
import json
import os
import statistics
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, os.environ["TESTS"])
from tap import done, report  # noqa: E402

ROOT, FARE = Path(os.environ["ROOT"]), os.environ["FARE"]
H200 = "runpod/1x_H200-SXM_SECURE@US"
TRUTH = {}
for run in map(json.loads, open(ROOT / "share" / "published" / "2026-h200.jsonl")):
    if run["machine"].get("gpu") and run["workload"] != "l1":
        p, projected = run["phases"], run.get("projection", {})
        TRUTH[run["workload"], run["framework"]] = projected["train_s"] if "train_s" in projected else p["train_ns"] / 1e9
SAMPLES = list(map(json.loads, open(ROOT / "tests" / "advise" / "cpu-samples.jsonl")))


def fare(*args):
    p = subprocess.run([FARE, *args], capture_output=True, text=True, timeout=100)
    return p.stdout + p.stderr if p.returncode else p.stdout


def bound(run):
    q = json.loads(fare("quote", run, "--offer", H200, "--boot", "0", "--image-time", "0s", "--json"))
    assert q["bills"] == [] and len(q["estimates"]) == 1, q
    return q["estimates"][0]


def compare(name, runs, least):
    """Never above the truth, in the median at least a tenth of it."""
    shares = []
    for workload, framework, run in runs:
        b = bound(run)
        report(f"{name}, {workload} with {framework}: no estimate, a lower bound",
               b["lower_bound"] and b["basis"] == "bound" and b["certainty"] == "lower bound" and "training_high_s" not in b
               and "high" not in b and "a CPU does not show what a GPU waits for: " in b["class"], b)
        shares.append(b["training_low_s"] / TRUTH[workload, framework])
    report(f"{name}: never above the truth", len(shares) == least and max(shares) < 1, shares)
    report(f"{name}: in the median at least a tenth of it", statistics.median(shares) >= 0.1, sorted(shares))


report("all seven nets have a truth with fare and with PyTorch", len(TRUTH) == 14, TRUTH)
compare("from 16 CPUs", [(*key, f"published-2026-h200-{key[0]}-{key[1]}-cpu-f32") for key in TRUTH], 14)
fare("runs", "import", str(ROOT / "tests" / "advise" / "cpu-samples.jsonl"))
compare("from 2 busy CPUs", [(r["workload"], r["framework"], r["id"]) for r in SAMPLES], 12)

# A run on a GPU, in whatever precision, tells more than a bound.
text = " ".join(fare("quote", "published-2026-h200-cnn-fare-cpu-f32", "--explain", "lambda/gpu_1x_a10").split())
report("a run on another GPU comes before a bound", "source: run published-2026-h200-cnn-fare-gpu-tf32" in text and "90 % interval" in text, text)

# A command, whose only runs are on CPUs. Hugging Face's Trainer on a tiny net takes 2.3 ms of CPU a step: bench/estimate_launches.py.
TRAINER = {"schema": "fare.run/1", "id": "20261118T010000Z-trainer", "started": "2026-11-18T01:00:00Z", "name": "finetune",
           "framework": "command", "machine": {"cpu": "x", "usable_cpus": 2.0, "gpus": 0, "thread_ops_per_s": 3e9, "fingerprint": "e" * 16},
           "code": {"packages": [{"name": "torch", "version": "2.11.0"}], "loop": "transformers.Trainer"}, "command": ["python", "finetune.py"],
           "ended": "finished", "full": True, "steps": 1125, "total_steps": 1125, "step_ms": 600.0,
           "use": {"steady": {"cpu_percent": 190}, "gpus": 0}, "phases": {"setup_ns": 0, "train_ns": 675 * 10**9, "wall_ns": 675 * 10**9}}
Path("trainer.jsonl").write_text(json.dumps(TRAINER) + "\n")
fare("runs", "import", "trainer.jsonl")
b = bound(TRAINER["id"])
report("1,125 steps of a Trainer take more than 1 s on an H200, and 12 times less than they took here is no promise",
       1.2 <= b["training_low_s"] <= 1125 * 0.0023 and "96 launches" in b["class"], b)
q = json.loads(fare("quote", TRAINER["id"], "--gpu", "h200", "--json", "--deadline", "1h", "--budget", "100"))
rows = q["estimates"]
report("no deadline or budget is met by a lower bound", len(rows) > 3 and all(r["lower_bound"] and r["deadline"] == r["budget"] == "met at the middle" for r in rows), rows[:2])
said = " ".join(q["advice"])
report("none is called cheapest or fastest, or in time", "each bill is a lower bound (≥): a run on a CPU does not tell the time on a GPU" in said and "Within 1 h 00 min none of them is sure to finish." in said
       and not any(r[name] in said for r in rows for name in ("offer", "short_name")), said)
late = json.loads(fare("quote", TRAINER["id"], "--gpu", "h200", "--json", "--deadline", "1s"))["estimates"]
report("but it may be missed for sure", all(r["deadline"] == "missed" for r in late), late[:1])
rows = json.loads(fare("quote", TRAINER["id"], "--json", "--all"))["estimates"]
first = min(r["place"] for r in rows if r.get("lower_bound"))
report("they come behind all times that are estimated", any(not r.get("lower_bound") for r in rows)
       and all(r["place"] < first for r in rows if not r.get("lower_bound") and "by_hours" not in r), first)
text = fare("quote", TRAINER["id"], "--gpu", "h200")
report("a table marks time and bill with ≥, and says why", "≥ " in text and "≥0." in text and "Lower bounds (≥), none called cheapest; a CPU does not tell the time on a GPU." in
       " ".join(text.split()), text)
# Other programs used nearly all: CPUs have no estimate, and hundreds of GPUs a bound. A report shows the first.
Path("busy.jsonl").write_text(json.dumps({**TRAINER, "id": "20261118T010001Z-busy", "name": "busy", "command": ["python", "busy.py"],
                                          "use": {"gpus": 0, "steady": {"cpu_percent": 20, "crowded_percent": 175}}}) + "\n")
fare("runs", "import", "busy.jsonl")
rows = json.loads(fare("quote", "20261118T010001Z-busy", "--all", "--json"))
page = fare("report", "20261118T010001Z-busy", "-o", "-")
report("where nothing but bounds is known, a report shows a few of them", len(rows["estimates"]) > 300 and all(r["lower_bound"] for r in rows["estimates"])
       and 3 <= page.count(">lower bound<") <= 40, (len(rows["estimates"]), page.count("lower bound")))
text = " ".join(fare("compare", TRAINER["id"], "--estimate", "h200").split())
report("a comparison has no row for it", "lower bound" in text and "launches" in text, text)
done()
