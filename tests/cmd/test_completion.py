#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The completions at work, each in its own shell: commands, options and values are offered."""
import os
import pty
import re
import select
import shutil
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.environ["ROOT"], "tests"))
from tap import done, report  # noqa: E402

ROOT = os.environ["ROOT"]
os.environ["PATH"] = os.path.dirname(os.environ["FARE"]) + ":" + os.environ["PATH"]  # the scripts ask the program


def bash(line, _=None):
    words = [w for word in line.split(" ") for w in re.split("(=)", word)]  # as readline cuts them
    script = (f"source {ROOT}/share/completions/fare.bash; COMP_WORDS=({' '.join(repr(w) for w in words)}); "
              f"COMP_CWORD={len(words) - 1}; _fare; printf '%s\\n' \"${{COMPREPLY[@]}}\"")
    return subprocess.run(["bash", "--norc", "-c", script], capture_output=True, text=True).stdout.split()


def fish(line, _=None):
    script = f"source {ROOT}/share/completions/fare.fish; complete -C '{line}'"
    out = subprocess.run(["fish", "--no-config", "-c", script], capture_output=True, text=True).stdout
    return [row.split("\t")[0] for row in out.splitlines()]


def zsh(line, wanted):
    """zsh completes only at a prompt: give it a terminal, type, press Tab twice, read the screen until `wanted` is on it."""
    pid, fd = pty.fork()
    if pid == 0:
        os.environ.update(TERM="dumb", PS1="> ", COLUMNS="200")
        os.execvp("zsh", ["zsh", "-f", "-i"])
    text = b""

    def read_until(mark):
        nonlocal text
        end = time.monotonic() + 30
        while time.monotonic() < end and not re.search(mark, text):
            if select.select([fd], [], [], 0.1)[0]:
                try:
                    text += os.read(fd, 65536)
                except OSError:
                    break

    os.write(fd, f"stty -echo; PS1=''; autoload -U compinit; compinit -u -D; "
                 f"source {ROOT}/share/completions/_fare; setopt nobeep noalwayslastprompt; "
                 f"zstyle ':completion:*' list-colors ''; print REA''DY\n".encode())
    read_until(b"READY")
    text = b""
    os.write(fd, line.encode() + b"\t\t")
    read_until(rb"(?<![\w-])" + wanted.encode() + rb"(?![\w-])")
    os.write(fd, b"\x15exit\n")
    os.close(fd)
    os.waitpid(pid, 0)
    return re.findall(r"[\w-]+", text.decode("utf-8", "replace"))


CASES = [("fare ch", "check"), ("fare check --ba", "--bandwidth"), ("fare --comp", "--completion"),
         ("fare --completion f", "fish"), ("fare check --color al", "always"),
         ("fare --color always ch", "check"), ("fare help ch", "check"),
         ("fare check --color always --ba", "--bandwidth"), ("fare runs imp", "import"), ("fare runs import --for", "--format"),
         ("fare runs import --format ker", "keras-csv"), ("fare prices import --format gp", "gpuhunt"),
         ("fare runs --so", "--sort"), ("fare workloads data g", "get"), ("fare prices --kind mon", "monthly")]
for name, shell in (("bash", bash), ("fish", fish), ("zsh", zsh)):
    for line, wanted in CASES:
        title = f"{name}: '{line}' offers {wanted}"
        if not shutil.which(name):
            report(title, True, skip=f"{name} is not installed")
            continue
        offered = shell(line, wanted)
        report(title, wanted in offered, f"  # offered: {offered}")
subprocess.run([os.environ["FARE"], "runs", "import", "-"], input='{"id":"20260102T030405Z-0123456789ab","name":"mine"}\n', text=True,
               capture_output=True)
for line, wanted in (("fare run cn", ["cnn"]), ("fare runs --workload cif", ["cifar"]), ("fare workloads data get mn", ["mnist"]),
                     ("fare run --offer aws/p3.2", ["aws/p3.2xlarge"]), ("fare prices aws/p3.2", ["aws/p3.2xlarge"]),
                     ("fare quote --gpu k8", ["K80"]), ("fare compare --published 2018", ["2018-tweets"]),
                     ("fare runs show la", ["last"]), ("fare quote 2026", ["20260102T030405Z-0123456789ab"]),
                     ("fare runs 2026", ["20260102T030405Z-0123456789ab"]), ("fare quote --format f", ["focus"])):
    report(f"bash: '{line}' offers {wanted[0]} alone", bash(line) == wanted, bash(line))
report("bash: '--color=al' offers always", "always" in bash("fare check --color=al"))
report("bash: --format means another thing elsewhere", bash("fare report --format m") == ["md"], bash("fare report --format m"))
report("bash: a subcommand's options are not its sibling's", "--published" not in bash("fare runs import --"))
report("bash: files after an option that takes one, and after a command that does",
       "share" in subprocess.run(["bash", "-c", f"cd {ROOT}; source share/completions/fare.bash; COMP_WORDS=(fare runs import sh); "
                                  "COMP_CWORD=3; _fare; echo ${COMPREPLY[@]}"], capture_output=True, text=True).stdout.split())
report("bash: nothing of fare's after --", "check" not in bash("fare run -- ch"))
report("bash: an unknown word offers nothing", bash("fare xyz") == [], bash("fare xyz"))
report("bash: a lone dash offers letters", {"-h", "-b"} <= set(bash("fare check -")))
done()
