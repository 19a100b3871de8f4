#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Strangers on the machine of a training in several fare processes over TCP: they come first, send bytes, hold 200 connections, listen in,
repeat. The training ends in the same bits, all ranks are in its record, and nobody else can read the job's secret."""
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.path.insert(0, os.environ["TESTS"])
import stranger  # noqa: E402
from tap import done, report, skip  # noqa: E402

FARE = os.environ["FARE"]
TRAIN = Path(__file__).with_name("exchanging.py")
TOP = Path(tempfile.mkdtemp(prefix="fare-test-", dir=os.environ.get("TMPDIR")))
TOP.chmod(0o755)
STEPS, NOBODY = 40, 65534
ENV = {**os.environ, "FARE_METADATA": "off", "XDG_DATA_HOME": str(TOP / "data"), "MASTER_ADDR": "127.0.0.1", "PYTHONDONTWRITEBYTECODE": "1"}


class Job:
    """The fare processes of one job, as a cluster's operator starts them."""
    number = 30000 + os.getpid() % 20000

    def __init__(self, size=3, command=None, options=(), **env):
        self.folder = Path(tempfile.mkdtemp(dir=TOP))
        self.command = command or [sys.executable, str(TRAIN), str(self.folder), str(STEPS)]
        self.ranks, self.options = {}, ("--json", *options)
        Job.number += 1
        self.env = {**ENV, "WORLD_SIZE": str(size), "MASTER_PORT": str(Job.number), **env}

    def start(self, *ranks, command=None, **env):
        for rank in ranks:
            out, err = open(self.folder / f"out.{rank}", "w"), open(self.folder / f"err.{rank}", "w")
            self.ranks[rank] = subprocess.Popen([FARE, "run", "--no-ledger", *self.options, "--", *(command or self.command)],
                                                stdout=out, stderr=err, env={**self.env, "RANK": str(rank), **env}, umask=0)
        return self

    def port(self):
        return stranger.port_of(self.ranks[0].pid)

    def next_port(self):
        """Where its first process will listen, unless somebody is there: a stranger knows less."""
        self.start(0, command=["sleep", "20"])
        port = self.port()
        self.ranks[0].terminate()
        self.ranks.pop(0).wait()
        return port

    def end(self, seconds=60):
        self.codes = []
        for rank in sorted(self.ranks):
            try:
                self.codes.append(self.ranks[rank].wait(seconds))
            except subprocess.TimeoutExpired:
                self.ranks[rank].kill()
                self.codes.append("it hangs")
        self.err = {rank: (self.folder / f"err.{rank}").read_text() for rank in self.ranks}
        text = (self.folder / "out.0").read_text()
        self.run = json.loads(text)["runs"][0] if text.startswith("{") else {}
        self.taints = " ".join(t for t in self.run.get("taints", []) if "did not tell" in t)  # others are of the machine
        return self

    def results(self):
        return [p.read_text() for p in sorted(self.folder.glob("result.*"))]

    def said(self):
        return "\n".join([f"{rank}: {text[-300:]}" for rank, text in self.err.items()]
                         + [f"{self.codes} {self.run.get('ranks')} {self.run.get('ended')} {self.taints}", f"{self.results()}"])


def alone():
    """Without fare."""
    folder = Path(tempfile.mkdtemp(dir=TOP))
    p = [subprocess.Popen([sys.executable, TRAIN, folder, str(STEPS)], stdout=subprocess.DEVNULL,
                          env={**ENV, "RANK": str(r), "WORLD_SIZE": "3"}) for r in range(3)]
    return [one.wait() for one in p] == [0, 0, 0] and [p.read_text() for p in sorted(folder.glob("result.*"))]


def squatters():
    job = Job()
    port = job.next_port()
    words = [b"S", b"SSSSSSSS" * 16, os.urandom(64), None, bytes(64), b"SH" * 64, b"HTTP/1.1 400 Bad Request\r\n\r\n"]
    there = stranger.Squatter(stranger.following(port, 7), words)
    try:
        return job.start(0, 1, 2).end(), there.visits
    finally:
        there.close()


