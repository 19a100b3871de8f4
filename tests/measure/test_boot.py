#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What a run records of its machine's start: boot is launch to ready, where both are known; the time after that until somebody ran fare
is "idle before", of the first run alone, and is not billed. Only the boot of a machine that fare ordered is charged. All expectations
are differences of times that the test itself wrote down, and 3.60 USD an hour = 0.001 USD for each second that was begun."""
import contextlib
import itertools
import json
import math
import os
import struct
import subprocess
import sys
import time
from fractions import Fraction as F
from pathlib import Path

sys.path.insert(0, os.environ["TESTS"])
from tap import done, report  # noqa: E402

FARE = os.environ["FARE"]
TMP = Path(os.environ["TMPDIR"])
SERVER = Path(os.environ["TESTS"]) / "machine" / "metadata_server.py"
NUMBERS = itertools.count()
COMMAND = ("--label", "price_per_hour_usd=3.6", "--", "true")


@contextlib.contextmanager
def cloud(mode, launched):
    p = subprocess.Popen(["/usr/bin/python3", str(SERVER), mode, "--launched", str(launched)], stdout=subprocess.PIPE, text=True)
    try:
        yield f"http://127.0.0.1:{int(p.stdout.readline())}"
    finally:
        p.kill()
        p.wait()


def home():
    """A new user, who never ran anything on this machine."""
    return {"XDG_DATA_HOME": f"{TMP}/home{next(NUMBERS)}"}


def cloud_init(finished):
    """As the example in Ansible's documentation of cloud_init_data_facts has it."""
    stage = {"errors": [], "finished": finished, "start": 1522066382.3449218}
    return {"run/cloud-init/status.json": json.dumps({"v1": {"datasource": "x", "init": {**stage, "finished": 5.0}, "modules-final": stage,
                                                             "stage": None if finished else "modules-final"}})}


def utmp(kind, at):
    """utmp(5): type, process, line, id, user, host, exit status, session, time; 384 bytes."""
    return struct.pack("<hxxi32s4s32s256shhiii16s20x", kind, 0, b"~", b"~~", b"runlevel", b"", 0, 0, 0, int(at), 0, b"")


def sshd(ticks, name="sshd"):
    """proc(5): the 22nd value is the start in hundredths of a second since the kernel's."""
    return {"run/sshd.pid": "77\n", "proc/77/stat": f"77 ({name}) S 1 77 77 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 {ticks} 9 9\n"}


def root(seconds, files=()):
    """Files of a machine whose kernel started then, and these."""
    tree = TMP / f"root{next(NUMBERS)}"
    stat = f"cpu  9 9 9 9 9 9 9 9 0 0\nctxt 1\nbtime {int(time.time()) - seconds}\nprocesses 3\n"
    for path, text in {"proc/stat": stat, **dict(files)}.items():
        (tree / path).parent.mkdir(parents=True, exist_ok=True)
        (tree / path).write_bytes(text if isinstance(text, bytes) else text.encode())
    return {"FARE_ROOT": str(tree)}


def runs(*words, url="off", **env):
    """The records, with the time that the command took as `took`."""
    began = time.monotonic()
    p = subprocess.run([FARE, "run", "--json", *words], capture_output=True, text=True, timeout=120, env={**os.environ, "FARE_METADATA": url, **env})
    all_ = json.loads(p.stdout)["runs"] if p.returncode == 0 else [{"phases": {}, "error": p.stderr}]
    return [{**one, "took": time.monotonic() - began} for one in all_]


def run(*args, **env):
    return runs(*args, **env)[0]


def boot(one):
    """Seconds, from where, to where."""
    ns = one["phases"].get("boot_ns")
    return None if ns is None else (ns / 1e9, one.get("boot_from"), one.get("boot_to"))


def idle(one, expected):
    """The seconds before it, and it is no phase: those are the run's own time."""
    ns, phases = one.get("idle_before_ns"), one["phases"]
    own = [v for k, v in phases.items() if k not in ("boot_ns", "wall_ns")]
    if expected is None:
        return ns is None and one.get("ended") == "finished"
    return ns is not None and expected - 1 <= ns / 1e9 <= expected + 1 + one["took"] and sum(own) == phases["wall_ns"]


