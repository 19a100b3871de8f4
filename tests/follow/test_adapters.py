#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""share/python/fare.py in real trainings: by hand, with Keras, Hugging Face's Trainer and Lightning. What the
framework itself tells of its epochs (its history, its log, its metrics) is what the run's record has to say.

The frameworks are those of $FARE_PYTHON, else Debian's Python with scripts/packages.txt's in build/python; one that
is not there is skipped."""
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, os.environ["TESTS"])
from tap import done, report, skip  # noqa: E402

FARE = os.environ["FARE"]
ROOT = Path(os.environ["ROOT"])
PYTHON = os.environ.get("FARE_PYTHON") or "/usr/bin/python3"
FOLDERS = [ROOT / "share/python"] + ([] if os.environ.get("FARE_PYTHON") else [Path(os.environ["BUILD"]) / "python"])
ENV = {**os.environ, "PYTHONPATH": ":".join(map(str, FOLDERS)), "PYTHONDONTWRITEBYTECODE": "1", "KERAS_BACKEND": "jax",
       "JAX_PLATFORMS": "cpu", "CUDA_VISIBLE_DEVICES": "", "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1",
       "FARE_EVENTS": ""}

# 64 samples in batches of 16, three epochs, 32 held out. A step takes longer than the 50 ms within which fare.py
# writes one line, so that every loss is told; each of an evaluation's two batches takes 40 ms.
SIZES = """
import json, sys, time
EPOCHS, BATCH, TRAIN, TEST = 3, 16, 64, 32
def expect(**what):
    with open("expected.json", "w") as f:
        json.dump(what, f)
"""

BY_HAND = SIZES + """
import fare
fare.about(batch=BATCH, epochs=EPOCHS)
losses, tests = [], []
for epoch in range(1, EPOCHS + 1):
    fare.phase("train")
    mean = 0
    for batch in fare.steps(range(TRAIN // BATCH), epoch=epoch, samples=BATCH):
        time.sleep(0.06)
        fare.report(loss=1 / epoch + batch)
        mean += (1 / epoch + batch) / 4
    with fare.phase("evaluate"):
        time.sleep(0.08)
        fare.report(test_loss=2 / epoch, test_accuracy=epoch / 4)
    losses.append(mean)
    tests.append([2 / epoch, epoch / 4])
fare.phase("idle")
expect(train=losses, test=tests)
"""

KERAS = SIZES + """
import fare, keras, numpy as np
keras.utils.set_random_seed(1)
x = np.random.rand(TRAIN + TEST, 8).astype("float32")
y = (x.sum(1) > 4).astype("int32")
class Slow(keras.callbacks.Callback):
    def on_train_batch_begin(self, batch, logs=None):
        time.sleep(0.06)
    def on_test_batch_begin(self, batch, logs=None):
        time.sleep(0.04)
model = keras.Sequential([keras.layers.Input((8,)), keras.layers.Dense(16, activation="relu"),
                          keras.layers.Dense(2, activation="softmax")])
model.compile(keras.optimizers.SGD(0.5), "sparse_categorical_crossentropy", metrics=["accuracy"])
model.fit(x[:BATCH], y[:BATCH], verbose=0)  # compiled before the clock runs
told = model.fit(x[:TRAIN], y[:TRAIN], batch_size=BATCH, epochs=EPOCHS, verbose=0, validation_batch_size=BATCH,
                 validation_data=(x[TRAIN:], y[TRAIN:]), callbacks=[Slow(), fare.keras_callback(batch=BATCH)]).history
expect(train=told["loss"], accuracy=told["accuracy"], test=[*zip(told["val_loss"], told["val_accuracy"])])
"""

TORCH = SIZES + """
import fare, torch
torch.manual_seed(1)
torch.set_num_threads(1)
x = torch.rand(TRAIN + TEST, 8)
y = (x.sum(1) > 4).long()
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 2))
    def forward(self, x):
        time.sleep(0.06 if self.training else 0.04)
        return self.layers(x)
"""

TRAINER = TORCH + """
import inspect, numpy as np
from transformers import Trainer, TrainingArguments
class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.net = Net()
    def forward(self, x, labels):
        out = self.net(x)
        return {"loss": torch.nn.functional.cross_entropy(out, labels), "logits": out}
rows = [{"x": x[i], "labels": y[i]} for i in range(TRAIN + TEST)]
known = inspect.signature(TrainingArguments).parameters
named = {"eval_strategy" if "eval_strategy" in known else "evaluation_strategy": "epoch",
         "use_cpu" if "use_cpu" in known else "no_cuda": True}
options = TrainingArguments("out", num_train_epochs=EPOCHS, per_device_train_batch_size=BATCH, learning_rate=0.1,
                            per_device_eval_batch_size=BATCH, logging_steps=1, save_strategy="epoch", report_to=[],
                            disable_tqdm=True, remove_unused_columns=False, **named)
trainer = Trainer(Model(), options, train_dataset=rows[:TRAIN], eval_dataset=rows[TRAIN:],
                  compute_metrics=lambda p: {"accuracy": float((p.predictions.argmax(1) == p.label_ids).mean())},
                  callbacks=[fare.trainer_callback()])
