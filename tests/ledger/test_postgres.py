#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The ledger on a real PostgreSQL, started here: the same lists as on SQLite, 32 writers at once, a server
that is stopped in mid-run or stalls at any byte of its answers, and a password that is never shown."""
import glob
import http.client
import json
import os
import pwd
import re
import shutil
import signal
import socket
import subprocess
import sys
import tarfile
import tempfile
import threading
import time
from pathlib import Path

sys.path.insert(0, os.path.join(os.environ["ROOT"], "tests"))
sys.path.insert(0, os.path.join(os.environ["ROOT"], "tests/advise/spend"))
import second as spending  # noqa: E402
from tap import done, report, skip  # noqa: E402

FARE, BUILD = os.environ["FARE"], Path(os.environ["BUILD"])
ROOT = Path(os.environ["ROOT"])
RECORD = str(BUILD / "tests/ledger/record_run")
BIN = (sorted(glob.glob("/usr/lib/postgresql/*/bin")) or [""])[-1]


if not BIN:
    skip("PostgreSQL", "no server is installed")
    done()

# The server refuses to be root: it runs as whoever we are, or as one of the usual nobodies.
user = []
owner = os.geteuid()
if owner == 0:
    name = next(n for n in ("postgres", "nobody") if n in {p.pw_name for p in pwd.getpwall()})
    owner = pwd.getpwnam(name).pw_uid
    user = ["runuser", "-u", name, "--"]
FOLDER = Path(tempfile.mkdtemp(prefix="fare-pg-", dir="/tmp"))
os.chown(FOLDER, owner, -1)
os.chmod(FOLDER, 0o755)
PASSWORD = "geheim@7:wort"
URL_PASSWORD = "geheim%407%3Awort"
with socket.socket() as s:
    s.bind(("127.0.0.1", 0))
    PORT = s.getsockname()[1]
URL = f"postgresql://fare:{URL_PASSWORD}@127.0.0.1:{PORT}/postgres"
SCRATCH = Path(os.environ.get("TMPDIR", "/tmp"))


def as_owner(*command, **more):
    return subprocess.run([*user, *map(str, command)], cwd=FOLDER, capture_output=True, text=True,
                          timeout=120, **more)


def server(verb, *more):
    return as_owner(f"{BIN}/pg_ctl", "-D", FOLDER / "db", "-l", FOLDER / "log", "-w", verb, *more)


def start():
    return server("start", "-o", f"-c listen_addresses=127.0.0.1 -c port={PORT} -c max_connections=64 "
                  f"-c unix_socket_directories={FOLDER} -c autovacuum=off")


def home():
    return Path(tempfile.mkdtemp(dir=SCRATCH))


def env_of(where, **more):
    return {**os.environ, "XDG_DATA_HOME": str(where), "TMPDIR": str(where), "FARE_METADATA": "off", **more}


def fare(where, *args, url=URL, **more):
    return subprocess.run([FARE, "runs", *map(str, args), "--ledger", url], env=env_of(where, **more),
                          capture_output=True, text=True, timeout=300)


def safe(text):
    return [line.split()[1] for line in text.splitlines() if line.startswith("safe ")]


def there(where, url=URL):
    p = fare(where, "export", url=url)
    return {json.loads(line)["id"] for line in p.stdout.splitlines()} if p.returncode == 0 else None


class Stalling:
    """A way to the server that hands on so many bytes of its answers to each connection, then none; with `deaf`, so many of the
    client's, with small buffers."""

    def __init__(self, answers, deaf=None):
        self.left = {"down": answers, "up": deaf}
        self.listener = socket.socket()
        self.listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        self.listener.bind(("127.0.0.1", 0))
        self.listener.listen(64)
        self.kept = []
        self.url = URL.replace(f":{PORT}/postgres", f":{self.listener.getsockname()[1]}/stalls")
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            client = self.listener.accept()[0]
            behind = socket.create_connection(("127.0.0.1", PORT))
            self.kept += client, behind
            for way, a, b in (("up", client, behind), ("down", behind, client)):
                threading.Thread(target=self.hand_on, args=(a, b, self.left[way]), daemon=True).start()

    @staticmethod
    def hand_on(a, b, left):
        try:
            while left is None or left > 0:
                data = a.recv(65536 if left is None else min(left, 65536))
                if not data:
                    break
                b.sendall(data)
                left = left and left - len(data)
            else:
                return  # silent, and open
            b.shutdown(socket.SHUT_WR)
        except OSError:
            pass


