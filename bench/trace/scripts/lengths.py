# SPDX-License-Identifier: Apache-2.0
"""Sequence lengths: random from step to step, or growing over the training (--grow); a tqdm bar."""
import argparse
import random

import torch
from nets import GPT
from tqdm import tqdm

p = argparse.ArgumentParser()
p.add_argument("--steps", type=int, default=1600)
p.add_argument("--grow", action="store_true")
o = p.parse_args()
torch.manual_seed(0)
random.seed(0)
model = GPT().cuda()
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)
data = torch.randint(50304, (16, 1025), device="cuda")
bar = tqdm(range(o.steps))
for i in bar:
    length = 64 * (1 + i * 16 // o.steps if o.grow else random.randint(1, 16))
    with torch.autocast("cuda", torch.bfloat16):
        loss = model(data[:, :length], data[:, 1:length + 1])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if i % 10 == 0:
        bar.set_description(f"loss {loss.item():.3f}")
