# SPDX-License-Identifier: Apache-2.0
"""How trainings scale to several GPUs, from the public rows: the efficiency of n GPUs is samples/s over n times those of
one, at the same batch per GPU. For bench/estimate_fit.py, and without numpy for tests/advise/estimate.

The gradients pass a ring in each step: 2 (n - 1) / n x parameters x 4 bytes at `reach` of the data-sheet rate of PCIe. The
share `exposed` of that time, and what does not fit behind the backward pass, is added to the step. Over NVLink the ring
explains nothing: there the efficiency itself is the estimate."""
import math
import re
from bisect import bisect_left
from collections import Counter, defaultdict
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from pathlib import Path
from statistics import median

from estimate_pairs import OTHER_SOFTWARE, TOO_GOOD, Evidence, read_csv

GRADIENT_BYTES, BACKWARD = 4, 2 / 3
EXPOSED = [x / 10 for x in range(1, 11)]
REACH = (0.02, 0.03, 0.04, 0.05, 0.06, 0.08, 0.1, 0.12, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 0.7, 1)
COUNTS = (2, 4, 8, 16)
BOUNDS = ("gpu", "mixed", "host", "unknown")
FEW = 30  # fewer rows than this: the class borrows
# Required of nominal 90 % intervals, per cent: overall, and the least of any source. fit_ends() chooses among these.
COVERED, EVERY_SOURCE = (87, 93), 80
TAILS = [x / 100 for x in range(4, 11)]
STRETCHES = [1 + x / 20 for x in range(17)]
NAMES = {"A100-PCIE": "A100-40GB-PCIE"}


@dataclass
class Row:
    source: str
    model: str
    precision: str
    gpu: str
    gpus: int
    link: str
    bound: str
    efficiency: float
    step_s: float  # on one GPU
    parameters: float  # 0: unknown
    bytes_per_s: float  # of the link, one direction
    run: tuple  # software and batch
    one: float  # samples/s of one GPU
    weight: float = 0

    @cached_property
    def bucket(self):
        return next(n for n in COUNTS if self.gpus <= n)

    @property
    def ring_s(self):
        return 2 * (self.gpus - 1) / self.gpus * self.parameters * GRADIENT_BYTES / self.bytes_per_s


def links(path):
    """(link, bytes/s in one direction) of each device."""
    found = {}
    for r in read_csv(path):
        if r["link_gbs"]:
            found[r["name"]] = "nvlink", float(r["link_gbs"]) / 2 * 1e9
        elif r["host_gbs"]:
            found[r["name"]] = "pcie", float(r["host_gbs"]) * 1e9
    return found


def speeds(measurements, devices):
    """{(source, software, model, precision, batch, GPU): {(GPUs, "box" or "nodes"): [(samples/s, step)]}}"""
    found = defaultdict(lambda: defaultdict(list))
    for m in measurements:
        if not m["samples_per_s"] or not m["batch_per_gpu"] or m["gpu"] not in devices or m["source"] in OTHER_SOFTWARE:
            continue
        if (m["source"], m["model"]) == ("gavel", "LM") or m["source"] == "lambda-pt" and any(x in m["model"] for x in TOO_GOOD):
            continue  # faster than linear
        n, gavel = int(m["gpus"]), m["source"] == "gavel"
        nodes = re.search(r"nodes=(\d+)", m["note"])
        several = n > 1 and (m["software"] == "unconsolidated" or nodes and int(nodes[1]) > 1)
        # gavel adds up the steps/s of its workers (measure_throughput.py); the collection took them for one.
        samples = float(m["samples_per_s"]) / (n if gavel else 1)
        key = (m["source"], "" if gavel else m["software"], m["model"], m["precision"], m["batch_per_gpu"], m["gpu"])
        found[key][n, "nodes" if several else "box"].append((samples, float(m["step_s"] or 0)))
    return found


class Reader:
    """Makes rows of speeds, with the class of the run on one GPU."""

    def __init__(self, data, devices, share):
        self.devices, self.measurements = devices, read_csv(data / "measurements.csv")
        self.evidence, self.links = Evidence(self.measurements, devices, ()), links(share / "devices" / "gpus.csv")
        self.parameters = {(r["source"], r["model"]): float(r["parameters"])
                           for r in read_csv(Path(__file__).with_name("estimate_parameters.csv"))}

    def rows(self, key, one, step, counts):
        """`counts`: {(GPUs, "box" or "nodes"): samples/s}"""
        source, software, model, precision, batch, gpu = key
        link = self.links.get(NAMES.get(gpu, gpu))
        run = {"source": source, "software": software or "pytorch1.4", "model": model, "precision": precision, "batch": batch,
               "gpus": "1", "gpu_a": gpu, "gpu_b": gpu}
        for (n, where), speed in counts.items():
            if link and 1 < n <= COUNTS[-1]:
                box = where == "box"
                yield Row(source, model, precision, gpu, n, link[0] if box else where, self.evidence.bound(run, gpu), speed / (n * one), step,
                          self.parameters.get((source, model), 0) if box else 0, link[1], (software, batch), one)


