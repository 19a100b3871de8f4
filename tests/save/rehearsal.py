#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Rehearsals of lost machines: a job is interrupted at random moments until it has finished.

    tests/save/rehearsal.py FARE [--count N] [--first N] [--at-once N] [SEED]

Each has its own seed, such as 7-12, which replays it alone. In each: the job finishes; its result is that of an
uninterrupted run, bit for bit (one in forty is fare's own mlp, one in ten saves to an S3 server); no partial checkpoint was resumed; two
live copies never made progress; the work lost by an interruption is at most the interval and one checkpoint, and after every start all
saves are there that must be (rehearsal_log.py says how both are judged); and where a store or a folder is wrong for one start (away, full,
with errors, lying), that start ends before the job begins and nobody else's file is written. Exit code 1 if one failed."""
import argparse
import atexit
import errno
import hashlib
import json
import os
import random
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import lying_store  # noqa: E402
import rehearsal_log  # noqa: E402
import s3_server  # noqa: E402
from rehearsal_log import Fault  # noqa: E402

EVERY_S = 0.4       # --save-every
LEASE_S = 1.5       # --lease
STEP_MS, PERIOD = 20, 5
BUCKETS_AT_ONCE = 3  # one server answers more of them too late for their leases
KINDS = ["job", "fare", "machine", "term", "notice", "short notice", "pause", "store down", "slow start"]
ON_DISK, ON_S3 = ["disk full"], ["network cut", "slow network"]  # more of them, by kind of store
# The machine is lost, and for its successor's start something is wrong; then it is right again.
WRONG_STARTS = ["folder gone", "planted link", "data away", "store lies", "saves lie", "newest lies"]
DISK_ERRORS = ["folder errors", "store errors"]  # EIO, ENOSPC or EACCES, by fake_disk.c
LIES = [f"bucket: {lie}" for lie in lying_store.LIES]
UNUSABLE = 74  # exit code: there are checkpoints, and none can be used
LASTING = {"store down", "slow start", "pause", "disk full", "network cut", "slow network"}  # the job may go on
counts, lock, ending = {}, threading.Lock(), threading.Event()
playing, once = set(), threading.Lock()  # under way; of what all of them share and the first one makes


class Ended(Exception):
    """The run was told to end: what is under way proves nothing."""


def count(what, n=1):
    with lock:
        counts[what] = counts.get(what, 0) + n


def children(pid):
    """All descendants, by /proc."""
    parents = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                stat = Path(f"/proc/{name}/stat").read_text()
                parents.setdefault(int(stat[stat.rindex(")") + 2:].split()[1]), []).append(int(name))
            except (OSError, ValueError):
                pass
    found, todo = [], [pid]
    while todo:
        below = parents.get(todo.pop(), [])
        found += below
        todo += below
    return found


def send(pids, number):
    for pid in pids:
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            pass


def lose(fare):
    """The machine is gone, with all of its processes at once."""
    everything = [fare.pid, *children(fare.pid)]
    send(everything, signal.SIGSTOP)
    send({*everything, *children(fare.pid)}, signal.SIGKILL)


class Link:
    """The network between a machine and the S3 server: it can be cut, or slow. `note` is told of each save that the server has."""

    def __init__(self, port, note):
        self.to, self.down, self.delay, self.open, self.note = port, False, 0.0, set(), note
        self.socket = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.port = self.socket.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                near = self.socket.accept()[0]
                if self.down:
                    near.close()
                    continue
                far = socket.create_connection(("127.0.0.1", self.to), 10)
            except OSError:
                if self.socket.fileno() < 0:
                    return
                continue
            self.open |= {near, far}
            asked = []  # of what is under way
            for a, b in ((near, far), (far, near)):
                threading.Thread(target=self.copy, args=(a, b, asked, a is near), daemon=True).start()

    def copy(self, a, b, asked, asks):
        try:
            while data := a.recv(65536):
                if asks and data.startswith((b"PUT ", b"GET ", b"HEAD ", b"DELETE ", b"POST ")):
                    asked[:] = [data]
                elif asks and asked:
                    asked[0] += data
                elif not asks and asked and data.startswith(b"HTTP/1.1 200"):
                    what = rehearsal_log.noted_request(asked.pop())
                    if what:
                        self.note(what)
                time.sleep(self.delay)
                b.sendall(data)
        except OSError:
            pass
        for one in (a, b):
            self.open.discard(one)
            try:
                one.shutdown(socket.SHUT_RDWR)
                one.close()
            except OSError:
                pass

    def cut(self):
        self.down = True
        for one in list(self.open):
            try:
                one.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass


class Server:
    """Swift, started once, if it is installed."""
    swift, tried = None, False

    @classmethod
    def get(cls):
        with once:
            if not cls.tried:
                cls.tried = True
                if not s3_server.Swift.missing():
                    cls.dir = tempfile.mkdtemp(prefix="fare-swift-")
                    cls.swift = s3_server.Swift(cls.dir)
                    cls.swift.make_bucket("jobs")
                    atexit.register(cls.end)
            return cls.swift

    @classmethod
    def end(cls):
        cls.swift.stop()
        shutil.rmtree(cls.dir, ignore_errors=True)


class Rehearsal:
    limit_s = 600  # a job that does not end; on a machine with a load of 40, a bucket answered too late for minutes

    def __init__(self, fare, seed):
        self.fare, self.seed, self.random = fare, seed, random.Random(seed)
        self.dir = Path(tempfile.mkdtemp(prefix="fare-rehearsal-"))
        self.store, self.log = self.dir / "store", self.dir / "log"
        self.kind = self.random.choice(["zip", "safetensors", "folder", "raw"])
        self.steps = self.random.randint(80, 160)
        self.lease_s = LEASE_S
        self.disk = Path(os.environ.get("BUILD", fare.rsplit("/", 1)[0])) / "tests/save/fake_disk.so"
        self.wrong = WRONG_STARTS + (DISK_ERRORS if self.disk.exists() and "sanitize" not in fare else [])
        self.kinds = KINDS + self.wrong + (ON_DISK if self.mount() else [])
        self.plan = [self.random.choice(self.kinds) for _ in range(self.random.randint(1, 4))]
        self.machines, self.faults, self.alive = 0, [], []  # faults of the store: from, to
        self.notes, self.noted_by = self.dir / "notes", self.disk.with_name("fake_notes.so")
        self.noted = "sanitize" not in fare  # else what the notes show is not judged
        self.start_times, self.were_wrong, self.kept = {}, set(), rehearsal_log.Kept()  # starts, by name
        self.announced = {}  # by start: when its machine would be gone
        self.paused = {}  # by start: when its machine stood still and when it woke up

    def mount(self):
        """A store that can be full. Without the right to mount, there is none."""
        self.store.mkdir()
        return subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "none", str(self.store)], stderr=subprocess.DEVNULL).returncode == 0

    # ---- machines

    def command(self, home):
        return [self.fare, "run", "--no-cloud", "--no-trace", "--save", str(self.store), "--save-every", f"{int(EVERY_S * 1e3)}ms",
                "--lease", f"{int(self.lease_s * 1e3)}ms", "--checkpoints", "out", "--grace", "2s", "--checkpoint-patience", "1s",
                "--notice", f"signal@3s,file:{home}/notice", "--on-notice", "USR1",
                "--", "/usr/bin/python3", "-S", "-E", str(HERE / "job.py"), "out", str(self.steps), str(STEP_MS), str(PERIOD),
                self.kind, str(self.log), "{resume}"]

    def environment(self, home):
        return dict(os.environ, HOME=str(home), XDG_DATA_HOME=str(home / "data"), FARE_METADATA="off", TMPDIR=str(home))

    def place(self, elsewhere=False):
        fresh = self.machines == 0 or self.random.random() < 0.7 or elsewhere
        self.machines += fresh
        home = self.dir / f"machine-{self.machines}"
        home.mkdir(exist_ok=True)
        return home

    def preloaded(self, name, more):
        """The environment that notes what this start does."""
        if not self.noted:
            return {"FAKE_NOTES_OF": name}
        first = [more["LD_PRELOAD"]] if "LD_PRELOAD" in more else []
        return {"LD_PRELOAD": ":".join([*first, str(self.noted_by)]), "FAKE_NOTES": str(self.notes), "FAKE_NOTES_OF": name}

    def network(self, name):
        return {}

    def start(self, elsewhere=False, home=None, more=None):
        if more is None:
            self.settle()
        name = f"start-{len(self.alive) + 1}"
        home = home or self.place(elsewhere)
        (home / "notice").unlink(missing_ok=True)
        env = {**self.environment(home), **self.network(name), **(more or {}), **self.preloaded(name, more or {})}
        if more is not None:
            self.were_wrong.add(name)
        self.start_times[name] = time.monotonic()
        with open(self.said(name), "ab") as said:
            fare = subprocess.Popen(self.command(home), cwd=home, env=env, stdin=subprocess.DEVNULL, stdout=said, stderr=said,
                                    start_new_session=True)
        fare.home, fare.name = home, name
        self.alive.append(fare)
        if ending.is_set():
            raise Ended
        return fare

    def said(self, name):
        return self.dir / f"said-{name}"

    def wait(self, fare, seconds):
        try:
            return fare.wait(seconds)
        except subprocess.TimeoutExpired:
            return None

    # ---- interruptions

    def interrupt(self, what, fare):
        now = time.monotonic()
        if what == "job":
            send(self.jobs(fare), signal.SIGKILL)
        elif what == "fare":
            send([fare.pid], signal.SIGKILL)
        elif what == "machine":
            lose(fare)
        elif what == "term":
            self.announced[fare.name] = now + 3  # --notice signal@3s
            send([fare.pid], signal.SIGTERM)
        elif what in ("notice", "short notice"):
            seconds = "4" if what == "notice" else "0.5"
            self.announced[fare.name] = now + float(seconds)
            (fare.home / "notice").write_text(seconds)
        elif what == "pause":
            self.pause(fare)
        elif what in ("store down", "disk full", "network cut", "slow network"):
            seconds = self.random.uniform(0.2, 3 * self.lease_s)
            getattr(self, what.replace(" ", "_"))(seconds)
            self.faults.append((now, time.monotonic()))

    def jobs(self, fare):
        """The processes of its job."""
        return [pid for pid in children(fare.pid) if self.is_job(pid)]

    def is_job(self, pid):
        try:
            return b"job.py" in Path(f"/proc/{pid}/cmdline").read_bytes() and b"--save" not in Path(f"/proc/{pid}/cmdline").read_bytes()
        except OSError:
            return False

    def pause(self, fare):
        """The machine stands still for longer than its lease; another one, with a disk of its own, takes over meanwhile. On one
        disk the job that wakes up could delete what the other is about to read."""
        everything = [fare.pid] + children(fare.pid)
        send(everything, signal.SIGSTOP)
        began = time.monotonic()
        other = self.start(elsewhere=True)
        self.wait(other, 2 * self.lease_s + self.random.uniform(0.5, 2))
        woken = time.monotonic()
        send(everything, signal.SIGCONT)
        self.paused[fare.name] = (began, woken)
        while self.noted and self.jobs(fare) and len(self.turns_after(fare.name, woken)) < 2:
            if time.monotonic() > woken + 60:
                raise Fault("fare did nothing for a minute after its machine woke up")
            time.sleep(0.1)
        self.wait(fare, 4)
        if fare.poll() is None and other.poll() is None:
            # The ousted one waits for the other: both live, one with a job.
            lose(fare)
        self.next = other

    def disk_full(self, seconds):
        fill = self.store / "fill"
        try:
            with open(fill, "wb", buffering=0) as file:
                for _ in range(2000):
                    file.write(b"x" * 1024)
        except OSError:
            pass
        time.sleep(seconds)
        fill.unlink(missing_ok=True)

    def store_down(self, seconds):
        if os.path.ismount(self.store):  # what cannot be renamed is covered
            subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4k,nr_inodes=1,ro", "none", str(self.store)])
            time.sleep(seconds)
            subprocess.run(["umount", "-l", str(self.store)])
            return
        away = self.dir / "store.away"
        try:
            self.store.rename(away)
        except OSError:
            return
        self.store.write_text("not a folder now")
        time.sleep(seconds)
        self.store.unlink()
        away.rename(self.store)

    # ---- starts at which something is wrong

    def names(self, below):
        """Of the store's objects."""
        return [str(path.relative_to(self.store)) for path in Path(self.store, below).rglob("*") if path.is_file()]

    def read(self, name):
        """None: it is not there."""
        try:
            return Path(self.store, name).read_bytes()
        except OSError:
            return None

    def is_whole(self, folder):
        """Marker, manifest and the data that it names, all with their sums."""
        try:
            manifest, sum_of = self.read(f"{folder}/manifest") or b"", lambda data: hashlib.sha256(data).hexdigest()
            if sum_of(manifest) != json.loads(self.read(f"{folder}/complete"))["manifest"]:
                return False
            entries = [entry for entry in json.loads(manifest)["entries"] if "data" in entry]
            return all(sum_of(self.read(entry["data"]) or b"") == entry["sha256"] for entry in entries)
        except (KeyError, TypeError, ValueError):
            return False

    def saves(self):
        """Those that are whole, those with a marker: (epoch, number)."""
        listed = [name.removesuffix("/complete") for name in self.names("saves") if name.endswith("/complete")]
        named = {rehearsal_log.name_of(folder.removeprefix("saves/")): folder for folder in listed}
        whole = {save for save, folder in named.items() if self.is_whole(folder)}
        # A bucket may list a marker that is gone, or have a killed fare's request to delete it under way.
        return whole, {save for save, folder in named.items() if save in whole or self.read(f"{folder}/complete") is not None}

    def bases(self):
        found = {}
        for name in self.names("lease"):
            if name.endswith("/base"):
                base = json.loads(self.read(name))
                found[int(name.split("/")[1])] = (base["epoch"], base["number"]), base.get("passed", False)
        return found

    def settle(self):
        """While no fare runs: what is in the store."""
        if any(fare.poll() is None for fare in self.alive):
            return
        count("looks at what is kept")
        self.kept.look(*self.saves(), self.bases(), rehearsal_log.Log(self.notes), self.start_times, self.were_wrong)

    def disk_error(self, what, home):
        """The environment of a start whose disk fails."""
        number = self.random.choice([errno.EIO, errno.ENOSPC, errno.EACCES])
        below = home / "out" if what == "folder errors" else Path(self.store) / self.random.choice(["", "saves", "data"])
        return {"LD_PRELOAD": str(self.disk), "FAKE_DISK": f"{number}:{below}"}

    def make_wrong(self, what, home):
        """Returns how to make it right again, and what to add to the environment of the start."""
        if what in DISK_ERRORS:
            return lambda: None, self.disk_error(what, home)
        return self.make_store_wrong(what, home), {}

    def make_store_wrong(self, what, home):
        out, away, store = home / "out", home / "out.away", Path(self.store)
        if what == "folder gone":  # its disk is not mounted
            if out.exists():
                out.rename(away)
            out.symlink_to(self.dir / "unmounted/out")
            return lambda: (out.unlink(), away.exists() and away.rename(out))
        if what == "planted link":  # of every name that a checkpoint may have
            out.mkdir(exist_ok=True)
            (self.dir / "victim").write_text("somebody's own")
            for manifest in self.own("saves/*/manifest"):
                name = out / json.loads(manifest.read_text())["name"]
                if not os.path.lexists(name):
                    name.symlink_to(self.dir / "victim")
            self.plant_in_store(store)
            return lambda: None
        if what == "data away":
            (store / "data").rename(store / "away")
            return self.bring_data_back
        if what == "newest lies":
            pattern = "saves/{:010}-{:06}/manifest".format(*max(self.saves()[0]))
        else:
            pattern = "data/*/*" if what == "store lies" else "saves/*/*"
        lies = {p: p.read_bytes() for p in self.own(pattern)}
        for path, data in lies.items():
            path.write_bytes(bytes(b ^ 1 for b in data))
        return lambda: [path.write_bytes(data) for path, data in lies.items() if path.exists()]

    def own(self, pattern):
        """The store's files, without the links and pipes that an earlier fault planted there."""
        return [p for p in Path(self.store).glob(pattern) if p.is_file() and not p.is_symlink()]

    def plant_in_store(self, store):
        """What the next start will write has a name that can be foreseen: a link or a pipe is there already."""
        epoch = 1 + max((int(p.name) for p in store.glob("lease/*") if p.name.isdigit()), default=0)
        for name in (f"history/{epoch:010}", f"saves/{epoch:010}-000001/manifest"):
            at = store / name
            at.parent.mkdir(parents=True, exist_ok=True)
            if not os.path.lexists(at):
                self.random.choice([os.mkfifo, lambda at: os.symlink(self.dir / "none", at)])(at)

    def bring_data_back(self):
        """To what a start has saved meanwhile, which had the rest on its own disk."""
        store = Path(self.store)
        for path in store.glob("away/*"):
            (store / "data").mkdir(exist_ok=True)
            shutil.copytree(path, store / "data" / path.name, dirs_exist_ok=True)
        shutil.rmtree(store / "away")

    def passes_over(self, other, begun):
        """Whether it goes on, from a save before the newest; or ends, where there is none."""
        until = time.monotonic() + 4 * self.lease_s + 60
        while other.poll() is None and time.monotonic() < until:
            if [line for line in self.lines()[begun:] if line[2] == "start"]:
                count("starts that passed over the newest save")
                return True
            time.sleep(0.05)
        return False

    def start_wrong(self, what, fare):
        lose(fare)
        fare.wait()
        self.settle()
        before, begun, home = self.saves()[0], len(self.lines()), self.place()
        if not before:
            return
        right, more = self.make_wrong(what, home)
        if what == "planted link":  # harms nobody: it goes on
            self.next = self.start(home=home)
            return
        began = time.monotonic()
        other = self.start(home=home, more=more)
        if what == "newest lies" and self.passes_over(other, begun):
            right()
            self.next = other
            return
        code = self.wait(other, 4 * self.lease_s + 60)
        self.faults.append((began, time.monotonic()))
        if code is None:
            lose(other)
            other.wait()
        right()
        first = [int(line[3]) for line in self.lines()[begun:] if line[2] == "start"]
        # The same machine has the bytes on its own disk and goes on; or the job had ended before.
        if (first and first[0] > 0) or (code == 0 and not first and self.finals()):
            count("wrong starts that could go on")
            return
        # A store that cannot be asked at all is refused, or has failed, before there is anything to use.
        refused = code in (1, 2) and (what in LIES or what == "store errors")
        count("starts that ended because the store failed" if refused else "starts that ended because no checkpoint could be used")
        if (code != UNUSABLE and not refused) or first:
            raise Fault(f"{what}: it did not end with code {UNUSABLE}, but {code}; the job was started from {first}; {more}")
        if not before <= self.saves()[0]:
            raise Fault(f"{what}: {before - self.saves()[0]} is gone")

    # ---- the whole

    def await_save(self, fare, until):
        """A start at which something is wrong shows nothing where nothing was saved."""
        while time.monotonic() < until and not rehearsal_log.Log(self.notes).confirmed():
            code = self.wait(fare, 0.1)
            if code is not None or not self.noted:
                return code
        return None

    def play(self):
        if self.noted and not self.noted_by.exists():
            raise Fault(f"{self.noted_by} is not built")
        self.next = None
        until, todo = time.monotonic() + self.limit_s, list(self.plan)
        while time.monotonic() < until:
            fare, self.next = self.next or self.start(), None
            if todo:
                what = todo.pop(0)
                code = self.wait(fare, self.random.uniform(0.3, 2.2) + (self.lease_s if what != "slow start" else 0))
                if code is None and what in self.wrong:
                    code = self.await_save(fare, until)
                if code is None:
                    count(what)
                    if what in self.wrong:
                        self.start_wrong(what, fare)
                        continue
                    self.interrupt(what, fare)
                    if what in LASTING:
                        continue_with = self.next or fare
                        if continue_with.poll() is None:
                            self.next = continue_with
                        continue
            code = self.wait(fare, max(1, until - time.monotonic()))
            if code == 0 and self.finals():
                break
            if code == 2:
                raise Fault("a usage error")
            if any(line[2] == "partial" for line in self.lines()):
                raise Fault("a partial checkpoint was resumed")
        else:
            raise Fault("it did not finish in time")
        for fare in self.alive:
            if fare.poll() is None and self.wait(fare, 60) is None:
                raise Fault("a stand-by did not end with the job")
        self.settle()
        self.judge()

    def lines(self):
        try:
            return [line.split() for line in self.log.read_text().splitlines()]
        except OSError:
            return []

    def finals(self):
        return [line[3] for line in self.lines() if line[2] == "final"]

    def expected(self):
        state = "0"
        for step in range(self.steps):
            state = hashlib.sha256(f"{state}{step}".encode()).hexdigest()
        return state

    def judge(self):
        lines = self.lines()
        if set(self.finals()) != {self.expected()}:
            raise Fault(f"the result differs: {self.finals()}")
        for line in lines:
            if line[2] == "partial":
                raise Fault("a partial checkpoint was resumed: " + " ".join(line))
        if (self.dir / "victim").exists() and (self.dir / "victim").read_text() != "somebody's own":
            raise Fault("a planted link was written through")
        if (self.dir / "none").exists():
            raise Fault("a link planted in the store was written through")
        self.judge_copies(lines)
        self.judge_loss(lines)

    def copies(self, lines):
        """In the order of their starts: first and last line, first and last step."""
        found = {}
        for who, at, what, *rest in lines:
            c = found.setdefault(who, {"from": float(at), "first": 0, "of": None, "steps": {}})
            c["to"] = float(at)
            if what == "start":
                c["first"], c["of"] = int(rest[0]), rest[1]
            if what == "step":
                c["steps"][int(rest[0])] = float(at)
        in_order = sorted(found.values(), key=lambda c: c["from"])
        return sorted(in_order, key=lambda c: self.began(c, in_order))

    def began(self, c, others):
        """A copy that stood still while it started says so when it has woken up, beside the one that took over."""
        began, woken = self.paused.get(c["of"], (0, c["to"]))
        return began if woken <= c["from"] and any(began <= o["from"] < c["from"] < o["to"] for o in others) else c["from"]

    def turns_after(self, start, at):
        return [turn for turn in rehearsal_log.Log(self.notes).turns(start) if turn > at]

    def awake(self, c):
        """From when to when a copy on a machine that stood still may make steps: fare looks at its lease in every turn of its loop, so
        that the second turn that begins after the machine woke up follows such a look."""
        if c["of"] not in self.paused:
            return 0, 0
        woken = self.paused[c["of"]][1]
        turns = self.turns_after(c["of"], max(woken, c["from"]))
        return woken, turns[1] if len(turns) > 1 else float("inf")

    def judge_copies(self, lines):
        copies = self.copies(lines)
        for a, b in zip(copies, copies[1:]):
            late = [at for at in a["steps"].values() if at > b["from"]]
            woken, until = self.awake(a) if late else (0, 0)
            stale = [at for at in late if not woken <= at <= until]
            count("steps by a copy that woke up", len(late) - len(stale))
            if stale:
                raise Fault(f"two copies made progress: {len(stale)} steps, up to {max(stale) - b['from']:.2f} s late")

    def judge_loss(self, lines):
        log = rehearsal_log.Log(self.notes)
        steps, starts = log.steps(), log.bases()
        for name in self.start_times:
            faults = self.faults + [(self.announced.get(name, float("inf")), float("inf"))]
            count("looks at which a save was due",
                  rehearsal_log.judge_start(log, name, lines, self.kind, EVERY_S, self.lease_s, faults, self.said(name).read_text()))
            bases = [base for epoch, (base, _) in self.kept.known.items() if starts.get(epoch) == name]
            for line in lines:
                if line[2:3] == ["start"] and line[4] == name and all(b in steps or b == (0, 0) for b in bases):
                    if int(line[3]) not in [steps.get(base, 0) for base in bases]:
                        raise Fault(f"{name} resumed step {line[3]}, and began from {[(b, steps.get(b, 0)) for b in bases]}")
        self.count_loss(self.copies(lines))

    def count_loss(self, copies):
        for a, b in zip(copies, copies[1:]):
            if not a["steps"] or any(began <= a["to"] <= ended for began, ended in [*self.faults, *self.paused.values()]):
                continue
            kept = [at for step, at in a["steps"].items() if step <= b["first"]]
            count("ms lost", int((a["to"] - (max(kept) if kept else a["from"])) * 1e3))
            count("losses")

    def close(self, keep):
        for fare in self.alive:
            if fare.poll() is None:
                lose(fare)
                fare.wait()
        while os.path.ismount(self.store):
            if subprocess.run(["umount", "-l", str(self.store)], stderr=subprocess.DEVNULL).returncode != 0:
                break
        if not keep:
            shutil.rmtree(self.dir, ignore_errors=True)


