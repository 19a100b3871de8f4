#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Whole trainings as the tools of tests/run/corpus print them, on a virtual clock, with their truth.

    corpus.py              lists the kinds
    corpus.py KIND [SEED]  writes one training as JSON lines

The first line is the truth: kind, argv, steps (optimizer steps, or rounds), whole_s, announced (every
part, such as an evaluation, is announced by the arguments or the log before it happens), epochs where
there are any, and counted: the sum that the log counts to where it does not count steps. Each further line is a chunk of output: {"t": seconds since the start, "text": bytes}.
"""
import json
import math
import random
import sys
import time

KINDS = {}


def kind(name=None, argv=(), announced=True):
    def add(function):
        KINDS[name or function.__name__] = (function, list(argv), announced)
        return function
    return add


class Run:
    """A training in progress: wait() and step() advance the clock, say() prints."""

    def __init__(self, name, seed=1):
        self.function, self.argv, self.announced = KINDS[name]
        self.name, self.t, self.chunks, self.made = name, 0.0, [], 0
        self.epochs = self.counted = None
        self.random = random.Random(f"{name} {seed}")
        self.slow = 1.0

    def wait(self, seconds, spread=0.0):
        self.t += seconds * max(0.2, self.random.gauss(1, spread))

    def step(self, seconds, spread=0.03):
        # Neighbouring steps are alike, as on a real machine.
        self.slow += 0.1 * (1 - self.slow) + self.random.gauss(0, 0.002)
        self.wait(seconds * self.slow, spread)
        self.made += 1

    def say(self, text="", end="\n"):
        self.chunks.append((self.t, text + end))

    def loss(self, start=4.0, end=1.2, over=400):
        return end + (start - end) * math.exp(-self.made / over) * self.random.gauss(1, 0.03)

    def clock(self, form="%Y-%m-%d %H:%M:%S"):
        return time.strftime(form, time.gmtime(1_750_000_000 + self.t))

    def bar(self, label, total=None, **options):
        return Bar(self, label, total, **options)

    def write(self, out):
        self.function(self)
        truth = {"kind": self.name, "argv": self.argv, "steps": self.made, "whole_s": round(self.t, 3),
                 "announced": self.announced}
        for key in ("epochs", "counted"):
            if getattr(self, key):
                truth[key] = getattr(self, key)
        print(json.dumps(truth), file=out)
        for t, text in self.chunks:
            print(json.dumps({"t": round(t, 4), "text": text}, ensure_ascii=False), file=out)


def span(seconds):
    seconds = int(seconds)
    hours, rest = divmod(seconds, 3600)
    return f"{hours}:{rest // 60:02d}:{rest % 60:02d}" if hours else f"{rest // 60:02d}:{rest % 60:02d}"


class Bar:
    """tqdm's bar: redrawn at most ten times a second, each time after a carriage return."""

    def __init__(self, run, label="", total=None, unit="it", leave=True, postfix=None, every=0.1):
        self.run, self.label, self.total, self.unit, self.leave = run, label, total, unit, leave
        self.begun, self.drawn, self.n, self.postfix, self.every = run.t, -1.0, 0, postfix, every
        self.draw()

    def text(self):
        passed = self.run.t - self.begun
        rate = self.n / passed if passed > 0 and self.n else None
        speed = f"?{self.unit}/s" if not rate else \
            f"{rate:5.2f}{self.unit}/s" if rate >= 1 else f"{1 / rate:5.2f}s/{self.unit}"
        after = f", {self.postfix(self.run)}" if self.postfix and self.n else ""
        label = self.label + ": " if self.label else ""
        if self.total is None:
            return f"{label}{self.n}{self.unit} [{span(passed)}, {speed}{after}]"
        share = self.n / self.total
        blocks = "█" * int(share * 10) + ("▏▎▍▌▋▊▉"[int(share * 70) % 7] if share < 1 and share > 0 else "")
        left = span((self.total - self.n) / rate) if rate else "?"
        return (f"{label}{int(share * 100):3d}%|{blocks:<10}| {self.n}/{self.total} "
                f"[{span(passed)}<{left}, {speed}{after}]")

    def draw(self):
        self.drawn = self.run.t
        self.run.say("\r" + self.text(), end="")

    def update(self, n=1):
        self.n += n
        if self.run.t - self.drawn >= self.every or self.n == self.total:
            self.draw()

    def close(self):
        if self.leave:
            self.draw()
            self.run.say()
        else:
            self.run.say("\r" + " " * 80 + "\r", end="")


