# SPDX-License-Identifier: Apache-2.0
"""gpt2 in PyTorch, by the same definition as fare's own: GPT-2, its start, AdamW, schedule, clipping, accumulation.
share/frameworks/transformers/gpt2.py trains the transformers library's model by the same loop."""
import argparse
import math
import signal
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "python"))
import fare  # noqa: E402

try:
    import torch
except ImportError:
    sys.exit(f"fare: {sys.executable} has no PyTorch: 'pip install torch' installs it; "
             "FARE_PYTHON names another Python")

from torch import nn  # noqa: E402
from torch.nn import functional as F  # noqa: E402

import data as sets  # noqa: E402
import training  # noqa: E402

SIZES = {"3m": (2, 1, 64), "124m": (12, 12, 768), "350m": (24, 16, 1024), "774m": (36, 20, 1280),
         "1558m": (48, 25, 1600)}  # layers, heads, width
STEPS, WARMUP, RATE, FLOOR, BATCH, CLIP, DECAY = 1000, 100, 6e-4, 0.1, 32, 1.0, 0.1
CPU_TOKENS = 1024  # computed at a time on a CPU, as fare's own engine does


class Affine(nn.Module):
    """A linear layer whose weight is in × out, as GPT-2's checkpoints have it."""

    def __init__(self, inputs, outputs):
        super().__init__()
        self.weight, self.bias = nn.Parameter(torch.empty(inputs, outputs)), nn.Parameter(torch.empty(outputs))

    def forward(self, x):
        return F.linear(x, self.weight.t(), self.bias)


def attend(q, k, v):
    if hasattr(F, "scaled_dot_product_attention"):
        return F.scaled_dot_product_attention(q, k, v, is_causal=True)
    scores = q @ k.transpose(2, 3) / math.sqrt(q.shape[-1])  # before PyTorch 2
    hidden = torch.ones(scores.shape[2:], dtype=torch.bool, device=q.device).triu(1)
    return scores.masked_fill(hidden, -math.inf).softmax(3) @ v


