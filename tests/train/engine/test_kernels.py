#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The GPU's kernels where there is no GPU: test_cuda with the stand-in for the driver (fake_gpu.c), which runs their PTX and is
stricter than a GPU (ptx/ptx.h, ptx/memory.h). Some of each kind; with FARE_TEST_WHOLE=1 all sizes, and the first steps of all
workloads but inception. A test that is skipped here has failed."""
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.environ["ROOT"], "tests"))
from tap import done, report  # noqa: E402

PLACE = os.path.join(os.environ["BUILD"], "tests", "train", "engine")
ENV = {"FARE_CUDA": os.path.join(PLACE, "fake_gpu.so"), "FAKE_GPU_RUN": "2", "FARE_CUDA_APART": "1", "CMOCKA_MESSAGE_OUTPUT": "TAP"}
LITTLE = {"FARE_TEST_LAST": "1"}
SOME = {} if os.environ.get("FARE_TEST_WHOLE") else LITTLE


def kernels(of, tests="*", **env):
    p = subprocess.run([os.path.join(PLACE, "test_cuda")], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=3000,
                       env={**os.environ, **ENV, "FARE_TEST_FILTER": tests, **env})
    ends = re.findall(r"^(ok|not ok) \d+ (?:- |# SKIP )(\w+)$", p.stdout, re.M)
    for end, name in ends:
        report(f"{of}: {name.replace('_', ' ')}", end == "ok", p.stdout, lines=60)
    report(f"{of}: it came to its end", ends and p.returncode == 0, p.stdout, lines=60)


kernels("as on an H200", FARE_TEST_SKIP="losses*", FAKE_GPU_ORDER="5", **SOME)
for workload in ("mlp", "tweets") if SOME else ("mlp", "cnn", "cifar", "imdb", "textgen", "tweets"):
    kernels(f"as on an H200, {workload}", "losses*", FARE_TEST_ONLY=workload, FAKE_GPU_LATE="1", **LITTLE)
# Nothing happens before it is waited for; page-locked memory runs out at its first, second and last allocation.
for call in (0, 1, 2, 4):
    kernels(f"late, {f'without page-locked memory from allocation {call} on' if call else 'with page-locked memory'}", "l1_in_pieces",
            FAKE_GPU_LATE="1", **({"FAKE_GPU_FAIL": f"cuMemHostAlloc:{call}"} if call else {}))
# A cluster of two blocks makes all tiles of a product, and one processor stays idle.
kernels("as on an H200 with three multiprocessors", "parts_of_a_gpt", FAKE_GPU_PROCESSORS="3", **LITTLE)
kernels("as on an A100", "*gpt*", FAKE_GPU_CAPABILITY="80", FAKE_GPU_ORDER="3", FAKE_GPU_LATE="1", **SOME)
kernels("as on a P100", "every_operation_in_single*", FAKE_GPU_CAPABILITY="60", **SOME)
kernels("as on an L4, with less shared memory", "every_operation_in_tf32*", FAKE_GPU_CAPABILITY="86", **SOME)
done()
