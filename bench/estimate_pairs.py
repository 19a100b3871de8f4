# SPDX-License-Identifier: Apache-2.0
"""The public pairs of measured trainings, with the class of each; for bench/estimate_fit.py, and without numpy for
tests/advise/estimate."""
import csv
import math
import re
from collections import Counter, defaultdict
from statistics import median

# PyTorch and the NGC containers of that time used TF32 for "fp32" where the GPU has it.
TF32_BY_DEFAULT = {"lambda-pt", "lambda-tf", "dle", "ryujaehun", "sia", "zeus"}
# The software differs between the GPUs. So it does between lamikr's NVIDIA cards (CUDA 11.1 in 2021, 12.1 under
# WSL2 in 2024, by the system_info.txt of its results), and always between vendors.
OTHER_SOFTWARE = {"jcjohnson", "ryujaehun"}
HOST_BOUND = {("sia", m) for m in ("deepspeech2", "ncf", "cifar10", "yolov3")}
# Choices of data that could have been made otherwise; --choices of estimate_fit.py shows what each is worth.
CHOICES = {"lamikr": "lamikr's NVIDIA cards counted as the same software",
           "recommendation": "gavel's Recommendation judged by its batches",
           "zeus": "zeus taken as true fp32"}
TOO_GOOD = ("bert_base", "ncf", "tacotron2")  # lambda-pt with several GPUs: faster than linear


def read_csv(path):
    with open(path, newline="") as f:
        return list(csv.DictReader(f))


def number(row, key):
    return float(row[key]) if row.get(key) else None


class Devices:
    """Rates of each device in the units of model.csv, and what a precision makes of them."""

    def __init__(self, path):
        self.rows = {r["name"]: r for r in read_csv(path)}

    def __contains__(self, name):
        return name in self.rows

    def __getitem__(self, name):
        return self.rows[name]

    def matrix_rate(self, name, precision):
        """TFLOP/s of matrix products: (rate, whether special matrix units do it)."""
        r = self.rows[name]
        fp32 = number(r, "fp32_tflops")
        rate = {"fp16": number(r, "fp16_tflops"), "tf32": number(r, "tf32_tflops")}.get(precision)
        if not rate or r["arch"] in ("pascal", "rdna1", "rdna2", "gcn5"):
            rate = fp32  # no matrix units: frameworks compute in fp32, or packed at best
        return rate, rate > 1.3 * fp32

    def features(self, name, precision):
        """log of: matrix rate, bandwidth, units x clock, base over boost clock; and 1 with matrix units."""
        r = self.rows[name]
        rate, units = self.matrix_rate(name, precision)
        boost = number(r, "boost_mhz")
        base = number(r, "base_mhz") or 0.7 * boost
        return [math.log(rate), math.log(number(r, "mem_gbs")), math.log(number(r, "units") * boost / 1000),
                math.log(base / boost), float(units)]


class Evidence:
    """Was a run bound by its GPU? Told from other measurements on the same device, never from the target."""

    def __init__(self, measurements, devices, otherwise):
        self.devices, self.otherwise = devices, otherwise
        self.speed = defaultdict(lambda: defaultdict(list))
        self.steps = defaultdict(lambda: defaultdict(list))
        self.power = {}
        self.nodes = defaultdict(set)
        for m in measurements:
            key = (m["source"], m["software"], m["model"].replace("-amp", ""), m["gpus"], m["gpu"])
            if m["samples_per_s"] and m["precision"] in ("fp16", "fp32"):
                self.speed[key][m["precision"]].append(float(m["samples_per_s"]))
            if m["batch_per_gpu"] and m["step_s"]:
                batch = float(m["batch_per_gpu"])
                self.steps[key + (m["precision"],)][batch].append(float(m["step_s"]))
                found = re.search(r"nodes=(\d+)", m["note"])
                if found:
                    self.nodes[key + (batch,)].add(int(found[1]))
                if m["source"] == "zeus" and m["watts"] and m["gpu"] in devices:
                    tdp = number(devices[m["gpu"]], "tdp_w")
                    if abs(float(m["note"].split("=")[1]) - tdp) < 1:
                        self.power[m["model"], m["gpu"], batch] = float(m["watts"]) / tdp

    def gain(self, p, gpu):
        """Samples/s in mixed precision over fp32."""
        speed = self.speed.get((p["source"], p["software"], p["model"].replace("-amp", ""), p["gpus"], gpu))
        if not speed or len(speed) < 2:
            return None
        middle = max if p["source"] == "dle" else median
        return middle(speed["fp16"]) / middle(speed["fp32"])

    def elasticity(self, p, gpu):
        """d log(step time) / d log(batch) around the batch of the pair."""
        key = (p["source"], p["software"], p["model"], p["gpus"], gpu, p["precision"])
        steps = {b: median(t) for b, t in self.steps.get(key, {}).items()}
        if len(steps) < 2 or not p["batch"]:
            return None
        b = min(steps, key=lambda x: abs(math.log(x / float(p["batch"]))))
        other = max((x for x in steps if x <= b / 1.9), default=None) or min((x for x in steps if x >= b * 1.9), default=None)
        return math.log(steps[b] / steps[other]) / math.log(b / other) if other else None

    def bound(self, p, gpu):
        source = p["source"]
        if source == "neusight":
            return "gpu"  # large transformers, timed with GPU events
        if (source, p["model"]) in HOST_BOUND or source == "sia" and "V100-32GB" in (p["gpu_a"], p["gpu_b"]):
            return "host"
        if source == "zeus":
            share = self.power.get((p["model"], gpu, float(p["batch"] or 0)))
            return grade(share, 0.7, 0.45)
        if source in ("sia", "gavel"):
            # Work of the host that grows with the batch looks the same: gavel's Recommendation reads on the host.
            if p["model"] == "Recommendation" and "recommendation" not in self.otherwise:
                return "unknown"
            return grade(self.elasticity(p, gpu), 0.8, 0.5)
        if source == "jcjohnson":
            return "gpu"
        half, _ = self.devices.matrix_rate(gpu, "fp16")
        single, _ = self.devices.matrix_rate(gpu, "tf32" if source in TF32_BY_DEFAULT else "fp32")
        if half < 1.5 * single:
            return "unknown"
        # A GPU-bound fp16 run gains at least half of what it could (in the logarithm); any clear gain means
        # that the slower fp32 run waited for the GPU.
        need = math.sqrt(min(half / single, 4)) if p["precision"] == "fp16" else 1.3
        return grade(self.gain(p, gpu), need - 1e-9, 1.1)

    def scale(self, p):
        n = int(p["gpus"])
        if n == 1:
            return "one"
        if p["software"] == "unconsolidated" or n > 8:
            return "nodes"
        for gpu in (p["gpu_a"], p["gpu_b"]) if p["source"] == "sia" else ():
            key = (p["source"], p["software"], p["model"], p["gpus"], gpu, float(p["batch"]))
            if self.nodes.get(key) and min(self.nodes[key]) > 1:
                return "nodes"
        return "several"


