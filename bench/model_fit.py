#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Fits time and memory of a training from the model's description, and measures how far off they are.

    FARE_DATA=DIR bench/model_fit.py [--write] [--reported] [--check] [--cases FILE]

Reads DIR/predict/models.csv (described trainings of public repositories) and share/{models,devices/gpus,estimate/reported}.csv. Each
source is predicted by a fit without it; the score is the median over sources of 8 rows or more of each source's median |ln error|, and of
its 90th percentile. --write writes share/estimate/model-{time,memory,errors}.csv, --reported prints each reported training beside its
prediction (none of them is in the fit, or its source is left out), --check fails if a required figure is missed or a table would change,
--cases writes predictions by the tables as they are, for tests of the program. model_predict.py has the formulas. Needs numpy; ten seconds.

Of the fit: a coefficient has a value and a spread set by reasoning beforehand (TIME, MEMORY); each source has an offset of its own with
a spread (TIME_SPREAD, MEMORY_SPREAD), which is 0 for a source that was left out; an error beyond ROBUST counts linearly, and more than CAP
rows of a source no more than CAP. Beyond its rows, of a source is known when it was measured and whether attention was fused.
The terms of the formulas were chosen while looking at the left-out errors of these sources: --reported has others.
"""
import argparse
import csv
import math
import os
import sys
from collections import Counter, defaultdict
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent))
import model_predict as model  # noqa: E402
from model_predict import CLASSES, METHODS, RECOMPUTE, links  # noqa: E402

ROOT = Path(__file__).resolve().parent.parent
JUDGED = 8  # a source with fewer rows is predicted, but has no say in the score
CAP = 40  # rows of a source that count in full; more share this weight
ROBUST = 0.25
LEVELS = (0.5, 0.8, 0.9, 0.95)
REQUIRED = {"given": (0.18, 0.48, 0.55), "planned": (0.24, 0.80, 0.8)}  # median, 90th percentile, half-width of 90 %
METHOD_AT_MOST = 0.30
COVERED, METHOD_COVERED = (0.85, 0.95), 0.75
FITS = {"median": 0.20, "right": 0.92, "false": 0.04, "unsure": 0.15}
SIZES = (24, 40, 48, 80, 141)

# name: (value, spread, meaning). exp() means that the coefficient is used as its exponential.
TIME = {
    "base": (0, 0.5, "exp(): all of a step"),
    "products": (0.15, 0.3, "exp(): products over their operations at the peak"),
    "fast": (0.7, 0.2, "power of the peak in 8 or 4 bits over that in 16"),
    "power": (0.15, 0.1, "power of TFLOP/s a watt by which a peak is missed"),
    "narrow": (1, 0.7, "products of a narrow layer: times peak / bandwidth / width"),
    "few": (1, 0.7, "products of few rows: times peak / bandwidth / rows"),
    "sparse": (0.2, 0.15, "exp(): products of experts"),
    "head": (0.5, 0.3, "share of the head that no other stage of a pipeline does meanwhile"),
    "attention": (0.6, 0.4, "exp(): fused attention over its operations at the peak"),
    "flash": (0.2, 0.1, "fused attention gains a year"),
    "scores": (0, 0.4, "exp(): attention that is not fused: passes over the scores"),
    "moved": (0, 0.5, "exp(): bytes between products"),
    "launch": (math.log(25), 0.4, "exp(): microseconds a launch"),
    "eager_launch": (0.5, 0.4, "the same, class eager, more by exp()"),
    "native_launch": (1, 0.5, "the same, class native, less by exp()"),
    "adapters": (0.4, 0.3, "more launches with adapters"),
    "routing": (0.5, 0.3, "more launches with experts"),
    "loop": (0.3, 0.3, "power of the experts that a loop goes over, by which launches grow"),
    "unpack": (0, 0.7, "exp(): reading 4-bit weights and writing them in 16"),
    "tensor": (0, 0.5, "exp(): sums between tensor ranks over their bytes"),
    "meet": (math.log(30), 0.5, "exp(): microseconds that tensor ranks wait for each other"),
    "expert": (-0.7, 0.4, "exp(): rows sent to experts over their bytes"),
    "gather": (0.2, 0.5, "exp(): weights gathered (ZeRO 3) over their bytes"),
    "bubble": (0, 0.3, "exp(): idle stages of a pipeline"),
    "optimizer": (0, 0.5, "exp(): optimizer over its bytes"),
    "gradients": (-0.5, 0.7, "exp(): gradients summed over their bytes"),
    "offload": (0.7, 0.7, "exp(): nanoseconds a parameter whose states are in the host's memory"),
    "nodes": (0.02, 0.03, "power of the number of machines"),
    "year": (0.05, 0.04, "software gains a year"),
    "amd": (0.3, 0.2, "a GPU of AMD; no row has one: what their other trainings miss of what NVIDIA's reach, less what power explains"),
    "eager": (0.15, 0.12, "class: layers launched one by one (Hugging Face's Trainer as it comes)"),
    "fused": (0.05, 0.12, "class: the same with fused kernels (foak, Liger, Unsloth)"),
    "compiled": (0, 0.12, "class: PyTorch's own trainers (llm-foundry, torchtune, litgpt, AutoModel)"),
    "megatron": (0, 0.12, "class: Megatron and NeMo"),
    "native": (-0.05, 0.12, "class: trainers in C and CUDA (llm.c, llmq)"),
    "xla": (0, 0.12, "class: JAX"),
}
MEMORY = {
    "weights": (0.03, 0.05, "exp(): weights"),
    "whole": (-0.5, 0.2, "exp(): layers gathered at a time"),
    "gradients": (0, 0.1, "exp(): gradients"),
    "optimizer": (0, 0.15, "exp(): optimizer's states"),
    "update": (0, 0.3, "exp(): what an update needs besides"),
    "rows": (0, 0.25, "exp(): rows that backward needs"),
    "inner": (0, 0.25, "exp(): feed-forward rows that backward needs"),
    "kept": (0, 0.15, "exp(): inputs kept for recomputation"),
    "logits": (0, 0.25, "exp(): logits of 8 bytes"),
    "base": (-1.2, 0.4, "exp(): GiB of the framework"),
    "reserved": (0.5, 0.25, "share of activations and logits that is reserved but not used"),
}
TIME_SPREAD, MEMORY_SPREAD = 0.20, 0.15  # of a source's offset
NOISE = 0.15

CLASS_OF = {"HF-Trainer": "eager", "HF-PEFT": "eager", "ms-swift": "eager", "HF-Trainer+foak": "fused", "DeepSpeed": "fused",
            "llm-foundry": "compiled", "fms-fsdp": "compiled", "litgpt": "compiled", "flash-attn": "compiled", "picotron": "compiled",
            "Megatron-LM": "megatron", "Megatron-Bridge": "megatron", "Megatron-DeepSpeed": "megatron", "llmq": "native", "MaxText": "xla"}
# When a source was measured, by its commits; Megatron-Bridge's rows name their container.
YEAR_OF = {"VIA-Research/vTrain": 2022.5, "Dao-AILab/flash-attention": 2022.9, "mosaicml/llm-foundry": 2023.6,
           "AI-Hypercomputer/maxtext": 2024.2, "foundation-model-stack/fms-fsdp": 2024.3, "foundation-model-stack/fms-acceleration": 2024.7,
           "huggingface/picotron": 2024.9, "stas00/ml-engineering": 2025.4, "AI-Hypercomputer/gpu-recipes": 2025.5,
           "AI-Hypercomputer/tpu-recipes": 2025.6, "IST-DASLab/llmq": 2025.7, "huggingface/peft": 2025.9}
BITS = {"fp16": 16, "bf16": 16, "fp8": 8, "mxfp8": 8, "fp4": 4}
GPU_OF = {"H100-80GB": "H100", "A100-40GB": "A100", "RTXPro6000": "RTXPRO6000"}
# Google's documentation, from memory: TFLOP/s in 16 and 8 bits, GB/s, GiB, W, GB/s of link. For the fit only: fare has no offer with them.
TPUS = {"TPUv5e": (197, 394, 819, 16, 200, 50), "TPUv6e": (918, 1836, 1640, 32, 300, 100), "TPUv7": (2307, 4614, 7370, 192, 1000, 300),
        "TPUv5p": (459, 918, 2765, 95, 350, 150)}
# Experts and how many a token takes, of models of the folder that share/models.csv lacks; agree with their numbers of parameters.
EXPERTS = {"granite3-3b-a800m": (40, 8), "granite4-tiny": (62, 6), "ibm-moe-7b-1b": (64, 8), "nemotron3-nano": (128, 6),
           "nemotron3-super": (512, 22), "nemotron3-ultra": (512, 22)}
ROUTED = {"nemotron3-nano": 0.44, "nemotron3-super": 0.11, "nemotron3-ultra": 0.11}  # layers with experts, times the width of what is sent
# Few of their layers have attention: their heads are made smaller here, so that its operations are fewer.
HEAD_SIZE = {"nemotron3-nano": 16, "nemotron3-super": 16, "nemotron3-ultra": 16, "gemma4-31b": 256}
TIED = ("gpt", "mpt", "llama3.2", "gemma", "santacoder", "qwen2.5-0", "qwen2.5-1.5", "qwen2.5-3", "granite", "falcon", "ibm-moe", "powerlm")
PLAIN = ("gpt", "mpt", "phi-1", "phi-2", "stablelm", "falcon", "santacoder", "powerlm")  # two matrices in a feed-forward layer, not three


def read_csv(path):
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


def number(text, otherwise=math.nan):
    return float(text) if text else otherwise


class Facts:
    """Models and GPUs by each of their names."""

    def __init__(self, folder):
        models = read_csv(ROOT / "share/models.csv")
        self.models = {name: row for row in models for name in [row["name"], *row["aliases"].split(";")] if name}
        self.gpus = {row["name"]: row for row in read_csv(ROOT / "share/devices/gpus.csv")}
        self.rows = read_csv(folder / "predict/models.csv")
        self.described = {row["model"]: row for row in self.rows}

    def knows(self, row):
        gpu = self.gpus.get(GPU_OF.get(row["gpu"], row["gpu"]), {})
        rates = (gpu.get("bf16_tflops") or gpu.get("fp16_tflops")) and gpu.get("memory_gbs") and gpu.get("watts")
        return bool((row["gpu"] in TPUS or rates) and row["method"] in (*METHODS, "adapter") and row["precision"] in BITS
                    and (row["recompute"] or "none") in RECOMPUTE)

    def gpu(self, name, precision):
        name = GPU_OF.get(name, name)
        if name in TPUS:
            peak, eight, bandwidth, memory, watts, link = TPUS[name]
            out = {"peak": peak, "bandwidth": bandwidth, "memory": memory, "watts": watts, "link": link}
            net, eight_bits, box = 25.0, eight / peak, 256
        else:
            row = self.gpus[name]
            out = {"peak": float(row["bf16_tflops"] or row["fp16_tflops"]), "bandwidth": float(row["memory_gbs"]),
                   "memory": float(row["memory_gib"]), "watts": float(row["watts"])}
            out["link"], net, box = links(name, row["architecture"], number(row["link_gbs"], 0), number(row["host_gbs"], 16))
            eight_bits = number(row["fp8_tflops"], out["peak"]) / out["peak"]
        out["amd"] = float(self.gpus.get(name, {}).get("vendor") == "amd")
        out.update(net=net, fast={16: 1, 8: eight_bits, 4: 2 * eight_bits}[BITS[precision]])
        return out, box

    def shape(self, name, row=None):
        """Of a model of share/models.csv, or of a row of the folder."""
        known = self.models.get(name)
        if known and not row:
            get = lambda key, otherwise=0.0: number(known[key], otherwise)
            return {"params": get("parameters"), "active": get("active"), "layers": get("layers"), "hidden": get("width"),
                    "heads": get("heads"), "kv": get("kv_heads"), "head_size": get("head_size"),
                    "ffn": get("expert_width") or get("ff_width"), "vocab": get("vocabulary"), "tied": get("tied"),
                    "experts": get("experts") or 1, "chosen": get("chosen") or 1, "gated": float(get("matrices") == 3), "routed": 1.0}
        row = row or self.described[name]
        get = lambda key: number(row[key])
        experts, chosen = EXPERTS.get(name) or ((float(known["experts"]), float(known["chosen"])) if known and known["experts"] else (1, 1))
        heads = float(known["head_size"]) if known else get("hidden") / get("heads")
        return {"params": get("params_b") * 1e9, "active": get("active_b") * 1e9, "layers": get("layers"), "hidden": get("hidden"),
                "heads": get("heads"), "kv": get("kv_heads"), "head_size": HEAD_SIZE.get(name, heads), "ffn": get("ffn"),
                "vocab": get("vocab"), "tied": float(name.startswith(TIED)), "experts": float(experts), "chosen": float(chosen),
                "gated": float(not name.startswith(PLAIN)), "routed": ROUTED.get(name, 1.0)}

    def training(self, row):
        """A row of the folder as a question with everything given, and what was measured."""
        note, source = row["note"], row["source"]
        q = self.shape(row["model"], row)
        gpu, box = self.gpu(row["gpu"], row["precision"])
        q.update(gpu)
        q.update({key: number(row[key]) for key in ("seq", "gpus", "tp", "pp", "cp", "ep")})
        q["zero"] = number(row["zero_stage"])
        q["method"] = float(METHODS.index(row["method"].replace("adapter", "lora")))
        framework = CLASS_OF.get(row["framework"])
        q["class"] = float(CLASSES.index(framework)) if framework else -1.0
        q["nodes"] = max(1.0, math.ceil(q["gpus"] / box))
        q["recompute"] = RECOMPUTE[row["recompute"] or ("full" if row["framework"] == "Megatron-DeepSpeed" else "none")]
        q["year"] = YEAR_OF.get(source, model.YEAR)
        if row["framework"] == "Megatron-Bridge":
            year, month = note.split()[0].split(".")[:2]
            q["year"] = 2000 + int(year) + int(month) / 12
        q["flash"] = float(source != "VIA-Research/vTrain")
        q["loops"] = float(q["experts"] > 1 and row["framework"].startswith("HF") and "scattermoe" not in note)
        q["offload"] = float("CPU offload" in note)
        q["micro"] = number(row["micro_batch"])
        ranks = q["gpus"] / q["tp"] / q["pp"] / q["cp"]
        q["accumulate"] = max(1.0, number(row["global_batch"]) / (q["micro"] * ranks)) if row["global_batch"] else 8.0
        q["rank"] = 32.0 if "rank32" in note else 16.0
        # FSDP of newer accelerate keeps what is trained in fp32.
        q["mixed"] = float(row["method"] == "pretrain" or (row["method"] == "full" and q["zero"] == 3 and
                                                           ("liger.csv" in row["path"] or "moe" in row["path"])))
        q["reserved"] = float("peak = nvidia reserved" in note or row["framework"] == "ms-swift")
        q["chunked"] = float("liger" in note.lower() or row["framework"] == "llmq")
        q.update(box=box, source=source, row=row, rate=number(row["tokens_per_s_total"]), peak_gib=number(row["peak_gib"]),
                 oom="OOM" in note, named=row["method"])
        return q


def table(questions):
    return {key: np.array([q[key] for q in questions]) for key in questions[0] if key != "row"}


def part(columns, which):
    return {key: column[which] for key, column in columns.items()}


class Fit:
    """Coefficients and the offset of each source, by damped Gauss-Newton on a robust loss with the spreads as priors."""

    def __init__(self, prior, predict, spread):
        self.names = list(prior)
        self.value = np.array([prior[name][0] for name in self.names], float)
        self.spread = np.array([prior[name][1] for name in self.names], float)
        self.predict, self.source_spread = predict, spread

    def log(self, columns, v):
        return np.log(self.predict(columns, dict(zip(self.names, v))))

    def __call__(self, columns, y):
        source, n = columns["source"], len(self.names)
        count = Counter(source)
        weight = np.array([min(1, CAP / count[s]) for s in source]) / NOISE ** 2
        design = np.array([[s == one for one in sorted(count)] for s in source], float)
        penalty = np.concatenate([1 / self.spread ** 2, np.full(len(count), 1 / self.source_spread ** 2)])
        centre = np.concatenate([self.value, np.zeros(len(count))])

        def loss(v):
            a = np.abs(y - self.log(columns, v[:n]) - design @ v[n:])
            return np.sum(weight * np.where(a < ROBUST, a * a, 2 * ROBUST * a - ROBUST ** 2)) + np.sum(penalty * (v - centre) ** 2)

        v, damping = centre.copy(), 1e-2
        best = loss(v)
        for _ in range(40):
            now = self.log(columns, v[:n])
            slope = np.stack([(self.log(columns, v[:n] + 1e-4 * (np.arange(n) == i)) - now) / 1e-4 for i in range(n)], 1)
            rest = y - now - design @ v[n:]
            w = weight * np.minimum(1, ROBUST / np.maximum(np.abs(rest), 1e-9))
            x = np.hstack([slope, design])
            normal, right = x.T @ (w[:, None] * x) + np.diag(penalty), x.T @ (w * rest) + penalty * (centre - v)
            for _ in range(8):
                new = v + np.clip(np.linalg.solve(normal + damping * np.diag(np.diag(normal)), right), -0.7, 0.7)
                cost = loss(new)
                if cost < best:
                    break
                damping *= 4
            else:
                break
            gain, v, best, damping = best - cost, new, cost, max(damping / 4, 1e-6)
            if gain < 1e-4:
                break
        return dict(zip(self.names, v[:n]))


def score(source, error, least=JUDGED):
    each = [np.abs(error[source == s]) for s, n in Counter(source).items() if n >= least]
    return float(np.median([np.median(a) for a in each])), float(np.median([np.quantile(a, 0.9) for a in each]))


def quantile(error, source, level):
    """Of |error|, at most CAP rows of a source counting in full."""
    count = Counter(source)
    weight = np.array([min(1, CAP / count[s]) for s in source])
    order = np.argsort(np.abs(error))
    total = np.cumsum(weight[order])
    return float(np.abs(error)[order][min(len(order) - 1, int(np.searchsorted(total, level * total[-1])))])


def width(error, source, method, wanted, level):
    """Half-width of a method's interval: its own rows where two sources have it, else all rows."""
    own = method == wanted
    return quantile(error[own], source[own], level) if len(set(source[own])) >= 2 else quantile(error, source, level)


