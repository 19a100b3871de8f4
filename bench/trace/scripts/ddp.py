# SPDX-License-Identifier: Apache-2.0
"""A transformer in several processes with NCCL; the last one has more to calculate. `torchrun --nproc-per-node 2 ddp.py`. Processes that
share a GPU pass for machines of their own, because NCCL refuses two of one machine: it then goes through sockets."""
import argparse
import os
import sys

rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
os.environ["NCCL_HOSTID"] = f"host{rank}"

import torch  # noqa: E402
import torch.distributed as dist  # noqa: E402
from tqdm import tqdm  # noqa: E402

p = argparse.ArgumentParser()
p.add_argument("--steps", type=int, default=300)
p.add_argument("--more", type=int, default=2, help="forward passes more of the last rank")
o = p.parse_args()
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]) % torch.cuda.device_count())
dist.init_process_group("nccl")
torch.manual_seed(0)
net = torch.nn.TransformerEncoder(torch.nn.TransformerEncoderLayer(512, 8, batch_first=True), 4).cuda()
net = torch.nn.parallel.DistributedDataParallel(net)
optimizer = torch.optim.AdamW(net.parameters())
x = torch.randn(32, 256, 512, device="cuda")
for _ in tqdm(range(o.steps), desc="train", disable=rank > 0):
    with torch.autocast("cuda", torch.bfloat16):
        with torch.no_grad():
            for _ in range(o.more if rank == world - 1 else 0):
                net.module(x)
        loss = net(x).square().mean()
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    optimizer.step()
torch.cuda.synchronize()
dist.destroy_process_group()
sys.exit(0)