def flooded():
    job = Job()
    job.start(0)
    flood = stranger.Flood(job.port(), 200, [b"", b"S", os.urandom(80), bytes(20000)])
    try:
        return job.start(1, 2).end(), flood.opened
    finally:
        flood.close()


def relayed():
    """Rank 0 has the second port; what is at the first passes on what others say, and adds to it."""
    job = Job()
    port = job.next_port()
    relay = stranger.Relay(port, stranger.following(port, 2)[1], b"S" * 34)
    try:
        job.start(0).port()
        return job.start(1, 2).end(), relay.visits
    finally:
        relay.close()


def repeated():
    """What rank 1 said in one run is said again in the next, without it."""
    job = Job(2, ["sleep", "3"], FARE_JOIN="3")
    port = job.next_port()
    relay = stranger.Relay(port, stranger.following(port, 2)[1])
    job.start(0).port()
    job.start(1).end()
    relay.close()
    first = job.codes, job.run.get("ranks"), job.taints
    job.ranks.clear()
    job.start(0)
    answers = [stranger.repeat(job.port(), bytes(said)) for said in relay.spoken]
    return job.end(), first, [len(said) for said in relay.spoken], answers


def another_secret():
    job = Job(2, ["sleep", "3"], FARE_JOIN="2", FARE_JOIN_SECRET="0123456789abcdef")
    job.options = ()  # words for people
    job.start(0)
    port = job.port()
    answer = stranger.repeat(port, b"S" * 80, 0.5)
    return job.start(1, FARE_JOIN_SECRET="fedcba9876543210").end(), answer


def all_taken():
    job = Job(2, ["sleep", "1"], FARE_JOIN="2")
    there = stranger.Squatter(stranger.following(job.next_port(), stranger.TRIES), [b"S"])
    try:
        return job.start(0, 1).end()
    finally:
        there.close()


def no_secret():
    job = Job(2, ["sleep", "1"], FARE_JOIN="2", HOME="", XDG_DATA_HOME="")
    job.options = ()
    return job.start(0, 1).end()


def stopped():
    job = Job(2, ["sleep", "30"], options=("--max-time", "3"))
    return job.start(0, 1).end()


def as_nobody(path):
    """Whether user `nobody` can read it."""
    return subprocess.run(["cat", path], capture_output=True, user=NOBODY, group=NOBODY, extra_groups=[]).returncode == 0


def private():
    """The job's secret in a file that is named: what of it other users can see."""
    file, secret = TOP / "secret", "n0b0dy-kn0ws-this-0ne"
    file.write_text(secret + "\n")
    file.chmod(0o600)
    job = Job(2, ["sleep", "2"], FARE_JOIN_SECRET_FILE=str(file)).start(0, 1)
    job.port()
    shown = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            shown += [pid] * (secret.encode() in Path("/proc", pid, "cmdline").read_bytes() + Path("/proc", pid, "environ").read_bytes())
        except OSError:
            pass
    readable = [name for name in ("environ", "mem") if os.geteuid() == 0 and as_nobody(f"/proc/{job.ranks[1].pid}/{name}")]
    return job.end(), shown, readable


def refused(mode, text):
    file = Path(tempfile.mkdtemp(dir=TOP)) / "s"
    file.write_text(text)
    file.chmod(mode)
    job = Job(2, ["touch", str(file) + ".ran"], FARE_JOIN_SECRET_FILE=str(file)).start(0)
    return job.end(), (file.parent / "s.ran").exists()


def together(job):
    return job.codes == [0, 0, 0] and job.run.get("ranks") == 3 and job.run.get("ended") == "finished" and not job.taints


