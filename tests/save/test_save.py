#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""fare run --save: notices, resuming, the starts in the record, --retry, --idle, --then, --max-spend, and places that cannot work."""
import json
import math
import os
import signal
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.path.insert(0, os.path.join(os.environ["ROOT"], "tests"))
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from rehearsal import children, send  # noqa: E402
from tap import done, report  # noqa: E402

FARE, HERE = os.environ["FARE"], Path(__file__).resolve().parent
SCRATCH = tempfile.TemporaryDirectory(prefix="fare-save-")
JOB = ["/usr/bin/python3", "-S", "-E", str(HERE / "job.py")]
results = []


class Place:
    """A machine: its home, and a store beside it."""
    number = 0

    def __init__(self, of=None):
        Place.number += 1
        self.home = Path(SCRATCH.name) / f"p{Place.number}"
        self.home.mkdir()
        self.store = of.store if of else self.home / "store"
        self.log = of.log if of else self.home / "log"
        self.env = {**os.environ, "HOME": str(self.home), "XDG_DATA_HOME": str(self.home / "data"), "TMPDIR": str(self.home),
                    "FARE_METADATA": "off"}
        self.env.pop("FARE_LEDGER", None)

    def arguments(self, options, command):
        return [FARE, "run", "--no-cloud", "--no-trace", "--save", str(self.store), "--lease", "2s", "--save-every", "200ms",
                *options, "--", *command]

    def start(self, *options, command, **env):
        return subprocess.Popen(self.arguments(options, command), cwd=self.home, env={**self.env, **env}, stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def run(self, *options, command, **env):
        p = self.start(*options, command=command, **env)
        out, err = p.communicate(timeout=120)
        return p.returncode, out, err

    def job(self, steps=40, kind="safetensors"):
        return [*JOB, "out", str(steps), "20", "5", kind, str(self.log), "{resume}"]

    def lines(self):
        return [line.split() for line in self.log.read_text().splitlines()] if self.log.exists() else []

    def wait_for(self, what, seconds=60):
        until = time.monotonic() + seconds
        while time.monotonic() < until and not any(line[2] == what[0] and (len(what) == 1 or int(line[3]) >= what[1])
                                                   for line in self.lines()):
            time.sleep(0.02)

    def record(self):
        p = subprocess.run([FARE, "runs", "last", "--json"], env=self.env, capture_output=True, text=True)
        return json.loads(p.stdout)

    def page(self):
        return subprocess.run([FARE, "runs", "last", "--all"], env=self.env, capture_output=True, text=True).stdout


def check(name, good, text=""):
    results.append((name, bool(good), text))


def notice_file():
    """A notice in a file: USR1 makes the job write a checkpoint, which is saved, and it is ended in time."""
    a = Place()
    soon = a.home / "soon"
    p = a.start("--notice", f"file:{soon}", "--on-notice", "USR1", "--checkpoints", "out", command=a.job(2000))
    a.wait_for(("step", 12))
    began = time.monotonic()
    soon.write_text("30")
    out, err = p.communicate(timeout=60)
    check("a notice ends the job, with exit code 75", p.returncode == 75, err)
    check("as soon as its checkpoint is safe", time.monotonic() - began < 25, err)
    last = max(int(line[3]) for line in a.lines() if line[2] == "step")
    saved = a.record()["saving"]["attempts"][-1]
    check("nothing but the last steps is lost", last - saved["saved_step"] <= 40 and saved["lost_s"] < 5, f"{last} {saved}")
    check("the record says why", saved["ended"] == "interrupted" and saved["taken"] and a.record()["stopped_by"] == "notice",
          a.record())
    b = Place(a)
    p = b.start("--checkpoints", "out", command=a.job(2000))
    b.wait_for(("start", saved["saved_step"]))
    starts = [int(line[3]) for line in a.lines() if line[2] == "start"]
    check("another machine resumes from it", starts == [0, saved["saved_step"]], a.lines()[-3:])
    time.sleep(0.5)
    p.send_signal(signal.SIGTERM)
    out, err = p.communicate(timeout=60)
    check("SIGTERM is a notice too", p.returncode == 75 and "SIGTERM" in err, err)
    attempts = b.record()["saving"]["attempts"]
    check("the record has the starts of both machines", [x["epoch"] for x in attempts] == [1, 2], attempts)
    check("the page shows them", "2 starts, 2 interruptions" in " ".join(b.page().split()), b.page())


def short_notice():
    """5 s for a job that writes nothing when asked: what is there is saved, and it says what is not."""
    a = Place()
    soon = a.home / "soon"
    p = a.start("--notice", f"file:{soon}", "--checkpoints", "out", command=a.job(3000))
    a.wait_for(("step", 12))
    began = time.monotonic()
    soon.write_text("5")
    out, err = p.communicate(timeout=60)
    took = time.monotonic() - began
    check("a short notice ends in time", p.returncode == 75 and took < 15, f"{took} {err}")
    check("and says what is safe", "is safe in" in err and "old" in err, err)


def withdrawn():
    a = Place()
    soon = a.home / "soon"
    p = a.start("--notice", f"file:{soon}", "--checkpoints", "out", command=[*JOB, "out", "250", "20", "100000", "zip", str(a.log)])
    a.wait_for(("step", 10))
    soon.write_text("600")
    time.sleep(1.5)
    soon.unlink()
    out, err = p.communicate(timeout=60)
    check("a notice that is withdrawn ends nothing", p.returncode == 0 and "withdrawn" in err, err)


def metadata():
    """A metadata service, as AWS has it."""
    a = Place()
    server = subprocess.Popen(["/usr/bin/python3", str(HERE / "notice_server.py"), "aws", "ontime", "--after", "2"],
                              stdout=subprocess.PIPE, text=True)
    url = f"http://127.0.0.1:{int(server.stdout.readline())}"
    code, out, err = a.run("--notice", "aws", "--on-notice", "TERM", "--checkpoints", "out", command=a.job(3000), FARE_METADATA=url)
    server.kill()
    check("AWS's notice ends the job", code == 75 and "AWS will terminate this machine" in err, err)


def python_helper():
    """fare.py: a checkpoint when fare wants one, of a name and format that nobody knows."""
    a = Place()
    script = a.home / "own.py"
    (a.home / "fare.py").write_text((HERE.parent.parent / "share/python/fare.py").read_text())
    script.write_text("""
import fare, os, time
step = int(open(fare.resume()).read()) if fare.resume() else 0
print("from", step, flush=True)
while step < 400:
    step += 1
    time.sleep(0.02)
    if fare.save_due():
        path = os.path.join(fare.checkpoints(), "whatever.dat")
        open(path, "w").write(str(step))
        fare.saved(path)
    if fare.ending():
        break
""")
    soon = a.home / "soon"
    p = a.start("--notice", f"file:{soon}", "--checkpoints", "kept", "--save-every", "500ms",
                command=["/usr/bin/python3", str(script)])
    (a.home / "kept").mkdir(exist_ok=True)
    time.sleep(3)
    soon.write_text("20")
    out, err = p.communicate(timeout=60)
    check("fare.py saves when asked, and ends", p.returncode == 75 and a.record()["saving"]["attempts"][0]["saves"] >= 1, err)
    soon.unlink()
    code, out, err = a.run("--notice", f"file:{soon}", "--checkpoints", "kept", command=["/usr/bin/python3", str(script)])
    check("and resumes", code == 0 and "from" in out and int(out.split()[1]) > 0, out + err)


def events_alone():
    """A job that watches nothing but FARE_EVENTS, where it reports its steps as well."""
    a = Place()
    script = a.home / "own.py"
    script.write_text("""
import json, os, signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)  # which may come before it has said that it ended
events, told = open(os.environ["FARE_EVENTS"], "ab", buffering=0), open(os.environ["FARE_EVENTS"], "rb")
step, end, rest, asked = 0, False, b"", 0
while step < 1500 and not end:
    step += 1
    time.sleep(0.02)
    events.write(json.dumps({"step": step, "total_steps": 1500}).encode() + b"\\n")
    *lines, rest = (rest + told.read()).split(b"\\n")
    for notice in (json.loads(line).get("notice") for line in lines if line):
        if notice and notice["save"] > asked:
            asked, end = notice["save"], notice["end"]
            open("out/mine.dat", "w").write(f"{step} {notice}")
            events.write(json.dumps({"saved": os.path.abspath("out/mine.dat")}).encode() + b"\\n")
print("ended", step, asked, notice, flush=True)
""")
    (a.home / "out").mkdir()
    soon = a.home / "soon"
    p = a.start("--notice", f"file:{soon}", "--checkpoints", "out", "--save-every", "1s", command=["/usr/bin/python3", str(script)])
    until = time.monotonic() + 60
    while time.monotonic() < until and not any((a.home / "store").glob("saves/*/complete")):
        time.sleep(0.05)
    soon.write_text("20")
    out, err = p.communicate(timeout=60)
    record = a.record()
    steps = int(out.split()[1]) if out.startswith("ended") else 0
    check("FARE_EVENTS tells a job when to save and when to end", p.returncode == 75 and steps > 0 and int(out.split()[2]) >= 2, out + err)
    check("its steps in the same file count, and no line is malformed", record["steps"] == steps and "events" in err and "malformed" not in err, f"{record['steps']} {err}")
    check("and its checkpoints are saved", record["saving"]["attempts"][0]["saves"] >= 2, record["saving"])


def resume_words():
    a = Place()
    show = ["/bin/sh", "-c", 'echo "$@; $FARE_RESUME; $FARE_CHECKPOINTS"', "sh", "--resume", "{resume}", "--x={resume}", "{checkpoints}", "end"]
    code, out, err = a.run("--checkpoints", "out", command=show)
    check("without a checkpoint the words for it are left out", code == 0 and out.split("\n")[0] == "out end; ; out", out + err)


def retry():
    a = Place()
    fails = a.home / "fails"
    script = f'echo x >> {fails}; [ $(wc -l < {fails}) -ge 3 ] || exit $(wc -l < {fails} | tr 12 34)'
    code, out, err = a.run("--retry", "5", "--checkpoints", "out", command=["/bin/sh", "-c", script])
    check("a job that fails is started again", code == 0 and fails.read_text().count("x") == 3, err)
    attempts = a.record()["saving"]["attempts"]
    check("each start is in the record", [x["ended"] for x in attempts] == ["failed", "failed", "finished"], attempts)
    b = Place()
    count = b.home / "count"
    code, out, err = b.run("--retry", "9", "--checkpoints", "out", command=["/bin/sh", "-c", f"echo x >> {count}; exit 2"])
    check("not after a usage error", code == 2 and count.read_text().count("x") == 1, err)
    c = Place()
    count = c.home / "count"
    p = subprocess.run([FARE, "run", "--no-cloud", "--retry", "9", "--", "/bin/sh", "-c", f"echo x >> {count}; exit 7"], cwd=c.home,
                       env=c.env, capture_output=True, text=True)
    check("not for ever for the same error, without --save too", p.returncode == 7 and count.read_text().count("x") == 3, p.stderr)


def then_and_idle():
    a = Place()
    tools, off = a.home / "bin", a.home / "off"
    tools.mkdir()
    for name in ("systemctl", "shutdown", "poweroff", "runpodctl"):
        (tools / name).write_text(f'#!/bin/sh\necho {name} "$@" $FARE_ENDED >> {off}\n')
        (tools / name).chmod(0o755)
    env = {**a.env, "PATH": f"{tools}:{a.env['PATH']}"}
    p = subprocess.run([FARE, "run", "--no-cloud", "--then", "poweroff", "--idle", "2s", "--grace", "1s", "--", "sleep", "60"],
                       cwd=a.home, env=env, capture_output=True, text=True, timeout=50)
    check("it says that the job was idle", "stopped: it used neither GPU nor CPU" in p.stderr, p.stderr)
    check("an idle job is ended, and the machine turned off", off.exists() and off.read_text() == "systemctl poweroff stopped\n",
          p.stderr + (off.read_text() if off.exists() else ""))
    p = subprocess.run([FARE, "run", "--no-cloud", "--then", f'echo "$FARE_ENDED" > {off}', "--", "sh", "-c", "exit 4"], cwd=a.home,
                       env=env, capture_output=True, text=True, timeout=50)
    check("--then runs a command after a failure too", p.returncode == 4 and off.read_text() == "failed\n", p.stderr)


OFFERS = """\
provider,name,region,zone,kind,gpu,gpus,gpu_memory_gib,vcpus,memory_gib,cpu,bare_metal,price,currency,per,date,source
acme,one,here,,on-demand,,,,4,16,,no,108.00,USD,hour,2026-11-01,mine
acme,one,here,here-a,spot,,,,4,16,,no,36.00,USD,hour,2026-11-01,mine
"""


def offers(place):
    """A machine of 0.03 USD a second, 0.01 as a spot machine in one zone, whose first hour is free if it is taken away."""
    config = place.home / "config" / "fare"
    for name in ("offers", "providers"):
        (config / name).mkdir(parents=True)
    (config / "offers" / "mine.csv").write_text(OFFERS)
    tariffs = [{"id": f"acme-{kind}", "provider": "acme", "kind": kind, "unit_ms": 1000, "minimum_s": 0, "source": "mine", "date": "2026-11-01",
                **({"spot_first_hour_free": True} if kind == "spot" else {})} for kind in ("on-demand", "spot")]
    (config / "providers" / "acme.json").write_text(json.dumps({"schema": "fare.tariffs/1", "tariffs": tariffs}))
    place.env["XDG_CONFIG_HOME"] = str(place.home / "config")


def spend():
    a = Place()
    offers(a)
    began = time.monotonic()
    code, out, err = a.run("--checkpoints", "out", "--offer", "acme/one", "--max-spend", "0.24", "--on-notice", "TERM", command=a.job(4000))
    took = time.monotonic() - began
    record = a.record()
    check("--max-spend ends it in time to save", "is safe in" in err and record["stopped_by"] == "max-spend" and took < 30, f"{took} {err}")
    check("and before it is spent", float(record["saving"]["usd"]) <= 0.24, record["saving"])


def bill():
    """Two starts on a spot machine: the first is taken away and free, the second is paid by the started second."""
    a = Place()
    offers(a)
    soon = a.home / "soon"
    options = ["--checkpoints", "out", "--offer", "acme/one:spot", "--on-notice", "USR1", "--notice", f"file:{soon}"]
    p = a.start(*options, command=a.job(150))
    a.wait_for(("step", 30))
    soon.write_text("30")
    said = "".join(text or "" for text in p.communicate(timeout=60))
    check("what was taken away in its first hour is said to cost nothing", "\nfare: 0.00 USD for this run" in said, said)
    soon.unlink()
    code, out, err = a.run(*options, command=a.job(150))
    record = a.record()
    s = record["saving"]
    first, second = s["attempts"]
    check("the last start is not the whole training: its time counts the steps before it", record["ended"] == "finished" and not record["full"]
          and record["projection"]["wall_s"] > second["wall_s"] + first["saved_s"] / 2, record.get("projection"))
    check("a machine that is taken away in its first hour costs nothing", float(first["usd"]) == 0, s)
    check("the other one its started seconds", float(second["usd"]) == round(math.ceil(second["wall_s"]) * 0.01, 2), s)
    check("the sum is the bill of the job", float(s["usd"]) == float(second["usd"]), s)
    useful = [math.ceil(x["wall_s"] - x["lost_s"]) * 0.03 for x in (first, second)]
    check("beside what it would have cost on demand", abs(float(s["on_demand_usd"]) - sum(useful)) < 1e-9, s)
    subprocess.run([FARE, "report", "last", "-o", a.home / "run.html"], cwd=a.home, env=a.env, capture_output=True, timeout=60)
    html = (a.home / "run.html").read_text().replace("\u00a0", " ")  # figures stay with their units
    html = html[html.index('id="starts"'):] if 'id="starts"' in html else html[:3000]
    check("the report has both starts and the bill", f"{s['usd']} USD for all starts together; on demand {s['on_demand_usd']} USD" in html
          and html.index("interrupted</td>") < html.index("finished</td>"), html[:3000])
    page = " ".join(a.page().split())
    check("the page says so", f"{s['usd']} USD for all starts together" in page and f"on demand {s['on_demand_usd']} USD" in page, page)


def hazard():
    """AWS's advisor says 10 to 15 % in a month of 730 hours: with a constant rate, one in -730 h / ln(1 - 0.125)."""
    a = Place()
    advice = {"ranges": [{"index": i, "label": w, "dots": i, "max": m}
                         for i, (w, m) in enumerate((("<5%", 5), ("5-10%", 11), ("10-15%", 16), ("15-20%", 22), (">20%", 100)))],
              "spot_advisor": {"us-east-1": {"Linux": {"c7i.large": {"s": 70, "r": 2}}}}}
    (a.home / "spot-advisor-data.json").write_text(json.dumps(advice))
    table = "provider,name,region,kind,vcpus,memory_gib,price,currency,source,date\n" + "".join(
        f"aws,c7i.large,us-east-1,{kind},2,4,{price},USD,made up,2026-11-01\n" for kind, price in (("spot", 0.03), ("on-demand", 0.09)))
    (a.home / "own.csv").write_text(table)
    for file in ("own.csv", "spot-advisor-data.json"):
        p = subprocess.run([FARE, "prices", "import", file], cwd=a.home, env=a.env, capture_output=True, text=True)
        check(f"{file} is imported", p.returncode == 0, p.stderr + p.stdout)
    command = [FARE, "run", "--no-cloud", "--no-trace", "--save", str(a.store), "--checkpoints", "out", "--offer", "aws/c7i.large@us-east-1:spot"]
    p = subprocess.run([*command, "--", *a.job(10)], cwd=a.home, env=a.env, capture_output=True, text=True, timeout=60)
    s = a.record().get("saving", {})
    check("the interval counts how often the book says such machines are taken away", p.returncode == 0
          and abs(s.get("between_s", 0) / (-730 * 3600 / math.log(1 - 0.125)) - 1) < 1e-3 and "advisor" in s.get("between_from", ""),
          f"{s} {p.stderr}")
    check("and the page says so", "advisor" in a.page(), a.page())


def schedulers():
    """SIGTERM and then SIGKILL, as Slurm sends them to every process of a step, and Kubernetes to the first one."""
    for name, everyone in (("Slurm", True), ("Kubernetes", False)):
        a = Place()
        p = a.start("--checkpoints", "out", "--notice", "signal@20", command=a.job(3000), SLURM_JOB_ID="7" if everyone else "")
        a.wait_for(("step", 23))
        pids = [p.pid] + (children(p.pid) if everyone else [])
        began = time.monotonic()
        for number in (signal.SIGCONT, signal.SIGTERM):
            send(pids, number)
        try:
            out, err = p.communicate(timeout=30)
        except subprocess.TimeoutExpired:
            send([p.pid] + children(p.pid), signal.SIGKILL)
            out, err = p.communicate()
        last = max(int(line[3]) for line in a.lines() if line[2] == "step")
        record = a.record()["saving"]["attempts"][-1]
        check(f"{name}: ended within the grace period, with 75", p.returncode == 75 and time.monotonic() - began < 20, err)
        check(f"{name}: its last step is saved", record.get("saved_step") == last, f"{last} {record}")


def told_often():
    """SIGTERM every 10 ms until it ends, as a scheduler may that tells the job, its step and its starter."""
    native = ["--no-cloud", "mlp", "--full", "--epochs", "1000", "--threads", "1"]
    for name in ("a command", "a workload"):
        a = Place()
        if name == "a command":
            p = a.start("--checkpoints", "out", "--notice", "signal@20", command=a.job(3000))
            a.wait_for(("step", 23))
        else:
            p = subprocess.Popen([FARE, "run", *native, "--save", str(a.store), "--lease", "2s", "--save-every", "200ms", "--notice", "signal@20"], cwd=a.home, env=a.env,
                                 stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            until = time.monotonic() + 60
            while time.monotonic() < until and not list(a.store.rglob("0000000001-*")):
                time.sleep(0.05)
        until = time.monotonic() + 30
        while p.poll() is None and time.monotonic() < until:
            p.send_signal(signal.SIGTERM)
            time.sleep(0.01)
        p.kill()
        out, err = p.communicate()
        check(f"{name} that is told often ends with 75", p.returncode == 75, f"{p.returncode} {err}")
        attempt = a.record().get("saving", {}).get("attempts", [{}])[-1]
        check(f"{name}: and its record says that it was saved", attempt.get("ended") == "interrupted" and attempt.get("saved_step", 0) > 0, f"{attempt} {err}")
        if name == "a command":
            last = max(int(line[3]) for line in a.lines() if line[2] == "step")
            check("and its last step is saved", attempt.get("saved_step") == last, f"{last} {attempt}")


def bad_places():
    a = Place()
    file = a.home / "file"
    file.write_text("")
    cases = {"a file": str(file), "below a file": f"{file}/x", "/proc": "/proc/nothing", "no bucket": "s3://",
             "no server": "s3://bucket/prefix"}
    for name, place in cases.items():
        marker = a.home / "ran"
        p = subprocess.run([FARE, "run", "--no-cloud", "--save", place, "--checkpoints", "out", "--", "touch", str(marker)], cwd=a.home,
                           env={**a.env, "AWS_ENDPOINT_URL": "http://127.0.0.1:9", "AWS_ACCESS_KEY_ID": "a",
                                "AWS_SECRET_ACCESS_KEY": "b"}, capture_output=True, text=True, timeout=100)
        check(f"{name}: refused before the job starts", p.returncode not in (0, 75) and not marker.exists() and "fare:" in p.stderr,
              p.stderr)
    for options in (["--notice", "ec2"], ["--notice", "signal:KILL"], ["--save-every", "0"], ["--sample"]):
        code, out, err = a.run(*options, command=["true"])
        check(f"{' '.join(options)} is refused", code == 2, err)
    code, out, err = a.run("--checkpoints", "out", command=["no-such-program"])
    check("a program that is not there is told as always", code == 127 and "no-such-program" in err, err)
    code, out, err = a.run("--checkpoints", "out", command=["true"])
    check("and leaves the place free", code == 0, err)
    p = subprocess.run([FARE, "run", "l1", "--full", "--save", str(a.store)], cwd=a.home, env=a.env, capture_output=True, text=True)
    check("what has no checkpoints is not saved", p.returncode == 2, p.stderr)
    p = subprocess.run([FARE, "run", "mlp", "--save", str(a.store)], cwd=a.home, env=a.env, capture_output=True, text=True)
    check("a sample of a workload is not saved", p.returncode == 2 and "--full" in p.stderr, p.stderr)


def other_job():
    a = Place()
    code, out, err = a.run("--checkpoints", "out", command=a.job(30))
    objects = {p for p in a.store.rglob("*") if p.is_file() and "data" in str(p)}
    b = Place(a)
    b.log = b.home / "log"
    code, out, err = b.run("--checkpoints", "out", command=[*JOB, "out", "31", "20", "5", "zip", str(b.log), "{resume}"])
    check("a checkpoint of another job is neither resumed nor deleted",
          code == 0 and [line[3] for line in b.lines() if line[2] == "start"] == ["0"] and all(p.exists() for p in objects), err)
    check("its own starts are counted", "start 1 of " in err, err)
    code, out, err = a.run("--checkpoints", "out", command=a.job(30))
    check("and it says so", "another job" in err or "other job" in err, err)


def damaged_store():
    """Checkpoints that are not what they say: passed over for the one before, with the reason, and nothing is deleted."""
    a = Place()
    soon = a.home / "soon"
    options = ["--checkpoints", "out", "--notice", f"file:{soon}", "--on-notice", "USR1"]
    p = a.start(*options, command=a.job(150))
    a.wait_for(("step", 60))
    soon.write_text("20")
    p.communicate(timeout=60)
    soon.unlink()
    saves = sorted((a.store / "saves").iterdir())
    newest, middle, oldest = (json.loads((s / "manifest").read_text()) for s in reversed(saves))
    for entry in newest["entries"]:  # a checksum that is wrong
        path = a.store / entry["data"]
        path.write_bytes(path.read_bytes()[:-1] + b"!")
    marker = saves[1] / "complete"  # one that lies
    marker.write_text(json.dumps({**json.loads(marker.read_text()), "manifest": "0" * 64}))
    before = {p for p in a.store.rglob("*") if p.is_file()}
    b = Place(a)
    code, out, err = b.run(*options[:2], "--notice", "none", "--keep", "99", command=a.job(150))
    starts = [int(line[3]) for line in a.lines() if line[2] == "start"]
    check("a wrong checksum and a marker that lies: the one before them is resumed", code == 0 and starts == [0, oldest["step"]], f"{starts} {err}")
    check("it says why, for each", err.count("passed over: ") == 2 and "has not the bytes that were saved" in err
          and "is not the one that was marked complete" in err, err)
    check("and nothing is deleted", all(p.exists() for p in before), [str(p) for p in before if not p.exists()])


def store_away():
    """The folder is gone for a while: the job goes on, and what it writes later is saved."""
    a = Place()
    p = a.start("--checkpoints", "out", "--lease", "60s", command=a.job(300))
    a.wait_for(("step", 60))
    away = a.home / "away"
    a.store.rename(away)
    a.store.write_text("not a folder")
    time.sleep(2)
    a.store.unlink()
    away.rename(a.store)
    out, err = p.communicate(timeout=60)
    check("a folder that is gone for a while: the job goes on, and it says so", p.returncode == 0 and "tried again" in err
          and "checkpoints are saved again" in err and len([line for line in a.lines() if line[2] == "start"]) == 1, err)
    check("its last checkpoint is saved", a.record()["saving"]["attempts"][-1]["saved_step"] == 300, a.record()["saving"])


HALF = """
import os, time, zipfile
for step in (5, 10):
    os.makedirs(f"out/checkpoint-{step}")
    for name in ("model.pt", "optimizer.pt", "rng.pt"):
        with zipfile.ZipFile(f"out/checkpoint-{step}/{name}", "w") as file:
            file.writestr("a", "b")
        if step == 10:
            open("half", "w").close()
            time.sleep(60)
    open(f"out/checkpoint-{step}/trainer_state.json", "w").write("{}")
    time.sleep(3)
"""


def half_a_folder():
    """A notice comes while a folder has one whole file of four, and the job is slow: it must not pass for a checkpoint."""
    a = Place()
    p = a.start("--notice", f"file:{a.home}/soon", "--checkpoints", "out", command=["/usr/bin/python3", "-c", HALF])
    while not (a.home / "half").exists() and p.poll() is None:
        time.sleep(0.05)
    (a.home / "soon").write_text("1.5")
    err = p.communicate(timeout=60)[1]
    check("what a slow job has between two files is no checkpoint", p.returncode == 75 and "the checkpoint of step 5" in err, err)


DEEPSPEED = """
import os, sys, time, zipfile
out, steps, resume = sys.argv[1], int(sys.argv[2]), sys.argv[3] if len(sys.argv) > 3 else None
step = 0
if resume:  # load_checkpoint(resume): by the tag in `latest`
    tag = open(f"{resume}/latest").read().strip()
    with zipfile.ZipFile(f"{resume}/{tag}/mp_rank_00_model_states.pt") as file:
        step = int(file.read("step"))
print("from", step, flush=True)
while step < steps:
    step += 1
    time.sleep(0.02)
    if step % 10 == 0:  # save_checkpoint(out)
        tag = f"global_step{step}"
        os.makedirs(f"{out}/{tag}")
        for name in ("mp_rank_00_model_states.pt", "zero_pp_rank_0_mp_rank_00_optim_states.pt"):
            with zipfile.ZipFile(f"{out}/{tag}/{name}", "w") as file:
                file.writestr("step", str(step))
            time.sleep(0.05)
        open(f"{out}/zero_to_fp32.py", "w").write("print()")
        open(f"{out}/latest", "w").write(tag)
"""


def deepspeed():
    """DeepSpeed's layout: {resume} is the folder with `latest` and what that names, nothing else."""
    a = Place()
    (a.home / "train.py").write_text(DEEPSPEED)
    command = ["/usr/bin/python3", str(a.home / "train.py"), "out", "200", "{resume}"]
    p = a.start("--checkpoints", "out", command=command)
    time.sleep(4)
    send([p.pid] + children(p.pid), signal.SIGKILL)
    p.communicate()
    b = Place(a)
    code, out, err = b.run("--checkpoints", "out", command=command)
    first = int(out.split("from")[1].split()[0]) if "from" in out else 0
    check("DeepSpeed's layout: killed, and resumed by `latest`", code == 0 and first > 0 and first % 10 == 0
          and f"resumes from out, step {first}" in err, f"{first} {out} {err}")
    check("in the same place", (b.home / "out" / f"global_step{first}").is_dir() and (b.home / "out/latest").read_text() == "global_step200",
          os.listdir(b.home / "out"))


def watched_without():
    """Without --save nothing changes: SIGTERM is the job's own, and its exit code is passed on."""
    a = Place()
    p = subprocess.Popen([FARE, "run", "--no-cloud", "--", "/bin/sh", "-c", "trap 'exit 9' TERM; echo ready; while :; do sleep 0.1; done"],
                         cwd=a.home, env=a.env, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    p.stdout.readline()
    p.send_signal(signal.SIGTERM)
    p.communicate(timeout=60)
    check("without --save signals are passed on as before", p.returncode == 9, p.returncode)


TESTS = [notice_file, short_notice, withdrawn, metadata, python_helper, events_alone, resume_words, retry, then_and_idle, spend, bill, hazard, schedulers, told_often, bad_places, other_job, damaged_store, store_away, deepspeed,
         half_a_folder, watched_without]


def play(test):
    try:
        test()
    except Exception as fault:
        check(test.__name__, False, repr(fault))


with ThreadPoolExecutor(6) as pool:
    list(pool.map(play, [t for t in TESTS if len(sys.argv) < 2 or t.__name__ in sys.argv]))
for row in results:
    report(*row)
SCRATCH.cleanup()
done()
