#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Public trainings on several GPUs (FARE_DATA/predict), estimated by src/advise/estimate.

Do the estimates equal those of bench/estimate_scale.py, do their intervals cover what was measured, and are the figures
of docs/estimating.md those of the tables? From one GPU to several, from several to others, and to another GPU at once.
"""
import json
import math
import os
import re
import subprocess
import sys
from collections import defaultdict
from itertools import permutations
from pathlib import Path

ROOT, BUILD = Path(os.environ["ROOT"]), Path(os.environ["BUILD"])
sys.path[:0] = [os.environ["TESTS"], str(ROOT / "bench")]
sys.dont_write_bytecode = True
import estimate_scale as scale  # noqa: E402
import tap  # noqa: E402
from estimate_pairs import TF32_BY_DEFAULT, Devices, kind_of, read_csv  # noqa: E402

DATA, SHARE = Path(os.environ.get("FARE_DATA", "/nonexistent")) / "predict", ROOT / "share"
BUSY = {"gpu": 95, "mixed": 70, "host": 30}
KIND = {"attention": "bert", "conv": "resnet", "recommend": "dlrm", "recurrent": "lstm", "unknown": "net"}
DOCS = (ROOT / "docs" / "estimating.md").read_text()
KINDS = [(r["pattern"], r["kind"]) for r in read_csv(SHARE / "estimate" / "kinds.csv")]


def question(row, gpus, target, count, step_s, parameters=True):
    """A run of one second on `gpus` GPUs of the row's kind; asked for `count` of the target."""
    fp32 = "tf32" if row.source in TF32_BY_DEFAULT else "fp32"
    run = {"name": KIND[kind_of(row.model, KINDS)], "precision": "fp16" if row.precision == "fp16" else fp32,
           "machine": {"gpu": scale.NAMES.get(row.gpu, row.gpu), "gpus": gpus}, "use": {"gpus": gpus}}
    if row.bound in BUSY:
        run["use"]["steady"] = {"gpu_percent": BUSY[row.bound]}
    if parameters and row.parameters and step_s:
        run |= {"parameters": int(row.parameters), "step_ms": 1000 * step_s}
    return {"run": run, "gpu": scale.NAMES.get(target, target), "gpus": count, "machines": 2 if row.link == "nodes" else 1}


def estimates(asked):
    """[(time, low, high)] for runs of one second."""
    run = subprocess.run([BUILD / "tests" / "advise" / "estimate" / "estimates"], input="\n".join(map(json.dumps, asked)), text=True,
                         capture_output=True, check=False, env={**os.environ, "FARE_SHARE": str(SHARE)})
    if run.returncode != 0:
        tap.report("estimates are made", False, run.stderr)
    return [tuple(map(float, line.split(" ", 3)[:3])) for line in run.stdout.splitlines()]


def covered(weights, true, found):
    hits = sum(w for w, t, (_, low, high) in zip(weights, true, found) if low * 0.999 <= t <= high * 1.001)
    return 100 * hits / sum(weights)


def from_one(rows, table, constants):
    for parameters in (True, False):
        some = [r for r in rows if not parameters or scale.is_ring(r)]
        found = estimates([question(r, 1, r.gpu, r.gpus, r.step_s, parameters) for r in some])
        wrong = []
        for r, (time, _, _) in zip(some, found):
            c = table[scale.class_key(r, parameters)]
            best = scale.modelled(r, constants) * float(c["median"]) if parameters else float(c["median"])
            best = min(best, float(table[scale.class_key(r, False)]["high90"]))
            if abs(time * r.gpus * best - 1) > 0.001:
                wrong.append((r, time, 1 / (r.gpus * best)))
        words = f"from one GPU, parameters {'known' if parameters else 'unknown'}"
        tap.report(f"{words}: as bench/estimate_scale.py predicts, to 0.1 %", len(some) > 1000 and not wrong, wrong[:2])
        shares = {}
        for source in ("", *sorted({r.source for r in some})):
            own = [(r.weight, 1 / (r.gpus * r.efficiency), f) for r, f in zip(some, found) if source in ("", r.source)]
            shares[source] = covered(*zip(*own))
        tap.report(f"{words}: intervals cover 87 to 93 %, and 80 % of every source", 87 <= round(shares[""], 1) <= 93
                   and min(shares.values()) >= 80, shares)


def runs_of(rows, *names):
    """Rows by the attributes that a run keeps."""
    found = defaultdict(list)
    for r in rows:
        found[tuple(getattr(r, n) for n in ("source", "model", "precision", "run", *names))].append(r)
    return found.values()


