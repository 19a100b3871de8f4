# SPDX-License-Identifier: Apache-2.0
"""The data of the workloads and the start of the training, from the files that fare hands over
(docs/measuring-a-command.md has their form): the samples, order and parameters of fare's own training. Images stay
bytes, texts are whole numbers."""
import json
import sys

import torch

TYPES = {"U8": torch.uint8, "I32": torch.int32, "I64": torch.int64, "F32": torch.float32}


class Data:
    """Training part and held-out part (or None), each samples and labels; how many classes there are; of texts how
    many different tokens, and how many a sample has."""

    def __init__(self, train, test, classes, vocabulary=None, time=None):
        self.train, self.test, self.classes = train, test, classes
        self.vocabulary, self.time = vocabulary, time


class Texts:
    """Texts of different lengths, or windows that overlap, all in one row of tokens. A batch of them is cut out when
    it is asked for, with zeros behind the short ones: a million tweets without a million paddings."""

    def __init__(self, tokens, starts, lengths, time):
        self.tokens, self.starts, self.lengths = tokens, starts, lengths  # lengths: None where all have `time`
        self.columns = torch.arange(time)

    def __len__(self):
        return len(self.starts)

    def __getitem__(self, picked):
        places = self.starts[picked, None] + self.columns
        if self.lengths is None:
            return self.tokens[places]
        inside = self.columns < self.lengths[picked, None]
        return self.tokens[places * inside] * inside

    def to(self, device):
        for name in ("tokens", "starts", "lengths", "columns"):
            if getattr(self, name) is not None:
                setattr(self, name, getattr(self, name).to(device))
        return self


def fail(text):
    sys.exit(f"fare: {text}")


def read_tensors(path):
    """Tensors, in the order of the file, and texts of a safetensors file: the length of a header, the header as JSON,
    which says where each tensor lies, and the tensors."""
    tensors = {}
    try:
        with open(path, "rb") as f:
            header = json.loads(f.read(int.from_bytes(f.read(8), "little")))
            texts = header.pop("__metadata__", {})
            raw = bytearray(max(t["data_offsets"][1] for t in header.values()))
            if f.readinto(raw) != len(raw):
                raise ValueError("it is cut off")
        for name, t in header.items():
            begin, end = t["data_offsets"]
            tensors[name] = torch.frombuffer(memoryview(raw)[begin:end], dtype=TYPES[t["dtype"]]).view(t["shape"])
    except (OSError, ValueError, KeyError) as e:
        fail(f"cannot read the data '{path}': {e}")
    return tensors, texts


def load(name, path):
    if not path:
        fail(f"no data: 'fare run {name} --with pytorch' hands it over, as --data FILE")
    tensors, texts = read_tensors(path)
    number = {key: int(texts[key]) for key in ("classes", "vocabulary", "time") if key in texts}

    def samples(part, count):
        if f"{part}.x" in tensors:
            return tensors[f"{part}.x"]
        tokens, time = tensors[f"{part}.tokens"], number["time"]
        if "stride" in texts:
            return Texts(tokens, torch.arange(count) * int(texts["stride"]), None, time)
        starts = tensors[f"{part}.starts"]
        return Texts(tokens, starts[:-1], starts.diff().clamp(max=time), time)

    def both(part):
        labels = tensors[f"{part}.y"].long()
        return samples(part, len(labels)), labels

    return Data(both("train"), both("test") if "test.y" in tensors else None, **number)


def load_start(path):
    """The samples' order in each epoch, and the net's initial parameters."""
    if not path:
        fail("no start: fare hands it over, as --start FILE")
    tensors, _ = read_tensors(path)
    return tensors.pop("order").long(), tensors


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
