# SPDX-License-Identifier: Apache-2.0
"""Time and memory of a training from the model's description: the reference for src/advise/estimate/model_*.c.

Pure functions on columns: a question is a dict of numbers or numpy arrays (SHAPE, RUN and GPU below), so that a planner tries all
layouts in one call. Coefficients are a dict by name (share/estimate/model-time.csv and model-memory.csv, written by model_fit.py).
docs: the formulas stand where they are computed. Operations count a multiplication and an addition as two.
"""
import numpy as np

METHODS = ("pretrain", "full", "lora", "qlora")
CLASSES = ("eager", "fused", "compiled", "megatron", "native", "xla")  # of framework; none of them where it is not known
RECOMPUTE = {"none": 0.0, "selective": 0.15, "partial": 0.5, "full": 1.0}  # share of the forward pass that is done again

# Bytes/s of one GPU to another machine, where nobody says: with NVLink its share of a machine's 400 to 3,200 Gb/s, else of 100 Gb/s.
NET_GBS = {"ampere-dc": 25.0, "nvlink": 50.0, "pcie": 12.5}
PCIE_SHARE = 0.75  # of one direction of PCIe that is left for a GPU
YEAR = 2025.0  # of a question where nobody says when: the middle of the sources that were fitted
GIB = 2.0 ** 30


def links(name, architecture, link_gbs, host_gbs):
    """GB/s in one direction inside a box and beyond it, and the GPUs of a box."""
    inside = link_gbs / 2 if link_gbs else PCIE_SHARE * host_gbs / 2
    net = NET_GBS.get(architecture, NET_GBS["nvlink"]) if link_gbs else NET_GBS["pcie"]
    return inside, net, 72 if name.startswith(("GB200", "GB300")) else 8


def split(q):
    """Parameters of a model by part: of the layers, all and active; one table of embeddings; how many of those it has."""
    table = q["vocab"] * q["hidden"]
    tables = np.where(q["tied"] > 0, 1, 2)
    return {"table": table, "tables": tables, "body": q["params"] - tables * table, "active": q["active"] - tables * table}