trainer.train()
losses = [e["loss"] for e in trainer.state.log_history if "loss" in e]
tests = [[e["eval_loss"], e["eval_accuracy"]] for e in trainer.state.log_history if "eval_loss" in e]
expect(train=[sum(losses[4 * i:4 * i + 4]) / 4 for i in range(EPOCHS)], test=tests)
"""

LIGHTNING = TORCH + """
import warnings
warnings.filterwarnings("ignore")
if torch.__version__.startswith("1."):
    torch.distributed.is_available = lambda: False  # this PyTorch's FSDP cannot be imported by Python 3.11
try:
    import lightning.pytorch as pl
except ImportError:
    import pytorch_lightning as pl
losses, tests = [], []
class Module(pl.LightningModule):
    def __init__(self):
        super().__init__()
        self.net = Net()
    def training_step(self, batch, i):
        loss = torch.nn.functional.cross_entropy(self.net(batch[0]), batch[1])
        losses.append(loss.item())
        return loss
    def validation_step(self, batch, i):
        out = self.net(batch[0])
        self.log("val_loss", torch.nn.functional.cross_entropy(out, batch[1]))
        self.log("val_acc", (out.argmax(1) == batch[1]).float().mean())
    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), 0.5)
class Own(pl.Callback):
    def on_validation_end(self, trainer, module):
        if not trainer.sanity_checking:
            tests.append([float(trainer.callback_metrics[k]) for k in ("val_loss", "val_acc")])
def loader(a, b):
    return torch.utils.data.DataLoader(torch.utils.data.TensorDataset(x[a:b], y[a:b]), batch_size=BATCH)
trainer = pl.Trainer(max_epochs=EPOCHS, accelerator="cpu", logger=False, enable_checkpointing=False,
                     enable_progress_bar=False, enable_model_summary=False, callbacks=[Own(), fare.lightning_callback()])
trainer.fit(Module(), loader(0, TRAIN), loader(TRAIN, TRAIN + TEST))
expect(train=[sum(losses[4 * i:4 * i + 4]) / 4 for i in range(EPOCHS)], test=tests)
"""


def near(got, expected, share=1e-3):
    return got is not None and abs(got - expected) <= share * abs(expected) + 1e-6


def agrees(rows, member, values):
    return len(rows) == len(values) and all(near(r.get(member), v) for r, v in zip(rows, values))


def adapter(name, script, *modules, saves=False):
    need = "; ".join(f"import {m}" for m in modules) or "pass"
    if modules and subprocess.run([PYTHON, "-c", need], env=ENV, capture_output=True).returncode:
        return skip(f"{name}: a training tells its progress", f"{PYTHON} has no {' and '.join(modules)}")
    with tempfile.TemporaryDirectory() as scratch:
        (Path(scratch) / "train.py").write_text(script)
        where = {"cwd": scratch, "capture_output": True, "text": True, "timeout": 120, "env": ENV}
        p = subprocess.run([FARE, "run", "--json", "--no-ledger", "--", PYTHON, "train.py"], **where)
        one = json.loads(p.stdout)["runs"][0] if p.stdout else {}
        if p.returncode or one.get("ended") != "finished":
            return report(f"{name}: the training ends well", False, p.stderr)
        expected = json.loads((Path(scratch) / "expected.json").read_text())
        left = sorted(f.name for f in Path(scratch).iterdir())
        plain = subprocess.run([PYTHON, "train.py"], **where)
        without = json.loads((Path(scratch) / "expected.json").read_text())
        report(f"{name}: without fare nothing is raised, written or changed", plain.returncode == 0 and without == expected
               and sorted(f.name for f in Path(scratch).iterdir()) == left and "fare" not in plain.stderr, plain)
    rows, phases = one.get("epoch_list", []), one["phases"]
    report(f"{name}: twelve steps of sixteen samples", one.get("steps") == 12
           and near(one.get("samples_per_s", 0) * one.get("step_ms", 0) / 1e3, 16), one)
    report(f"{name}: three epochs of four", [r.get("epoch") for r in rows] == [1, 2, 3]
           and [r.get("steps") for r in rows] == [4, 4, 4], rows)
    report(f"{name}: the loss of each", agrees(rows, "train_loss", expected["train"]), (rows, expected))
    if "accuracy" in expected:
        report(f"{name}: and its accuracy", agrees(rows, "train_accuracy", expected["accuracy"]), (rows, expected))
    report(f"{name}: loss and accuracy held out", agrees(rows, "test_loss", [t[0] for t in expected["test"]])
           and agrees(rows, "test_accuracy", [t[1] for t in expected["test"]])
           and near(one.get("test_accuracy"), expected["test"][-1][1]), (rows, expected))
    own = sum(v for k, v in phases.items() if k.endswith("_ns") and k not in ("boot_ns", "wall_ns"))
    trained = (phases["warmup_ns"] + phases["train_ns"]) / 1e9
    report(f"{name}: training and evaluation have their time, and the phases are the whole", 12 * 0.06 <= trained
           and 3 * 0.08 <= phases["evaluate_ns"] / 1e9 and own == phases["wall_ns"]
           and trained + phases["evaluate_ns"] / 1e9 < phases["wall_ns"] / 1e9, phases)
    if saves:
        report(f"{name}: so has what it saves", 0 < phases["checkpoint_ns"] < phases["wall_ns"] - trained * 1e9, phases)
    report(f"{name}: nothing it told was strange", "could not be read" not in p.stderr, p.stderr)


adapter("by hand", BY_HAND)
adapter("Keras", KERAS, "keras", "jax")
adapter("Trainer", TRAINER, "torch", "transformers", "accelerate", saves=True)
adapter("Lightning", LIGHTNING, "torch", "lightning")
done()
