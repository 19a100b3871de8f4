# SPDX-License-Identifier: Apache-2.0
"""The data of the workloads, from the same files as fare reads and cleaned in the same way; or, where there are
none, the samples that fare made, from the file it hands over. Images stay bytes, texts are whole numbers."""
import csv
import gzip
import json
import re
import sys
from collections import Counter
from pathlib import Path

import torch


class Data:
    """Training part, held-out part (or None), how many classes there are; of texts how many tokens, and how many
    a sample has."""

    def __init__(self, name, train, test, classes, vocabulary=None, time=None, made=False, source=None, identity=None):
        self.name, self.train, self.test, self.classes = name, train, test, classes
        self.vocabulary, self.time = vocabulary, time
        self.made, self.source, self.identity = made, source, identity


def fail(text):
    sys.exit(f"fare: {text}")


def read_bytes(folder, *endings):
    """The file whose name ends so, packed or not."""
    for path in sorted(folder.iterdir()) if folder.is_dir() else [folder]:
        for ending in endings:
            if path.name.endswith(ending):
                return path.read_bytes()
            if path.name.endswith(ending + ".gz"):
                return gzip.decompress(path.read_bytes())
    fail(f"'{folder}' has no file that ends in {' or '.join(endings)}")


def tensor_of(raw):
    return torch.frombuffer(bytearray(raw), dtype=torch.uint8)


def mnist(folder):
    def part(name):
        images = tensor_of(read_bytes(folder, f"{name}-images-idx3-ubyte", f"{name}-images.idx3-ubyte")[16:])
        labels = tensor_of(read_bytes(folder, f"{name}-labels-idx1-ubyte", f"{name}-labels.idx1-ubyte")[8:])
        return images.view(-1, 1, 28, 28), labels.long()

    train = part("train")
    return Data("mnist", train, part("t10k"), int(train[1].max()) + 1)


def cifar(folder):
    if (folder / "cifar-10-batches-bin").is_dir():
        folder = folder / "cifar-10-batches-bin"

    def read(path):
        raw = tensor_of(path.read_bytes()).view(-1, 3073)
        return raw[:, 1:].reshape(-1, 3, 32, 32).contiguous(), raw[:, 0].long()

    parts = [read(p) for p in sorted(folder.glob("data_batch_*.bin"))]
    if not parts:
        fail(f"'{folder}' has no data_batch_*.bin")
    train = torch.cat([x for x, _ in parts]), torch.cat([y for _, y in parts])
    return Data("cifar10", train, read(folder / "test_batch.bin"), 10)


def ranks_of(rows):
    """Words by how often they come; those that come equally often in the order of their first coming."""
    return [word for word, _ in Counter(word for _, words in rows for word in words).most_common()]


def imdb(folder):
    def part(name):
        rows = []
        for line in read_bytes(folder, f"{name}.tsv").decode("utf-8").rstrip("\n").split("\n"):
            label, _, _, text = line.split("\t", 3)
            text = re.sub("[!\"#$%&()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~\t]", " ", text.replace("<br />", " "))
            rows.append((int(label), text.lower().split()))
        return rows

    train, test = part("train"), part("test")
    number = {word: i + 3 for i, word in enumerate(ranks_of(train)[:19997])}

    def tensors(rows):
        x = torch.zeros(len(rows), 100, dtype=torch.int32)
        for i, (_, words) in enumerate(rows):
            tokens = ([1] + [number.get(w, 2) for w in words])[-100:]
            x[i, 100 - len(tokens):] = torch.tensor(tokens, dtype=torch.int32)
        return x, torch.tensor([label for label, _ in rows])

    return Data("imdb", tensors(train), tensors(test), 2, vocabulary=20000, time=100)


def clean(text):
    text = re.sub(r"[^A-Za-z0-9(),!?'`]", " ", text)
    text = re.sub(r"(.)\1{2,}", r"\1\1", text)
    for part in ("'s", "'ve", "n't", "'re", "'d", "'ll"):
        text = text.replace(part, " " + part)
    for mark in ",!()?":
        text = text.replace(mark, f" {mark} ")
    return text.lower().split()


def read_tweets(folder):
    path = max(folder.glob("*.csv"), key=lambda p: p.stat().st_size, default=None) if folder.is_dir() else folder
    if path is None:
        fail(f"'{folder}' has no .csv")
    with open(path, newline="", encoding="utf-8", errors="replace") as f:
        rows = list(csv.reader(f))
    head, rows = rows[0], rows[1:]
    if head[0] == "ItemID":
        return [(int(r[1]), clean(",".join(r[3:]))) for r in rows]
    return [(int(r[0]), clean(r[1])) for r in rows]


