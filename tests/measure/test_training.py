#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Trainings through the command line, on a tiny set in MNIST's format: the same to the bit, cut off and
resumed, stopped by hand, and with another number of classes."""
import json
import os
import random
import signal
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, os.path.join(os.environ["ROOT"], "tests"))
from tap import done, report  # noqa: E402

FARE = os.environ["FARE"]
random.seed(7)


def idx_set(folder, classes, train=1000, test=100):
    """Images of 28×28 whose class is a bright row, with noise: easy to learn."""
    folder.mkdir(parents=True)
    for part, n in (("train", train), ("t10k", test)):
        labels = bytes(i % classes for i in range(n))
        images = bytearray()
        for label in labels:
            image = bytearray(random.randrange(64) for _ in range(784))
            row = 2 + label * 24 // classes
            image[row * 28:row * 28 + 28] = b"\xf0" * 28
            images += image
        (folder / f"{part}-images-idx3-ubyte").write_bytes(struct.pack(">IIII", 2051, n, 28, 28) + images)
        (folder / f"{part}-labels-idx1-ubyte").write_bytes(struct.pack(">II", 2049, n) + labels)
    return folder


def command(*args):
    return [FARE, "run", "mlp", "--threads", "2", "--json", *map(str, args)]


def fare(*args):
    p = subprocess.run(command(*args), capture_output=True, text=True, timeout=300)
    return p.returncode, (json.loads(p.stdout)["runs"][0] if p.returncode == 0 else p.stderr)


def parameters(folder):
    """The newest checkpoint's bytes behind its header: every tensor."""
    path = sorted(folder.glob("*.safetensors"))[-1]
    raw = path.read_bytes()
    length = struct.unpack("<Q", raw[:8])[0]
    header = json.loads(raw[8:8 + length])
    header.pop("__metadata__")
    return path.name, header, raw[8 + length:]


def losses(run):
    return [e["train_loss"] for e in run["epoch_list"]]


