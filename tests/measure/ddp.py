# SPDX-License-Identifier: Apache-2.0
"""A training for test_parallel.py: ddp.py STEPS LATE. PyTorch's DistributedDataParallel on CPUs (gloo), with the last rank LATE seconds
slower; the first worker reports with fare.py. With LATE negative: plain all_reduce() calls, of which each rank tells the time."""
import os
import sys
import time

import fare
import torch
import torch.distributed as dist

steps, late = int(sys.argv[1]), float(sys.argv[2])
torch.set_num_threads(1)
torch.manual_seed(1)
dist.init_process_group("gloo")
rank, world = dist.get_rank(), dist.get_world_size()
x = torch.randn(16, 64)
fare.about(batch=16 * world, total_steps=steps)
if late >= 0:
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Sequential(torch.nn.Linear(64, 256), torch.nn.ReLU(), torch.nn.Linear(256, 64)))
    optimizer = torch.optim.SGD(model.parameters(), 0.01)
within = began = 0.0
for i in range(1, steps + 1):
    if rank == world - 1:
        time.sleep(abs(late))
    if late >= 0:
        optimizer.zero_grad()
        loss = (model(x) - x).pow(2).mean()
        loss.backward()
        optimizer.step()
    else:
        before = time.monotonic()
        dist.all_reduce(x)
        within += time.monotonic() - before
        if i == 1:
            within, began = 0.0, time.monotonic()
    fare.step(samples=16)
if late < 0:
    took = time.monotonic() - began
    sys.stderr.write(f"rank {rank}: {within / (steps - 1) * 1e3:.6f} of {took / (steps - 1) * 1e3:.6f} ms\n")
    sys.stderr.flush()
dist.destroy_process_group()