def aside(run, label, total, seconds, **options):
    """A bar for something else: loading, tokenising, an evaluation."""
    bar = Bar(run, label, total, **options)
    for _ in range(total):
        run.wait(seconds, 0.1)
        bar.update()
    bar.close()


# ---- bars

@kind()
def tqdm_plain(r):
    r.wait(6)
    bar = r.bar("", 3000, postfix=lambda r: f"loss={r.loss():.3f}")
    for _ in range(3000):
        r.step(0.08)
        bar.update()
    bar.close()


@kind()
def tqdm_index_first(r):
    r.wait(2)
    aside(r, "Building index", 5000, 0.0008)
    bar = r.bar("train", 1500)
    for _ in range(1500):
        r.step(0.15)
        bar.update()
    bar.close()


@kind()
def tqdm_epochs(r):
    r.wait(4)
    r.epochs = r.counted = 40
    bar = r.bar("Epochs", 40, every=0.1)
    for _ in range(40):
        for _ in range(50):
            r.step(0.05)
        bar.update()
    bar.close()


@kind()
def tqdm_nested(r):
    r.wait(5)
    r.epochs = 12
    outer = r.bar("Epoch", 12)
    for epoch in range(12):
        inner = r.bar(f"Train {epoch + 1}/12", 200, leave=False, postfix=lambda r: f"loss={r.loss():.4f}")
        for _ in range(200):
            r.step(0.12)
            inner.update()
        inner.close()
        outer.update()
    outer.close()


def lightning(r, version, epochs=8, train=250, val=40):
    r.wait(9)
    r.epochs = epochs
    r.say("GPU available: True (cuda), used: True")
    r.say("LOCAL_RANK: 0 - CUDA_VISIBLE_DEVICES: [0]")
    aside(r, "Sanity Checking DataLoader 0", 2, 0.3, leave=False)
    for epoch in range(epochs):
        whole = train + (val if version == 1 else 0)
        bar = r.bar(f"Epoch {epoch}", whole, postfix=lambda r: f"v_num=0, train_loss={r.loss():.3f}")
        for _ in range(train):
            r.step(0.1)
            bar.update()
        inner = r.bar("Validation DataLoader 0", val, leave=False)
        for _ in range(val):
            r.wait(0.06, 0.05)
            inner.update()
            if version == 1:
                bar.update()
        inner.close()
        r.wait(0.5)
        bar.close()
    r.say(f"`Trainer.fit` stopped: `max_epochs={epochs}` reached.")


@kind(argv=["python", "train.py", "--trainer.max_epochs=8"], announced=False)
def lightning1(r):
    lightning(r, 1)
    r.counted = 8 * 290


@kind(argv=["python", "train.py", "--trainer.max_epochs=8"], announced=False)
def lightning2(r):
    lightning(r, 2)


# ---- Keras

def keras(r, version, verbose, epochs=10, per_epoch=469):
    r.wait(7)
    r.epochs = epochs
    for epoch in range(epochs):
        r.say(f"Epoch {epoch + 1}/{epochs}")
        drawn = begun = r.t
        figures = ""
        for i in range(per_epoch):
            r.step(0.03)
            figures = f"accuracy: {1 - r.loss(1, .05, 900):.4f} - loss: {r.loss(2.3, .1, 900):.4f}"
            if verbose == 1 and (r.t - drawn > 0.1 or i == per_epoch - 1):
                drawn = r.t
                passed, left = r.t - begun, (r.t - begun) / (i + 1) * (per_epoch - i - 1)
                at = f"{i + 1:3d}/{per_epoch}"
                if version == 3:
                    cells = int(20 * (i + 1) / per_epoch)
                    r.say(f"\r\033[1m{at}\033[0m \033[32m{'━' * cells}\033[0m\033[37m{'━' * (20 - cells)}\033[0m "
                          f"\033[1m{int(left)}s\033[0m {passed / (i + 1) * 1000:.0f}ms/step - {figures}", end="")
                else:
                    cells = int(30 * (i + 1) / per_epoch)
                    mark = ">" if cells < 30 else ""
                    r.say("\r" + f"{at} [{'=' * (cells - 1) + mark:.<30}] - ETA: {int(left)}s - {figures}", end="")
        r.wait(1.4, 0.05)
        tail = f" - val_accuracy: {1 - r.loss(1, .06, 900):.4f} - val_loss: {r.loss(2.3, .15, 900):.4f}"
        spent = r.t - begun
        if verbose == 2:
            r.say(f"{per_epoch}/{per_epoch} - {int(spent)}s - {spent / per_epoch * 1000:.0f}ms/step - {figures}{tail}")
        elif version == 3:
            r.say(f"\r\033[1m{per_epoch}/{per_epoch}\033[0m \033[32m{'━' * 20}\033[0m\033[37m\033[0m \033[1m{int(spent)}s"
                  f"\033[0m {spent / per_epoch * 1000:.0f}ms/step - {figures}{tail}")
        else:
            r.say("\r" + f"{per_epoch}/{per_epoch} [{'=' * 30}] - {int(spent)}s "
                  f"{spent / per_epoch * 1000:.0f}ms/step - {figures}{tail}")


