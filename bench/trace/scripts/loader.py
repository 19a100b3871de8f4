# SPDX-License-Identifier: Apache-2.0
"""Images that four workers take too long to unpack; a line every 20 steps."""
import argparse
import zlib

import torch
from nets import resnet
from torch.utils.data import DataLoader, Dataset


class Packed(Dataset):
    def __init__(self, count):
        self.count = count
        raw = (torch.arange(3 * 224 * 224) * 7919 % 251).to(torch.uint8).numpy().tobytes()
        self.packed = zlib.compress(raw, 6)

    def __len__(self):
        return self.count

    def __getitem__(self, i):
        for _ in range(14):
            raw = zlib.decompress(self.packed)
        image = torch.frombuffer(bytearray(raw), dtype=torch.uint8).view(3, 224, 224).float().div_(255)
        return image.add_(torch.randn(1)), i % 1000


p = argparse.ArgumentParser()
p.add_argument("--steps", type=int, default=1000)
o = p.parse_args()
torch.manual_seed(0)
torch.set_num_threads(1)
net = resnet((2, 2, 2, 2)).cuda()
optimizer = torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.9)
batches = DataLoader(Packed(o.steps * 64), batch_size=64, num_workers=4, pin_memory=True)
for i, (images, labels) in enumerate(batches, 1):
    images, labels = images.cuda(non_blocking=True), labels.cuda(non_blocking=True)
    with torch.autocast("cuda", torch.bfloat16):
        loss = torch.nn.functional.cross_entropy(net(images), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if i % 20 == 0:
        print(f"step {i}/{o.steps} | loss {loss.item():.4f}", flush=True)
