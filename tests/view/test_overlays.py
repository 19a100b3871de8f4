# SPDX-License-Identifier: Apache-2.0
"""Runs over each other: losses, step times, what differs, and the title that says which is ahead.

The runs are made here; what should be drawn is computed here, quantiles by Python's own.
"""
import html
import json
import math
import os
import random
import re
import statistics
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, os.environ["TESTS"])
sys.path.insert(0, os.environ["TESTS"] + "/view")
import drawing  # noqa: E402
import records  # noqa: E402
from tap import done, report  # noqa: E402

FARE, HERE = os.environ["FARE"], Path(os.environ["TMPDIR"])
os.environ["FARE_BOOK"] = "-"
random.seed(5)


def fare(*arguments):
    p = subprocess.run([FARE, *map(str, arguments)], capture_output=True, text=True, cwd=HERE)
    if p.returncode:
        report(f"fare {' '.join(map(str, arguments))}", False, p.stderr)
    return p.stdout


def ledger(name, runs):
    records.write(HERE / f"{name}.jsonl", runs)
    fare("runs", "import", HERE / f"{name}.jsonl", "--ledger", HERE / f"{name}.db")
    return HERE / f"{name}.db"


def plot(kind, *arguments):
    fare("report", *arguments, "--plot", kind, "-o", HERE / f"{kind}.svg")
    return {panel.title: panel for panel in drawing.panels(HERE / f"{kind}.svg")}


def trained(number, machine, ms, losses, tested=True, **more):
    """200 step times around `ms`, of which the first 20 are twice as slow and not steady; a loss per epoch."""
    steps = [2 * ms] * 20 + [ms * random.uniform(0.95, 1.1) for _ in range(180)]
    run = records.record(number, "cnn", machine, ms, 1, steps=2000, step_plot_ms=steps, batch=128,
                         steady={"kind": "warm-up", "first_step": 200, "steps": 1800, "step_ms": statistics.median(steps[20:]), "low_ms": ms * 0.95, "high_ms": ms * 1.1},
                         epoch_list=[{"epoch": i + 1, "train_loss": loss, **({"test_loss": loss + 0.1} if tested else {})}
                                     for i, loss in enumerate(losses)])
    run.update(more)
    return run


def near(got, wanted, axis, share=0.003):
    return abs(got - wanted) <= max(axis.step(), share * abs(wanted))


A = trained(1, "fast", 10, [2.0, 1.0, 0.5, 0.25], libraries=[{"name": "torch", "version": "2.9"}, {"name": "cudnn", "version": "9.1"}])
B = trained(2, "slow", 14, [2.2, 1.2, 0.7, 0.4], libraries=[{"name": "torch", "version": "2.8"}, {"name": "cudnn", "version": "9.1"}])
two = ledger("two", [A, B])

# ---- losses

((title, panel),) = plot("loss", "--ledger", two).items()
report("loss: the title says who ends lowest", title == "cnn: fast ends lowest, at 0.35; the highest ends at 0.5", title)
drawn = {round(line[-1][1], 2): line for line in panel.lines()}
for run in (A, B):
    wanted = [e["test_loss"] for e in run["epoch_list"]]
    line = drawn.get(round(wanted[-1], 2), [])
    report(f"loss: {run['machine']['name']}'s line goes through its test losses", len(line) == 4 and all(
        abs(x - i - 1) < 0.02 and near(y, v, panel.y) for i, ((x, y), v) in enumerate(zip(line, wanted))), line)
names = [t.text for t in panel.texts]
report("loss: names leave out what is the same", "fast" in names and "slow" in names, names)
untested = ledger("untested", [A, trained(3, "other", 10, [2.0, 1.5], tested=False)])
((title, panel),) = plot("loss", "--ledger", untested).items()
report("loss: of one kind only, where one run has no test loss", any(t.text == "training loss" for t in panel.texts) and
       sorted(round(line[-1][1], 2) for line in panel.lines()) == [0.25, 1.5], [t.text for t in panel.texts])

# ---- step times: the share that takes so long or less, of the steady part

((title, panel),) = plot("distribution", "--ledger", two).items()
middle = {run["machine"]["name"]: statistics.median(run["step_plot_ms"][20:]) for run in (A, B)}
said = re.fullmatch(r"cnn: half of the steps take ([\d.]+) ms or less with fast, ([\d.]+) ms with slow", title)
report("distribution: the title has both medians", said and math.isclose(float(said.group(1)), middle["fast"], rel_tol=1e-3)
       and math.isclose(float(said.group(2)), middle["slow"], rel_tol=1e-3), (title, middle))
lines = sorted(panel.lines(), key=lambda line: line[0][0])
for run, line in zip((A, B), lines):
    steady = sorted(run["step_plot_ms"][20:])
    inner = statistics.quantiles(steady, n=20, method="inclusive")
    wanted = [steady[0], *inner, steady[-1]]
    report(f"distribution: {run['machine']['name']}, every 5 %", len(line) == 21 and all(
        near(x, w, panel.x) and abs(y - 5 * i) < 0.2 for i, ((x, y), w) in enumerate(zip(line, wanted))), (line, wanted))
