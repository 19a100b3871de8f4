#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Size and time of `fare report --site` with 10,000 runs, each with 200 step times and 100 samples, of eight workloads on 40
machines: the first time, again with nothing changed, with one run more, and imported from its folder. BENCH_RUNS=10000 is the
default. CPU time is that of all threads; memory is the largest resident size."""
import json
import math
import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FARE = os.environ.get("FARE", str(ROOT / "build" / "fare"))
RUNS = int(os.environ.get("BENCH_RUNS", "10000"))
REAL = [json.loads(line) for line in (ROOT / "share/published/2026-h200.jsonl").read_text().splitlines()]
random.seed(1)


def record(i):
    """A published record on one of 40 machines, at another time, with the lists that a record in a ledger has."""
    run = json.loads(json.dumps(REAL[i % len(REAL)]))
    started = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(1700000000 + 37 * i))
    step = run.get("step_ms", 1) * random.uniform(0.9, 1.1)
    run.update(id=started.replace("-", "").replace(":", "") + f"-{random.getrandbits(48):012x}", started=started)
    run["machine"]["name"] = f"{run['machine']['name']} {i // len(REAL) % 20}"
    run["step_plot_ms"] = [round(step * random.uniform(0.98, 1.03), 4) for _ in range(200)]
    run["samples"] = [{"at_s": n / 2, "cpu_percent": 103.5, "gpu_percent": 90 + n % 7, "power_w": round(400 + 50 * math.sin(n / 9), 1),
                       "clock_mhz": 1980} for n in range(100)]
    return json.dumps(run, separators=(",", ":"))


def measured(name, *arguments):
    """Wall time, CPU time and memory of one program, from its own usage."""
    began = time.monotonic()
    process = subprocess.Popen([FARE, *map(str, arguments)], stdout=subprocess.PIPE, text=True)
    said = process.stdout.read().strip()
    _, status, usage = os.wait4(process.pid, 0)
    wall = time.monotonic() - began
    print(f"{name:34s} {wall:8.1f} s  {usage.ru_utime + usage.ru_stime:8.1f} s CPU  {usage.ru_maxrss / 1024:7.0f} MB  {said}", flush=True)
    if status:
        sys.exit(f"{name}: status {status}")


def main():
    with tempfile.TemporaryDirectory() as folder:
        here = Path(folder)
        ledger, site = here / "ledger.db", here / "site"
        with open(here / "runs.jsonl", "w") as file:  # this process stays small: a child's memory begins with it
            file.writelines(record(i) + "\n" for i in range(RUNS))
        (here / "one.jsonl").write_text(record(RUNS) + "\n")
        subprocess.run([FARE, "runs", "import", here / "runs.jsonl", "--ledger", ledger], check=True, stdout=subprocess.DEVNULL)
        print(f"{RUNS} runs, {os.cpu_count()} CPUs, load {os.getloadavg()[0]:.1f}")
        measured("the first time", "report", "--all", "--ledger", ledger, "--site", site)
        sizes = [p.stat().st_size for p in site.rglob("*") if p.is_file()]
        pages = [p.stat().st_size for p in site.rglob("*.html")]
        print(f"{len(sizes)} files, {sum(sizes) / 1e6:.0f} MB, the largest page {max(pages) / 1e3:.0f} KB, "
              f"the overview {(site / 'index.html').stat().st_size / 1e3:.0f} KB, site.json {(site / 'site.json').stat().st_size / 1e6:.1f} MB")
        measured("again, nothing changed", "report", "--all", "--ledger", ledger, "--site", site)
        subprocess.run([FARE, "runs", "import", here / "one.jsonl", "--ledger", ledger], check=True, stdout=subprocess.DEVNULL)
        measured("one run more", "report", "--all", "--ledger", ledger, "--site", site)
        measured("imported from its folder", "runs", "import", site, "--ledger", here / "back.db")


if __name__ == "__main__":
    main()
