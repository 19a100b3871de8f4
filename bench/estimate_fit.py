#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Fits the estimates for GPUs where a run was not measured, and measures how far off they are.

    FARE_DATA=DIR bench/estimate_fit.py [--neusight DIR] [-o share/estimate] [--check | --choices | --reached | --folds DIR] [--report FILE]

Reads DIR/predict (public trainings measured on several GPUs) and share/estimate/{devices-checked,kinds}.csv;
writes share/estimate/{model,bounds,classes,errors,scaling}.csv. docs/estimating.md explains them. --neusight
names a clone of github.com/sitar-lab/NeuSight, whose times per operator give the errors of traced runs on
another architecture; without it those rows stay as they are. --check writes nothing and fails if a table
would change or a required figure is missed. --choices shows the figures with other choices of data instead; --reached
those with rates of share/devices/reached.csv where both devices have them; --folds
writes the fits with a GPU or a source left out, and some of their predictions, for tests/advise/estimate. Needs numpy and scipy; a minute on one core.
"""
import argparse
import csv
import io
import math
import os
import sys
from collections import defaultdict
from pathlib import Path

import numpy as np
from scipy.optimize import least_squares

sys.path.insert(0, str(Path(__file__).resolve().parent))
import estimate_evidence as evidence  # noqa: E402
import estimate_scale  # noqa: E402
from estimate_pairs import CHOICES, OTHER_SOFTWARE, Devices, number, ordered_pairs, read_csv, relation  # noqa: E402
from estimate_scale import COVERED, EVERY_SOURCE, is_covered  # noqa: E402
from estimate_trace import fit_powers, h200_pairs, neusight_rates, predict_trace, read_h200, read_neusight  # noqa: E402

HERE = Path(__file__).resolve().parent
CROSS_BATCH = 0.3  # weight of pairs with unequal batches, which are used for the fit alone
KINDS = ("unknown", "attention", "conv", "recommend", "recurrent")
LEVELS = (0.5, 0.8, 0.9, 0.95)
FEW = 30  # fewer ordered pairs than this: the class borrows its interval
JUDGED = 20  # a source with fewer ordered pairs is not judged by itself
# Required of GPU-bound runs on one or several GPUs: median and 90th percentile of the error, per cent.
REQUIRED = {"same": (7, 20), "other": (12, 35)}
CPU_TFLOPS = 0.742  # c4.4xlarge: 8 cores x 32 fp32 operations x 2.9 GHz
# Half-widths for CPU to CPU as logarithms: 27 % in the median and 62 % at the 90th percentile, read as 1 / (1 - x).
# The pairs of estimate_cpus.csv are few and of small nets: they can widen this, not narrow it.
CPU_TO_CPU = (0.31, 0.75, 0.97, 1.2)
CPU_POWER = 0.25  # how far a step follows the rate of a thread: assumed, since the pairs have three processors


class Table:
    """Ordered pairs as columns."""

    def __init__(self, data, devices, kinds, otherwise=()):
        self.rows = ordered_pairs(data, devices, kinds, otherwise)
        for name in ("source", "model", "a", "b", "bound", "scale", "relation", "kind", "extra", "vendor", "y", "w", "group",
                     "other_software"):
            setattr(self, name, np.array([r[name] for r in self.rows]))
        self.fa = np.array([devices.features(r["a"], r["rate"]) for r in self.rows])
        self.fb = np.array([devices.features(r["b"], r["rate"]) for r in self.rows])
        # One direction is enough for the fit: the other is its mirror image.
        self.up = (self.fb[:, :2] - self.fa[:, :2]).sum(1) + 1e-9 * np.arange(len(self.y)) > 0


# t = 1 / (F g e) + u1 / B + u2 / (S g): F matrix rate, B bandwidth, S units x clock, g = (base/boost)^p, and
# e < 1 where matrix units do the products. par = (log u1, log u2, p, log e), in units near 1.
CENTRE = np.array([math.log(50), math.log(800), math.log(150), math.log(0.7), 0])


def log_time(par, features):
    f = (features - CENTRE).T
    g = par[2] * f[3]
    terms = -f[0] - g - par[3] * f[4], par[0] - f[1], par[1] - f[2] - g
    top = np.maximum(np.maximum(terms[0], terms[1]), terms[2])
    return top + np.log(np.exp(terms[0] - top) + np.exp(terms[1] - top) + np.exp(terms[2] - top))


def solve(fa, fb, y, w, start, prior, strength):
    root = np.sqrt(w)

    def residuals(par):
        return np.concatenate([root * (y - log_time(par, fb) + log_time(par, fa)), strength * (par - prior)])
    return least_squares(residuals, start, loss="soft_l1", f_scale=0.06, max_nfev=60).x


def fit(t, rows, start=None):
    """Parameters for each kind of net, drawn towards those of all nets ('unknown')."""
    rows = rows & t.up & t.fit_rows
    w = np.where(t.extra, CROSS_BATCH, 1) * t.w
    zero = np.zeros(4)
    common = solve(t.fa[rows], t.fb[rows], t.y[rows], w[rows], zero if start is None else start["unknown"], zero, 0.1)
    result = {"unknown": common}
    for kind in KINDS[1:]:
        r = rows & (t.kind == kind)
        result[kind] = solve(t.fa[r], t.fb[r], t.y[r], w[r], common, common, 0.4) if r.sum() >= 5 else common
    return result


def three_exponents(t, train, test):
    """The formula to beat: t = F^-a B^-b S^-c, least absolute error."""
    x = -(t.fb - t.fa)[:, :3]
    train = train & t.fit_rows & ~t.extra
    seen, y, weights = x[train], t.y[train], t.w[train]
    w = weights
    for _ in range(30):
        b = np.linalg.solve(seen.T @ (seen * w[:, None]), seen.T @ (w * y))
        w = weights / np.maximum(abs(y - seen @ b), 0.03)
    return x[test] @ b


def predict(t, rows, par, known=True):
    out = np.empty(rows.sum())
    kinds = t.kind[rows] if known else np.full(len(out), "unknown")
    for kind in set(kinds):
        k = kinds == kind
        out[k] = log_time(par[kind], t.fb[rows][k]) - log_time(par[kind], t.fa[rows][k])
    return out


def held_out(t, full, by_target, by_source, folds=None):
    """Predictions of every pair by fits that saw neither its target GPU nor its source (as asked for): kind
    known, kind unknown, three exponents. `folds` collects the fits by (target, source)."""
    known, unknown, simple = (np.full(len(t.y), np.nan) for _ in range(3))
    evaluated = ~t.extra
    for source in sorted(set(t.source[evaluated])) if by_source else [None]:
        for target in sorted(set(t.b[evaluated & ((t.source == source) | (source is None))])) if by_target else [None]:
            test, train = evaluated.copy(), np.ones(len(t.y), bool)
            if source is not None:
                test &= t.source == source
                train &= t.source != source
            if target is not None:
                test &= t.b == target
                train &= (t.a != target) & (t.b != target)
            par = full if (train | ~t.fit_rows | ~t.up).all() else fit(t, train, full)
            if folds is not None:
                folds[target or "", source or ""] = par
            known[test] = predict(t, test, par)
            unknown[test] = predict(t, test, par, False)
            simple[test] = three_exponents(t, train, test)
    return known, unknown, simple


def quantile(values, weights, q):
    order = np.argsort(values)
    total = np.cumsum(weights[order])
    return values[order][min(np.searchsorted(total, q * total[-1]), len(order) - 1)]


def per_cent(y, prediction):
    return abs(np.exp(prediction - y) - 1) * 100


def lambdas(t, prediction, rows):
    """Which power of the GPU's ratio a run that is not bound by the GPU follows: least mean of the error, capped."""
    grid = np.arange(0, 1.01, 0.05)
    errors = [np.average(np.minimum(abs(t.y[rows] - g * prediction[rows]), 1), weights=t.w[rows]) for g in grid]
    return float(grid[int(np.argmin(errors))])