def grade(value, high, low):
    return "unknown" if value is None else "gpu" if value >= high else "mixed" if value >= low else "host"


def relation(a, b):
    if a["vendor"] != b["vendor"]:
        return "vendor"
    return "amd" if a["vendor"] == "amd" else "same" if a["arch"] == b["arch"] else "other"


def ordered_pairs(data, devices, kinds, otherwise=()):
    """Every pair in both directions, with its class and its weight: each net, precision and pair of GPUs of a
    source counts once."""
    measurements = read_csv(data / "measurements.csv")
    evidence = Evidence(measurements, devices, otherwise)
    rows = []
    for p in read_csv(data / "pairs.csv"):
        if p["gpu_a"] not in devices or p["gpu_b"] not in devices:
            continue
        if p["source"] == "lambda-pt" and p["gpus"] != "1" and any(x in p["model"] for x in TOO_GOOD):
            continue
        rows += both_ways(p, math.log(float(p["ratio_b_over_a"])), devices, kinds, evidence, False)
    have = {(r["source"], r["software"], r["model"], r["precision"], r["a"], r["b"]) for r in rows}
    for p, y in cross_batch(measurements, devices):
        if (p["source"], p["software"], p["model"], p["precision"], p["gpu_a"], p["gpu_b"]) not in have:
            rows += both_ways(p, y, devices, kinds, evidence, True)

    def group(r):
        return r["source"], r["model"], r["precision"], r["a"], r["b"], r["extra"]
    count = Counter(map(group, rows))
    for r in rows:
        r["w"] = 1 / count[group(r)]
        r["group"] = "|".join(group(r)[:3])
        r["other_software"] = r["source"] in OTHER_SOFTWARE or (
            "lamikr" not in otherwise and r["source"] == "lamikr" and r["relation"] in ("same", "other"))
    return rows


def both_ways(p, y, devices, kinds, evidence, extra):
    tf32 = p["source"] in TF32_BY_DEFAULT and not (p["source"] == "zeus" and "zeus" in evidence.otherwise)
    rate = "fp16" if p["precision"] == "fp16" else "tf32" if tf32 else "fp32"
    for a, b, value in ((p["gpu_a"], p["gpu_b"], y), (p["gpu_b"], p["gpu_a"], -y)):
        yield {"source": p["source"], "software": p["software"], "model": p["model"], "precision": p["precision"],
               "batch": p["batch"], "gpus": p["gpus"], "a": a, "b": b, "y": value, "rate": rate, "extra": extra, "kind": kind_of(p["model"], kinds),
               "bound": evidence.bound(p, a), "scale": evidence.scale(p), "relation": relation(devices[a], devices[b]),
               "vendor": devices[a]["vendor"] + "-" + devices[b]["vendor"]}


def kind_of(name, kinds):
    return next((k for pattern, k in kinds if pattern in name.lower()), "unknown")


def cross_batch(measurements, devices):
    """Pairs at each GPU's own largest batch; each unordered pair once."""
    best = defaultdict(dict)
    for m in measurements:
        if (m["source"] in ("lambda-pt", "lambda-tf") and m["gpus"] == "1" and m["samples_per_s"] and m["gpu"] in devices
                and devices[m["gpu"]]["vendor"] == "nvidia"):
            speeds = best[m["source"], m["software"], m["model"], m["precision"]]
            speeds[m["gpu"]] = max(speeds.get(m["gpu"], 0), float(m["samples_per_s"]))
    for (source, software, model, precision), speeds in sorted(best.items()):
        for a in speeds:
            for b in speeds:
                if a < b:
                    yield {"source": source, "software": software, "model": model, "precision": precision, "gpus": "1",
                           "batch": "", "gpu_a": a, "gpu_b": b}, math.log(speeds[a] / speeds[b])
