#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Public pairs of trainings (FARE_DATA/predict), estimated by src/advise/estimate.

Do the estimates equal those of bench/estimate_fit.py, and do they reach the figures of docs/estimating.md? folds.csv
has the fits that saw neither the target GPU nor the source (bench/estimate_fit.py --folds tests/advise/estimate), so each pair
is predicted by coefficients that do not know it. The devices are those of the fit, then those of share/devices.
"""
import csv
import json
import math
import os
import re
import subprocess
import sys
import tempfile
from bisect import bisect_left
from itertools import accumulate, combinations
from pathlib import Path

ROOT, BUILD, HERE = Path(os.environ["ROOT"]), Path(os.environ["BUILD"]), Path(__file__).resolve().parent
sys.path[:0] = [os.environ["TESTS"], str(ROOT / "bench")]
sys.dont_write_bytecode = True
import tap  # noqa: E402
from estimate_pairs import Devices, ordered_pairs, read_csv  # noqa: E402
from estimate_trace import h200_pairs, read_h200  # noqa: E402

DATA = Path(os.environ.get("FARE_DATA", "/nonexistent")) / "predict"
SHARE = ROOT / "share" / "estimate"
BUSY = {"gpu": 95, "mixed": 70, "host": 30}
# The kind of net is told by a word in its name.
WORD = {"attention": "bert", "conv": "resnet", "recommend": "dlrm", "recurrent": "lstm", "unknown": "net"}
CLASSES = {"gemm": "matrix products", "conv": "convolutions", "attention": "attention", "optimizer": "optimizer",
           "copy": "copies on the GPU", "elementwise": "element-wise and reductions", "reduce": "element-wise and reductions",
           "gather": "element-wise and reductions"}


def quantile(values, weights, q):
    order = sorted(range(len(values)), key=values.__getitem__)
    total = list(accumulate(weights[i] for i in order))
    return values[order[min(bisect_left(total, q * total[-1]), len(order) - 1)]]


def estimates(asked, own_devices=None):
    """[(time, low, high, class or reason)] for runs of one second."""
    with tempfile.TemporaryDirectory() as home:
        if own_devices:
            (Path(home) / "fare").mkdir()
            (Path(home) / "fare" / "gpus.csv").write_text(own_devices)
        run = subprocess.run([BUILD / "tests" / "advise" / "estimate" / "estimates"], input="\n".join(map(json.dumps, asked)), text=True,
                             capture_output=True, check=False, env={**os.environ, "XDG_CONFIG_HOME": home, "FARE_SHARE": str(ROOT / "share")})
    if run.returncode != 0:
        tap.report("estimates are made", False, run.stderr)
    lines = [line.split(" ", 3) for line in run.stdout.splitlines()]
    return [(float(t), float(low), float(high), rest) for t, low, high, rest in lines]


def fit_devices():
    """devices-checked.csv, as a user's gpus.csv."""
    columns = {"vendor": "vendor", "architecture": "arch", "units": "units", "base_mhz": "base_mhz", "boost_mhz": "boost_mhz",
               "memory_gbs": "mem_gbs", "fp32_tflops": "fp32_tflops", "tf32_tflops": "tf32_tflops", "fp16_tflops": "fp16_tflops"}
    lines = [["name", *columns]] + [["fit " + r["name"], *(r[c] for c in columns.values())] for r in read_csv(SHARE / "devices-checked.csv")]
    return "".join(",".join(line) + "\n" for line in lines)


def question(r, prefix="fit ", model=None):
    gpus = 1 if r["scale"] == "one" else 8
    run = {"name": WORD[r["kind"]], "precision": r["rate"], "machine": {"gpu": prefix + r["a"], "gpus": gpus}, "use": {"gpus": gpus}}
    if r["bound"] in BUSY:
        run["use"]["steady"] = {"gpu_percent": BUSY[r["bound"]]}
    return {"run": run, "gpu": prefix + r["b"], "gpus": gpus, "machines": 2 if r["scale"] == "nodes" else 1} | ({"model": model} if model else {})


def coefficients(r):
    return [float(r[c]) for c in ("matrix", "memory", "units", "clock_power", "matrix_unit_efficiency")]


def figures(rows, found):
    """Median and 90th percentile of the error in per cent, by relation."""
    out = {}
    for relation in ("same", "other"):
        at = [i for i, r in enumerate(rows) if r["relation"] == relation]
        errors = [100 * abs(found[i][0] / math.exp(rows[i]["y"]) - 1) for i in at]
        out[relation] = [quantile(errors, [rows[i]["w"] for i in at], q) for q in (0.5, 0.9)]
    return out


