#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Programs of anybody's under `fare run --`: well-behaved ones, and those that fork, crash, hang on, print
binary or a hundred megabytes, and tell nonsense."""
import hashlib
import json
import os
import pty
import random
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

sys.path.insert(0, os.path.join(os.environ["ROOT"], "tests"))
from tap import done, report  # noqa: E402

FARE = os.environ["FARE"]
ROOT = Path(os.environ["ROOT"])
PYTHON = sys.executable
os.environ["PYTHONDONTWRITEBYTECODE"] = "1"  # share/ stays as it is


def line(script, *options):
    return [FARE, "run", *options, "--", PYTHON, "-c", script]


def fare(script, *options, env=None, **more):
    """Its exit code, stdout and stderr as bytes."""
    p = subprocess.run(line(script, *options), capture_output=True, timeout=120, env={**os.environ, **(env or {})}, **more)
    return p.returncode, p.stdout, p.stderr


def record(script, *options, env=None):
    p = subprocess.run(line(script, "--json", *options), capture_output=True, timeout=120,
                       env={**os.environ, **(env or {})})
    try:
        run = json.loads(p.stdout)["runs"][0]
    except (ValueError, KeyError, IndexError):
        run = {}
    return p.returncode, run, p.stderr.decode("utf-8", "replace")


def wait_until(true, seconds=60):
    """Whether it came true within a time that is enough on any machine."""
    end = time.monotonic() + seconds
    while not true() and time.monotonic() < end:
        time.sleep(0.02)
    return true()


def alive(pid):
    try:
        os.kill(pid, 0)
        return True
    except ProcessLookupError:
        return False


TELL = """
import json, os, time
def tell(**event):
    with open(os.environ["FARE_EVENTS"], "a") as f:
        f.write(json.dumps(event) + "\\n")