def damped(t, prediction, used):
    """prediction^lambda for mixed, host and unknown runs, lambda learnt from other sources; and the final ones."""
    out, final = prediction.copy(), {"gpu": 1.0}
    for bound in ("mixed", "host", "unknown"):
        rows = used & ((t.bound == bound) if bound != "unknown" else np.ones(len(t.y), bool))
        final[bound] = lambdas(t, prediction, rows)
        for source in set(t.source[t.bound == bound]):
            rest = rows & (t.source != source)
            here = (t.bound == bound) & (t.source == source)
            out[here] = prediction[here] * (lambdas(t, prediction, rest) if rest.any() else final[bound])
    return out, final


def factors(residuals, weights, sources):
    """Half-widths (as logarithms) at LEVELS: quantiles of |error|. Those of 90 % and more are widened until each
    source is covered to eight ninths of the level (80 % of a 90 % interval)."""
    size = abs(residuals)
    out = [quantile(size, weights, q) for q in LEVELS]
    for source in set(sources):
        s = sources == source
        if s.sum() >= 4:
            out = [max(h, quantile(size[s], weights[s], q * 8 / 9)) if q >= 0.9 else h for h, q in zip(out, LEVELS)]
    return out


def coverage(t, residuals, rows, classes):
    """Share of pairs inside the nominal 90 % interval made from the other sources, overall and by source."""
    inside, known = np.zeros(len(t.y), bool), np.zeros(len(t.y), bool)
    for c in set(classes[rows]):
        r = rows & (classes == c)
        for source in set(t.source[r]):
            here, rest = r & (t.source == source), r & (t.source != source)
            if rest.sum() >= FEW:
                inside[here] = abs(residuals[here]) <= factors(residuals[rest], t.w[rest], t.source[rest])[2]
                known[here] = True
    share = {s: (np.average(inside[k], weights=t.w[k]), int(k.sum())) for s in sorted(set(t.source[known]))
             if (k := known & (t.source == s)).any()}
    return np.average(inside[known], weights=t.w[known]), share


