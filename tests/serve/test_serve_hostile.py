# SPDX-License-Identifier: Apache-2.0
"""fare serve where it used to break: records beyond their bounds, clients that leave, one that takes everything, a ledger
that is damaged, removed or replaced, and SIGTERM in the middle of it."""
import http.client
import json
import os
import re
import resource
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import threading
import time
from pathlib import Path

sys.path.insert(0, os.environ["TESTS"])
sys.path.insert(0, os.environ["TESTS"] + "/view")
import records  # noqa: E402
from tap import done, report, skip  # noqa: E402

FARE, HERE = os.environ["FARE"], Path(os.environ["TMPDIR"])
os.environ["XDG_CONFIG_HOME"] = str(HERE / "config")
os.environ["XDG_DATA_HOME"] = str(HERE / "data")
TOKEN = "correct-horse-battery-staple"
(HERE / "token").write_text(TOKEN + "\n")
(HERE / "token").chmod(0o600)
most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


class Server:
    def __init__(self, ledger, runs=()):
        self.ledger = ledger
        if runs:
            subprocess.run([FARE, "runs", "import", records.write(HERE / "in.jsonl", list(runs)), "--ledger", ledger], check=True,
                           stdout=subprocess.DEVNULL)
        self.process = subprocess.Popen([FARE, "serve", "--listen", "127.0.0.1:0", "--ledger", str(ledger), "--token-file",
                                         str(HERE / "token")], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        found = re.search(r":(\d+)/", self.process.stdout.readline())
        self.port = int(found.group(1)) if found else 0

    def files(self):
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))

    def connect(self, source="127.0.0.1"):
        return socket.create_connection(("127.0.0.1", self.port), timeout=30, source_address=(source, 0))

    def ask(self, path="/", method="GET", body=None, source="127.0.0.1", **headers):
        """Status, text and seconds."""
        began = time.monotonic()
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60, source_address=(source, 0))
        connection.request(method, path, body=body, headers=headers)
        answer = connection.getresponse()
        text = answer.read().decode()
        connection.close()
        return answer.status, text, time.monotonic() - began

    def push(self, *runs):
        return self.ask("/runs", "POST", "".join(json.dumps(r) + "\n" for r in runs), Authorization="Bearer " + TOKEN)

    def memory_mb(self):
        return int(re.search(r"VmHWM:\s+(\d+)", Path(f"/proc/{self.process.pid}/status").read_text()).group(1)) / 1000

    def stop(self, number=signal.SIGTERM):
        """Exit code, seconds it took, and what it said."""
        began = time.monotonic()
        self.process.send_signal(number)
        err = self.process.communicate(timeout=90)[1]
        return self.process.returncode, time.monotonic() - began, err


def listed(ledger):
    p = subprocess.run([FARE, "runs", "export", "--ledger", str(ledger)], capture_output=True, text=True)
    return {json.loads(line)["id"] for line in p.stdout.splitlines()}


def run(n, **more):
    return {**records.record(n, "mlp", "box", 10, 1), **more}


names = [run(4000 + i, name="n" * 1024) for i in range(60)]


