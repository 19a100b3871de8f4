#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Time of a quote over a large book. Target: 200,000 offers in under 100 ms; also measures ten times as many.
`quote cnn` adds estimates for every
offer that can hold it, CPU machines too: under 150 ms, best of five.

The book is generated (BENCH_OFFERS=200000,2000000): 20 regions and seven GPUs, so that a run on an H100 matches a
seventh of it. The time is that of the whole command: starting, ledger, book, bills, sentences, table.
"""
import json
import os
import shutil
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FARE = os.environ.get("FARE", str(ROOT / "build" / "fare"))
SIZES = [int(n) for n in os.environ.get("BENCH_OFFERS", "200000,2000000").split(",")]
GPUS = ["H100", "A100", "L4", "T4", "V100", "RTX4090", ""]
RUN = {"schema": "fare.run/1", "id": "20261110T000000Z-bench", "started": "2026-11-10T00:00:00Z", "name": "mlp",
       "workload": "mlp", "framework": "fare", "ended": "sampled", "full": False,
       "machine": {"gpu": "NVIDIA H100 80GB HBM3", "gpus": 1},
       "use": {"gpus": 1, "gpu_list": [{"name": "NVIDIA H100 80GB HBM3", "memory_peak_bytes": 1 << 30}]},
       "projection": {"after_s": 60, "wall_s": 3000, "low_s": 2940, "high_s": 3060}}


def made(path, offers):
    with open(path, "w") as f:
        f.write("provider,name,region,kind,gpu,gpus,vcpus,memory_gib,price,date,source\n")
        for i in range(offers):
            gpu = GPUS[i // 40 % len(GPUS)]
            f.write(f"p{i // 40 % 5},type-{i // 40},region-{i % 20},{'spot' if i // 20 % 2 else 'on-demand'},"
                    f"{gpu},{i // 40 % 8 + 1 if gpu else ''},{8 << i // 40 % 5},64,{(i * 7919 % 9999 + 1) / 100},"
                    "2026-11-01,made\n")


def once(*args):
    start = time.monotonic()
    subprocess.run([FARE, *map(str, args)], stdout=subprocess.DEVNULL, check=True)
    return 1e3 * (time.monotonic() - start)


def main():
    folder = Path(tempfile.mkdtemp(prefix="fare-bench-"))
    try:
        os.environ.update(XDG_DATA_HOME=str(folder), XDG_CONFIG_HOME=str(folder / "config"), FARE_METADATA="off")
        (folder / "run.jsonl").write_text(json.dumps(RUN) + "\n")
        once("runs", "import", folder / "run.jsonl")
        for size in SIZES:
            made(folder / "made.csv", size)
            book = folder / f"book-{size}"
            once("prices", "import", folder / "made.csv", "--book", book)
            for name, args in (("quote", []), ("quote --gpu h100 --kind spot", ["--gpu", "h100", "--kind", "spot"]),
                               ("quote --offer OFFER", ["--offer", "p0/type-0"]), ("quote --all", ["--all"]),
                               ("quote --all --json", ["--all", "--json"])):
                times = [once("quote", RUN["id"], *args, "--book", book) for _ in range(11)][1:]
                print(f"{size:9,} offers: {name:32}{statistics.median(times):8.1f} ms"
                      + ("   asked 100 ms" if size == 200000 and name == "quote" else ""))
            best = min(once("quote", "cnn", "--book", book) for _ in range(5))
            print(f"{size:9,} offers: {'quote cnn, best of five':32}{best:8.1f} ms" + ("   asked 150 ms" if size == 200000 else ""))
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