with tempfile.TemporaryDirectory() as scratch:
    scratch = Path(scratch)
    data = idx_set(scratch / "ten", 10)
    full = ("--data", data, "--full", "--epochs", 3)

    code, one = fare(*full, "--checkpoint", scratch / "one")
    report("a small set trains", code == 0 and one["epoch_list"][-1]["test_accuracy"] > 0.9, one)
    code, two = fare(*full, "--checkpoint", scratch / "two")
    report("the same seed gives the same losses", code == 0 and losses(one) == losses(two), two)
    report("and the same parameters, to the bit", parameters(scratch / "one") == parameters(scratch / "two"))
    code, other = fare(*full, "--seed", 2)
    report("another seed gives others", code == 0 and losses(other) != losses(one), other)

    # Killed at random moments, again and again, until it gets through.
    cut, kills = scratch / "cut", 0
    for attempt in range(60):
        p = subprocess.Popen(command(*full, "--checkpoint", cut, "--checkpoint-every", 1, "--resume"),
                             stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        try:
            p.wait(0.05 + random.random() * 0.25 if attempt < 40 else 120)
            break
        except subprocess.TimeoutExpired:
            p.kill()
            p.wait()
            kills += 1
    report(f"a run that was killed {kills} times gets through", p.returncode == 0 and kills > 0,
           p.stderr.read().decode())
    report("and ends with exactly the parameters of one that was not",
           parameters(cut)[1:] == parameters(scratch / "one")[1:], parameters(cut)[0])
    leftovers = [f.name for f in cut.iterdir() if not f.name.endswith(".safetensors")]
    report("old checkpoints are removed", len(list(cut.glob("*.safetensors"))) <= 2, leftovers)

    code, text = fare("--data", data, "--full", "--epochs", 3, "--checkpoint", cut, "--resume", "--seed", 9)
    report("a checkpoint of another seed is refused with the reason", code == 1 and "seed" in text, text)

    code, text = fare(*full, "--checkpoint", cut)
    report("a new run does not mix with an old one's checkpoints", code == 2 and "--resume" in text, text)

    p = subprocess.Popen([FARE, "run", "mlp", "--data", str(data), "--full", "--epochs", "100000"],
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    time.sleep(1.5)
    p.send_signal(signal.SIGINT)
    out, err = p.communicate(timeout=60)
    report("Ctrl-C ends it cleanly, with the figures so far",
           p.returncode == 130 and "Interrupted" in out and "mlp" in out, out + err)

    p = subprocess.Popen([FARE, "run", "mlp", "--data", str(data), "--full", "--epochs", "100000", "--json"],
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    time.sleep(2.5)
    p.send_signal(signal.SIGINT)
    run = json.loads(p.communicate(timeout=60)[0])["runs"][0]
    report("and it does not say that it was trained to the end", run["ended"] == "interrupted" and run["stopped_by"] == "signal" and run["full"] is False
           and run["projection"]["wall_s"] > 60, run)

    p = subprocess.Popen([FARE, "run", "mlp", "--data", str(data), "--repeat", "3", "--epochs", "100000",
                          "--steps", "100000000", "--json", "--no-ledger"],
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    time.sleep(3)
    p.send_signal(signal.SIGINT)
    runs = json.loads(p.communicate(timeout=60)[0])["runs"]
    report("with --repeat it reaches the run in its own process, and none follows", p.returncode == 130 and len(runs) == 1
           and runs[0]["ended"] == "interrupted" and runs[0]["steps"] > 0, (p.returncode, runs))

    code, run = fare("--data", str(data), "--full")
    p = subprocess.run([FARE, "run", "mlp", "--data", str(data), "--full", "--gate", "--repeat", "2", "--json", "--no-ledger"],
                       capture_output=True, text=True)
    several = json.loads(p.stdout)
    group = several.get("groups", [{}])[0]
    accuracies = [r["test_accuracy"] for r in several["runs"]]
    report("nor by --gate, which is missed without a target and says so", p.returncode == 3 and "it has no target" in p.stderr,
           (p.returncode, p.stderr))
    report("full repetitions have seeds of their own, and their accuracies figures",
           [r["seed"] for r in several["runs"]] == [1, 2] and abs(group["accuracy"] - sum(accuracies) / 2) < 1e-12
           and group["low_accuracy"] == min(accuracies) and "reached" not in group, several)
    report("another set than the target's is not judged by it", code == 0 and run["ended"] == "finished" and run["full"]
           and "reached" not in run and "stopped_by" not in run, run)

    seven = idx_set(scratch / "seven", 7)
    code, run = fare("--data", seven, "--full", "--epochs", 3)
    report("a set with seven classes is a drop-in",
           code == 0 and run["data"]["classes"] == 7 and run["epoch_list"][-1]["test_accuracy"] > 0.9, run)

    code, text = fare("--data", scratch / "none")
    report("a folder that is not there is named", code == 1 and str(scratch / "none") in text, text)
    broken = idx_set(scratch / "broken", 10)
    path = broken / "train-images-idx3-ubyte"
    path.write_bytes(path.read_bytes()[:-100])
    code, text = fare("--data", broken)
    report("a file that was cut is named", code == 1 and "train-images-idx3-ubyte" in text, text)

    # From one net to another: the seven classes' body under a head of ten.
    fare("--data", seven, "--full", "--epochs", 1, "--checkpoint", scratch / "body")
    source = sorted((scratch / "body").glob("*.safetensors"))[-1]
    p = subprocess.run([FARE, "run", "mlp", "--data", str(data), "--from", str(source), "--steps", "5"],
                       capture_output=True, text=True)
    report("--from takes the body and says that the classifier is untrained",
           p.returncode == 0 and "'n.6.weight' is 7×512, not 10×512: the classifier starts untrained" in p.stdout
           and "4 tensors loaded" in p.stdout, p.stdout + p.stderr)
    p = subprocess.run([FARE, "run", "cnn", "--data", str(data), "--from", str(source), "--steps", "5"],
                       capture_output=True, text=True)
    report("a file of another net is refused with three examples", p.returncode == 1 and len(p.stderr.splitlines()) == 2
           and "0 of 6 tensors fit cnn: 'n.0.weight' is 512×784, not 32×1×3×3; 'n.0.bias' is 512, not 32; "
           "'n.3.bias' is of no layer: '" in p.stderr, p.stdout + p.stderr)
done()