@kind(announced=False)
def keras2(r):
    keras(r, 2, 1)


@kind(announced=False)
def keras3(r):
    keras(r, 3, 1)


@kind(announced=False)
def keras3_verbose2(r):
    keras(r, 3, 2)


# ---- logs

@kind(argv=["python", "train.py", "config/train_shakespeare_char.py", "--max_iters=3000", "--eval_interval=250"])
def nanogpt(r):
    r.say("tokens per iteration will be: 16,384")
    r.wait(11)
    r.say("number of parameters: 10.65M")
    r.say("compiling the model... (takes a ~minute)")
    for n in range(3001):
        if n % 250 == 0:
            r.wait(9, 0.02)
            r.say(f"step {n}: train loss {r.loss():.4f}, val loss {r.loss():.4f}")
            if n:
                r.say("saving checkpoint to out-shakespeare-char")
                r.wait(0.6)
        before = r.t
        if n == 0:
            r.wait(25)
        r.step(0.2)
        if n % 10 == 0:
            r.say(f"iter {n}: loss {r.loss():.4f}, time {(r.t - before) * 1000:.2f}ms, mfu 17.94%")


def trainer(r, bar, strings=False, steps=900, epochs=3, evaluate=0, save=0):
    """Hugging Face's Trainer."""
    r.epochs = epochs
    q = "'" if strings else ""
    drawn = r.bar("", steps) if bar else None
    for n in range(1, steps + 1):
        r.step(0.35)
        if drawn:
            drawn.update()
        epoch = f"{n * epochs / steps:.2f}".rstrip("0").rstrip(".") if not strings else f"{n * epochs / steps:.4g}"
        if n % 10 == 0:
            r.say(("\r" if bar else "") + f"{{'loss': {q}{r.loss():.4f}{q}, 'grad_norm': {q}{r.loss(2, 1):.4f}{q}, "
                  f"'learning_rate': {q}{5e-5 * (1 - n / steps):.4g}{q}, 'epoch': {q}{epoch}{q}}}")
        if evaluate and n % evaluate == 0:
            begun = r.t
            inner = r.bar("", 60, leave=False) if bar else None
            for _ in range(60):
                r.wait(0.2, 0.05)
                if inner:
                    inner.update()
            spent = r.t - begun
            r.say(("\r" if bar else "") + f"{{'eval_loss': {q}{r.loss():.4f}{q}, 'eval_runtime': {q}{spent:.4f}{q}, "
                  f"'eval_samples_per_second': {q}{480 / spent:.3f}{q}, 'eval_steps_per_second': {q}{60 / spent:.3f}{q}, "
                  f"'epoch': {q}{epoch}{q}}}")
        if save and n % save == 0:
            r.wait(4, 0.05)
    if drawn:
        drawn.close()
    r.say(f"{{'train_runtime': {q}{r.t:.4f}{q}, 'train_samples_per_second': {q}22.81{q}, "
          f"'train_steps_per_second': {q}2.852{q}, 'train_loss': {q}{r.loss():.4f}{q}, 'epoch': {q}{epochs}.0{q}}}")


@kind(argv=["python", "run_glue.py", "--num_train_epochs", "3", "--eval_strategy", "steps", "--eval_steps", "150",
            "--save_steps", "300", "--logging_steps", "10"])