def times(q, c):
    """Seconds of a step by part, before the offset."""
    p = split(q)
    full = q["method"] < 2
    tokens = q["micro"] * q["seq"] / q["cp"]  # of a micro batch on one group of tensor parallelism
    passes = np.where(full, 3, 2) + q["recompute"]
    peak = q["peak"] * 1e12 * np.power(q["peak"] / q["watts"], -c["power"])
    fast = np.power(q["fast"], c["fast"])  # of the layers: the head stays in 16 bits
    bandwidth = q["bandwidth"] * 1e9
    intensity = q["peak"] * 1e12 / bandwidth
    stage = 1 / q["pp"]
    # Products: the roofline of each, whose bytes over its operations are 1/rows + 1/columns + 1/depth.
    many = q["experts"] > 1
    shared = tokens * np.where(many, q["chosen"] * q["ep"] / q["experts"], 1)  # rows of a product: an expert sees its own
    narrow = 1 + c["narrow"] * intensity * q["tp"] * (1 / q["hidden"] + np.where(many, 1 / q["ffn"], 0))
    body = 2 * p["active"] * passes * stage * (narrow + c["few"] * intensity / shared) * np.where(many, np.exp(c["sparse"]), 1) / fast
    head = 2 * p["table"] * np.where(full, 3, 2) * (stage + c["head"] * (1 - stage)) * (narrow + c["few"] * intensity / tokens)
    products = np.exp(c["products"]) * tokens * (body + head) / q["tp"] / peak
    pairs = 2 * q["seq"] * q["heads"] * q["head_size"] * q["layers"] * stage
    missed = np.exp(c["attention"] - c["flash"] * (q["year"] - YEAR))
    attention = missed * tokens * pairs * (3.5 + q["recompute"]) / q["tp"] / (q["peak"] * 1e12)
    # A step between products reads and writes a row; so does each of an expert's, and the logits in fp32.
    rows = q["layers"] * stage * q["hidden"] * 34 * passes / 3 * (1 + 0.5 * np.maximum(0, q["chosen"] - 1) * (q["experts"] > 1))
    scores = np.where(q["flash"] > 0, 0, np.exp(c["scores"]) * q["layers"] * stage * q["heads"] * q["seq"] * 10 * passes / 3)
    moved = tokens * (np.exp(c["moved"]) * (rows + 12 * q["vocab"] * stage) + scores) / q["tp"] / bandwidth
    loops = np.where((q["experts"] > 1) & (q["loops"] > 0), q["experts"] / np.maximum(1, q["ep"]), 1)
    launches = q["layers"] * stage * 12 * passes * np.power(loops, c["loop"])
    launches = launches * (1 + c["adapters"] * (q["method"] >= 2)) * (1 + c["routing"] * many)
    launch = np.exp(c["launch"] + c["eager_launch"] * (q["class"] == 0) - c["native_launch"] * (q["class"] == 4)) * 1e-6 * launches
    weights_read = np.where(q["method"] == 3, 2 + q["recompute"], 0)  # 4 bits are read, 16 written, and read by the product
    unpack = np.exp(c["unpack"]) * p["body"] * stage / q["tp"] * 6 * weights_read / bandwidth
    busy = products + attention + moved + unpack
    # Communication inside a micro batch.
    box = q["gpus"] / q["nodes"]
    inside = q["link"] * 1e9
    beyond = np.where(q["nodes"] > 1, q["net"] * 1e9, inside)
    wide = np.where(q["tp"] > box, beyond, inside)
    reduced = q["layers"] * stage * tokens * q["hidden"] * 2
    tensor = np.exp(c["tensor"]) * reduced * (4 + 2 * q["recompute"]) * 2 * (q["tp"] - 1) / q["tp"] / wide
    tensor = tensor + np.where(q["tp"] > 1, np.exp(c["meet"]) * 1e-6 * q["layers"] * stage * (4 + 2 * q["recompute"]), 0)
    boxes = np.maximum(1, q["ep"] * q["tp"] / box)  # a row goes to another box once, whatever the number of its experts there
    sent = q["chosen"] * (1 - 1 / q["ep"]) / inside + np.minimum(q["chosen"], boxes) * (1 - 1 / boxes) / beyond
    expert = np.exp(c["expert"]) * reduced * q["routed"] * 4 / q["tp"] * sent
    context = np.exp(c["tensor"]) * reduced * 4 * (1 - 1 / q["cp"]) * 2 / inside
    bytes_each = np.where(q["method"] == 3, 0.55, 2)
    held = p["body"] * stage / q["tp"] / q["ep"]
    ranks = q["gpus"] / q["tp"] / q["pp"] / q["cp"]
    sharded = np.where(q["zero"] >= 3, held * q["ep"] * bytes_each * np.where(full, 3, 2) * (1 - 1 / ranks), 0)
    gathered = np.exp(c["gather"]) * sharded / beyond
    pace = np.sqrt(busy ** 2 + launch ** 2)
    micro = np.sqrt(pace ** 2 + gathered ** 2) + tensor + expert + context
    # The rest of a step: pipeline bubble, gradients, optimizer.
    steps = q["accumulate"]
    bubble = (q["pp"] - 1) * np.exp(c["bubble"])
    trained = np.where(full, q["params"] / q["pp"] / q["tp"] / q["ep"], 0.005 * q["params"] / q["pp"] / q["tp"])
    shards = np.where(q["zero"] >= 1, ranks, 1)
    optimizer = np.exp(c["optimizer"]) * trained / shards * 24 / bandwidth
    gradients = np.exp(c["gradients"]) * np.where(q["zero"] < 3, trained * 2 * 2 * (1 - 1 / ranks), 0) / beyond
    offload = np.exp(c["offload"]) * 1e-9 * np.where(q["offload"] > 0, trained / shards, 0)
    return {"micro": micro, "bubble": bubble * micro, "optimizer": optimizer, "gradients": gradients, "offload": offload, "busy": busy,
            "launch": launch, "products": products, "attention": attention, "moved": moved, "steps": steps}


