#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Saved work is not lost because a store or a folder is wrong for one start; and what is fetched replaces nothing but checkpoints.

Each start is a real `fare run --save` of job.py, which ends with a chain of hashes: a training that began again from 0 shows in
its log, and one that lost its state does not end with the sum of an uninterrupted one."""
import errno
import hashlib
import json
import os
import shutil
import stat
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.path.insert(0, os.path.join(os.environ["ROOT"], "tests"))
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from tap import done, report, skip  # noqa: E402

FARE, HERE = os.environ["FARE"], Path(__file__).resolve().parent
SCRATCH = tempfile.TemporaryDirectory(prefix="fare-lost-")
UNUSABLE = 74  # EX_IOERR


def run_for(seconds, *words, **more):
    """One that does not end has no exit code."""
    try:
        return subprocess.run(*words, **more, timeout=seconds)
    except subprocess.TimeoutExpired as late:
        return subprocess.CompletedProcess(late.cmd, None, "", f"not ended after {seconds} s")


class Place:
    number = 0

    def __init__(self):
        Place.number += 1
        self.home = Path(SCRATCH.name) / f"p{Place.number}"
        self.home.mkdir()
        self.store, self.log, self.out = self.home / "store", self.home / "log", self.home / "out"
        self.env = {**os.environ, "HOME": str(self.home), "XDG_DATA_HOME": str(self.home / "data"), "TMPDIR": str(self.home),
                    "FARE_METADATA": "off"}
        self.env.pop("FARE_LEDGER", None)

    def run(self, steps, *options, fails=False, inside=()):
        """`fails`: after its last step the command ends with code 9, so that it is saved and not done. `inside`: words before fare."""
        command = [*(["sh", "-c", '"$@"; exit 9', "sh"] if fails else []), "/usr/bin/python3", "-S", "-E", str(HERE / "job.py"), str(self.out), str(steps), "5", "5",
                   "safetensors", str(self.log), "{resume}"]
        p = run_for(60, [*inside, FARE, "run", "--no-cloud", "--no-trace", "--save", str(self.store), "--job", "bert", "--lease", "2s",
                         "--save-every", "50ms", "--keep-saves", "2", "--checkpoint-patience", "1s", "--checkpoints", str(self.out),
                         *options, "--", *command], cwd=self.home, env=self.env, stdin=subprocess.DEVNULL, capture_output=True,
                    text=True)
        return p.returncode, p.stdout + p.stderr

    def begun(self):
        """The step that each start of the job began with."""
        return [int(line.split()[3]) for line in self.log.read_text().splitlines() if line.split()[2] == "start"]

    def saves(self):
        return sorted(p.parent.name for p in self.store.glob("saves/*/complete"))


def saved():
    """A job that was saved and ended before its last step."""
    p = Place()
    code, said = p.run(30, fails=True)
    assert code == 9 and p.saves(), said
    shutil.rmtree(p.out)
    return p


def unusable(what, p, code, said, kept):
    report(f"{what}: it does not train from 0, and ends with a code of its own", code == UNUSABLE and p.begun() == [0], f"{code} {said}")
    report(f"{what}: it names the newest checkpoint and the way on", "checkpoint " in said and "--start-over" in said, said)
    report(f"{what}: nothing is deleted", set(kept) <= set(p.saves()), p.saves())


def then_good(what, p, kept, steps=60):
    newest = json.loads((p.store / "saves" / kept[-1] / "manifest").read_text())["step"]
    code, said = p.run(steps)
    report(f"{what}: the next good start goes on from it", code == 0 and p.begun()[-1] == newest > 0, f"{p.begun()} {newest} {said}")


# ---- a start whose folder for checkpoints is a link to a disk that is not mounted
p = saved()
kept = p.saves()
p.out.symlink_to(p.home / "unmounted/out")
code, said = p.run(60)
unusable("a folder on an unmounted disk", p, code, said, kept)
p.out.unlink()
then_good("a folder on an unmounted disk", p, kept)

# ---- a store whose data is not mounted for one start
p = saved()
kept = p.saves()
(p.store / "data").rename(p.home / "data-away")
code, said = p.run(60)
unusable("data that is away", p, code, said, kept)
shutil.rmtree(p.store / "data", ignore_errors=True)
(p.home / "data-away").rename(p.store / "data")
then_good("data that is away", p, kept)

# ---- a store that answers wrong bytes for one start
p = saved()
kept, true = p.saves(), {}
for path in [*p.store.glob("data/*/*"), *p.store.glob("saves/*/manifest")]:
    true[path] = path.read_bytes()
    path.write_bytes(b"\0" * len(true[path]))
code, said = p.run(60)
unusable("a store that lies", p, code, said, kept)
for path, data in true.items():
    path.write_bytes(data)
then_good("a store that lies", p, kept)

# ---- checkpoints that are gone altogether, though earlier starts saved some
p = saved()
(p.store / "saves").rename(p.home / "saves-away")
code, said = p.run(60)
report("saves that are away: it does not train from 0", code == UNUSABLE and p.begun() == [0] and "--start-over" in said, f"{code} {said}")
(p.home / "saves-away").rename(p.store / "saves")

# ---- the same, where the first start was killed after its first save and before its history said so
p = saved()
kept, history = p.saves(), next(p.store.glob("history/*"))
history.write_text(json.dumps({k: v for k, v in json.loads(history.read_text()).items() if k != "saves"} | {"ended": "running"}))
(p.store / "saves").rename(p.home / "saves-away")
code, said = p.run(60)
report("saves that no history knows are away: it does not train from 0", code == UNUSABLE and p.begun() == [0] and "--start-over" in said,
       f"{code} {said}")
shutil.rmtree(p.store / "saves", ignore_errors=True)
(p.home / "saves-away").rename(p.store / "saves")
then_good("saves that no history knows are away", p, kept)

# ---- a store on a disk that is not mounted for one start: an empty folder
p = saved()
kept, fstab = p.saves(), p.home / "fstab"
fstab.write_text(f"server:/jobs {p.store} nfs defaults 0 0\n")
with_table = ["unshare", "--mount", "sh", "-c", 'mount --bind "$0" /etc/fstab && exec "$@"', str(fstab)]
if not os.path.exists("/etc/fstab") or subprocess.run([*with_table, "true"], stderr=subprocess.DEVNULL).returncode != 0:
    skip("a store that is not mounted", "/etc/fstab cannot be replaced here")
else:
    p.store.rename(p.home / "store-away")
    p.store.mkdir()
    code, said = p.run(60, inside=with_table)
    report("a store that is not mounted: it does not train from 0", code == 2 and p.begun() == [0] and f"'{p.store}' is not mounted" in said
           and f"mount {p.store}" in said and not os.listdir(p.store), f"{code} {said}")
    p.store.rmdir()
    (p.home / "store-away").rename(p.store)
    then_good("a store that is not mounted", p, kept)

# ---- only the newest is bad: the one before it is used, and the newest stays for as long as the job lives
p = saved()
p.run(60, fails=True)
kept = p.saves()
newest = json.loads((p.store / "saves" / kept[-1] / "manifest").read_text())["step"]
(p.store / "saves" / kept[-1] / "manifest").rename(p.home / "manifest")
code, said = p.run(90, fails=True)
report("one bad checkpoint: the one before it is used", code == 9 and "passed over" in said and 0 < p.begun()[-1] < newest, f"{p.begun()} {said}")
(p.home / "manifest").rename(p.store / "saves" / kept[-1] / "manifest")
code, said = p.run(120)
whole = json.loads((p.store / "saves" / kept[-1] / "manifest").read_text())
report("one bad checkpoint: later starts delete it never, nor its data", code == 0 and kept[-1] in p.saves()
       and all((p.store / e["data"]).exists() for e in whole["entries"]), f"{kept} {p.saves()} {said}")
report("one bad checkpoint: others are pruned as ever", len(p.saves()) <= 2 + 2, p.saves())

# ---- a manifest that is absurdly large, or has more values than memory should be spent on, is passed over for what it is
def large(text):
    """The newest manifest, as somebody else who may write to the store would leave it."""
    p = saved()
    folder = p.store / "saves" / p.saves()[-1]
    (folder / "manifest").write_bytes(text)
    marker = json.loads((folder / "complete").read_text())
    marker["manifest"] = hashlib.sha256(text).hexdigest()
    (folder / "complete").write_text(json.dumps(marker))
    for older in p.saves()[:-1]:
        shutil.rmtree(p.store / "saves" / older)
    code, said = p.run(60)
    return code == UNUSABLE and p.begun() == [0], f"{code} {p.begun()} {said}", said


ok, detail, said = large(b" " * (64 << 20))
report("a manifest of 64 MiB is no manifest of fare's, and not a lack of memory", ok and "it is not a manifest of fare's" in said
       and "memory" not in said, detail)
ok, detail, said = large(b"[" + b"{}," * (10 << 20) + b"{}]")
report("ten million values are not read into memory", ok and "it has too many values" in said, detail)

# ---- a pipe or a device in the place of an object, in a store that others can write to
p = saved()
for folder in p.store.glob("saves/*"):
    (folder / "manifest").unlink()
    os.mkfifo(folder / "manifest")
code, said = p.run(60)
report("a pipe instead of a manifest is not waited for", code == UNUSABLE and p.begun() == [0] and "is not a file" in said, f"{code} {said}")

# ---- local errors for one start, on either side
FAKE = Path(os.environ["BUILD"]) / "tests/save/fake_disk.so"


def failing(number, below, codes):
    p = saved()
    if below in ("out", "newest"):
        p.run(60, fails=True)  # the checkpoints are on this machine too
    kept, begun = p.saves(), p.begun()
    place = p.store / "saves" / kept[-1] if below == "newest" else p.home / below
    p.env.update(LD_PRELOAD=str(FAKE), FAKE_DISK=f"{number}:{place}")
    code, said = p.run(90)
    ok = code in codes and p.begun() == begun and set(kept) <= set(p.saves())
    del p.env["LD_PRELOAD"]
    newest = json.loads((p.store / "saves" / kept[-1] / "manifest").read_text())["step"]
    last, then = p.run(90)
    return ok and last == 0 and p.begun()[-1] == newest > 0, f"{code} {said} {last} {then} {p.begun()} {newest}"


if "sanitize" in str(FAKE):
    skip("errors of a disk", "the sanitizers have their own preloaded library")
else:
    # A store that cannot be written at all is refused (1, 2); one that cannot be read has checkpoints that cannot be used.
    cases = [(errno.EIO, "out", [UNUSABLE]), (errno.ENOSPC, "out", [UNUSABLE]), (errno.EACCES, "out", [UNUSABLE]), (errno.EIO, "store", [1, 2]),
             (errno.EIO, "store/data", [UNUSABLE]), (errno.EACCES, "newest", [UNUSABLE])]
    with ThreadPoolExecutor(4) as pool:
        for case, (ok, detail) in zip(cases, pool.map(lambda c: failing(*c), cases)):
            report(f"{errno.errorcode[case[0]]} in {case[1]} for one start: no work is lost, nothing is deleted", ok, detail)

# ---- --start-over
p = saved()
kept = p.saves()
code, said = p.run(60, "--start-over", fails=True)
report("--start-over trains from the beginning", code == 9 and p.begun() == [0, 0], f"{p.begun()} {said}")
report("--start-over leaves what was there", set(kept) <= set(p.saves()), f"{kept} {p.saves()}")
code, said = p.run(70)
report("the start after it goes on from its own", code == 0 and p.begun()[-1] > 30, f"{p.begun()} {said}")


# ---- what is fetched replaces nothing that is no checkpoint
def rewritten(change):
    """Somebody else who may write to the store changes the newest manifest, and its marker."""
    p = saved()
    folder = p.store / "saves" / p.saves()[-1]
    m = json.loads((folder / "manifest").read_text())
    change(m)
    (folder / "manifest").write_text(json.dumps(m))
    marker = json.loads((folder / "complete").read_text())
    marker["manifest"] = hashlib.sha256((folder / "manifest").read_bytes()).hexdigest()
    (folder / "complete").write_text(json.dumps(marker))
    p.out.mkdir()
    return p


p = rewritten(lambda m: m.update(name="train.py"))
(p.out / "train.py").write_text("the user's own")
code, said = p.run(60)
report("a manifest named train.py overwrites no script", (p.out / "train.py").read_text() == "the user's own", said)
report("and the job resumes from fare's own folder", code == 0 and p.begun()[-1] > 0, f"{p.begun()} {said}")

p = rewritten(lambda m: m.update(name="src", file=False, entries=[]))
(p.out / "src").mkdir()
(p.out / "src/main.c").write_text("the user's own")
code, said = p.run(60)
report("a manifest named src empties no folder", (p.out / "src/main.c").read_text() == "the user's own", said)

p = rewritten(lambda m: m.update(beside={"name": "latest", "text": "x", "folder": ".git"}, name="hooks"))
(p.out / ".git/hooks").mkdir(parents=True)
(p.out / ".git/hooks/pre-commit").write_text("the user's own")
code, said = p.run(60)
report("a manifest named .git/hooks touches it not", os.listdir(p.out / ".git/hooks") == ["pre-commit"]
       and (p.out / ".git/hooks/pre-commit").read_text() == "the user's own" and not (p.out / ".git/latest").exists(), said)

p = rewritten(lambda m: m.update(beside={"name": ".bashrc", "text": "x", "folder": ""}))
code, said = p.run(60)
report("a file beside it has one of three names", not (p.out / ".bashrc").exists() and "the file beside it" in said, said)

for where in ("moved", "in the way"):
    p = rewritten(lambda m: m.update(name="a\x1b[31m\nfare: the job is done.pt"))
    if where == "in the way":
        (p.out / "a\x1b[31m\nfare: the job is done.pt").mkdir()
    code, said = p.run(60)
    report(f"a name with escapes and lines of its own, {where}: it neither steers a terminal nor forges a line", code == 0 and p.begun()[-1] > 0
           and "\x1b" not in said and "done.pt" in said and not [line for line in said.splitlines() if line.startswith("fare: fare:")], said)

def below(m):
    """Folders that are not listed, or that are nested without end: making them would take hours."""
    return [dict(m["entries"][0], path=path) for path in sorted(f"{i}/" * 60 + "x" for i in range(1000))]

deep = [{"path": "/".join(["d"] * (i + 1)), "folder": True, "mode": 0o755} for i in range(1900)]
for what, words, entries in (("folders that are not listed", "below no folder", below), ("folders that are nested without end", "nested too deep", lambda m: deep)):
    p = rewritten(lambda m: m.update(name="checkpoint-9", file=False, entries=entries(m)))
    code, said = p.run(60)
    report(f"{what} make a checkpoint that is not whole", code == 0 and words in said and p.begun()[-1] > 0 and not (p.out / "checkpoint-9").exists(),
           f"{code} {said}")

p = saved()
newest = json.loads((p.store / "saves" / p.saves()[-1] / "manifest").read_text())
p.out.mkdir()
(p.home / "precious").write_text("the user's own")
(p.out / newest["name"]).symlink_to(p.home / "precious")
code, said = p.run(60)
report("a local link's target is not written", code == 0 and (p.home / "precious").read_text() == "the user's own", said)

folder = {"folder": True, "mode": 0o755}
inside = [{"path": "b", "link": "d/e/a/../../precious"}, {"path": "d", **folder}, {"path": "d/e", **folder}, {"path": "d/e/a", "link": "../.."}]
p = rewritten(lambda m: m.update(name="checkpoint-9", file=False, entries=inside))  # b is two folders above checkpoint-9
code, said = p.run(60)
report("links through links are refused", "a link through another link" in said and not (p.out / "checkpoint-9").exists(), said)

# ---- the store
p = Place()
os.umask(0)
code, said = p.run(30)
modes = {oct(f.stat().st_mode & 0o777) for f in p.store.rglob("*") if f.is_file()}
folders = {oct(f.stat().st_mode & 0o777) for f in p.store.rglob("*") if f.is_dir()}
report("a store's files are the user's alone, whatever the mask", code == 0 and modes == {"0o600"} and folders == {"0o700"}, f"{modes} {folders} {said}")

# ---- a link with the name that a file will have while it is sent, planted in a store that others can write to
place, one, victim = Place().home, b"x" * 5000, Path(SCRATCH.name) / "victim"
victim.write_text("somebody's own")
(place / "one").write_bytes(one)
(place / "store/data").mkdir(parents=True)
for kind in ("symlink", "link"):
    getattr(os, kind)(victim, place / "store/data" / f"{kind}.part")
    p = subprocess.run([os.environ["BUILD"] + "/tests/save/store_tool", place / "store", "send", f"data/{kind}", place / "one"],
                       capture_output=True, text=True)
    report(f"a planted {kind} is not written through", p.returncode == 0 and victim.read_text() == "somebody's own"
           and (place / "store/data" / kind).read_bytes() == one, p.stdout + p.stderr)


def planted(what, name, plant):
    """Nothing that somebody else has put at a name of the store's is written through or waited for."""
    p = Place()
    (p.home / "victim").write_text("somebody's own")
    (p.store / name).parent.mkdir(parents=True)
    plant(p.home, p.store / name)
    code, said = p.run(30, "--keep-saves", "9")
    st = (p.store / name).lstat()
    report(f"{what} at {name} is replaced", code == 0 and (p.home / "victim").read_text() == "somebody's own"
           and not (p.home / "none").exists() and stat.S_ISREG(st.st_mode) and st.st_mode & 0o777 == 0o600 and p.begun() == [0],
           f"{code} {st} {said}")


