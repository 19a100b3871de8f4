# SPDX-License-Identifier: Apache-2.0
"""Small drawings of the pages, read back: step times and intervals in the list, costs in a quote; a quote's budget and command."""
import html
import http.client
import json
import math
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from urllib.parse import quote

sys.path.insert(0, os.environ["TESTS"])
sys.path.insert(0, os.environ["TESTS"] + "/view")
import drawing  # noqa: E402
import records  # noqa: E402
from tap import done, report, skip  # noqa: E402

FARE, HERE = os.environ["FARE"], Path(os.environ["TMPDIR"])
TIMES = [("whole", 100, None), ("projected", 400, (200, 900)), ("long", 6400, None)]
STEPS = {"whole": [9, 5, 4, 4, 6, 4, 4, 4], "projected": [2, 2, 2], "long": []}
NAME = "it's $(a) \"name\""
runs = []
for i, (name, seconds, interval) in enumerate(TIMES):
    run = records.record(i + 1, name, "box", seconds, 1, step_plot_ms=STEPS[name], steps=100, step_ms=4)
    if interval:
        run.update(full=False, ended="sampled", phases={"wall_ns": 10 ** 10},
                   projection={"wall_s": seconds, "low_s": interval[0], "high_s": interval[1]})
    runs.append(run)
