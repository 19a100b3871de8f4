#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The files of `fare cron --emit slurm`: with a stand-in for scrontab that reads a table as scrontab(1) says, and, where scrontab is
installed (Debian 13's slurm-client has it, Debian 12's does not), with a real Slurm that runs the job."""
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, os.path.join(os.environ["ROOT"], "tests"))
from slurm import SEARCH, Slurm, wait_for, why_not  # noqa: E402
from tap import done, report, skip  # noqa: E402

FARE = os.environ["FARE"]
UNCHANGED = "is as it should be: nothing was changed"
WORDS = ["a b", "it's", "$HOME", "50%", "%j", "-n", "x\ny", ""]
scratch = tempfile.TemporaryDirectory(prefix="fare-scron-", dir="/tmp")
top = Path(scratch.name)
top.chmod(0o755)
(top / "bin").mkdir()
# The table is refused as Slurm 22.05 does: fields of digits, '-' and ',' or '*', within their bounds; options that sbatch knows.
(top / "bin/scrontab").write_text(f"""#!/usr/bin/python3
import os, re, sys
table = "{top}/table"
def no(text): sys.exit("scrontab: error: " + text)
if os.path.exists("{top}/down"): no("Unable to contact slurm controller")
if sys.argv[1:] == ["-l"]:
    try: sys.stdout.write(open(table).read())
    except OSError: print("no crontab for root"); sys.exit(1)
elif sys.argv[1:] == ["-r"]:
    open(table, "w").close()
else:
    (path,) = sys.argv[1:]
    text = open(path).read()
    for line in text.splitlines():
        if line.startswith("#SCRON"):
            if not re.fullmatch(r"#SCRON --(job-name|time|open-mode|output|partition|chdir)=\\S+", line): no(line)
        elif line.strip() and not line.startswith("#"):
            fields = line.split(None, 5)
            if len(fields) < 6: no(line)
            for field, low, high in zip(fields, (0, 0, 1, 1, 0), (59, 23, 31, 12, 7)):
                if field != "*" and not all(low <= int(n) <= high for part in field.split(",") for n in part.split("-")): no(line)
    open(table, "w").write(text)
    open("{top}/puts", "a").write("x")
""")
(top / "bin/scrontab").chmod(0o755)


def fare(folder, schedule="0 3 1,15 * mon-fri", command=("true",), *more):
    p = subprocess.run([FARE, "cron", schedule, "--limit", "2m", "--emit", "slurm", *more, "-o", folder, "--", *command], capture_output=True,
                       text=True, cwd=top)
    assert p.returncode == 0, p.stderr
    subprocess.run([FARE, "cron", "--emit", "slurm", "--remove", "-o", folder], check=True, capture_output=True, cwd=top)


def run(folder, env, script="set-up.sh"):
    return subprocess.run(["sh", folder / script], capture_output=True, text=True, env=env, timeout=120)


def says(p):
    return f"exit {p.returncode}\n{p.stdout}\n{p.stderr}"


env = {**os.environ, "PATH": f"{top}/bin:{SEARCH}", "HOME": str(top)}
env.pop("FARE_CRON", None)
table, files, keep = top / "table", top / "files", top / ".local/share/fare/cron/fare-task"
OTHERS = "# mine\n#SCRON --time=5\n5 * * * * /bin/other\n"
fare(files)
p = run(files, env)
report("one run sets it up where there was no table", p.returncode == 0 and table.read_text() == (files / "scrontab").read_text().replace("@KEEP@", str(keep)), says(p))
table.write_text(OTHERS)
p = run(files, env)
report("one run sets it up, beside other entries", p.returncode == 0 and table.read_text().startswith(OTHERS) and
       f"0 3 1,15 * 1-5 {keep}/task.sh\n" in table.read_text(), says(p) + table.read_text())
before, puts = table.read_text(), (top / "puts").read_text()
table.write_text(before + "7 * * * * /bin/later\n")
p = run(files, env)
report("again, nothing changes, wherever the entry stands", p.returncode == 0 and UNCHANGED in p.stdout and (top / "puts").read_text() == puts, says(p))
fare(files, "30 4 * * *", ["false"])
p = run(files, env)
report("another schedule and command replace the old ones", p.returncode == 0 and table.read_text().count("task.sh") == 1 and
       f"30 4 * * * {keep}/task.sh\n" in table.read_text() and "'false'" in (keep / "task.sh").read_text(), says(p) + table.read_text())
p = run(files, env, "remove.sh")
report("removed, only the other entries are left", p.returncode == 0 and table.read_text() == OTHERS + "7 * * * * /bin/later\n" and
       not (keep / "task.sh").exists(), says(p) + table.read_text())
run(files, env)
(top / "down").touch()
before = table.read_text()
p, q = run(files, env), run(files, env, "remove.sh")
(top / "down").unlink()
report("a controller that does not answer loses no entry", p.returncode != 0 != q.returncode and table.read_text() == before, says(p) + says(q))
p = run(files, {**env, "FARE_CRON": f"{top}/with space"})
report("a path that scrontab would split is refused", p.returncode == 1 and "without spaces" in p.stderr, says(p))
if shutil.which("shellcheck"):
    p = subprocess.run(["shellcheck", *files.glob("*.sh")], capture_output=True, text=True)
    report("shellcheck finds nothing", p.returncode == 0, says(p))

# ---- a real Slurm
if why_not("scrontab"):
    skip("Slurm runs the task on its schedule", why_not("scrontab"))
    done()
slurm = Slurm(top, {"n1": "CPUs=2"}, """\
ScronParameters=enable
SelectType=select/linear
SchedulerParameters=bf_interval=1,sched_interval=1
PartitionName=all Nodes=ALL Default=YES""")
env, tool = {**slurm.env, "FARE_CRON": str(top / "cron")}, slurm.tool
try:
    report("Slurm starts", slurm.start(), slurm.said())
    fare(files, "* * * * *", [sys.executable, "-c", "import sys, json, os; print(json.dumps([os.getcwd(), *sys.argv[1:]]))", *WORDS], "--limit", "30s")
    p = run(files, env)
    listed = tool("scrontab", "-l").stdout
    report("the real scrontab takes the table", p.returncode == 0 and f"{top}/cron/fare-task/task.sh" in listed, says(p) + listed)
    p = run(files, env)
    report("again, nothing changes", p.returncode == 0 and UNCHANGED in p.stdout and tool("scrontab", "-l").stdout == listed, says(p))
    logs = top / "cron/fare-task/log"
    ran = wait_for(lambda: any("[" in f.read_text() for f in logs.glob("*.log")), 150)
    text = "".join(f.read_text() for f in logs.glob("*.log"))
    line = next((json.loads(x) for x in text.splitlines() if x.startswith("[")), [])
    report("Slurm runs the task at its time, in this folder, with these words", ran and line == [str(top), *WORDS], text + tool("squeue").stdout)
    fare(files, "0 3 1,15 * mon-fri")
    p, q = run(files, env), run(files, env, "remove.sh")
    report("the real scrontab takes another, and its removal", p.returncode == q.returncode == 0 and "task.sh" not in tool("scrontab", "-l").stdout, says(p) + says(q))
finally:
    slurm.stop()
    scratch.cleanup()
done()
