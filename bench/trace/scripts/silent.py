# SPDX-License-Identifier: Apache-2.0
"""Prints nothing. Accumulates the gradients of two batches per step; evaluates every 400 steps."""
import argparse

import torch
from nets import GPT

p = argparse.ArgumentParser()
p.add_argument("--steps", type=int, default=2000)
o = p.parse_args()
torch.manual_seed(0)
model = GPT(layers=6, width=512, heads=8, vocabulary=8192, context=512).cuda()
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)
data = torch.randint(8192, (2, 32, 513), device="cuda")
for i in range(o.steps):
    optimizer.zero_grad()
    for batch in data:
        with torch.autocast("cuda", torch.bfloat16):
            loss = model(batch[:, :-1], batch[:, 1:])
        loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    if i % 400 == 399:
        with torch.no_grad(), torch.autocast("cuda", torch.bfloat16):
            for _ in range(20):
                model(data[0][:, :-1], data[0][:, 1:]).item()