def step_time(q, c):
    t = times(q, c)
    offset = sum(c[name] * (q["class"] == k) for k, name in enumerate(CLASSES))
    offset = offset + c["amd"] * q["amd"] + c["base"] + c["nodes"] * np.log(q["nodes"]) - c["year"] * (q["year"] - YEAR)
    return np.exp(offset) * (t["steps"] * t["micro"] + t["bubble"] + t["optimizer"] + t["gradients"] + t["offload"])


def memory(q, c):
    """Bytes on one GPU at the peak, by component. Gradients take the place of activations unless they are kept between micro batches."""
    p = split(q)
    full = q["method"] < 2
    tokens = q["micro"] * q["seq"] / q["cp"]
    ranks = q["gpus"] / q["tp"] / q["pp"] / q["cp"]
    part = 1 / q["tp"] / q["pp"]
    held = (p["body"] / q["ep"] + p["tables"] * p["table"]) * part
    shards = [np.where(q["zero"] >= stage, np.maximum(1, ranks / q["ep"]), 1) for stage in (1, 2, 3)]
    mixed = np.where(full & (q["mixed"] > 0), 2, 1)  # fp32 weights, gradients and states, or all of it in bf16
    each = np.where(q["method"] == 3, (0.56 * p["body"] / q["ep"] + 2 * p["tables"] * p["table"]) * part / held, 2 * mixed)
    # Of ZeRO 3, two layers and the embeddings are whole while they are used.
    whole = np.where((q["zero"] >= 3) & (ranks > 1), (2 * p["body"] / q["layers"] / q["ep"] + p["table"]) / q["tp"] * 2, 0)
    weights = np.exp(c["weights"]) * (held * each / shards[2] + np.exp(c["whole"]) * whole)
    trained = np.where(full & (q["offload"] == 0), held, 0)
    width = 6 * q["hidden"] + (2 + q["gated"]) * q["ffn"] * np.minimum(q["experts"], 8)
    adapters = np.where(full, 0, 16 * q["rank"] * q["layers"] * part * width / shards[0])
    gradients = np.exp(c["gradients"]) * trained * 2 * mixed / shards[1]
    optimizer = np.exp(c["optimizer"]) * trained * 4 * mixed / shards[0]
    update = np.exp(c["update"]) * trained * 2 * mixed / shards[0]
    # What backward needs of a layer, at 2 bytes; with recomputation its input alone, and one layer at a time.
    row = 2 * (np.exp(c["rows"]) * (7 + 6 * q["gated"]) * q["hidden"]
               + np.exp(c["inner"]) * (2 + q["gated"]) * q["ffn"] * np.maximum(1, q["chosen"]))
    row = row + np.where(q["flash"] > 0, 0, 5 * q["heads"] * q["seq"])
    scores = np.exp(c["logits"]) * 8 * q["vocab"] * np.where(q["chunked"] > 0, 0.02, 1)
    again = q["recompute"] >= 1
    flight = np.minimum(q["pp"], np.maximum(q["accumulate"], 1))
    kept = np.where(again, 2 * q["hidden"] * np.exp(c["kept"]), row * (1 - 0.7 * q["recompute"])) * q["layers"] / q["pp"] * flight
    activations = tokens / q["tp"] * (kept + np.where(again, np.maximum(0, row - scores), 0))
    logits = tokens / q["tp"] * scores
    # Either the update's own needs or the activations are the peak.
    beside = np.where(q["accumulate"] > 1, 1, 0) * gradients
    room = np.maximum(0, gradients + update - beside - activations - logits)
    base = np.exp(c["base"]) * GIB * np.ones_like(tokens)
    return {"weights": weights, "gradients": beside + room, "optimizer": optimizer, "adapters": adapters, "activations": activations,
            "logits": logits, "framework": base}


def memory_total(q, c):
    parts = memory(q, c)
    return sum(parts.values()) + np.where(q["reserved"] > 0, c["reserved"] * (parts["activations"] + parts["logits"]) + GIB, 0)