for name in ("saves/0000000001-000001/manifest", "history/0000000001"):
    planted("a link to nothing", name, lambda home, at: at.symlink_to(home / "none"))
    planted("a pipe", name, lambda home, at: os.mkfifo(at))
planted("a link", "history/0000000001", lambda home, at: at.symlink_to(home / "victim"))
planted("a second name", "history/0000000001", lambda home, at: os.link(home / "victim", at))

# ---- a folder of the store that leads elsewhere, or into itself
for name in ("data", "saves", "lease", "history"):
    p = Place()
    p.store.mkdir()
    (p.home / "elsewhere").mkdir()
    (p.store / name).symlink_to(p.home / "elsewhere")
    code, said = p.run(30)
    report(f"{name} that is a link is refused and nothing is written through it", f"store/{name}' is a link" in said
           and not os.listdir(p.home / "elsewhere"), f"{code} {said}")

p = Place()
(p.store / "lease").mkdir(parents=True)
for i in range(30):
    (p.store / f"lease/again{i}").symlink_to(".")
code, said = p.run(30)
report("a store whose folders lead into themselves is not walked without end", code == 2 and "is a link" in said, f"{code} {said}")

code, said = Place().run(5, "--job", "..")
report("--job .. is refused", code == 2 and "dot" in said, said)
for name in ("", "a" * 256):
    p = Place()
    code, said = p.run(5, "--job", name)
    report(f"so is a name of {len(name)} bytes, before anything is written to the store", code == 2 and "1 to 255 bytes" in said
           and not any(p.store.rglob("*")), f"{code} {said}")
done()
