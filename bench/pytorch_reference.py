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
import csv
import json
import re
import resource
import statistics
import time
from collections import Counter
from pathlib import Path

import torch
from torch import nn
from torch.nn import functional as F


def glorot(module):
    """Dense and convolution weights uniform by fan, biases zero; LSTM and embedding as defined."""
    for name, p in module.named_parameters():
        if "weight_hh" in name:
            for gate in p.data.chunk(4):
                nn.init.orthogonal_(gate)
        elif "weight_ih" in name:
            nn.init.xavier_uniform_(p)
        elif "bias" in name:
            nn.init.zeros_(p)
            if "bias_ih" in name:
                p.data[p.numel() // 4:p.numel() // 2] = 1  # the forget gate
            if "bias_hh" in name:
                p.requires_grad_(False)  # one bias vector
        elif "embedding" in name:
            nn.init.uniform_(p, -0.05, 0.05)
        elif p.dim() > 1:
            nn.init.xavier_uniform_(p)


class Digits(nn.Module):
    def __init__(self):
        super().__init__()
        self.one, self.two, self.three = nn.Linear(784, 512), nn.Linear(512, 512), nn.Linear(512, 10)

    def forward(self, x):
        x = F.dropout(F.relu(self.one(x.flatten(1))), 0.2, self.training)
        return self.three(F.dropout(F.relu(self.two(x)), 0.2, self.training))


class DigitsConv(nn.Module):
    def __init__(self):
        super().__init__()
        self.one, self.two = nn.Conv2d(1, 32, 3), nn.Conv2d(32, 64, 3)
        self.three, self.four = nn.Linear(9216, 128), nn.Linear(128, 10)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.two(F.relu(self.one(x)))), 2)
        x = F.dropout(x, 0.25, self.training).flatten(1)
        return self.four(F.dropout(F.relu(self.three(x)), 0.5, self.training))


class Photographs(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Conv2d(3, 32, 3, padding=1), nn.Conv2d(32, 32, 3)
        self.c, self.d = nn.Conv2d(32, 64, 3, padding=1), nn.Conv2d(64, 64, 3)
        self.e, self.f = nn.Linear(2304, 512), nn.Linear(512, 10)

    def forward(self, x):
        x = F.dropout(F.max_pool2d(F.relu(self.b(F.relu(self.a(x)))), 2), 0.25, self.training)
        x = F.dropout(F.max_pool2d(F.relu(self.d(F.relu(self.c(x)))), 2), 0.25, self.training)
        return self.f(F.dropout(F.relu(self.e(x.flatten(1))), 0.5, self.training))


class BothWays(nn.Module):
    def __init__(self, vocabulary):
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, 128)
        self.lstm = nn.LSTM(128, 64, batch_first=True, bidirectional=True)
        self.dense = nn.Linear(128, 1)

    def forward(self, x):
        _, (h, _) = self.lstm(self.embedding(x))
        return self.dense(F.dropout(torch.cat((h[0], h[1]), 1), 0.5, self.training)).squeeze(1)


class NextCharacter(nn.Module):
    def __init__(self, vocabulary):
        super().__init__()
        self.vocabulary = vocabulary
        self.lstm, self.dense = nn.LSTM(vocabulary, 128, batch_first=True), nn.Linear(128, vocabulary)

    def forward(self, x):
        states, _ = self.lstm(F.one_hot(x, self.vocabulary).float())
        return self.dense(states[:, -1])


