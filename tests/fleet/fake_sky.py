#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A stand-in for SkyPilot's `sky` in the folder STANDIN: a machine is a folder that is its home, a job a process with it. It misbehaves as
the words in STANDIN/faults say, each once: nocloud (not logged in), nothing (no capacity), half (the machine is there, the launch failed),
hang (a launch that never answers), slow (one that takes two seconds), undown (sky down fails), forget (sky down says it worked, and did nothing), deaf (sky logs fails),
preempt (the machine is taken away)."""
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import yaml

from faults import take

top = Path(os.environ["STANDIN"])
args = sys.argv[1:]
with open(top / "calls", "a") as f:
    f.write(json.dumps(args) + "\n")


def fault(word):
    return take(top, word)


def fail(text, code=1):
    print(text, file=sys.stderr)
    sys.exit(code)


def machine(name):
    return top / "machines" / name


def end(name):
    for pid in machine(name).glob("pid-*"):
        try:
            os.killpg(int(pid.name[4:]), signal.SIGKILL)
        except ProcessLookupError:
            pass
    subprocess.run(["rm", "-rf", machine(name)])


verb = args[0]
if verb == "check":
    print("Checking credentials ...")
    print(json.dumps({"default": {} if fault("nocloud") else {args[1].upper(): ["compute"]}}, indent=2))
elif verb == "launch":
    assert args[1:4] == ["-y", "-d", "-c"], args
    name, task = args[4], yaml.safe_load(Path(args[5]).read_text())
    (top / f"task-{time.monotonic_ns():020}").write_text(Path(args[5]).read_text())
    if fault("nothing"):
        fail("sky.exceptions.ResourcesUnavailableError: Failed to provision all possible launchable resources.")
    home = machine(name)
    home.mkdir(parents=True, exist_ok=True)
    if fault("half"):
        fail("Setup failed; the cluster will not be torn down for debugging purposes.")
    if fault("hang"):
        time.sleep(3600)
    if fault("slow"):
        time.sleep(2)
    for to, source in task["file_mounts"].items():
        to = home / to[2:]
        to.parent.mkdir(parents=True, exist_ok=True)
        subprocess.run(["rm", "-rf", to])
        subprocess.run(["cp", "-r", source, to], check=True)
    env = {"HOME": str(home), "PATH": os.environ["PATH"], "FARE_METADATA": "off"}
    setup = subprocess.run(["bash", "-c", task["setup"]], env=env, cwd=home, capture_output=True, text=True)
    if setup.returncode != 0:
        fail(setup.stdout + setup.stderr)
    number = len(list(home.glob("pid-*"))) + 1
    runner = (f"import subprocess; p = subprocess.Popen(['bash', '-c', {task['run']!r}], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)\n"
              f"log = open('log-{number}', 'w')\n"
              f"for line in p.stdout: log.write('\\x1b[36m({task['name']}, pid=41)\\x1b[0m ' + line); log.flush()\n"
              f"open('code-{number}', 'w').write(str(p.wait()))")
    p = subprocess.Popen([sys.executable, "-S", "-E", "-c", runner], env=env, cwd=home, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                         stderr=subprocess.DEVNULL, start_new_session=True)
    (home / f"pid-{p.pid}").touch()
    print(f"\x1b[32mJob submitted, ID: {number}\x1b[0m")
elif verb == "logs":
    name = args[1]
    if machine(name).exists() and fault("preempt"):
        end(name)
    if not machine(name).exists():
        fail(f"sky.exceptions.ClusterDoesNotExist: Cluster '{name}' does not exist.")
    if fault("deaf"):
        fail("requests.exceptions.ConnectionError: Connection aborted.")
    number = len(list(machine(name).glob("pid-*")))
    log, code = machine(name) / f"log-{number}", machine(name) / f"code-{number}"
    print(f"\x1b[33mTailing logs of the last job on cluster '{name}'...\x1b[0m")
    sys.stdout.write(log.read_text() if log.exists() else "")
    sys.exit(101 if not code.exists() else 0 if code.read_text() == "0" else 100)
elif verb == "status":
    name = args[-1]
    print(json.dumps([{"name": name, "status": "UP"}] if machine(name).exists() else [], indent=2))
elif verb == "down":
    if fault("undown"):
        fail("Terminating cluster: failed. botocore.exceptions.ClientError: RequestLimitExceeded")
    if fault("forget"):
        print("Terminating cluster: done.")
    elif machine(args[-1]).exists():
        end(args[-1])
        print("Terminating cluster: done.")
    else:
        print(f"Cluster(s) not found: {args[-1]}.")
else:
    fail(f"No such command {verb!r}", 2)
