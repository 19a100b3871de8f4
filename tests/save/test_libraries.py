#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Real trainings on the CPU with Lightning, Hugging Face's Trainer and Keras, which write their own checkpoints: interrupted
at random moments (the machine is killed; a notice), resumed by fare on other machines and finished, with the parameters of
an uninterrupted run, bit for bit. An argument is a seed, which replays the moments."""
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = Path(os.environ["ROOT"])
sys.path.insert(0, str(HERE))
sys.path.insert(0, str(ROOT / "tests"))
from rehearsal import children, send  # noqa: E402
from tap import done, report, skip  # noqa: E402

FARE, STEPS, EVERY_S = os.environ["FARE"], 240, 0.5
SLACK_S = 8  # quiet times, and what a loaded machine adds
PYTHON = os.environ.get("FARE_PYTHON", "/usr/bin/python3")
ENV = {**os.environ, "FARE_METADATA": "off", "PYTHONPATH": f"{ROOT}/build/python", "PYTHONDONTWRITEBYTECODE": "1"}
ENV.pop("FARE_LEDGER", None)
SEED = sys.argv[1] if len(sys.argv) > 1 else str(random.randrange(10000))
# What is trained, the packages it needs, and how it is interrupted.
CASES = [("lightning", ("torch", "lightning"), ("machine", "notice")), ("trainer", ("torch", "transformers", "accelerate"), ("notice", "machine")),
         ("keras", ("keras", "jax"), ("machine",)), ("backup", ("keras", "jax", "h5py"), ("notice", "machine"))]


class Start:
    """One start on a machine of its own."""

    def __init__(self, top, name, number):
        self.home, self.steps, self.first, self.sums = top / f"m{number}", {}, None, {}
        self.home.mkdir()
        self.p = subprocess.Popen(
            [FARE, "run", "--no-cloud", "--no-trace", "--save", str(top / "store"), "--save-every", f"{EVERY_S}s", "--lease", "3s",
             "--notice", f"file:{self.home}/soon", "--checkpoints", "out", "--", PYTHON, str(HERE / "train_library.py"), name, "out",
             str(STEPS), "--resume", "{resume}"], cwd=self.home, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=open(self.home / "said", "w"), text=True,
            env={**ENV, "HOME": str(self.home), "XDG_DATA_HOME": str(self.home / "data"), "TMPDIR": str(self.home)})

    def read(self, step):
        """Up to a step, or to the end."""
        for line in self.p.stdout:
            word, _, value = line.strip().partition(" ")
            if word == "from":
                self.first = int(value)
                self.steps[self.first] = time.monotonic()
            elif word == "step":
                self.steps[int(value)] = time.monotonic()
                if int(value) >= step:
                    return True
            elif word in ("end", "uninterrupted"):
                self.sums[word] = value
        self.p.wait()
        return False

    def interrupt(self, how):
        if how == "machine":
            send([self.p.pid] + children(self.p.pid), signal.SIGKILL)
        else:
            (self.home / "soon").write_text("10")
        self.at = time.monotonic()
        self.read(STEPS + 1)
        return self.p.wait()

    def said(self):
        return (self.home / "said").read_text()[-3000:]


def play(case):
    name, _, kinds = case
    rows, moments = [], random.Random(f"{SEED} {name}")
    with tempfile.TemporaryDirectory(prefix="fare-library-") as scratch:
        last, number = None, 0
        for number, how in enumerate(kinds):
            start = Start(Path(scratch), name, number)
            begin = 60 + 90 * number
            reached = start.read(begin + moments.randrange(40))
            code = start.interrupt(how)
            rows.append((f"{name}: {how}: it is interrupted", reached and code == (75 if how == "notice" else -signal.SIGKILL),
                         f"{code} {start.said()}"))
            rows.append(check_resumed(name, last, start))
            last = start
        end = Start(Path(scratch), name, number + 1)
        end.read(STEPS + 1)
        rows.append(check_resumed(name, last, end))
        rows.append((f"{name}: it finishes on another machine", end.p.returncode == 0, end.said()))
        rows.append((f"{name}: its parameters are those of an uninterrupted run, bit for bit",
                     len(end.sums) == 2 and end.sums["end"] == end.sums["uninterrupted"], f"{end.sums} {end.said()}"))
    return rows


def check_resumed(name, before, start):
    if not before:
        return f"{name}: it starts", start.first == 0, start.said()
    lost = before.at - before.steps.get(start.first, float("-inf"))
    return (f"{name}: another machine resumes it, and no more than the interval and a checkpoint is lost",
            bool(start.first) and lost <= EVERY_S + SLACK_S, f"from {start.first}, lost {lost} s\n{before.said()}\n{start.said()}")


def run(case):
    name, packages, _ = case
    found = subprocess.run([PYTHON, "-c", "import importlib.util as u, sys\nsys.exit(not all(u.find_spec(n) for n in sys.argv[1:]))",
                            *packages], env=ENV)
    if found.returncode != 0:
        return f"{PYTHON} has no {' or '.join(packages)} (scripts/packages.txt)"
    try:
        return play(case)
    except Exception as fault:
        return [(f"{name}: it runs", False, repr(fault))]


print(f"# seed {SEED}")
with ThreadPoolExecutor(4) as pool:
    for case, rows in zip(CASES, pool.map(run, CASES)):
        if isinstance(rows, str):
            skip(f"{case[0]}: it is interrupted, resumed and finished", rows)
        else:
            for row in rows:
                report(*row)
done()