def from_several(rows):
    """From n to m GPUs of one kind; the step on n is that of one over its efficiency."""
    pairs = [(a, b) for some in runs_of([r for r in rows if r.link != "nodes"], "gpu") for a, b in permutations(some, 2)]
    found = estimates([question(a, a.gpus, a.gpu, b.gpus, a.step_s / a.efficiency) for a, b in pairs])
    share = covered([a.weight for a, _ in pairs], [a.gpus * a.efficiency / (b.gpus * b.efficiency) for a, b in pairs], found)
    tap.report("from several GPUs to more or fewer: intervals cover as docs/estimating.md states it",
               len(pairs) > 3000 and share >= 87 and f"From n to m GPUs {share:.1f} % are inside" in DOCS, (len(pairs), share))


def to_another(rows):
    """From one GPU to several of another kind."""
    nvidia = [r for r in rows if r.link != "nodes" and r.bound in BUSY]
    pairs = [(a, b) for some in runs_of(nvidia) for a, b in permutations(some, 2) if a.gpu != b.gpu]
    # Each source GPU once for each target and count: any of its rows has its speed on one GPU.
    pairs = list({(a.source, a.model, a.precision, a.run, a.gpu, b.gpu, b.gpus): (a, b) for a, b in pairs}.values())
    found = estimates([question(a, 1, b.gpu, b.gpus, a.step_s) for a, b in pairs])
    known = [(a, b, f) for (a, b), f in zip(pairs, found) if f[0] > 0]
    share = covered([b.weight for _, b, _ in known], [a.one / (b.gpus * b.efficiency * b.one) for a, b, _ in known], [f for _, _, f in known])
    tap.report("from one GPU to several of another kind: intervals cover as docs/estimating.md states it",
               len(known) > 2000 and share >= 87 and f"another kind it is {share:.1f} %" in DOCS, (len(pairs), len(known), share))


def documented(rows, table):
    predicted = scale.held_out(rows)
    words = {"pcie": "PCIe", "nvlink": "NVLink", "nodes": "several machines", "gpu": "GPU-bound", "mixed": "mixed", "host": "host-bound"}
    ends = scale.fit_ends(rows, predicted)
    made = scale.keyed(scale.classes(scale.chosen(rows, predicted), ends))
    tap.report("scaling.csv is what the rule makes", all(made[k][c] == row[c] for k, row in table.items() for c in ("median", "low90", "high90")), ends)
    others = scale.left_out(rows, predicted, ends)
    wrong = []
    for known, link, bound, count, middle, most in scale.errors(rows, predicted, others):
        line = f"| {words[link]}, {words.get(bound)}, {'known' if known else 'unknown'} | {middle:.1f} / {most:.1f} | {count} |"
        if bound != "unknown" and line not in DOCS:
            wrong.append(line)
    tap.report("errors as docs/estimating.md states them", not wrong, wrong)
    shipped = dict.fromkeys([*{r.source for r in rows}, "dle"], table)
    for tables, pattern in ((others, r"from the other sources alone covered ([\d.]+) and ([\d.]+) %"),
                            (shipped, r"as shipped cover ([\d.]+) and ([\d.]+) %, no source under (\d+) %")):
        share = scale.coverage(rows, predicted, tables)
        stated = [float(x) for x in re.search(pattern, DOCS).groups()]
        good = all(abs(a - share[k, ""]) < 0.1 for a, k in zip(stated, (True, False))) and 87 <= min(stated[:2]) <= max(stated[:2]) <= 93
        tap.report(f"intervals cover as docs/estimating.md states it: {pattern[:24]}", good and min(share.values()) >= (stated[2] - 0.5 if stated[2:] else 0),
                   (stated, share))
    apart = scale.read_apart(DATA, DEVICES, SHARE)
    share = scale.coverage(apart, [1] * len(apart), shipped)[False, ""]
    stated = float(re.search(r"dle, which no table saw: ([\d.]+) %", DOCS)[1])
    tap.report("rows that no table saw are covered as stated", len(apart) > 200 and abs(stated - share) < 0.1 and share >= 87, (len(apart), share))


if not DATA.is_dir():
    tap.skip("public trainings on several GPUs", "needs FARE_DATA/predict")
else:
    DEVICES = Devices(SHARE / "estimate" / "devices-checked.csv")
    every = scale.read_rows(DATA, DEVICES, SHARE)
    shipped_table = scale.keyed(read_csv(SHARE / "estimate" / "scaling.csv"))
    fitted = {r["name"]: float(r["value"]) for r in read_csv(SHARE / "estimate" / "constants.csv")}
    tap.report("the ring's constants are those of the fit", all(math.isclose(v, fitted[k]) for k, v in scale.fit(every).items()), fitted)
    from_one(every, shipped_table, fitted)
    from_several(every)
    to_another(every)
    documented(every, shipped_table)
tap.done()
