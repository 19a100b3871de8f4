# SPDX-License-Identifier: Apache-2.0
"""fare serve: clients that leave, hang or send nonsense, records beyond their bounds, damaged rows, a ledger replaced under it, and
SIGTERM or SIGKILL while it works. Every acknowledged run must be in the ledger afterwards."""
import http.client
import json
import os
import re
import signal
import socket
import sqlite3
import subprocess
import time
from pathlib import Path

from round import END_S, MEMORY_MB, Fault, counts

TOKEN = "correct-horse-battery-staple"
LIVES = 3  # of the server, in a round
ANSWER_S = 10


class Server:
    def __init__(self, r, ledger):
        self.log = r.home / "log"
        (r.home / "token").write_text(TOKEN + "\n")
        (r.home / "token").chmod(0o600)
        with open(self.log, "a") as log:
            self.process = r.start("serve", "--listen", "127.0.0.1:0", "--ledger", ledger, "--token-file", r.home / "token",
                                   stdout=subprocess.PIPE, stderr=log, text=True)
        self.r = r

    def ready(self):
        found = re.search(r":(\d+)/", self.process.stdout.readline())
        if not found:
            raise Fault("the server does not start: " + self.log.read_text()[-500:])
        self.port = int(found.group(1))
        return self

    def connect(self):
        counts["connections"] += 1
        return socket.create_connection(("127.0.0.1", self.port), timeout=30)

    def ask(self, path, method="GET", body=None):
        counts["connections"] += 1
        began = time.monotonic()
        c = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        try:
            c.request(method, path, body=body, headers={"Authorization": "Bearer " + TOKEN})
            answer = c.getresponse()
            return answer.status, answer.read()
        except (OSError, http.client.HTTPException) as e:
            if self.process.poll() is not None:
                raise Fault(f"the server ended with {self.process.returncode}: {self.log.read_text()[-500:]}") from e
            raise Fault(f"{method} {path}: no answer: {e}") from e
        finally:
            c.close()
            if time.monotonic() - began > ANSWER_S:
                raise Fault(f"{method} {path}: answered after {time.monotonic() - began:.1f} s")

    def push(self, *runs):
        """The ids that were acknowledged."""
        status, _ = self.ask("/runs", "POST", "".join(json.dumps(r) + "\n" for r in runs))
        counts["pushes acknowledged"] += status == 200
        return {r["id"] for r in runs} if status == 200 else set()

    def end(self, how):
        counts[how.name + " to the server"] += 1
        began = time.monotonic()
        self.process.send_signal(how)
        try:
            self.process.wait(60)
        except subprocess.TimeoutExpired as e:
            raise Fault("SIGTERM does not end the server") from e
        took = time.monotonic() - began
        if how == signal.SIGTERM and (self.process.returncode not in (0, -signal.SIGTERM) or took > END_S):
            raise Fault(f"SIGTERM: code {self.process.returncode} after {took:.1f} s: {self.log.read_text()[-500:]}")


