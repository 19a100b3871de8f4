# SPDX-License-Identifier: Apache-2.0
"""Trains a workload in PyTorch, on CUDA, ROCm or the CPU, whatever PyTorch has, and tells fare how it goes.

`fare run NAME --with pytorch` starts NAME.py, which calls main(), and hands over the samples, their order and
the initial parameters in files.
"""
import argparse
import signal
import sys
import time
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parents[n]) + ("/python" if n == 2 else "") for n in (2, 1)]
import fare  # noqa: E402

try:
    import torch
except ImportError:
    sys.exit(f"fare: {sys.executable} has no PyTorch: 'pip install torch' installs it; "
             "FARE_PYTHON names another Python")

import data as sets  # noqa: E402
import nets  # noqa: E402
import saving  # noqa: E402

STAGES = ((1000, 0.01), (500, 0.0001))  # inception: the last layer alone, then everything
SAMPLE_STEPS, SAMPLE_S = 5, 3  # of a stage that a sample leaves: at least, once its first step is made
EVALUATE_BATCH = 500
L1_PASSES = 4


def parser_of(name):
    parser = argparse.ArgumentParser(description=f"Trains {name} in PyTorch.", add_help=False)
    parser.add_argument("--data", default="", help="file with the samples, from fare")
    parser.add_argument("--start", default="", help="file with their order and the initial parameters, from fare")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--threads", type=int, default=0)
    parser.add_argument("--epochs", type=int, default=0)
    parser.add_argument("--batch", type=int, default=0, help="samples per step, in place of the definition's")
    parser.add_argument("--steps", type=int, default=0, help="end after so many")
    parser.add_argument("--precision", choices=("f32", "tf32", "bf16"), help="f32 by default; on a GPU gpt2 is in bf16, as fare trains it")
    return parser


def options(name):
    parser = argparse.ArgumentParser(parents=[parser_of(name)])
    parser.add_argument("--plain", action="store_true", help="LSTMs cell by cell, without a fused layer")
    parser.add_argument("--sample", action="store_true", help="inception: get to the second stage soon")
    for size, default in (("n", 8192), ("m", 8192), ("dim", 512)):
        parser.add_argument(f"--{size}", type=int, default=default, help="l1 alone")
    return parser.parse_args()


def library(device):
    kernels = f"ROCm {torch.version.hip}" if torch.version.hip else f"CUDA {torch.version.cuda}"
    return {"name": "torch", "version": torch.__version__, "kernels": kernels if device.type == "cuda" else "cpu"}


def prepare(o, *libraries, on_gpu="f32"):
    """The device, and what is known of it. on_gpu: the precision there, where none is asked for."""
    torch.manual_seed(o.seed)
    if o.threads:
        torch.set_num_threads(o.threads)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    o.precision = o.precision or (on_gpu if device.type == "cuda" else "f32")
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = o.precision == "tf32"
    torch.backends.cudnn.benchmark = True
    fare.about(seed=o.seed, threads=torch.get_num_threads(), precision=o.precision, libraries=[library(device), *libraries])
    return device


class Batches:
    """Batches of one part, gathered on the device where the samples lie."""

    def __init__(self, name, part, device, training, seed, orders=None):
        self.name, self.training, self.device, self.passes = name, training, device, 0
        self.orders = torch.arange(len(part[1]))[None] if orders is None else orders
        self.x, self.y = part[0].to(device), part[1].to(device)
        self.generator = torch.Generator().manual_seed(seed)

    def __len__(self):
        return len(self.y)

    def samples(self, picked):
        x = self.x[picked]
        if x.dtype != torch.uint8:
            return x.long()
        if self.name == "cifar" and self.training:
            x = sets.shift_flip(x, self.generator)
        x = x.float() / 255
        if self.name == "inception":
            x = x * 2 - 1
            if self.training:
                flips = (torch.rand(len(x), generator=self.generator) < 0.5).to(self.device)
                x = torch.where(flips[:, None, None, None], x.flip(3), x)
        return x

    def epoch(self, batch, made=0):
        """The epoch's batches, without those that were made before."""
        order = self.orders[self.passes % len(self.orders)]
        self.passes += 1
        for picked in order.to(self.device).split(batch)[made:]:
            yield self.samples(picked), self.y[picked]


