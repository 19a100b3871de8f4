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
import saving

STAGES = ((1000, 0.01), (500, 0.0001))  # inception: the last layer alone, then everything
SAMPLE_STEPS, SAMPLE_S = 5, 3  # of a stage that a sample leaves: at least, once its first step is made
EVALUATE_BATCH = 500


class Batches(keras.utils.PyDataset):
    """Batches of one part, in the order given, from one of them on. Each has random changes of its own, whatever was made
    before it."""

    def __init__(self, part, batch, seed=0, change=None):
        super().__init__()
        self.x, self.y = part
        self.batch, self.seed, self.change = batch, seed, change
        self.whole = -(-len(self.y) // batch)
        self.begin(0, np.arange(len(self.y)), 0)

    def begin(self, passes, order, first):
        self.passes, self.order, self.first = passes, order, first

    def __len__(self):
        return self.whole - self.first

    def __getitem__(self, i):
        at = self.first + i
        picked = self.order[at * self.batch:(at + 1) * self.batch]
        x = self.x[picked]
        if self.change:
            x = self.change(x, np.random.default_rng((self.seed, self.passes, at)))
        return x, self.y[picked]


class Steps(keras.callbacks.Callback):
    """Reports each step of a stage. Keras calls it when the step's loss is there, from another thread on TensorFlow
    and JAX, so that the next step need not wait."""
    async_safe = True

    def __init__(self, net, batches, leaves, **place):
        super().__init__()
        self.net, self.batches, self.leaves, self.place = net, batches, leaves, place
        self.sum = self.made = self.began = 0
        self.due = False  # a checkpoint, as soon as the step that is computed now has ended

    def on_epoch_begin(self, epoch, logs=None):
        self.sum = 0

    def on_train_batch_end(self, index, logs=None):
        total = logs["loss"] * (index + 1)  # Keras has the mean of the epoch so far
        batch = self.batches.batch
        left = len(self.batches.y) - (self.batches.first + index) * batch
        fare.step(samples=min(batch, left), loss=total - self.sum, **self.place)
        self.sum, self.made = total, self.made + 1
        self.began = self.began or time.monotonic()
        if self.leaves and self.made >= SAMPLE_STEPS and time.monotonic() - self.began >= SAMPLE_S:
            self.net.stop_training = True
        if fare.save_due():
            self.due = self.net.stop_training = True


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
        nets.LSTM_OPTIONS.update({"use_cudnn": False} if o.plain else {})
        net = self.workload.build(data)
        net.start(start.values())
        self.net, self.last = net.model(), net.made[-1]
        self.left = o.steps or float("inf")
        self.made = self.passes = self.at = 0  # steps; whole epochs, and steps of the one that is begun
        self.total = self.epochs * len(self.train) if self.epochs else sum(s for s, _ in STAGES)
        self.about()
        self.saved = np.load(fare.resume()) if fare.resume() else None
        if self.saved:
            self.made, self.passes, self.at = (int(n) for n in self.saved["place"])
            fare.resumed(self.made)

    def about(self):
        parameters = sum(int(np.prod(v.shape)) for v in self.net.trainable_variables)
        whole = {"epochs": self.epochs} if self.epochs else {"stages": [{"total_steps": s} for s, _ in STAGES]}
        fare.about(batch=self.batch, parameters=parameters, steps_per_epoch=len(self.train), total_steps=self.total, **whole)

    def state(self):
        """All variables that a step changes, those of random numbers too; not what metrics add up."""
        sums = {id(v) for v in self.net.metrics_variables}
        return [v for v in self.net.variables if id(v) not in sums] + self.net.optimizer.variables

    def save(self, path):
        np.savez(path, *(keras.ops.convert_to_numpy(v) for v in self.state()), place=(self.made, self.passes, self.at))

    def restore(self):
        """Once, into the net as it was compiled when it was saved."""
        if self.saved:
            self.net.optimizer.build(self.net.trainable_variables)
            for i, v in enumerate(self.state()):
                v.assign(self.saved[f"arr_{i}"])
        self.saved = None

    def compile(self, optimizer, leaves=False, **place):
        """On TensorFlow and JAX the first step compiles the net: it is start-up, unless it is the only one."""
        loss, metrics = nets.loss_and_metrics(self.name)
        self.net.compile(optimizer, loss=loss, metrics=metrics)
        self.restore()
        fare.phase("compile" if backends.BACKEND != "torch" and self.left > 1 else "train")
        return Steps(self.net, self.train, leaves, **place)

    def fit(self, steps, most=float("inf")):
        """An epoch or the rest of one, but at most so many steps, and only up to a checkpoint that is due."""
        before, most = steps.made, min(most, self.left)
        self.train.begin(self.passes, self.orders[self.passes % len(self.orders)], self.at)
        self.net.fit(self.train, shuffle=False, verbose=0, callbacks=[steps],
                     steps_per_epoch=int(most) if most < len(self.train) else None)
        made = steps.made - before
        self.left, self.made, self.at = self.left - made, self.made + made, self.at + made
        if self.at >= self.train.whole:
            self.passes, self.at = self.passes + 1, 0
        if steps.due and self.made < self.total:
            saving.write(self.name, self.made, ".npz", self.save)
        steps.due = False

    def evaluate(self):
        with fare.phase("evaluate"):
            accuracy = self.net.evaluate(self.test, verbose=0, return_dict=True)["accuracy"]
            fare.report(test_accuracy=accuracy)
        return accuracy

    def run_epochs(self):
        steps = self.compile(self.workload.optimizer())
        while self.passes < self.epochs:
            steps.place = {"epoch": self.passes + 1}
            self.fit(steps)
            if self.left <= 0:
                return
            if self.at == 0:
                print(f"epoch {self.passes}" + (f": {self.evaluate() * 100:.2f} % right" if self.test else ""), flush=True)

    def run_stages(self):
        """Inception: steps, not epochs, of two stages. Each begins with a new optimizer and an epoch."""
        everything, before = self.net.trainable_variables, 0
        for stage, (count, rate) in enumerate(STAGES, 1):
            made, before = self.made - before, before + count
            if made >= count:
                continue
            for v in everything:  # variables, not layers: batch norms go on averaging
                v.trainable = stage > 1 or any(v is one for one in self.last.weights)
            leaves = self.o.sample and stage < len(STAGES)
            steps = self.compile(nets.SlimRMSprop(rate), leaves, stage=stage)
            steps.made = max(made, 0)
            while steps.made < count and not (leaves and steps.made and self.net.stop_training):
                self.fit(steps, count - steps.made)
                if self.left <= 0:
                    return
            self.passes, self.at = self.passes + (self.at > 0), 0
        if self.test:
            self.evaluate()

    def run(self):
        self.run_epochs() if self.epochs else self.run_stages()
