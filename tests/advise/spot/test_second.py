#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Replays and policies by src/advise/spot/ and by second.py, which was written from docs/spot.md: the same to the last nanosecond
and nano-dollar, on the real traces (FARE_DATA) and on random ones."""
import os
import random
import subprocess
import sys
import tempfile
from datetime import datetime, timedelta, timezone
from pathlib import Path

sys.path[:0] = [os.environ["TESTS"], str(Path(__file__).resolve().parent)]
import tap  # noqa: E402
from second import HOUR, S, Policies, read_trace, replay  # noqa: E402

TOOL = Path(os.environ["BUILD"]) / "tests/advise/spot/replays"
REAL = Path(os.environ.get("FARE_DATA", "/nowhere")) / "prices/spot-availability"
sys.setrecursionlimit(10000)
source = random.Random(int(os.environ.get("FARE_SEED", "1")))
MINUTE = 60 * S


def ask(lines):
    p = subprocess.run([TOOL], input="\n".join(lines) + "\n", capture_output=True, text=True)
    assert p.returncode == 0, p.stderr
    return p.stdout.splitlines()


def make_trace(path, samples, jitter, period=600, gaps=()):
    at = datetime(2024, 1, 1, tzinfo=timezone.utc)
    rows = []
    for i, x in enumerate(samples):
        rows.append(f"{i},{at.strftime('%Y-%m-%dT%H:%M:%S.000Z')},{x}\n")
        at += timedelta(seconds=period + source.randrange(-jitter, jitter + 1) + (86400 * source.randrange(1, 9) if i in gaps else 0))
    path.write_text("".join(rows))


# Traces that are not like the real ones: name, samples, seconds between two, samples before a gap of days.
ODD = [
    ("always up", [0] * 200, 600, ()), ("always down", [1] * 200, 600, ()), ("one sample, up", [0], 600, ()),
    ("one sample, down", [1], 600, ()), ("two samples", [0, 1], 600, ()), ("one stretch", [1] * 40 + [0] * 60 + [1] * 40, 600, ()),
    ("up at both ends", [0] * 30 + [1] * 30 + [0] * 30, 600, ()), ("a sample a second", [int(i % 900 < 300) for i in range(4000)], 1, ()),
    ("a sample a minute", [int(i % 100 < 20) for i in range(2000)], 60, ()), ("a sample an hour", [int(i % 24 < 5) for i in range(500)], 3600, ()),
    ("a sample a day", [int(i % 3 == 0) for i in range(60)], 86400, ()), ("thousands of flips", [i % 2 for i in range(6000)], 600, ()),
    ("gaps", [int(i % 50 < 10) for i in range(400)], 600, (3, 55, 56, 200)), ("down but once", [1] * 500 + [0] + [1] * 500, 600, ()),
]


def random_samples():
    stay = source.choice((0.5, 0.9, 0.99))
    x, out = source.randrange(2), []
    for _ in range(source.randrange(1, 300)):
        out.append(x)
        x = x if source.random() < stay else 1 - x
    return out


def random_prices():
    if source.random() < 0.5:
        return None
    at, changes = 1700000000, []
    for _ in range(source.randrange(1, 20)):
        changes.append((at, source.randrange(1, 4 * 10**9)))
        at += source.randrange(1, 90000)
    return changes, at


def random_job():
    work = source.choice((1, source.randrange(1, 3 * HOUR), source.randrange(1, 100 * HOUR)))
    interval = source.choice((0, source.randrange(MINUTE, 3 * HOUR), 30 * MINUTE))
    cost, start = source.choice((0, source.randrange(20 * MINUTE), MINUTE)), source.randrange(30 * MINUTE)
    notice = source.choice((0, 0, 30 * S, 120 * S, 420 * S))
    life = source.choice((0, 0, 24 * HOUR, source.randrange(HOUR, 48 * HOUR)))
    alone = start + work + (-(-work // interval) * cost if interval else 0)
    deadline = source.choice((0, 0, alone + source.randrange(100 * HOUR)))
    return [work, interval, cost, start, start, notice, life, deadline, 10,
            source.choice(("second", "hour-free", "hour-partial")), source.randrange(1, 4 * 10**9), 3 * 10**9]


def compare_replays(trace_path, jobs):
    trace, lines, expected = read_trace(trace_path), [f"trace {trace_path}"], []
    for job, prices in jobs:
        text = ",".join(f"{a}:{n}" for a, n in prices[0]) + f" {prices[1]}" if prices else "- 0"
        lines += [f"prices {text}", "replay " + " ".join(map(str, job))]
        expected += [(job, i, " ".join(map(str, replay(trace, [*job, prices], i)))) for i in range(job[8])]
    got = ask(lines)
    assert len(got) == len(expected), (len(got), len(expected))
    wrong = [(j, i, e, g) for (j, i, e), g in zip(expected, got) if e != g]
    late = [(j, i, g) for (j, i, _), g in zip(expected, got) if j[7] and int(g.split()[0]) > j[7]]
    return len(expected), wrong, late


def compare_policies(trace_path, job, starts):
    """`job` begins with the number of samples to learn from."""
    p = Policies(read_trace(trace_path)[0], *job)
    plan = p.make_plan()
    got = ask([f"trace {trace_path}", "policy " + " ".join(map(str, [*job, *starts]))])
    wrong, costs = [], []
    for start, line in zip(starts, got):
        expected = " ".join([p.run(start, p.greedy), p.run(start, p.uniform), p.run(start, plan), str(p.best(start))])
        if expected != line:
            wrong.append((start, expected, line))
        costs.append(line.split())
    return wrong, costs


def cost(result, spot):
    finished, spots, demands, *_ = map(int, result.split(":"))
    return spots * spot + demands * 10**6 if finished else None


with tempfile.TemporaryDirectory() as folder:
    made = Path(folder) / "made.txt"
    total, wrong, late = 0, [], []
    for _ in range(30):
        make_trace(made, random_samples(), source.choice((0, 5, 299)))
        n, w, l = compare_replays(made, [(random_job(), random_prices()) for _ in range(4)])
        total, wrong, late = total + n, wrong + w, late + l
    tap.report(f"{total} replays of random traces agree", not wrong, wrong[:3])
    tap.report("none of them with fall-back is late", not late, late[:3])

    total, wrong, late = 0, [], []
    for name, samples, period, gaps in ODD:
        make_trace(made, samples, 0, period, gaps)
        n, w, l = compare_replays(made, [(random_job(), random_prices()) for _ in range(3)])
        half, deadline, work = len(samples) // 2, source.randrange(2, 30), source.randrange(1, 200)
        w2, costs = compare_policies(made, (half, deadline, work, 3, 5, 300000), [0, len(samples) - half - 1])
        kept = [cost(x, 300000) is not None for line in costs for x in line[:3]]
        total, wrong = total + n, wrong + [(name, x) for x in w + w2]
        late += [(name, x) for x in l] + ([(name, costs)] if 5 + work <= 10 * deadline and not all(kept) else [])
    tap.report(f"{total} replays of {len(ODD)} odd traces agree, and so do policies", not wrong, wrong[:3])
    tap.report("none of them is late", not late, late[:3])

    wrong, missed, worse = [], [], []
    for _ in range(30):
        make_trace(made, random_samples(), 0)
        deadline, delay = source.randrange(1, 40), source.choice((0, source.randrange(12), source.randrange(40)))
        reserve = delay + source.choice((0, source.randrange(10)))
        work = source.randrange(1, max(2, 10 * deadline))
        spot = source.choice((10**6, 0, source.randrange(10**6)))
        n = len(read_trace(made)[0])
        past = source.choice((0, n // 2, source.randrange(n)))
        n -= past
        w, costs = compare_policies(made, (past, deadline, work, delay, reserve, spot), sorted({0, n - 1, source.randrange(n)}))
        wrong += w
        for line in costs:
            ways = [cost(x, spot) for x in line[:3]]
            if reserve + work <= 10 * deadline:
                missed += [line] if None in ways else []
            best = int(line[3])
            worse += [line] if best >= 0 and any(x is not None and x < best for x in ways) else []
    tap.report("policies on random traces agree", not wrong, wrong[:3])
    tap.report("no policy misses a deadline that on demand alone keeps", not missed, missed[:3])
    tap.report("no policy beats hindsight", not worse, worse[:3])

    if not REAL.is_dir():
        tap.skip("real traces", "FARE_DATA has none")
        tap.done()
    for path in sorted(REAL.glob("*.txt")):
        jobs = [([work * HOUR, 30 * MINUTE, MINUTE, 5 * MINUTE, 5 * MINUTE, notice, 0, deadline * HOUR, 30, rule, 918000000,
                  3060000000], None)
                for work, notice, deadline, rule in ((48, 0, 0, "hour-free"), (48, 120 * S, 0, "second"), (48, 0, 70, "hour-free"),
                                                     (500, 0, 0, "hour-partial"))]
        n, wrong, late = compare_replays(path, jobs)
        tap.report(f"{n} replays of {path.name} agree", not wrong and not late, (wrong[:3], late[:3]))
        wrong, _ = compare_policies(path, (1947, 60, 400, 12, 15, 300000), [0, 900, 1947])
        tap.report(f"policies on {path.name} agree", not wrong, wrong[:3])
        # All starts in the second half: 48 hours of work within 52 and 70, as in the paper's evaluation.
        for deadline in (312, 420):
            missed = ask([f"trace {path}", f"promise 1947 {deadline} 2880 12 12 300000"])
            tap.report(f"{path.name}: no policy is late within {deadline} ticks, from all 1948 starts", missed == ["1948 0 0 0"], missed)
tap.done()
