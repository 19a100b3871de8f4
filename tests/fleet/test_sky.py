#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""`fare run --on sky` with a stand-in for SkyPilot (fake_sky.py) that misbehaves: every measurement ends as one record or a stated failure, no
machine is left, and one that may be left is named with the command that ends it. Where SkyPilot is importable, its own validator reads
the task files; with SKY_OFFERS=all those of every shipped offer, for which SkyPilot needs its catalogues (it fetches them)."""
import io
import json
import os
import pty
import re
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, os.path.join(os.environ["ROOT"], "tests"))
from tap import done, report, skip  # noqa: E402

try:
    import yaml
except ImportError:
    skip("machines through SkyPilot", "python3-yaml is not installed")
    done()

scratch = tempfile.TemporaryDirectory(prefix="fare-sky-")
top = Path(scratch.name)
(top / "bin").mkdir()
(top / "bin/sky").symlink_to(HERE / "fake_sky.py")
text = f'#!/bin/sh\nexec {os.environ["FARE"]} "$@"\n'.encode()
with tarfile.open(top / "bundle.tar.gz", "w:gz") as tar:
    info = tarfile.TarInfo("fare-test/fare")
    info.mode, info.size = 0o755, len(text)
    tar.addfile(info, io.BytesIO(text))
number = 0
tasks = []


def fare(*args, faults="", command=("run", "--no-cloud", "--no-trace", "--yes"), same=False, terminal=None):
    """Its result, with the records of its ledger, the stand-in's calls and the machines that are left."""
    global number
    number += not same
    folder = top / str(number)
    (folder / "standin").mkdir(parents=True, exist_ok=True)
    (folder / "standin/faults").write_text(faults)
    env = {**os.environ, "PATH": f"{top}/bin:{os.environ['PATH']}", "HOME": str(folder), "XDG_DATA_HOME": str(folder / "data"),
           "STANDIN": str(folder / "standin"), "FARE_METADATA": "off", "FARE_LEDGER": str(folder / "ledger.db"), "FARE_SKY_PAUSE": "0.2",
           "FARE_BUNDLE": str(top / "bundle.tar.gz"), "FARE_BOOK": "-"}
    ours, theirs = pty.openpty() if terminal is not None else (None, subprocess.DEVNULL)
    if terminal is not None:
        os.write(ours, terminal)
    p = subprocess.run([os.environ["FARE"], *command, *args], env=env, cwd=folder, capture_output=True, text=True, timeout=200, stdin=theirs)
    export = subprocess.run([os.environ["FARE"], "runs", "export", "-o", "-"], env=env, capture_output=True, text=True)
    p.records = [json.loads(line) for line in export.stdout.split("\n") if line]
    calls = folder / "standin/calls"
    p.calls = [json.loads(line) for line in calls.read_text().splitlines()] if calls.exists() else []
    p.machines = [m.name for m in (folder / "standin").glob("machines/*")]
    p.said = " ".join((p.stdout + p.stderr).split())
    for task in sorted((folder / "standin").glob("task-*")) if not same else []:
        tasks.append(task.read_text())
    return p


WORK = ["--no-bring", "--limit", "5m", "--", "/usr/bin/python3", "-S", "-E", "-c", "print('step 1')"]
TWO = "sky:aws/c6i.2xlarge@us-east-1,aws/c6i.4xlarge@us-east-1"

p = fare("--on", TWO, *WORK)
report("two machines: two records, no machine left", p.returncode == 0 and len(p.records) == 2 and not p.machines, p.said)
report("each was launched once and ended", [c[0] for c in p.calls].count("launch") == 2 and [c[0] for c in p.calls].count("down") == 2, p.calls)
report("the cost is stated, per machine and in all", re.search(r"c6i\.2xlarge\S*: up to 0\.\d+ USD for .* 2 machines, together up to 0\.\d+ USD", p.said),
       p.said)
p = fare("--on", "sky:aws/c6i.2xlarge@us-east-1", "--sweep", "x=1..3", *WORK, "{x}", faults="slow")
boots = [(r["phases"].get("boot_ns", 0) / 1e9, r.get("boot_from")) for r in sorted(p.records, key=lambda r: (r["started"], r["id"]))]
charged = [s for s, from_ in boots if from_ == "fare"]
report("the machine's boot, from the order on, is that of its first task alone", len(charged) == 1 and 1 <= charged[0] < 100
       and not any("idle_before_ns" in r for r in p.records), p.records)