def timed(*command, where):
    """Starts it; the function returned waits for its end and gives exit code, seconds, stdout, stderr, its home."""
    got, began = [], time.monotonic()

    def run():
        p = subprocess.run([FARE, *map(str, command)], env=env_of(where), capture_output=True, text=True, timeout=300)
        got.extend((p.returncode, time.monotonic() - began, p.stdout, p.stderr, where))
    thread = threading.Thread(target=run)
    thread.start()

    def wait():
        thread.join()
        return got
    return wait


def begin_stalls():
    """Commands on servers that stall. They wait beside the other tests, in a database of their own: some leave transactions open."""
    as_owner(f"{BIN}/psql", "-h", FOLDER, "-p", PORT, "-U", "fare", "postgres", "-c", "CREATE DATABASE stalls",
             env={**os.environ, "PGPASSWORD": PASSWORD})
    fare(home(), url=URL.replace("/postgres", "/stalls"))
    # The start-up is over after some 600 bytes, a record is in after some 1,000. The long one has 680,000 bytes: of these, it reads 20,000.
    ways = {f"after {n} bytes": Stalling(n) for n in (0, 1, 400, 560, 700, 750, 800)} | {"when it reads": Stalling(None, 20000)}
    long = [sys.executable, "-c", "import os\nfor i in range(9000): os.write(f := i and f or os.open(os.environ['FARE_EVENTS'], 1025), "
            "b'{\"epoch\": %d, \"epochs\": 9000, \"loss\": 1.2345678901234, \"accuracy\": 0.912345678}\\n' % (i + 1))"]
    runs = {name: timed("run", "--ledger", way.url, "--", *(long if "reads" in name else ["true"]), where=home())
            for name, way in ways.items()}
    plain = timed("run", "--no-ledger", "--", *long, where=home())
    sample = ["--", "sh", "-c", "for i in 1 2 3 4 5 6 7 8; do echo step $i/8 loss 0.5; sleep 0.2; done"]
    bare = [timed(*words, *sample, where=home()) for words in (["--ledger", ways["after 0 bytes"].url], ["--no-ledger"])]
    reads = {f"fare {verb} {name}": timed(verb, *more, "--ledger", way.url, where=home())
             for name, way in ways.items() if name in ("after 0 bytes", "after 700 bytes")
             for verb, *more in (["runs"], ["quote", "last"])}
    return ways, runs, plain, bare, reads


def check_stalls(ways, runs, plain, bare, reads):
    (code, seconds, _, said, where), (_, usual, *_) = (wait() for wait in bare)
    report("stalled: fare -- CMD is quoted and has its report", code == 0 and seconds < usual + 3 and "on demand" in said and "does not answer" in said
           and (where / "fare/report.html").exists(), f"{seconds} {usual} {code} {said}")
    usual = plain()[1]
    for name, wait in runs.items():
        code, seconds, _, said, where = wait()
        # Two seconds in all, and one for a machine that does other things too.
        report(f"stalled {name}: a command is delayed by two seconds at most", code == 0 and seconds < usual + 3, f"{seconds} {usual} {said}")
        kept = list(where.glob("fare/spool/**/*.json"))
        report(f"stalled {name}: its record waits on disk, and that is said", len(kept) == 1 and "does not answer" in said
               and URL_PASSWORD not in said, (kept, said))
    for name, wait in reads.items():
        code, seconds, _, said, _ = wait()
        report(f"stalled: {name} ends within 25 s and says why", code == 1 and seconds < 25 and f"127.0.0.1:{way_port(ways, name)}" in said
               and re.search("does not answer|timeout expired", said), f"{seconds} {said}")