def error_row(key, t, residuals, rows):
    h = factors(residuals[rows], t.w[rows], t.source[rows])
    e = abs(np.exp(-residuals[rows]) - 1) * 100
    return dict(zip(("relation", "bound", "scale", "trace", "kind"), key)) | {
        "median_percent": f"{quantile(e, t.w[rows], 0.5):.1f}", "p90_percent": f"{quantile(e, t.w[rows], 0.9):.1f}",
        **{f"factor{int(q * 100)}": f"{math.exp(x):.3f}" for q, x in zip(LEVELS, h)},
        "pairs": int(rows.sum()) // 2,
        "nets": len(set(t.group[rows])), "gpus": len(set(t.b[rows]) | set(t.a[rows])),
        "sources": ";".join(sorted(set(t.source[rows]))), "borrowed": ""}


def error_table(t, known, unknown):
    """Quantiles for each class. A class with few pairs borrows from the same class with fewer conditions,
    and is never narrower than a class that is easier."""
    rows, used = [], ~t.extra & ~t.other_software
    for which, prediction in (("known", known), ("unknown", unknown)):
        residuals = t.y - prediction
        for rel in ("same", "other", "amd", "vendor"):
            for bound in ("gpu", "mixed", "host", "unknown"):
                for scale in ("one", "several", "nodes"):
                    base = used & (t.relation == rel) & (which == "unknown" or t.kind != "unknown")
                    tries = [("", base & bound_is(t, bound) & (t.scale == scale)),
                             ("all counts of GPUs", base & bound_is(t, bound)),
                             ("all runs", base)]
                    borrowed, pick = next(((b, r) for b, r in tries if r.sum() >= FEW), tries[-1])
                    row = error_row((rel, bound, scale, "no", which), t, residuals, pick)
                    row["borrowed"] = borrowed
                    rows.append(row)
    ordered(rows)
    return rows


def ordered(rows):
    """A harder class (more GPUs, less bound by the GPU, farther device) gets no narrower interval."""
    table = {(r["relation"], r["bound"], r["scale"], r["kind"]): r for r in rows}
    easier = {"other": "same", "vendor": "other", "amd": "other", "mixed": "gpu", "host": "mixed", "several": "one", "nodes": "several"}
    for r in rows:
        for at in range(3):
            key = [r["relation"], r["bound"], r["scale"], r["kind"]]
            if key[at] in easier:
                key[at] = easier[key[at]]
                below = table[tuple(key)]
                for q in LEVELS:
                    name = f"factor{int(q * 100)}"
                    if float(r[name]) < float(below[name]):
                        r[name] = below[name]
                        r["borrowed"] = r["borrowed"] or "easier class"


def shipped_coverage(report, t, predictions, gpu, every, errors):
    """Coverage of the table that ships: predictions still held out, widths from all sources."""
    for kind, prediction in predictions.items():
        inside = abs(t.y - prediction) <= widths_of(t, errors, kind) + 1e-3
        for what, rows, required in (("GPU-bound", gpu, True), ("GPU-bound, one GPU", gpu & (t.scale == "one"), True),
                                     ("GPU-bound, several GPUs", gpu & (t.scale == "several"), False), ("all runs", every, False)):
            shares = {s: 100 * np.average(inside[r], weights=t.w[r]) for s in ("", *sorted(set(t.source[rows])))
                      if (r := rows & ((t.source == s) | (s == ""))).sum() >= JUDGED}
            report.covered(f"{what}, kind {kind}, as shipped", shares, required)


def bound_is(t, bound):
    return np.ones(len(t.y), bool) if bound == "unknown" else t.bound == bound


def traced(args, devices, model):
    """Errors of traced runs as (rates, relation, run, other, predicted); and the final powers of classes.csv.
    Each net of the H200 is predicted with powers fitted to the other nets."""
    rates, runs = read_h200(args.data / "h200-devices.csv")
    nets = sorted({r.net for r in runs})
    found = []
    for net in nets:
        powers = fit_powers(rates, runs, set(nets) - {net})
        found += [("measured", "same", r, o, x) for r, o, x in h200_pairs(rates, runs, powers, {net})]
    if args.neusight:
        found += traced_neusight(args.neusight, devices, model["attention"])
    return found, fit_powers(rates, runs, set(nets))


def traced_neusight(clone, devices, par):
    labels, reached = read_neusight(clone), neusight_rates(clone)
    share = np.nanmedian([b / number(devices[d], "mem_gbs") for d, (_, b) in reached.items()])

    def sheet(name):
        f = np.array(devices.features(name, "fp32"))
        return math.exp(f[0] + par[2] * (f[3] - CENTRE[3])), math.exp(f[1]), 1.0

    def measured(name):
        flops, bandwidth = reached[name]
        return flops, bandwidth if bandwidth == bandwidth else share * number(devices[name], "mem_gbs"), 1.0
    for r in labels:
        for o in labels:
            if r.net == o.net and r.device != o.device:
                rel = relation(devices[r.device], devices[o.device])
                yield "sheet", rel, r, o, predict_trace(r, sheet(r.device), sheet(o.device), (0, 0))
                if r.device in reached and o.device in reached:
                    yield "measured", rel, r, o, predict_trace(r, measured(r.device), measured(o.device), (0, 0))


def trace_rows(found):
    rows = []
    for rates in ("measured", "sheet"):
        for rel in ("same", "other", "amd", "vendor"):
            for bound, low, high in (("gpu", 0.9, 9), ("mixed", 0.5, 0.9), ("host", 0, 0.5)):
                pairs = [(r, o, x) for q, k, r, o, x in found if q == rates and k == rel and low <= r.busy < high]
                if pairs:
                    rows.append(trace_row(rates, rel, bound, pairs))
    return rows


