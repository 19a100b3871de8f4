#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The same workloads in PyTorch, by the same definitions: the other side of the comparisons.

    pytorch_reference.py speed NAME [--threads 2] [--seconds 5] [--vocabulary V] [--time T]
    pytorch_reference.py accuracy cifar|tweets --data DIR [--seed 1] [--epochs N]

Prints one JSON object. `speed` trains on random samples of the right shape and gives the median time of
a step and the process's peak memory; `accuracy` trains on the real files and gives the share of right
answers on the held-out part after each epoch. Needs Python with PyTorch.
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

import data as sets  # noqa: E402
from nets import WORKLOADS, glorot, guess_of, train_step  # noqa: E402


def speed_l1():
    """torch.cdist(p=1) on as many pairs as take a second or two."""
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
    words, batch, classes = a.vocabulary or w.vocabulary, w.batch, w.classes
    net = w.build(words or classes)
    glorot(net)
    net.train()
    optimizer = w.optimizer(net)
    if w.shape:
        samples = [torch.rand(batch, *w.shape) for _ in range(4)]
    else:
        samples = [torch.randint(0, words, (batch, a.time or w.time)) for _ in range(4)]
        classes = words if a.name == "textgen" else 2
    labels = [torch.randint(0, classes, (batch,)) for _ in range(4)]
    for i in range(3):  # the first ones allocate and choose
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


def accuracy(a):
    torch.manual_seed(a.seed)
    w = WORKLOADS[a.name]
    folder = Path(a.data)
    d = sets.cifar(folder) if a.name == "cifar" else sets.tweets(folder, a.seed)
    (x, y), (tx, ty) = d.train, d.test
    if a.name == "cifar":
        x, tx = x.float() / 255, tx.float() / 255
    net = w.build(d.classes)
    glorot(net)
    optimizer = w.optimizer(net)
    generator = torch.Generator().manual_seed(a.seed)
    history, step = [], 0
    for _ in range(a.epochs or w.epochs):
        net.train()
        for picked in torch.randperm(len(x), generator=generator).split(w.batch):
            samples = sets.shift_flip(x[picked], generator) if a.name == "cifar" else x[picked]
            if a.name == "cifar":
                optimizer.param_groups[0]["lr"] = 1e-4 / (1 + 1e-6 * step)
            train_step(a.name, net, optimizer, samples, y[picked])
            step += 1
        net.eval()
        right = 0
        with torch.no_grad():
            for picked in torch.arange(len(tx)).split(500):
                right += (guess_of(a.name, net(tx[picked])) == ty[picked]).sum().item()
        history.append(right / len(tx))
    print(json.dumps({"workload": a.name, "torch": torch.__version__, "seed": a.seed, "samples": len(x),
                      "held_out": len(tx), "accuracy": history}))


parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
parser.add_argument("what", choices=("speed", "accuracy"))
parser.add_argument("name", choices=sorted({*WORKLOADS, "l1"}))
parser.add_argument("--threads", type=int, default=0)
parser.add_argument("--seconds", type=float, default=5)
parser.add_argument("--vocabulary", type=int, default=0)
parser.add_argument("--time", type=int, default=0)
parser.add_argument("--data", default="")
parser.add_argument("--seed", type=int, default=1)
parser.add_argument("--epochs", type=int, default=0)
args = parser.parse_args()
if args.threads:
    torch.set_num_threads(args.threads)
(speed if args.what == "speed" else accuracy)(args)