class OnS3(Rehearsal):
    """The store is a bucket behind a network that fails."""

    def mount(self):
        return False

    def __init__(self, fare, seed):
        super().__init__(fare, seed)
        self.lease_s = 2.0
        self.links, self.beyond = [], Server.get().ports["proxy"]  # of each start; where they lead
        self.prefix = f"{seed}-{time.monotonic_ns()}"
        self.store = f"s3://jobs/{self.prefix}"
        self.wrong = [what for what in self.wrong if what in ("folder gone", "folder errors")] + LIES
        kinds = [k for k in KINDS if k != "store down"] + 3 * ON_S3
        self.plan = [self.random.choice(self.wrong if self.random.random() < 0.5 else kinds) for _ in range(self.random.randint(1, 3))]

    def network(self, name):
        def note(what):
            with open(self.notes, "a") as file:
                file.write(f"{name} network {time.monotonic():.6f} {what}\n")
        self.links.append(Link(self.beyond, note))
        return Server.get().environment(AWS_ENDPOINT_URL=f"http://127.0.0.1:{self.links[-1].port}")

    def names(self, below):
        status, listed = Server.get().ask("GET", "/jobs", "list-type=2&prefix=" + urllib.parse.quote(f"{self.prefix}/{below}/", safe=""))
        assert status == 200 and b"<IsTruncated>false" in listed, listed
        return [key.removeprefix(f"{self.prefix}/") for key in re.findall(r"<Key>([^<]*)</Key>", listed.decode())]

    def read(self, name):
        status, data = Server.get().ask("GET", f"/jobs/{self.prefix}/{name}")
        assert status in (200, 404), status
        return data if status == 200 else None

    def make_wrong(self, what, home):
        if what not in LIES:
            return super().make_wrong(what, home)
        lie, liar = what.removeprefix("bucket: "), lying_store.LyingStore(Server.get())
        liar.huge = 1 << 25  # what a manifest may have
        about = self.random.choice(["", "saves", "data"] if lie in lying_store.OBJECTS else ["", "saves", "lease"])
        liar.lie(lie, about)
        self.beyond = liar.listener.server_address[1]
        return lambda: self.end_lies(liar), {}

    def end_lies(self, liar):
        self.beyond = liar.port
        liar.listener.shutdown()

    def network_cut(self, seconds):
        for link in self.links:
            link.cut()
        time.sleep(seconds)
        for link in self.links:
            link.down = False

    def slow_network(self, seconds):
        delay = self.random.uniform(0.05, 0.3)
        for link in self.links:
            link.delay = delay
        time.sleep(seconds)
        for link in self.links:
            link.delay = 0.0

    def close(self, keep):
        super().close(keep)
        for link in self.links:
            link.socket.close()
            link.cut()


