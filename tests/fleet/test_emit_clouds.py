#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The scripts of `fare cron --emit gcloud|azure` against stand-ins of the clients (clouds.py), which keep state and misbehave: set up,
again without a change, after a change by hand, after a failure halfway, removed. FARE_TEST_WHOLE=1 also asks the real clients, where
they are installed, whether they would take every call."""
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, os.path.join(os.environ["ROOT"], "tests"))
from tap import done, report, skip  # noqa: E402

HERE = Path(__file__).resolve().parent
FARE = os.environ["FARE"]
COMMAND = ["python3", "a b.py", "--x", "50% $HOME `id` \"q\" 'r'\n-n", "-"]
scratch = tempfile.TemporaryDirectory(prefix="fare-clouds-")
top = Path(scratch.name)
(top / "bin").mkdir()
for tool in ("gcloud", "az"):
    (top / "bin" / tool).write_text(f'#!/bin/sh\nexec /usr/bin/python3 "{HERE}/clouds.py" {tool} "$@"\n')
(top / "bin/sleep").write_text("#!/bin/sh\nexit 0\n")
for program in (top / "bin").iterdir():
    program.chmod(0o755)
CALLS = top / "calls"


class Cloud:
    def __init__(self, name, emit, options):
        self.name, self.emit, self.options = name, emit, options
        self.dir, self.state_file = top / name, top / f"{name}.state"

    def fare(self, schedule="0 3 1,15 * mon-fri", more=(), command=COMMAND):
        return subprocess.run([FARE, "cron", schedule, "--up", "2m", "--emit", self.emit, *self.options, *more, "-o", self.dir,
                               "--", *command], capture_output=True, text=True)

    def run(self, script="set-up.sh", fault=""):
        env = {**os.environ, "PATH": f"{top}/bin:{os.environ['PATH']}", "CLOUD_STATE": str(self.state_file), "CLOUD_LOG": str(CALLS),
               "CLOUD_FAULT": fault}
        return subprocess.run(["sh", self.dir / script], capture_output=True, text=True, env=env, timeout=120)

    def state(self):
        return json.loads(self.state_file.read_text()) if self.state_file.exists() else {}

    def remove(self):
        subprocess.run([FARE, "cron", "--emit", self.emit, "--remove", "-o", self.dir], check=True, capture_output=True)
        return self.run("remove.sh")


def says(p):
    return f"exit {p.returncode}\n{p.stdout}\n{p.stderr}"


UNCHANGED = "is as it should be: nothing was changed"
GCLOUD = ["--offer", "gcp/n1-standard-1:spot", "--region", "us-east1", "--rate", "0.01"]
AZURE = ["--offer", "azure/Standard_B1s", "--region", "westeurope", "--rate", "0.01"]

# ---- Google
c = Cloud("google", "gcloud", GCLOUD)
p = c.fare()
report("google: the files are written", p.returncode == 0 and "Next: sh" in p.stdout, says(p))
p = c.run()
s = c.state()
i = s.get("instances", {}).get("fare-task", {})
report("google: one run sets it up", p.returncode == 0 and i.get("status") == "TERMINATED" and len(s["bindings"]) == 1, says(p))
report("google: the schedule has cron's days and the time zone",
       s["policies"]["fare-task"]["vm-start-schedule"] == "0 3 1,15 * 1-5" and s["policies"]["fare-task"]["timezone"] == "UTC", s)
report("google: a spot machine of that type, with the provider's limit behind all others",
       (i["machine-type"], i["provisioning-model"], i["max-run-duration"], i["policies"]) == ("n1-standard-1", "SPOT", "1200s", "fare-task"), i)
report("google: its startup script is boot.sh", i["script"] == (c.dir / "boot.sh").read_text())
before = c.state()
p = c.run()
report("google: again, nothing changes", p.returncode == 0 and UNCHANGED in p.stdout and c.state() == before, says(p))
c.fare()
p = c.run()
report("google: written again and run again, nothing changes", UNCHANGED in p.stdout and c.state() == before, says(p))
s = c.state()
s["policies"]["fare-task"]["vm-start-schedule"] = "0 4 * * *"
s["instances"]["fare-task"]["policies"] = ""
s["instances"]["fare-task"]["max-run-duration"] = ""
c.state_file.write_text(json.dumps(s))
p = c.run()
report("google: what was changed by hand is put right", p.returncode == 0 and c.state() == before, says(p) + str(c.state()))
c.fare(command=["true"], more=["--time-zone", "Europe/Berlin"])
p = c.run()
report("google: another command and time zone replace the old ones",
       p.returncode == 0 and "set -- 'true'" in c.state()["instances"]["fare-task"]["script"] and
       c.state()["policies"]["fare-task"]["timezone"] == "Europe/Berlin" and UNCHANGED in c.run().stdout, says(p))
p = c.remove()
report("google: removed, nothing is left", p.returncode == 0 and not c.state()["instances"] and not c.state()["policies"], says(p))
report("google: removed twice is fine", c.run("remove.sh").returncode == 0)

for fault in ("fail compute resource-policies create", "half compute resource-policies create", "fail compute instances create",
              "half compute instances create", "fail projects add", "half projects add"):
    c = Cloud(fault.replace(" ", "-"), "gcloud", GCLOUD)
    c.fare()
    first, second = c.run(fault=fault), c.run(fault=fault)
    if second.returncode != 0 and "is up: run this again" in second.stderr:
        second = c.run(fault=fault)
    s = c.state()
    good = first.returncode != 0 and second.returncode == 0 and len(s["instances"]) == len(s["policies"]) == 1 and len(s["bindings"]) == 1
    report(f"google: {fault}: said, and the next run goes on", good, says(first) + says(second) + str(s))
c = Cloud("google-up", "gcloud", GCLOUD)
c.fare()
p = c.run(fault="stays up")
report("google: a machine that does not power itself off is stopped, and that is said",
       p.returncode == 1 and c.state()["instances"]["fare-task"]["status"] == "TERMINATED" and "did not power itself off" in p.stderr, says(p))
s = c.state()
s["instances"]["fare-task"]["labels"] = {}
c.state_file.write_text(json.dumps(s))
p, q = c.run(), c.remove()
report("google: a machine that fare did not make is left alone", p.returncode == q.returncode == 1 and c.state()["instances"], says(p) + says(q))

c = Cloud("google-container", "gcloud", GCLOUD)
c.fare(more=["--container", "python:3.13"])
p = c.run()
i = c.state().get("instances", {}).get("fare-task", {})
report("google: with a container, it boots Container-Optimized OS with cloud-init's user data",
       p.returncode == 0 and (i.get("image-project"), i.get("image-family")) == ("cos-cloud", "cos-stable") and
       i["metadata-from-file"].startswith("user-data=") and i["script"] == (c.dir / "user-data.yaml").read_text(), says(p))
c.fare(more=["--container", "python:3.14"])
p = c.run()
report("google: another container replaces the user data", p.returncode == 0 and "python:3.14" in p.stdout + (c.dir / "boot.sh").read_text() and
       c.state()["instances"]["fare-task"]["script"] == (c.dir / "user-data.yaml").read_text() and UNCHANGED in c.run().stdout, says(p))

for image, named in (("p-1/torch", ("p-1", "torch", None)), ("projects/p-1/global/images/family/torch", ("p-1", "torch", None)),
                     ("https://www.googleapis.com/compute/v1/projects/p-1/global/images/family/torch", ("p-1", "torch", None)),
                     ("projects/p-1/global/images/torch-7", (None, None, "projects/p-1/global/images/torch-7"))):
    c = Cloud("google-image-" + str(len(image)), "gcloud", GCLOUD)
    c.fare(more=["--image", image])
    p = c.run()
    i = c.state().get("instances", {}).get("fare-task", {})
    report(f"google: the image {image}", (i.get("image-project"), i.get("image-family"), i.get("image")) == named, says(p) + str(i))

# ---- Azure
c = Cloud("azure", "azure", AZURE)
p = c.fare()
p = c.run()
s = c.state()
vm = s.get("machines", {}).get("fare-task", {})
flow = next(iter(s.get("flows", {}).values()), {})
report("azure: one run sets it up, and the machine is deallocated",
       p.returncode == 0 and vm.get("power") == "deallocated" and len(s["roles"]) == 1, says(p))
report("azure: the task is the user data", vm["script"] == (c.dir / "boot.sh").read_text())
report("azure: the Logic App has this machine and may use it", flow["properties"]["parameters"]["vm"]["value"] == vm["id"] == s["roles"][0]["scope"]
       and s["roles"][0]["assignee-object-id"] == "who-1", s)
actions = flow["properties"]["definition"]["actions"]
report("azure: it deallocates however the waiting ends", set(actions["Deallocate"]["runAfter"]["Wait"]) == {"Succeeded", "Failed", "TimedOut", "Skipped"}
       and actions["Wait"]["limit"]["timeout"] == "PT20M", actions)
before = c.state()
p = c.run()
report("azure: again, nothing changes", p.returncode == 0 and UNCHANGED in p.stdout and c.state() == before, says(p))
c.fare("0 4 * * *", command=["true"])
p = c.run()
report("azure: another schedule and command replace the old ones", p.returncode == 0 and "set -- 'true'" in c.state()["machines"]["fare-task"]["script"]
       and UNCHANGED in c.run().stdout, says(p))
p = c.remove()
report("azure: removed, nothing is left", p.returncode == 0 and not c.state()["groups"], says(p))
for fault in ("half group create", "fail vm create", "half vm create", "half rest", "fail role assignment create"):
    c = Cloud("az-" + fault.replace(" ", "-"), "azure", AZURE)
    c.fare()
    first, second = c.run(fault=fault), c.run(fault=fault)
    s = c.state()
    good = (first.returncode != 0 or fault.startswith("fail role")) and second.returncode == 0 and \
        len(s["machines"]) == len(s["flows"]) == len(s["roles"]) == 1
    report(f"azure: {fault}: said, and the next run goes on", good, says(first) + says(second) + str(s))
c = Cloud("azure-up", "azure", AZURE)
c.fare()
p = c.run(fault="stays up")
report("azure: a machine that does not power itself off is deallocated, and that is said",
       p.returncode == 1 and c.state()["machines"]["fare-task"]["power"] == "deallocated" and "did not power itself off" in p.stderr, says(p))

c = Cloud("azure-container", "azure", AZURE)
c.fare(more=["--container", "python:3.13"], command=[])
p = c.run()
vm = c.state().get("machines", {}).get("fare-task", {})
report("azure: with a container, cloud-init installs Docker", p.returncode == 0 and vm.get("loader", "").endswith("packages:\n  - docker.io\n"), says(p))

# ---- the scripts themselves
if shutil.which("shellcheck"):
    p = subprocess.run(["shellcheck", *top.glob("google*/*.sh"), *top.glob("azure*/*.sh")], capture_output=True, text=True)
    report("shellcheck finds nothing", p.returncode == 0, says(p))
else:
    skip("shellcheck finds nothing", "shellcheck is not installed")

# ---- the real clients' parsers: with nobody logged in, a call that they take fails for that
calls = sorted({line for line in CALLS.read_text().splitlines()})
LOGIN = {"gcloud": "You do not currently have an active account", "az": "az login"}
for tool in ("gcloud", "az"):
    name = f"the real {tool} takes every call"
    real = shutil.which(tool)
    if not os.environ.get("FARE_TEST_WHOLE") or not real:
        skip(name, f"{tool} is not installed" if not real else "only with FARE_TEST_WHOLE=1")
        continue
    bad, seen = [], set()
    for call in (json.loads(line) for line in calls):
        shape = (call[0], *(a.partition("=")[0] for a in call[1:] if a.startswith("--")), *call[1:4])
        if call[0] != tool or shape in seen or call[1:3] == ["config", "get-value"] or call[1:2] == ["config"]:
            continue
        seen.add(shape)
        p = subprocess.run(["unshare", "-n", real, *call[1:]], capture_output=True, text=True, stdin=subprocess.DEVNULL,
                           env={**os.environ, "CLOUDSDK_CONFIG": str(top / "sdk"), "CLOUDSDK_CORE_PROJECT": "p", "AZURE_CONFIG_DIR": str(top / "az"),
                                "CLOUDSDK_CORE_DISABLE_PROMPTS": "1", "HOME": str(top)})
        if LOGIN[tool] not in p.stderr:
            bad.append(f"{call}: {p.returncode} {p.stderr[-400:]}")
    report(f"{name}: {len(seen)} kinds", not bad and seen, "\n".join(bad))
done()
