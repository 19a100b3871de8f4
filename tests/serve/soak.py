#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""make soak: fare serve under hostile clients, kills and corruption for MINUTES, and what was counted.

    tests/serve/soak.py build/fare [MINUTES]

It ends with 1 if an acknowledged push is lost, if the server crashes or hangs, if memory grows past its bound, or if
a bad input is accepted."""
import http.client
import json
import os
import random
import re
import resource
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

FARE, MINUTES = os.path.abspath(sys.argv[1]), float(sys.argv[2]) if len(sys.argv) > 2 else 5
HERE = Path(tempfile.mkdtemp(prefix="fare-soak-"))
LEDGER, TOKEN = HERE / "ledger.db", "correct-horse-battery-staple"
ENV = {**os.environ, "XDG_DATA_HOME": str(HERE / "data"), "XDG_CONFIG_HOME": str(HERE / "config"), "FARE_METADATA": "off"}
MEMORY_MB, END_S = 400, 2.5  # 0.5 s more than promised, for a machine that does other things
random.seed(20)
counts = dict.fromkeys(("connections", "left before their answer", "pushes acknowledged", "bad inputs refused", "random requests",
                        "SIGKILL", "SIGTERM", "replaced ledgers", "corrupted bytes"), 0)
faults, acknowledged, number = [], set(), 0
(HERE / "token").write_text(TOKEN + "\n")
(HERE / "token").chmod(0o600)
most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def record(**more):
    global number
    number += 1
    return {"schema": "fare.run/1", "id": f"soak-{number:07}", "started": "2026-01-01T00:00:00Z", "workload": "mlp", "name": "soak",
            "machine": {"name": f"box-{number % 50}"}, "ended": "finished", "full": True, "phases": {"wall_ns": 10**9}, **more}


def start():
    p = subprocess.Popen([FARE, "serve", "--listen", "127.0.0.1:0", "--ledger", str(LEDGER), "--token-file", str(HERE / "token")],
                         stdout=subprocess.PIPE, stderr=open(HERE / "log", "a"), env=ENV, text=True)
    found = re.search(r":(\d+)/", p.stdout.readline())
    if not found:
        sys.exit("soak: the server does not start: " + (HERE / "log").read_text()[-500:])
    p.port = int(found.group(1))
    return p


def connect(p):
    counts["connections"] += 1
    return socket.create_connection(("127.0.0.1", p.port), timeout=30)


def ask(p, path, method="GET", body=None):
    counts["connections"] += 1
    c = http.client.HTTPConnection("127.0.0.1", p.port, timeout=30)
    try:
        c.request(method, path, body=body, headers={"Authorization": "Bearer " + TOKEN})
        answer = c.getresponse()
        return answer.status, answer.read()
    finally:
        c.close()


def push(p, *runs):
    status, _ = ask(p, "/runs", "POST", "".join(json.dumps(r) + "\n" for r in runs))
    if status == 200:
        acknowledged.update(r["id"] for r in runs)
        counts["pushes acknowledged"] += 1
    return status


def clients_leave(p):
    some = [connect(p) for _ in range(200)]
    for i, c in enumerate(some):
        c.sendall(f"GET /?machine=box-{random.randrange(10**6)}&page={i + 1} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
    for c in some:
        c.close()
        counts["left before their answer"] += 1


def random_requests(p):
    pieces = [b"GET ", b"POST ", b"/runs", b"/compare?run=", b" HTTP/1.1\r\n", b"Host: localhost\r\n", b"Content-Length: ", b"99999999999999999999",
              b"\r\n\r\n", b"Transfer-Encoding: chunked\r\n", b"%00", b"\xff", b"-1", b"Authorization: Bearer x\r\n", b"Expect: 100-continue\r\n"]
    for _ in range(100):
        with connect(p) as c:
            try:
                c.sendall(b"".join(random.choice(pieces) for _ in range(random.randrange(1, 12))))
            except OSError:
                pass
            counts["random requests"] += 1


def bad_inputs(p):
    bad = [record(epoch_list=[{}] * 10001), record(name="x" * 1025), record(samples=[{}] * 1001), record(new="x" * 5000000),
           record(phases={"wall_ns": -1}), record(id="../x"), record(name=7), [1], "text"]
    for one in bad:
        text = json.dumps(one)
        if random.random() < 0.3:
            text = text[:random.randrange(1, len(text))]
        status, _ = ask(p, "/runs", "POST", text)
        if status == 400:
            counts["bad inputs refused"] += 1
        elif status != 429:
            faults.append(f"a bad input was answered {status}: {text[:80]}")


def check_alive(p):
    status, text = ask(p, "/runs.json")
    if status != 200:
        faults.append(f"the list was answered {status}: {text[:200]}")
    used = int(re.search(r"VmHWM:\s+(\d+)", Path(f"/proc/{p.pid}/status").read_text()).group(1)) / 1000
    if used > MEMORY_MB:
        faults.append(f"{used:.0f} MB of memory")


def check_ledger():
    out = subprocess.run([FARE, "runs", "export", "--ledger", str(LEDGER)], capture_output=True, text=True, env=ENV).stdout
    lost = acknowledged - {json.loads(line)["id"] for line in out.splitlines()}
    if lost:
        faults.append(f"{len(lost)} acknowledged runs are lost: {sorted(lost)[:3]}")


def end(p):
    """SIGTERM in the middle of work, or SIGKILL."""
    clients = [connect(p) for _ in range(50)]
    for i, c in enumerate(clients):
        c.sendall(f"GET /compare?run=soak-{i + 1:07}&run=last HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
    how = random.choice((signal.SIGTERM, signal.SIGKILL))
    counts[how.name] += 1
    began = time.monotonic()
    p.send_signal(how)
    p.wait(60)
    if how == signal.SIGTERM and (p.returncode != 0 or time.monotonic() - began > END_S):
        faults.append(f"SIGTERM: code {p.returncode} after {time.monotonic() - began:.1f} s")
    for c in clients:
        c.close()


def replace(p):
    """A restore by mv while the server runs; what was acknowledged since the backup is gone by the user's own hand."""
    copy = HERE / "backup.db"
    subprocess.run([sys.executable, "-c", "import sqlite3, sys; a, b = map(sqlite3.connect, sys.argv[1:]); a.backup(b); b.close()", LEDGER, copy], check=True)
    kept = set(acknowledged)
    push(p, record())
    os.rename(copy, LEDGER)
    acknowledged.clear()
    acknowledged.update(kept)
    counts["replaced ledgers"] += 1
    push(p, record())