def covered(error, source, method):
    """Of each row by the interval that the other sources' left-out errors make."""
    inside, wide = np.zeros(len(error), bool), np.zeros(len(error))
    for s in set(source):
        for m in set(method[source == s]):
            here, others = (source == s) & (method == m), source != s
            wide[here] = width(error[others], source[others], method[others], m, 0.9)
            inside[here] = np.abs(error[here]) <= wide[here]
    return inside, wide


class Study:
    def __init__(self, folder):
        self.facts = Facts(folder)
        known = [row for row in self.facts.rows if self.facts.knows(row)]
        if len(known) < len(self.facts.rows):
            print(f"{len(self.facts.rows) - len(known)} rows of GPUs, methods or precisions that are not known here are left out")
        questions = [self.facts.training(row) for row in known]
        timed = [q for q in questions if q["rate"] > 0]
        self.timed = timed
        self.given = [q for q in timed if q["micro"] > 0]
        self.sized = [{**q, "seq": 768.0 if q["source"] == "huggingface/peft" else q["seq"]}  # its seq is a mean; the longest decides
                      for q in questions if q["micro"] > 0 and q["peak_gib"] > 0 and not q["oom"]]
        self.time_fit = Fit(TIME, model.step_time, TIME_SPREAD)
        self.memory_fit = Fit(MEMORY, lambda q, c: model.memory_total(q, c) / model.GIB, MEMORY_SPREAD)
        self.t, self.m = table(self.given), table(self.sized)
        ranks = self.t["gpus"] / self.t["tp"] / self.t["pp"] / self.t["cp"]
        self.log_step = np.log(self.t["micro"] * self.t["accumulate"] * ranks * self.t["seq"] / self.t["rate"])
        self.log_peak = np.log(self.m["peak_gib"])
        self.folds = {}

    def time(self, without=None):
        """The coefficients of time, fitted to all sources but one."""
        return self.fold("time", self.time_fit, self.t, self.log_step, without)

    def memory(self, without=None):
        return self.fold("memory", self.memory_fit, self.m, self.log_peak, without)

    def fold(self, name, fit, columns, y, without):
        without = without if without in columns["source"] else None
        if (name, without) not in self.folds:
            kept = columns["source"] != without
            self.folds[name, without] = fit(part(columns, kept), y[kept])
        return self.folds[name, without]

    def left_out(self, columns, y, coefficients, fit):
        error = np.zeros(len(y))
        for s in set(columns["source"]):
            here = columns["source"] == s
            error[here] = y[here] - np.log(fit.predict(part(columns, here), coefficients(s)))
        return error

    def given_errors(self):
        return self.left_out(self.t, self.log_step, self.time, self.time_fit)

    def memory_errors(self):
        return self.left_out(self.m, self.log_peak, self.memory, self.memory_fit)

    def questions(self):
        """What is left of the rows when only model, method, precision, sequence and GPUs are given: the fastest row answers."""
        groups = defaultdict(list)
        for q in self.timed:
            row = q["row"]
            groups[tuple(row[k] for k in ("source", "model", "gpu", "gpus", "method", "precision", "seq"))].append(q)
        return [max(group, key=lambda q: q["rate"]) for group in groups.values()]

    def planned(self, q, without):
        return model.plan(model.unpinned(q), self.time(without), self.memory(without), q["box"])

    def planned_errors(self):
        questions = self.questions()
        error = [-math.log(q["rate"]) - math.log(self.planned(q, q["source"])["seconds_per_token"]) for q in questions]
        return np.array([q["source"] for q in questions]), np.array([q["named"] for q in questions]), np.array(error)


