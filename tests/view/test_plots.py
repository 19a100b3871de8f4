# SPDX-License-Identifier: Apache-2.0
"""Every kind of plot is well-formed XML, and lengths of bars and places of points are those of the data.

The data are made here (records.py) or published; what should be drawn is computed here.
"""
import json
import math
import os
import re
import subprocess
import sys
import xml.etree.ElementTree as tree
from pathlib import Path

sys.path.insert(0, os.environ["TESTS"])
sys.path.insert(0, os.environ["TESTS"] + "/view")
import drawing  # noqa: E402
import records  # noqa: E402
from tap import done, report  # noqa: E402

FARE, HERE = os.environ["FARE"], Path(os.environ["TMPDIR"])
LEDGER = HERE / "ledger.db"
TITLES = {}  # by kind, of the plot drawn last


def fare(*arguments):
    return subprocess.run([FARE, *map(str, arguments)], capture_output=True, text=True, cwd=HERE)


def plot(kind, *arguments):
    path = HERE / f"{kind}.svg"
    p = fare("report", *arguments, "--plot", kind, "-o", path)
    report(f"{kind}: written", p.returncode == 0, p.stderr)
    found = drawing.panels(path)
    TITLES[kind] = [panel.title for panel in found]
    return {name_of(panel.title): panel for panel in found}


def name_of(title):
    """Of "cnn: $0.1 to $2" the name; what follows is the result."""
    return re.split(r": (?=\$|[\d.]+ to |[\d.,]+ samples/s|ends at |both |all |steps of |\d+ GPUs |.* (?:ends|takes|cannot) )", title)[0]


def result(kind, name):
    """The numbers of that title's result."""
    title = next(t for t in TITLES[kind] if name_of(t) == name)
    return [float(n.replace(",", "")) for n in re.findall(r"\d[\d,]*\.?\d*", title[len(name):])]


def near(got, wanted, axis, share=0.002):
    return abs(got - wanted) <= max(axis.step(), share * abs(wanted))


def same(name, got, wanted, axis):
    good = len(got) == len(wanted) and all(near(g, w, axis) for g, w in zip(got, wanted))
    report(name, good, f"drawn {got}\nshould be {wanted}")


records.write(HERE / "all.jsonl", records.everything())
p = fare("runs", "import", HERE / "all.jsonl", "--ledger", LEDGER)
report("the records are imported", p.returncode == 0, p.stderr)
ALL = ("--all", "--ledger", LEDGER, "--rule", "prorated")

# ---- cost: seconds × dollars an hour, and the groups at one dollar

cost = {run["machine"]["name"] + " + " + run["framework"]: run["phases"]["wall_ns"] / 3.6e12 *
        float(run["labels"][0]["value"]) for run in records.machines(40)}
hour = {run["machine"]["name"] + " + " + run["framework"]: float(run["labels"][0]["value"])
        for run in records.machines(40)}
panel = plot("cost", *ALL)["cnn"]
bars = panel.bars()
report("cost: 40 bars, none of them cut", len(bars) == 40 and all(b[1] is not None for b in bars), len(bars))
report("cost: every bar begins at zero", all(near(b[2], 0, panel.x) for b in bars), [b[2] for b in bars])
report("cost: the title says from what to what", all(math.isclose(a, b, rel_tol=0.01) for a, b in zip(
    result("cost", "cnn"), (min(cost.values()), max(cost.values())))) and len(result("cost", "cnn")) == 2, TITLES["cost"])
tips = [b[3].find(drawing.SVG + "title").text for b in bars]
names = [tip.rsplit(": $", 1)[0] for tip in tips]
same("cost: the bars are as long as the costs", [b[1] for b in bars], [cost[name] for name in names], panel.x)
order = [(hour[name] > 1, cost[name]) for name in names]
report("cost: budget first, then high-end, each from the cheapest up", order == sorted(order), order)
written = [t.text for t in panel.texts]
for group, wanted in (("Budget: up to $1 an hour", [n for n in names if hour[n] <= 1]),
                      ("High-end: above $1 an hour", [n for n in names if hour[n] > 1])):
    at = written.index(group)
    follow = [t for t in written[at + 1:] if t in hour][:len(wanted)]
    report(f"cost: {group}", follow == wanted and wanted, follow)

