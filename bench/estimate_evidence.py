# SPDX-License-Identifier: Apache-2.0
"""Evidence beside the formula, for bench/estimate_fit.py: several sources of one training, other trainings measured on
the same two GPUs, and a user's own errors. Every error here is that of a fit that saw neither the target GPU nor the
source of the data. docs/estimating.md states the rules."""
import math
from collections import defaultdict
from itertools import combinations

import numpy as np

from estimate_scale import COVERED, EVERY_SOURCE

SOURCES = 4  # combined at most
WIDEST = 2  # a source with an interval this many times the narrowest is left out
TABLE_COUNTS, NARROWEST, WIDENED = 20, 0.7, 10  # learning: weight of the table, limits of the factor


def average(values, weights):
    return float(np.average(values, weights=weights)) if len(values) else math.nan


# ---- several sources of one training

def groups_of(t, rows):
    """Rows that predict the same measurement: one training on one target, from each other GPU."""
    found = defaultdict(list)
    for i in np.flatnonzero(rows):
        r = t.rows[i]
        found[r["source"], r["software"], r["model"], r["precision"], r["batch"], r["gpus"], r["b"]].append(i)
    return {k: v for k, v in found.items() if len(v) > 1}


def combined(errors, halves, correlation):
    """Error and half-width of several sources together, the narrowest first."""
    w = 1 / halves ** 2
    return (w * errors).sum() / w.sum(), math.sqrt(correlation * halves.min() ** 2 + (1 - correlation) / w.sum())


def correlation_of(t, residuals, half, rows):
    """Of the errors of two sources of one measurement, each over its half-width."""
    top, bottom = 0.0, 0.0
    for items in groups_of(t, rows).values():
        pairs = [(i, k) for i, k in combinations(items, 2) if t.a[i] != t.a[k]]
        for i, k in pairs:
            x, y = residuals[i] / half[i], residuals[k] / half[k]
            w = min(t.w[i], t.w[k]) / len(pairs)
            top += w * x * y
            bottom += w * (x * x + y * y) / 2
    return top / bottom


def check_combined(report, t, residuals, half, rows, correlation, what):
    """Coverage and width of combined intervals, by the number of sources. Returns the least coverage of any number, and
    {source, or "" for all: per cent} over all numbers."""
    least, everything = 1, defaultdict(list)
    for count in (2, 3, SOURCES):
        inside, width, single, error, alone, weight, by_source = [], [], [], [], [], [], defaultdict(list)
        for key, items in groups_of(t, rows).items():
            chosen = [c for c in combinations(items, count) if len({t.a[i] for i in c}) == count][:200]
            for c in chosen:
                order = np.array(sorted(c, key=lambda i: half[i]))
                order = order[half[order] <= WIDEST * half[order[0]]]
                e, h = combined(residuals[order], half[order], correlation)
                w = t.w[order].mean() / len(chosen)
                inside.append(abs(e) <= h + 1e-3)
                width.append(h / half[order[0]])
                error.append(abs(math.expm1(-e)) * 100)
                alone.append(abs(math.expm1(-residuals[order[0]])) * 100)
                single.append(abs(residuals[order[0]]) <= half[order[0]])
                weight.append(w)
                by_source[key[0]].append((inside[-1], w))
        for source, hits in by_source.items():
            everything[source] += hits
            everything[""] += hits
        if not weight:
            continue
        w = np.array(weight)
        least = min(least, average(inside, w))
        if report is None:
            continue
        report.line(f"{what}, {count} sources: 90 % interval covers {100 * average(inside, w):.1f} % ({100 * average(single, w):.1f} % with the narrowest "
                    f"alone), half-width {average(width, w):.2f} of the narrowest, mean error {average(error, w):.1f} % instead of {average(alone, w):.1f} % "
                    f"({len(w)} combinations); " + ", ".join(f"{s} {100 * average(*zip(*v)):.0f} %" for s, v in sorted(by_source.items())))
    return least, {source: 100 * average(*zip(*hits)) for source, hits in everything.items()}


def best_correlation(t, residuals, half, cases):
    """The measured one, raised by steps of 0.05 until every number of sources is covered to 87 % and every source to 80 %."""
    measured = correlation_of(t, residuals, half, cases[0])
    for c in np.arange(math.ceil(measured * 20) / 20, 1.001, 0.05):
        found = [check_combined(None, t, residuals, half, rows, c, "") for rows in cases]
        if all(least >= COVERED[0] / 100 and min(shares.values()) >= EVERY_SOURCE for least, shares in found):
            break
    return measured, float(c)


