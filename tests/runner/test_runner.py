#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The runner itself: what fails must fail the suite, however it fails."""
import os
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, os.path.join(os.environ["ROOT"], "tests"))
from tap import done, report  # noqa: E402

BUILD, ROOT = Path(os.environ["BUILD"]), Path(os.environ["ROOT"])


def suite(*programs, through=()):
    args = [w for p in programs for w in ("--programs", str(p))]
    p = subprocess.run([*through, sys.executable, ROOT / "tests/run.py", "--build", BUILD, *args],
                       capture_output=True, text=True)
    return p.returncode, p.stdout.splitlines()[-1], p.stdout + p.stderr


def program(folder, name, body):
    path = Path(folder) / name
    path.write_text("#!/bin/sh\n" + body)
    path.chmod(0o755)
    return path


code, last, text = suite(BUILD / "tests/runner/on_purpose/test_on_purpose")
report("a failing assertion fails the suite", code == 1, text)
report("and is counted beside what passed and what was skipped",
      last == "1 passed, 1 failed, 1 skipped", text)

with tempfile.TemporaryDirectory(dir=BUILD) as folder:
    good = program(folder, "good", "echo 'ok 1 - fine'")
    crash = program(folder, "crash", "echo 'ok 1 - fine'; kill -SEGV $$")
    silent = program(folder, "silent", "exit 0")
    code, last, text = suite(good)
    report("a suite in which all is well passes", code == 0 and last == "1 passed, 0 failed, 0 skipped", text)
    code, last, text = suite(good, crash)
    report("a crash after the last test fails the suite",
          code == 1 and last == "2 passed, 1 failed, 0 skipped", text)
    short = program(folder, "short", "echo 1..5; echo 'ok 1 - fine'")
    code, last, text = suite(good, short)
    report("a program that ends before its plan fails the suite", code == 1, text)
    chatty = program(folder, "chatty", "echo 'ok, the server is up'")
    code, last, text = suite(good, chatty)
    report("a line that only begins with ok is not a test", code == 1, text)
    code, last, text = suite(good, silent)
    report("a program that runs no test fails the suite", code == 1, text)
    # SIGHUP, SIGINT and SIGQUIT are the lowest three bits.
    minds = program(folder, "minds", "ignored=$(sed -n 's/^SigIgn:\t//p' /proc/self/status)\n"
                                     "[ $((0x$ignored & 7)) = 0 ] && echo 'ok 1 - fine'")
    code, last, text = suite(minds, through=["sh", "-c", 'trap "" HUP INT QUIT; exec "$@"', "sh"])
    report("in the background, where signals are ignored, the tests mind them", code == 0, text)
done()
