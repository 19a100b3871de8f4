#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tries libfare-trace.so on a machine with an NVIDIA GPU and PyTorch, without fare: is it loaded, does it record and stop,
does it leave torch.profiler, forks and exits alone, what does it cost. `bench/trace/try.py build/libfare-trace.so`."""
import collections
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

from ring import KINDS, busy, rings

LIBRARY = str(Path(sys.argv[1] if len(sys.argv) > 1 else "build/libfare-trace.so").resolve())

TRAIN = r"""
import os, sys, time, torch
seconds, what = float(sys.argv[1]), sys.argv[2]
dev = torch.device("cuda")
torch.manual_seed(0)
if "mlp" in what:
    net = torch.nn.Sequential(torch.nn.Linear(784, 512), torch.nn.ReLU(), torch.nn.Linear(512, 512), torch.nn.ReLU(), torch.nn.Linear(512, 10)).to(dev)
    x, y = torch.randn(128, 784, device=dev), torch.randint(10, (128,), device=dev)
else:
    net = torch.nn.TransformerEncoder(torch.nn.TransformerEncoderLayer(1024, 16, batch_first=True), 6).to(dev)
    x, y = torch.randn(32, 256, 1024, device=dev), None
opt = torch.optim.AdamW(net.parameters())
def step():
    with torch.autocast("cuda", torch.bfloat16):
        out = net(x)
        loss = torch.nn.functional.cross_entropy(out, y) if y is not None else out.square().mean()
    opt.zero_grad(); loss.backward(); opt.step()
for _ in range(20): step()
torch.cuda.synchronize()
if what == "fork":
    pid = os.fork()
    if pid == 0:
        time.sleep(0.2); os._exit(0)
    os.waitpid(pid, 0)
if what == "profile":
    from torch.profiler import profile, ProfilerActivity, schedule
    for kind in ("plain", "scheduled"):
        ends = time.perf_counter() + seconds / 4
        while time.perf_counter() < ends: step()
        torch.cuda.synchronize()
        how = None if kind == "plain" else schedule(wait=2, warmup=2, active=5)
        with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA], schedule=how) as prof:
            for _ in range(5 if how is None else 9):
                step(); torch.cuda.synchronize(); prof.step()
        events = [e for e in prof.events() if "CUDA" in str(e.device_type)]
        print(kind, "profile:", len(events), "GPU events,", sum("multi_tensor" in e.name for e in events), "multi_tensor", flush=True)
began = time.perf_counter(); n = 0
while time.perf_counter() - began < seconds:
    for _ in range(20): step()
    torch.cuda.synchronize(); n += 20
    if what.startswith("rate"): print("R", time.monotonic(), n, flush=True)
print("steps/s", round(n / (time.perf_counter() - began), 2), flush=True)
"""


def run(what, seconds, library=LIBRARY, toggle_s=None, stop_after=None, code=TRAIN):
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        env = {k: v for k, v in os.environ.items() if k != "CUDA_INJECTION64_PATH"}
        if library:
            env.update(CUDA_INJECTION64_PATH=library, FARE_TRACE=folder)
        began = time.monotonic()
        p = subprocess.Popen([sys.executable, "-c", code, str(seconds), what], stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, text=True, env=env)
        found, seen, toggles = [], None, []
        lines = []
        reader = threading.Thread(target=lambda: lines.extend(p.stdout))
        reader.start()
        while p.poll() is None:
            time.sleep(0.05)
            if not found and (found := rings(folder)) and toggle_s is None:
                for r in found:
                    r.want()
            for r in found:
                r.drain()
                seen = seen or (time.monotonic() if r.records else None)
                if stop_after and seen and time.monotonic() - seen > stop_after:
                    r.want(0)
                if toggle_s and lines and (not toggles or time.monotonic() - toggles[-1][0] > toggle_s):
                    toggles.append((time.monotonic(), bool(toggles) and not toggles[-1][1]))
                    r.want(2**32 - 1 if toggles[-1][1] else 0)
        reader.join()
        out, err = "".join(lines), p.stderr.read()
        if toggle_s:
            compare(lines, toggles)
            out = out.split("\n")[-2]
        for r in found:
            r.drain()
        print(f"--- {what}, {'with' if library else 'without'} it: exit {p.returncode}, {time.monotonic() - began:.1f} s, "
              f"{' / '.join(out.split(chr(10)))}", flush=True)
        if err.strip():
            print("    stderr:", err.strip()[-600:], flush=True)
        return p.returncode, out, err, found


def compare(lines, toggles):
    """Steps/s while it is on and off in one process, without the second after each change, and the worst pauses at a change."""
    marks = [(float(t), int(n)) for line in lines if line.startswith("R ") for _, t, n in [line.split()]]
    rates, pauses = {"before": [], True: [], False: []}, {"before": [], True: [], False: []}
    for (t0, n0), (t1, n1) in zip(marks, marks[1:]):
        before = [x for x in toggles if x[0] <= t1]
        if not before:
            continue
        at, on = before[-1]
        on = on if len(before) > 1 else "before"
        (rates if t0 > at + 1.2 else pauses)[on].append((n1 - n0) / (t1 - t0))
    for on in rates:
        print(f"    {on}: median {statistics.median(rates[on]):.2f} steps/s of {len(rates[on])}, "
              f"slowest after a change {min(pauses[on], default=0):.2f}")
    for on in (True, False):
        print(f"    cost {'on' if on else 'off, afterwards'}: {100 * (1 - statistics.median(rates[on]) / statistics.median(rates['before'])):.2f} %")


def describe(found):
    for r in found:
        h = r.header()
        by = collections.Counter(KINDS[x[6]] for x in r.records)
        print(f"    state {r.state()}, CUPTI {h['cupti']}, {h['head']} records {dict(by)}, {h['dropped']} dropped, {h['names']} names, "
              f"in callbacks {h['spent_ns'] / 1e6:.1f} ms, clock {(h['clock_ns'] - h['cupti_ns']) / 1e9:.3f} s")
        if not r.records:
            continue
        late = sum(a[0] > b[0] for a, b in zip(r.records, r.records[1:]))
        span = (max(x[0] + x[1] for x in r.records) - min(x[0] for x in r.records)) / 1e9
        print(f"    span {span:.2f} s, busy {busy(r.records[len(r.records) // 2:]):.3f} in its second half, {late} out of order")
        times = collections.Counter()
        for x in r.records:
            times[r.name(x[2]) if x[6] == 0 else KINDS[x[6]]] += x[1]
        for name, ns in times.most_common(12):
            print(f"      {ns / 1e6:9.2f} ms  {name[:150]}")


print(subprocess.run(["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"], capture_output=True, text=True).stdout.strip())
if "--all" in sys.argv:
    run("mlp", 1, library="/nonexistent/libfare-trace.so")
    describe(run("transformer", 3)[3])
    run("profile", 4, library=None)
    describe(run("profile", 8, stop_after=1)[3])  # the profiler starts after it was turned off
run("rate mlp", 16, toggle_s=3)
run("profile", 4, stop_after=1)
