# SPDX-License-Identifier: Apache-2.0
"""A small net that waits for the host: the worst case for the cost of recording. A tqdm bar."""
import argparse

import torch
from torch import nn
from tqdm import tqdm

p = argparse.ArgumentParser()
p.add_argument("--steps", type=int, default=28000)
o = p.parse_args()
torch.manual_seed(0)
net = nn.Sequential(nn.Linear(784, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 10)).cuda()
optimizer = torch.optim.Adam(net.parameters())
x, y = torch.randn(128, 784, device="cuda"), torch.randint(10, (128,), device="cuda")
for i in tqdm(range(o.steps), mininterval=0.5):
    loss = nn.functional.cross_entropy(net(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
