#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Checkpoints in a folder: saved, found, verified, pruned; markers that lie; leases, fencing, two machines at once."""
import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

sys.path[:0] = [os.path.join(os.environ["ROOT"], "tests"), os.path.join(os.environ["ROOT"], "tests/save")]
from tap import done, report  # noqa: E402
from tool import CLEAN, TOOL, Job, tool  # noqa: E402

SCRATCH = Path(tempfile.mkdtemp(dir=os.environ.get("TMPDIR", "/tmp")))
SLOW = {"TOOL_BEAT_MS": "1000", "TOOL_HOLD_MS": "20000", "TOOL_PATIENCE_MS": "40000"}  # no lease may run out here
TWO_PARTS = 9_000_000
serial = 0


def fresh(name="place"):
    global serial
    serial += 1
    path = SCRATCH / f"{name}{serial}"
    path.mkdir()
    return path


def tree(step, big=1000):
    """A checkpoint like a trainer's: a large file, two small ones, a link, an empty one."""
    root = fresh("ck") / "ckpt"
    (root / "sub").mkdir(parents=True)
    (root / "model.bin").write_bytes(bytes([step % 251]) * big)
    (root / "config.json").write_text('{"hidden": 64}')
    (root / "sub/state").write_text(f"step {step}")
    (root / "sub/empty").write_text("")
    (root / "latest").symlink_to("sub/state")
    return root


def same(a, b):
    left = sorted((str(p.relative_to(a)), os.readlink(p) if p.is_symlink() else p.read_bytes() if p.is_file() else None)
                  for p in Path(a).rglob("*"))
    right = sorted((str(p.relative_to(b)), os.readlink(p) if p.is_symlink() else p.read_bytes() if p.is_file() else None)
                   for p in Path(b).rglob("*"))
    return left == right


def files(place):
    return sorted(str(p.relative_to(place)) for p in place.rglob("*") if p.is_file())


def saves(place):
    return sorted(p.parent.name for p in place.glob("saves/*/complete"))


def job(place, name="job", **more):
    j = Job(place, name, env={**SLOW, **more})
    j.started()
    return j


# ---- there and back
place, trees = fresh(), [tree(1, TWO_PARTS), tree(2)]
a = job(place)
said = [a.ask("fetch", fresh()), a.ask("save", trees[0], 1)]
report("an empty store has no checkpoint", said[0].startswith("none"), said[0])
report("a checkpoint is saved", "saved 1-1 step 1" in said[1] and "files 4" in said[1], said[1])
said = a.ask("save", trees[0], 1)
report("the same again is not written again", said.startswith("same 1-1") and "sent 0 " in said, said)
(trees[0] / "sub/state").write_text("other")
said = a.ask("save", trees[0], 3)
report("only what changed is sent", "saved 1-2" in said and "sent 5 in 1 files" in said, said)
a.end("release")
b, into = job(place), fresh()
(into / "ckpt/sub").mkdir(parents=True)
(into / "ckpt/stale").write_text("from before")
(into / "beside").write_text("not ours")
(into / "ckpt/config.json").symlink_to(into / "beside")
said = b.ask("fetch", into)
report("it is found and comes back, whatever lay there", "found 1-2 step 3" in said and same(trees[0], into / "ckpt")
       and (into / "beside").read_text() == "not ours", said)
report("the epoch before is known to have ended", b.epoch == 2 and b.before == "ended", b.said)
said = b.ask("save", trees[0], 4)
report("what was fetched is known", said.startswith("same 1-2"), said)
b.end("done")
place, kept, gone = fresh(), tree(5, TWO_PARTS), tree(5, TWO_PARTS)
c, into = job(place, "deleted"), fresh()
said = [c.ask("fetch", into), c.ask("save", gone, 5, "delete"), c.ask("fetch", into)]
report("a checkpoint that the job deletes while it is sent is saved all the same", "saved 1-1 step 5" in said[1] and not gone.exists()
       and "found 1-1 step 5" in said[2] and same(kept, into / "ckpt"), said)
c.end("release")
one = fresh() / "model.pt"
one.write_bytes(b"x" * 1000)
place = fresh()
c, into = job(place, "file"), fresh()
said = [c.ask("fetch", into), c.ask("save", one, 9), c.ask("fetch", into)]
report("a single file is a checkpoint too", "found 1-1 step 9" in said[2] and (into / "model.pt").read_bytes() == b"x" * 1000, said)
c.end("release")

# ---- the last ones are kept, and nothing else is touched
place = fresh()
for name in ("data/mine", "saves/notes", "saves/0000000001-000009/other", "other/x", "data/0000000001-000001/stranger"):
    (place / name).parent.mkdir(parents=True, exist_ok=True)
    (place / name).write_text("not fare's")
a = job(place, TOOL_LAST="2")
a.ask("fetch", fresh())
for step in range(1, 6):
    a.ask("save", tree(step), step)
