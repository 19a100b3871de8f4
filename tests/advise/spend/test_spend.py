#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Who spent what: sums against a second implementation, budgets, Slurm's accounting, invoices."""
import csv
import io
import json
import os
import random
import re
import sqlite3
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path

sys.path.insert(0, os.path.join(os.environ["ROOT"], "tests"))
sys.path.insert(0, os.path.join(os.environ["ROOT"], "tests/advise/spend"))
import second  # noqa: E402
from tap import done, report  # noqa: E402

FARE, ROOT = os.environ["FARE"], Path(os.environ["ROOT"])
HOME = Path(tempfile.mkdtemp(dir=os.environ.get("TMPDIR", "/tmp")))
ENV = {**os.environ, "XDG_DATA_HOME": str(HOME), "XDG_CONFIG_HOME": str(HOME / "config"), "HOME": str(HOME),
       "FARE_METADATA": "off", "FARE_BOOK": "-"}
ENV.pop("FARE_PROJECT", None)
NOW = datetime.now(timezone.utc)


def run(*args, ledger="l.db", text=None, cwd=HOME, **more):
    args = list(map(str, args))
    at = args.index("--") if "--" in args else len(args)
    return subprocess.run([FARE, *args[:at], "--ledger", str(HOME / ledger), *args[at:]], env={**ENV, **more}, capture_output=True,
                          text=True, timeout=120, input=text, cwd=cwd)


def runs(*args, **more):
    return run("runs", *args, **more)


def spending(by, *args, **more):
    p = runs("--by", by, "--json", *args, **more)
    return json.loads(p.stdout) if p.returncode == 0 else {"rows": [], "total": {}, "error": p.stderr}


def write(name, text):
    (HOME / name).write_text(text)
    return name


# ---- sums

def check_sums(records, ledger, when):
    for by in (["project"], ["user"], ["host"], ["offer"], ["month"], ["project", "month"], ["user", "host", "offer"]):
        got = spending(",".join(by), ledger=ledger)
        bad = second.differs(got, second.sums(records, by), by)
        report(f"sums by {' and '.join(by)}, as a second implementation has them{when}", not bad and "error" not in got,
               "\n".join(bad) + got.get("error", ""))


def sums():
    p = runs("import", write("team.jsonl", second.lines(second.made(400))))
    exported = [json.loads(line) for line in runs("export").stdout.splitlines()]
    report("a team's runs", p.returncode == 0 and len(exported) == 403, p.stderr)
    check_sums(exported, "l.db", "")
    job = spending("project", "--user", "ann")
    row = next(r for r in job["rows"] if r.get("project") == "spot")
    report("all starts of a saved job, each once", (row["runs"], row["unknown"], row["usd"]) == (5, 1, "13.00"), row)
    ann = (second.hashed("ann"), "ann")
    for args, keep in ((["--user", "ann"], lambda u: u["user"] in ann),
                       (["--since", "2026-10-01"], lambda u: u["started"] >= "2026-10-01"),
                       (["--workload", "cnn", "--host", "spot-2"], lambda u: u["host"] == "spot-2"),
                       (["--label", "team=a"], lambda u: {"key": "team", "value": "a"} in u["labels"])):
        got = spending("project", *args)
        bad = second.differs(got, second.sums(exported, ["project"], keep), ["project"])
        report(f"sums of some: {' '.join(args)}", not bad, "\n".join(bad))
    newest = sorted(exported, key=lambda r: (r["started"], r["id"]))[-7:]
    report("sums of the newest seven", spending("month", "-n", "7")["total"]["runs"] == 7 and not second.differs(
        spending("month", "-n", "7"), second.sums(newest, ["month"]), ["month"]))

    got = spending("project,month")
    table = list(csv.DictReader(io.StringIO(runs("--by", "project,month", "--format", "csv").stdout)))
    report("the same as CSV", [(r["project"] or None, r["month"], int(r["runs"]), r["usd"] or None) for r in table] ==
           [(r.get("project"), r["month"], r["runs"], r.get("usd")) for r in got["rows"]], table[:2])
    said = runs("--by", "project", "--format", "md").stdout
    table = [line for line in said.splitlines() if line.startswith("|")]
    report("and as Markdown, names escaped", len(table) == 2 + len(spending("project")["rows"]) + 1
           and any("a,b\\|c" in line for line in table) and "**403**" not in table[-1] and "**405**" in table[-1]
           and "unknown, and not in the sums" in said, said)
    p = runs("--by", "project")
    report("and as a table that fits 80 columns", p.returncode == 0 and max(map(len, p.stdout.splitlines())) <= 80
           and "unknown, and not in the sums" in p.stdout.replace("\n", " "), p.stdout)
    for bad in ("", "x", "user,user", "user,", "user month"):
        p = runs("--by", bad)
        report(f"--by '{bad}' is refused", p.returncode == 2 and p.stdout == "", p.stdout + p.stderr)
    p = runs("--format", "csv")
    report("--format without sums is refused", p.returncode == 2)
    p = runs("--by", "user", ledger="none.db")
    report("a missing ledger is an error", p.returncode == 1 and "there is no ledger" in p.stderr, p.stderr)


