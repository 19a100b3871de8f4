#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Rates that a machine reaches: `fare check --bandwidth`, several times, and the GPU's own activity in the steady part of a run.

    bench/rates.py [--fare build/fare] [--times 3] [--workload inception]

Prints Markdown: each rate with the spread between the measurements, the time that a check takes (it should stay under 15 s), and
on a GPU what `use.steady` says of a sample beside the mean over the whole run. If PyTorch is installed, its products and copy of
the same sizes stand beside fare's, which are by its own kernel and by the machine's cuBLASLt.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

TORCH = """
import json, time, torch
def best(call, seconds):
    call(); torch.cuda.synchronize()
    out = []
    for _ in range(5):
        torch.cuda.synchronize(); start = time.perf_counter(); times = 0
        while time.perf_counter() - start < seconds:
            for _ in range(20): call()
            torch.cuda.synchronize(); times += 20
        out.append((time.perf_counter() - start) / times)
    return min(out)
for precision, kind, tf32 in (("f32", torch.float32, False), ("tf32", torch.float32, True), ("bf16", torch.bfloat16, False),
                              ("f16", torch.float16, False)):
    torch.backends.cuda.matmul.allow_tf32 = tf32
    for size in (4096, 8192):
        a, b = (torch.rand(size, size, device="cuda", dtype=kind) * 2 - 1 for _ in range(2))
        y = torch.empty(size, size, device="cuda", dtype=kind)
        print(json.dumps(["product", precision, size, 2 * size ** 3 / best(lambda: torch.mm(a, b, out=y), 0.1)]))
a, b = (torch.rand(1 << 26, device="cuda") for _ in range(2))
print(json.dumps(["copy", None, a.nbytes, 2 * a.nbytes / best(lambda: b.copy_(a), 0.1)]))
"""


def value(rate, unit):
    for scale, letter in ((1e12, "T"), (1e9, "G"), (1e6, "M")):
        if rate >= scale:
            return f"{rate / scale:.4g} {letter}{unit}"
    return f"{rate:.4g} {unit}"


def check(fare, env):
    start = time.monotonic()
    p = subprocess.run([fare, "check", "--bandwidth", "--no-cloud", "--json"], env=env, stdout=subprocess.PIPE, check=True)
    return json.loads(p.stdout), time.monotonic() - start


def rates(fare, env, times):
    checks = [check(fare, env) for _ in range(times)]
    rows = {}
    for machine, _ in checks:
        for r in machine["rates"]["list"]:
            rows.setdefault((r["device"], r["operation"], r.get("precision", ""), r.get("by", "–")), []).append(r)
    machine = checks[0][0]
    print(f"{machine['cpu'].get('model')}, {machine['cpu'].get('usable_cpus')} CPUs; "
          + ", ".join(g.get("name", "?") for g in machine.get("gpus", [])) + f"; {machine['rates']['measured_at']}; "
          f"a check took {', '.join(f'{s:.1f}' for _, s in checks)} s\n")
    print("| device | operation | size | rate, median of %d | spread | of the data sheet | by |\n|---|---|---|---|---|---|---|" % times)
    for (device, operation, precision, by), found in rows.items():
        values = [r["per_s"] for r in found if "per_s" in r]
        if not values:
            print(f"| {device} | {operation} {precision} | | not measured: {found[0].get('problem')} | | | {by} |")
            continue
        middle = statistics.median(values)
        share = found[0].get("share_of_peak")
        print(f"| {device} | {operation} {precision} | {found[0].get('size', '')} | {value(middle, found[0]['unit'])} | "
              f"±{(max(values) - min(values)) / 2 / middle:.1%} | {f'{share:.0%}' if share else '–'} | {by} |")
    return machine


def torch_rates():
    p = subprocess.run([sys.executable, "-c", TORCH], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    if p.returncode != 0:
        return
    print("\nPyTorch on the same GPU:\n\n| operation | size | rate |\n|---|---|---|")
    for line in p.stdout.splitlines():
        operation, precision, size, per_s = json.loads(line)
        print(f"| {operation} {precision or ''} | {size} | {value(per_s, 'flop/s' if precision else 'byte/s')} |")


def activity(fare, env, workload):
    p = subprocess.run([fare, "run", workload, "--max-time", "15s", "--within", "0.1%", "--json"], env=env,
                       stdout=subprocess.PIPE, check=True)
    run = json.loads(p.stdout)["runs"][0]
    use, steady = run["use"], run["steady"]
    print(f"\n`fare run {workload}`: {run['phases']['wall_ns'] / 1e9:.1f} s, steady from {steady.get('from_s')} to "
          f"{steady.get('to_s')} s ({steady.get('kind')}); one thread {run['machine']['thread_ops_per_s'] / 1e9:.3g} billion "
          f"multiply-adds/s; {len(run['machine'].get('rates', {}).get('list', []))} rates in its record\n")
    print("| figure | whole run | steady part |\n|---|---|---|")
    for name in sorted(set(use.get("steady", {})) | {"gpu_percent", "sm_percent", "tensor_percent", "dram_percent"}):
        print("| %s | %s | %s |" % (name, *(f"{u[name]:.4g}" if name in u else "–" for u in (use, use.get("steady", {})))))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--fare", default=os.path.join(os.path.dirname(__file__), "..", "build", "fare"))
    parser.add_argument("--times", type=int, default=3)
    parser.add_argument("--workload", default="inception")
    options = parser.parse_args()
    fare = os.path.realpath(options.fare)
    with tempfile.TemporaryDirectory() as folder:
        env = {**os.environ, "XDG_DATA_HOME": folder, "FARE_METADATA": "off"}
        os.chdir(folder)
        machine = rates(fare, env, options.times)
        if machine["bandwidth"].get("gpus"):
            torch_rates()
        activity(fare, env, options.workload)


if __name__ == "__main__":
    main()
