#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Two programs side by side in one run: bench/bench_before.py BEFORE AFTER [NAME...]

start (`fare --version`), quote (`quote cnn` over 200,000 offers), serve (pages with 200 clients over 20,000 runs), site (of 1,000 runs).
The two take turns; figures are the CPU time of the program and its children, or of the server for a request, so that other work on the
machine counts little; the median of the turns, and AFTER divided by BEFORE: under 1 is faster.
"""
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import bench_quote
import bench_serve
import bench_site

PAGES = {"list": "/runs", **bench_serve.OWN}


def cpu_ms(fare, *words):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([fare, *map(str, words)], stdout=subprocess.DEVNULL, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return 1e3 * (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)


def told(name, unit, figures):
    one, two = (statistics.median(f) for f in figures)
    print(f"{name:24}{one:10.2f}{two:10.2f} {unit:4}   × {two / one:.2f}   load {os.getloadavg()[0]:.1f}", flush=True)


def turns(name, programs, times, *words):
    figures = [[], []]
    for _ in range(times + 1):  # the first reads from disk
        for fare, figure in zip(programs, figures):
            figure.append(cpu_ms(fare, *(w(fare) if callable(w) else w for w in words)))
    told(name, "ms", [f[1:] for f in figures])


def start(programs, folder):
    figures = [[], []]
    for _ in range(20):  # CPU time of one start is below what the kernel counts
        for fare, figure in zip(programs, figures):
            figure.append(cpu_ms("/bin/sh", "-c", f'for i in {" ".join("1" * 50)}; do "{fare}" --version; done') / 50)
    told("fare --version", "ms", figures)


def quote(programs, folder):
    bench_quote.made(folder / "made.csv", 200000)
    subprocess.run([programs[0], "prices", "import", folder / "made.csv", "--book", folder / "book"], check=True, stdout=subprocess.DEVNULL)
    turns("quote cnn, 200,000", programs, 15, "quote", "cnn", "--book", folder / "book")
    turns("quote cnn, shipped book", programs, 15, "quote", "cnn")


def serve(programs, folder):
    # A ledger of its own for each: the newer program brings it to a schema that the older one refuses.
    ledgers = [folder / "0.db", folder / "1.db"]
    shutil.copy(bench_serve.fill(folder, 20000, programs[0]), ledgers[0])
    shutil.copy(ledgers[0], ledgers[1])
    # Turns of a new server each: what one keeps is its own.
    figures, slow = {name: [[], []] for name in PAGES}, 0
    for _ in range(3):
        for which, fare in enumerate(programs):
            server = bench_serve.Server(ledgers[which], fare)
            try:
                for name, address in PAGES.items():
                    server.ask(bench_serve.named(address).replace("RUNN", bench_serve.IDS[0]).replace("N", "9000000"))
                    began = server.cpu_s()
                    _, errors, count = bench_serve.wrk(server, folder, bench_serve.script([address]), 3)
                    time.sleep(0.5)
                    slow += errors  # time-outs of wrk, where other programs compute
                    figures[name][which].append(1e3 * (server.cpu_s() - began) / count)
            finally:
                server.stop()
    for name, both in figures.items():
        told(f"serve: {name}", "ms", both)
    print(f"{slow} requests were not answered in time" if slow else "every request was answered")


def site(programs, folder):
    bench_site.RUNS = 1000
    with open(folder / "runs.jsonl", "w") as file:
        file.writelines(bench_site.record(i) + "\n" for i in range(1000))
    ledgers = dict(zip(programs, (folder / "0.db", folder / "1.db")))
    for fare, ledger in ledgers.items():
        subprocess.run([fare, "runs", "import", folder / "runs.jsonl", "--ledger", ledger], check=True, stdout=subprocess.DEVNULL)

    def fresh(fare):
        shutil.rmtree(folder / "site", ignore_errors=True)
        return folder / "site"
    turns("site of 1,000 runs", programs, 3, "report", "--all", "--ledger", ledgers.get, "--site", fresh)


def main():
    programs, names = sys.argv[1:3], sys.argv[3:] or ["start", "quote", "serve", "site"]
    if len(programs) < 2 or not all(name in ("start", "quote", "serve", "site") for name in names):
        sys.exit(__doc__)
    print(f"{'':24}{'before':>10}{'after':>10}")
    for name in names:
        folder = Path(tempfile.mkdtemp(prefix="fare-bench-"))
        os.environ.update(XDG_DATA_HOME=str(folder), XDG_CONFIG_HOME=str(folder / "config"), FARE_METADATA="off")
        os.environ.pop("FARE_LEDGER", None)
        try:
            globals()[name](programs, folder)
        finally:
            shutil.rmtree(folder)


main()