def not_surer(traces, errors):
    """A traced class of few pairs is no narrower than the same class without a trace."""
    plain = {(r["relation"], r["bound"], r["scale"]): r for r in errors if r["kind"] == "known"}
    for r in traces:
        if 2 * int(r["pairs"]) < FEW:
            for name in (f"factor{int(q * 100)}" for q in LEVELS):
                r[name] = max(r[name], plain[r["relation"], r["bound"], r["scale"]][name], key=float)
            r["borrowed"] = "few pairs"


def trace_row(rates, rel, bound, pairs):
    residual = np.array([math.log(o.step / x) for _, o, x in pairs])
    one = np.ones(len(pairs))
    error = abs(np.exp(-residual) - 1) * 100
    return {"relation": rel, "bound": bound, "scale": "one", "trace": rates, "kind": "known",
            "median_percent": f"{quantile(error, one, 0.5):.1f}", "p90_percent": f"{quantile(error, one, 0.9):.1f}",
            **widths([quantile(abs(residual), one, q) for q in LEVELS]),
            "pairs": len(pairs) // 2, "nets": len({r.net for r, _, _ in pairs}),
            "gpus": len({r.device for r, _, _ in pairs} | {o.device for _, o, _ in pairs}),
            "sources": ";".join(sorted({r.source for r, _, _ in pairs})), "borrowed": ""}


def cpu_pairs():
    """Ordered pairs of bench/estimate_cpus.csv: (net, log of time ratio, threads of both, log of the ratio of rates per thread)."""
    runs = defaultdict(list)
    for r in read_csv(HERE / "estimate_cpus.csv"):
        threads = int(r["threads"])
        runs[r["source"], r["software"], r["net"]].append((threads, float(r["tflops"]) / threads, float(r["ms"])))
    return [(key, math.log(b[2] / a[2]), a[0], b[0], math.log(a[1] / b[1])) for key, values in runs.items()
            for a in values for b in values if a != b]


def cpu_residual(serial, pair):
    _, y, a, b, x = pair
    return y - math.log((serial + (1 - serial) / b) / (serial + (1 - serial) / a)) - CPU_POWER * x


def cpu_serial(pairs):
    """The part of a step on one thread that more threads do not shorten: least mean of the error."""
    grid = np.arange(0.02, 0.6, 0.01)
    return float(grid[int(np.argmin([np.mean([abs(cpu_residual(s, p)) for p in pairs]) for s in grid]))])


def cpu_to_cpu(common):
    """Each net predicted with the serial part of the other nets."""
    pairs = cpu_pairs()
    serial = {net: cpu_serial([q for q in pairs if q[0][2] != net]) for net in {p[0][2] for p in pairs}}
    residual = np.array([cpu_residual(serial[p[0][2]], p) for p in pairs])
    one, error = np.ones(len(pairs)), abs(np.exp(-residual) - 1) * 100
    half = [max(quantile(abs(residual), one, q), h) for q, h in zip(LEVELS, CPU_TO_CPU)]
    return cpu_serial(pairs), {
        "relation": "cpu", **common, "median_percent": f"{quantile(error, one, 0.5):.1f}",
        "p90_percent": f"{quantile(error, one, 0.9):.1f}", "pairs": len(pairs) // 2, "nets": len({p[0] for p in pairs}),
        "gpus": 0, "sources": "bench/estimate_cpus.csv", "borrowed": "no narrower than predict/README.md", **widths(half)}


def thread_gflops():
    """fp32 rate of a virtual CPU of each processor in the device table, at the middle of its clocks."""
    rates = []
    for r in read_csv(HERE.parent / "share" / "devices" / "cpus.csv"):
        clocks = [float(r[c]) / 1000 for c in ("base_mhz", "boost_mhz") if r[c]]
        if clocks:
            rates.append(float(r["fp32_per_cycle"]) * float(np.mean(clocks)) / float(r["threads_per_core"]))
    return np.array(rates)


def middling_cpu(report, serial, row):
    """A processor that nobody names: the table's median, and how far its processors are from that. A step is taken to follow the
    rate in full, for the width: the pairs do not tell how far it does."""
    rates = thread_gflops()
    middle = float(np.median(rates))
    far = quantile(abs(np.log(rates / middle)), np.ones(len(rates)), 0.9)
    half = math.hypot(math.log(float(row["factor90"])), far)
    runs = defaultdict(list)
    for r in read_csv(HERE / "estimate_cpus.csv"):
        threads = int(r["threads"])
        runs[r["source"], r["software"], r["net"]].append((threads, 1000 * float(r["tflops"]) / threads, float(r["ms"])))
    inside = [abs(cpu_residual(serial, (key, math.log(b[2] / a[2]), a[0], b[0], math.log(a[1] / middle)))) <= half
              for key, values in runs.items() for a in values for b in values if a != b]
    report.line(f"A processor that is not named: {middle:.1f} GFLOP/s a virtual CPU, x/÷ {math.exp(far):.2f} among {len(rates)}; with that, "
                f"{100 * np.mean(inside):.1f} % of {len(inside)} ordered pairs lie inside x/÷ {math.exp(half):.2f}")
    source = "share/devices/cpus.csv: a virtual CPU at the middle of its clocks, "
    return [{"name": "cpu_middling_gflops", "value": f"{middle:.1f}", "pairs": len(rates), "source": source + "the median"},
            {"name": "cpu_middling_factor", "value": f"{math.exp(far):.3f}", "pairs": len(rates), "source": source + "90 % lie as near to it"}]


