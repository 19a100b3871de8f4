#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The workloads in Keras, each with every back end that is installed, a step of a small one: Keras 3.3.3 lacked what imdb, tweets and
inception used. test_keras.py compares the whole nets, where FARE_PYTHON names a Python with them."""
import json
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(os.environ["ROOT"])
sys.path.insert(0, str(ROOT / "tests"))
from tap import done, report  # noqa: E402

PYTHON = os.environ.get("FARE_PYTHON", "/usr/bin/python3")
ENV = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in (str(Path(os.environ["BUILD"]) / "python"), os.environ.get("PYTHONPATH")) if p),
       "PYTHONDONTWRITEBYTECODE": "1", "TF_CPP_MIN_LOG_LEVEL": "3", "XLA_FLAGS": "--xla_backend_optimization_level=0 --xla_llvm_disable_expensive_passes=true"}
# Without importing them, which takes seconds.
VERSIONS = """
from importlib.metadata import PackageNotFoundError, version
for name in ("keras", "jax", "tensorflow", "torch"):
    try:
        print(name, version(name))
    except PackageNotFoundError:
        pass
"""
installed = dict(line.split() for line in subprocess.run([PYTHON, "-c", VERSIONS], env=ENV, capture_output=True, text=True).stdout.splitlines())
LEAST = {"jax": 0, "tensorflow": 2, "torch": 2}  # that Keras 3 works with

for backend, least in LEAST.items():
    if installed.get("keras", "0") < "3" or int(installed.get(backend, "-1").split(".")[0]) < least:
        report(f"the workloads in Keras on {backend}", True, skip=f"{PYTHON} has no Keras 3 with {backend}")
        continue
    p = subprocess.run([PYTHON, ROOT / "tests/measure/keras_nets.py", ROOT / "share"], env={**ENV, "KERAS_BACKEND": backend},
                       capture_output=True, text=True, timeout=300)
    told = [json.loads(line) for line in p.stdout.splitlines() if line.startswith("[")]
    for name, passed, why in told:
        report(f"{backend}: {name}", passed, why)
    report(f"{backend}: all seven and the optimizer", p.returncode == 0 and len(told) == 8, p.stdout + p.stderr)
done()
