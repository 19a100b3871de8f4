#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A real Slurm on one machine: a job of a low partition is preempted and put back into the queue, saves its checkpoint in
the grace time, and finishes after the other one. Needs root, slurmctld, slurmd, slurm-client and munge; skips without."""
import hashlib
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, os.path.join(os.environ["ROOT"], "tests"))
from tap import done, report, skip  # noqa: E402

SEARCH = os.environ.get("PATH", "") + ":/usr/sbin:/sbin"
missing = [p for p in ("slurmctld", "slurmd", "sbatch", "munged") if not shutil.which(p, path=SEARCH)]
if missing or os.geteuid() != 0:
    skip("a job that Slurm preempts is saved and resumed", f"{', '.join(missing)} not installed" if missing else "needs root")
    done()

STEPS = 300
scratch = tempfile.TemporaryDirectory(prefix="fare-slurm-", dir="/tmp")
top = Path(scratch.name)
env = {**os.environ, "PATH": SEARCH, "SLURM_CONF": str(top / "slurm.conf"), "FARE_METADATA": "off", "HOME": str(top), "XDG_DATA_HOME": str(top / "data")}
env.pop("FARE_LEDGER", None)
started = []


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def daemon(*command, **more):
    p = subprocess.Popen(command, env=env, stdin=subprocess.DEVNULL, stdout=open(top / f"{Path(command[0]).name}.out", "ab"),
                         stderr=subprocess.STDOUT, **more)
    started.append(p)


def tool(*command):
    return subprocess.run(command, env=env, capture_output=True, text=True, timeout=60)


def wait_for(what, seconds=60):
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if what():
            return True
        time.sleep(0.2)
    return False


def lines(word):
    return [line.split() for line in (top / "log").read_text().splitlines() if line.split()[2] == word] if (top / "log").exists() else []


host = socket.gethostname()
(top / "slurm.conf").write_text(f"""\
ClusterName=loop
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={free_port()}
SlurmUser=root
SlurmdUser=root
StateSaveLocation={top}/state
SlurmdSpoolDir={top}/spool.%n
SlurmctldPidFile={top}/ctld.pid
SlurmdPidFile={top}/slurmd.%n.pid
SlurmctldLogFile={top}/ctld.log
SlurmdLogFile={top}/slurmd.%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
ReturnToService=2
SlurmdParameters=config_overrides
CommunicationParameters=NoInAddrAny
SelectType=select/linear
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
KillWait=15
SchedulerParameters=bf_interval=5,sched_interval=5
NodeName=n1 NodeHostname={host} NodeAddr=127.0.0.1 Port={free_port()} CPUs=2
PartitionName=low Nodes=ALL Default=YES PriorityTier=1 GraceTime=15
PartitionName=high Nodes=ALL PriorityTier=10
""")
(top / "state").mkdir()
try:
    socket_of_munge = Path("/run/munge/munge.socket.2")
    if not socket_of_munge.exists():
        subprocess.run(["install", "-d", "-o", "munge", "-g", "munge", "-m755", "/run/munge"], check=True)
        subprocess.run(["runuser", "-u", "munge", "--", shutil.which("munged", path=SEARCH)], check=True)
    daemon(shutil.which("slurmctld", path=SEARCH), "-D", "-c")
    daemon(shutil.which("slurmd", path=SEARCH), "-D", "-N", "n1")
    up = wait_for(lambda: "idle" in tool("sinfo", "-h", "-o", "%T").stdout)
    report("Slurm starts", up, (top / "slurmctld.out").read_text()[-2000:])
    (top / "job.sh").write_text(f"""\
#!/bin/sh
#SBATCH --requeue --open-mode=append --output={top}/out.txt -p low
cd {top}
srun {os.environ["FARE"]} run --no-cloud --no-trace --save {top}/store --save-every 500ms --lease 3s --notice signal@15 --checkpoints out -- \\
    /usr/bin/python3 -S -E {HERE}/job.py out {STEPS} 20 5 safetensors {top}/log '{{resume}}'
""")
    low = tool("sbatch", "--parsable", str(top / "job.sh"))
    report("a job runs", wait_for(lambda: len(lines("step")) > 60), low.stderr + low.stdout)
    high = tool("sbatch", "--parsable", "-p", "high", f"--output={top}/high.txt", "--wrap", "sleep 3")
    report("it is preempted", wait_for(lambda: len(lines("start")) > 1, 180), tool("squeue").stdout + high.stderr)
    finished = wait_for(lambda: lines("final"), 180)
    said = (top / "out.txt").read_text() if (top / "out.txt").exists() else ""
    report("and finishes after the other one", finished, said[-2000:])
    state = "0"
    for step in range(STEPS):
        state = hashlib.sha256(f"{state}{step}".encode()).hexdigest()
    report("with the result of an uninterrupted run", [line[3] for line in lines("final")] == [state], said[-2000:])
    starts = [int(line[3]) for line in lines("start")]
    report("resumed from a checkpoint that it saved in the grace time", len(starts) == 2 and starts[1] > 0 and not lines("partial"), starts)
finally:
    for p in reversed(started):
        p.terminate()
        try:
            p.wait(20)
        except subprocess.TimeoutExpired:
            p.kill()
    scratch.cleanup()
done()