class Block(nn.Module):
    def __init__(self, heads, width):
        super().__init__()
        self.heads = heads
        self.ln_1, self.c_attn, self.c_proj = nn.LayerNorm(width), Affine(width, 3 * width), Affine(width, width)
        self.ln_2, self.c_fc, self.mlp = nn.LayerNorm(width), Affine(width, 4 * width), Affine(4 * width, width)

    def forward(self, x):
        n, time, width = x.shape
        q, k, v = self.c_attn(self.ln_1(x)).view(n, time, 3, self.heads, width // self.heads).permute(2, 0, 3, 1, 4)
        x = x + self.c_proj(attend(q, k, v).transpose(1, 2).reshape(n, time, width))
        return x + self.mlp(F.gelu(self.c_fc(self.ln_2(x)), approximate="tanh"))


class GPT2(nn.Module):
    """Its parameters are in the order of fare's."""

    def __init__(self, layers, heads, width, positions, vocabulary):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(vocabulary, width), nn.Embedding(positions, width)
        self.h = nn.ModuleList(Block(heads, width) for _ in range(layers))
        self.ln_f = nn.LayerNorm(width)

    def forward(self, tokens):
        x = self.wte(tokens) + self.wpe.weight[:tokens.shape[1]]
        for block in self.h:
            x = block(x)
        return F.linear(self.ln_f(x), self.wte.weight)

    def start(self, tensors):
        for p, value in zip(self.parameters(), tensors.values(), strict=True):
            assert p.shape == value.shape
            p.data.copy_(value)


def build(size, start):
    """The net with fare's initial parameters."""
    layers, heads, width = SIZES[size]
    net = GPT2(layers, heads, width, len(start["transformer.wpe.weight"]), len(start["transformer.wte.weight"]))
    net.start(start)
    return net


def rate(t, steps):
    if t < WARMUP:
        return RATE * (t + 1) / WARMUP
    if t >= steps:
        return RATE * FLOOR
    return RATE * (FLOOR + (1 - FLOOR) * 0.5 * (1 + math.cos(math.pi * (t - WARMUP) / (steps - WARMUP))))


def adamw(net):
    """Decay on matrices and embeddings alone."""
    groups = [{"params": [p for p in net.parameters() if p.dim() > 1], "weight_decay": DECAY},
              {"params": [p for p in net.parameters() if p.dim() == 1], "weight_decay": 0.0}]
    try:
        return torch.optim.AdamW(groups, RATE, (0.9, 0.95), 1e-8, fused=True)
    except (RuntimeError, TypeError):  # on CPUs only since PyTorch 2.4
        return torch.optim.AdamW(groups, RATE, (0.9, 0.95), 1e-8)


class Windows:
    """Samples of a stream: sample i is the `time` tokens from i × time on, its labels are one further."""

    def __init__(self, stream, time, device):
        self.stream, self.time, self.device = stream, time, device
        self.columns = torch.arange(time + 1)

    def __len__(self):
        return (len(self.stream) - 1) // self.time

    def __getitem__(self, picked):
        both = (self.stream[picked[:, None] * self.time + self.columns].int() & 0xFFFF).long().to(self.device)
        return both[:, :-1], both[:, 1:]


class Trainer:
    """One step: a batch in parts, whose gradients are summed."""

    def __init__(self, net, o, steps, device):
        self.net, self.device, self.steps, self.made = net, device, steps, 0
        self.optimizer, self.bf16 = adamw(net), o.precision == "bf16"
        self.forward = torch.compile(net) if o.compile else net

    def loss(self, x, y):
        with torch.autocast(self.device.type, torch.bfloat16, enabled=self.bf16):
            z = self.forward(x)
            z = getattr(z, "logits", z)
            return F.cross_entropy(z.view(-1, z.shape[-1]), y.reshape(-1))

    def step(self, x, y, part):
        self.optimizer.zero_grad(set_to_none=True)
        total = 0
        for first in range(0, len(x), part):
            xs, ys = x[first:first + part], y[first:first + part]
            loss = self.loss(xs, ys) * (len(xs) / len(x))
            loss.backward()
            total = total + loss.detach()
        torch.nn.utils.clip_grad_norm_(self.net.parameters(), CLIP)
        for group in self.optimizer.param_groups:
            group["lr"] = rate(self.made, self.steps)
        self.optimizer.step()
        self.made += 1
        return total


def evaluate(trainer, windows, part):
    trainer.net.eval()
    losses = []
    with torch.no_grad():
        for picked in torch.arange(len(windows)).split(part):
            losses += [trainer.loss(*windows[picked])] * len(picked)
    trainer.net.train()
    return sum(losses).item() / len(losses)


def run(o, build, *libraries):
    device = training.prepare(o, *libraries, on_gpu="bf16")
    fare.phase("load")
    data = sets.load("gpt2", o.data)
    orders, start = sets.load_start(o.start)
    train = Windows(data.train, data.time, device)
    fare.phase("setup")
    net = build(o.size, start).to(device).train()
    batch = min(o.batch or BATCH, len(train))
    per_epoch = len(train) // batch
    steps = o.epochs * per_epoch if o.epochs else STEPS
    part = o.micro_batch or (batch if device.type == "cuda" else max(1, CPU_TOKENS // data.time))
    fare.about(batch=batch, parameters=sum(p.numel() for p in net.parameters()), steps_per_epoch=per_epoch,
               total_steps=steps)
    trainer = Trainer(net, o, steps, device)
    fare.phase("train")
    while trainer.made < steps:
        epoch = trainer.made // per_epoch
        order = orders[epoch % len(orders)]
        for picked in order[:per_epoch * batch].split(batch):
            fare.step(samples=len(picked), epoch=epoch + 1, loss=trainer.step(*train[picked], part))
            if trainer.made >= min(steps, o.steps or steps):
                break
        if o.steps and trainer.made >= o.steps:
            return
    if data.test is not None:
        with fare.phase("evaluate"):
            fare.report(test_loss=evaluate(trainer, Windows(data.test, data.time, device), part))


def main(build=build, *libraries):
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # fare knows enough
    parser = argparse.ArgumentParser(parents=[training.parser_of("gpt2")], add_help=False)
    parser.add_argument("--size", default="124m", choices=SIZES)
    parser.add_argument("--micro-batch", type=int, default=0, help="sequences computed at a time")
    parser.add_argument("--compile", action="store_true", help="with torch.compile()")
    run(parser.parse_args(), build, *libraries)


if __name__ == "__main__":
    main()
