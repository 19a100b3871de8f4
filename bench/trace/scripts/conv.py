# SPDX-License-Identifier: Apache-2.0
"""A ResNet-50 in bf16 on images that are on the GPU already; a tqdm bar."""
import argparse

import torch
from nets import resnet
from tqdm import tqdm

p = argparse.ArgumentParser()
p.add_argument("--steps", type=int, default=1400)
p.add_argument("--batch", type=int, default=128)
o = p.parse_args()
torch.manual_seed(0)
net = resnet().cuda().to(memory_format=torch.channels_last)
optimizer = torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.9)
images = torch.randn(o.batch, 3, 224, 224, device="cuda").to(memory_format=torch.channels_last)
labels = torch.randint(1000, (o.batch,), device="cuda")
bar = tqdm(range(o.steps), desc="train")
for i in bar:
    with torch.autocast("cuda", torch.bfloat16):
        loss = torch.nn.functional.cross_entropy(net(images), labels)
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    optimizer.step()
    if i % 20 == 0:
        bar.set_postfix(loss=f"{loss.item():.3f}")
