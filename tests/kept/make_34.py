#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Writes before-34.tar.gz (a data folder with ledger, pinned quote and spool; a site) with a fare of before November 18, 2026, whose `boot` was the time from the machine's start to the
first run on it, and was charged: make_34.py FOLDER-OF-THAT-FARE. Kept to show how they were made; no test runs it."""
import json
import os
import shutil
import sqlite3
import subprocess
import sys
import tarfile
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
TESTS = HERE.parent
work = Path(tempfile.mkdtemp())
root = work / "root"
(root / "proc").mkdir(parents=True)
(root / "proc" / "stat").write_text(f"cpu  9 9 9 9 9 9 9 9 0 0\nctxt 1\nbtime {int(time.time()) - 36 * 60}\nprocesses 3\n")
(work / "config" / "fare" / "offers").mkdir(parents=True)
(work / "config" / "fare" / "offers" / "own.csv").write_text(
    "provider,name,region,kind,price,currency,date,source\naws,t2.micro,us-west-2,on-demand,3.6,USD,2026-11-01,test\n")
env = {"PATH": f"{sys.argv[1]}:{os.environ['PATH']}", "HOME": str(work), "XDG_DATA_HOME": str(work / "data"),
       "XDG_CONFIG_HOME": str(work / "config"), "FARE_METADATA": "off", "FARE_ROOT": str(root), "LANG": "C.UTF-8"}


def fare(*words, **more):
    p = subprocess.run(["fare", *words], env={**env, **more}, cwd=work, capture_output=True, text=True, check=True)
    return p.stdout


def anonymous(member):
    member.uid = member.gid = 0
    member.uname = member.gname = ""
    return member


PRICED = ("--identity", "none", "--label", "price_per_hour_usd=3.6")
fare("run", *PRICED, "--name", "first", "--", "sleep", "0.5")
fare("run", *PRICED, "--name", "second", "--", "sleep", "0.5")
server = subprocess.Popen(["/usr/bin/python3", str(TESTS / "machine" / "metadata_server.py"), "aws", "--launched", "600"],
                          stdout=subprocess.PIPE, text=True)
cloud = f"http://127.0.0.1:{int(server.stdout.readline())}"
fare("run", "mlp", "--steps", "60", *PRICED, "--name", "launched", FARE_METADATA=cloud)
server.kill()
fare("quote", "launched", "--offer", "aws/t2.micro@us-west-2")

# A sample that reached the end of its training under load.
data = work / "data" / "fare"
spool = next(data.glob("spool/*"))
run = json.loads(fare("runs", "second", "--json"))
run = {**run, "id": "20261118T000000Z-00000000beef", "name": "reversed", "ended": "sampled", "full": False,
       "projection": {"after_s": 61.2, "wall_s": 60.9, "low_s": 61.2, "high_s": 60.95, "train_s": 58.0}}
(spool / f"{run['id']}.json").write_text(json.dumps(run))
fare("runs")
fare("report", "--all", "--site", str(work / "site"))
with sqlite3.connect(data / "ledger.db") as db:
    db.execute("PRAGMA journal_mode=DELETE")
db.close()
with sqlite3.connect(data / "ledger.db", isolation_level=None) as db:
    db.execute("VACUUM")
first = json.loads(fare("runs", "first", "--json"))
(spool / f"{first['id'][:-1]}z.json").write_text(json.dumps({**first, "id": first["id"][:-1] + "z", "name": "spooled"}) + "\n")
with tarfile.open(HERE / "before-34.tar.gz", "w:gz") as archive:
    for name in ("ledger.db", "spool"):
        archive.add(data / name, f"fare/{name}", filter=anonymous)
    archive.add(work / "site", "site", filter=anonymous)
shutil.rmtree(work)
