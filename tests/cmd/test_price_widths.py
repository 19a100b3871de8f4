# SPDX-License-Identifier: Apache-2.0
"""What every command prints on terminals of 40, 64, 80 and 120 columns: no line is wider."""
import fcntl
import json
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


MACHINE = {"machine": {"gpu": "NVIDIA H100 80GB HBM3", "gpus": 1}, "use": {"gpus": 1}}
RECORDS = [{"schema": "fare.run/1", "id": f"20261110T00000{i}Z-{name}", "started": "2026-11-10T00:00:00Z", "name": name,
            "workload": "mlp", "framework": "fare", "ended": ended, "projection": {"wall_s": 123456, "low_s": 100000,
            "high_s": 150000}, "taints": ["something else used the processor"],
            "phases": {"setup_ns": 10**9, "load_ns": 754 * 10**9, "train_ns": 43210 * 10**9, "wall_ns": 44000 * 10**9},
            "epoch_list": [{"epoch": e, "train_ns": 754 * 10**9, "train_loss": 0.1, "train_accuracy": 0.99, "test_loss": 0.2,
                            "test_accuracy": 0.98} for e in (1, 10)],
            "samples": [{"at_s": s, "cpu_percent": s % 90, "memory_bytes": s << 28} for s in range(1, 150)], **MACHINE}
           for i, (name, ended) in enumerate((("a-run-with-a-rather-long-name", "sampled"), ("b", "failed"), ("c", "sampled")))]
(CONFIG / "runs.jsonl").write_text("".join(json.dumps(r) + "\n" for r in RECORDS))
subprocess.run([FARE, "runs", "import", str(CONFIG / "runs.jsonl")], check=True, stdout=subprocess.DEVNULL)
FIRST, LAST = RECORDS[0]["id"], RECORDS[2]["id"]

RUN = "published-2018-tweets-leadergpu-2-p100-one-used"
CASES = [
    ("quote", "tweets", "--date", "2018-02-15"),
    ("quote", "tweets", "--date", "2018-02-15", "--all", "--hour-of-mine", "30"),
    ("quote", "tweets", "--date", "2018-02-15", "--runs", "10", "--hours-per-month", "40", "--budget", "2", "--deadline", "2h"),
    ("quote", RUN, "--date", "2018-02-15", "--offer", "leadergpu/2xP100", "--storage", "100GB", "--egress", "5GB"),
    ("quote", RUN, "--date", "2018-02-15", "--offer", "leadergpu/2xP100", "--hour-of-mine", "30"),
    ("prices", "--book", "-", "-n", "100"),
    ("prices", "--book", "-", "--all", "t4"),
    ("prices", "--book", "-", "--date", "2018-02-15"),
    ("prices", "--book", "-", "aws/p3.2xlarge", "--date", "2018-02-15"),
    ("prices", "--book", "-", "leadergpu/2xP100", "--date", "2018-02-15"),
    ("prices", "--book", "-", "hetzner/ex51-ssd-gpu:monthly", "--date", "2018-02-15"),
    ("cron", "0 */4 * * *", "--up", "2m", "--offer", "gcp/n1-standard-1:spot", "--date", "2018-11-01"),
    ("cron", "@hourly", "--up", "5m", "--offer", "leadergpu/2xP100", "--date", "2018-02-15", "--tasks", "12"),
    ("runs",),
    ("runs", "--published"),
    ("runs", FIRST),
    ("runs", FIRST, "--against", LAST),
    ("quote", LAST, "--offer", "aws/p5.48xlarge"),
    ("quote", LAST, "--pinned"),
    ("compare",),
    ("compare", FIRST, LAST),
    ("compare", "--published", "2015-l1"),
    ("compare", "--published", "2017-inception"),
    ("compare", "--published", "2017-keras-backends"),
    ("compare", "--published", "2018-tweets"),
    ("check", "--no-cloud"),
    ("workloads",),
    ("workloads", "mlp"),
    ("workloads", "inception"),
    ("workloads", "data"),
    ("run", "l1", "mlp", "--n", "256", "--m", "256", "--max-time", "100ms", "--no-ledger", "--no-cloud"),
    ("--help",),
] + [(*command.split(), "--help") for command in ("check", "run", "runs", "quote", "compare", "prices", "cron", "workloads", "runs list",
                                                  "runs show", "runs export", "runs import", "runs push", "prices import",
                                                  "workloads data", "workloads data get")]
for columns in (40, 64, 80, 120):
    for case in CASES:
        text, code = shown(columns, *case)
        # A single word, such as a run's id, cannot be broken, nor a command that is to be copied.
        lines = [line for whole in text.split("\n") for line in whole.rstrip("\r").split("\r")]
        wide = [line for line in lines if len(line) > columns and len(line.split()) > 1 and not line.startswith("  fare ")]
        report(f"{columns} columns: {' '.join(case)}", code == 0 and not wide, "\n".join(wide) or text)

# A name can be pasted at every width: each that a very wide terminal shows stands in the narrow table, whole.
for case in (("quote", "tweets", "--date", "2018-02-15", "--all"), ("prices", "--book", "-", "--all", "t4")):
    names = {word for line in shown(400, *case)[0].split("\n") for word in line.split() if re.fullmatch(r"[a-z]+/[\w.+:@-]+", word)}
    for columns in (40, 64, 80, 120):
        words = set(shown(columns, *case)[0].split())
        report(f"{columns} columns: {' '.join(case)}: no name is cut", len(names) >= 5 and names <= words, sorted(names - words))
done()
