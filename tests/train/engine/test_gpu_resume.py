#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Trainings that go from the CPU to a GPU and back by their checkpoints. The GPU is a stand-in (fake_gpu.c) whose kernels do
nothing, so what it writes must be what it read, to the bit, after the way into the kernels' layout and out of it. At the end they
do what they do, for some steps: a training that was cut ends in the same bits, and the CPU's goes on there."""
import json
import os
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, os.path.join(os.environ["ROOT"], "tests"))
from tap import done, report  # noqa: E402

FARE = os.environ["FARE"]
FAKE = os.path.join(os.environ["BUILD"], "tests", "train", "engine", "fake_gpu.so")


def fare(workload, engine, steps, folder, *more, **env):
    p = subprocess.run([FARE, "run", workload, "--engine", engine, "--steps", str(steps), "--checkpoint", folder, "--no-ledger",
                        "--no-cloud", *more], capture_output=True, text=True, timeout=120, env={**os.environ, "FARE_CUDA": FAKE, **env})
    run = json.loads(p.stdout)["runs"][0] if p.returncode == 0 and "--json" in more else {}
    return p.returncode, run, p.stdout + p.stderr


def read(folder, workload, step):
    """A checkpoint's texts, and its tensors with their shapes and bytes."""
    path = Path(folder, f"{workload}-{step:012d}.safetensors")
    if not path.exists():
        return {}, {}
    data = path.read_bytes()
    (length,) = struct.unpack("<Q", data[:8])
    head = json.loads(data[8:8 + length])
    texts = head.pop("__metadata__")
    body = data[8 + length:]
    return texts, {name: (t["dtype"], t["shape"], body[slice(*t["data_offsets"])]) for name, t in head.items()}


def report_same(workload, given, written, good, text):
    other = [name for name in given if written.get(name) != given[name]]
    report(f"{workload}: what the GPU writes is what it read, parameters and states", good and given and not other
           and list(written) == list(given) and any(".state0" in name and any(given[name][2]) for name in given),
           f"{text} {other} {list(given)} {list(written)}")


with tempfile.TemporaryDirectory(prefix="fare-test-") as folder:
    code, first, out = fare("mlp", "cpu", 200, folder, "--json")
    report("a training begins on the CPU", code == 0 and first["engine"] == "cpu" and first["steps"] == 200, out)
    code, _, out = fare("mlp", "cuda", 300, folder)
    report("without --resume the GPU does not touch it", code == 2 and "--resume" in out, out)
    code, _, out = fare("mlp", "cuda", 300, folder, "--resume")
    report("the GPU goes on, and says what differs", code == 0 and "resumed from" in out and "step 200" in out
           and "engine was cpu, is cuda" in out and "precision was f32, is tf32" in out, out)
    (before, given), (after, written) = read(folder, "mlp", 200), read(folder, "mlp", 300)
    report("its checkpoint says whose it is and where it stands", [after.get(k) for k in ("engine", "precision", "iteration")] ==
           ["cuda", "tf32", "300"] and all(before[k] == after[k] for k in ("workload", "data_identity", "net", "recipe", "seed")),
           f"{before} {after}")
    report_same("mlp", given, written, code == 0, out)
    code, last, out = fare("mlp", "cpu", 450, folder, "--resume", "--json")
    report("the CPU goes on with that: steps add up", code == 0 and last["engine"] == "cpu" and last["steps"] == 150
           and read(folder, "mlp", 450)[0].get("iteration") == "450", out)
    report("and with the loss that it had", 0 < last["first_loss"] < 2 * first["last_loss"] < first["first_loss"],
           f"{first['first_loss']} {first['last_loss']} {last['first_loss']}")
    code, _, out = fare("mlp", "cpu", 460, folder, "--resume")
    report("nothing is said to differ where nothing does", code == 0 and "resumed from" in out and " was " not in out, out)

# Dense layers on images and on rows, convolutions, embeddings, LSTMs of both kinds, one state and two.
for workload in ("cnn", "imdb", "textgen"):
    with tempfile.TemporaryDirectory(prefix="fare-test-") as folder:
        codes = [fare(workload, "cpu", 3, folder)[0], fare(workload, "cuda", 5, folder, "--resume")[0]]
        given, written = read(folder, workload, 3)[1], read(folder, workload, 5)[1]
        codes.append(fare(workload, "cpu", 6, folder, "--resume")[0])
        report_same(workload, given, written, codes == [0, 0, 0], codes)

with tempfile.TemporaryDirectory(prefix="fare-test-") as folder:
    whole, cut, other = (os.path.join(folder, name) for name in ("whole", "cut", "other"))
    small = ("--batch", "16", "--json")
    codes, losses = [], {}
    for place, engine, steps, more in ((whole, "cuda", 11, ()), (cut, "cuda", 9, ()), (cut, "cuda", 11, ("--resume",)),
                                       (other, "cpu", 9, ()), (other, "cuda", 11, ("--resume",))):
        code, run, out = fare("mlp", engine, steps, place, *small, *more, FAKE_GPU_RUN="1")
        codes.append(code)
        losses[place, steps] = run.get("last_loss")
    end, again = read(whole, "mlp", 11), read(cut, "mlp", 11)
    report("cut and resumed on the GPU: the same bits as without a cut", codes == [0] * 5 and end[1] and again[1] == end[1]
           and end[1] != read(cut, "mlp", 9)[1], f"{codes} {out}")
    report("nine steps on the CPU and two on the GPU: the loss of eleven on the GPU, to rounding", codes == [0] * 5
           and abs(losses[other, 11] - losses[whole, 11]) < 0.02 * losses[whole, 11], f"{codes} {losses}")
done()
