# SPDX-License-Identifier: Apache-2.0
"""Reports the progress of a training to `fare run -- python ...`. One file without dependencies: copy it
beside your script, or add its folder to PYTHONPATH.

    import fare
    for epoch in range(1, 4):
        for x, y in fare.steps(loader, epoch=epoch):   # or call fare.step() in the loop
            ...
        with fare.phase("evaluate"):
            fare.report(test_accuracy=evaluate())

    Trainer(..., callbacks=[fare.trainer_callback()])      # Hugging Face
    model.fit(..., callbacks=[fare.keras_callback()])      # Keras
    Trainer(..., callbacks=[fare.lightning_callback()])    # Lightning

With `fare run --save` a training can ask when to write a checkpoint:

    if fare.save_due():
        torch.save(state, path)
        fare.saved(path)

Without fare (FARE_EVENTS is not set) the calls do nothing. No call raises or waits. At most twenty lines a
second are written; steps in between are added up. Only the first worker on a machine reports; its samples
are multiplied by the number of workers.
"""
import atexit
import json
import math
import os
import select
import stat
import time

__all__ = ["step", "steps", "phase", "report", "about", "resume", "resumed", "checkpoints", "save_due", "ending", "saved", "keras_callback", "trainer_callback", "lightning_callback"]

_INTERVAL_S = 0.05
_NOTICE_MOST = 1 << 16  # bytes; fare's own have a few hundred


def _number(*names):
    for name in names:
        try:
            return int(os.environ[name])
        except (KeyError, ValueError):
            pass
    return 0