"""


def endings():
    for code in (0, 1, 3, 200):
        got, run, text = record(f"import sys; sys.exit({code})")
        report(f"exit code {code} is passed on", got == code and run["exit_code"] == code
               and run["ended"] == ("failed" if code else "finished"), (got, run, text))
    got, run, text = record("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)")
    report("a crash is 128 and its signal", got == 139 and run["signal"] == 11 and run["ended"] == "failed"
           and run["problem"] == "signal SIGSEGV", (got, run, text))
    for words, code in ((["no-such-program"], 127), (["/"], 126), ([], 2)):
        p = subprocess.run([FARE, "run", "--", *words], capture_output=True, text=True)
        report(f"a command that cannot be started ends with {code}", p.returncode == code
               and p.stderr.startswith("fare: ") and p.stdout == "", p)
    p = subprocess.run([FARE, "--", "sh", "-c", "echo out; echo err >&2; exit 5"], capture_output=True, text=True)
    report("bare fare measures a command too", p.returncode == 5 and p.stdout == "out\n"
           and p.stderr.startswith("fare: sampling: this will be stopped once its total time is known; 'fare run -- sh -c ")
           and "err\nfare: sh failed" in p.stderr, p)
    report("of one that failed there is no quote, but its last line", "fare: its last line: err\n" in p.stderr
           and "The whole training" not in p.stderr and "The report" not in p.stderr, p)
    p = subprocess.run([FARE, "--", "true"], capture_output=True, text=True)
    page = Path(os.environ["XDG_DATA_HOME"]) / "fare" / "report.html"
    report("and writes its report", f"fare: The report, with plots: {page}" in p.stderr
           and page.read_text().startswith("<!doctype html>"), p)
    p = subprocess.run([FARE, "run", "mlp", "--", "true"], capture_output=True, text=True)
    report("a workload and a command do not go together", p.returncode == 2 and "both" in p.stderr, p)
    got, run, _ = record("pass", "--name", "my run")
    report("a run has the name it was given", run["name"] == "my run" and run["framework"] == "command", run)
    p = subprocess.run([FARE, "run", "--json", "--", PYTHON, "-u", str(ROOT / "share/python/fare.py")],
                       capture_output=True)
    run = json.loads(p.stdout)["runs"][0]
    report("or its script's", run["name"] == "fare" and run["command"][1] == "-u", run)


def outputs():
    rng = random.Random(7)
    data = bytes(rng.randrange(256) for _ in range(300_000))
    with tempfile.NamedTemporaryFile() as f:
        f.write(data)
        f.flush()
        script = f"import sys, os\nd = open({f.name!r}, 'rb').read()\nos.write(2, d[:1000])\n" \
                 "for i in range(0, len(d), 7777): sys.stdout.buffer.write(d[i:i + 7777]); sys.stdout.flush()"
        got, out, err = fare(script)
    report("binary output passes byte for byte", got == 0 and out == data and err.startswith(data[:1000]), err[1000:])
    script = "import sys\nb = bytes(range(256)) * 4096\nfor i in range(100): sys.stdout.buffer.write(b)"
    digest, size = hashlib.sha256(), 0
    p = subprocess.Popen(line(script), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    while block := p.stdout.read(1 << 20):
        digest.update(block)
        size += len(block)
    _, status, usage = os.wait4(p.pid, 0)
    p.returncode = os.waitstatus_to_exitcode(status)
    expected = hashlib.sha256(bytes(range(256)) * 4096 * 100).digest()
    report("100 MB pass byte for byte", status == 0 and size == 100 << 20 and digest.digest() == expected, size)
    report("and take no memory", usage.ru_maxrss < 64 << 10, f"{usage.ru_maxrss} KiB")
    got, out, err = fare("import sys; sys.stdout.write('x' * 10_000_000)")
    report("a line of 10 MB is one", got == 0 and out == b"x" * 10_000_000, err)
    got, out, err = fare("import sys; print(sys.stdin.read()[::-1])", input=b"abc")
    report("its input is ours", out == b"cba\n", (out, err))
    got, run, err = record("import sys; print('to stdout'); print('to stderr', file=sys.stderr)")
    report("with --json its output goes to stderr", run.get("ended") == "finished" and "to stdout\n" in err
           and "to stderr\n" in err, err)
    got, out, err = fare("import sys\nfor i in range(200): sys.stdout.write(f'o{i} '); sys.stdout.flush();"
                         " sys.stderr.write(f'e{i} '); sys.stderr.flush()", preexec_fn=lambda: os.dup2(1, 2))
    report("the order of one stream is kept", out.startswith(b" ".join(b"o%d e%d" % (i, i) for i in range(200))), out)


def elsewhere(root):
    """Lines of the pages below `root` on readers that leave, but for the section on them and lines that link to it."""
    title, found = "### When its reader leaves", []
    for page in [root / "README.md", *sorted(root.glob("docs/*.md"))]:
        before, _, rest = page.read_text().partition(title)
        section, heading, after = rest.partition("\n#")
        found += [f"{page.name}: {line}" for line in (before + heading + after).splitlines()
                  if re.search(r"\breader\b.*\bleaves\b|\bSIGPIPE\b", line) and "measuring-a-command.md#when-its-reader-leaves" not in line]
    return found


def readers(scratch):
    mark = scratch / "finished"
    script = f"import sys\nfor i in range(20000): print('line', i)\nopen({str(mark)!r}, 'w').close()"
    p = subprocess.Popen(line(script), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    p.stdout.readline()
    p.stdout.close()
    err = p.stderr.read()
    report("somebody who stops reading does not end it", p.wait(60) == 0 and mark.exists() and b"lost" in err, err)
    got = subprocess.run(["bash", "-c", '"$@" | head -1; echo ${PIPESTATUS[0]}', "bash", FARE, "run", "--", "yes"],
                         capture_output=True, timeout=60)
    report("but one that writes without end ends, as without fare", got.stdout == b"y\n141\n", got)
    ends = [subprocess.run(["bash", "-c", '"$@" | head -c 1 >/dev/null; echo ${PIPESTATUS[0]}', "bash", FARE, "run", "--", "head", "-c", size,
                            "/dev/zero"], capture_output=True, timeout=60).stdout for size in ("63M", "70M")]
    report("after 64 MiB, as docs/measuring-a-command.md says", ends == [b"0\n", b"141\n"]
           and "After 64 MiB it gets SIGPIPE" in (ROOT / "docs/measuring-a-command.md").read_text(), ends)
    said = elsewhere(ROOT)
    report("which no other place says without a link to it", not said, said)
    mark.unlink(missing_ok=True)
    got = subprocess.run(["bash", "-c", f'"$@" >&-', "bash", *line(script)], capture_output=True, timeout=60)
    report("nor does a closed stdout", got.returncode == 0 and mark.exists(), got)
    got = subprocess.run(["bash", "-c", f'"$@" >/dev/full', "bash", *line(script)], capture_output=True, timeout=60)
    report("nor a full disk, which is said", got.returncode == 0 and b"No space left" in got.stderr, got)
    mark.unlink(missing_ok=True)
    p = subprocess.Popen(line(f"import sys; open({str(mark)!r}, 'w').close(); sys.stdout.write('y' * 1_000_000)"),
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    wait_until(mark.exists)
    time.sleep(2)
    out, err = p.communicate(timeout=60)
    report("a slow reader gets all of it, and the run says that it waited", out == b"y" * 1_000_000
           and b"waited" in err, err)
    p = subprocess.Popen(line("import sys; sys.stdout.write('y' * 1_000_000)"), stdout=subprocess.PIPE,
                         stderr=subprocess.PIPE)
    time.sleep(1)
    p.send_signal(signal.SIGTERM)
    try:
        p.wait(20)
        ended = True
    except subprocess.TimeoutExpired:
        p.kill()
        ended = False
    report("nobody who reads at all cannot hold fare", ended)
    p.stdout.close()
    p.stderr.close()


def processes(scratch):
    pid_file = scratch / "pid"
    leave = f"""
