#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A real PyTorch training with folders of checkpoints, killed twice (the machine, then a notice): its parameters are those
of an uninterrupted run."""
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
sys.path.insert(0, os.path.join(os.environ["ROOT"], "tests"))
from rehearsal import children, send  # noqa: E402
from tap import done, report, skip  # noqa: E402

FARE, PYTHON, STEPS = os.environ["FARE"], "/usr/bin/python3", 400
if subprocess.run([PYTHON, "-c", "import torch"], capture_output=True).returncode != 0:
    skip("a PyTorch training is resumed", "PyTorch is not installed (python3-torch)")
    done()
scratch = tempfile.TemporaryDirectory(prefix="fare-torch-")
top = Path(scratch.name)
TRAIN = [PYTHON, str(HERE / "train_torch.py"), "--output_dir", "out", "--steps", str(STEPS)]


def result(text):
    return [line.split()[1] for line in text.splitlines() if line.startswith("parameters")]


def start(machine):
    home = top / machine
    home.mkdir()
    env = {**os.environ, "HOME": str(home), "XDG_DATA_HOME": str(home / "data"), "TMPDIR": str(home), "FARE_METADATA": "off"}
    env.pop("FARE_LEDGER", None)
    p = subprocess.Popen([FARE, "run", "--no-cloud", "--no-trace", "--save", str(top / "store"), "--save-every", "500ms", "--lease", "3s",
                          "--notice", f"file:{home}/soon", "--", *TRAIN, "--resume", "{resume}"], cwd=home, env=env,
                         stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=open(home / "said", "w"), text=True)
    p.home, p.env, p.text = home, env, ""
    return p


def read_to(p, step):
    """Reads the output up to a step, or to the end."""
    for line in p.stdout:
        p.text += line
        if line.startswith("step ") and int(line.split()[1].split("/")[0]) >= step:
            return
    p.wait()


def first(p):
    return int(p.text.split("from step ")[1].split()[0])


reference = top / "reference"
reference.mkdir()
plain = subprocess.run(TRAIN, cwd=reference, capture_output=True, text=True)
report("the training runs without fare", len(result(plain.stdout)) == 1, plain.stderr)

one = start("one")
read_to(one, 160)
time.sleep(1)
everything = [one.pid] + children(one.pid)
send(everything, signal.SIGKILL)
one.wait()
two = start("two")
read_to(two, 290)
report("after the machine was killed, another resumes", 25 <= first(two) < 290, (two.home / "said").read_text())
(two.home / "soon").write_text("8")
read_to(two, STEPS + 1)
report("a notice interrupts it", two.wait() == 75, (two.home / "said").read_text())
three = start("three")
read_to(three, STEPS + 1)
report("the third finishes it", three.wait() == 0 and first(three) > first(two), (three.home / "said").read_text())
report("its parameters are those of the uninterrupted run, bit for bit", result(three.text) == result(plain.stdout),
       f"{result(three.text)} {result(plain.stdout)}")
shown = subprocess.run([FARE, "runs", "last", "--json"], env=three.env, capture_output=True, text=True).stdout
starts = json.loads(shown)["saving"]["attempts"]
report("the record has three starts", [a["ended"] for a in starts] == ["killed", "interrupted", "finished"], starts)
scratch.cleanup()
done()
