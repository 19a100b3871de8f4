# SPDX-License-Identifier: Apache-2.0
"""Trains a workload in Keras 3 on TensorFlow, JAX or PyTorch (KERAS_BACKEND), on the GPU or CPU that it finds, and
tells fare how it goes.

`fare run NAME --with keras:BACKEND` starts NAME.py, which calls main(), and hands over the samples, their order and the
initial parameters in files.
"""
import argparse
import signal
import sys
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parents[n]) + ("/python" if n == 2 else "") for n in (2, 1)]
import backends  # noqa: E402


def options(name):
    parser = argparse.ArgumentParser(description=f"Trains {name} in Keras.")
    parser.add_argument("--data", default="", help="file with the samples, from fare")
    parser.add_argument("--start", default="", help="file with their order and the initial parameters, from fare")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--threads", type=int, default=0)
    parser.add_argument("--epochs", type=int, default=0)
    parser.add_argument("--batch", type=int, default=0, help="samples per step, instead of the definition's")
    parser.add_argument("--steps", type=int, default=0, help="end after this many")
    parser.add_argument("--precision", default="f32", choices=("f32", "tf32", "bf16"))
    parser.add_argument("--plain", action="store_true", help="LSTMs cell by cell, without a fused layer")
    parser.add_argument("--sample", action="store_true", help="inception: get to the second stage soon")
    return parser.parse_args()


def main(name):
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # fare knows enough
    o = options(name)
    backends.check()
    backends.prepare(o)
    from fitting import Training
    Training(name, o).run()
