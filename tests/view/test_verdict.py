# SPDX-License-Identifier: Apache-2.0
"""The verdict is one statement that the tables bear out, and the geometric means are those worked out here."""
import html.parser
import json
import math
import os
import re
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, os.environ["TESTS"])
sys.path.insert(0, os.environ["TESTS"] + "/view")
import records  # noqa: E402
from tap import done, report  # noqa: E402

FARE, HERE = os.environ["FARE"], Path(os.environ["TMPDIR"])
os.environ["FARE_BOOK"] = "-"


def fare(*arguments):
    p = subprocess.run([FARE, *map(str, arguments)], capture_output=True, text=True, cwd=HERE)
    if p.returncode != 0:
        report(f"fare {' '.join(map(str, arguments))}", False, p.stderr)
    return p.stdout


def ledger(name, runs):
    path = HERE / f"{name}.db"
    records.write(HERE / f"{name}.jsonl", runs)
    fare("runs", "import", HERE / f"{name}.jsonl", "--ledger", path)
    return path


def page_of(*arguments):
    return json.loads(fare("report", *arguments, "--json"))


def label(row):
    if "type" in row:  # between providers a machine goes by its GPU and place, as in the table
        return (f"{row['gpus']} × " if row["gpus"] > 1 else "") + f"{row['gpu']} at {row['provider']}"
    return row["machine"] + (f" + {row['framework']}" if row["framework"] != "-" else "")


def winner(text, what):
    """The name after "Cheapest: " or "Fastest: "."""
    found = re.search(rf"(?i)\b{what}: ([^,]*),", text)
    return found.group(1) if found else None


# ---- what is named is first in the tables

for arguments in (("--published", "2018-tweets"), ("--published", "2018-tweets", "--rule", "prorated"),
                  ("--published", "2018-tweets", "--base", "v100", "--price", "p6000=0.1")):
    page = page_of(*arguments)
    rows = page["compare"]["workloads"][0]["rows"]
    text = page["verdict"][0]
    cheapest = min(rows, key=lambda row: float(row["cost"]["usd"]))
    fastest = min(rows, key=lambda row: row["time_s"]["value"])
    report(f"{arguments}: the cheapest of the table", winner(text, "Cheapest") == label(cheapest), (text, label(cheapest)))
    report(f"{arguments}: the fastest of the table", winner(text, "Fastest") == label(fastest), (text, label(fastest)))
    report(f"{arguments}: in the words of fare compare", text == " ".join(page["compare"]["workloads"][0]["sentences"]), text)

page = page_of("--published", "2017-keras-backends", "--base", "k80+tensorflow", "--rule", "prorated")
means = {row["name"]: row for row in page["means"]["rows"]}
# docs/classics.md, to the four digits printed there.
TIMES = {"k80 + cntk": (0.8577, 1.4640, 1.0396, 3.5146, 2.0824), "p100 + tensorflow": (0.8560, 0.5034, 0.7253, 0.6399, 0.7650),
         "p100 + cntk": (0.6476, 0.5187, 0.6967, 3.2276, 1.9016), "cpu32 + tensorflow": (1.0232, 2.6559, 1.3603, 1.7901, 2.9426),
         "cpu16 + tensorflow": (1.2275, 4.3287, 2.0065, 1.8401, 3.3337), "k80 + tensorflow": (1,) * 5}
report("means: of the times published in 2017", set(means) == set(TIMES) and all(
    abs(means[name]["time"]["ratio"] / math.prod(t) ** 0.2 - 1) < 1e-4 for name, t in TIMES.items()), means)
report("means: over the five workloads", sorted(page["means"]["workloads"]) == ["cifar", "cnn", "imdb", "mlp", "textgen"])
text = page["verdict"][0]
report("means: the verdict names the first of the table", len(page["verdict"]) == 1 and
       winner(text, "cheapest") == min(means, key=lambda n: means[n]["cost"]["ratio"]) and
       winner(text, "Fastest") == min(means, key=lambda n: means[n]["time"]["ratio"]), text)
report("means: over how many, of how many", text.startswith("By the geometric mean over 5 workloads that all 6 ran, "), text)
markdown = fare("report", "--published", "2017-keras-backends", "--base", "k80+tensorflow", "--rule", "prorated", "--format", "md")
report("means: in Markdown", "## Geometric mean over 5 workloads\n" in markdown and
       f"| p100 + tensorflow | {math.prod(TIMES['p100 + tensorflow']) ** 0.2:.4f} | " in markdown, markdown[:900])

# ---- only workloads that all have: by hand, sqrt(2 * 1), sqrt(0.5 * 2); alone has one and is left out

SECONDS = {"base": {"mlp": 10, "cnn": 20, "imdb": 40}, "slow": {"mlp": 20, "cnn": 20, "imdb": 80}, "half": {"mlp": 5, "cnn": 40},
           "alone": {"imdb": 4}}
