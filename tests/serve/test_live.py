#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Runs that go on, on their own terminals and in the pages of fare serve: how far they are, when they end, what they cost.

The machine is an offer of the user's own that costs a cent for each second that was begun, and five at least. What a
terminal shows is held against the time at which it got it."""
import fcntl
import json
import math
import os
import pty
import re
import signal
import struct
import subprocess
import sys
import termios
import threading
import time
import urllib.error
import urllib.request
from datetime import datetime, timedelta, timezone
from pathlib import Path

sys.path.insert(0, os.environ["TESTS"])
sys.path.insert(0, os.environ["TESTS"] + "/view")
import browser  # noqa: E402
from tap import done, report, skip  # noqa: E402

FARE, HERE = os.environ["FARE"], Path(os.environ["TMPDIR"])
CONFIG, LEDGER = Path(os.environ["XDG_CONFIG_HOME"]) / "fare", HERE / "ledger.db"
WIPE, NASTY = "\r\x1b[K", "<b>one"
TELL = """
import json, os, sys, time
for i in range(1, 141):
    with open(os.environ["FARE_EVENTS"], "a") as f:
        f.write(json.dumps({"step": i, "total_steps": 140}) + "\\n")
    if i % 30 == 0:
        print("line", i, flush=True)
    time.sleep(0.05)
