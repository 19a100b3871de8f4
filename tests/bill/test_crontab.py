#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Starts of random schedules, counted by src/bill/crontab.c and here minute by minute, from crontab(5)'s text."""
import os
import random
import subprocess
import sys
from datetime import date, datetime, timedelta
from pathlib import Path

TOOL = Path(os.environ["BUILD"]) / "tests/bill/test_crontab"
CASES = 150
MONTHS = "jan feb mar apr may jun jul aug sep oct nov dec".split()
DAYS = "sun mon tue wed thu fri sat".split()
LIMITS = ((0, 59, []), (0, 23, []), (1, 31, []), (1, 12, MONTHS), (0, 7, DAYS))
source = random.Random(int(os.environ.get("FARE_SEED", "1")))


def values(field, low, high, names):
    """The set of numbers that a field allows."""
    out = set()
    for item in field.split(","):
        span, _, step = item.partition("/")
        number = lambda text: names.index(text.lower()) + low if text.lower() in names else int(text)
        top = 6 if names == DAYS else high
        if span == "*":
            first, last = low, top
        elif "-" in span:
            first, last = (number(part) for part in span.split("-"))
        else:
            first = number(span)
            last = max(first, top) if step else first
        out |= set(range(first, last + 1, int(step or 1)))
    return {v % 7 for v in out} if names == DAYS else out


def random_item(low, high, names):
    top = 6 if names == DAYS else high
    a, b = sorted((source.randint(low, top), source.randint(low, top)))
    name = lambda v: names[v - low] if names and source.random() < 0.4 else str(v)
    kind = source.random()
    item = "*" if kind < 0.2 else name(a) if kind < 0.6 else f"{name(a)}-{name(b)}"
    return item + (f"/{source.randint(1, top)}" if source.random() < 0.3 else "")


def random_field(low, high, names):
    if source.random() < 0.4:
        return "*"
    return ",".join(random_item(low, high, names) for _ in range(source.choice((1, 1, 2, 3))))


def starts(expression, first, last):
    fields = expression.split()
    minute, hour, day, month, weekday = (values(f, *limit) for f, limit in zip(fields, LIMITS))
    either = fields[2][0] != "*" and fields[4][0] != "*"
    at, end, found = datetime.combine(first, datetime.min.time()), datetime.combine(last, datetime.min.time()), []
    while at < end:
        by_day, by_weekday = at.day in day, at.isoweekday() % 7 in weekday
        if (at.minute in minute and at.hour in hour and at.month in month
                and (by_day or by_weekday if either else by_day and by_weekday)):
            found.append(at)
        at += timedelta(minutes=1)
    return found


epoch = date(1970, 1, 1)
cases = []
for _ in range(CASES):
    year, month = source.randint(1972, 2040), source.randint(1, 12)
    first = date(year, month, 1)
    last = date(year + month // 12, month % 12 + 1, 1)
    cases.append((first, last, " ".join(random_field(*limit) for limit in LIMITS)))
lines = "".join(f"{(a - epoch).days} {(b - epoch).days} {text}\n" for a, b, text in cases)
p = subprocess.run([TOOL, "lines"], input=lines, capture_output=True, text=True)
answers = p.stdout.splitlines()
wrong = []
for (first, last, text), answer in zip(cases, answers):
    found = starts(text, first, last)
    count, gap = (answer.split() + ["", ""])[:2]
    shortest = min(((b - a).total_seconds() for a, b in zip(found, found[1:])), default=None)
    if count != str(len(found)) or (shortest is not None and not 0 < int(gap) <= shortest):
        wrong.append(f"{text} from {first}: {answer}, counted {len(found)}, {shortest} s apart")
good = p.returncode == 0 and len(answers) == CASES and not wrong
print(f"{'ok' if good else 'not ok'} 1 - {CASES} random schedules start as often as counted minute by minute")
for line in wrong[:5]:
    print(f"  # {line}")
print("1..1")
sys.exit(not good)
