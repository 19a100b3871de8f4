#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Latency, size and memory of `fare serve` for 200 clients, with 100,000 runs in the ledger; clients and server share two cores.

Targets: no error, a 99th percentile under 50 ms for every shared page, no page over 250 KB, and memory that does not grow.
wrk's 200 connections send the next request as soon as they have an answer. Shared pages are the same for all clients and
rendered once a second; `24 addresses` are pages and filters of the list. `own`: all addresses differ, so that every page is
rendered for one client. Memory is that of a new process which is asked for all kinds of pages, read each second until 500,000
requests are answered; the median of the last two fifths may be a tenth more than that of the first two. BENCH_RUNS=100000, BENCH_SECONDS=10 and
BENCH_REQUESTS=500000 are the defaults. BENCH_ONLY=pages or memory leaves the rest out.
"""
import http.client
import json
import os
import random
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FARE = os.environ.get("FARE", str(ROOT / "build" / "fare"))
RUNS = int(os.environ.get("BENCH_RUNS", "100000"))
SECONDS = int(os.environ.get("BENCH_SECONDS", "10"))
REQUESTS = int(os.environ.get("BENCH_REQUESTS", "500000"))
ONLY = os.environ.get("BENCH_ONLY", "")
KB_MOST, MS_MOST = 250, 50
WORKLOADS = ["mlp", "cnn", "cifar", "imdb", "tweets", "textgen", "inception"]
random.seed(1)


def record(i):
    started = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(1700000000 + 37 * i))
    number, full = random.randrange(40), random.random() < 0.3
    step = random.uniform(0.9, 1.1) * (1 + number)
    return json.dumps({
        "schema": "fare.run/1", "id": started.replace("-", "").replace(":", "") + f"-{random.getrandbits(48):012x}",
        "started": started, "name": "x", "workload": random.choice(WORKLOADS),
        "framework": random.choice(["fare", "pytorch", "jax"]), "engine": "cuda", "precision": "f32", "threads": 8,
        "seed": i, "batch": 128, "net": "dense 512, dropout 0.2, dense 512, dropout 0.2, dense 10",
        "recipe": "RMSprop, rate 0.001", "parameters": 669706,
        "data": {"name": "mnist", "identity": "b" * 64, "made": False, "train_samples": 60000, "test_samples": 10000},
        "machine": {"fingerprint": f"{number:064x}", "name": f"machine {number}", "cpu": "Intel(R) Xeon(R) Platinum 8480C",
                    "usable_cpus": 16, "memory_bytes": 137438953472, "gpu": "NVIDIA H100 80GB HBM3", "gpus": 1},
        "labels": [{"key": "price_per_hour_usd", "value": f"{1 + number}.25"}, {"key": "team", "value": f"{i % 4}"}],
        "ended": "finished" if full else "sampled", "full": full, "steps": 500, "total_steps": 9380,
        "steps_per_epoch": 469, "epochs": 20, "step_ms": step, "test_accuracy": random.uniform(0.97, 0.99),
        "phases": {"setup_ns": 12345678, "load_ns": 2345678, "train_ns": 500000000, "wall_ns": int(step * 9.38e9)},
        "steady": {"kind": "flat", "step_ms": step, "low_ms": step * 0.99, "high_ms": step * 1.01, "outliers": 0},
        "projection": {"after_s": 2.0, "wall_s": step * 9.38, "low_s": step * 9.3, "high_s": step * 9.5},
        "use": {"gpu_percent": 88.5, "gpus": 1}}, separators=(",", ":"))


ADDRESSES = (["/runs"] + [f"/runs?page={n}" for n in (2, 3, 10, 100, 1000)] + [f"/runs?workload={w}" for w in WORKLOADS]
             + [f"/runs?framework={f}&page={n}" for f in ("fare", "jax") for n in (1, 2)] + ["/runs?machine=machine+7", "/runs?machine=none"]
             + [f"/runs?label=team%3D{n}" for n in (0, 3)] + ["/runs?since=2023-12-01", "/runs.json", "/runs.json?workload=cnn"])
SHARED = {
    "the overview": "/", "the list": "/runs", "the prices": "/prices", "a GPU model": "/gpu?name=H100", "a quote": "/quote?run=cnn",
    "a run": "/runs/last", "two runs": "/compare?run=RUN0&run=RUN1", "eight runs": "/compare?" + "&".join(f"run=RUN{n}" for n in range(8)),
    "who spent what": "/spend"}
OWN = {"own list": "/runs?page=1&page=N", "own filter": "/runs?workload=cnn&since=2023-12-01&page=1&page=N", "own run": "/runs/RUNN",
       "own prices": "/prices?max_price=N.5", "own GPU": "/gpu?name=H100&name=N", "own quote": "/quote?run=cnn&budget=N.5"}


def script(addresses):
    """All connections ask for these in turn; N is the number of the request, RUNN the id of one of the runs."""
    listed = ",".join(f'"{a}"' for a in addresses)
    ids = ",".join(f'"{i}"' for i in IDS[:2000])
    return (f"local all, ids, n = {{{listed}}}, {{{ids}}}, 0\n"
            "request = function()\n  n = n + 1\n  local at = all[n % #all + 1]:gsub('RUNN', ids[n % #ids + 1]):gsub('N', n)\n"
            "  return wrk.format('GET', at)\nend\n")


IDS = []


class Server:
    def __init__(self, ledger, fare=FARE):
        self.process = subprocess.Popen([fare, "serve", "--listen", "127.0.0.1:0", "--ledger", str(ledger)],
                                        stdout=subprocess.PIPE, text=True)
        self.url = re.search(r"http://\S+", self.process.stdout.readline()).group(0)

    def stop(self):
        self.process.terminate()
        self.process.wait()

    def resident_mb(self):
        return int(re.search(r"VmRSS:\s+(\d+)", Path(f"/proc/{self.process.pid}/status").read_text()).group(1)) / 1024

    def cpu_s(self):
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def ask(self, path):
        """Milliseconds."""
        return self.fetch(path)[0]

    def fetch(self, path):
        """Milliseconds, and bytes."""
        connection = http.client.HTTPConnection(self.url.split("/")[2])
        start = time.monotonic()
        connection.request("GET", path)
        body = connection.getresponse().read()
        return (time.monotonic() - start) * 1e3, len(body)


def milliseconds(text):
    number, unit = re.fullmatch(r"([\d.]+)(us|ms|s|m)", text).groups()
    return float(number) * {"us": 1e-3, "ms": 1, "s": 1e3, "m": 6e4}[unit]


def named(address):
    """With the ids of runs, the newest first."""
    return re.sub(r"RUN(\d)", lambda m: IDS[int(m.group(1))], address)


def wrk(server, folder, script, seconds=SECONDS):
    (folder / "ask.lua").write_text(script)
    text = subprocess.run(["wrk", "-t1", "-c200", f"-d{seconds}s", "--latency", "-s", str(folder / "ask.lua"),
                           server.url], check=True, capture_output=True, text=True).stdout
    figures = {p: milliseconds(re.search(rf"(?m)^\s+{p}%\s+(\S+)", text).group(1)) for p in (50, 99)}
    errors = sum(int(n) for n in re.findall(r"(?:connect|read|write|timeout) (\d+)", text))
    refused = re.search(r"Non-2xx or 3xx responses: (\d+)", text)
    count = int(re.search(r"(\d+) requests in", text).group(1))
    return figures, errors + (int(refused.group(1)) if refused else 0), count


def pages(server, folder):
    good = True
    print(f"{RUNS:,} runs, 200 connections, {len(os.sched_getaffinity(0))} cores, load {os.getloadavg()[0]:.1f}")
    server.ask("/")
    time.sleep(5)  # the overview's figures about all runs are made once
    for name, addresses in {**{n: [a] for n, a in SHARED.items()}, f"{len(ADDRESSES)} addresses": ADDRESSES,
                            **{n: [a] for n, a in OWN.items()}}.items():
        own = name in OWN
        alone = [server.fetch(named(addresses[0]).replace("RUNN", IDS[n]).replace("N", str(10 ** 7 + n)))
                 for n in range(20 if own else 1)]
        for a in addresses if not own else []:  # what nobody has asked for yet is waited for
            server.ask(named(a))
        cpu, load = server.cpu_s(), os.getloadavg()[0]
        figures, errors, count = wrk(server, folder, script([named(a) for a in addresses]))
        size = max(size for _, size in alone) / 1e3
        ok = not errors and size <= KB_MOST and (own or figures[99] < MS_MOST)
        good &= ok
        print(f"  {name:16}p50 {figures[50]:6.1f} ms   p99 {figures[99]:6.1f} ms   {count / SECONDS:8,.0f} a second   {errors} errors   "
              f"{(server.cpu_s() - cpu) / count * 1e6:6.0f} µs of CPU each   {size:5.1f} KB   one client "
              f"{statistics.median(ms for ms, _ in alone):6.1f} ms   load {load:.1f}{'' if ok else '   NOT AS ASKED'}", flush=True)
    print(f"  /metrics                     {server.ask('/metrics'):6.1f} ms", end="")
    time.sleep(1.1)
    print(f", again {server.ask('/metrics'):.1f} ms, {server.resident_mb():.1f} MB")
    return good


def memory(server, folder):
    """All kinds of pages, each second another mixture of them."""
    mixture = [named(a) for a in [*SHARED.values(), *ADDRESSES] * 2]
    seen, looks = 0, [(0, server.resident_mb())]
    while seen < REQUESTS:
        own = list(OWN.values())[len(looks) % len(OWN)]
        seen += wrk(server, folder, script(mixture + [own]).replace("n = n + 1", f"n = n + 1 + {len(looks)} * 1000000", 1), 1)[2]
        looks.append((seen, server.resident_mb()))
    # Heavy pages that are rendered at the moment move it up and down, so that a single look says little.
    first = statistics.median(mb for count, mb in looks[1:] if count <= REQUESTS * 2 / 5 or count == looks[1][0])
    last = statistics.median(mb for count, mb in looks if count > REQUESTS * 3 / 5)
    flat = last <= 1.1 * first
    print(f"  memory in MB: {', '.join(f'{mb:.1f} after {count:,}' for count, mb in looks[:: max(1, len(looks) // 10)])}")
    print(f"  median of the first two fifths {first:.1f}, of the last two {last:.1f}, at most {max(mb for _, mb in looks):.1f}"
          f"{'' if flat else '   NOT AS ASKED'}")
    return flat


def fill(folder, runs=RUNS, fare=FARE):
    """A ledger with so many runs; IDS has theirs, the newest first."""
    with open(folder / "runs.jsonl", "w") as f:
        for i in range(runs):
            line = record(i)
            IDS.append(json.loads(line[:200].split(',"started"')[0] + "}")["id"])
            f.write(line + "\n")
    IDS.reverse()
    ledger = folder / "ledger.db"
    subprocess.run([fare, "runs", "import", str(folder / "runs.jsonl"), "--ledger", str(ledger)], check=True,
                   stdout=subprocess.DEVNULL)
    return ledger


def main():
    os.sched_setaffinity(0, set(sorted(os.sched_getaffinity(0))[:2]))
    folder = Path(tempfile.mkdtemp(prefix="fare-bench-"))
    server, good = None, True
    try:
        os.environ.update(XDG_DATA_HOME=str(folder), XDG_CONFIG_HOME=str(folder), FARE_METADATA="off")
        ledger = fill(folder)
        if ONLY != "memory":
            server = Server(ledger)
            good &= pages(server, folder)
            server.stop()
        if ONLY != "pages":
            server = Server(ledger)
            good &= memory(server, folder)
    finally:
        if server:
            server.stop()
        shutil.rmtree(folder)
    sys.exit(not good)


if __name__ == "__main__":
    main()
