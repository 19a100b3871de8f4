# SPDX-License-Identifier: Apache-2.0
"""fare serve over real sockets: pages and their twins, who may read and write, and clients that misbehave."""
import base64
import http.client
import json
import os
import re
import signal
import socket
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
(HERE / "token").write_text(TOKEN + "\n")
(HERE / "token").chmod(0o600)
(HERE / "short").write_text("secret\n")
(HERE / "short").chmod(0o600)


class Server:
    """A server on a free port; `stop` ends it and keeps what it said."""

    def __init__(self, *arguments, listen="127.0.0.1:0"):
        self.process = subprocess.Popen([FARE, "serve", "--listen", listen, "--ledger", str(LEDGER), *map(str, arguments)],
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.first = self.process.stdout.readline()
        found = re.search(r"http://(.*):(\d+)/", self.first)
        self.port = int(found.group(2)) if found else 0

    def ask(self, path, method="GET", body=None, token=None, **headers):
        if token:
            headers["Authorization"] = "Bearer " + token
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        connection.request(method, path, body=body, headers=headers)
        answer = connection.getresponse()
        answer.text = answer.read().decode()
        connection.close()
        return answer

    def raw(self, data, wait=5):
        """What comes back for these bytes, until the server closes or nothing more comes."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=wait) as s:
            try:
                s.sendall(data)
                text = b""
                while piece := s.recv(65536):
                    text += piece
            except OSError:
                pass
        return text.decode(errors="replace")

    def stop(self, number=signal.SIGTERM):
        self.process.send_signal(number)
        out, err = self.process.communicate(timeout=30)
        return self.process.returncode, self.first + out, err


def fare(*arguments, **more):
    return subprocess.run([FARE, *map(str, arguments)], capture_output=True, text=True, cwd=HERE, **more)


def lines(runs):
    return "".join(json.dumps(run) + "\n" for run in runs)


script = records.record(900, "cnn", "a machine", 100, 3.6)
script["name"] = "<script>alert(1)</script>"
script["labels"].append({"key": "team", "value": "blue"})
KEPT = records.machines(60) + [script]
records.write(HERE / "all.jsonl", KEPT)
first = fare("runs", "import", HERE / "all.jsonl", "--ledger", LEDGER)
report("the records are imported", first.returncode == 0, first.stderr)

# ---- a client that sends a byte now and then, for ever; it is asked for at the end

drip = Server()
drip_ended = []


def dripping():
    began = time.monotonic()
    with socket.create_connection(("127.0.0.1", drip.port)) as client:
        client.settimeout(2)
        while time.monotonic() - began < 90:
            try:
                client.sendall(b"G")
                if client.recv(100) == b"":
                    break
            except TimeoutError:
                continue
            except OSError:
                break
    drip_ended.append(time.monotonic() - began)


if drip.port:
    dripper = threading.Thread(target=dripping)
    dripper.start()

# ---- pages and their twins

s = Server()
if s.port == 0:
    drip.process.wait()
    text = s.stop()[2]
    skip("fare serve", text.strip()) if "libmicrohttpd is not on this machine" in text else report("it starts", False, text)
    done()
a = s.ask("/")
report("/ is a page", a.status == 200 and a.getheader("Content-Type") == "text/html; charset=utf-8" and "</html>" in a.text, a.text)
policy = a.getheader("Content-Security-Policy") or ""
report("no page may run scripts", "default-src 'none'" in policy and "script-src" not in policy, policy)
report("its headers", a.getheader("X-Content-Type-Options") == "nosniff" and a.getheader("X-Frame-Options") == "DENY"
       and a.getheader("Referrer-Policy") == "no-referrer" and a.getheader("Cache-Control") == "no-store", a.getheaders())
report("a run's name stays text", "<script" not in a.text and "&lt;script&gt;alert(1)" in a.text, a.text)
latest = re.findall(r'<a href="/runs/([^"]+)"', a.text)
a = s.ask("/runs")
ids = re.findall(r'href="/runs/([^"]+)"', a.text)
newest = sorted(KEPT, key=lambda r: (r["started"], r["id"]), reverse=True)
report("the newest fifty", ids == [r["id"] for r in newest[:50]], ids)
report("the newest ten on the overview", latest[:10] == [r["id"] for r in newest[:10]], latest)
older = re.findall(r'href="/runs/([^"]+)"', s.ask("/?page=2").text)
report("the older ones on the next page", older == [r["id"] for r in newest[50:]], older)
report("a link leads there", 'href="/runs?page=2"' in a.text)


def linked(path):
    return re.findall(r'<td class="long"><a href="/runs/([^"]+)"', s.ask(path).text)


by_time = sorted(KEPT, key=lambda r: (r["phases"]["wall_ns"], r["started"], r["id"]))
report("the shortest first", linked("/runs?sort=time") == [r["id"] for r in by_time[:50]], linked("/runs?sort=time"))
report("the longest first", linked("/runs?sort=-time") == [r["id"] for r in reversed(by_time)][:50], linked("/runs?sort=-time"))
report("and their next page", linked("/runs?sort=-time&page=2") == [r["id"] for r in reversed(by_time)][50:], linked("/runs?sort=-time&page=2"))
report("the oldest first", linked("/runs?sort=started") == [r["id"] for r in reversed(newest)][:50], linked("/runs?sort=started"))
report("runs of unknown step time are not in that order", linked("/runs?sort=step") == [
    r["id"] for r in sorted((r for r in KEPT if "step_ms" in r), key=lambda r: r["step_ms"])][:50], linked("/runs?sort=step"))
report("an order that is none", s.ask("/runs?sort=colour").status == 400)
deadline = time.monotonic() + 30
while 'class="chips"' not in s.ask("/runs").text and time.monotonic() < deadline:
    time.sleep(0.2)
chips = dict(re.findall(r'<a class="chip" href="/runs\?framework=[^"]*"[^>]*>([^<]*) <b>(\d+)</b>', s.ask("/runs").text))
counts = {f: str(sum(r["framework"] == f for r in KEPT)) for f in {r["framework"] for r in KEPT}}
report("chips have the numbers of runs", chips == counts, (chips, counts))
report("a chip that is chosen ends the choice", re.search(
    r'<a class="chip" href="/runs" aria-current="true">other <b>', s.ask("/runs?framework=other").text))
while 'class="chips"' not in s.ask("/runs?sort=-time").text and time.monotonic() < deadline:  # one from before may be reused
    time.sleep(0.2)
report("and keeps the order", '"/runs?sort=-time&amp;framework=fare"' in s.ask("/runs?sort=-time").text)
listed = json.loads(s.ask("/runs.json?framework=other").text)
expected = [r["id"] for r in newest if r["framework"] == "other"]
report("filters: framework", [r["id"] for r in listed["runs"]] == expected and listed["schema"] == "fare.runs/1", listed)
for query in ("label=team%3Dblue", "machine=A%20MACHINE&since=2026-01-01&workload=cnn&label=team%3Dblue", "label=team=blue&label="):
    listed = json.loads(s.ask("/runs.json?" + query).text)["runs"]
    report(f"filters: {query}", [r["name"] for r in listed] == [script["name"]], listed)
report("filters: nothing fits", "No such run" in s.ask("/?workload=none").text)
evil = s.ask("/?workload=%22%3E%3Cscript%3Ex&page=1")
report("what is asked for stays text", "<script" not in evil.text and "&quot;&gt;&lt;script&gt;x" in evil.text)
for query in ("page=0", "page=x", "page=99999999999999999999", "since=yesterday", "label=none"):
    report(f"/?{query} is refused", s.ask("/?" + query).status == 400)

one = s.ask("/runs/" + script["id"])
report("a run's page", one.status == 200 and "<script" not in one.text and "&lt;script&gt;" in one.text and "1 min 40 s" in one.text, one.text)
twin = s.ask(f"/runs/{script['id']}.json")
report("its twin is the record", json.loads(twin.text) == script and twin.getheader("Content-Type") == "application/json", twin.text)
lost = s.ask("/runs/none.json")
report("a run that is not there", lost.status == 404 and "error" in json.loads(lost.text), lost.text)
pair = f"run={KEPT[0]['id']}&run={KEPT[1]['id']}"
both = s.ask("/compare?" + pair)
report("two runs side by side", both.status == 200 and "machine-01" in both.text and "machine-02" in both.text, both.text)
compared = json.loads(s.ask("/compare.json?" + pair).text)
times = sorted(row["time_s"]["value"] for row in compared["workloads"][0]["rows"])
report("and as JSON: 100 and 200 seconds", times == [100, 200], times)
none = s.ask("/compare")
report("/compare without runs: what to do", none.status == 200 and "Select two runs or more in the list" in none.text and 'href="/runs"' in none.text, none.text)
report("and in its twin", s.ask("/compare.json").status == 400)
quote = s.ask("/quote?run=cnn&deadline=2h&hours_per_month=10&region=us-east-1&spot=no")
report("a quote keeps what was asked for", quote.status == 200 and 'value="2h"' in quote.text and '<option value="no" selected>' in quote.text, quote.text)
report("a quote as JSON", json.loads(s.ask("/quote.json?run=cnn").text)["schema"] == "fare.quote/2")
for query in ("deadline=soon", "hours_per_month=721", "hours_per_month=x", "spot=maybe"):
    report(f"/quote with {query} is refused", s.ask("/quote?run=cnn&" + query).status == 400)
for query in ("time=soon&gpu=h100", "time=2h", "time=2h&gpu=h100&run=cnn", "run=cnn&gpus=x", "run=cnn&precision=bf16", "time=2h&gpu=h100&precision=bf17"):
    report(f"/quote with {query} is refused", s.ask("/quote?" + query).status == 400)
known = "time=21d&gpu=h100,h200,b200&gpus=8&precision=bf16&idle_per_day=12h"
page, twin = s.ask("/quote?" + known), json.loads(s.ask("/quote.json?" + known).text)
report("a time that is known, on several GPUs", page.status == 200 and all(f'value="{v}"' in page.text for v in ("21d", "h100,h200,b200", "8", "12h"))
       and "Machines to rent" in page.text and "(null)" not in page.text and "× H200" in page.text
       and re.search("--time 21d --gpu .*h100,h200,b200.* --gpus 8 --precision bf16 --idle-per-day 12h", re.sub("<[^>]*>", "", page.text)), page.text)
report("and its twin", twin["schema"] == "fare.quote/2" and {b["gpu"] for b in twin["bills"]} >= {"H100"}
       and all(b["gpus"] == 8 for b in twin["bills"]) and any(a.startswith("Idle 12 h") for a in twin["advice"]), twin["advice"])
(HERE / "config/fare/offers").mkdir(parents=True)
(HERE / "config/fare/offers/mine.csv").write_text("provider,name,price,date,source,gpu,gpus,region\n"
                                                  "acme,<b>box,1.50,2026-11-01,an & b,V100,2,moon\n"
                                                  "acme,<b>box,2.50,2026-11-10,an & b,V100,2,moon\n"
                                                  "acme,small,0.80,2026-11-01,a,V100,1,moon\n")
mine = json.loads(s.ask("/prices.json?provider=acme&gpu=NVIDIA%20V100").text)
report("the book: cheapest per GPU first", [(o["name"], o["price_per_gpu_hour"]) for o in mine["offers"]] == [("small", "0.80"), ("<b>box", "1.25")], mine)
for query, names in (("gpus=2", ["<b>box"]), ("max_price=1", ["small"]), ("region=moon&text=small", ["small"]), ("kind=spot", []), ("gpus=0", [])):
    found = json.loads(s.ask("/prices.json?provider=acme&" + query).text)["offers"]
    report(f"the book: {query}", [o["name"] for o in found] == names, found)
prices = s.ask("/prices?provider=acme&kind=on-demand")
report("the book as a page", prices.status == 200 and "acme/&lt;b&gt;box" in prices.text.replace("<wbr>", "") and "<b>" not in prices.text
       and 'href="/offer?name=acme%2F%3Cb%3Ebox%40moon"' in prices.text and '"on-demand" selected' in prices.text, prices.text)
offer = s.ask("/offer?name=acme%2F%3Cb%3Ebox%40moon")
report("an offer's history", offer.status == 200 and offer.text.index("2026-11-10") < offer.text.index("2026-11-01") and "an &amp; b" in offer.text, offer.text)
history = json.loads(s.ask("/offer.json?name=acme%2F%3Cb%3Ebox%40moon").text)["history"]
report("and as JSON", [(h["since"], h["price"]) for h in history] == [("2026-11-01", "1.50"), ("2026-11-10", "2.50")], history)
(HERE / "config/fare/offers/spots.csv").write_text("provider,name,zone,kind,price,date,source,gpu,gpus,region\n" + "".join(
    f"acme,often,{zone},spot,0.{price},2026-11-0{day},a,V100,1,mars\n" for zone in ("mars-1", "<i>2") for day, price in ((1, 4), (2, 6), (3, 5))))
often = s.ask("/offer?name=acme/often@mars-1:spot").text
report("a spot offer's price is drawn and told zone by zone", '<section id="plot-spot"' in often and "Spot price by zone" in often and "<svg" in often
       and "mars-1" in often and "&lt;i&gt;2" in often and "<i>" not in often, often)
zones = json.loads(s.ask("/offer.json?name=acme/often@mars-1:spot").text)["spot"]["zones"]
report("and as JSON", [(z["zone"], z["changes"], z["p50"]) for z in zones] == [("<i>2", 2, "0.50"), ("mars-1", 2, "0.50")], zones)
report("an offer that is not there", s.ask("/offer?name=acme/none").status == 404 and s.ask("/offer").status == 400)
for query in ("gpus=x", "max_price=-1", "kind=free"):
    report(f"/prices?{query} is refused", s.ask("/prices?" + query).status == 400)
metrics = s.ask("/metrics")
report("/metrics", metrics.getheader("Content-Type").startswith("application/openmetrics-text") and metrics.text.endswith("# EOF\n")
       and 'fare_training_time_seconds{workload="cnn",machine="machine-01"' in metrics.text, metrics.text)

# ---- addresses and methods

for path in ("/none", "/runs/", "/index.html", "/.json", "/metrics.json", "//", "/runs/..%2f..%2fetc%2fpasswd", "/../../etc/passwd",
             "/" + "a" * 5000):
    report(f"{path[:40]} is not there", s.ask(path).status == 404)
head = s.ask("/", "HEAD")
report("HEAD: the header of GET", head.status == 200 and head.text == "" and head.getheader("Content-Length") == str(len(s.ask("/").text.encode())))
for method, path, allowed in (("DELETE", "/", "GET, HEAD"), ("PUT", "/runs", "GET, HEAD, POST"), ("OPTIONS", "/compare", "GET, HEAD"),
                              ("POST", "/", "GET, HEAD"), ("BREW", "/quote", "GET, HEAD"), ("POST", "/runs.json", "GET, HEAD")):
    a = s.ask(path, method, body="x" if method != "OPTIONS" else None)
    report(f"{method} {path} is refused", a.status == 405 and a.getheader("Allow") == allowed, (a.status, a.getheaders()))
a = s.ask("/runs", "POST", body=lines(records.machines(1)), token=TOKEN)
report("without a token nobody writes", a.status == 403 and "--token-file" in json.loads(a.text)["error"], a.text)
report("another name for this machine is refused", s.ask("/", Host="evil.example").status == 403)
report("its own names are not", all(s.ask("/", Host=h).status == 200 for h in ("localhost", "LOCALHOST:80", "127.0.0.1:1", "[::1]:1")))
report("nor one that begins so", all(s.ask("/", Host=h).status == 403 for h in ("localhost.evil.example", "127.0.0.1.evil.example")))

# ---- clients that misbehave

report("no HTTP at all", " 200 " not in s.raw(b"\x16\x03\x01\x02\x00\x01\r\n\r\n").split("\n")[0])
answer = s.raw(b"GET / HTTP/1.1\r\nHost: localhost\r\nX: " + b"a" * 100000 + b"\r\n\r\n").split("\r\n")[0]
report("an oversized header", re.match(r"HTTP/1.1 4\d\d ", answer) or answer == "", answer)
answer = s.raw(b"GET /" + b"a" * 100000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n").split("\r\n")[0]
report("an oversized address", re.match(r"HTTP/1.1 4\d\d ", answer) or answer == "", answer)
half = [socket.create_connection(("127.0.0.1", s.port)) for _ in range(300)]
for i, h in enumerate(half):  # half a request, or nothing
    h.sendall(b"GET / HTTP/1.1\r\nHos" if i % 2 else b"")
began = time.monotonic()
report("half requests do not stop others", s.ask("/").status == 200 and time.monotonic() - began < 5)
slow = half[0]
slow.settimeout(40)
slow.sendall(b"G")
gone = b"?"
try:
    while gone not in (b"",):
        gone = slow.recv(4096)
except OSError:
    gone = b"error"
report("a client that stops sending is left after 10 s", gone in (b"", b"error") and 8 < time.monotonic() - began < 25, time.monotonic() - began)
for h in half:
    h.close()
code, out, err = s.stop()
report("SIGTERM ends it well", code == 0 and err == "", (code, err))

# ---- the token

s = Server("--token-file", HERE / "token")
report("on this machine reading needs no token", s.ask("/").status == 200)
new = records.record(1001, "mlp", "pushed", 10, 1)
a = s.ask("/runs", "POST", body=lines([new]))
report("writing does", a.status == 401 and a.getheader("WWW-Authenticate"), a.text)
for wrong in ("wrong", TOKEN[:-1], TOKEN + "x", TOKEN.upper()):
    report(f"not with '{wrong}'", s.ask("/runs", "POST", body=lines([new]), token=wrong).status == 401)
basic = "Basic " + base64.b64encode(f"x:{TOKEN}".encode()).decode()
report("nor as a password: a browser would send that for others", s.ask("/runs", "POST", body=lines([new]), Authorization=basic).status == 401)
report("nothing was added", s.ask(f"/runs/{new['id']}.json").status == 404)
report("it is not in the metrics", 'machine="pushed"' not in s.ask("/metrics").text)
a = s.ask("/runs", "POST", body=lines([new, script]) + "\n", token=TOKEN)
report("with it", a.status == 200 and json.loads(a.text) == {"added": 1, "there": 1}, a.text)
report("it is in the metrics at once", 'machine="pushed"' in s.ask("/metrics").text)
report("the run is there", json.loads(s.ask(f"/runs/{new['id']}.json").text) == new)
more = records.record(1002, "mlp", "pushed", 10, 1)
wrong = dict(more, id="../../x")
endless = dict(more, id="endless", phases={"wall_ns": -5})
for number, (name, bad) in enumerate((("no JSON", "{"), ("an id that cannot be", lines([wrong])), ("a time that cannot be", lines([endless])),
                                      ("a NUL", "\0\n"), ("not an object", "[]"))):
    a = s.ask("/runs", "POST", body=bad, token=TOKEN)
    report(f"{name}: refused", a.status == 400 and "line 1" in json.loads(a.text)["error"], a.text)
    one = dict(more, id=f"one-{number}")
    a = s.ask("/runs", "POST", body=lines([one]) + bad, token=TOKEN)
    told = json.loads(a.text)
    report(f"{name}: named and left out, the other is added", a.status == 200 and (told["added"], told["left_out"]) == (1, 1)
           and "line 2" in told["problems"][0] and s.ask(f"/runs/{one['id']}.json").status == 200, a.text)
    fare("runs", "delete", one["id"], "--ledger", LEDGER)
big = s.raw(b"POST /runs HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999999\r\nAuthorization: Bearer " + TOKEN.encode() + b"\r\n\r\n")
report("a body that is announced too long", big.startswith("HTTP/1.1 413 "), big[:200])
chunk = b"%x\r\n" % (1 << 20) + b" " * (1 << 20) + b"\r\n"
big = s.raw(b"POST /runs HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nTransfer-Encoding: chunked\r\nAuthorization: Bearer " + TOKEN.encode()
            + b"\r\n\r\n" + chunk * 18 + b"0\r\n\r\n", wait=30)
report("one that turns out too long", big.startswith("HTTP/1.1 413 "), big[:200])
statuses = [s.ask("/runs", "POST", body="", token=TOKEN).status for _ in range(120)]
report("too many requests that write are put off", 429 in statuses and statuses[0] == 200, statuses)
report("not those that read", s.ask("/").status == 200)

# ---- what was mistyped: the form again, with what was typed and what is wrong with it

for path, says, typed in (
        ("/quote?run=mlp&deadline=so%22on&region=us-east-1", "takes a time such as 90s, 1h30m or 3d, not", ('name="run" placeholder="last" value="mlp"', 'value="so&quot;on"', 'value="us-east-1"')),
        ("/quote?run=nobody-has-it", "nobody-has-it", ('value="nobody-has-it"',)),
        ("/?workload=cnn&label=x", "A label is key=value, not", ('value="cnn"', 'value="x"')),
        ("/?since=soon&machine=p3", "is not a date", ('value="soon"', 'value="p3"')),
        ("/prices?gpu=h100&gpus=many", "takes a number of 0 or more, not", ('value="h100"', 'value="many"')),
        ("/?worklod=cnn", "no parameter &#39;worklod&#39;: it takes workload", ('name="workload"',)),
        ("/prices?foo=1", "no parameter &#39;foo&#39;", ('name="gpu"',))):
    a = s.ask(path)
    main = a.text.partition("<main>")[2]
    report(f"{path}: the form again, and why", a.status == (404 if "nobody" in path else 400) and says in main and "<form" in main
           and "--" not in main and all(t in main for t in typed), (a.status, main[:600]))
for path in ("/compare?run=last&x=1", "/runs/last?x=1", "/offer?nam=aws/p3.2xlarge", "/metrics?x=1", "/runs.json?foo=1"):
    report(f"{path}: a name that is not known is refused", s.ask(path).status == 400)
report("in JSON it is named", "'foo'" in json.loads(s.ask("/runs.json?foo=1").text)["error"])
report("an offer's prices say of what they are", "price an hour</th>" in s.ask("/offer?name=aws/p3.2xlarge").text)

# ---- fare runs push

def push(*arguments, url=None, token=HERE / "token"):
    return fare("runs", "push", url or f"http://127.0.0.1:{s.port}/", *arguments, "--token-file", token, "--ledger", HERE / "other.db", timeout=120)


time.sleep(1)  # the limit above
others = [records.record(2000 + n, "mlp", "another box", 10, 1) for n in range(30)]
others[29] = records.record(2029, "mlp", "another box without a price", 12)
for n, run in enumerate(others):  # 30 records of 200 kB: in several pieces of 4 MB
    run["problem"] = "x" * 100000
    run["recipe"] = "y" * 100000
records.write(HERE / "others.jsonl", others)
fare("runs", "import", HERE / "others.jsonl", "--ledger", HERE / "other.db")
p = push(others[3]["id"])
report("push: one run", p.returncode == 0 and p.stdout == "pushed 1 run\n", p.stdout + p.stderr)
p = push()
report("push: all of them, once", p.returncode == 0 and p.stdout == "pushed 29 runs; 1 was there already\n", p.stdout + p.stderr)
there = json.loads(s.ask("/runs.json?machine=another+box").text)["runs"]
report("push: they are there", {r["id"] for r in there} == {r["id"] for r in others}, len(there))
a = s.ask(f"/compare?run={others[3]['id']}&run={others[29]['id']}")
report("a comparison's page names no options", "its cost is unknown" in a.text and "--price" not in a.text, a.text[-2000:])
(HERE / "wrong").write_text("wrong-wrong-wrong-wrong\n")
(HERE / "wrong").chmod(0o600)
p = push(token=HERE / "wrong")
report("push: a wrong token", p.returncode == 1 and "401" in p.stderr and "wrong-wrong" not in p.stdout + p.stderr, p.stderr)
p = push(url=f"http://127.0.0.1:{s.port}/runs/last")
report("push: not a server's address", p.returncode == 1 and "405" in p.stderr, p.stderr)
p = push(url="http://127.0.0.1:1/")
report("push: nobody there", p.returncode == 1 and p.stderr.startswith("fare: cannot send to 'http://127.0.0.1:1/runs': "), p.stderr)
p = push(url="ftp://127.0.0.1/")
report("push: not http", p.returncode == 2, p.stderr)
p = fare("runs", "push", "http://127.0.0.1:1/")
report("push: without a token", p.returncode == 2 and "--token-file" in p.stderr, p.stderr)
p = push("none")
report("push: a run that is not there", p.returncode == 1 and "none" in p.stderr, p.stderr)
code, out, err = s.stop(signal.SIGINT)
report("SIGINT ends it well", code == 0, (code, err))
report("the token is in none of its words", TOKEN not in out + err)

# ---- elsewhere: the loopback rule

for listen in ("0.0.0.0:0", "[::]:0", "192.0.2.1:0"):
    p = fare("serve", "--listen", listen, "--ledger", LEDGER, timeout=20)
    report(f"{listen} needs a token or --public", p.returncode == 2 and "--token-file" in p.stderr and "--public" in p.stderr, p.stderr)
for listen in ("", "x", "127.0.0.1", "127.0.0.1:", "127.0.0.1:99999", "example.org:80", ":80", "::1:80", "[::1]", "127.0.0.1:8x"):
    p = fare("serve", "--listen", listen, timeout=20)
    report(f"'{listen}' is no address", p.returncode == 2 and "not an address" in p.stderr, p.stderr)
p = fare("serve", "--listen", "127.0.0.1:0", "--token-file", HERE / "short", timeout=20)
report("a short token is refused, and not shown", p.returncode == 2 and "secret" not in p.stderr, p.stderr)
p = fare("serve", "--token-file", HERE / "none", timeout=20)
report("a token that is not there", p.returncode == 1 and "none" in p.stderr, p.stderr)
s = Server("--token-file", HERE / "token", listen="0.0.0.0:0")
a = s.ask("/")
report("there reading needs the token", a.status == 401 and a.getheader("WWW-Authenticate") == 'Basic realm="fare"', a.status)
report("whatever the address", {s.ask(path).status for path in ("/metrics", "/none", "/runs.json", "/runs/last", "/prices")} == {401})
report("reading with it", s.ask("/", token=TOKEN).status == 200)
report("as a password too", s.ask("/", Authorization=basic).status == 200)
report("not with a wrong one", s.ask("/", token="wrong").status == 401 and s.ask("/", Authorization="Basic eDp5").status == 401)
s.stop()
s = Server("--public", listen="0.0.0.0:0")
report("--public: everyone reads", s.ask("/", Host="fare.example").status == 200)
report("--public: nobody writes", s.ask("/runs", "POST", body="", token=TOKEN).status == 403)
taken = fare("serve", "--listen", f"127.0.0.1:{s.port}", timeout=20)
report("a port that is taken", taken.returncode == 1 and "cannot listen" in taken.stderr, taken.stderr)
s.stop()
ready = subprocess.Popen([FARE, "serve", "--listen", "127.0.0.1:0", "--ledger", LEDGER, "--json"], stdout=subprocess.PIPE, text=True)
told = "".join(iter(ready.stdout.readline, "}\n")) + "}"
report("--json: one object with its address", re.fullmatch(r"http://127\.0\.0\.1:[1-9]\d*/", json.loads(told)["url"]), told)
ready.terminate()
ready.communicate(timeout=30)
dripper.join()
report("a client that sends a byte now and then has half a minute", 28 < drip_ended[0] < 40, drip_ended)
report("and does not stop others", drip.ask("/").status == 200)
drip.stop()
done()
