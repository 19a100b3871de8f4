#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Speed of the book of prices, and of one ten times as large.

Target: import all files of FARE_DATA/prices/skypilot in under 2 s and 200 MB; walk 200,000 offers in about 10 ms.
`fare prices` includes starting, checking the file and sorting. The generated catalogue has 200,000 offers
(BENCH_OFFERS=200000,2000000) in 20 regions; a tenth of them have two prices.
"""
import os
import random
import resource
import shutil
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FARE = os.environ.get("FARE", str(ROOT / "build" / "fare"))
SIZES = [int(n) for n in os.environ.get("BENCH_OFFERS", "200000,2000000").split(",")]
DATA = Path(os.environ.get("FARE_DATA", "/nonexistent")) / "prices" / "skypilot"
random.seed(1)


def once(*args):
    """Wall seconds and peak memory in MB."""
    start = time.monotonic()
    p = subprocess.Popen([FARE, "prices", *map(str, args)], stdout=subprocess.DEVNULL)
    _, status, use = os.wait4(p.pid, 0)
    if status != 0:
        raise SystemExit(f"fare prices {' '.join(map(str, args))}: status {status}")
    return time.monotonic() - start, use.ru_maxrss / 1e3


def median(*args, n=15):
    once(*args)
    runs = [once(*args) for _ in range(n)]
    times = [1e3 * t for t, _ in runs]
    middle = statistics.median(times)
    return middle, statistics.median(abs(t - middle) for t in times), max(m for _, m in runs)


def made(path, offers, date, changed):
    gpus = ["H100", "A100", "L4", "T4", "V100", "RTX4090", ""]
    with open(path, "w") as f:
        f.write("provider,name,region,kind,gpu,gpus,vcpus,memory_gib,price,date,source\n")
        for i in range(offers):
            gpu = gpus[i // 40 % len(gpus)]
            price = random.randrange(1, 10000) / 100
            if not changed or i % 10 == 0:
                f.write(f"p{i // 40 % 5},type-{i // 40},region-{i % 20},{'spot' if i // 20 % 2 else 'on-demand'},"
                        f"{gpu},{i // 40 % 8 + 1 if gpu else ''},{8 << i // 40 % 5},64,{price},{date},made\n")


def lists(book, offer):
    for name, args in (("prices (all of them, cheapest first)", []), ("prices h100", ["h100"]),
                       ("prices --gpu h100 --gpus 8 --spot", ["--gpu", "h100", "--gpus", "8", "--spot"]),
                       ("prices nosuch", ["nosuch"]), ("prices OFFER", [offer])):
        middle, mad, memory = median(*args, "--book", book)
        print(f"  {name:42}{middle:8.1f} ms ± {mad:.1f}   {memory:.0f} MB")


folder = Path(tempfile.mkdtemp(prefix="fare-bench-"))
try:
    os.environ.update(XDG_DATA_HOME=str(folder), XDG_CONFIG_HOME=str(folder / "config"), FARE_METADATA="off")
    print(f"starting alone (no book): {median('nosuch', '--book', '-')[0]:.1f} ms")
    if DATA.is_dir():
        files = sorted(DATA.glob("*.gz"))
        book = folder / "real"
        runs = []
        for _ in range(5):
            book.unlink(missing_ok=True)
            runs.append(once("import", *files, "--date", "2026-08-22", "--book", book))
        wall, memory = statistics.median(r[0] for r in runs), max(r[1] for r in runs)
        print(f"the real catalogue: {book.stat().st_size / 1e6:.1f} MB book")
        print(f"  import of {len(files)} files{wall:30.3f} s   {memory:.0f} MB   asked 2 s, 200 MB")
        wall, memory = once("import", *files, "--date", "2026-09-22", "--book", book)
        print(f"  import again, a month later{wall:23.3f} s   {memory:.0f} MB")
        lists(book, "aws/p5.48xlarge")
    for size in SIZES:
        book = folder / "made"
        book.unlink(missing_ok=True)
        made(folder / "a.csv", size, "2026-08-22", False)
        made(folder / "b.csv", size, "2026-09-22", True)
        wall, memory = once("import", folder / "a.csv", "--book", book)
        more = once("import", folder / "b.csv", "--book", book)
        print(f"{size:,} offers, {book.stat().st_size / 1e6:.0f} MB book")
        print(f"  import{wall:44.2f} s   {memory:.0f} MB")
        print(f"  import of a tenth that changed{more[0]:20.2f} s   {more[1]:.0f} MB")
        lists(book, "p1/type-1")
finally:
    shutil.rmtree(folder)
