# SPDX-License-Identifier: Apache-2.0
"""A quote's tables: framework and year of each row, other trainings apart, start-up and its source."""
import datetime
import html.parser
import json
import os
import re
import shutil
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
TODAY = datetime.date.today().isoformat()
SOURCE = ("measured on ten mornings in a row, from the order until the machine answered, without the search for a free one, "
          "and longer than two lines of a terminal")

# Only the offers below: the shipped ones have machines with an M60 too.
shutil.copytree(Path(os.environ["TESTS"]).parent / "share", HERE / "share", ignore=shutil.ignore_patterns("offers"))
os.environ["FARE_SHARE"] = str(HERE / "share")

# Nobody knows how acme and bolt charge: per second is assumed, and a started hour would cost the hour's price. A machine of
# acme is there at once, one of bolt after a minute.
config = Path(os.environ["XDG_CONFIG_HOME"]) / "fare"
(config / "offers").mkdir(parents=True, exist_ok=True)
(config / "offers" / "mine.csv").write_text(f"""\
provider,name,region,zone,kind,gpu,gpus,gpu_memory_gib,vcpus,memory_gib,cpu,bare_metal,price,currency,per,date,source
acme,one,here,,on-demand,L4,1,24,16,128,,no,3.60,USD,hour,{TODAY},mine
acme,slow,here,,on-demand,M60,1,8,4,16,,no,0.36,USD,hour,{TODAY},mine
bolt,slow,here,,on-demand,M60,1,8,4,16,,no,0.36,USD,hour,{TODAY},mine
acme,other,here,,on-demand,P6000,1,24,4,16,,no,0.36,USD,hour,{TODAY},mine
""")
(config / "startup.csv").write_text(f"""\
provider,machine,part,seconds,low,high,source,date
acme,vm,boot,0,0,0,mine,{TODAY}
bolt,vm,boot,60,60,60,"{SOURCE}",{TODAY}
""")


def fare(*arguments):
    p = subprocess.run([FARE, *map(str, arguments)], capture_output=True, text=True, cwd=HERE)
    if p.returncode != 0 or p.stderr:
        report(f"fare {arguments[0]}", False, p.stderr)
    return p.stdout


def measured(number, seconds, gpu, framework="fare", year=2026, data=None):
    run = records.record(number, "cifar", f"box with {gpu}", seconds, framework=framework, use={"gpus": 1}, epochs=20, batch=32,
                         data=data or {"name": "cifar10", "made": False, "train_samples": 50000},
                         started=f"{year}-01-{number:02d}T00:00:00Z")
    run["machine"].update(gpu=gpu, gpus=1)
    return run


def rows(text, pattern):
    return [line for line in text.splitlines() if re.search(pattern, line)]


# The training asked for: 100 s on an L4, 2000 s on an M60. Another, of made pictures, with another framework and two years
# before: 50 s on an M60, 40 s on a P6000. Its 50 s x 0.36 / 3600 = 0.005 USD are less than any of the first.
MADE = {"name": "drawn shapes", "made": True, "train_samples": 100}
records.write(HERE / "runs.jsonl", [measured(1, 100, "NVIDIA L4"), measured(2, 2000, "Tesla M60"),
                                    measured(3, 50, "Tesla M60", "pytorch", 2024, MADE),
                                    measured(4, 40, "Quadro P6000", "pytorch", 2024, MADE)])
fare("runs", "import", HERE / "runs.jsonl", "--ledger", LEDGER)
ASK = ("cifar", "--ledger", LEDGER)

quote = json.loads(fare("quote", *ASK, "--provider", "acme", "--json"))
report("two trainings, apart", ({b["offer"] for b in quote["bills"]}, {b["offer"] for b in quote["others"]}) ==
       ({"acme/one@here", "acme/slow@here"}, {"acme/slow@here", "acme/other@here"}), quote)

short = fare("quote", *ASK, "--provider", "acme", "--measured")
report("under an assumed rule a row is a range, up to started hours: 0.10 to 3.60, 0.20 to 0.36", rows(short, r"^L4 +acme/one +1 min 40 s +0\.1-3\.6$") and
       rows(short, r"^M60 +acme/slow +33 min 20 s +0\.20-0\.36$") and "ranges: by the second to by started hours" in " ".join(short.split()), short)
text = fare("quote", *ASK, "--provider", "acme", "--measured", "--all")
first, _, second = text.partition("Other trainings of cifar, not comparable with the one above\n")
report("the title says which training", first.startswith("cifar, the whole training (fare, 2026, cifar10, 50,000 samples)\n"), text)
report("a row of it: time and cost, and that its rule is assumed", rows(first, r"^L4 +acme/one +rule assumed +1 min 40 s +0\.10\b") and
       rows(first, r"^M60 +acme/slow +rule assumed +33 min 20 s +0\.20\b"), first)