def corrupt():
    """A copy of the ledger with bytes changed: fare says so or reads what is left, and never crashes."""
    bytes_ = bytearray(LEDGER.read_bytes())
    for _ in range(20):
        bytes_[random.randrange(len(bytes_))] = random.randrange(256)
        counts["corrupted bytes"] += 1
    (HERE / "bad.db").write_bytes(bytes_)
    for arguments in (["runs", "--all"], ["compare"], ["runs", "last"]):
        code = subprocess.run([FARE, *arguments, "--ledger", str(HERE / "bad.db")], capture_output=True, env=ENV, timeout=60).returncode
        if code not in (0, 1, 2):
            faults.append(f"a damaged ledger: fare {arguments} ended with {code}")
    for rest in HERE.glob("bad.db*"):
        rest.unlink()


server = start()
push(server, *(record() for _ in range(100)))
until = time.monotonic() + MINUTES * 60
while time.monotonic() < until and not faults:
    for step in (clients_leave, random_requests, bad_inputs, check_alive):
        if server.poll() is not None:
            faults.append(f"the server ended with {server.returncode}")
            break
        step(server)
        push(server, record(), record())
    if random.random() < 0.2:
        replace(server)
    end(server)
    check_ledger()
    corrupt()
    server = start()
server.terminate()
server.wait(60)
for name, count in counts.items():
    print(f"{count:10,} {name}")
print(f"{len(acknowledged):10,} acknowledged runs, all in the ledger" if not faults else "\n".join(faults))
shutil.rmtree(HERE, ignore_errors=True)
sys.exit(bool(faults))