# ---- other trainings on the same two GPUs

def references_of(t, rows):
    """Rows with the same software, precision, number of GPUs, bound and kind of net on the same two GPUs, by net."""
    found = defaultdict(lambda: defaultdict(list))
    for i in np.flatnonzero(rows & (t.kind != "unknown")):
        r = t.rows[i]
        found[r["source"], r["software"], r["precision"], r["gpus"], r["bound"], r["kind"], r["a"], r["b"]][r["model"]].append(i)
    return {k: v for k, v in found.items() if len(v) > 1}


def calibrated(t, residuals, rows, prior, most=None):
    """(row, error after correction, weight) with every single reference (most = 1) or with all of them."""
    out = []
    for nets in references_of(t, rows).values():
        mean = {m: float(np.mean(residuals[i])) for m, i in nets.items()}
        for net, items in nets.items():
            others = [mean[m] for m in nets if m != net]
            choices = [[x] for x in others] if most == 1 else [others]
            for c in choices:
                shift = np.mean(c) * len(c) / (len(c) + prior)
                out += [(i, residuals[i] - shift, t.w[i] / len(choices)) for i in items]
    index, errors, weights = (np.array(x) for x in zip(*out))
    return index.astype(int), errors, weights


def best_prior(t, residuals, rows, factors):
    """How many trainings the formula is worth: with the narrowest 90 % intervals on one GPU, of both relations."""
    def width(prior):
        index, e, w = calibrated(t, residuals, rows & (t.scale == "one"), prior, 1)
        parts = [t.relation[index] == x for x in ("same", "other")]
        return sum(factors(e[r], w[r], t.source[index[r]])[2] for r in parts)
    return min((0.5, 1, 1.5, 2, 3, 4, 6), key=width)


# ---- a user's own errors

def learnt(row, errors):
    """The factor of a class's half-width; `row` has the table's factors, `errors` are over their half-widths."""
    points = [(0, 0.0)] + [(math.log(row[q]) / math.log(row[0.9]), q) for q in (0.5, 0.8, 0.9, 0.95)]
    errors = np.sort(errors)
    at, shares = np.array(points).T

    def covers(s):
        share = np.interp(s, at, shares)
        return TABLE_COUNTS * share + np.searchsorted(errors, s, side="right") >= 0.9 * (TABLE_COUNTS + len(errors)) - 1e-9
    low, high = NARROWEST, max(points[-1][0], 1, errors[-1] if len(errors) else 0)
    if covers(low):
        return low
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (low, middle) if covers(middle) else (middle, high)
    return min(high, WIDENED)


def check_learnt(report, t, residuals, rows, classes, factors, levels):
    """Each source as a user whose table comes from the other sources and who has seen n errors of other nets."""
    rng = np.random.default_rng(1)
    for count in (0, 3, 10, 30):
        inside, weight, factor, by_source = [], [], [], defaultdict(list)
        for c in sorted(set(classes[rows])):
            r = rows & (classes == c)
            for source in sorted(set(t.source[r])):
                here, rest = np.flatnonzero(r & (t.source == source)), r & (t.source != source)
                if rest.sum() < 30 or len(set(t.model[here])) < 4:
                    continue
                half = factors(residuals[rest], t.w[rest], t.source[rest])
                row = {q: math.exp(h) for q, h in zip(levels, half)}
                z = abs(residuals[here]) / half[2]
                for at in here if len(here) <= 200 else rng.choice(here, 200, False):
                    others = np.flatnonzero(t.model[here] != t.model[at])
                    own = rng.choice(z[others], min(count, len(others)), False, p=t.w[here][others] / t.w[here][others].sum())
                    s = learnt(row, own)
                    inside.append(abs(residuals[at]) <= s * half[2])
                    weight.append(t.w[at] * max(1, len(here) / 200))
                    factor.append(s)
                    by_source[source].append((inside[-1], weight[-1]))
        report.line(f"Learning from {count} own errors: {100 * average(inside, weight):.1f} % covered, half-width × {average(factor, weight):.2f}; "
                    + ", ".join(f"{s} {100 * average(*zip(*v)):.0f} %" for s, v in sorted(by_source.items())))