def covered(rows, found):
    """Share of the pairs inside their intervals: overall, and by source."""
    inside = {}
    for r, (_, low, high, _) in zip(rows, found):
        for key in ("", r["source"]):
            hit, total = inside.get(key, (0, 0))
            inside[key] = (hit + r["w"] * (low * 0.999 <= math.exp(r["y"]) <= high * 1.001), total + r["w"])
    return {k: 100 * a / b for k, (a, b) in inside.items()}


def combined(rows, found, count):
    """Measurements inside the interval of `count` sources together, by the rule of docs/estimating.md: {source: [inside, all]}."""
    correlation = next(float(r["value"]) for r in read_csv(SHARE / "constants.csv") if r["name"] == "source_correlation")
    groups, shares = {}, {}
    for r, (time, low, high, _) in zip(rows, found):
        key = tuple(r[k] for k in ("source", "software", "model", "precision", "batch", "gpus", "b"))
        groups.setdefault(key, []).append((math.log(high / low) / 2, math.log(time) - r["y"], r["w"], r["a"]))
    for key, items in groups.items():
        chosen = [sorted(c) for c in combinations(items, count) if len({i[3] for i in c}) == count]
        for c in chosen:
            c = [i for i in c if i[0] <= 2 * c[0][0]]
            weights = [1 / h ** 2 for h, *_ in c]
            error = sum(w * e for w, (_, e, *_) in zip(weights, c)) / sum(weights)
            share = sum(i[2] for i in c) / len(c) / len(chosen)
            inside = abs(error) <= 1e-3 + math.sqrt(correlation * c[0][0] ** 2 + (1 - correlation) / sum(weights))
            of = shares.setdefault(key[0], [0, 0])
            of[0] += share * inside
            of[1] += share
    return shares


def per_cent(shares):
    """Of [inside, all]."""
    inside, total = (sum(x) for x in zip(*shares))
    return 100 * inside / total


def documented(text, pattern):
    found = re.search(pattern, text)
    return [float(x) for x in found.groups()] if found else []


def replay(rows):
    text = (ROOT / "docs" / "estimating.md").read_text()
    folds = {(r["target"], r["source"], r["kind"]): coefficients(r) for r in read_csv(HERE / "folds.csv")}
    sample = {(r["left_out"], int(r["row"])): r for r in read_csv(HERE / "predictions.csv")}
    left_out = {"target": lambda r: (r["b"], ""), "source": lambda r: ("", r["source"]), "both": lambda r: (r["b"], r["source"])}
    labels = {"target": "target GPU, kind known", "source": "whole source, kind known", "both": "both at once, kind known"}
    devices = fit_devices()
    for name, key in left_out.items():
        found = estimates([question(r, model=folds[(*key(r), r["kind"])]) for r in rows], devices)
        wrong = [(r, found[i]) for (which, i), r in sample.items() if which == name
                 and (r["a"] != rows[i]["a"] or abs(found[i][0] / float(r["ratio"]) - 1) > 0.001)]
        tap.report(f"{name} left out: as bench/estimate_fit.py predicts, to 0.1 %", len(sample) > 150 and not wrong, wrong[:3])
        got = figures(rows, found)
        cell = r" \| ([\d.]+) / ([\d.]+)[^|]*"
        stated = documented(text, re.escape("| " + labels[name]) + cell + cell)
        same = [abs(a - b) < 0.06 for a, b in zip(stated, got["same"] + got["other"])]
        tap.report(f"{name} left out: errors as docs/estimating.md states them", len(same) == 4 and all(same), (stated, got))
        if name != "both":
            tap.report(f"{name} left out: 7 / 20 % and 12 / 35 %",
                       all(round(g, 1) <= most for g, most in zip(got["same"] + got["other"], (7, 20, 12, 35))), got)
        else:
            share = covered(rows, found)
            stated = documented(text, r"cover ([\d.]+) %, no source under (\d+) %")
            tap.report("intervals cover as docs/estimating.md states it", len(stated) == 2 and abs(share[""] - stated[0]) < 0.1
                       and min(share.values()) >= stated[1] - 0.5 and 87 <= share[""] <= 93, (stated, share))
            several = [combined(rows, found, n) for n in (2, 3)]
            got = [per_cent(s.values()) for s in several]
            stated = documented(text, r"\| GPU-bound \| 2 \| ([\d.]+) %[^\n]*\n\| \| 3 \| ([\d.]+) %")
            tap.report("intervals of several sources cover 87 %, as docs/estimating.md states it", len(stated) == 2
                       and all(abs(a - b) < 0.1 and a >= 87 for a, b in zip(got, stated)), (stated, got))
            every = {s: per_cent([n[s] for n in several if s in n]) for s in several[0]}
            overall = per_cent([x for n in several for x in n.values()])
            tap.report("intervals of several sources cover 87 to 93 % overall, and 80 % of every source",
                       87 <= round(overall, 1) <= 93 and min(every.values()) >= 80, (overall, every))


