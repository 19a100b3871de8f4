#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Runs that are killed with SIGKILL while they are measured: what was known by then is on the disk, and whoever next
opens the ledger delivers it, once."""
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, os.path.join(os.environ["ROOT"], "tests"))
from tap import done, report, skip  # noqa: E402

FARE = os.environ["FARE"]
SCRATCH = Path(os.environ.get("TMPDIR", "/tmp"))
TELL = """
import json, os, sys, time
for i in range(1, 600):
    with open(os.environ["FARE_EVENTS"], "a") as f:
        f.write(json.dumps({"step": i, "total_steps": 1000, "loss": 1 / i}) + "\\n")
    print("line", i, flush=True)
    time.sleep(0.02)
open(sys.argv[1], "w").write("to its end")
"""
random.seed(7)


def place():
    return Path(tempfile.mkdtemp(dir=SCRATCH))


def env_of(home):
    return {**os.environ, "XDG_DATA_HOME": str(home), "TMPDIR": str(home), "FARE_METADATA": "off", "FARE_LEDGER": ""}


def start(home, *args, **more):
    return subprocess.Popen([FARE, "run", "--no-cloud", "--threads", "1", *map(str, args)], env=env_of(home), stdout=subprocess.DEVNULL,
                            stderr=subprocess.PIPE, text=True, **more)


def start_command(home, marker, *args):
    """Its output goes to a file, so that whoever is left can go on writing to it."""
    with open(home / "output", "w") as out:
        return subprocess.Popen([FARE, "run", "--no-cloud", *args, "--", sys.executable, "-c", TELL, str(marker)],
                                env=env_of(home), stdout=out, stderr=subprocess.DEVNULL)


def runs(home):
    """The next start: the runs that are then there, and what was said."""
    p = subprocess.run([FARE, "runs", "export"], env=env_of(home), capture_output=True, text=True, timeout=120)
    return [json.loads(line) for line in p.stdout.splitlines()], p.stderr


def left(home):
    return [p.name for p in home.glob("**/spool*/**/*") if p.is_file()]


def wait_for_part(home, word='"steps":', seconds=60):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        for path in home.glob("**/*.part"):
            try:
                if word in path.read_text():
                    return path
            except FileNotFoundError:
                pass  # the run ended
        time.sleep(0.02)
    return None


def kill(process):
    process.send_signal(signal.SIGKILL)
    process.wait()
    return process.returncode == -signal.SIGKILL


def gone(pid):
    """Gone, or a zombie that nobody collects."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] == "Z"
    except (FileNotFoundError, ProcessLookupError):
        return True


def sums_up(run):
    phases = run.get("phases", {})
    parts = [v for k, v in phases.items() if k not in ("boot_ns", "wall_ns")]
    return parts and sum(parts) == phases["wall_ns"]


# ---- a workload of fare's own
home = place()
p = start(home, "mlp", "--max-time", "100s", "--within", "0.1%", "--label", "a=b", "--name", "first")
part = wait_for_part(home)
meanwhile, said = runs(home)
report("a run that goes on is not taken for a killed one", part and meanwhile == [] and "killed" not in said,
       f"{part} {meanwhile} {said}")
killed = kill(p)
got, said = runs(home)
run = got[0] if got else {}
report("a killed run is there on the next start, and says so", killed and len(got) == 1 and run["ended"] == "killed"
       and "first was killed" in said and run["id"] in said and run["id"] == part.name[:-5], f"{got} {said}")
report("with its phases, which add up", sums_up(run) and run["phases"]["train_ns"] > 0, run.get("phases"))
report("its steps, losses, samples and how it went", run.get("steps", 0) > 5 and run.get("first_loss", 0) > 0
       and run.get("samples") and run.get("use", {}).get("cpu_percent", 0) > 0 and run.get("step_plot_ms")
       and run.get("total_steps") == 9380, run)
report("and its provenance", run.get("net") and run.get("recipe") and run.get("data", {}).get("identity")
       and run.get("machine", {}).get("fingerprint") and run.get("labels") == [{"key": "a", "value": "b"}], run)
again, said = runs(home)
report("it is delivered once and leaves nothing behind", len(again) == 1 and said == "" and left(home) == [],
       f"{len(again)} {said} {left(home)}")
page = subprocess.run([FARE, "runs", "last", "--all"], env=env_of(home), capture_output=True, text=True).stdout
report("its page says that it was cut off", "killed" in page and "cut off" in page, page)

home, times, started = place(), 8, 0
for i in range(times):
    p = start(home, "mlp", "--max-time", "100s", "--within", "0.1%")
    while len(list(home.glob("**/*.part"))) <= i and p.poll() is None:
        time.sleep(0.005)
    time.sleep(random.uniform(0, 1.2))
    started += kill(p)
got, said = runs(home)
report(f"{times} killed at random moments: {times} runs, whole", started == times and len(got) == times
       and all(r["ended"] == "killed" and r["name"] == "mlp" and r["machine"]["fingerprint"] for r in got)
       and said.count("was killed") == times and left(home) == [], f"{len(got)} {said} {left(home)}")

p = start(home, "mlp", "--steps", "60")
said = p.communicate()[1]
ended = [r["ended"] for r in runs(home)[0]]
report("a run that comes to its end leaves no more than its record", ended.count("sampled") == 1
       and len(ended) == times + 1 and left(home) == [] and "killed" not in said, f"{ended} {left(home)} {said}")

