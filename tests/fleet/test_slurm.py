#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""`fare run --on slurm` on a real Slurm of four nodes: a dozen measurements while a node is killed, one is drained, a job is put back into
the queue and slurmctld is away for a while: a record each, none twice. Then cancelling, a dispatcher that is killed, settings and words
that look like options, quotes and commands, and what Slurm refuses. Needs root, Slurm and munge. With --jobs N it queues N jobs instead
and measures the dispatcher (docs/many-machines-slurm.md); with --count N it makes N measurements with faults at random (make soak)."""
import argparse
import io
import json
import os
import random
import re
import signal
import subprocess
import sys
import tarfile
import tempfile
import time
from pathlib import Path
from threading import Timer

ROOT = os.environ.get("ROOT", str(Path(__file__).resolve().parents[2]))
FARE = os.environ.get("FARE", f"{ROOT}/build/fare")
sys.path.insert(0, os.path.join(ROOT, "tests"))
from slurm import Slurm, wait_for, why_not  # noqa: E402
from tap import done, report, skip  # noqa: E402

parser = argparse.ArgumentParser()
parser.add_argument("--jobs", type=int)
parser.add_argument("--count", type=int)
parser.add_argument("--only", choices=("faults", "cancelling", "killed", "words", "types", "pushing"))
parser.add_argument("--seed", type=int, default=int(time.time()))
given = parser.parse_args()
if why_not():
    skip("measurements on Slurm", why_not())
    done()

scratch = tempfile.TemporaryDirectory(prefix="fare-slurm-", dir="/tmp")
top = Path(scratch.name)
NODES = ["n1", "n2", "n3", "n4"]
slurm = Slurm(top, {n: "CPUs=2 " + ("Gres=gpu:a100:1 Feature=zen4,ib" if n < "n3" else "Feature=zen3") for n in NODES}, """\
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
GresTypes=gpu
SchedulerParameters=bf_interval=1,sched_interval=1,sched_min_interval=0
KillWait=5
SlurmdTimeout=10
MaxJobCount=20000
PartitionName=all Nodes=n1,n2,n3,n4 Default=YES
PartitionName=off Nodes=n4 State=DOWN""", gres="NodeName=n1 Name=gpu Type=a100 File=/dev/null\nNodeName=n2 Name=gpu Type=a100 File=/dev/null\n")
text = f'#!/bin/sh\nexec {FARE} "$@"\n'.encode()
with tarfile.open(top / "bundle.tar.gz", "w:gz") as tar:
    info = tarfile.TarInfo("fare-test/fare")
    info.mode, info.size = 0o755, len(text)
    tar.addfile(info, io.BytesIO(text))
env = {**slurm.env, "FARE_BUNDLE": str(top / "bundle.tar.gz"), "XDG_CACHE_HOME": str(top / "cache")}
number = 0


class Run:
    """One `fare run --on`, with a data folder and a ledger of its own."""

    def __init__(self, *args, json_=True):
        global number
        number += 1
        self.dir = top / f"run {number}"  # the space is on purpose
        self.folder = self.dir / "folder"
        self.folder.mkdir(parents=True)
        (self.folder / "data.txt").write_text("brought")
        self.env = {**env, "XDG_DATA_HOME": str(self.dir / "data"), "FARE_LEDGER": str(self.dir / "ledger.db")}
        self.log = self.dir / "log"
        self.begin("run", "--no-cloud", "--no-trace", *(["--json"] if json_ else []), *args)

    def begin(self, *args):
        self.p = subprocess.Popen([FARE, *args], cwd=self.folder, env=self.env, stdin=subprocess.DEVNULL, stdout=open(self.dir / "out", "w"),
                                  stderr=open(self.dir / "err", "a"), text=True)

    def end(self, seconds=150):
        """Its exit code; None: it did not end."""
        try:
            self.code = self.p.wait(seconds)
        except subprocess.TimeoutExpired:
            self.p.kill()
            self.p.wait()
            self.code = None
        self.said = (self.dir / "out").read_text()[-3000:] + (self.dir / "err").read_text()[-4000:]
        export = subprocess.run([FARE, "runs", "export", "-o", "-"], env=self.env, capture_output=True, text=True)
        self.records = [json.loads(line) for line in export.stdout.split("\n") if line]
        return self.code

    def tasks(self):
        try:
            return json.loads((self.dir / "out").read_text())["tasks"]
        except (ValueError, KeyError):
            return []

    def settings(self):
        """The labels x of the records, in order."""
        return sorted(int(r["labels"]["x"]) if isinstance(r.get("labels"), dict) else int(dict((e["key"], e["value"]) for e in r["labels"])["x"])
                      for r in self.records)

    def left(self):
        return list((self.dir / "data").glob("fare/fleet/*/slurm-*/*-*-*"))


def work(log, seconds):
    return ["/usr/bin/python3", "-S", "-E", "-c", f"import time, sys; open({str(log)!r}, 'a').write(sys.argv[1] + '\\n')\n"
            f"for i in range(10): print('step', i, flush=True); time.sleep({seconds / 10})", "{x}"]


WRITE = """import signal, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
print('step 1', flush=True)
while True:
    try:
        open(str(time.monotonic_ns()), 'w').close()
    except FileNotFoundError:
        sys.exit()
