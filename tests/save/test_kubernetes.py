#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The Job of docs/saving.md without Kubernetes: its command is the first process of a PID namespace, as in a container. The first
Pod gets SIGTERM and ends within the grace period, the second SIGKILL, as after that period, the third finishes. Needs root."""
import hashlib
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, os.path.join(os.environ["ROOT"], "tests"))
sys.path.insert(0, str(HERE))
from rehearsal import children  # noqa: E402
from tap import done, report, skip  # noqa: E402

STEPS = 200
NAMESPACE = ["unshare", "--pid", "--fork", "--mount-proc", "--kill-child"]
try:
    import yaml
except ImportError:
    yaml = None
if not yaml or subprocess.run([*NAMESPACE, "true"], capture_output=True).returncode != 0:
    skip("the Job of the documentation", "PID namespaces cannot be made" if yaml else "python3-yaml is not installed")
    done()

page = (Path(os.environ["ROOT"]) / "docs/saving.md").read_text()
job = yaml.safe_load(re.search(r"```\n(apiVersion: .*?)```", page, re.S)[1])
pod = job["spec"]["template"]["spec"]
(container,) = pod["containers"]
grace_s = pod["terminationGracePeriodSeconds"]
report("the Job has what Kubernetes asks for", (job["apiVersion"], job["kind"], pod["restartPolicy"]) == ("batch/v1", "Job", "Never")
       and job["metadata"]["name"] and container["name"] and container["image"], job)
report("fare is told the grace period", f"signal@{grace_s}" in container["command"], container)

scratch = tempfile.TemporaryDirectory(prefix="fare-pod-")
top = Path(scratch.name)
log = top / "log"


def command():
    """The container's, with this machine's paths and a training that takes seconds."""
    words = container["command"]
    at, train = words.index("--"), words.index("--resume")
    options = [str(top / "store") if w.startswith("s3://") else w for w in words[2:at]]
    return [os.environ["FARE"], *words[1:2], "--no-cloud", "--no-trace", "--lease", "2s", "--save-every", "300ms", "--checkpoints", "out",
            *options, "--", "/usr/bin/python3", "-S", "-E", str(HERE / "job.py"), "out", str(STEPS), "20", "5", "safetensors", str(log),
            *words[train + 1:]]


def start(name):
    home = top / name
    home.mkdir()
    env = {**os.environ, "HOME": str(home), "XDG_DATA_HOME": str(home / "data"), "TMPDIR": str(home), "FARE_METADATA": "off"}
    env.pop("FARE_LEDGER", None)
    p = subprocess.Popen([*NAMESPACE, *command()], cwd=home, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                         stderr=open(home / "said", "w"))
    p.said = home / "said"
    return p


def lines(word):
    return [line.split() for line in log.read_text().splitlines() if line.split()[2] == word] if log.exists() else []


def wait_for(step, p):
    until = time.monotonic() + 60
    while time.monotonic() < until and p.poll() is None and not any(int(line[3]) >= step for line in lines("step")):
        time.sleep(0.05)


def signal_pod(p, number, step):
    """Once the step is reached, to the namespace's first process."""
    wait_for(step, p)
    first = children(p.pid)[0]
    os.kill(first, number)
    return p.wait(grace_s)


try:
    one = start("one")
    code = signal_pod(one, signal.SIGTERM, 60)
    report("a Pod that gets SIGTERM ends within the grace period, with 75", code == 75, f"{code} {one.said.read_text()}")
    stopped = max(int(line[3]) for line in lines("step"))
    two = start("two")
    signal_pod(two, signal.SIGKILL, stopped + 60)
    three = start("three")
    code = three.wait(60)
    report("after SIGKILL the next Pod finishes it", code == 0, f"{code} {three.said.read_text()}")
finally:
    for p in (p for p in (globals().get(n) for n in ("one", "two", "three")) if p and p.poll() is None):
        p.kill()  # and its namespace
        p.wait()
starts = [int(line[3]) for line in lines("start")]
report("nothing is lost after SIGTERM, and a checkpoint is resumed after SIGKILL",
       len(starts) == 3 and starts[1] == stopped and starts[2] > stopped and not lines("partial"), f"{starts} {stopped}")
state = "0"
for step in range(STEPS):
    state = hashlib.sha256(f"{state}{step}".encode()).hexdigest()
report("the result is that of an uninterrupted run", [line[3] for line in lines("final")] == [state], three.said.read_text())
scratch.cleanup()
done()
