#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Ranks that srun starts, in a real Slurm on this machine: one run; without PMIx an error that says what to do."""
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, os.environ["TESTS"])
import slurm  # noqa: E402
from tap import done, report, skip  # noqa: E402

FARE = os.environ["FARE"]
NAMES = ("srun: one run of two ranks", "srun without PMIx: an error with the way out", "the script of a job is one process",
         "srun: a killed rank ends all")


def ranks_named(name):
    found = []
    for entry in Path("/proc").iterdir():
        try:
            words = (entry / "cmdline").read_bytes().split(b"\0") if entry.name.isdigit() else []
        except OSError:
            continue
        if words and words[0] == FARE.encode() and name.encode() in words:
            found.append(int(entry.name))
    return found


def killed(cluster):
    name = f"ranks-{os.getpid()}"
    p = subprocess.Popen(["srun", "--mpi=pmix", "-n", "2", FARE, "run", "mlp", "--full", "--epochs", "1000", "--threads", "1", "--engine",
                          "cpu", "--no-ledger", "--name", name], env=cluster.env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    slurm.wait_for(lambda: len(ranks_named(name)) == 2)
    time.sleep(4)
    began = time.monotonic()
    for rank in sorted(ranks_named(name))[1:]:
        os.kill(rank, signal.SIGKILL)
    try:
        out, err = p.communicate(timeout=40)
    except subprocess.TimeoutExpired:
        p.kill()
        out, err = p.communicate()
    took = time.monotonic() - began
    return p.returncode != 0 and took < 25 and not ranks_named(name), f"{p.returncode} {took} {out} {err}"


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
            report(NAMES[3], *killed(cluster))
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
