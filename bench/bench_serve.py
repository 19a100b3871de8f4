#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Latency of `fare serve` for 200 clients, with 100,000 runs in the ledger; clients and server share two cores.

Target: no error, and a 99th percentile under 50 ms for the list. wrk's 200 connections send the next request as soon as
they have an answer. `the overview`: `/`. `the prices`: `/prices`. `a GPU model`: `/gpu?name=H100`. `one address`: the list, the same page for all, rendered once a second. `24 addresses`: pages and filters of
the list, each rendered once a second. `each its own`: all addresses differ, so that every page is rendered for one
client. Memory is that of a new process, read each second until 500,000 requests are answered. BENCH_RUNS=100000 and
BENCH_SECONDS=10 are the defaults.
"""
import http.client
import json
import os
import random
import re
import shutil
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FARE = os.environ.get("FARE", str(ROOT / "build" / "fare"))
RUNS = int(os.environ.get("BENCH_RUNS", "100000"))
SECONDS = int(os.environ.get("BENCH_SECONDS", "10"))
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
LUA = {
    "the overview": "",
    "the prices": "request = function() return wrk.format('GET', '/prices') end\n",
    "a GPU model": "request = function() return wrk.format('GET', '/gpu?name=H100') end\n",
    "one address": "request = function() return wrk.format('GET', '/runs') end\n",
    f"{len(ADDRESSES)} addresses": "local all = {" + ",".join(f'"{a}"' for a in ADDRESSES) + "}\nlocal n = 0\n"
                                   "request = function() n = n + 1; return wrk.format('GET', all[n % #all + 1]) end\n",
    "each its own": "local n = 0\nrequest = function() n = n + 1; return wrk.format('GET', '/runs?page=1&page=' .. n .. '.' .. START) end\n",
}


class Server:
    def __init__(self, ledger):
        self.process = subprocess.Popen([FARE, "serve", "--listen", "127.0.0.1:0", "--ledger", str(ledger)],
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
        connection = http.client.HTTPConnection(self.url.split("/")[2])
        start = time.monotonic()
        connection.request("GET", path)
        connection.getresponse().read()
        return (time.monotonic() - start) * 1e3


def milliseconds(text):
    number, unit = re.fullmatch(r"([\d.]+)(us|ms|s|m)", text).groups()
    return float(number) * {"us": 1e-3, "ms": 1, "s": 1e3, "m": 6e4}[unit]


def wrk(server, folder, script, seconds=SECONDS):
    (folder / "ask.lua").write_text(script.replace("START", str(time.monotonic_ns())))
    text = subprocess.run(["wrk", "-t1", "-c200", f"-d{seconds}s", "--latency", "-s", str(folder / "ask.lua"),
                           server.url], check=True, capture_output=True, text=True).stdout
    figures = {p: milliseconds(re.search(rf"(?m)^\s+{p}%\s+(\S+)", text).group(1)) for p in (50, 99)}
    errors = sum(int(n) for n in re.findall(r"(?:connect|read|write|timeout) (\d+)", text))
    refused = re.search(r"Non-2xx or 3xx responses: (\d+)", text)
    count = int(re.search(r"(\d+) requests in", text).group(1))
    return figures, errors + (int(refused.group(1)) if refused else 0), count


os.sched_setaffinity(0, set(sorted(os.sched_getaffinity(0))[:2]))
folder = Path(tempfile.mkdtemp(prefix="fare-bench-"))
server = None
try:
    os.environ.update(XDG_DATA_HOME=str(folder), XDG_CONFIG_HOME=str(folder), FARE_METADATA="off")
    with open(folder / "runs.jsonl", "w") as f:
        f.writelines(record(i) + "\n" for i in range(RUNS))
    ledger = folder / "ledger.db"
    subprocess.run([FARE, "runs", "import", str(folder / "runs.jsonl"), "--ledger", str(ledger)], check=True,
                   stdout=subprocess.DEVNULL)
    server = Server(ledger)
    print(f"{RUNS:,} runs, 200 connections, {len(os.sched_getaffinity(0))} cores")
    alone = [server.ask(f"/runs?page=1&page={n}") for n in range(50)]
    print(f"  the list for one client      {statistics.median(alone):6.1f} ms")
    for name, script in LUA.items():
        cpu = server.cpu_s()
        figures, errors, count = wrk(server, folder, script)
        asked = "   asked 50 ms" if name == "one address" else ""
        print(f"  {name:24}p50 {figures[50]:6.1f} ms   p99 {figures[99]:6.1f} ms   {count / SECONDS:8,.0f} a second   "
              f"{errors} errors   {(server.cpu_s() - cpu) / count * 1e6:5.0f} µs of CPU each{asked}", flush=True)
    print(f"  /metrics                     {server.ask('/metrics'):6.1f} ms", end="")
    time.sleep(1.1)
    print(f", again {server.ask('/metrics'):.1f} ms")
    server.stop()
    server = Server(ledger)
    seen, looks = 0, [f"{server.resident_mb():.1f} at first"]
    while seen < 500000:
        seen += wrk(server, folder, LUA["one address"], 1)[2]
        looks.append(f"{server.resident_mb():.1f} after {seen:,}")
    print(f"  memory in MB, over requests: {', '.join(looks)}")
finally:
    if server:
        server.stop()
    shutil.rmtree(folder)
