#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""boot.sh of `fare cron --emit`, run as a machine would, in a mount namespace with /run and /var/lib of its own and stand-ins for what
powers off. The command succeeds, fails, hangs, is missing, fills the disk; its words arrive byte for byte in every emitter's files."""
import base64
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, os.path.join(os.environ["ROOT"], "tests"))
from tap import done, report, skip  # noqa: E402

FARE = os.environ["FARE"]
scratch = tempfile.TemporaryDirectory(prefix="fare-boot-")
top = Path(scratch.name)
top.chmod(0o755)


def fare(emit, command, *options, schedule="0 3 * * *", out=None):
    out = out or tempfile.mkdtemp(dir=top)
    offer = {"gcloud": "gcp/x", "aws": "aws/x", "azure": "azure/x"}.get(emit)
    more = ["--up", "2m", "--offer", offer, "--region", "r1", "--rate", "1"] if offer else ["--up", "2m"]
    p = subprocess.run([FARE, "cron", schedule, "--emit", emit, *more, *options, "-o", out, "--", *command], capture_output=True, text=True)
    assert p.returncode == 0, p.stderr
    return Path(out)


class Machine:
    """A machine whose disk is kept between boots. Each boot is a namespace with an empty /run."""

    def __init__(self, command, limit="10s", options=()):
        self.dir = Path(tempfile.mkdtemp(dir=top))
        self.files = fare("gcloud", command, "--limit", limit, *options, out=self.dir / "files")
        for folder in ("bin", "lib"):
            (self.dir / folder).mkdir()
        for tool in ("shutdown", "systemctl", "poweroff"):
            (self.dir / "bin" / tool).write_text(f'#!/bin/sh\necho "{tool} $*" >>"{self.dir}/off"\nexit "$(cat "{self.dir}/code-{tool}" 2>/dev/null || echo 0)"\n')
            (self.dir / "bin" / tool).chmod(0o755)

    def boot(self, times=1, during=None):
        (self.dir / "off").unlink(missing_ok=True)
        run = f'exec sh "{self.files}/boot.sh"' if times == 1 else "; ".join([f'sh "{self.files}/boot.sh"'] * times)
        inner = f'mount -t tmpfs -o size=64k none /run && mkdir -p /var/lib/fare && mount --bind "{self.dir}/lib" /var/lib/fare && {run}'
        p = subprocess.Popen(["unshare", "-m", "sh", "-c", inner], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                             env={"PATH": f"{self.dir}/bin:/usr/bin:/bin"}, cwd=top)
        if during:
            during(p)
        said = p.communicate(timeout=60)[0]
        return p.returncode, said

    def off(self):
        return (self.dir / "off").read_text().splitlines() if (self.dir / "off").exists() else []

    def logs(self):
        return sorted((self.dir / "lib/fare-task/log").glob("*"))

    def log(self):
        return self.logs()[-1].read_text() if self.logs() else ""


if os.geteuid() != 0 or subprocess.run(["unshare", "-m", "true"], capture_output=True).returncode != 0:
    skip("a machine runs its boot script", "needs root and mount namespaces")
