#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Commands in several processes, as one run: mpirun and torchrun below fare, and several fare processes of one job. Real Open MPI and
PyTorch; the programs measure their own exchanges, and the record is held against that."""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, os.environ["TESTS"])
from tap import done, report, skip  # noqa: E402

FARE = os.environ["FARE"]
ROOT = Path(os.environ["ROOT"])
HERE = ROOT / "tests/measure"
TOP = Path(tempfile.mkdtemp(prefix="fare-test-", dir=os.environ.get("TMPDIR")))
PYTHON = os.environ.get("FARE_PYTHON") or "/usr/bin/python3"
MPIRUN = ["mpirun", "--allow-run-as-root", "--oversubscribe", "--bind-to", "none"]
# Without a network, and without waiting in loops for messages.
ENV = {**os.environ, "FARE_METADATA": "off", "OMPI_MCA_btl": "self,vader", "OMPI_MCA_mpi_yield_when_idle": "1",
       "OMPI_MCA_btl_vader_single_copy_mechanism": "none", "OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": "",
       "PYTHONPATH": str(ROOT / "share/python"), "PYTHONDONTWRITEBYTECODE": "1", "XDG_DATA_HOME": str(TOP / "data")}
RANKS = TOP / "mpi_ranks"


def call(*words, seconds=300, **env):
    p = subprocess.Popen([str(w) for w in words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**ENV, **env})
    try:
        out, err = p.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        p.terminate()
        out, err = p.communicate()
        err += "\nit hangs"
    return p.returncode, out, err


def records(out):
    """The records in what one or several fare processes printed: each ends in a line of its own."""
    return [r for text in re.findall(r"^\{.*?^\}", out, re.S | re.M) for r in json.loads(text)["runs"]]


def run(*command, front=(), options=(), **env):
    code, out, err = call(*front, FARE, "run", "--no-ledger", "--json", *options, "--", *command, **env)
    runs = records(out)
    return code, runs, err


def told(err):
    """What the ranks measured themselves: (ms within, ms of a step) by rank."""
    return {int(r): (float(a), float(b)) for r, a, b in re.findall(r"rank (\d+): ([\d.]+) of ([\d.]+) ms", err)}


def agrees(one, truth, slack_ms=1.5):
    """The record's parts against the programs' own clocks. fare has the time between some first and some last step: on a busy machine
    that differs a little from all of them."""
    within = [truth[r][0] for r in sorted(truth)]
    step = sum(b for _, b in truth.values()) / len(truth)
    mean = sum(within) / len(within)
    bound = slack_ms + 0.08 * step
    parts = [one.get(f"step_{p}_ms", -99) for p in ("calculation", "communication", "waiting")]
    return (abs(one.get("step_ms", 0) - step) < bound and abs(parts[1] - min(within)) < bound
            and abs(parts[2] - (mean - min(within))) < bound and abs(sum(parts) - one["step_ms"]) < 1e-6 * step)


def mpi():
    code, runs, err = run(*MPIRUN, "-n", 2, RANKS, 120, 20, 20, "fork")
    one, truth = (runs or [{}])[0], told(err)
    p = one.get("parallel", {})
    report("mpirun: one run with the parts of a step as the program measured them", code == 0 and len(runs) == 1 and len(truth) == 2
           and one.get("ranks") == 2 and one.get("nodes") == 1 and p.get("launcher") == "mpirun" and p.get("from") == "MPI's calls"
           and agrees(one, truth), (one.get("step_ms"), {k: v for k, v in one.items() if k.startswith("step_") and "plot" not in k}, p, truth, err[-800:]))
    report("the slowest rank is named, with its calculation and the fastest one's; a forked child is no rank", p.get("slowest_rank") == 1
           and p.get("ranks_seen") == 2 and 15 < p["most_ms"] - p["least_ms"] < 25, p)
    code, out, err = call(FARE, "run", "--no-ledger", "--", *MPIRUN, "-n", 2, RANKS, 40, 20, 20)
    report("so it is said", "fare: 2 ranks; a step: " in err and "; rank 1 is the slowest: " in err, err[-800:])
    # Long enough for a second look at the processes, which waits a hundred times as long as the first one took.
    code, runs, err = run(*MPIRUN, "-n", 2, RANKS, 800, 10, 0, options=["--no-trace"])
    one = (runs or [{}])[0]
    report("--no-trace: the ranks are known, their exchanges are not", code == 0 and one.get("ranks") == 2
           and one["parallel"].get("ranks_seen") == 0 and "step_communication_ms" not in one, (one.get("parallel"), one.get("ranks"), code, err[-800:]))
    code, runs, err = run("env", "mpirun", "--version", LD_PRELOAD="/nonexistent.so")
    report("what the user preloads stays", "/nonexistent.so" in err, err)


def fares():
    code, runs, err = run(RANKS, 100, 20, 20, front=[*MPIRUN, "-n", 2])
    one, truth = (runs or [{}])[0], told(err)
    report("mpirun fare run -- CMD: one record of two fare processes", code == 0 and len(runs) == 1 and one.get("ranks") == 2
           and one["parallel"].get("ranks_seen") == 2 and agrees(one, truth), (len(runs), one.get("parallel"), truth, err[-800:]))
    for _ in range(2):
        code, out, err = call(*MPIRUN, "-n", 3, FARE, "run", "--", "sh", "-c", "sleep 1")
    kept = json.loads(call(FARE, "runs", "--json")[1] or "{}").get("runs", [])
    report("each is one run in the ledger", code == 0 and len(kept) == 2 and all(r.get("ranks") == 3 for r in kept), (err, kept))
    code, runs, err = run("sh", "-c", "sleep 0.5", front=[*MPIRUN, "-n", 2], options=["--ranks", "1"])
    report("--ranks 1: each is a run of its own", code == 0 and len(runs) == 2, (runs, err))
    # As on two machines with a home each: mpirun's own key of the job is the secret.
    apart = f'exec env OMPI_MCA_orte_num_nodes=2 MASTER_ADDR=127.0.0.1 XDG_DATA_HOME={TOP}/home$OMPI_COMM_WORLD_RANK "$@"'
    code, runs, err = run("sleep", "1", front=[*MPIRUN, "-n", 2, "sh", "-c", apart, "sh"])
    report("mpirun, over TCP: they know each other by mpirun's key", code == 0 and len(runs) == 1 and runs[0].get("ranks") == 2
           and not list(TOP.glob("home*/fare/join.secret")), (runs, err[-800:]))
    code, runs, err = run("sh", "-c", 'sleep 1; exit $((OMPI_COMM_WORLD_RANK * 3))', front=[*MPIRUN, "-n", 2])
    one = (runs or [{}])[0]
    report("another rank's exit code is the run's", one.get("ended") in ("failed", "interrupted") and code != 0
           and (one.get("problem") == "rank 1: exit code 3" or one["ended"] == "interrupted"), (code, runs, err))


def pair(*rank1, first=("sh", "-c", "sleep 2"), env1=None, **env):
    """Two fare processes over TCP, as a cluster's operator starts them: without Slurm or MPI."""
    port = str(30000 + os.getpid() % 20000)
    common = {**ENV, "WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port, **env}
    p = [subprocess.Popen([FARE, "run", "--no-ledger", "--json", "--", *map(str, words)], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True, env={**common, "RANK": str(rank), **(env1 or {} if rank else {})})
         for rank, words in enumerate((first, rank1)) if words]
    return p


def ends(p, seconds=120):
    result = []
    for one in p:
        try:
            out, err = one.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            one.kill()
            out, err = one.communicate()
            err += "\nit hangs"
        result.append((one.returncode, records(out), err))
    return result


def joined(rank1, **env):
    """A pair whose second one has been running for a while; the first one's command ends once there is the file `go`."""
    folder = Path(tempfile.mkdtemp(dir=TOP))
    here, go = folder / "here", folder / "go"
    p = pair("sh", "-c", f"touch {here}; exec {rank1}", first=("sh", "-c", f"while [ ! -e {go} ]; do sleep 0.1; done"), **env)
    until = time.monotonic() + 60
    while not here.exists() and time.monotonic() < until:
        time.sleep(0.05)
    time.sleep(4)
    return p, go


def apart():
    (code, runs, err), (code1, runs1, err1) = ends(pair("sh", "-c", "sleep 2; exit 4"))
    report("over TCP: one record, and the job fails with the rank that failed", code == 4 and code1 == 4 and len(runs) == 1 and not runs1
           and runs[0].get("ranks") == 2 and runs[0].get("nodes") == 1 and runs[0].get("problem") == "rank 1: exit code 4", (code, code1, runs, err, err1))
    report("the others say nothing of their own", "fare:" not in err1, err1)
    began = time.monotonic()
    (code, runs, err), = ends(pair(first=("sh", "-c", "sleep 1"), FARE_JOIN="3"))
    report("a process that never comes: the run is kept soon, and says so", code == 0 and time.monotonic() - began < 12
           and any("rank 1 was never heard of" in t for t in runs[0].get("taints", [])), (runs, err))
    p, go = joined("sleep 12", FARE_JOIN="2")
    p[1].kill()
    go.touch()
    (code, runs, err), (code1, runs1, err1) = ends(p)
    report("one whose fare is killed: it was lost, and the job is no success", code == 1
           and any("rank 1 was lost, on " in t for t in runs[0].get("taints", [])), (runs, err))
    p = pair("sh", "-c", "sleep 3", first=("sleep", "6"))
    time.sleep(1.5)
    p[0].kill()
    (_, _, _), (code1, runs1, err1) = ends(p)
    report("the first one is killed: the others go on, end, and say that nobody heard it", code1 == 0 and not runs1
           and "the record lacks this part" in err1, (code1, runs1, err1))
    p, go = joined("sleep 15", FARE_JOIN="2")
    go.touch()
    (code, runs, err), (code1, _, err1) = ends(p)
    report("one that does not end: it went on", any("rank 1 went on" in t for t in runs[0].get("taints", [])), (runs, err))
    code, out, err = call(FARE, "run", "--save", TOP / "save", "--", "true", RANK="1", WORLD_SIZE="2")
    report("--save is refused, with the way out", code == 2 and "--save is for one fare process" in err and "--ranks 1" in err, err)


def hostile():
    for rank, size in (("garbage", "2"), ("2", "2"), ("-1", "2"), ("0", "99999999999999999999"), ("", ""), ("0", "1")):
        code, runs, err = run("true", RANK=rank, WORLD_SIZE=size)
        report(f"RANK={rank or 'nothing'} of {size or 'nothing'}: an ordinary run", code == 0 and len(runs) == 1 and "ranks" not in runs[0]
               and "taints" not in runs[0], (runs, err))
    code, runs, err = run("sh", "-c", "RANK=0 WORLD_SIZE=2 sleep 1 & RANK=1 WORLD_SIZE=4 sleep 1 & RANK=2 WORLD_SIZE=4 sleep 1 & wait")
    one = (runs or [{}])[0]
    report("processes that do not agree how many they are: the largest number, and a word", one.get("ranks") == 4
           and any("do not agree" in t for t in one.get("taints", [])), (runs, err))
    code, out, err = call(FARE, "run", "--no-ledger", "--", "sh", "-c", "RANK=1 WORLD_SIZE=4 sleep 1")
    report("one process that says it is one of four: no ranks, and a word", "one of 4 processes, but no other was seen" in err, err)
    code, runs, err = run("sh", "-c", "for i in $(seq 0 63); do RANK=$i WORLD_SIZE=64 sleep 1 & done; wait")
    report("64 processes", (runs or [{}])[0].get("ranks") == 64, (runs, err))
    code, runs, err = run("sh", "-c", 'for i in 0 1 2; do head -c 200 /dev/urandom >"$FARE_EXCHANGES/$i.exchanges"; done; : mpirun; sleep 0.5')
    report("files of exchanges that are no such files", code == 0 and len(runs) == 1, err)
    code, out, err = call(FARE, "run", "--ranks", 2, "--", "true")
    report("--ranks 2 is not for commands", code == 2 and "--ranks is for fare's own workloads" in err, err)


def torch():
    # torch 1.13 on Python 3.11 fails without -r.
    front = [PYTHON, "-m", "torch.distributed.run", "--nproc_per_node", "2", "--master_port", 29000 + os.getpid() % 900, "-r", "1", "-t", "1"]
    code, runs, err = run(*front, HERE / "ddp.py", 150, -0.02)
    one, truth = (runs or [{}])[0], told(err)
    p = one.get("parallel", {})
    report("torchrun, gloo: one run with the parts of a step as the program measured them", code == 0 and len(truth) == 2
           and one.get("ranks") == 2 and one.get("nodes") == 1 and p.get("launcher") == "torchrun" and p.get("from") == "gloo's calls"
           and p.get("slowest_rank") == 1 and agrees(one, truth, 2), ({k: v for k, v in one.items() if k.startswith("step_") and "plot" not in k}, p, truth, err[-1500:]))
    code, runs, err = run(*front, HERE / "ddp.py", 150, 0.02)
    one, p = (runs or [{}])[0], (runs or [{}])[0].get("parallel", {})
    report("DistributedDataParallel: the rank that comes late makes the other wait", code == 0 and p.get("slowest_rank") == 1
           and 15 < p.get("most_ms", 0) - p.get("least_ms", 0) < 40 and one.get("step_waiting_ms", 0) > 7, (p, one.get("step_ms"), err[-1500:]))
    report("samples are those of all ranks", abs(one.get("samples_per_s", 0) / (32 / one.get("step_ms", 1) * 1e3) - 1) < 0.05,
           (one.get("samples_per_s"), one.get("step_ms")))


try:
    hostile()
    apart()
    if shutil.which("mpirun") and subprocess.run(["cc", "-O1", "-o", RANKS, HERE / "mpi_ranks.c", "-l:libmpi.so.40"]).returncode == 0:
        mpi()
        fares()
    else:
        skip("commands of mpirun", "no Open MPI")
    if subprocess.run([PYTHON, "-c", "import torch.distributed as d; assert d.is_available()"], capture_output=True).returncode == 0:
        torch()
    else:
        skip("commands of torchrun", f"{PYTHON} has no PyTorch")
finally:
    shutil.rmtree(TOP, ignore_errors=True)
done()
