#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The files of `fare cron --emit systemd`, with a real systemd: a user's instance in namespaces of its own, which set-up.sh takes for the
one of a user who is logged in. Needs root, for the namespaces."""
import datetime
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, os.path.join(os.environ["ROOT"], "tests"))
from tap import done, report, skip  # noqa: E402

FARE = os.environ["FARE"]
SYSTEMD = next((p for p in ("/usr/lib/systemd/systemd", "/lib/systemd/systemd") if os.path.exists(p)), "")
WORDS = ["a b", "it's", '"', "$HOME", "${x}", "50%", "%n", "-n", "@x", "x\ny", "\\", "ünï", "", ";"]
UNCHANGED = "is as it should be: nothing was changed"
missing = [p for p in ("unshare", "systemctl", "mount") if not shutil.which(p)]
why = "needs root" if os.geteuid() != 0 else "systemd is not installed" if missing or not SYSTEMD else ""
if not why and len(sys.argv) == 1:
    if subprocess.run(["unshare", "--mount", "--pid", "--fork", "--mount-proc", "mount", "-t", "tmpfs", "none", "/run"], capture_output=True).returncode != 0:
        why = "namespaces are not permitted"
    else:
        sys.exit(subprocess.run(["unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc", sys.executable, __file__, "inside"]).returncode)
if why:
    skip("systemd runs a task", why)
    done()

# ---- inside: /run says that systemd booted this machine, and id that the user is not root
scratch = tempfile.TemporaryDirectory(prefix="fare-systemd-", dir="/tmp")
top = Path(scratch.name)
subprocess.run(["mount", "-t", "tmpfs", "none", "/run"], check=True)
os.makedirs("/run/systemd/system")
os.mkdir("/run/user", 0o700)
(top / "bin").mkdir()
(top / "bin/id").write_text("#!/bin/sh\necho 1000\n")
(top / "bin/id").chmod(0o755)
env = {**os.environ, "HOME": str(top), "XDG_RUNTIME_DIR": "/run/user", "PATH": f"{top}/bin:{os.environ['PATH']}", "TZ": "UTC"}
for name in ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "DBUS_SESSION_BUS_ADDRESS"):
    env.pop(name, None)
systemd = subprocess.Popen([SYSTEMD, "--user"], env=env, stdin=subprocess.DEVNULL, stdout=open(top / "systemd.log", "w"), stderr=subprocess.STDOUT)


def ctl(*words):
    return subprocess.run(["systemctl", "--user", *words], env=env, capture_output=True, text=True, timeout=60)


def show(unit, name):
    return ctl("show", unit, f"--property={name}", "--value").stdout.strip()


def wait_for(what, seconds=20):
    until = time.monotonic() + seconds
    while not (found := what()) and time.monotonic() < until:
        time.sleep(0.1)
    return found


def emit(schedule, limit, *command):
    p = subprocess.run([FARE, "cron", schedule, "--time-zone", "UTC", "--limit", limit, "--emit", "systemd", "-o", top / "files", "--", *command], capture_output=True,
                       text=True, cwd=work)
    assert p.returncode == 0, p.stderr
    subprocess.run([FARE, "cron", "--emit", "systemd", "--remove", "-o", top / "files"], check=True, capture_output=True, cwd=top)


def run(script):
    return subprocess.run(["sh", top / "files" / script], env=env, capture_output=True, text=True, timeout=60)


def says(p):
    return f"exit {p.returncode}\n{p.stdout}\n{p.stderr}"


def next_start():
    """When the timer starts the task next, as systemd says it."""
    return show("fare-task.timer", "NextElapseUSecRealtime")


work = top / "a folder 100%"
work.mkdir()
units = top / ".config/systemd/user"
up = wait_for(lambda: ctl("is-system-running").stdout.strip() == "running")
report("systemd starts", up, (top / "systemd.log").read_text())
emit("30 4 * * *", "1m", sys.executable, "-c", "import json, os, sys; json.dump([os.getcwd(), *sys.argv[1:]], open(sys.argv[1], 'w'))", str(top / "seen"), *WORDS)
p = run("set-up.sh")
report("one run sets the timer", p.returncode == 0 and ctl("is-active", "fare-task.timer").stdout == "active\n" and
       ctl("is-enabled", "fare-task.timer").stdout == "enabled\n" and "its log: journalctl --user -u fare-task\n" in p.stdout, says(p))
now = datetime.datetime.now(datetime.timezone.utc)
soon = now.replace(hour=4, minute=30, second=0, microsecond=0)
soon += datetime.timedelta(days=soon <= now)
report("it starts when cron would", next_start() == f"{soon:%a %Y-%m-%d %H:%M:%S} UTC", next_start())
p = run("set-up.sh")
report("again, nothing changes", p.returncode == 0 and UNCHANGED in p.stdout, says(p))
p = ctl("start", "fare-task.service")
seen = top / "seen"
wait_for(lambda: show("fare-task.service", "ActiveState") in ("inactive", "failed"))
got = json.loads(seen.read_text()) if seen.exists() else None
report("the task runs in this folder, with these words", got == [str(work), str(seen), *WORDS], f"{got} {says(p)} {ctl('status', 'fare-task.service').stdout}")
emit("15 5 * * *", "1s", "sleep", "1000")
p = run("set-up.sh")
report("another schedule and command replace the old ones", p.returncode == 0 and " 05:15:00 UTC" in next_start(), says(p) + next_start())
ctl("start", "fare-task.service")
report("a task ends at its limit", wait_for(lambda: show("fare-task.service", "ActiveState") == "failed") and show("fare-task.service", "ExecMainStatus") == "124",
       ctl("status", "fare-task.service").stdout)
ctl("stop", "fare-task.timer")
p = run("set-up.sh")
report("a timer that was stopped is started", p.returncode == 0 and ctl("is-active", "fare-task.timer").stdout == "active\n", says(p))
p = run("remove.sh")
report("removed, nothing is left", p.returncode == 0 and not list(units.rglob("*fare*")) and show("fare-task.timer", "LoadState") == "not-found", says(p))
p = run("remove.sh")
report("and again", p.returncode == 0, says(p))
systemd.terminate()
systemd.wait(20)
scratch.cleanup()
done()