def read_rows(data, devices, share):
    reader, rows = Reader(data, devices, share), []
    for key, counts in speeds(reader.measurements, devices).items():
        if (1, "box") in counts:
            one, step = (median(x) for x in zip(*counts[1, "box"]))
            rows += reader.rows(key, one, step, {where: median(v for v, _ in values) for where, values in counts.items()})
    return weighted(rows)


def read_apart(data, devices, share):
    """Rows that no table saw: dle names no batches, so each number of GPUs counts with its best."""
    reader, best, rows = Reader(data, devices, share), defaultdict(lambda: defaultdict(float)), []
    for m in reader.measurements:
        if m["source"] == "dle" and m["samples_per_s"] and m["gpu"] in devices and "Nodes=" not in m["model"] and int(m["gpus"]) <= 8:
            key = ("dle", m["software"], m["model"], m["precision"], "", m["gpu"])
            best[key][int(m["gpus"]), "box"] = max(best[key][int(m["gpus"]), "box"], float(m["samples_per_s"]))
    for key, counts in best.items():
        if (1, "box") in counts:
            rows += reader.rows(key, counts[1, "box"], 0, counts)
    return weighted(rows)


def weighted(rows):
    count = Counter(map(group, rows))
    for r in rows:
        r.weight = 1 / count[group(r)]
    return rows


def group(r):
    """Counts once."""
    return r.source, r.model, r.precision, r.gpu, r.gpus, r.link


def is_ring(r):
    return bool(r.link == "pcie" and r.parameters and r.step_s)


def modelled(r, constants):
    """The efficiency of the ring; 1 without one."""
    if not is_ring(r):
        return 1
    ring = r.ring_s / constants["pcie_reach"]
    return r.step_s / (r.step_s + max(constants["pcie_exposed"] * ring, ring - BACKWARD * r.step_s))


def fit(rows):
    """The constants with the least error, capped, of GPU-bound runs with known parameters."""
    used = [r for r in rows if is_ring(r) and r.bound == "gpu"]

    def loss(constants):
        return sum(r.weight * min(abs(math.log(r.efficiency / modelled(r, constants))), 0.5) for r in used)
    return min(({"pcie_exposed": e, "pcie_reach": r} for e in EXPOSED for r in REACH), key=loss)


def held_out(rows):
    """The modelled efficiency of each row by constants that did not see its source."""
    constants = {s: fit([r for r in rows if r.source != s]) for s in sorted({r.source for r in rows})}
    return [modelled(r, constants[r.source]) for r in rows]


class Sorted(list):
    """(row, value), sorted by value, and what is asked of them again and again."""

    def quantiles(self, shares):
        total = self.total
        return [self[min(bisect_left(total, q * total[-1] - 1e-9), len(self) - 1)][1] for q in shares]

    @cached_property
    def total(self):
        return list(accumulate(r.weight for r, _ in self))

    @cached_property
    def nets(self):
        return len({(r.source, r.model) for r, _ in self})

    @cached_property
    def sources(self):
        return ";".join(sorted({r.source for r, _ in self}))


def choose(pairs, bound, count):
    """The rows of a class, or of a wider one if they are few; `pairs` are those of its link."""
    def pick(by_bound, by_count):
        return Sorted((r, v) for r, v in pairs if (not by_bound or bound in ("unknown", r.bound)) and (not by_count or r.bucket == count))
    tries = (("", True, True), ("all counts of GPUs", True, False), ("all runs", False, True), ("all", False, False))
    for borrowed, by_bound, by_count in tries:
        found = pick(by_bound, by_count)
        if len(found) >= FEW:
            break
    return borrowed, found


def chosen(rows, predicted):
    """{class: (borrowed, its (row, value))}. With known parameters the values are measured over modelled efficiency,
    else the efficiency."""
    found = {}
    for known in (True, False):
        pairs = [(r, r.efficiency / p if known else r.efficiency) for r, p in zip(rows, predicted) if not known or is_ring(r)]
        pairs.sort(key=lambda x: x[1])
        for link in sorted({r.link for r, _ in pairs}):
            here = [(r, v) for r, v in pairs if r.link == link]
            for bound in BOUNDS:
                for count in sorted({r.bucket for r, _ in here}):
                    found[link, bound, known, count] = choose(here, bound, count)
    return found


