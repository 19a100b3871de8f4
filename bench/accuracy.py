#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Do full trainings on the real data reach their targets? Three seeds each.

    FARE_DATA=DIR bench/accuracy.py [mlp cnn imdb textgen cifar tweets] [--seeds 1,2,3] [--python PYTHON]

DIR holds mnist, imdb, nietzsche, cifar10 and tweets. The means of mlp, cnn, imdb and textgen must reach
published figures. cifar and tweets, which may be incomplete, must be within 1.5 points of PyTorch, trained by
the same definition on the same samples (PYTHON must have PyTorch). Takes an hour or more on two cores, so it
is not part of make test.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
FARE = os.environ.get("FARE", str(HERE.parent / "build" / "fare"))
DATA = Path(os.environ.get("FARE_DATA", "")) / "data"
REACH = {"mlp": 0.980, "cnn": 0.989, "imdb": 0.825, "textgen": 1.44}

parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
parser.add_argument("names", nargs="*", default=[])
parser.add_argument("--seeds", default="1,2,3")
parser.add_argument("--python", default=os.environ.get("FARE_PYTORCH", "python3"))
args = parser.parse_args()
if not DATA.is_dir():
    sys.exit("skipped: FARE_DATA names no folder with data/ in it")


def last_epoch(name, seed, *more):
    command = [FARE, "run", name, "--full", "--data", str(DATA), "--seed", seed, "--json", "--no-ledger", "--no-cloud", *more]
    p = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "FARE_PYTHON": args.python})
    if p.returncode:
        sys.exit(f"{' '.join(command)}: {p.stderr}")
    return json.loads(p.stdout)["runs"][0]["epoch_list"][-1]


failed = False
for name in args.names or ["mlp", "cnn", "imdb", "textgen", "cifar", "tweets"]:
    ours, theirs = [], []
    for seed in args.seeds.split(","):
        last = last_epoch(name, seed)
        ours.append(last["train_loss"] if name == "textgen" else last["test_accuracy"])
        if name not in REACH:
            theirs.append(last_epoch(name, seed, "--with", "pytorch")["test_accuracy"])
    mean = statistics.mean(ours)
    if name in REACH:
        good = mean <= REACH[name] if name == "textgen" else mean >= REACH[name]
        text = f"asked {REACH[name]}"
    else:
        other = statistics.mean(theirs)
        good = mean >= other - 0.015
        text = f"PyTorch {other:.4f} ({', '.join(f'{v:.4f}' for v in theirs)})"
    failed |= not good
    print(f"{name:8} {mean:.4f} ({', '.join(f'{v:.4f}' for v in ours)})  {text}  {'yes' if good else 'NO'}", flush=True)
sys.exit(failed)