class Native(Rehearsal):
    """One of fare's own trainings, instead of a command."""
    reference = None
    TRAINING = ["run", "mlp", "--full", "--epochs", "1", "--batch", "500", "--threads", "1", "--no-cloud"]

    def __init__(self, fare, seed):
        super().__init__(fare, seed)
        self.kind = "mlp"
        self.plan = [what for what in self.plan if what not in ("job", "pause", *self.wrong)] or ["machine"]
        # Its checkpoints have eight megabytes.
        subprocess.run(["umount", "-l", str(self.store)], stderr=subprocess.DEVNULL)
        with once:
            if Native.reference is None:
                Native.reference = self.train(self.dir / "reference", ["--checkpoint", "out"])

    def train(self, home, more):
        home.mkdir()
        subprocess.run([self.fare, *self.TRAINING, "--no-ledger", *more], cwd=home, env=self.environment(home), check=True,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
        return self.last(home)

    def last(self, home):
        """The hash of the last checkpoint: parameters and optimizer state."""
        found = sorted(home.rglob("mlp-*.safetensors"), key=lambda p: p.name)
        return (found[-1].name, hashlib.sha256(found[-1].read_bytes()).hexdigest()) if found else None

    def command(self, home):
        return [self.fare, *self.TRAINING, "--save", str(self.store), "--save-every", f"{int(EVERY_S * 1e3)}ms",
                "--lease", f"{int(LEASE_S * 1e3)}ms", "--notice", f"signal@3s,file:{home}/notice"]

    def finals(self):
        """Of the last machine that trained: one that comes after the end finds it finished, and has none."""
        return [next(filter(None, (self.last(fare.home) for fare in reversed(self.alive))), None)]

    def judge(self):
        if self.finals() != [self.reference]:
            raise Fault(f"the parameters differ: {self.finals()}, {self.reference}")


def on_bucket(seed):
    return int(seed.split("-")[1]) % 10 == 3


def one(fare, seed):
    """Its fault, or None, and the seconds that it took."""
    if ending.is_set():
        return None, 0.0
    began, fault, r = time.monotonic(), None, None
    try:
        native, s3 = int(seed.split("-")[1]) % 40 == 7, on_bucket(seed) and Server.get()
        r = (Native if native else OnS3 if s3 else Rehearsal)(fare, seed)
        playing.add(r)
        r.play()
    except Exception as why:
        words = str(why) if isinstance(why, Fault) else f"{type(why).__name__}: {why}"
        fault = f"{seed} ({r.kind}, {', '.join(r.plan)}): {words}; see {r.dir}" if r else f"{seed}: {words}"
    cut = ending.is_set()
    playing.discard(r)
    if r:
        r.close(fault is not None and not cut)
    count("rehearsals cut by the end of the run" if cut else "rehearsals")
    return None if cut else fault, time.monotonic() - began


def end(*_):
    """No more are begun, and those under way are cut."""
    ending.set()
    for fare in [fare for r in list(playing) for fare in r.alive if fare.poll() is None]:
        lose(fare)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("fare")
    parser.add_argument("seed", nargs="?", default="1")
    parser.add_argument("--count", type=int, default=40)
    parser.add_argument("--first", type=int, default=1)
    parser.add_argument("--at-once", type=int, default=10)
    args = parser.parse_intermixed_args()
    fare = str(Path(args.fare).resolve())
    seeds = [args.seed] if "-" in args.seed else [f"{args.seed}-{i}" for i in range(args.first, args.first + args.count)]
    faults, began = [], time.monotonic()
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, end)
    def play(seed):
        fault, _ = one(fare, seed)
        if fault:
            faults.append(fault)
            print("fault:", fault, flush=True)
    with ThreadPoolExecutor(args.at_once) as pool, ThreadPoolExecutor(BUCKETS_AT_ONCE) as buckets:
        for seed in seeds:
            (buckets if on_bucket(seed) else pool).submit(play, seed)
    for what, n in sorted(counts.items()):
        print(f"{n:8} {what}")
    print(f"{len(faults):8} faults in {time.monotonic() - began:.0f} s")
    sys.exit(bool(faults))


if __name__ == "__main__":
    main()
