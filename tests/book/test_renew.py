#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Prices that renew themselves, against a server of this test that is slow, silent, wrong, huge, dead, lies about a length, or has
nothing newer; and the table of public catalogues.
"""
import csv
import http.server
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

sys.path.insert(0, os.environ["TESTS"])
from tap import done, report  # noqa: E402

FARE, ROOT = os.environ["FARE"], Path(os.environ["ROOT"])
SCRATCH = Path(os.environ.get("TMPDIR", "/tmp"))
HEAD = "InstanceType,AcceleratorName,AcceleratorCount,vCPUs,MemoryGiB,GpuInfo,Price,SpotPrice,Region\n"
LATE_S = 5  # the slow catalogue takes this long: longer than any command waits


class Server(http.server.BaseHTTPRequestHandler):
    price, version, asked = "1.0", '"1"', []

    def do_GET(self):
        self.asked.append((self.path, dict(self.headers)))
        what = self.path.split("/")[1]
        body = f"{HEAD}x1,H100,1,8,16,,{self.price},,r1\n".encode()
        if what == "silent":
            time.sleep(LATE_S)
            return
        if what == "gone":
            self.send_error(404)
            return
        if what == "broken":
            self.send_error(503)
            return
        if what == "good" and self.headers.get("If-None-Match") == self.version:
            self.send_response(304)
            self.end_headers()
            return
        if what == "dated" and self.headers.get("If-Modified-Since") == "Wed, 18 Nov 2026 06:00:00 GMT":
            self.send_response(304)
            self.end_headers()
            return
        if what == "wrong":
            body = b"<html>not a table</html>"
        self.send_response(200)
        if what == "good":
            self.send_header("ETag", self.version)
        if what == "dated":
            self.send_header("Last-Modified", "Wed, 18 Nov 2026 06:00:00 GMT")
        more = {"huge": 10 ** 9, "lies": 100}.get(what, 0)
        self.send_header("Content-Length", str(len(body) + more))
        self.end_headers()
        self.wfile.write(body[:len(HEAD)])
        self.wfile.flush()
        if what == "slow":
            time.sleep(LATE_S)
        self.wfile.write(body[len(HEAD):])

    def log_message(self, *args):
        pass


class Quiet(http.server.ThreadingHTTPServer):
    def handle_error(self, *args):  # a client that gives up is no news
        pass


SERVER = Quiet(("127.0.0.1", 0), Server)
threading.Thread(target=SERVER.serve_forever, daemon=True).start()
BASE = f"http://127.0.0.1:{SERVER.server_port}"


class User:
    """With files of their own, and a list of sources on the server."""

    def __init__(self, *sources, config=None):
        self.home = Path(tempfile.mkdtemp(dir=SCRATCH))
        (self.home / "config/fare").mkdir(parents=True)
        (self.home / "config/fare/price-sources").write_text("".join(f"{s if '://' in s else BASE + s}\n" for s in sources))
        if config is not None:
            (self.home / "config/fare/config").write_text(config)
        Server.asked.clear()

    def fare(self, *args, now="2026-11-18T10:00:00Z", **more):
        env = {k: v for k, v in os.environ.items() if k not in ("FARE_OFFLINE", "CI", "FARE_BOOK", "FARE_HOME")}
        env.update(XDG_DATA_HOME=str(self.home / "data"), XDG_CONFIG_HOME=str(self.home / "config"), no_proxy="127.0.0.1",
                   FARE_TEST_NOW=now, **more)
        begun = time.monotonic()
        self.p = subprocess.run([FARE, *args], env=env, capture_output=True, text=True, timeout=120)
        self.wall_s = time.monotonic() - begun
        return self.p

    def price(self, **more):
        """Of the catalogue's machine; null: the book has none."""
        p = self.fare("prices", "show", "jarvislabs/x1", "--json", FARE_OFFLINE="1", **more)
        return json.loads(p.stdout)["price"] if p.returncode == 0 else None

    def wait(self, what, most_s=20):
        until = time.monotonic() + most_s
        while time.monotonic() < until:
            if what():
                return True
            time.sleep(0.1)
        return False

    def says(self):
        return f"{self.wall_s:.2f} s\n{self.p.stdout[-600:]}\n{self.p.stderr}\n{Server.asked}"


def fetching(user):
    lines = [line for line in user.p.stderr.splitlines() if "fetching current prices" in line]
    return len(lines) == 1


