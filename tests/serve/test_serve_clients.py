# SPDX-License-Identifier: Apache-2.0
"""fare serve and clients that take all they can get: none of them stops the others, and memory stays as it is."""
import http.client
import json
import os
import re
import resource
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
LEDGER, TOKEN = HERE / "ledger.db", "correct-horse-battery-staple"
SANITIZED = b"__asan_init" in Path(FARE).read_bytes()  # it keeps what was freed, to look for use of it
(HERE / "token").write_text(TOKEN + "\n")
(HERE / "token").chmod(0o600)
most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def start(**environment):
    return subprocess.Popen([FARE, "serve", "--listen", "127.0.0.1:0", "--ledger", str(LEDGER), "--token-file", str(HERE / "token")],
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ, **environment})


# ---- without the library

missing = start(FARE_MICROHTTPD="/nonexistent/libmicrohttpd.so.12")
out, err = missing.communicate(timeout=30)
report("without libmicrohttpd: which package to install", missing.returncode == 1 and "libmicrohttpd is not on this machine" in err
       and "install the package libmicrohttpd12" in err and "libmicrohttpd.so.12" in err, err)
report("and nothing is served", out == "", out)

subprocess.run([FARE, "runs", "import", records.write(HERE / "all.jsonl", records.machines(120)), "--ledger", LEDGER],
               check=True, stdout=subprocess.DEVNULL)
server = start()
found = re.search(r":(\d+)/", server.stdout.readline())
if not found:
    text = server.communicate()[1]
    skip("fare serve", text.strip()) if "libmicrohttpd is not on this machine" in text else report("it starts", False, text)
    done()
PORT = int(found.group(1))


def connect():
    return socket.create_connection(("127.0.0.1", PORT), timeout=30)


def ask(path="/", method="GET", body=None, **headers):
    """Status, text and seconds."""
    began = time.monotonic()
    connection = http.client.HTTPConnection("127.0.0.1", PORT, timeout=30)
    connection.request(method, path, body=body, headers=headers)
    answer = connection.getresponse()
    text = answer.read().decode()
    connection.close()
    return answer.status, text, time.monotonic() - began


def others_are_served(name, path="/"):
    status, _, seconds = ask(path)
    report(name, status == 200 and seconds < 5, (status, seconds))


def read_answers(client, count):
    """So many whole answers; how many bytes of text each had."""
    text, lengths = b"", []
    while len(lengths) < count:
        while (end := text.find(b"\r\n\r\n")) < 0 or len(text) < end + 4 + (long := int(re.search(rb"Content-Length: (\d+)", text[:end]).group(1))):
            piece = client.recv(1 << 20)
            if not piece:
                return lengths
            text += piece
        if not text.startswith(b"HTTP/1.1 200 "):
            return lengths
        lengths.append(long)
        text = text[end + 4 + long:]
    return lengths


# ---- many who do nothing

idle = [connect() for _ in range(1000)]
others_are_served("1,000 idle connections do not stop others")
for client in idle[:50]:
    client.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
report("and are served when they wake", all(read_answers(client, 1) for client in idle[:50]))
for client in idle:
    client.close()

# ---- more than there is room for, from one address: nothing, half a head, half a body, a request without a reader; all stay open


def crowd(count, words):
    clients = []
    for _ in range(count):
        client = connect()
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        try:
            client.sendall(words)
        except OSError:  # closed already, to make room
            pass
        clients.append(client)
    return clients


def is_closed(client):
    client.settimeout(0)
    try:
        return client.recv(1, socket.MSG_PEEK) == b""
    except BlockingIOError:
        return False
    except OSError:
        return True


def within_a_second(name):
    """Others of the same address, a connection for each request."""
    try:
        answers = [ask(f"/?page=1&page=crowd{time.monotonic()}")[::2] for _ in range(10)]
    except OSError as error:
        answers = [(str(error), 0)]
    report(name, all(status == 200 and seconds < 1 for status, seconds in answers), answers)