def cost(one, before_s=0):
    """Whether it was charged for its own time and so many seconds before; AWS charges for a minute at least."""
    least = 60 if one["machine"].get("provider") == "aws" else 0
    return "spent" in one and F(one["spent"]["usd"]) == F(max(least, math.ceil(before_s + F(one["phases"]["wall_ns"], 10**9))), 1000)


# ---- the fault: 36 minutes of uptime were a boot, and cost 2.16 USD
user = {**home(), **root(36 * 60)}
first, second = run(*COMMAND, **user), run(*COMMAND, **user)
report("36 minutes up are no boot of the first run", boot(first) is None and "boot_from" not in first and idle(first, 2160), first)
report("first and second run cost their own time", cost(first) and cost(second), (first, second))
report("the second was not idle before", idle(second, None) and boot(second) is None, second)
report("somebody else's first run was", idle(run(*COMMAND, **{**user, **home()}), 2160))
p = subprocess.run([FARE, "runs", first["id"], "--all"], capture_output=True, text=True, env={**os.environ, **user})
lines = p.stdout.splitlines()
report("idle before is a line of its own", sum("idle for 36 min" in s and "not billed" in s for s in lines) == 1
       and not any("36 min" in s for s in lines[lines.index(next(s for s in lines if "Where the time went" in s)):]), p.stdout)
offers = TMP / "config" / "fare" / "offers"
offers.mkdir(parents=True)
(offers / "own.csv").write_text("provider,name,region,kind,price,currency,date,source\nacme,box,here,on-demand,3.6,USD,2026-01-01,test\n")
OFFER = {"XDG_CONFIG_HOME": str(TMP / "config")}
one = run("--offer", "acme/box", "--max-spend", "0.002", "--", "sleep", "20", **root(36 * 60), **home(), **OFFER)
report("the bill of a first run stays within --max-spend", one["ended"] == "stopped" and F(one["spent"]["usd"]) < F("0.02") and cost(one), one)

# ---- ready: cloud-init, the boot target, sshd; launch: metadata, the kernel
NOW = time.time()
TELLS = (("cloud-init", cloud_init(NOW - 500.25)), ("boot target", {"run/utmp": utmp(2, NOW - 590) + utmp(1, NOW - 500)}),
         ("sshd", sshd(90 * 100)))
for name, files in TELLS:
    one = run(*COMMAND, **root(590, files), **home())
    at = boot(one) or (0, 0, 0)
    report(f"ready by {name}: 90 s from the kernel's start, not charged", 88 - (time.time() - NOW) <= at[0] <= 92 and at[1:] == ("kernel", name)
           and idle(one, 500 + time.time() - NOW - one["took"]) and cost(one), one)
with cloud("aws", 600) as url:
    user = {**home(), **root(560, TELLS[0][1])}
    one, two = run(*COMMAND, url=url, **user), run(*COMMAND, url=url, **user)
    since = time.time() - NOW
    at = boot(one) or (0, 0, 0)
    report("a launch that is told goes first", abs(at[0] - 100) <= 3 + since and at[1:] == ("metadata", "cloud-init")
           and cost(one) and cost(two) and one["machine"]["provider"] == "aws", one)
    report("the next run has the same boot, and nothing before", abs(boot(two)[0] - boot(one)[0]) <= 2 and idle(two, None), two)
    both = runs("mlp", "--steps", "3", "--batch", "16,32", url=url, **root(560), **home())
    report("of two runs in one go the first was idle before", len(both) == 2 and "idle_before_ns" in both[0] and "idle_before_ns" not in both[1], both)
    report("without ready there is no boot", boot(both[0]) is None, both)

