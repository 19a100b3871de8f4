#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""`fare cron --emit k8s`: the CronJob as another YAML reader sees it, valid by Kubernetes' own schema where kubernetes-validate is importable,
with every byte of hostile words; its scripts against a stand-in kubectl that keeps state; the published sums in their heads."""
import os
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, os.path.join(os.environ["ROOT"], "tests"))
sys.path.append(os.path.join(os.environ["ROOT"], "build/python"))
from tap import done, report, skip  # noqa: E402

try:
    import yaml
except ImportError:
    skip("a CronJob is what was asked for", "PyYAML is not installed")
    done()

scratch = tempfile.TemporaryDirectory(prefix="fare-emit-k8s-")
top = Path(scratch.name)
PUBLISHED = ("0 */4 * * *", "--up", "2m", "--offer", "gcp/n1-standard-1:spot", "--date", "2018-11-01")
NASTY = ["a b", "it's", '"q"', "$HOME", "$(HOME)", "$$", "`id`", "-n", "--", "%d%%", "\\n", "\\", "new\nline\n", "\ttab ", "", "*", ": z", "- y", "# c",
         "é\u2028\u0085\ufeff\U0001f600", "\x01\x1b[0m\x7f", "\r\n", "{{y}}", "null", "0x1"]


def fare(*args, command=("true",), out=None):
    out = out or Path(tempfile.mkdtemp(dir=top))
    p = subprocess.run([os.environ["FARE"], "cron", *args, "--emit", "k8s", "-o", out, "--", *command], capture_output=True, text=True)
    p.dir = out
    p.job = yaml.safe_load((out / "cronjob.yaml").read_text()) if p.returncode == 0 else {}
    return p


def pod_of(job):
    return job["spec"]["jobTemplate"]["spec"]["template"]["spec"]


# ---- the CronJob
manifests = []
p = fare("30 6 * * mon-fri", "--limit", "90m", "--container", "me/it:1", "--cpu", "500m", "--memory", "4GiB", "--name", "nightly", "--time-zone",
         "Europe/Berlin", command=NASTY)
manifests.append(p.job)
spec = p.job.get("spec", {})
report("a CronJob of this schedule, never beside itself", p.returncode == 0 and (p.job["apiVersion"], p.job["kind"], p.job["metadata"]["name"]) ==
       ("batch/v1", "CronJob", "nightly") and (spec["schedule"], spec["timeZone"], spec["concurrencyPolicy"]) == ("30 6 * * 1-5", "Europe/Berlin", "Forbid"),
       p.stderr)
job, pod = spec["jobTemplate"]["spec"], pod_of(p.job)
box = pod["containers"][0]
report("it is started again if it fails, and ended at the limit", pod["restartPolicy"] == "OnFailure" and job["backoffLimit"] > 0 and
       job["activeDeadlineSeconds"] == 5400, job)
report("the container has its image and asks for what was said", box["image"] == "me/it:1" and box["resources"] ==
       {"requests": {"cpu": "500m", "memory": "4096Mi"}, "limits": {"memory": "4096Mi"}}, box)
# Kubernetes turns "$$" into "$" before it starts the container, and replaces $(NAME).
report("every byte of the words arrives", [a.replace("$$", "$") for a in box["args"]] == NASTY and
       all("$(" not in a.replace("$$", "") for a in box["args"]), box["args"])
text = (p.dir / "cronjob.yaml").read_bytes()
report("the file is plain ASCII without control characters", all(b == 10 or 32 <= b < 127 for b in text))
p = fare("@daily", "--up", "20m", "--offer", "aws/g5.12xlarge", "--container", "me/it:1", command=[])
manifests.append(p.job)
pod = pod_of(p.job) if p.job else {}
report("the GPUs of the offer are asked for; the image's own command runs", p.returncode == 0 and "args" not in pod["containers"][0] and
       pod["containers"][0]["resources"] == {"limits": {"nvidia.com/gpu": "4"}} and pod["tolerations"][0]["key"] == "nvidia.com/gpu", p.stderr)

# ---- what it costs. Published in November 2018: 7.30 USD a month for a machine that is always up (730 × 0.01), 0.76 for one that is started
# for each task; so ten tasks (7.60) cost more than one node, and nine (6.84) do not.
p = fare(*PUBLISHED, "--container", "python:3.13")
manifests.append(p.job)
head = (p.dir / "set-up.sh").read_text()
report("the node that stays up and the machine that is started are priced", "a node that stays up, for all tasks: 7.30 USD a month; it pays from 10 tasks on"
       in head and "started for each task instead: 0.76 USD a month" in head, head[:900])
one = subprocess.run([os.environ["FARE"], "cron", *PUBLISHED, "--json"], capture_output=True, text=True).stdout
both = subprocess.run([os.environ["FARE"], "cron", *PUBLISHED, "--emit", "k8s", "--container", "x", "-o", top / "x", "--json"], capture_output=True,
                      text=True).stdout
report("the bill is the one without --emit", one and both.startswith(one.rstrip()), both)

# ---- what is refused
for args, words in ((("@daily", "--limit", "1m"), "--container is missing"), (("@daily", "--limit", "1m", "--container", "-x"), "not the image"),
                    (("@daily", "--limit", "1m", "--container", "a b"), "not the image"),
                    (("@daily", "--limit", "1m", "--container", "x", "--cpu", "lots"), "not a quantity"),
                    (("@daily", "--limit", "1m", "--container", "x", "--image", "y"), "--image is for"),
                    (("0 0 */2 * mon", "--limit", "1m", "--container", "x"), "both day fields")):
    p = fare(*args)
    report(f"{' '.join(args)}: {words}", p.returncode == 2 and words in p.stderr, p.stderr)
for emit in ("systemd", "slurm"):
    p = subprocess.run([os.environ["FARE"], "cron", "@daily", "--limit", "1m", "--emit", emit, "--container", "x", "--", "a"], capture_output=True, text=True)
    report(f"{emit}: no containers", p.returncode == 2 and "--container is for" in p.stderr, p.stderr)

# ---- the scripts, with a kubectl that knows these calls alone
(top / "bin").mkdir()
(top / "bin/kubectl").write_text('''#!/bin/sh
there=$STATE/$3
case "$*" in
"get cronjob nightly --ignore-not-found -o name") [ ! -e "$there" ] || echo cronjob.batch/nightly ;;
"get cronjob nightly -o jsonpath={.metadata.labels.app\\\\.kubernetes\\\\.io/managed-by}") sed -n 's/.*managed-by: //p' "$there" ;;
"apply -f "*)
    if [ ! -e "$STATE/nightly" ]; then said=created; elif cmp -s "$3" "$STATE/nightly"; then said=unchanged; else said=configured; fi
    cp "$3" "$STATE/nightly" && echo "cronjob.batch/nightly $said" ;;
"delete cronjob nightly") rm "$there" && echo 'cronjob.batch "nightly" deleted' ;;
*) echo "error: unknown command: $*" >&2; exit 1 ;;
esac
''')
(top / "bin/kubectl").chmod(0o755)
(top / "state").mkdir()
there = top / "state/nightly"


def run(folder, script="set-up.sh"):
    return subprocess.run(["sh", folder / script], capture_output=True, text=True,
                          env={**os.environ, "PATH": f"{top}/bin:{os.environ['PATH']}", "STATE": str(top / "state")})


TASK = ("@daily", "--limit", "1m", "--container", "me/it:1", "--name", "nightly")
folder = fare(*TASK).dir
p = run(folder)
report("one run sets it up", p.returncode == 0 and "nightly is set up" in p.stdout and there.exists(), p.stdout + p.stderr)
p = run(folder)
report("again, nothing changes", p.returncode == 0 and p.stdout == "nightly is as it should be: nothing was changed\n", p.stdout + p.stderr)
fare(*TASK, command=["false"], out=folder)
p = run(folder)
report("another command replaces the old one", p.returncode == 0 and "configured" in p.stdout and '"false"' in there.read_text(), p.stdout + p.stderr)
subprocess.run([os.environ["FARE"], "cron", "--emit", "k8s", "--remove", "--name", "nightly", "-o", folder], check=True, capture_output=True)
p, q = run(folder, "remove.sh"), run(folder, "remove.sh")
report("removed, twice if need be", p.returncode == q.returncode == 0 and not there.exists(), p.stdout + p.stderr + q.stderr)
there.write_text("managed-by: somebody\n")
p, q = run(folder), run(folder, "remove.sh")
report("a CronJob that fare did not make is left alone", p.returncode == q.returncode == 1 and there.read_text() == "managed-by: somebody\n",
       p.stdout + p.stderr + q.stderr)

try:
    import kubernetes_validate
except ImportError:
    skip("CronJobs are valid by Kubernetes' schema", "kubernetes-validate is not importable")
    done()
bad = ""
for manifest in manifests:
    try:
        kubernetes_validate.validate(manifest, "1.29", strict=True)
    except Exception as e:
        bad += f"{e}\n{manifest}\n"
report(f"{len(manifests)} CronJobs are valid by Kubernetes' schema", not bad, bad)
done()
