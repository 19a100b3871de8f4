# SPDX-License-Identifier: Apache-2.0
"""Prices, quotes, bills and schedules on terminals of 40, 64 and 80 columns: no line is wider."""
import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from pathlib import Path

sys.path.insert(0, os.environ["TESTS"])
from tap import done, report  # noqa: E402

FARE = os.environ["FARE"]
CONFIG = Path(os.environ["XDG_CONFIG_HOME"]) / "fare"
CONFIG.mkdir(parents=True)
(CONFIG / "rates.csv").write_text("provider,offer,discount_percent,credit,rate,currency,from,to\n"
                                  "leadergpu,,10,2,,USD,,\naws,,,,0.85,USD,,\n")


def shown(columns, *args):
    """What a terminal of so many columns gets to see, and the exit code."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    p = subprocess.Popen([FARE, *args], stdin=slave, stdout=slave, stderr=slave, env={**os.environ, "NO_COLOR": "1"})
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
    os.close(master)
    return re.sub(r"\033\[[0-9;]*m", "", text.decode()), p.wait()


RUN = "published-2018-tweets-leadergpu-2-p100-one-used"
CASES = [
    ("quote", "tweets", "--date", "2018-02-15"),
    ("quote", "tweets", "--date", "2018-02-15", "--all", "--hour-of-mine", "30"),
    ("quote", "tweets", "--date", "2018-02-15", "--runs", "10", "--hours-per-month", "40", "--budget", "2", "--deadline", "2h"),
    ("quote", RUN, "--date", "2018-02-15", "--offer", "leadergpu/2xP100", "--storage", "100GB", "--egress", "5GB"),
    ("quote", RUN, "--date", "2018-02-15", "--offer", "softlayer/4xK80", "--hour-of-mine", "30"),
    ("prices", "--book", "-", "-n", "100"),
    ("prices", "--book", "-", "--all", "t4"),
    ("prices", "--book", "-", "--date", "2018-02-15"),
    ("prices", "--book", "-", "aws/p3.2xlarge", "--date", "2018-02-15"),
    ("prices", "--book", "-", "leadergpu/2xP100", "--date", "2018-02-15"),
    ("prices", "--book", "-", "hetzner/ex51-ssd-gpu:monthly", "--date", "2018-02-15"),
    ("cron", "0 */4 * * *", "--up", "2m", "--offer", "gcp/n1-standard-1:spot", "--date", "2018-11-01"),
    ("cron", "@hourly", "--up", "5m", "--offer", "leadergpu/2xP100", "--date", "2018-02-15", "--tasks", "12"),
]
for columns in (40, 64, 80):
    for case in CASES:
        text, code = shown(columns, *case)
        # A single word, such as a run's id, cannot be broken.
        wide = [line for line in text.splitlines() if len(line) > columns and len(line.split()) > 1]
        report(f"{columns} columns: {' '.join(case)}", code == 0 and not wide, "\n".join(wide) or text)
done()
