#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Whoever is named cheapest, fastest or best may be named: for every shipped workload and 20 known times, at the newest prices, at
those of February 2018 and of November 2026, in the text, the JSON, the pages, the reports and their plots. What may lead is decided
here, from the tables of share/ and the amounts of the rows, by five conditions: (1) the machine can run the program, (2) it can be
ordered, (3) its price is current, (4) its expected bill is known, (5) nothing that is surer reaches below it."""
import collections
import csv
import datetime
import html
import json
import os
import re
import subprocess
import sys
import urllib.request
from pathlib import Path

sys.path.insert(0, os.environ["TESTS"])
import tap  # noqa: E402

FARE, SHARE, HERE = os.environ["FARE"], Path(os.environ["ROOT"]) / "share", Path(os.environ["TMPDIR"])
TODAY = "2026-11-19"
ENV = {**os.environ, "FARE_TEST_NOW": TODAY + "T10:00:00Z", "COLUMNS": "80"}
WORKLOADS = ("l1", "mlp", "cnn", "cifar", "imdb", "textgen", "tweets", "inception", "gpt2")
TIMES = (("40m", "a100", 1), ("90m", "l4", 1),
         ("2h", "h100", 1), ("30m", "t4", 1), ("6h", "v100", 1), ("12h", "a10g", 1), ("1d", "h200", 1),
         ("3d", "a100", 8), ("21d", "h100", 8), ("5h", "rtx4090", 1), ("8h", "l40s", 1), ("20m", "rtx3090", 1), ("2d", "b200", 8),
         ("14d", "h200", 8), ("4h", "a40", 1), ("7d", "a100-80gb", 4), ("3h", "rtxa6000", 2), ("10d", "l4", 1), ("36h", "h100", 2),
         ("45m", "rtx5090", 1))
TIMES_2018 = tuple((time, gpu, 1) for time in ("20m", "2h", "9h", "4d") for gpu in ("k80", "p100", "v100", "p6000", "gtx1080"))
ORDER = ["kepler", "maxwell", "pascal", "volta", "turing", "ampere", "ampere-dc", "ada", "hopper", "blackwell", "blackwell-rtx"]


def rows_of(path):
    with open(path, newline="") as f:
        return list(csv.DictReader(f))


GPUS = {r["name"]: r for r in rows_of(SHARE / "devices/gpus.csv")}
SUPPORT = rows_of(SHARE / "gpu-support.csv")
RUNS = {r["id"]: r for path in sorted((SHARE / "published").glob("*.jsonl")) for r in map(json.loads, path.read_text().splitlines())}
PRICES = collections.defaultdict(list)
for path in sorted((SHARE / "offers").glob("*.csv")):
    for r in rows_of(path):
        PRICES[r["provider"], r["name"], r["region"], r["kind"]].append(r)
TARIFFS = {path.stem: json.loads(path.read_text()) for path in (SHARE / "providers").glob("*.json")}


def days(date):
    return datetime.date.fromisoformat(date[:10]).toordinal()


# ---- the five conditions

def version(text):
    return [int(n) for n in re.findall(r"\d+", text.split("+")[0])[:3]]


def build_of(run):
    """The framework of a run, its version and CUDA's."""
    packages = {p["name"]: p["version"] for p in run.get("code", {}).get("packages", []) + run.get("libraries", [])}
    framework = "pytorch" if "torch" in packages else run.get("framework")
    torch = packages.get("torch", "")
    kernels = [p.get("kernels", "") for p in run.get("libraries", [])]
    return framework, torch or None, packages.get("CUDA") or next((k[5:] for k in kernels if k.startswith("CUDA ")), None)


def supported(run, gpu):
    """By gpu-support.csv: of rows that apply, CUDA's first, then the framework's own; of several the newest."""
    framework, release, cuda = build_of(run)
    found = []
    for r in SUPPORT:
        own = r["framework"] == framework
        if not own and (r["framework"] != "*" or not r["cuda"]):
            continue
        if r["cuda"] and not (cuda and version(cuda) >= version(r["cuda"])):
            continue
        if r["version"] and (cuda or not release or version(release) < version(r["version"])):
            continue
        found.append((bool(r["cuda"]) and own, own, version(r["cuda"] or r["version"] or "0"), r))
    row = max(found, key=lambda f: f[:3])[3] if found else {"vendor": "", "oldest": "", "newest": ""}
    if gpu["vendor"] != "nvidia":  # a build for CUDA, or a program that was only seen on the other vendor's
        return not cuda and row["vendor"] in ("", gpu["vendor"]) and vendor_of(run) in (None, gpu["vendor"])
    age = ORDER.index(gpu["architecture"])
    return not (row["oldest"] and age < ORDER.index(row["oldest"])) and not (row["newest"] and age > ORDER.index(row["newest"]))