book = ledger("means", [records.record(10 * i + j, workload, name, seconds) for i, (name, row) in enumerate(SECONDS.items())
                        for j, (workload, seconds) in enumerate(row.items())])
page = page_of("--all", "--ledger", book, "--base", "base")
means = {row["name"]: row["time"]["ratio"] for row in page["means"]["rows"]}
report("means: over the two that three of them have", page["means"]["workloads"] == ["cnn", "mlp"] and
       page["means"]["left_out"] == ["alone + fare"], page["means"])
report("means: by hand", set(means) == {"base + fare", "slow + fare", "half + fare"} and abs(means["slow + fare"] - math.sqrt(2)) < 1e-9 and
       abs(means["half + fare"] - 1) < 1e-9, means)
report("means: equals are named", "half + fare is as fast." in page["verdict"][0] or "base + fare is as fast." in page["verdict"][0],
       page["verdict"])
text = fare("report", "--all", "--ledger", book, "--base", "base", "-o", "-")
report("means: the page says who is left out", "Left out, because they ran too few of them: alone + fare." in text)
page = page_of("--workload", "mlp", "--ledger", book)
report("means: none of one workload", "means" not in page, page.get("means"))

# ---- equals, and intervals that overlap


def compared(*arguments):
    return page_of(*arguments)["verdict"][0]


book = ledger("equal", [records.record(n, "cnn", f"box-{n}", 100 if n < 3 else 200, 1) for n in (1, 2, 3)])
text = compared("--ledger", book, "--rule", "prorated")
report("equals: both are said", " costs the same." in text and " is as fast." in text and "box-3 + fare costs" not in text and
       "box-3 + fare is" not in text, text)


def sample(number, machine, seconds, low, high):
    return records.record(number, "cnn", machine, seconds, 1, full=False, ended="sampled", phases={"wall_ns": 10 ** 9},
                          projection={"wall_s": seconds, "low_s": low, "high_s": high})


book = ledger("near", [sample(1, "box-1", 100, 90, 110), sample(2, "box-2", 105, 95, 115), sample(3, "box-3", 300, 290, 310)])
text = compared("--ledger", book, "--rule", "prorated", "--base", "box-3")
report("overlapping intervals are said", "Cheapest: box-1 + fare, " in text and "The time cannot be told from that of box-2 + fare: "
       "the 95 % intervals overlap." in text and "could be chance" not in text, text)
book = ledger("apart", [sample(1, "box-1", 100, 90, 110), sample(2, "box-2", 200, 180, 220)])
text = compared("--ledger", book, "--rule", "prorated")
report("intervals apart: nothing of it", "overlap" not in text and "could be chance" not in text, text)
noisy = records.record(3, "cnn", "box-3", 10, 1, taints=["other programs used 2 CPUs"])
book = ledger("noisy", [records.record(1, "cnn", "box-1", 100, 1), records.record(2, "cnn", "box-2", 200, 1), noisy])
text = compared("--ledger", book, "--rule", "prorated")
report("a noisy run does not win, and is counted", "Fastest: box-1 + fare, " in text and text.endswith(" 1 more is noisy or stopped."), text)
one = records.record(1, "cnn", "box", 100, taints=["other programs used 2 CPUs"])
text = page_of("--ledger", ledger("one", [one]), "--deadline", "1h", "--book", "-", "--measured")["verdict"]
report("the deadline of a noisy run does not deny its time", "takes 1 min 40 s" in text[0] and not any("no run's time" in t for t in text), text)

# ---- offers: what is called cheapest is the first row of the table that is no lower bound


def bound(b):
    return b.get("lower_bound") or b.get("spot", {}).get("lower_bound")


