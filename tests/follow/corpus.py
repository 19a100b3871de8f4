#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Whole trainings as the tools of tests/follow/corpus print them, on a virtual clock, with their truth.

    corpus.py              lists the kinds
    corpus.py KIND [SEED]  writes one training as JSON lines
    corpus.py --all        writes one after the other, but for those held out (corpus_held.py)

The first line is the truth: kind, argv, steps (optimizer steps, or rounds), whole_s, announced (every
part, such as an evaluation, is announced by the arguments or the log before it happens; null: no sample foresees its times), epochs where
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


# ---- logs by steps

def logged(r, steps, seconds, every, line, evaluate=None, save=None, first=1):
    """Prints line(n) after every `every` steps; evaluate and save are (steps between, seconds, texts before, after)."""
    for n in range(first, first + steps):
        r.step(seconds)
        if n % every == 0:
            r.say(line(n))
        for part in (evaluate, save):
            if part and n % part[0] == 0 and n:
                if part[2]:
                    r.say(part[2](n))
                r.wait(part[1], 0.03)
                if part[3]:
                    r.say(part[3](n))


@kind(argv=["python", "train_dreambooth.py", "--max_train_steps=1500", "--checkpointing_steps=500"])
def diffusers(r):
    r.wait(14)
    at = r.clock("%m/%d/%Y %H:%M:%S")
    for line in ("***** Running training *****", "  Num examples = 300", "  Num batches each epoch = 75",
                 "  Num Epochs = 20", "  Gradient Accumulation steps = 1", "  Total optimization steps = 1500"):
        r.say(f"{at} - INFO - __main__ - {line}")
    r.epochs = 20
    bar = r.bar("Steps", 1500, postfix=lambda r: f"loss={r.loss(.2, .1):.4f}, lr=5e-6")
    for n in range(1, 1501):
        r.step(0.45)
        bar.update()
        if n % 500 == 0:
            r.wait(5)
            r.say(f"{r.clock('%m/%d/%Y %H:%M:%S')} - INFO - accelerate.accelerator - Saving current state to out/checkpoint-{n}")
    bar.close()


@kind(argv=["axolotl", "train", "lora.yml"])
def axolotl(r):
    r.wait(10)
    aside(r, "Tokenizing Prompts (num_proc=8)", 2000, 0.001, unit=" examples")
    r.say(f"[{r.clock()},070] [INFO] [axolotl.utils.data.sft:264] [PID:11100] [RANK:0] total_num_steps: 900")
    aside(r, "Loading checkpoint shards", 4, 1.1)
    r.wait(5)
    r.say(f"[{r.clock()},585] [INFO] [axolotl.train.execute_training:203] [PID:65109] [RANK:0] Starting trainer...")
    trainer(r, True)


@kind(argv=["python", "finetune.py"])
def unsloth(r):
    r.wait(18)
    r.say("==((====))==  Unsloth - 2x faster free finetuning | Num GPUs used = 1")
    r.say("   \\\\   /|    Num examples = 7,200 | Num Epochs = 3 | Total steps = 900")
    r.say("O^O/ \\_/ \\    Batch size per device = 2 | Gradient accumulation steps = 4")
    r.say("\\        /    Data Parallel GPUs = 1 | Total batch size (2 x 4 x 1) = 8")
    r.say(' "-____-"     Trainable parameters = 66,060,288 of 4,073,997,824 (1.62% trained)')
    trainer(r, True)


@kind(argv=["accelerate", "launch", "train_network.py", "--max_train_epochs=10"], announced=False)
def kohya(r):
    r.wait(12)
    aside(r, "caching latents", 390, 0.01)
    for line in ("running training / 学習開始", "  num train images * repeats / 学習画像の数×繰り返し回数: 90",
                 "  num batches per epoch / 1epochのバッチ数: 90", "  num epochs / epoch数: 10",
                 "  batch size per device / バッチサイズ: 1", "  total optimization steps / 学習ステップ数: 900"):
        r.say(line)
    r.epochs = 10
    bar = r.bar("steps", 900, postfix=lambda r: f"avr_loss={r.loss(.2, .1):.3f}")
    for epoch in range(10):
        r.say(f"\nepoch {epoch + 1}/10")
        for _ in range(90):
            r.step(0.5)
            bar.update()
        if epoch < 9:
            r.say(f"\nsaving checkpoint: out/lora-{epoch + 1:06d}.safetensors")
            r.wait(0.4)
    bar.close()