def evaluate(name, net, batches):
    net.eval()
    right = 0
    with torch.no_grad():
        for x, y in batches.epoch(EVALUATE_BATCH if name != "inception" else 32):
            right += (nets.guess_of(name, net(x)) == y).sum()
    net.train()
    return int(right) / len(batches)


class Training:
    def __init__(self, name, o, device):
        self.name, self.o, self.device = name, o, device
        self.workload = nets.WORKLOADS[name]
        fare.phase("load")
        data = sets.load(name, o.data)
        orders, start = sets.load_start(o.start)
        fare.phase("device")
        self.train = Batches(name, data.train, device, True, o.seed, orders)
        self.test = Batches(name, data.test, device, False, o.seed) if data.test else None
        fare.phase("setup")
        self.net = self.workload.build(data.vocabulary or data.classes, **({"lstm": nets.CellByCell} if o.plain else {}))
        nets.glorot(self.net)
        nets.start(self.net, start.values())
        self.net.to(device).train()
        self.optimizer = self.workload.optimizer(self.net)
        self.epochs = o.epochs or self.workload.epochs
        self.batch = o.batch or self.workload.batch
        self.per_epoch = -(-len(self.train) // self.batch)
        self.made, self.limit = 0, o.steps or float("inf")
        self.total = self.epochs * self.per_epoch if self.epochs else sum(s for s, _ in STAGES)
        fare.about(batch=self.batch, parameters=sum(p.numel() for p in nets.trained(self.net)),
                   steps_per_epoch=self.per_epoch,
                   total_steps=self.total,
                   **({"epochs": self.epochs} if self.epochs else {"stages": [{"total_steps": s} for s, _ in STAGES]}))
        if fare.resume():
            self.load(fare.resume())

    def save(self, path):
        torch.save({"made": self.made, "net": self.net.state_dict(), "optimizer": self.optimizer.state_dict(),
                    "random": torch.get_rng_state(), "changes": self.train.generator.get_state(),
                    "cuda": torch.cuda.get_rng_state_all() if self.device.type == "cuda" else []}, path)

    def load(self, path):
        state = torch.load(path, map_location="cpu")
        self.made = state["made"]
        self.net.load_state_dict(state["net"])
        self.optimizer.load_state_dict(state["optimizer"])
        torch.set_rng_state(state["random"])
        self.train.generator.set_state(state["changes"])
        if self.device.type == "cuda" and len(state["cuda"]) == torch.cuda.device_count():
            torch.cuda.set_rng_state_all(state["cuda"])
        fare.resumed(self.made)

    def step(self, x, y, **more):
        with torch.autocast(self.device.type, torch.bfloat16, enabled=self.o.precision == "bf16"):
            self.optimizer.zero_grad(set_to_none=True)
            loss = nets.loss_of(self.name, self.net(x), y)
        loss.backward()
        self.optimizer.step()
        self.made += 1
        fare.step(samples=len(y), loss=loss, **more)
        if fare.save_due() and self.made < self.total:
            saving.write(self.name, self.made, ".pt", self.save)
        return loss

    def run_epochs(self):
        fare.phase("train")
        self.train.passes, begun = divmod(self.made, self.per_epoch)
        for epoch in range(self.train.passes + 1, self.epochs + 1):
            for x, y in self.train.epoch(self.batch, begun):
                if self.name == "cifar":
                    self.optimizer.param_groups[0]["lr"] = 1e-4 / (1 + 1e-6 * self.made)
                loss = self.step(x, y, epoch=epoch)
                if self.made >= self.limit:
                    return
            begun = 0
            text = f"epoch {epoch}: loss {loss.item():.4f}"
            if self.test:
                with fare.phase("evaluate"):
                    accuracy = evaluate(self.name, self.net, self.test)
                    fare.report(test_accuracy=accuracy)
                text += f", {accuracy * 100:.2f} % right"
            print(text, flush=True)

    def run_stages(self):
        """Inception: steps, not epochs, of two stages."""
        fare.phase("train")
        last = [self.net[-1].weight, self.net[-1].bias]
        before = 0
        for stage, (steps, rate) in enumerate(STAGES, 1):
            made, before = min(max(self.made - before, 0), steps), before + steps
            passes, begun = divmod(made, self.per_epoch)
            self.train.passes += passes + (made == steps and begun > 0)
            if made == steps:
                continue
            for p in self.net.parameters():
                p.requires_grad_(stage > 1 or any(p is one for one in last))
            for group in self.optimizer.param_groups:
                group["lr"] = rate
            leaves = self.o.sample and stage < len(STAGES)
            began = 0
            while made < steps:
                for x, y in self.train.epoch(self.batch, begun):
                    self.step(x, y, stage=stage)
                    made += 1
                    began = began or time.monotonic()
                    if self.made >= self.limit:
                        return
                    if leaves and made >= SAMPLE_STEPS and time.monotonic() - began >= SAMPLE_S:
                        steps = made
                    if made >= steps:
                        break
                begun = 0
        if self.test:
            with fare.phase("evaluate"):
                fare.report(test_accuracy=evaluate(self.name, self.net, self.test))


def copying(a, b, device):
    """Seconds of the fastest copy of both from pinned memory, as fare copies them. CUDA must have started."""
    a, b = a.pin_memory(), b.pin_memory()
    best = float("inf")
    for _ in range(L1_PASSES):
        torch.cuda.synchronize()
        began = time.perf_counter()
        a.to(device, non_blocking=True), b.to(device, non_blocking=True)
        torch.cuda.synchronize()
        best = min(best, time.perf_counter() - began)
    return best


def distances(o, device):
    """l1: the same numbers of pairs as fare's own, by torch.cdist. All of its passes are the whole of it."""
    fare.about(total_steps=L1_PASSES)
    fare.phase("load")
    g = torch.Generator().manual_seed(o.seed)
    a, b = torch.rand(o.n, o.dim, generator=g), torch.rand(o.m, o.dim, generator=g)
    fare.phase("device")
    x, y = a.to(device), b.to(device)
    transfer = copying(a, b, device) if device.type == "cuda" else 0
    fare.phase("train")
    best = float("inf")
    for _ in range(L1_PASSES):  # the first one allocates and chooses
        if device.type == "cuda":
            torch.cuda.synchronize()
        began = time.perf_counter()
        out = torch.cdist(x, y, p=1)
        if device.type == "cuda":
            torch.cuda.synchronize()
        best = min(best, time.perf_counter() - began)
        fare.step()
    i = torch.randint(0, o.n, (512,), generator=g)
    j = torch.randint(0, o.m, (512,), generator=g)
    truth = (a[i].double() - b[j].double()).abs().sum(1)
    error = ((out[i.to(device), j.to(device)].double().cpu() - truth).abs() / truth).max().item()
    fare.about(l1_transfer_ms=transfer * 1e3, l1_calculation_ms=best * 1e3, l1_pairs_per_s=o.n * o.m * o.dim / best,
               l1_largest_error=error)
    print(f"{best * 1e3:.1f} ms, largest error {error:.1e}")


def main(name):
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # fare knows enough
    o = options(name)
    if name == "l1":
        o.precision = "f32"  # it only adds
    device = prepare(o)
    if name == "l1":
        distances(o, device)
        return
    training = Training(name, o, device)
    training.run_epochs() if training.epochs else training.run_stages()