import os, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        open({str(pid_file)!r}, "w").write(str(os.getpid()))
        time.sleep(1000)
    os._exit(0)
while not os.path.exists({str(pid_file)!r}) or not open({str(pid_file)!r}).read():
    time.sleep(0.01)
"""
    began = time.monotonic()
    got, run, err = record(leave, "--grace", "2s")
    took = time.monotonic() - began
    pid = int(pid_file.read_text())
    report("a process left behind, in a session of its own, is ended", got == 0 and not alive(pid), (got, err))
    report("which the run says", any("left behind" in t for t in run.get("taints", [])), run)
    report("and which is not part of its time", run["phases"]["wall_ns"] / 1e9 <= took - 2, (took, run["phases"]))
    pid_file.unlink()
    got, run, err = record(leave.replace("time.sleep(1000)", "import signal; signal.signal(signal.SIGTERM, "
                                         "signal.SIG_IGN); time.sleep(1000)"), "--grace", "300ms")
    report("also one that ignores SIGTERM", got == 0 and not alive(int(pid_file.read_text())), (got, err))
    pid_file.unlink()
    got, run, err = record(leave.replace("time.sleep(1000)", "time.sleep(0.3)"), "--grace", "5s")
    report("one that ends by itself is left in peace", got == 0
           and not any("left behind" in t for t in run.get("taints", [])), run)
    many = "import os, time\nfor i in range(50):\n    if os.fork() == 0: time.sleep(0.05); os._exit(i % 7)\n" \
           "for i in range(50): os.wait()"
    got, run, err = record(many)
    report("fifty children are no harm", got == 0 and run["ended"] == "finished", (got, err))


def early_ends(scratch):
    steps = TELL + "for i in range(1, 100000):\n    tell(step=i)\n    time.sleep(0.01)\n"
    began = time.monotonic()
    got, run, err = record(steps, "--sample", "--total-steps", "100000", "--within", "10%")
    report("once enough is known it is ended, with 0", got == 0 and run["ended"] == "sampled"
           and run["total_steps"] == 100000 and run["steps"] > 10 and time.monotonic() - began < 100, (got, run, err))
    report("and the rest is projected", run["projection"]["wall_s"] > 900, run.get("projection"))
    stubborn = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN)\n" + steps
    got, run, err = record(stubborn, "--sample", "--total-steps", "100000", "--within", "10%", "--grace", "3s")
    report("one that ignores SIGTERM is killed", got == 0 and run["ended"] == "sampled" and run["signal"] == 9,
           (got, run, err))
    phases, projection = run["phases"], run["projection"]
    trained_s, until_term_s = (phases["warmup_ns"] + phases["train_ns"]) / 1e9, phases["wall_ns"] / 1e9 - 3
    report("the time it took to die is not its training's", (run["steps"] - 1) * 0.01 <= trained_s <= until_term_s,
           (phases, run["steps"]))
    report("but in its wall time, as idle", 3e9 <= phases["idle_ns"] < 4.5e9
           and sum(v for k, v in phases.items() if k not in ("wall_ns", "boot_ns")) == phases["wall_ns"], phases)
    report("and not in the projection, which was made before", projection["after_s"] <= until_term_s
           and projection["load_s"] + projection["train_s"] > 0.999 * projection["wall_s"], (phases, projection))
    got, run, err = record(TELL + "for i in range(1, 60):\n    tell(step=i)\n    time.sleep(0.01)\n")
    report("without a total nothing is ended early", got == 0 and run["ended"] == "finished" and run["steps"] == 59, run)
    got, run, err = record(TELL + "for i in range(1, 301):\n    tell(step=i)\n    time.sleep(0.01)\n",
                           "--total-steps", "300")
    report("nor with one: a batch job runs to its end", got == 0 and run["ended"] == "finished" and run["steps"] == 300, run)


def signals(scratch):
    ready, out = scratch / "ready", scratch / "out"
    script = f"""