def middle(error):
    return f"{np.median(np.abs(error)):.3f} / {np.quantile(np.abs(error), 0.9):.3f}"


def report_time(title, source, method, error, need):
    inside, wide = covered(error, source, method)
    median, ninety = score(source, error)
    print(f"\n{title}: {len(error)} rows, {len(set(source))} sources; score {median:.3f} / {ninety:.3f} (required {need[0]} / {need[1]})")
    for s, n in sorted(Counter(source).items()):
        a = error[source == s]
        print(f"  {s:42s}{n:5d}  bias {np.median(a):6.3f}  {middle(a)}  inside {np.mean(inside[source == s]):.2f}")
    for m in sorted(set(method)):
        a = error[method == m]
        print(f"  {m:10s}{len(a):5d}  {middle(a)}  inside {np.mean(inside[method == m]):.2f} of ±{np.median(wide[method == m]):.2f}")
    print(f"  90 % intervals: inside {np.mean(inside):.3f}, half-width in the median {np.median(wide):.2f}")
    counted = [m for m in set(method) if m in METHODS]
    failed = [f"{title}: {text}" for text, wrong in (
        ("median", median > need[0]), ("90th percentile", ninety > need[1]), ("half-width", np.median(wide) > need[2]),
        ("inside", not COVERED[0] <= np.mean(inside) <= COVERED[1]),
        *((m, np.median(np.abs(error[method == m])) > METHOD_AT_MOST) for m in counted),
        *((f"inside, {m}", np.mean(inside[method == m]) < METHOD_COVERED) for m in counted)) if wrong]
    return failed