def classes(found, ends):
    """scaling.csv. `ends`: {known: (share of the rows beyond each end, stretch of the range as a logarithm)}."""
    table = {}
    for (link, bound, known, count), (borrowed, own) in found.items():
        if known not in ends:
            continue
        tail, stretch = ends[known]
        low, middle, high = own.quantiles((tail, 0.5, 1 - tail))
        low, high = (middle * (end / middle) ** stretch for end in (low, high))
        table[link, bound, known, count] = {
            "link": link, "bound": bound, "parameters": "known" if known else "unknown", "gpus": count, "median": middle,
            "low90": low, "high90": high, "rows": len(own), "nets": own.nets, "sources": own.sources, "borrowed": borrowed}
    for (link, bound, known, count), row in table.items():  # more GPUs, or a run less bound by them, are no surer
        for easier in ((link, bound, known, count // 2), (link, {"mixed": "gpu", "host": "mixed"}.get(bound), known, count)):
            if easier in table and table[easier]["low90"] < row["low90"]:
                row["low90"] = table[easier]["low90"]
                row["borrowed"] = row["borrowed"] or "easier class"
    return [{**r, **{k: f"{r[k]:.3f}" for k in ("median", "low90", "high90")}} for r in table.values()]


def fit_ends(rows, predicted):
    """`ends` of classes() that meet what is required, as shipped and made from the other sources (whose own least source is
    not required), and whose two shares are nearest 90 % in the mean. Unknown parameters first: they limit the others."""
    every, others, ends = chosen(rows, predicted), all_but_one(rows, predicted), {}
    sources = {r.source for r in rows}
    for known in (False, True):
        good = []
        for ends[known] in ((t, s) for t in TAILS for s in STRETCHES):
            here = covered(rows, predicted, dict.fromkeys(sources, keyed(classes(every, ends))), known)
            if not is_covered(here):
                continue
            left = covered(rows, predicted, {s: keyed(classes(f, ends)) for s, f in others.items()}, known)[""]
            if COVERED[0] <= left <= COVERED[1]:
                good.append((abs((here[""] + left) / 2 - 90), ends[known]))
        ends[known] = min(good)[1]
    return ends


def is_covered(shares):
    """Whether {source, or "" for all: per cent} is as required."""
    return COVERED[0] <= round(shares[""], 1) <= COVERED[1] and round(min(shares.values()), 1) >= EVERY_SOURCE


def class_key(r, known):
    return r.link, r.bound, "known" if known else "unknown", str(r.bucket)


def inside(r, model, table, known):
    c = table[class_key(r, known)]
    low, high = float(c["low90"]), float(c["high90"])
    if known:  # no public training of the class went beyond the other row
        low, high = model * low, min(model * high, float(table[class_key(r, False)]["high90"]))
    return low * 0.999 <= r.efficiency <= high * 1.001


def keyed(table):
    return {(r["link"], r["bound"], r["parameters"], str(r["gpus"])): r for r in table}


def all_but_one(rows, predicted):
    """The rows of the other sources by class, for each source."""
    return {s: chosen(*zip(*[(r, p) for r, p in zip(rows, predicted) if r.source != s])) for s in sorted({r.source for r in rows})}


def left_out(rows, predicted, ends):
    """The tables of the other sources, by source."""
    return {s: keyed(classes(f, ends)) for s, f in all_but_one(rows, predicted).items()}


def share(rows, hits):
    total = sum(r.weight for r in rows)
    return 100 * sum(r.weight for r, hit in zip(rows, hits) if hit) / total if total else math.nan


def covered(rows, predicted, tables, known):
    """Per cent inside the 90 % range, {source, or "" for all: share}; `tables` by source."""
    used = [(r, p) for r, p in zip(rows, predicted) if (not known or is_ring(r)) and class_key(r, known) in tables[r.source]]
    hits = [(r, inside(r, p, tables[r.source], known)) for r, p in used]
    return {source: share(*zip(*[h for h in hits if source in ("", h[0].source)])) for source in ("", *sorted({r.source for r, _ in used}))}


def coverage(rows, predicted, tables):
    """The same for known and unknown parameters, {(known, source or ""): share}."""
    return {(known, s): x for known in (True, False) if any(not known or is_ring(r) for r in rows)
            for s, x in covered(rows, predicted, tables, known).items()}


def errors(rows, predicted, tables):
    """[(known, link, bound, rows, median and 90th percentile of the error of the time in per cent)]; `tables` by source."""
    found = defaultdict(list)
    for r, p in zip(rows, predicted):
        for known in (True, False):
            c = tables[r.source].get(class_key(r, known))
            if c and (not known or is_ring(r)):
                found[known, r.link, r.bound].append((r, 100 * abs(r.efficiency / ((p if known else 1) * float(c["median"])) - 1)))
    return [(*key, len(off), *Sorted(sorted(off, key=lambda x: x[1])).quantiles((0.5, 0.9))) for key, off in sorted(found.items(), reverse=True)]