intervals = plot("cost", "--workload", "textgen", "--ledger", LEDGER, "--rule", "prorated", "--price", "2")["textgen"]
whisker = [e for e in intervals.elements if "wh" in drawing.classes(e) and e.get("y1") == e.get("y2")]
same("cost: the whisker spans the interval of a projection", [intervals.x.value(float(whisker[0].get("x1"))),
                                                              intervals.x.value(float(whisker[0].get("x2")))],
     [80 / 1800, 101 / 1800], intervals.x)

# ---- a bar that would dwarf the others is cut, and says its value

dear = plot("cost", "--published", "2018-tweets")["tweets"]
cut = [b for b in dear.bars() if b[1] is None]
report("cost: one bar is cut, with its value beside it",
       len(cut) == 1 and cut[0][3].find(drawing.SVG + "title").text.startswith("ex51-ssd-gpu: $158.59"),
       [b[3].find(drawing.SVG + "title").text for b in cut])

# ---- relative: frameworks side by side, the figures published in 2017

PUBLISHED = {  # workload: (time ÷ base, cost ÷ base), from the published logs and prices
    "cpu16 + tensorflow": {"cifar": (2.0065, 0.4840), "cnn": (4.3287, 1.0441), "imdb": (1.8401, 0.4438), "mlp": (1.2275, 0.2961),
                           "textgen": (3.3337, 0.8041)},
    "cpu32 + tensorflow": {"cifar": (1.3603, 0.6562), "cnn": (2.6559, 1.2812), "imdb": (1.7901, 0.8636), "mlp": (1.0232, 0.4936),
                           "textgen": (2.9426, 1.4196)},
    "k80 + cntk": {"cifar": (1.0396, 1.0396), "cnn": (1.4640, 1.4640), "imdb": (3.5146, 3.5146), "mlp": (0.8577, 0.8577),
                   "textgen": (2.0824, 2.0824)},
    "p100 + cntk": {"cifar": (0.6967, 2.1111), "cnn": (0.5187, 1.5716), "imdb": (3.2276, 9.7802), "mlp": (0.6476, 1.9623),
                    "textgen": (1.9016, 5.7622)},
    "p100 + tensorflow": {"cifar": (0.7253, 2.1979), "cnn": (0.5034, 1.5252), "imdb": (0.6399, 1.9389), "mlp": (0.8560, 2.5938),
                          "textgen": (0.7650, 2.3181)},
}
MEAN = "geometric mean"
for figures in PUBLISHED.values():
    figures[MEAN] = tuple(math.prod(pair[i] for pair in figures.values()) ** (1 / 5) for i in (0, 1))


def end(bar):
    """Of a bar that starts at the base, 1: the end that is not there."""
    _, right, left, _ = bar
    return left if right < 1.0001 else right


def ends(panel):
    """{(row, name): value}"""
    found = {}
    for bar in panel.bars():
        label, name = bar[3].find(drawing.SVG + "title").text.split(":")[0].split(", ", 1)
        found[label, name] = end(bar)
    return found


drawn = plot("relative", "--published", "2017-keras-backends", "--base", "k80+tensorflow", "--rule", "prorated")
report("relative: a panel of times and one of costs", list(drawn) == ["Time", "Cost"], sorted(drawn))
for title, which in (("Time", 0), ("Cost", 1)):
    panel, got = drawn[title], ends(drawn[title])
    report(f"relative: {title}, a bar for each but the base in each workload and the mean", set(got) == {
        (workload, name) for name, figures in PUBLISHED.items() for workload in figures}, sorted(got))
    for name, figures in PUBLISHED.items():
        same(f"relative: {title}, {name}", [got[w, name] for w in figures], [f[which] for f in figures.values()], panel.x)
    rows = [e.text for e in panel.texts if "en" in drawing.classes(e)]
    report(f"relative: {title}, the mean is the last group", rows[-1] == MEAN and len(rows) == 6, rows)
    line = [e for e in panel.elements if "rf" in drawing.classes(e)]
    same(f"relative: {title}, the line is at 1", [panel.x.value(float(e.get("x1"))) for e in line], [1], panel.x)
    report(f"relative: {title}, every bar starts at the base", all(near(1, b[1], panel.x) or near(1, b[2], panel.x) for b in panel.bars()))
    report(f"relative: {title}, the line says what 1 is", any(t.text == "1 = k80 + tensorflow" for t in panel.texts))