"""
WRITER = ["/usr/bin/python3", "-S", "-E", "-c", WRITE]  # no SIGTERM ends it


def unseen(run):
    """A process that Slurm does not know of, as on a node that is cut off: it writes file after file into the folder of a task."""
    p = subprocess.Popen(WRITER, cwd=next(run.dir.glob("data/fare/fleet/*/slurm-*/*-*-*/try-0/work")), stdout=subprocess.PIPE)
    p.stdout.readline()
    return p


def running():
    return slurm.tool("squeue", "-h", "-r", "-t", "R", "-o", "%F_%K %N").stdout.split("\n")[:-1]


def faults():
    """A dozen measurements, and what happens to their cluster."""
    run = Run("--on", "slurm:all", "--sweep", "x=1..12", "--no-bring", "--", *work(top / "log", 3))
    lost = Run("--on", "slurm:all", "--", "sh", "-c", f"cat data.txt >>{top / 'lost'}; test $(cat {top / 'lost'}) = broughtbrought || sleep 1000")
    report("jobs run on four nodes", wait_for(lambda: len({r.split()[1] for r in running()}) == 4, 60), slurm.said())
    slurm.tool("scontrol", "update", "nodename=n4", "state=drain", "reason=test")
    victim = next((r.split()[0] for r in running() if r.endswith("n2")), "")
    put_back = slurm.tool("scontrol", "requeue", victim)
    report("a job is put back into the queue", put_back.returncode == 0, put_back.stderr)
    slurm.end("n1", kill=True)  # its jobs run on, unseen
    time.sleep(1)
    slurm.end("ctld")
    time.sleep(6)
    slurm.start_controller()
    wait_for(lambda: slurm.tool("squeue").returncode == 0)
    time.sleep(12)
    slurm.start_node("n1")
    slurm.tool("scontrol", "update", "nodename=n4", "state=resume")
    report("a job whose script is killed begins", wait_for((top / "lost").exists, 60) and kill_job(lost), slurm.said())
    code = run.end(240)
    report("a killed node, a drained one, a requeued job, no slurmctld for 6 s: twelve records", code == 0 and run.settings() == list(range(1, 13)),
           f"{code} {run.settings()} {run.said}")
    tasks = run.tasks()
    report("time in the queue and running time are apart", len(tasks) == 12 and all(t["now"]["queue_s"] >= 0 and 2.5 < t["now"]["run_s"] < 120
                                                                                    for t in tasks)
           and max(t["now"]["queue_s"] for t in tasks) > 3, [t["now"] for t in tasks])
    report("no folder is left", not run.left(), run.left())
    report("a job that ended without a result starts again, with the folder", lost.end() == 0 and len(lost.records) == 1 and "lost; it starts again" in
           lost.said and not lost.left(), lost.said)


def kill_job(run):
    """Kills all processes of a run's job at once, behind Slurm's back; whether there were any."""
    pids = [int(p.name) for p in Path("/proc").glob("[0-9]*") if f"XDG_DATA_HOME={run.dir}/data".encode() in read(p / "environ")
            and b"SLURM_JOB_ID=" in read(p / "environ")]
    for pid in pids:
        os.kill(pid, signal.SIGKILL)
    return pids


def read(path):
    try:
        return path.read_bytes()
    except OSError:
        return b""


def cancelling():
    run = Run("--on", "slurm:all", "--sweep", "x=1..6", "--no-bring", "--", *WRITER, f"{top}/{{x}}")
    wait_for(lambda: len(running()) >= 4 and list(run.dir.glob("data/fare/fleet/*/slurm-*/*/try-0/work/*")))
    run.p.send_signal(signal.SIGINT)
    report("interrupted, it leaves the jobs", run.end() == 130 and len(running()) >= 4, run.said)
    writer = unseen(run)
    run.begin("runs", "cancel")
    Timer(8, writer.kill).start()  # KillWait is 5 s
    code = run.end()
    writer.wait()
    report("'fare runs cancel' waits for their end and removes what they write till then", code == 0 and slurm.tool("squeue", "-h").stdout == ""
           and not run.left() and "left" not in run.said.rsplit("interrupted", 1)[1], f"{code} {run.left()} {run.said} {slurm.tool('squeue').stdout}")
    report("no process of theirs is left", not subprocess.run(["pgrep", "-f", f"{top}/[1-6]$"], capture_output=True).stdout)
    run = Run("--on", "slurm:all", "--no-bring", "--", "sleep", "1000")
    wait_for(lambda: list(run.dir.glob("data/fare/fleet/*/slurm-*/*/try-0/started")))
    run.p.send_signal(signal.SIGINT)
    run.end()
    keep = next(run.dir.glob("data/fare/fleet/*/slurm-*/*-*-*/try-0")) / "keep"
    keep.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "none", keep], capture_output=True, text=True)
    run.begin("runs", "cancel")
    code = run.end()
    good = code == 0 and "a folder is left there: rm: cannot remove" in run.said and "1 cancelled" in run.said and "left out" not in run.said
    report("a folder that cannot be removed is named", good or mounted.returncode != 0, f"{code} {run.said}",
           skip="" if mounted.returncode == 0 else mounted.stderr.strip())
    subprocess.run(["umount", keep], capture_output=True)


def killed():
    """At any moment, also between sbatch and its answer; what was queued twice is measured once."""
    run = Run("--on", "slurm:all", "--sweep", "x=1..4", "--no-bring", "--", *work(top / "log3", 1))
    for pause in (0.3, 0.2, 0.6, 1):
        time.sleep(pause)
        run.p.send_signal(signal.SIGKILL)
        run.p.wait()
        run.begin("runs", "resume", "--json")
    code = run.end()
    report("a dispatcher that is killed four times: four records", code == 0 and run.settings() == [1, 2, 3, 4], f"{code} {run.said}")
    report("and four measurements", sorted((top / "log3").read_text().split()) == ["1", "2", "3", "4"], (top / "log3").read_text())


def words():
    hostile = ["a b", "'", '"', "$HOME", "`id`", "; touch x", "new\nline", "-n", "--help", "", "ünï", "\\", "*", "\r\n", "\x7f", "%A", "#SBATCH --hold"]
    run = Run("--on", "slurm", "--no-bring", "--", "/usr/bin/python3", "-S", "-E", "-c",
              f"import json, sys; json.dump(sys.argv[1:], open({str(top / 'seen')!r}, 'w')); print('step 1')", *hostile)
    code = run.end()
    seen = json.loads((top / "seen").read_text()) if (top / "seen").exists() else []
    report("words reach the command as they are", code == 0 and seen == hostile, f"{seen} {run.said}")
    for on, words in (("slurm:-x;touch x", "no partition"), ("slurm:all,gres=gpu:1;touch x", "gres"), ("slurm:all,constraint=$(touch x)", "slurm:all"),
                      ("slurm:all,account=--help,mem=a b", "slurm:all"), ("slurm:none", "no partition")):
        run = Run("--on", on, "--no-bring", "--", "true")
        run.end()
        report(f"{on}: a stated failure", run.code == 1 and not run.records and words in run.said, f"{run.code} {run.said}")
    for on, words in (("slurm:all,color=red", "unknown setting"), ("slurm:all,dir=here", "from the root"), ("slurm:all,push=http://x", "go together"), ("slurm:all,push=--help,token=/x", "not an address"),
                      ("slurm:all,each=node", "each=gpu")):
        run = Run("--on", on, "--", "true")
        report(f"{on} is refused", run.end() == 2 and words in run.said, run.said)
    report("nothing was touched", not list(top.rglob("x")), list(top.rglob("x")))


def types():
    shared = top / "shared place"
    run = Run("--on", f"slurm:all,each=gpu,dir={shared}", "--on", f"slurm:all,each=features,dir={shared}", "--no-bring", "--", "sh", "-c",
              "echo step 1; echo $SLURMD_NODENAME")
    code = run.end()
    places = sorted(t["now"]["place"] for t in run.tasks())
    report("one measurement for each GPU type and each set of features", code == 0 and len(run.records) == 3 and places == [
        f"slurm:all,dir={shared},constraint=zen3", f"slurm:all,dir={shared},constraint=zen4&ib", f"slurm:all,dir={shared},gres=gpu:a100:1"],
        f"{code} {places} {run.said}")
    report("in the folder named, where only the bundle is left", [p.name for p in shared.iterdir()] == ["fare-bundle"], list(shared.iterdir()))


def pushing():
    """Records also go to a `fare serve`; where they do not arrive, the user is told, and has them all the same."""
    for name, words in (("token", "correct-horse-battery-staple"), ("wrong token", "wrong-wrong-wrong-wrong")):
        (top / name).write_text(words + "\n")
        (top / name).chmod(0o600)
    server = subprocess.Popen([FARE, "serve", "--listen", "127.0.0.1:0", "--ledger", top / "team.db", "--token-file", top / "token"], env=slurm.env,
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    url = re.search(r"http://\S+", server.stdout.readline())[0]
    run = Run("--on", f"slurm:all,push={url},token={top / 'token'}", "--sweep", "x=1..3", "--no-bring", "--", "echo", "step 1 of 1", "{x}")
    code = run.end()
    ids = sorted(r["id"] for r in run.records)
    there = subprocess.run([FARE, "runs", "export", "-o", "-", "--ledger", top / "team.db"], env=slurm.env, capture_output=True, text=True).stdout
    report("each record is pushed to the server, and collected", code == 0 and len(ids) == 3 and
           sorted(json.loads(line)["id"] for line in there.split("\n") if line) == ids and "not pushed" not in run.said, f"{code} {ids} {there[:300]} {run.said}")
    for on, why in ((f"push={url},token={top / 'wrong token'}", "answered 401"), (f"push=http://127.0.0.1:1/,token={top / 'token'}", "cannot send to"),
                    (f"push={url},token={top / 'none'}", "no such file")):
        run = Run("--on", f"slurm:all,{on}", "--no-bring", "--", "echo", "step 1 of 1")
        report(f"{why}: said, and the record is here", run.end() == 0 and len(run.records) == 1 and "not pushed to the server: fare: " in run.said and
               why in run.said and "horse" not in run.said, run.said)
    server.terminate()
    server.wait()


def soak(count):
    random.seed(given.seed)
    print(f"# seed {given.seed}", flush=True)
    log = top / "log"
    run = Run("--on", "slurm:all", "--sweep", f"x=1..{count}", "--no-bring", "--patience", "10m", "--", *work(log, 2))
    away = {}
    while run.p.poll() is None:
        time.sleep(random.uniform(1, 6))
        now = time.monotonic()
        for node in [n for n, until in away.items() if now > until]:
            slurm.start_controller() if node == "ctld" else slurm.start_node(node)
            del away[node]
        what = random.choice(["node", "node", "drain", "resume", "requeue", "ctld", "scancel"])
        node = random.choice(NODES)
        if what == "node" and len(away) < 2 and node not in away:
            slurm.end(node, kill=True)
            away[node] = now + random.uniform(1, 25)
        elif what in ("drain", "resume") and "ctld" not in away:
            slurm.tool("scontrol", "update", f"nodename={node}", f"state={what}", "reason=test")
        elif what == "requeue" and "ctld" not in away and running():
            slurm.tool("scontrol", "requeue", random.choice(running()).split()[0])
        elif what == "ctld" and "ctld" not in away:
            slurm.end("ctld", kill=random.random() < 0.5)
            away["ctld"] = now + random.uniform(1, 20)
        if random.random() < 0.2:  # all nodes are wanted now and then
            for n in NODES:
                "ctld" not in away and slurm.tool("scontrol", "update", f"nodename={n}", "state=resume")
    run.end()
    tasks = run.tasks()
    failed = [t for t in tasks if t["now"]["state"] == "failed"]
    good = sorted(run.settings() + [int(t["settings"][0]["value"]) for t in failed])
    report(f"{count} measurements: each a record or a stated failure, none twice ({len(run.records)} records, {len(failed)} failures)",
           good == list(range(1, count + 1)) and all(t["now"].get("problem") for t in failed) and len(run.records) > count * 0.9,
           f"{good} {[t['now'] for t in failed]} {run.said}")


def measure(count):
    """N jobs that wait in the queue for a minute, and the dispatcher's memory and share of a core, with its children."""
    import resource
    run = Run("--on", "slurm:off", "--sweep", f"x=1..{count}", "--no-bring", "--", "true", "{x}")
    report(f"{count} jobs are queued", wait_for(lambda: slurm.tool("squeue", "-h", "-r").stdout.count("\n") == count, 120), slurm.said())
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    stat = lambda: [int(v) for v in Path(f"/proc/{run.p.pid}/stat").read_text().rsplit(")", 1)[1].split()[11:15]]
    first = stat()
    time.sleep(60)
    own = [(b - a) / os.sysconf("SC_CLK_TCK") for a, b in zip(first, stat())]
    wall = time.monotonic() - began
    peak = int(re.search(r"VmHWM:\s+(\d+)", Path(f"/proc/{run.p.pid}/status").read_text())[1]) / 1024
    print(f"# {count} jobs queued: {100 * sum(own[:2]) / wall:.2f} % of a core, {100 * sum(own) / wall:.2f} % with sh and squeue, {peak:.1f} MiB", flush=True)
    report("under 5 % of a core and 100 MiB", sum(own) / wall < 0.05 and peak < 100, own)
    run.p.send_signal(signal.SIGINT)
    run.end()
    began = time.monotonic()
    run.begin("runs", "cancel")
    run.end(300)
    report("all are cancelled", wait_for(lambda: slurm.tool("squeue", "-h").stdout == "") and not run.left(), run.said)
    print(f"# cancelled in {time.monotonic() - began:.1f} s")


try:
    up = slurm.start()
    report("Slurm starts", up, slurm.said())
    if up and given.jobs:
        measure(given.jobs)
    elif up and given.count:
        soak(given.count)
    elif up and given.only:
        globals()[given.only]()
    elif up:
        faults()
        cancelling()
        killed()
        words()
        types()
        pushing()
finally:
    slurm.stop()
    scratch.cleanup()
done()
