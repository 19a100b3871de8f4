# SPDX-License-Identifier: Apache-2.0
"""A figure is the same wherever it stands: the cheapest and the fastest machine for a training on the overview, in the quote, its
advice and its plot, on the run's page, in the report and on a site; chips that count what the list then shows.

The order of a quote's JSON says what is cheapest; what is fastest is found here.
"""
import html
import json
import os
import re
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

sys.path.insert(0, os.environ["TESTS"])
sys.path.insert(0, os.environ["TESTS"] + "/view")
import records  # noqa: E402
from tap import done, report, skip  # noqa: E402

FARE, HERE, ROOT = os.environ["FARE"], Path(os.environ["TMPDIR"]), Path(os.environ["ROOT"])
RUNS = [json.loads(line) for name in ("2026-gpt2", "2026-h200") for line in
        (ROOT / "share/published" / f"{name}.jsonl").read_text().splitlines()]
RUNS = [r for r in RUNS if r["id"].endswith(("gpt2-fare-gpu-bf16", "gpt2-pytorch-gpu-bf16", "gpt2-transformers-gpu-bf16", "mlp-fare-gpu-tf32"))]
COMMANDS = [records.record(700 + i, "", "box", 60 + i, 1, framework="command", ended=ended, name=name)
            for i, (name, ended) in enumerate([("resnet", "finished"), ("resnet", "failed"), ("bert", "finished")])]
for run in COMMANDS:
    del run["workload"]
PAIR = [records.record(720 + i, "cifar", f"box-{i}", 100 * i, 1) for i in (1, 2)]
COMMANDS.append(records.record(709, "cnn", "box", 60, 1, name="resnet"))  # a run of a workload, called like a command


def fare(*arguments):
    p = subprocess.run([FARE, *map(str, arguments)], capture_output=True, text=True, cwd=HERE)
    assert p.returncode == 0, p.stderr
    return p.stdout


def plain(text):
    """What a reader sees of a page."""
    return html.unescape(re.sub(r"<[^>]*>", "", re.sub(r"<(?:style|title)[^>]*>.*?</(?:style|title)>", "", text, flags=re.S)))


def chosen(page, training):
    """{what: offer} of the table of the cheapest and the fastest machines."""
    group = next((g for g in re.findall(r"<tbody>(.*?)</tbody>", page, re.S) if 'scope="rowgroup"' in g and f">{training}</a>" in g), "")
    rows = re.findall(r'<tr><td class="long">(.*?)<span class="id">.*?</span> ([a-z ]+)</span></td>', group, re.S)
    return {what: plain(offer) for offer, what in rows}