def two(i):
    """A request for a page of its own: a comparison of two runs."""
    a, b = names[i % 60]["id"], names[i // 60 % 60]["id"]
    return f"GET /compare?run={a}&run={b} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()


s = Server(HERE / "a.db", records.machines(60))
if not s.port:
    text = s.process.communicate()[1]
    skip("fare serve", text.strip()) if "libmicrohttpd is not on this machine" in text else report("it starts", False, text)
    done()

# ---- bounds: what is pushed or imported beyond them is refused, with member and bound

ROWS = (({"epoch_list": [{"epoch": i} for i in range(10001)]}, "epoch_list: more than 10000 items"),
        ({"step_plot_ms": [1.5] * 1001}, "step_plot_ms: more than 1000 items"),
        ({"samples": [{"at_s": 1}] * 1001}, "samples: more than 1000 items"),
        ({"name": "x" * 1025}, "name: more than 1024 bytes"),
        ({"name": "ä" * 513}, "name: more than 1024 bytes"),
        ({"workload": "x" * 1025}, "workload: more than 1024 bytes"),
        ({"problem": "x" * 131073}, "problem: more than 131072 bytes"),
        ({"taints": ["x"] * 1001}, "taints: more than 1000 items"),
        ({"command": ["x"] * 100001}, "command: more than 100000 items"),
        ({"use": {"gpu_list": [{}] * 1001}}, "use: gpu_list: more than 1000 items"),
        ({"command": ["x" * 100000] * 3}, "more than 262144 bytes without its lists"),
        ({"new_key": "x" * 5000000}, "the record: more than 4194304 bytes"))
before = len(listed(s.ledger))
for n, (more, says) in enumerate(ROWS):
    status, text, _ = s.push(run(3000), run(3001 + n, **more))
    answer = json.loads(text)
    report(f"push: {says}: that one is left out", status == 200 and answer["added"] + answer["there"] == answer["left_out"] == 1
           and "line 2" in answer["problems"][0] and says in answer["problems"][0], text[:300])
    status, text, _ = s.push(run(3001 + n, **more))
    report(f"push: {says}: alone it is refused", status == 400 and "line 1" in text and says in json.loads(text)["error"], text[:300])
    records.write(HERE / "bad.jsonl", [run(3000), run(3001 + n, **more)])
    p = subprocess.run([FARE, "runs", "import", HERE / "bad.jsonl", "--ledger", HERE / "none.db"], capture_output=True, text=True)
    report(f"import: {says}", p.returncode == 0 and says in p.stderr and "line 2" in p.stderr and "1 was left out" in p.stdout, p.stdout + p.stderr)
report("none of them was added", len(listed(s.ledger)) == before + 1)
within = run(3900, epoch_list=[{"epoch": i, "train_ns": 5, "test_accuracy": 0.5} for i in range(10000)], name="ä" * 512, step_plot_ms=[1.5] * 1000)
status, text, _ = s.push(within)
report("a record at its bounds is taken", status == 200, text[:300])
for _ in range(50):
    status, text, _ = s.ask(f"/runs/{within['id']}?")
report("and its page is there", status == 200, text[:300])
report("fifty pages of it take under 200 MB", s.memory_mb() < 200, s.memory_mb())
s.push(*names)
report("a list of the longest names stays under 1 MB", len(s.ask("/")[1]) < 1000000, len(s.ask("/")[1]))
kept = [float(i) for i in range(1, 5001)]
(HERE / "many.json").write_text(json.dumps({"results": [{"command": "x", "mean": 0.5, "stddev": 0.1, "median": 0.5, "user": 0.1, "system": 0.1,
                                                          "min": 0.1, "max": 1, "times": [v / 1000 for v in kept], "exit_codes": [0] * 5000}]}))
p = subprocess.run([FARE, "runs", "import", HERE / "many.json", "--ledger", HERE / "thin.db"], capture_output=True, text=True)
q = subprocess.run([FARE, "runs", "export", "--ledger", HERE / "thin.db"], capture_output=True, text=True)
points = json.loads(q.stdout)["step_plot_ms"] if p.returncode == 0 else []
report("5,000 times of a log are thinned", p.returncode == 0 and 0 < len(points) <= 1000 and points == sorted(points), p.stderr + str(points)[:100])
rows = "epoch,acc,loss\n" + "".join(f"{i},0.5,1.0\n" for i in range(10001))
(HERE / "long.csv").write_text(rows)
p = subprocess.run([FARE, "runs", "import", HERE / "long.csv", "--ledger", HERE / "thin.db"], capture_output=True, text=True)
report("10,001 epochs of a log are refused", p.returncode == 1 and "epoch_list: more than 10000 items" in p.stderr, p.stderr)

# ---- clients that left: 1,000 of them, each with a page of its own

gone = [s.connect() for _ in range(1000)]
for i, c in enumerate(gone):
    c.sendall(two(i))
for c in gone:
    c.close()
status, _, seconds = s.ask("/prices", source="127.0.0.2")
report("work of clients that left is dropped", status == 200 and seconds < 10, seconds)
began, status = time.monotonic(), 429
while status == 429 and time.monotonic() - began < 10:  # until the server has seen that they left
    status, _, _ = s.ask("/?page=2")
    time.sleep(0.05)
seconds = time.monotonic() - began
report("for the same address too", status == 200 and seconds < 10, (status, seconds))

# ---- one address cannot take everything

flood = [s.connect() for _ in range(400)]
for i, c in enumerate(flood):
    c.sendall(two(2000 + i))
status, _, seconds = s.ask("/", source="127.0.0.2")
report("another address is served at once", status == 200 and seconds < 3, (status, seconds))
answers = {}
for c in flood:
    head = c.recv(20)
    answers[head[9:12]] = answers.get(head[9:12], 0) + 1
    c.close()
report("what one address has waiting is limited", answers.get(b"429", 0) > 0 and sum(answers.values()) == 400, answers)
until = time.monotonic() + 30  # a busy server notices later that they are closed
while s.files() > 200 and time.monotonic() < until:
    time.sleep(0.05)
idle, refused, since = [], [], []
for _ in range(1500):
    since.append(time.monotonic())
    idle.append(s.connect())
time.sleep(0.5)
for c, at in zip(idle, since):
    c.setblocking(False)
    try:
        closed = c.recv(1) == b""
    except BlockingIOError:
        closed = False
    except OSError:
        closed = True
    if closed and time.monotonic() - at < 10:  # after that it is idle, as the first may be on a busy machine
        refused.append(time.monotonic() - at)
report("none is closed while there is room", not refused and time.monotonic() - since[-1] < 10, refused)
report("another one is served", s.ask("/", source="127.0.0.3")[0] == 200)
for c in idle:
    c.close()

# ---- bodies

before_mb = s.memory_mb()
readers = [s.connect() for _ in range(20)]
for c in readers:  # a body that nobody needs
    c.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 16000000\r\n\r\n")
for c in readers:
    try:
        c.sendall(b" " * 15000000)
    except OSError:
        pass
report("the body of a GET is not kept: 20 of 15 MB", s.memory_mb() - before_mb < 60, s.memory_mb() - before_mb)
for c in readers:
    c.close()
writers, answers = [s.connect() for _ in range(12)], {}
for c in writers:
    c.sendall(b"POST /runs HTTP/1.1\r\nHost: localhost\r\nContent-Length: 16000000\r\nAuthorization: Bearer " + TOKEN.encode() + b"\r\n\r\n")
time.sleep(0.5)
for c in writers:
    c.setblocking(False)
    try:
        said = c.recv(12)[9:]
    except BlockingIOError:
        said = "reading"
    answers[said] = answers.get(said, 0) + 1
report("bodies of 64 MB at most are read at once", answers.get("reading", 0) == 4, answers)
for c in writers:
    c.close()
time.sleep(0.3)
report("their places are given back", s.push(run(5000))[0] == 200)
code, seconds, err = s.stop()
report("SIGTERM ends it within 2 s", code == 0 and seconds < 2, (code, seconds))

# ---- SIGTERM whatever is going on

s = Server(HERE / "a.db")
clients = [s.connect() for _ in range(200)]
for i, c in enumerate(clients):
    c.sendall(two(i))
code, seconds, err = s.stop()
report("SIGTERM with 200 pages to render", code == 0 and seconds < 2, (code, seconds, err))
lock = sqlite3.connect(HERE / "a.db", isolation_level=None)
s = Server(HERE / "a.db")
lock.execute("BEGIN IMMEDIATE")


def push_and_fail():
    try:
        s.push(run(5001))
    except (OSError, http.client.HTTPException):
        pass


waiting = threading.Thread(target=push_and_fail)
waiting.start()
time.sleep(0.5)
code, seconds, err = s.stop()
waiting.join()
report("SIGTERM while the ledger is locked", code == 0 and seconds < 2, (code, seconds, err))
lock.execute("ROLLBACK")
with socket.socket() as silent:  # a PostgreSQL that accepts and says nothing
    silent.bind(("127.0.0.1", 0))
    silent.listen()
    p = subprocess.Popen([FARE, "serve", "--listen", "127.0.0.1:0", "--ledger", f"postgresql://x@127.0.0.1:{silent.getsockname()[1]}/x"],
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    time.sleep(0.7)
    began = time.monotonic()
    p.terminate()
    p.communicate(timeout=60)
    report("SIGTERM while it starts", time.monotonic() - began < 2, time.monotonic() - began)

# ---- one damaged row

lock.execute("UPDATE fare_run SET record = '{\"id\":\"broken\",\"name\":7}' WHERE id = ?", (names[3]["id"],))
lock.execute("DELETE FROM fare_head WHERE run = ?", (names[3]["id"],))
lock.close()
s = Server(HERE / "a.db")
damaged = names[3]["id"]
for path in ("/", "/runs.json", "/?workload=mlp", "/metrics", "/quote?run=mlp", f"/runs/{names[4]['id']}"):
    status, text, _ = s.ask(path)
    report(f"a damaged row does not damage {path}", status == 200 and damaged not in text and (not path.endswith("json") or json.loads(text)), (status, text[:200]))
for path in (f"/runs/{damaged}", f"/runs/{damaged}.json"):
    status, text, _ = s.ask(path)
    report(f"{path[-10:]}: its own page says so", status == 500 and "damaged: name: expected a text" in text and str(HERE) not in text, (status, text[:2000]))
s.ask("/metrics")
code, seconds, err = s.stop()
report("the log names it, once", err.count(damaged) == 1 and "damaged" in err, err)
p = subprocess.run([FARE, "runs", "--all", "--ledger", HERE / "a.db"], capture_output=True, text=True)
report("fare runs goes on too", p.returncode == 0 and damaged in p.stderr and "nnnn" in p.stdout, p.stderr)

# ---- a ledger that is removed, replaced or damaged under the server

ledger = HERE / "b.db"
s = Server(ledger, [run(6000)])
shutil.copy(ledger, HERE / "backup.db")
report("a run is pushed", s.push(run(6001))[0] == 200)
s.ask("/")
ledger.unlink()
status, text, _ = s.ask("/?page=1")
report("removed: reading fails, without its path", status == 500 and str(HERE) not in text, (status, text))
status, text, _ = s.push(run(6002))
report("removed: what is acknowledged is kept", status != 200 or listed(ledger) == {run(6002)["id"]}, (status, text, listed(ledger)))
report("and can be read", s.ask(f"/runs/{run(6002)['id']}.json")[0] == 200)
for n in range(4):
    s.ask(f"/runs.json?page={n + 1}")
shutil.copy(HERE / "backup.db", HERE / "new.db")
os.rename(HERE / "new.db", ledger)
status, text, _ = s.push(run(6003))
report("replaced: a push goes to the new file", status == 200 and listed(ledger) == {run(6000)["id"], run(6003)["id"]}, (status, text, listed(ledger)))
report("replaced: so does reading", {r["id"] for r in json.loads(s.ask("/runs.json?page=1")[1])["runs"]} == {run(6000)["id"], run(6003)["id"]})
code, seconds, err = s.stop()
whole = sqlite3.connect(ledger).execute("PRAGMA integrity_check").fetchone()
report("and the file is whole", whole == ("ok",) and listed(ledger) == {run(6000)["id"], run(6003)["id"]}, whole)
s = Server(ledger)
(HERE / "garbage").write_bytes(os.urandom(100000))
os.rename(HERE / "garbage", ledger)
for status, text, _ in (s.ask("/?page=1"), s.ask("/runs/last"), s.push(run(6004))):
    report("damaged: the server's fault, without its path", status == 500 and str(HERE) not in text, (status, text))
code, seconds, err = s.stop()
report("the log has the path", str(ledger) in err and code == 0, err)

# ---- on media that can only be read

media = HERE / "media"
media.mkdir()
shutil.copy(HERE / "backup.db", media / "l%?#.db")
p = subprocess.run(["unshare", "--map-root-user", "--mount", "sh", "-c", 'mount --bind "$1" "$1" && mount -o remount,bind,ro "$1" || exit 77; '
                    '"$2" runs --all --ledger "$1/l%?#.db" && ! "$2" runs import "$3" --ledger "$1/l%?#.db"', "sh", media, FARE,
                    records.write(HERE / "one.jsonl", [run(7000)])], capture_output=True, text=True)
if p.returncode == 77 or "unshare" in p.stderr:
    skip("a ledger on read-only media", p.stderr.strip())
else:
    report("a ledger on read-only media is read, not written", p.returncode == 0 and "mlp" in p.stdout and "only be read" in p.stderr, p.stdout + p.stderr)

# ---- an import from a slow pipe holds no lock

ledger = HERE / "pipe.db"
Server(ledger, [run(1)]).stop()
big = "".join(json.dumps(run(8000 + i)) + "\n" for i in range(1000))
p = subprocess.Popen([FARE, "runs", "import", "/dev/stdin", "--ledger", ledger], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
p.stdin.write(big[:200000])
p.stdin.flush()
time.sleep(0.7)
other = sqlite3.connect(ledger, timeout=0.2, isolation_level=None)
try:
    other.execute("BEGIN IMMEDIATE")
    other.execute("ROLLBACK")
    free = True
except sqlite3.OperationalError:
    free = False
other.close()
report("while its writer is slow, others can write", free)
out = p.communicate(big[200000:])[0]
report("and all of it is imported", len(big) > 200000 and out == "added 1000 runs\n" and len(listed(ledger)) == 1001, (len(big), out))
done()
