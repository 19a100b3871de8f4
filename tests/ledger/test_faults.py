#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The ledger under faults: killed, cut off at every write, on a full disk, locked, crowded. What
record_run called safe must be there afterwards, whole and once; what it did not may be there, but whole.
"""
import json
import os
import random
import resource
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, os.path.join(os.environ["ROOT"], "tests"))
from tap import done, report, skip  # noqa: E402

FARE, BUILD = os.environ["FARE"], Path(os.environ["BUILD"])
RECORD = str(BUILD / "tests/ledger/record_run")
CUT = str(BUILD / "tests/ledger/fake_powercut.so")
SCRATCH = Path(os.environ.get("TMPDIR", "/tmp"))
random.seed(11)


def place():
    return Path(tempfile.mkdtemp(dir=SCRATCH))


def env_of(home, **more):
    return {**os.environ, "XDG_DATA_HOME": str(home), "TMPDIR": str(home), "FARE_METADATA": "off",
            **{k: str(v) for k, v in more.items()}}


def record(home, n, name="test", ledger=None, **more):
    command = [RECORD, str(n), name] + ([str(ledger)] if ledger else [])
    p = subprocess.run(command, env=env_of(home, **more), capture_output=True, text=True, timeout=300)
    return p


def safe(text):
    return [line.split()[1] for line in text.splitlines() if line.startswith("safe ")]


def exported(home, *args):
    """The next start: delivers what waits, then tells what is there."""
    p = subprocess.run([FARE, "runs", "export", *map(str, args)], env=env_of(home),
                       capture_output=True, text=True, timeout=300)
    if p.returncode != 0:
        return None, p.stderr
    runs = [json.loads(line) for line in p.stdout.splitlines()]
    return {r["id"]: r for r in runs}, p.stderr


def spool_files(home):
    return [p for p in home.glob("**/*.json") if not p.name.startswith(".")]


def wrong(home, promised):
    """What is wrong with a ledger that promised these runs; None where nothing is."""
    runs, said = exported(home)
    if runs is None:
        return f"the ledger does not open: {said}"
    missing = [i for i in promised if i not in runs]
    half = [i for i, r in runs.items() if len(r.get("step_plot_ms", [])) != 200 or not r.get("labels")]
    if not (home / "fare/ledger.db").exists():  # reading makes none
        return f"no ledger, missing {missing}, in the spool {spool_files(home)}" if missing or spool_files(home) else None
    db = sqlite3.connect(home / "fare/ledger.db")
    check = db.execute("PRAGMA integrity_check").fetchone()[0]
    labels = db.execute("SELECT count(*) FROM fare_label").fetchone()[0]
    db.close()
    if missing or half or check != "ok" or labels != len(runs):
        return f"missing {missing}, half {half}, check {check}, {labels} labels of {len(runs)}"
    if spool_files(home):
        return f"left in the spool: {spool_files(home)}"
    return None


# ---- the plain case, and a test of the tests
home = place()
p = record(home, 3)
report("three runs are recorded and found", len(safe(p.stdout)) == 3 and wrong(home, safe(p.stdout)) is None,
       p.stdout + p.stderr)
report("a run that is not there is noticed", wrong(home, ["20000101T000000Z-000000000000"]) is not None)

# ---- SIGKILL at random moments
home, promised, killed = place(), [], 0
for i in range(60):
    p = subprocess.Popen([RECORD, "1000000", "kill"], env=env_of(home), stdout=subprocess.PIPE,
                         stderr=subprocess.DEVNULL, text=True)
    # Every second one has promised something, however slow the machine is.
    said = "".join(p.stdout.readline() for _ in range(i % 2 * 2))
    time.sleep(random.uniform(0.001, 0.12))
    p.send_signal(signal.SIGKILL)
    promised += safe(said + p.communicate()[0])
    killed += p.returncode == -signal.SIGKILL
bad = wrong(home, promised)
report(f"killed {killed} times, nothing that was safe is lost", killed == 60 and len(promised) > 50 and bad is None, f"{len(promised)} promised; {bad}")


# ---- a power cut at every write
NEWEST = 7  # the schema of this fare


def first_version(home, names=("old",)):
    """A ledger as the first version left it, with a run of each name."""
    (home / "fare").mkdir(parents=True)
    db = sqlite3.connect(home / "fare/ledger.db")
    db.executescript("""
        CREATE TABLE fare_schema (version BIGINT NOT NULL);
        INSERT INTO fare_schema VALUES (1);
        CREATE TABLE fare_run (id TEXT PRIMARY KEY, started TEXT NOT NULL, name TEXT NOT NULL,
            workload TEXT NOT NULL, framework TEXT NOT NULL, ended TEXT NOT NULL, machine TEXT NOT NULL,
            gpu TEXT NOT NULL, step_ms DOUBLE PRECISION, wall_s DOUBLE PRECISION, record TEXT NOT NULL);
        CREATE TABLE fare_label (name TEXT NOT NULL, value TEXT NOT NULL, run TEXT NOT NULL,
            PRIMARY KEY (name, value, run)) WITHOUT ROWID;
        """)
    for name in names:
        run = {"id": name, "labels": [{"key": "a", "value": "b"}], "step_plot_ms": [1.00048828125] * 200, "seed": 7}
        db.execute("INSERT INTO fare_run VALUES (?,'','','','','','','',NULL,NULL,?)", [name, json.dumps(run)])
        db.execute("INSERT INTO fare_label VALUES ('a','b',?)", [name])
    db.commit()
    db.close()
    return list(names)


def set_version(home, version):
    db = sqlite3.connect(home / "fare/ledger.db")
    db.execute("UPDATE fare_schema SET version = ?", [version])
    db.commit()
    db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    db.close()


def out_of_reach(home):
    """A ledger that takes nothing, so that runs stay in the spool."""
    promised = safe(record(home, 1).stdout)
    set_version(home, 99)
    return promised


def cut_everywhere(mode, prepare=None, mend=None):
    """Cuts at call 1, 2, ... until a run ends by itself; returns (cuts, what went wrong)."""
    at = 0
    while True:
        at += 1
        home = place()
        promised = prepare(home) if prepare else []
        p = record(home, 2, LD_PRELOAD=CUT, CUT_DIR=home, CUT_AT=at, CUT_MODE=mode, CUT_SEED=at)
        if p.returncode not in (0, -signal.SIGKILL):
            return at, f"call {at}: ended with {p.returncode}: {p.stderr}"
        if mend:
            mend(home)
        bad = wrong(home, promised + safe(p.stdout))
        if bad:
            return at, f"call {at}: {bad}"
        shutil.rmtree(home)
        if p.returncode == 0:
            return at - 1, None


for mode in ("keep", "lose", "some"):
    cuts, bad = cut_everywhere(mode)
    report(f"a power cut at each of {cuts} writes ({mode} what was not forced to the disk)",
           bad is None and cuts > 30, bad)
cuts, bad = cut_everywhere("lose", first_version)
report(f"and at each of {cuts} writes while the schema is brought up to date", bad is None and cuts > 30, bad)
for mode in ("lose", "some"):
    cuts, bad = cut_everywhere(mode, out_of_reach, lambda home: set_version(home, NEWEST))
    report(f"and at each of {cuts} writes ({mode}) while the ledger takes nothing and runs wait",
           bad is None and cuts > 10, bad)
home = place()
first_version(home)
runs, said = exported(home)
version = sqlite3.connect(home / "fare/ledger.db").execute("SELECT version FROM fare_schema").fetchall()
report("the first version's ledger is brought forward, and its run kept", runs and "old" in runs
       and version == [(NEWEST,)], f"{runs} {said} {version}")
home = place()
names = first_version(home, [f"run-{i}" for i in range(250)])
runs, said = exported(home)
heads = dict(sqlite3.connect(home / "fare/ledger.db").execute("SELECT run, head FROM fare_head"))
heads = {name: json.loads(head) for name, head in heads.items()}
few = [head.pop("step_plot_ms", []) for head in heads.values()]
report("and each of 250 runs gets its head, with at most 32 of its 200 step times", runs and sorted(heads) == sorted(names)
       and all(h == {"id": n, "labels": [{"key": "a", "value": "b"}], "seed": 7} for n, h in heads.items())
       and all(0 < len(f) <= 32 and set(f) == {1.00048828125} for f in few), f"{said} {len(heads)} {few[:2]} {list(heads.items())[:2]}")

# ---- a newer schema
home = place()
record(home, 1)
set_version(home, 99)
before = (home / "fare/ledger.db").read_bytes()
p = record(home, 1)
runs, said = exported(home)
report("a newer schema is refused and left alone; the run waits", runs is None and "schema 99" in said
       and (home / "fare/ledger.db").read_bytes() == before and len(spool_files(home)) == 1
       and len(safe(p.stdout)) == 1, f"{p.stdout} {p.stderr} {said}")

# ---- locked by another process
home = place()
record(home, 1)
holder = sqlite3.connect(home / "fare/ledger.db", isolation_level=None)
holder.execute("BEGIN EXCLUSIVE")
start = time.monotonic()
p = record(home, 1)
took = time.monotonic() - start
waiting = len(spool_files(home))
holder.execute("ROLLBACK")
holder.close()
report("locked: the run waits in the spool, with a warning, and comes in on the next start",
       len(safe(p.stdout)) == 1 and waiting == 1 and "locked" in p.stderr and 5 < took < 60
       and wrong(home, safe(p.stdout)) is None, f"{took:.1f} s, {waiting} waiting: {p.stdout} {p.stderr}")


# ---- a disk that is full
def limit():
    resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, 300_000))


home = place()
p = subprocess.run([RECORD, "200", "full"], env=env_of(home), capture_output=True, text=True,
                   preexec_fn=limit, timeout=300)
report("files that may not grow: what was safe is there, and the rest waits",
       p.returncode == 0 and len(safe(p.stdout)) == 200 and "wait" in p.stderr
       and (bad := wrong(home, safe(p.stdout))) is None, f"{p.stdout[-300:]} {p.stderr[-300:]} {bad}")

small = place()
mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "none", str(small)],
                         capture_output=True).returncode == 0
if mounted:
    try:
        p = record(small, 300, TMPDIR=SCRATCH)
        outside = len(list(SCRATCH.glob("fare-spool-*/**/*.json")))
        before = safe(p.stdout)
        subprocess.run(["mount", "-o", "remount,size=64m", str(small)], check=True)
        bad = wrong_elsewhere = None
        env = env_of(small, TMPDIR=SCRATCH)
        got = subprocess.run([FARE, "runs", "export"], env=env, capture_output=True, text=True)
        ids = {json.loads(line)["id"] for line in got.stdout.splitlines()}
        report("a full disk: runs wait on another one, and come in when there is room again",
               len(before) == 300 and outside > 0 and set(before) <= ids, f"{len(before)} safe, {outside} "
               f"outside, {len(ids)} there: {p.stdout[-300:]} {p.stderr[-300:]} {got.stderr}")
    finally:
        subprocess.run(["umount", str(small)])
    small = place()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "none", str(small)], check=True)
    try:
        p = record(small, 300)
        lost = [line for line in p.stdout.splitlines() if line.startswith("lost ")]
        subprocess.run(["mount", "-o", "remount,size=64m", str(small)], check=True)
        report("nowhere any room: that a run is lost is said, and the others are there",
               lost and "not recorded" in lost[0] and (bad := wrong(small, safe(p.stdout))) is None,
               f"{p.stdout[-300:]} {bad}")
    finally:
        subprocess.run(["umount", str(small)])
else:
    for _ in range(2):
        skip("a full disk", "cannot mount a tmpfs here")

# ---- 32 processes at once, on a ledger that is not there yet
home = place()
ps = [subprocess.Popen([RECORD, "10", f"p{i}"], env=env_of(home), stdout=subprocess.PIPE,
                       stderr=subprocess.PIPE, text=True) for i in range(32)]
outs = [p.communicate() for p in ps]
promised = [i for out, _ in outs for i in safe(out)]
report("32 processes record 320 runs at once, none lost", len(promised) == 320 and len(set(promised)) == 320
       and (bad := wrong(home, promised)) is None, "\n".join(e for _, e in outs)[-500:])

# ---- what lies in the spool and is no run
home = place()
p = record(home, 1)
folder = next(home.glob("fare/spool/*"))
(folder / "bad.json").write_text("{\"id\": 3}")
(folder / ".fare-tmp-1-1").write_text("half a")
p = record(home, 1)
report("a file that is no run is named and left, and delays nothing", "bad.json" in p.stderr
       and (folder / "bad.json").exists() and len(exported(home)[0]) == 2, p.stderr)
done()