# ---- several that start at once
home = place()
p = start(home, "mlp", "--max-time", "100s", "--within", "0.1%")
wait_for_part(home, '"id"')
kill(p)
ps = [subprocess.Popen([FARE, "runs", "export"], env=env_of(home), stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                       text=True) for _ in range(16)]
told = sum(p.communicate()[1].count("was killed") for p in ps)
report("of 16 that start at once one delivers it", told == 1 and len(runs(home)[0]) == 1 and left(home) == [],
       f"{told} {left(home)}")

for command in (["quote", "mlp"], ["compare"]):
    home = place()
    p = start(home, "mlp", "--max-time", "100s", "--within", "0.1%")
    wait_for_part(home, '"id"')
    kill(p)
    p = subprocess.run([FARE, *command], env=env_of(home), capture_output=True, text=True)
    report(f"'fare {command[0]}' delivers it too, and says so", p.stderr.count("mlp was killed") == 1
           and len(runs(home)[0]) == 1, p.stderr)

# ---- runs before it, and several in processes of their own
home = place()
p = start(home, "mlp", "l1", "--steps", "60", "--n", "20000", "--m", "20000")
wait_for_part(home, '"name":"l1"')
kill(p)
got = sorted((r["name"], r["ended"]) for r in runs(home)[0])
report("a run that was over before is kept as it ended", got == [("l1", "killed"), ("mlp", "sampled")], got)

home = place()
p = start(home, "mlp", "--repeat", "2", "--max-time", "100s", "--within", "0.1%")
wait_for_part(home)
children = subprocess.run(["ps", "-o", "pid=", "--ppid", str(p.pid)], capture_output=True, text=True).stdout.split()
kill(p)
end = time.monotonic() + 20
while (got := runs(home)[0]) == [] and time.monotonic() < end:
    time.sleep(0.05)
report("--repeat: with fare its process goes, and what it measured is there", children and len(got) == 1
       and got[0]["ended"] == "killed" and got[0]["steps"] > 5 and gone(children[0]), got)
home = place()
p = start(home, "mlp", "--repeat", "2", "--max-time", "100s", "--within", "0.1%")
wait_for_part(home)
children = subprocess.run(["ps", "-o", "pid=", "--ppid", str(p.pid)], capture_output=True, text=True).stdout.split()
os.kill(int(children[0]), signal.SIGKILL)
said = p.communicate()[1]
got = runs(home)[0]
report("and where only that process is killed, too", p.returncode == 1 and len(got) == 1 and got[0]["ended"] == "killed"
       and got[0]["steps"] > 5 and "SIGKILL" in said and left(home) == [], f"{p.returncode} {said} {got} {left(home)}")

# ---- a command
home = place()
p = start_command(home, home / "marker", "--label", "c=d")
wait_for_part(home)
killed = kill(p)
got, said = runs(home)
run = got[0] if got else {}
report("a command's run is there too, whose fare was killed", killed and len(got) == 1 and run["ended"] == "killed"
       and "was killed" in said and run["steps"] > 5 and sums_up(run) and run["command"][0] == sys.executable
       and run["labels"] == [{"key": "c", "value": "d"}] and run["total_steps"] == 1000, f"{got} {said}")
end = time.monotonic() + 60
while not (home / "marker").exists() and time.monotonic() < end:
    time.sleep(0.05)
time.sleep(0.3)
lines = (home / "output").read_text().splitlines()
missing = sorted(set(f"line {i}" for i in range(1, 600)) - set(lines), key=lambda line: int(line[5:]))
# What fare had read and not yet handed on when it was killed is lost with it: a line at most, here.
report("the command itself goes on to its end, and its output goes where it went", (home / "marker").exists()
       and len(missing) <= 1 and len(lines) + len(missing) == 599 and lines[-1] == "line 599", f"{missing} {lines[-3:]}")
home = place()
for _ in range(4):
    p = start_command(home, home / "marker", "--max-time", "100s")
    time.sleep(random.uniform(1, 3))
    kill(p)
got, said = runs(home)
report("four killed at random moments: each is there, or had not begun", all(r["ended"] == "killed" for r in got)
       and len(got) >= 1 and len(got) == said.count("was killed") and left(home) == [], f"{got} {said} {left(home)}")

# ---- nothing is to be kept
home = place()
p = start(home, "mlp", "--max-time", "4s", "--no-ledger")
p.communicate()
report("--no-ledger writes nothing", p.returncode == 0 and not (home / "fare").exists() and left(home) == [],
       [str(f) for f in home.glob("**/*")])

# ---- a disk that is full
small = place()
if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "none", str(small)], capture_output=True).returncode == 0:
    try:
        p = subprocess.Popen([FARE, "run", "--no-cloud", "--", sys.executable, "-c", TELL, "/dev/null"],
                             env={**env_of(small), "FARE_EVENTS": str(place() / "events")}, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        part = wait_for_part(small, '"id"')
        try:
            with open(small / "filler", "wb", buffering=0) as f:
                while f.write(b"x" * 512):
                    pass
        except OSError:
            pass
        before = part.read_text()
        said = p.communicate()[1]
        (small / "filler").unlink()
        subprocess.run(["mount", "-o", "remount,size=16m", str(small)], check=True)
        got = runs(small)[0]
        report("on a disk that fills up the run goes on, and what was there stays whole", p.returncode == 0
               and json.loads(before)["ended"] == "killed" and len(got) == 1, f"{p.returncode} {said} {got}")
        report("and that is said once", said.count("could not be saved in case it is killed") == 1
               and said.count("the run was not kept") == 1, said)
    finally:
        subprocess.run(["umount", str(small)])
else:
    skip("a disk that fills up", "cannot mount a tmpfs here")
done()