# Ratios from 0.04 to 48: logarithmic, from 1 on. The times are read from the records themselves.
times = {}
for line in (Path(os.environ["ROOT"]) / "share/published/2026-h200.jsonl").read_text().splitlines():
    run = json.loads(line)
    wall = run["phases"].get("wall_ns", 0) / 1e9 if run.get("full") else run.get("projection", {}).get("wall_s")
    if wall:
        times.setdefault(run["workload"], {})[f"{run['machine']['name']} + {run['framework']}"] = wall
BASE = "machine with an H200 + pytorch"
(panel,) = plot("relative", "--published", "2026-h200").values()
got = ends(panel)
wanted = {(w, name): t / row[BASE] for w, row in times.items() for name, t in row.items() if name != BASE}
whole = {w for w, row in times.items() if len(row) == 4}
for name in {name for _, name in wanted}:
    wanted[MEAN, name] = math.prod(wanted[w, name] for w in whole) ** (1 / len(whole))
report("relative: a logarithmic axis", panel.x.log)
report("relative: the bars on it", set(got) == set(wanted) and all(abs(got[k] / wanted[k] - 1) < 0.01 for k in wanted),
       sorted((k, got.get(k), wanted.get(k)) for k in set(got) | set(wanted)))
text = (HERE / "relative.svg").read_text()
report("relative: over how many workloads the mean is", f"The geometric mean is over {len(whole)} workloads that all" in text and
       len(whole) == 7)

# Too many for a colour each: a panel for each workload, and the means in the last.
many = [records.record(800 + 10 * w + n, name, f"box-{n}", (n + 1) * (w + 1), 1) for w, name in enumerate(("cnn", "mlp"))
        for n in range(8)]
records.write(HERE / "eight.jsonl", many)
fare("runs", "import", HERE / "eight.jsonl", "--ledger", HERE / "eight.db")
drawn = plot("relative", "--ledger", HERE / "eight.db", "--base", "box-1")
report("relative: many rows have a panel for each workload", list(drawn) == ["cnn, fare", "mlp, fare", "geometric mean over 2 workloads"],
       list(drawn))
report("relative: the title says from what to what", result("relative", "cnn, fare") == [0.5, 4, 0.5, 4], TITLES["relative"])
panel = drawn["geometric mean over 2 workloads"]
same("relative: their means", sorted(end(b) for b in panel.bars() if b[0] == 0), [(n + 1) / 2 for n in range(8)], panel.x)

records.write(HERE / "free.jsonl", [records.record(n, "cnn", f"box-{n}", 100.0 * n) for n in (1, 2)])
fare("runs", "import", HERE / "free.jsonl", "--ledger", HERE / "free.db")
panel = plot("relative", "--ledger", HERE / "free.db")["cnn, fare"]
report("relative: of two, the title has the ratio", TITLES["relative"] == ["cnn, fare: box-1 takes 0.5 of the time of the base"], TITLES["relative"])
text = (HERE / "relative.svg").read_text()
report("relative: without prices it says that bars are times", len(panel.bars()) == 2 and "cost relative" not in text and
       any("time relative to the base" in t.text for t in panel.texts) and ">Time relative to the base<" in text,
       [t.text for t in panel.texts])

# ---- frontier: time against cost, the deadline

panel = plot("frontier", *ALL, "--deadline", "30m")["cnn"]
points = panel.markers()
wanted = {run["machine"]["name"] + " + " + run["framework"]: run["phases"]["wall_ns"] / 1e9 for run in records.machines(40)}
report("frontier: 40 points", len(points) == 40, len(points))
report("frontier: each at its time and cost", all(
    near(x, wanted[n], panel.x, 0.01) and near(y, cost[n], panel.y, 0.01)
    for x, y, _, tip in points for n in wanted if tip.startswith(n + ",")), points)
