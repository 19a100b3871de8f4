# SPDX-License-Identifier: Apache-2.0
"""The data of the workloads and the start of the training, from the files that fare hands over
(docs/measuring-a-command.md has their form): the samples, order and parameters of fare's own training. Images stay
bytes, texts are whole numbers."""
import json
import sys

import numpy as np

TYPES = {"U8": np.uint8, "I32": np.int32, "I64": np.int64, "F32": np.float32}


class Data:
    """Training part and held-out part (or None), each samples and labels; the number of classes and, of texts, of
    different tokens and of tokens in a sample."""

    def __init__(self, train, test, classes, vocabulary=None, time=None):
        self.train, self.test, self.classes = train, test, classes
        self.vocabulary, self.time = vocabulary, time


class Texts:
    """Texts of different lengths, or overlapping windows, all in one row of tokens. A batch is cut out on request and
    padded with zeros, so that short texts take no room."""

    def __init__(self, tokens, starts, lengths, time):
        self.tokens, self.starts, self.lengths = tokens, starts, lengths  # lengths: None where all have `time`
        self.columns = np.arange(time)

    def __getitem__(self, picked):
        places = self.starts[picked, None] + self.columns
        if self.lengths is None:
            return self.tokens[places]
        inside = self.columns < self.lengths[picked, None]
        return self.tokens[places * inside] * inside.astype(np.int32)


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
            tensors[name] = np.frombuffer(memoryview(raw)[begin:end], TYPES[t["dtype"]]).reshape(t["shape"])
    except (OSError, ValueError, KeyError) as e:
        fail(f"cannot read the data '{path}': {e}")
    return tensors, texts


def load(name, path):
    if not path:
        fail(f"no data: 'fare run {name} --with keras' hands it over, as --data FILE")
    tensors, texts = read_tensors(path)
    number = {key: int(texts[key]) for key in ("classes", "vocabulary", "time") if key in texts}

    def samples(part, count):
        x = tensors.get(f"{part}.x")
        if x is not None:  # images get their channels last, as Keras has them
            return np.ascontiguousarray(x.transpose(0, 2, 3, 1)) if x.ndim == 4 else x
        tokens, time = tensors[f"{part}.tokens"], number["time"]
        if "stride" in texts:
            return Texts(tokens, np.arange(count) * int(texts["stride"]), None, time)
        starts = tensors[f"{part}.starts"]
        return Texts(tokens, starts[:-1], np.diff(starts).clip(max=time), time)

    def both(part):
        labels = tensors[f"{part}.y"]
        return samples(part, len(labels)), labels

    return Data(both("train"), both("test") if "test.y" in tensors else None, **number)


def load_start(path):
    """The samples' order in each epoch, and the net's initial parameters."""
    if not path:
        fail("no start: fare hands it over, as --start FILE")
    tensors, _ = read_tensors(path)
    return tensors.pop("order"), tensors


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
