#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What the advice promises holds. Times of machines are those printed in 2018 (share/published), rates those of the book; the
sums are made here."""
import json
import os
import re
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, os.environ["TESTS"])
import tap  # noqa: E402
from tap import check  # noqa: E402

SHARE = Path(os.environ["TESTS"]).parent / "share"
RUNS = [json.loads(line) for line in (SHARE / "published/2018-tweets.jsonl").read_text().splitlines()]
GPUS = {"K80": "Tesla K80", "P100": "Tesla P100", "V100": "Tesla V100"}


def quote(*words):
    p = subprocess.run([os.environ["FARE"], "quote", *words, "--all", "--json"], capture_output=True, text=True)
    assert p.returncode == 0, (words, p.stderr)
    return json.loads(p.stdout)


def called(bill):
    """As sentences name it: short, with the kind of its price unless that is on demand."""
    return bill["short_name"] + {"on-demand": ""}.get(bill["kind"], ":" + bill["kind"])


def row_named(words, rows):
    """The row that a sentence names: of offers with one short name the one whose bill it prints."""
    alike = [b for b in rows if words.startswith(called(b) + ",")]
    usd = re.match(r"\S+, ≥?([\d.]+) USD", words)
    return min(alike, key=lambda b: abs(float(b["total"]) - float(usd[1])) if usd else 0, default=None)


def slowest(bill):
    """The longest printed time on the machine, or else with its provider's GPU, or else with such a GPU."""
    ways = (lambda m: (m["provider"], m["instance_type"]) == (bill["provider"], bill["name"]),
            lambda m: m["provider"] == bill["provider"] and m["gpu"].endswith(GPUS.get(bill["gpu"], bill["gpu"])),
            lambda m: m["gpu"].endswith(GPUS.get(bill["gpu"], bill["gpu"])))
    for way in ways:
        times = [r["phases"]["wall_ns"] / 1e9 for r in RUNS if way(r["machine"]) and r["use"].get("gpus", 1) <= bill["gpus"]]
        if times:
            return min(times) if way is ways[0] else max(times)
    raise KeyError(bill["offer"])


def deadlines():
    """Nothing that a deadline is promised for is a lower bound, or took longer when somebody tried."""
    for minutes in (66, 100, 115, 122, 130, 170, 222, 240, 300):
        q = quote("tweets", "--date", "2018-02-15", "--deadline", f"{minutes}m", "--boot", "0")
        said = next(a for a in q["advice"] if a.startswith("Within"))
        named = re.match(r"Within [^,]* the cheapest is (.*)", said)
        assert named, said
        bill = row_named(named[1], q["bills"])
        assert bill, (minutes, said)
        assert bill["kind"] != "spot" and bill["deadline"] == "met" and slowest(bill) <= minutes * 60, (minutes, said, slowest(bill))
        for b in q["bills"] + q.get("estimates", []):
            assert not (b.get("spot", {}).get("lower_bound") and "met" in (b["deadline"], b.get("budget"))), b
        cheaper = [b for b in q["bills"] if b["deadline"] == "met" and "standing" not in b and float(b["total"]) < float(bill["total"])]
        assert not cheaper, (minutes, cheaper)


check("a deadline is kept by what is named for it", deadlines)


def budgets():
    for usd in ("1", "2", "3.30", "7"):
        said = next(a for a in quote("tweets", "--date", "2018-02-15", "--budget", usd)["advice"] if a.startswith("For "))
        assert not re.search(r"the fastest is [^;]*≥", said), said


check("a lower bound is within no budget", budgets)


def sentences():
    """Every amount of a lower bound has its ≥, in sums too."""
    for words in (("--runs", "3"), ("--hours-per-month", "40"), ("--deadline", "3h"), ("--budget", "2"), ()):
        q = quote("tweets", "--date", "2018-02-15", "--kind", "spot", *words)
        bounds = [called(b) for b in q["bills"] if b["spot"].get("lower_bound")]
        assert bounds and any(offer in text for text in q["advice"] for offer in bounds), q
        for text in q["advice"]:
            for part in text.split("; "):
                amounts = re.findall(r"(≥?)([\d.]+ USD)", part.split(" committed")[0])
                if any(offer in part for offer in bounds):
                    left = [a for a in amounts if not a[0] and not part.startswith(f"For {a[1]}")]
                    assert not left, (words, part, left)


check("≥ stands before every amount of a lower bound", sentences)


def round_the_clock():
    """A training on one H200, round the clock: 720 h of a machine with one are enough, whatever its start-up."""
    q = quote("published-2026-h200-cnn-fare-gpu-tf32", "--hours-per-month", "200")
    said = next(a for a in q["advice"] if a.startswith("For heavy use"))
    name, usd = re.search(r"round the clock\): (.*?), ([\d.]+) USD a month", said).groups()
    firm = [b for b in q["bills"] if b["gpus"] == 1 and not b.get("spot", {}).get("lower_bound") and "standing" not in b]
    hour = min(float(b["rate"]) * 3600 / b["per_s"] for b in firm)
    assert 720 * hour <= float(usd) <= 721 * hour and name in map(called, firm), (said, hour)


check("round the clock one GPU is enough for a training on one", round_the_clock)


