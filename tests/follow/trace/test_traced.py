#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A command on an NVIDIA GPU, end to end: fare, the injected library, and stand-ins for the program, CUPTI and NVML. A step of
traced.c has 10 ms: 4 ms of nothing, a copy of 1 ms, 40 kernels of 0.1 ms and an optimizer of 0.18 ms, with 41 gaps of 0.02 ms."""
import json
import os
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, os.environ["TESTS"])
from tap import done, report  # noqa: E402

BUILD = Path(os.environ["BUILD"])
HERE = Path(os.environ["TMPDIR"])
TRACED = str(BUILD / "tests/follow/trace/traced")
(HERE / "cupti").mkdir()
(HERE / "cupti/libcupti.so.13").symlink_to(BUILD / "tests/follow/trace/fake_cupti.so")
(HERE / "nvml").write_text("init = 0\ndriver = 550.54.15\ncount = 1\ngpu*.name = NVIDIA H100 80GB HBM3\n"
                           "gpu0.uuid = GPU-00000000-0000-4000-8000-000000000000\n")
ENV = {**os.environ, "FARE_NVML": str(BUILD / "tests/machine/fake_nvml.so"), "FARE_FAKE_NVML": str(HERE / "nvml"),
       "LD_LIBRARY_PATH": str(HERE / "cupti"), "XDG_DATA_HOME": str(HERE / "data")}


def fare(*args, **env):
    p = subprocess.run([os.environ["FARE"], *map(str, args)], capture_output=True, text=True, timeout=120, env={**ENV, **env})
    return p.returncode, p.stdout, p.stderr


def run(*args, **env):
    code, out, err = fare("run", "--json", *args, **env)
    return code, json.loads(out)["runs"][0] if out else {}, err


def near(value, expected, most=1e-6):
    return value is not None and abs(value - expected) <= most


def start(*args, **env):
    return subprocess.Popen([os.environ["FARE"], "run", "--json", *map(str, args)], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                            text=True, env={**ENV, **env})


def result(p):
    out, err = p.communicate(timeout=120)
    return p.returncode, json.loads(out)["runs"][0] if out else {}, err


# One after the other would take a minute.
# The shell goes on for as long as 200 steps would take.
silent = start("--", "sh", "-c", f"{TRACED} steps 1400; sleep 2")
fast = start("--no-ledger", "--", TRACED, "fast", 14000)
# Steps before the first burst, some 250, are not known there.
uncounted = start("--no-ledger", "--", TRACED, "steps", 1200, FAKE_CUPTI="uncounted")
old = start("--no-ledger", "--", TRACED, "steps", 800, FAKE_CUPTI="old")
hidden = start("--no-ledger", "--", TRACED, "steps", 0, TRACED_WAIT_S="10")  # it ends while fare records, as soon as it does
code, one, err = result(silent)
a = one.get("account", {})
report("a program that prints nothing: its steps come from the kernels, and from the number of launches between and its exit", code == 0
       and 1390 <= one.get("steps", 0) <= 1425 and one["progress"]["source"] == "GPU kernels"
       and near(one["step_ms"], 10, 0.1), (one.get("steps"), one.get("step_ms"), one.get("taints"), err))
report("the account is what the steps are made of", near(a.get("busy_share"), 0.518) and near(a.get("data_share"), 0.4)
       and near(a.get("host_share"), 0.082) and near(a.get("sync_share"), 0) and near(a.get("step_ms"), 10)
       and a.get("launches_per_step") == 41 and a.get("precision") == "bf16" and a.get("dropped") == 0, a)
report("so is its work, the largest first", [(w["name"], w.get("precision"), round(w["share"], 6)) for w in a.get("work", [])] ==
       [("matrix products", "bf16", 0.2), ("element-wise and reductions", None, 0.2), ("copies to the GPU", None, 0.1),
        ("optimizer", None, 0.018)], a.get("work"))
code, out, err = fare("runs", "last", "--all")
report("fare runs RUN shows the bar and the sentence", "Where a step goes: 10 ms, by the GPU's records of" in out
       and "the GPU waits 40 % of each step for data; a faster GPU will not help" in out and "waiting for the host" in out, out)
code, out, err = fare("report", "last", "-o", "-")
report("so does the report", "Where a step goes" in out and "waiting for data 40" in out
       and "a faster GPU will not help" in out, err)

code, one, err = run("--no-ledger", "--", "sh", "-c",
                     f'{TRACED} steps 1500 & for i in $(seq 1 14); do echo "{{\\"step\\": $i}}" >>"$FARE_EVENTS"; sleep 1; done; kill $!; wait $!; :')
a = one.get("account", {})
report("a program that shows its steps is recorded for a while, some seconds after the first", code == 0
       and one["progress"]["source"] != "GPU kernels" and 20 <= a.get("steps", 0) < 700 and near(a.get("busy_share"), 0.518, 0.001),
       (one.get("progress"), a, err))

code, one, err = run("--no-ledger", "--no-trace", "--", TRACED, "steps", 5)
report("--no-trace", code == 0 and "account" not in one, one.get("account"))
code, out, err = fare("run", "--", TRACED, "steps", 5, CUDA_INJECTION64_PATH="/some/profiler.so")
report("another profiler's injection is left alone, and fare says so", code == 0
       and "fare: the GPU's work was not recorded: CUDA_INJECTION64_PATH is set" in err, err)
code, out, err = fare("run", "--", TRACED, "steps", 400, FAKE_CUPTI="subscribed")
report("another profiler in the process", code == 0
       and "fare: the GPU's work was not recorded: another profiler has the GPU" in err, err)
code, one, err = run("--no-ledger", "--", "true")
report("a program without CUDA: no word of it", code == 0 and "GPU's work" not in err and "account" not in one, (err, one.get("account")))
code, one, err = result(hidden)
report("a program with CUDA that runs no kernel, as with its GPU hidden: no word of it", code == 0 and "GPU's work" not in err
       and "off" not in one.get("account", {}), (err, one.get("account")))
code, one, err = run("--no-ledger", "--", "sh", "-c", f'env | grep -c -e ^FARE_TRACE= -e ^CUDA_INJECTION64_PATH=', FARE_NVML="/nonexistent")
report("without an NVIDIA GPU nothing is set", "0\n" in err or err.startswith("0"), err)
code, one, err = run("--no-ledger", "--", "sh", "-c", f'{TRACED} steps 20; : >$(ls "$FARE_TRACE"/0.ring); {TRACED} steps 20')
report("a ring that the program cuts short harms nobody", code == 0, err)
code, out, err = fare("run", "--no-ledger", "--", "sh", "-c", 'ls -d "$FARE_TRACE"')
report("its folder is removed", code == 0 and out.startswith("/") and not Path(out.strip()).exists(), (out, err))

code, one, err = result(fast)
if one.get("account", {}).get("cost_share", 1) > 0.0105:  # other programs add to it, and take nothing off
    code, one, err = result(start("--no-ledger", "--", TRACED, "fast", 14000))
a = one.get("account", {})
report("41,000 launches a second: recording costs at most 1 % of the time, and the steps are counted all the same", code == 0
       and 0 < a.get("cost_share", 1) <= 0.0105 and 13900 <= one.get("steps", 0) <= 14100 and a.get("launches_per_step") == 41,
       (one.get("steps"), a, err))
# Rank 0 is in NCCL's kernel for 3 ms of each step, rank 1 for 1: that one comes last.
two = start("--no-ledger", "--", "sh", "-c", "for r in 0 1; do RANK=$r WORLD_SIZE=2 LOCAL_WORLD_SIZE=2 TRACED_NCCL_US=$((3000 - 2000 * r)) "
            f"{TRACED} steps 1200 & done; wait")
queues = start("--no-ledger", "--", "sh", "-c", "for r in 0 1; do RANK=$r WORLD_SIZE=2 LOCAL_WORLD_SIZE=2 TRACED_NCCL_US=$((3000 - 2000 * r)) "
               f"{TRACED} queues 7 & done; wait")
layers = start("--no-ledger", "--", TRACED, "layers", 70)
code, one, err = result(uncounted)
report("launches without numbers: most steps are derived from the step time, and the record says so", code == 0
       and 850 <= one.get("steps", 0) <= 1260 and any("are derived" in t for t in one.get("taints", [])),
       (one.get("steps"), one.get("taints"), err))
code, one, err = result(old)
report("a CUPTI that cannot be detached: a program that waits for the host is not recorded, and fare says why", code == 0
       and "steps" not in one.get("account", {})
       and "before CUDA 12.6 would go on costing over 1 %" in one.get("account", {}).get("off", ""), (one.get("account"), err))
code, one, err = result(two)
p = one.get("parallel", {})
report("two ranks with NCCL: what the last one spends in it is communication, what the other spends more is waiting", code == 0
       and one.get("ranks") == 2 and one.get("nodes") == 1 and p.get("from") == "NCCL's kernels" and p.get("slowest_rank") == 1
       and near(one.get("step_communication_ms"), 1, 0.05) and near(one.get("step_waiting_ms"), 1, 0.05)
       and near(one.get("step_calculation_ms"), 8, 0.15) and near(one["account"].get("exposed_share"), 0.2, 0.101)
       and one["account"].get("processes") == 2, (p, one.get("account"), {k: v for k, v in one.items() if k.startswith("step_c")}, err))
# Each GPU works 5.18 ms in each of 100 steps in 2 s, and 3 or 1 ms in NCCL's kernel, whichever of them were recorded more often.
# Step times within a tenth of each other agree (src/record/reconcile.c).
code, one, err = result(queues)
a = one.get("account", {})
shares = sum(a.get(k, 0) for k in ("busy_share", "data_share", "sync_share", "host_share", "short_share", "unseen_share"))
report("batches that come in queues: the account adds up to the measured step, and the rest is waiting", code == 0
       and 17 <= a.get("full_step_ms", 0) <= 23 and near((a["busy_share"] - a["exposed_share"]) * a["full_step_ms"], 5.18, 0.53)
       and 0.9 <= a["exposed_share"] * a["full_step_ms"] <= 3.3 and near(shares, 1, 1e-3),
       (one.get("step_ms"), one.get("steady"), a, err))
report("so do the parts of a step of several ranks", near(one.get("step_communication_ms"), 1, 0.25)
       and near(one.get("step_waiting_ms"), 1, 0.25) and 15 <= one.get("step_calculation_ms", 0) <= 21,
       ({k: v for k, v in one.items() if k.startswith("step_")}, a))
# 218 ms of the 300 of each step, by traced.c. The first records of a burst, and later looks, are a part of a step: its layers are no steps.
code, one, err = result(layers)
a = one.get("account", {})
report("layers are no steps: the account is of whole steps, of a burst with few of them", code == 0 and a.get("launches_per_step") == 1201
       and near(a["busy_share"] * a["full_step_ms"], 218, 11) and near(a.get("between_ms", 300), 300, 30), (one.get("step_ms"), a, err))
done()
