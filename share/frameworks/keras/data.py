# SPDX-License-Identifier: Apache-2.0
"""The data of the workloads as arrays of numpy, and their changes while training."""
import sys
from pathlib import Path

import numpy as np

sys.path.append(str(Path(__file__).resolve().parent.parent))
import handover  # noqa: E402

TYPES = {"U8": np.uint8, "I32": np.int32, "I64": np.int64, "F32": np.float32}


class Reader(handover.Reader):
    framework, texts = "keras", handover.Texts

    def array(self, raw, kind, shape):
        return np.frombuffer(raw, TYPES[kind]).reshape(shape)

    def count(self, number):
        return np.arange(number)

    def images(self, x):
        """Channels last, as Keras has them."""
        return np.ascontiguousarray(x.transpose(0, 2, 3, 1)) if x.ndim == 4 else x


load, load_start = Reader().load, Reader().load_start


def shift_flip(x, generator):
    """Shifts of up to a tenth, edge pixels repeated, and flips, each image its own."""
    n, size = len(x), x.shape[1]
    # As the original: uniform, not whole pixels; the nearest pixel is taken.
    shifts = (generator.uniform(-0.1, 0.1, (n, 2)) * size).round().astype(int)
    flips = generator.random(n) < 0.5
    base = np.arange(size)
    rows = (base + shifts[:, :1]).clip(0, size - 1)
    columns = (base + shifts[:, 1:]).clip(0, size - 1)
    columns = np.where(flips[:, None], columns[:, ::-1], columns)
    return x[np.arange(n)[:, None, None], rows[:, :, None], columns[:, None, :]]


def flip(x, generator):
    return np.where((generator.random(len(x)) < 0.5)[:, None, None, None], x[:, :, ::-1], x)
