# SPDX-License-Identifier: Apache-2.0
"""Records with absurd figures (hostile_records.py) at every door of a ledger, and in a ledger of an earlier fare that let them in:
no page and no command fails for them, sums leave them out or stay at their end, and name the run. And what /metrics makes of
names that people choose."""
import http.client
import json
import os
import re
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from decimal import Decimal
from pathlib import Path

sys.path.insert(0, os.environ["TESTS"])
sys.path.insert(0, os.environ["TESTS"] + "/view")
sys.path.insert(0, os.environ["TESTS"] + "/record")
import hostile_records as hostile  # noqa: E402
import records  # noqa: E402
from tap import done, report  # noqa: E402

FARE, ROOT, HERE = os.environ["FARE"], Path(os.environ["ROOT"]), Path(os.environ["TMPDIR"])
ENV = {**os.environ, "FARE_BOOK": "-", "HOME": str(HERE)}
TOKEN = "correct-horse-battery-staple"
(HERE / "token").write_text(TOKEN + "\n")
(HERE / "token").chmod(0o600)
MOST_USD = 1_000_000_000            # docs/team.md: no run costs more
SUM_MOST = "9223372036.854775807"   # of money in 64 bits, in billionths
NOW = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() - 60))


def fare(*args, ledger, text=None):
    return subprocess.run([FARE, *map(str, args), "--ledger", str(HERE / ledger)], env=ENV, capture_output=True, text=True, timeout=120,
                          input=text)


def lines(runs):
    return "".join(json.dumps(run) + "\n" for run in runs)


def run(number, usd=None, **more):
    """One that this month's sums count: of the project p, over an hour."""
    more = {**({"spent": {"usd": usd}} if usd else {}), **more}
    return {**records.record(number, "mlp", "box", 3600), "schema": "fare.run/2", "started": NOW, "project": "p", **more}


def stored(ledger):
    return {json.loads(line)["id"] for line in fare("runs", "export", ledger=ledger).stdout.splitlines()}