def verdicts(error, columns, log_peak):
    """fits / does not fit / unsure, from the left-out prediction and the memory's own unsure share, over SIZES."""
    middle, true = np.exp(log_peak - error), np.exp(log_peak)
    count = Counter()
    for size in SIZES:
        verdict = np.where(middle * math.exp(model.UNSURE) <= size, 1, np.where(middle * math.exp(-model.UNSURE) > size, 0, -1))
        count["unsure"] += np.sum(verdict < 0)
        count["right"] += np.sum((verdict >= 0) & (verdict == (true <= size)))
        count["false"] += np.sum((verdict == 1) & (true > size))
        count["all"] += len(true)
    return count


def report_memory(study):
    error, columns = study.memory_errors(), study.m
    median, ninety = score(columns["source"], error)
    print(f"\nmemory: {len(error)} rows; score {median:.3f} / {ninety:.3f} (required {FITS['median']})")
    for s, n in sorted(Counter(columns["source"]).items()):
        a = error[columns["source"] == s]
        print(f"  {s:42s}{n:5d}  bias {np.median(a):6.3f}  {middle(a)}")
    c = verdicts(error, columns, study.log_peak)
    right, false, unsure = c["right"] / (c["all"] - c["unsure"]), c["false"] / c["all"], c["unsure"] / c["all"]
    print(f"  fits on {SIZES} GB: decided right {right:.3f}, false fits {false:.3f}, unsure {unsure:.3f}")
    return [f"memory: {text}" for text, wrong in (("median", median > FITS["median"]), ("right", right < FITS["right"]),
                                                  ("false fits", false > FITS["false"]), ("unsure", unsure > FITS["unsure"])) if wrong]


