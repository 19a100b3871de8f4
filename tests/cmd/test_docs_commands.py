# SPDX-License-Identifier: Apache-2.0
"""Every command in README.md and docs/*.md is run as it stands, in a folder with a few runs and a script, or says why it
cannot be, in a comment before its block:

    <!-- not run: a GPU -->                      the whole block
    <!-- not run: a GPU: fare run inception -->  the lines that have these words
    <!-- output: this machine -->                it is run, and what it prints is not compared; for some lines likewise
    <!-- with: an empty ledger -->               it is run as somebody would who has measured nothing

The reasons are those below. A command is a line of a fenced block that begins with '$ ' (what follows is its output, with '...'
for any lines) or with one of PROGRAMS; its description follows after two spaces. It must end with exit code 0."""
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, os.environ["TESTS"])
import tap  # noqa: E402

ROOT, HERE, FARE = Path(os.environ["ROOT"]), Path(os.environ["TMPDIR"]) / "docs", Path(os.environ["FARE"])
NOT_RUN = {"a GPU", "a cloud", "the network", "other machines", "a cluster", "a framework", "minutes of CPU time", "the build itself",
           "a bundle", "a web server", "your own files", "a placeholder"}
OUTPUT = {"this machine", "this day", "other runs"}
REASONS = {"not run": NOT_RUN, "output": OUTPUT, "with": {"an empty ledger"}}
PROGRAMS = ("fare", "build/fare", "make", "tar", "sh", "FARE_", "srun", "sbatch", "python", "kubectl", "docker", "curl", "aws", "gcloud", "az", "sky", "mpirun")


class Command:
    def __init__(self, file, number, line):
        self.file, self.number, self.line, self.output = file, number, line, []

    def reason(self, marks, kind):
        return next((why for of, why, words in marks if of == kind and (not words or words in self.line)), None)


def is_command(line):
    word = line.split(" ")[0]
    return any(word == p or (p.endswith("_") and word.startswith(p)) for p in PROGRAMS)


def commands_of(file, first, lines):
    """The commands of a block; a line goes on where it ends with a backslash."""
    found, shell = [], any(line.startswith("$ ") for line in lines)
    number = 0
    while number < len(lines):
        at, line = number, lines[number]
        while line.endswith("\\") and number + 1 < len(lines):
            number += 1
            line = line[:-1] + lines[number].strip()
        number += 1
        if line.startswith("$ "):
            found.append(Command(file, first + at, line[2:]))
        elif shell and found:
            found[-1].output.append(line)
        elif not shell and is_command(line):
            found.append(Command(file, first + at, re.split(r" {2,}| +# ", line)[0]))
    return found


def blocks_of(file):
    """(marks, commands) of each fenced block without a language, or of a shell's."""
    marks, lines, block, language, began = [], file.read_text().splitlines(), None, "", 0
    for number, line in enumerate(lines, 1):
        mark = re.match(r"<!-- (not run|output|with): ([^:]*?)(?:: (.*?))? -->$", line)
        if block is not None and line.startswith("```"):
            if language in ("", "sh", "bash", "console"):
                yield marks, commands_of(file, began, block)
            marks, block = [], None
        elif block is not None:
            block.append(line)
        elif line.startswith("```"):
            block, language, began = [], line[3:].strip(), number + 1
        elif mark:
            marks.append(mark.groups())
        elif line.strip():
            marks = []


def short(line):
    """Samples of workloads end soon."""
    line = line.replace("build/fare", "fare")
    if re.match(r"fare run (?!.*(^| )-- )", line) and "--full" not in line:
        line = re.sub(r" --max-time \S+", "", line) + " --max-time 0.5s"
    return line


def record(id, **more):
    gpu = more.pop("gpu", "NVIDIA H100 80GB HBM3")
    return {"schema": "fare.run/2", "id": id, "started": id[:4] + "-" + id[4:6] + "-" + id[6:8] + "T00:00:00Z", "full": True, "ended": "finished",
            "batch": 128, "machine": {"gpu": gpu, "gpus": 1, "provider": "aws", "instance_type": "p5.4xlarge", "cpu": "Acme"},
            "use": {"gpus": 1, "gpu_list": [{"name": gpu}]}, "phases": {"wall_ns": 10 ** 11, "train_ns": 10 ** 11}, "steps": 5625,
            "step_plot_ms": [10, 11, 10, 12] * 9, **more}