def cpu_rows(data, devices, report):
    """From a CPU to GPUs: the least time on a GPU over that by the ratio of peak rates, halved."""
    found = []
    for p in read_csv(data / "pairs.csv"):
        if "c4.4xlarge" in (p["gpu_a"], p["gpu_b"]):
            on_cpu = p["gpu_a"] == "c4.4xlarge"
            peak = max(devices.matrix_rate(p["gpu_b" if on_cpu else "gpu_a"], k)[0] for k in ("fp32", "tf32", "fp16"))
            found.append(float(p["ratio_b_over_a"]) ** (1 if on_cpu else -1) * peak / CPU_TFLOPS)
    common = {"bound": "unknown", "scale": "one", "trace": "no", "kind": "unknown"}
    serial, row = cpu_to_cpu(common)
    constants = [{"name": "cpu_to_gpu_least", "value": f"{min(found) / 2:.2f}", "pairs": len(found),
                  "source": "jcjohnson: one c4.4xlarge against 11 GPUs, convolutional nets in fp32: half of the least time over that by peak rates"},
                 {"name": "cpu_serial", "value": f"{serial:.2f}", "pairs": row["pairs"],
                  "source": "bench/estimate_cpus.csv: small nets on 1 to 32 threads"},
                 {"name": "cpu_power", "value": f"{CPU_POWER:.2f}", "pairs": 0, "source": "assumed: the pairs have three processors"},
                 *middling_cpu(report, serial, row)]
    return [row], constants


def widths(half):
    return {f"factor{int(q * 100)}": f"{math.exp(h):.3f}" for q, h in zip(LEVELS, half)}


def scale_rows(data, devices, share, report):
    """scaling.csv and the constants of the ring; the figures of several GPUs."""
    rows = estimate_scale.read_rows(data, devices, share)
    predicted = estimate_scale.held_out(rows)
    ends = estimate_scale.fit_ends(rows, predicted)
    table = estimate_scale.classes(estimate_scale.chosen(rows, predicted), ends)
    shipped = dict.fromkeys([*{r.source for r in rows}, "dle"], estimate_scale.keyed(table))
    others = estimate_scale.left_out(rows, predicted, ends)
    report.line()
    report.line("| several GPUs, source left out: link, bound by, parameters | rows | median / 90th percentile |")
    report.line("|---|---|---|")
    for known, link, bound, count, middle, most in estimate_scale.errors(rows, predicted, others):
        report.line(f"| {link}, {bound}, {'known' if known else 'unknown'} | {count} | {middle:.1f} / {most:.1f} |")
    apart = estimate_scale.read_apart(data, devices, share)
    for known, (tail, stretch) in sorted(ends.items(), reverse=True):
        what = f"from one GPU to several, parameters {'known' if known else 'unknown'}"
        report.line(f"Several GPUs, {what}: {100 * tail:.0f} % of the rows beyond each end, then wider by {100 * stretch - 100:.0f} % as logarithms")
        report.covered(f"{what}, as shipped", estimate_scale.covered(rows, predicted, shipped, known), True)
        report.covered(f"{what}, made from the other sources", estimate_scale.covered(rows, predicted, others, known))
    report.covered("from one GPU to several, of dle", estimate_scale.covered(apart, [1] * len(apart), shipped, False))
    ring = [r for r in rows if estimate_scale.is_ring(r) and r.bound == "gpu"]
    source = "gradients over PCIe, GPU-bound: " + ", ".join(sorted({r.source for r in ring}))
    return table, [{"name": name, "value": f"{value:.4f}", "pairs": len(ring), "source": source}
                   for name, value in estimate_scale.fit(rows).items()]


def model_rows(model):
    rows = []
    for kind, (memory, units, power, efficiency) in model.items():
        shift = 0.7 ** power  # the fit centres base/boost on 0.7
        rows.append({"kind": kind, "matrix": f"{50 * shift:.3f}", "memory": f"{800 * math.exp(memory):.2f}",
                     "units": f"{150 * math.exp(units) * shift:.3f}", "clock_power": f"{power:.4f}",
                     "matrix_unit_efficiency": f"{math.exp(efficiency):.4f}"})
    return rows


