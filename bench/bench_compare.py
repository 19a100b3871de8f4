#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Time of `fare compare` over 10,000 runs and over ten times as many.

Target: under 200 ms over 10,000 runs. The runs are of 7 workloads on 40 machines by 3 frameworks, 1.4 kB each, priced by
a label; `--full` adds the plots and epochs of a real record (8 kB). BENCH_RUNS=10000 measures one size only. `mlp` is one
of the seven workloads; `rows` is the worst case: every run is a row of its own.
"""
import json
import os
import random
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FARE = os.environ.get("FARE", str(ROOT / "build" / "fare"))
SIZES = [int(n) for n in os.environ.get("BENCH_RUNS", "10000,100000").split(",")]
FULL = "--full" in sys.argv
WORKLOADS = ["mlp", "cnn", "cifar", "imdb", "tweets", "textgen", "inception"]
random.seed(1)


def record(i, alone):
    started = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(1700000000 + 37 * i))
    number = i if alone else random.randrange(40)
    full = random.random() < 0.3
    step = random.uniform(0.9, 1.1) * (1 + number % 40)
    run = {
        "schema": "fare.run/1", "id": started.replace("-", "").replace(":", "") + f"-{random.getrandbits(48):012x}",
        "started": started, "name": "x", "workload": random.choice(WORKLOADS),
        "framework": random.choice(["fare", "pytorch", "jax"]), "engine": "cuda", "precision": "f32", "threads": 8,
        "seed": i, "batch": 128, "net": "dense 512, dropout 0.2, dense 512, dropout 0.2, dense 10",
        "recipe": "RMSprop, rate 0.001", "parameters": 669706,
        "data": {"name": "mnist", "identity": "b" * 64, "made": False, "train_samples": 60000, "test_samples": 10000},
        "machine": {"fingerprint": f"{number:064x}", "name": f"machine {number}", "cpu": "Intel(R) Xeon(R) Platinum 8480C",
                    "usable_cpus": 16, "memory_bytes": 137438953472, "gpu": "NVIDIA H100 80GB HBM3", "gpus": 1,
                    "provider": "aws"},
        "labels": [{"key": "price_per_hour_usd", "value": f"{1 + number % 40}.25"}],
        "ended": "finished" if full else "sampled", "full": full, "steps": 500, "total_steps": 9380,
        "steps_per_epoch": 469, "epochs": 20, "step_ms": step, "test_accuracy": random.uniform(0.97, 0.99),
        "phases": {"setup_ns": 12345678, "load_ns": 2345678, "train_ns": 500000000, "wall_ns": int(step * 9.38e9)},
        "steady": {"kind": "flat", "step_ms": step, "low_ms": step * 0.99, "high_ms": step * 1.01, "outliers": 0},
        "projection": {"after_s": 2.0, "wall_s": step * 9.38, "low_s": step * 9.3, "high_s": step * 9.5},
        "use": {"gpu_percent": 88.5, "gpus": 1, "flops_per_s": 1e12, "share_of_peak": 0.2}}
    if FULL:
        run["epoch_list"] = [{"epoch": k + 1, "train_loss": 0.5, "test_loss": 0.4, "test_accuracy": 0.97,
                              "train_ns": 400000000} for k in range(20)]
        run["step_plot_ms"] = [round(random.gauss(step, step / 100), 4) for _ in range(200)]
        run["samples"] = [{"at_s": k / 10, "cpu_percent": 150.5, "gpu_percent": 87.5, "power_w": 312.25}
                          for k in range(50)]
    return json.dumps(run, separators=(",", ":"))


def measure(*args, n=15):
    """Median wall time, its median deviation, and the median CPU time, which is less affected by other programs."""
    walls, cpus = [], []
    for _ in range(n + 1):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        start = time.monotonic()
        subprocess.run([FARE, "compare", *args], check=True, stdout=subprocess.DEVNULL)
        walls.append((time.monotonic() - start) * 1e3)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        cpus.append((after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime) * 1e3)
    middle = statistics.median(walls[1:])  # the first reads from disk
    return middle, statistics.median(abs(t - middle) for t in walls[1:]), statistics.median(cpus[1:])


folder = Path(tempfile.mkdtemp(prefix="fare-bench-"))
try:
    os.environ.update(XDG_DATA_HOME=str(folder), FARE_METADATA="off")
    for size in SIZES:
        for alone in (False, True) if size <= 10000 else (False,):
            file, ledger = folder / "runs.jsonl", folder / "ledger.db"
            with open(file, "w") as f:
                for i in range(size):
                    f.write(record(i, alone) + "\n")
            ledger.unlink(missing_ok=True)
            subprocess.run([FARE, "runs", "import", str(file), "--ledger", str(ledger)], check=True,
                           stdout=subprocess.DEVNULL)
            if alone:
                cases = [("every run a row", ["--json"])]
            else:
                print(f"{size:,} runs, {file.stat().st_size / size:.0f} bytes each")
                cases = [("compare", []), ("compare --json", ["--json"]), ("compare --workload mlp", ["--workload", "mlp"]),
                         ("compare 'machine 3'", ["machine 3"])]
            for name, args in cases:
                middle, mad, cpu = measure(*args, "--ledger", str(ledger), n=15 if size <= 10000 else 5)
                asked = "   asked 200 ms" if name == "compare" and size == 10000 else ""
                print(f"  {name:24}{middle:8.1f} ms ± {mad:.1f}, {cpu:.0f} ms of CPU{asked}", flush=True)
    print(f"most memory {resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024:.0f} MiB")
finally:
    shutil.rmtree(folder)
