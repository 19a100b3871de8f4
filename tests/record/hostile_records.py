# SPDX-License-Identifier: Apache-2.0
"""Records of runs with absurd figures: every number and every amount of src/record/run.def at its extremes, one at a time and in
random pairs.

    for run in hostile_records.singles(base): ...   # one member each
    for run in hostile_records.pairs(base, 100, seed=1): ...

The members come from the .def files, so that a new one is tried without a change here.
"""
import copy
import itertools
import random
import re
from pathlib import Path

RECORDS = Path(__file__).resolve().parents[2] / "src/record"
WHOLE = ("INTEGER", "INT", "COUNT", "DEVICES", "NS")
REAL = ("NUMBER", "REAL", "QUANTITY", "SECONDS", "MILLIS", "MICROS", "FRACTION", "PERCENT")
LISTS = ("MILLIS_LIST", "REALS")
MOST = 2 ** 63 - 1
VALUES = {  # what no run has; all of it is valid JSON of the member's type, but for the texts at the end
    "whole": (0, -1, MOST, -2 ** 63, 10 ** 18, "NaN"),
    "real": (0, -1, MOST, 1e308, -1e308, 5e-324, 1e30, "NaN"),
    "amount": ("0", "-1", "9223372036.854775807", "1" + "0" * 400, "1e308", "NaN", "x" * 70000, "1000000000"),
}


def tables():
    """The tables of the .def files: {name: [(macro, member, sub-table)]}. A PART is known in its file alone: (file, name)."""
    found = {}
    for path in sorted(RECORDS.glob("*.def")):
        text = re.sub(r"(?<!\")//[^\n]*", "", path.read_text())
        blocks = re.findall(r"^(RECORD|PART)\((\w+)\)\n(.*?)^END$", text, re.M | re.S)
        own = {name for kind, name, _ in blocks if kind == "PART"}
        for _, name, body in blocks:
            rows = re.findall(r"^\s*([A-Z_]+)\((\w+),((?:[^()\"]|\"(?:[^\"\\]|\\.)*\")*)\)", body, re.M)
            subs = [(re.findall(r"\b(\w+_fields)\b", rest) or [None])[0] for _, _, rest in rows]
            found[(path.name, name) if name in own else name] = [
                (macro, member, (path.name, sub) if sub in own else sub) for (macro, member, _), sub in zip(rows, subs)]
    return found


def members(table="run_fields", path=(), known=None):
    """(path, kind) of every number and amount; a list is the name of its first item's member."""
    known = known or tables()
    for macro, member, sub in known[table]:
        here = (*path, member)
        if sub:
            yield from members(sub, here if macro == "OBJECT" else (*here, 0), known)
        elif macro in WHOLE:
            yield here, "whole"
        elif macro in REAL:
            yield here, "real"
        elif macro in LISTS:
            yield (*here, 0), "real"
        elif macro == "AMOUNT" or macro == "TEXT" and re.search(r"(^|_)usd(_|$)", member):
            yield here, "amount"


def put(run, path, value):
    """A copy with one member set; objects and lists on the way are made, a list with its first item."""
    run = to = copy.deepcopy(run)
    for key, then in itertools.pairwise(path):
        if isinstance(to, list):
            if not to:
                to.append([] if then == 0 else {})
        elif key not in to:
            to[key] = [] if then == 0 else {}
        to = to[key]
    if isinstance(to, list):
        to[:1] = [value]
    else:
        to[path[-1]] = value
    return run


def every(run, values):
    """All of them at once, each with the value of its kind."""
    for path, kind in members():
        run = put(run, path, values[kind])
    return run


def label(run, key, value):
    return {**copy.deepcopy(run), "labels": [{"key": key, "value": value}]}


def singles(base):
    """Each member with each of its values, then the labels that fare reads as numbers."""
    for path, kind in members():
        for value in VALUES[kind]:
            yield put(base, path, value)
    for value in VALUES["amount"]:
        yield label(base, "price_per_hour_usd", value)
    for key, value in itertools.product(("data_rows", "relative_speed"), VALUES["whole"] + VALUES["real"]):
        yield label({**base, "data": {"name": "set", "test_samples": 10 ** 18}}, key, str(value))


def pairs(base, count, seed):
    some, every = random.Random(seed), list(members())
    for _ in range(count):
        run = base
        for path, kind in some.sample(every, 2):
            run = put(run, path, some.choice(VALUES[kind]))
        yield run


def numbered(runs, first=1):
    """With an id of its own each, and a start that sorts likewise."""
    for number, run in enumerate(runs, first):
        yield {**run, "id": f"20260102T{number % 240000:06d}Z-{number:012x}"}
