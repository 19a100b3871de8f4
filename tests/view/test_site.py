# SPDX-License-Identifier: Apache-2.0
"""fare report --site: the pages of the published results are crawled and looked at in Chromium; records come back the same;
a second time changes only what changed; what fare did not write stays; cut off anywhere, the site can be read."""
import http.server
import json
import os
import re
import shutil
import subprocess
import sys
import threading
from pathlib import Path

sys.path.insert(0, os.environ["TESTS"])
sys.path.insert(0, os.environ["TESTS"] + "/view")
import browser  # noqa: E402
import looking  # noqa: E402
import records  # noqa: E402
import sites  # noqa: E402
from tap import done, report, skip  # noqa: E402

FARE, BUILD, ROOT, HERE = os.environ["FARE"], Path(os.environ["BUILD"]), Path(os.environ["ROOT"]), Path(os.environ["TMPDIR"])
STOP = BUILD / "tests/view/fake_stop.so"
DATE = ("--date", "2026-11-17")  # prices of a day, so that pages of different days are the same


def run(*arguments, **environment):
    return subprocess.run([FARE, *map(str, arguments)], capture_output=True, text=True, cwd=HERE,
                          env={**os.environ, **{k: str(v) for k, v in environment.items()}})


def fare(*arguments, **environment):
    p = run(*arguments, **environment)
    if p.returncode:
        report(f"fare {' '.join(map(str, arguments))}", False, p.stderr)
    return p.stdout


def ledger(name, runs):
    path = HERE / f"{name}.db"
    path.unlink(missing_ok=True)
    fare("runs", "import", records.write(HERE / f"{name}.jsonl", runs), "--ledger", path)
    return path


def lines(text):
    return [json.loads(line) for line in text.splitlines()]


def good(name, folder, **options):
    wrong = sites.crawl(folder, **options)
    report(f"{name}: every link leads somewhere, nothing is loaded", not wrong, "\n".join(wrong))


# ---- the published results

published = HERE / "published.db"
fare("runs", "import", *sorted(ROOT.glob("share/published/*.jsonl")), "--ledger", published)
count = sum(len(p.read_text().splitlines()) for p in ROOT.glob("share/published/*.jsonl"))
site = HERE / "a folder/below/site"
said = fare("report", "--all", "--ledger", published, "--site", site, *DATE)
report("it says what it wrote", f"{count} runs" in said, said)
good("published results", site)
pages = sorted(p for p in site.rglob("*.html"))
report("each run has a page and a record", len(list(site.glob("runs/*.html"))) == len(list(site.glob("runs/*.json"))) == count)
largest = max(pages, key=lambda p: p.stat().st_size)
report("no page is over 250 KB", largest.stat().st_size < 250_000, f"{largest} {largest.stat().st_size}")
words = (site / "index.html").read_text()
report("the overview names trainings and machines", all(w in words for w in ("tweets", "inception", "fare runs import", f"{count} runs")))

# A copy with a fault in each of three pages, so that the crawler is seen to find them.
bad = HERE / "bad"
shutil.copytree(site, bad)
for path, old, new in (("index.html", 'href="runs.html"', 'href="gone.html"'), ("runs.html", "<main>", '<main><img src="http://x/">'),
                       ("compare.html", 'href="index.html"', 'href="/index.html"')):
    (bad / path).write_text((bad / path).read_text().replace(old, new, 1))
wrong = "\n".join(sites.crawl(bad, need_all=False))
report("the crawler finds dead, absolute and loading links", all(w in wrong for w in ("is dead", "is not relative", "loads <img")), wrong)

# ---- records come back

back = HERE / "back.db"
fare("runs", "import", site, "--ledger", back)
exported = fare("runs", "export", "--ledger", published)
report("imported from its folder, the runs are the same to the byte", fare("runs", "export", "--ledger", back) == exported)
again = fare("runs", "import", site, "--ledger", back)
report("a second time adds none", again == f"added 0 runs; {count} were there already\n", again)
one = fare("runs", "import", next(site.glob("runs/*inception-fare-gpu*.json")), "--ledger", HERE / "one.db")
report("one record can be imported by itself", one == "added 1 run\n", one)

# ---- a second time

before = sites.snapshot(site)
said = fare("report", "--all", "--ledger", published, "--site", site, *DATE)
report("a second time no file is touched", sites.snapshot(site) == before and "0 of" in said, said)
lock = subprocess.Popen(["flock", site, "sleep", "60"])
try:
    while subprocess.run(["flock", "--nonblock", site, "true"]).returncode == 0:
        pass
    p = run("report", "--all", "--ledger", published, "--site", site)
    report("two at a time are refused", p.returncode == 2 and "another fare is writing" in p.stderr, p.stderr)