def way_port(ways, name):
    return next(w for n, w in ways.items() if name.endswith(n)).listener.getsockname()[1]


def tests():
    where = home()
    p = fare(where)
    stalls = begin_stalls()
    report("an empty ledger, named without its password", p.returncode == 0 and "No runs" in p.stdout
           and f"postgresql://fare@127.0.0.1:{PORT}/postgres" in p.stdout, p.stdout + p.stderr)

    # The same records in both databases give the same lists, whatever the filter and order.
    files = sorted(map(str, (ROOT / "share/published").glob("*.jsonl")))
    many = where / "many.jsonl"
    many.write_text("".join(json.dumps({
        "id": f"r{i:04}", "started": f"2026-01-{i % 28 + 1:02}T00:00:00Z", "name": ["b", "B", "a_c", "ä"][i % 4],
        "workload": ["mlp", "cnn"][i % 2], "step_ms": (i * 37 % 100) / 8, "ended": "sampled",
        "machine": {"gpu": ["NVIDIA H100", "50%_off!"][i % 2]}, "future": {"x": [1, None]},
        "user": ["ann", "sha256:49915e0d7d4b402e", "ben"][i % 3], "host": ["node-1", "b"][i % 2],  # "ann", hashed
        "labels": [{"key": "n", "value": str(i % 3)}]}) + "\n" for i in range(200)))
    lite = str(where / "lite.db")
    count = 200 + sum(len(Path(f).read_text().splitlines()) for f in files)
    for url in (URL, lite):
        p = fare(where, "import", *files, many, url=url)
        again = fare(where, "import", *files, many, url=url)
        report(f"an import of published and made records into {url.split(':')[0][-10:]}, twice",
               p.returncode == 0 and f"added {count} runs" in p.stdout and f"added 0 runs; {count}" in again.stdout,
               p.stdout + p.stderr + again.stderr)
    queries = [[], ["--all"], ["--workload", "cnn", "--all"], ["--gpu", "h100", "-n", "7"],
               ["--gpu", "50%_OFF!", "--all"], ["--label", "n=2", "--sort", "step", "--all"],
               ["--sort", "name", "--all"], ["--sort", "wall", "--all"], ["--since", "2026-01-20", "--all"],
               ["--name", "ä", "--all"], ["--machine", "n1-highcpu", "--all"], ["--ended", "failed"],
               ["--label", "n=1", "--label", "n=2"], ["--framework", "cntk", "--sort", "wall"],
               ["--user", "ann", "--host", "node-1", "--all"], ["--host", "b", "--sort", "step", "-n", "9"]]
    for query in queries:
        a, b = fare(where, *query, "--json"), fare(where, *query, "--json", url=lite)
        report(f"the same on both: {' '.join(query)}", a.returncode == 0 and a.stdout == b.stdout,
               a.stderr + b.stderr)
    for word in ("r0007", "r000", "last", "B", "published-2015-l1-k"):
        a, b = fare(where, word, "--json"), fare(where, word, "--json", url=lite)
        report(f"the same run on both: {word}", (a.returncode, a.stdout) == (b.returncode, b.stdout)
               and (word == "r000") == (a.returncode == 2), a.stderr + b.stderr)
    report("a key of a newer fare is kept", '"future"' in fare(where, "r0007", "--json").stdout)
    p = fare(where, "delete", "r0007")
    report("a run is deleted", p.returncode == 0 and fare(where, "r0007").returncode == 1, p.stderr)

    # ---- who spent what: sums as a second implementation has them, invoices and budgets as on SQLite
    team, invoice = where / "team.jsonl", where / "invoice.csv"
    records = spending.made(300)
    team.write_text(spending.lines(records))
    invoice.write_text("BilledCost,EffectiveCost,BillingCurrency,ChargePeriodStart,ChargePeriodEnd,ChargeCategory,ResourceId\n"
                       "3000000000.5,,USD,2026-08-01T00:00:00Z,2026-11-01T00:00:00Z,Usage,node-1\n"
                       "-1e-9,3000000000,USD,2026-08-01T00:00:00Z,2026-11-01T00:00:00Z,Credit,\xe4\n")
    teams = URL.rsplit("/", 1)[0] + "/team"
    as_owner(f"{BIN}/psql", "-h", FOLDER, "-p", PORT, "-U", "fare", "postgres", "-c", "CREATE DATABASE team",
             env={**os.environ, "PGPASSWORD": PASSWORD})
    both = teams, str(where / "team.db")
    for url in both:
        fare(where, "import", team, url=url)
    exported = [json.loads(line) for line in fare(where, "export", url=teams).stdout.splitlines()]
    for by in (["project"], ["user", "month"], ["host", "offer"]):
        p = fare(where, "--by", ",".join(by), "--json", url=teams)
        bad = spending.differs(json.loads(p.stdout), spending.sums(exported, by), by) if p.returncode == 0 else [p.stderr]
        report(f"sums by {' and '.join(by)} on PostgreSQL", not bad and len(exported) == len(records), "\n".join(bad))
    for url in both:
        fare(where, "import", invoice, url=url)
        fare(where, "--budget", "project=5/month", "--budget", "user:ann=7/total", url=url)
    answers = [[fare(where, *args, url=url).stdout for url in both] for args in (
        ["import", str(invoice)], ["--by", "host", "--json"], ["--by", "project,user", "--format", "csv", "--user", "ann", "-n", "50"],
        ["--by", "month", "--label", "team=a", "--since", "2026-09-01", "--json"], ["delete", "--invoice", "invoice.csv"],
        ["--budget", "project=none"])]
    report("invoices and budgets as on SQLite", all(a == b and a for a, b in answers) and "2 were there" in answers[0][0]
           and "3000000000.50" in answers[1][0], "\n".join(f"{a[-300:]}\n--- {b[-300:]}" for a, b in answers if a != b))

    # ---- quotes, also after an older ledger was brought forward
    priced = where / "priced.jsonl"
    priced.write_text(json.dumps({
        "id": "q0001", "started": "2026-02-01T00:00:00Z", "name": "q", "workload": "own", "ended": "sampled",
        "machine": {"gpu": "NVIDIA H100 80GB HBM3", "gpus": 1}, "use": {"gpus": 1},
        "projection": {"wall_s": 3600, "low_s": 3500, "high_s": 3700}}) + "\n")
    for url in (URL, lite):
        fare(where, "import", priced, url=url)
        for back in (False, True):
            if back and url == URL:
                as_owner(f"{BIN}/psql", "-h", FOLDER, "-p", PORT, "-U", "fare", "postgres", "-c",
                         "DROP TABLE fare_quote, fare_head, fare_spend, fare_budget, fare_charge; UPDATE fare_schema SET version = 2",
                         env={**os.environ, "PGPASSWORD": PASSWORD})
            for _ in range(2):
                p = subprocess.run([FARE, "quote", "q0001", "--ledger", url], env=env_of(where), capture_output=True,
                                   text=True, timeout=60)
            q = subprocess.run([FARE, "quote", "q0001", "--pinned", "--json", "--ledger", url], env=env_of(where),
                               capture_output=True, text=True, timeout=60)
            report(f"a quote is kept in {url.split(':')[0][-10:]}{', brought forward' if back else ''}",
                   p.returncode == 0 and q.returncode == 0 and len(json.loads(q.stdout)["quotes"]) == 1,
                   p.stderr + q.stdout + q.stderr)

    # ---- long records (600 step times, 3,000 characters) are read by their heads, which have a few of them; also by those made when
    # an older ledger was brought forward
    plots = where / "plots.jsonl"
    plots.write_text("".join(json.dumps({
        "id": f"h{i:04}", "started": "2026-03-01T00:00:00Z", "workload": "plots", "framework": f"f{i % 3}",
        "ended": "finished", "full": True, "step_plot_ms": [1.5] * 600, "phases": {"wall_ns": (i + 1) * 10**9},
        "machine": {"name": f"m{i % 5}"}}) + "\n" for i in range(250)))
    tables = []
    for url in (URL, lite):
        fare(where, "import", plots, url=url)
        for back in (False, True) if url == URL else (False,):
            if back:
                as_owner(f"{BIN}/psql", "-h", FOLDER, "-p", PORT, "-U", "fare", "postgres", "-c",
                         "DROP TABLE fare_head, fare_spend, fare_budget, fare_charge; UPDATE fare_schema SET version = 3",
                         env={**os.environ, "PGPASSWORD": PASSWORD})
            p = subprocess.run([FARE, "compare", "--workload", "plots", "--json", "--ledger", url], env=env_of(where),
                               capture_output=True, text=True, timeout=60)
            tables.append(p.stdout + p.stderr)
            q = as_owner(f"{BIN}/psql", "-h", FOLDER, "-p", PORT, "-U", "fare", "postgres", "-Atc",
                         "SELECT count(*) FROM fare_head WHERE run LIKE 'h0%' AND length(head) < 1000",
                         env={**os.environ, "PGPASSWORD": PASSWORD})
            report(f"250 long records compared in {url.split(':')[0][-10:]}{', brought forward' if back else ''}",
                   p.returncode == 0 and json.loads(p.stdout)["runs"] == 250 and (url != URL or "250" in str(q.stdout)),
                   p.stderr + str(q.stdout))
    report("the same comparison from both", len(set(tables)) == 1, "\n---\n".join(tables)[-2000:])

    # ---- many at once
    where = home()
    ps = [subprocess.Popen([RECORD, "10", f"p{i}", URL], env=env_of(where), stdout=subprocess.PIPE,
                           stderr=subprocess.PIPE, text=True) for i in range(32)]
    outs = [p.communicate(timeout=300) for p in ps]
    promised = {i for out, _ in outs for i in safe(out)}
    report("32 processes record 320 runs at once, none lost", len(promised) == 320 and promised <= there(where),
           "\n".join(e for _, e in outs)[-600:])

    # ---- into a database where nobody has made the tables yet
    as_owner(f"{BIN}/psql", "-h", FOLDER, "-p", PORT, "-U", "fare", "postgres", "-c", "CREATE DATABASE second",
             env={**os.environ, "PGPASSWORD": PASSWORD})
    second = URL.replace("/postgres", "/second")
    ps = [subprocess.Popen([RECORD, "1", f"p{i}", second], env=env_of(where), stdout=subprocess.PIPE,
                           stderr=subprocess.PIPE, text=True) for i in range(32)]
    outs = [p.communicate(timeout=300) for p in ps]
    promised = {i for out, _ in outs for i in safe(out)}
    report("and at once into one without tables", len(promised) == 32 and promised == there(where, second)
           and not any(e for _, e in outs), "\n".join(e for _, e in outs)[-600:])

    # ---- stopped in mid-run
    where = home()
    p = subprocess.Popen([RECORD, "3", "stop", URL], env=env_of(where, RECORD_RUN_WAIT="1"),
                         stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    p.stdin.write("\n")
    p.stdin.flush()
    first = p.stdout.readline()
    server("stop", "-m", "immediate")
    rest, said = p.communicate("\n\n", timeout=120)
    promised = safe(first + rest)
    waiting = list(where.glob("fare/spool/**/*.json"))
    report("stopped in mid-run: the runs wait on local disk, and that is said", len(promised) == 3
           and len(waiting) == 2 and "wait" in said, f"{first} {rest} {said} {waiting}")
    p = fare(where)
    report("a list while it is down says what waits", p.returncode == 1 and "2 runs" in p.stderr
           and "wait" in p.stderr and PASSWORD not in p.stderr and URL_PASSWORD not in p.stderr, p.stderr)
    p = subprocess.run([RECORD, "1", "down", URL], env=env_of(where), capture_output=True, text=True)
    promised += safe(p.stdout)
    report("a run while it is down is safe too", len(promised) == 4, p.stdout + p.stderr)
    # Another ledger's start must not take what was meant for this one.
    own = str(where / "own.db")
    p = subprocess.run([RECORD, "1", "own", own], env=env_of(where), capture_output=True, text=True)
    mine = there(where, own)
    report("what waits for one ledger does not go to another", len(mine or ()) == 1 and mine == set(safe(p.stdout)), (mine, p.stdout, p.stderr))
    start()
    got = there(where)
    report("started again: all are delivered", set(promised) <= (got or set())
           and not list(where.glob("fare/spool/**/*.json")), got)

    # ---- SIGKILL at random moments
    where, promised = home(), []
    for i in range(15):
        p = subprocess.Popen([RECORD, "1000000", "kill", URL], env=env_of(where), stdout=subprocess.PIPE,
                             stderr=subprocess.DEVNULL, text=True)
        first = p.stdout.readline() if i % 2 else ""  # on a slow machine a start alone may take longer than the sleep
        time.sleep(0.03 + 0.017 * i)
        p.send_signal(signal.SIGKILL)
        promised += safe(first + p.communicate()[0])
    got = there(where)
    report("killed 15 times, nothing that was safe is lost", len(promised) > 15 and set(promised) <= (got or set()),
           f"{len(promised)} promised")

    # ---- a server that stalls: fare serve goes on with what needs no ledger, and ends when asked to
    web = subprocess.Popen([FARE, "serve", "--listen", "127.0.0.1:0", "--ledger", URL], env=env_of(home()), stdout=subprocess.PIPE,
                           stderr=subprocess.PIPE, text=True)
    found = re.search(r":(\d+)/", web.stdout.readline())
    if not found:
        skip("fare serve on PostgreSQL", web.communicate()[1].strip())
    else:
        def ask(path, wait):
            began = time.monotonic()
            connection = http.client.HTTPConnection("127.0.0.1", int(found.group(1)), timeout=wait)
            try:
                connection.request("GET", path)
                return connection.getresponse().status, time.monotonic() - began
            except OSError:
                return 0, time.monotonic() - began
            finally:
                connection.close()
        report("fare serve on PostgreSQL", ask("/", 30)[0] == 200)
        master = int((FOLDER / "db/postmaster.pid").read_text().split()[0])
        family = [master, *map(int, Path(f"/proc/{master}/task/{master}/children").read_text().split())]
        for pid in family:
            os.kill(pid, signal.SIGSTOP)
        late = timed("run", "--ledger", URL, "--", "true", where=home())
        stuck = [threading.Thread(target=ask, args=(f"/?page={i + 1}", 20)) for i in range(40)]
        for t in stuck:
            t.start()
        time.sleep(0.5)
        status, seconds = ask("/prices?gpu=h100", 20)
        report("stalled: 40 lists wait, and the prices do not", status == 200 and seconds < 5, (status, seconds))
        began = time.monotonic()
        web.terminate()
        web.communicate(timeout=60)
        report("stalled: SIGTERM ends it within 2 s", web.returncode == 0 and time.monotonic() - began < 2, time.monotonic() - began)
        late_result = late()
        for pid in family:
            os.kill(pid, signal.SIGCONT)
        for t in stuck:
            t.join()
        code, seconds, _, said, kept_in = late_result
        report("stalled: a command is delayed by two seconds at most", code == 0 and seconds < 4 and "does not answer" in said, f"{seconds} {said}")
        ids = {p.stem for p in kept_in.glob("fare/spool/**/*.json")}
        report("and its record is delivered when the server goes on", len(ids) == 1 and ids <= (there(kept_in) or set())
               and not list(kept_in.glob("fare/spool/**/*.json")), ids)

    check_stalls(*stalls)

    # ---- a table that is a view without end, as whoever owns the database may make one
    endless = URL.rsplit("/", 1)[0] + "/endless"

    def sql(database, *statements, **more):
        return as_owner(f"{BIN}/psql", "-h", FOLDER, "-p", PORT, "-U", "fare", database, *(w for s in statements for w in ("-c", s)),
                        env={**os.environ, "PGPASSWORD": PASSWORD}, **more)
    sql("postgres", "CREATE DATABASE endless")
    fare(where, "import", team, url=endless)
    sql("endless", "ALTER TABLE fare_spend RENAME TO kept_spend", "CREATE TABLE wide AS SELECT * FROM kept_spend LIMIT 1",
        "UPDATE wide SET who = repeat('u', 5000000)")
    for kept, words in (("kept_spend", "sends over 250000 rows"), ("wide", "sends over 4 GB")):
        if kept == "wide" and not os.environ.get("FARE_TEST_WHOLE"):
            continue  # it takes half a minute
        made = sql("endless", f"CREATE VIEW fare_spend AS WITH RECURSIVE n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n) SELECT {kept}.* FROM n, {kept}")
        p = subprocess.Popen([FARE, "runs", "--by", "project", "--ledger", endless], env=env_of(where), stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, text=True)
        try:
            said = p.communicate(timeout=60)[1]
        except subprocess.TimeoutExpired:
            p.kill()
            said = "it was read without end" + p.communicate()[1]
        report(f"a view without end {words}: an error in time", p.returncode == 1 and words in said and "select fewer" in said, made.stderr + said)
        sql("endless", "DROP VIEW fare_spend")

    # ---- a ledger of the build before (tests/kept/make_36.py): its dump, opened by this one
    with tarfile.open(ROOT / "tests/kept/before-36.tar.xz") as archive:
        archive.extractall(where / "kept")
    made = sql("postgres", "CREATE DATABASE kept")
    filled = sql("kept", input=(where / "kept/postgres.sql").read_text())
    kept = URL.replace("/postgres", "/kept")
    want = {json.loads(line)["id"] for line in (where / "kept/said/export.jsonl").read_text().splitlines()}
    report("all runs of a ledger of the build before are there", there(where, url=kept) == want and len(want) > 20, made.stderr + filled.stderr)
    p = subprocess.run([FARE, "quote", "00091a", "--pinned", "--json", "--ledger", kept], env=env_of(where), capture_output=True, text=True)
    report("and its pinned quote", p.stdout == (where / "kept/said/postgres-pinned.json").read_text() and '"bills"' in p.stdout, p.stdout + p.stderr)

    # ---- what is never shown
    wrong = URL.replace(URL_PASSWORD, "falsch%407wort")
    texts = [fare(where, url=wrong), fare(where, url=URL.replace("/postgres", "/no_such_database")),
             fare(where, url=URL + "?nonsense=1"), fare(where, url=URL.replace(f":{PORT}", ":x")),
             fare(where, url=f"postgresql://fare@127.0.0.1:{PORT}/postgres?password={URL_PASSWORD}x"),
             fare(where, url=f"postgresql://fare:{PASSWORD}@127.0.0.1:1/postgres"),
             fare(where, url=URL.replace(str(PORT), "1")), fare(where, url="mysql://u:" + PASSWORD + "@h/d")]
    for p in texts:
        report("fails, and no password is shown: " + p.stderr.split("\n")[0][:60].replace(FARE, ""),
               p.returncode in (1, 2) and p.stderr and not any(
                   word in p.stdout + p.stderr for word in (PASSWORD, URL_PASSWORD, "geheim", "falsch", "7:wort",
                                                            "7wort")), p.stderr)
    db = as_owner(f"{BIN}/psql", "-h", FOLDER, "-p", PORT, "-U", "fare", "postgres", "-c",
                  "UPDATE fare_schema SET version = 99", env={**os.environ, "PGPASSWORD": PASSWORD})
    p = fare(where)
    report("a newer schema is refused", p.returncode == 1 and "schema 99" in p.stderr, db.stderr + p.stderr)


try:
    (FOLDER / "pw").write_text(PASSWORD)
    os.chown(FOLDER / "pw", owner, -1)
    made = as_owner(f"{BIN}/initdb", "-D", FOLDER / "db", "-U", "fare", "--auth=scram-sha-256",
                    f"--pwfile={FOLDER / 'pw'}", "--no-sync", "-E", "UTF8", "--locale=C.UTF-8")
    up = start()
    report("a server is made and started", made.returncode == 0 and up.returncode == 0, made.stderr + up.stdout)
    if up.returncode == 0:
        tests()
finally:
    server("stop", "-m", "immediate")
    shutil.rmtree(FOLDER, ignore_errors=True)
done()