# ---- what is not known is not guessed
for name, files in (("cloud-init that still works", {**cloud_init(None), **TELLS[1][1]}), ("one that finished before this start", cloud_init(NOW - 900)),
                    ("one that is to finish", cloud_init(NOW + 900)), ("a status that is none", {"run/cloud-init/status.json": '{"v1": ["x"'}),
                    ("a time that is none", cloud_init("soon")), ("one of the year 1e300", cloud_init(1e300)), ("a utmp that was cut", {"run/utmp": utmp(1, NOW)[:200]}),
                    ("a utmp without the target", {"run/utmp": utmp(2, NOW - 600) + utmp(7, NOW - 10)}), ("another program with sshd's number", sshd(9000, "bash")),
                    ("a start that was cut", {"run/sshd.pid": "77", "proc/77/stat": "77 (sshd) S 1"}), ("nothing", {})):
    one = run(*COMMAND, **root(600, files), **home())
    report(f"{name}: no boot, and idle since the start", boot(one) is None and idle(one, 600), one)
one = run(*COMMAND, **root(600, {**TELLS[0][1], "run/.containerenv": ""}), **home())
report("in a container neither is known", boot(one) is None and idle(one, None), one)
for name, launched in (("in the future", -300), ("that is no date", "last Tuesday"), ("before the year 1", "0000-01-01T00:00:00Z")):
    with cloud("aws", launched) as url:
        one = run(*COMMAND, url=url, **root(600, TELLS[0][1]), **home())
        report(f"a launch {name} is no boot", (boot(one) or (0, "kernel"))[1] == "kernel" and cost(one), one)
with cloud("aws", 3 * 86400) as url:  # rebooted since
    one = run(*COMMAND, url=url, **root(600, TELLS[0][1]), **home())
    report("days after the launch, ready is that of another start", boot(one) is None and cost(one), one)
for mode in ("hang", "garbage", "types"):
    with cloud(mode, 75) as url:
        one = run(*COMMAND, url=url, **root(590, TELLS[0][1]), **home())
        report(f"{mode} metadata: from the kernel", (boot(one) or "")[1:] == ("kernel", "cloud-init"), one)

# ---- a machine that fare ordered for the run
user = {**home(), **root(36 * 60)}
ordered = {**user, "FARE_ORDERED": str(int(time.time()) - 120)}
one, two = run(*COMMAND, **ordered), run(*COMMAND, **ordered)
at = boot(one) or (0, 0, 0)
report("the time since the order is charged", 119 <= at[0] <= 121 + one["took"] and at[1:] == ("fare", "fare") and cost(one, int(at[0])), one)
report("once", boot(two) is None and cost(two), two)
report("the ledger charges the same", F(json.loads(subprocess.run([FARE, "runs", "--by", "project", "--json"], capture_output=True, env={
    **os.environ, **user}).stdout)["total"]["usd"]) == F(one["spent"]["usd"]) + F(two["spent"]["usd"]))
for words in ("0", "-5", "soon", "99999999999", "99999999999999999999999", str(int(time.time()) - 90000)):
    one = run(*COMMAND, **root(36 * 60), **home(), FARE_ORDERED=words)
    report(f"ordered {words}: nothing is charged", boot(one) is None and idle(one, None) and cost(one), one)
one = run("--offer", "acme/box", "--max-spend", "0.128", "--", "sleep", "60", **{**ordered, **home(), "FARE_ORDERED": str(int(time.time()) - 120)}, **OFFER)
report("--max-spend counts that boot", one["ended"] == "stopped" and one["phases"]["wall_ns"] < 30 * 10**9 and cost(one, int(boot(one)[0])), one)

# ---- a run that is not kept writes nothing, and leaves the time before to one that is
user = {**home(), **root(60)}
data = Path(user["XDG_DATA_HOME"])
one = run("--no-ledger", *COMMAND, **user)
report("a run that is not kept was idle before, and writes nothing", idle(one, 60) and not data.exists(), one)
mask = os.umask(0)
report("the next one was too", "idle_before_ns" in run(*COMMAND, **user))
os.umask(mask)
modes = {p.name: oct(p.stat().st_mode & 0o777) for p in (data / "fare").rglob("*")}
report("what is written is for the user alone", modes.get("launched") == "0o600" and set(modes.values()) <= {"0o600", "0o700"}, modes)
report("where nothing can be written down it is still recorded", "idle_before_ns" in run("--no-ledger", *COMMAND, **root(60), XDG_DATA_HOME="/proc/none"))
done()
