#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A tiny training on the CPU with a real library, which writes its own checkpoints and resumes from one.

    train_library.py lightning|trainer|keras|backup OUT STEPS [--resume CHECKPOINT]

It prints `from N` when it begins and `step N` after each step. At the end it prints the sum of its parameters, and that of
the same training without an interruption, made at once in the same process: a library takes seconds to start.
"""
import argparse
import hashlib
import os
import shutil
import sys
import tempfile
import time

os.environ.update(KERAS_BACKEND="jax", JAX_PLATFORMS="cpu", HF_HUB_OFFLINE="1", TOKENIZERS_PARALLELISM="false", OMP_NUM_THREADS="1")
PER_EPOCH, PAUSE_S = 10, 0.02


def sum_of(arrays):
    return hashlib.sha256(b"".join(a.tobytes() for a in arrays)).hexdigest()


def tell(step, quiet):
    if not quiet:
        print(f"step {step}", flush=True)
        time.sleep(PAUSE_S)


def lightning(out, steps, resume, quiet):
    """ModelCheckpoint after each epoch, with last.ckpt. Lightning does not save the state of random numbers, nor the place in
    an epoch: the order of the samples depends on the epoch, and there is no dropout."""
    import logging
    import warnings

    import torch
    if torch.__version__.startswith("1."):
        torch.distributed.is_available = lambda: False  # this PyTorch's FSDP cannot be imported by Python 3.11
    from lightning import pytorch as pl
    warnings.simplefilter("ignore")
    logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
    torch.set_num_threads(1)
    pl.seed_everything(1)
    x = torch.randn(PER_EPOCH * 16, 32)
    samples = torch.utils.data.TensorDataset(x, x[:, :10].argmax(1))

    class Order(torch.utils.data.Sampler):
        def __init__(self):
            self.epoch = 0

        def __len__(self):
            return len(samples)

        def set_epoch(self, epoch):  # Lightning calls it
            self.epoch = epoch

        def __iter__(self):
            return iter(torch.randperm(len(samples), generator=torch.Generator().manual_seed(self.epoch)).tolist())

    class Net(pl.LightningModule):
        def __init__(self):
            super().__init__()
            self.net = torch.nn.Sequential(torch.nn.Linear(32, 64), torch.nn.ReLU(), torch.nn.Linear(64, 10))

        def train_dataloader(self):
            return torch.utils.data.DataLoader(samples, batch_size=16, sampler=Order())

        def training_step(self, batch, index):
            return torch.nn.functional.cross_entropy(self.net(batch[0]), batch[1])

        def on_train_batch_end(self, *_):
            tell(self.trainer.global_step, quiet)

        def configure_optimizers(self):
            optimizer = torch.optim.AdamW(self.parameters(), lr=1e-3)
            return [optimizer], [torch.optim.lr_scheduler.StepLR(optimizer, 2, 0.9)]

    net = Net()
    keep = pl.callbacks.ModelCheckpoint(dirpath=out, save_last=True, save_top_k=2, monitor="step", mode="max", every_n_epochs=1)
    trainer = pl.Trainer(max_epochs=steps // PER_EPOCH, accelerator="cpu", logger=False, enable_progress_bar=False, enable_model_summary=False,
                         callbacks=[keep])
    if not quiet:
        print("from", torch.load(resume)["global_step"] if resume else 0, flush=True)
    trainer.fit(net, ckpt_path=resume)
    return sum_of(p.detach().numpy() for p in net.parameters())


def trainer(out, steps, resume, quiet):
    """Hugging Face's Trainer: OUT/checkpoint-N within epochs, the newest two are kept; dropout, a schedule, shuffled samples."""
    import torch
    import transformers
    transformers.logging.set_verbosity_error()
    torch.set_num_threads(1)
    transformers.set_seed(1)
    net = transformers.GPT2LMHeadModel(transformers.GPT2Config(vocab_size=50, n_positions=16, n_embd=16, n_layer=1, n_head=2))
    tokens = torch.randint(0, 50, (PER_EPOCH * 4, 16), generator=torch.Generator().manual_seed(2))
    samples = [{"input_ids": row, "labels": row} for row in tokens]

    class Tell(transformers.TrainerCallback):
        def on_step_end(self, arguments, state, control, **_):
            tell(state.global_step, quiet)

    arguments = transformers.TrainingArguments(
        out, max_steps=steps, per_device_train_batch_size=4, save_steps=7, save_total_limit=2, save_strategy="steps", report_to=[],
        use_cpu=True, seed=1, warmup_steps=5, logging_strategy="no", disable_tqdm=True)
    made = transformers.Trainer(net, arguments, train_dataset=samples, callbacks=[Tell()])
    if not quiet:
        print("from", transformers.TrainerState.load_from_json(f"{resume}/trainer_state.json").global_step if resume else 0, flush=True)
    made.train(resume_from_checkpoint=resume)
    return sum_of(p.detach().numpy() for p in net.parameters())


def keras(out, steps, resume, quiet, backup=False):
    """Keras 3 on JAX: ModelCheckpoint writes the whole model after each epoch, or BackupAndRestore its own two files, which it
    finds again in its folder. Keras saves no state of random numbers: no dropout, and the order depends on the epoch."""
    import keras as k
    import numpy
    k.utils.set_random_seed(1)
    x = numpy.random.default_rng(2).standard_normal((PER_EPOCH * 16, 32)).astype("float32")
    y = x[:, :10].argmax(1)

    class Tell(k.callbacks.Callback):
        epoch = 0

        def on_epoch_begin(self, epoch, logs=None):
            if not quiet and not self.epoch:
                print("from", epoch * PER_EPOCH, flush=True)
            self.epoch = epoch + 1

        def on_train_batch_end(self, index, logs=None):
            tell((self.epoch - 1) * PER_EPOCH + index + 1, quiet)

    if resume and not backup:
        net = k.saving.load_model(resume)
        begin = int(resume.split("epoch-")[1].split(".")[0])
    else:
        net = k.Sequential([k.Input((32,)), k.layers.Dense(64, "relu"), k.layers.Dense(10, "softmax")])
        net.compile(k.optimizers.AdamW(1e-3), "sparse_categorical_crossentropy")
        begin = 0
    keep = k.callbacks.BackupAndRestore(out, delete_checkpoint=False) if backup else k.callbacks.ModelCheckpoint(out + "/epoch-{epoch:03d}.keras")
    net.fit(x, y, batch_size=16, epochs=steps // PER_EPOCH, initial_epoch=begin, shuffle=False, verbose=0, callbacks=[keep, Tell()])
    return sum_of(numpy.asarray(v) for v in net.trainable_variables)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("library", choices=("lightning", "trainer", "keras", "backup"))
    parser.add_argument("out")
    parser.add_argument("steps", type=int)
    parser.add_argument("--resume")
    o = parser.parse_args()
    train = {"lightning": lightning, "trainer": trainer, "keras": keras,
             "backup": lambda *a: keras(*a, backup=True)}[o.library]
    os.makedirs(o.out, exist_ok=True)
    made = train(o.out, o.steps, o.resume, False)
    print("end", made, flush=True)
    aside = tempfile.mkdtemp()
    print("uninterrupted", train(aside, o.steps, None, True), flush=True)
    shutil.rmtree(aside)


sys.exit(main())