class Unit(nn.Module):
    """Convolution, batch norm, relu."""

    def __init__(self, inputs, text):
        super().__init__()
        m = re.fullmatch(r"(\d+) (\d)x(\d)(s2)?(V)?", text)
        filters, h, w = int(m[1]), int(m[2]), int(m[3])
        pad = (0, 0) if m[5] else (h // 2, w // 2)
        self.conv = nn.Conv2d(inputs, filters, (h, w), 2 if m[4] else 1, pad, bias=False)
        self.norm = nn.BatchNorm2d(filters, eps=0.001, momentum=0.0003)
        self.out = filters

    def forward(self, x):
        return F.relu(self.norm(self.conv(x)), inplace=True)


def chain(inputs, text):
    units = []
    for part in text.split(", "):
        units.append(Unit(units[-1].out if units else inputs, part))
    return nn.Sequential(*units), units[-1].out


class Branches(nn.Module):
    """Branches side by side, each a text of units; 'avg …', 'max' and '… | a | b' (a fork) too."""

    def __init__(self, inputs, *texts):
        super().__init__()
        self.out, parts = 0, []
        for text in texts:
            if text == "max":
                part, out = nn.MaxPool2d(3, 2), inputs
            elif text.startswith("avg "):
                tail, out = chain(inputs, text[4:])
                part = nn.Sequential(nn.AvgPool2d(3, 1, 1, count_include_pad=False), tail)
            elif "|" in text:
                head, *forks = text.split(" | ")
                first, middle = chain(inputs, head)
                fork = Branches(middle, *forks)
                part, out = nn.Sequential(first, fork), fork.out
            else:
                part, out = chain(inputs, text)
            parts.append(part)
            self.out += out
        self.parts = nn.ModuleList(parts)

    def forward(self, x):
        return torch.cat([p(x) for p in self.parts], 1)


def inception(classes):
    a = ("96 1x1", "64 1x1, 96 3x3", "64 1x1, 96 3x3, 96 3x3", "avg 96 1x1")
    b = ("384 1x1", "192 1x1, 224 1x7, 256 7x1", "192 1x1, 192 7x1, 224 1x7, 224 7x1, 256 1x7", "avg 128 1x1")
    c = ("256 1x1", "384 1x1 | 256 1x3 | 256 3x1", "384 1x1, 448 3x1, 512 1x3 | 256 1x3 | 256 3x1", "avg 256 1x1")
    stem, out = chain(3, "32 3x3s2V, 32 3x3V, 64 3x3")
    blocks = [stem]
    for texts in (("max", "96 3x3s2V"), ("64 1x1, 96 3x3V", "64 1x1, 64 1x7, 64 7x1, 96 3x3V"), ("192 3x3s2V", "max"),
                  *[a] * 4, ("384 3x3s2V", "192 1x1, 224 3x3, 256 3x3s2V", "max"),
                  *[b] * 7, ("192 1x1, 192 3x3s2V", "256 1x1, 256 1x7, 320 7x1, 320 3x3s2V", "max"), *[c] * 3):
        blocks.append(Branches(out, *texts))
        out = blocks[-1].out
    return nn.Sequential(*blocks, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Dropout(0.2), nn.Linear(out, classes))


def rmsprop(p):
    return torch.optim.RMSprop(p, 0.001, 0.9)


WORKLOADS = {  # net, batch, optimizer, shape of an image or None
    "mlp": (lambda a: Digits(), 128, rmsprop, (1, 28, 28), 10),
    "cnn": (lambda a: DigitsConv(), 128, lambda p: torch.optim.Adadelta(p, 1.0, 0.95, eps=1e-8), (1, 28, 28), 10),
    "cifar": (lambda a: Photographs(), 32, lambda p: torch.optim.RMSprop(p, 1e-4, 0.9), (3, 32, 32), 10),
    "imdb": (lambda a: BothWays(a.vocabulary or 20000), 32, lambda p: torch.optim.Adam(p, 1e-3, fused=True), None, 2),
    "tweets": (lambda a: BothWays(a.vocabulary or 274562), 32, lambda p: torch.optim.Adam(p, 1e-3, fused=True), None, 2),
    "textgen": (lambda a: NextCharacter(a.vocabulary or 57), 128, lambda p: torch.optim.RMSprop(p, 0.01, 0.9), None, 57),
    "inception": (lambda a: inception(5), 32, lambda p: torch.optim.RMSprop(p, 1e-4, 0.9, eps=1.0, momentum=0.9), (3, 299, 299), 5),
}
TIMES = {"imdb": 100, "tweets": 50, "textgen": 40}


def loss_of(name, out, labels):
    if name in ("imdb", "tweets"):
        return F.binary_cross_entropy_with_logits(out, labels.float())
    return F.cross_entropy(out, labels)


def train_step(name, net, optimizer, x, y):
    optimizer.zero_grad(set_to_none=True)
    loss = loss_of(name, net(x), y)
    loss.backward()
    optimizer.step()
    return loss


def speed_l1(a):
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
        return speed_l1(a)
    build, batch, make_optimizer, shape, classes = WORKLOADS[a.name]
    net = build(a)
    glorot(net)
    net.train()
    optimizer = make_optimizer([p for p in net.parameters() if p.requires_grad])
    if shape:
        sets = [torch.rand(batch, *shape) for _ in range(4)]
    else:
        words = (a.vocabulary or {"imdb": 20000, "tweets": 274562, "textgen": 57}[a.name])
        sets = [torch.randint(0, words, (batch, a.time or TIMES[a.name])) for _ in range(4)]
        classes = words if a.name == "textgen" else 2
    labels = [torch.randint(0, classes, (batch,)) for _ in range(4)]
    for i in range(3):  # the first ones allocate and choose
        train_step(a.name, net, optimizer, sets[i], labels[i])
    times, end = [], time.monotonic() + a.seconds
    while time.monotonic() < end or len(times) < 3:
        i = len(times) % 4
        start = time.monotonic()
        train_step(a.name, net, optimizer, sets[i], labels[i])
        times.append(time.monotonic() - start)
    print(json.dumps({"workload": a.name, "torch": torch.__version__, "threads": torch.get_num_threads(),
                      "batch": batch, "steps": len(times), "step_ms": statistics.median(times) * 1e3,
                      "peak_memory_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024}))


def read_cifar(folder):
    def read(path):
        raw = torch.frombuffer(bytearray(path.read_bytes()), dtype=torch.uint8).view(-1, 3073)
        return raw[:, 1:].reshape(-1, 3, 32, 32).float() / 255, raw[:, 0].long()

    parts = [read(p) for p in sorted(folder.glob("data_batch_*.bin"))]
    return (torch.cat([x for x, _ in parts]), torch.cat([y for _, y in parts])), read(folder / "test_batch.bin")


def shift_flip(x, generator):
    """Shifts of up to a tenth, edge pixels repeated, and flips, each image its own."""
    n, size = len(x), x.shape[-1]
    # As the original: uniform, not whole pixels; the nearest pixel is taken.
    shifts = ((torch.rand(n, 2, generator=generator) * 2 - 1) * 0.1 * size).round().long()
    flips = torch.rand(n, generator=generator) < 0.5
    base = torch.arange(size)
    rows = (base[None] + shifts[:, :1]).clamp(0, size - 1)
    columns = (base[None] + shifts[:, 1:]).clamp(0, size - 1)
    columns = torch.where(flips[:, None], columns.flip(1), columns)
    return x[torch.arange(n)[:, None, None, None], torch.arange(3)[None, :, None, None], rows[:, None, :, None],
             columns[:, None, None, :]]


def clean(text):
    text = re.sub(r"[^A-Za-z0-9(),!?'`]", " ", text)
    text = re.sub(r"(.)\1{2,}", r"\1\1", text)
    for part in ("'s", "'ve", "n't", "'re", "'d", "'ll"):
        text = text.replace(part, " " + part)
    for mark in ",!()?":
        text = text.replace(mark, f" {mark} ")
    return text.lower().split()


def read_tweets(folder):
    path = sorted(folder.glob("*.csv"))[0] if folder.is_dir() else folder
    with open(path, newline="", encoding="utf-8", errors="replace") as f:
        rows = list(csv.reader(f))
    head, rows = rows[0], rows[1:]
    if head[0] == "ItemID":
        return [(int(r[1]), clean(",".join(r[3:]))) for r in rows]
    return [(int(r[0]), clean(r[1])) for r in rows]


def tweets_tensors(folder, seed):
    rows = read_tweets(folder)
    counts = Counter(word for _, words in rows for word in words)
    ranks = {word: i + 1 for i, (word, _) in enumerate(sorted(counts.items(), key=lambda kv: (-kv[1], kv[0])))}
    order = torch.randperm(len(rows), generator=torch.Generator().manual_seed(seed)).tolist()
    cut = len(rows) - len(rows) // 10
    longest = max(len(rows[i][1]) for i in order[:cut])
    x = torch.zeros(len(rows), longest, dtype=torch.long)
    y = torch.zeros(len(rows), dtype=torch.long)
    for place, i in enumerate(order):
        words = rows[i][1][:longest]
        x[place, :len(words)] = torch.tensor([ranks[w] for w in words], dtype=torch.long)
        y[place] = rows[i][0]
    return (x[:cut], y[:cut]), (x[cut:], y[cut:]), len(ranks) + 1


def accuracy(a):
    torch.manual_seed(a.seed)
    folder = Path(a.data)
    if a.name == "cifar":
        (x, y), (tx, ty) = read_cifar(folder)
    else:
        (x, y), (tx, ty), a.vocabulary = tweets_tensors(folder, a.seed)
    build, batch, make_optimizer, _, _ = WORKLOADS[a.name]
    net = build(a)
    glorot(net)
    optimizer = make_optimizer([p for p in net.parameters() if p.requires_grad])
    generator = torch.Generator().manual_seed(a.seed)
    history, step = [], 0
    for _ in range(a.epochs or {"cifar": 20, "tweets": 4}[a.name]):
        net.train()
        for picked in torch.randperm(len(x), generator=generator).split(batch):
            samples = shift_flip(x[picked], generator) if a.name == "cifar" else x[picked]
            if a.name == "cifar":
                optimizer.param_groups[0]["lr"] = 1e-4 / (1 + 1e-6 * step)
            train_step(a.name, net, optimizer, samples, y[picked])
            step += 1
        net.eval()
        right = 0
        with torch.no_grad():
            for picked in torch.arange(len(tx)).split(500):
                out = net(tx[picked])
                guess = (out > 0).long() if a.name == "tweets" else out.argmax(1)
                right += (guess == ty[picked]).sum().item()
        history.append(right / len(tx))
    print(json.dumps({"workload": a.name, "torch": torch.__version__, "seed": a.seed, "samples": len(x),
                      "held_out": len(tx), "accuracy": history}))


parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
parser.add_argument("what", choices=("speed", "accuracy"))
parser.add_argument("name", choices=sorted([*WORKLOADS, "l1"]))
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