def report_reported(study, wide):
    """Each reported training beside what is predicted for it with its layout where it is known, and with a planned one."""
    inside, cases = Counter(), defaultdict(list)
    print("\nreported trainings: tokens/s reported, predicted with the layout as reported and planned, ln(reported / predicted)")
    given_errors, planned_errors, memory_errors = [], [], []
    for row in read_csv(ROOT / "share/estimate/reported.csv"):
        repository = "/".join(row["source"].split("/")[1:3])
        gpu, box = study.facts.gpu(row["gpu"], row["precision"])
        q = {**study.facts.shape(row["model"]), **gpu, "box": box, "seq": number(row["sequence"]), "gpus": number(row["gpus"]),
             "method": float(METHODS.index(row["method"])), "class": float(CLASSES.index(row["framework"])), "year": number(row["year"])}
        q["nodes"] = max(1.0, math.ceil(q["gpus"] / box))
        planned = study.planned(q, repository)
        known = {"micro": row["micro"], "tp": row["tp"], "pp": row["pp"], "cp": row["cp"], "zero": row["zero"]}
        told, rate = number(row["tokens_per_s"]), 1 / planned["seconds_per_token"]
        planned_error = math.log(rate / told)
        given = None
        if all(known.values()):
            q.update({k: float(v) for k, v in known.items()}, flash=1.0, loops=0.0, offload=float("host" in row["note"]), ep=planned["ep"],
                     recompute=planned["recompute"])
            if row["recompute"] or row["framework"] == "megatron":  # Megatron recomputes only if told to
                q["recompute"] = RECOMPUTE[row["recompute"] or "none"]
            ranks = q["gpus"] / q["tp"] / q["pp"] / q["cp"]
            q["accumulate"] = max(1.0, number(row["sequences"]) / ranks / q["micro"])
            step = float(model.step_time(q, study.time(repository)))
            given = q["micro"] * q["accumulate"] * ranks * q["seq"] / step
            given_errors.append(math.log(given / told))
            if row["peak_gib"]:
                q = {**model.unpinned(q), **{k: q[k] for k in ("offload", "year")}}
                q["chunked"] = float("loss in chunks" in row["note"] or "Liger" in row["note"])
                need = float(model.memory_total(q, study.memory(repository))) / model.GIB
                memory_errors.append(math.log(need / number(row["peak_gib"])))
        planned_errors.append(planned_error)
        ok = abs(planned_error) <= wide["planned"][row["method"]]
        inside[ok] += 1
        if row["case"]:
            cases[row["case"]].append((planned_error, ok))
        as_told = "" if given is None else f"{given:10.0f} {given_errors[-1]:6.2f}"
        print(f"  {row['case'][:16]:16s} {row['model']:15s} {row['method']:8s} {row['gpus']:>4s} x {row['gpu']:10s} {told:10.0f} "
              f"{as_told:17s} {rate:10.0f} {planned_error:6.2f} {'' if ok else 'outside':8s}"
              + (f"{row['peak_gib']} GiB {memory_errors[-1]:6.2f}" if given and row["peak_gib"] else ""))
    print(f"  inside their planned interval: {inside[True]} of {inside[True] + inside[False]}; |ln error|, median / 90th percentile: "
          f"layout as reported {middle(given_errors)}, planned {middle(planned_errors)}, memory as reported {middle(memory_errors)}")
    for case, all_of in cases.items():
        print(f"  case {case:16s} {sum(ok for _, ok in all_of)} of {len(all_of)} inside, {', '.join(f'{e:.2f}' for e, _ in all_of)}")
    good = sum(any(ok for _, ok in all_of) for all_of in cases.values())
    whole = sum(all(ok for _, ok in all_of) for all_of in cases.values())
    print(f"  cases: {whole} of {len(cases)} with every report inside, {good} with one")