UNSURE = 0.20  # ln: memory within this of a GPU's is neither said to fit nor not to
SPARE = 0.94  # of a GPU's memory: the rest is the driver's, the framework's and fragments
BATCHES = ((2e9, 0.5e6), (5e9, 1e6), (20e9, 2e6), (150e9, 4e6), (1e30, 8e6))  # tokens of a step, where nobody says, by parameters
TUNING_SEQUENCES = 64
TUNING_MICRO = 8  # sequences of a micro batch: recipes for fine-tuning have 1 to 8


def unpinned(q):
    """The question with what nobody says: software of the middle of the rows, fine-tuning with Hugging Face's Trainer as it comes."""
    return {**q, "class": -1.0 if q["method"] == 0 else 0.0, "year": YEAR, "loops": 0.0, "flash": 1.0, "offload": 0.0, "rank": 16.0,
            "mixed": float(q["method"] == 0), "reserved": 0.0, "chunked": 0.0}


def batch_tokens(q):
    """Tokens of a step where nobody says: by size for a training from nothing, else by sequences."""
    if q["method"] >= 1:
        return max(TUNING_SEQUENCES, q["gpus"]) * q["seq"]
    return max(next(tokens for size, tokens in BATCHES if q["params"] <= size), q["gpus"] * q["seq"])


LAYOUT = ("tp", "pp", "cp", "ep", "zero", "recompute", "micro", "accumulate")


def powers(least, most):
    out = []
    while least <= most:
        out.append(least)
        least *= 2
    return out


def layouts(q, box, tokens):
    """All layouts that are tried: dicts of tp, pp, cp, ep, zero, recompute, micro, accumulate."""
    gpus, out = int(q["gpus"]), []
    sequences = max(1, round(tokens / q["seq"]))
    for tp in powers(1, min(box, gpus, q["kv"])):
        if q["heads"] % tp:
            continue
        for pp in powers(1, min(gpus // tp, q["layers"] / 2, 16)):
            for cp in powers(1, min(gpus // tp // pp, 8 if q["seq"] > 16384 else 1)):
                if gpus % (tp * pp * cp):
                    continue
                ranks = gpus // tp // pp // cp
                for ep in powers(1, min(q["experts"], ranks)) if q["experts"] > 1 else [1]:
                    if ranks % ep:
                        continue
                    for zero in ([1, 3] if ranks > 1 and pp == 1 else [1] if ranks > 1 else [0]):
                        for recompute in (0.0, 1.0) if q["method"] == 0 else (1.0,):  # recipes for fine-tuning recompute
                            for micro in powers(1, min(64 if q["method"] == 0 else TUNING_MICRO, max(1, sequences // ranks))):
                                out.append({"tp": tp, "pp": pp, "cp": cp, "ep": ep, "zero": zero, "recompute": recompute, "micro": micro,
                                            "accumulate": max(1, round(sequences / ranks / micro))})
    return out


def plan(q, time, bytes_of, box, tokens=None):
    """The fastest layout that fits; else the fastest with the optimizer's states in the host's memory; else the smallest."""
    tried = layouts(q, box, tokens or batch_tokens(q))
    columns = {name: np.array([t[name] for t in tried], float) for name in tried[0]}
    size = len(tried)
    all_q = {name: np.full(size, value, float) for name, value in q.items() if isinstance(value, (int, float)) and name not in columns}
    all_q.update(columns)
    ranks = q["gpus"] / columns["tp"] / columns["pp"] / columns["cp"]
    for offload in (0.0, 1.0):
        all_q["offload"] = np.full(size, offload)
        per_token = step_time(all_q, time) / (columns["micro"] * columns["accumulate"] * ranks * q["seq"])
        need = memory_total(all_q, bytes_of)
        fits = need <= q["memory"] * GIB * SPARE
        if fits.any():
            best = int(np.argmin(np.where(fits, per_token, np.inf)))
            break
    else:
        best = int(np.argmin(need))
    return {**tried[best], "offload": offload, "fits": bool(fits.any()), "seconds_per_token": float(per_token[best]),
            "bytes": float(need[best])}
