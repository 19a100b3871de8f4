#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A PyTorch training that writes checkpoints as Hugging Face's Trainer does: OUT/checkpoint-STEP with weights, optimizer,
scheduler, random state and trainer_state.json, the last one last; the newest two are kept.

    train_torch.py --output_dir OUT --steps N [--resume CHECKPOINT]
"""
import argparse
import hashlib
import json
import os
import shutil
import time

import torch

parser = argparse.ArgumentParser()
parser.add_argument("--output_dir")
parser.add_argument("--steps", type=int)
parser.add_argument("--resume")
args = parser.parse_args()
torch.set_num_threads(1)
torch.manual_seed(1)
net = torch.nn.Sequential(torch.nn.Linear(64, 128), torch.nn.ReLU(), torch.nn.Dropout(0.1), torch.nn.Linear(128, 10))
optimizer = torch.optim.AdamW(net.parameters(), lr=1e-3)
scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda n: 1 / (1 + n / 100))
step = 0


def save():
    folder = f"{args.output_dir}/checkpoint-{step}"
    os.makedirs(folder, exist_ok=True)
    torch.save(net.state_dict(), f"{folder}/pytorch_model.bin")
    torch.save(optimizer.state_dict(), f"{folder}/optimizer.pt")
    torch.save(scheduler.state_dict(), f"{folder}/scheduler.pt")
    torch.save({"cpu": torch.random.get_rng_state()}, f"{folder}/rng_state.pth")
    with open(f"{folder}/trainer_state.json", "w") as file:
        json.dump({"global_step": step}, file)
    old = sorted((n for n in os.listdir(args.output_dir) if n.startswith("checkpoint-")), key=lambda n: int(n.split("-")[1]))
    for name in old[:-2]:
        shutil.rmtree(f"{args.output_dir}/{name}")


if args.resume:
    net.load_state_dict(torch.load(f"{args.resume}/pytorch_model.bin"))
    optimizer.load_state_dict(torch.load(f"{args.resume}/optimizer.pt"))
    scheduler.load_state_dict(torch.load(f"{args.resume}/scheduler.pt"))
    torch.random.set_rng_state(torch.load(f"{args.resume}/rng_state.pth")["cpu"])
    step = json.load(open(f"{args.resume}/trainer_state.json"))["global_step"]
print(f"from step {step}", flush=True)
while step < args.steps:
    x = torch.randn(32, 64)
    loss = torch.nn.functional.cross_entropy(net(x), x[:, :10].argmax(1))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    scheduler.step()
    step += 1
    time.sleep(0.005)
    print(f"step {step}/{args.steps} loss {loss.item():.6f}", flush=True)
    if step % 25 == 0 or step == args.steps:
        save()
print("parameters", hashlib.sha256(b"".join(p.detach().numpy().tobytes() for p in net.parameters())).hexdigest())
