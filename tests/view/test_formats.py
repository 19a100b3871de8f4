# SPDX-License-Identifier: Apache-2.0
"""A report's tables in every format, and how it is written."""
import csv
import datetime
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
sys.path.insert(0, os.environ["TESTS"] + "/view")
import drawing  # noqa: E402
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
widths = [{len(re.findall(r"(?<!\\)\|", line)) for line in table.splitlines()}
          for table in re.findall(r"(?m)^(?:\|.*\n)+", text)]
report("md: the rows of each table have as many cells as its head", len(widths) > 1 and all(len(w) == 1 for w in widths), widths)
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
report("json: the comparison in one statement, the offers in another", len(page["verdict"]) == 2, page["verdict"])
kinds = [plot["kind"] for plot in page["plots"]]
report("json: the plots that these runs give", kinds == ["cost", "relative", "frontier", "accuracy", "use", "steps",
                                                         "batch", "gpus", "offers", "prices"], kinds)
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
cheapest = next(b for b in quote["bills"] if "standing" not in b)
report("focus: the rows add up to the cheapest bill of fare quote",
       rows and abs(sum(float(r["BilledCost"]) for r in rows) - float(cheapest["total"])) < 1e-9, rows)

# ---- HTML holds what the tables hold, and names stay text


class Texts(html.parser.HTMLParser):
    def __init__(self):
        super().__init__()
        self.tags, self.texts = set(), []

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)

    def handle_data(self, data):
        self.texts.append(drawing.plain(data))


text = good("html goes to standard output", *ALL, "-o", "-")
parsed = Texts()
parsed.feed(text)
report("html: no scripts", "script" not in parsed.tags and any(records.NASTY in t for t in parsed.texts))
report("html: what has to be said of a run", any("taint" not in t and records.NASTY in t for t in parsed.texts))
report("html: the verdict", all(any(s in t for t in parsed.texts) for s in page["verdict"]))

# ---- what it costs is what fare quote says to the same question
#
# Machines that never were, at prices of today; nobody's rules, so a second costs a 3600th. The newest run of
# cifar on the fast GPU is ten times as slow as an older one; of two runs on one machine the slower is the median: 0.036 USD
# an hour make 0.01 USD of 1000 s, and 100 s are the end of its interval.

config = Path(os.environ["XDG_CONFIG_HOME"]) / "fare"
(config / "offers").mkdir(parents=True, exist_ok=True)
TODAY = datetime.date.today().isoformat()
(config / "offers" / "mine.csv").write_text(f"""\
provider,name,region,zone,kind,gpu,gpus,gpu_memory_gib,vcpus,memory_gib,cpu,bare_metal,price,currency,per,date,source
acme,one,here,,on-demand,H100,1,80,16,128,,no,0.036,USD,hour,{TODAY},mine
acme,slow,here,,on-demand,T4,1,16,4,16,,no,0.0036,USD,hour,{TODAY},mine
""")
# They are there at once: tests/view/test_others.py has those that are not.
(config / "startup.csv").write_text(f"provider,machine,part,seconds,low,high,source,date\nacme,vm,boot,0,0,0,mine,{TODAY}\n")
REAL = {"name": "cifar10", "made": False, "train_samples": 50000}
MADE = {"name": "drawn shapes", "made": True, "train_samples": 50000}


def measured(number, seconds, gpu, batch=32, data=REAL, workload="cifar"):
    run = records.record(number, workload, f"box with {gpu}", seconds, use={"gpus": 1}, epochs=20, batch=batch, data=data,
                         started=f"2026-01-{number:02d}T00:00:00Z")
    run["machine"].update(gpu=gpu, gpus=1)
    return run


def money_of(*arguments):
    """The page's bills and plots, and what fare quote says: offer -> (seconds, USD), and the sentences."""
    page = json.loads(good(f"report {arguments[-1]}", "report", *arguments, "--ledger", HERE / "money.db", "--json"))
    word = arguments[-1]
    quote = json.loads(good(f"quote {word}", "quote", word, "--ledger", HERE / "money.db", "--json"))
    mine = [{b["offer"]: (b["time_s"], float(b["total"])) for b in q["bills"] if b["provider"] == "acme"}
            for q in (*page["quotes"], quote)]
    return page, quote, mine


runs = [measured(1, 100, "NVIDIA H100"), measured(2, 2000, "Tesla T4"), measured(3, 1000, "NVIDIA H100"),
        measured(4, 300, "NVIDIA GeForce GTX 1080 Ti", 256, MADE),
        measured(5, 300, "NVIDIA GeForce GTX 1080 Ti", workload="mine"),
        measured(8, 3000, "NVIDIA GeForce GTX 1080 Ti", workload="paid") | {"labels": [{"key": "price_per_hour_usd", "value": "1"}]}]
