#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Workloads in other frameworks (--with): how their scripts are started, with a stand-in for Python; and the
real ones, where there is a Python with PyTorch (Debian's python3-torch). The numbers of parameters are
those of the published definitions."""
import json
import os
import shutil
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
SUMS = Path(os.environ["BUILD"]) / "tests/measure/test_handover"
PYTHON = "/usr/bin/python3"
ROOT = Path(os.environ["ROOT"])
PARAMETERS = {"mlp": 669_706, "cnn": 1_199_882, "cifar": 1_250_858, "imdb": 2_658_945, "textgen": 102_585,
              "tweets": 274_562 * 128 + 98_945}  # on sets that are made
SETS = {"mlp": "mnist", "imdb": "imdb", "textgen": "nietzsche", "tweets": "tweets"}


def fare(*args, **env):
    p = subprocess.run([FARE, "run", "--json", *args], capture_output=True, text=True, timeout=500,
                       env={**os.environ, **env})
    runs = json.loads(p.stdout)["runs"] if p.stdout else []
    return p.returncode, runs, p.stderr


def digits(folder):
    """Three digits to train on, one held out, as MNIST's files have them."""
    data = folder / "mnist"
    data.mkdir(parents=True)
    for part, count in (("train", 3), ("t10k", 1)):
        (data / f"{part}-images-idx3-ubyte").write_bytes(struct.pack(">4i", 2051, count, 28, 28) + bytes(range(28)) * 28 * count)
        (data / f"{part}-labels-idx1-ubyte").write_bytes(struct.pack(">2i", 2049, count) + bytes((9, 1, 2)[:count]))
    return data


def stand_in(folder):
    fake = folder / "python"
    fake.write_text('#!/bin/sh\nfor a in "$@"; do echo "[$a]"; done\nfor i in 1 2 3 4 5; do\n'
                    'echo "{\\"step\\": $i, \\"samples\\": 128}" >>"$FARE_EVENTS"; sleep 0.02; done\n'
                    'echo "{\\"about\\": {\\"batch\\": 128, \\"data\\": {\\"name\\": \\"x\\", \\"made\\": true}}}" >>"$FARE_EVENTS"\n')
    fake.chmod(0o755)
    data = digits(folder / "data")
    code, runs, err = fare("mlp", "l1", "--with", "pytorch", "--data", str(folder / "data"), "--seed", "7", "--threads", "2",
                           "--steps", "5", "--precision", "bf16", "--n", "64", FARE_PYTHON=str(fake))
    words = [line[1:-1] for line in err.splitlines() if line.startswith("[")]
    cut = next((i for i, w in enumerate(words) if w.endswith("/l1.py")), 0)
    report("a script gets the workload's options", code == 0 and words[0].endswith("share/frameworks/pytorch/mlp.py")
           and words[1] == "--data"
           and words[2].endswith("/data.safetensors") and words[3] == "--start"
           and words[4] == words[2].replace("data.", "start.") and words[5:cut] == ["--precision", "bf16", "--seed", "7", "--threads", "2", "--steps", "5"],
           err)
    report("l1's are others", words[cut + 1:] == ["--precision", "bf16", "--seed", "7", "--threads", "2", "--n", "64",
                                                  "--m", "8192", "--dim", "512"], words)
    run = runs[0]
    report("its run is the workload's, in the framework", run["framework"] == "pytorch" and run["workload"] == "mlp"
           and run["name"] == "mlp" and run["steps"] == 5 and run["batch"] == 128, run)
    report("what its data is fare knows, not the script", run["data"].pop("identity", None)
           and run["data"] == {"name": run["data"]["name"], "source": str(data), "made": False, "train_samples": 3, "test_samples": 1,
                               "classes": 10} and run["data"]["name"] != "x", run["data"])
    own = fare("mlp", "--data", str(folder / "data"), "--steps", "5")[1][0]
    report("so is what net and recipe it trains: the same as fare's own", run["net"].startswith("sha256:")
           and run["net"] == own["net"] and run["recipe"] == own["recipe"], (run.get("net"), run.get("recipe"), own))
    err = fare("mlp", "--with", "pytorch", "--data", str(folder / "data"), "--steps", "5", FARE_PYTHON=str(fake))[2]
    words = [line[1:-1] for line in err.splitlines() if line.startswith("[")]
    report("it gets as many threads as fare's own engine has", words[words.index("--threads") + 1] == str(own["threads"]), words)
    other = fare("mlp", "--with", "pytorch", "--data", str(folder / "data"), "--steps", "5", "--batch", "2",
                 FARE_PYTHON=str(fake))[1][0]
    report("which another batch changes", other["net"] == run["net"] and other["recipe"] != run["recipe"], other)
    report("a part of the training is a sample", run["ended"] == "sampled" and run["full"] is False, run)
    code, runs, err = fare("mlp", "--with", "pytorch", "--data", str(folder), FARE_PYTHON=str(fake))
    own = fare("mlp", "--data", str(folder))
    report("without the files it is the error that fare's own training gives", code == own[0] == 1 and err == own[2]
           and "train-images" in err, (err, own[2]))
    code, runs, err = fare("mlp", "--with", "pytorch", FARE_PYTHON="false")
    report("one that fails is an error that names the Python", code == 1 and "'false'" in err and "exit code 1" in err, err)
    code, runs, err = fare("mlp", "--with", "pytorch", "--checkpoint", "x", FARE_PYTHON="false")
    report("checkpoints are fare's own", code == 2 and "checkpoints" in err, err)
    code, runs, err = fare("mlp", "--with", "../../tests", FARE_PYTHON="false")
    report("a framework is a name, not a path", code == 2 and "no framework" in err, err)
    code, runs, err = fare("textgen", "--with", "pytorch:plain", "--steps", "5", FARE_PYTHON=str(fake))
    report("LSTMs cell by cell are a framework of their own name", code == 0 and "[--plain]" in err and runs[0]["framework"] == "pytorch:plain"
           and "/pytorch/textgen.py]" in err, err)
    code, runs, err = fare("textgen", "--with", "keras:plain", "--steps", "5", FARE_PYTHON=str(fake), KERAS_BACKEND="jax")
    report("in Keras too, on its backend", code == 0 and "[--plain]" in err and runs[0]["framework"] == "keras:jax:plain", err)
    code, runs, err = fare("mlp", "--with", "pytorch:plain", FARE_PYTHON=str(fake))
    report("a workload without an LSTM has none", code == 2 and "'mlp' has no LSTM" in err, err)
    missing = [w for w in ("l1", "mlp", "cnn", "cifar", "imdb", "textgen", "tweets", "inception")
               if not (ROOT / "share/frameworks/pytorch" / f"{w}.py").exists()]
    report("PyTorch has all eight", not missing, missing)


def handed_over(folder):
    """A stand-in that looks at what it is given, and what is left when it has ended."""
    fake, seen = folder / "looks", folder / "seen"
    fake.write_text(f'#!/bin/sh\ncp "$3" "{seen}" && echo "$2 $3" >"{seen}.words"\n')
    fake.chmod(0o755)
    scratch = folder / "tmp"
    scratch.mkdir()
    code, runs, err = fare("textgen", "--with", "pytorch", "--steps", "1", FARE_PYTHON=str(fake), TMPDIR=str(scratch))
    words = (folder / "seen.words").read_text().split()
    report("without data a script gets the set that is made", code == 0 and words[0] == "--data"
           and words[1].startswith(str(scratch)) and seen.stat().st_size > 2_400_000, err)
    report("and the file is gone afterwards", list(scratch.iterdir()) == [], list(scratch.iterdir()))
    phases = runs[0]["phases"]
    report("making it is part of the time", phases["load_ns"] > 0
           and sum(ns for k, ns in phases.items() if k != "wall_ns") == phases["wall_ns"], phases)

    ledger = f"--ledger={folder}/failed.db"
    code, runs, err = fare("textgen", "--with", "pytorch", ledger, FARE_PYTHON=str(fake), TMPDIR=str(folder / "none"))
    report("no room for it is an error that says where", code == 1 and "cannot write the samples for the framework" in err
           and str(folder / "none") in err and "TMPDIR" in err, err)
    report("and the run failed for that", runs[0]["ended"] == "failed" and "cannot write the samples" in runs[0]["problem"]
           and runs[0]["framework"] == "pytorch", runs)
    limited = subprocess.run(["bash", "-c", 'trap "" XFSZ; ulimit -f 1000; exec "$0" "$@"', FARE, "run", "textgen",
                              "--with", "pytorch", "--no-ledger"], capture_output=True, text=True,
                             env={**os.environ, "FARE_PYTHON": str(fake), "TMPDIR": str(scratch)})
    report("a disk that gets full is one too, and leaves nothing", limited.returncode == 1
           and "file too large" in limited.stderr and list(scratch.iterdir()) == [], limited.stderr)
    small_disk(folder, fake)
    stopped(fake, scratch)


def small_disk(folder, fake):
    place = folder / "small"
    place.mkdir()
    alone = ["unshare", "-rm", "sh", "-c", 'mount -t tmpfs -o size=1m none "$0" && exec "$@"', place]
    name = "a disk that is too small is one before anything is written"
    if subprocess.run([*alone, "true"], capture_output=True).returncode:
        report(name, True, skip="no file systems can be mounted here")
        return
    p = subprocess.run([*alone, FARE, "run", "textgen", "--with", "pytorch", "--no-ledger"], capture_output=True, text=True,
                       env={**os.environ, "FARE_PYTHON": str(fake), "TMPDIR": str(place)})
    # 200,285 windows of 40 characters, three apart, and as many labels, of four bytes each.
    report(name, p.returncode == 1 and f"they need {4 * (200_284 * 3 + 40 + 200_285)} bytes in '{place}/" in p.stderr
           and "', which has " in p.stderr and "TMPDIR" in p.stderr, p.stderr)


def stopped(fake, scratch):
    """Ctrl-C while the set is made: nothing is started any more."""
    (scratch.parent / "seen").unlink()
    p = subprocess.Popen([FARE, "run", "cifar", "--with", "pytorch", "--no-ledger", "--json"], stdout=subprocess.PIPE,
                         stderr=subprocess.PIPE, text=True,
                         env={**os.environ, "FARE_PYTHON": str(fake), "TMPDIR": str(scratch)})
    while p.poll() is None and not list(scratch.glob("fare-*")):
        time.sleep(0.01)
    p.send_signal(signal.SIGINT)
    out, err = p.communicate(timeout=100)
    run = json.loads(out)["runs"][0]
    report("stopped before it began, it says so and leaves nothing", run["ended"] == "interrupted" and p.returncode == 130
           and not (scratch.parent / "seen").exists() and list(scratch.iterdir()) == [], (run, err))


def summing(folder):
    """A Python that first says the sums of what data.py makes of the file, sample by sample, then trains."""
    fake, check = folder / "sums", folder / "check.py"
    check.write_text("""
import hashlib, os, runpy, sys
from pathlib import Path
sys.path.insert(0, str(Path(sys.argv[1]).parent))
import data, torch
assert sys.argv[2] == "--data"
set = data.load("x", sys.argv[3])
for part in (set.train, set.test):
    for t, kind in zip(part or (torch.tensor([]), torch.tensor([])), (None, torch.int32)):
        t = t[torch.arange(len(t))]
        raw = t.to(kind or t.dtype).contiguous().numpy().tobytes()
        print("sum", hashlib.sha256(raw).hexdigest(), flush=True)
del set
if not os.environ.get("ONLY_SUMS"):
    sys.argv = sys.argv[1:]
    runpy.run_path(sys.argv[0], run_name="__main__")
""")
    fake.write_text(f'#!/bin/sh\nexec {PYTHON} "{check}" "$@"\n')
    fake.chmod(0o755)
    return fake


def same_samples(name, what, data, err):
    got = [line.split()[1] for line in err.splitlines() if line.startswith("sum ")]
    want = subprocess.run([SUMS, "sums", name, *data], capture_output=True, text=True).stdout.split()
    report(f"{name}, {what}: the script reads the samples that fare trains on", len(want) == 4 and got == want, err)


def photos(folder, python):
    """Decoded and cropped by fare; and drawn. They are not trained on: that takes long."""
    for kind in ("ants", "bees"):
        (folder / "photos" / kind).mkdir(parents=True)
        for i, image in enumerate(("small", "grey", "progressive", "subsampled", "tall") * 2):
            shutil.copy(ROOT / f"tests/train/data/images/{image}.jpg", folder / "photos" / kind / f"{i}.jpg")
    for what, data in (("made", ()), ("photos", (folder / "photos",))):
        options = [f"--data={d}" for d in data]
        code, runs, err = fare("inception", "--with", "pytorch", *options, FARE_PYTHON=str(python), ONLY_SUMS="1")
        same_samples("inception", what, data, err)
    report("photos are counted", code == 1 and (runs[0]["data"]["train_samples"], runs[0]["data"]["test_samples"]) == (18, 2)
           and runs[0]["phases"]["load_ns"] > 0, runs)


def verdict(folder, python, name, data=()):
    """Fare's own training and PyTorch's, on the same set; and what fare says of the two."""
    what, ledger, options = "real" if data else "made", f"--ledger={folder}/runs.db", [f"--data={d}" for d in data]
    steps = {"imdb": "150", "mlp": "60"}.get(name, "3") if not data else "3"
    ours, theirs = f"ours-{name}-{what}", f"theirs-{name}-{what}"
    code, mine, err = fare(name, "--steps", "3", "--name", ours, ledger, *options)
    other, yours, more = fare(name, "--steps", steps, "--name", theirs, "--with", "pytorch", ledger, *options,
                              FARE_PYTHON=str(python))
    if code or other:
        report(f"{name}, {what}: it trains in PyTorch", False, err + more)
        return
    same_samples(name, what, data, more)
    a, b = mine[0], yours[0]
    parameters = PARAMETERS[name] if not data else a["parameters"]
    report(f"{name}, {what}: it trains in PyTorch, with {parameters} parameters", b["steps"] == int(steps)
           and b["parameters"] == parameters and b["last_loss"] < 10, b)
    report(f"{name}, {what}: the same data", a["data"] == b["data"] and b["data"]["made"] is (not data)
           and b["data"]["identity"] and b["data"]["train_samples"] > 0, (a["data"], b["data"]))
    report(f"{name}, {what}: the same steps",
           all(a[k] == b[k] for k in ("total_steps", "epochs", "steps_per_epoch", "batch")), (a, b))
    p = subprocess.run([FARE, "runs", ours, "--against", theirs, ledger, "--json"], capture_output=True, text=True)
    said = json.loads(p.stdout) if p.returncode == 0 else {}
    reasons = [r for r in said.get("reasons", []) if "noisy" not in r]  # a busy machine's
    report(f"{name}, {what}: fare says that they can be compared", said.get("words") in ("same", "comparable with a note", "no verdict: noisy")
           and not reasons, p.stdout + p.stderr)
    phases = b["phases"]
    report(f"{name}, {what}: its phases are its time", phases["load_ns"] > 0
           and sum(ns for k, ns in phases.items() if k != "wall_ns") == phases["wall_ns"], phases)
    if int(steps) > 3:
        report(f"{name}: PyTorch learns from it", b["last_loss"] < b["first_loss"] * 0.95, (b["first_loss"], b["last_loss"]))


def by_hand():
    script = ROOT / "share/frameworks/pytorch/mlp.py"
    p = subprocess.run([PYTHON, script], capture_output=True, text=True)
    report("by hand and without data it says what to do", p.returncode == 1 and "--data FILE" in p.stderr
           and "fare run mlp --with pytorch" in p.stderr, p.stderr)
    with tempfile.NamedTemporaryFile() as f:
        f.write((100).to_bytes(8, "little") + b'{"a": ')
        f.flush()
        p = subprocess.run([PYTHON, script, "--data", f.name], capture_output=True, text=True)
    report("a file that is cut off is an error", p.returncode == 1 and "cannot read the data" in p.stderr
           and "Traceback" not in p.stderr, p.stderr)


SAME = """import sys; sys.path.insert(0, sys.argv[1])
import torch, nets
torch.manual_seed(1)
for net in nets.BothWays, nets.NextCharacter:
    both = [net(20), net(20, lstm=nets.CellByCell)]
    [nets.glorot(n.eval()) for n in both]
    both[1].load_state_dict(both[0].state_dict())
    x = torch.randint(0, 20, (4, 9))
    outs = [n(x) for n in both]
    [out.square().sum().backward() for out in outs]
    assert torch.allclose(*outs, atol=1e-6), outs
    assert all(torch.allclose(p.grad, q.grad, atol=1e-5) for p, q in zip(*map(nets.trained, both)))
"""


def real(folder):
    if subprocess.run([PYTHON, "-c", "import torch"], capture_output=True).returncode:
        report("the workloads train in PyTorch", True, skip=f"{PYTHON} has no PyTorch")
        return
    p = subprocess.run([PYTHON, "-c", SAME, ROOT / "share/frameworks/pytorch"], capture_output=True, text=True)
    report("an LSTM cell by cell is the same function, forwards and back, as PyTorch's own", p.returncode == 0, p.stderr)
    python = summing(folder)
    for name in PARAMETERS:
        verdict(folder, python, name)
    for name, set in SETS.items():
        if (REAL / set).is_dir():
            verdict(folder, python, name, (REAL,))
        else:
            report(f"{name}, real", True, skip=f"FARE_DATA names no folder with data/{set}")
    photos(folder, python)
    code, runs, err = fare("textgen", "--with", "pytorch", "--batch", "64,256", "--steps", "3", FARE_PYTHON=PYTHON)
    report("batches are swept", code == 0 and [(r["batch"], r["steps_per_epoch"]) for r in runs] == [(64, 3130), (256, 783)],
           err + str(runs))
    by_hand()
    code, runs, err = fare("l1", "--with", "pytorch", "--n", "256", "--m", "256", "--dim", "64", FARE_PYTHON=PYTHON)
    report("l1 is right in PyTorch", code == 0 and runs[0]["l1_largest_error"] < 1e-5 and runs[0]["l1_pairs_per_s"] > 0, err)
    code, own, err = fare("l1", "--n", "256", "--m", "256", "--dim", "64")
    told = [(r.get("recipe"), r.get("precision"), r.get("total_steps")) for r in runs + own]
    report("and the same as fare's own, whose time is known too", told == [("n=256 m=256 dim=64 passes=4", "f32", 4)] * 2
           and runs[0]["full"] and 0 < own[0]["projection"]["wall_s"] < own[0]["projection"]["after_s"], str(told) + err)


REAL = Path(os.environ.pop("FARE_DATA", "/nonexistent")) / "data"
with tempfile.TemporaryDirectory() as scratch:
    os.environ["XDG_CACHE_HOME"] = scratch  # no data that was fetched
    os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
    stand_in(Path(scratch))
    handed_over(Path(scratch))
    real(Path(scratch))
done()