def write_folds(folder, t, rows, folds, predictions):
    """The fits that saw less, with the kinds that each must predict; and every 40th prediction."""
    used, sample = defaultdict(set), []
    for at, i in enumerate(np.flatnonzero(rows)):
        r = t.rows[i]
        for name, key in (("target", (r["b"], "")), ("source", ("", r["source"])), ("both", (r["b"], r["source"]))):
            used[key].add(r["kind"])
            if at % 40 == 0:
                sample.append({"row": at, "left_out": name, "kind": r["kind"], "precision": r["rate"], "a": r["a"], "b": r["b"],
                               "source": r["source"], "ratio": f"{math.exp(predictions[name][i]):.6f}"})
    models = [{"target": target, "source": source} | m for (target, source), par in sorted(folds.items())
              for m in model_rows(par) if m["kind"] in used[target, source]]
    (folder / "folds.csv").write_text(as_csv(models))
    (folder / "predictions.csv").write_text(as_csv(sample))


def class_rows(powers):
    rows = []
    for name in ("gemm", "conv", "attention", "elementwise", "reduce", "gather", "copy", "optimizer"):
        matrix = name in ("gemm", "conv", "attention")
        power = powers[not matrix]
        rows.append({"class": name, "matrix": f"{(1 - power) * matrix:.2f}", "memory": f"{(1 - power) * (not matrix):.2f}",
                     "units": f"{power:.2f}"})
    return rows


def bound_rows(power):
    ranges = {"gpu": ("0.9", ""), "mixed": ("0.5", "0.9"), "host": ("0", "0.5"), "unknown": ("", "")}
    return [{"bound": b, "busy_from": lo, "busy_below": hi, "power": f"{power[b]:.2f}"} for b, (lo, hi) in ranges.items()]


