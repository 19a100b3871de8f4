#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The scripts of `fare cron --emit aws` with the real aws client, which checks its arguments, against a stand-in for AWS on loopback:
set up, again without a change, after a change by hand, after a failure halfway, removed. Needs FARE_TEST_WHOLE=1, as the client takes
a second for a call, and an aws that knows AWS_ENDPOINT_URL (from 1.29 or 2.13 on)."""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
sys.path.insert(0, os.path.join(os.environ["ROOT"], "tests"))
from aws_server import Aws  # noqa: E402
from tap import done, report, skip  # noqa: E402

if not os.environ.get("FARE_TEST_WHOLE"):
    skip("the real aws client sets a task up", "only with FARE_TEST_WHOLE=1")
    done()
aws = shutil.which("aws")
version = re.match(r"aws-cli/(\d+)\.(\d+)\.", subprocess.run([aws, "--version"], capture_output=True, text=True).stdout) if aws else None
if not version or (int(version[1]), int(version[2])) < ((1, 29) if version[1] == "1" else (2, 13)):
    skip("the real aws client sets a task up", "aws 1.29 or 2.13 is not installed")
    done()

FARE = os.environ["FARE"]
scratch = tempfile.TemporaryDirectory(prefix="fare-aws-")
top = Path(scratch.name)
(top / "bin").mkdir()
(top / "bin/sleep").write_text("#!/bin/sh\nexit 0\n")
(top / "bin/sleep").chmod(0o755)
UNCHANGED = "is as it should be: nothing was changed"


def fare(schedule="0 3 1,15 * mon-fri", command=("python3", "a b.py", "50% $HOME 'q'"), machine="t3.small"):
    p = subprocess.run([FARE, "cron", schedule, "--up", "2m", "--emit", "aws", "--offer", f"aws/{machine}", "--region", "us-east-1", "--rate", "0.02",
                        "-o", top, "--", *command], capture_output=True, text=True)
    assert p.returncode == 0, p.stderr


def run(cloud, script="set-up.sh"):
    env = {"PATH": f"{top}/bin:{os.environ['PATH']}", "HOME": str(top), "AWS_ENDPOINT_URL": cloud.url, "AWS_ACCESS_KEY_ID": "x", "AWS_SECRET_ACCESS_KEY": "y",
           "AWS_MAX_ATTEMPTS": "1", "AWS_EC2_METADATA_DISABLED": "true", "NO_PROXY": "127.0.0.1"}
    return subprocess.run(["sh", top / script], capture_output=True, text=True, env=env, timeout=300)


def says(p):
    return f"exit {p.returncode}\n{p.stdout}\n{p.stderr}"


cloud = Aws()
fare()
p = run(cloud)
i = next(iter(cloud.instances.values()), {})
report("one run sets it up, and the machine has powered itself off", p.returncode == 0 and i.get("state") == "stopped" and len(cloud.instances) == 1, says(p))
report("a shutdown from within stops it, and its disk has the size that was priced", (i.get("behaviour"), i.get("gb"), i.get("root")) == ("stop", "10", "/dev/sda1"), i)
report("days of the month or of the week are two schedules", {n: s["ScheduleExpression"] for n, s in cloud.schedules.items()} ==
       {"fare-task": "cron(0 3 1,15 * ? *)", "fare-task-2": "cron(0 3 ? * MON-FRI *)"}, cloud.schedules)
target = cloud.schedules["fare-task"]["Target"]
report("they start this machine, with a role that may do only that", json.loads(target["Input"]) == {"InstanceIds": list(cloud.instances)} and
       target["Arn"] == "arn:aws:scheduler:::aws-sdk:ec2:startInstances" and
       [(s["Action"], s["Resource"].rpartition("/")[2]) for s in cloud.roles["fare-fare-task"]["policy"]["Statement"]] == [("ec2:StartInstances", *cloud.instances)], target)
before, calls = cloud.state(), len(cloud.calls)
p = run(cloud)
report("again, nothing changes", p.returncode == 0 and UNCHANGED in p.stdout and cloud.state() == before and
       not [c for c in cloud.calls[calls:] if not c.startswith(("Get", "Describe", "GET"))], says(p))
cloud.schedules["fare-task"]["State"] = "DISABLED"
next(iter(cloud.instances.values()))["data"] = "eA=="
p = run(cloud)
report("what was changed by hand is put right", p.returncode == 0 and cloud.state() == before, says(p))
fare("0 4 * * *", ["true"], "t3.micro")
p = run(cloud)
report("another schedule, command and machine type replace the old ones", p.returncode == 0 and list(cloud.schedules) == ["fare-task"] and
       next(iter(cloud.instances.values()))["type"] == "t3.micro" and UNCHANGED in run(cloud).stdout, says(p))
next(iter(cloud.instances.values())).update(state="pending")
fare("0 4 * * *", ["false"], "t3.micro")
p = run(cloud)
report("a machine that is up is not changed", p.returncode == 1 and "is up: run this again when it is off" in p.stderr, says(p))
subprocess.run([FARE, "cron", "--emit", "aws", "--remove", "--region", "us-east-1", "-o", top], check=True, capture_output=True)
p = run(cloud, "remove.sh")
report("removed, nothing is left", p.returncode == 0 and not cloud.roles and not cloud.schedules and
       {m["state"] for m in cloud.instances.values()} == {"terminated"}, says(p))
report("removed twice is fine", run(cloud, "remove.sh").returncode == 0)

fare()
for fault in (("half", "RunInstances"), ("half", "CreateRole"), ("half", "PutRolePolicy"), ("fail", "POST"), ("half", "POST")):
    cloud = Aws()
    cloud.fault = fault
    first, second = run(cloud), run(cloud)
    report(f"{' '.join(fault)}: said, and the next run goes on", first.returncode != 0 and second.returncode == 0 and len(cloud.instances) == 1 and
           len(cloud.schedules) == 2 and cloud.roles["fare-fare-task"]["policy"], says(first) + says(second) + cloud.state())
done()