import os, signal, sys, time
def on(number, frame):
    open({str(out)!r}, "a").write(f"{{number}} ")
    if number == signal.SIGTERM: sys.exit(7)
for s in (signal.SIGTERM, signal.SIGUSR1, signal.SIGUSR2, signal.SIGHUP, signal.SIGINT): signal.signal(s, on)
open({str(ready)!r}, "w").close()
while True: time.sleep(0.05)
"""
    p = subprocess.Popen(line(script, "--json"), stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                         start_new_session=True)
    wait_until(ready.exists)
    sent = (signal.SIGUSR1, signal.SIGUSR2, signal.SIGHUP, signal.SIGINT, signal.SIGTERM)
    for s in sent:
        p.send_signal(s)
        wait_until(lambda: out.exists() and str(int(s)) in out.read_text().split())
    stdout, err = p.communicate(timeout=60)
    run = json.loads(stdout)["runs"][0]
    report("signals are passed on, once each", out.read_text().split() == [str(int(s)) for s in sent], out.read_text())
    report("and its answer is ours", p.returncode == 7 and run["ended"] == "interrupted" and run["stopped_by"] == "signal" and run["exit_code"] == 7, run)
    ready.unlink()
    p = subprocess.Popen(line(f"import time, signal\nopen({str(ready)!r}, 'w').close()\ntime.sleep(60)"),
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True)
    wait_until(ready.exists)
    p.send_signal(signal.SIGTERM)
    _, err = p.communicate(timeout=60)
    report("one that ends by a signal of the user's was interrupted, not broken", p.returncode == 143
           and b"interrupted after" in err, (p.returncode, err))
    stopped(scratch)
    deaf(scratch)
    got = subprocess.run(["nohup", *line("import signal; print(signal.getsignal(signal.SIGHUP) == signal.SIG_IGN)")],
                         capture_output=True, text=True)
    report("nohup reaches it", "True" in got.stdout, got)
    got, text, err = fare("import signal as s; print(s.getsignal(s.SIGXFSZ) == s.SIG_IGN, s.pthread_sigmask(0, []))")
    report("its signals are as they were", b"set()" in text, text)


def state(pid):
    return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]


def stopped(scratch):
    """Whatever of it is stopped (SIGSTOP), a signal that ends programs ends it; all at once."""
    stop_me = "import os, signal, sys\nprint(os.getpid(), flush=True)\n%s\nos.kill(os.getpid(), signal.SIGSTOP)\nsignal.pause()"
    below = "import subprocess as s, os, signal\np = s.Popen(['sleep', '60'])\np.send_signal(signal.SIGSTOP)\nprint(p.pid, flush=True)\np.wait()"
    cases = {f"SIG{name}, {what}": (getattr(signal, "SIG" + name), script, code or 128 + getattr(signal, "SIG" + name))
             for name in ("INT", "TERM", "HUP", "QUIT") for what, script, code in (
                 ("itself stopped", stop_me % "signal.signal(signal.SIGINT, signal.SIG_DFL)", 0),
                 ("which answers", stop_me % f"signal.signal(signal.SIG{name}, lambda *_: sys.exit(7))", 7),
                 ("its child stopped", below, 0))}
    running = {name: subprocess.Popen(line(script, "--json"), stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True)
               for name, (_, script, _) in cases.items()}
    for name, p in running.items():
        pid = int(p.stderr.readline())
        wait_until(lambda: state(pid) == "T")
        p.send_signal(cases[name][0])
    for name, p in running.items():
        try:
            out, err = p.communicate(timeout=20)
        except subprocess.TimeoutExpired:
            p.kill()
            out, err = b"", b"did not end"
        run = json.loads(out)["runs"][0] if out else {}
        report(f"a stopped command is ended: {name}", p.returncode == cases[name][2] and run.get("ended") == "interrupted"
               and run.get("stopped_by") == "signal" and run.get("id"), (p.returncode, run.get("ended"), err[-300:]))
    late = []

    def press(master, text):
        if text.strip().isdigit() and not late:
            pid = int(text)
            wait_until(lambda: state(pid) == "T")
            os.write(master, b"\x03")
            late.append(threading.Timer(20, os.kill, (pid, signal.SIGKILL)))
            late[0].start()
    got, text = in_terminal(stop_me % "signal.signal(signal.SIGINT, lambda *_: sys.exit(9))", press)
    late[0].cancel()
    report("Ctrl-C ends a stopped one", got == 9 and "interrupted" in text, (got, text))


def deaf(scratch):
    """Who ignores the signals that end programs is killed after --grace; who handles them, or is under nohup, is not."""
    ignore = "import os, signal, sys, time\nfor s in (%s): signal.signal(s, %s)\nprint(os.getpid(), flush=True)\n%stime.sleep(%s)"
    every, stop = "signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT", "os.kill(os.getpid(), signal.SIGSTOP)\n"
    second = "import subprocess as s, sys, os\np = s.Popen([sys.executable, '-c', %r])\np.wait()"
    killed, asked = 128 + signal.SIGKILL, 128 + signal.SIGTERM
    cases = {f"{what}, SIG{name}": (getattr(signal, "SIG" + name), script, killed) for name in ("INT", "TERM", "HUP", "QUIT")
             for what, script in (("one that ignores all", ignore % (every, "signal.SIG_IGN", "", 60)),
                                  ("a stopped one that ignores all", ignore % (every, "signal.SIG_IGN", stop, 60)))}
    cases["one that ignores SIGINT alone"] = (signal.SIGINT, ignore % ("signal.SIGINT,", "signal.SIG_IGN", "", 60), asked)
    cases["one that handles SIGTERM goes on"] = (signal.SIGTERM, ignore % ("signal.SIGTERM,", "lambda *_: None", "", 4), 0)
    cases["as does one whose child does"] = (signal.SIGTERM, ignore % ("signal.SIGTERM,", "signal.SIG_IGN", second % (
        ignore % ("signal.SIGTERM,", "lambda *_: None", "", 4)) + "\n#", 0), 0)
    cases["and one that ignores SIGHUP alone"] = (signal.SIGHUP, ignore % ("signal.SIGHUP,", "signal.SIG_IGN", "", 4), 0)
    running = {name: subprocess.Popen(line(script, "--grace", "500ms"), stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True)
               for name, (_, script, _) in cases.items()}
    twice = subprocess.Popen(line(ignore % (every, "signal.SIG_IGN", "", 60), "--grace", "10m"), stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                             start_new_session=True)
    for name, p in running.items():
        pid = int(p.stdout.readline())
        wait_until(lambda: stop not in cases[name][1] or state(pid) == "T")
        if "child" in name:
            p.stdout.readline()
        p.send_signal(cases[name][0])
    twice.stdout.readline()
    for _ in range(2):
        twice.send_signal(signal.SIGINT)
        time.sleep(0.5)
    for name, p in [*running.items(), ("a second Ctrl-C does not wait", twice)]:
        try:
            err = p.communicate(timeout=40)[1]
        except subprocess.TimeoutExpired:
            p.kill()
            err = b"did not end"
        report(f"deaf: {name}", p.returncode == cases.get(name, (0, 0, killed))[2], (p.returncode, err[-300:]))


def in_terminal(script, answer, size=b""):
    """Runs fare on a terminal of its own; `answer` gets the master and what was printed so far."""
    pid, master = pty.fork()
    if pid == 0:
        os.execv(FARE, line(script))
    text = b""
    while True:
        try:
            block = os.read(master, 4096)
        except OSError:
            break
        if not block:
            break
        text += block
        answer(master, text)
    _, status = os.waitpid(pid, 0)
    os.close(master)
    return os.waitstatus_to_exitcode(status), text.decode("utf-8", "replace")


def terminals():
    script = "import os, sys; print([os.isatty(i) for i in range(3)], os.get_terminal_size(1)); sys.exit(4)"
    got, text = in_terminal(script, lambda m, t: None)
    report("on a terminal it has one", got == 4 and "[True, True, True]" in text, text)
    pressed = []

    def press(master, text):
        if b"ready" in text and not pressed:
            pressed.append(1)
            os.write(master, b"\x03")

    got, text = in_terminal("import signal, time\nn = []\nsignal.signal(signal.SIGINT, lambda *_: n.append(1))\n"
                            "print('ready', flush=True)\nend = time.time() + 20\n"
                            "while time.time() < end and not n: time.sleep(0.05)\n"
                            "time.sleep(0.5)\nprint('pressed', len(n))", press)
    report("Ctrl-C reaches it, once", "pressed 1\r\n" in text and "interrupted" in text, (got, text))
    got, text = in_terminal("print('no end', end='')", lambda m, t: None)
    report("fare's words begin a line", "no end\r\nfare: " in text, text)
    typed = []

    def type_in(master, text):
        if b"name?" in text and not typed:
            typed.append(1)
            os.write(master, b"fare\n")

    got, text = in_terminal("print('hello', input('name?'))", type_in)
    report("it can read from it", "hello fare\r\n" in text, text)


def hangup(scratch):
    """As ssh -t and docker -it have it: fare leads the terminal's session, and the terminal goes."""
    mark = scratch / "hangup"
    pid, master = pty.fork()
    if pid == 0:
        os.execv(FARE, line(f"import os, time\nopen({str(mark)!r}, 'w').write(f'{{os.getpid()}}.')\ntime.sleep(100)"))
    wait_until(lambda: mark.exists() and mark.read_text().endswith("."))
    command = int(mark.read_text()[:-1])
    os.close(master)
    report("a closed terminal ends it", wait_until(lambda: not alive(command), 20))
    os.waitpid(pid, 0)
    if alive(command):
        os.kill(command, signal.SIGKILL)