(drawn,) = panel.lines()
filled = sorted((x, y) for x, y, on, _ in points if on)
report("frontier: its line goes through those that nothing beats", len(drawn) == len(filled) and all(
    near(a, x, panel.x) and near(b, y, panel.y) for (a, b), (x, y) in zip(sorted(drawn), filled)), drawn)
# The cheapest of the 40 is the last, after 100 · 40 s; the first takes 100 s at 36 USD an hour.
report("frontier: the title has the cheapest and the fastest", f"cnn: ${min(cost.values()):.3f} in 1 h 07 min, or $1.00 in 1 min 40 s" in TITLES["frontier"],
       TITLES["frontier"])
line = [e for e in panel.elements if "rf" in drawing.classes(e)]
same("frontier: the deadline", [panel.x.value(float(e.get("x1"))) for e in line], [1800], panel.x)

panel = plot("frontier", "--published", "2018-tweets", "--rule", "prorated")["tweets"]
points = panel.markers()
for x, y, filled, tip in points:
    beaten = any(a < x * 0.9999 and b < y * 0.999 for a, b, _, _ in points)
    report(f"frontier: {tip.split(', ')[0]} is {'beaten' if beaten else 'not beaten'}", filled != beaten)

points = plot("frontier", "--workload", "cifar", "--ledger", LEDGER, "--rule", "prorated")["cifar"].markers()
report("frontier: of eight that are alike nothing beats any", len(points) == 8 and all(filled for _, _, filled, _ in points), points)

# ---- lines

panel = plot("accuracy", *ALL)["cifar"]
accuracies = {run["machine"]["name"]: [e["test_accuracy"] * 100 for e in run["epoch_list"]]
              for run in records.everything() if "epoch_list" in run}
lines = panel.lines()
report("accuracy: a line for each run", len(lines) == len(accuracies), len(lines))
last = [values[-1] for values in accuracies.values()]
report("accuracy: the title says which ends highest", all(math.isclose(a, b, rel_tol=0.002) for a, b in zip(
    result("accuracy", "cifar")[-2:], (max(last), min(last)))) and " ends highest, at " in TITLES["accuracy"][0], TITLES["accuracy"])
for values in accuracies.values():
    found = [line for line in lines if abs(line[-1][1] - values[-1]) < 0.1]
    report("accuracy: the line goes through its epochs", len(found) == 1 and len(found[0]) == 25 and all(
        abs(x - i - 1) < 0.05 and near(y, v, panel.y) for i, ((x, y), v) in enumerate(zip(found[0], values))), found)

one = records.sampled(100)
drawn = plot("use", *ALL)
for what, key, place in (("utilisation", "cpu_percent", 0), ("utilisation", "gpu_percent", 1), ("power", "power_w", 0),
                         ("clocks", "clock_mhz", 0)):
    panel = drawn[f"imdb on H100 + fare: {what}"]
    report(f"use: {key}", len(one["samples"]) == 120 and drawing.passes(panel, place, [(s["at_s"], s[key]) for s in one["samples"]]),
           panel.lines()[place][:5])

axes = {title: [t.text for t in panel.texts if drawing.classes(t) == ["sm", "mu"]][0] for title, panel in drawn.items()}
report("use: the axis says whose", axes["imdb on H100 + fare: utilisation"] == "utilisation of the CPUs and of the GPUs, %", axes)
for gone, left in (("gpu_percent", "CPUs"), ("cpu_percent", "GPUs")):
    run = records.sampled(101, workload="l1")
    for sample in run["samples"]:
        del sample[gone]
    records.write(HERE / "half.jsonl", [run])
    (HERE / "half.db").unlink(missing_ok=True)
    fare("runs", "import", HERE / "half.jsonl", "--ledger", HERE / "half.db")
    panel = plot("use", "--ledger", HERE / "half.db")["l1 on H100 + fare: utilisation"]
    report(f"use: only of the {left}", any(t.text == f"utilisation of the {left}, %" for t in panel.texts), panel.texts)

