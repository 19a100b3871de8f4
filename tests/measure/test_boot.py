#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The time between a machine's launch, as its cloud tells, and our start: a phase of the first run alone, and of
no run where the launch was long ago, is yet to come or is not told. The cloud is a stand-in on the loopback device."""
import contextlib
import itertools
import json
import os
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, os.environ["TESTS"])
from tap import done, report  # noqa: E402

FARE = os.environ["FARE"]
SERVER = Path(os.environ["TESTS"]) / "machine" / "metadata_server.py"
HOMES = itertools.count()
NATIVE, COMMAND = ("mlp", "--steps", "3"), ("--", "true")


@contextlib.contextmanager
def cloud(mode, launched):
    p = subprocess.Popen(["/usr/bin/python3", str(SERVER), mode, "--launched", launched], stdout=subprocess.PIPE, text=True)
    try:
        yield f"http://127.0.0.1:{int(p.stdout.readline())}"
    finally:
        p.kill()
        p.wait()


def home():
    """A new user, who never ran anything on this machine."""
    return {"XDG_DATA_HOME": f"{os.environ['TMPDIR']}/home{next(HOMES)}"}


def root(seconds):
    """Files of a machine whose kernel started then, and nothing else."""
    tree = Path(os.environ["TMPDIR"]) / f"root{seconds}"
    (tree / "proc").mkdir(parents=True, exist_ok=True)
    (tree / "proc" / "stat").write_text(f"cpu  9 9 9 9 9 9 9 9 0 0\nctxt 1\nbtime {int(time.time()) - seconds}\nprocesses 3\n")
    return {"FARE_ROOT": str(tree)}


LONG_AGO = root(7200)


def run(url, *words, **env):
    p = subprocess.run([FARE, "run", "--json", *words], capture_output=True, text=True, timeout=120,
                       env={**os.environ, "FARE_METADATA": url, **LONG_AGO, **env})
    return json.loads(p.stdout)["runs"] if p.returncode == 0 else [{"phases": {}, "error": p.stderr}]


def boot_of(one):
    return one["phases"].get("boot_ns")


def booted(one, seconds, took_s):
    """It is that long, and beside the other phases, which are our own time."""
    phases = one["phases"]
    own = [v for k, v in phases.items() if k not in ("boot_ns", "wall_ns")]
    return seconds - 1 <= phases.get("boot_ns", -1) / 1e9 <= seconds + 1 + took_s and own \
        and sum(own) == phases["wall_ns"] and 0 < phases["wall_ns"] / 1e9 <= took_s


def timed(*args, **env):
    began = time.monotonic()
    runs = run(*args, **env)
    return runs, time.monotonic() - began


for name, words in (("a workload", NATIVE), ("a command", COMMAND)):
    with cloud("aws", "75") as url:
        user = home()
        runs, took = timed(url, *words, **user)
        report(f"{name} 75 s after the launch has a boot of that, outside of its own time", booted(runs[0], 75, took),
               (took, runs[0]))
        report(f"{name} after that on the same machine has none", boot_of(run(url, *words, **user)[0]) is None)
        report("as somebody else it has", boot_of(run(url, *words, **home())[0]) is not None)
    with cloud("aws", "20") as url:
        runs, took = timed(url, *words, **user)
        report(f"{name} after the next launch has one again", booted(runs[0], 20, took), (took, runs[0]))

with cloud("aws", "30") as url:
    runs = run(url, "mlp", "--steps", "3", "--batch", "16,32", **home())
    report("of two runs in one go the first has it", len(runs) == 2 and boot_of(runs[0]) is not None
           and boot_of(runs[1]) is None, runs)
    runs = run(url, "--no-ledger", *COMMAND, XDG_DATA_HOME="/proc/none")
    report("where nothing can be written down it is still counted", boot_of(runs[0]) is not None, runs)
    runs = run(url, "--no-cloud", *COMMAND, **home())
    report("without asking the cloud there is none", runs[0].get("ended") == "finished" and boot_of(runs[0]) is None, runs)

DAY = 86400
for name, mode, launched in (("in the future", "aws", "-300"), ("two hours ago", "aws", "7200"),
                             ("200 days ago", "aws", str(200 * DAY)), ("of years ago", "aws", "2016-11-19T16:32:11Z"),
                             ("that is no date", "aws", "last Tuesday"), ("of a month 13", "aws", "2026-13-01T00:00:00Z"),
                             ("before the year 1", "aws", "0000-01-01T00:00:00Z"), ("that is not told", "aws", "none"),
                             ("that Google does not tell", "gcp", "75"), ("that Azure does not tell", "azure", "75")):
    with cloud(mode, launched) as url:
        one = run(url, *COMMAND, **home())[0]
        report(f"a launch {name} is no boot", boot_of(one) is None and one.get("ended") == "finished"
               and one["machine"]["provider"] == mode, one)

# ---- Google and Azure do not tell the launch: the kernel's start counts, as on any machine
for mode in ("gcp", "azure", "none"):
    with cloud(mode, "75") as url:
        user = {**home(), **root(90)}
        runs, took = timed(url, *COMMAND, **user)
        one = runs[0]
        report(f"{mode}: 90 s after the kernel's start there is a boot of that", booted(one, 90, took)
               and one.get("boot_from") == "kernel", (took, one))
        report(f"{mode}: the next run has none", boot_of(run(url, *COMMAND, **user)[0]) is None)
        report(f"{mode}: nor has one two hours after it", boot_of(run(url, *COMMAND, **home())[0]) is None)
with cloud("aws", "75") as url:
    one = run(url, *COMMAND, **home(), **root(30))[0]
    report("a launch that is told goes first", 74 <= (boot_of(one) or 0) / 1e9 <= 90 and one.get("boot_from") == "metadata", one)
one = run("http://127.0.0.1:9", "--no-cloud", *COMMAND, **home(), **root(45))[0]
report("without asking any cloud too", one.get("boot_from") == "kernel" and 44 <= boot_of(one) / 1e9 <= 60, one)

# ---- a run that is not kept writes nothing, and leaves the boot to one that is
user = {**home(), **root(60)}
data = Path(user["XDG_DATA_HOME"])
one = run("http://127.0.0.1:9", "--no-cloud", "--no-ledger", *COMMAND, **user)[0]
report("a run that is not kept has a boot, and writes nothing", boot_of(one) is not None and not data.exists(), one)
mask = os.umask(0)
report("the next one has it too", boot_of(run("http://127.0.0.1:9", "--no-cloud", *COMMAND, **user)[0]) is not None)
os.umask(mask)
modes = {p.name: oct(p.stat().st_mode & 0o777) for p in (data / "fare").rglob("*")}
report("what is written is for the user alone", modes.get("launched") == "0o600" and
       set(modes.values()) <= {"0o600", "0o700"}, modes)

# ---- metadata that misbehaves changes nothing: the kernel's start counts
for mode in ("hang", "garbage", "html", "redirect", "drip", "reset", "error", "empty", "types"):
    with cloud(mode, "75") as url:
        one = run(url, *COMMAND, **home(), **root(50))[0]
        report(f"{mode} metadata: from the kernel", one.get("boot_from") == "kernel" and 49 <= boot_of(one) / 1e9 <= 65, one)

# ---- a container's start is no boot, and the kernel is the host's
contained = root(40)
(Path(contained["FARE_ROOT"]) / "run").mkdir()
(Path(contained["FARE_ROOT"]) / "run" / ".containerenv").write_text("")
for name, env in (("podman's", {**contained, **home()}), ("Kubernetes'", {**root(45), **home(), "KUBERNETES_SERVICE_HOST": "10.0.0.1"})):
    one = run("http://127.0.0.1:9", "--no-cloud", *COMMAND, **env)[0]
    report(f"in {name} container there is no boot", one.get("ended") == "finished" and boot_of(one) is None and "boot_from" not in one, one)
with cloud("gcp", "75") as url:
    one = run(url, *COMMAND, **contained, **home())[0]
    report("nor in one on Google's machine", one["machine"]["provider"] == "gcp" and boot_of(one) is None, one)
done()
