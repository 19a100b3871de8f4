#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The same workloads in PyTorch, by the same definitions, for the comparisons.

    pytorch_reference.py NAME [--threads 2] [--seconds 5] [--vocabulary V] [--time T]

Trains on random samples of the right shape and prints one JSON object: the median time of a step and the
process's peak memory. Needs Python with PyTorch.
"""
import argparse
import json
import resource
import statistics
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "share" / "frameworks" / "pytorch"))

import torch  # noqa: E402

from nets import WORKLOADS, glorot, train_step  # noqa: E402

SHAPES = {"mlp": (1, 28, 28), "cnn": (1, 28, 28), "cifar": (3, 32, 32), "inception": (3, 299, 299)}
TEXTS = {"imdb": (20000, 100), "tweets": (274562, 50), "textgen": (57, 40)}  # different tokens, tokens of a sample
CLASSES = {"imdb": 2, "tweets": 2, "inception": 5}  # textgen: its tokens; others: 10


def speed_l1():
    """torch.cdist(p=1) on enough pairs for a second or two."""
    n, m, dim = 2048, 2048, 512
    x, y = torch.rand(n, dim), torch.rand(m, dim)
    torch.cdist(x[:64], y[:64], p=1)
    times = []
    for _ in range(3):
        start = time.monotonic()
        torch.cdist(x, y, p=1)
        times.append(time.monotonic() - start)
    print(json.dumps({"workload": "l1", "torch": torch.__version__, "threads": torch.get_num_threads(),
                      "shape": [n, m, dim], "step_ms": min(times) * 1e3}))


def speed(a):
    if a.name == "l1":
        return speed_l1()
    w = WORKLOADS[a.name]
    words, length = TEXTS.get(a.name, (0, 0))
    words, length, batch = a.vocabulary or words, a.time or length, w.batch
    classes = words if a.name == "textgen" else CLASSES.get(a.name, 10)
    net = w.build(words or classes)
    glorot(net)
    net.train()
    optimizer = w.optimizer(net)
    if a.name in SHAPES:
        samples = [torch.rand(batch, *SHAPES[a.name]) for _ in range(4)]
    else:
        samples = [torch.randint(0, words, (batch, length)) for _ in range(4)]
    labels = [torch.randint(0, classes, (batch,)) for _ in range(4)]
    for i in range(3):  # the first ones allocate memory and choose kernels
        train_step(a.name, net, optimizer, samples[i], labels[i])
    times, end = [], time.monotonic() + a.seconds
    while time.monotonic() < end or len(times) < 3:
        i = len(times) % 4
        start = time.monotonic()
        train_step(a.name, net, optimizer, samples[i], labels[i])
        times.append(time.monotonic() - start)
    print(json.dumps({"workload": a.name, "torch": torch.__version__, "threads": torch.get_num_threads(),
                      "batch": batch, "steps": len(times), "step_ms": statistics.median(times) * 1e3,
                      "peak_memory_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024}))


parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
parser.add_argument("name", choices=sorted({*WORKLOADS, "l1"}))
parser.add_argument("--threads", type=int, default=0)
parser.add_argument("--seconds", type=float, default=5)
parser.add_argument("--vocabulary", type=int, default=0)
parser.add_argument("--time", type=int, default=0)
args = parser.parse_args()
if args.threads:
    torch.set_num_threads(args.threads)
speed(args)
