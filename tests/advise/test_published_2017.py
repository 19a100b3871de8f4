#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The comparison that was published in November 2017, from its own logs: all 25 ratios of time and all 25 of
cost, prorated and as paid, and what half the price for GPUs made of it. The logs and the table lie where
FARE_DATA says; without them the shipped records alone are compared. Costs are computed a second time here,
in fractions, from the logs' text."""
import csv
import json
import math
import os
import re
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

sys.path.insert(0, os.path.join(os.environ["ROOT"], "tests"))
from tap import done, report, skip  # noqa: E402

FARE = os.environ["FARE"]
HOME = Path(os.environ.get("TMPDIR", "/tmp"))
ENV = {**os.environ, "XDG_DATA_HOME": str(HOME / "data"), "XDG_CONFIG_HOME": str(HOME / "config"),
       "FARE_METADATA": "off"}
FOLDER = Path(os.environ.get("FARE_DATA", "/nonexistent")) / "published"
SET = ["--published", "2017-keras-backends"]
BASE = ["--base", "k80+tensorflow"]
WORKLOADS = {"imdb BiLSTM": "imdb", "mnist_mlp": "mlp", "mnist_cnn": "cnn", "cifar10_cnn": "cifar", "lstm_text": "textgen"}
STEMS = {"imdb_bidirectional_lstm": "imdb", "mnist_mlp": "mlp", "mnist_cnn": "cnn", "cifar10_cnn": "cifar",
         "lstm_text_generation": "textgen"}
COLUMNS = [("k80", "tensorflow"), ("k80", "cntk"), ("p100", "tensorflow"), ("p100", "cntk"), ("cpu32", "tensorflow"),
           ("cpu16", "tensorflow")]
PRICES = {"k80": "0.4975", "p100": "1.5075", "cpu32": "0.24", "cpu16": "0.12"}


def fare(*args, good=True):
    p = subprocess.run([FARE, *args], env=ENV, capture_output=True, text=True)
    if good and p.returncode != 0:
        raise SystemExit(f"fare {' '.join(args)}: {p.stderr}")
    return p


def compare(*args):
    """Rows by workload, machine and framework."""
    out = json.loads(fare("compare", "--json", *args).stdout)
    return {(w["workload"], r["machine"], r["framework"]): r for w in out["workloads"] for r in w["rows"]}, out


def four(x):
    return f"{float(x):.4f}"


# ---- the logs, imported as a user would
def import_logs():
    for path in sorted(FOLDER.glob("minimaxir-2017/*/*.csv")):
        stem, framework = path.stem.rsplit("_", 1)
        machine, workload = path.parent.name, STEMS[stem]
        more = ["--gpu", f"NVIDIA Tesla {machine.upper()}"] if machine in ("k80", "p100") else []
        if workload in ("imdb", "textgen"):
            cudnn = machine in ("k80", "p100") and framework == "tensorflow"
            more += ["--label", "gates=sigmoid (CuDNNLSTM)" if cudnn else "gates=hard sigmoid"]
        if machine.startswith("cpu"):
            more += ["--label", "price_kind=preemptible"]
        fare("runs", "import", str(path), "--workload", workload, "--framework", framework, "--machine", machine,
             "--price-per-hour", PRICES[machine], "--provider", "gcp", "--started", "2017-11-14", *more)


def logged():
    """Exact seconds of each log."""
    seconds = {}
    for path in FOLDER.glob("minimaxir-2017/*/*.csv"):
        stem, framework = path.stem.rsplit("_", 1)
        seconds[STEMS[stem], path.parent.name, framework] = sum(
            Fraction(row["elapsed"]) for row in csv.DictReader(open(path)))
    return seconds


def cost(seconds, per_hour, rule):
    if rule == "paid":  # Compute Engine since 26 September 2017
        seconds = max(60, math.ceil(seconds))
    return Fraction(per_hour) * seconds / 3600


def against_table(name, rows, table):
    bad = [f"{key}: {kind} {four(row[where]['ratio'])}, {figure} in the table"
           for key, figures in table.items() for row in [rows[key]]
           for kind, where, figure in (("time", "time", figures[1]), ("cost", "money", figures[2]))
           if four(row[where]["ratio"]) != figure]
    report(f"{name}: 25 ratios of time and 25 of cost to four decimals", len(table) == 25 and not bad, "\n".join(bad))


def against_fractions(name, rows, seconds, prices, rule):
    bad = []
    for key, row in rows.items():
        base = (key[0], "k80", "tensorflow")
        want = cost(seconds[key], prices[key[1]], rule)
        nano = abs(row["cost"]["nano_usd"] - want * 10**9)
        ratio = want / cost(seconds[base], prices["k80"], rule)
        # Half a billionth is the rounding of a sum; a log's seconds have more decimals than a nanosecond has.
        if nano > Fraction(51, 100) or abs(row["money"]["ratio"] - ratio) > 1e-6:
            bad.append(f"{key}: {row['cost']['usd']} is not {float(want):.9f}; ratio {row['money']['ratio']}, {float(ratio)}")
    report(f"{name}: {len(rows)} costs and ratios as fractions give them", len(rows) == 30 and not bad, "\n".join(bad))


