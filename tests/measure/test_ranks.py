#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Several processes that train one net, as one run: forked by fare, and started by mpirun. Parameters after some steps are held
against those of one process; ranks are killed, stopped, or never come."""
import json
import os
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy

sys.path.insert(0, os.environ["TESTS"])
from tap import done, report, skip  # noqa: E402

FARE = os.environ["FARE"]
MPI = shutil.which("mpirun")
MPIRUN = ["mpirun", "--allow-run-as-root", "--oversubscribe", "--bind-to", "none"]
# Without a network, and without waiting in loops for messages.
ENV = {**os.environ, "FARE_METADATA": "off", "OMPI_MCA_btl": "self,vader", "OMPI_MCA_mpi_yield_when_idle": "1",
       "OMPI_MCA_btl_vader_single_copy_mechanism": "none", "OMP_NUM_THREADS": "1"}
# The leak checker does not know MPI's own memory, which is never freed.
ENV["LSAN_OPTIONS"] = ENV.get("LSAN_OPTIONS", "")
ENV["ASAN_OPTIONS"] = ENV.get("ASAN_OPTIONS", "") + ":detect_leaks=0"


def start(front, *words, **env):
    return subprocess.Popen([*front, FARE, "run", *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                            env={**ENV, **env})


def fare(front, *words, seconds=120, **env):
    p = start(front, *words, "--no-ledger", **env)
    try:
        out, err = p.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        p.kill()
        out, err = p.communicate()
        return -1, {}, "it hangs\n" + out + err
    record = json.loads(out) if p.returncode == 0 and "--json" in words else {}
    return p.returncode, record, out + err


def parameters(folder):
    """The newest checkpoint's parameters, without the optimizer's states."""
    path = sorted(Path(folder).glob("*.safetensors"))[-1]
    data = path.read_bytes()
    (length,) = struct.unpack("<Q", data[:8])
    head = json.loads(data[8:8 + length])
    head.pop("__metadata__")
    body = data[8 + length:]
    return {name: numpy.frombuffer(body[slice(*t["data_offsets"])], numpy.float32).astype(float)
            for name, t in head.items() if ".state" not in name and t["dtype"] == "F32"}


def apart(one, other):
    """The largest difference of a tensor: root mean square, as a share of its own."""
    return max(float(numpy.sqrt(numpy.mean((one[n] - other[n]) ** 2)) / (numpy.sqrt(numpy.mean(one[n] ** 2)) + 1e-9)) for n in one)


def train(top, front, ranks, words, more=()):
    folder = tempfile.mkdtemp(dir=top)
    options = ["--checkpoint", folder, "--threads", "1", "--engine", "cpu", "--json", *words, *more]
    if not front and ranks > 1:
        options += ["--ranks", str(ranks)]
    code, record, text = fare([*front, "-n", str(ranks)] if front else [], *options)
    return folder, (record.get("runs") or [{}])[0], code, text


def compare(top, front, ranks, words, base, bound):
    folder, run, code, text = train(top, front, ranks, words)
    far = apart(parameters(base), parameters(folder)) if code == 0 else None
    good = code == 0 and far <= bound and run["ranks"] == ranks and run["nodes"] == 1
    parts = [run.get(f"step_{part}_ms", -1) for part in ("calculation", "communication", "waiting")]
    good = good and min(parts) >= 0 and abs(sum(parts) - run["step_ms"]) < 0.01 * run["step_ms"] + 0.01
    report(f"{words[0]}: {ranks} ranks {'of MPI' if front else 'forked'} end where one process does", good, f"{far} {run} {text}")
    return folder


def children(pid):
    try:
        return [int(p) for p in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []


def wait_for(what, seconds=60):
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if what():
            return True
        time.sleep(0.05)
    return False


def forked(p):
    """The other ranks of a fare that trains."""
    found = []

    def there():
        found[:] = [c for c in children(p.pid) if b"--ranks" in Path(f"/proc/{c}/cmdline").read_bytes()] if p.poll() is None else []
        return len(found) >= 2
    wait_for(there)
    return found


MLP = ["mlp", "--steps", "3", "--batch", "50"]
IMDB = ["imdb", "--steps", "2", "--batch", "5"]

with tempfile.TemporaryDirectory(prefix="fare-test-") as top:
    base, run, code, text = train(top, [], 1, MLP)
    report("one process has no ranks in its record", code == 0 and "ranks" not in run, f"{run} {text}")
    for ranks in (2, 4):
        compare(top, [], ranks, MLP, base, 1e-4)
    if MPI:
        compare(top, MPIRUN, 3, MLP, base, 1e-4)
        imdb = train(top, [], 1, IMDB)[0]
        compare(top, MPIRUN, 2, IMDB, imdb, 1e-4)
    else:
        skip("ranks of MPI end where one process does", "no mpirun")

    # A training that two ranks began, three continue.
    whole = train(top, [], 1, ["mlp", "--steps", "4", "--batch", "50"])[0]
    begun = train(top, [], 2, ["mlp", "--steps", "2", "--batch", "50"])[0]
    code, record, text = fare([], "mlp", "--steps", "4", "--batch", "50", "--threads", "1", "--ranks", "3", "--checkpoint", begun,
                              "--resume", "--json")
    far = apart(parameters(whole), parameters(begun)) if code == 0 else None
    report("a training goes on with another number of ranks", code == 0 and far <= 1e-4, f"{far} {text}")

    # Several numbers are compared.
    code, record, text = fare([], "mlp", "--steps", "3", "--batch", "64", "--threads", "1", "--ranks", "1,2", "--json")
    groups = record.get("groups", [])
    good = code == 0 and [g.get("ranks", 1) for g in groups] == [1, 2] and groups[0]["speed_up"] == 1
    good = good and abs(groups[1]["efficiency"] - groups[0]["step_ms"] / groups[1]["step_ms"] / 2) < 1e-6
    report("--ranks 1,2: speed-up and efficiency", good, f"{groups} {text}")

    # A killed rank, and one that is stopped for a while.
    p = start([], "mlp", "--full", "--epochs", "1000", "--threads", "1", "--ranks", "3", "--no-ledger")
    ranks = forked(p)
    time.sleep(1)
    began = time.monotonic()
    if ranks:
        os.kill(ranks[0], signal.SIGKILL)
    try:
        out, err = p.communicate(timeout=30)
    except subprocess.TimeoutExpired:
        p.kill()
        out, err = p.communicate()
    report("a killed rank ends the run, which says so", p.returncode == 1 and "was killed by signal 9" in err
           and time.monotonic() - began < 15, f"{p.returncode} {ranks} {time.monotonic() - began} {out} {err}")
    report("no rank is left", not any(Path(f"/proc/{r}").exists() for r in ranks), ranks)

    p = start([], "mlp", "--steps", "400", "--threads", "1", "--ranks", "3", "--no-ledger", "--json")
    ranks = forked(p)
    # One rank stands still most of the time, whenever the training begins: the others wait for it, many times 0.4 s. Where it is
    # stopped within a sum, that is communication.
    output = ThreadPoolExecutor(1).submit(p.communicate, timeout=120)
    while ranks and not output.done():
        for number, seconds in ((signal.SIGSTOP, 0.4), (signal.SIGCONT, 0.1)):
            try:
                os.kill(ranks[0], number)
            except ProcessLookupError:
                break
            time.sleep(seconds)
    out, err = output.result()
    run = json.loads(out)["runs"][0] if p.returncode == 0 else {}
    waiting = run.get("step_waiting_ms", 0) * run.get("steps", 0)
    report("what a slow rank costs is waiting", waiting > 1000, f"{waiting} ms {err} {run}")

    # Mistakes.
    for words, said in ((["mlp", "--ranks", "0"], "--ranks: expected numbers"), (["l1", "--ranks", "2"], "l1 trains nothing"),
                        (["mlp", "--ranks", "2", "--gpus", "2"], "either --gpus or --ranks"),
                        (["mlp", "--ranks", "2", "--with", "pytorch"], "--ranks is for fare's own engines"),
                        (["mlp", "--ranks", "2", "--engine", "ref"], "cannot train in several processes")):
        code, record, text = fare([], *words)
        report(f"{' '.join(words)}: refused", code == 2 and said in text, f"{code} {text}")
    code, record, text = fare([], "mlp", OMPI_COMM_WORLD_SIZE="2", FARE_MPI="libc.so.6")
    report("another library than Open MPI is named", code == 1 and "ompi_mpi_comm_world" in text and "Open MPI 3 to 5" in text,
           f"{code} {text}")
    if MPI:
        ledger = os.path.join(top, "ledger.db")
        p = start([*MPIRUN, "-n", "3"], "mlp", "--full", "--epochs", "1000", "--threads", "1", "--engine", "cpu", "--ledger", ledger)
        wait_for(lambda: len(children(p.pid)) == 3)
        time.sleep(4)  # a few steps, and the first journal
        began = time.monotonic()
        for rank in children(p.pid)[1:2]:
            os.kill(rank, signal.SIGKILL)
        try:
            out, err = p.communicate(timeout=40)
        except subprocess.TimeoutExpired:
            p.kill()
            out, err = p.communicate()
        took = time.monotonic() - began
        seen = subprocess.run([FARE, "runs", "--ledger", ledger, "--json"], capture_output=True, text=True, env=ENV)
        runs = json.loads(seen.stdout)["runs"] if seen.returncode == 0 else []
        report("a killed rank of MPI ends the run, which is kept", p.returncode not in (0, None) and took < 20 and len(runs) == 1
               and runs[0]["ended"] in ("killed", "failed"), f"{p.returncode} {took} {runs} {out} {err} {seen.stderr}")
        script = f'if [ "$OMPI_COMM_WORLD_RANK" = 1 ]; then sleep 40; else exec {FARE} run mlp --steps 2 --no-ledger; fi'
        began = time.monotonic()
        p = subprocess.run([*MPIRUN, "-n", "2", "sh", "-c", script], capture_output=True, text=True, timeout=60,
                           env={**ENV, "FARE_JOIN": "2"})
        report("a rank that never comes is an error", p.returncode != 0 and "not all processes of this run came within 2 s" in p.stderr
               and time.monotonic() - began < 30, f"{p.returncode} {p.stdout} {p.stderr}")
done()
