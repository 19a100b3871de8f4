# SPDX-License-Identifier: Apache-2.0
"""Epochs with an evaluation and a checkpoint at the end of each; plain lines."""
import argparse
import tempfile

import torch
from nets import GPT

p = argparse.ArgumentParser()
p.add_argument("--epochs", type=int, default=8)
p.add_argument("--steps", type=int, default=250)
o = p.parse_args()
torch.manual_seed(0)
model = GPT(layers=8, width=512, heads=8, vocabulary=8192, context=512).cuda()
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)
data = torch.randint(8192, (64, 513), device="cuda")


def loss_of(tokens):
    with torch.autocast("cuda", torch.bfloat16):
        return model(tokens[:, :-1], tokens[:, 1:])


with tempfile.TemporaryDirectory() as folder:
    for epoch in range(1, o.epochs + 1):
        model.train()
        for step in range(1, o.steps + 1):
            loss = loss_of(data)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            if step % 25 == 0:
                print(f"Epoch [{epoch}/{o.epochs}], Step [{step}/{o.steps}], Loss: {loss.item():.4f}", flush=True)
        model.eval()
        with torch.no_grad():
            total = sum(loss_of(data).item() for _ in range(o.steps // 5))
        print(f"Epoch [{epoch}/{o.epochs}], Validation loss: {total / (o.steps // 5):.4f}", flush=True)
        torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, f"{folder}/checkpoint.pt")
        print(f"Saved checkpoint to {folder}/checkpoint.pt", flush=True)