@kind(argv=["tune", "run", "lora_finetune_single_device", "--config", "llama3_2/1B_lora", "epochs=2"])
def torchtune(r):
    r.wait(16)
    r.epochs, made = 2, 0
    for epoch in range(2):
        bar = r.bar("", 400)
        for _ in range(400):
            r.step(0.6)
            made += 1
            bar.label = f"{epoch + 1}|{made}|Loss: {r.loss():.16f}"
            bar.update()
        bar.close()


@kind(argv=["torchrun", "-m", "torchtitan.train", "--training.steps", "1000"])
def torchtitan(r):
    r.wait(20)
    head = "[rank0]:[titan] {},338 - root - INFO - "
    r.say(head.format(r.clock()) + "Trainer is initialized with local batch size 8, global batch size 64, gradient "
          "accumulation steps 1, sequence length 2048, total steps 1000 (warmup 200)")
    r.say(head.format(r.clock()) + "Training starts at step 1")
    logged(r, 1000, 0.8, 10, lambda n: head.format(r.clock()) + f"step: {n:2d}  loss: {r.loss():8.5f}  grad_norm:  0.8319  "
           "memory: 49.66GiB(52.28%)  tps: 5,856  tflops: 339.16  mfu: 34.29%")


@kind(argv=["litgpt", "finetune", "lora", "--train.max_steps=800", "--eval.interval=200"])
def litgpt(r):
    r.wait(13)
    r.say("Validating ...")
    r.wait(3)
    r.epochs = 4
    logged(r, 800, 0.4, 1, lambda n: f"Epoch {(n - 1) // 200 + 1} | iter {n} step {n} | loss train: {r.loss():.3f}, "
           f"val: n/a | iter time: {r.slow * 400:.2f} ms (step)",
           evaluate=(200, 8, lambda n: "Validating ...", lambda n: f"iter {n}: val loss {r.loss():.4f}, val time: 8012.35 ms"))
    r.say(f"Training time: {r.t:.2f}s")


@kind(argv=["./train_gpt2cu", "-x", "900", "-v", "300"], announced=False)
def llm_c(r):
    r.say("| max_steps             | 900                                                |")
    r.wait(6)
    r.say(f"val loss {r.loss():.6f}")
    logged(r, 900, 0.35, 1, lambda n: f"step {n:4d}/900 | loss {r.loss():.6f} (+0.19z)| norm 0.2776 (+3.74z)| lr 6.00e-04 | "
           f"{r.slow * 350:.2f} ms | 40.4% bf16 MFU | 210350 tok/s",
           evaluate=(300, 7, None, lambda n: f"val loss {r.loss():.6f}"))


@kind(argv=["python", "train.py", "--max_iters=2000", "--eval_interval=500"])
def llama2c(r):
    r.wait(9)
    logged(r, 2000, 0.25, 10, lambda n: f"{n} | loss {r.loss():.4f} | lr {4e-4:e} | {r.slow * 250:.2f}ms | mfu 20.21%",
           evaluate=(500, 15, None, lambda n: f"step {n}: train loss {r.loss():.4f}, val loss {r.loss():.4f}"), first=0)


@kind()
def modded_nanogpt(r):
    r.wait(30)
    logged(r, 1480, 0.26, 1, lambda n: f"step:{n}/1480 train_time:{r.t * 1000:.0f}ms step_avg:{r.slow * 260:.2f}ms")


@kind(argv=["python", "train.py", "--steps", "600"])
def nemo2(r):
    r.wait(25)
    logged(r, 600, 0.9, 1, lambda n: f"Training epoch 0, iteration {n}/599 | lr: 3e-05 | consumed_samples: {n + 1} | "
           f"global_batch_size: 1 | global_step: {n} | reduced_train_loss: {r.loss():.4g} | train_step_timing in s: "
           f"{r.slow * 0.9:.4g}", first=0)