runs.append(records.record(9, "cnn", "box", 100, 1))
runs[-1]["name"] = NAME
records.write(HERE / "runs.jsonl", runs)
subprocess.run([FARE, "runs", "import", HERE / "runs.jsonl", "--ledger", HERE / "ledger.db"], check=True, capture_output=True)
server = subprocess.Popen([FARE, "serve", "--listen", "127.0.0.1:0", "--ledger", HERE / "ledger.db", "--book", "-"],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
found = re.search(r"http://(.*):(\d+)/", server.stdout.readline())
if not found:
    text = server.communicate()[1]
    skip("fare serve", text.strip()) if "libmicrohttpd is not on this machine" in text else report("it starts", False, text)
    done()


def ask(path):
    connection = http.client.HTTPConnection("127.0.0.1", int(found.group(2)), timeout=60)
    connection.request("GET", path)
    answer = connection.getresponse()
    return answer.status, answer.read().decode()


# ---- the list: the line of step times, and the interval on a scale that all rows share

page = ask("/runs")[1]
rows = {name: re.search(rf'<tr>(?:(?!</tr>).)*?/runs/[^"]*">{name}</a>.*?</tr>', page, re.S).group(0) for name, _, _ in TIMES}
for name, steps in STEPS.items():
    d = re.search(r'<path class="ln s0" d="([^"]*)"', rows[name])
    if not steps:
        report(f"{name}: no step times, no line", d is None, d)
        continue
    points = [(float(x), float(y)) for x, y in re.findall(r"[ML]([\d.]+) ([\d.]+)", d.group(1))]
    low, high = min(steps), max(steps)
    wanted = [(2 + 92 * i / (len(steps) - 1), 2 + 16 * (1 - ((s - low) / (high - low) if high > low else 0.5))) for i, s in enumerate(steps)]
    report(f"{name}: the line goes through its step times", len(points) == len(wanted) and all(
        math.isclose(a, b, abs_tol=0.01) for p, w in zip(points, wanted) for a, b in zip(p, w)), (points, wanted))
ends = [s for _, seconds, interval in TIMES for s in (interval or (seconds,))] + [100]


def at(seconds):
    return 6 + 84 * math.log(seconds / min(ends)) / math.log(max(ends) / min(ends))


for name, seconds, interval in TIMES:
    x, look = re.search(r'<circle cx="([\d.]+)" cy="10" r="[\d.]+" class="mk s0 (\w+)"', rows[name]).groups()
    report(f"{name}: the dot is at its time, {'hollow' if interval else 'filled'}", math.isclose(float(x), at(seconds), abs_tol=0.01)
           and look == ("ho" if interval else "c0"), (x, at(seconds), look))
    whisker = re.search(r'<path class="wh" d="M([\d.]+) 10H([\d.]+)', rows[name])
    good = whisker and all(math.isclose(float(g), at(s), abs_tol=0.01) for g, s in zip(whisker.groups(), interval)) if interval else whisker is None
    report(f"{name}: its interval", good, rows[name])

# ---- a quote: bars to scale, the budget, the same on the command line

RUN = "published-2018-tweets-aws-p3-2xlarge"
status, page = ask(f"/quote?run={RUN}&deadline=2h&budget=1.25&spot=no&measured=yes")
bills = json.loads(ask(f"/quote.json?run={RUN}&deadline=2h&budget=1.25&spot=no&measured=yes")[1])["bills"]
table = re.search(r'aria-label="tweets"><table>(.*?)</table>', page, re.S).group(1)
shown = [html.unescape(re.sub("<[^>]*>", "", re.split(", | with ", row.split("</span> ")[-1])[0])).replace("\u2060", "")
         for row in re.findall(r'<tr><td class="long">.*?<span class="id">(.*?)</span></td>', table)]
short = [b["short_name"] + (":" + b["kind"]) * (b["kind"] != "on-demand") for b in bills]
leads = [i for i, b in enumerate(bills) if "standing" not in b]
order = [short[i] for i in leads + [i for i in range(len(bills)) if i not in leads]]
report("the rows of a quote are in its order, those that may lead first", len(shown) > 10 and sorted(shown, key=order.index) == shown,
       (shown, order))
bills = [bills[short.index(name)] for name in shown]
idle = [b["offer"] for b in bills for a in bills if a["provider"] == b["provider"] and a.get("gpu") == b.get("gpu") and a["kind"] == b["kind"]
        and a["gpus"] < b["gpus"] and a["time_s"] <= b["time_s"] and float(a["total"]) <= float(b["total"])]
report("without machines whose further GPUs stay idle", not idle, idle)
bars = [float(w) for w in re.findall(r'<rect x="0" y="4" width="([\d.]+)" height="12" class="bar c0"', table)]
totals = [float(b["total"]) for b in bills]
most = 1.5 * max(totals)
report("bars of a quote are to scale", bars and all(math.isclose(w, max(94 * t / most, 1), abs_tol=0.02) for w, t in zip(bars, totals)), (bars, totals))


def part_of(bill, *whats):
    return sum(float(item["amount"]) for item in bill["items"] if item["what"] in whats)


# Of each bar start-up is pale at its left end, idle time at its right.
wrong = []
for row, bill in zip(table.split("<tr>")[2:], bills):
    each, total = 94 / most, float(bill["total"])
    startup, idle = part_of(bill, "boot", "image", "download", "install", "kernels") * each, part_of(bill, "idle to the end of the billing unit") * each
    wanted = [(0, startup)] * (startup >= 1) + [(total * each - idle, idle)] * (idle >= 1)
    pale = [(float(x), float(w)) for x, w in re.findall(r'<rect x="([\d.]+)" y="4" width="([\d.]+)" height="12" class="pl"', row)]
    if len(pale) != len(wanted) or not all(math.isclose(a, b, abs_tol=0.02) for p, w in zip(pale, wanted) for a, b in zip(p, w)):
        wrong.append((bill["offer"], pale, wanted))
report("their pale parts are start-up and idle time", not wrong and any('class="pl"' in row for row in table.split("<tr>")), wrong)
over = [b for b in bills if float(b["total"]) > 1.25]
report("what costs more than the budget says so", over and all(b["budget"] == "missed" for b in over) and "over budget" in page, [b.get("budget") for b in bills])
panel = list(drawing.in_page(page, "frontier").values())[0]
level = [panel.y.value(float(e.get("y1"))) for e in panel.elements if "rf" in drawing.classes(e) and e.get("y1") == e.get("y2")]
across = [panel.x.value(float(e.get("x1"))) for e in panel.elements if "rf" in drawing.classes(e) and e.get("x1") == e.get("x2")]
report("the budget is drawn", len(level) == 1 and math.isclose(level[0], 1.25, rel_tol=0.01), level)
report("and the deadline", len(across) == 1 and math.isclose(across[0], 7200, rel_tol=0.01), across)
report("a budget that is none is refused", ask(f"/quote?run={RUN}&budget=much")[0] == 400 and ask(f"/quote?run={RUN}&budget=-1")[0] == 400)


def command(text):
    return html.unescape(re.sub("<[^>]*>", "", re.search(r"<pre><code>(.*?)</code></pre>", text, re.S).group(1)))


report("the same quote on the command line", shlex.split(command(page)) == [
    "fare", "quote", RUN, "--deadline", "2h", "--budget", "1.25", "--kind", "on-demand", "--measured"], command(page))
status, page = ask(f"/quote?run={quote(NAME)}")
report("words that a shell would read are quoted", status == 200 and shlex.split(command(page)) == ["fare", "quote", NAME], page[:300])
made = subprocess.run(["sh", "-c", command(page).replace("fare", f"'{FARE}'", 1) + f" --ledger '{HERE}/ledger.db' --book - --json"],
                      capture_output=True, text=True)
report("and the line works as it stands", made.returncode == 0 and json.loads(made.stdout)["schema"] == "fare.quote/2", made.stderr)
server.terminate()
server.communicate(timeout=30)
report("the server ends well", server.returncode == 0, server.returncode)
done()
