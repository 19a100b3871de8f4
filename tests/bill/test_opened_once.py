# SPDX-License-Identifier: Apache-2.0
"""Prices, tables and the ledger are opened once for a command, and a request of `fare serve` opens nothing again.

Opens are counted by the kernel (inotify), so that nothing in the program has to be told. The tables of estimates are opened once
for each quote: their number is the number of quotes.
"""
import collections
import ctypes
import os
import re
import shutil
import struct
import subprocess
import sys
import urllib.request
from pathlib import Path

sys.path.insert(0, os.environ["TESTS"])
from tap import done, report  # noqa: E402

FARE, ROOT, HERE = os.environ["FARE"], Path(os.environ["ROOT"]).resolve(), Path(os.environ["TMPDIR"])
IN_OPEN, IN_NONBLOCK, IN_ISDIR = 0x20, 0o4000, 0x40000000
libc = ctypes.CDLL(None, use_errno=True)


class Opens:
    """Counts opens of files in these folders: {"startup.csv": 1}."""

    def __init__(self, *folders):
        self.fd = libc.inotify_init1(IN_NONBLOCK)
        for folder in folders:
            assert libc.inotify_add_watch(self.fd, os.fsencode(folder), IN_OPEN) >= 0, folder

    def take(self):
        counts = collections.Counter()
        while True:
            try:
                events = os.read(self.fd, 1 << 16)
            except BlockingIOError:
                return counts
            while events:
                _, mask, _, length = struct.unpack_from("iIII", events)
                name = events[16:16 + length].rstrip(b"\0").decode()
                if name and not mask & IN_ISDIR:
                    counts[name] += 1
                events = events[16 + length:]


share = HERE / "share"  # of its own: other tests open fare's
shutil.copytree(ROOT / "share", share)
data = HERE / "fare"
data.mkdir()
LEDGER = data / "ledger.db"
os.environ.update(FARE_LEDGER=str(LEDGER), FARE_SHARE=str(share))
p = subprocess.run([FARE, "runs", "import", str(ROOT / "tests/golden/given/runs.jsonl")], capture_output=True, text=True)
report("a ledger with runs", p.returncode == 0 and LEDGER.exists(), p.stderr)
opens = Opens(share, *(share / name for name in ("devices", "estimate", "offers", "providers", "published")), data)
opens.take()


def look(name, *arguments, ledger=1, quotes=1):
    p = subprocess.run([FARE, *arguments], capture_output=True, text=True, cwd=HERE)
    counts = opens.take()
    twice = {f: n for f, n in counts.items() if n > 1 and not f.startswith(LEDGER.name) and not (share / "estimate" / f).exists()}
    report(f"{name}: each table of prices once", p.returncode == 0 and counts["startup.csv"] == 1 and not twice, f"{twice}\n{p.stderr[-400:]}")
    report(f"{name}: the ledger {ledger} time{'s' * (ledger > 1)}", counts[LEDGER.name] == ledger, counts)
    if quotes:
        report(f"{name}: one quote", counts["model.csv"] == quotes, counts)


look("fare quote cnn", "quote", "cnn")
look("fare quote RUN, which is pinned", "quote", "last")
look("fare report, with a quote for each training", "report", "-o", "report.html", quotes=None)
TRAIN = HERE / "train.py"
TRAIN.write_text("import time\nfor i in range(1, 100000):\n    print(f'step {i}/100000 loss {1/i:.4f}', flush=True)\n    time.sleep(0.002)\n")
# The ledger: once in the child that is asked about budgets, once to keep the run, and once for quote and report together.
look("fare -- CMD", "--no-cloud", "--max-time", "1s", "--within", "20%", "--", sys.executable, str(TRAIN), ledger=3)

server = subprocess.Popen([FARE, "serve", "--listen", "127.0.0.1:0"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
url = re.search(r"http://\S+", server.stdout.readline() or "")
url = url and url.group(0).rstrip("/.,")
pages = ["/quote?run=cnn", "/quote?run=mlp"]
try:
    first = [urllib.request.urlopen(url + page, timeout=60).status for page in pages]
    opens.take()
    again = [urllib.request.urlopen(url + page + "&deadline=2h", timeout=60).status for page in pages]
    counts = opens.take()
    report("a later quote of fare serve reads no price again, and opens no ledger", first == again == [200, 200]
           and not counts[LEDGER.name] and not counts["startup.csv"] and not counts["aws.json"], counts)
finally:
    server.terminate()
    server.wait()
done()
