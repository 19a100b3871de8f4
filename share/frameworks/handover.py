# SPDX-License-Identifier: Apache-2.0
"""Reads the files that fare hands over (docs/measuring-a-command.md has their form): the samples, their order and the
initial parameters of fare's own training. Images stay bytes, texts are whole numbers. The arrays are those of the
framework, which says in a Reader how it makes them."""
import json
import sys


class Data:
    """Training part and held-out part (or None), each samples and labels; the number of classes and, of texts, of
    different tokens and of tokens in a sample."""

    def __init__(self, train, test, classes, vocabulary=None, time=None):
        self.train, self.test, self.classes = train, test, classes
        self.vocabulary, self.time = vocabulary, time


class Texts:
    """Texts of different lengths, or overlapping windows, all in one row of tokens. A batch is cut out on request and
    padded with zeros, so that short texts take no room."""

    def __init__(self, tokens, starts, lengths, columns):
        self.tokens, self.starts, self.lengths = tokens, starts, lengths  # lengths: None where all have len(columns)
        self.columns = columns  # 0, 1, 2 ...

    def __len__(self):
        return len(self.starts)

    def __getitem__(self, picked):
        places = self.starts[picked, None] + self.columns
        if self.lengths is None:
            return self.tokens[places]
        inside = self.columns < self.lengths[picked, None]
        return self.tokens[places * inside] * inside


def fail(text):
    sys.exit(f"fare: {text}")


class Reader:
    framework = texts = None  # its name for --with, and its class of texts

    def array(self, raw, kind, shape):
        """The bytes as an array. `kind`: U8, I16, I32, I64 or F32."""
        raise NotImplementedError

    def count(self, number):
        """The array 0, 1 ... number - 1."""
        raise NotImplementedError

    def images(self, x):
        return x

    def labels(self, y):
        return y

    def tensors(self, path):
        """Tensors, in the order of the file, and texts of a safetensors file: the length of a header, the header as
        JSON, which says where each tensor lies, and the tensors."""
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
                tensors[name] = self.array(memoryview(raw)[begin:end], t["dtype"], t["shape"])
        except (OSError, ValueError, KeyError) as e:
            fail(f"cannot read the data '{path}': {e}")
        return tensors, texts

    def load(self, name, path):
        if not path:
            fail(f"no data: 'fare run {name} --with {self.framework}' hands it over, as --data FILE")
        tensors, texts = self.tensors(path)
        number = {key: int(texts[key]) for key in ("classes", "vocabulary", "time") if key in texts}

        def samples(part, count):
            if f"{part}.x" in tensors:
                return self.images(tensors[f"{part}.x"])
            tokens, columns = tensors[f"{part}.tokens"], self.count(number["time"])
            if "stride" in texts:
                return self.texts(tokens, self.count(count) * int(texts["stride"]), None, columns)
            starts = tensors[f"{part}.starts"]
            return self.texts(tokens, starts[:-1], (starts[1:] - starts[:-1]).clip(max=number["time"]), columns)

        if "train.tokens" in tensors and "train.y" not in tensors:  # one label per token
            return Data(tensors["train.tokens"], tensors.get("test.tokens"), **number)

        def both(part):
            labels = tensors[f"{part}.y"]
            return samples(part, len(labels)), self.labels(labels)

        return Data(both("train"), both("test") if "test.y" in tensors else None, **number)

    def load_start(self, path):
        """The samples' order in each epoch, and the net's initial parameters."""
        if not path:
            fail("no start: fare hands it over, as --start FILE")
        tensors, _ = self.tensors(path)
        return self.labels(tensors.pop("order")), tensors
