# SPDX-License-Identifier: Apache-2.0
"""fare runs import of a site: from a web server, real and hostile, and from a folder that somebody else wrote. Whatever comes,
the ledger has all runs of the site that are valid, or none where an answer is not what the index says, and nothing outside of the site is read."""
import hashlib
import http.server
import json
import os
import shutil
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

sys.path.insert(0, os.environ["TESTS"])
sys.path.insert(0, os.environ["TESTS"] + "/view")
import records  # noqa: E402
from tap import done, report  # noqa: E402

FARE, HERE = os.environ["FARE"], Path(os.environ["TMPDIR"])
ENV = {k: v for k, v in os.environ.items() if "proxy" not in k.lower()}
number = 0


def run(*arguments, timeout=60):
    return subprocess.run([FARE, *map(str, arguments)], capture_output=True, text=True, cwd=HERE, env=ENV, timeout=timeout)


def exported(ledger):
    return [json.loads(line) for line in run("runs", "export", "--ledger", ledger).stdout.splitlines()] if ledger.exists() else []


def fresh():
    global number
    number += 1
    return HERE / f"{number}.db"


runs = [records.record(n, "cnn", f"box-{n}", 100 + n, 2) for n in range(1, 31)]
source = HERE / "source.db"
run("runs", "import", records.write(HERE / "runs.jsonl", runs), "--ledger", source)
site = HERE / "site"
p = run("report", "--all", "--ledger", source, "--site", site)
report("the site", p.returncode == 0, p.stderr)
index = json.loads((site / "site.json").read_text())
first = next(f for f in index["files"] if "run" in f)


class Server(http.server.BaseHTTPRequestHandler):
    """The site below /x/, with answers of its own where `answers` has one for the path."""
    protocol_version = "HTTP/1.1"
    answers, asked, agents = {}, [], set()

    def log_message(self, *_):
        pass

    def do_GET(self):
        self.asked.append(self.path)
        path = self.path.removeprefix("/x/")
        if path in self.answers:
            return self.answers[path](self)
        file = site / path
        self.give(file.read_bytes() if file.is_file() else b"", 200 if file.is_file() else 404)

    def give(self, data, status=200, headers=(), length=None):
        self.send_response(status)
        self.send_header("Content-Length", str(len(data) if length is None else length))
        for name, value in headers:
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)
        if length is not None and length > len(data):
            self.close_connection = True


class Hosts(http.server.ThreadingHTTPServer):
    request_queue_size = 64
    daemon_threads = True

    def handle_error(self, *_):  # the client hangs up on what is too long
        pass


server = Hosts(("127.0.0.1", 0), Server)
threading.Thread(target=server.serve_forever, daemon=True).start()
URL = f"http://127.0.0.1:{server.server_port}/x/"


def load(name, answers, words, url=URL, imported=False, without=None, timeout=60):
    """An import with these answers fails with these words, or adds all; nothing is ever left half done."""
    Server.answers, Server.asked = answers, []
    ledger = fresh()
    began = time.monotonic()
    try:
        p = run("runs", "import", url, "--ledger", ledger, timeout=timeout)
    except subprocess.TimeoutExpired:
        report(name, False, "it takes too long")
        return
    there = exported(ledger)
    good = p.returncode == 1 and not there
    if imported:
        good = p.returncode == 0 and there == [r for r in reversed(runs) if r["id"] != without]
    report(name, good and words in p.stdout + p.stderr and "Sanitizer" not in p.stderr,
           f"{p.returncode} {len(there)} {time.monotonic() - began:.1f} s {p.stdout} {p.stderr}")


def other(change, path=None):
    """An index with this change to its row of the first run, or to all of it."""
    rows = json.loads(json.dumps(index))
    change(next(f for f in rows["files"] if "run" in f) if path is None else rows)
    return {"site.json": lambda h: h.give(json.dumps(rows).encode())}


def lie(data, **more):
    """The first record is these bytes, and the index says so."""
    return {**other(lambda f: f.update(bytes=len(data), sha256=hashlib.sha256(data).hexdigest(), **more)), first["path"]: lambda h: h.give(data)}


# ---- as it should be

