#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Workloads in other frameworks (--with): how their scripts are started, with a stand-in for Python; and the
real ones, where there is a Python with PyTorch ($FARE_PYTHON, else python3). The numbers of parameters are
those of the published definitions."""
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, os.path.join(os.environ["ROOT"], "tests"))
from tap import done, report  # noqa: E402

FARE = os.environ["FARE"]
ROOT = Path(os.environ["ROOT"])
PARAMETERS = {"mlp": 669_706, "cnn": 1_199_882, "cifar": 1_250_858, "imdb": 2_658_945, "textgen": 102_585}


def fare(*args, **env):
    p = subprocess.run([FARE, "run", "--json", *args], capture_output=True, text=True, timeout=500,
                       env={**os.environ, **env})
    runs = json.loads(p.stdout)["runs"] if p.stdout else []
    return p.returncode, runs, p.stderr


def stand_in(folder):
    fake = folder / "python"
    fake.write_text('#!/bin/sh\nfor a in "$@"; do echo "[$a]"; done\nfor i in 1 2 3 4 5; do\n'
                    'echo "{\\"step\\": $i, \\"samples\\": 128}" >>"$FARE_EVENTS"; sleep 0.02; done\n'
                    'echo "{\\"about\\": {\\"batch\\": 128, \\"data\\": {\\"name\\": \\"x\\", \\"made\\": true}}}" >>"$FARE_EVENTS"\n')
    fake.chmod(0o755)
    data = folder / "data" / "mnist"
    data.mkdir(parents=True)
    code, runs, err = fare("mlp", "l1", "--with", "pytorch", "--data", str(folder / "data"), "--seed", "7", "--threads", "2",
                           "--steps", "5", "--precision", "bf16", "--n", "64", FARE_PYTHON=str(fake))
    words = [line[1:-1] for line in err.splitlines() if line.startswith("[")]
    cut = next((i for i, w in enumerate(words) if w.endswith("/l1.py")), 0)
    report("a script gets the workload's options", code == 0 and words[0].endswith("share/frameworks/pytorch/mlp.py")
           and words[1:cut] == ["--data", str(data), "--precision", "bf16", "--seed", "7", "--threads", "2", "--steps", "5"],
           err)
    report("l1's are others", words[cut + 1:] == ["--precision", "bf16", "--seed", "7", "--threads", "2", "--n", "64",
                                                  "--m", "8192", "--dim", "512"], words)
    run = runs[0]
    report("its run is the workload's, in the framework", run["framework"] == "pytorch" and run["workload"] == "mlp"
           and run["name"] == "mlp" and run["steps"] == 5 and run["batch"] == 128 and run["data"]["made"] is True, run)
    report("a part of the training is a sample", run["ended"] == "sampled" and run["full"] is False, run)
    code, runs, err = fare("mlp", "--with", "pytorch", FARE_PYTHON="false")
    report("one that fails is an error that names the Python", code == 1 and "'false'" in err and "exit code 1" in err, err)
    code, runs, err = fare("mlp", "--with", "pytorch", "--checkpoint", "x", FARE_PYTHON="false")
    report("checkpoints are fare's own", code == 2 and "checkpoints" in err, err)
    code, runs, err = fare("mlp", "--with", "../../tests", FARE_PYTHON="false")
    report("a framework is a name, not a path", code == 2 and "no framework" in err, err)
    missing = [w for w in ("l1", "mlp", "cnn", "cifar", "imdb", "textgen", "tweets", "inception")
               if not (ROOT / "share/frameworks/pytorch" / f"{w}.py").exists()]
    report("PyTorch has all eight", not missing, missing)


def real():
    python = os.environ.get("FARE_PYTHON") or shutil.which("python3") or "python3"
    if subprocess.run([python, "-c", "import torch"], capture_output=True).returncode:
        report("the workloads train in PyTorch", True, skip=f"{python} has no PyTorch")
        return
    for name, parameters in PARAMETERS.items():
        code, runs, err = fare(name, "--with", "pytorch", "--steps", "3", FARE_PYTHON=python)
        run = runs[0] if runs else {}
        report(f"{name} trains in PyTorch, with {parameters} parameters", code == 0 and run["steps"] == 3
               and run["parameters"] == parameters and run["data"]["made"] is True and run["last_loss"] < 10, err + str(run))
    code, runs, err = fare("l1", "--with", "pytorch", "--n", "256", "--m", "256", "--dim", "64", FARE_PYTHON=python)
    report("l1 is right in PyTorch", code == 0 and runs[0]["l1_largest_error"] < 1e-5 and runs[0]["l1_pairs_per_s"] > 0, err)


os.environ.pop("FARE_DATA", None)
with tempfile.TemporaryDirectory() as scratch:
    os.environ["XDG_CACHE_HOME"] = scratch  # no data that was fetched
    os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
    stand_in(Path(scratch))
    real()
done()
