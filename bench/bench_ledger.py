#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Speed of the ledger with 100,000 runs and with ten times as many.

Target: `fare runs --last 20` under 50 ms with 100,000 runs, import at 50,000 records a second. Records are
those of a sampled run without its plots, 1.3 kB each; `--full` adds the plots (7 kB). BENCH_RUNS=100000
measures one size only. The wall time of an import includes the disk; the CPU time does not.
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
SIZES = [int(n) for n in os.environ.get("BENCH_RUNS", "100000,1000000").split(",")]
FULL = "--full" in sys.argv
random.seed(1)


def record(i):
    started = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(1700000000 + 37 * i))
    workload = random.choice(["mlp", "cnn", "cifar", "imdb", "tweets", "textgen", "inception"])
    step = round(random.uniform(0.1, 100), 6)
    run = {
        "schema": "fare.run/1", "id": started.replace("-", "").replace(":", "") + f"-{random.getrandbits(48):012x}",
        "started": started, "name": workload, "workload": workload, "framework": "fare", "engine": "cuda",
        "precision": "f32", "threads": 8, "seed": 1, "batch": 128, "net": "dense 512, dropout 0.2, dense 512, "
        "dropout 0.2, dense 10", "recipe": "RMSprop, rate 0.001", "parameters": 669706,
        "data": {"name": "mnist", "identity": f"{random.getrandbits(256):064x}", "made": False,
                 "train_samples": 60000, "test_samples": 10000, "classes": 10},
        "machine": {"fingerprint": f"{random.getrandbits(256):064x}", "cpu": "Intel(R) Xeon(R) Platinum 8480C",
                    "usable_cpus": 16, "memory_bytes": 137438953472, "gpus": 1, "driver": "550.54",
                    "gpu": random.choice(["NVIDIA H200", "NVIDIA H100 80GB HBM3"])},
        "labels": [{"key": "team", "value": "vision"}], "ended": "sampled", "full": False, "steps": 500,
        "total_steps": 9380, "steps_per_epoch": 469, "epochs": 20, "step_ms": step,
        "samples_per_s": round(128000 / step, 6),
        "phases": {"setup_ns": 12345678, "load_ns": 2345678, "warmup_ns": 123456, "train_ns": 500000000,
                   "wall_ns": 600000000},
        "steady": {"kind": "flat", "first_step": 20, "steps": 480, "step_ms": step, "low_ms": step * 0.99,
                   "high_ms": step * 1.01, "outliers": 0},
        "projection": {"after_s": 2.0, "wall_s": step * 9.38, "low_s": step * 9.3, "high_s": step * 9.5}}
    if FULL:
        run["step_plot_ms"] = [round(random.gauss(step, step / 100), 4) for _ in range(200)]
        run["samples"] = [{"at_s": k / 10, "cpu_percent": 150.5, "gpu_percent": 87.5, "power_w": 312.25}
                          for k in range(50)]
    return json.dumps(run, separators=(",", ":"))


def once(*args):
    """Wall and CPU seconds."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    start = time.monotonic()
    subprocess.run([FARE, "runs", *args], check=True, stdout=subprocess.DEVNULL)
    wall = time.monotonic() - start
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def median_ms(*args, n=21):
    once(*args)  # the first reads from disk
    times = [once(*args)[0] * 1e3 for _ in range(n)]
    middle = statistics.median(times)
    return middle, statistics.median(abs(t - middle) for t in times)


folder = Path(tempfile.mkdtemp(prefix="fare-bench-"))
try:
    os.environ.update(XDG_DATA_HOME=str(folder), FARE_METADATA="off")
    for size in SIZES:
        file = folder / "runs.jsonl"
        with open(file, "w") as f:
            for i in range(size):
                f.write(record(i) + "\n")
        ledger = folder / "ledger.db"
        imports = []
        for _ in range(3 if size <= 100000 else 1):
            ledger.unlink(missing_ok=True)
            os.sync()  # do not measure earlier writes
            imports.append(once("import", str(file), "--ledger", str(ledger)))
        wall, cpu = min(imports)
        print(f"{size:,} runs, {file.stat().st_size / size:.0f} bytes each, {ledger.stat().st_size / 1e6:.0f} MB ledger")
        print(f"  import                  {wall:8.2f} s   {size / wall:9,.0f} records/s by the clock, "
              f"{size / cpu:,.0f} by CPU time   asked 50,000")
        again = once("import", str(file), "--ledger", str(ledger))
        print(f"  import again            {again[0]:8.2f} s   {size / again[0]:9,.0f} records/s")
        for name, args in (("runs --last 20", ["--last", "20"]), ("runs --workload cnn", ["--workload", "cnn"]),
                           ("runs --workload none", ["--workload", "none"]), ("runs --gpu none", ["--gpu", "none"]),
                           ("runs --label team=x", ["--label", "team=x"]), ("runs last", ["last"])):
            middle, mad = median_ms(*args, "--ledger", str(ledger), n=5 if "--gpu" in args else 21)
            asked = "   asked 50 ms" if name == "runs --last 20" else ""
            print(f"  {name:24}{middle:7.1f} ms ± {mad:.1f}{asked}")
        ledger.unlink()
finally:
    shutil.rmtree(folder)
