# SPDX-License-Identifier: Apache-2.0
"""A report's tables in every format, and how it is written."""
import csv
import html.parser
import io
import json
import os
import re
import resource
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, os.environ["TESTS"])
sys.path.insert(0, os.environ["TESTS"] + "/report")
import records  # noqa: E402
from tap import done, report  # noqa: E402

FARE, HERE = os.environ["FARE"], Path(os.environ["TMPDIR"])
LEDGER = HERE / "ledger.db"


def fare(*arguments, **more):
    return subprocess.run([FARE, *map(str, arguments)], capture_output=True, text=True, cwd=HERE, **more)


def good(name, *arguments):
    p = fare(*arguments)
    report(name, p.returncode == 0 and not p.stderr, p.stderr)
    return p.stdout


formula = records.record(950, "cnn", "=1+1", 100, 3.6)  # what a spreadsheet would take for one
records.write(HERE / "all.jsonl", records.everything() + [formula])
good("the records are imported", "runs", "import", HERE / "all.jsonl", "--ledger", LEDGER)
ALL = ("report", "--all", "--ledger", LEDGER, "--rule", "prorated")
COST = {run["machine"]["name"]: run["phases"]["wall_ns"] / 3.6e12 * float(run["labels"][0]["value"])
        for run in records.machines(40)}

# ---- Markdown: a table per workload, nothing with a meaning but ours, and the provenance

text = good("md is written", *ALL, "--format", "md")
rows = [line for line in text.splitlines() if line.startswith("|")]
widths = {len(re.findall(r"(?<!\\)\|", line)) for line in rows}
report("md: the rows of each table have as many cells as its head", len(widths) <= 2, widths)
report("md: a row for each of the machines", all(any(f"| {name} + " in line for line in rows) for name in COST))
report("md: names stay text", "<script" not in text and "&lt;script&gt;" in text)
report("md: the last line says where it comes from", re.fullmatch(
    r"Made by fare \S+ \\\(build \S+\\\) on \d{4}-\d\d-\d\d from the ledger .*\.", text.splitlines()[-1]), text.splitlines()[-1])
text = good("md of a plot is written", *ALL, "--plot", "cost", "--format", "md")
line = next(line for line in text.splitlines() if "machine-07 +" in line)
report("md of a plot: the cost of a machine", f"${COST['machine-07']:.3f}" in line, line)
report("md of a plot: where it comes from", text.splitlines()[-1].startswith("Made by fare"), text.splitlines()[-1])

# ---- CSV

table = list(csv.DictReader(io.StringIO(good("csv is written", *ALL, "--format", "csv"))))
costs = {row["machine"]: float(row["cost_usd"]) for row in table if row["workload"] == "cnn" and row["cost_usd"]}
report("csv: the costs", all(abs(costs[name] - cost) < 1e-6 for name, cost in COST.items()), costs)
report("csv: nothing is a formula", "'=1+1" in costs and not any(v and v[0] in "=+@" for row in table for v in row.values()))
table = list(csv.DictReader(io.StringIO(good("csv of a plot is written", *ALL, "--plot", "batch", "--format", "csv"))))
report("csv of a plot: the points", [(float(r["x"]), round(float(r["y"]), 6)) for r in table] ==
       [(b, round(b / (5 + 0.1 * b) * 500, 6)) for b in (16, 32, 64, 128, 256)], table)

# ---- JSON

page = json.loads(good("json is written", *ALL, "--format", "json"))
report("json: its schema", page["schema"] == "fare.page/1")
report("json: --json is the same", json.loads(good("--json is written", *ALL, "--json"))["plots"] == page["plots"])
report("json: every run, once", len({r["id"] for r in page["runs"]}) == len(page["runs"]) == len(records.everything()) + 1)
report("json: two sentences", len(page["verdict"]) == 2, page["verdict"])
kinds = [plot["kind"] for plot in page["plots"]]
report("json: the plots that these runs give", kinds == ["cost", "relative", "frontier", "accuracy", "use", "steps",
                                                         "batch", "gpus", "prices"], kinds)
report("json: names as they are", any(r["machine"] == records.NASTY for r in page["runs"]))

# ---- OpenMetrics