kept = files(place)
report("the last two are kept, numbered after all that is there", saves(place) == ["0000000001-000013", "0000000001-000014"], str(kept))
report("data that no other needs goes with them", len([f for f in kept if f.startswith("data/000")]) == 1 + 2 * 2 + 2,
       str(kept))  # the stranger; two models, two states; config and the empty file from the first
report("strangers stay", all((place / n).read_text() == "not fare's" for n in
                             ("data/mine", "saves/notes", "saves/0000000001-000009/other", "other/x")), str(kept))
a.end("release")


# ---- bad checkpoints: the next older one is taken
def damaged(what, damage, expect, big=1000):
    place, trees = fresh(), [tree(1, big), tree(2, big)]
    a = job(place)
    a.ask("fetch", fresh())
    for i, t in enumerate(trees):
        a.ask("save", t, i + 1)
    a.end("release")
    damage(place)
    before = files(place)
    b, into = job(place), fresh()
    said = b.ask("fetch", into)
    b.end("release")
    report(f"{what}: the older one is used", "found 1-1 step 1" in said and expect in said and same(trees[0], into / "ckpt"), said)
    report(f"{what}: nothing is deleted", set(before) <= set(files(place)))


def model(place):  # of the second checkpoint
    entries = json.loads((place / "saves/0000000001-000002/manifest").read_text())["entries"]
    return place / next(e["data"] for e in entries if e["path"] == "model.bin")


def flip(path, at=-1):
    data = bytearray(path.read_bytes())
    data[at] ^= 1
    path.write_bytes(data)


def rewrite(place, change):
    """A manifest changed by someone who also mends the marker."""
    path = place / "saves/0000000001-000002/manifest"
    m = json.loads(path.read_text())
    change(m)
    path.write_text(json.dumps(m))
    marker = place / "saves/0000000001-000002/complete"
    text = json.loads(marker.read_text())
    text["manifest"] = hashlib.sha256(path.read_bytes()).hexdigest()
    marker.write_text(json.dumps(text))


damaged("a marker without a manifest", lambda p: (p / "saves/0000000001-000002/manifest").unlink(), "not whole")
damaged("a marker without data", lambda p: model(p).unlink(), "not whole")
damaged("a wrong byte in the data", lambda p: flip(model(p)), "part 2 of", TWO_PARTS)
damaged("data that is cut", lambda p: os.truncate(model(p), 100), "has 100 bytes instead of 1000")
damaged("a wrong byte in the manifest", lambda p: flip(p / "saves/0000000001-000002/manifest", 30), "not the one that was marked")
damaged("a cut marker", lambda p: os.truncate(p / "saves/0000000001-000002/complete", 40), "cannot be read")
damaged("a path that leads out", lambda p: rewrite(p, lambda m: m["entries"][0].update(path="../../evil")), "a path")
damaged("a link that leads out", lambda p: rewrite(p, lambda m: m["entries"][1].update(link="../../x")), "leads out")
damaged("data from elsewhere", lambda p: rewrite(p, lambda m: m["entries"][0].update(data="../secret")), "name of data")
damaged("a manifest of another job", lambda p: rewrite(p, lambda m: m.update(job="theirs")), "another job")
damaged("no marker (a save that was cut)", lambda p: (p / "saves/0000000001-000002/complete").unlink(), "found")

# ---- another job in the same place
place = fresh()
a = job(place, "theirs")
a.ask("fetch", fresh())
a.ask("save", tree(1), 1)
a.end("release")
b = job(place, "ours", TOOL_LAST="1")
said = b.ask("fetch", fresh())
report("another job's checkpoint is left alone", said.startswith("none") and "1 checkpoint of other jobs" in said, said)
for step in (2, 3):
    b.ask("save", tree(step), step)
b.end("release")
c, into = job(place, "theirs"), fresh()
said = c.ask("fetch", into)
report("and is found by its own job", "found 1-1 step 1" in said and saves(place) == ["0000000001-000001", "0000000002-000002"], said)
c.end("release")

# ---- places that cannot work
blocked = fresh() / "file"
blocked.write_text("")
code, said = tool(blocked / "x", "check")
report("a folder that cannot be made", code == 1 and "error -2: cannot save to" in said and "cannot create the folder" in said, said)
code, said = tool("gs://x/y", "check")
report("an unknown kind of store", code == 1 and "neither a folder nor s3://" in said, said)
small = fresh()
p = subprocess.run(["prlimit", "--fsize=2000000", TOOL, str(small), "job", "j"], input=f"fetch {fresh()}\nsave {tree(1, TWO_PARTS)} 1\nlist\n", text=True,
                       capture_output=True, timeout=120, env={**CLEAN, **SLOW},
                       preexec_fn=lambda: signal.signal(signal.SIGXFSZ, signal.SIG_IGN))
report("a file that does not fit is an error, and nothing is marked", "error -7: cannot write" in p.stdout and "kept" not in p.stdout
       and not saves(small), p.stdout + p.stderr)

