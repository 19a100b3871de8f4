#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Inception v4 of the timm package and fare's, from the same checkpoint on the same images.

    timm_logits.py [--build DIR] [--images 3] [--pretrained]

Builds timm's inception_v4 with random weights and batch norm statistics of random images (or with its
published weights), saves it with safetensors, and prints the largest difference between timm's logits and fare's
on random images. Needs Python with timm, PyTorch and safetensors, and the program inception_logits
from a build with tests.
"""
import argparse
import subprocess
import tempfile
from pathlib import Path

import numpy
import timm
import torch
from safetensors.torch import save_file

parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
parser.add_argument("--build", type=Path, default=Path(__file__).resolve().parent.parent / "build")
parser.add_argument("--images", type=int, default=3)
parser.add_argument("--pretrained", action="store_true", help="timm's published weights, which it downloads")
args = parser.parse_args()


def images(count):
    """Noise of several sizes, enlarged, within ±1."""
    small = [torch.rand(1, 3, 2 + 3 * i, 2 + 3 * i) * 2 - 1 for i in range(count)]
    return torch.cat([torch.nn.functional.interpolate(x, (299, 299), mode="bilinear") for x in small])


def make_model():
    """Class 0 has weights of 0, so that its logit is 0 and fare's others can be told from its softmax."""
    torch.manual_seed(4)
    model = timm.create_model("inception_v4", pretrained=args.pretrained)
    if not args.pretrained:
        norms = [m for m in model.modules() if isinstance(m, torch.nn.BatchNorm2d)]
        for norm in norms:
            norm.momentum = None  # the mean over all batches
            torch.nn.init.uniform_(norm.weight, 0.5, 1.5)
            torch.nn.init.uniform_(norm.bias, -0.5, 0.5)
            norm.reset_running_stats()
        torch.nn.init.normal_(model.last_linear.weight, std=0.1)
        torch.nn.init.normal_(model.last_linear.bias)
        model.train()
        with torch.no_grad():
            for _ in range(2):
                model(images(8))
        for norm in norms:  # mean squares: with variances a random net multiplies f32 rounding errors by thousands
            norm.running_var += norm.running_mean ** 2
    with torch.no_grad():
        model.last_linear.weight[0] = 0
        model.last_linear.bias[0] = 0
    return model.eval()


with tempfile.TemporaryDirectory() as folder:
    model, largest = make_model(), 0.0
    save_file(model.state_dict(), f"{folder}/timm.safetensors")
    for image in images(args.images):
        with torch.no_grad():
            theirs = model(image[None])[0].double().numpy()
        image.numpy().astype("<f4").tofile(f"{folder}/image")
        p = subprocess.run([args.build / "tests/train/checkpoint/inception_logits", f"{folder}/timm.safetensors",
                            str(len(theirs)), f"{folder}/image"], capture_output=True, text=True, check=True)
        ours = numpy.array(p.stdout.split(), dtype=float)
        difference = abs(ours - theirs).max()
        largest = max(largest, difference)
        print(f"logits {theirs.min():.3f} to {theirs.max():.3f}, standard deviation {theirs.std():.3f}; "
              f"largest difference {difference:.2e}; best class {theirs.argmax()} and {ours.argmax()}")
    print(p.stderr.strip())
    print(f"timm {timm.__version__}, PyTorch {torch.__version__}: largest difference {largest:.2e}")
raise SystemExit(int(largest > 1e-3))