MANY = min(1100, most // 6)
opened = crowd(MANY, b"")
within_a_second("1,100 idle connections of one address, and others of that address are answered within a second")
report("and none was closed while there is room", not any(map(is_closed, opened)))
opened += crowd(MANY, b"GET / HTTP/1.1\r\nHost: localhost\r\nX: ")
within_a_second("with 1,100 half requests too")
opened += crowd(MANY, b"POST /runs HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n{")
within_a_second("with 1,100 half bodies too")
opened += crowd(MANY, b"GET /runs.json HTTP/1.1\r\nHost: localhost\r\n\r\n" * 20)
within_a_second("with 1,100 that do not read their answers")
report("those that waited longest were closed for it", is_closed(opened[0]) and not is_closed(opened[-1]))
for client in opened:
    client.close()

# ---- one who asks and does not read

deaf = [connect() for _ in range(20)]
for client in deaf:
    client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    client.sendall(b"GET /runs.json HTTP/1.1\r\nHost: localhost\r\n\r\n" * 200)
others_are_served("clients that do not read their answers do not stop others")
for client in deaf:
    client.close()

# ---- headers and bodies without end

endless = [connect() for _ in range(20)]
refused = 0
for client in endless:
    try:
        client.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\nX: " + b"a" * 200000)
        client.settimeout(10)
        answer = client.recv(100)
    except OSError:
        answer = b""
    refused += answer == b"" or answer.startswith(b"HTTP/1.1 4")
report("headers over the limit are refused", refused == 20, refused)
others_are_served("and do not stop others")
for client in endless:
    client.close()

# ---- many who want the same, made once

clients = [connect() for _ in range(200)]
for client in clients:
    client.sendall(b"GET /runs/last HTTP/1.1\r\nHost: localhost\r\n\r\n")
lengths = [read_answers(client, 1) for client in clients]
report("200 at once get the same page", len({tuple(n) for n in lengths}) == 1 and lengths[0] and lengths[0][0] > 1000, lengths)
for client in clients:
    client.close()

# ---- a ledger that somebody holds locked: who writes waits, who reads does not

lock = sqlite3.connect(LEDGER, isolation_level=None)
lock.execute("BEGIN IMMEDIATE")
pushed = []
new = records.record(5000, "mlp", "pushed", 10, 1)
writers = [threading.Thread(target=lambda: pushed.append(ask("/runs", "POST", json.dumps(new), Authorization="Bearer " + TOKEN)[0]))
           for _ in range(12)]
for writer in writers:
    writer.start()
time.sleep(0.5)
report("who writes waits while the ledger is locked", pushed == [], pushed)
others_are_served("who reads does not", "/?page=2")
lock.execute("ROLLBACK")
lock.close()
for writer in writers:
    writer.join()
report("then all are taken", pushed == [200] * 12, pushed)
report("and seen at once", ask(f"/runs/{new['id']}.json")[0] == 200)

# ---- memory: 20,000 requests, a twentieth of them for pages that are made anew


def resident():
    return int(re.search(r"VmRSS:\s+(\d+)", Path(f"/proc/{server.pid}/status").read_text()).group(1))


def many(rounds, seed):
    """Rounds of 100 requests on one connection."""
    answered = 0
    with connect() as client:
        for i in range(rounds):
            for half in range(2):
                new = "".join(f"GET /?page=1&page={seed}.{i}.{half}.{k} HTTP/1.1\r\nHost: localhost\r\n\r\n" for k in range(2 + half))
                client.sendall((new + "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n" * (50 - 2 - half)).encode())
                answered += len(read_answers(client, 50))
    return answered


def counted():
    """Runs, as the chips of the list count them: these figures are made in the background, after each change."""
    page = ask("/runs")[1]
    return {sum(map(int, re.findall(rf'href="/runs\?{key}=[^"]*"[^>]*>[^<]* <b>(\d+)</b>', page))) for key in ("workload", "framework", "ended")}


kept = sqlite3.connect(LEDGER).execute("SELECT COUNT(*) FROM fare_run").fetchone()[0]
waited = time.monotonic()
while kept not in counted() and time.monotonic() - waited < 180:
    time.sleep(0.2)
report("the numbers on the chips follow the ledger", kept in counted(), (kept, counted()))
if SANITIZED:
    skip("memory stays as it is", "with the address sanitizer it does not, by its nature")
else:
    many(30, "warm")
    warm = [threading.Thread(target=many, args=(15, f"warm{n}")) for n in range(8)]  # so that all threads have made pages
    for thread in warm:
        thread.start()
    for thread in warm:
        thread.join()
    before = resident()
    answered = many(200, "long")
    grown = resident() - before
    report("20,000 requests are answered", answered == 20000, answered)
    report("memory stays as it is: under 1 MB more", grown < 1024, f"{before} kB, then {grown} kB more")

# ---- the end

client = connect()
client.sendall(b"GET /compare?run=last HTTP/1.1\r\nHost: localhost\r\n\r\n")
time.sleep(0.02)
server.send_signal(signal.SIGTERM)
report("what is being made when it ends is still sent", len(read_answers(client, 1)) == 1)
out, err = server.communicate(timeout=30)
report("and it ends well", server.returncode == 0 and err == "", (server.returncode, err))
done()