def vendor_of(run):
    """The vendor of the GPU that it ran on."""
    name = run["machine"].get("gpu") or ""
    return None if not name else "amd" if re.search("AMD|Radeon|Instinct", name) else "nvidia"


def cannot_run(b, day):
    run, gpu = RUNS.get(b["run"]), GPUS.get(b.get("gpu"))
    estimate = "certainty" in b
    if not run or not estimate:
        return None  # it ran there, or the user says so
    if (b["provider"] == "aws" and re.match(r"[a-z]+[0-9]+g", b["name"])) or (gpu and gpu["host_isa"] == "arm64"):
        return "an ARM host"
    if not gpu:
        return None
    if gpu["trains_until"] == "never" or (gpu["trains_until"] and days(gpu["trains_until"]) <= day):
        return "no framework has kernels for the GPU"
    if not supported(run, gpu):
        return f"{build_of(run)} does not run on a {gpu['name']}"
    if {"f16": "fp16"}.get(run.get("precision"), run.get("precision")) in {"fp16", "bf16", "fp8"} & set(gpu["lacks"].split(";")):
        return f"no {run['precision']}"
    if b["gpus"] < 1 or gpu["part_of"]:
        return "a part of a GPU that nobody measured"
    use = run.get("use", {})
    peak = max((g.get("memory_peak_bytes", 0) for g in use.get("gpu_list", [])), default=0) or use.get("gpu_memory_peak_bytes")
    if vendor_of(run) and not peak:  # on machines with the same GPU or a larger one it fits all the same
        known = [g for g in GPUS.values() if (run["machine"]["gpu"].split()[-1] if run["machine"]["gpu"] else "") == g["name"]]
        peak = max((float(g["memory_gib"]) for g in known), default=float("inf")) * 2 ** 30
    if peak and peak > float(gpu["memory_gib"]) * 2 ** 30:
        return f"{peak / 2 ** 30:.1f} GiB do not fit"
    return None


def cannot_order(b, day):
    known = [r for r in PRICES[b["provider"], b["name"], b.get("region", ""), b["kind"]] if days(r["date"]) <= day]
    if not known:
        return "it is not in the book"
    row = max(known, key=lambda r: r["date"])
    if "region" in (row.get("lacks") or ""):
        return "no region has it"
    if row.get("valid_to") and days(row["valid_to"]) <= day:
        return "retired"
    longest = [t["ends_after_s"] for t in TARIFFS.get(b["provider"], {}).get("tariffs", []) if "ends_after_s" in t
               and t.get("id") == b["tariff"]]
    if longest and b["kind"] != "spot" and b.get("high_s", b["time_s"]) > min(longest):
        return "its term is too short"
    return None


def unknown_bill(b):
    if b["kind"] == "spot" and b.get("spot", {}).get("hazard", "unknown") == "unknown":
        return "interruptions unknown"
    if b.get("lower_bound") or b.get("incomplete") or b.get("price_is") == "floor" or b.get("spot", {}).get("never_ends"):
        return "a lower bound"
    if {"currency", "spot"} & set((PRICES[b["provider"], b["name"], b.get("region", ""), b["kind"]][-1].get("lacks") or "").split(";")):
        return "a doubtful price"
    watts = float(GPUS.get(b.get("gpu"), {}).get("watts") or 0) * b.get("gpus", 0)
    if float(b["rate"]) * 3600 / b["per_s"] < watts / 1000 * 0.02 and b["kind"] != "monthly":
        return "less than its electricity"
    return None


def age_of(b, day):
    dates = [days(r["date"]) for r in PRICES[b["provider"], b["name"], b.get("region", ""), b["kind"]] if days(r["date"]) <= day]
    return day - max(dates)