panel = plot("steps", *ALL)["imdb on H100 + fare"]
report("steps: each median at its place", drawing.passes(panel, 0, [((i + 0.5) * 2, v) for i, v in enumerate(one["step_plot_ms"])]),
       panel.lines()[0][:5])
band = [e for e in panel.elements if "bd" in drawing.classes(e)][0]
report("steps: the steady part is shaded from step 20 on", abs(panel.x.value(float(band.get("x"))) - 20) < 0.5 and
       panel.x.value(float(band.get("x")) + float(band.get("width"))) > 195)
same("steps: the median", [panel.y.value(float(e.get("y1"))) for e in panel.elements if "rf" in drawing.classes(e)],
     [20.2], panel.y)

# ---- one run: where the time went, and everything on one time axis

MS = 10 ** 6
timed = records.sampled(110, workload="timed")
timed.update(phases={"setup_ns": 4000 * MS, "load_ns": 6000 * MS, "warmup_ns": 5000 * MS, "train_ns": 40000 * MS, "evaluate_ns": 4900 * MS,
                     "idle_ns": 100 * MS, "wall_ns": 60000 * MS},
             epoch_list=[{"epoch": n + 1, "train_ns": 11000 * MS, "test_ns": 1000 * MS, "train_loss": 2.0 / (n + 1), "test_accuracy": 0.5 + n / 10}
                         for n in range(4)])
timed["steady"].update(from_s=15, to_s=55)
records.write(HERE / "timed.jsonl", [timed])
fare("runs", "import", HERE / "timed.jsonl", "--ledger", HERE / "timed.db")
found = plot("phases", timed["id"], "--ledger", HERE / "timed.db")
title, panel = next(iter(found.items()))
report("phases: the title says the result", title == "timed spent 75 % of its 1 min 00 s on steps, 17 % before them", title)
parts = [float(e.get("width")) for e in panel.elements if "bar" in drawing.classes(e) and e.find(drawing.SVG + "title") is not None]
seconds = [4, 6, 5, 40, 4.9]  # what is idle is under half a percent
report("phases: each part is as long as its time", len(parts) == len(seconds) and all(
    abs((w + 1) / (sum(parts) + len(parts)) - s / sum(seconds)) < 0.002 for w, s in zip(parts, seconds)), parts)
found = plot("timeline", timed["id"], "--ledger", HERE / "timed.db")
report("timeline: titles say the results", list(found) == [
    "Training loss goes from 2 to 0.5", "Test accuracy ends at 80.00 %", "A step takes 20.2 ms in the steady state",
    "GPUs are 93 % busy, and 1.0 CPUs", "Power is 401 W on average", "GPUs run at 1861 to 1980 MHz"], list(found))
panels = list(found.values())
ends = {(min(x for x, _ in p.x.ticks), max(x for x, _ in p.x.ticks), p.x.ticks[-1][1]) for p in panels}
report("timeline: all axes are the same", len(ends) == 1, ends)
# Only the last says that these are seconds, so the others' numbers are read as they are.
same("timeline: losses, at the ends of the epochs", [x for x, _ in panels[0].lines()[0]], [22, 34, 46, 58], panels[0].x)
same("timeline: and how high they are", [y for _, y in panels[0].lines()[0]], [2, 1, 2 / 3, 0.5], panels[0].y)
# Step 20 of 200 is at 15 s, the last at 55 s: the median i stands for the steps 2i and 2i + 1.
late = [(15 + (2 * i + 1 - 20) / 180 * 40, timed["step_plot_ms"][i]) for i in range(10, 100)]
corners = [p for p in panels[2].lines()[0] if p[0] >= late[0][0] - panels[2].x.step()]
report("timeline: steps at their times, and how long they took", len(timed["step_plot_ms"]) == 100 and all(
    drawing.distance((panels[2].x.pixel(x), panels[2].y.pixel(y)),
                     [(panels[2].x.pixel(a), panels[2].y.pixel(b)) for a, b in corners]) < 0.34 for x, y in late), corners[:5])
