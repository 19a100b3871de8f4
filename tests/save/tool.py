# SPDX-License-Identifier: Apache-2.0
"""store_tool, driven from Python."""
import os
import re
import subprocess
import threading
from pathlib import Path

TOOL = str(Path(os.environ["BUILD"]) / "tests/save/store_tool")
CLEAN = {k: v for k, v in os.environ.items() if not k.startswith("AWS_")}


def tool(place, *words, env=None, **more):
    """(exit code, output) of one command."""
    p = subprocess.run([TOOL, str(place), *map(str, words)], env={**CLEAN, **(env or {}), **{k: str(v) for k, v in more.items()}},
                       capture_output=True, text=True, timeout=120)
    return p.returncode, p.stdout + p.stderr


class Job:
    """A machine that runs a job: holds the lease, fetches and saves when told."""

    def __init__(self, place, name="job", env=None, command="job", **more):
        self.p = subprocess.Popen([TOOL, str(place), command, name], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, text=True, bufsize=1,
                                  env={**CLEAN, **(env or {}), **{k: str(v) for k, v in more.items()}})
        self.epoch, self.said = 0, ""
        self.timer = threading.Timer(120, self.p.kill)
        self.timer.start()

    def started(self):
        """Waits for the lease; the epoch, or 0 after a failure."""
        for line in self.p.stdout:
            self.said += line
            if m := re.match(r"epoch (\d+) after (\d+)(.*)", line):
                self.epoch, self.before = int(m[1]), m[3].strip()
                return self.epoch
        return 0

    def ask(self, *words):
        """The lines that a command prints."""
        try:
            self.p.stdin.write(" ".join(map(str, words)) + "\n")
            self.p.stdin.flush()
        except BrokenPipeError:
            return "gone"
        lines = []
        for line in self.p.stdout:
            if line == "end\n":
                break
            lines.append(line)
        return "".join(lines)

    def end(self, how=None):
        """`how`: release, done; None: dies without a word."""
        if how:
            self.ask(how)
            try:
                self.p.stdin.close()
            except BrokenPipeError:
                pass
        else:
            self.p.kill()
        self.p.wait()
        self.p.stdout.close()
        self.timer.cancel()
