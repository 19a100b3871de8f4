# SPDX-License-Identifier: Apache-2.0
"""Runs whose kernel time is known by class; for bench/estimate_fit.py.

One H200 as six devices (predict/h200-devices.csv, rates measured on each), and the operators of NeuSight's
trainings on several GPUs (rates from data sheets).
"""
import csv
import io
import json
import math
import re
import subprocess
from collections import Counter, defaultdict
from statistics import quantiles

MATRIX = ("gemm", "conv", "attention")
CLASSES = MATRIX + ("elementwise", "reduce", "gather", "copy", "optimizer")
NEUSIGHT = {"AMD_Instinct_MI100": "MI100", "AMD_Instinct_MI210": "MI210", "AMD_Instinct_MI250": "MI250",
            "NVIDIA_A100_80GB_PCIe": "A100-80GB-PCIE", "NVIDIA_H100_80GB_HBM3": "H100", "NVIDIA_L4": "L4",
            "Tesla_V100-PCIE-32GB": "V100-PCIE-32GB"}
BUSY = 0.9


class Trace:
    def __init__(self, source, net, device, step, kernels, classes):
        self.source, self.net, self.device = source, net, device
        self.step, self.kernels, self.classes = step, kernels, classes

    @property
    def busy(self):
        return self.kernels / self.step


def units_power(name, powers):
    """How far a class follows units x clock instead of its rate: matrix products, all others."""
    return powers[0] if name in MATRIX else powers[1]


def predict_trace(run, a, b, powers):
    """Step time on b from a trace on a; a, b: (matrix rate, bandwidth, units x clock)."""
    total = sum(run.classes.values())
    there = 0.0
    for name, ms in run.classes.items():
        power = units_power(name, powers)
        rate = 0 if name in MATRIX else 1
        there += ms * (a[rate] / b[rate]) ** (1 - power) * (a[2] / b[2]) ** power
    if run.busy >= BUSY:
        return run.step * there / total
    return max(run.step, run.kernels * there / total)  # the host takes as long as before


def read_h200(path):
    rates, runs = {}, []
    with open(path, newline="") as f:
        lines = list(csv.reader(f))
    names = lines[0]
    for line in lines[1:]:
        device = (int(line[1]), int(line[2]))
        if line[0].startswith("rates:"):
            values = [float(x) for x in re.findall(r"[\d.]+(?= (?:tf32|fp32|TFLOP|GB))", line[0])]
            rates[device] = dict(zip(("bf16", "tf32", "fp32", "copy"), values))
            continue
        r = dict(zip(names, line))
        if r["kernel_ms"]:
            classes = {c: float(r[c + "_ms"]) for c in CLASSES}
            runs.append(Trace("h200", r["model"], device, float(r["step_ms"]), float(r["kernel_ms"]), classes))
        else:
            runs.append(Trace("h200", r["model"], device, float(r["step_ms"]), math.nan, {}))
    return rates, runs


def h200_pairs(rates, runs, powers, nets=None):
    """(run, measured step, predicted step) for every ordered pair of devices of a net."""
    def triple(run, device):
        r = rates[device]
        precision = next(p for p in ("bf16", "tf32", "fp32") if p in run.net)
        return r[precision], r["copy"], device[0] * device[1]
    for run in runs:
        if run.classes and (nets is None or run.net in nets):
            for other in runs:
                if other.net == run.net and other.device != run.device:
                    yield run, other, predict_trace(run, triple(run, run.device), triple(run, other.device), powers)


def fit_powers(rates, runs, nets):
    """Grid search over the nets given; GPU-bound runs alone."""
    best = (math.inf, None)
    for p0 in (i * 0.05 for i in range(21)):
        for p1 in (i * 0.05 for i in range(11)):
            errors = [abs(math.log(x / o.step)) for r, o, x in h200_pairs(rates, runs, (p0, p1), nets) if r.busy >= BUSY]
            score = sum(min(e, 0.2) for e in errors) / len(errors)
            if score < best[0] - 1e-12:
                best = (score, (p0, p1))
    return best[1]


def git(clone, *arguments):
    return subprocess.run(["git", "-C", clone, *arguments], capture_output=True, text=True, check=False).stdout


def neusight_rates(clone):
    """What its products and additions in fp32 reach on each device: (TFLOP/s, GB/s), 90th percentile over shapes."""
    names = {n.replace("_", " "): d for n, d in NEUSIGHT.items()}
    found = {}
    for at, (path, operator, work) in enumerate((
            ("linear", "linear", lambda r: 2e-9 * r["B"] * r["M"] * r["N"] * r["K"]),
            ("elem", "add", lambda r: 12e-6 * r["B"] * r["H"]))):
        speeds = defaultdict(list)
        for r in csv.DictReader(io.StringIO(git(clone, "show", f"HEAD:scripts/asplos/data/dataset/test/{path}.csv"))):
            if r["OPName"] == operator and r["Device"] in names:
                numbers = {k: float(r[k]) for k in ("B", "M", "N", "K", "H") if r.get(k)}
                speeds[names[r["Device"]]].append(work(numbers) / float(r["Latency"]))
        for device, values in speeds.items():
            found.setdefault(device, [math.nan, math.nan])[at] = quantiles(values, n=10, method="inclusive")[8]
    return found


def read_neusight(clone):
    """Time per class of one layer of each training, and its step, from a git clone."""
    runs = []
    for path in git(clone, "ls-tree", "-r", "--name-only", "HEAD").splitlines():
        if not re.search(r"/label/.*-train-\d+-\d+\.csv$", path) or not (text := git(clone, "show", "HEAD:" + path)):
            continue
        classes = Counter()
        for r in csv.DictReader(io.StringIO(text)):
            ms = float(r["fw_latency"] or 0) + float(r["bw_latency"] or 0)
            name = r["target"].lower()
            if re.search(r"addmm|matmul|bmm|linear|query|key|value|dense|proj|c_attn|c_fc|fc\d|decoder|lm_head", name) \
                    and not re.search(r"norm|dropout|act", name):
                classes["gemm"] += ms
            elif ms >= 0.03:  # below that: views and shapes, which no kernel computes
                classes["elementwise"] += ms
        label = json.loads(git(clone, "show", "HEAD:" + path[:-3] + "json"))
        step = label["e2e_latency"]
        runs.append(Trace("neusight", path.split("/")[-1][:-4], NEUSIGHT[path.split("/")[-2]], step, step, dict(classes)))
    return runs