def in_parallel():
    """Three runs of 21 days: 63 days in turn, 21 side by side, on three machines."""
    q = quote("--time", "21d", "--gpu", "h200", "--runs", "3", "--boot", "0")
    said = next(a for a in q["advice"] if "3 runs" in a)
    assert re.search(r"^3 runs one after the other on \S+: 63 d 00 h, [\d.]+ USD, at a price \d+ days old; on 3 × \S+ in parallel: (at least )?21 d 00 h, ", said), said


check("several runs in parallel take several machines", in_parallel)

LEADS = re.compile(r"(?:^|[ ;])(?:(?:[Cc]heapest|[Ff]astest)(?: by estimate)?(?:, with your waiting)?: |with a run: |"
                   r"(?:cheapest|fastest)(?: that may)? is )([^;]*)")


def at_least(b):
    """It may be any amount higher, by what the record says of it: none of these is a promise."""
    spot = b.get("spot", {})
    return b.get("lower_bound") or b.get("incomplete") or spot.get("lower_bound") or spot.get("never_ends")


def leaders(sentences, rows):
    """The rows that sentences name as cheapest, fastest or the answer to a deadline or budget."""
    for text in sentences:
        for words in LEADS.findall(text):
            named = row_named(words, rows)
            assert named, (words, text)
            assert not at_least(named) and "≥" not in words.split(". ")[0], (text, named["offer"])
            yield named


def no_leader_is_a_bound():
    """Over all trainings, three days, deadlines and budgets that are easy, hard and impossible."""
    limits = ((), ("--deadline", "12h", "--budget", "1"), ("--deadline", "20m", "--budget", "0.05"), ("--deadline", "2s", "--budget", "0.001"))
    today = {"tweets": limits, "cifar": limits[1:2], "inception": limits[1:2], "gpt2": limits[2:3], "l1": limits[3:]}
    asked = [(w, *day, *limit) for w in ("l1", "mlp", "cnn", "cifar", "imdb", "textgen", "tweets", "inception", "gpt2")
             for day, of in ((("--date", "2017-05-01"), limits), (("--date", "2018-02-15"), limits), ((), today.get(w, ()))) for limit in of]
    asked += [(w, "--date", "2018-02-15", "--kind", "spot", *limit, *more) for w in ("tweets", "cnn") for limit in limits
              for more in ((), ("--runs", "3", "--hours-per-month", "40"))]
    found = unnamed = 0
    for words in asked:
        q = quote(*words)
        rows = q["bills"] + q.get("estimates", [])
        known = [b for b in rows if not at_least(b)]
        first, named = q["advice"][:2], list(leaders(q["advice"], rows))
        found += len(named)
        if known:
            assert list(leaders(first, rows)), (words, q["advice"])
        elif rows:  # the reason, and what would tell
            unnamed += 1
            assert not named and re.search(r"lower bound \(≥\).* unknown \(--mtbi|lower bound \(≥\).*for a minute", first[0]), (words, first)
    assert found > 100 and unnamed > 10, (found, unnamed)


check("no lower bound is named cheapest, fastest or the answer to a deadline or budget", no_leader_is_a_bound)


def other_places():
    """The same in text, comparisons and reports."""
    def fare(*words):
        p = subprocess.run([os.environ["FARE"], *words], capture_output=True, text=True)
        assert p.returncode == 0, (words, p.stderr)
        return p.stdout
    text = " ".join(fare("quote", "inception", "--date", "2018-02-15", "--deadline", "12h").split("\noffer ")[0].split())
    assert not LEADS.search(text) and "Lower bounds (≥), none called cheapest" in text, text
    compared = json.loads(fare("compare", "--published", "2018-tweets", "--spot", "--json"))["workloads"][0]
    said = " ".join(compared["sentences"])
    spot = next(r for r in compared["rows"] if r["machine"] == "p2.xlarge")
    assert spot["cost"]["lower_bound"] and "Cheapest" not in said and "No row is called cheapest" in said and "Fastest: p3.2xlarge" in said, said
    assert "≥0.724" in fare("compare", "--published", "2018-tweets", "--spot"), "the mark in the table"
    # cpu16 was paid so, as the set says; how often a K80 would have been taken away is unknown.
    compared = json.loads(fare("compare", "--published", "2017-keras-backends", "--spot", "--date", "2017-12-17", "--json"))
    assert all(w["sentences"][0].startswith("Cheapest: cpu16 + tensorflow, ") for w in compared["workloads"]), compared["workloads"]
    assert any("; may be cheaper: k80 + tensorflow, ≥$" in w["sentences"][0] for w in compared["workloads"]), compared["workloads"]
    for run, deadline, some in (("published-2026-h200-inception-fare-cpu-f32", "12h", False), ("published-2018-tweets-aws-p3-2xlarge", "70m", True)):
        page = json.loads(fare("report", run, "--date", "2018-02-15", "--deadline", deadline, "--json"))
        rows = [b for q in page["quotes"] for b in q["bills"] + q.get("estimates", [])]
        assert any(map(at_least, rows)) and bool(list(leaders(page["verdict"], rows))) == some, (run, page["verdict"])
        assert not any(re.search("[Cc]heapest", panel["title"]) for plot in page["plots"] for panel in plot["panels"]), run


check("nor in text, comparisons and reports", other_places)
tap.done()