@kind(argv=["deepspeed", "train.py", "--deepspeed", "ds_config.json", "--max_steps", "800"])
def deepspeed(r):
    r.wait(21)
    logged(r, 800, 0.5, 10, lambda n: f"[{r.clock()},985] [INFO] [logging.py:96:log_dist] [Rank 0] step={n}, skipped=0, "
           f"lr=[5e-05], mom=[[0.9, 0.999]]\n[{r.clock()},986] [INFO] [timer.py:264:stop] epoch=0/micro_step={n}/"
           f"global_step={n}, RunningAvgSamplesPerSec=83.5, CurrSamplesPerSec=83.4, MemAllocated=0.26GB")


@kind(argv=["python", "deepy.py", "train.py", "1-3B.yml"])
def gpt_neox(r):
    r.wait(30)
    logged(r, 500, 1.4, 2, lambda n: f" samples/sec: 7.799 | iteration {n:8d}/{500:8d} | elapsed time per iteration (ms): "
           f"{r.slow * 1400:.1f} | learning rate: 2.111E-06 | approx flops per GPU: 112.9TFLOPS | lm_loss: {r.loss():.6E} | "
           "number of skipped iterations:   0 | number of nan iterations:   0 |")


def fairseq_run(r, line, valid):
    r.wait(11)
    r.epochs = 5
    for epoch in range(1, 6):
        for i in range(1, 301):
            r.step(0.3)
            if i % 10 == 0:
                r.say(line(epoch, i))
        r.say(f"{r.clock()} | INFO | fairseq_cli.train | begin validation on \"valid\" subset")
        r.wait(6, 0.03)
        r.say(valid(epoch))
        r.wait(2)
        r.say(f"{r.clock()} | INFO | fairseq.checkpoint_utils | Saved checkpoint checkpoints/checkpoint{epoch}.pt (epoch {epoch} "
              f"@ {r.made} updates, score 3.1) (writing took 2.001 seconds)")


@kind(argv=["fairseq-train", "data-bin", "--max-epoch", "5"], announced=False)
def fairseq(r):
    fairseq_run(r, lambda e, i: f"{r.clock()} | INFO | train_inner | epoch {e:03d}:    {i} / 300 loss={r.loss():.3f}, "
                f"nll_loss=10.881, ppl=1886.05, wps=52922, ups=0.5, wpb=104928, bsz=5325, num_updates={r.made}, lr=8.9e-05, "
                "gnorm=1.543, clip=0, train_wall=756, wall=882",
                lambda e: f"{r.clock()} | INFO | valid | epoch {e:03d} | valid on 'valid' subset | loss {r.loss():.3f} | "
                f"nll_loss 6.8834 | ppl 118.06 | num_updates {r.made}")


@kind(argv=["fairseq-train", "data-bin", "--max-epoch", "5", "--log-format", "json"], announced=False)
def fairseq_json(r):
    fairseq_run(r, lambda e, i: f"{r.clock()} | INFO | train_inner | {{\"epoch\": {e}, \"update\": {r.made / 300:.3f}, \"loss\": "
                f"\"{r.loss():.3f}\", \"nll_loss\": \"5.663\", \"wps\": \"2270.8\", \"num_updates\": \"{r.made}\", \"lr\": \"5e-05\", "
                "\"gnorm\": \"112.028\", \"train_wall\": \"637\", \"wall\": \"5247\"}",
                lambda e: f"{r.clock()} | INFO | valid | {{\"epoch\": {e}, \"valid_loss\": \"{r.loss():.3f}\", "
                f"\"valid_num_updates\": \"{r.made}\"}}")


