# SPDX-License-Identifier: Apache-2.0
"""fare quote --model: the time of bench/model_predict.py, the reference, times the price of each offer; what does not fit; nonsense."""
import csv
import json
import math
import os
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(os.environ["ROOT"])
sys.path[:0] = [os.environ["TESTS"], str(ROOT / "bench")]
sys.dont_write_bytecode = True
import tap  # noqa: E402

try:
    import model_predict as reference
except ImportError:
    reference = None

FARE = os.environ["FARE"]
CONFIG = Path(os.environ["XDG_CONFIG_HOME"]) / "fare"
(CONFIG / "offers").mkdir(parents=True)
(CONFIG / "providers").mkdir()
(CONFIG / "offers" / "mine.csv").write_text("""\
provider,name,region,kind,gpu,gpus,gpu_memory_gib,vcpus,memory_gib,price,currency,per,date,source
acme,a100,here,,A100,1,80,12,100,3.60,USD,hour,2026-11-01,mine
acme,a100x8,here,,A100,8,80,96,1000,28.80,USD,hour,2026-11-01,mine
acme,h100x8,here,,H100,8,80,96,1000,36.00,USD,hour,2026-11-01,mine
acme,tight,here,,A100,8,40,96,64,1.00,USD,hour,2026-11-01,mine
acme,l4,here,,L4,1,24,8,32,0.50,USD,hour,2026-11-01,mine
acme,t4,here,,T4,1,16,8,32,0.25,USD,hour,2026-11-01,mine
acme,cpus,here,,,0,,64,256,2.00,USD,hour,2026-11-01,mine
acme,mi,here,,MI300X,1,192,12,100,2.00,USD,hour,2026-11-01,mine
""")
(CONFIG / "providers" / "acme.json").write_text(json.dumps({"schema": "fare.tariffs/1", "tariffs": [
    {"id": "acme", "provider": "acme", "kind": "on-demand", "unit_ms": 1, "egress_rate": "0.08", "source": "mine",
     "date": "2026-11-01"}]}))
DAY = ("--date", "2026-11-10", "--boot", "0", "--provider", "acme")
LORA = ("--model", "llama-3-8b", "--method", "lora", "--tokens", "50M")


def fare(*args, code=0):
    p = subprocess.run([FARE, "quote", *args], capture_output=True, text=True, timeout=60)
    assert p.returncode == code, f"{args}: {p.returncode}\n{p.stdout}\n{p.stderr}"
    return p.stdout if code == 0 else p.stderr


def quote(*args):
    return json.loads(fare(*args, *DAY, "--json"))


def bills(*args):
    return {b["name"]: b for b in quote(*args)["estimates"]}


def coefficients(name):
    with open(ROOT / "share" / "estimate" / f"model-{name}.csv", newline="") as file:
        return {row["name"]: float(row["value"]) for row in csv.DictReader(file)}


# llama-3-8b by its config.json in litgpt: 32 layers of 4096, 32 heads of 128 with 8 of keys and values, 14336, a vocabulary of 128,256.
LLAMA = {"params": 8030261248.0, "active": 8030261248.0, "layers": 32.0, "hidden": 4096.0, "heads": 32.0, "kv": 8.0, "head_size": 128.0,
         "ffn": 14336.0, "vocab": 128256.0, "tied": 0.0, "experts": 1.0, "chosen": 1.0, "gated": 1.0, "routed": 1.0}
# By the data sheets: dense TFLOP/s in bf16, GB/s, GiB, W, GB/s of NVLink in one direction, and of the network.
A100 = {"peak": 312.0, "bandwidth": 2039.0, "memory": 80.0, "watts": 400.0, "link": 300.0, "net": 25.0, "amd": 0.0, "fast": 1.0}
H100 = {"peak": 989.4, "bandwidth": 3350.0, "memory": 80.0, "watts": 700.0, "link": 450.0, "net": 50.0, "amd": 0.0, "fast": 1.0}
METHODS = ("pretrain", "full", "lora", "qlora")


