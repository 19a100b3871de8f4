#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""srun -N2 fare run -- CMD in a real Slurm with two nodes on this machine: one run. And srun below fare."""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, os.environ["TESTS"])
import slurm  # noqa: E402
from tap import done, report, skip  # noqa: E402

FARE = os.environ["FARE"]
NAMES = ("srun -N2 fare run: one run on two machines", "it is one run in the ledger", "a task that fails fails the run",
         "fare run -- srun: the tasks are ranks", "the script of a job is one process")
SLOW = 'i=0; while [ $i -lt 20 ]; do i=$((i+1)); [ "$SLURM_PROCID" = 0 ] && echo "step $i/20"; sleep 0.1; done'


def said(p):
    return f"{p.returncode} {p.stdout[-3000:]} {p.stderr}"


def records(p):
    return [r for text in re.findall(r"^\{.*?^\}", p.stdout, re.S | re.M) for r in json.loads(text)["runs"]]


why = slurm.why_not()
with tempfile.TemporaryDirectory(prefix="fare-test-") as top:
    cluster = None if why else slurm.Slurm(top, {"n1": "CPUs=2 RealMemory=1000", "n2": "CPUs=2 RealMemory=1000"},
                                           "SelectType=select/cons_tres\nSelectTypeParameters=CR_CPU\n"
                                           "PartitionName=main Nodes=ALL Default=YES OverSubscribe=FORCE:4")
    try:
        if cluster and not cluster.start():
            report("Slurm starts", False, cluster.said())
        elif cluster:
            data = Path(top) / "data"
            cluster.env.update({"ASAN_OPTIONS": "detect_leaks=0", "FARE_JOIN": "20", "XDG_DATA_HOME": str(data), "OMP_NUM_THREADS": "1",
                                "OMPI_MCA_btl": "self,vader", "OMPI_MCA_btl_vader_single_copy_mechanism": "none",
                                "OMPI_MCA_mpi_yield_when_idle": "1"})
            run = [FARE, "run", "--no-ledger", "--json"]
            p = cluster.tool("srun", "-N2", "-n2", *run, "--", "sh", "-c", SLOW)
            one = (records(p) or [{}])[0]
            report(NAMES[0], len(records(p)) == 1 and one.get("ranks") == 2 and one.get("nodes") == 2 and one.get("steps") == 20
                   and one["parallel"]["launcher"] == "srun" and not any("did not tell" in t for t in one.get("taints", [])), said(p))
            cluster.tool("srun", "-N2", "-n4", FARE, "run", "--", "sleep", "1")
            kept = json.loads(cluster.tool(FARE, "runs", "--json").stdout or "{}").get("runs", [])
            report(NAMES[1], len(kept) == 1 and kept[0].get("ranks") == 4 and kept[0].get("nodes") == 2, kept)
            # Here with a home for each task: the secret of the job is in the environment, which srun hands on.
            cluster.env["FARE_JOIN_SECRET"] = os.urandom(12).hex()
            p = cluster.tool("srun", "-N2", "-n2", "--kill-on-bad-exit=0", "sh", "-c", f'XDG_DATA_HOME={top}/home$SLURM_PROCID exec "$@"', "sh", *run,
                             "--", "sh", "-c", "sleep 1; exit $((SLURM_PROCID * 5))")
            one = (records(p) or [{}])[0]
            report(NAMES[2], one.get("ended") == "failed" and one.get("problem") == "rank 1: exit code 5" and p.returncode == 5
                   and not list(Path(top).glob("home*/fare/join.secret")), said(p))
            # Its tasks are Slurm's children, not the command's: those that exchange something on this machine are seen.
            mpi = Path(top) / "mpi_ranks"
            built = shutil.which("mpirun") and subprocess.run(["cc", "-O1", "-o", mpi, Path(__file__).parent / "mpi_ranks.c",
                                                               "-l:libmpi.so.40"]).returncode == 0
            p = cluster.tool(*run, "--", "srun", "--mpi=pmix", "-N1", "-n2", str(mpi), "60", "20", "20") if built else None
            one = (records(p) or [{}])[0] if p else {}
            if built:
                report(NAMES[3], one.get("ranks") == 2 and one["parallel"].get("slowest_rank") == 1, said(p))
            else:
                skip(NAMES[3], "no Open MPI")
            cluster.env.update({"SLURM_NTASKS": "4", "SLURM_PROCID": "0", "SLURM_JOB_ID": "77"})  # as in a job's script
            p = cluster.tool(*run, "--", "sleep", "0.2")
            report(NAMES[4], len(records(p)) == 1 and "ranks" not in records(p)[0], said(p))
    finally:
        if cluster:
            cluster.stop()
for name in NAMES if why else ():
    skip(name, why)
done()