finally:
    lock.kill()

few = [records.record(n, "cnn", f"box-{n}", 100 + n, 2) for n in range(1, 5)] + [records.record(9, "mlp", "box-1", 30, 1)]
growing, folder = ledger("growing", few), HERE / "growing"
fare("report", "--all", "--ledger", growing, "--site", folder, *DATE)
old = sites.snapshot(folder)
fare("runs", "import", records.write(HERE / "more.jsonl", [records.record(10, "mlp", "box-2", 40, 1)]), "--ledger", growing)
fare("report", "--all", "--ledger", growing, "--site", folder, *DATE)
new = sites.snapshot(folder)
changed = {path for path in new if new[path] != old.get(path)}
expected = {"index.html", "index.json", "compare.html", "compare.json", "runs.html", "runs.json", "compare/mlp.html", "compare/mlp.json",
            "site.json", *(f"runs/20260101t{n:06d}z-{n:012x}.{e}" for n, e in ((10, "html"), (10, "json"), (9, "html")))}
report("one more run changes its own pages and the lists", changed == expected, changed ^ expected)
good("a site that grew", folder)
fare("report", "--all", "--ledger", growing, "--site", HERE / "fresh", *DATE)
report("pages that were kept are those of a new site", sites.contents(folder) == sites.contents(HERE / "fresh"))
kept = folder / "runs/20260101t000001z-000000000001.html"
kept.write_text(kept.read_text().replace("<main>", "<main>edited", 1))
said = fare("report", "--all", "--ledger", growing, "--site", folder, *DATE)
report("a page that somebody changed is made again", "1 of" in said and sites.contents(folder) == sites.contents(HERE / "fresh"), said)
inputs = [json.loads((folder / "site.json").read_text())["inputs"]]
for options in ((*DATE, "--measured"), DATE):
    fare("report", "--all", "--ledger", growing, "--site", folder, *options)
    inputs.append(json.loads((folder / "site.json").read_text())["inputs"])
report("other options, other pages, and back again", inputs[0] == inputs[2] != inputs[1] and
       sites.contents(folder) == sites.contents(HERE / "fresh"), inputs)
tables = HERE / "own/fare/offers"
tables.mkdir(parents=True)
(tables / "own.csv").write_text("provider,name,region,kind,gpu,gpus,price,date,source\nacme,cheap,moon,on-demand,V100,1,0.01,2026-01-01,test\n")
said = fare("report", "--all", "--ledger", growing, "--site", folder, *DATE, XDG_CONFIG_HOME=HERE / "own")
inputs.append(json.loads((folder / "site.json").read_text())["inputs"])
report("with other prices all pages are made again", inputs[3] not in inputs[:3], inputs)
fare("report", "--all", "--ledger", growing, "--site", folder, *DATE)

(folder / "CNAME").write_text("example.org\n")
(folder / "runs/mine.html").write_text("my own\n")
edited = folder / "runs/20260101t000009z-000000000009.html"
edited.write_text(edited.read_text() + "<!-- edited -->\n")
said = fare("report", "--workload", "cnn", "--ledger", growing, "--site", folder, *DATE)
left = {p for p in sites.contents(folder) if "mlp" in p or "00000a" in p}
report("files of runs that are gone are removed, others stay", not left and (folder / "CNAME").exists() and
       (folder / "runs/mine.html").read_text() == "my own\n" and edited.exists() and "removed" in said, f"{left} {said}")
good("a site that shrank", folder, need_all=False)

other = HERE / "other"
other.mkdir()
(other / "index.html").write_text("my page\n")
p = run("report", "--all", "--ledger", growing, "--site", other, *DATE)
report("a page of another's is never replaced", p.returncode == 2 and sites.contents(other) == {"index.html": b"my page\n"} and
       "not of a site of fare" in p.stderr, p.stderr)
(other / "index.html").unlink()
(other / "site.json").write_text('{"schema": "fare.site/1", "files": [{"path": "../all.db", "bytes": 1, "sha256": "%s"}]}' % ("0" * 64))
p = run("report", "--all", "--ledger", growing, "--site", other, *DATE)
report("an index that leaves the folder is refused", p.returncode == 2 and growing.exists() and len(sites.contents(other)) == 1, p.stderr)
p = run("report", "--published", "2018-tweets", "--ledger", growing, "--site", HERE / "new", "--base", "k80")
report("options without effect are refused", p.returncode == 2 and not (HERE / "new").exists(), p.stderr)
p = run("report", "nobody", "--ledger", growing, "--site", HERE / "new")
report("an unknown run leaves no folder", p.returncode == 1 and not (HERE / "new").exists(), p.stderr)

# ---- what is not published

