#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""On a real terminal: colours unless somebody objects, and lines as wide as the window."""
import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import termios

sys.path.insert(0, os.path.join(os.environ["ROOT"], "tests"))
from tap import done, report  # noqa: E402

FARE, TESTS = os.environ["FARE"], os.environ["TESTS"]


def shown(*args, columns=80, rows=24, **env):
    """What a terminal of so many columns gets to see."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
    base = {"TERM": "xterm", "FARE_METADATA": "off", "PATH": os.environ["PATH"],
            "FARE_ROOT": f"{TESTS}/machine/trees/laptop-battery"}
    p = subprocess.Popen([FARE, *args], stdin=slave, stdout=slave, stderr=slave,
                         env={**base, **env})
    os.close(slave)
    text = b""
    while True:
        try:
            piece = os.read(master, 65536)
        except OSError:
            break
        if not piece:
            break
        text += piece
    p.wait()
    os.close(master)
    return text.decode()


def widest(text):
    return max(len(line) for line in re.sub(r"\033\[[0-9;]*m", "", text).splitlines())


plain = shown("check", NO_COLOR="1")
report("colours on a terminal", "\033[33mwarning" in shown("check"), plain)
report("none with NO_COLOR", "\033" not in plain, plain)
report("colours with an empty NO_COLOR, as no-color.org has it", "\033[" in shown("check", NO_COLOR=""))
report("none on a dumb terminal", "\033" not in shown("check", TERM="dumb"))
report("--color=always wins over NO_COLOR", "\033[" in shown("check", "--color=always", NO_COLOR="1"))
for columns in (50, 80, 100):
    text = shown("check", columns=columns)
    report(f"fills {columns} columns and no more", columns - 12 <= widest(text) <= columns, text)
report("no wider than 100 columns on a wide screen", widest(shown("check", columns=250)) <= 100)
size = "import os; print(*os.get_terminal_size())"
root = set(os.listdir("/"))
for rows, columns, seen in ((30, 99, "99 30"), (0, 0, "80 24")):  # without a size, what a terminal of old has
    text = shown("run", "--ledger", os.path.join(os.environ["TMPDIR"], "l.db"), "--", sys.executable, "-c", size, rows=rows, columns=columns)
    report(f"a command in {rows} rows of {columns} columns sees {seen}", seen in text, text)
report("a run without a home folder makes none", set(os.listdir("/")) == root, set(os.listdir("/")) - root)
text = shown("check", columns=10)
report("a terminal of 10 columns gets lines of 40", widest(text) <= 60 and "warning" in text, text)
for columns in (40, 80):
    text = shown("compare", "a-word-that-is-nobody's", columns=columns, FARE_LEDGER="/nonexistent/x.db")
    rows = text.splitlines()
    report(f"a message is wrapped at spaces at {columns} columns", len(rows) > 2 and widest(text) <= columns and rows[0].startswith("fare: ")
           and " ".join(row[6:] for row in rows) == "no run fits 'a-word-that-is-nobody's' a run's id, a label key=value, a machine, "
           "GPU or framework; 'fare runs' lists them", text)
done()
