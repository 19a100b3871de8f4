#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tries libfare-trace.so on a machine with an NVIDIA GPU and PyTorch, without fare: is it loaded, does it record and stop,
does it leave torch.profiler, forks and exits alone, what does it cost. `bench/trace/try.py build/libfare-trace.so`."""
import collections
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from ring import KINDS, busy, rings

LIBRARY = str(Path(sys.argv[1] if len(sys.argv) > 1 else "build/libfare-trace.so").resolve())

TRAIN = r"""
import os, sys, time, torch
seconds, what = float(sys.argv[1]), sys.argv[2]
dev = torch.device("cuda")
torch.manual_seed(0)
if what == "mlp":
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
began = time.perf_counter(); n = 0; half = None
while time.perf_counter() - began < seconds:
    for _ in range(20): step()
    torch.cuda.synchronize(); n += 20
print("steps/s", round(n / (time.perf_counter() - began), 2), flush=True)
"""


def run(what, seconds, library=LIBRARY, stop_after=None, code=TRAIN):
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        env = {k: v for k, v in os.environ.items() if k != "CUDA_INJECTION64_PATH"}
        if library:
            env.update(CUDA_INJECTION64_PATH=library, FARE_TRACE=folder)
        began = time.monotonic()
        p = subprocess.Popen([sys.executable, "-c", code, str(seconds), what], stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, text=True, env=env)
        found, stopped = [], None
        while p.poll() is None:
            time.sleep(0.05)
            if not found:
                found = rings(folder)
                since = time.monotonic()
            for r in found:
                r.drain()
                if stop_after and time.monotonic() - since > stop_after and stopped is None:
                    r.stop()
                    stopped = time.monotonic()
        out, err = p.communicate()
        for r in found:
            r.drain()
        print(f"--- {what}, {'with' if library else 'without'} it: exit {p.returncode}, {time.monotonic() - began:.1f} s, "
              f"{' / '.join(out.split(chr(10)))}", flush=True)
        if err.strip():
            print("    stderr:", err.strip()[-600:], flush=True)
        return p.returncode, out, err, found


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
run("mlp", 1, library="/nonexistent/libfare-trace.so")
for what in ("transformer", "mlp"):
    describe(run(what, 3)[3])
found = run("mlp", 6, stop_after=2)[3]
describe(found)
run("fork", 2)
run("profile", 4, library=None)
describe(run("profile", 4)[3])
for what in ("mlp", "transformer"):
    rates = {True: [], False: []}
    for i in range(3):
        for on in (True, False) if i % 2 else (False, True):
            out = run(what, 3, library=LIBRARY if on else None)[1]
            rates[on].append(float(out.split("steps/s")[1].split()[0]))
    print(f"{what}: without {sorted(rates[False])}, with {sorted(rates[True])}")