private = {**records.record(1, "train.py", "box", 60, 1), "host": "node-17.lab.example", "user": "annabel", "workload": None,
           "name": "train.py", "command": ["python", "/home/annabel/train.py", "--out", "node-17:/data"],
           "program": {"version": "1", "command_line": "fare run -- python /home/annabel/train.py --hf-token hf_abcdefghijklmnopqrstuvwxyz0123"},
           "code": {"folder": "/home/annabel/project-x", "script": "train.py", "interpreter": "/home/annabel/venv/bin/python"},
           "data": {"name": "mnist", "source": "/home/annabel/sets"}, "spent": {"usd": "0.1", "resource": "i-0123456789abcdef0"},
           "use": {"gpu_list": [{"index": 0, "name": "H100", "uuid": "GPU-3f9a2c81-d04e-11ee-9b2a-0242ac120002"}]},
           "saving": {"place": "s3://secret-bucket/x", "job": "j", "attempts": [{"epoch": 1, "host": "node-18", "machine": "box"}]},
           "labels": [{"key": "where", "value": "node-17 in the corner"}], "taints": ["another program on node-18"],
           "from_a_newer_fare": {"kept": [1.5, "as it is"]}}
private.pop("workload")
secret = ledger("private", [private])
fare("report", "--all", "--ledger", secret, "--site", HERE / "private", *DATE)
text = b"\n".join(sites.contents(HERE / "private").values()).decode()
told = [w for w in ("annabel", "node-17", "node-18", "lab.example", "hf_abc", "project-x", "venv", "0123456789abcdef0", "3f9a2c81",
                    "secret-bucket", "private.db") if w in text]
report("names of hosts and users, folders, serial numbers and secrets are left out", not told, told)
record = json.loads(next((HERE / "private").glob("runs/*.json")).read_text())
report("the rest is kept", record["from_a_newer_fare"] == private["from_a_newer_fare"] and record["data"] == {"name": "mnist"} and
       record["command"] == ["python", "/home/***/train.py", "--out", "***:/data"] and record["saving"]["attempts"] == [
           {"epoch": 1, "machine": "box"}] and record["labels"][-1]["value"] == "*** in the corner", record)
here = run("report", "--all", "--ledger", secret, "--site", HERE / "private", *DATE, LOGNAME="corner")
report("so are this machine's own names", "in the ***" in next((HERE / "private").glob("runs/*.json")).read_text(), here.stderr)
fare("report", "--all", "--ledger", secret, "--site", HERE / "named", "--keep-names", *DATE)
fare("runs", "import", HERE / "named", "--ledger", HERE / "named.db")
report("--keep-names keeps them", fare("runs", "export", "--ledger", HERE / "named.db") == fare("runs", "export", "--ledger", secret) and
       "annabel" in next((HERE / "named").glob("runs/*.json")).read_text())

# ---- many runs, and names that are hard to write

hard = ledger("hard", records.everything())
fare("report", "--all", "--ledger", hard, "--site", HERE / "hard", *DATE)
good("a site with hostile names and pages of lists", HERE / "hard")
titles = [re.search("<h1>(.*?)</h1>", (HERE / "hard" / p).read_text()).group(1) for p in ("runs-1.html", "runs.html")]
report("lists are in pages", titles[0] == "Runs 1 to 25, counted from the oldest" and titles[1].startswith("The newest"), titles)
strange = ["UPPER", "upper", "a:b", "x-" + "0" * 32, "20260101T000000Z-abc", "20260101t000000z-abc", "n" * 120]
odd = ledger("odd", [{**records.record(1, f"w{i}", "box", 60, 1), "id": name} for i, name in enumerate(strange)])
fare("report", "--all", "--ledger", odd, "--site", HERE / "odd", *DATE)
fare("runs", "import", HERE / "odd", "--ledger", HERE / "odd-back.db")
names = [p.name for p in (HERE / "odd/runs").glob("*.json")]
report("ids of any form have files of their own, whatever the file system's case", len({n.lower() for n in names}) == len(strange) and
       lines(fare("runs", "export", "--ledger", HERE / "odd-back.db")) == lines(fare("runs", "export", "--ledger", odd)), names)

# ---- cut off

QUICK = (*DATE, "--measured")  # pages without estimates take a fraction of the time


