#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What the cuda engine does with drivers and GPUs that are too old, too small, or go away: a stand-in for the
driver (fake_gpu.c) whose kernels do nothing. What kernels calculate is tested in test_kernels.py."""
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.environ["ROOT"], "tests"))
from tap import done, report  # noqa: E402

FARE = os.environ["FARE"]
FAKE = os.path.join(os.environ["BUILD"], "tests", "train", "engine", "fake_gpu.so")
L1 = ("l1", "--n", "512", "--m", "512", "--dim", "64", "--max-time", "100ms")


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
# The stand-in takes PTX for machine code too; its file is named by the text's hash.
ptx = next(p for p in (os.path.join(os.environ["BUILD"], up, "generated", "ptx", "sm_80_tf32.ptx") for up in (".", "..")) if os.path.exists(p))
with tempfile.TemporaryDirectory() as pack:
    shutil.copy(ptx, os.path.join(pack, f"sm_80_tf32-{hashlib.sha256(open(ptx, 'rb').read()).hexdigest()[:16]}.sm_90.cubin"))
    for where, said in ((pack, "machine code"), ("off", "PTX")):
        code, run, err = fare("mlp", "--steps", "20", "--json", FARE_KERNELS=where)
        report(f"the record says where kernels came from: {said}", code == 0
               and [x["kernels"] for x in run["libraries"] if x["name"] == "own kernels"] == [said], err + str(run.get("libraries")))
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
# PTX 6.3, for GPUs before 8.0, came with CUDA 10.0, PTX 7.0 with 11.0.
for capability, driver, said, needed in ((90, 10020, "10.2", "11.0"), (80, 10020, "10.2", "11.0"), (61, 9020, "9.2", "10.0")):
    code, run, err = fare("mlp", "--engine", "cuda", FAKE_GPU_CAPABILITY=capability, FAKE_GPU_DRIVER=driver)
    report(f"a driver that is too old: likewise ({capability}, {said})", code == 1 and f"CUDA {said};" in err
           and f"CUDA {needed} or newer" in err, err)
for capability, driver in ((61, 10000), (75, 10010), (80, 11000)):
    code, run, err = fare("mlp", "--steps", "20", "--json", "--engine", "cuda", FAKE_GPU_CAPABILITY=capability, FAKE_GPU_DRIVER=driver,
                          FARE_CUDA=FAKE.replace("fake_gpu", "fake_gpu_old"))
    report(f"the oldest that takes them works, without what came later ({capability}, {driver})", code == 0
           and run["steps"] == 20, err)
# Shared memory for a block differs; what a kernel asks for beyond that the driver refuses.
for capability in (60, 75, 86):
    for precision in ("f32", "tf32", "bf16") if capability >= 80 else ("f32",):
        failed = {name: err for name, steps in (("mlp", 20), ("cnn", 20), ("cifar", 20), ("imdb", 20), ("textgen", 20), ("tweets", 20))
                  for code, run, err in [fare(name, "--precision", precision, "--steps", str(steps), "--engine", "cuda",
                                              FAKE_GPU_CAPABILITY=capability)] if code != 0}
        report(f"compute capability {capability / 10} in {precision}: no kernel asks for too much", not failed, failed)
code, run, err = fare("inception", "--precision", "bf16", "--steps", "2", "--engine", "cuda", FAKE_GPU_CAPABILITY=86,
                      FAKE_GPU_MEMORY=20000000000)
report("nor does inception's", code == 0, err)
code, run, err = fare("mlp", "--engine", "cuda", FAKE_GPU_FAIL="cuModuleLoadDataEx:1", FAKE_GPU_CODE=222)
report("one that does not know the kernels' text: both versions", code == 1 and "does not take fare's kernels" in err
       and "13.0" in err and "11.0 or newer" in err, err)
for what, env in {"a GPU that is too old": {"FAKE_GPU_CAPABILITY": 52}, "a driver that is too old": {"FAKE_GPU_DRIVER": 9020},
                  "a driver that fails": {"FAKE_GPU_FAIL": "cuInit:1", "FAKE_GPU_CODE": 999},
                  "a GPU that is taken": {"FAKE_GPU_FAIL": "cuDevicePrimaryCtxRetain:1", "FAKE_GPU_CODE": 46},
                  "a file that is no driver": {"FARE_CUDA": "/etc/passwd"}}.items():
    code, run, err = fare("mlp", "--steps", "20", "--json", **env)
    report(f"{what} is an error without --engine too, which says how to go on", code == 1 and run.get("ended") == "failed"
           and "--engine cpu" in err, err + str(run)[:300])
code, run, err = fare("mlp", "--precision", "bf16", "--json", FAKE_GPU_CAPABILITY=61)
report("a GPU without bf16 is not passed over for the CPU's", code == 2 and "compute capability 8.0" in err, err)
code, run, err = fare("mlp", "--steps", "20", "--json", FAKE_GPU_CAPABILITY=61)
report("a GPU without tf32 calculates in f32", code == 0 and run["engine"] == "cuda" and run["precision"] == "f32", err)
code, run, err = fare("mlp", "--precision", "tf32", "--engine", "cuda", FAKE_GPU_CAPABILITY=61)
report("and says so to who wants tf32", code == 2 and "compute capability 8.0" in err, err)
code, run, err = fare("mlp", "--steps", "20", "--engine", "cuda", FAKE_GPU_MEMORY=3000000)
report("too little memory: how much was asked for, and is there", code == 1 and "not enough memory" in err
       and "MiB" in err and "--batch" in err, err)
code, run, err = fare(*L1, "--precision", "bf16", "--json")
report("l1 only adds: it is in f32", code == 0 and run["precision"] == "f32", err)
# 512 × 512 × 64 differences, and 2 × 512 × 64 numbers of 4 bytes
report("l1: transfer and calculation apart", code == 0 and run["l1_transfer_ms"] > 0
       and abs(run["l1_transfer_ms"] / 1e3 * run["l1_copy_bytes_per_s"] / (2 * 512 * 64 * 4) - 1) < 1e-9
       and abs(run["l1_calculation_ms"] / 1e3 * run["l1_pairs_per_s"] / (512 * 512 * 64) - 1) < 1e-9, run)
for call in (1, 2, 3):
    code, run, err = fare(*L1, "--json", FAKE_GPU_FAIL=f"cuMemHostAlloc:{call}")
    report(f"l1 without memory that the GPU reaches directly ({call})", code == 0 and run["l1_pairs_per_s"] > 0, err)
for call in ("cuMemcpyDtoHAsync_v2:2", "cuStreamWaitEvent:2", "cuEventRecord:9", "cuEventSynchronize:3", "cuMemAlloc_v2:1",
             "cuLaunchKernel:2"):
    code, run, err = fare(*L1, FAKE_GPU_FAIL=call, FAKE_GPU_CODE=719)
    report(f"l1 on a GPU that goes away in {call}: an error that names the call", code == 1 and call.split(":")[0][:10] in err
           and "LAUNCH_FAILED" in err, err)
for call in ("cuGraphLaunch:3", "cuStreamSynchronize:20", "cuMemcpyDtoHAsync_v2:10", "cuGraphCreate:1", "cuGraphAddKernelNode:5",
             "cuGraphInstantiateWithFlags:1", "cuMemcpyHtoDAsync_v2:30", "cuModuleGetFunction:4", "cuMemHostAlloc:1",
             "cuStreamCreate:1", "cuDevicePrimaryCtxRetain:1"):
    code, run, err = fare("imdb", "--steps", "400", "--engine", "cuda", FAKE_GPU_FAIL=call, FAKE_GPU_CODE=719)
    report(f"a GPU that goes away in {call}: an error that names the call", code == 1 and call.split(":")[0][:12] in err
           and "LAUNCH_FAILED" in err, err)
done()
