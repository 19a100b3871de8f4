#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""gpt2: its losses and bits per byte beside PyTorch's from the same start and tokens; killed and resumed to the same bits;
checkpoints that the transformers library opens, and its own files as a start; text from the trained net."""
import json
import math
import os
import random
import signal
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, os.environ["TESTS"])
import tap  # noqa: E402

FARE, BUILD, ROOT = os.environ["FARE"], Path(os.environ["BUILD"]), Path(os.environ["ROOT"])
work = tempfile.TemporaryDirectory(prefix="fare-gpt2-")
here = Path(work.name)
os.environ.update(FARE_LEDGER=str(here / "ledger.db"), HOME=str(here), OMP_WAIT_POLICY="passive", PYTHONDONTWRITEBYTECODE="1")
LIBRARIES = ROOT / "build/python"


def python(*arguments):
    """A Python with the libraries of the tests."""
    env = {**os.environ, "PYTHONPATH": str(LIBRARIES)}
    return subprocess.run(["/usr/bin/python3", *map(str, arguments)], capture_output=True, text=True, env=env)


def has(*modules):
    return python("-c", "import " + ", ".join(modules)).returncode == 0


def fare(*arguments):
    return subprocess.run([FARE, "run", "gpt2", "--size", "3m", "--context", "16", "--batch", "2", "--threads", "2",
                           *map(str, arguments)], capture_output=True, text=True)


def tensors(path):
    """{name: bytes} and the texts of a safetensors file."""
    raw = Path(path).read_bytes()
    size = struct.unpack("<Q", raw[:8])[0]
    header = json.loads(raw[8:8 + size])
    texts = header.pop("__metadata__", {})
    return {n: raw[8 + size + t["data_offsets"][0]:8 + size + t["data_offsets"][1]] for n, t in header.items()}, texts


# ---- the loss of every step ----

random.seed(3)
SHAPE = ["2", "4", "32", "24", "71", "6", "30"]  # layers, heads, width, context, vocabulary, batch, steps
tokens = here / "tokens.bin"  # each token follows from the one before, most of the time
text = [0]
for _ in range(25 * 18):
    text.append((text[-1] * 7 + 3) % 71 if random.random() < 0.8 else random.randrange(71))
tokens.write_bytes(struct.pack(f"<{len(text) - 1}H", *text[1:]))


def losses(engine):
    ran = subprocess.run([BUILD / "tests/train/workload/gpt_losses", engine, *SHAPE, tokens, here / "start.safetensors"],
                         capture_output=True, text=True)
    return [float(x) for x in ran.stdout.split()] if ran.returncode == 0 else ran.stderr


def compare(name, got, expected, bound):
    good = isinstance(got, list) and len(got) == 30
    worst = max((abs(a / b - 1) for a, b in zip(got, expected)), default=1) if good else 1
    tap.report(name, good and worst < bound, f"{worst:.2%} apart\n{got}\n{expected}")


own = losses("cpu")
if has("torch"):
    ran = python(ROOT / "tests/train/workload/gpt_torch.py", *SHAPE, tokens, here / "start.safetensors")
    if ran.returncode:
        tap.report("PyTorch trains", False, ran.stderr)
    theirs = [float(x) for x in ran.stdout.split()]
    compare("the cpu engine's losses are PyTorch's, within 0.1 % at every step", own, theirs, 1e-3)
    compare("and the reference engine's", losses("ref"), theirs, 1e-3)
    tap.report("it learns", theirs and own[-1] < own[0] - 0.3, own)
else:
    tap.skip("the losses of PyTorch", "/usr/bin/python3 has no torch")

# ---- bits per byte ----


def bits(*more):
    """What a text's held-out tenth takes after an epoch of it, by the evaluation of `fare run`."""
    ran = fare("--data", here / "prose.txt", "--epochs", 1, "--full", "--json", "--no-cloud", *more)
    epochs = json.loads(ran.stdout)["runs"][0].get("epoch_list", []) if ran.returncode == 0 else []
    return next((e["test_loss"] / math.log(2) for e in epochs if "test_loss" in e), None), ran.stdout + ran.stderr