load("from a web server", {}, "added 30 runs", imported=True)
report("only the index and the records are asked for", sorted(Server.asked) == sorted(
    ["/x/site.json"] + ["/x/" + f["path"] for f in index["files"] if "run" in f]), Server.asked)
for what, url in (("without a slash", URL[:-1]), ("its overview", URL + "index.html"), ("its index", URL + "site.json"), ("a place", URL + "#x")):
    load(f"by another address: {what}", {}, "added 30 runs", url=url, imported=True)
ledger = fresh()
run("runs", "import", records.write(HERE / "some.jsonl", runs[:20]), "--ledger", ledger)
Server.asked = []
p = run("runs", "import", URL, "--ledger", ledger)
report("runs that are there are not fetched again", p.stdout == "added 10 runs; 20 were there already\n" and len(Server.asked) == 11, p.stdout)
p = run("runs", "import", URL, "--json", "--ledger", ledger)
report("as JSON", json.loads(p.stdout) == {"schema": "fare.changes/1", "added": 0, "there": 30, "left_out": 0}, p.stdout)
busy = {"left": 3}


def busy_first(handler):
    busy["left"] -= 1
    handler.give(b"", 503) if busy["left"] >= 0 else handler.give((site / first["path"]).read_bytes())


load("a server that is busy is asked again", {first["path"]: busy_first}, "added 30 runs", imported=True)
load("a redirect on the host is followed", {"site.json": lambda h: h.give(b"", 302, [("Location", "/x/moved.json")]),
                                            "moved.json": lambda h: h.give((site / "site.json").read_bytes())}, "added 30", imported=True)

# ---- a hostile server

secret = HERE / "secret.json"
secret.write_text(json.dumps(index))
for what, to in (("a file", f"file://{secret}"), ("ftp", "ftp://127.0.0.1/x"), ("gopher", "gopher://127.0.0.1/x"), ("itself", "/x/site.json")):
    load(f"a redirect to {what} is refused", {"site.json": lambda h, to=to: h.give(b"", 302, [("Location", to)])}, "")
load("the same for a record", {first["path"]: lambda h: h.give(b"", 302, [("Location", f"file://{site / first['path']}")])}, "")
for path in ("../secret.json", "/etc/passwd", "runs/../../secret.json", "runs/%2e%2e/secret.json", "runs//x.json", "runs/.x.json", "http://x/y.json",
             "runs/x.json?y", "runs\\x.json", "runs/a/b.json", "", "runs/\u202ex.json", "site.json", "RUNS/x.json"):
    load(f"a path outside is refused: {path!r}", other(lambda f, path=path: f.update(path=path)), "site.json")
    report(f"and not asked for: {path!r}", Server.asked == ["/x/site.json"], Server.asked)
load("an index that is no JSON", {"site.json": lambda h: h.give(b"<html>")}, "site.json")
load("an index of something else", {"site.json": lambda h: h.give(b'{"schema": "fare.page/1"}')}, "fare.site/1")
load("an empty index", {"site.json": lambda h: h.give(b"")}, "")
load("an index that is cut", {"site.json": lambda h: h.give((site / "site.json").read_bytes()[:900])}, "site.json")
load("an answer that is cut", {"site.json": lambda h: h.give((site / "site.json").read_bytes()[:900], length=len((site / "site.json").read_bytes()))}, "")
load("a record that is cut", {first["path"]: lambda h: h.give((site / first["path"]).read_bytes()[:50], length=first["bytes"])}, "")
load("a shorter record", {first["path"]: lambda h: h.give((site / first["path"]).read_bytes()[:-2])}, "by the site's index")
load("a longer record", {first["path"]: lambda h: h.give((site / first["path"]).read_bytes() + b" ")}, "more than")
load("another record", {first["path"]: lambda h: h.give((site / first["path"]).read_bytes().replace(b"cnn", b"cmm", 1))}, "SHA-256")
load("a record that is missing", {first["path"]: lambda h: h.give(b"", 404)}, "404")
left_out = dict(imported=True, without=first["run"])
load("a record of another run is left out", lie(json.dumps({**runs[0], "id": "other"}).encode()), "not the record of run", **left_out)
load("a record that cannot be true is left out", lie(json.dumps({**runs[-1], "id": first["run"], "phases": {"wall_ns": -5}}).encode()), "out of range", **left_out)
load("it is counted", lie(json.dumps({**runs[-1], "id": first["run"], "batch": -5}).encode()), "added 29 runs; 1 was left out", **left_out)
load("garbage as a record is left out", lie(os.urandom(3000)), "left out: ", **left_out)
load("a record with a line in it is left out", lie(b'{\n"id":\r\n"' + first["run"].encode() + b'"}\n{"id":"more"}\n'), "left out: ", **left_out)
load("sizes that overflow", other(lambda f: f.update(bytes=2 ** 63 - 1)), "over 4 MB", **left_out)
load("no size", other(lambda f: f.pop("bytes")), "without size")
load("a record of 5 MB is left out", other(lambda f: f.update(bytes=5 << 20)), "over 4 MB", **left_out)
load("4 GB in all", other(lambda rows: rows.update(files=[{**first, "path": f"runs/{i}.json", "run": str(i), "bytes": 4 << 20} for i in range(1100)]), 0), "over 4 GB")
load("an index without an end", {"site.json": lambda h: [h.send_response(200), h.end_headers(), *(h.wfile.write(b" " * 65536) for _ in range(2000))]},
     "more than")
