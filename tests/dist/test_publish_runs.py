#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""scripts/publish-runs: of records as `fare runs export` writes them it makes those of share/published. The records here are
the published ones with what a machine of one's own adds put back; a run made here is one more."""
import copy
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, os.path.join(os.environ["ROOT"], "tests"))
from tap import done, report  # noqa: E402

ROOT, FARE = Path(os.environ["ROOT"]), os.environ["FARE"]
UUID = "GPU-3f9a2c81-d04e-11ee-9b2a-0242ac120002"
NAMES = ["--machine", "machine with an H200", "--cpus", "16 virtual CPUs of an Intel Xeon", "--cpus-on",
         "the 16 virtual CPUs (Intel Xeon, AMX) of a machine whose GPU was hidden"]
published = [json.loads(line) for line in (ROOT / "share/published/2026-h200.jsonl").read_text().splitlines()]


def as_exported(run):
    run = copy.deepcopy(run)
    gpu = "gpu" in run["machine"]
    del run["source"], run["machine"]["name"]
    run.update(id="20261115T203647Z-" + run["id"][-12:], name="mine", labels=[{"key": "who", "value": "me"}], command=["train.py"],
               step_plot_ms=[1.5, 2], samples=[{"at_s": 0.5}], checks=[{"after_s": 10}], exit_code=0)
    run["program"]["command_line"] = f"/opt/fare-0.1.0/fare run {run['workload']} --data /home/me/sets"
    if "data" in run and not run["data"]["made"]:
        run["data"]["source"] = "/home/me/sets/mnist"
    if gpu:
        run["use"]["gpu_list"][0]["uuid"] = UUID
    else:  # as where the GPU was not hidden
        run["machine"].update(gpu="NVIDIA H200", gpus=1, gpu_memory_bytes=1, driver="580.159.04")
        run["use"].update(gpu_percent=0, gpus=1, gpu_energy_j=5, joules_per_step=1, gpu_list=[{"index": 0, "uuid": UUID}])
    return run


def publish(runs, *args):
    p = subprocess.run([ROOT / "scripts/publish-runs", *args], input="".join(json.dumps(r) + "\n" for r in runs), text=True,
                       capture_output=True, timeout=60)
    return p.returncode, [json.loads(line) for line in p.stdout.splitlines()], p.stderr


exported = [as_exported(run) for run in published]
code, made, err = publish(reversed(exported), "2026-h200", *NAMES)
different = [f"{a['id']}: {key}: {a.get(key)} / {b.get(key)}" for a, b in zip(made, published) for key in {**a, **b}
             if a.get(key) != b.get(key)]
report("the published records come out again, in their order", code == 0 and len(made) == len(published) == 32 and not different,
       err + "\n".join(different))
report("the sentence and the month are last", all(list(run)[-2:] == ["source", "labels"] for run in made))
one = as_exported(published[0])
for what, change in (("a path", lambda r: r["libraries"][0].update(kernels="loaded from /home/me/lib")),
                     ("a path", lambda r: r["data"].update(name="~/sets/mnist")),
                     ("a path", lambda r: r.update(taints=["a run in 'C:\\work' was beside it"])),
                     ("a UUID", lambda r: r["machine"].update(container=UUID))):
    spoiled = copy.deepcopy(one)
    change(spoiled)
    code, made, err = publish([exported[1], spoiled], "2026-h200", *NAMES)
    report(f"a record with {what} left in it is refused, and nothing printed", code == 1 and not made
           and f"{one['id']}: " in err and f"has {what} in it" in err, err)
code, made, err = publish([one, {**one, "id": "other"}], "2026-h200", *NAMES)
report("so are two that would have the same id", code == 1 and not made and "run other: another run has the id" in err, err)
code, made, err = publish([{**one, "ended": "failed"}], "2026-h200", *NAMES)
report("and one that failed", code == 1 and not made and "has not ended well: failed" in err, err)
code, made, err = publish([one], "2026-h200")
report("a machine must have a name", code == 1 and not made and "--machine" in err, err)
small = as_exported(next(r for r in published if r["workload"] == "l1"))
small["program"]["command_line"] = "fare run l1 --n 4096 --dim=64"
code, made, err = publish([small], "2026-h200", *NAMES, "--label", "price=none", "--on", "the moon")
report("l1's size is that of its command; words and labels as they are given", code == 0 and made[0]["source"].endswith(
       " on the moon; 4096 x 8192 distances of 64 numbers") and made[0]["labels"][1] == {"key": "price", "value": "none"}, err)

with tempfile.TemporaryDirectory(prefix="fare-test-") as folder:
    env = {**os.environ, "XDG_DATA_HOME": folder, "XDG_CONFIG_HOME": folder}
    subprocess.run([FARE, "run", "mlp", "--steps", "30", "--no-cloud", "--engine", "cpu"], env=env, capture_output=True, timeout=120)
    text = subprocess.run([FARE, "runs", "export"], env=env, capture_output=True, text=True, timeout=60).stdout
    code, made, err = publish([json.loads(line) for line in text.splitlines()], "2026-here", "--cpus", "this machine")
    Path(folder, "lines").write_text("".join(json.dumps(run) + "\n" for run in made))
    p = subprocess.run([FARE, "runs", "import", f"{folder}/lines", "--ledger", f"{folder}/other.db"], env=env, capture_output=True,
                       text=True, timeout=60)
    report("a run made here becomes one that fare imports", code == 0 and p.returncode == 0 and "added 1 run" in p.stdout
           and made[0]["id"] == "published-2026-here-mlp-fare-cpu-f32" and made[0]["machine"]["name"] == "this machine"
           and made[0]["source"].startswith("measured by fare "), err + p.stdout + p.stderr)
done()
