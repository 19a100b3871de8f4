# SPDX-License-Identifier: Apache-2.0
"""The data of the workloads as tensors of PyTorch, and their changes while training."""
import sys
from pathlib import Path

import torch

sys.path.append(str(Path(__file__).resolve().parent.parent))
import handover  # noqa: E402

TYPES = {"U8": torch.uint8, "I16": torch.int16, "I32": torch.int32, "I64": torch.int64, "F32": torch.float32}


class Texts(handover.Texts):
    def to(self, device):
        for name in ("tokens", "starts", "lengths", "columns"):
            if getattr(self, name) is not None:
                setattr(self, name, getattr(self, name).to(device))
        return self


class Reader(handover.Reader):
    framework, texts = "pytorch", Texts

    def array(self, raw, kind, shape):
        return torch.frombuffer(raw, dtype=TYPES[kind]).view(shape)

    def count(self, number):
        return torch.arange(number)

    def labels(self, y):
        return y.long()


load, load_start = Reader().load, Reader().load_start


def shift_flip(x, generator):
    """Shifts of up to a tenth, edge pixels repeated, and flips, each image its own."""
    n, size = len(x), x.shape[-1]
    # As the original: uniform, not whole pixels; the nearest pixel is taken.
    shifts = ((torch.rand(n, 2, generator=generator) * 2 - 1) * 0.1 * size).round().long()
    flips = torch.rand(n, generator=generator) < 0.5
    base = torch.arange(size)
    rows = (base[None] + shifts[:, :1]).clamp(0, size - 1)
    columns = (base[None] + shifts[:, 1:]).clamp(0, size - 1)
    columns = torch.where(flips[:, None], columns.flip(1), columns)
    rows, columns = rows.to(x.device), columns.to(x.device)
    return x[torch.arange(n, device=x.device)[:, None, None, None],
             torch.arange(3, device=x.device)[None, :, None, None], rows[:, None, :, None], columns[:, None, None, :]]