text = good("openmetrics is written", *ALL, "--format", "openmetrics")
lines = text.splitlines()
report("openmetrics: ends with EOF", lines[-1] == "# EOF" and text.endswith("\n"))
SAMPLE = re.compile(r'([a-z_]+)\{((?:[a-z]+="(?:[^"\\\n]|\\[\\"n])*",?)*)\} (\S+)')
family, seen, bad = None, {}, []
for line in lines[:-1]:
    if line.startswith("# "):
        family = line.split()[2]
        continue
    match = SAMPLE.fullmatch(line)
    if not match or match.group(1) != family or (family, match.group(2)) in seen:
        bad.append(line)
    else:
        seen[family, match.group(2)] = float(match.group(3))
report("openmetrics: every line is one, in its family, and none twice", not bad and seen, "\n".join(bad))
units = dict(line.split()[2:4] for line in lines if line.startswith("# UNIT"))
report("openmetrics: names end in their units", all(name.endswith("_" + unit) for name, unit in units.items()))
cost = [v for (name, labels), v in seen.items() if name == "fare_training_cost_usd" and 'machine="machine-07"' in labels]
report("openmetrics: the cost of a machine", len(cost) == 1 and abs(cost[0] - COST["machine-07"]) < 1e-6, cost)

# ---- FOCUS: the cheapest bill, whose rows add up

args = ("published-2018-tweets-leadergpu-2-p100-one-used", "--date", "2018-02-15", "--ledger", LEDGER)
rows = list(csv.DictReader(io.StringIO(good("focus is written", "report", *args, "--format", "focus"))))
quote = json.loads(fare("quote", *args, "--json").stdout)
report("focus: the rows add up to the cheapest bill of fare quote",
       rows and abs(sum(float(r["BilledCost"]) for r in rows) - float(quote["bills"][0]["total"])) < 1e-9, rows)

# ---- HTML holds what the tables hold, and names stay text


class Texts(html.parser.HTMLParser):
    def __init__(self):
        super().__init__()
        self.tags, self.texts = set(), []

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)

    def handle_data(self, data):
        self.texts.append(data)


text = good("html goes to standard output", *ALL, "-o", "-")
parsed = Texts()
parsed.feed(text)
report("html: no scripts", "script" not in parsed.tags and any(records.NASTY in t for t in parsed.texts))
report("html: what has to be said of a run", any("taint" not in t and records.NASTY in t for t in parsed.texts))
report("html: the verdict", all(any(s in t for t in parsed.texts) for s in page["verdict"]))

# ---- writing: whole or not at all

target = HERE / "page.html"
target.write_text("before")
p = fare(*ALL, "-o", target, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (10000, 10000)))
report("a disk that is full: an error, and the old file is as it was",
       p.returncode == 1 and p.stderr.startswith("fare: ") and target.read_text() == "before", p.stderr)
report("a disk that is full: nothing is left over", not list(HERE.glob(".fare-tmp-*")))
p = fare(*ALL, "-o", target)
report("otherwise it is replaced, and said where", p.returncode == 0 and str(target) in p.stdout and
       target.read_text().startswith("<!doctype html>"), p.stdout)
p = fare(*ALL, "-o", HERE / "nowhere" / "x.html")
report("a folder that is not there", p.returncode == 1 and "nowhere" in p.stderr, p.stderr)
p = fare(*ALL)
report("without -o it is report.html here", p.returncode == 0 and (HERE / "report.html").exists(), p.stdout)
p = fare(*ALL, "--plot", "gpus")
report("a plot without -o is KIND.svg here", p.returncode == 0 and (HERE / "gpus.svg").exists(), p.stdout)

# ---- many runs

many = [records.record(10000 + n, "cnn", f"m{n % 50}", 100 + n % 7, 1) for n in range(3000)]
records.write(HERE / "many.jsonl", many)
good("3000 records are imported", "runs", "import", HERE / "many.jsonl", "--ledger", HERE / "many.db")
page = json.loads(good("a report of 3000 runs", "report", "--all", "--ledger", HERE / "many.db", "--json"))
report("3000 runs: all are compared, 200 listed", page["compare"]["runs"] == 3000 and len(page["runs"]) == 200 and
       page["left_out"] == 2800, (page["compare"]["runs"], len(page["runs"]), page.get("left_out")))
page = json.loads(good("a report of the newest", "report", "--ledger", HERE / "many.db", "--json"))
report("without --all it is the newest twenty", len(page["runs"]) == 20)
done()
