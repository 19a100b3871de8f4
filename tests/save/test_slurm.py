#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A real Slurm on one machine interrupts three jobs, which save, are put back into the queue, resume and finish:
- on node n1 one that Slurm preempts by ending it itself (SIGTERM, SIGKILL after KillWait) and requeues;
- on node n2 the script of docs/saving.md, which is preempted, signalled in its partition's GraceTime and requeues itself;
- on node n3 the same script, which is signalled before its time limit.
Needs root, slurmctld, slurmd, slurm-client and munge; skips without."""
import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, os.path.join(os.environ["ROOT"], "tests"))
from slurm import Slurm, wait_for, why_not  # noqa: E402
from tap import done, report, skip  # noqa: E402

if why_not():
    skip("a job that Slurm preempts is saved and resumed", why_not())
    done()

STEPS, LIMITED_STEPS, LIMITED_MS = 250, 330, 200  # the last job: 66 s, for Slurm signals it after 30 to 60 s
scratch = tempfile.TemporaryDirectory(prefix="fare-slurm-", dir="/tmp")
top = Path(scratch.name)
slurm = Slurm(top, {"n1": "CPUs=2", "n2": "CPUs=2", "n3": "CPUs=2"}, """\
SelectType=select/linear
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
SlurmctldParameters=preempt_send_user_signal
KillWait=15
SchedulerParameters=bf_interval=1,sched_interval=1
PartitionName=low Nodes=n1 PriorityTier=1
PartitionName=grace Nodes=n2 PriorityTier=1 GraceTime=120
PartitionName=limit Nodes=n3 PriorityTier=1 MaxTime=3
PartitionName=high Nodes=n1,n2 Default=YES PriorityTier=10""")
env, tool = slurm.env, slurm.tool


class Job:
    """A training in a folder of its own, which job.py notes its steps in."""

    def __init__(self, name, script, *options, steps=STEPS):
        self.name, self.dir, self.steps = name, top / name, steps
        self.dir.mkdir()
        (self.dir / "job.sh").write_text(script)
        self.queued = subprocess.run(["sbatch", "--parsable", "-p", name, *options, f"--output={self.dir}/out.txt", f"--chdir={self.dir}",
                                      str(self.dir / "job.sh")], capture_output=True, text=True,
                                     env={**env, "XDG_DATA_HOME": str(self.dir / "data")})

    def lines(self, word):
        log = self.dir / "log"
        return [line.split() for line in log.read_text().splitlines() if line.split()[2] == word] if log.exists() else []

    def said(self):
        out = self.dir / "out.txt"
        return self.queued.stderr + tool("squeue").stdout + (out.read_text()[-2500:] if out.exists() else "")

    def judge(self, notice, seconds=60):
        report(f"{self.name}: it is put back into the queue and finishes", wait_for(lambda: self.lines("final"), seconds), self.said())
        state = "0"
        for step in range(self.steps):
            state = hashlib.sha256(f"{state}{step}".encode()).hexdigest()
        report(f"{self.name}: with the result of an uninterrupted run", [line[3] for line in self.lines("final")] == [state], self.said())
        report(f"{self.name}: it got {notice}", re.findall(r"SIG\w+ came in [^:]+", self.said()) == [notice], self.said())
        starts, steps = [int(line[3]) for line in self.lines("start")], [int(line[3]) for line in self.lines("step")]
        report(f"{self.name}: no step was lost, for it saved after the signal",
               len(starts) == 2 and starts[1] > 60 and steps == list(range(1, self.steps + 1)), f"{starts} {self.said()}")
        wait_for(lambda: "R" not in tool("squeue", "-h", "-p", self.name, "-o", "%t").stdout)
        shown = subprocess.run([os.environ["FARE"], "runs", "last", "--json"], capture_output=True, text=True,
                               env={**env, "XDG_DATA_HOME": str(self.dir / "data")})
        saving = json.loads(shown.stdout)["saving"] if shown.returncode == 0 else {"attempts": []}
        report(f"{self.name}: fare's run spans both starts", [a["ended"] for a in saving["attempts"]] == ["interrupted", "finished"],
               shown.stderr + shown.stdout[:2000])


def training(folder, steps=STEPS, step_ms=20):
    return f"/usr/bin/python3 -S -E {HERE}/job.py out {steps} {step_ms} 5 safetensors {folder}/log"


def documented(name, **sizes):
    """The script of docs/saving.md with this machine's paths, and a training and a lease that take seconds."""
    page = (Path(os.environ["ROOT"]) / "docs/saving.md").read_text()
    script = re.search(r"```\n(#!/bin/sh\n#SBATCH.*?)```", page, re.S)[1]
    for old, new in (("fare run", f"{os.environ['FARE']} run --no-cloud --no-trace --lease 3s --save-every 500ms --checkpoints out"),
                     ("/shared/jobs/bert", f"{top}/{name}/store"),
                     ("python train.py --output_dir /tmp/out --resume {resume}", training(f"{top}/{name}", **sizes) + " {resume}")):
        assert script.count(old) == 1, (old, script)
        script = script.replace(old, new)
    return script


try:
    up = slurm.start()
    report("Slurm starts", up, slurm.said())
    if not up:
        done()
    limited = {"steps": LIMITED_STEPS, "step_ms": LIMITED_MS}
    limit = Job("limit", documented("limit", **limited), "--time=3", steps=LIMITED_STEPS)
    low = Job("low", f"""\
#!/bin/sh
#SBATCH --requeue --open-mode=append
srun {os.environ["FARE"]} run --no-cloud --no-trace --save {top}/low/store --save-every 500ms --lease 3s --notice signal@15 \\
    --checkpoints out -- {training(top / "low")} '{{resume}}'
""")
    grace = Job("grace", documented("grace"))
    for job in (low, grace):
        report(f"{job.name}: a job runs", wait_for(lambda: len(job.lines("step")) > 60), job.said())
    high = tool("sbatch", "--parsable", "-N2", f"--output={top}/high.txt", "--wrap", f"date > {top}/high.ran")
    report("both are preempted", wait_for((top / "high.ran").exists), high.stderr + low.said() + grace.said())
    low.judge("SIGTERM came in 15.0 s")
    grace.judge("SIGUSR1 came in 2 min 00 s")
    limit.judge("SIGUSR1 came in 2 min 00 s", 150)
finally:
    slurm.stop()
    scratch.cleanup()
done()