report("three settings share a machine", p.returncode == 0 and len(p.records) == 3 and not p.machines
       and len({c[4] for c in p.calls if c[0] == "launch"}) == 1, p.said)

p = fare("--on", TWO, *WORK, command=("run",))
report("without a terminal and --yes nothing starts", p.returncode == 2 and "--yes" in p.said and not p.calls, p.said)
p = fare("--on", TWO, "--sweep", "x=1..6", *WORK, "{x}", command=("run",))
total = re.search(r"together up to ([\d.]+) USD", p.said)
# AWS lists c6i.4xlarge at 0.68 USD an hour, and it may have to do all six.
report("a sweep's cost is that of all settings on the dearer machine", total and 0.68 * 6 * 5 / 60 <= float(total[1]) < 0.68 * 6 * 5 / 60 + 0.2, p.said)
p = fare("--on", TWO, *WORK, command=("run",), terminal=b"n\n")
report("at a terminal it asks, and no means no", p.returncode == 1 and "together up to" in p.said and not p.calls, p.said)
p = fare("--on", TWO, *WORK, command=("run", "--no-cloud", "--no-trace"), terminal=b"y\n")
report("and yes means yes", p.returncode == 0 and len(p.records) == 2, p.said)
p = fare("--on", TWO, "--", "sleep", "1")
report("a command without a time limit is refused", p.returncode == 2 and "--limit" in p.said and not p.calls, p.said)

ONE = ["--on", "sky:aws/c6i.2xlarge@us-east-1"]
for faults, code, records, words in (
        ("nocloud", 1, 0, "SkyPilot is not logged in to aws"), ("nothing", 1, 0, "Failed to provision"), ("half", 1, 0, "could not launch it"),
        ("half undown forget", 1, 0, "could not launch it"), ("deaf", 0, 1, ""), ("undown", 0, 1, ""), ("forget undown", 0, 1, ""),
        ("preempt", 0, 1, "it starts again")):
    p = fare(*ONE, *WORK, faults=faults)
    report(f"{faults}: {'a record' if records else 'a stated failure'}, and no machine is left",
           p.returncode == code and len(p.records) == records and not p.machines and words in p.said, f"{p.returncode} {p.machines} {p.said}")

p = fare(*ONE, "--patience", "3s", *WORK, faults="forget " * 40)
name = p.machines[0] if p.machines else "?"
report("a machine that will not end is named with the command for it", p.machines and f"sky down {name}" in p.said and len(p.records) == 1, p.said)
p = fare(command=("runs", "resume"), same=True)
report("'fare runs resume' ends it later", not p.machines, p.said)
p = fare(*ONE, "--patience", "3s", *WORK, faults="half " + "undown " * 40)
report("the same for a launch that failed half-way", p.returncode == 1 and p.machines and f"sky down {p.machines[0]}" in p.said, p.said)
p = fare(command=("runs", "cancel"), same=True)
report("'fare runs cancel' ends it later", not p.machines, p.said)

HOSTILE = ["a b", "'", '"', "$HOME", "`id`", "; touch x", "new\nline", "-n", "--help", "", "ünï", "\\", "*", "\r\n", "\x7f", "\u2028", "|", "# no", ": "]
p = fare(*ONE, "--no-bring", "--limit", "5m", "--", "/usr/bin/python3", "-S", "-E", "-c",
         "import json, sys; json.dump(sys.argv[1:], open(sys.argv[1], 'w')); print('step 1')", str(top / "seen"), *HOSTILE)
seen = json.loads((top / "seen").read_text())[1:] if (top / "seen").exists() else []
report("words reach the command as they are", p.returncode == 0 and seen == HOSTILE, f"{seen} {p.said}")
p = fare("--on", "sky", "--top", "3", "--limit", "5m", "cnn", faults="nothing " * 3)
quoted = re.findall(r"sky:(\S+) is left out", p.said)
launched = [c for c in p.calls if c[0] == "launch"]
quote = subprocess.run([os.environ["FARE"], "quote", "cnn", "--all", "--json"], capture_output=True, text=True,
                       env={**os.environ, "HOME": str(top), "FARE_BOOK": "-", "XDG_DATA_HOME": str(top / "none")})
