#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What the cuda engine does with drivers and GPUs that are too old, too small, or go away: a stand-in for the
driver (fake_gpu.c) whose kernels do nothing. Calculations are tested on a real GPU (test_cuda)."""
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.environ["ROOT"], "tests"))
from tap import done, report  # noqa: E402

FARE = os.environ["FARE"]
FAKE = os.path.join(os.environ["BUILD"], "tests", "engine", "fake_gpu.so")


def fare(*args, **env):
    p = subprocess.run([FARE, "run", *args, "--no-ledger", "--no-cloud"], capture_output=True, text=True, timeout=120,
                       env={**os.environ, "FARE_CUDA": FAKE, **{k: str(v) for k, v in env.items()}})
    try:
        runs = json.loads(p.stdout)["runs"]
    except (ValueError, KeyError):
        runs = []
    return p.returncode, runs[0] if runs else {}, p.stderr


code, run, err = fare("mlp", "--steps", "250", "--json")
report("a GPU is taken where there is one, in tf32", code == 0 and run["engine"] == "cuda" and run["precision"] == "tf32"
       and run["steps"] == 250, err + str(run)[:500])
phases = run.get("phases", {})
total = sum(v for k, v in phases.items() if k.endswith("_ns") and k not in ("wall_ns", "boot_ns"))
report("loading its kernels and the way of the data to it are phases, and phases add up to the wall time",
       phases.get("kernels_ns", 0) > 0 and phases.get("device_ns", 0) > 0 and abs(total - phases["wall_ns"]) < 1e6, phases)
code, run, err = fare("mlp", "--steps", "20", "--json", "--engine", "cpu")
report("but not where the CPU is asked for", code == 0 and run["engine"] == "cpu" and run["precision"] == "f32", err)
code, run, err = fare("mlp", "--steps", "20", "--json", FAKE_GPU_FAIL="cuInit:1", FAKE_GPU_CODE=100)
report("nor where the driver shows none", code == 0 and run["engine"] == "cpu", err)
code, run, err = fare("mlp", "--engine", "cuda", FAKE_GPU_FAIL="cuInit:1", FAKE_GPU_CODE=100)
report("which is an error for who asked for it", code == 1 and "shows no GPU" in err, err)
code, run, err = fare("mlp", "--engine", "cuda", FARE_CUDA="/nonexistent/libcuda.so.1")
report("so is a machine without a driver, and where it was looked for", code == 1 and "the NVIDIA driver is not" in err
       and "looked for libcuda.so.1" in err, err)
code, run, err = fare("mlp", "--engine", "cuda", FAKE_GPU_CAPABILITY=52)
report("a GPU that is too old: both versions are named", code == 1 and "5.2" in err and "13.0" in err and "6.0" in err, err)
code, run, err = fare("mlp", "--engine", "cuda", FAKE_GPU_DRIVER=9020)
report("a driver that is too old: likewise", code == 1 and "9.2" in err and "10.2" in err, err)
code, run, err = fare("mlp", "--engine", "cuda", FAKE_GPU_FAIL="cuModuleLoadDataEx:1", FAKE_GPU_CODE=222)
report("one that does not know the kernels' text", code == 1 and "too old for fare's kernels" in err, err)
code, run, err = fare("mlp", "--steps", "20", "--json", FAKE_GPU_CAPABILITY=61)
report("a GPU without tf32 calculates in f32", code == 0 and run["engine"] == "cuda" and run["precision"] == "f32", err)
code, run, err = fare("mlp", "--precision", "tf32", "--engine", "cuda", FAKE_GPU_CAPABILITY=61)
report("and says so to who wants tf32", code == 2 and "compute capability 8.0" in err, err)
code, run, err = fare("mlp", "--steps", "20", "--engine", "cuda", FAKE_GPU_MEMORY=3000000)
report("too little memory: how much was asked for, and is there", code == 1 and "not enough memory" in err
       and "MiB" in err and "--batch" in err, err)
for call in ("cuGraphLaunch:3", "cuStreamSynchronize:20", "cuMemcpyDtoHAsync_v2:10", "cuGraphCreate:1", "cuGraphAddKernelNode:5",
             "cuGraphInstantiateWithFlags:1", "cuMemcpyHtoDAsync_v2:30", "cuModuleGetFunction:4", "cuMemHostAlloc:1",
             "cuStreamCreate:1", "cuDevicePrimaryCtxRetain:1"):
    code, run, err = fare("imdb", "--steps", "400", "--engine", "cuda", FAKE_GPU_FAIL=call, FAKE_GPU_CODE=719)
    report(f"a GPU that goes away in {call}: an error that names the call", code == 1 and call.split(":")[0][:12] in err
           and "LAUNCH_FAILED" in err, err)
done()