def unknown():
    runs("import", write("u.jsonl", second.lines([{"id": "u1", "started": "2026-01-02T00:00:00Z", "phases": {"wall_ns": 10**9}}])),
         ledger="u.db")
    got = spending("project", ledger="u.db")
    report("an unknown cost is unknown, never 0", got["rows"][0]["unknown"] == 1 and "usd" not in got["rows"][0]
           and "usd" not in got["total"] and "unknown" in runs("--by", "month", ledger="u.db").stdout, got)


def currencies():
    (HOME / "config/fare").mkdir(parents=True)
    (HOME / "config/fare/currencies.csv").write_text(
        "date,currency,usd,source\n2026-01-01,EUR,1.25,mine\n2026-09-01,EUR,2,mine\n")
    got = spending("month", "--currency", "EUR")
    good = all(Decimal(r["local"]) == Decimal(r["usd"]) / (2 if r["month"] >= "2026-09" else Decimal("1.25"))
               for r in got["rows"] if "usd" in r)
    report("costs in another currency, at the rate of each day", good and got["local_currency"] == "EUR", got)
    p = runs("--by", "month", "--currency", "XXX")
    report("a currency without a rate is refused", p.returncode == 2, p.stderr)


def migration():
    """A ledger of the version before has the same sums once it was opened."""
    exported = [json.loads(line) for line in runs("export").stdout.splitlines()]
    db = sqlite3.connect(HOME / "l.db")
    for table in ("spend", "budget", "charge"):
        db.execute(f"DROP TABLE fare_{table}")
    db.execute("UPDATE fare_schema SET version = 4")
    db.commit()
    db.close()
    check_sums(exported, "l.db", ", of a ledger brought forward")
    p = runs("delete", "j1-5")
    row = next(r for r in spending("project", "--user", "ann")["rows"] if r.get("project") == "spot")
    report("a deleted run is not counted", p.returncode == 0 and row["usd"] == "5.00", row)
    runs("import", "team.jsonl")


# ---- projects