def as_csv(rows):
    out = io.StringIO()
    writer = csv.DictWriter(out, rows[0].keys(), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue()


class Report:
    def __init__(self):
        self.lines, self.missed, self.uncovered = [], [], []

    def line(self, text=""):
        self.lines.append(text)

    def covered(self, what, shares, required=False):
        """`shares`: {source, or "" for all: per cent inside the nominal 90 % interval}."""
        text = f"{what}: {shares['']:.1f} % covered; " + ", ".join(f"{s} {x:.0f} %" for s, x in sorted(shares.items()) if s)
        self.line("Nominal 90 % intervals, " + text)
        if required and not is_covered(shares):
            self.uncovered.append(text)

    def figures(self, t, name, prediction, rows, must=None):
        """One line of the table: n, median and 90th percentile for same and other architecture."""
        cells = []
        for rel in ("same", "other"):
            r = rows & (t.relation == rel)
            if not r.any():
                cells.append("-")
                continue
            e = per_cent(t.y[r], prediction[r])
            got = (quantile(e, t.w[r], 0.5), quantile(e, t.w[r], 0.9))
            cells.append(f"{got[0]:.1f} / {got[1]:.1f} ({r.sum()})")
            if must and (round(got[0], 1) > REQUIRED[rel][0] or round(got[1], 1) > REQUIRED[rel][1]):
                self.missed.append((must, rel, got))
        self.line(f"| {name} | {cells[0]} | {cells[1]} |")


def prepare(t):
    """The table with the rows to fit, the GPU-bound rows to judge, and the model fitted to all."""
    t.fit_rows = (t.vendor == "nvidia-nvidia") & (t.bound == "gpu") & ~t.other_software
    return t, t.fit_rows & ~t.extra, fit(t, np.ones(len(t.y), bool))


def choices(args, devices, kinds, report):
    cases = [("as shipped", ()), *((text, (name,)) for name, text in CHOICES.items()), ("all of these", tuple(CHOICES))]
    for text, otherwise in cases:
        t, gpu, model = prepare(Table(args.data, devices, kinds, otherwise))
        for label, by_target, by_source in (("target GPU", True, False), ("whole source", False, True)):
            prediction = held_out(t, model, by_target, by_source)[0]
            report.figures(t, f"{label}: {text}", prediction, gpu)
            if not otherwise:
                weights, t.w = t.w, np.ones(len(t.y))
                report.figures(t, f"{label}: every pair counted alike", prediction, gpu)
                t.w = weights
    print("\n".join(report.lines))
    return 0


def reached(args, devices, kinds, report):
    """The figures of pairs whose devices both have measured rates: by data sheet, then by those."""
    rates = defaultdict(list)
    for r in read_csv(HERE.parent / "share" / "devices" / "reached.csv"):
        if r["kind"] == "gpu" and r["operation"] in ("copy", "product"):
            rates[r["device"], {"": "copy", "bf16": "fp16"}.get(r["precision"], r["precision"])].append(float(r["rate"]))
    plain, gpu, model = prepare(Table(args.data, devices, kinds))
    t, hit = Table(args.data, devices, kinds), np.zeros(len(plain.y), bool)
    for i, r in enumerate(t.rows):
        for at, key in ((0, r["rate"]), (1, "copy")):
            if rates[r["a"], key] and rates[r["b"], key]:
                t.fa[i, at], t.fb[i, at] = (math.log(np.median(rates[d, key])) for d in (r["a"], r["b"]))
                if at == 0:
                    t.fa[i, 4] = t.fb[i, 4] = 0  # the rate has the efficiency of the matrix units in it
                hit[i] = True
    t, _, own = prepare(t)
    for label, by_target, by_source in (("target GPU", True, False), ("whole source", False, True)):
        for name, table, fitted in (("data sheets", plain, model), ("reached", t, own)):
            prediction = held_out(table, fitted, by_target, by_source)[0]
            report.figures(table, f"{label}: {name}, all pairs", prediction, gpu)
            report.figures(table, f"{label}: {name}, pairs with measured rates", prediction, gpu & hit)
    print("\n".join(report.lines))
    return 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=Path(os.environ.get("FARE_DATA", "/nonexistent")) / "predict")
    parser.add_argument("--neusight")
    parser.add_argument("-o", "--output", type=Path, default=HERE.parent / "share" / "estimate")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--choices", action="store_true")
    parser.add_argument("--reached", action="store_true")
    parser.add_argument("--report", type=Path)
    parser.add_argument("--folds", type=Path)
    args = parser.parse_args()
    devices = Devices(args.output / "devices-checked.csv")
    kinds = [(r["pattern"], r["kind"]) for r in read_csv(args.output / "kinds.csv")]
    report = Report()
    report.line("| GPU-bound, left out of the fit | same architecture | other architecture |")
    report.line("|---|---|---|")
    if args.choices:
        return choices(args, devices, kinds, report)
    if args.reached:
        return reached(args, devices, kinds, report)
    t, gpu, model = prepare(Table(args.data, devices, kinds))
    nvidia = t.vendor == "nvidia-nvidia"
    used = ~t.extra & ~t.other_software
    results, folds = {}, {}
    for name, by_target, by_source in (("target", True, False), ("source", False, True), ("both", True, True)):
        results[name] = held_out(t, model, by_target, by_source, folds)
        label = {"target": "target GPU", "source": "whole source", "both": "target GPU and source at once"}[name]
        report.figures(t, label + ", kind known", results[name][0], gpu, name if name != "both" else None)
        report.figures(t, label + ", kind unknown", results[name][1], gpu)
        report.figures(t, label + ", three exponents", results[name][2], gpu)
    for source in sorted(set(t.source[gpu])):
        report.figures(t, f"{source}: source left out, kind known", results["source"][0], gpu & (t.source == source))
    if args.folds:
        write_folds(args.folds, t, gpu, folds, {name: r[0] for name, r in results.items()})
        return 0
    known, power = damped(t, results["both"][0], used & nvidia)
    unknown, _ = damped(t, results["both"][1], used & nvidia)
    report.line()
    classes = np.array([f"{a}/{b}/{c}" for a, b, c in zip(t.relation, t.bound, t.scale)])
    for what, rows in (("GPU-bound", gpu), ("all runs", used & nvidia)):
        overall, by_source = coverage(t, t.y - known, rows, classes)
        report.line(f"Nominal 90 % intervals, {what}, made from the other sources: {100 * overall:.1f} % covered; "
                    + ", ".join(f"{s} {100 * c:.0f} % of {n}" for s, (c, n) in by_source.items()))
    for source in sorted(set(t.source[used & (t.relation == "vendor")])):
        r = used & (t.relation == "vendor") & (t.source == source) & np.char.startswith(t.vendor, "nvidia")
        report.line(f"NVIDIA to AMD, {source}: time over estimate {math.exp(quantile((t.y - unknown)[r], t.w[r], 0.5)):.2f} "
                    f"in the median ({r.sum()} pairs)")
    errors = error_table(t, known, unknown)
    references, constants = beside(report, t, known, gpu, used & nvidia, errors, classes)
    shipped_coverage(report, t, {"known": known, "unknown": unknown}, gpu, used & nvidia, errors)
    for source in sorted(set(t.source[t.other_software])):
        report.figures(t, f"{source}: other software on each GPU, not in the fit", results["target"][0],
                       t.other_software & nvidia & (t.source == source) & (t.bound == "gpu"))
    found, powers = traced(args, devices, model)
    traces = trace_rows(found)
    if not args.neusight and (args.output / "errors.csv").exists():
        traces = [r for r in traces if r["sources"] == "h200"] + [
            r for r in read_csv(args.output / "errors.csv") if r["trace"] in ("sheet", "measured") and r["sources"] != "h200"]
    not_surer(traces, errors)
    h200 = [(r, o, x) for _, _, r, o, x in found if r.source == "h200"]
    for what, pick in (("all six devices", h200), ("four clocks", [p for p in h200 if p[1].device[0] == 132])):
        e = np.array([abs(x / o.step - 1) * 100 for _, o, x in pick])
        report.line(f"Traced on the H200, net left out, {what}: {len(e)} pairs, median {np.median(e):.1f} %, "
                    f"90th percentile {np.quantile(e, 0.9):.1f} %")
    cpu, cpu_constants = cpu_rows(args.data, devices, report)
    scaling, ring = scale_rows(args.data, devices, HERE.parent / "share", report)
    tables = {"model.csv": model_rows(model), "bounds.csv": bound_rows(power), "classes.csv": class_rows(powers),
              "errors.csv": errors + references + traces + cpu, "scaling.csv": scaling,
              "constants.csv": [*cpu_constants, *ring, *constants]}
    return finish(args, report, tables)


def widths_of(t, errors, kind="known"):
    """The half-width of each pair's 90 % interval, as a logarithm."""
    width = {(r["relation"], r["bound"], r["scale"]): math.log(float(r["factor90"])) for r in errors if r["kind"] == kind}
    return np.array([width.get(k, math.nan) for k in zip(t.relation, t.bound, t.scale)])


