#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The comparison of April 2017 that printed speeds relative to a laptop and prices, but no times. The figures are
those that were published: 43, 167, 15 % faster, three times; $0.90, $0.40, two thirds; 2.59 times cheaper, 29.8 days."""
import csv
import io
import json
import os
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, os.path.join(os.environ["ROOT"], "tests"))
from tap import done, report  # noqa: E402

FARE = os.environ["FARE"]
HOME = Path(os.environ.get("TMPDIR", "/tmp"))
OWN = "own machine with a GTX 1080 Ti"


def fare(*args):
    p = subprocess.run([FARE, *args], capture_output=True, text=True)
    return p.stdout + p.stderr


def workload(*args):
    return json.loads(fare("compare", "--json", *args))["workloads"][0]


def rows(*args):
    return {r["machine"]: r for r in workload(*args)["rows"]}


def near(got, want):
    return got is not None and abs(got - want) < 1e-14 * want


def ratios():
    got = rows("--published", "2017-inception")
    times = {"p2.xlarge": 1, "GPU+": 1 / 1.15, "P5000": 1 / 3, OWN: 43 / 167, "laptop CPU": 43}
    for name, want in times.items():
        report(f"{name}: time relative to p2.xlarge", near(got[name]["time"]["ratio"], want), got[name])
    costs = {"p2.xlarge": 1, "GPU+": 0.40 / 0.90 / 1.15, "P5000": 2 / 3 / 3}
    for name, want in costs.items():
        report(f"{name}: cost relative to it", near(got[name]["money"]["ratio"], want), got[name])
    report("2.59 times cheaper", f"{1 / got['GPU+']['money']['ratio']:.2f}" == "2.59")
    report("29.8 days", f"{2500 / (0.90 * 24 / got[OWN]['time']['ratio']):.1f}" == "29.8")
    report("times and costs themselves are not known", all("time_s" not in r and "cost" not in r
           and "trainings_per_usd" not in r and r["kind"] == "relative" for r in got.values()), got)
    report("nor is a cost where there is no price", "money" not in got[OWN] and "money" not in got["laptop CPU"], got)
    order = [r["machine"] for r in workload("--published", "2017-inception")["rows"]]
    report("the base, then the cheaper, then the faster", order == ["p2.xlarge", "P5000", "GPU+", OWN, "laptop CPU"], order)
    got = rows("--published", "2017-inception", "--price", "p2.xlarge=0.20")
    report("another price", near(got["GPU+"]["money"]["ratio"], 0.40 / 0.20 / 1.15), got["GPU+"])
    got = rows("--published", "2017-inception", "--base", "laptop")
    report("another base", near(got[OWN]["time"]["ratio"], 1 / 167) and "money" not in got["GPU+"], got)
    table = {r["machine"]: r for r in csv.DictReader(io.StringIO(fare("compare", "--published", "2017-inception", "--format", "csv")))}
    report("as CSV, with all their digits", all(near(float(table[name]["time_ratio"]), want) for name, want in times.items())
           and all(near(float(table[name]["cost_ratio"]), want) for name, want in costs.items()), table)
    text = fare("compare", "--published", "2017-inception")
    report("in sentences", "Cheapest: P5000, 0.2222 of the cost of p2.xlarge" in text
           and f"Fastest: {OWN}, 0.2575 of the time of" in text and "only relative speeds are known" in text, text)
    text = fare("quote", "published-2017-inception-aws-p2-xlarge")
    report("a bill cannot be made of them, and that is said", "Only relative speeds of this training are known" in text, text)


def run(name, full=None, labels=()):
    record = {"schema": "fare.run/1", "id": f"20200101T000000Z-{name}", "started": "2020-01-01T00:00:00Z", "name": "inception",
              "workload": "inception", "machine": {"name": name}, "labels": [{"key": k, "value": v} for k, v in labels]}
    if full:
        record |= {"full": True, "ended": "finished", "phases": {"wall_ns": full}}
    return json.dumps(record)


def mixed():
    """Beside runs with times."""
    file, ledger = HOME / "mixed.jsonl", f"--ledger={HOME}/mixed.db"
    to = ("relative_to", "x")
    file.write_text("\n".join([
        run("aa", labels=[("relative_speed", "2"), to]), run("bb", full=10**12), run("cc", full=2 * 10**12),
        run("dd", labels=[("relative_speed", "8"), to]), run("ee", labels=[("relative_speed", "8"), ("relative_to", "y")]),
        *(run(f"n{i}", labels=[("relative_speed", v), to]) for i, v in enumerate(("0", "-1", "nan", "1e999", "2x", "")))]))
    fare("runs", "import", str(file), ledger)
    got = workload(ledger)
    names = {r["machine"] for r in got["rows"]}
    why = {r["machine"]: r["reasons"] for r in got["apart"]}
    report("what has times is the base, and the others stand apart", names == {"bb", "cc"} and len(why) == 9
           and why["aa"] == ["only its relative speed is known, not its time"], got)
    report("a speed that is none is none", all("not known" in why[f"n{i}"][0] for i in range(6)), why)
    got = workload(ledger, "--base", "aa")
    why = {r["machine"]: r["reasons"] for r in got["apart"]}
    found = {r["machine"]: r["time"]["ratio"] for r in got["rows"]}
    report("a relative one can be the base of those relative to the same", found == {"aa": 1, "dd": 0.25}
           and why["ee"] == ["its speed is relative to another machine's"]
           and why["bb"] == ["only the base's relative speed is known, not its time"], got)


ratios()
mixed()
done()