def set_up():
    HERE.mkdir()
    (HERE / "bin").mkdir()
    (HERE / "bin/fare").symlink_to(FARE)
    (HERE / "bin/python").symlink_to("/usr/bin/python3")
    (HERE / "share").symlink_to(ROOT / "share")
    (HERE / "train.py").write_text("import time\nfor i in range(150):\n    time.sleep(0.01)\n    print(f'step {i + 1}/150 loss={1 / (i + 1):.4f}', flush=True)\n")
    (HERE / "book.txt").write_text("It was a bright cold day. " * 2000)
    (HERE / "token").write_text("correct-horse-battery-staple\n")
    shutil.copy(ROOT / "tests/ledger/sacct/jobs.txt", HERE / "jobs.txt")
    changes = [{"AvailabilityZone": "us-east-1a", "InstanceType": "g6.xlarge", "ProductDescription": "Linux/UNIX", "SpotPrice": price,
                "Timestamp": f"2026-03-{day:02d}T00:00:00+00:00"} for day, price in ((1, "0.36"), (9, "0.40"), (20, "0.35"))]
    (HERE / "march.json").write_text(json.dumps({"SpotPriceHistory": changes}))
    # The provider that the guide adds, as the guide has it.
    guide = (ROOT / "docs/adding-a-provider.md").read_text()
    for file, block in (("offers/acme.csv", r"^```\n(provider,.*?)^```"), ("providers/acme.json", r"^```json\n(.*?)^```")):
        path = HERE / "config/fare" / file
        path.parent.mkdir(parents=True)
        path.write_text(re.search(block, guide, re.S | re.M)[1])
    runs = [record("20261110T000000Z-3f9a2c000000", workload="cnn", framework="fare", labels=[{"key": "v", "value": "old"}]),
            record("20261111T000000Z-81d04e000000", workload="cnn", framework="fare", labels=[{"key": "v", "value": "new"}], gpu="Tesla V100-SXM2-16GB"),
            record("20261109T000000Z-cccccc000000", workload="cnn", framework="tensorflow", gpu="NVIDIA Tesla K80"),
            record("20261112T000000Z-aaaaaa000000", name="A", workload="mlp", framework="fare"),
            record("20261113T000000Z-bbbbbb000000", name="B", workload="mlp", framework="fare")]
    (HERE / "runs.jsonl").write_text("".join(json.dumps(r) + "\n" for r in runs))
    return run("fare runs import runs.jsonl")


ENV = {**os.environ, "PATH": f"{HERE}/bin:{os.environ['PATH']}", "XDG_DATA_HOME": str(HERE / "data"), "XDG_CONFIG_HOME": str(HERE / "config"),
       "XDG_CACHE_HOME": str(HERE / "cache"), "HOME": str(HERE), "COLUMNS": "80", "FARE_METADATA": "off",
       # What is not marked and asks the network gets nothing.
       "http_proxy": "http://127.0.0.1:9", "https_proxy": "http://127.0.0.1:9", "no_proxy": "127.0.0.1,localhost"}


def run(line, timeout=120, **env):
    p = subprocess.Popen(["bash", "-c", line], cwd=HERE, env={**ENV, **env}, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                         start_new_session=True)
    try:
        text = p.communicate(timeout=timeout)[0]
    except subprocess.TimeoutExpired:
        os.killpg(p.pid, signal.SIGKILL)
        text = p.communicate()[0] + f"\nit was still running after {timeout} s"
    return subprocess.CompletedProcess(line, p.returncode, text)


def serves(line):
    """A server says where it listens, and ends when it is told to."""
    p = subprocess.Popen(["bash", "-c", "exec " + line + " --listen 127.0.0.1:0"], cwd=HERE, env=ENV, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    said = p.stdout.readline()
    p.terminate()
    p.communicate(timeout=30)
    return subprocess.CompletedProcess(line, 0 if "http://" in said else 1, said)


def compare(want, got):
    """The first line of `want` that is missing; '...' and '…' stand for any lines, at the end of a line for its rest too."""
    lines, at, free = got.splitlines(), 0, False
    for line in want:
        head = re.sub(r"(\.\.\.|…)$", "", line.rstrip())
        cut = head != line.rstrip()
        if cut and not head.strip():
            free = True
            continue
        last = len(lines) if free else min(at + 1, len(lines))
        there = [i for i in range(at, last) if (lines[i].startswith(head) if cut else lines[i].rstrip() == head)]
        if not there:
            return line
        at, free = there[0] + 1, cut
    return None


def main():
    got = set_up()
    tap.report("runs to look at", got.returncode == 0, got.stdout)
    only = sys.argv[1:] or None
    ran = not_run = 0
    for file in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]:
        if only and file.name not in only:
            continue
        for marks, commands in blocks_of(file):
            wrong = [m for m in marks if m[1] not in REASONS[m[0]] or (m[2] and not any(m[2] in c.line for c in commands))]
            if marks and commands:
                tap.report(f"{file.name}, line {commands[0].number}: its reasons are known, and each is for a command", not wrong, wrong)
            for c in commands:
                name = f"{file.name}, line {c.number}: {c.line}"
                if c.reason(marks, "not run"):
                    not_run += 1
                    continue
                piped = re.findall(r"\| (\w+)", c.line)
                missing = [p for p in piped if not shutil.which(p)]
                if missing:
                    tap.skip(name, f"{missing[0]} is not installed")
                    continue
                ran += 1
                began = time.monotonic()
                bare = {"FARE_LEDGER": str(HERE / "empty.db"), "XDG_CONFIG_HOME": str(HERE / "empty")}  # no offers of one's own either
                env = bare if c.reason(marks, "with") else {}
                got = serves(c.line) if c.line.startswith("fare serve") else run(short(c.line), **env)
                lacks = None if c.reason(marks, "output") or not c.output or got.returncode else compare(c.output, got.stdout)
                tap.report(name, got.returncode == 0 and lacks is None,
                           f"exit code {got.returncode} after {time.monotonic() - began:.1f} s" + (f"; not printed: {lacks}" if lacks else "") + "\n" + got.stdout)
    tap.report("most commands were run", bool(only) or ran > not_run, (ran, not_run))
    print(f"# {ran} run, {not_run} not", flush=True)


main()
tap.done()