@kind(argv=["python", "tools/train.py", "configs/resnet18.py"], announced=False)
def mmengine_epoch(r):
    r.wait(12)
    r.epochs = 6
    head = "{} - mmengine - INFO - "
    r.say("train_cfg = dict(max_epochs=6, type='EpochBasedTrainLoop', val_interval=1)")
    r.say(head.format(r.clock("%m/%d %H:%M:%S")) + "Checkpoints will be saved to /work_dirs.")
    for epoch in range(1, 7):
        for i in range(1, 301):
            r.step(0.2)
            if i % 50 == 0:
                r.say(head.format(r.clock("%m/%d %H:%M:%S")) + f"Epoch(train) [{epoch}][{i:3d}/300]  lr: 1.0000e-02  eta: 0:05:25  "
                      f"time: 0.2010  data_time: 0.0030  memory: 2979  loss: {r.loss():.4f}")
        r.say(head.format(r.clock("%m/%d %H:%M:%S")) + f"Saving checkpoint at {epoch} epochs")
        r.wait(1)
        for i in range(1, 41):
            r.wait(0.15, 0.05)
            if i % 10 == 0:
                r.say(head.format(r.clock("%m/%d %H:%M:%S")) + f"Epoch(val) [{epoch}][{i:2d}/40]    eta: 0:00:04  time: 0.1500  "
                      "data_time: 0.0006  memory: 979  ")


@kind(argv=["python", "tools/train.py", "configs/segformer.py"])
def mmengine_iter(r):
    r.wait(15)
    logged(r, 2000, 0.3, 50, lambda n: f"{r.clock('%Y/%m/%d %H:%M:%S')} - mmengine - INFO - Iter(train) [{n:5d}/2000]  lr: 9.0600e-03  "
           f"eta: 0:11:32  time: 0.3080  data_time: 0.0110  memory: 6840  loss: {r.loss():.4f}  decode.loss_ce: 2.5972")


@kind(argv=["python", "train_net.py", "--config-file", "x.yaml", "SOLVER.MAX_ITER", "1500", "TEST.EVAL_PERIOD", "500"])
def detectron2(r):
    r.wait(18)
    r.say(f"[{r.clock('%m/%d %H:%M:%S')} d2.engine.train_loop]: Starting training from iteration 0")
    for n in range(1500):
        r.step(0.35)
        if n % 20 == 19:
            r.say(f"[{r.clock('%m/%d %H:%M:%S')} d2.utils.events]:  eta: 0:08:35  iter: {n}  total_loss: {r.loss():.4g}  loss_cls: 0.6522  "
                  "loss_box_reg: 0.5817  time: 0.3500  data_time: 0.0102  lr: 3.8077e-06  max_mem: 433M")
        if n % 500 == 499:
            r.say(f"[{r.clock('%m/%d %H:%M:%S')} d2.evaluation.evaluator]: Start inference on 100 batches")
            r.wait(20, 0.03)


def ultralytics(r, draw, epochs=8, train=100, val=12):
    r.wait(9)
    r.epochs = epochs
    draw("train: Scanning /data/labels/train.cache... 1600 images, 2 backgrounds, 0 corrupt", 1600, 0.0005)
    for epoch in range(1, epochs + 1):
        r.say("\n      Epoch    GPU_mem   box_loss   cls_loss   dfl_loss  Instances       Size")
        draw(f"      {epoch}/{epochs}      6.74G      1.432        1.3       1.26          5        640", train, 0.25, True)
        draw("                 Class     Images  Instances      Box(P          R      mAP50  mAP50-95)", val, 0.4)
        r.say("                   all        722       1444      0.986      0.299      0.772      0.364")


@kind(argv=["yolo", "detect", "train", "epochs=8"], announced=False)
def ultralytics_old(r):
    def draw(label, total, seconds, steps=False):
        bar = r.bar(label, total)
        for _ in range(total):
            (r.step if steps else r.wait)(seconds)
            bar.update()
        bar.close()
    ultralytics(r, draw)