far = ledger("far", [A, trained(4, "a CPU", 900, [2.0, 1.0])])
panel = list(plot("distribution", "--ledger", far).values())[0]
report("distribution: 90 times apart, on a logarithmic axis", panel.x.log)
one = subprocess.run([FARE, "report", A["id"], "--ledger", str(two), "--plot", "distribution"], capture_output=True, text=True)
report("distribution: of one run there is none", one.returncode != 0, one.stdout)

# ---- the page: what differs, and its title


def page_of(*arguments):
    fare("report", *arguments, "-o", HERE / "page.html")
    return (HERE / "page.html").read_text()


def differences(text):
    section = re.search(r'<section id="differences">(.*?)</section>', text, re.S)
    rows = re.findall(r"<tr>(.*?)</tr>", section.group(1), re.S) if section else []
    return {row[0]: row[1:] for row in ([html.unescape(re.sub(r"<[^>]*>", "", c)) for c in re.findall(r"<td[^>]*>(.*?)</td>", r, re.S)]
                                        for r in rows) if row}


def heading(text):
    return drawing.plain(html.unescape(re.search(r"<h1>(.*?)</h1>", text, re.S).group(1)))


page = page_of(A["id"], B["id"], "--ledger", two)
report("two runs: only what differs, piece by piece", differences(page) == {"Software": ["torch 2.9", "torch 2.8"]}, differences(page))
report("two runs: the title has the ratios, base first",
       heading(page) == "cnn: slow + fare takes 1.4 times the time and 1.4 times the cost of fast + fare", heading(page))
batch = trained(5, "fast", 10, [2.0, 1.0], batch=256)
page = page_of(A["id"], batch["id"], "--ledger", ledger("batch", [A, batch]))
report("another batch is among the differences", differences(page).get("Training") == ["batch 128", "batch 256"], differences(page))
same = dict(A, id=A["id"].replace("T000001Z", "T000009Z"))
page = page_of(A["id"], same["id"], "--ledger", ledger("same", [A, same]))
report("two alike: nothing differs", "Nothing that was recorded" in page and differences(page) == {}, differences(page))
many = [trained(10 + i, f"box-{i}", 10 + i, [2.0, 1.0 + i], batch=128 if i % 3 else 64, seed=1) for i in range(6)]
page = page_of("--ledger", ledger("many", many))
report("many runs: each value with its runs", differences(page).get("Training") == ["batch 128 (4\u00a0runs); batch 64 (2\u00a0runs)"], differences(page))
for i, run in enumerate(many):
    run["seed"] = i
page = page_of("--ledger", ledger("seeds", many))
report("many runs: what each has of its own is not listed", differences(page).get("Training") == ["different in each run"], differences(page))
report("many runs: who is ahead", heading(page).startswith("cnn: box-0 + fare") and "is the fastest" in heading(page), heading(page))
sampled = [trained(30 + i, f"m-{i}", 10, [2.0, 1.0], full=False, ended="sampled", projection={"wall_s": 100 + i, "low_s": 90, "high_s": 112})
           for i in range(2)]
page = page_of(*(r["id"] for r in sampled), "--ledger", ledger("tied", sampled))
report("intervals that overlap: nothing is claimed", heading(page) == "cnn: m-1 + fare and m-0 + fare cannot be told apart"
       or heading(page) == "cnn: m-0 + fare and m-1 + fare cannot be told apart", heading(page))
report("no page shouts", "OLD" not in page)

# ---- all offers of the GPU that is cheapest, in a report

os.environ["XDG_CONFIG_HOME"] = str(HERE / "config")
(HERE / "config/fare/offers").mkdir(parents=True)
(HERE / "config/fare/offers/mine.csv").write_text(
    "provider,name,price,date,source,gpu,gpus\n" + "".join(f"lab,v{n},{0.05 * n},2026-11-01,test,V100,{n}\n" for n in (1, 2))
    + "other,v,0.2,2026-11-01,test,V100,1\n")
run = json.loads(fare("runs", "published-2018-tweets-aws-p3-2xlarge", "--json"))
run.update(id="20260102T000000Z-00000000aaaa")
db = ledger("priced", [run])
shown = plot("offers", run["id"], "--ledger", db, "--date", "2026-11-05")
title, panel = next((t, p) for t, p in shown.items() if t.startswith("V100: "))
points = {tip.split(": $")[0]: x for x, _, _, tip in panel.markers()}
report("a report has the strip of the GPUs of its cheapest bills", all(abs(points[name] / usd - 1) < 0.02 for name, usd in
       (("lab/v1", 0.05), ("other/v", 0.2))) and "lab/v2" not in points, points)
done()
