#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The host's part of a training step in PyTorch, for share/estimate/launches.csv: launches a step of the nets of --with pytorch (with
the gathering of their samples), of one dense layer and of one layer of BERT; and CPU time of a step of tiny nets, where there is little to calculate. Needs PyTorch and
transformers, no GPU.

A launch is a call of an operation that computes something: on a GPU it starts one kernel or more. Optimizers count as their
multi-tensor versions, which a GPU uses; a dropout as one operation forward and one back, an LSTM likewise. Times are CPU time of the thread,
5th percentile, so that other programs hardly matter."""
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import torch
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "share" / "frameworks" / "pytorch"), str(ROOT / "share" / "python")]
import nets  # noqa: E402
import training  # noqa: E402

NO_KERNEL = set("""view _unsafe_view t transpose permute expand slice select detach alias as_strided unsqueeze squeeze reshape split unbind
empty empty_like new_empty lift_fresh is_same_size empty_strided new_empty_strided chunk _local_scalar_dense _reshape_alias
split_with_sizes set resize""".split())


class Launches(TorchDispatchMode):
    def __init__(self):
        super().__init__()
        self.count = 0

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        name = function._schema.name.split("::")[1]
        if name == "bernoulli_":
            self.count -= 1  # of a dropout's four operations a GPU has two
        elif name.rstrip("_") not in NO_KERNEL and not name.startswith("_record_function"):
            self.count += 1
        return function(*args, **(kwargs or {}))


class Once(torch.autograd.Function):
    """One operation forward and one back."""
    @staticmethod
    def forward(ctx, x, width, *parameters):
        ctx.save_for_backward(x, *parameters)
        return x.new_zeros(*x.shape[:2], width)

    @staticmethod
    def backward(ctx, gradient):
        empty = [torch.empty_like(p) if p.requires_grad else None for p in ctx.saved_tensors[1:]]
        x = ctx.saved_tensors[0]
        return (torch.zeros_like(x) if x.is_floating_point() else None, None, *empty)


class Lstm(nn.Module):
    def __init__(self, lstm):
        super().__init__()
        self.lstm, self.ways = lstm, 1 + lstm.bidirectional

    def forward(self, x):
        units = self.lstm.hidden_size
        states = Once.apply(x, units * self.ways, *self.lstm.parameters())
        last = states[:, -1].view(len(x), self.ways, units).transpose(0, 1)
        return states, (last, last)


def launches(step):
    step()
    with Launches() as counted:
        step()
    return counted.count


def thread_us(step, times=1500):
    for _ in range(50):
        step()
    took = []
    for _ in range(times):
        begun = time.thread_time_ns()
        step()
        took.append(time.thread_time_ns() - begun)
    return sorted(took)[times // 20] / 1e3


def step_of(net, optimizer, loss):
    def step():
        optimizer.zero_grad(set_to_none=True)
        loss(net).backward()
        optimizer.step()
    return step


def workload(name):
    net = nets.WORKLOADS[name].build({"imdb": 200, "tweets": 200, "textgen": 57, "inception": 5}.get(name, 10)).train()
    nets.glorot(net)
    optimizer = nets.WORKLOADS[name].optimizer(net)
    for group in optimizer.param_groups:
        group["foreach"] = True
    for key, module in list(net.named_modules()):
        if isinstance(module, nn.LSTM):
            setattr(net, key, Lstm(module))
    if name == "inception":  # its first stage trains the last layer alone, and has fewer
        for p in list(net.parameters())[:-2]:
            p.requires_grad_(False)
    shape = {"mlp": (1, 28, 28), "cnn": (1, 28, 28), "cifar": (3, 32, 32), "inception": (3, 299, 299)}.get(name, (40,))
    of = SimpleNamespace(name=name, training=True, device="cpu", generator=torch.Generator(),
                         x=torch.randint(0, 57, (4, *shape), dtype=torch.uint8 if len(shape) > 1 else torch.int32))
    y, picked = torch.randint(0, 2, (4,)), torch.tensor([0, 2])
    return step_of(net, optimizer, lambda n: nets.loss_of(name, n(training.Batches.samples(of, picked)), y[picked]))


def dense(layers, kind):
    net = nn.Sequential(*[part for _ in range(layers) for part in (nn.Linear(4, 4), nn.ReLU())])
    x, y = torch.randn(1, 4), torch.randn(1, 4)
    return step_of(net, kind(net.parameters(), lr=1e-3, foreach=True), lambda n: ((n(x) - y) ** 2).mean())


def bert():
    from transformers import BertConfig, BertForSequenceClassification
    net = BertForSequenceClassification(BertConfig(hidden_size=8, num_hidden_layers=1, num_attention_heads=1, intermediate_size=16, vocab_size=50))
    x, y = torch.randint(0, 50, (2, 8)), torch.tensor([0, 1])
    return step_of(net.train(), torch.optim.AdamW(net.parameters(), foreach=True), lambda n: n(input_ids=x, labels=y).loss)


def trainer_us(clip):
    from transformers import BertConfig, BertForSequenceClassification, Trainer, TrainerCallback, TrainingArguments
    net = BertForSequenceClassification(BertConfig(hidden_size=8, num_hidden_layers=1, num_attention_heads=1, intermediate_size=16, vocab_size=50))
    data, begun = [{"input_ids": torch.zeros(4, dtype=torch.long), "labels": 0}] * 400, []

    class Clock(TrainerCallback):
        def on_step_begin(self, *args, **kwargs):
            begun.append(time.thread_time_ns())

    arguments = TrainingArguments(output_dir="/tmp", per_device_train_batch_size=1, num_train_epochs=1, logging_steps=500, report_to=[],
                                  use_cpu=True, save_strategy="no", disable_tqdm=True, max_grad_norm=clip)
    Trainer(model=net, args=arguments, train_dataset=data, callbacks=[Clock()]).train()
    took = sorted(b - a for a, b in zip(begun, begun[1:]))
    return took[len(took) // 20] / 1e3


def main():
    torch.set_num_threads(1)
    print("PyTorch", torch.__version__)
    for name in ("mlp", "cnn", "cifar", "imdb", "textgen", "tweets", "inception"):
        print(f"{name}: {launches(workload(name))} launches", flush=True)
    print(f"BERT, one layer: {launches(bert())} launches")
    for kind in (torch.optim.SGD, torch.optim.Adam):
        for layers in (1, 4, 32):
            step = dense(layers, kind)
            print(f"{layers} dense layers, {kind.__name__}: {launches(step)} launches, {thread_us(step):.0f} µs of CPU", flush=True)
    for clip in (1.0, 0.0):
        print(f"Trainer, BERT of one layer, clipping {clip}: {trainer_us(clip):.0f} µs of CPU a step", flush=True)


if __name__ == "__main__":
    main()