report("timeline: power, when it was sampled", drawing.passes(panels[4], 0, [(s["at_s"], s["power_w"]) for s in timed["samples"]]),
       panels[4].lines()[0][:5])
report("several runs have no common time", "nothing to plot" in (fare("report", *ALL, "--plot", "timeline").stderr or "nothing to plot")
       and fare("report", *ALL, "--plot", "timeline").returncode != 0)

panel = plot("batch", *ALL)["mlp"]
sizes = [16, 32, 64, 128, 256]
line = panel.lines()[0]
same("batch: the sizes", [x for x, _ in line], sizes, panel.x)
report("batch: the title has the most", all(math.isclose(a, b, rel_tol=0.001) for a, b in zip(
    result("batch", "mlp"), (256 / 30.6 * 500, 256))), TITLES["batch"])
same("batch: samples a second, as the runs say", [y for _, y in line], [b / (5 + 0.1 * b) * 500 for b in sizes], panel.y)

# Three more of one size, at 0.5, 0.8 and 1.5 of its speed: the median of 0.5, 0.8, 1 and 1.5 is 0.9.
again = [dict(records.batches(200)[3], id=f"20260103T00000{i}Z-{i:012x}") for i in range(3)]
for run, share in zip(again, (0.5, 0.8, 1.5)):
    run["samples_per_s"] *= share
    run["started"] = "2026-01-03T00:00:00Z"
records.write(HERE / "again.jsonl", again)
fare("runs", "import", HERE / "again.jsonl", "--ledger", LEDGER)
panel = plot("batch", *ALL)["mlp"]
line, speed = panel.lines()[0], 128 / 17.8 * 500
same("batch: one point for each size", [x for x, _ in line], sizes, panel.x)
same("batch: the median of several", [line[3][1]], [speed * 0.9], panel.y)
whiskers = [[panel.y.value(float(e.get(y))) for y in ("y1", "y2")] for e in panel.elements
            if "wh" in drawing.classes(e) and e.get("x1") == e.get("x2")]
same("batch: from the least to the most", sum(whiskers, []), [speed * 0.5, speed * 1.5], panel.y)

panel = plot("gpus", *ALL)["inception"]
line = next(points for points in panel.lines() if len(points) == 4)
same("gpus: how many", [x for x, _ in line], [1, 2, 4, 8], panel.x)
same("gpus: how much faster", [y for _, y in line], [1, 1000 / 520, 1000 / 280, 1000 / 160], panel.y)

report("gpus: the title has the most", result("gpus", "inception") == [8, 6.25], TITLES["gpus"])
ideal = next(points for points in panel.lines() if len(points) != 4)
report("gpus: the ideal is as fast as there are GPUs", near(max(x for x, _ in ideal), 8, panel.x) and
       all(near(x, y, panel.y, 0.01) for x, y in ideal), ideal)

# ---- prices, rent or buy

HISTORY = (("2026-09-01", 0.04), ("2026-09-15", 0.06), ("2026-10-01", 0.02))
for date, price in HISTORY:
    (HERE / "p.csv").write_text("provider,name,region,gpu,gpus,vcpus,memory_gib,price,date,source\n"
                                f"lab,v100,here,V100,1,8,64,{price},{date},test\n")
    fare("prices", "import", HERE / "p.csv", "--book", HERE / "book")
panel = list(plot("prices", "published-2018-tweets-aws-p3-2xlarge", "--date", "2026-10-05", "--book", HERE / "book",
                  "--ledger", LEDGER).values())[0]
points = [(x, y, filled) for x, y, filled, tip in panel.markers() if tip.startswith("lab/v100@here")]
report("prices: each on its day", len(points) == 3 and all(
    abs(x - drawing.day(date)) < 1 and near(y, price, panel.y) for (x, y, _), (date, price) in zip(points, HISTORY)), points)
report("prices: the last is the one used", [filled for _, _, filled in points] == [False, False, True], points)
line = next(line for line in panel.lines() if len(line) > 1)
steps = [(HISTORY[0][0], 0.04), (HISTORY[1][0], 0.04), (HISTORY[1][0], 0.06), (HISTORY[2][0], 0.06), (HISTORY[2][0], 0.02)]
report("prices: each holds until the next", len(line) == 5 and all(
    abs(x - drawing.day(date)) < 1 and near(y, price, panel.y) for (x, y), (date, price) in zip(line, steps)), line)