@kind(argv=["yolo", "detect", "train", "epochs=8"], announced=False)
def ultralytics_new(r):
    def draw(label, total, seconds, steps=False):
        begun = drawn = r.t
        for i in range(1, total + 1):
            (r.step if steps else r.wait)(seconds)
            if r.t - drawn > 0.1 or i == total:
                drawn = r.t
                cells = 12 * i // total
                r.say(f"\r\033[K{label}: {100 * i // total}% {'━' * cells}{'─' * (12 - cells)} {i}/{total} "
                      f"{i / (r.t - begun):.1f}it/s {r.t - begun:.1f}s", end="")
        r.say()
    ultralytics(r, draw)


@kind(argv=["python", "train.py", "--epochs", "4"], announced=False)
def timm(r):
    r.wait(10)
    r.epochs = 4
    for epoch in range(4):
        for i in range(400):
            r.step(0.25)
            if i % 50 == 0 or i == 399:
                r.say(f"Train: {epoch} [{i:4d}/400 ({100 * i / 399:3.0f}%)]  Loss: {r.loss():.3f} ({r.loss():.2f})  Time: 0.316s,  405.65/s  "
                      "(0.344s,  371.84/s)  LR: 5.000e-07  Data: 0.006 (0.033)")
        for i in range(30):
            r.wait(0.3, 0.05)
            if i % 10 == 0 or i == 29:
                r.say(f"Test: [{i:4d}/29]  Time: 0.560 (0.560)  Loss: {r.loss():7.4f} (0.6912)  Acc@1: 84.3750 (84.3750)")


@kind(argv=["python", "main.py", "--epochs", "6"], announced=False)
def word_language_model(r):
    r.wait(7)
    r.epochs = 6
    for epoch in range(1, 7):
        begun = r.t
        for i in range(1, 601):
            r.step(0.11)
            if i % 100 == 0 and i < 600:
                r.say(f"| epoch {epoch:3d} | {i:5d}/  600 batches | lr 20.00 | ms/batch 107.03 | loss {r.loss():5.2f} | ppl    55.54")
        r.wait(5, 0.03)
        r.say("-" * 89)
        r.say(f"| end of epoch {epoch:3d} | time: {r.t - begun:5.2f}s | valid loss {r.loss():5.2f} | valid ppl    77.44")
        r.say("-" * 89)


def epochs_of(r, epochs, per_epoch, seconds, every, line, header=None, end=None, evaluate=0.0):
    r.wait(6)
    r.epochs = epochs
    for epoch in range(1, epochs + 1):
        if header:
            r.say(header(epoch))
        for i in range(1, per_epoch + 1):
            r.step(seconds)
            if every and i % every == 0:
                r.say(line(epoch, i))
        if evaluate:
            r.wait(evaluate, 0.03)
        if end:
            r.say(end(epoch))


@kind()
def bracket_steps(r):
    epochs_of(r, 5, 600, 0.06, 100, lambda e, i: f"Epoch [{e}/5], Step [{i}/600], Loss: {r.loss():.4f}")


@kind(announced=False)
def pytorch_quickstart(r):
    r.counted = 5 * 60000
    epochs_of(r, 5, 938, 0.03, 100, lambda e, i: f"loss: {r.loss():>7f}  [{i * 64:>5d}/60000]",
              lambda e: f"Epoch {e}\n-------------------------------",
              lambda e: f"Test Error: \n Accuracy: 45.9%, Avg loss: {r.loss():>8f} \n", 2)


@kind()
def cifar_tutorial(r):
    epochs_of(r, 2, 12500, 0.004, 2000, lambda e, i: f"[{e}, {i:5d}] loss: {r.loss():.3f}")


@kind(argv=["python", "train.py", "--epochs", "6"])
def plain_epoch_iter(r):
    epochs_of(r, 6, 200, 0.2, 25, lambda e, i: f"epoch {e} iter {i}/200 loss {r.loss():.4f}")


@kind(announced=False)
def plain_epochs(r):
    epochs_of(r, 25, 80, 0.1, 0, None, None, lambda e: f"Epoch {e}/25, train loss: {r.loss():.4f}, val loss: {r.loss():.4f}, "
              "time: 8.3s", 0.5)
    r.counted = 25