(here / "prose.txt").write_bytes((ROOT / "docs/gpt2.md").read_bytes()[:300])
if has("torch"):
    os.environ["FARE_PYTHON"] = "/usr/bin/python3"
    (mine, said), (theirs, they_said) = bits("--engine", "cpu"), bits("--with", "pytorch")
    tap.report("its bits per byte are PyTorch's, within 0.1 %", mine and theirs and abs(mine / theirs - 1) < 1e-3 and 8 < mine < 15.6,
               f"{mine} {theirs}\n{said}\n{they_said}")
else:
    tap.skip("the bits per byte of PyTorch", "/usr/bin/python3 has no torch")

# ---- killed and resumed ----

whole, parts = here / "whole", here / "parts"
ran = fare("--steps", 6, "--checkpoint", whole)
tap.report("a run that is not interrupted", ran.returncode == 0, ran.stderr)
child = subprocess.Popen([FARE, "run", "gpt2", "--size", "3m", "--context", "16", "--batch", "2", "--threads", "2", "--steps", "6",
                          "--checkpoint", parts, "--checkpoint-every", "1"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
deadline = time.monotonic() + 60
while time.monotonic() < deadline and not (parts.is_dir() and any(parts.glob("gpt2-*2.safetensors"))):
    time.sleep(0.005)
child.send_signal(signal.SIGKILL)
child.wait()
ran = fare("--steps", 6, "--checkpoint", parts, "--resume")
tap.report("it resumes", ran.returncode == 0 and "resumed from" in ran.stdout + ran.stderr, ran.stdout + ran.stderr)
ends = [tensors(folder / "gpt2-000000000006.safetensors") for folder in (whole, parts)]
same = ends[0][0].keys() == ends[1][0].keys() and all(ends[1][0][n] == b for n, b in ends[0][0].items())
tap.report("and ends with the same bits", same and len(ends[0][0]) == 3 * 28, sorted(ends[0][0]))

# ---- transformers ----

OPEN = """
import sys, torch, transformers
transformers.logging.set_verbosity_error()
net = transformers.GPT2LMHeadModel.from_pretrained(sys.argv[1]).eval()
print(sum(p.numel() for p in net.parameters()))
tokens = torch.tensor([[int(t) for t in sys.argv[3].split()]])
print(*net(tokens).logits[0, -1].softmax(0).topk(3).indices.tolist())
net.save_pretrained(sys.argv[2] + "/with")
net.transformer.save_pretrained(sys.argv[2] + "/without")
"""
if has("torch", "transformers", "safetensors"):
    (here / "open.py").write_text(OPEN)
    ran = python(here / "open.py", whole, here, "11 262 318 257")
    said = ran.stdout.split()
    tap.report("transformers opens its checkpoint", ran.returncode == 0 and said[0] == "3382080", ran.stderr)
    for form in ("with", "without"):
        ran = fare("--steps", 1, "--from", here / form / "model.safetensors", "--checkpoint", here / f"from-{form}")
        tap.report(f"fare starts from a file of transformers, {form} the first part of its names",
                   "28 tensors loaded" in ran.stdout + ran.stderr and "not used" not in ran.stdout + ran.stderr,
                   ran.stdout + ran.stderr)
    a, b = (tensors(here / f"from-{form}/gpt2-000000000001.safetensors")[0] for form in ("with", "without"))
    tap.report("both are the same start", a == b)
else:
    tap.skip("transformers opens its checkpoint", "/usr/bin/python3 has no torch, transformers or safetensors")

# ---- text ----

(here / "text").mkdir()
(here / "text/a.txt").write_text("to be or not to be, that is the question. " * 40)
ran = fare("--steps", 2, "--data", here / "text", "--generate", 8)
tap.report("it prints text", ran.returncode == 0 and any(w in ran.stdout for w in ("question", "not to", "that is")), ran.stdout + ran.stderr)
ran = fare("--steps", 1, "--context", "2000")
tap.report("a longer context is refused", ran.returncode == 2 and "at most 1024 tokens, not 2000" in ran.stderr, ran.stderr)
work.cleanup()
tap.done()