text = FOLDER / "README.md"
table = {}
if text.exists():
    for name, cells in re.findall(r"^\| (imdb BiLSTM|mnist_\w+|cifar10_cnn|lstm_text) \|(.*)\|$", text.read_text(), re.M):
        for column, cell in zip(COLUMNS, cells.split("|")):
            figures = re.findall(r"[\d.]+", cell)
            if len(figures) == 3:
                table[WORKLOADS[name], *column] = figures

shipped, whole = compare(*SET, *BASE, "--rule", "prorated")
report("the shipped records are 30 rows of 5 workloads, none apart", len(shipped) == 30
       and not any(w["apart"] for w in whole["workloads"]))
gates = {key for key, row in shipped.items() if any("not the same computation" in n for n in row.get("notes", []))}
report("LSTMs with other gates than the base's have a note, and nobody else", gates == {
    (w, m, f) for w in ("imdb", "textgen") for m, f in COLUMNS if m.startswith("cpu") or f == "cntk"}, gates)
report("one run of each: no difference is claimed", all(
    r[k].get("verdict", "one run each: could be chance") == "one run each: could be chance" for r in shipped.values() for k in ("time", "money")))

# As paid, by hand: 42 s are charged as 60 s at $1.5075, 65 s at $0.4975: 60 × 1.5075 / (65 × 0.4975).
paid, _ = compare(*SET, *BASE)
p100 = ("mlp", "p100", "cntk")
report("mlp on the P100 with CNTK: 1.9623 prorated, 2.7971 as paid", four(shipped[p100]["money"]["ratio"]) == "1.9623"
       and four(paid[p100]["money"]["ratio"]) == "2.7971", (shipped[p100]["money"], paid[p100]["money"]))
before, _ = compare(*SET, *BASE, "--date", "2017-09-01")
report("in the ten minutes at least that held until September 2017, 600 s each",
       four(before[p100]["money"]["ratio"]) == four(1.5075 / 0.4975), before[p100]["money"])

# The update of December 2017: preemptible GPUs at half price.
half, told = compare(*SET, *BASE, "--rule", "prorated", "--price", "k80=0.23", "--price", "p100=0.74")
report("re-priced: 0.23 for each row of the K80, and the CPUs as they were", all(
    r["price"]["usd_per_hour"] == {"k80": "0.23", "p100": "0.74", "cpu32": "0.24", "cpu16": "0.12"}[key[1]]
    for key, r in half.items()))
# The same by the book's prices of that day: 0.22 and 0.73 for the GPU, 0.01 for its preemptible n1-standard-1.
spot, _ = compare(*SET, *BASE, "--rule", "prorated", "--spot", "--date", "2017-12-17")
report("--spot on 2017-12-17: K80 and P100 cost what the update said, in all workloads", len(spot) == 30 and all(
    r["cost"].get("nano_usd") == half[key]["cost"]["nano_usd"] for key, r in spot.items()),
    {k: r["price"] for k, r in spot.items() if r["cost"].get("nano_usd") != half[k]["cost"]["nano_usd"]})
ahead = {}
for workload in STEMS.values():
    cpu = min(half[workload, m, "tensorflow"]["cost"]["nano_usd"] for m in ("cpu16", "cpu32"))
    for gpu in ("k80", "p100"):
        ahead[workload, gpu] = min(half[workload, gpu, f]["cost"]["nano_usd"] for f in ("tensorflow", "cntk")) < cpu
report("'ahead of CPUs in all cases' holds with a K80 for cnn, cifar and textgen, with a P100 for cnn alone",
       {key for key, good in ahead.items() if good} == {("cnn", "k80"), ("cifar", "k80"), ("textgen", "k80"),
                                                        ("cnn", "p100")}, ahead)
cheapest = {w["workload"]: w["sentences"][0] for w in told["workloads"]}
report("and the sentences say which is cheapest", all(
    cheapest[w].startswith(f"Cheapest: {m} + tensorflow, ") for w, m in
    (("mlp", "cpu16"), ("imdb", "cpu16"), ("cnn", "k80"), ("cifar", "k80"), ("textgen", "k80"))), cheapest)

if not table:
    skip("from the logs", "FARE_DATA names no folder with published/README.md")
    done()
against_table("shipped records", shipped, table)
import_logs()
seconds = logged()
imported, _ = compare(*BASE, "--rule", "prorated")
against_table("imported logs", imported, table)
prices = dict(PRICES)
against_fractions("prorated", imported, seconds, prices, "prorated")
paid, _ = compare(*BASE)
against_fractions("as paid", paid, seconds, prices, "paid")
report("as paid, from the imported logs: 2.7971", four(paid[p100]["money"]["ratio"]) == "2.7971")
differ = sorted(k for k in paid if four(paid[k]["money"]["ratio"]) != four(imported[k]["money"]["ratio"]))


def ratio(key, rule):
    return cost(seconds[key], prices[key[1]], rule) / cost(seconds[key[0], "k80", "tensorflow"], prices["k80"], rule)


want = sorted(k for k in seconds if four(ratio(k, "paid")) != four(ratio(k, "prorated")))
report(f"the two rules differ in {len(want)} ratios of cost, as the fractions say", differ == want and len(want) > 5, differ)
half, _ = compare(*BASE, "--price", "k80=0.23", "--price", "p100=0.74")
against_fractions("at half price, as paid", half, seconds, {**prices, "k80": "0.23", "p100": "0.74"}, "paid")
gates = {key for key, row in imported.items() if any("not the same computation" in n for n in row.get("notes", []))}
report("the imported logs have the note on gates too", len(gates) == 8, gates)
done()
