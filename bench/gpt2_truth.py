#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""gpt2's losses beside PyTorch's on a text by bytes, from the same start and tokens.

    FARE_PYTHON=…/bin/python bench/gpt2_truth.py TEXT [--steps 200] [--engine cpu] [--precision f32] [--skip-bits]
    … --engine cuda --precision bf16 --device cuda --shape 12,12,768,1024,50257,8
First the loss of each of 200 steps of a small GPT (4 layers, 2 heads, width 128, context 64; or --shape): the largest
difference as a share. --stop ends them earlier, in the same schedule; --losses writes both to a file.
Then an epoch of the size 3m (context 128, batch 16), and the bits per byte that each needs for the held-out tenth.
"""
import argparse
import json
import math
import os
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
p.add_argument("text", type=Path)
p.add_argument("--steps", type=int, default=200)
p.add_argument("--engine", default="cpu")
p.add_argument("--precision", default="f32")
p.add_argument("--skip-bits", action="store_true")
p.add_argument("--device", default="cpu", help="PyTorch's")
p.add_argument("--shape", default="4,2,128,64,256,8", help="layers, heads, width, context, vocabulary, batch")
p.add_argument("--stop", type=int)
p.add_argument("--losses", type=Path)
o = p.parse_args()
PYTHON = os.environ.get("FARE_PYTHON", "/usr/bin/python3")
work = tempfile.TemporaryDirectory(prefix="fare-truth-")
here = Path(work.name)

SHAPE = [*o.shape.split(","), str(o.steps)]
raw = o.text.read_bytes()
(here / "tokens").write_bytes(struct.pack(f"<{len(raw)}H", *raw))


def lines(*command):
    ran = subprocess.run(list(map(str, command)), capture_output=True, text=True)
    if ran.returncode:
        sys.exit(ran.stderr)
    return [float(x) for x in ran.stdout.split()]


own = lines(ROOT / "build/tests/train/workload/gpt_losses", f"{o.engine}:{o.precision}", *SHAPE, here / "tokens", here / "start",
            *([o.stop] if o.stop else []))
theirs = lines(PYTHON, ROOT / "tests/train/workload/gpt_torch.py", *SHAPE, here / "tokens", here / "start", "--precision", o.precision,
               "--device", o.device, *(["--stop", o.stop] if o.stop else []))
apart = [abs(a / b - 1) for a, b in zip(own, theirs, strict=True)]
if o.losses:
    o.losses.write_text("".join(f"{i + 1} {a:.6f} {b:.6f}\n" for i, (a, b) in enumerate(zip(own, theirs))))
print(f"{len(own)} steps: loss {own[0]:.4f} to {own[-1]:.4f}, PyTorch {theirs[0]:.4f} to {theirs[-1]:.4f}; "
      f"at most {max(apart):.4%} apart, at step {apart.index(max(apart)) + 1}", flush=True)


def bits(*more):
    env = {**os.environ, "FARE_LEDGER": str(here / "ledger.db"), "FARE_PYTHON": PYTHON}
    ran = subprocess.run([ROOT / "build/fare", "run", "gpt2", "--size", "3m", "--context", "128", "--batch", "16", "--epochs", "1", "--full",
                          "--data", o.text, "--json", *more], capture_output=True, text=True, env=env)
    if ran.returncode:
        sys.exit(ran.stderr)
    run = json.loads(ran.stdout)["runs"][0]
    losses = [e["test_loss"] for e in run.get("epoch_list", []) if "test_loss" in e]
    print(f"{' '.join(more) or 'fare':18} {run['steps']} steps, held out {losses[-1]:.4f} nats = "
          f"{losses[-1] / math.log(2):.4f} bits per byte", flush=True)


if not o.skip_bits:
    bits("--engine", o.engine, "--precision", o.precision)
    bits("--with", "pytorch")
work.cleanup()