def sureness(b):
    """Measured, estimated, rough."""
    return 0 if "certainty" not in b else 1 if b["certainty"].startswith("estimated") else 2


class Question:
    """The rows of a quote, and which of them may lead."""

    def __init__(self, words, date):
        self.words, self.date = words, date
        self.day = days(date or TODAY)
        self.given = [*words, *(("--date", date) if date else ())]
        self.quote = json.loads(fare("quote", *self.given, "--all", "--json"))
        self.rows = self.quote["bills"] + self.quote.get("estimates", [])
        self.why = {}
        for i, b in enumerate(self.rows):
            self.why[i] = cannot_run(b, self.day) or (b["provider"] != "own" and (cannot_order(b, self.day) or unknown_bill(b))) or None
        bought = [b["provider"] == "own" for b in self.rows]  # one's own price: no book has it
        able = [age_of(b, self.day) for i, b in enumerate(self.rows) if not self.why[i] and not bought[i]]
        self.newest = min(able, default=None)
        for i, b in enumerate(self.rows):
            if not self.why[i] and not bought[i] and age_of(b, self.day) > max(30, self.newest + 30 if self.newest > 30 else 0):
                self.why[i] = f"a price {age_of(b, self.day)} days old, others are {self.newest}"

    def find(self, name, usd):
        """The row that a sentence names: by its machine, the kind of price, and the amount."""
        kind = re.search(r":(spot|monthly)$", name)
        plain = re.sub(r":(spot|monthly)$", "", name)
        kinds = [kind[1]] if kind else ["on-demand", "monthly"]
        named = [i for i, b in enumerate(self.rows) if plain == b.get("short_name") and b["kind"] in kinds]
        return min(named, key=lambda i: abs(float(self.rows[i]["total"]) - usd), default=None)

    def judge(self, name, usd, measure, limit):
        """Null, or what is wrong with naming it. With a limit, those that miss it are no rivals."""
        i = self.find(name, usd)
        if i is None:
            return f"{name} is not among the rows"
        if self.why[i]:
            return f"{name}: {self.why[i]}"
        lead = self.rows[i]
        if measure == "use":  # the amount is that of a month
            return None
        low, value = ("low", "total") if measure == "cost" else ("low_s", "time_s")
        mine = float(lead[value])
        for k, b in enumerate(self.rows):
            rival = not self.why[k] and sureness(b) < sureness(lead) and (not limit or b[limit] == "met")
            if rival and float(b.get(low, b[value])) < mine:
                least = float(b.get(low, b[value]))
                return f"{name} at {mine:g}: {b['offer']} is surer ({b.get('certainty', 'measured')}) and reaches down to {least:g}"
        return None


def fare(*words):
    p = subprocess.run([FARE, *map(str, words)], capture_output=True, text=True, env=ENV)
    if p.returncode:
        raise AssertionError(f"{words}: {p.returncode}\n{p.stderr}")
    return p.stdout


# ---- who is named

NAMED = re.compile(r"(?:^|[ ;])(?:(?P<what>[Cc]heapest|[Ff]astest)(?: by estimate)?(?:, with your waiting)?: |with a run: |"
                   r"(?P<use>For (?:occasional|steady|heavy) use[^:]*: (?:by estimate )?|by estimate )|"
                   r"(?P<that>cheapest|fastest)(?: that may)? is )(?P<bound>≥?)"
                   r"(?P<name>[^ ;]+/[^ ;]+), (?P<more>≥?)(?P<usd>[\d.]+) USD")


def leaders(text):
    """(measure, name, amount, a limit, whether it is a lower bound) of each machine that a sentence names."""
    for m in NAMED.finditer(" ".join(text.split())):
        what = (m["what"] or m["that"] or m["use"] and "use" or "cheapest").lower()
        limit = m["that"] and ("budget" if what == "fastest" else "deadline")
        yield {"fastest": "time", "use": "use"}.get(what, "cost"), m["name"], float(m["usd"]), limit, bool(m["bound"] or m["more"])


def prose(page):
    return html.unescape(re.sub(r"<[^>]+>", "", re.sub(r"<(style|script|title).*?</\1>", "", page, flags=re.S)))


faults, unled, judged = [], [], collections.Counter()