records.write(HERE / "runs.jsonl", RUNS + COMMANDS + PAIR)
LEDGER = HERE / "ledger.db"
fare("runs", "import", HERE / "runs.jsonl", "--ledger", LEDGER)
server = subprocess.Popen([FARE, "serve", "--listen", "127.0.0.1:0", "--ledger", LEDGER, "--book", "-"],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
found = re.search(r"http://\S+:\d+", server.stdout.readline())
if not found:
    text = server.communicate()[1]
    skip("the same figures everywhere", text) if "libmicrohttpd is not" in text else report("it starts", False, text)
    done()


def bound(b):
    return b.get("lower_bound") or b.get("spot", {}).get("lower_bound")


def ask(path):
    return urllib.request.urlopen(found.group(0) + path, timeout=60).read().decode()


try:
    deadline = time.monotonic() + 60
    while "cheapest with a run" not in (overview := ask("/")) and time.monotonic() < deadline:
        time.sleep(0.2)
    fare("report", "--site", HERE / "site", "--ledger", LEDGER, "--book", "-", "--all")
    site = (HERE / "site/index.html").read_text()
    for training in ("gpt2", "mlp"):
        quote = json.loads(ask(f"/quote.json?run={training}"))
        bills = [b for b in quote["bills"] if not b.get("price_impossible")]
        first, fast = next(b for b in bills if not bound(b)), min((b for b in bills if not bound(b)), key=lambda b: b["time_s"])
        guess = next(b for b in quote["estimates"] if not bound(b))
        wanted = {"cheapest with a run": first["offer"], "cheapest by estimate": guess["offer"]}
        # An estimate counts with the end of its interval.
        times = {b["offer"]: b["high_s"] if "certainty" in b else b["time_s"] for b in quote["bills"] + quote["estimates"]}
        least = {"fastest with a run": fast["time_s"], "fastest by estimate": min(times[b["offer"]] for b in quote["estimates"] if not bound(b))}
        for where, page in (("the overview", overview), ("the site", site)):
            got = chosen(page, training)
            report(f"{training}: the cheapest on {where} are the quote's", {k: got.get(k) for k in wanted} == wanted, (got, wanted))
            slow = [k for k in least if k in got and times[got[k]] * 0.99 > least[k]]  # so close, the cheaper one
            report(f"{training}: the fastest on {where} too", not slow and "fastest by estimate" in got, (got, least))
            loose = [b["offer"] for b in quote["bills"] + quote["estimates"] if bound(b) and b["offer"] in got.values()]
            report(f"{training}: no lower bound is among them on {where}", got and not loose, (got, loose))
        page = ask(f"/quote?run={training}")
        title = re.search(rf"<h2>{training}: \$([\d.]+) in ", page)
        report(f"{training}: the plot's title begins with the cheapest", title and abs(float(title.group(1)) / float(first["total"]) - 1) < 0.01,
               (title and title.group(0), first["total"]))
        said, lead = quote["advice"][0], min((b for b in quote["bills"] + quote["estimates"] if b["offer"] in wanted.values()), key=lambda b: b["place"])
        report(f"{training}: the advice names it", said.startswith(f"Cheapest{' by estimate' if 'certainty' in lead else ''}: {lead['short_name']}, ")
               and first["short_name"] in said, said)
        run = next(r["id"] for r in RUNS if r["workload"] == training and r["framework"] == "fare")
        here = ("--ledger", LEDGER, "--book", "-")
        places = {"the terminal": fare("quote", training, *here), "the quote's page": plain(page),
                  "JSON": " ".join(json.loads(fare("quote", training, *here, "--json"))["advice"]),
                  "a report": plain(fare("report", "--workload", training, *here, "-o", "-")),
                  "a report in Markdown": fare("report", "--workload", training, *here, "--format", "md").replace("\\", ""),
                  "a report in JSON": " ".join(json.loads(fare("report", "--workload", training, *here, "--json"))["verdict"]),
                  "the site": plain((HERE / f"site/compare/{training}.html").read_text()) if training == "gpt2" else said}
        flat = {name: re.sub(r"\s+", " ", text.replace("\u2060", "")).replace("'", "") for name, text in places.items()}  # a page has commands in <code>
        # The terminal says it in fewer words: the same leaders, in the same order, at the same amounts.
        leaders = re.findall(r"(\S+/\S+), (≥?[\d.]+ USD)", said)
        apart = [name for name, text in flat.items() if name != "the terminal" and said.replace("'", "") not in text]
        apart += [] if leaders and re.findall(r"(\S+/\S+), (≥?[\d.]+ USD)", flat["the terminal"]) == leaders else ["the terminal"]
        report(f"{training}: all say it in the same words", not apart, (apart, said, [places[a][:600] for a in apart]))
        lower = [b for b in quote["bills"] if float(b["total"]) < float(first["total"]) and not bound(b)]  # a bound has its ≥
        rows = {plain(offer): chips for offer, chips in re.findall(r'<tr><td class="long">(.*?)<span class="id">(.*?)</td>', page, re.S)}
        unmarked = [b["offer"] for b in lower if b["offer"] in rows
                    and not re.search("rule assumed|bill incomplete|price doubtful", rows[b["offer"]])]
        report(f"{training}: a lower bill behind it says why", not unmarked, unmarked)
        report(f"{training}: of published runs fare's own gives the times", first["framework"] == "fare", first["framework"])
        one = re.sub(r", from another run \([^)]*\)", "", plain(ask(f"/runs/{run}")))  # which a quote of the run says
        report(f"{training}: the run's page names it", said.replace("'", "") in re.sub(r"\s+", " ", one.replace("\u2060", "")).replace("'", ""),
               (said, one[one.find("Cheapest by"):][:600]))

    # ---- a comparison
    said = json.loads(fare("compare", "--workload", "cifar", "--ledger", LEDGER, "--json"))["workloads"][0]["sentences"]
    ids = "&".join(f"run={r['id']}" for r in PAIR)  # the first is the base then
    named = json.loads(ask(f"/compare.json?{ids}"))["workloads"][0]["sentences"]
    here = ("--workload", "cifar", "--ledger", LEDGER, "--book", "-")
    places = {"the terminal": fare("compare", "--workload", "cifar", "--ledger", LEDGER),
              "Markdown": fare("compare", "--workload", "cifar", "--ledger", LEDGER, "--format", "md").replace("\\", ""),
              "a report": plain(fare("report", *here, "-o", "-")),
              "a report in Markdown": fare("report", *here, "--format", "md").replace("\\", ""),
              "a report in JSON": json.loads(fare("report", *here, "--json"))["verdict"][0],
              "the site": plain((HERE / "site/compare/cifar.html").read_text())}
    apart = [(name, sentence) for name, text in places.items() for sentence in said
             if sentence not in re.sub(r"\s+", " ", text.replace("\u2060", ""))]
    page = re.sub(r"\s+", " ", plain(ask(f"/compare?{ids}")).replace("\u2060", ""))
    apart += [("a page", sentence) for sentence in named if sentence not in page]
    leads = all(s[0].startswith("Cheapest: box-1 + fare, ") and s[1].startswith("Fastest: box-1 + fare, ") for s in (said, named))
    report("a comparison: all say it in the same words", leads and not apart, (said, named, apart))

    # ---- chips
    def chips(path):
        page = ask(path)
        return {(html.unescape(name), int(count.replace(",", ""))): html.unescape(link) for link, name, count in
                re.findall(r'<a class="chip" href="([^"]*)">([^<]*) <b>([\d,]+)</b>', page)}  # not the chosen one

    def listed(path):
        return len(json.loads(ask(path.replace("/runs", "/runs.json", 1)))["runs"])

    all_of = chips("/runs")
    report("commands have chips by their names", ("resnet", 2) in all_of and ("bert", 1) in all_of, all_of)
    for (name, count), link in all_of.items():
        report(f"{name}: as many runs as its chip says", listed(link) == count, (link, count, listed(link)))
    for start in (link for (name, _), link in all_of.items() if name in ("resnet", "gpt2", "pytorch")):
        for (name, count), link in chips(start).items():
            report(f"{start}, then {name}: the same", listed(link) == count, (link, count, listed(link)))
    report("one that no run has is not offered", not any(name == "failed" for name, _ in chips(all_of["bert", 1])), chips(all_of["bert", 1]))
finally:
    server.terminate()
    server.wait()
done()