CHEAP, SLOW, OWN, ALONE, PAID = (run["id"] for run in runs[1:])
records.write(HERE / "money.jsonl", runs)
good("runs with prices are imported", "runs", "import", HERE / "money.jsonl", "--ledger", HERE / "money.db")

page, quote, bills = money_of("--workload", "cifar")
EXPECTED = {"acme/one@here": (1000, 0.01), "acme/slow@here": (2000, 0.002)}
report("a workload: the median time on each offer, as fare quote has it", bills == [EXPECTED, EXPECTED], bills)
report("a workload: the same sentences", page["quotes"][0]["advice"] == quote["advice"], page["quotes"][0]["advice"])
bars = {p["label"]: p["y"] for plot in page["plots"] if plot["kind"] == "cost" for panel in plot["panels"]
        for series in panel["series"] for p in series["points"] if p["label"].startswith("acme/")}
report("a workload: the bars of the costs", bars == {"acme/one": 0.01, "acme/slow": 0.002}, bars)
points = {p["label"]: (p["x"], p["y"]) for plot in page["plots"] if plot["kind"] == "frontier" for panel in plot["panels"]
          for series in panel["series"] for p in series["points"] if p["label"].startswith("acme/")}
report("a workload: the points of the frontier", points == {"acme/one": (1000, 0.01), "acme/slow": (2000, 0.002)}, points)

page, quote, bills = money_of(SLOW)
EXPECTED = {"acme/one@here": (1000, 0.01), "acme/slow@here": (2000, 0.002)}
report("a run: its own time, and that of others elsewhere", bills == [EXPECTED, EXPECTED], bills)
report("a run: the same sentences", page["quotes"][0]["advice"] == quote["advice"], page["quotes"][0]["advice"])
text = good("a run in Markdown", "report", SLOW, "--ledger", HERE / "money.db", "--format", "md").replace("\xa0", " ")
letter = {part: re.search(rf"^\| .*\(.*acme/{part}, .*run (\w)\) \|", text, re.M).group(1) for part in ("one", "slow")}
report("a run: a row with another's time says whose", f"\n- {letter['slow']}: another run, {CHEAP} \\(batch 32, cifar10\\)" in text and
       f"\n- {letter['one']}: run {SLOW} \\(batch 32, cifar10\\)" in text, text)
cells = Texts()
cells.feed(good("a run as a page", "report", SLOW, "--ledger", HERE / "money.db", "-o", "-"))
report("a run: the page says whose time it is", any(t[1:].startswith(f": another run, {CHEAP} (batch 32, cifar10)") for t in cells.texts))

page, quote, bills = money_of(OWN)
report("a run of other data on what nobody rents out: no bill", bills == [{}, {}], bills)
report("a run without a bill: others' machines are named by estimate only", all("Cheapest by estimate: " in s and " with a run" not in s and " ×" in s for s in page["verdict"]
       if "acme" in s), page["verdict"])
page = json.loads(fare("report", OWN, "--ledger", HERE / "money.db", "--measured", "--json").stdout)
report("a run without a bill: nobody else's machine is named", not any("acme" in s for s in page["verdict"]), page["verdict"])
page = json.loads(good("two runs by name", "report", OWN, CHEAP, "--ledger", HERE / "money.db", "--json"))
bills = {b["offer"]: b["run"] for q in page["quotes"] for b in q["bills"]}
report("two runs: no time of a third", set(bills.values()) == {CHEAP} and "acme/one@here" not in bills, bills)

# ---- what a sample got right stands in the table of runs and beside the others

half = measured(6, 60, "Tesla T4", workload="half")
half.update(full=False, ended="sampled", test_accuracy=0.8125, projection={"wall_s": 600, "low_s": 590, "high_s": 610})
twin = measured(7, 60, "NVIDIA H100", workload="half")
twin.update(full=False, ended="sampled", test_accuracy=0.75, projection={"wall_s": 300, "low_s": 290, "high_s": 310})
records.write(HERE / "half.jsonl", [half, twin])
good("samples with an accuracy", "runs", "import", HERE / "half.jsonl", "--ledger", HERE / "half.db")
page = json.loads(good("samples in JSON", "report", "--ledger", HERE / "half.db", "--json"))
report("the accuracy of samples, in both tables", sorted(r["accuracy"] for r in page["runs"]) == [0.75, 0.8125] and
       sorted(r["accuracy"]["value"] for r in page["compare"]["workloads"][0]["rows"]) == [0.75, 0.8125], page["compare"])
cells = Texts()
cells.feed(good("samples as a page", "report", "--ledger", HERE / "half.db", "-o", "-"))
report("the accuracy of samples, on the page", [cells.texts.count(t) for t in ("81.25 %", "75.00 %")] == [2, 2],
       [t for t in cells.texts if t.endswith("%")])