def predicted(gpu, gpus, method, sequence, own):
    """Tokens a second and bytes on a GPU by the reference; what the data sheet says is fare's, where it has more digits."""
    q = reference.unpinned({**LLAMA, **gpu, **own, "seq": float(sequence), "gpus": float(gpus), "nodes": 1.0,
                            "method": float(METHODS.index(method))})
    plan = reference.plan(q, coefficients("time"), coefficients("memory"), gpus if gpus > 1 else 8)
    return 1 / plan["seconds_per_token"], plan["bytes"]


def sheet(name):
    with open(ROOT / "share" / "devices" / "gpus.csv", newline="") as file:
        row = next(row for row in csv.DictReader(file) if row["name"] == name)
    return {"peak": float(row["bf16_tflops"]), "bandwidth": float(row["memory_gbs"]), "watts": float(row["watts"])}


def a_bill():
    """50 M tokens at the reference's tokens a second, at 3.60 USD an hour"""
    speed, memory = predicted(A100, 1, "lora", 4096, sheet("A100-80GB"))
    bill = bills(*LORA)["a100"]
    want = 50e6 / speed
    assert math.isclose(bill["time_s"], want, rel_tol=1e-6), (bill["time_s"], want)
    assert math.isclose(float(bill["total"]), want / 3600 * 3.60, rel_tol=1e-5), bill["total"]
    assert math.isclose(bill["model"]["tokens_per_s"], speed, rel_tol=1e-6)
    assert abs(bill["model"]["memory_bytes"] - memory) < 1e-6 * memory
    assert bill["model"]["gpu_memory_bytes"] == 80 << 30


def eight():
    """eight GPUs share a full fine-tuning as the reference has it, and --gpus 8 leaves the others out"""
    speed, _ = predicted(H100, 8, "full", 2048, sheet("H100"))
    found = bills("--model", "llama-3-8b", "--method", "full", "--tokens", "1B", "--seq", "2048", "--gpus", "8")
    assert math.isclose(found["h100x8"]["time_s"], 1e9 / speed, rel_tol=1e-6), found["h100x8"]["time_s"] * speed
    assert set(found) <= {"a100x8", "h100x8", "tight"}, set(found)


def the_interval():
    """the interval is the table's half-width, wider on an AMD GPU, and the certainty says what it is from"""
    with open(ROOT / "share" / "estimate" / "model-errors.csv", newline="") as file:
        half = next(float(r["half90"]) for r in csv.DictReader(file) if (r["question"], r["method"]) == ("planned", "lora"))
    found, q = bills(*LORA), quote(*LORA)["model"]
    for name, width in (("a100", half), ("mi", max(half, 0.8))):
        b = found[name]
        assert math.isclose(b["training_high_s"] / b["time_s"], math.exp(width), rel_tol=1e-6), b
        assert math.isclose(b["time_s"] / b["training_low_s"], math.exp(width), rel_tol=1e-6), b
        assert b["basis"] == "modelled" and b["certainty"].startswith("from the model "), b["certainty"]
    assert q["half"] == half and q["name"] == "llama-3-8b" and q["tokens"] == 50_000_000 and q["rank"] == 16, q


def memory():
    """offers with too little memory are left out with the need and what would make it fit; without GPUs they are not counted"""
    q = quote(*LORA)
    left = {row["reason"]: row for row in q["left_out"]}
    assert left["not enough GPU memory"]["examples"] == ["acme/t4@here"], left
    assert "of 16 GB; fits as QLoRA" in left["not enough GPU memory"]["why"], left
    assert "acme/cpus" not in json.dumps(q), "a machine without a GPU"
    full = quote("--model", "llama-3-70b", "--method", "full", "--tokens", "50M", "--gpus", "8")
    assert any("host's memory" in row["why"] for row in full["misfits"]), full["misfits"]  # `tight` has 64 GiB
    said = fare(*LORA, *DAY, "--gpu", "t4")
    assert "1 offer left out" in said and "fits as QLoRA" in said, said


def pins():
    """--layout pins, --rank and --batch-tokens change the plan; a size stands for a row of the table"""
    found = bills(*LORA, "--layout", "micro=2,recompute=0")["a100"]["model"]
    assert (found["micro_batch"], found["accumulate"], found["recompute"]) == (2, 32, 0), found
    found = bills(*LORA, "--layout", "micro=1", "--batch-tokens", "32768")["a100"]["model"]
    assert (found["step_tokens"], found["accumulate"]) == (32768, 8), found
    small, large = (bills(*LORA, "--rank", rank)["a100"]["model"]["memory_bytes"] for rank in ("4", "64"))
    assert small < large
    assert quote("--model", "8b", "--tokens", "1M")["given"] == "LoRA (rank 16) of 8b (as llama-3-8b) on 1 M tokens"