def tables(study, sets):
    """The tables of share/estimate, as header and rows of text."""
    out = {}
    for name, prior, fit, fold, columns in (("time", TIME, study.time_fit, study.time, study.t),
                                            ("memory", MEMORY, study.memory_fit, study.memory, study.m)):
        source = columns["source"]
        coefficients, folds = fold(), [fold(s) for s in sorted(set(source))]
        rows = [["name", "value", "least", "most", "prior", "spread", "rows", "sources", "meaning"]]
        for n in prior:
            moved = np.log(fit.predict(columns, {**coefficients, n: coefficients[n] + 0.1}) / fit.predict(columns, coefficients))
            touched = np.abs(moved) > 1e-4  # the rows that have a say in it
            rows.append([n, f"{coefficients[n]:.4f}", f"{min(f[n] for f in folds):.4f}", f"{max(f[n] for f in folds):.4f}",
                         f"{prior[n][0]:.4g}", str(prior[n][1]), str(np.sum(touched)), str(len(set(source[touched]))), prior[n][2]])
        out[f"model-{name}.csv"] = rows
    rows = [["question", "method", *(f"half{round(100 * level)}" for level in LEVELS), "rows", "sources"]]
    for name, (source, method, error) in sets.items():
        for m in METHODS:
            own = method == m
            rows.append([name, m, *(f"{width(error, source, method, m, level):.3f}" for level in LEVELS), str(np.sum(own)),
                         str(len(set(source[own])))])
    error, source = study.memory_errors(), study.m["source"]
    rows.append(["memory", "", *(f"{quantile(error, source, level):.3f}" for level in LEVELS), str(len(error)),
                 str(len(set(source)))])
    out["model-errors.csv"] = rows
    return out