report("that it is of the sample", any("accuracy after the sample" in t for t in cells.texts))

# ---- a deadline is answered, in every format


def answer(*arguments):
    """The last sentence of the verdict, the same in JSON, Markdown and on the page."""
    sentence = json.loads(fare("report", *arguments, "--ledger", HERE / "money.db", "--json").stdout)["verdict"][-1]
    text = fare("report", *arguments, "--ledger", HERE / "money.db", "--format", "md").stdout.replace("\\", "")
    words = Texts()
    words.feed(fare("report", *arguments, "--ledger", HERE / "money.db", "-o", "-").stdout)
    return sentence if sentence in text and sentence in "".join(words.texts) else f"not everywhere: {sentence}"


# Within 1500 s the T4's 2000 s are too long, and 1000 s on the H100 are not; that one run took 100 s promises nothing.
got = answer("--workload", "cifar", "--deadline", "1500s")
report("a deadline: the cheapest that is done", got == "Within 25 min 00 s the cheapest is acme/one, 0.010 USD (0.001-0.036) "
       "in 16 min 40 s (even at the end of its interval).", got)
got = answer("--workload", "cifar", "--deadline", "500s")
# The machines with a run are late; a lower bound may be in time, and is called no more than that. Prices of acme are of today, all
# others older, so that no other bill is named.
may = re.fullmatch(r"Within 8 min 20 s none of them is sure to finish; the fastest is acme/one, 0\.010 USD \(0\.001-0\.036\) in 16 min 40 s; "
                   r"may be in time: (\S+), ≥[\d.]+ USD .*in at least (\d) min (\d\d) s ×[\d.]+, .*\(its interruptions are unknown\)\.", got)
report("a deadline that one of two runs kept", may and not may[1].startswith("acme/") and 60 * int(may[2]) + int(may[3]) <= 500, got)
got = answer(SLOW, "--deadline", "5m")  # not the 9 min on a P100 of 2017, which is another training
report("a deadline that nothing keeps: the fastest", got == "Within 5 min 00 s none of them finishes; the fastest is "
       "acme/one, 0.010 USD (0.010-0.036) in 16 min 40 s.", got)
got = answer(ALONE, "--deadline", "1m", "--measured")
report("a deadline without offers", got == "Within 1 min 00 s: the time is unknown on every offer in the book; on the machine measured "
       "(box with NVIDIA GeForce GTX 1080 Ti) it takes 5 min 00 s.", got)
got = answer(ALONE, "--deadline", "1h")
report("a deadline: the cheapest by estimate", got.startswith("Within 1 h 00 min the cheapest is acme/slow, ") and
       re.search(r" ×[\d.]+: in time even if it takes [\d.]+ times as long\.$", got), got)
# The run's own machine has a price and is late; the estimates in the tables below answer.
got = answer(PAID, "--deadline", "40m")
report("a deadline that only estimates keep", got.startswith("Within 40 min 00 s ") and re.search(r" ×[\d.]+: in time even", got)
       and "none of them finishes" not in got, got)
got = answer(ALONE, "--deadline", "1h", "--measured")
report("a deadline that the machine measured keeps", got == "Within 1 h 00 min: the time is unknown on every offer in the book; on "
       "the machine measured (box with NVIDIA GeForce GTX 1080 Ti) it takes 5 min 00 s.", got)
# As printed in 2018: 1.82 h at 0.90 USD on a P6000, 1.06 h at 3.06 on p3.2xlarge, the fastest of all.
got = answer("--published", "2018-tweets", "--deadline", "2h")
# As charged, with the 5 USD a month that Paperspace took: 6.64 USD on the P6000, 7.51 on its V100.
report("a deadline: of a published set", got == "Within 2 h 00 min the cheapest is p3.2xlarge, 3.24 USD in 1 h 04 min.", got)
got = answer("--published", "2018-tweets", "--deadline", "2h", "--rule", "prorated")
report("a deadline: of a published set, rate x time", got == "Within 2 h 00 min the cheapest is P6000, 1.64 USD in 1 h 49 min.", got)
got = answer("--published", "2018-tweets", "--deadline", "1h")
report("a deadline: of a published set, and nothing is done", got ==
       "Within 1 h 00 min none of them finishes; the fastest is p3.2xlarge, 3.24 USD in 1 h 04 min.", got)
# A workload each: of the five of 2017 only mlp is done within a minute.
page = json.loads(fare("report", "--published", "2017-keras-backends", "--deadline", "1m", "--json").stdout)
done_ones = [s.split(":")[0] for s in page["verdict"][1:] if "within 1 min 00 s the cheapest is" in s]
report("a deadline: each workload of a set", len(page["verdict"]) == 6 and done_ones == ["mlp"], page["verdict"])

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