try:
    with ThreadPoolExecutor(13) as pool:
        wanted, squat, flood, relay, again, other, taken, none, stop, seen = [pool.submit(f) for f in (
            alone, squatters, flooded, relayed, repeated, another_secret, all_taken, no_secret, stopped, private)]
        open_file, short, missing = pool.submit(refused, 0o640, "x" * 20), pool.submit(refused, 0o600, "x" * 15), pool.submit(refused, 0, "")
        truth = wanted.result()
        report("the training, without fare and strangers", truth and len(truth) == 3 and len(set(truth)) == 1, truth)
        job, visits = squat.result()
        report("strangers at seven of eight ports, who came first and say stop: the same bits, one record of three ranks",
               together(job) and job.results() == truth and visits >= 7, f"{job.said()}\n{visits} visits")
        job, opened = flood.result()
        report("200 held connections, a byte, garbage: the same bits, one record of three ranks",
               together(job) and job.results() == truth and opened >= 200, f"{job.said()}\n{opened} opened")
        job, visits = relay.result()
        report("one who passes everything on and adds to it: the same bits, one record of three ranks",
               together(job) and job.results() == truth and visits > 0, f"{job.said()}\n{visits} visits")
        job, first, lengths, answers = again.result()
        report("one who passes everything on can do no more than that", first == ([0, 0], 2, ""), first)
        report("what was recorded is no proof: rank 1 was never heard of", "rank 1 was never heard of" in job.taints and job.codes == [0]
               and max(lengths) > 1000 and not any(b"H" == a[:1] for a in answers), (lengths, job.said()))
        report("so it is said, with the address and the reason", "; rank 0 refused " in job.taints and ", the last from 127.0.0.1: it " in job.taints,
               job.said())
        job, answer = other.result()
        report("a rank with another secret is not let in", "rank 1 was never heard of; rank 0 refused 1 connection, the last from 127.0.0.1: "
               "it does not know the job's secret" in job.err[0] and answer == b"" and job.codes == [0, 0], job.said())
        report("both say where their secret is from and what is needed", all("the secret of the job is from FARE_JOIN_SECRET; all its machines need "
               "the same: FARE_JOIN_SECRET_FILE names a file, mode 600" in e for e in job.err.values()), job.said())
        job = taken.result()
        report("strangers at all of rank 0's ports: the commands go on, and it is said", job.codes == [0, 0]
               and "rank 0 could not listen: ports " in job.taints and "the record lacks this part" in job.err[1], job.said())
        job = none.result()
        report("without any secret: the commands go on, and both say what is needed", job.codes == [0, 0]
               and all("there is no secret of the job: " in e and "FARE_JOIN_SECRET_FILE names a file" in e for e in job.err.values()), job.said())
        job = stop.result()
        report("a job that rank 0 ends as it was asked: the others say so", "rank 1: rank 0 ended the job (max-time)" in job.err[1]
               and job.codes == [0, 0], job.said())
        job, shown, readable = seen.result()
        report("a secret in a file is in no command line and no environment", job.codes == [0, 0] and job.run.get("ranks") == 2 and shown == [],
               (shown, job.said()))
        made = TOP / "data/fare/join.secret"
        report("the user's own file has mode 0600, also with umask 0", made.exists() and made.stat().st_mode & 0o777 == 0o600
               and len(made.read_text().strip()) >= 32 and list(made.parent.glob("join.secret*")) == [made], list(made.parent.glob("*")))
        if os.geteuid() == 0:
            made.parent.chmod(0o755)
            report("another user can read neither that file nor a rank's environment", not as_nobody(made) and as_nobody(TRAIN.parent.parent / "tap.py")
                   and readable == [], readable)
        else:
            skip("another user can read neither that file nor a rank's environment", "needs root")
        job, ran = open_file.result()
        report("a file that others can read is refused before the command starts", job.codes == [2] and not ran
               and "is not for this user alone (mode 640" in job.err[0] and "chmod 600" in job.err[0], job.said())
        job, ran = short.result()
        report("so is one that is too short", job.codes == [2] and not ran and "is shorter than 16 bytes" in job.err[0], job.said())
        job, ran = missing.result()
        report("and one that is empty, with how to make one", job.codes == [2] and not ran and "/dev/urandom" in job.err[0], job.said())
finally:
    shutil.rmtree(TOP, ignore_errors=True)
done()