else:
    m = Machine(["sh", "-c", "echo hello; echo oops >&2; exit 0"], limit="10m")
    code, said = m.boot()
    report("the first boot runs nothing and powers off", code == 0 and not m.logs() and m.off() == ["shutdown -P +15", "shutdown -P now"], said + str(m.off()))
    code, said = m.boot()
    report("a boot runs the command, keeps its log and powers off", code == 0 and m.log().startswith("hello\noops\n") and
           "ended with code 0" in m.log() and m.off() == ["shutdown -P +15", "shutdown -P now"], said + m.log() + str(m.off()))
    time.sleep(1.1)  # logs are named by the second
    code, said = m.boot(times=2)
    report("twice in one boot, it runs once", len(m.logs()) == 2 and m.off().count("shutdown -P now") == 1, said + str(m.logs()))

    m = Machine(["sh", "-c", "echo failing; exit 7"])
    m.boot()
    code, said = m.boot()
    report("a command that fails: its code is in the log, the machine is off", "ended with code 7" in m.log() and m.off()[-1] == "shutdown -P now", said)

    m = Machine(["sh", "-c", "trap '' TERM; echo begun; sleep 1000"], limit="1s")
    text = (m.files / "boot.sh").read_text()
    report("the time limit has a kill behind it", "timeout -k 60 " in text)
    (m.files / "boot.sh").write_text(text.replace("timeout -k 60 ", "timeout -k 1 "))  # so that the test takes seconds
    m.boot()
    code, said = m.boot()
    report("a command that hangs and ignores signals is ended by the limit", "begun" in m.log() and "ended with code 137" in m.log() and
           m.off()[-1] == "shutdown -P now", said + m.log())
    m = Machine(["sleep", "1000"], limit="1s")
    m.boot()
    code, said = m.boot()
    report("a command that hangs is ended, and the log says by what", "ended with code 124" in m.log() and "the time limit of 1 s" in m.log(), said + m.log())

    m = Machine(["/no/such/program"])
    m.boot()
    code, said = m.boot()
    report("a command that is not there: said in the log, the machine is off", "ended with code 127" in m.log() and m.off()[-1] == "shutdown -P now", m.log())

    m = Machine(["sleep", "5"])
    m.boot()

    def end(process):
        time.sleep(1)
        process.terminate()
    code, said = m.boot(during=end)
    report("a boot script that is told to end powers off all the same", m.off()[-1] == "shutdown -P now", said + str(m.off()))

    m = Machine(["true"])
    m.boot()
    for tool in ("shutdown", "systemctl"):
        (m.dir / f"code-{tool}").write_text("1\n")
    m.boot()
    report("where shutdown fails, systemctl and poweroff are tried", m.off()[-2:] == ["systemctl poweroff", "poweroff -f"], m.off())

    m = Machine(["true"])
    m.boot()
    shutil.rmtree(m.dir / "lib/fare-task")
    (m.dir / "lib/fare-task").write_text("in the way")
    code, said = m.boot()
    report("no folder for logs: the machine is off", code != 0 and m.off()[-1] == "shutdown -P now", said + str(m.off()))

    m = Machine(["true"])
    m.boot()
    old = m.dir / "lib/fare-task/log"
    for n in range(120):
        (old / f"2020-01-01T0000{n:03}Z.log").write_text("")
    m.boot()
    report("the newest 100 logs are kept", len(m.logs()) == 100 and "ended" in m.log(), len(m.logs()))

    # ---- a container: Docker's stand-in notes its words and fails as often as it is told to
    def container(fails, options=(), limit="30s"):
        m = Machine(["train", "a b", "$HOME"], limit=limit, options=["--container", "python:3.13", *options])
        (m.dir / "bin/sleep").write_text("#!/bin/sh\nexit 0\n")
        (m.dir / "bin/docker").write_text(f'''#!/bin/sh
[ "$1" = run ] || exit 0
printf '%s|' "$@" >>"{m.dir}/ran"
echo >>"{m.dir}/ran"
[ "$(wc -l <"{m.dir}/ran")" -gt {fails} ]
''')
        for tool in ("sleep", "docker"):
            (m.dir / "bin" / tool).chmod(0o755)
        m.boot()
        assert not (m.dir / "ran").exists()
        code, said = m.boot()
        return m, code, (m.dir / "ran").read_text().splitlines(), said + m.log()

    RUN = "run|--rm|--name|fare-task|python:3.13|train|a b|$HOME|"
    m, code, ran, said = container(0)
    report("a container runs once, with its words, and the machine is off", code == 0 and ran == [RUN] and m.off()[-1] == "shutdown -P now", said + str(ran))
    m, code, ran, said = container(1)
    report("a container that fails is started again", code == 0 and ran == [RUN] * 2 and "start 1 ended with code 1: starting it again" in m.log(), said)
    m, code, ran, said = container(9)
    report("three times at most, and its code is in the log", code == 1 and ran == [RUN] * 3 and "ended with code 1 after" in m.log() and
           m.off()[-1] == "shutdown -P now", said)
    m, code, ran, said = container(9, limit="4s")
    report("and not beyond the time limit", code == 1 and ran == [RUN], said)

# ---- every byte of every word, through every emitter
NASTY = ["a b", "it's", '"q"', "$HOME", "$(id)", "`id`", "-n", "--", "%d%%", "\\n", "new\nline\n", "\ttab ", "", "*", ";", "&& x", "# c",
         "é\u2028\u0085\U0001f600", "\x01\x1b[0m\x7f", "FARE_END", "!x", "~", "a\\", "'", "${X}", "{{y}}", ": z", "@KEEP@", "\r"]
show = [sys.executable, "-c", "import sys, json; print(json.dumps(sys.argv[1:]))", *NASTY]


def heard(text):
    line = next((x for x in text.splitlines() if x.startswith("[")), "[]")
    return json.loads(line) == NASTY