def look(question, surface, text):
    """Judges all that a text names. True: it names somebody as cheapest."""
    found = list(leaders(text))
    for measure, name, usd, limit, bound in found:
        judged[surface] += 1
        why = "a lower bound leads" if bound else question.judge(name, usd, measure, limit)
        if why:
            faults.append(f"{surface}, {' '.join(question.given)}: {why}")
    if found and question.newest is not None and question.newest > 30:
        date = datetime.date.fromordinal(question.day - question.newest).isoformat()
        if f"prices of {date}" not in " ".join(text.split()):
            faults.append(f"{surface}, {' '.join(question.given)}: the headline does not say that prices are of {date}: {text[:300]}")
    return any(measure == "cost" for measure, *_ in found)


def look_at_table(q, text):
    """Each machine that a short answer shows beside those that lead may be named, or has nothing against it but the age that the answer
    gives for the last rows."""
    short = collections.defaultdict(list)
    for i, b in enumerate(q.rows):
        short[b.get("short_name")].append(q.why[i])
    said = " ".join(text.split())
    many = re.search(r"those of the last (\d+) rows are older", said)
    older = int(many[1]) if many else "that of the last row is older" in said
    names = [word for line in text.split("\n\n")[1].splitlines() for word in line.split() if word in short]
    for place, name in enumerate(names):
        judged["table"] += 1
        aged = any(re.match(r"a price \d+ days old", why or "") for why in short[name])
        if None not in short[name] and not (aged and place >= len(names) - older):
            faults.append(f"table, {' '.join(q.given)}: {name}: {short[name][0]}")


def look_at_page(q, page):
    """The first table of a page: its first rows may lead, cheapest on demand first; none that may not stands before one that may."""
    table = re.search(r"<table>.*?</table>", page[page.index("Machines to rent"):], re.S)[0]
    head = [html.unescape(re.sub(r"<[^>]+>", "", cell)) for cell in re.findall(r"<th[ >].*?</th>", table, re.S)]
    at, order = head.index("on demand"), []
    for row in re.findall(r"<tr><td.*?</tr>", table, re.S) + re.findall(r'<tr class="mute"><td.*?</tr>', table, re.S):
        cells = re.findall(r"<td.*?</td>", row, re.S)
        name = html.unescape(re.sub(r"<[^>]+>", "", re.search(r'class="id">(.*?)</span>', cells[0], re.S)[1])).replace("\u2060", "").split(",")[0]
        name = re.sub(":(spot|monthly)$", "", name)
        usd = re.match(r"[~≥]?([\d.]+)", html.unescape(re.sub(r"<[^>]+>", "", cells[at].split("<span")[0])))
        may = any(b.get("short_name") == name and q.why[i] is None for i, b in enumerate(q.rows))
        order.append((not may, float(usd[1]) if usd else float("inf"), name))
        judged["page table"] += 1
    if not order or order[0][0] or [o[0] for o in order] != sorted(o[0] for o in order):
        faults.append(f"page, {q.words}: what may lead is not first: {order}")
    leading = [usd for old, usd, _ in order if not old]
    if any(b < a * 0.98 for a, b in zip(leading, leading[1:])):  # as printed
        faults.append(f"page, {q.words}: rows are not in the order of the price on demand: {order}")


def ask(words, date, *more):
    """A question, as text and as JSON."""
    q = Question((*words, *more), date)
    text = fare("quote", *q.given)
    led = look(q, "text", text.split("\n\n")[0])
    if led:
        look_at_table(q, text)
    look(q, "json", " ".join(q.quote["advice"]))
    return q, led


def every_question():
    """Each workload and each known time on three days."""
    for date in (None, "2018-02-15", "2026-11-01"):
        times = TIMES_2018 if date and date < "2019" else TIMES
        for words in [(w,) for w in WORKLOADS] + [("--time", t, "--gpu", g, "--gpus", str(n)) for t, g, n in times]:
            q, led = ask(words, date)
            questions[" ".join(q.given)] = q
            if not led:
                unled.append((*q.given, collections.Counter(q.why.values()).most_common(2)))


