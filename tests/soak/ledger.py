# SPDX-License-Identifier: Apache-2.0
"""The ledger and its spool: runs killed at any moment, a ledger replaced or removed during a run, and bytes corrupted in both."""
import json
import os
import shutil
import signal
import time

from round import END_S, Fault, counts
from serve import Server

TRAINING = 'i=0; while [ $i -lt 30 ]; do i=$((i+1)); echo "step $i/30 loss 0.5"; sleep 0.02; done'  # it ends by itself when fare is killed
DAMAGED = 6
NATIVE_END_S = 10  # it finishes drawing its data first


def kept_in(r):
    return {run["id"]: run for run in map(json.loads, r.fare("runs", "export")[1].splitlines())}


def spool(r):
    return next((r.home / "data/fare/spool").glob("*"))


def kill_run(r, how):
    """A run with a record on disk is in the ledger after the next start, however it ended."""
    before = kept_in(r) if r.ledger.exists() else {}
    native = r.random.random() < 0.3
    what = ("mlp", "--max-time", "2s", "--threads", "1") if native else ("--", "sh", "-c", TRAINING)
    with open(r.home / "output", "w") as output:
        p = r.start("run", *what, stdout=output, stderr=output)
    time.sleep(r.random.uniform(0, 0.8))
    running = p.poll() is None
    written = {path.stem for path in (r.home / "data/fare/spool").glob("*/*.part")}
    began = time.monotonic()
    p.send_signal(how)
    p.wait(60)
    counts[how.name + " to a run"] += running
    if how != signal.SIGKILL and time.monotonic() - began > (NATIVE_END_S if native else END_S):
        raise Fault(f"{how.name} ended 'fare run {what[0]}' after {time.monotonic() - began:.1f} s")
    if how == signal.SIGKILL and running and p.returncode not in (0, -how):
        raise Fault(f"'fare run {what[0]}' ended with {p.returncode}: {(r.home / 'output').read_text()[-300:]}")
    after = kept_in(r)
    lost = (before.keys() | written) - after.keys()
    if lost:
        raise Fault(f"{how.name}: lost {lost}: {(r.home / 'output').read_text()[-300:]}")
    return len(after)


def replace_during_run(r):
    """The record goes into the file that has the ledger's name when the run ends."""
    before = kept_in(r)
    shutil.copy(r.ledger, r.home / "copy.db")
    p = r.start("run", "--", "sh", "-c", TRAINING, stdout=open(os.devnull, "w"), stderr=open(os.devnull, "w"))
    time.sleep(r.random.uniform(0, 0.5))
    restored = r.random.random() < 0.5
    if restored:
        os.rename(r.home / "copy.db", r.ledger)
    else:
        r.ledger.unlink()
    p.wait(60)
    counts["ledgers replaced"] += 1
    after = kept_in(r)
    new = after.keys() - before.keys()
    if p.returncode != 0 or len(new) != 1 or (restored and before.keys() - after.keys()):
        raise Fault(f"{'replaced' if restored else 'removed'} during a run: code {p.returncode}, {len(new)} new runs")


def corrupt_spool(r):
    """Whole files of the spool are delivered; damaged ones are named, or are still records."""
    folder, whole = spool(r), set()
    for i in range(DAMAGED):
        good, bad = r.record(), r.record()
        (folder / f"{good['id']}.json").write_text(json.dumps(good))
        text = r.corrupted(json.dumps(bad).encode(), 4)
        (folder / f"{bad['id']}.{r.random.choice(('json', 'part', 'lock'))}").write_bytes(text)
        whole.add(good["id"])
    counts["spool files damaged"] += DAMAGED
    lost = whole - kept_in(r).keys()
    if lost:
        raise Fault(f"lost beside damaged files of the spool: {lost}")
    for path in folder.glob("*"):
        path.unlink()


def corrupt_ledger(r):
    """fare says that the file is damaged, or reads what is left; it does not crash."""
    bad = r.home / "bad.db"
    bad.write_bytes(r.corrupted(r.ledger.read_bytes(), r.random.choice((1, 20, 500))))
    counts["ledgers damaged"] += 1
    for arguments in (["runs", "--all"], ["compare"], ["runs", "last"], ["runs", "export"], ["quote", "last"], ["report", "-o", "-"]):
        r.fare(*arguments, "--ledger", bad)
    s = Server(r, bad)
    line = s.process.stdout.readline()
    if ":" in line:
        s.port = int(line.rsplit(":", 1)[1].split("/")[0])
        for path in ("/", "/runs.json", "/metrics", "/runs/last", "/prices"):
            status, text = s.ask(path)
            if status == 500 and str(r.home).encode() in text:
                raise Fault(f"{path}: status 500 shows a path: {text[:300]}")
        s.push(r.record())
        s.end(signal.SIGTERM)
    elif s.process.wait(30) not in (0, 1, 2):
        raise Fault(f"fare serve on a damaged ledger ended with {s.process.returncode}")
    r.fare("run", "--ledger", bad, "--", "true")
    for rest in r.home.glob("bad.db*"):
        rest.unlink()


def play(r):
    r.fare("run", "--", "true")
    for how in (signal.SIGKILL, signal.SIGKILL, signal.SIGKILL, signal.SIGTERM, signal.SIGINT):
        kill_run(r, how)
    replace_during_run(r)
    r.fare("run", "--", "true")
    corrupt_spool(r)
    for _ in range(3):
        corrupt_ledger(r)
