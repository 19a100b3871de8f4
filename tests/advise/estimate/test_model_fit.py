#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""bench/model_predict.py, the reference of estimates from a model's description: parts by hand, and its planner. With FARE_DATA the fit is
repeated: does it give the tables of share/estimate, and are the figures that are required of it reached?
"""
import csv
import math
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(os.environ["ROOT"])
sys.path[:0] = [os.environ["TESTS"], str(ROOT / "bench")]
sys.dont_write_bytecode = True
import tap  # noqa: E402

try:
    import numpy  # noqa: F401
except ImportError:
    tap.skip("estimates from a model's description", "no numpy")
    tap.done()
import model_predict as model  # noqa: E402


def coefficients(name):
    with open(ROOT / "share" / "estimate" / f"model-{name}.csv", newline="") as file:
        return {row["name"]: float(row["value"]) for row in csv.DictReader(file)}


TIME, MEMORY = coefficients("time"), coefficients("memory")
PLAIN = {**dict.fromkeys(TIME, 0.0)}  # every factor 1, every other term off
EVEN = {**dict.fromkeys(MEMORY, 0.0)}
# A net of round numbers: 10 layers of width 1000, feed-forward 4000 of 2 matrices, 10 heads of 100, vocabulary 10,000, tied: 10e6 in the
# table, 12e6 a layer, 130e6 in all. A GPU of 100 TFLOP/s, 1000 GB/s, 100 W, 80 GiB.
NET = {"params": 130e6, "active": 130e6, "layers": 10.0, "hidden": 1000.0, "heads": 10.0, "kv": 10.0, "head_size": 100.0, "ffn": 4000.0,
       "vocab": 10000.0, "tied": 1.0, "experts": 1.0, "chosen": 1.0, "gated": 0.0, "routed": 1.0}
GPU = {"peak": 100.0, "bandwidth": 1000.0, "memory": 80.0, "watts": 100.0, "link": 100.0, "net": 10.0, "amd": 0.0, "fast": 1.0}
RUN = {"seq": 1000.0, "gpus": 1.0, "nodes": 1.0, "method": 0.0, "class": -1.0, "year": 2025.0, "loops": 0.0, "flash": 1.0, "offload": 0.0,
       "rank": 10.0, "mixed": 1.0, "reserved": 0.0, "chunked": 0.0, "tp": 1.0, "pp": 1.0, "cp": 1.0, "ep": 1.0, "zero": 0.0,
       "recompute": 0.0, "micro": 10.0, "accumulate": 2.0}
ONE = {**NET, **GPU, **RUN}


def near(name, got, want, within=1e-9):
    tap.report(f"{name}: {want:.6g}", math.isclose(got, want, rel_tol=within), got)


parts = model.split(ONE)
near("parameters of the layers", float(parts["body"]), 120e6)
t = {k: float(v) for k, v in model.times(ONE, PLAIN).items()}
# 10,000 tokens x 3 passes x 2 x (120e6 + 10e6) operations at 100 TFLOP/s
near("products", t["products"], 10000 * 6 * 130e6 / 100e12)
# causal pairs: 2 x 1000 x 10 x 100 x 10 layers a token, backward 2.5 times forward
near("attention", t["attention"], 10000 * 2 * 1000 * 1000 * 10 * 3.5 / 100e12)
near("bytes between products", t["moved"], 10000 * (10 * 1000 * 34 + 12 * 10000) / 1e12)
near("launches", t["launch"], 10 * 12 * 3 * 1e-6)
near("optimizer", t["optimizer"], 130e6 * 24 / 1e12)
busy = t["products"] + t["attention"] + t["moved"]
near("a step", float(model.step_time(ONE, PLAIN)), 2 * math.hypot(busy, t["launch"]) + t["optimizer"])
lora = {k: float(v) for k, v in model.times({**ONE, "method": 2.0, "recompute": 1.0}, PLAIN).items()}
near("LoRA with recomputation: forward twice and backward through frozen weights", lora["products"],
     10000 * 2 * (3 * 120e6 + 2 * 10e6) / 100e12)
near("LoRA launches the same kernels", lora["launch"], 10 * 12 * 3 * 1e-6)
near("half the micro batches of a pipeline of two stages, and its bubble",
     float(model.step_time({**ONE, "gpus": 2.0, "pp": 2.0}, PLAIN)),
     (lambda q: 3 * float(q["micro"]) + float(q["optimizer"]))(model.times({**ONE, "gpus": 2.0, "pp": 2.0}, PLAIN)))
gathered = model.times({**ONE, "gpus": 4.0, "zero": 3.0}, PLAIN)
# 120e6 x 2 bytes x 3 times x 3/4 at 100 GB/s, beside the rest
near("ZeRO 3 gathers beside what it computes", float(gathered["micro"]), math.hypot(math.hypot(busy, t["launch"]), 120e6 * 4.5 / 100e9))

m = {k: float(v) for k, v in model.memory(ONE, EVEN).items()}
near("weights in fp32", m["weights"], 130e6 * 4)
near("optimizer's states", m["optimizer"], 130e6 * 8)
near("gradients of an accumulated step", m["gradients"], 130e6 * 4)
near("activations", m["activations"], 10000 * 10 * 2 * (7 * 1000 + 2 * 4000))
near("logits", m["logits"], 10000 * 8 * 10000)
near("the framework", m["framework"], 2 ** 30)
m = {k: float(v) for k, v in model.memory({**ONE, "method": 3.0, "recompute": 1.0, "micro": 1.0}, EVEN).items()}
near("4-bit weights and embeddings of 16", m["weights"], 120e6 * 0.56 + 10e6 * 2)
near("adapters of rank 10", m["adapters"], 16 * 10 * 10 * (6 * 1000 + 2 * 4000))
near("inputs kept, the row in work less than the logits", m["activations"], 1000 * 2 * 1000 * 10)
near("bf16 without a second micro batch: the update is the peak", sum(map(float, model.memory(
    {**ONE, "method": 1.0, "mixed": 0.0, "accumulate": 1.0, "micro": 1e-3}, EVEN).values())), 130e6 * 10 + 2 ** 30, 2e-3)

# The planner: nothing that fits is faster, what does not fit is not chosen, and a pinned smaller GPU is not better.
llama = {**ONE, "params": 8030261248.0, "active": 8030261248.0, "layers": 32.0, "hidden": 4096.0, "heads": 32.0, "kv": 8.0,
         "head_size": 128.0, "ffn": 14336.0, "vocab": 128256.0, "tied": 0.0, "gated": 1.0, "seq": 4096.0, "peak": 989.0,
         "bandwidth": 3350.0, "watts": 700.0, "link": 450.0, "net": 50.0}
for method in range(4):
    q = model.unpinned({**llama, "gpus": 8.0, "method": float(method)})
    best = model.plan(q, TIME, MEMORY, 8)
    wrong = []
    for tried in model.layouts(q, 8, model.batch_tokens(q)):
        one = {**q, **{k: float(v) for k, v in tried.items()}}
        tokens = tried["micro"] * tried["accumulate"] * 8 / tried["tp"] / tried["pp"] / tried["cp"] * 4096
        if float(model.memory_total(one, MEMORY)) <= 80 * model.GIB * model.SPARE and \
                float(model.step_time(one, TIME)) / tokens < best["seconds_per_token"] * (1 - 1e-9):
            wrong.append(tried)
    tap.report(f"{model.METHODS[method]} of an 8B on 8 GPUs: no layout that fits is faster", best["fits"] and not wrong, wrong)
small = model.plan(model.unpinned({**llama, "gpus": 1.0, "memory": 24.0, "method": 1.0}), TIME, MEMORY, 8)
tap.report("full fine-tuning of an 8B on 24 GiB: states in the host's memory, or it does not fit",
           small["offload"] == 1 or not small["fits"], small)
small = model.plan(model.unpinned({**llama, "gpus": 1.0, "memory": 24.0, "method": 3.0}), TIME, MEMORY, 8)
tap.report("QLoRA of an 8B fits on 24 GiB", small["fits"] and small["offload"] == 0, small)

# The cases that the program is tested with (bench/model_fit.py --cases) are the reference's answers.
with open(ROOT / "tests" / "advise" / "estimate" / "model-cases.csv", newline="") as file:
    cases = list(csv.DictReader(file))
inputs = list(cases[0])[5:list(cases[0]).index("step_s")]
off = []
for case in cases:
    q = {name: float(case[name]) for name in inputs}
    got = [float(model.step_time(q, TIME)), *(float(v) for v in model.memory(q, MEMORY).values())]
    want = [float(case[name]) for name in case if name == "step_s" or name.startswith("bytes_")]
    if not all(math.isclose(a, b, rel_tol=1e-6) for a, b in zip(got, want)):
        off.append((case["case"], got, want))
tap.report(f"{len(cases)} cases", len(cases) > 100 and not off, off[:3])

if Path(os.environ.get("FARE_DATA", "/nonexistent"), "predict", "models.csv").exists():
    run = subprocess.run([sys.executable, str(ROOT / "bench" / "model_fit.py"), "--check"], capture_output=True, text=True, check=False)
    tap.report("the fit gives the tables, and what is required of it", run.returncode == 0, run.stdout + run.stderr)
else:
    tap.skip("the fit gives the tables", "no FARE_DATA/predict/models.csv")
tap.done()