def changed(name, rows):
    """Whether a shipped table differs from what the fit gives by more than another machine's rounding."""
    path = ROOT / "share/estimate" / name
    shipped = list(csv.reader(path.open(newline=""))) if path.exists() else []

    def same(a, b):
        try:
            return math.isclose(float(a), float(b), rel_tol=0.02, abs_tol=0.02)
        except ValueError:
            return a == b
    return len(shipped) != len(rows) or not all(len(a) == len(b) and all(map(same, a, b)) for a, b in zip(shipped, rows))


def write_cases(study, path):
    """Questions with layouts, and their answers by the shipped coefficients, for tests of the program."""
    time, memory = ({row["name"]: float(row["value"]) for row in read_csv(ROOT / "share/estimate" / name)}
                    for name in ("model-time.csv", "model-memory.csv"))
    picked, inputs, rows = np.random.default_rng(1), None, []
    gpus = [("A100-80GB", "bf16"), ("H100", "bf16"), ("H100", "fp8"), ("RTX4090", "bf16"), ("B200", "fp8"), ("L40S", "bf16"),
            ("V100", "fp16"), ("MI300X", "bf16")]
    names = sorted({row["name"] for row in study.facts.models.values()})
    for number_of in range(160):
        gpu, precision = gpus[picked.integers(len(gpus))]
        facts, box = study.facts.gpu(gpu, precision)
        name = names[picked.integers(len(names))]
        count = int(2 ** picked.integers(0, 7))
        q = model.unpinned({**study.facts.shape(name), **facts, "seq": float(2 ** picked.integers(9, 15)), "gpus": float(count),
                            "nodes": max(1.0, math.ceil(count / box)), "method": float(number_of % 4)})
        if number_of % 2:
            answer = model.plan(q, time, memory, box)
            q.update({k: float(v) for k, v in answer.items() if k in q or k in model.LAYOUT})
        else:
            tried = model.layouts(q, box, model.batch_tokens(q))
            q.update({k: float(v) for k, v in tried[picked.integers(len(tried))].items()})
            q["class"], q["year"] = float(picked.integers(len(CLASSES))), 2022.0 + picked.integers(6)
        inputs = inputs or list(q)
        parts = model.memory(q, memory)
        rows.append([number_of, name, gpu, precision, "planned" if number_of % 2 else "given", *(f"{q[k]:.10g}" for k in inputs),
                     f"{float(model.step_time(q, time)):.8g}", *(f"{float(parts[k]):.8g}" for k in parts)])
    with open(path, "w", newline="") as file:
        out = csv.writer(file, lineterminator="\n")
        out.writerow(["case", "model", "gpu", "precision", "layout", *inputs, "step_s", *(f"bytes_{k}" for k in parts)])
        out.writerows(rows)