def of_script(script, way="sh"):
    """What a script's own command prints: all but the last part of it, without the machine around."""
    at = script.index("set --")
    words = script[at:script.index("\n\n# Runs the command once")]
    return subprocess.run([way], input=words + '\nexec "$@"\n', capture_output=True, text=True).stdout


(top / "docker").mkdir()
(top / "docker/docker").write_text('#!/bin/sh\n[ "$1" = run ] || exit 0\nshift 5\nexec "$@"\n')
(top / "docker/docker").chmod(0o755)
for emit in ("gcloud", "aws", "azure"):
    script = (fare(emit, show, "--container", "me/it:1@sha256:0") / "boot.sh").read_bytes().decode()
    script = script.replace("set --", f"PATH={top}/docker:$PATH\nset --", 1)
    at = script.index("PATH=")
    said = subprocess.run(["sh"], input=script[at:script.index("\n\n# Runs the command once")] + '\nexec "$@"\n', capture_output=True, text=True)
    report(f"{emit}: the words arrive in a container", heard(said.stdout), said)
folder = fare("gcloud", show, "--container", "me/it:1")
written = re.search(r"^    content: (\S{100,})$", (folder / "user-data.yaml").read_text(), re.M)
report("gcloud: the user data has the boot script", base64.b64decode(written.group(1)) == (folder / "boot.sh").read_bytes(), written)
for emit, name in (("gcloud", "boot.sh"), ("azure", "boot.sh")):
    for shell in ("sh", "bash"):
        report(f"{emit}: the words arrive in {shell}", heard(of_script((fare(emit, show) / name).read_bytes().decode(), shell)))
data = (fare("aws", show) / "user-data.yaml").read_text()
line = re.search(r"^  - echo (\S+) \| base64 -d > /var/lib/cloud/scripts/per-boot/fare-fare-task$", data, re.M)
report("aws: the user data is one line of base64", line and heard(of_script(base64.b64decode(line.group(1)).decode())), data)
p = subprocess.run(["sh", fare("slurm", show, out=top / "s l") / "task.sh"], capture_output=True, text=True, env={**os.environ, "SLURM_JOB_ID": "1"})
report("slurm: the words arrive", heard(p.stdout), p.stdout + p.stderr)


def systemd_words(line):
    """An independent reading of systemd.service(5): double quotes, C escapes, %% and $$."""
    words, i = [], 0
    while i < len(line):
        if line[i] == " ":
            i += 1
            continue
        word, quoted = "", line[i] == '"'
        i += quoted
        while i < len(line) and line[i] != ('"' if quoted else " "):
            if line[i] == "\\":
                escape = re.match(r'\\x([0-9a-f]{2})|\\(["\\])', line[i:])
                word += chr(int(escape.group(1), 16)) if escape.group(1) else escape.group(2)
                i += escape.end()
            elif line[i] in "%$":
                assert line[i + 1] == line[i]
                word += line[i]
                i += 2
            else:
                word += line[i]
                i += 1
        i += quoted
        words.append(word)
    return words


unit = (fare("systemd", show) / "fare-task.service").read_bytes().decode()
start = [x for x in unit.split("\n") if x.startswith("ExecStart=")]
report("systemd: ExecStart is one line with these words", len(start) == 1 and systemd_words(start[0][10:])[4:] == show, start)
try:
    import yaml
    report("aws: YAML sees bootcmd alone", list(yaml.safe_load(data)) == ["bootcmd"], data)
    data = yaml.safe_load((folder / "user-data.yaml").read_text())
    report("gcloud: YAML sees two files and what starts them", list(data) == ["write_files", "runcmd"] and
           [f["path"] for f in data["write_files"]] == ["/etc/fare-task.sh", "/etc/systemd/system/fare-task.service"], data)
except ImportError:
    skip("aws: YAML sees bootcmd alone", "PyYAML is not installed")
for emit in ("gcloud", "aws", "azure", "systemd", "slurm"):
    comments = [x for f in fare(emit, show).iterdir() for x in f.read_bytes().decode().split("\n") if x.startswith("# Command:")]
    report(f"{emit}: no word escapes from a comment", comments and all(x.isascii() and x.isprintable() for x in comments), comments)
p = subprocess.run([FARE.encode(), b"cron", b"0 3 * * *", b"--emit", b"slurm", b"--limit", b"1m", b"--", b"x\xff"], capture_output=True)
report("a word that is not UTF-8 is refused", p.returncode == 2 and b"word 1 of the command is not UTF-8" in p.stderr, p.stderr)
done()
