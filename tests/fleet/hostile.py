#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A host that answers `fare run --on` with what it likes.

    FARE_SSH="hostile.py KIND SEED" fare run ... --on ssh:x    it stands in for ssh and the host behind it
    hostile.attack(fare, folder, kind, seed)                   runs that; what was wrong, "" if nothing: one task was asked for, so at
                                                               most one record may come, of this dispatch, and fare stays small
"""
import json
import os
import random
import re
import resource
import subprocess
import sys
import time
from pathlib import Path

MEMORY_MB, TIME_S = 200, 60


def record(number, dispatch, **more):
    return json.dumps({"schema": "fare.run/1", "id": f"hostile-{number:07}", "started": "2026-01-01T00:00:00Z", "workload": "mlp", "name": "evil",
                       "machine": {"name": "evil"}, "ended": "finished", "full": True, "phases": {"wall_ns": 10**9},
                       "labels": [{"key": "dispatch", "value": dispatch}], **more}) + "\n"


def whole(key, records, before="", code=0):
    """The reply of a task that ended."""
    start = f"fare-reply {key} "
    return f"{before}{start}ended {code} 0 100\n{start}record {len(records.encode())}\n{records}{start}end\n"


def many(key, dispatch, rng, count=10000):
    return whole(key, "".join(record(i, dispatch) for i in range(count)))


def flood(key, dispatch, rng):
    return many(key, dispatch, rng, 100000)


def foreign(key, dispatch, rng):
    return whole(key, record(1, "another") + record(2, "") + record(3, dispatch + "x"))


def long(key, dispatch, rng):
    return whole(key, record(1, dispatch, code={"commit": "a" * (30 << 20)}))


def deep(key, dispatch, rng):
    return whole(key, record(1, dispatch)[:-2] + ', "x": ' + "[" * 100000 + "]" * 100000 + "}\n")


def endless(key, dispatch, rng):
    piece = rng.choice(("0", "\n", record(1, dispatch), f"fare-reply {key} ")) * 1000
    while True:
        sys.stdout.write(piece)


def escapes(key, dispatch, rng):
    start = f"fare-reply {key} "
    return whole(key, record(1, dispatch, problem="\x1b[2J\x07problem"), f"{start}warning \x1b]0;title\x07\x9b31m\n{start}log 9\n\x1b[31mred\n\n")


def numbers(key, dispatch, rng):
    n = [rng.choice((-1, 2**31, 2**63, 2**64, 10**30, "nan", "0x10", "")) for _ in range(4)]
    return f"fare-reply {key} ended {n[0]} {n[1]} {n[2]}\nfare-reply {key} record {n[3]}\n{record(1, dispatch)}fare-reply {key} end\n"


def again(key, dispatch, rng):
    """Interrupted and saved, it says: start it again."""
    return whole(key, record(int(key.split("-")[-1]), dispatch), code=75)


def noise(key, dispatch, rng):
    text = list(many(key, dispatch, rng, 3))
    for _ in range(rng.randrange(1, 50)):
        text[rng.randrange(len(text))] = chr(rng.randrange(256))
    return "".join(text)


KINDS = {f.__name__: f for f in (many, flood, foreign, long, deep, endless, escapes, numbers, again, noise)}
REFUSED = ("many", "foreign")  # it is said that nobody asked for them


def answer(kind, seed):
    script = sys.stdin.read()
    key = re.search(r"^key=(\S+)$", script, re.M)
    if not key:
        return "fare-place ready\n"
    key = key.group(1)
    if "\nstart() {" in script:
        return f"fare-reply {key} running 0 1\nfare-reply {key} end\n"
    if "$i -lt" not in script or "kill -KILL" in script:  # CLEAN and CANCEL
        return f"fare-reply {key} absent\nfare-reply {key} end\n"
    return KINDS[kind](key, key.split("-")[0], random.Random(seed))


def attack(fare, folder, kind, seed, memory_mb=MEMORY_MB):
    """In a folder of its own."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "bundle").write_text("nothing")
    env = {**os.environ, "XDG_DATA_HOME": str(folder / "data"), "FARE_BUNDLE": str(folder / "bundle"), "FARE_METADATA": "off",
           "FARE_SSH": f"{sys.executable} {os.path.abspath(__file__)} {kind} {seed}"}
    env.pop("FARE_LEDGER", None)
    began = time.monotonic()
    peak_kb = 0
    with open(folder / "said", "wb") as said:
        p = subprocess.Popen([fare, "run", "l1", "--on", "ssh:evil", "--patience", "2s"], env=env, cwd=folder, stdin=subprocess.DEVNULL,
                             stdout=said, stderr=said)
        while (code := p.poll()) is None and time.monotonic() - began < TIME_S:
            found = re.search(r"VmHWM:\s+(\d+)", Path(f"/proc/{p.pid}/status").read_text())
            peak_kb = max(peak_kb, int(found.group(1)) if found else 0)
            time.sleep(0.05)
    said = (folder / "said").read_bytes()
    if code is None:
        p.kill()
        p.wait()
        return f"{kind}: still running after {TIME_S} s: {said[-500:]}"
    kept = subprocess.run([fare, "runs", "export"], env=env, capture_output=True, text=True, timeout=60).stdout.splitlines()
    dispatch = next((folder / "data/fare/fleet").iterdir()).name
    strange = [line for line in kept if {"key": "dispatch", "value": dispatch} not in json.loads(line)["labels"]]
    wrong = [word for word, bad in (
        (f"exit code {code}", code not in (0, 1)), (f"{len(kept)} records", len(kept) > 1), (f"{len(strange)} of another dispatch", strange),
        (f"{peak_kb // 1024} MB", peak_kb > memory_mb << 10), ("escapes", re.search(rb"[\x00-\x08\x0b-\x1f\x7f]|\xc2[\x80-\x9f]", said)),
        ("not said", kind in REFUSED and b"that nobody asked for" not in said), ("no failure", kind in REFUSED and code == 0)) if bad]
    return f"{kind}: {', '.join(wrong)}: {said[-500:]}" if wrong else ""


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    try:
        sys.stdout.reconfigure(errors="surrogateescape")
        sys.stdout.write(answer(sys.argv[1], sys.argv[2]))
        sys.stdout.flush()
    except BrokenPipeError:
        os._exit(1)