def folders(scratch):
    """What a killed fare leaves in /tmp, the next one removes, but not under a command that goes on."""
    home, mark = scratch / "swept", scratch / "folders"
    home.mkdir()
    env = {"TMPDIR": str(home)}
    script = f"import os, time\nopen({str(mark)!r}, 'w').write(f'{{os.getpid()}}.')\ntime.sleep(100)"
    p = subprocess.Popen(line(script), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env={**os.environ, **env})
    wait_until(lambda: mark.exists() and mark.read_text().endswith("."))
    p.kill()
    p.wait()
    left = list(home.glob("fare-*"))
    fare("pass", env=env)
    report("the folder of a killed fare is there as long as its command", len(left) == 1 and left[0].exists(), left)
    os.kill(int(mark.read_text()[:-1]), signal.SIGKILL)
    report("and then the next start removes it",
           wait_until(lambda: fare("pass", env=env)[0] == 0 and not list(home.glob("fare-*")), 20), list(home.iterdir()))


def events(scratch):
    nonsense = TELL + """
path = os.environ["FARE_EVENTS"]
for i in range(1, 51):
    tell(step=i, loss=1 / i)
    with open(path, "ab") as f:
        f.write(os.urandom(200) + b"\\n")
        f.write(b'{"step": ' + b"\\n" + b"x" * 100_000 + b"\\n" + b"[]\\n\\n\\0\\0\\n" + b'{"step": -5}\\n{"phase": 3}\\n')
    time.sleep(0.002)
"""
    got, run, err = record(nonsense)
    report("nonsense among the events is passed over", got == 0 and run["ended"] == "finished"
           and run["steps"] == 50 and abs(run["last_loss"] - 0.0211) < 0.002, run)
    got, out, err = fare(nonsense)
    report("and said, with the first of it", b"could not be read" in err, err)
    ranks = TELL + """
for rank in range(8):
    if os.fork() == 0:
        for i in range(1, 101):
            tell(step=i, samples=4, rank=rank, world=8)
            time.sleep(0.005)
        os._exit(0)
for rank in range(8): os.wait()
"""
    got, run, err = record(ranks)
    batch = run["samples_per_s"] * run["step_ms"] / 1e3
    report("eight workers are one training", run["steps"] == 100 and abs(batch - 32) < 0.5, (run["steps"], batch))
    mine = scratch / "mine.jsonl"
    mine.write_text('{"step": 1000000}\n')
    got, run, err = record(TELL + "for i in range(1, 11): tell(step=i); time.sleep(0.01)",
                           env={"FARE_EVENTS": str(mine)})
    report("a file of the user's is read from where it ended", run["steps"] == 10
           and mine.read_text().count("\n") == 11, run.get("steps"))
    got, run, err = record(TELL + "for i in range(1, 11): tell(step=i); time.sleep(0.01)",
                           env={"FARE_EVENTS": str(scratch / "later.jsonl")})
    report("or one that comes later", run["steps"] == 10 and (scratch / "later.jsonl").exists(), run.get("steps"))
    for n in (3, 5, 9, 63):
        got, run, err = record("import os, time\nn = int(os.environ['FARE_EVENTS'][3:])\nfor i in range(1, 11): "
                               "os.write(n, b'{\"step\": %d}\\n' % i); time.sleep(0.01)", env={"FARE_EVENTS": f"fd:{n}"})
        report(f"or descriptor {n}", got == 0 and run.get("steps") == 10, (run.get("steps"), err))
    got, run, err = record("pass", env={"FARE_EVENTS": "fd:x"})
    report("which must be one", got == 2 and "FARE_EVENTS" in err, err)
    private = scratch / "tmp"
    private.mkdir()
    got, out, err = fare("import os; p = os.environ['FARE_EVENTS']; print(p, oct(os.stat(os.path.dirname(p)).st_mode))",
                         env={"TMPDIR": str(private)})
    report("the file is the user's alone", out.decode().split()[1] == "0o40700"
           and out.decode().startswith(str(private)), out)
    report("and gone afterwards", list(private.iterdir()) == [], list(private.iterdir()))
    big = "import os\nf = open(os.environ['FARE_EVENTS'], 'a')\n" \
          "for i in range(1, 400001): f.write('{\"step\": %d, \"note\": \"%s\"}\\n' % (i, 'x' * 60))\n"
    got, run, err = record(big)
    report("400,000 events at once are read", got == 0 and run["steps"] == 400000, run.get("steps"))
    ended = scratch / "ended"
    hole = f"import os\nos.truncate(os.environ['FARE_EVENTS'], 1 << 40)\nopen({str(ended)!r}, 'w').close()"
    p = subprocess.Popen(line(hole, "--json"), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    wait_until(ended.exists)
    p.send_signal(signal.SIGINT)
    began = time.monotonic()
    out, err = p.communicate(timeout=120)
    run = json.loads(out)["runs"][0]
    report("a terabyte of nothing is given up when the user wants an end, and that is said",
           time.monotonic() - began < 50 and any("were not read" in t for t in run["taints"]), (run, err))


def patterns():
    bar = "import sys, time\nfor i in range(0, 101):\n    sys.stderr.write(f'\\r{i:3d}%|####      | {i}/100 " \
          "[00:01<00:02, 29.5it/s, loss={1 - i / 200:.3f}]'); sys.stderr.flush(); time.sleep(0.005)"
    got, run, err = record(bar)
    report("a tqdm bar is progress", run["steps"] == 100 and abs(run["last_loss"] - 0.52) < 0.02, run)
    got, run, err = record("import time\nfor i in range(1, 31): print('iteration', i, 'of 30 done'); time.sleep(0.005)",
                           "--step-pattern", r"iteration (\d+) of (\d+)")
    report("so is a line that --step-pattern knows", run["steps"] == 30 and run["total_steps"] == 30, run)
    got, run, err = record("pass", "--step-pattern", "(")
    report("which must be a regular expression", got == 2 and "--step-pattern" in err, err)
    got, out, err = fare("print('hello')")
    report("where nothing is told, it says how to", b"no progress was seen" in err and b"FARE_EVENTS" in err
           and b"--step-pattern" in err and b"'fare workloads python-helper'" in err and out == b"hello\n", err)


def make_places(where):
    """What is no such file, or one with no such text."""
    (where / "folder").mkdir(parents=True)
    os.mkfifo(where / "fifo")
    with socket.socket(socket.AF_UNIX) as s:
        s.bind(str(where / "socket"))
    (where / "sparse").touch()
    os.truncate(where / "sparse", 10 << 30)
    texts = {"bytes": b"\xff\xfe\x00{", "deep": b"[" * 50000, "list": b"[1, 2]", "null": b"null", "text": b'{"save": "x", "end": "y"}',
             "many": b'{"save": [1]}', "nan": b'{"save": NaN, "end": NaN}', "long": b'{"save": ' + b"9" * 60000 + b"}", "closed": b"{}", "empty": b""}
    for name, text in texts.items():
        (where / name).write_bytes(text)
    (where / "closed").chmod(0)
    return [str(where / name) for name in ("missing", "folder", "fifo", "socket", "sparse", *texts)] + [
        "/dev/zero", "/dev/full", "", "x" * 100000, "/nonexistent/" * 50, b"\xff\xfe", "fd:" + "9" * 30, "fd:-1", "fd:x"]


def hostile_places(scratch):
    """FARE_NOTICE and FARE_EVENTS that lead anywhere: the training goes on, without a word, a wait or memory."""
    cases = [(name, place) for name in ("FARE_NOTICE", "FARE_EVENTS") for place in make_places(scratch / name)]
    full, end = os.pipe()  # nobody reads it, and there is no room
    os.set_blocking(end, False)
    try:
        while True:
            os.write(end, b"x" * 4096)
    except BlockingIOError:
        os.set_blocking(end, True)
    script = f"""
import resource, sys; resource.setrlimit(resource.RLIMIT_AS, (1 << 31, 1 << 31)); sys.path.insert(0, {str(ROOT / 'share/python')!r})
import fare, time
for i in range(3):
    fare.step(loss=0.5); fare.phase("train"); fare.report(loss=1); fare.about(batch=1, data="x" * 10000); fare.saved("x")
    assert fare.save_due() in (True, False) and fare.ending() in (True, False)
    fare._looked = 0
assert int(open("/proc/self/status").read().split("VmHWM:")[1].split()[0]) < 60 << 10
"""
    cases.append(("FARE_EVENTS", f"fd:{end}"))
    running = [(name, place, subprocess.Popen([PYTHON, "-S", "-c", script], cwd=scratch, pass_fds=[end], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                              stderr=subprocess.STDOUT, env={**os.environ, name: place})) for name, place in cases]
    bad, until = [], time.monotonic() + 30
    for name, place, p in running:
        try:
            out = p.communicate(timeout=max(0.1, until - time.monotonic()))[0]
        except subprocess.TimeoutExpired:
            p.kill()
            out = b"hangs" + p.communicate()[0]
        if p.returncode != 0 or out:
            bad.append(f"{name}={str(place)[-30:]}: {p.returncode} {out[-200:]}")
    os.close(full)
    os.close(end)
    for name in ("FARE_NOTICE", "FARE_EVENTS"):
        report(f"fare.py: a hostile {name} harms no training", not any(b.startswith(name) for b in bad), "\n".join(bad))


def helpers(scratch):
    use = f"import sys, time; sys.path.insert(0, {str(ROOT / 'share/python')!r}); import fare\n"
    script = use + """
fare.phase("load"); fare.about(batch=16, epochs=2, data={"name": "toy", "train_samples": 800})
fare.phase("train")
for epoch in (1, 2):
    for i, batch in enumerate(fare.steps(range(50), epoch=epoch, samples=16)):
        time.sleep(0.002)
    with fare.phase("evaluate"):
        time.sleep(0.05)
        fare.report(test_accuracy=0.5 * epoch)
fare.step(0, loss=float("nan")); fare.step(n="x"); fare.report(loss=object()); fare.about(batch=open)
"""
    got, run, err = record(script)
    report("fare.py tells every step", got == 0 and run["steps"] == 100, (got, run, err))
    report("epochs, accuracy, and what it is about", [e.get("test_accuracy") for e in run["epoch_list"]] == [0.5, 1.0]
           and run["batch"] == 16 and run["data"]["name"] == "toy" and run["steps_per_epoch"] == 50, run)
    report("and how long it evaluated", run["phases"]["evaluate_ns"] > 0.09e9, run["phases"])
    p = subprocess.run([PYTHON, "-c", script], capture_output=True, text=True,
                       env={k: v for k, v in os.environ.items() if k != "FARE_EVENTS"})
    report("without fare it does nothing", p.returncode == 0 and p.stdout == p.stderr == "", p)
    for place in ("/nonexistent/x", "fd:77", "fd:", "/"):
        p = subprocess.run([PYTHON, "-c", script], capture_output=True, text=True,
                           env={**os.environ, "FARE_EVENTS": place})
        report(f"nor does it fail with FARE_EVENTS={place}", p.returncode == 0 and p.stderr == "", p)
    hostile_places(scratch)
    speed = use + "t = time.process_time()\nfor i in range(100000): fare.step(samples=1, loss=0.5)\n" \
                  "print((time.process_time() - t) * 10)"
    got, out, err = fare(speed)
    report("a step costs microseconds", float(out) < 50, out)
    compiler = shutil.which("gcc") or shutil.which("clang")
    if not compiler:
        report("the C header tells every step", True, skip="no compiler")
        return
    source = scratch / "train.c"
    source.write_text('#include "fare.h"\nint main(void) { fare_phase("train"); for (int i = 0; i < 300; i++) '
                      '{ usleep(1000); fare_step(1, 8, 1.0 / (i + 1)); } fare_phase("evaluate"); fare_accuracy(0.75); '
                      'return 0; }\n')
    built = subprocess.run([compiler, "-Wall", "-Wextra", "-Werror", "-std=gnu11", f"-I{ROOT / 'share/include'}",
                            "-o", scratch / "train", source], capture_output=True, text=True)
    p = subprocess.run([FARE, "run", "--json", "--", scratch / "train"], capture_output=True, text=True)
    run = json.loads(p.stdout)["runs"][0] if built.returncode == 0 else {}
    report("the C header tells every step", run.get("steps") == 300 and run.get("test_accuracy") == 0.75
           and run["name"] == "train", (built.stderr, run))


with tempfile.TemporaryDirectory() as folder:
    folder = Path(folder)
    endings()
    outputs()
    readers(folder)
    processes(folder)
    early_ends(folder)
    signals(folder)
    terminals()
    hangup(folder)
    folders(folder)
    events(folder)
    patterns()
    helpers(folder)
done()