def limits():
    """The same who is named for a deadline or a budget, and for use through the months beside a machine that is bought."""
    ask(("gpt2", "--buy", "2200", "--gpu", "rtx4090", "--hours-per-month", "100"), None)
    for more in (("--deadline", "20m", "--budget", "0.05"), ("--deadline", "3h", "--budget", "2", "--spot", "--mtbi", "6h")):
        for word in ("tweets", "inception"):
            ask((word,), None, *more)


def other_builds():
    """Runs of a program for CUDA 13.0, 12.4 and 11.8, of one that needs 30 GiB, and of one whose memory nobody recorded."""
    base = next(r for r in RUNS.values() if r["id"].endswith("gpt2-pytorch-gpu-bf16"))
    made = []
    builds = (("2.11.0+cu130", "13.0", 10), ("2.6.0+cu124", "12.4", 10), ("2.6.0+cu118", "11.8", 30), ("2.6.0+cu118", "11.8", None))
    for number, (torch, cuda, gib) in enumerate(builds):
        r = json.loads(json.dumps(base))
        r.update(id=f"20260801-000000-{number:04d}-lead", libraries=[{"name": "torch", "version": torch, "kernels": f"CUDA {cuda}"}])
        r["use"] = {k: v for k, v in r["use"].items() if k not in ("gpu_list", "gpu_memory_peak_bytes")}
        if gib:
            r["use"]["gpu_memory_peak_bytes"] = gib * 2 ** 30
        RUNS[r["id"]] = r
        made.append(r)
    (HERE / "builds.jsonl").write_text("".join(json.dumps(r) + "\n" for r in made))
    fare("runs", "import", HERE / "builds.jsonl", "--ledger", HERE / "builds.db")
    for r in made:
        q, _ = ask((r["id"], "--ledger", str(HERE / "builds.db")), None)
        left = [m["offer"] for m in q.quote["misfits"] if m["reason"] == "not supported by the framework"]
        assert left, (r["id"], q.quote["left_out"])


def pages():
    """The page of each workload: who is named, and the amount in its title."""
    server = subprocess.Popen([FARE, "serve", "--listen", "127.0.0.1:0", "--ledger", str(HERE / "builds.db"), "--book", "-"], env=ENV,
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        where = re.search(r"http://\S+:\d+", server.stdout.readline())
        for word in WORKLOADS if where else ():
            page = urllib.request.urlopen(f"{where[0]}/quote?run={word}", timeout=60).read().decode()
            assert look(questions[word], "page", prose(page)), page[:2000]
            look_at_page(questions[word], page)
            title = float(re.search(r"<title>[^<]*?([\d.]+) USD", page)[1])
            named = {usd for measure, _, usd, *_ in leaders(prose(page)) if measure == "cost"}
            assert title in named, (word, title, named)
    finally:
        server.terminate()
        server.wait()


def plots():
    """A report's verdict, and the points of its plots that nothing is said to beat."""
    for word in ("cnn", "tweets", "inception", "gpt2"):
        run = next(i for i in RUNS if re.match(f"published-2026-.*-{word}-fare-gpu-", i))
        page, q = json.loads(fare("report", run, "--json")), Question((run,), None)
        look(q, "report", " ".join(page["verdict"]))
        for panel in (panel for plot in page["plots"] if plot["kind"] == "frontier" for panel in plot["panels"]):
            best = [p for series in panel["series"] for p in series["points"] if p.get("marked") or p.get("estimated")]
            assert best, panel
            for p in best:
                same = [i for i, b in enumerate(q.rows) if abs(float(b["total"]) - p["y"]) < 1e-6 * p["y"]]
                judged["plot"] += 1
                if not any(q.why[i] is None for i in same):
                    faults.append(f"plot, {word}: {p['label']} at {p['y']}: {[q.why[i] for i in same][:1]}")


questions = {}
every_question()
tap.report("at least 95 % of the questions have a leader", len(questions) == 87 and len(unled) <= 4, "\n".join(map(str, unled)), lines=100)
for name, action in (("deadlines and budgets", limits), ("builds of a framework", other_builds), ("pages", pages),
                     ("reports and plots", plots)):
    tap.check(f"{name} are judged, too", action)
tap.report("whoever is named satisfies the five conditions", not faults, "\n".join(faults), lines=100)
tap.report("the judgement is not empty", len(judged) == 7 and sum(judged.values()) > 500, judged)
tap.done()