def clients_leave(r, s):
    some = [s.connect() for _ in range(200)]
    for i, c in enumerate(some):
        c.sendall(f"GET /?machine=box-{r.random.randrange(10**6)}&page={i + 1} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
    for c in some:
        c.close()
    counts["clients that left before their answer"] += len(some)


def clients_hang(r, s):
    """They stay connected: half a head, half a body, or deaf to a long answer. The caller closes them."""
    heads = (b"GET / HT", b"GET /runs.json?page=1 HTTP/1.1\r\nHost: localhost\r\n\r\n" * 20,
             b"POST /runs HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100000\r\nAuthorization: Bearer " + TOKEN.encode() + b"\r\n\r\n{")
    some = [s.connect() for _ in range(50)]
    for c in some:
        c.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        c.sendall(r.random.choice(heads))
    counts["clients that hung"] += len(some)
    return some


def random_requests(r, s):
    pieces = [b"GET ", b"POST ", b"/runs", b"/compare?run=", b" HTTP/1.1\r\n", b"Host: localhost\r\n", b"Content-Length: ", b"99999999999999999999",
              b"\r\n\r\n", b"Transfer-Encoding: chunked\r\n", b"%00", b"\xff", b"-1", b"Authorization: Bearer x\r\n", b"Expect: 100-continue\r\n"]
    for _ in range(100):
        with s.connect() as c:
            try:
                c.sendall(b"".join(r.random.choice(pieces) for _ in range(r.random.randrange(1, 12))))
            except OSError:
                pass
    counts["random requests"] += 100


def bad_pushes(r, s):
    bad = [r.record(epoch_list=[{"epoch": i} for i in range(330000)]), r.record(name="x" * 10_000_000), r.record(epoch_list=[{}] * 10001),
           r.record(name="x" * 1025), r.record(samples=[{}] * 1001), r.record(new="x" * 5_000_000), r.record(phases={"wall_ns": -1}),
           r.record(id="../x"), r.record(name=7), [1], "text"]
    for one in bad:
        text = json.dumps(one)
        if r.random.random() < 0.3:
            text = text[:r.random.randrange(1, len(text))]
        status, _ = s.ask("/runs", "POST", text)
        if status in (400, 413):
            counts["bad pushes refused"] += 1
        elif status not in (429, 503):
            raise Fault(f"a bad push was answered {status}: {text[:80]}")


def damage_row(r, s, ledger, kept):
    """One record of the ledger is no longer what fare wrote: lists and other pages go on without it."""
    if not kept:
        return
    which = r.random.choice(sorted(kept))
    kept.discard(which)
    with sqlite3.connect(ledger, timeout=30) as db:
        text = db.execute("SELECT record FROM fare_run WHERE id = ?", (which,)).fetchone()[0].encode()
        text = r.random.choice((text[:r.random.randrange(len(text))], r.corrupted(text, 5), b'{"name":7}', b"", b"[" * 100000))
        db.execute("UPDATE fare_run SET record = CAST(? AS TEXT) WHERE id = ?", (text, which))
        db.execute("DELETE FROM fare_head WHERE run = ?", (which,))
    db.close()
    counts["rows damaged"] += 1
    pages = ["/", "/runs.json", "/metrics", *(f"/runs/{one}.json" for one in sorted(kept)[:1])]
    for path in pages:
        status, answer = s.ask(path)
        if status not in (200, 429):
            raise Fault(f"with a damaged row {path} was answered {status}: {answer[:300]}")
    status, answer = s.ask(f"/runs/{which}")
    if status not in (200, 500, 429) or str(r.home).encode() in answer:
        raise Fault(f"a damaged row was answered {status}: {answer[:300]}")


def replace(r, s, ledger, kept):
    """A restore by mv under the server. Runs acknowledged since the backup are gone by the user's own hand."""
    copy = r.home / "backup.db"
    with sqlite3.connect(ledger, timeout=30) as a, sqlite3.connect(copy) as b:
        a.backup(b)
    a.close()
    b.close()
    s.push(r.record())
    os.rename(copy, ledger)
    counts["ledgers replaced"] += 1
    kept |= s.push(r.record())


def check(r, s, ledger):
    status, text = s.ask("/runs.json")
    if status not in (200, 429):
        raise Fault(f"the list was answered {status}: {text[:200]}")
    used = int(re.search(r"VmHWM:\s+(\d+)", Path(f"/proc/{s.process.pid}/status").read_text()).group(1)) / 1000
    if used > MEMORY_MB:
        raise Fault(f"the server takes {used:.0f} MB of memory")


def kept_in(r, ledger):
    return {json.loads(line)["id"] for line in r.fare("runs", "export", "--ledger", ledger)[1].splitlines()}


def busy_end(r, s):
    clients = [s.connect() for _ in range(50)]
    for i, c in enumerate(clients):
        c.sendall(f"GET /compare?run=soak-{i + 1:07}&run=last HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
    s.end(r.random.choice((signal.SIGTERM, signal.SIGKILL)))
    for c in clients:
        c.close()


def play(r):
    ledger, kept = r.home / "team.db", set()
    for life in range(LIVES):
        s = Server(r, ledger).ready()
        kept |= s.push(*(r.record() for _ in range(2 if life else 100)))
        hung = clients_hang(r, s)
        for step in (clients_leave, random_requests, bad_pushes):
            step(r, s)
            kept |= s.push(r.record(), r.record())
        damage_row(r, s, ledger, kept)
        if r.random.random() < 0.3:
            replace(r, s, ledger, kept)
        check(r, s, ledger)
        busy_end(r, s)
        for c in hung:
            c.close()
        lost = kept - kept_in(r, ledger)
        if lost:
            raise Fault(f"{len(lost)} acknowledged runs are lost: {sorted(lost)[:3]}")
    early = Server(r, ledger)
    time.sleep(r.random.uniform(0, 0.05))
    early.end(signal.SIGTERM)
    counts["acknowledged runs, all kept"] += len(kept)