class Server:
    def __init__(self, ledger):
        self.process = subprocess.Popen([FARE, "serve", "--listen", "127.0.0.1:0", "--ledger", str(HERE / ledger), "--token-file",
                                         str(HERE / "token")], env=ENV, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.port = int(re.search(r":(\d+)/", self.process.stdout.readline()).group(1))

    def ask(self, path, body=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            connection.request("POST" if body else "GET", path, body, {"Authorization": "Bearer " + TOKEN} if body else {})
            answer = connection.getresponse()
            return answer.status, answer.read().decode()
        except (OSError, http.client.HTTPException) as e:
            return 0, repr(e)
        finally:
            connection.close()

    def stop(self):
        self.process.terminate()
        return self.process.communicate(timeout=60)[1]


# ---- the generator

keys = [line.split("|") for line in (ROOT / "docs/json.md").read_text().split("`fare.runs/1`", 1)[1].split("\n### ", 1)[0].splitlines()
        if line.startswith("| `runs[].")]
numbers = {row[1].strip(" `")[len("runs[]."):] for row in keys if row[2].strip() in ("integer", "number", "list of numbers")}
found = {".".join(str(p) for p in path).replace(".0", "[]") for path, kind in hostile.members() if kind != "amount"}
found = {name.removesuffix("[]") for name in found}
report("every number of a run that docs/json.md lists is tried", numbers == found and len(found) > 200, numbers ^ found)

# ---- doors

whole_any = {"seed", "exit_code", "signal", "temperature_max_c"}  # any integer
base = run(0, batch=32, steps=200, total_steps=1000)
tried, absurd = list(hostile.numbered(hostile.singles(base))), []
singles = iter(tried)
for path, kind in hostile.members():
    for value in hostile.VALUES[kind]:
        one = next(singles)
        beyond = {"whole": value in (-2 ** 63, hostile.MOST, "NaN") and (value == "NaN" or path[-1] not in whole_any),
                  "real": value in (1e308, -1e308, "NaN"),
                  "amount": value not in ("0", "1000000000")}[kind]
        if beyond:
            absurd.append(one)
for value in hostile.VALUES["amount"]:
    one = next(singles)
    if value in ("9223372036.854775807", "1" + "0" * 400):
        absurd.append(one)
p = fare("runs", "import", "-", ledger="in.db", text=lines(tried))
inside, refused = stored("in.db"), {one["id"] for one in absurd}
report("import takes none of the absurd records", not inside & refused and inside,
       f"{sorted(inside & refused)[:9]} {p.stderr[-500:]}")
report("it counts what it left out, and names the first", f"{len(tried) - len(inside)} were left out" in p.stdout
       and re.search(r"left out: .*line \d+: .* is out of range: expected ", p.stderr), p.stdout[-300:] + p.stderr[:500])

costly = [run(1, "12.50"), run(2, str(MOST_USD)), run(3, str(MOST_USD + 1)), run(4, "1e308"),
          run(5, labels=[{"key": "price_per_hour_usd", "value": str(MOST_USD + 1)}])]
server = Server("push.db")
status, text = server.ask("/runs", lines(costly))
report("so does a push", stored("push.db") == {costly[0]["id"], costly[1]["id"]} and "out of range" in text, text)
server.stop()
p = fare("run", "--label", f"price_per_hour_usd={MOST_USD + 1}", "--", "true", ledger="label.db")
report("and --label", p.returncode == 2 and "out of range: expected 0 to 1000000000 USD" in p.stderr, p.stderr)

# ---- a ledger of an earlier fare, which let them in


def old(ledger, good, bad):
    """A ledger with these records, whose columns are filled when it is opened next, as after an update of fare."""
    fare("runs", "import", "-", ledger=ledger, text=lines(good))
    with sqlite3.connect(HERE / ledger) as db:
        columns = [c[1] for c in db.execute("PRAGMA table_info(fare_run)")]
        row = dict(zip(columns, db.execute("SELECT * FROM fare_run").fetchone()))
        db.executemany(f"INSERT INTO fare_run VALUES ({','.join('?' * len(columns))})",
                       [[{**row, "id": one["id"], "record": json.dumps(one)}[c] for c in columns] for one in bad])
        for statement in ("DELETE FROM fare_head", "DELETE FROM fare_spend", "UPDATE fare_schema SET version = 6",
                          "ALTER TABLE fare_spend DROP COLUMN corrected"):
            db.execute(statement)


def sums(ledger):
    p = fare("runs", "--by", "project", "--json", ledger=ledger)
    q = fare("runs", "--budgets", "--json", ledger=ledger)
    return (json.loads(p.stdout)["total"], json.loads(q.stdout)["budgets"][0]) if p.returncode + q.returncode == 0 else (
        {"error": p.stderr}, {"error": q.stderr})


good = [run(n, "12.50") for n in (1, 2, 3)]
bad = [run(11, "9223372036.00"), run(12, "9000000000.00"), run(13, labels=[{"key": "price_per_hour_usd", "value": "99999999999"}])]
old("old.db", good, bad)
fare("runs", "--budget", "project:p=100/month", ledger="old.db")
total, budget = sums("old.db")
ids = {one["id"] for one in bad}
report("a sum leaves out what is out of range, and names a run", Decimal(total.get("usd", 0)) == Decimal("37.50")
       and total.get("out_of_range") == 3 and total.get("unknown") == 3 and total.get("suspect") in ids, total)
report("so does a budget", Decimal(budget.get("spent", 0)) == Decimal("37.50") and budget.get("out_of_range") == 3
       and budget.get("suspect") in ids, budget)
server = Server("old.db")
answers = {path: server.ask(path) for path in ("/", "/spend", "/metrics", "/runs", "/runs/" + bad[0]["id"])}
server.stop()
report("no page fails for it", all(status == 200 for status, _ in answers.values()), {p: s for p, (s, _) in answers.items()})
report("/ and /spend name it", all(any("look at run " + i in answers[path][1] for i in ids) for path in ("/", "/spend")),
       answers["/spend"][1][-1500:])
report("/metrics counts it and has the sum", "\nfare_month_out_of_range_runs 3\n" in answers["/metrics"][1]
       and '\nfare_month_cost_usd{project="p"} 37.5\n' in answers["/metrics"][1], answers["/metrics"][1])
p = fare("runs", bad[0]["id"], ledger="old.db")
report("the run itself says why", p.returncode == 0 and "9223372036.00" in p.stdout and "out of range" in " ".join(p.stdout.split()),
       p.stdout + p.stderr)

many = [run(n, str(MOST_USD), host=f"h{n}") for n in range(1, 11)]
fare("runs", "import", "-", ledger="many.db", text=lines(many))
fare("runs", "--budget", "all=100/month", ledger="many.db")
total, budget = sums("many.db")
ids = {one["id"] for one in many}
report("a sum that is more than fits stays at its end, says so and names a run", total.get("usd") == SUM_MOST
       and total.get("at_least") is True and total.get("suspect") in ids, total)
report("and so does a budget, which is exceeded", budget.get("spent") == SUM_MOST and budget.get("at_least") is True
       and budget.get("suspect") in ids and budget.get("left", "").startswith("-"), budget)

# ---- all of it in one ledger; sanitized, undefined behaviour ends the program

sampled = {**records.sampled(1, "H100", "mlp"), **base}
extremes = {"whole": hostile.MOST, "real": 1e308, "amount": "9223372036.854775807"}
counts = {("machine", "usable_cpus"), ("use", "gpus"), ("steady", "first_step"), ("steady", "steps"), ("data", "train_samples")}
one_each = [hostile.put(sampled, path, extremes[kind]) for i, (path, kind) in enumerate(hostile.members()) if path in counts or i % 8 == 0]
all_at_once = [hostile.every(sampled, values) for values in (extremes, {"whole": 0, "real": 0, "amount": "0"}, {
    "whole": 10 ** 7, "real": 1, "amount": str(MOST_USD)}, {"whole": 10 ** 18, "real": 1e18, "amount": "1"})]
bad = [one for one in hostile.numbered(all_at_once + one_each + list(hostile.pairs(sampled, 40, 1))) if '"NaN"' not in json.dumps(one)]
old("all.db", good, bad)
fare("runs", "--budget", "project:p=100/month", ledger="all.db")
commands = [("runs",), ("runs", "--by", "project"), ("runs", "--budgets"), ("compare",), ("quote", bad[0]["id"], "--gpu", "H100"),
            ("runs", bad[1]["id"], "--against", good[0]["id"]), ("report", "--output", HERE / "plot.svg", "--plot", "steps"), ("report", "--output", HERE / "page.html")]
said = {" ".join(map(str, c)): fare(*c, ledger="all.db") for c in commands}
report("no command fails with a ledger full of them", all(p.returncode == 0 for p in said.values()),
       {c: (p.returncode, p.stderr[-600:]) for c, p in said.items() if p.returncode != 0})
server = Server("all.db")
paths = ["/", "/runs", "/spend", "/metrics", f"/compare?run={bad[0]['id']}&run={bad[1]['id']}", f"/quote?run={bad[1]['id']}"]
paths += ["/runs/" + bad[2]["id"]]
answers = {path: server.ask(path) for path in paths}
err = server.stop()
report("no page fails with it either", all(status == 200 for status, _ in answers.values()) and "rror:" not in err,
       {p: s for p, (s, _) in answers.items() if s != 200})

# What each of the doors lets in can still be too large for an int, or for the sum of two.
cpus = hostile.put({**run(21), "use": {"gpus": 0}, "machine": {"cpu": "AMD EPYC 9654"}}, ("machine", "usable_cpus"), 1e7)
steps = hostile.put(hostile.put({**sampled, "id": run(22)["id"]}, ("steady", "first_step"), 10 ** 18), ("steady", "steps"), 10 ** 18)
far = {**steps, "id": run(23)["id"], "steady": {**steps["steady"], "first_step": hostile.MOST, "steps": hostile.MOST}}
old("cpus.db", [cpus], [])
p = fare("quote", cpus["id"], ledger="cpus.db")
report("a quote of a run on as many CPUs as the range has", p.returncode == 0, p.stderr[-600:])
old("steps.db", [steps], [far])
said = [fare("report", one["id"], "--output", HERE / "plot.svg", "--plot", "steps", ledger="steps.db") for one in (steps, far)]
report("a plot of as many steps", all(p.returncode == 0 for p in said), [p.stderr[-600:] for p in said])

# ---- /metrics: names, not arguments

SAMPLE = re.compile(r'([a-z_]+)(?:\{((?:[a-z_]+="(?:[^"\\\n]|\\[\\"n])*",?)*)\})? (-?[0-9.]+(?:e[+-]?\d+)?)')


def series(text):
    """{(name, labels): value}; None if a line is no line of OpenMetrics, a series is there twice or outside of its family."""
    got, family = {}, None
    for line in text.splitlines():
        if line.startswith("# "):
            family = line.split()[2] if line.startswith("# TYPE ") else family
            continue
        m = SAMPLE.fullmatch(line)
        if not m or m.group(1) != family or m.group(1, 2) in got:
            return None
        got[m.group(1, 2)] = float(m.group(3))
    return got if text.endswith("# EOF\n") else None


def command(number, name, argument, seconds=60):
    return {**records.record(number, None, "box", seconds, 1, "command"), "workload": "", "name": name,
            "command": ["python", "train.py", "--lr", argument]}


def metrics(runs, ledger):
    fare("runs", "import", "-", ledger=ledger, text=lines([{k: v for k, v in r.items() if v != ""} for r in runs]))
    server = Server(ledger)
    text = server.ask("/metrics")[1]
    server.stop()
    return series(text)


got = metrics([command(n, "train.py", str(n), 100 if n < 10 else 200) for n in range(40)], "args.db")
times = [(labels, v) for (name, labels), v in (got or {}).items() if name == "fare_training_time_seconds"]
report("commands that differ in their arguments are one series, with the mean of their runs", len(times) == 1
       and 'workload="train.py"' in times[0][0] and abs(times[0][1] - 175) < 1e-6 and "lr" not in times[0][0], times)
names = [f"train-{n}.py" for n in range(550)] + ['a "b" \\c']
got = metrics([command(n, name, name) for n, name in enumerate(names + names[-1:])], "names.db")
counts = Counter(name for name, _ in got or {})
runs_of = {labels.split('"')[1] if "(others)" in labels else labels: v for (name, labels), v in (got or {}).items()
           if name == "fare_training_runs"}
report("of more than 500 series the others are one, which counts their runs", counts["fare_training_time_seconds"] == 500
       and len(runs_of) == 501 and runs_of.get("(others)") == 51 and sum(runs_of.values()) == 552, (counts, list(runs_of)[-3:]))
report("names are escaped", any(r'workload="a \"b\" \\c"' in labels for labels in runs_of), list(runs_of)[:3])
done()
