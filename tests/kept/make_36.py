#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Writes before-36.tar.gz with a fare of before November 18, 2026, 12:00 (commit 819fbdb0): make_36.py FOLDER-OF-THAT-FARE. Kept to show
how it was made; no test runs it.

    data/fare/   ledger with runs, invoice, budget and a pinned quote; the book's image of prices; a spooled run, a journal of a killed
                 run, a sweep that was killed
    site/        a static site        store/   checkpoints of a killed job        postgres.sql   a ledger in PostgreSQL, dumped
    said/        what that fare answered about all of it
"""
import glob
import hashlib
import json
import os
import pwd
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import tarfile
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
TESTS = HERE.parent
GIVEN = TESTS / "golden" / "given"
work = Path(tempfile.mkdtemp(prefix="kept-", dir="/tmp"))
os.chmod(work, 0o755)
for name in ("config/fare/offers", "said", "job"):
    (work / name).mkdir(parents=True)
shutil.copy(GIVEN / "own.csv", work / "config/fare/offers/own.csv")
env = {"PATH": f"{sys.argv[1]}:/usr/bin:/bin", "HOME": str(work), "XDG_DATA_HOME": str(work / "data"), "XDG_CONFIG_HOME": str(work / "config"),
       "FARE_METADATA": "off", "LANG": "C.UTF-8", "TZ": "UTC"}
data = work / "data" / "fare"
PLAIN = ("--identity", "none", "--no-cloud", "--no-trace")


def fare(*words, code=0):
    p = subprocess.run(["fare", *map(str, words)], env=env, cwd=work, capture_output=True, text=True)
    if p.returncode != code:
        sys.exit(f"fare {words}: {p.returncode} {p.stderr}")
    return p.stdout


def killed(*words, until):
    """Starts fare, and kills it and all it started once until() is true."""
    p = subprocess.Popen(["fare", *map(str, words)], env=env, cwd=work / "job", stdout=subprocess.DEVNULL, start_new_session=True)
    while not until():
        time.sleep(0.02)
        if p.poll() is not None:
            sys.exit(f"fare {words} ended")
    os.killpg(p.pid, signal.SIGKILL)
    p.wait()


def say(name, *words):
    (work / "said" / name).write_text(fare(*words))


def anonymous(member):
    member.uid = member.gid = 0
    member.uname = member.gname = ""
    return None if member.name.endswith(("/lock", "-wal", "-shm")) else member


for file in ("runs.jsonl", "invoice.csv"):
    fare("runs", "import", GIVEN / file)
fare("prices", "import", GIVEN / "spot.csv", "--date", "2026-11-14")
(work / "offers.csv").write_text("provider,name,region,kind,gpu,gpus,price,date,source\n" + "".join(
    f"small,box-{i},here,on-demand,L4,1,{day}.{i}25,2026-{10 + day}-01,made\n" for day in (0, 1) for i in range(3)))
fare("prices", "import", work / "offers.csv")
fare("run", "mlp", "--steps", "40", *PLAIN, "--label", "price_per_hour_usd=3.6", "--name", "native")
fare("run", *PLAIN, "--name", "command", "--label", "price_per_hour_usd=1.2", "--", "sh", "-c",
     'for i in 1 2 3 4 5 6 7 8 9; do echo "step $i/9 loss 1.$i"; sleep 0.05; done')
fare("runs", "--budget", "all=10/total")
fare("quote", "00091a", "--offer", "aws/g5.xlarge")
fare("quote", "00091a", "--gpu", "a10g")
fare("report", "native", "command", "train.sh", "--site", work / "site")

# A sweep of four, killed while its second runs.
swept = work / "job/swept"
killed("run", *PLAIN, "--sweep", "n=1..4", "--", "sh", "-c", "echo {n} >>swept; test {n} = 1 || sleep 1",
       until=lambda: swept.exists() and len(swept.read_text().split()) >= 2)
time.sleep(2)
shutil.rmtree(next(data.glob("fleet/*/tasks")))

for name, words in {"runs.json": ("runs", "--all", "--json"), "export.jsonl": ("runs", "export", "--all"), "native.json": ("runs", "native", "--json"),
                    "spend.json": ("runs", "--by", "project", "--json"), "budgets.json": ("runs", "--budgets", "--json"),
                    "pinned.json": ("quote", "00091a", "--pinned", "--json"), "spot.json": ("prices", "show", "aws/g5.xlarge:spot", "--json"),
                    "small.json": ("prices", "show", "small/box-1", "--json")}.items():
    say(name, *words)

# A ledger in PostgreSQL with the same runs.
binaries = sorted(glob.glob("/usr/lib/postgresql/*/bin"))[-1]
user = "postgres" if any(p.pw_name == "postgres" for p in pwd.getpwall()) else "nobody"
(work / "pg").mkdir()
os.chown(work / "pg", pwd.getpwnam(user).pw_uid, -1)
with socket.socket() as s:
    s.bind(("127.0.0.1", 0))
    port = s.getsockname()[1]


def pg(*words):
    return subprocess.run(["runuser", "-u", user, "--", f"{binaries}/{words[0]}", *map(str, words[1:])], cwd=work / "pg", check=True,
                          stdout=subprocess.PIPE if words[0] == "pg_dump" else subprocess.DEVNULL, text=True).stdout


pg("initdb", "-D", work / "pg/db", "-U", "fare", "-A", "trust")
pg("pg_ctl", "-D", work / "pg/db", "-w", "-l", work / "pg/log", "-o", f"-c port={port} -c listen_addresses=127.0.0.1 -c unix_socket_directories={work}/pg", "start")
url = f"postgresql://fare@127.0.0.1:{port}/postgres"
fare("runs", "import", work / "said/export.jsonl", "--ledger", url)
fare("runs", "import", GIVEN / "invoice.csv", "--ledger", url)
fare("runs", "--budget", "all=10/total", "--ledger", url)
fare("quote", "00091a", "--gpu", "a10g", "--ledger", url)
say("postgres-pinned.json", "quote", "00091a", "--pinned", "--json", "--ledger", url)
dump = pg("pg_dump", "-h", "127.0.0.1", "-p", port, "-U", "fare", "--no-owner", "--no-privileges", "postgres")
(work / "postgres.sql").write_text("".join(f"{line}\n" for line in dump.splitlines() if not line.startswith(("\\restrict", "\\unrestrict"))))
pg("pg_ctl", "-D", work / "pg/db", "-w", "-m", "fast", "stop")

# A job with checkpoints in a store, killed; its journal stays beside the spool.
shutil.copy(TESTS / "save/job.py", work / "job")
job = ["/usr/bin/python3", "-S", "-E", "job.py", "out", "2000", "20", "5", "safetensors", "log", "{resume}"]
log = work / "job/log"
spool = data / "spool" / hashlib.sha256(str(data / "ledger.db").encode()).hexdigest()[:12]
killed("run", *PLAIN, "--name", "saved", "--save", work / "store", "--job", "kept", "--checkpoints", "out", "--lease", "2s", "--save-every", "200ms",
       "--", *job, until=lambda: log.exists() and any(json.loads(p.read_text())["live"]["elapsed_s"] > 1 for p in spool.glob("*.part")) and len(list(work.glob("store/saves/*/complete"))) > 1)
command = json.loads((work / "said/export.jsonl").read_text().splitlines()[0])
(spool / "20261118T110000Z-00000000beef.json").write_text(json.dumps({**command, "id": "20261118T110000Z-00000000beef", "name": "spooled"}) + "\n")
with sqlite3.connect(data / "ledger.db") as db:
    db.execute("PRAGMA journal_mode=DELETE")
db.close()
with sqlite3.connect(data / "ledger.db", isolation_level=None) as db:
    db.execute("VACUUM")
with tarfile.open(HERE / "before-36.tar.xz", "w:xz") as archive:
    for name in ("data", "site", "store", "said", "postgres.sql"):
        archive.add(work / name, name, filter=anonymous)
if "--keep" in sys.argv:
    print(work)
else:
    shutil.rmtree(work)
