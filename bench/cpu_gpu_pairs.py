#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Lower bounds from a CPU beside the truth on this machine's GPU: four small programs of PyTorch, each sampled with the GPU hidden and
with it. Fails if a bound lies above the truth. Needs PyTorch, transformers, tqdm and an NVIDIA GPU that the device table has:

    FARE_PYTHON=python bench/cpu_gpu_pairs.py build/fare [SECONDS]
"""
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

LOOP = """
import sys, torch
from torch import nn
from tqdm import tqdm
device = "cuda" if torch.cuda.is_available() else "cpu"
def train(net, batch, steps, optimizer=torch.optim.AdamW):
    net = net.to(device)
    o = optimizer(net.parameters(), lr=1e-3)
    for _ in tqdm(range(steps)):
        o.zero_grad()
        loss = net(*[x.to(device) for x in batch()])
        loss.backward()
        o.step()
"""
PROGRAMS = {
    "dense": LOOP + """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10))
    def forward(self, x, y):
        return nn.functional.cross_entropy(self.net(x), y)
train(Net(), lambda: (torch.randn(32, 64), torch.randint(0, 10, (32,))), 200000, torch.optim.SGD)
""",
    "convnet": LOOP + """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        layers, width = [], 3
        for out in (64, 64, 128, 128, 256, 256):
            layers += [nn.Conv2d(width, out, 3, 1 + (out > width > 3), 1), nn.BatchNorm2d(out), nn.ReLU()]
            width = out
        self.net = nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(width, 10))
    def forward(self, x, y):
        return nn.functional.cross_entropy(self.net(x), y)
train(Net(), lambda: (torch.randn(32, 3, 32, 32), torch.randint(0, 10, (32,))), 50000)
""",
    "gpt": LOOP + """
from transformers import GPT2Config, GPT2LMHeadModel
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = GPT2LMHeadModel(GPT2Config(n_layer=6, n_embd=384, n_head=6, vocab_size=5000))
    def forward(self, x):
        return self.net(input_ids=x, labels=x).loss
train(Net(), lambda: (torch.randint(0, 5000, (8, 128)),), 20000)
""",
    "bert": """
import torch
from transformers import BertConfig, BertForSequenceClassification, Trainer, TrainingArguments
class Data(torch.utils.data.Dataset):
    def __len__(self):
        return 160000
    def __getitem__(self, i):
        return {"input_ids": torch.randint(0, 5000, (128,)), "labels": i % 2}
net = BertForSequenceClassification(BertConfig(num_hidden_layers=4, hidden_size=256, num_attention_heads=4, intermediate_size=1024, vocab_size=5000))
Trainer(model=net, args=TrainingArguments("/tmp/out", per_device_train_batch_size=8, num_train_epochs=1, report_to=[], save_strategy="no"),
        train_dataset=Data()).train()
"""}


def sample(fare, script, seconds, env):
    """A sample of the program, as its record."""
    p = subprocess.run([fare, "run", "--sample", "--max-time", f"{seconds}s", "--json", "--", os.environ.get("FARE_PYTHON", "python3"), script],
                       stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=env, check=False)
    return json.loads(p.stdout[p.stdout.index('{"schema"' if '{"schema"' in p.stdout else "{"):])["runs"][0]


def main():
    fare, seconds = os.path.abspath(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 20
    shares = []
    print("| program | CPU, ms a step | GPU | lower bound | share |\n|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for name, text in PROGRAMS.items():
            Path(f"{name}.py").write_text(text)
            env = {**os.environ, "XDG_DATA_HOME": f"{folder}/{name}", "XDG_CONFIG_HOME": folder, "FARE_METADATA": "off"}
            here = sample(fare, f"{name}.py", seconds, {**env, "CUDA_VISIBLE_DEVICES": ""})
            p = subprocess.run([fare, "quote", here["id"], "--all", "--json", "--boot", "0", "--image-time", "0s"], capture_output=True, text=True,
                               env=env, check=True)
            gpu = sample(fare, f"{name}.py", seconds, {**env, "XDG_DATA_HOME": f"{folder}/{name}-gpu"})
            kind = gpu["machine"].get("gpu", "").split()[-1:]  # "H200"
            bounds = [e for e in json.loads(p.stdout).get("estimates", []) if e.get("basis") == "bound" and e.get("gpus") == 1 and e.get("gpu") in kind]
            if not bounds or "step_ms" not in here or "step_ms" not in gpu:
                print(f"| {name} | {here.get('step_ms', 'no step')} | no step, or no GPU that is in the book | – | – |", flush=True)
                continue
            least = bounds[0]["training_low_s"] / here["total_steps"] * 1e3
            truth = gpu.get("steady", {}).get("step_ms", gpu["step_ms"])
            shares.append(least / truth)
            print(f"| {name} | {here['step_ms']:.1f} | {truth:.2f} | {least:.3f} | {shares[-1]:.2f} |", flush=True)
    if shares:
        print(f"\nmedian {statistics.median(shares):.2f}, highest {max(shares):.2f}")
    sys.exit(not shares or max(shares) >= 1)


if __name__ == "__main__":
    main()