def tweets(folder, seed=1):
    rows = read_tweets(folder)
    ranks = {word: i + 1 for i, word in enumerate(ranks_of(rows))}
    order = torch.randperm(len(rows), generator=torch.Generator().manual_seed(seed)).tolist()
    cut = len(rows) - len(rows) // 10
    longest = max(len(rows[i][1]) for i in order[:cut])
    x = torch.zeros(len(rows), longest, dtype=torch.int32)
    y = torch.zeros(len(rows), dtype=torch.long)
    for place, i in enumerate(order):
        words = rows[i][1][:longest]
        x[place, :len(words)] = torch.tensor([ranks[w] for w in words], dtype=torch.int32)
        y[place] = rows[i][0]
    return Data("tweets", (x[:cut], y[:cut]), (x[cut:], y[cut:]), 2, vocabulary=len(ranks) + 1, time=longest)


def nietzsche(folder):
    text = read_bytes(folder, ".txt").decode("utf-8").lower()
    number = {c: i for i, c in enumerate(sorted(set(text)))}
    tokens = torch.tensor([number[c] for c in text], dtype=torch.int32)
    x = tokens[:-1].unfold(0, 40, 3)  # a view: no window is copied before its batch is
    return Data("nietzsche", (x, tokens[40::3].long()), None, len(number), vocabulary=len(number), time=40)


def flowers(folder, seed=1):
    try:
        from PIL import Image
    except ImportError:
        fail(f"{sys.executable} has no Pillow, which reads JPEGs: pip install pillow")
    names = sorted(p.name for p in folder.iterdir() if p.is_dir() and not p.name.startswith("."))
    files = [(p, i) for i, n in enumerate(names) for p in sorted((folder / n).iterdir())
             if p.suffix.lower() in (".jpg", ".jpeg")]
    if not files:
        fail(f"'{folder}' has no folders with JPEGs in them")

    def read(path):
        image = Image.open(path).convert("RGB")
        w, h = image.size
        box = (w * 0.0625, h * 0.0625, w * 0.9375, h * 0.9375)  # the central 87.5 %
        return tensor_of(image.resize((299, 299), Image.BILINEAR, box).tobytes()).view(299, 299, 3).permute(2, 0, 1)

    order = torch.randperm(len(files), generator=torch.Generator().manual_seed(seed)).tolist()
    cut = len(files) - min(350, len(files) // 10)
    x = torch.stack([read(files[i][0]) for i in order])
    y = torch.tensor([files[i][1] for i in order])
    return Data("flowers", (x[:cut], y[:cut]), (x[cut:], y[cut:]), len(names))


READERS = {"mlp": mnist, "cnn": mnist, "cifar": cifar, "imdb": imdb, "tweets": tweets, "textgen": nietzsche,
           "inception": flowers}


def read_made(path):
    """A set that fare made. The file is of the form safetensors: the length of a header, the header as JSON, which
    says where each tensor lies, and the tensors."""
    types = {"U8": torch.uint8, "I32": torch.int32}
    try:
        with open(path, "rb") as f:
            header = json.loads(f.read(int.from_bytes(f.read(8), "little")))
            texts = header.pop("__metadata__")
            raw = bytearray(max(t["data_offsets"][1] for t in header.values()))
            if f.readinto(raw) != len(raw):
                raise ValueError("it is cut off")
    except (OSError, ValueError, KeyError) as e:
        fail(f"cannot read the made set '{path}': {e}")
    tensors = {}
    for name, t in header.items():
        begin, end = t["data_offsets"]
        tensors[name] = torch.frombuffer(memoryview(raw)[begin:end], dtype=types[t["dtype"]]).view(t["shape"])
    number = {key: int(texts[key]) for key in ("classes", "vocabulary", "time", "stride") if key in texts}
    if "train.tokens" in tensors:  # samples that overlap, as a view
        tensors["train.x"] = tensors["train.tokens"].unfold(0, number["time"], number.pop("stride"))

    def part(name):
        return tensors[f"{name}.x"], tensors[f"{name}.y"].long()

    return Data(texts["name"], part("train"), part("test") if "test.y" in tensors else None, made=True,
                source=texts["source"], identity=texts["identity"], **number)


def load(name, folder, made):
    if made:
        return read_made(made)
    if not folder:
        fail(f"no data: --data DIR names a folder with it; 'fare run {name} --with pytorch' makes a set where there is none")
    folder = Path(folder)
    if not folder.exists():
        fail(f"there is no '{folder}'")
    data = READERS[name](folder)
    data.source = str(folder)
    return data


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
