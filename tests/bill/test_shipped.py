#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Every tariff of share/providers by src/bill/ and by second.py: a nanosecond to either side of each unit, minimum,
tier, first hour and month's end, of nothing and of 30 days, ended by its user and by the provider, paid and prorated;
kept stopped afterwards; traffic a byte to either side of each step."""
import calendar
import json
import os
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import second  # noqa: E402

TOOL = Path(os.environ["BUILD"]) / "tests/bill/test_charge"
ROOT = Path(os.environ["ROOT"])
KEYS = ("charged_ns", "time", "monthly_fee", "setup_fee", "storage", "egress", "ingress", "subtotal", "discount",
        "rounding", "total", "stopped", "storage_stopped")
S = 10**9
HOUR = 3600 * S
NAMES = """aws azure coreweave cudo do gcp hetzner hyperstack ibm jarvislabs lambda leadergpu mithril modal nebius nimbix oci
ovhcloud own paperspace primeintellect runpod sagemaker scaleway seeweb shadeform softlayer together vast vastai
verda""".split()
count = failures = 0


def report(name, good, lines=()):
    global count, failures
    count += 1
    failures += not good
    print(f"{'ok' if good else 'not ok'} {count} - {name}")
    for line in list(lines)[:5]:
        print(f"  # {line}")


def at(*date):
    return calendar.timegm((*date, 0, 0, 0)[:6])


# Mid-month; an hour before the end of February, of a leap February and of the year; the nights in which clocks change
# in Europe and America.
STARTS = [at(2018, 3, 5), at(2018, 2, 28, 23), at(2024, 2, 29, 23), at(2018, 12, 31, 23), at(2018, 3, 25, 0),
          at(2018, 10, 28, 0), at(2018, 3, 11, 6), at(2018, 6, 1), at(2017, 9, 25, 23), at(2017, 10, 1, 23)]


def lengths(tariff):
    unit = tariff.get("unit_ms", 1000) * 10**6 or S
    minimum = tariff.get("minimum_s", 0) * S
    turns = {0, unit, 2 * unit, minimum, minimum + unit, HOUR, HOUR + unit, 24 * HOUR, 30 * 24 * HOUR, unit // 2,
             1000 * unit if unit < HOUR else 25 * unit, 28 * 24 * HOUR, 31 * 24 * HOUR}
    for tier in tariff.get("tiers", []):
        for month in (28, 29, 30, 31):
            turns.add(tier["upto_permille"] * month * 24 * HOUR // 1000)
    return sorted({length + d for length in turns for d in (-1, 0, 1) if length + d >= 0})


def storage(tariff):
    minimum, unit = tariff.get("storage_minimum_s", 0) * S, tariff.get("storage_unit_ms", 1000) * 10**6
    sizes = {0, 1, 10, 100, 50, 51} | {step["gb"] + d for step in tariff.get("storage_steps", []) for d in (-1, 0, 1)}
    times = {t + d for t in (0, unit, 2 * unit, minimum, minimum + unit) for d in (-1, 0, 1) if t + d >= 0}
    return [(gb, ns) for gb in sorted(sizes) for ns in sorted(times)]


def cases(tariff):
    for start in STARTS:
        for length in lengths(tariff):
            for interrupted in (False, True):
                yield {"start_s": start, "length_ns": length, "interrupted": interrupted}
            yield {"start_s": start, "length_ns": length, "prorated": True}
            yield {"start_s": start + 2400, "length_ns": length, "stopped_ns": 90 * 60 * S, "storage_gb": 100,
                   "storage_ns": length}
    for gb, ns in storage(tariff):
        yield {"start_s": STARTS[0], "length_ns": HOUR, "storage_gb": gb, "storage_ns": ns}
    gigabyte = tariff.get("gb_bytes", 10**9)
    bounds = {tariff.get("egress_free_gb", 0)} | {step["upto_gb"] for step in tariff.get("egress_steps", [])}
    for traffic in sorted({0, 1, gigabyte} | {gb * gigabyte + d for gb in bounds for d in (-1, 0, 1, gigabyte)}):
        use = {"start_s": STARTS[0], "length_ns": HOUR, "egress_bytes": max(0, traffic), "ingress_bytes": max(0, traffic)}
        yield use
        yield {**use, "egress_used_bytes": 5000 * gigabyte}


files = sorted((ROOT / "share/providers").glob("*.json"))
report("there is a file for every provider", [p.stem for p in files] == NAMES, [p.stem for p in files])
tariffs = [t for path in files for t in json.loads(path.read_text())["tariffs"]]
report("every tariff has its own id, its file's provider, a source and a date",
       len({t["id"] for t in tariffs}) == len(tariffs) and all(t["source"] and t["date"] for t in tariffs)
       and all(t["provider"] == path.stem for path in files for t in json.loads(path.read_text())["tariffs"]))
total = 0
for tariff in tariffs:
    rated = {"rate": "0.90", **tariff}
    uses = [{"storage_gb": 0, "storage_ns": 0, **use} for use in cases(tariff)]
    lines = "".join(json.dumps({"tariff": rated, "use": u, "gpus": 1, "used": 1, "lengths": [u["length_ns"]]}) + "\n"
                    for u in uses)
    p = subprocess.run([TOOL, "lines"], input=lines, capture_output=True, text=True)
    wrong = []
    answers = p.stdout.splitlines()
    for use, answer in zip(uses, answers):
        theirs = second.charge(rated, use)
        if answer.split()[:len(KEYS)] != [str(theirs[k]) for k in KEYS]:
            wrong.append(f"{json.dumps(use)}: {answer}, by second.py {theirs}")
    total += len(uses)
    report(f"{tariff['id']}: {len(uses)} bills", p.returncode == 0 and len(answers) == len(uses) and not wrong, wrong)
print(f"# {total} bills")
print(f"1..{count}")
sys.exit(failures != 0)
