# SPDX-License-Identifier: Apache-2.0
"""A round of the soak: its folder, its random numbers, and fare run with a bound on time, memory and what it prints."""
import collections
import os
import random
import re
import resource
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path

MEMORY_MB, TIME_S, END_S = 400, 20, 2.5  # END_S: half a second more than promised, for a machine that does other things
CRASHES = {signal.SIGSEGV, signal.SIGABRT, signal.SIGBUS, signal.SIGFPE, signal.SIGILL, signal.SIGSYS}
CONTROL = re.compile(rb"[\x00-\x08\x0b-\x1f\x7f]|\xc2[\x80-\x9f]")
counts = collections.Counter()


class Fault(Exception):
    pass


class Round:
    def __init__(self, fare, seed):
        self.program, self.random, self.number = os.path.abspath(fare), random.Random(seed), 0
        self.home = Path(tempfile.mkdtemp(prefix="fare-soak-"))
        self.ledger = self.home / "data/fare/ledger.db"
        self.env = {**os.environ, "HOME": str(self.home), "XDG_DATA_HOME": str(self.home / "data"), "TMPDIR": str(self.home),
                    "XDG_CONFIG_HOME": str(self.home / "config"), "FARE_METADATA": "off"}
        self.children = []
        most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for p in self.children:
            if p.poll() is None:
                p.kill()
                p.wait()
        shutil.rmtree(self.home, ignore_errors=True)

    def record(self, **more):
        self.number += 1
        return {"schema": "fare.run/1", "id": f"soak-{self.number:07}", "started": "2026-01-01T00:00:00Z", "workload": "mlp",
                "name": "soak", "machine": {"name": f"box-{self.number % 50}"}, "ended": "finished", "full": True,
                "phases": {"wall_ns": 10**9}, **more}

    def corrupted(self, data, count):
        """The bytes, with `count` of them changed at random."""
        data = bytearray(data)
        for _ in range(count if data else 0):
            data[self.random.randrange(len(data))] = self.random.randrange(256)
        counts["bytes corrupted"] += count
        return bytes(data)

    def start(self, *arguments, **more):
        p = subprocess.Popen([self.program, *map(str, arguments)], **{"env": self.env, "cwd": self.home, "stdin": subprocess.DEVNULL, **more})
        self.children.append(p)
        return p

    def fare(self, *arguments, codes=(0, 1, 2), env=None, stdin=subprocess.DEVNULL, closed=False, within_s=TIME_S):
        """Runs fare to its end; returns exit code, stdout and stderr. No crash, hang, bloat, or escape that reaches the terminal."""
        said = "fare " + " ".join(ascii(str(a)[:60]) for a in arguments)
        began = time.monotonic()
        with tempfile.TemporaryFile(dir=self.home) as out, tempfile.TemporaryFile(dir=self.home) as err:
            p = self.start(*arguments, stdin=stdin, stdout=closed or out, stderr=err, env={**self.env, **(env or {})})
            while True:
                pid, status, used = os.wait4(p.pid, os.WNOHANG)
                if pid:
                    break
                if time.monotonic() - began > within_s:
                    raise Fault(f"{said}: still running after {within_s} s")
                time.sleep(0.003)
            p.returncode = os.waitstatus_to_exitcode(status)
            out.seek(0)
            err.seek(0)
            text, problem = out.read(), err.read()
        if p.returncode not in codes:
            raise Fault(f"{said}: ended with {p.returncode}: {problem[-300:]}")
        if used.ru_maxrss > MEMORY_MB * 1000:
            raise Fault(f"{said}: {used.ru_maxrss / 1000:.0f} MB of memory")
        found = CONTROL.search(problem) or CONTROL.search(text)
        if found:
            raise Fault(f"{said}: prints {found.group(0)}")
        return p.returncode, text, problem
