#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Whole trainings of some sixty tools (corpus.py), replayed on a virtual clock: steps, total and time are found without any
option, and no interval misses the truth where every part was announced or seen. FARE_TEST_SEEDS=5 tries more trainings."""
import contextlib
import io
import json
import os
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, os.environ["TESTS"])
sys.path.insert(0, str(Path(os.environ["TESTS"]) / "run"))
import corpus  # noqa: E402
from tap import done, report  # noqa: E402

REPLAY = Path(os.environ["BUILD"]) / "tests/run/replay"
SEEDS = int(os.environ.get("FARE_TEST_SEEDS", "1"))


def training(kind, seed):
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        corpus.Run(kind, seed).write(out)
    return out.getvalue()


def replay(text, *options):
    ran = subprocess.run([REPLAY, *options], input=text, capture_output=True, text=True)
    return json.loads(ran.stdout) if ran.returncode == 0 else ran.stderr


def near(a, b, share):
    return abs(a - b) <= max(1, share * b)


def judge(kind, seed):
    """Whether the training was understood, the intervals that miss, and a line to show."""
    text = training(kind, seed)
    truth = json.loads(text.split("\n", 1)[0])
    found = replay(text)
    if isinstance(found, str):
        return False, [found], kind
    sample, full, whole = found["sample"], found["full"], truth["whole_s"]
    counts = [truth["steps"], truth.get("counted", truth["steps"])]
    projections = [sample["projection"], *full["checks"]]
    misses = [p for p in projections if p and not p["low_s"] <= whole <= p["high_s"]]
    # The last report may be a few steps before the end.
    known = any(near(sample["total"], c, 0) and near(full["steps"], c, 0.05) for c in counts)
    known = known and sample["projection"] is not None
    p = sample["projection"]
    line = f"{kind} {seed}: {sample['source']}, {sample['total']} of {counts[-1]} steps, stopped after {sample['stop_s']:.0f} s: " + (
        f"{p['wall_s']:.0f} s ({p['low_s']:.0f} to {p['high_s']:.0f}) of {whole:.0f} s" if p else "no projection")
    if sample["unseen"]:
        line += ", not seen: " + ", ".join(sample["unseen"])
    return known, misses, line, truth["announced"], sample


def main():
    understood, lines = 0, []
    for kind in corpus.KINDS:
        for seed in range(1, SEEDS + 1):
            known, misses, line, *rest = judge(kind, seed)
            understood += known and seed == 1
            lines.append(("  " if known else "? ") + line)
            if not rest:
                report(kind, False, misses[0])
                continue
            announced, sample = rest
            # Parts that are in the projection, or that it says it has not seen, must be in the interval.
            if announced or sample["unseen"] or known:
                report(f"{kind} {seed}: the interval holds", not misses, f"{line}\n{misses}")
    print("\n".join("# " + line for line in lines))
    report("at least 40 kinds of logs", len(corpus.KINDS) >= 40, len(corpus.KINDS))
    report(f"steps, total and whole are found without options in {understood} of {len(corpus.KINDS)}", understood >= 36,
           "\n".join(lines))


def test_options():
    """Totals that logs do not have, by option."""
    for kind, option, number in (("gpt_lecture", "--total-steps", 5000), ("cifar_tutorial", "--total-epochs", 2),
                                 ("pytorch_quickstart", "--total-epochs", 5), ("tqdm_epochs", "--total-epochs", 40)):
        text = training(kind, 1)
        whole = json.loads(text.split("\n", 1)[0])["whole_s"]
        sample = replay(text, option, str(number), "--max-s", "200")["sample"]
        p = sample["projection"]
        report(f"{kind} with {option}", p and p["low_s"] <= whole <= p["high_s"] and sample["total_from"] in ("option", "bar"),
               json.dumps(sample, indent=1), lines=60)


main()
test_options()
done()
