# SPDX-License-Identifier: Apache-2.0
"""The command line: absurd options, environments, input files and outputs, and commands whose terminal closes, that are stopped, or whose
reader leaves."""
import os
import pty
import re
import signal
import subprocess
import time
from pathlib import Path

from round import END_S, Fault, counts

CORPUS = Path(__file__).resolve().parent.parent / "fuzz/corpus"
COMMANDS = (["runs"], ["runs", "export"], ["runs", "import"], ["compare"], ["quote"], ["cron"], ["report"], ["prices"], ["prices", "import"],
            ["workloads"], ["run"])
URL = "postgresql://u:geheim@127.0.0.1:1/x"
VALUES = ["", "-", "-1", "0", "1", "2.5", "nan", "inf", "1e308", "-1e308", "9" * 400, "0x10", "1e-400", "%n%s%d", "\x1b]0;title\x07\x1b[31m", "\xff\xfe",
          "ä" * 2000, "x" * 100000, "a=b", "=", "a=" * 500, "h100", "mlp", "last", "published-2017", "1h", "99999999999999h", "2017-04-15", "2017-02-30",
          "9999-12-31", "0000-00-00", "5%", "1e9%", "EUR", "json", "csv", "html", "aws/p2.xlarge", "/", ".", "..", "/dev/full", "/dev/null", "/dev/zero",
          "no/such/file", "ledger.db", URL, "http://127.0.0.1:1/", "((a{1,99}){1,99}){1,99}", "*/5 * * * *", "* * * *"]
ENVIRONMENT = {"COLUMNS": ("-1", "0", "1", "99999999999"), "TERM": ("", "\x1b[31m"), "TZ": ("Nowhere/City", ":/dev/zero", "x" * 5000),
               "LC_ALL": ("C", "xx_XX"), "FARE_LEDGER": ("", "/", "mysql://x"), "XDG_DATA_HOME": ("", "relative", "/dev/null"), "NO_COLOR": ("1",)}
BAD, WAIT_S = 60, 10
FILES = {"keras": ["runs", "import"], "dawnbench": ["runs", "import"], "mllog": ["runs", "import"], "hyperfine": ["runs", "import"],
         "record": ["runs", "import"], "gpuhunt": ["prices", "import"], "skypilot": ["prices", "import"], "offers": ["prices", "import"],
         "awsspot": ["prices", "import"], "safetensors": ["run", "mlp", "--max-time", "1s", "--steps", "1", "--from"]}
options = {}


def options_of(r, command):
    key = " ".join(command)
    if key not in options:
        text = r.fare(*command, "--help")[1].decode()
        options[key] = [(name, bool(value)) for name, value in re.findall(r"^ +(?:-\w, )?(--[a-z-]+)(?:[ \[=]+([A-Z]))?", text, re.M)]
    return options[key]


def argument(r):
    value = r.random.choice(VALUES)
    if r.random.random() < 0.1:
        value += r.random.choice(VALUES)
    return value[:120000].replace("\0", "")


def bad_line(r):
    """A command with some of its options, mostly with values they cannot have."""
    command = r.random.choice(COMMANDS)
    line = list(command)
    for name, takes in r.random.sample(options_of(r, command), k=min(len(options_of(r, command)), r.random.randrange(1, 4))):
        line += [name, argument(r)] if takes and r.random.random() < 0.95 else [name]
    if command == ["run"]:
        line += ["--", "true"]
    elif r.random.random() < 0.4 or command[-1] == "import":
        line.append(argument(r))
    env = {}
    if r.random.random() < 0.2:
        name = r.random.choice(sorted(ENVIRONMENT))
        env[name] = r.random.choice(ENVIRONMENT[name])
    code, _, problem = r.fare(*line, env=env)
    shown = "--ledger" in line and line[line.index("--ledger") + 1:][:1] == [URL]
    if shown and b"geheim" in problem:
        raise Fault(f"a password is shown: {line}")
    counts["bad command lines"] += 1
    counts["bad command lines, refused"] += code != 0


def bad_file(r):
    name = r.random.choice(sorted(FILES))
    path = r.home / f"input-{name}"
    data = r.random.choice(sorted((CORPUS / name).iterdir())).read_bytes()
    path.write_bytes(r.corrupted(data, r.random.randrange(20)))
    r.fare(*FILES[name], path)
    counts["bad input files"] += 1


def bad_output(r):
    """Full, closed, or with a reader that leaves."""
    with open("/dev/full", "w") as full:
        code = r.fare("runs", "--published", closed=full)[0]
    if code != 1:
        raise Fault(f"a full disk: ended with {code}")
    r.fare("report", "--published", "2017-inception", "-o", "/dev/full", codes=(1,))
    if not Path("/dev/full").is_char_device():
        raise Fault("/dev/full was replaced")
    began = time.monotonic()
    p = r.start("run", "--", "yes", stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    p.stdout.read(r.random.randrange(1, 100000))
    p.stdout.close()
    wait_end(p, began, "whose reader left")
    counts["outputs closed or full"] += 3


def wait_end(p, began, which):
    try:
        p.wait(WAIT_S)
    except subprocess.TimeoutExpired as e:
        raise Fault(f"a run {which} still runs after {time.monotonic() - began:.1f} s") from e


def alive(mark):
    """The processes with this in their environment."""
    found = []
    for path in Path("/proc").glob("[0-9]*/environ"):
        try:
            if mark.encode() in path.read_bytes():
                found.append(int(path.parent.name))
        except OSError:
            pass
    return found


def closed_terminal(r):
    """fare leads the session, as with ssh -t: the command ends with the terminal."""
    mark = f"SOAK_MARK={r.home.name}-{r.random.randrange(10**9)}"
    pid, terminal = pty.fork()
    if pid == 0:
        signal.signal(signal.SIGHUP, signal.SIG_DFL)  # the soak may run under nohup
        os.chdir(r.home)
        os.execve(r.program, [r.program, "run", "--", "sh", "-c", "while :; do echo step; sleep 0.05; done"], {**r.env, **dict([mark.split("=")])})
    time.sleep(r.random.uniform(0.1, 0.5))
    os.close(terminal)
    began = time.monotonic()
    while os.waitpid(pid, os.WNOHANG)[0] == 0:
        if time.monotonic() - began > WAIT_S:
            for one in alive(mark):
                os.kill(one, signal.SIGKILL)
            os.waitpid(pid, 0)
            raise Fault(f"the terminal closed, and fare runs on after {WAIT_S} s")
        time.sleep(0.01)
    while left := alive(mark):
        if time.monotonic() - began > WAIT_S:
            for one in left:
                os.kill(one, signal.SIGKILL)
            raise Fault("the terminal closed, and the command runs on")
        time.sleep(0.01)
    counts["terminals closed"] += 1


def stopped_command(r):
    """A stopped command is continued to receive SIGTERM."""
    p = r.start("run", "--", "sh", "-c", "echo step 1; kill -STOP $$; sleep 100", stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    time.sleep(r.random.uniform(0.1, 0.5))
    began = time.monotonic()
    p.terminate()
    wait_end(p, began, "with a stopped command")
    if time.monotonic() - began > END_S:
        raise Fault(f"a stopped command ended {time.monotonic() - began:.1f} s after SIGTERM")
    counts["stopped commands ended"] += 1


def play(r):
    r.fare("run", "--", "true")
    for _ in range(BAD):
        bad_line(r)
    for _ in range(BAD // 3):
        bad_file(r)
    bad_output(r)
    closed_terminal(r)
    stopped_command(r)
