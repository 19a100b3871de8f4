# SPDX-License-Identifier: Apache-2.0
"""The stage of the cases in `cases`: the environment that pins what they print, and the ledger and the book made from given/."""
import os
import shutil
import subprocess
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent


def cases(path=HERE / "cases"):
    return dict(line.split(": ", 1) for line in path.read_text().splitlines() if line and line[0] != "#")


def environment(fare, scratch):
    """For a program `fare` that the shell finds by this name."""
    return {"PATH": f"{fare.parent}:/usr/bin:/bin", "HOME": f"{scratch}/home", "TMPDIR": str(scratch), "XDG_CONFIG_HOME": f"{scratch}/config",
            "XDG_DATA_HOME": f"{scratch}/data", "XDG_CACHE_HOME": f"{scratch}/cache", "LOGNAME": "ann", "LC_ALL": "C.UTF-8", "TZ": "UTC",
            "COLUMNS": "80", "FARE_TEST_NOW": "2026-11-20T10:00:00Z", "FARE_METADATA": "off", "FARE_OFFLINE": "1", "FARE_LEDGER": "ledger.db", "FARE_BOOK": "book",
            "FARE": str(fare), "ROOT": str(ROOT), "TREES": str(HERE.parent / "machine/trees"),
            "NVML": str(fare.parent / "tests/machine/fake_nvml.so"),
            **{k: os.environ[k] for k in ("ASAN_OPTIONS", "UBSAN_OPTIONS", "LSAN_OPTIONS") if k in os.environ}}


def prepare(scratch, env):
    """Makes scratch/given, to be copied for each case; returns what went wrong."""
    (scratch / "home").mkdir()
    (scratch / "config/fare/offers").mkdir(parents=True)
    shutil.copytree(HERE / "given", scratch / "given")
    shutil.copy(HERE.parent / "ledger/sacct/jobs.txt", scratch / "given")
    (scratch / "given/own.csv").rename(scratch / "config/fare/offers/own.csv")
    p = subprocess.run("fare runs import runs.jsonl && fare runs import invoice.csv && fare prices import spot.csv --date 2026-11-14",
                       shell=True, cwd=scratch / "given", env=env, capture_output=True, text=True)
    return p.stdout + p.stderr if p.returncode else ""