# ---- a power cut at every write of a save: the new checkpoint or the one before it, whole
cut = Path(os.environ["BUILD"]) / "tests/ledger/fake_powercut.so"
before, after, at, outcomes, bad = tree(1), tree(2, TWO_PARTS), 1, set(), []
shutil.rmtree(after / "sub")  # one small file: no threads, which the preloaded library does not expect
(after / "latest").unlink()
first = fresh()
a = job(first)
a.ask("fetch", fresh())
a.ask("save", before, 1)
a.end("release")
whole = False
while not whole and at < 200 and "sanitize" not in str(cut):
    for mode in ("keep", "lose", "some"):
        place, into = SCRATCH / f"cut-{at}-{mode}", fresh()
        shutil.copytree(first, place)
        p = subprocess.run([TOOL, str(place), "job", "job"], input=f"save {after} 2\n", text=True, capture_output=True, timeout=120,
                           env={**CLEAN, **SLOW, "LD_PRELOAD": str(cut), "CUT_DIR": str(place), "CUT_AT": str(at), "CUT_MODE": mode,
                                "CUT_SEED": str(at)})
        whole = p.returncode == 0
        reader = Job(place, env=SLOW, command="read")
        said = reader.ask("fetch", into)
        reader.end()
        step = 2 if "step 2" in said else 1 if "step 1" in said else 0
        outcomes.add(step)
        if step == 0 or not same(after if step == 2 else before, into / "ckpt") or ("saved" in p.stdout and step != 2):
            bad.append((at, mode, p.stdout, said))
        shutil.rmtree(place)
    at += 1
if "sanitize" in str(cut):
    report("a power cut at every write", True, skip="the sanitizers have their own preloaded library")
else:
    report(f"a power cut at each of {at - 1} writes leaves a whole checkpoint", whole and not bad and outcomes == {1, 2} and at > 15, bad[:3])

# ---- leases
QUICK = {"TOOL_BEAT_MS": "100", "TOOL_HOLD_MS": "600", "TOOL_PATIENCE_MS": "1500"}
place = fresh()
a = Job(place, env={**SLOW, "TOOL_HOST": "alpha"})
a.started()
b = Job(place, env={**QUICK, "TOOL_NO_WAIT": "1"})
report("a live holder is named", b.started() == 0 and "is running on alpha already" in b.said, b.said)
b.end()
a.end("done")
b = Job(place, env=QUICK)
report("a finished job says so", b.started() == 2 and b.before == "ended done", b.said)
b.end()
start = time.monotonic()
c = Job(place, env=QUICK)
report("a dead holder is outwaited", c.started() == 3 and time.monotonic() - start >= 1.4, c.said)

# A machine that stands still, and wakes up.
c.ask("fetch", fresh())
c.ask("save", tree(1), 1)
c.p.send_signal(signal.SIGSTOP)
d = Job(place, env=QUICK | {"TOOL_HOST": "delta"})
epoch = d.started()
said = d.ask("fetch", fresh())
report("its successor begins from its last checkpoint", epoch > 3 and "found 3-1" in said, d.said + said)
d.end("release")
c.p.send_signal(signal.SIGCONT)
said = c.ask("save", tree(7), 7)
report("the ousted one cannot save", "error -1" in said and ("taken over" in said or "ran out" in said), said)
c.end()

# The same, woken up in the middle of a save: its marker is there and does not count.
manifest = place / "saves/0000000003-000002"
if not manifest.exists():
    shutil.copytree(place / "saves/0000000003-000001", manifest)
    m = json.loads((manifest / "manifest").read_text())
    m["number"] = 2
    (manifest / "manifest").write_text(json.dumps(m))
    (manifest / "complete").write_text(json.dumps({"format": "fare.save/1", "job": "job", "epoch": 3, "number": 2,
                                                   "manifest": hashlib.sha256((manifest / "manifest").read_bytes()).hexdigest()}))
e = Job(place, env=SLOW)
e.started()
said = e.ask("fetch", fresh())
report("a checkpoint that an ousted machine finished later does not count", "found 3-1" in said, said)
e.end("release")
shutil.move(place / f"lease/{epoch:010}/base", SCRATCH / "base")
for path in place.glob("lease/*/base"):
    if int(path.parent.name) > 3:
        path.unlink()
e = Job(place, "job", env=SLOW, command="read")
said = e.ask("fetch", fresh())
report("it is the base that decides", "found 3-2" in said, said)
e.end()

# Eight machines at once: one after the other.
place = fresh()
jobs = [Job(place, env={**SLOW, "TOOL_BEAT_MS": "100"}) for _ in range(8)]
epochs, holding = [], []
def turn(j):
    epochs.append(j.started())
    holding.append(+1)
    overlap.append(sum(holding))
    j.ask("check")
    holding.append(-1)
    j.end("release")
overlap = []
threads = [threading.Thread(target=turn, args=[j]) for j in jobs]
[t.start() for t in threads]
[t.join() for t in threads]
report("eight machines hold it one after the other", sorted(epochs) == list(range(1, 9)) and max(overlap) == 1, f"{epochs} {overlap}")

shutil.rmtree(SCRATCH, ignore_errors=True)
done()
