#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Bills by src/bill/ and by second.py, which was written from docs/billing.md by somebody who had not read
the first: the same to the nano-unit, on 100,000 random tariffs and uses.

test_independent.py has whole quotes, from the tables on. Here are uses that no quote makes: a start at a known time of day,
traffic earlier in the month, a disk for another time than the machine, interruptions under any rule."""
import json
import os
import random
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import second  # noqa: E402

TOOL = Path(os.environ["BUILD"]) / "tests/bill/test_charge"
CASES = 100000
KEYS = ("charged_ns", "time", "monthly_fee", "setup_fee", "storage", "egress", "ingress", "subtotal", "discount",
        "rounding", "total", "stopped", "storage_stopped")


def case(source):
    tariff, use = second.random_case(source)
    gpus = source.choice((1, 2, 4, 8))
    cuts = sorted(source.randrange(use.get("length_ns", 0) + 1) for _ in range(source.randrange(4)))
    lengths = [b - a for a, b in zip([0, *cuts], [*cuts, use.get("length_ns", 0)])]
    return {"tariff": tariff, "use": use, "gpus": gpus, "used": source.randrange(gpus + 1), "lengths": lengths}


def expected(c):
    charge = second.charge(c["tariff"], c["use"])
    prices, unused = second.parts(charge, c["gpus"], c["used"], c["lengths"])
    return " ".join(map(str, [*(charge[k] for k in KEYS), unused, *prices]))


source = random.Random(int(os.environ.get("FARE_SEED", "1")))
cases = [case(source) for _ in range(CASES)]
p = subprocess.run([TOOL, "lines"], input="\n".join(map(json.dumps, cases)) + "\n", capture_output=True, text=True)
answers = p.stdout.splitlines()
wrong = []
for c, answer in zip(cases, answers):
    if len(wrong) < 3 and answer != expected(c):
        wrong.append((c, answer, expected(c)))
good = p.returncode == 0 and len(answers) == CASES and not wrong
print(f"{'ok' if good else 'not ok'} 1 - {CASES} bills are the same by both")
for c, ours, theirs in wrong:
    print(f"  # {json.dumps(c)}\n  # first:  {ours}\n  # second: {theirs}")
if p.stderr or len(answers) != CASES:
    print(f"  # {len(answers)} answers; {p.stderr[-500:]}")
print("1..1")
sys.exit(not good)