def stopped(how, at):
    """The old site, changed into the new one, but for the call at which it stops."""
    where = HERE / "cut"
    shutil.rmtree(where, ignore_errors=True)
    shutil.copytree(HERE / "old", where)
    p = run("report", "--all", "--ledger", newer, "--site", where, *QUICK, LD_PRELOAD=STOP, STOP_HOW=how, STOP_AT=at, STOP_COUNT=HERE / "calls")
    wrong = sites.crawl(where, need_all=False)
    now = sites.contents(where)
    if (where / ".fare-new").exists():
        now = {k: v for k, v in now.items() if not k.startswith(".fare-new")}
    wrong += [f"{k} is neither" for k, v in now.items() if v not in (was.get(k), will.get(k))]
    wrong += [f"{k} has gone" for k in set(was) & set(will) if k not in now]
    fare("report", "--all", "--ledger", newer, "--site", where, *QUICK)
    after = sites.contents(where)
    wrong += [f"afterwards: {k}" for k in {*after, *will} if after.get(k) != will.get(k)]
    return p.returncode, [f"{how} at {at}: {w}" for w in wrong], now == was


older = ledger("older", [records.record(n, "cnn", f"box-{n}", 100 + n, 2) for n in (1, 2)] + [records.record(5, "mlp", "box", 30, 1)])
newer = ledger("newer", [records.record(n, "cnn", f"box-{n}", 100 + n, 2) for n in (2, 3)] + [records.record(6, "imdb", "box", 30, 1)])
for name, source in (("old", older), ("new", newer)):
    fare("report", "--all", "--ledger", source, "--site", HERE / name, *QUICK)
was, will = sites.contents(HERE / "old"), sites.contents(HERE / "new")
for how in ("kill", "full"):
    wrong, codes, kept, at, calls = [], [], 0, 0, 1
    while at < calls:
        at += 1
        code, more, same = stopped(how, at)
        wrong, kept = wrong + more, kept + same
        codes.append(code)
        if code == 0:
            calls = int((HERE / "calls").read_text())
        else:
            calls = at + 1
        if code == 0 and how == "full":  # only removals are left, which need no room
            break
    what = "killed" if how == "kill" else "with the disk full"
    report(f"{what} at each of {at} calls, the site can be read, and the next time completes it", at > 40 and kept > 10 and not wrong and
           (137 if how == "kill" else 1) in codes, "\n".join(wrong) or f"{at} {kept} {codes}")

# A real disk, which the old site fits on and the new one does not.
small = HERE / "small"
small.mkdir()
mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m", "none", small], capture_output=True).returncode == 0
if mounted:
    try:
        fare("report", "--all", "--ledger", older, "--site", small / "site", *DATE)
        before = sites.snapshot(small / "site")
        p = run("report", "--all", "--ledger", published, "--site", small / "site", *DATE)
        report("a disk that is too small leaves the site as it was", p.returncode == 1 and "no space left" in p.stderr and
               sites.snapshot(small / "site") == before and not (small / "site/.fare-new").exists(), p.stderr)
    finally:
        subprocess.run(["umount", small], check=True)
else:
    skip("a disk that is too small", "cannot mount a tmpfs here")

# ---- in a browser


class Quiet(http.server.SimpleHTTPRequestHandler):
    asked = []

    def log_message(self, *_):
        pass

    def do_GET(self):
        self.asked.append(self.path)
        super().do_GET()


def look(chrome, folder):
    run_page = next(folder.glob("runs/*inception-fare-gpu*.html")).name
    kinds = {"overview": "index.html", "runs": "runs.html", "older runs": "runs-1.html", "comparisons": "compare.html",
             "a comparison": "compare/tweets.html", "a run": f"runs/{run_page}"}
    for name, path in kinds.items():
        looking.look(chrome, folder / path, f"site, {name}", report)
        loaded = chrome.ask("return performance.getEntriesByType('resource').map(e => e.name)")
        report(f"site, {name}: loads nothing", not loaded, loaded)
    looking.look(chrome, next((HERE / "hard").glob("runs/*000400z*.html")), "site, a run with a hostile name", report)
    # From a sub-folder of a web host, by clicking.
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), lambda *a: Quiet(*a, directory=HERE / "a folder"))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    chrome.open(f"http://127.0.0.1:{server.server_port}/below/site/")
    way = []
    for step in ("a[href='compare.html']", "a[href='compare/tweets.html']", "td a[href^='../runs/']", "a[href='../index.html']"):
        chrome.driver.find_element("css selector", step).click()
        way.append(chrome.driver.current_url.split("/below/site/")[1])
    report("links work below a folder of a host", way[:2] == ["compare.html", "compare/tweets.html"] and way[2].startswith("runs/") and
           way[3] == "index.html", way)
    strays = [p for p in Quiet.asked if not p.startswith("/below/site/") and p != "/favicon.ico"]
    report("nothing else was asked for", not strays and len(Quiet.asked) >= 5, strays)
    server.shutdown()


if browser.MISSING:
    skip("a site in Chromium", browser.MISSING)
    done()
chrome = browser.Browser()
try:
    look(chrome, site)
finally:
    chrome.close()
done()