def main():
    options = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    for name in ("write", "reported", "check"):
        options.add_argument(f"--{name}", action="store_true")
    options.add_argument("--cases", metavar="FILE")
    options = options.parse_args()
    if "FARE_DATA" not in os.environ:
        sys.exit("model_fit.py: set FARE_DATA to the folder with predict/models.csv")
    study = Study(Path(os.environ["FARE_DATA"]))
    method = study.t["named"]
    errors = study.given_errors()
    failed = report_time("layout and batch given", study.t["source"], method, errors, REQUIRED["given"])
    kept = method != "adapter"
    print("  without adapters other than LoRA: %.3f / %.3f" % score(study.t["source"][kept], errors[kept]))
    planned = study.planned_errors()
    failed += report_time("planned", *planned, REQUIRED["planned"])
    failed += report_memory(study)
    sets = {"given": (study.t["source"], method, errors), "planned": planned}
    wide = {name: {m: width(e, s, ms, m, 0.9) for m in METHODS} for name, (s, ms, e) in sets.items()}
    if options.reported:
        report_reported(study, wide)
    for name, rows in tables(study, sets).items():
        if options.write:
            with open(ROOT / "share/estimate" / name, "w", newline="") as file:
                csv.writer(file, lineterminator="\n").writerows(rows)
        elif changed(name, rows):
            failed.append(f"share/estimate/{name} is not what the fit gives")
    if options.cases:
        write_cases(study, options.cases)
    for text in failed:
        print(f"missed: {text}")
    sys.exit(bool(failed) if options.check else 0)


if __name__ == "__main__":
    main()