def daily():
    user = User("/good/jarvislabs/vms.csv")
    p = user.fare("prices", "h100")
    report("prices are fetched before they are shown, and one line says so",
           p.returncode == 0 and "jarvislabs/h100" in p.stdout and fetching(user) and len(p.stderr.splitlines()) == 1, user.says())
    headers = Server.asked[0][1]
    report("a request says nothing about the user", set(headers) == {"Host", "User-Agent", "Accept"}
           and headers["User-Agent"].startswith("fare/"), headers)
    Server.asked.clear()
    user.fare("prices", "h100", now="2026-11-19T09:00:00Z")
    report("not again within a day", not Server.asked and user.p.stderr == "", user.says())
    user.fare("prices", "h100", now="2026-11-19T11:00:00Z")
    report("then the server is asked for a newer version, and nothing is sent twice",
           [h.get("If-None-Match") for _, h in Server.asked] == ['"1"'] and user.p.stderr == "", user.says())
    Server.asked.clear()
    user.fare("prices", "h100", now="2026-11-25T12:00:00Z")
    seen = json.loads(user.fare("prices", "show", "jarvislabs/x1", "--json", FARE_OFFLINE="1", now="2026-11-25T12:00:00Z").stdout)["seen"]
    report("after a week an unchanged catalogue is fetched again, so that its prices count as seen",
           "If-None-Match" not in Server.asked[0][1] and seen == "2026-11-25", user.says())
    (user.home / "data/fare/book").unlink()
    Server.asked.clear()
    user.fare("prices", "h100", now="2026-11-27T12:00:00Z")
    report("a book that was removed is fetched whole", "If-None-Match" not in Server.asked[0][1] and user.price(now="2026-11-27T12:00:00Z") is not None, user.says())


def dated():
    user = User("/dated/jarvislabs/vms.csv")
    user.fare("prices", "h100")
    user.fare("prices", "update")
    report("a server without ETag is asked by date; update says what is unchanged",
           Server.asked[-1][1].get("If-Modified-Since") == "Wed, 18 Nov 2026 06:00:00 GMT" and user.p.returncode == 0
           and "unchanged" in user.p.stdout, user.says())


def others():
    for name, args in (("quote", ("quote", "--time", "1h", "--gpu", "h100")),
                       ("bare fare", ("--time-limit", "1s", "--no-report", "--no-ledger", "--no-cloud"))):
        user = User("/good/jarvislabs/vms.csv")
        if name == "bare fare" and "--time-limit" not in user.fare("--help").stdout:
            args = ("--no-report", "--no-ledger", "--no-cloud")
        user.fare(*args)
        report(f"{name} renews too", fetching(user) and user.price() is not None, user.says())
    for name, args in (("run", ("run", "--no-cloud", "--", "true")), ("a book of one's own", ("prices", "--book", "none")),
                       ("prices of a day", ("prices", "--date", "2026-01-01")), ("cron", ("cron", "--help")),
                       ("compare", ("compare",)), ("check", ("check", "--no-cloud"))):
        user = User("/good/jarvislabs/vms.csv")
        user.fare(*args)
        report(f"{name} does not", not Server.asked, user.says())


def off():
    for name, more, config in (("FARE_OFFLINE=1", {"FARE_OFFLINE": "1"}, None), ("CI", {"CI": "true"}, None),
                               ("prices.update = never", {}, "# mine\nprices.update = never\n"), ("no book", {"FARE_BOOK": "-"}, None)):
        user = User("/good/jarvislabs/vms.csv", config=config)
        user.fare("prices", "h100", **more)
        report(f"{name} turns it off", not Server.asked and user.p.returncode == 0 and user.p.stderr == "", user.says())
    user = User("/good/jarvislabs/vms.csv", config="prices.update = daily # as without\n")
    user.fare("prices", "h100")
    report("prices.update = daily leaves it on", len(Server.asked) == 1, user.says())
    for text in ("prices.update = sometimes", "price.update = never", "prices.update never", "= never"):
        user = User("/good/jarvislabs/vms.csv", config=f"\n# mine\n{text}\n")
        user.fare("prices", "h100")
        report(f"'{text}' is an error that names the line", user.p.returncode == 2 and "line 3" in user.p.stderr and not Server.asked,
               user.says())


def slow():
    user = User("/slow/jarvislabs/vms.csv")
    user.fare("prices", "h100")
    report("no command waits over three seconds", user.p.returncode == 0 and 2.5 < user.wall_s < 4.5 and fetching(user)
           and "jarvislabs/h100" not in user.p.stdout, user.says())
    user.fare("prices", "h100")
    report("while it is on its way, nobody asks again", len(Server.asked) == 1 and user.p.stderr == "", user.says())
    report("what arrives later serves the next command", user.wait(lambda: user.price() is not None), user.says())
    user = User("/silent/jarvislabs/vms.csv")
    user.fare("prices", "h100")
    report("a silent server costs half a second, and nothing is said", user.p.stderr == "" and user.wall_s < 2, user.says())