def projects():
    repository = HOME / "work/clone"
    repository.mkdir(parents=True)
    git = ["git", "-C", str(repository)]
    subprocess.run([*git, "init", "-q"], check=True)

    def project(*args, **more):
        p = run("run", "mlp", "--steps", "1", "--engine", "ref", "--json", *args, ledger="p.db", cwd=repository, **more)
        return json.loads(p.stdout)["runs"][0].get("project") if p.returncode == 0 else p.stderr

    report("a project is the repository's folder", project() == "clone")
    subprocess.run([*git, "remote", "add", "origin", "git@example.org:team/bert.git"], check=True)
    report("or the name of its origin", project() == "bert")
    report("or the label", project("--label", "project=labelled") == "labelled")
    report("or FARE_PROJECT", project("--label", "project=labelled", FARE_PROJECT="set") == "set")
    report("or --project", project("--project", "given", FARE_PROJECT="set") == "given")
    p = run("run", "mlp", "--steps", "1", "--engine", "ref", "--json", ledger="p.db", cwd=HOME)
    report("and nothing elsewhere", "project" not in json.loads(p.stdout)["runs"][0], p.stdout[-300:])
    p = run("run", "mlp", "--steps", "1", "--engine", "ref", "--json", "--label", "price_per_hour_usd=3.6", "--project",
            "cost", ledger="p.db")
    record = json.loads(p.stdout)["runs"][0]
    ns = record["phases"]["wall_ns"]
    report("a run's bill is in its record: started seconds at 0.001 USD",
           abs(Decimal(record["spent"]["usd"]) - Decimal(-(-ns // 10**9)) / 1000) < Decimal("1e-6"), record["spent"])


# ---- budgets

def budgets():
    records = [{"id": f"b{i}", "started": f"{NOW - timedelta(minutes=i):%Y-%m-%dT%H:%M:%SZ}", "user": user, "project": project,
                "spent": {"usd": usd}, "phases": {"wall_ns": 10**9}}
               for i, (user, project, usd) in enumerate((("ann", "bert", "10"), (second.hashed("ann"), "bert", "20"),
                                                         ("ben", "vision", "3")))]
    records.append({"id": "old", "started": "2026-02-01T00:00:00Z", "user": "ann", "project": "bert", "spent": {"usd": "100"}})
    records.append({"id": "dear", "started": f"{NOW:%Y-%m-%dT%H:%M:%SZ}", "user": "ben", "project": "bert"})
    runs("import", write("b.jsonl", second.lines(records)), ledger="b.db")

    def states(*args):
        p = runs("--budgets", "--json", *args, ledger="b.db")
        return {(b["kind"], b.get("name"), b["period"]): b for b in json.loads(p.stdout)["budgets"]}

    for bad, why in (("", "expected WHOSE"), ("project=abc/month", "is a number"), ("project=300/year", "a period is"), ("project=0", "above 0"),
                     ("project=99999999999999/month", "too large"), ("project=1.2.3", "too large"), ("project=-3", "is a number"), ("all:x=3", "no name"),
                     ("project:=3", "no name"), ("x" * 600 + "=3", "too long"), ("project=3QQQ", "no exchange rate")):
        p = runs("--budget", bad, ledger="b.db")
        report(f"refused: --budget {bad[:40]!r}", p.returncode == 2 and why in p.stderr, p.stderr)
    report("no budgets", states() == {} and "No budgets" in runs("--budgets", ledger="b.db").stdout)
    # A month that has just begun does not have all of the minutes before.
    period = "month" if NOW.day > 1 or NOW.hour > 0 else "total"
    if NOW.hour == 0 and NOW.minute < 10:
        time.sleep(600 - NOW.minute * 60)
    p = runs("--budget", f"bert=30/{period}", "--budget", f"project=5/{period}", "--budget", "user:ann=100EUR/total", "--budget",
             "all=1000/month", ledger="b.db")
    got = states()
    report("budgets of one project, each project, a user and all", p.returncode == 0 and set(got) == {
        ("project", "bert", period), ("project", "vision", period), ("user", "ann", "total"), ("all", None, "month")}, list(got))
    bert = got["project", "bert", period]
    report("spent, left, share, and runs of unknown cost", (bert["spent"], bert["left"], bert["share"], bert["runs"], bert["unknown"])
           == ("30.00", "0.00", 1.0, 3, 1), bert)
    ann = got["user", "ann", "total"]
    report("plain and hashed names, in another currency", (ann["currency"], ann["runs"], Decimal(ann["spent"])) ==
           ("EUR", 3, Decimal(10) / 2 + Decimal(20) / 2 + Decimal(100) / Decimal("1.25")), ann)
    everybody = got["all", None, "month"]
    first = NOW.replace(day=1, hour=0, minute=0, second=0, microsecond=0)
    month = (first + timedelta(days=32)).replace(day=1) - first
    expected = float(everybody["spent"]) * month.total_seconds() / (NOW - first).total_seconds()
    report("projected to the end of the month", abs(float(everybody["projected"]) / expected - 1) < 0.02, (everybody, expected))
    p = runs("--budget", f"bert=45/{period}", "--budget", "project=none", ledger="b.db")
    got = states()
    report("a budget replaced, and one removed", got["project", "bert", period]["amount"] == "45.00" and
           ("project", "vision", period) not in got and len(got) == 3, p.stderr)
    for bad in ("bert", "bert=", "bert=x", "bert=-3/month", "bert=0/month", "=3", "bert=3/year", "user:=3", "all:x=3", "bert=3EURO",
                "bert=3XXX/month", "x" * 600 + "=3"):
        p = runs("--budget", bad, ledger="b.db")
        report(f"--budget {bad[:20]} is refused", p.returncode == 2 and len(states()) == 3, p.stdout + p.stderr)
    p = runs("--budget", "nobody=none", ledger="b.db")
    report("removing what is not there is an error", p.returncode == 1 and "no such budget" in p.stderr, p.stderr)

    quick = ["run", "mlp", "--steps", "1", "--engine", "ref", "--label", "price_per_hour_usd=3.6"]
    p = run(*quick, "--project", "bert", ledger="b.db")
    report("a run says at its start what is left", re.search(
        r"budget of project bert: 30.00 of 45.00 USD spent .*\(67 %\), 15.00 left; the cost of 1 run is unknown: "
        r"4 h 10 min at 3.60 USD an hour", p.stderr) and p.returncode == 0, p.stderr)
    runs("--budget", f"bert=30/{period}", ledger="b.db")
    p = run(*quick, "--project", "bert", "--json", ledger="b.db")
    report("and at its end that it is exceeded; it is not stopped", p.returncode == 0 and "exceeded by" in p.stderr and
           json.loads(p.stdout)["runs"][0]["steps"] == 1, p.stderr)
    p = run(*quick, "--project", "vision", ledger="b.db")
    report("another project's budget says nothing", "bert" not in p.stderr and "everybody" in p.stderr, p.stderr)
    command = ["--label", "price_per_hour_usd=3600", "--", "sh", "-c", "for i in 1 2 3 4 5 6 7 8 9 10 11 12; do echo step $i/12; sleep 0.5; done"]
    runs("--budget", "small=4/total", ledger="b.db")
    p = run("run", "--project", "small", *command, ledger="b.db")
    report("a run whose bill will exceed a budget says so while it runs, and goes on", re.search(
        r"this run will cost about \S+ USD, more than the 4.00 USD left of its budget", p.stderr) and p.stdout.count("step") == 12
        and p.returncode == 0, p.stderr)
    p = run("run", "mlp", "--max-spend", "budget", "--offer", "aws/c6i.xlarge", "--project", "x", "--no-ledger")
    report("--max-spend budget needs one", p.returncode == 2 and "no budget" in p.stderr, p.stderr)
    # A database that does not answer: the run begins all the same.
    began = time.monotonic()
    p = subprocess.run([FARE, *quick], env={**ENV, "FARE_LEDGER": "postgresql://nobody@127.0.0.1:9/x"}, capture_output=True,
                       text=True, timeout=60)
    report("a ledger that cannot be reached stops no run", p.returncode == 0 and time.monotonic() - began < 20, p.stderr)


# ---- Slurm

def slurm():
    jobs = (ROOT / "tests/ledger/sacct/jobs.txt").read_text()
    p = runs("import", "-", "--price-per-gpu-hour", "1.20", text=jobs, ledger="s.db")
    report("Slurm's accounting is recognised; jobs that have not ended or never started are left out",
           p.returncode == 0 and "added 4 runs" in p.stdout and "2 jobs that had not ended" in p.stderr
           and "1 job that never started" in p.stderr, p.stdout + p.stderr)
    again = runs("import", "-", "--format", "sacct", text=jobs, ledger="s.db")
    report("the same jobs twice add nothing", "added 0 runs; 4 were there" in again.stdout, again.stdout + again.stderr)

    def job(number):
        return json.loads(runs(f"slurm-{number}", "--json", ledger="s.db").stdout)

    j = job(973821)
    report("a job and its steps are one run", (j["name"], j["user"], j["project"], j["host"], j["ended"], j["started"]) ==
           ("command", "ec-aaaaa", "ec85", "c1-28", "finished", "2024-11-13T11:08:00Z") and
           j["peak_memory_bytes"] == 10121984 * 1024, j)
    report("its queue time is apart from its run time", (j["phases"]["wall_ns"], j["phases"]["queue_ns"]) ==
           (7164 * 10**9, (11 * 3600 + 8 * 60 - (8 * 3600 + 30 * 60 + 40)) * 10**9), j["phases"])
    report("its CPU time: 11:29:26 of 7164 s", abs(j["use"]["cpu_percent"] - 100 * (11 * 3600 + 29 * 60 + 26) / 7164) < 1e-6, j["use"])
    report("it had no GPU", j["machine"]["gpus"] == 0 and "price_per_hour_usd" not in str(j["labels"]), j["machine"])
    j = job(974804)
    report("a time limit", (j["ended"], j["stopped_by"], j["machine"]["gpu"], j["machine"]["gpus"], j["machine"]["memory_bytes"]) ==
           ("stopped", "max-time", "a100", 1, 32 << 30), j)
    j = job(974745)
    report("CANCELLED by 2101477", (j["ended"], j["machine"]["gpu"]) == ("interrupted", "rtx30"), j)
    j = job(974809)
    report("a failure", (j["ended"], j["problem"], j["exit_code"]) == ("failed", "FAILED", 1), j)
    got = spending("project", ledger="s.db")
    by = {r["project"]: r for r in got["rows"]}
    report("GPU-hours and their cost by account", abs(by["ec35"]["gpu_hours"] - 1389 / 3600) < 1e-9 and
           by["ec35"]["usd"] == "0.463" and by["ec85"]["unknown"] == 1 and "usd" not in by["ec85"], got)
    page = runs("slurm-974804", "--all", ledger="s.db").stdout
    report("the page has the queue time", "26.0 s in the queue, then ran for 3 min 26 s" in page and "ec395" in page, page)

    # Other selections of fields, units, delimiters; a requeued job has two rows.
    others = ("JobIDRaw,JobName,User,State,Submit,Start,End,Elapsed,AllocGRES,NNodes,MaxRSS,Planned\n"
              "17,a b,ann,OUT_OF_MEMORY,2024-01-01T00:00:00,2024-01-01T01:00:00,2024-01-02T03:03:04,1-02:03:04,gpu:v100:2(S:0-1),2,,00:30:00\n"
              "17.0,x,,FAILED,,2024-01-01T01:00:00,2024-01-02T03:03:04,1-02:03:04,,2,1787.60M,\n"
              "18,re,ann,PREEMPTED,1704067200,1704070800,1704074400,01:00:00,gpu:2,1,,\n"
              "18,re,ann,COMPLETED,1704067200,1704078000,1704081600,01:00:00,gpu:2,1,,\n"
              "19+0,het,ann,COMPLETED,Unknown,2024-01-01T01:00:00+02:00,2024-01-01T01:00:01+02:00,00:01.500,,1,,\n")
    p = runs("import", "-", text=others.replace(",", "|").replace("gpu:v100:2(S:0-1)", "gpu:v100:2(S:0-1)"), ledger="t.db")
    report("other fields and older forms", p.returncode == 0 and "added 4 runs" in p.stdout, p.stdout + p.stderr)
    records = {r["id"]: r for r in map(json.loads, runs("export", ledger="t.db").stdout.splitlines())}
    j = next(r for i, r in records.items() if i.startswith("slurm-17-"))
    report("1-02:03:04, gpu:v100:2, 1787.60M", (j["phases"]["wall_ns"], j["phases"]["queue_ns"], j["machine"]["gpus"], j["machine"]["gpu"],
           j["peak_memory_bytes"]) == ((86400 + 7384) * 10**9, 1800 * 10**9, 2, "v100", 1874434457), j)
    report("a requeued job is two runs", sorted(r["ended"] for i, r in records.items() if i.startswith("slurm-18-")) ==
           ["finished", "interrupted"], list(records))
    j = next(r for i, r in records.items() if i.startswith("slurm-19"))
    report("a time zone, and 00:01.500", (j["started"], j["phases"]["wall_ns"]) == ("2023-12-31T23:00:00Z", 1500 * 10**6), j)
    for bad, why in (("JobID|State\n|FAILED\n", "no job number"), ("JobID|Start|State\n1|yesterday|FAILED\n", "bad time"),
                     ("JobID|Elapsed|State\n1|1:2:3:4|FAILED\n", "bad time"), ("JobID|State\n1|FAILED|x\n", "line 2"),
                     ("JobID|State\n", "no jobs"), ("JobID    JobName      State\n------ -------- ----------\n1  a   FAILED\n", "--parsable2")):
        p = runs("import", "-", text=bad, ledger="t.db")
        report(f"refused: {bad!r}", p.returncode == 1 and why in p.stderr and "nothing was imported" in p.stderr, p.stderr)
    for option in ("--price-per-hour", "--price-per-gpu-hour"):
        p = runs("import", "-", option, "-3", text=jobs, ledger="t.db")
        report(f"{option} below 0 is refused", p.returncode == 2 and "below 0" in p.stderr, p.stderr)
    # More kinds than 64 bits can count, if each had that many.
    many = ",".join(f"gres/gpu:k{i}=900T" for i in range(12000))
    p = runs("import", "-", text=f"\ufeffJobID|State|Start|ElapsedRaw|AllocTRES\r\n20|COMPLETED|2024-01-01T00:00:00|10|gres/gpu=900T,{many}\r\n"
             "21|COMPLETED|2024-01-01T00:00:00|10|gres/gpu:a=2,gres/gpu:b=1\r\n", ledger="many.db")
    got = {r["id"][:8]: r.get("machine", {}).get("gpus") for r in map(json.loads, runs("export", ledger="many.db").stdout.splitlines())}
    report("absurd numbers of GPUs are unknown; a mark of UTF-8 and line ends of another system do not matter",
           got == {"slurm-20": None, "slurm-21": 3}, p.stderr + str(got))


# ---- invoices

HEAD = ("BilledCost,EffectiveCost,BillingCurrency,ChargePeriodStart,ChargePeriodEnd,ChargeCategory,ChargeClass,ChargeDescription,"
        "ProviderName,ResourceId,ResourceName,RegionId,SkuPriceDetails,Tags\n")


def line(billed, begin, end, what="hours", category="Usage", provider="AWS", resource="", name="", region="", product="", tags="",
         effective=None, currency="USD", kind=""):
    details = json.dumps({"InstanceType": product}) if product else ""
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerow([billed, billed if effective is None else effective, currency, begin, end, category,
                                                   kind, what, provider, resource, name, region, details, tags])
    return out.getvalue()


def team():
    """Five runs: two on one machine, one with a tag, one by its type, and one that no line is for."""
    def record(name, start, seconds, usd, **more):
        return {"id": name, "started": f"2026-10-{start}Z", "phases": {"wall_ns": seconds * 10**9}, "project": "p" + name[-1],
                "spent": {"usd": usd, **more.pop("spent", {})}, **more}
    return [record("run-a", "05T10:00:00", 1800, "1.50", spent={"offer": "aws/p3.2xlarge@us-east-1", "resource": "i-0abc"}),
            record("run-b", "05T10:30:00", 600, "0.50", spent={"offer": "aws/p3.2xlarge@us-east-1",
                                                             "resource": second.hashed("i-0abc")}),
            record("run-c", "06T10:00:00", 3600, "2.00", spent={"offer": "gcp/a2-highgpu-1g@us-central1"}, host="box-7"),
            record("run-d", "07T10:00:00", 3600, "3.00", spent={"offer": "aws/g5.xlarge@us-east-1"}),
            record("run-e", "08T10:00:00", 3600, "4.00", spent={"offer": "aws/g5.xlarge@eu-west-1"})]


def invoices():
    runs("import", write("f.jsonl", second.lines(team())), ledger="f.db")
    arn = "arn:aws:ec2:us-east-1:123456789012:instance/i-0abc"
    hour = ("2026-10-05T10:00:00Z", "2026-10-05T11:00:00Z")
    text = HEAD + line("4.00", *hour, resource=arn) \
        + line("-1.00", *hour, what="refund", category="Credit", resource=arn) \
        + line("2.5", "2026-10-06 10:00:00", "2026-10-06 11:00:00", provider="Google Cloud", resource="//compute/instances/box-7") \
        + line("3.25", "2026-10-07T10:00Z", "2026-10-07T11:00Z", what="$3.06 per On Demand Linux g5.xlarge Instance Hour",
               provider="Amazon Web Services", resource="i-0ther", region="us-east-1") \
        + line("0.75", "2026-10-01T00:00:00.000Z", "2026-11-01T00:00:00.000Z", what="support", category="Purchase",
               tags='{"user:fare_run": "run-d"}') \
        + line("6.123E-7", *hour, what="logs", resource="arn:aws:logs:x") \
        + line("6.123E-7", *hour, what="logs", resource="arn:aws:logs:x") \
        + line("0.19", "2026-10-01T00:00:00Z", "2026-11-01T00:00:00Z", what="VAT", category="Tax", currency="EUR")
    p = runs("import", write("october.csv", text), ledger="f.db")
    report("an invoice is recognised by its header", p.returncode == 0 and "added 8 lines of invoices" in p.stdout, p.stdout + p.stderr)
    got = spending("project", ledger="f.db")
    by = {r["project"]: r for r in got["rows"]}
    # 3.00 USD for an hour of the machine: 30 minutes and 10 minutes used it.
    report("two runs on a machine share its lines by their time", (by["pa"]["invoiced_usd"], by["pb"]["invoiced_usd"],
           by["pa"]["difference_usd"], by["pb"]["difference_usd"]) == ("2.25", "0.75", "0.75", "0.25"), by)
    report("a host's name in a resource", by["pc"]["invoiced_usd"] == "2.50" and by["pc"]["difference_usd"] == "0.50", by["pc"])
    report("a machine's type in a description, and a tag", by["pd"]["invoiced_usd"] == "4.00" and by["pd"]["difference_usd"] == "1.00",
           by["pd"])
    report("another region is another machine", "invoiced_usd" not in by["pe"] and by["pe"]["invoiced"] == 0, by["pe"])
    sums_ = {k: got[k] for k in ("charges", "charges_usd", "unmatched_charges", "unmatched_usd", "missing", "missing_usd")}
    report("left over on both sides: logs and tax, and a run", sums_ == {
        "charges": 8, "charges_usd": "9.880001224", "unmatched_charges": 3, "unmatched_usd": "0.380001224", "missing": 1,
        "missing_usd": "4.00"}, sums_)
    report("all lines are for a run or left over", Decimal(got["total"]["invoiced_usd"]) + Decimal(got["unmatched_usd"]) ==
           Decimal(got["charges_usd"]), got["total"])
    one = spending("project", "--label", "a=b", ledger="f.db")
    report("a filter selects runs; the invoice stays", one["rows"] == [] and one["charges"] == 8, one)
    only = spending("project", "--since", "2026-10-05T10:20:00Z", ledger="f.db")
    report("runs that are not selected still have their share", {r["project"]: r.get("invoiced_usd") for r in only["rows"]}.get("pb")
           == "0.75", only["rows"])
    page = runs("run-a", ledger="f.db").stdout
    record = json.loads(runs("run-a", "--json", ledger="f.db").stdout)
    report("the run's page and record have it", "2.25 USD, 0.75 more than the predicted 1.50" in page and
           record["invoiced"]["invoiced_usd"] == "2.25", page)
    p = runs("--by", "month", ledger="f.db")
    report("the table has both, side by side", re.search(r"2026-10 +5 .* 11.00 +9.50 +2.50", p.stdout) and "VAT" in p.stdout, p.stdout)

    p = runs("import", "october.csv", ledger="f.db")
    report("the same invoice twice adds nothing", "added 0 lines of invoices; 8 were there" in p.stdout and
           spending("project", ledger="f.db") == got, p.stdout)
    p = runs("import", "october.csv", "./october.csv", ledger="f.db")
    report("nor does the same file named twice", "added 0 lines of invoices; 8 were there" in p.stdout, p.stdout)
    (HOME / "packed").write_bytes(b"\x1f\x8b\x08")
    p = runs("import", "packed", ledger="f.db")
    report("a packed file is recognised", p.returncode == 1 and "zcat" in p.stderr, p.stderr)
    p = runs("import", write("october-2.csv", text.replace("3.25,3.25", "3.5,3.5") + line(
        "-0.50", "2026-10-07T10:00:00Z", "2026-10-07T11:00:00Z", kind="Correction", region="us-east-1", resource="i-0ther",
        product="g5.xlarge")), ledger="f.db")
    row = next(r for r in spending("project", ledger="f.db")["rows"] if r["project"] == "pd")
    report("an amount that changed replaces the earlier one; a correction is a line of its own", "added 1 line" in p.stdout and
           "1 had another amount" in p.stdout and row["invoiced_usd"] == "3.75", p.stdout + str(row))
    # Commitments: nothing is billed, the amount is spread.
    p = runs("import", write("committed.csv", HEAD + line("0", "2026-10-08T10:00:00Z", "2026-10-08T11:00:00Z", region="eu-west-1",
                                                         product="g5.xlarge", effective="2.1")), ledger="f.db")
    row = next(r for r in spending("project", ledger="f.db")["rows"] if r["project"] == "pe")
    report("a commitment is spread over its use", (row["invoiced_usd"], row["effective_usd"]) == ("0.00", "2.10"), row)
    p = runs("delete", "--invoice", "committed.csv", ledger="f.db")
    report("an invoice is removed by its file", "deleted 1 line of invoices" in p.stdout and
           runs("delete", "--invoice", "committed.csv", ledger="f.db").returncode == 1, p.stdout + p.stderr)
    for bad, why in (("x,USD,2026-10-01,2026-10-02", "bad amount"), ("1e,USD,2026-10-01,2026-10-02", "bad amount"),
                     ("1,DOLLAR,2026-10-01,2026-10-02", "bad currency"), ("1,USD,soon,2026-10-02", "bad date"),
                     ("1,USD,2026-10-03,2026-10-02", "before"), ("1,$$$,2026-10-01,2026-10-02", "bad currency"),
                     ("9223372036.8547758079,USD,2026-10-01,2026-10-02", "bad amount"), ("99999999999,USD,2026-10-01,2026-10-02", "bad amount"),
                     ("1,USD,2026-10-01", "line 2")):
        p = runs("import", "-", text="BilledCost,BillingCurrency,ChargePeriodStart,ChargePeriodEnd\n" + bad + "\n", ledger="f.db")
        report(f"refused: {bad}", p.returncode == 1 and why in p.stderr and "nothing was imported" in p.stderr, p.stderr)
    p = runs("import", "-", text="BilledCost,ChargePeriodStart\n1,2026-10-01\n", ledger="f.db")
    report("a column that is missing is named", p.returncode == 1 and "BillingCurrency" in p.stderr, p.stderr)


def amounts():
    """Decimals to nano-units, as Python's decimal rounds them."""
    random.seed(3)
    texts = ["0", "-0", "1.0000000005", "1.0000000015", "0.0000000005", "-2.5e-9", "3.5e-9", "1E3", "12.45", "000.50", "1e-30",
             "123456789.123456789123"]
    texts += [f"{random.choice(['', '-'])}{random.getrandbits(random.choice([4, 40, 90]))}e{random.randrange(-40, -18)}" for _ in range(60)]
    texts += [f"{random.uniform(-1, 1):.{random.randrange(1, 25)}f}" for _ in range(60)]
    text = HEAD + "".join(line(t, "2026-10-05T10:00:00Z", "2026-10-05T11:00:00Z", resource=f"r{i}") for i, t in enumerate(texts))
    runs("import", write("amounts.csv", text), ledger="a.db")
    db = sqlite3.connect(HOME / "a.db")
    got = dict(db.execute("SELECT resource, billed FROM fare_charge"))
    expected = {f"r{i}": int(Decimal(t).scaleb(9).quantize(Decimal(1), rounding="ROUND_HALF_EVEN")) for i, t in enumerate(texts)}
    report(f"{len(texts)} amounts, rounded once", got == expected, [(t, got.get(f"r{i}"), expected[f"r{i}"]) for i, t in enumerate(texts)
                                                              if got.get(f"r{i}") != expected[f"r{i}"]][:5])


def round_trip():
    """What `fare quote` writes as FOCUS comes back as the invoice of that run."""
    offers = "--offer", "aws/p3.2xlarge@us-east-1"
    record = {"id": "run-q", "started": "2026-10-05T10:00:00Z", "workload": "own", "name": "q", "ended": "finished", "full": True,
              "phases": {"wall_ns": 7200 * 10**9}, "machine": {"provider": "aws", "instance_type": "p3.2xlarge", "region": "us-east-1",
                                                               "gpu": "Tesla V100-SXM2-16GB", "gpus": 1}}
    runs("import", write("q.jsonl", second.lines([record])), ledger="q.db")
    p = run("quote", "run-q", *offers, "--date", "2026-10-05", "--format", "focus", ledger="q.db")
    bill = run("quote", "run-q", *offers, "--date", "2026-10-05", "--json", ledger="q.db")
    if p.returncode != 0 or bill.returncode != 0:
        report("a quote as FOCUS", False, p.stderr + bill.stderr)
        return
    total = json.loads(bill.stdout)["bills"][0]["total"]
    imported = runs("import", write("q.csv", p.stdout), ledger="q.db")
    row = json.loads(runs("run-q", "--json", ledger="q.db").stdout).get("invoiced", {})
    report("what fare exports as FOCUS is imported as the run's invoice", imported.returncode == 0 and
           Decimal(row.get("invoiced_usd", 0)) == Decimal(total), imported.stderr + str(row) + total)


# ---- pages

def served():
    p = subprocess.Popen([FARE, "serve", "--listen", "127.0.0.1:0", "--ledger", str(HOME / "l.db")], env=ENV, stdout=subprocess.PIPE,
                         stderr=subprocess.PIPE, text=True)
    try:
        base = re.search(r"http://\S+?/", p.stdout.readline()).group(0)

        def get(path):
            with urllib.request.urlopen(base + path, timeout=30) as answer:
                return answer.read().decode()

        def status(path):
            try:
                return urllib.request.urlopen(base + path, timeout=30).status
            except urllib.error.HTTPError as e:
                return e.code

        same = json.loads(get("spend.json?by=user,month&currency=EUR")) == spending("user,month", "--currency", "EUR")
        report("the page's JSON is the command's", same)
        page = get("spend?by=host")
        report("the page has names escaped, and a row each", "gpu &lt;3&gt;" in page and "gpu <3>" not in page
               and "<td class=\"long\">total</td>" in page, page[-500:])
        report("unknown parameters and keys are refused", [status("spend?by=x"), status("spend?x=1"), status("spend?currency=XXX"),
                                                             status("spend?since=soon")] == [400, 400, 400, 400])
        runs("--budget", "all=1/total", "--budget", "bert=1000000/total")
        metrics = get("metrics")
        month = f"{NOW:%Y-%m}"
        exported = [json.loads(one) for one in runs("export").stdout.splitlines()]
        expected = second.sums(exported, ["project"], lambda u: u["started"].startswith(month))
        costs = {name: Decimal(value) for name, value in re.findall(r'fare_month_cost_usd\{project="((?:[^"\\]|\\.)*)"\} (\S+)', metrics)}
        report("metrics: this month's cost by project", costs.keys() == {k[0] or "" for k, g in expected.items() if g["usd"] is not None}
               and all(abs(costs[k[0] or ""] - g["usd"]) < Decimal("1e-4") for k, g in expected.items() if g["usd"] is not None),
               (costs, expected))
        figures = dict(re.findall(r"^(fare_month_\w+) (\d+)$", metrics, re.M))
        report("metrics: runs, failures, unknown costs, hosts", figures == {
            "fare_month_runs": str(sum(g["runs"] for g in expected.values())),
            "fare_month_failed_runs": str(sum(g["failed"] for g in expected.values())),
            "fare_month_unknown_runs": str(sum(g["unknown"] for g in expected.values())),
            "fare_month_out_of_range_runs": "0",
            "fare_month_hosts": str(len(second.sums(exported, ["host"], lambda u: u["started"].startswith(month))))}, figures)
        report("metrics: budgets, and one end", 'fare_budget_spent_ratio{kind="all",name="",period="total"}' in metrics
               and metrics.count("# EOF") == 1 and metrics.endswith("# EOF\n"), metrics[-300:])
        time.sleep(2.1)
        page = get("")
        report("the list warns of a budget that is exceeded, not of others", "Budget of everybody" in page and "exceeded by" in page
               and "Budget of project bert" not in page, page[-200:])
        page = get("spend")
        report("the page lists the budgets", "project:bert" in page and "exceeded" in page)
    finally:
        p.terminate()
        p.wait(10)
    runs("--budget", "all=none", "--budget", "bert=none")


sums()
unknown()
currencies()
migration()
projects()
budgets()
slurm()
invoices()
amounts()
round_trip()
served()
done()