def hf_trainer(r):
    r.wait(5)
    aside(r, "Loading checkpoint shards", 3, 0.9)
    aside(r, "Map", 4000, 0.0004, unit=" examples")
    r.wait(4)
    trainer(r, True, evaluate=150, save=300)


@kind(argv=["torchrun", "run_clm.py", "--max_steps=900", "--disable_tqdm", "True", "--log_level", "info"])
def hf_trainer_no_bar(r):
    r.wait(15)
    at = r.clock()
    for line in ("***** Running training *****", "  Num examples = 9,600", "  Num Epochs = 3",
                 "  Instantaneous batch size per device = 8", "  Gradient Accumulation steps = 4",
                 "  Total optimization steps = 900", "  Number of trainable parameters = 124,439,808"):
        r.say(f"[INFO|trainer.py:2405] {at},913 >> {line}")
    trainer(r, False)


@kind()
def hf_trainer_strings(r):
    r.wait(12)
    trainer(r, True, strings=True)


@kind(argv=["torchrun", "pretrain_gpt.py", "--train-iters", "1200", "--log-interval", "5", "--eval-interval", "400",
            "--save-interval", "400"])
def megatron(r):
    r.wait(22)
    r.say("[before the start of training step] datetime: " + r.clock())
    for n in range(1, 1201):
        r.step(0.7)
        if n % 5 == 0:
            r.say(f" [{r.clock()}] iteration {n:8d}/{1200:8d} | consumed samples: {n * 256:12d} | elapsed time per "
                  f"iteration (ms): {r.slow * 700:.1f} | learning rate: 1.500000E-04 | global batch size:   256 | "
                  f"lm loss: {r.loss():.6E} | loss scale: 1.0 | grad norm: 0.811 | number of skipped iterations:   0 | "
                  "number of nan iterations:   0 |")
        if n % 400 == 0:
            r.wait(18, 0.03)
            r.say("-" * 100)
            r.say(f" validation loss at iteration {n} | lm loss value: {r.loss():.6E} | lm loss PPL: 1.525130E+01 | ")
            r.say("-" * 100)
            r.say(f"saving checkpoint at iteration {n:7d} to /checkpoints in torch_dist format")
            r.wait(6, 0.03)
            r.say(f"  successfully saved checkpoint from iteration {n:7d} to /checkpoints")


@kind(argv=["python", "main.py", "-a", "resnet50", "--epochs", "4"], announced=False)
def imagenet(r):
    r.wait(8)
    r.epochs = 4
    r.say("=> creating model 'resnet50'")
    for epoch in range(4):
        for i in range(501):
            r.step(0.3)
            if i % 10 == 0:
                r.say(f"Epoch: [{epoch}][{i:3d}/501]\tTime  0.300 ( 0.312)\tData  0.002 ( 0.010)\t"
                      f"Loss {r.loss():.4e} ({r.loss():.4e})\tAcc@1  12.50 ( 10.08)\tAcc@5  31.25 ( 28.55)")
        for i in range(40):
            r.wait(0.25, 0.05)
            if i % 10 == 0:
                r.say(f"Test: [{i:2d}/40]\tTime  0.250 ( 0.260)\tLoss {r.loss():.4e} ({r.loss():.4e})\t"
                      "Acc@1  20.00 ( 18.10)\tAcc@5  41.00 ( 40.20)")
        r.say(" *   Acc@1 18.100 Acc@5 40.200")


@kind(argv=["python", "main.py", "--epochs", "5"], announced=False)
def mnist(r):
    r.wait(4)
    r.epochs, r.counted = 5, 5 * 60000
    for epoch in range(1, 6):
        for i in range(938):
            r.step(0.02)
            if i % 10 == 0:
                r.say(f"Train Epoch: {epoch} [{i * 64}/60000 ({100 * i / 938:.0f}%)]\tLoss: {r.loss():.6f}")
        r.wait(2.1, 0.05)
        r.say()
        r.say(f"Test set: Average loss: {r.loss(.3, .03):.4f}, Accuracy: 9842/10000 (98%)")
        r.say()


def main():
    if len(sys.argv) < 2:
        print("\n".join(KINDS))
    elif sys.argv[1] in KINDS:
        Run(sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else 1).write(sys.stdout)
    else:
        sys.exit(f"corpus.py: no kind '{sys.argv[1]}'")


if __name__ == "__main__":
    main()
