#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""fare run W --gpus N end to end, without a GPU: tests/train/engine has stand-ins for the driver and for NCCL. FARE_TEST_WHOLE=1 also runs
the kernels, which takes minutes, and holds the parameters of two GPUs against those of one."""
import json
import os
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy

sys.path.insert(0, os.environ["TESTS"])
from tap import done, report, skip  # noqa: E402

FAKES = Path(os.environ["BUILD"]) / "tests/train/engine"
ENV = {**os.environ, "FARE_METADATA": "off", "FARE_CUDA": str(FAKES / "fake_gpu.so"), "FARE_NCCL": str(FAKES / "fake_nccl.so"),
       "FARE_NCCL_PATIENCE_S": "60", "FAKE_GPU_BLOCKS": "1"}


def fare(*words, **env):
    p = subprocess.run([os.environ["FARE"], "run", "mlp", "--no-ledger", "--json", *words], capture_output=True, text=True, timeout=1500,
                       env={**ENV, **env})
    return p.returncode, json.loads(p.stdout) if p.stdout else {}, p.stderr


def parameters(folder):
    data = sorted(Path(folder).glob("*.safetensors"))[-1].read_bytes()
    (length,) = struct.unpack("<Q", data[:8])
    head = json.loads(data[8:8 + length])
    head.pop("__metadata__")
    return {name: numpy.frombuffer(data[8 + length:][slice(*t["data_offsets"])], numpy.float32).astype(float)
            for name, t in head.items() if ".state" not in name and t["dtype"] == "F32"}


code, record, err = fare("--gpus", "1,2", "--steps", "5")
runs, groups = record.get("runs", []), record.get("groups", [])
report("--gpus 1,2: two runs, on one GPU and on two", code == 0 and [r.get("ranks", 1) for r in runs] == [1, 2]
       and all(r["engine"] == "cuda" and r["steps"] == 5 for r in runs) and runs[1].get("nodes") == 1, err or runs)
report("their speed-up and efficiency follow from the step times", len(groups) == 2 and groups[0]["speed_up"] == 1
       and abs(groups[1]["speed_up"] - groups[0]["step_ms"] / groups[1]["step_ms"]) < 1e-9
       and abs(groups[1]["efficiency"] - groups[1]["speed_up"] / 2) < 1e-9, groups)
two = runs[1] if len(runs) == 2 else {}
parts = [two.get(f"step_{p}_ms", -1) for p in ("calculation", "communication", "waiting")]
report("the parts of a step add up", min(parts) >= 0 and abs(sum(parts) - two["step_ms"]) < 0.01 * two["step_ms"] + 0.01, two)
code, record, err = fare("--gpus", "2", "--steps", "5", FARE_NCCL="/nowhere/libnccl.so.2")
report("without NCCL: an error that names it", code != 0 and "NCCL" in err, err)
if os.environ.get("FARE_TEST_WHOLE"):
    with tempfile.TemporaryDirectory(prefix="fare-test-") as top:
        for gpus in ("1", "2"):
            code, record, err = fare("--gpus", gpus, "--steps", "2", "--batch", "6", "--precision", "f32", "--checkpoint", f"{top}/{gpus}",
                                     FAKE_GPU_RUN="1")
        one, other = parameters(f"{top}/1"), parameters(f"{top}/2")
        far = max(float(numpy.sqrt(numpy.mean((one[n] - other[n]) ** 2)) / (numpy.sqrt(numpy.mean(one[n] ** 2)) + 1e-9)) for n in one)
        report("two GPUs end where one does", far < 1e-5, f"{far} {err}")
else:
    skip("two GPUs end where one does", "FARE_TEST_WHOLE=1 runs the kernels")
done()