def failing():
    for name, source in (("no network", "http://127.0.0.1:1/jarvislabs/vms.csv"), ("an error of the server", "/broken/jarvislabs/vms.csv")):
        user = User(source)
        user.fare("prices", "h100")
        first = len(Server.asked)
        report(f"{name}: nothing is said", user.p.returncode == 0 and user.p.stderr == "" and user.wall_s < 2, user.says())
        user.fare("prices", "h100", now="2026-11-18T10:30:00Z")
        again = len(Server.asked)
        user.fare("prices", "h100", now="2026-11-18T11:30:00Z")
        report(f"{name}: tried again after an hour", first == again and (source[0] == "h" or len(Server.asked) == first + 1), user.says())
    for name in ("gone", "wrong", "huge", "lies"):
        user = User(f"/{name}/bad/vms.csv", "/good/jarvislabs/vms.csv")
        user.fare("prices", "h100")
        report(f"a source that is {name} takes nothing from the others", user.p.returncode == 0 and "jarvislabs/h100" in user.p.stdout
               and "bad/" not in user.p.stdout, user.says())
        user.fare("prices", "update", f"{BASE}/{name}/bad/vms.csv")
        report(f"update says that it is {name}", user.p.returncode == 1 and "1 of 1 source failed" in user.p.stderr, user.says())


def leaps():
    user = User("/plain/jarvislabs/vms.csv")
    expected = {"2026-11-10": ("2.0", False), "2026-11-11": ("11", True), "2026-11-17": ("11", False), "2026-11-18": ("2.1", True),
                "2026-11-19": ("2.2", False)}
    for day, (price, doubtful) in expected.items():
        Server.price = price
        user.fare("prices", "update", now=f"{day}T10:00:00Z")
        p = user.fare("prices", "h100", "--provider", "jarvislabs", "--json", FARE_OFFLINE="1", now=f"{day}T10:00:00Z")
        offers = json.loads(p.stdout)["offers"]
        got = [("only once" in (o.get("price_doubt") or "")) for o in offers]
        report(f"{day}, {price} an hour: {'doubtful' if doubtful else 'as good as any'}", got == [doubtful], p.stdout[-800:])
    Server.price = "1.0"


def table():
    with open(ROOT / "share/price-sources.csv", newline="") as f:
        rows = list(csv.DictReader(f))
    sources = {r["provider"]: r for r in rows}
    providers = set()
    for file in sorted((ROOT / "share/offers").glob("*.csv")):
        with open(file, newline="") as f:
            providers |= {r["provider"] for r in csv.DictReader(f)}
    report("every provider of the book has its row, once", providers <= set(sources) and len(rows) == len(sources),
           providers - set(sources))
    report("a catalogue or a reason, with its source and date", all(bool(r["url"]) != bool(r["none"]) and r["source"] and r["date"]
                                                                    for r in rows), rows)
    user = User()
    (user.home / "config/fare/price-sources").unlink()
    share = user.home / "share"
    share.mkdir()
    for entry in (ROOT / "share").iterdir():
        if entry.name != "price-sources.csv":
            (share / entry.name).symlink_to(entry)
    with open(share / "price-sources.csv", "w") as f:
        f.write("provider,url,kept,known,known_date,none,source,date\n"
                f"jarvislabs,{BASE}/good/jarvislabs/vms.csv,by hand,{known()},2026-02-03,,here,2026-11-18\n"
                "nimbix,,,,,it has none,here,2026-11-18\n")
    user.fare("prices", "update", "--json", FARE_SHARE=str(share))
    got = json.loads(user.p.stdout)
    report("a file that the table knows has the table's date; who has no catalogue is named",
           [f["date"] for f in got["files"]] == ["2026-02-03"] and got["without"] == ["nimbix: it has none"], user.says())
    user.fare("prices", "update", "--json", FARE_SHARE=str(share), now="2027-06-01T10:00:00Z")
    got = json.loads(user.p.stdout)
    report("a catalogue kept by hand is never taken for new", [f.get("unchanged") for f in got["files"]] == [True], user.says())


def known():
    import hashlib
    return hashlib.sha256(f"{HEAD}x1,H100,1,8,16,,{Server.price},,r1\n".encode()).hexdigest()


daily()
dated()
others()
off()
slow()
failing()
leaps()
table()
SERVER.shutdown()
done()