@kind()
def plain_step(r):
    r.wait(5)
    logged(r, 3000, 0.1, 50, lambda n: f"step {n}/3000 | loss {r.loss():.4f} | lr 3.00e-04")


@kind(argv=["python", "train.py", "--max-iters", "4000"])
def plain_iter(r):
    r.wait(5)
    logged(r, 4000, 0.08, 10, lambda n: f"iter {n}: loss {r.loss():.4f}")


@kind(argv=["python", "-m", "MaxText.train", "MaxText/configs/base.yml", "steps=500"])
def maxtext(r):
    r.wait(45)
    logged(r, 500, 1.3, 1, lambda n: f"completed step: {n}, seconds: {r.slow * 1.3:.3f}, TFLOP/s/device: 134.924, Tokens/s/device: "
           f"8672.758, total_weights: 196608, loss: {r.loss():.3f}", first=0)


@kind(argv=["python", "main.py", "--config.num_train_steps=2000"], announced=False)
def flax(r):
    r.wait(40)
    logged(r, 2000, 0.3, 100, lambda n: f"I1002 21:43:51.424899 140400640460352 logging_writer.py:35] [{n}] steps_per_second=1.76, "
           f"train_accuracy=0.0067, train_learning_rate=0.97, train_loss={r.loss():.6f}",
           evaluate=(500, 12, None, lambda n: f"I1002 21:43:14.805023 139917864867392 logging_writer.py:35] [{n}] "
                     f"eval_accuracy=0.0058, eval_loss={r.loss():.6f}"))


@kind(argv=["python", "boost.py", "--num_boost_round", "800"])
def xgboost(r):
    r.wait(4)
    logged(r, 800, 0.15, 1, lambda n: f"[{n}]\ttrain-logloss:{r.loss(.7, .1):.6f}\tvalid-logloss:{r.loss(.7, .2):.6f}", first=0)


@kind(argv=["python", "boost.py", "--n_estimators=1000"])
def lightgbm(r):
    r.wait(5)
    r.say("Training until validation scores don't improve for 100 rounds")
    logged(r, 1000, 0.12, 25, lambda n: f"[{n}]\ttraining's rmse: {r.loss(2, .7):.6g}\tvalid_1's rmse: {r.loss(2, .8):.6g}")


@kind(argv=["python", "boost.py", "--iterations", "1000"])
def catboost(r):
    r.wait(3)
    logged(r, 1000, 0.1, 1, lambda n: f"{n}:\tlearn: {r.loss(.7, .1):.7f}\ttest: {r.loss(.7, .2):.7f}\tbest: 0.1530068 ({n})\t"
           f"total: {r.t:.3g}s\tremaining: 33s", first=0)


@kind(argv=["mlx_lm.lora", "--train", "--iters", "1000", "--steps-per-eval", "200", "--save-every", "500"])
def mlx(r):
    r.wait(12)
    r.say("Starting training..., iters: 1000")
    logged(r, 1000, 0.4, 10, lambda n: f"Iter {n}: Train loss {r.loss():.3f}, Learning Rate 1.000e-05, It/sec 2.502, Tokens/sec 88.083, "
           f"Trained Tokens {n * 86}",
           evaluate=(200, 9, None, lambda n: f"Iter {n}: Val loss {r.loss():.3f}, Val took 9.001s"),
           save=(500, 0.3, None, lambda n: f"Iter {n}: Saved adapter weights to adapters/{n:07d}_adapters.safetensors."))


@kind(argv=["onmt_train", "-config", "x.yaml", "-train_steps", "2000", "-valid_steps", "1000"])
def opennmt(r):
    r.wait(14)
    logged(r, 2000, 0.25, 50, lambda n: f"[{r.clock()},389 INFO] Step {n}/ 2000; acc:   5.35; ppl: 1497.24; xent: {r.loss():.2f}; "
           f"lr: 1.00000;  84/336 tok/s; {r.t:6.0f} sec",
           evaluate=(1000, 14, None, lambda n: f"[{r.clock()},390 INFO] Validation perplexity: 9.4\n[{r.clock()},391 INFO] Validation "
                     "accuracy: 51.2"))


