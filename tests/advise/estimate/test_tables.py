#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""share/estimate, read a second time: are the classes whole and in order, and do the estimates hold for
published trainings that were not in the data of the fit? With numpy and scipy (FARE_PYTHON) and FARE_DATA, the
fit itself is repeated.
"""
import csv
import math
import os
import statistics
import subprocess
import sys
from itertools import product
from pathlib import Path

sys.path.insert(0, os.environ["TESTS"])
import tap  # noqa: E402

ROOT = Path(os.environ["ROOT"])
LEVELS = ("factor50", "factor80", "factor90", "factor95")

# Images/s in fp32, TensorFlow 1.12: lambdalabs.com/blog/2080-ti-deep-learning-benchmarks (2019).
LAMBDA_2019 = ("conv", "fp32_tflops", [
    {"RTX2080Ti": 294, "TITAN-RTX": 330, "TITAN-V": 300, "V100-32GB": 405, "TITAN-Xp": 236, "GTX1080Ti": 209},  # ResNet-50
    {"RTX2080Ti": 110, "TITAN-RTX": 129, "TITAN-V": 107, "V100-32GB": 155, "TITAN-Xp": 90, "GTX1080Ti": 81},  # ResNet-152
    {"RTX2080Ti": 194, "TITAN-RTX": 221, "TITAN-V": 208, "V100-32GB": 259, "TITAN-Xp": 151, "GTX1080Ti": 136},  # Inception v3
    {"RTX2080Ti": 79, "TITAN-RTX": 96, "TITAN-V": 77, "V100-32GB": 112, "TITAN-Xp": 63, "GTX1080Ti": 58}])  # Inception v4
# Tokens/s of GPT-2 124M in bf16 with PyTorch 2.8 on rented GPUs, from the comments of a public script (2025):
# 524,288 tokens a step in batches of 64, 32 and 16 sequences of 1,024.
RENTED_2025 = ("attention", "bf16_tflops", [
    {"B200": 785629, "H200": 495147, "RTXPRO6000": 287774, "H100-NVL": 259018, "H100": 466440, "H100-PCIE": 289447,
     "RTX6000-Ada": 104803, "A100-80GB-PCIE": 189393, "A100-80GB": 208962, "RTXA6000": 92444},
    {"RTXPRO6000": 283925, "H100": 456914, "H100-PCIE": 285373, "L40": 96346, "L40S": 142641, "RTX6000-Ada": 107156,
     "RTX5090": 196551, "A100-80GB-PCIE": 185677, "A100-80GB": 203910, "A40": 87612, "RTXA6000": 91140},
    {"L40": 96119, "L40S": 141512, "RTX5090": 189429, "L4": 40423, "A40": 84471, "RTXA5000": 73707, "RTXA4500": 62451,
     "RTXA4000": 51603}])


def table(name):
    with open(ROOT / "share" / "estimate" / name, newline="") as f:
        return list(csv.DictReader(f))


devices = {r["name"]: r for r in table("devices-checked.csv")}
model = {r["kind"]: {k: float(v) for k, v in r.items() if k != "kind"} for r in table("model.csv")}
errors = {(r["relation"], r["bound"], r["scale"], r["trace"], r["kind"]): r for r in table("errors.csv")}


def time_on(name, kind, rate):
    """The formula of docs/estimating.md."""
    d, m = devices[name], model[kind]
    boost = float(d["boost_mhz"])
    clock = (float(d["base_mhz"] or 0.7 * boost) / boost) ** m["clock_power"]
    matrix = float(d[rate])
    if matrix > 1.3 * float(d["fp32_tflops"]):
        matrix *= m["matrix_unit_efficiency"]
    return m["matrix"] / (matrix * clock) + m["memory"] / float(d["mem_gbs"]) + m["units"] / (float(d["units"]) * boost / 1000 * clock)


def replay(kind, rate, nets):
    """Per cent of error by relation, and the share inside the 90 % interval."""
    found, inside = {"same": [], "other": []}, []
    for speeds in nets:
        for a, b in product(speeds, speeds):
            if a != b:
                relation = "same" if devices[a]["arch"] == devices[b]["arch"] else "other"
                off = math.log(time_on(b, kind, rate) / time_on(a, kind, rate) / (speeds[a] / speeds[b]))
                found[relation].append(100 * abs(math.exp(off) - 1))
                inside.append(abs(off) <= math.log(float(errors[relation, "gpu", "one", "no", "known"]["factor90"])))
    return found, sum(inside) / len(inside)


def ninetieth(values):
    return sorted(values)[int(0.9 * len(values))]


every = product(("same", "other", "amd", "vendor"), ("gpu", "mixed", "host", "unknown"), ("one", "several", "nodes"), ("no",),
                ("known", "unknown"))
missing = [k for k in every if k not in errors]
tap.report("every class has its errors", not missing, missing)
wrong = [k for k, r in errors.items() if not 1 < float(r["factor50"]) <= float(r["factor80"]) <= float(r["factor90"]) <= float(r["factor95"])]
tap.report("wider levels have wider intervals", not wrong, wrong)
wrong = [k for k, r in errors.items() if k[3] == "no" and k[0] in ("other", "vendor")
         for easier in [errors[{"other": "same", "vendor": "other"}[k[0]], *k[1:]]]
         if any(float(r[x]) < float(easier[x]) for x in LEVELS)]
tap.report("a farther device is never surer", not wrong, wrong)
tap.report("each row says what is behind it", all(int(r["pairs"]) > 0 or r["borrowed"] for r in errors.values()))

found, covered = replay(*LAMBDA_2019)
figures = {k: (statistics.median(v), ninetieth(v)) for k, v in found.items()}
tap.report("published 2019, same architecture: 7 % and 20 %", figures["same"][0] <= 7 and figures["same"][1] <= 20, figures)
tap.report("published 2019, other architecture: 12 % and 35 %", figures["other"][0] <= 12 and figures["other"][1] <= 35, figures)
tap.report("published 2019: the 90 % intervals hold", covered >= 0.87, covered)
found, covered = replay(*RENTED_2025)
tap.report("rented 2025: the 90 % intervals hold for 80 %", covered >= 0.80, covered)

python = os.environ.get("FARE_PYTHON", sys.executable)
if "FARE_PYTHON" not in os.environ:  # scripts/setup puts scipy there
    os.environ["PYTHONPATH"] = os.path.join(os.environ["BUILD"], "python")
able = subprocess.run([python, "-c", "import numpy, scipy"], capture_output=True, check=False).returncode == 0
if able and (Path(os.environ.get("FARE_DATA", "/nonexistent")) / "predict").is_dir():
    run = subprocess.run([python, str(ROOT / "bench" / "estimate_fit.py"), "--check"], capture_output=True, text=True, check=False)
    tap.report("the fit gives the shipped tables and the required figures", run.returncode == 0, run.stdout + run.stderr)
else:
    tap.skip("the fit gives the shipped tables and the required figures", "needs numpy, scipy and FARE_DATA/predict")
tap.done()
