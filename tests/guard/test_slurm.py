#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A real Slurm on one machine preempts two jobs, which save, are put back into the queue, resume and finish:
- on node n1 one that Slurm ends itself (SIGTERM, SIGKILL after KillWait) and requeues;
- on node n2 the script of docs/saving.md, which is signalled in its partition's GraceTime and requeues itself.
Needs root, slurmctld, slurmd, slurm-client and munge; skips without."""
import hashlib
import json
import os
import re
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

STEPS = 250
scratch = tempfile.TemporaryDirectory(prefix="fare-slurm-", dir="/tmp")
top = Path(scratch.name)
top.chmod(0o755)  # munged wants it
env = {**os.environ, "PATH": SEARCH, "SLURM_CONF": str(top / "slurm.conf"), "FARE_METADATA": "off", "HOME": str(top)}
env.pop("FARE_LEDGER", None)
started = []


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def daemon(program, *options):
    with open(top / f"{program}.out", "ab") as out:
        started.append(subprocess.Popen([shutil.which(program, path=SEARCH), *options], env=env, stdin=subprocess.DEVNULL,
                                        stdout=out, stderr=out))


def tool(*command):
    return subprocess.run(command, env=env, capture_output=True, text=True, timeout=60)


def wait_for(what, seconds=40):
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if what():
            return True
        time.sleep(0.2)
    return False


class Job:
    """A training in a folder of its own, which job.py notes its steps in."""

    def __init__(self, name, script):
        self.name, self.dir = name, top / name
        self.dir.mkdir()
        (self.dir / "job.sh").write_text(script)
        self.queued = subprocess.run(["sbatch", "--parsable", "-p", name, f"--output={self.dir}/out.txt", f"--chdir={self.dir}",
                                      str(self.dir / "job.sh")], capture_output=True, text=True,
                                     env={**env, "XDG_DATA_HOME": str(self.dir / "data")})

    def lines(self, word):
        log = self.dir / "log"
        return [line.split() for line in log.read_text().splitlines() if line.split()[2] == word] if log.exists() else []

    def said(self):
        out = self.dir / "out.txt"
        return self.queued.stderr + tool("squeue").stdout + (out.read_text()[-2500:] if out.exists() else "")

    def judge(self, notice):
        report(f"{self.name}: it is put back into the queue and finishes", wait_for(lambda: self.lines("final"), 60), self.said())
        state = "0"
        for step in range(STEPS):
            state = hashlib.sha256(f"{state}{step}".encode()).hexdigest()
        report(f"{self.name}: with the result of an uninterrupted run", [line[3] for line in self.lines("final")] == [state], self.said())
        report(f"{self.name}: it got {notice}", re.findall(r"SIG\w+ came in [^:]+", self.said()) == [notice], self.said())
        starts, steps = [int(line[3]) for line in self.lines("start")], [int(line[3]) for line in self.lines("step")]
        report(f"{self.name}: no step was lost, for it saved after the signal",
               len(starts) == 2 and starts[1] > 60 and steps == list(range(1, STEPS + 1)), f"{starts} {self.said()}")
        wait_for(lambda: "R" not in tool("squeue", "-h", "-p", self.name, "-o", "%t").stdout)
        shown = subprocess.run([os.environ["FARE"], "runs", "last", "--json"], capture_output=True, text=True,
                               env={**env, "XDG_DATA_HOME": str(self.dir / "data")})
        saving = json.loads(shown.stdout)["saving"] if shown.returncode == 0 else {"attempts": []}
        report(f"{self.name}: fare's run spans both starts", [a["ended"] for a in saving["attempts"]] == ["interrupted", "finished"],
               shown.stderr + shown.stdout[:2000])


def training(folder):
    return f"/usr/bin/python3 -S -E {HERE}/job.py out {STEPS} 20 5 safetensors {folder}/log"


def documented():
    """The script of docs/saving.md with this machine's paths, and a training and a lease that take seconds."""
    page = (Path(os.environ["ROOT"]) / "docs/saving.md").read_text()
    script = re.search(r"```\n(#!/bin/sh\n#SBATCH.*?)```", page, re.S)[1]
    for old, new in (("fare run", f"{os.environ['FARE']} run --no-cloud --no-trace --lease 3s --save-every 500ms --checkpoints out"),
                     ("/shared/jobs/bert", f"{top}/grace/store"),
                     ("python train.py --output_dir /tmp/out --resume {resume}", training(f"{top}/grace") + " {resume}")):
        assert script.count(old) == 1, (old, script)
        script = script.replace(old, new)
    return script


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
# A job that is put back waits until its credential has expired: 120 s by default.
AuthInfo=socket={top}/munge.socket,cred_expire=5
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
ReturnToService=2
SlurmdParameters=config_overrides
CommunicationParameters=NoInAddrAny
SelectType=select/linear
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
SlurmctldParameters=preempt_send_user_signal
KillWait=15
SchedulerParameters=bf_interval=1,sched_interval=1
NodeName=n1 NodeHostname={host} NodeAddr=127.0.0.1 Port={free_port()} CPUs=2
NodeName=n2 NodeHostname={host} NodeAddr=127.0.0.1 Port={free_port()} CPUs=2
PartitionName=low Nodes=n1 PriorityTier=1
PartitionName=grace Nodes=n2 PriorityTier=1 GraceTime=120
PartitionName=high Nodes=ALL Default=YES PriorityTier=10
""")
(top / "state").mkdir()
(top / "munge.key").write_bytes(os.urandom(128))
(top / "munge.key").chmod(0o600)
try:
    daemon("munged", "-F", "--force", f"--key-file={top}/munge.key", f"--socket={top}/munge.socket", f"--pid-file={top}/munge.pid",
           f"--log-file={top}/munge.log", f"--seed-file={top}/munge.seed")
    wait_for((top / "munge.socket").exists)
    daemon("slurmctld", "-D", "-c")
    daemon("slurmd", "-D", "-N", "n1")
    daemon("slurmd", "-D", "-N", "n2")
    up = wait_for(lambda: tool("sinfo", "-h", "-N", "-p", "high", "-o", "%T").stdout.split() == ["idle", "idle"])
    report("Slurm starts", up, "".join(p.read_text()[-1500:] for p in top.glob("*.out")))
    if not up:
        done()
    low = Job("low", f"""\
#!/bin/sh
#SBATCH --requeue --open-mode=append
srun {os.environ["FARE"]} run --no-cloud --no-trace --save {top}/low/store --save-every 500ms --lease 3s --notice signal@15 \\
    --checkpoints out -- {training(top / "low")} '{{resume}}'
""")
    grace = Job("grace", documented())
    for job in (low, grace):
        report(f"{job.name}: a job runs", wait_for(lambda: len(job.lines("step")) > 60), job.said())
    high = tool("sbatch", "--parsable", "-N2", f"--output={top}/high.txt", "--wrap", f"date > {top}/high.ran")
    report("both are preempted", wait_for((top / "high.ran").exists), high.stderr + low.said() + grace.said())
    low.judge("SIGTERM came in 15.0 s")
    grace.judge("SIGUSR1 came in 2 min 00 s")
finally:
    for p in reversed(started):
        p.terminate()
        try:
            p.wait(10)
        except subprocess.TimeoutExpired:
            p.kill()
            p.wait()
    scratch.cleanup()
done()
