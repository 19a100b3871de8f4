# SPDX-License-Identifier: Apache-2.0
"""The loss of each step of a GPT-2 in PyTorch, from the start and the tokens of gpt_losses.c, by the loop that
`fare run gpt2 --with pytorch` uses.

    gpt_torch.py LAYERS HEADS WIDTH CONTEXT VOCABULARY BATCH STEPS TOKENS START [--precision bf16] [--threads 2] [--device cuda]
        [--stop N]
"""
import argparse
import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "share/frameworks/pytorch"))
sys.dont_write_bytecode = True
import gpt2  # noqa: E402
import torch  # noqa: E402

p = argparse.ArgumentParser()
for name in ("layers", "heads", "width", "context", "vocabulary", "batch", "steps"):
    p.add_argument(name, type=int)
p.add_argument("tokens")
p.add_argument("start")
p.add_argument("--precision", default="f32")
p.add_argument("--threads", type=int, default=2)
p.add_argument("--device", default="cpu")
p.add_argument("--stop", type=int, help="steps to make; the schedule is as long as STEPS says")
o = p.parse_args()
torch.set_num_threads(o.threads)
o.compile = False
raw = Path(o.start).read_bytes()
size = int.from_bytes(raw[:8], "little")
header = json.loads(raw[8:8 + size])
header.pop("__metadata__", None)
start = {name: torch.frombuffer(bytearray(raw[8 + size + t["data_offsets"][0]:8 + size + t["data_offsets"][1]]),
                                dtype=torch.float32).view(t["shape"]) for name, t in header.items()}
net = gpt2.GPT2(o.layers, o.heads, o.width, len(start["transformer.wpe.weight"]), o.vocabulary)
net.start(start)
gpt2.WARMUP = o.steps // 10
stream = torch.frombuffer(bytearray(Path(o.tokens).read_bytes()), dtype=torch.int16).int() & 0xFFFF
windows = stream[:len(stream) // (o.context + 1) * (o.context + 1)].view(-1, o.context + 1).long()
device = torch.device(o.device)
trainer = gpt2.Trainer(net.to(device).train(), o, o.steps, device)
part = o.batch if device.type == "cuda" else max(1, 1024 // o.context)
for step in range(o.stop or o.steps):
    picked = windows[(torch.arange(o.batch) + step * o.batch) % len(windows)].to(device)
    print(f"{trainer.step(picked[:, :-1], picked[:, 1:], part).item():.9f}", flush=True)