def shipped(rows):
    """The program as it is: shipped coefficients and device table. These coefficients know the pairs."""
    names = {r["name"] for r in read_csv(ROOT / "share" / "devices" / "gpus.csv")}
    rows = [r for r in rows if {r["a"], r["b"]} <= names]
    found = estimates([question(r, prefix="") for r in rows])
    answered = [i for i, f in enumerate(found) if f[0] > 0]
    tap.report("every pair of shipped devices has an estimate", len(answered) == len(rows) > 2000,
               [(rows[i], f) for i, f in enumerate(found) if f[0] <= 0][:2])
    got = figures(rows, found)
    tap.report("shipped devices: 7 / 20 % and 12 / 35 %",
               all(round(g, 1) <= most for g, most in zip(got["same"] + got["other"], (7, 20, 12, 35))), got)
    share = covered(rows, found)
    tap.report("shipped devices: intervals cover 87 to 93 % and 80 % of every source", 87 <= share[""] <= 93 and min(share.values()) >= 80, share)


def traced():
    """One H200 at four clocks, with the rates measured at each."""
    rates, runs = read_h200(DATA / "h200-devices.csv")
    powers = {r["class"]: float(r["units"]) for r in read_csv(SHARE / "classes.csv")}
    pairs = [p for p in h200_pairs(rates, runs, (powers["gemm"], powers["copy"])) if p[0].device[0] == p[1].device[0] == 132]

    def measured(device):
        return {"list": [{"device": "gpu 0", "operation": "product", "precision": p, "per_s": rates[device][p] * 1e12} for p in ("bf16", "tf32", "fp32")]
                + [{"device": "gpu 0", "operation": "copy", "per_s": rates[device]["copy"] * 1e9}]}
    asked = []
    for run, other, _ in pairs:
        busy = min(run.busy, 1)
        total = sum(run.classes.values())
        precision = next(p for p in ("bf16", "tf32", "fp32") if p in run.net)
        work = [{"name": CLASSES[c], "precision": precision, "share": ms / total * busy} for c, ms in run.classes.items()]
        record = {"machine": {"gpu": "H200", "gpus": 1, "rates": measured(run.device)},
                  "use": {"gpus": 1, "gpu_list": [{"clock_mhz": run.device[1]}]},
                  "account": {"busy_share": busy, "work": work, "precision": precision}}
        asked.append({"run": record, "gpu": "H200", "gpus": 1, "clock_mhz": other.device[1], "rates": measured(other.device)})
    found = estimates(asked)
    wrong = [(r.net, r.device, o.device, x / r.step, f) for (r, o, x), f in zip(pairs, found) if abs(f[0] * r.step / x - 1) > 0.001]
    tap.report("traced: as bench/estimate_trace.py predicts, to 0.1 %", len(pairs) == 120 and not wrong, wrong[:3])
    errors = [100 * abs(f[0] * r.step / o.step - 1) for (r, o, _), f in zip(pairs, found)]
    one = [1] * len(errors)
    got = quantile(errors, one, 0.5), quantile(errors, one, 0.9)
    tap.report("traced: median 6 %, 90th percentile 15 %", got[0] <= 6 and got[1] <= 15, got)
    inside = sum(low <= o.step / r.step <= high for (r, o, _), (_, low, high, _) in zip(pairs, found)) / len(pairs)
    tap.report("traced: intervals cover 87 %", inside >= 0.87, inside)


if not DATA.is_dir():
    tap.skip("public pairs", "needs FARE_DATA/predict")
else:
    every = ordered_pairs(DATA, Devices(SHARE / "devices-checked.csv"), [(r["pattern"], r["kind"]) for r in read_csv(SHARE / "kinds.csv")])
    bound = [r for r in every if r["vendor"] == "nvidia-nvidia" and r["bound"] == "gpu" and not r["other_software"] and not r["extra"]]
    replay(bound)
    shipped(bound)
    traced()
tap.done()
