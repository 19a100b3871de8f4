#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""`fare run --on k8s` with a stand-in kubectl (fake_kubectl.py) that misbehaves: every measurement ends as one record or a stated failure,
no word is read by a shell or expanded, and the Jobs are valid by Kubernetes' own schema where kubernetes-validate is importable."""
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, os.path.join(os.environ["ROOT"], "tests"))
sys.path.append(os.path.join(os.environ["ROOT"], "build/python"))
from tap import done, report, skip  # noqa: E402

scratch = tempfile.TemporaryDirectory(prefix="fare-k8s-")
top = Path(scratch.name)
(top / "bin").mkdir()
(top / "bin/kubectl").symlink_to(HERE / "fake_kubectl.py")
number = 0
manifests = []


def fare(*args, faults="", timeout=120):
    """Its result, with the records of its ledger and the stand-in's folder."""
    global number
    number += 1
    folder = top / str(number)
    (folder / "standin").mkdir(parents=True)
    (folder / "standin/faults").write_text(faults)
    env = {**os.environ, "PATH": f"{top}/bin:{os.environ['PATH']}", "HOME": str(folder), "XDG_DATA_HOME": str(folder / "data"),
           "STANDIN": str(folder / "standin"), "FARE_METADATA": "off", "FARE_LEDGER": str(folder / "ledger.db"), "KEEP": "1"}
    p = subprocess.run([os.environ["FARE"], "run", "--no-cloud", "--no-trace", *args], env=env, cwd=folder, capture_output=True, text=True,
                       timeout=timeout, stdin=subprocess.DEVNULL)
    export = subprocess.run([os.environ["FARE"], "runs", "export", "-o", "-"], env=env, capture_output=True, text=True)
    p.records = [json.loads(line) for line in export.stdout.split("\n") if line]
    p.folder = folder / "standin"
    p.calls = [json.loads(line) for line in (p.folder / "calls").read_text().splitlines()] if (p.folder / "calls").exists() else []
    p.said = p.stdout + p.stderr
    manifests.extend(json.loads(m.read_text()) for m in (folder / "standin").glob("applied-*"))
    return p


STEPS = ["/usr/bin/python3", "-S", "-E", "-c", "import sys; [print('step', i, flush=True) for i in range(5)]; print(sys.argv[1:])"]

p = fare("--on", "k8s:arn:aws:eks:eu-west-1:1:cluster/a b", "--sweep", "x=1..4", "--", *STEPS, "{x}", faults="refuse refuse")
report("four settings, two refused connections: four records", p.returncode == 0 and len(p.records) == 4, p.said)
report("the context is one word", all("--context=arn:aws:eks:eu-west-1:1:cluster/a b" in c for c in p.calls), p.calls)
report("nothing stays in the cluster", not list(p.folder.glob("job-*")), p.said)

for faults, records, words in (("evict", 2, "it starts again"), ("vanish", 2, "it starts again"), ("cut", 2, ""), ("hang", 2, "")):
    if faults == "hang" and not os.environ.get("FARE_TEST_WHOLE"):
        continue  # its time limit is two minutes
    p = fare("--on", "k8s", "--sweep", "x=1,2", "--", *STEPS, "{x}", faults=faults, timeout=400)
    ids = {r["id"] for r in p.records}
    report(f"{faults}: two records all the same", p.returncode == 0 and len(ids) == len(p.records) == records and words in p.said, p.said)

p = fare("--on", "k8s", "--sweep", "x=1,2", "--", *STEPS, "{x}", faults="image")
report("an image that cannot be pulled is a failure, with its reason",
       p.returncode == 1 and len(p.records) == 1 and "ImagePullBackOff" in p.said, p.said)
p = fare("--on", "k8s", "mlp", faults="forbidden")
report("no right to create Jobs is a failure, with its reason", p.returncode == 1 and "may not create Jobs" in p.said, p.said)

HOSTILE = ["a b", "'", '"', "$(HOME)", "$HOME", "$$", "`id`", "; touch x", "new\nline", "-n", "--help", "", "ünï", "\\", "%s", "$(FARE_FRAME)", "*",
           "\r\n", "\x7f", "\u2028", "\U0001f600"]
p = fare("--on", "k8s", "--", *STEPS[:-1], "import json, sys; json.dump(sys.argv[1:], open('seen', 'w')); print('step 1')", *HOSTILE)
seen = json.loads((top / str(number) / "seen").read_text()) if (top / str(number) / "seen").exists() else []
report("words reach the command as they are", p.returncode == 0 and len(p.records) == 1 and seen == HOSTILE, f"{p.said}\n{seen}")

for on, words in (("k8s:,gpu=a b", "letters, digits"), ("k8s:,gpus=x", "a number"), ("k8s:,select=a", "LABEL=VALUE"),
                  ("k8s:,memory=lots", "a quantity"), ("k8s:,color=red", "unknown setting"), ("k8s:,image=", "without a value"),
                  ("k8s:,gpus=1,gpus=2", "given twice")):
    p = fare("--on", on, "mlp")
    report(f"{on} is refused", p.returncode == 2 and words in p.said and not p.calls, p.said)

p = fare("--on", "k8s:,gpu=NVIDIA-H100-80GB-HBM3,gpus=2,type=p5.48xlarge,select=pool=gpu,cpu=8,memory=64Gi,namespace=lab,image=me/it:1,"
         "runtime=nvidia,program=/opt/fare/fare", "--limit", "2m", "--max-time", "1s", "mlp")
job = json.loads(next(iter(sorted(p.folder.glob("applied-*")))).read_text()) if list(p.folder.glob("applied-*")) else {}
pod = job.get("spec", {}).get("template", {}).get("spec", {})
report("a Job has what was asked for",
       pod.get("nodeSelector") == {"nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3", "node.kubernetes.io/instance-type": "p5.48xlarge",
                                   "pool": "gpu"}
       and pod["containers"][0]["resources"]["limits"] == {"nvidia.com/gpu": "2", "cpu": "8", "memory": "64Gi"}
       and pod["restartPolicy"] == "Never" and pod["activeDeadlineSeconds"] >= 120 and job["spec"]["ttlSecondsAfterFinished"] > 0
       and job["spec"]["backoffLimit"] == 0 and pod["containers"][0]["image"] == "me/it:1" and pod["runtimeClassName"] == "nvidia", job)

try:
    import kubernetes_validate
except ImportError:
    skip("Jobs are valid by Kubernetes' schema", "kubernetes-validate is not importable")
    scratch.cleanup()
    done()
bad = ""
for manifest in manifests:
    try:
        kubernetes_validate.validate(manifest, "1.29", strict=True)
    except Exception as e:
        bad += f"{e}\n{manifest}\n"
report(f"{len(manifests)} Jobs are valid by Kubernetes' schema", not bad and len(manifests) >= 10, bad)
broken = json.loads(json.dumps(manifests[0]))
broken["spec"]["template"]["spec"]["restartPolici"] = "Never"
try:
    kubernetes_validate.validate(broken, "1.29", strict=True)
    report("the schema finds a misspelt key", False)
except Exception:
    report("the schema finds a misspelt key", True)
scratch.cleanup()
done()
