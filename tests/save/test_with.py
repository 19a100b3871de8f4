#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""fare run WORKLOAD --with FRAMEWORK --save: trainings in PyTorch and Keras, killed with their machine and ended by a notice,
end with the parameters of an uninterrupted run, bit for bit on the CPU."""
import json
import os
import random
import signal
import struct
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE, ROOT = Path(__file__).resolve().parent, Path(os.environ["ROOT"])
sys.path.insert(0, str(HERE))
sys.path.insert(0, str(ROOT / "tests"))
from rehearsal import children, send  # noqa: E402
from tap import done, report, skip  # noqa: E402

FARE, PYTHON = os.environ["FARE"], "/usr/bin/python3"
SCRATCH = tempfile.TemporaryDirectory(prefix="fare-with-")
TOP = Path(SCRATCH.name)
SAMPLES, EPOCHS, BATCH = 1000, 12, 64  # 16 steps an epoch
STEPS = EPOCHS * 16
# In place of Python: the script as it is, slower, and it prints its steps and the sum of its parameters at the end.
HOOK = """
import hashlib, os, sys, time
sys.path[:0] = [os.path.dirname(sys.argv[1])]
import training, fare
KERAS = "keras" in sys.argv[1]
step, made = fare.step, [0]  # called as often as there are steps
def slow(*a, **k):
    step(*a, **k)
    made[0] += 1
    if PAUSE:
        print("step", (fare._get().step if fare.resume() else made[0]), flush=True)
        time.sleep(PAUSE)
PAUSE = float(os.environ["PAUSE"])
fare.step = slow
def watch(owner):
    old = owner.run_epochs
    def run(self):
        old(self)
        print("parameters", hashlib.sha256(b"".join(a.tobytes() for a in values(self.net))).hexdigest(), flush=True)
    owner.run_epochs = run
def values(net):
    if KERAS:
        import keras
        return [keras.ops.convert_to_numpy(v) for v in net.trainable_variables]
    return [p.detach().cpu().numpy() for p in net.parameters()]
if KERAS:
    prepare = training.backends.prepare
    def late(o):
        prepare(o)
        import fitting
        watch(fitting.Training)
    training.backends.prepare = late
else:
    watch(training.Training)
name = os.path.basename(sys.argv[1])[:-3]
sys.argv[:] = sys.argv[1:]
training.main(name)
"""


def digits():
    """As MNIST's files have them, from a generator."""
    data, draw = TOP / "data" / "mnist", random.Random(1)
    data.mkdir(parents=True)
    for part, count in (("train", SAMPLES), ("t10k", 100)):
        (data / f"{part}-images-idx3-ubyte").write_bytes(struct.pack(">4i", 2051, count, 28, 28) + draw.randbytes(784 * count))
        (data / f"{part}-labels-idx1-ubyte").write_bytes(struct.pack(">2i", 2049, count) + bytes(draw.randrange(10) for _ in range(count)))
    (TOP / "hook.py").write_text(HOOK)
    (TOP / "python").write_text(f'#!/bin/sh\nexec {PYTHON} {TOP}/hook.py "$@"\n')
    (TOP / "python").chmod(0o755)


class Start:
    def __init__(self, place, number, framework, save=True):
        self.home, self.steps, self.sum = place / f"m{number}", [], None
        self.home.mkdir()
        self.env = {**os.environ, "FARE_METADATA": "off", "PYTHONPATH": f"{ROOT}/build/python", "FARE_PYTHON": str(TOP / "python"),
                    "PAUSE": "0.02" if save else "0", "HOME": str(self.home), "XDG_DATA_HOME": str(self.home / "data"),
                    "TMPDIR": str(self.home), "JAX_PLATFORMS": "cpu", "OMP_NUM_THREADS": "1"}
        self.env.pop("FARE_LEDGER", None)
        options = ["--save", str(place / "store"), "--save-every", "500ms", "--lease", "3s", "--notice", f"file:{self.home}/soon"]
        self.p = subprocess.Popen([FARE, "run", "mlp", "--with", framework, "--full", "--epochs", str(EPOCHS), "--batch", str(BATCH),
                                   "--threads", "1", "--data", str(TOP / "data"), "--no-cloud", *(options if save else [])],
                                  cwd=self.home, env=self.env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                  stderr=open(self.home / "said", "w"), text=True)

    def read(self, step=STEPS + 1):
        for line in self.p.stdout:
            word, _, value = line.strip().partition(" ")
            if word == "step":
                self.steps.append(int(value))
                if int(value) >= step:
                    return
            elif word == "parameters":
                self.sum = value
        self.p.wait()

    def said(self):
        return f"{self.p.returncode} {self.steps[:1]} {self.steps[-1:]} {(self.home / 'said').read_text()[-2500:]}"


def play(framework):
    rows, place = [], TOP / framework.replace(":", "-")
    place.mkdir()
    plain = Start(place, 0, framework, save=False)
    plain.read()
    rows.append((f"{framework}: without --save", plain.p.returncode == 0 and plain.sum, plain.said()))
    one = Start(place, 1, framework)
    one.read(60 + random.randrange(20))
    send([one.p.pid] + children(one.p.pid), signal.SIGKILL)
    one.p.wait()
    two = Start(place, 2, framework)
    two.read(115 + random.randrange(20))
    (two.home / "soon").write_text("15")
    two.read()
    rows.append((f"{framework}: a machine is killed, another resumes", two.steps and 1 < two.steps[0] <= one.steps[-1] + 1, one.said() + two.said()))
    rows.append((f"{framework}: a notice ends it with 75", two.p.returncode == 75, two.said()))
    three = Start(place, 3, framework)
    three.read()
    rows.append((f"{framework}: the third finishes it, no step after the notice's checkpoint is lost", three.p.returncode == 0 and three.steps
                 and two.steps[0] < three.steps[0] and three.steps[-1] == STEPS, two.said() + three.said()))
    rows.append((f"{framework}: with the parameters of the uninterrupted run, bit for bit", plain.sum and three.sum == plain.sum,
                 f"{plain.sum} {three.sum}"))
    shown = subprocess.run([FARE, "runs", "last", "--json"], env=three.env, capture_output=True, text=True).stdout
    run = json.loads(shown) if shown else {}
    rows.append((f"{framework}: its record has the starts, and the whole training",
                 [a["ended"] for a in run.get("saving", {}).get("attempts", [])] == ["killed", "interrupted", "finished"]
                 and run.get("total_steps") == STEPS and run.get("ended") == "finished", shown[:3000]))
    return rows


def run(case):
    framework, packages = case
    found = subprocess.run([PYTHON, "-c", "import importlib.util as u, sys\nsys.exit(not all(u.find_spec(n) for n in sys.argv[1:]))",
                            *packages], env={**os.environ, "PYTHONPATH": f"{ROOT}/build/python"})
    if found.returncode != 0:
        return f"{PYTHON} has no {' or '.join(packages)} (scripts/packages.txt)"
    try:
        return play(framework)
    except Exception as fault:
        return [(f"{framework}: it runs", False, repr(fault))]


digits()
CASES = [("pytorch", ("torch",)), ("keras:jax", ("keras", "jax"))]
with ThreadPoolExecutor(2) as pool:
    for case, rows in zip(CASES, pool.map(run, CASES)):
        if isinstance(rows, str):
            skip(f"{case[0]}: it is interrupted, resumed and finished", rows)
        else:
            for row in rows:
                report(*row)
SCRATCH.cleanup()
done()