names = [t.text for t in panel.texts if "/" in t.text]
report("prices: no two offers have one name", len(names) == len(set(names)) == 6, names)

ONE = ("published-2018-tweets-aws-p2-xlarge", "--date", "2018-02-15", "--ledger", LEDGER)
panel = list(plot("prices", *ONE).values())[0]
# A post of April 2017 has p2.xlarge at about $0.20 an hour on spot.
chosen = [(y, tip) for _, y, filled, tip in panel.markers() if filled and tip.startswith("aws/p2.xlarge@us-east-1:spot")]
report("prices: the spot price used of p2.xlarge", len(chosen) == 1 and near(chosen[0][0], 0.2, panel.y, 0.02), chosen)

# $300, 400 W at $0.30 and 200 hours a month: $24 a month. p2.xlarge on spot: $40 for the same hours.
OWN = ("--watts", "400", "--kwh", "0.30", "--hours-per-month", "200")
panel = list(plot("buy", *ONE, "--buy", "300", *OWN).values())[0]
lines = panel.lines()
same("buy: months", [x for x, _ in lines[0]], [0, 36], panel.x)
same("buy: what the own machine has cost", [y for _, y in lines[0]], [300, 300 + 36 * 24], panel.y)
report("buy: what p2.xlarge on spot has cost", any(near(line[1][1], 36 * 40, panel.y) for line in lines[1:]), lines)
paid = [panel.x.value(float(e.get("x1"))) for e in panel.elements if "rf" in drawing.classes(e)]
# The cheapest that is no lower bound, at a price of at most 30 days, is Google's n1-standard-4 with a K80 at $0.64 an hour (n1-standard-1's is
# 106 days old), which took 13,392 s where p2.xlarge took 13,032. Of 200 hours the first 180, a quarter of the month, cost that, the
# others 80 % of it (sustained use).
month = 0.64 * (180 + 20 * 0.8) * 13392 / 13032
same("buy: it has paid where the lines cross", paid, [300 / (month - 24)], panel.x)
report("buy: and says after how many months", any(t.text == f"break-even after {300 / (month - 24):.1f} months"
                                                  for t in panel.texts), [t.text for t in panel.texts])

# The same power, where nobody says it and the run measured it: 400 W for as long as it ran.
run = json.loads(fare("runs", "published-2018-tweets-aws-p2-xlarge", "--json").stdout)
run.update(id="20260102T000000Z-00000000aaaa", use={"cpu_energy_j": 400 * run["phases"]["wall_ns"] / 1e9})
records.write(HERE / "power.jsonl", [run])
fare("runs", "import", HERE / "power.jsonl", "--ledger", LEDGER)
panel = list(plot("buy", run["id"], *ONE[1:], "--buy", "300", *OWN[2:]).values())[0]
same("buy: with the power that was measured", [y for _, y in panel.lines()[0]], [300, 300 + 36 * 24], panel.y)

# ---- well-formed, whatever the names

path = HERE / "nasty.svg"
p = fare("report", *ALL, "--price", "1", "--plot", "cost", "-o", path)
text = path.read_text()
tree.fromstring(text)
report("names stay text", "<script" not in text and any(records.NASTY in (e.text or "") for e in tree.fromstring(text).iter()))
shown = text + fare("report", *ALL, "--format", "md").stdout + fare("runs", "--ledger", LEDGER, "--workload", "tweets").stdout
report("no name turns the text around it", "box?gpj.exe?" in shown and not any(c in shown for c in "\u202e\u2066"),
       [line for line in shown.splitlines() if "gpj" in line])
for kind in "cost relative frontier accuracy use steps batch gpus prices buy".split():
    root = tree.parse(HERE / f"{kind}.svg").getroot()
    allowed = {drawing.SVG + t for t in "svg title desc style rect g text line path circle defs pattern".split()}
    report(f"{kind}: holds nothing but drawing", {e.tag for e in root.iter()} <= allowed)
done()