def the_screen():
    """the first screen: the model, memory, what is assumed; at most 14 lines"""
    said = fare(*LORA, *DAY)
    lines = [line for line in said.splitlines() if line.strip()]
    assert len(lines) <= 14, f"{len(lines)}\n{said}"
    assert " ".join(said.split()).startswith("LoRA (rank 16) of llama-3-8b on 50 M tokens: from the model's description (±63 %); a minute "
                                             "of your script makes it exact"), said
    for word in ("memory", "of 80 GB", "Assumed", "micro batch", "Too small 1 offer: acme/t4 needs", "Next"):
        assert word in said, f"{word}\n{said}"


def explained():
    """--explain has operations, share of peak, layout, memory by component and the rows behind the interval"""
    said = fare(*LORA, *DAY, "--explain", "acme/a100")
    assert len(said.splitlines()) <= 16, said
    said = " ".join(said.split())
    for word in ("parameters", "peak of 312 TFLOP/s", "micro batch", "weights", "activations", "logits", "trainings of", "tokens/s"):
        assert word in said, f"{word}\n{said}"
    assert "does not fit" in fare(*LORA, *DAY, "--explain", "acme/t4")


def one_offer():
    """--offer has the bill line by line, and says where the time is from"""
    said = " ".join(fare(*LORA, *DAY[:4], "--offer", "acme/a100").split())
    assert "The time is from the model ±63 %" in said and "of 80 GB on each GPU" in said, said
    assert "QLoRA" in fare(*LORA, *DAY[:4], "--offer", "acme/t4")


def nonsense():
    """what cannot be is refused, with a hint"""
    for args, code, *words in (
            (("--model", "llama-3-8b"), 2, "--tokens is missing"),
            (("--model", "llama-3-8b", "--tokens", "-5"), 2, "'--tokens' takes a number of tokens"),
            (("--model", "llama-3-8b", "--tokens", "nan"), 2, "'--tokens' takes a number of tokens"),
            (("--model", "llama-3-8b", "--tokens", "0"), 2, "'--tokens' takes a number of tokens"),
            (("--model", "lama-3-8b", "--tokens", "5M"), 1, "no model is called 'lama-3-8b'", "there is llama-3-8b"),
            (("--model", "mistral", "--tokens", "5M"), 1, "there is mistral-7b"),
            (("--tokens", "5M"), 2, "--tokens is for a model"),
            ((*LORA, "--time", "2h", "--gpu", "h100"), 2, "--time and --model exclude each other"),
            ((*LORA, "--precision", "fp32"), 2, "bf16, fp16 and fp8"),
            ((*LORA, "--layout", "micro=x"), 2, "'--layout' takes pins"),
            ((*LORA, "--layout", "zero=7"), 2, "ZeRO stage"),
            ((*LORA, "--measured"), 2, "nothing was measured"),
            ((*LORA, "--buy", "9000"), 2, "which machine would be bought?"),
            (("--model", "llama-3-8b", "--method", "full", "--rank", "4", "--tokens", "5M"), 2, "--rank is for LoRA"),
            (("last", *LORA), 2, "'last' names one"),
            ((*LORA, "--pinned"), 2, "--pinned lists quotes of a run")):
        said = fare(*args, code=code)
        for word in words:
            assert word in said, f"{args}: {said}"
    said = fare(*LORA, *DAY, "--gpu", "nothing")
    assert "No offer in the book" in said, said


def quick():
    """every offer of the book is priced in under a second, of a mixture of experts too"""
    began = time.monotonic()
    fare("--model", "qwen3-30b-a3b", "--method", "pretrain", "--tokens", "10B", "--gpus", "64")
    assert time.monotonic() - began < 1, f"{time.monotonic() - began:.2f} s"


for action in (a_bill, eight) if reference else ():
    tap.check(action.__doc__, action)
for action in (the_interval, memory, pins, the_screen, explained, one_offer, nonsense, quick):
    tap.check(action.__doc__, action)
tap.done()
