#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Ranks that srun starts, in a real Slurm on this machine: one run; without PMIx an error that says what to do."""
import json
import os
import shutil
import sys
import tempfile

sys.path.insert(0, os.environ["TESTS"])
import slurm  # noqa: E402
from tap import done, report, skip  # noqa: E402

FARE = os.environ["FARE"]
NAMES = ("srun: one run of two ranks", "srun without PMIx: an error with the way out", "the script of a job is one process")


def said(p):
    return f"{p.returncode} {p.stdout} {p.stderr}"


why = slurm.why_not() or ("" if shutil.which("mpirun") else "no Open MPI")
with tempfile.TemporaryDirectory(prefix="fare-test-") as top:
    cluster = None if why else slurm.Slurm(top, {"n1": "CPUs=2 RealMemory=1000"}, "SelectType=select/cons_tres\n"
                                           "SelectTypeParameters=CR_CPU\nPartitionName=main Nodes=ALL Default=YES OverSubscribe=FORCE:4")
    try:
        if cluster and not cluster.start():
            report("Slurm starts", False, cluster.said())
        elif cluster:
            cluster.env.update({"OMPI_MCA_btl": "self,vader", "OMPI_MCA_btl_vader_single_copy_mechanism": "none", "OMP_NUM_THREADS": "1",
                                "ASAN_OPTIONS": "detect_leaks=0", "FARE_JOIN": "30"})
            words = [FARE, "run", "mlp", "--steps", "3", "--threads", "1", "--engine", "cpu", "--no-ledger", "--json"]
            p = cluster.tool("srun", "--mpi=pmix", "-n", "2", *words)
            runs = json.loads(p.stdout)["runs"] if p.returncode == 0 else []
            report(NAMES[0], len(runs) == 1 and runs[0]["ranks"] == 2 and runs[0]["nodes"] == 1, said(p))
            p = cluster.tool("srun", "--mpi=none", "-n", "2", *words)
            report(NAMES[1], p.returncode != 0 and "srun started 2 processes, but not for MPI" in p.stderr and "--mpi=pmix" in p.stderr,
                   said(p))
            cluster.env["SLURM_NTASKS"] = "4"  # as in a job's script
            p = cluster.tool(*words)
            runs = json.loads(p.stdout)["runs"] if p.returncode == 0 else [{"ranks": 0}]
            report(NAMES[2], "ranks" not in runs[0], said(p))
    finally:
        if cluster:
            cluster.stop()
for name in NAMES if why else ():
    skip(name, why)
done()