def reference_rows(report, t, residuals, rows, prior, errors):
    """Errors of a class corrected by one other training on the same two GPUs; only classes that gain by it."""
    plain = {(r["relation"], r["bound"], r["scale"]): r for r in errors if r["kind"] == "known"}
    index, error, weight = evidence.calibrated(t, residuals, rows, prior, 1)
    out, covered = [], []
    for rel in ("same", "other"):
        for bound in ("gpu", "mixed"):
            for scale in ("one", "several"):
                r = (t.relation[index] == rel) & (t.bound[index] == bound) & (t.scale[index] == scale)
                pairs = len(set(index[r]))
                if pairs < FEW:
                    continue
                half = factors(error[r], weight[r], t.source[index[r]])
                e = abs(np.exp(-error[r]) - 1) * 100
                old = plain[rel, bound, scale]
                row = {"relation": rel, "bound": bound, "scale": scale, "trace": "reference", "kind": "known",
                       "median_percent": f"{quantile(e, weight[r], 0.5):.1f}", "p90_percent": f"{quantile(e, weight[r], 0.9):.1f}", **widths(half),
                       "pairs": pairs // 2, "nets": len(set(t.group[index[r]])), "gpus": len(set(t.a[index[r]]) | set(t.b[index[r]])),
                       "sources": ";".join(sorted(set(t.source[index[r]]))), "borrowed": ""}
                report.line(f"Reference, {rel}/{bound}/{scale}: {row['median_percent']} / {row['p90_percent']}, factor {row['factor90']} "
                            f"instead of {old['median_percent']} / {old['p90_percent']}, {old['factor90']} ({pairs} ordered pairs, {row['sources']})")
                if float(row["factor90"]) >= float(old["factor90"]) or float(row["p90_percent"]) >= float(old["p90_percent"]):
                    continue
                easier = next((o for o in out if bound == "mixed" and (o["relation"], o["bound"], o["scale"]) == (rel, "gpu", scale)), row)
                for name in (f"factor{int(q * 100)}" for q in LEVELS):
                    row[name] = max(row[name], easier[name], key=float)
                out.append(row)
                for source in set(t.source[index[r]]):
                    here, rest = r & (t.source[index] == source), r & (t.source[index] != source)
                    if rest.sum() >= FEW:
                        inside = abs(error[here]) <= factors(error[rest], weight[rest], t.source[index[rest]])[2]
                        covered += zip(inside, weight[here])
    report.line(f"Corrected by one reference, nominal 90 % intervals made from the other sources: {100 * evidence.average(*zip(*covered)):.1f} % covered")
    return out


def beside(report, t, known, gpu, used, errors, classes):
    """Several sources, reference runs, own errors: the rows and constants for them."""
    half, rows = np.where(t.kind == "unknown", widths_of(t, errors, "unknown"), widths_of(t, errors)), used & (t.scale != "nodes")
    residuals = t.y - known
    measured, correlation = evidence.best_correlation(t, residuals, half, (gpu, rows))
    report.line(f"Errors of two sources of one measurement: correlation {measured:.2f}; {correlation:.2f} is used")
    for what, r in (("GPU-bound", gpu), ("all runs", rows)):
        report.covered(f"{what}, several sources", evidence.check_combined(report, t, residuals, half, r, correlation, what)[1], True)
    prior = evidence.best_prior(t, residuals, gpu, factors)
    references = reference_rows(report, t, residuals, rows, prior, errors)
    evidence.check_learnt(report, t, residuals, gpu, classes, factors, LEVELS)
    return references, [
        {"name": "source_correlation", "value": f"{correlation:.2f}", "pairs": int(gpu.sum()) // 2, "source": "errors of two sources of one measurement"},
        {"name": "reference_prior", "value": f"{prior:g}", "pairs": int(gpu.sum()) // 2, "source": "trainings that the formula counts as"}]


def alike(old, new):
    """Equal but for the last digits, which differ between versions of the libraries."""
    def same(a, b):
        try:
            return math.isclose(float(a), float(b), rel_tol=0.02, abs_tol=0.01)
        except ValueError:
            return a == b
    return len(old) == len(new) and all(same(o[k], str(n[k])) for o, n in zip(old, new) for k in n)


def finish(args, report, tables):
    text = "\n".join(report.lines) + "\n"
    print(text)
    if args.report:
        args.report.write_text(text)
    failed = False
    for must, rel, got in report.missed:
        failed = True
        print(f"missed: {rel} architecture, {must} left out: {got[0]:.1f} / {got[1]:.1f} %, "
              f"required {REQUIRED[rel][0]} / {REQUIRED[rel][1]} %")
    for text in report.uncovered:
        failed = True
        print(f"missed: 90 % intervals must cover {COVERED[0]} to {COVERED[1]} % overall and {EVERY_SOURCE} % of every source: {text}")
    for name, rows in tables.items():
        path = args.output / name
        if not args.check:
            path.write_text(as_csv(rows))
        elif not alike(read_csv(path), rows):
            print(f"{path} would change")
            failed = True
    return 1 if args.check and failed else 0


if __name__ == "__main__":
    sys.exit(main())
