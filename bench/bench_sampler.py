#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Cost of the sampler for the run it watches. Target: under 0.5 % of the training time.

    bench/bench_sampler.py [--seconds 20] [--pairs 15] [--nvml]

Measures the CPU time of its threads per second of run, on this machine and with a fake NVML with eight GPUs
(without the real library's cost; --nvml uses this machine's), and the time of a fixed loop in two threads with
and without the sampler, in alternating order. Shared machines are noisy: the figures are printed with their
spread and mean little if it exceeds 0.5 %.
"""
import argparse
import os
import statistics
import subprocess
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BUILD = Path(os.environ.get("BUILD", ROOT / "build"))
ASKED = 0.5  # per cent

parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
parser.add_argument("--seconds", type=float, default=20)
parser.add_argument("--pairs", type=int, default=15)
parser.add_argument("--nvml", action="store_true", help="only the cost, with this machine's own NVML")
args = parser.parse_args()


def compile_c(out, *arguments):
    subprocess.run(["cc", "-std=gnu17", "-D_GNU_SOURCE", "-O2", f"-I{ROOT}/src", "-o", out, *arguments],
                   check=True)


def cost(name, program, env):
    words = subprocess.run([program, "cost", str(args.seconds)], check=True, text=True,
                           stdout=subprocess.PIPE, env=env).stdout.split()
    share, start_ms, end_ms, interval_s, _ = map(float, words)
    print(f"{name:28}{share * 100:8.4f} % of one CPU   < {ASKED} %: {'yes' if share * 100 < ASKED else 'NO'}"
          f"   (a look every {interval_s:.2f} s; start {start_ms:.1f} ms, end {end_ms:.1f} ms)")


with tempfile.TemporaryDirectory(prefix="fare-bench-") as scratch:
    program = f"{scratch}/bench_sampler"
    compile_c(program, f"{ROOT}/bench/bench_sampler.c", f"{BUILD}/libcore.a",
              "-ljansson", "-lm", "-ldl", "-lpthread")
    env = dict(os.environ)
    env.pop("FARE_NVML", None)
    cost("threads, this machine", program, env)
    if not args.nvml:
        library = f"{scratch}/fake_nvml.so"
        compile_c(library, "-shared", "-fPIC", f"{ROOT}/tests/machine/fake_nvml.c")
        eight = dict(env, FARE_NVML=library,
                     FARE_FAKE_NVML=str(ROOT / "tests/machine/trees/eight-h100/nvml.txt"))
        cost("threads, eight GPUs", program, eight)
        rows = subprocess.run([program, "pairs", str(args.pairs)], check=True, text=True,
                              stdout=subprocess.PIPE, env=eight).stdout.splitlines()
        rows = [[float(word) for word in row.split()] for row in rows]
        for name, without, with_it in (("loop in two threads, time", 0, 1), ("the same, CPU time", 2, 3)):
            ratios = [row[with_it] / row[without] for row in rows]
            median = statistics.median(ratios)
            mad = statistics.median(abs(r - median) for r in ratios)
            error = 1.4826 * mad * 1.2533 / len(ratios) ** 0.5  # of the median, were they normal
            print(f"{name:28}{100 * (median - 1):+8.2f} % with it      spread {100 * mad:.2f} %, "
                  f"the median is known to {100 * error:.2f} %")