for arguments in (("published-2018-tweets-aws-p3-2xlarge", "--date", "2018-02-15"), ("published-2026-h200-mlp-pytorch-cpu-f32",),
                  ("published-2026-h200-mlp-fare-gpu-tf32",)):
    page = page_of(*arguments)
    (quote,), said = page["quotes"], page["verdict"]
    text = " ".join(said)
    report(f"{arguments[0]}: in the words of fare quote", len(said) > 1 and said[1:] == quote["advice"][:len(said) - 1], (said, quote["advice"]))
    bills, estimates = quote["bills"], quote.get("estimates", [])
    cheapest = next(b for b in bills if not bound(b) and "standing" not in b)
    first = [e for e in estimates if not bound(e) and "standing" not in e][:1]
    first = [e for e in first if e["place"] < cheapest["place"]]
    report(f"{arguments[0]}: a cheaper estimate is named as one", ("Cheapest by estimate: " in text) == bool(first) and
           all(f"Cheapest by estimate: {e['short_name']}, " in text for e in first), text)
    report(f"{arguments[0]}: the cheapest with a run", f"{'with a run' if first else 'Cheapest'}: {cheapest['short_name']}, " in text, text)
    least = min(b["time_s"] for b in bills if not bound(b) and "standing" not in b)
    alike = [cheapest] + [b for b in bills if b["time_s"] * 0.99 <= least and f"astest: {b['short_name']}, " in text]
    report(f"{arguments[0]}: the fastest with a run", alike[-1]["time_s"] * 0.99 <= least, text)
    lower = sum(float(b["total"]) < float(cheapest["total"]) and not bound(b) and "standing" not in b for b in bills)
    report(f"{arguments[0]}: lower figures further down are explained", ("its rule is assumed, or more is owed" in text or
                                                                       "the rule is assumed, or more is owed" in text or bool(first)) == (lower > 0 or bool(first)), (lower, text))
    bounds = sum(float(b["total"]) <= float(cheapest.get("high", cheapest["total"])) and bool(bound(b)) and b.get("standing") == "trial" for b in bills)
    report(f"{arguments[0]}: so are lower bounds", f"ower bound{'' if bounds == 1 else 's'} (≥) may be cheaper" in text or not bounds and not first, (bounds, text))

for run, words in (("published-2017-inception-gtx-1080-ti", "only its speed relative to others is known."),
                   ("published-2015-l1-k40", "One calculation of l1 on bare metal with a K40 takes 39.58 ms;")):
    (text,) = page_of(run)["verdict"]
    report(f"{run}: why its time is unknown", words in text and "too early" not in text, text)

# ---- no hashes, ids or cut texts in headlines


class Headlines(html.parser.HTMLParser):
    """Title, headings and verdict."""

    def __init__(self, page):
        super().__init__()
        self.depth, self.drawing, self.texts = 0, 0, []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.drawing += tag == "svg"
        if tag == "wbr":  # has no end
            return
        if (tag in ("title", "h1", "h2", "h3") and not self.drawing) or (tag == "div" and ("class", "verdict") in attrs) or self.depth:
            self.depth += 1

    def handle_endtag(self, tag):
        self.drawing -= tag == "svg"
        self.depth -= self.depth > 0

    def handle_data(self, data):
        if self.depth:
            self.texts.append(data)


INTERNAL = re.compile(r"\d{8}T\d{6}Z|published-\d|import-[0-9a-f]|\b(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{6,}\b|…|\bnet |sha256")
twins = [records.record(n, "cnn", "box", 100 + n, 1) for n in (1, 2, 3)]
for n, run in enumerate(twins):
    run["machine"].update(fingerprint=f"{n}a4b7c9d2e5f" + "0" * 52, cpu="CPU")
hidden = ledger("twins", twins)
detail = [row.get("detail", "") for row in page_of("--ledger", hidden)["compare"]["workloads"][0]["rows"]]
report("rows that only a hash tells apart have it in the table", all(re.search("machine [0-9a-f]{8}", d) for d in detail), detail)
PAGES = {"twins": ("--ledger", hidden), "equal": ("--ledger", HERE / "equal.db", "--deadline", "1h"),
         "a run of another": ("published-2026-h200-mlp-pytorch-cpu-f32", "--deadline", "5m"),
         "a workload": ("--workload", "cnn", "--ledger", HERE / "near.db", "--deadline", "5m"),
         "2017": ("--published", "2017-keras-backends"), "2026": ("--published", "2026-h200")}
for name, arguments in PAGES.items():
    found = [t for t in Headlines(fare("report", *arguments, "-o", "-")).texts if INTERNAL.search(t)]
    report(f"{name}: no internals in the page's headlines", not found, found)
    text = fare("report", *arguments, "--format", "md").replace("\\", "")
    lines = [line for line in text.splitlines() if line.startswith("#")] + text.split("\n\n")[1:2]
    found = [line for line in lines if INTERNAL.search(line)]
    report(f"{name}: none in those of the Markdown", len(lines) > 1 and not found, found)

# ---- money has three digits in sentences, also that of a million tokens

gpt2 = [json.loads(line) for line in (Path(os.environ["ROOT"]) / "share/published/2026-gpt2.jsonl").read_text().splitlines()][:1]
for run in gpt2:
    run.update(id="priced", labels=[{"key": "price_per_hour_usd", "value": "3.31"}])
priced = ledger("priced", gpt2)
(row,) = json.loads(fare("compare", "--workload", "gpt2", "--json", "--ledger", priced))["workloads"][0]["rows"]
exact = float(row["usd_per_mtoken"])
said = re.findall(r"(\S+) USD\s+per\s+million\s+tokens", fare("compare", "--workload", "gpt2", "--ledger", priced))
report("a million tokens: rounded", said == [f"{exact:.3g}"] and len(row["usd_per_mtoken"]) > 8, (said, exact))
done()
