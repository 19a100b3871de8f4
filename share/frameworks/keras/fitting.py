# SPDX-License-Identifier: Apache-2.0
"""The training itself: Model.fit() with its defaults, an epoch at a time, so that a step is compiled where Keras
compiles it, and a callback that reports the steps."""
import time

import fare
import keras
import numpy as np

import backends
import data as sets
import nets

STAGES = ((1000, 0.01), (500, 0.0001))  # inception: the last layer alone, then everything
SAMPLE_STEPS, SAMPLE_S = 5, 3  # of a stage that a sample leaves: at least, once its first step is made
EVALUATE_BATCH = 500


class Batches(keras.utils.PyDataset):
    """Batches of one part, in the order given."""

    def __init__(self, part, batch, seed=None, change=None):
        super().__init__()
        self.x, self.y = part
        self.batch, self.order = batch, np.arange(len(self.y))
        self.generator, self.change = np.random.default_rng(seed), change

    def __len__(self):
        return -(-len(self.y) // self.batch)

    def __getitem__(self, i):
        picked = self.order[i * self.batch:(i + 1) * self.batch]
        x = self.x[picked]
        return self.change(x, self.generator) if self.change else x, self.y[picked]


class Steps(keras.callbacks.Callback):
    """Reports each step of a stage. Keras calls it when the step's loss is there, from another thread on TensorFlow
    and JAX, so that the next step need not wait."""
    async_safe = True

    def __init__(self, batches, leaves, **place):
        super().__init__()
        self.batches, self.leaves, self.place = batches, leaves, place
        self.sum = self.made = self.began = 0

    def on_epoch_begin(self, epoch, logs=None):
        self.sum = 0

    def on_train_batch_end(self, index, logs=None):
        total = logs["loss"] * (index + 1)  # Keras has the mean of the epoch so far
        batch = self.batches.batch
        fare.step(samples=min(batch, len(self.batches.y) - index * batch), loss=total - self.sum, **self.place)
        self.sum, self.made = total, self.made + 1
        self.began = self.began or time.monotonic()
        if self.leaves and self.made >= SAMPLE_STEPS and time.monotonic() - self.began >= SAMPLE_S:
            self.model.stop_training = True


class Training:
    def __init__(self, name, o):
        self.name, self.o, self.workload = name, o, nets.WORKLOADS[name]
        fare.phase("load")
        data = sets.load(name, o.data)
        self.orders, start = sets.load_start(o.start)
        self.epochs, self.batch = o.epochs or self.workload.epochs, o.batch or self.workload.batch
        change = {"cifar": sets.shift_flip, "inception": sets.flip}.get(name)
        self.train = Batches(data.train, self.batch, o.seed, change)
        self.test = Batches(data.test, 32 if name == "inception" else EVALUATE_BATCH) if data.test else None
        fare.phase("setup")
        net = self.workload.build(data)
        net.start(start.values())
        self.net, self.last = net.model(), net.made[-1]
        self.passes, self.left = 0, o.steps or float("inf")
        self.about()

    def about(self):
        parameters = sum(int(np.prod(v.shape)) for v in self.net.trainable_variables)
        whole = {"epochs": self.epochs, "total_steps": self.epochs * len(self.train)} if self.epochs else \
            {"total_steps": sum(s for s, _ in STAGES), "stages": [{"total_steps": s} for s, _ in STAGES]}
        fare.about(batch=self.batch, parameters=parameters, steps_per_epoch=len(self.train), **whole)

    def compile(self, optimizer, leaves=False, **place):
        """On TensorFlow and JAX the first step compiles the net: it is start-up, unless it is the only one."""
        loss, metrics = nets.loss_and_metrics(self.name)
        self.net.compile(optimizer, loss=loss, metrics=metrics)
        fare.phase("compile" if backends.BACKEND != "torch" and self.left > 1 else "train")
        return Steps(self.train, leaves, **place)

    def fit(self, steps, most=float("inf")):
        """An epoch, but at most so many steps."""
        before, most = steps.made, min(most, self.left)
        self.train.order = self.orders[self.passes % len(self.orders)]
        self.passes += 1
        self.net.fit(self.train, shuffle=False, verbose=0, callbacks=[steps],
                     steps_per_epoch=int(most) if most < len(self.train) else None)
        self.left -= steps.made - before

    def evaluate(self):
        with fare.phase("evaluate"):
            accuracy = self.net.evaluate(self.test, verbose=0, return_dict=True)["accuracy"]
            fare.report(test_accuracy=accuracy)
        return accuracy

    def run_epochs(self):
        steps = self.compile(self.workload.optimizer())
        for epoch in range(1, self.epochs + 1):
            steps.place = {"epoch": epoch}
            self.fit(steps)
            if self.left <= 0:
                return
            print(f"epoch {epoch}" + (f": {self.evaluate() * 100:.2f} % right" if self.test else ""), flush=True)

    def run_stages(self):
        """Inception: steps, not epochs, of two stages. Each begins with a new optimizer."""
        everything = self.net.trainable_variables
        for stage, (count, rate) in enumerate(STAGES, 1):
            for v in everything:  # variables, not layers: batch norms go on averaging
                v.trainable = stage > 1 or any(v is one for one in self.last.weights)
            leaves = self.o.sample and stage < len(STAGES)
            steps = self.compile(nets.SlimRMSprop(rate), leaves, stage=stage)
            while steps.made < count and not (steps.made and self.net.stop_training):
                self.fit(steps, count - steps.made)
                if self.left <= 0:
                    return
        if self.test:
            self.evaluate()

    def run(self):
        self.run_epochs() if self.epochs else self.run_stages()