@kind()
def caffe(r):
    r.wait(5)
    r.say("test_interval: 10000\nbase_lr: 0.001\ndisplay: 100\nmax_iter: 5000")
    logged(r, 5000, 0.06, 100, lambda n: f"I0914 09:36:00.295799  6584 solver.cpp:228] Iteration {n}, loss = {r.loss():.6f}\nI0914 09:36:00.295799"
           f"  6584 sgd_solver.cpp:106] Iteration {n}, lr = 0.000174348", first=0)


@kind(argv=["python", "train.py", "--num_train_steps=800"])
def tensorflow1(r):
    r.wait(16)
    logged(r, 800, 0.6, 10, lambda n: f"INFO:tensorflow:global step {n}: loss = {r.loss():.4f} ({r.slow * 0.6:.3f} sec/step)\n"
           "INFO:tensorflow:global_step/sec: 1.66")


@kind(argv=["python", "ppo.py", "--total-timesteps", "204800"])
def stable_baselines3(r):
    r.wait(4)
    r.counted = 204800
    for n in range(1, 101):
        r.step(2.2)
        r.say("-" * 41 + f"\n| time/                   |             |\n|    fps                  | 930         |\n|    iterations           | {n:<11} |"
              f"\n|    time_elapsed         | {int(r.t):<11} |\n|    total_timesteps      | {n * 2048:<11} |\n| train/                  |             |"
              f"\n|    loss                 | {r.loss():<11.4g} |\n" + "-" * 41)


@kind()
def sentence_transformers(r):
    r.wait(8)
    r.epochs = 4
    outer = r.bar("Epoch", 4)
    for _ in range(4):
        inner = r.bar("Iteration", 300)
        for _ in range(300):
            r.step(0.12)
            inner.update()
        inner.close()
        outer.update()
    outer.close()


@kind(argv=["python", "-m", "spacy", "train", "config.cfg", "--training.max_steps", "4000"],
      announced=False)
def spacy(r):
    r.wait(6)
    r.say("E    #       LOSS TOK2VEC  LOSS NER  ENTS_F  ENTS_P  ENTS_R  SCORE ")
    r.say("---  ------  ------------  --------  ------  ------  ------  ------")
    for n in range(0, 4001):
        if n % 200 == 0:
            r.wait(2.5, 0.03)
            r.say(f"{n // 900:3d}  {n:6d}  {r.loss(40, 9):12.2f}  {r.loss(2000, 800):8.2f}   83.16   83.79   82.53    0.83")
        if n < 4000:
            r.step(0.06)


@kind(argv=["python", "gpt.py"], announced=False)
def gpt_lecture(r):
    """Reports evaluations only; the total is in no line."""
    r.wait(4)
    for n in range(5000):
        if n % 500 == 0:
            r.wait(6, 0.03)
            r.say(f"step {n}: train loss {r.loss():.4f}, val loss {r.loss():.4f}")
        r.step(0.1)


@kind()
def regular_lines(r):
    """No known word: only the shape of the lines tells."""
    r.wait(5)
    logged(r, 2400, 0.1, 8, lambda n: f"<{r.clock('%H:%M:%S')}> trained {n}/2400 minibatches; energy {r.loss():.5f}")


@kind()
def silent(r):
    """Prints nothing that counts."""
    r.wait(5)
    r.say("Training...")
    for _ in range(1000):
        r.step(0.1)
    r.say("Done.")


def main():
    if len(sys.argv) < 2:
        print("\n".join(KINDS))
    elif sys.argv[1] == "--all":
        for name in KINDS:
            Run(name).write(sys.stdout)
    elif sys.argv[1] in KINDS:
        Run(sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else 1).write(sys.stdout)
    else:
        sys.exit(f"corpus.py: no kind '{sys.argv[1]}'")


if __name__ == "__main__":
    import corpus  # the kinds of the other files are added to this one
    import corpus_left  # noqa: F401
    import corpus_rl  # noqa: F401
    if sys.argv[1:2] != ["--all"]:
        import corpus_held  # noqa: F401
    corpus.main()
