#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""--gate end to end: a full training of mlp on MNIST that misses its 98.0 % exits with 3, and so does one without a target. fare's own resumes for the last
epoch from a net of zeros, which can only learn how frequent each digit is (11.35 % of the test part are ones); with
--with, a stand-in for Python reports an accuracy."""
import json
import os
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, os.path.join(os.environ["ROOT"], "tests"))
from tap import done, report, skip  # noqa: E402

FARE = os.environ["FARE"]
REAL = Path(os.environ.get("FARE_DATA", "/nonexistent")) / "data"
STEPS = 469  # of an epoch: 60,000 samples in batches of 128


def fare(*args, **env):
    p = subprocess.run([FARE, "run", "mlp", "--data", str(REAL), "--no-ledger", "--json", *map(str, args)],
                       capture_output=True, text=True, timeout=500, env={**os.environ, **env})
    runs = json.loads(p.stdout)["runs"] if p.stdout else [{}]
    return p.returncode, runs[0], p.stderr


def to_zero(folder):
    """Turns the only checkpoint into one of zeros, at the start of the last of 20 epochs."""
    path = next(folder.glob("*.safetensors"))
    raw = path.read_bytes()
    length = struct.unpack("<Q", raw[:8])[0]
    header = json.loads(raw[8:8 + length])
    header["__metadata__"] |= {"epoch": "19", "step": "0", "iteration": str(19 * STEPS), "loss_sum": "0x0p+0",
                               "correct": "0", "count": "0"}
    words = json.dumps(header).encode()
    words += b" " * (-len(words) % 8)
    path.unlink()
    (folder / f"mlp-{19 * STEPS:012}.safetensors").write_bytes(
        struct.pack("<Q", len(words)) + words + bytes(len(raw) - 8 - length))


def own(folder):
    code, run, err = fare("--steps", 3, "--checkpoint", folder)
    to_zero(folder)
    code, run, err = fare("--full", "--checkpoint", folder, "--resume")
    report("without --gate a missed target is only recorded", code == 0 and run["full"] and run["reached"] is False
           and abs(run["test_accuracy"] - 0.1135) < 0.03, (code, run, err))
    for path in folder.iterdir():
        path.unlink()
    fare("--steps", 3, "--checkpoint", folder)
    to_zero(folder)
    code, run, err = fare("--full", "--gate", "--checkpoint", folder, "--resume")
    report("with it the exit code is 3", code == 3 and run["reached"] is False, (code, run, err))


def stand_in(folder, accuracy, epochs=20):
    fake = folder / "python"
    fake.write_text(f"""#!{sys.executable} -S
import json, os
def tell(**event):
    with open(os.environ["FARE_EVENTS"], "a") as f:
        f.write(json.dumps(event) + "\\n")
tell(about={{"total_steps": {20 * STEPS}, "epochs": 20, "steps_per_epoch": {STEPS}, "batch": 128}})
tell(phase="train")
for epoch in range(1, {epochs} + 1):
    for step in range(1, {STEPS} + 1):
        tell(step=(epoch - 1) * {STEPS} + step, epoch=epoch, samples=128, loss=0.1)
    tell(phase="evaluate")
    tell(test_accuracy={accuracy}, epoch=epoch)
    tell(phase="train")
""")
    fake.chmod(0o755)
    return str(fake)


def others(folder):
    for framework in ("pytorch", "keras:jax"):
        for accuracy, code in ((0.9799, 3), (0.98, 0)):
            got, run, err = fare("--full", "--gate", "--with", framework, FARE_PYTHON=stand_in(folder, accuracy))
            report(f"{framework} with {accuracy:.2%}: exit code {code}", got == code and run.get("reached") is (code == 0)
                   and run["test_accuracy"] == accuracy and run["steps"] == 20 * STEPS, (got, run, err))
    code, run, err = fare("--full", "--gate", "--epochs", 3, "--with", "pytorch", FARE_PYTHON=stand_in(folder, 0.5, 3))
    report("with other epochs it has no target there either, which is no pass", code == 3 and "reached" not in run and "no target" in err,
           (code, run, err))
    code, run, err = fare("--full", "--gate", "--with", "pytorch", FARE_PYTHON=stand_in(folder, 0.99, 3))
    report("a script that ends early reaches nothing", code == 3 and "reached" not in run and "no target" in err,
           (code, run, err))


if not (REAL / "mnist").is_dir():
    skip("a missed target", "FARE_DATA names no folder with data/mnist")
else:
    with tempfile.TemporaryDirectory() as scratch:
        (Path(scratch) / "kept").mkdir()
        own(Path(scratch) / "kept")
        others(Path(scratch))
done()