report("others: their label", rows(second, r"^pytorch, 2024, drawn shapes \(generated\), 100 samples:$"), second)
report("others: their rows", rows(second, r"^M60 +acme/slow +rule assumed +50\.0 s +0\.005\b") and
       rows(second, r"^P6000 +acme/other +rule assumed +40\.0 s +0\.004\b"), second)
report("others are not the cheapest", "Cheapest: acme/slow, 0.20 USD (0.20-0.36)" in first and "0.005" not in first and
       "0.004" not in first, first)
report("no start-up, no word of it", "start-up" not in text, text)

text = fare("quote", *ASK, "--provider", "bolt", "--all")
report("a table says how long start-up is", "The times include start-up (1 min 00 s): --offer" in text and
       rows(text, r"^M60 +bolt/slow .*34 min 20 s +1 min 00 s +0\.206\b"), text)
report("with and without", "start-up (up to 1 min 00 s)" in fare("quote", *ASK, "--gpu", "m60", "--all"))

# 2060 s at 0.36 an hour: 0.206; a started hour: 0.36.
text = fare("quote", *ASK, "--offer", "bolt/slow")
report("a bill: the source of the start-up, in full", f"assumed: {SOURCE}, {TODAY}" in " ".join(text.split()) and
       rows(text, r"^boot +1 min 00 s +0\.006$"), text)
report("a bill: no line is too long", all(len(line) <= 80 for line in text.splitlines()), text)
report("a bill: an assumed rule, and the other", "Assumed: per second; started hours would cost 0.36 USD." in
       " ".join(text.split()), text)

text = fare("quote", *ASK, "--offer", "acme/other")
report("an offer measured for another training only", "acme/other was measured only for other trainings of cifar." in text and
       rows(text, r"^P6000 +acme/other .*40\.0 s"), text)
text = fare("quote", *ASK, "--gpu", "p6000", "--measured")
report("the same of a filter", "Such machines were measured only for other trainings of cifar." in " ".join(text.split()), text)

# ---- the report


class Tables(html.parser.HTMLParser):
    """The rows of each table of the page's last part, as lists of cells, by their heading."""

    def __init__(self, page):
        super().__init__()
        self.found, self.tag, self.heading = {}, None, ""
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        if tag == "h2":
            self.found = {}  # of the last part of the page
        if tag in ("h2", "h3", "h4", "summary"):
            self.heading = ""
        if tag == "tr":
            self.found.setdefault(self.heading, []).append([])
        if tag in ("th", "td"):
            self.found[self.heading][-1].append("")
        if tag in ("th", "td", "h2", "h3", "h4", "summary"):
            self.tag = tag
        if tag == "span" and self.tag == "td":
            self.found[self.heading][-1][-1] += "\n"  # what stands below

    def handle_endtag(self, tag):
        self.tag = None if tag == self.tag else self.tag

    def handle_data(self, data):
        if self.tag in ("th", "td"):
            self.found[self.heading][-1][-1] += data
        elif self.tag:
            self.heading += data


OTHERS = "Other trainings of cifar, not comparable with the one above"
text = fare("report", "--workload", "cifar", "--ledger", LEDGER, "-o", "-")
page = Tables(drawing.plain(text)).found
head, *lines = page["cifar"]
found = {line[0].split()[-1]: dict(zip(head, line)) for line in lines}
report("the page: framework and year, once below the table", "with fare" not in found["bolt/slow"]["GPU"] and
       len(re.findall(r"<li>[a-z]: [^<]*, with fare, 2026</li>|<p[^>]*>Times are those of [^<]*, with fare, 2026\.</p>", text)) > 0, text)
report("the page: start-up", (found["bolt/slow"]["start-up"], found["acme/one"]["start-up"]) == ("1 min 00 s", "-"), found)
head, *lines = page.get(OTHERS, [[]])
found = {line[0].split()[-1]: dict(zip(head, line)) for line in lines}
report("the page: others in a table of their own", "<p>pytorch, 2024, drawn shapes (generated), 100 samples:</p>" in drawing.plain(text) and found["acme/other"]["time"] == "40.0 s", page)

text = fare("report", "--workload", "cifar", "--ledger", LEDGER, "--format", "md").replace("\xa0", " ")
first, _, second = text.partition(f"## {OTHERS}\n")
report("Markdown: framework, year and start-up", rows(first, r"^\| M60 \(measured, rule assumed, bolt/slow, run a\) "
       r"\| 34 min 20 s \(start-up 1 min 00 s\) \| 0\.206 \|") and rows(first, r"^- a: run .*, with fare, 2026$"), text)
report("Markdown: others", rows(second, r"^pytorch, 2024, drawn shapes \\\(generated\\\), 100 samples:$") and
       rows(second, r"^\| P6000 \(rule assumed, acme/other\) \| 40\.0 s \| 0\.004 \|"), text)
done()