offers = [b["offer"] for k in ("bills", "estimates") for b in json.loads(quote.stdout or "{}").get(k, [])]
report("--top 3 rents three different offers of the quote", len(launched) == 3 and len({o.split("@")[0] for o in quoted}) == 3
       and all(o in offers for o in quoted), f"{quoted} {offers[:9]} {p.said}")
report("none of them is in the task file", not any("touch" in t or "json" in t for t in tasks[-1:]), tasks[-1:])
for offer, words in (("ovhcloud/" + "x", "ovhcloud"), ("aws/none-such", "none-such")):
    p = fare("--on", f"sky:{offer}", *WORK)
    report(f"{offer} is refused", p.returncode != 0 and words in p.said and not p.calls, p.said)

task = yaml.safe_load(tasks[0])
report("a task file has the offer, an end of its own, and nothing else", sorted(task) == ["file_mounts", "name", "resources", "run", "setup"]
       and task["resources"]["autostop"] == {"idle_minutes": 10, "down": True} and task["resources"]["infra"] == "aws/us-east-1", task)



def every_offer():
    """The task files of all shipped offers that SkyPilot knows, from a `sky` that only keeps them; and how many it does not."""
    import csv
    from sky.skylet import constants
    (top / "keep").mkdir()
    (top / "keep/sky").write_text(f"""#!/bin/sh
case $1 in
check) echo "{{\\"default\\": {{\\"$2\\": []}}}}" ;;
launch) cp "$6" {top}/keep/$5.yaml; echo no capacity >&2; exit 1 ;;
status) echo '[]' ;;
esac
""")
    (top / "keep/sky").chmod(0o755)
    on, others = set(), 0
    for row in csv.DictReader(open(os.path.join(os.environ["ROOT"], "share/offers/current.csv"))):
        if row["provider"] not in set(constants.ALL_CLOUDS) - {"fluidstack", "shadeform"} or row["kind"] == "monthly":
            others += 1
            continue
        place = row["zone"] or row["region"]
        on.add(f"--on=sky:{row['provider']}/{row['name']}" + (f"@{place}" if place else "") + ("" if row["kind"] == "on-demand" else f":{row['kind']}"))
    env = {**os.environ, "PATH": f"{top}/keep:{os.environ['PATH']}", "HOME": str(top), "XDG_DATA_HOME": str(top / "keep/data"), "FARE_BOOK": "-",
           "FARE_METADATA": "off", "FARE_BUNDLE": str(top / "bundle.tar.gz"), "FARE_LEDGER": str(top / "keep/ledger.db")}
    p = subprocess.run([os.environ["FARE"], "run", "--yes", *WORK[:3], *sorted(on), *WORK[3:]], env=env, capture_output=True, text=True)
    files = [f.read_text() for f in (top / "keep").glob("*.yaml")]
    report(f"a task file for each of {len(on)} offers of the book ({others} are of other kinds or providers)", len(files) == len(on),
           f"{len(files)} {p.stderr[-1500:]}")
    return files


try:
    from sky import Task
except ImportError:
    skip("SkyPilot's own validator accepts every task", "SkyPilot is not importable")
    scratch.cleanup()
    done()
if os.environ.get("SKY_OFFERS") == "all":
    tasks += every_offer()


def validate(text):
    config = yaml.safe_load(text)
    config["file_mounts"] = {to: __file__ for to in config["file_mounts"]}  # the sources are gone by now
    task = Task.from_yaml_config(config)
    task.validate()
    for resources in task.resources:
        resources.validate()


bad = ""
for text in tasks:
    try:
        validate(text)
    except Exception as e:
        bad += f"{yaml.safe_load(text)['resources']} {type(e).__name__} {e}\n"
report(f"SkyPilot's own validator accepts {len(tasks)} tasks", not bad, bad, lines=200)
try:
    validate(tasks[0].replace("instance_type", "instance_typo"))
    report("it refuses a misspelt key", False)
except Exception:
    report("it refuses a misspelt key", True)
scratch.cleanup()
done()