class _Events:
    def __init__(self):
        self.fd, self.step, self.total, self.ready = -1, 0, None, None
        self.pending, self.sent_at, self.epoch, self.stage = {}, 0.0, None, None
        self.pid, self.ended = os.getpid(), 0.0
        self.world = _number("WORLD_SIZE", "OMPI_COMM_WORLD_SIZE", "SLURM_STEP_NUM_TASKS") or 1
        place = os.environ.get("FARE_EVENTS", "")
        first = _number("LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "SLURM_LOCALID", "RANK") == 0
        if not place or not first:
            return
        try:
            fd = int(place[3:]) if place.startswith("fd:") else \
                os.open(place, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY, 0o600)
            if not stat.S_ISREG(os.fstat(fd).st_mode):
                self.ready = select.poll()
                self.ready.register(fd, select.POLLOUT)
            self.fd = fd
        except Exception:
            pass

    def write(self, event):
        if self.fd < 0 or os.getpid() != self.pid:  # a forked data loader is not the training
            return
        try:
            # One write per line, so that lines of several processes do not mix. A pipe that nobody reads has no room for it.
            line = (json.dumps(_plain(event)) + "\n").encode()
            if not self.ready or (len(line) <= select.PIPE_BUF and self.ready.poll(0)):
                os.write(self.fd, line)
        except Exception:
            pass

    def flush(self):
        if self.pending:
            event, self.pending = self.pending, {}
            event["pid"] = self.pid
            event["at"] = round(self.ended, 6)
            if "samples" in event and self.world > 1:
                event["world"] = self.world
            self.sent_at = self.ended
            self.write(event)

    def begin(self, epoch):
        if epoch is not None and epoch != self.epoch:
            self.flush()
            self.epoch = epoch

    def add(self, n, samples, epoch, stage, figures):
        if self.fd < 0:
            return
        self.begin(epoch)
        if stage is not None and stage != self.stage:
            self.flush()
            self.stage = stage
        self.step += n
        self.ended = time.monotonic()
        p = self.pending
        p["step"] = self.step
        if samples is not None:
            p["samples"] = p.get("samples", 0) + samples
        if self.epoch is not None:
            p["epoch"] = self.epoch
        if self.stage is not None:
            p["stage"] = self.stage
        p.update(figures)
        if self.ended - self.sent_at >= _INTERVAL_S:
            self.flush()


def _plain(value):
    """Converts to JSON types, including tensors and arrays of one element; drops values that are not finite."""
    if isinstance(value, dict):
        plain = {k: _plain(v) for k, v in value.items()}
        return {k: v for k, v in plain.items() if v is not None}
    if isinstance(value, (list, tuple)):
        return [_plain(v) for v in value]
    if isinstance(value, (str, bool, int)) or value is None:
        return value
    value = float(value)
    return value if value - value == 0 else None


_events = None


def _get():
    global _events
    if _events is None:
        _events = _Events()
        atexit.register(_events.flush)
    return _events


def step(n=1, samples=None, loss=None, accuracy=None, epoch=None, stage=None):
    """`n` steps ended now and trained `samples` samples (of this worker). A tensor is read only when a line is
    written, since reading waits for the GPU. `epoch` and `stage` count from 1; a stage is a part of the training
    with its own step time."""
    try:
        figures = {k: v.detach() if hasattr(v, "detach") else v  # do not keep the tensor's graph
                   for k, v in (("loss", loss), ("accuracy", accuracy)) if v is not None}
        _get().add(n, samples, epoch, stage, figures)
    except Exception:
        pass


def steps(loader, epoch=None, samples=None):
    """Iterates over `loader`; a step ends when the next batch is requested."""
    try:
        _get().begin(epoch)  # reports within the first step belong to this epoch
    except Exception:
        pass
    for batch in loader:
        yield batch
        step(samples=samples, epoch=epoch)


class phase:
    """Starts a phase: setup, kernels (or compile), load, device, train, evaluate, checkpoint or idle. In a `with`
    statement, training continues at its end."""

    def __init__(self, name):
        self._tell(name)

    def _tell(self, name):
        try:
            events = _get()
            events.flush()
            events.write({"phase": name, "pid": events.pid, "at": round(time.monotonic(), 6)})
        except Exception:
            pass

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._tell("train")
        return False


def report(**figures):
    """Reports figures without a step: loss, accuracy, test_loss, test_accuracy, epoch."""
    try:
        events = _get()
        events.flush()
        if events.epoch is not None:
            figures.setdefault("epoch", events.epoch)
        events.write({**figures, "pid": events.pid})
    except Exception:
        pass


def about(**members):
    """Sets members of the run's record: batch, parameters, precision, epochs, steps_per_epoch, total_steps,
    data={"name": ..., "train_samples": ...}, libraries=[{"name": ..., "version": ...}]."""
    try:
        events = _get()
        events.write({"about": members, "pid": events.pid})
    except Exception:
        pass


def resume():
    """The checkpoint to resume from (`fare run --save`): a file or folder; None: from the beginning."""
    return os.environ.get("FARE_RESUME") or None


def resumed(step):
    """Steps are counted from here: so many were made in earlier starts."""
    try:
        _get().step = int(step)
    except Exception:
        pass


def checkpoints(default="checkpoints"):
    """The folder for checkpoints that fare watches."""
    return os.environ.get("FARE_CHECKPOINTS") or default


_asked, _looked, _last = 0, 0.0, {}


def _notice():
    global _looked, _last
    now = time.monotonic()
    if now - _looked >= 0.2 and os.environ.get("FARE_NOTICE"):  # once in a while: a file is read
        _looked = now
        try:
            _last = _read_notice(os.environ["FARE_NOTICE"])
        except Exception:
            _last = {}
    return _last


def _read_notice(path):
    """The file, if it is one: others may have no end, or nobody who writes them."""
    if not stat.S_ISREG(os.stat(path).st_mode):
        return {}
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    try:
        notice = json.loads(os.read(fd, _NOTICE_MOST).decode())
    finally:
        os.close(fd)
    return notice if isinstance(notice, dict) else {}


def save_due():
    """True once for each checkpoint that fare wants now: at the best interval, and when the machine is about
    to be taken away. Write one, and call saved()."""
    global _asked
    asked = _notice().get("save", 0)
    asked = asked if isinstance(asked, int) else 0
    due, _asked = asked > _asked, max(asked, _asked)
    return due


def ending():
    """True while the machine is about to be taken away: save and end."""
    return bool(_notice().get("end"))


def saved(path):
    """The checkpoint at `path`, a file or folder, is complete: fare saves it without looking at it first."""
    try:
        events = _get()
        events.flush()
        events.write({"saved": os.path.abspath(path), "pid": events.pid})
    except Exception:
        pass


def keras_callback(batch=None):
    """For model.fit(callbacks=[...]) of Keras 2 and 3. `batch`: samples per step."""
    try:
        from keras.callbacks import Callback
    except ImportError:
        from tensorflow.keras.callbacks import Callback

    class FareCallback(Callback):
        epoch, means, then = None, {}, "idle"  # `then`: the phase after an evaluation

        def on_train_begin(self, logs=None):
            told = {"epochs": (self.params or {}).get("epochs"), "steps_per_epoch": (self.params or {}).get("steps"),
                    "batch": batch}
            about(**{k: v for k, v in told.items() if v})
            self.then = "train"
            phase("train")

        def on_epoch_begin(self, epoch, logs=None):
            self.epoch, self.means = epoch + 1, {}

        def of_batch(self, index, logs, name):
            """Keras reports the mean over the epoch so far."""
            try:
                mean, before = float(logs[name]), self.means.get(name, 0.0)
                self.means[name] = mean
                return mean * (index + 1) - before * index
            except Exception:
                return None

        def on_train_batch_end(self, index, logs=None):
            step(samples=batch, loss=self.of_batch(index, logs, "loss"), accuracy=self.of_batch(index, logs, "accuracy"),
                 epoch=self.epoch)

        def on_test_begin(self, logs=None):
            phase("evaluate")

        def on_test_end(self, logs=None):
            logs = logs or {}
            report(test_loss=logs.get("loss"), test_accuracy=logs.get("accuracy"))
            phase(self.then)

        def on_train_end(self, logs=None):
            self.then = "idle"
            phase("idle")

    return FareCallback()


def trainer_callback():
    """For transformers.Trainer(callbacks=[...])."""
    from transformers import TrainerCallback

    class FareCallback(TrainerCallback):
        now, then = None, "idle"  # the phase reported last, and the one after an evaluation

        def tell(self, name):
            if name != self.now:
                self.now = name
                phase(name)

        # The Trainer logs, then evaluates, then saves; `control` announces which of them come next.
        def next(self, control):
            self.tell("evaluate" if control.should_evaluate else "checkpoint" if control.should_save else self.then)

        def on_train_begin(self, args, state, control, **_):
            batch = args.train_batch_size * args.gradient_accumulation_steps
            self.samples = batch
            about(total_steps=state.max_steps, batch=batch * max(1, args.world_size))
            self.then = "train"
            self.tell("train")

        def on_step_end(self, args, state, control, **_):
            step(samples=self.samples, epoch=max(1, math.ceil(state.epoch or 0)))
            if not control.should_log:
                self.next(control)

        def on_epoch_end(self, args, state, control, **_):
            if not control.should_log:
                self.next(control)

        def on_log(self, args, state, control, logs=None, **_):
            if logs and "loss" in logs:
                report(loss=logs["loss"])
                self.next(control)

        def on_prediction_step(self, args, state, control, **_):
            self.tell("evaluate")  # a separate trainer.evaluate() shows only with its first batch

        def on_evaluate(self, args, state, control, metrics=None, **_):
            metrics = metrics or {}
            report(test_loss=metrics.get("eval_loss"), test_accuracy=metrics.get("eval_accuracy"))
            self.tell("checkpoint" if control.should_save else self.then)

        def on_save(self, args, state, control, **_):
            self.tell(self.then)

        def on_train_end(self, args, state, control, **_):
            self.then = "idle"
            self.tell("idle")

    return FareCallback()


def lightning_callback():
    """For lightning.Trainer(callbacks=[...])."""
    try:
        from lightning.pytorch.callbacks import Callback
    except ImportError:
        from pytorch_lightning.callbacks import Callback

    def size(batch):
        """The number of samples in a batch: the length of its first tensor."""
        try:
            while not hasattr(batch, "shape"):
                batch = next(iter(batch.values() if hasattr(batch, "values") else batch))
            return int(batch.shape[0])
        except Exception:
            return None

    class FareCallback(Callback):
        def on_train_start(self, trainer, module):
            about(epochs=trainer.max_epochs if trainer.max_epochs and trainer.max_epochs > 0 else None,
                  steps_per_epoch=int(trainer.num_training_batches)
                  if trainer.num_training_batches != float("inf") else None)
            phase("train")

        def on_train_batch_end(self, trainer, module, outputs, batch, batch_idx):
            loss = outputs.get("loss") if isinstance(outputs, dict) else outputs
            step(samples=size(batch), loss=loss, epoch=trainer.current_epoch + 1)

        def on_validation_start(self, trainer, module):
            if not trainer.sanity_checking:  # ignore the two batches before the training
                phase("evaluate")

        def on_validation_end(self, trainer, module):
            metrics = trainer.callback_metrics
            if trainer.sanity_checking:
                return
            report(test_loss=metrics.get("val_loss"), test_accuracy=metrics.get("val_acc", metrics.get("val_accuracy")))
            phase("train" if trainer.state.fn == "fit" else "idle")

        def on_train_end(self, trainer, module):
            phase("idle")

    return FareCallback()