"""

(CONFIG / "offers").mkdir(parents=True)
(CONFIG / "providers").mkdir()
(CONFIG / "offers" / "mine.csv").write_text("""\
provider,name,region,zone,kind,gpu,gpus,gpu_memory_gib,vcpus,memory_gib,cpu,bare_metal,price,currency,per,date,source
acme,one,here,,on-demand,,,,4,16,,no,36.00,USD,hour,2026-11-01,mine
""")
(CONFIG / "providers" / "acme.json").write_text(json.dumps({"schema": "fare.tariffs/1", "tariffs": [
    {"id": "acme", "provider": "acme", "kind": "on-demand", "unit_ms": 1000, "minimum_s": 5, "source": "mine",
     "date": "2026-11-01"}]}))
SPOOLS = set(Path(os.environ["XDG_DATA_HOME"]).glob("**/spool/*"))  # its own
ENV = {**os.environ, "TERM": "xterm", "NO_COLOR": "1", "TZ": "<+0530>-5:30", "FARE_LEDGER": str(LEDGER)}


def cents(seconds):
    return max(5, math.ceil(seconds - 1e-9)) / 100


def usd(amount):
    """Cents from a dollar up; below that three figures at most, and two decimals at least."""
    if amount >= 1:
        return f"{amount:.2f}"
    text = f"{amount:.{2 - math.floor(math.log10(amount))}f}"
    return re.sub(r"(\.\d\d\d*?)0+$", r"\1", text)


class Run:
    """fare run on a terminal of its own, and what that was sent, each piece with its time."""

    def __init__(self, columns, *args, stdout=None, **env):
        self.master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        self.columns, self.pieces, self.began = columns, [], time.time()

        def terminal():  # ours, so that Ctrl-C is a signal
            os.setsid()
            fcntl.ioctl(0, termios.TIOCSCTTY, 0)
        self.process = subprocess.Popen([FARE, "run", *args], stdin=slave, stdout=stdout or slave, stderr=slave, env={**ENV, **env},
                                        preexec_fn=terminal)
        os.close(slave)
        self.reader = threading.Thread(target=self.read)
        self.reader.start()

    def read(self):
        while True:
            try:
                piece = os.read(self.master, 65536)
            except OSError:
                return
            self.pieces.append((time.time(), piece))

    def wait(self):
        code = self.process.wait(60)
        self.reader.join()
        os.close(self.master)
        return code

    @property
    def text(self):
        return b"".join(piece for _, piece in self.pieces).decode()

    def frames(self):
        """The lines that were drawn and wiped again: when they came, and their text."""
        text, found, times = self.text, [], []
        for at, piece in self.pieces:  # a line may come in two
            times += [at] * len(piece.decode(errors="replace"))
        for m in re.finditer(re.escape(WIPE) + r"([^\r]+)", text):
            if not m.group(1).startswith(("fare:", "line", "workload")):
                found.append((times[min(m.start(), len(times) - 1)], m.group(1)))
        return found


def get(path):
    try:
        with urllib.request.urlopen(URL + path, timeout=20) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as e:
        return e.code, e.read().decode()


def running():
    return {run["name"]: run for run in json.loads(get("/runs.json")[1])["running"]}


def soon(good, seconds=20):
    end = time.monotonic() + seconds
    while not (what := good()) and time.monotonic() < end:
        time.sleep(0.1)
    return what


chrome = None if browser.MISSING else browser.Browser()  # takes seconds, in which a run could end
server = subprocess.Popen([FARE, "serve", "--listen", "127.0.0.1:0"], env={**os.environ, "FARE_LEDGER": str(LEDGER)},
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
address = re.search(r"http://\S+:\d+", server.stdout.readline())
if not address:
    text = server.communicate()[1]
    if chrome:
        chrome.close()
    skip("fare serve", text) if "libmicrohttpd is not on this machine" in text else report("it starts", False, text)
    done()
URL = address.group(0)
report("a list without runs that go on does not speak of them", "Running now" not in get("/")[1]
       and json.loads(get("/runs.json")[1])["running"] == [])

ONE = ["--threads", "1", "--within", "0.1%"]
TIMED, LONG = [*ONE, "--max-time", "10s", "--offer", "acme/one"], [*ONE, "--max-time", "100s"]
native = Run(80, "mlp", *TIMED, "--name", NASTY)
command = Run(40, "--offer", "acme/one", "--name", "told", "--", sys.executable, "-c", TELL, LC_ALL="C")
quiet = Run(80, "--name", "quiet", "--", "sleep", "6")
piped = Run(80, "--name", "piped", "--no-ledger", "--", "sleep", "3", stdout=subprocess.PIPE)
screen = Run(80, "--name", "screen", "--no-ledger", "--", "sh", "-c", r"printf '\033[?25l\n'; sleep 3")
apart = Run(80, "mlp", *ONE, "--max-time", "4s", "--repeat", "2", "--name", "apart", "--no-ledger")
killed = subprocess.Popen([FARE, "run", "mlp", *LONG, "--name", "ill"], env=ENV, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

# ---- the pages, while they go on
there = soon(lambda: (r := running()).keys() >= {NASTY, "told", "quiet", "ill"} and all("share" in r[n]["live"] for n in (NASTY, "told")) and r) or {}
report("the list has them all", there, running())
one, told = there.get(NASTY, {}), there.get("told", {})
for name, run, end in (("a workload", one, 10), ("a command", told, None)):
    live = run.get("live", {})
    report(f"{name}: it is running, with its price", run.get("ended") == "running" and "problem" not in run
           and live.get("usd_per_hour") == "36.00" and "acme/one@here" in live.get("offer", ""), run)
    report(f"{name}: the bill so far, by the provider's rule", float(live.get("bill_usd", -1)) == cents(live.get("elapsed_s", 0)), live)
    whole = live.get("elapsed_s", 0) + live.get("left_s", 0)
    report(f"{name}: the bill at its end", float(live.get("projected_usd", -1)) == cents(whole)
           and (not end or abs(whole - end) < 0.01), live)
report("of a sample how much of its time is over", abs(one["live"]["share"] - one["live"]["elapsed_s"] / 10) < 0.001
       and one["live"]["at_most"] is True, one["live"])
report("of a command how many of its steps", abs(told["live"]["share"] - told["steps"] / 140) < 0.02 and told["total_steps"] == 140
       and 0 <= told["live"]["left_s"] < 12, told["live"])
report("no price, no bill", not {"bill_usd", "projected_usd", "offer"} & there["quiet"]["live"].keys()
       and "share" not in there["quiet"]["live"], there["quiet"]["live"])
text = get("/")[1]
report("the list as a page", "Running now" in text and f"/runs/{one['id']}" in text and "&lt;b&gt;one" in text and NASTY not in text, text)
report("with filters it is the ledger's alone", "Running now" not in get("/?workload=cnn")[1])
status, text = get(f"/runs/{one['id']}")
report("the page of one loads itself again", status == 200 and '<meta http-equiv="refresh" content="2">' in text
       and "<progress " in text and "bill so far" in text and "estimated" in text and NASTY not in text and "<script" not in text, text)
text = soon(lambda: "from its start" in (p := get(f"/runs/{told['id']}")[1]) and p) or ""
report("where its time went, until now", "from its start until now" in text and "to its end" not in text, text)
record = json.loads(get(f"/runs/{one['id']}.json")[1])
report("and has its twin", record["id"] == one["id"] and record["ended"] == "running" and record["live"]["elapsed_s"] >= one["live"]["elapsed_s"], record)
report("what is no id is not found", get("/runs/..%2f..%2fx")[0] == 404)
lines = get("/metrics")[1].splitlines()
samples = {re.match(r'(\w+)\{run="([^"]*)"', line).groups(): float(line.split()[-1]) for line in lines if line.startswith("fare_running") and "{" in line}
told_share = samples.get(("fare_running_progress_ratio", told["id"]), -1)
report("/metrics has the runs in progress", f"fare_running_runs {len(running())}" in lines and lines[-1] == "# EOF" and lines.count("# EOF") == 1
       and told["live"]["share"] - 1e-9 <= told_share <= 1 and samples.get(("fare_running_time_seconds", one["id"]), 0) >= one["live"]["elapsed_s"] - 1e-9
       and samples.get(("fare_running_cost_usd", one["id"]), 0) > 0 and ("fare_running_cost_usd", there["quiet"]["id"]) not in samples, lines[-30:])
if chrome:
    before = json.loads(get(f"/runs/{one['id']}.json")[1])["live"]["share"]
    chrome.open(f"{URL}/runs/{one['id']}", 1024, "light")
    bar = chrome.ask("const p = document.querySelector('progress'); return p && p.position")
    time.sleep(1.1)  # answers are shared for a second: the next one is younger than the page
    after = json.loads(get(f"/runs/{one['id']}.json")[1])["live"].get("share", 1)
    # The page itself may be a second old, a tenth of this run.
    report("its bar is as long as what is done", bar and before - 0.11 < bar < after + 0.01, (before, bar, after))
    for width, scheme in ((360, "dark"), (1024, "light")):
        chrome.open(f"{URL}/runs/{one['id']}", width, scheme)
        wide = chrome.ask("return document.documentElement.scrollWidth")
        texts = chrome.texts()
        pale = [t["text"] for t in texts if browser.contrast(t["colour"], t["back"]) < 4.5]
        report(f"in a browser, {width} px: nothing is too wide or too pale", wide <= width and texts and not pale, (wide, pale))
        if "PICTURES" in os.environ:
            chrome.driver.save_screenshot(f"{os.environ['PICTURES']}/live-{width}.png")
else:
    skip("pages in a browser", browser.MISSING)

# ---- one that is killed, one that is stopped
killed.send_signal(signal.SIGKILL)
killed.wait()
page = soon(lambda: (p := get(f"/runs/{there['ill']['id']}")[1]) and "http-equiv=\"refresh\"" not in p and p) or ""
report("a killed one says so and is not loaded again", re.search(r'class="chip[^"]*">killed<', page) and '<tr><td>Problem</td><td class="long">cut off; this is its first' in page, page)
report("and is in the list of those that are over", soon(lambda: "ill" not in running()) and json.loads(
    get(f"/runs/{there['ill']['id']}.json")[1])["ended"] == "killed")
stopped = Run(80, "mlp", *LONG, "--no-ledger")
soon(lambda: len(stopped.frames()) > 8)
os.write(stopped.master, b"\x03")
code = stopped.wait()
text = stopped.text
report("Ctrl-C: the line is gone, and the figures come", code == 130 and "Interrupted" in text
       and text.rindex(WIPE) > text.rindex(" left (") and "\x1b[?" not in text, (code, text[-600:]))

# ---- afterwards
codes = [run.wait() for run in (native, command, quiet, piped, screen, apart)]
report("they end well", codes == [0] * 6, codes)
if chrome:
    # A page that was open meanwhile has become that of the finished run by itself.
    text = soon(lambda: "Do it again" in (t := chrome.ask("return document.body.innerText")) and t)
    report("the page in the browser has become the finished run's", text and f"/runs/{one['id']}" in chrome.driver.current_url
           and not chrome.ask("return document.querySelector('meta[http-equiv=refresh]') !== null"), text)
    chrome.close()
time.sleep(1.1)  # answers of the last second may be given again
status, text = get(f"/runs/{one['id']}")
report("where its time went, to its end", "from its start to its end" in text, text)
report("a finished one is at the same address, and stays", status == 200 and 'http-equiv="refresh"' not in text and "sampled" in get("/")[1])
report("its record has no more of it", (record := json.loads(get(f"/runs/{one['id']}.json")[1]))["ended"] == "sampled" and "live" not in record
       and running() == {}, record.get("live"))

# What a fare before this one left behind had nothing of this.
spool = next(p for p in Path(os.environ["XDG_DATA_HOME"]).glob("**/spool/*") if p not in SPOOLS)
(spool / "old.part").write_text(json.dumps({"schema": "fare.run/1", "id": "old", "name": "old", "ended": "killed", "problem": "cut off"}))
(spool / "old.lock").touch()
page = get("/runs/old")[1]
report("one that an older fare left behind is delivered", re.search(r'class="chip[^"]*">killed<', page) and '<tr><td>Problem</td><td class="long">cut off</td>' in page
       and not list(spool.glob("old.*")), page)

# ---- the terminals
for name, run, zone in (("a workload, 80 columns", native, 5.5), ("a command, 40 columns", command, 5.5)):
    frames = run.frames()
    widest = max((len(frame) for _, frame in frames), default=0)
    report(f"{name}: a line, never wider than the terminal", len(frames) > 8 and widest < run.columns, (len(frames), widest))
    gaps = sorted(b[0] - a[0] for a, b in zip(frames, frames[1:]))
    report(f"{name}: about ten times a second at most", len(frames) <= (frames[-1][0] - frames[0][0]) * 10.5 + 2, gaps[:5])
    wrong = []
    for at, frame in frames:
        bill = re.search(r"(\d+\.\d+)(?: of (\d+\.\d+))? USD", frame)
        since = at - run.began
        if not bill:
            wrong += [frame] if since > 2 else []
        elif not cents(since - 1.5) <= float(bill.group(1)) <= cents(since + 0.2):
            wrong.append((since, frame))
    report(f"{name}: the bill is that of the time so far", not wrong, wrong[:3])
ends = {(datetime.fromtimestamp(native.began, timezone(timedelta(hours=5.5))) + timedelta(seconds=10 + late)).strftime("%H:%M") for late in (-1, 0, 1)}
wrong = [f for at, f in native.frames()[10:] if at < native.began + 9.7 and not (
    (m := re.match(r"mlp  [━─]+ +\d+ %  at most \d+ s left \((\d\d:\d\d)\)  0\.\d+ of 0\.10 USD$", f)) and m.group(1) in ends)]
report("80 columns: what it will cost, and until when", not wrong, (ends, wrong[:5]))
report("a bar that grows", "━" in native.frames()[-1][1] and native.frames()[-1][1].count("━") > native.frames()[8][1].count("━"), native.frames()[-1])
report("it is said whose price that is", "the bill is derived from 36.00 USD an hour (book: acme/one@here" in native.text.replace("\r\n", ""), native.text[:300])
lefts = [int(m.group(1)) * 60 + int(m.group(2)) for _, f in command.frames() if (m := re.search(r"(\d+):(\d\d) left  0", f))]
report("40 columns: share, time and money", lefts and lefts[-1] <= 2 and all(re.match(r"told +\d+ %", f) for _, f in command.frames()[3:]),
       command.frames()[-3:])
report("the command's own lines are whole", command.text.count("line ") == 4
       and all(f"line {i}\r\n" in command.text for i in (30, 60, 90, 120)), command.text)
report("no line is left when they are over", all("%" not in run.text[run.text.rindex(WIPE):].split("\r\n")[0] for run in (native, command)))
report("the step times as a line of blocks, or of what ASCII has", re.search("[▁▂▃▄▅▆▇█]{20}", native.text)
       and re.search(r"fare: [_.:=+*#-]{20}", command.text) and "▁" not in command.text, native.text[-900:] + command.text[-900:])
report("the end of a run fits 40 columns where it is a line of blocks", all(
    len(line) <= 40 for line in re.findall(r"fare: [_.:=+*#-]{20,}", command.text)), command.text)
# A cent a second, five at least: the run by its own time, the whole training by its projected one; a command is all of it.
kept = {r["name"]: r for r in json.loads(subprocess.run([FARE, "runs", "--json"], capture_output=True, env=ENV).stdout)["runs"]}
for run, name in ((native, NASTY), (command, "told")):
    own, whole = kept[name]["phases"]["wall_ns"] / 1e9, kept[name].get("projection", {}).get("wall_s")
    end = [line.rstrip() for line in run.text[run.text.rindex(WIPE):].split("\r\n")]
    at = next((i for i, line in enumerate(end) if "for this" in line), 0)
    lines = end[at:at + 1] + [line for line in end[at + 1:at + 6] if line.startswith("   ")]
    said = " ".join(" ".join(lines).split())
    wanted = f"{usd(cents(own))} USD for this run" + (
        f", {usd(cents(whole))} USD for the whole training;" if run is native else " (the whole training);")
    report(f"{run.columns} columns: the bill when it is over", f" {wanted} derived from 36.00 USD an hour (book: acme/one@here on "
           in said, (said, wanted))
    report(f"{run.columns} columns: that bill fits", max(map(len, lines)) <= run.columns and all(map(str.isascii, lines)), lines)
report("a command that tells nothing: its time", any(re.fullmatch(r"quiet  [1-6] s", f) for _, f in quiet.frames()), quiet.frames())
shares = [int(m[1]) for _, frame in apart.frames() if (m := re.search(r"(\d+) %", frame))]
starts = [share < before for before, share in zip(shares, shares[1:])]
report("with --repeat each run has its line, from a process of its own", len(shares) > 3 and sum(starts) == 1, shares)
report("nothing between lines that go through a pipe", not piped.frames() and WIPE not in piped.text, piped.text)
report("nor on a terminal that the command draws on", not screen.frames(), screen.text)
server.terminate()
server.communicate(timeout=30)
report("the server ends well", server.returncode == 0, server.returncode)
done()