load("no site at all", {}, "is this the address of a site", url=URL + "y/")
load("no server", {}, "127.0.0.1", url="http://127.0.0.1:1/")
load("the same run twice in the index is one", other(lambda rows: rows["files"].append({**first}), 0), "added 30 runs; 1 was there", imported=True)

dead = socket.create_server(("127.0.0.1", 0))
p = run("runs", "import", f"http://127.0.0.1:{dead.getsockname()[1]}/", "--ledger", fresh(), timeout=200)
report("a server that never answers is given up", p.returncode == 1 and p.stderr, p.stderr)
dead.close()

for url in ("http://", "http://a b/", "ftp://127.0.0.1/", "http://127.0.0.1/?x=1", "file:///etc"):
    p = run("runs", "import", url, "--ledger", fresh())
    report(f"no address: {url!r}", p.returncode in (1, 2) and p.stderr, p.stderr)
p = run("runs", "import", f"http://me:hunter2@127.0.0.1:{server.server_port}/none/", "--ledger", fresh())
report("a password in the address is not shown", p.returncode == 1 and "hunter2" not in p.stderr, p.stderr)

# ---- a hostile folder


def folder(name, change, words=""):
    where, ledger = HERE / "copy", fresh()
    shutil.rmtree(where, ignore_errors=True)
    shutil.copytree(site, where)
    change(where)
    p = run("runs", "import", where, "--ledger", ledger)
    report(f"a folder with {name}", p.returncode == 1 and not exported(ledger) and words in p.stderr, p.stderr)


def replace(where, path, make):
    (where / path).unlink()
    make(where / path)


outside = HERE / "outside.json"
outside.write_bytes((site / first["path"]).read_bytes())
folder("a link as a record", lambda w: replace(w, first["path"], lambda p: p.symlink_to(outside)))
folder("a link as its index", lambda w: replace(w, "site.json", lambda p: p.symlink_to(site / "site.json")))
folder("a pipe as a record", lambda w: replace(w, first["path"], os.mkfifo), "not a file")
folder("a folder as a record", lambda w: replace(w, first["path"], os.mkdir), "not a file")
folder("a record less", lambda w: (w / first["path"]).unlink(), "no such file")
folder("another record", lambda w: (w / first["path"]).write_text("{}"), "by the site's index")


def link_runs(where):
    shutil.move(where / "runs", HERE / "elsewhere")
    (where / "runs").symlink_to(HERE / "elsewhere")


folder("a link as its folder of runs", link_runs, "runs")
p = run("runs", "import", HERE / "outside.json", HERE, "--ledger", fresh())
report("a folder that is no site says what to do", p.returncode == 1 and "site.json" in p.stderr and "--site" in p.stderr, p.stderr)
p = run("runs", "import", site, "--format", "mllog", "--ledger", fresh())
report("a site is no log", p.returncode == 2, p.stderr)
server.shutdown()
done()
