#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Public checkpoints of Inception v4: one set of parameters under fare's names, timm's, TF-Slim's and Keras', each
in its layout, must give the logits of a second implementation, here in numpy and written from TF-Slim's definition
(tensorflow/models, research/slim/nets/inception_v4.py). The names are those of timm 1.0 and Cadene's
pretrained-models.pytorch, of that definition, and of kentsommer/keras-inceptionV4 and titu1994/Inception-v4, which
leave the names to Keras: conv2d, conv2d_1, ... in the order of creation."""
import json
import os
import re
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, os.environ["TESTS"])
import tap  # noqa: E402

try:
    import numpy as np
except ImportError:
    tap.skip("logits from public checkpoints", "python3 has no numpy")
    tap.done()

TOOL = Path(os.environ["BUILD"]) / "tests/train/checkpoint/inception_logits"
CLASSES, EPSILON = 1001, np.float32(0.001)
random = np.random.default_rng(1)


class Unit:
    """A convolution without bias and its batch norm, drawn when the image first passes."""

    def __init__(self, x, filters, h, w):
        fan_in = x.shape[0] * h * w
        self.kernel = random.normal(0, (2 / fan_in) ** .5, (filters, x.shape[0], h, w)).astype("f2").astype("f4")
        self.gamma, self.beta = (random.uniform(a, b, filters).astype("f4") for a, b in ((.5, 1.5), (-.3, .3)))

    def measure(self, y):
        """Mean squares for variances, and means that leave most of y: else a random net multiplies rounding errors
        by thousands."""
        self.mean = (y.mean((1, 2)) * random.uniform(-.1, .1, len(y))).astype("f4")
        self.variance = ((y * y).mean((1, 2)) * random.uniform(1.5, 2.5, len(y))).astype("f4")


def convolve(x, kernel, stride, same):
    h, w = kernel.shape[2:]
    if same:  # all of them have stride 1 and odd sizes
        x = np.pad(x, ((0, 0), (h // 2, h // 2), (w // 2, w // 2)))
    rows, columns = (x.shape[1] - h) // stride + 1, (x.shape[2] - w) // stride + 1
    out = np.zeros((len(kernel), rows * columns), "f4")
    for i in range(h):
        for j in range(w):
            part = x[:, i:i + stride * rows:stride, j:j + stride * columns:stride]
            out += kernel[:, :, i, j] @ part.reshape(len(x), -1)
    return out.reshape(len(kernel), rows, columns)


def max_pool(x):
    size = (x.shape[1] - 3) // 2 + 1
    return np.max([x[:, i:i + 2 * size:2, j:j + 2 * size:2] for i in range(3) for j in range(3)], 0)


def average_pool(x):
    """SAME, stride 1: cells outside do not count."""
    total = lambda y: sum(np.pad(y, ((0, 0), (1, 1), (1, 1)))[:, i:i + y.shape[1], j:j + y.shape[2]]
                          for i in range(3) for j in range(3))
    return total(x) / total(np.ones_like(x[:1]))


units = {}  # (TF-Slim's name, timm's) -> Unit, in the order of creation


def inception(x):
    def conv(x, filters, h, w, slim, timm, stride=1, same=True):
        u = units[slim, timm] = Unit(x, filters, h, w)
        y = convolve(x, u.kernel, stride, same)
        u.measure(y)
        scale = u.gamma / np.sqrt(u.variance + EPSILON)
        return np.maximum((y - u.mean[:, None, None]) * scale[:, None, None] + u.beta[:, None, None], 0)

    def chain(x, slim, timm, *parts):
        """Each part: filters, h, w, the end of TF-Slim's name, the end of timm's."""
        for filters, h, w, a, b in parts:
            x = conv(x, filters, h, w, f"{slim}/Conv2d_{a}_{h}x{w}", timm + b, 2 if a == "1a" and "4a" not in slim else 1,
                     a != "1a")
        return x

    join = lambda *parts: np.concatenate(parts)
    x = conv(x, 32, 3, 3, "Conv2d_1a_3x3", "features.0", 2, False)
    x = conv(x, 32, 3, 3, "Conv2d_2a_3x3", "features.1", 1, False)
    x = conv(x, 64, 3, 3, "Conv2d_2b_3x3", "features.2")
    x = join(max_pool(x), conv(x, 96, 3, 3, "Mixed_3a/Branch_1/Conv2d_0a_3x3", "features.3.conv", 2, False))
    s, t = "Mixed_4a/Branch_", "features.4.branch"
    x = join(chain(x, s + "0", t + "0.", (64, 1, 1, "0a", "0"), (96, 3, 3, "1a", "1")),
             chain(x, s + "1", t + "1.", (64, 1, 1, "0a", "0"), (64, 1, 7, "0b", "1"), (64, 7, 1, "0c", "2"),
                   (96, 3, 3, "1a", "3")))
    x = join(conv(x, 192, 3, 3, "Mixed_5a/Branch_0/Conv2d_1a_3x3", "features.5.conv", 2, False), max_pool(x))
    for i, letter in enumerate("bcde"):
        s, t = f"Mixed_5{letter}/Branch_", f"features.{6 + i}.branch"
        x = join(chain(x, s + "0", t + "0", (96, 1, 1, "0a", "")),
                 chain(x, s + "1", t + "1.", (64, 1, 1, "0a", "0"), (96, 3, 3, "0b", "1")),
                 chain(x, s + "2", t + "2.", (64, 1, 1, "0a", "0"), (96, 3, 3, "0b", "1"), (96, 3, 3, "0c", "2")),
                 chain(average_pool(x), s + "3", t + "3.", (96, 1, 1, "0b", "1")))
    s, t = "Mixed_6a/Branch_", "features.10.branch"
    x = join(chain(x, s + "0", t + "0", (384, 3, 3, "1a", "")),
             chain(x, s + "1", t + "1.", (192, 1, 1, "0a", "0"), (224, 3, 3, "0b", "1"), (256, 3, 3, "1a", "2")),
             max_pool(x))
    for i, letter in enumerate("bcdefgh"):
        s, t = f"Mixed_6{letter}/Branch_", f"features.{11 + i}.branch"
        x = join(chain(x, s + "0", t + "0", (384, 1, 1, "0a", "")),
                 chain(x, s + "1", t + "1.", (192, 1, 1, "0a", "0"), (224, 1, 7, "0b", "1"), (256, 7, 1, "0c", "2")),
                 chain(x, s + "2", t + "2.", (192, 1, 1, "0a", "0"), (192, 7, 1, "0b", "1"), (224, 1, 7, "0c", "2"),
                       (224, 7, 1, "0d", "3"), (256, 1, 7, "0e", "4")),
                 chain(average_pool(x), s + "3", t + "3.", (128, 1, 1, "0b", "1")))
    s, t = "Mixed_7a/Branch_", "features.18.branch"
    x = join(chain(x, s + "0", t + "0.", (192, 1, 1, "0a", "0"), (192, 3, 3, "1a", "1")),
             chain(x, s + "1", t + "1.", (256, 1, 1, "0a", "0"), (256, 1, 7, "0b", "1"), (320, 7, 1, "0c", "2"),
                   (320, 3, 3, "1a", "3")), max_pool(x))
    for i, letter in enumerate("bcd"):
        s, t = f"Mixed_7{letter}/Branch_", f"features.{19 + i}.branch"
        b0 = chain(x, s + "0", t + "0", (256, 1, 1, "0a", ""))
        b1 = chain(x, s + "1", t + "1_", (384, 1, 1, "0a", "0"))
        b1 = join(chain(b1, s + "1", t + "1_", (256, 1, 3, "0b", "1a")), chain(b1, s + "1", t + "1_", (256, 3, 1, "0c", "1b")))
        b2 = chain(x, s + "2", t + "2_", (384, 1, 1, "0a", "0"), (448, 3, 1, "0b", "1"), (512, 1, 3, "0c", "2"))
        b2 = join(chain(b2, s + "2", t + "2_", (256, 1, 3, "0d", "3a")), chain(b2, s + "2", t + "2_", (256, 3, 1, "0e", "3b")))
        x = join(b0, b1, b2, chain(average_pool(x), s + "3", t + "3.", (256, 1, 1, "0b", "1")))
    return x.mean((1, 2))


# ---- files

def own_name(timm):
    """The path in fare's PyTorch version of the net."""
    path = re.sub(r"^features\.", "f.", timm)
    path = {"f.3.conv": "f.3.b.1", "f.5.conv": "f.5.b.0"}.get(path, path)
    path = re.sub(r"branch(\d)", r"b.\1", path)
    path = re.sub(r"_(\d)([ab])$", lambda m: f".{m[1]}.b.{'ab'.index(m[2])}", path)
    return path.replace("_", ".")


def own(prefix="", conv="c", norm="b", name=own_name, head="d"):
    tensors = {}
    for (_, timm), u in units.items():
        path = prefix + name(timm)
        tensors |= {f"{path}.{conv}.weight": u.kernel.astype("f2"), f"{path}.{norm}.weight": u.gamma,
                    f"{path}.{norm}.bias": u.beta, f"{path}.{norm}.running_mean": u.mean,
                    f"{path}.{norm}.running_var": u.variance}
    return tensors | {f"{prefix}{head}.weight": weight, f"{prefix}{head}.bias": bias}


def timm_file():
    tensors = own("module.", "conv", "bn", lambda timm: timm, "last_linear")
    return tensors | {f"module.{t}.bn.num_batches_tracked": np.array(7, "i8") for _, t in units}


def slim_file():
    """Without scales, which are multiplied into the kernels."""
    tensors = {"global_step": np.array(5, "i8")}
    for (slim, _), u in units.items():
        path, kernel = "InceptionV4/" + slim, u.kernel * u.gamma[:, None, None, None]
        tensors |= {f"{path}/weights": kernel.transpose(2, 3, 1, 0), f"{path}/BatchNorm/beta": u.beta,
                    f"{path}/BatchNorm/moving_mean": u.mean * u.gamma, f"{path}/BatchNorm/moving_variance": u.variance}
    aux = "InceptionV4/AuxLogits/"
    for name, shape in (("Conv2d_1b_1x1", (1, 1, 1024, 128)), ("Conv2d_2a", (5, 5, 128, 768))):
        tensors[f"{aux}{name}/weights"] = np.zeros(shape, "f2")
        tensors |= {f"{aux}{name}/BatchNorm/{leaf}": np.ones(shape[3], "f4") for leaf in ("beta", "moving_mean", "moving_variance")}
    tensors |= {f"{aux}Aux_logits/weights": np.zeros((768, CLASSES), "f4"), f"{aux}Aux_logits/biases": bias}
    return tensors | {"InceptionV4/Logits/Logits/weights": weight.T, "InceptionV4/Logits/Logits/biases": bias}


def keras_file(first, twice):
    """Layers numbered from `first`, as a second net of a session is; in HDF5 the layer's name comes twice."""
    tensors, number = {}, lambda word, n: f"{word}_{n}" if n else word
    place = lambda layer, leaf: f"{layer}/{layer}/{leaf}:0" if twice else f"{layer}/{leaf}"
    for i, u in enumerate(units.values()):
        conv, norm = number("conv2d", first + i), number("batch_normalization", first + i)
        tensors[place(conv, "kernel")] = u.kernel.astype("f2").transpose(2, 3, 1, 0)
        tensors |= {place(norm, leaf): value for leaf, value in
                    (("gamma", u.gamma), ("beta", u.beta), ("moving_mean", u.mean), ("moving_variance", u.variance))}
    dense = number("dense", min(first, 1))
    return tensors | {place(dense, "kernel"): weight.T, place(dense, "bias"): bias}


def write(path, tensors):
    types, at, header = {"f2": "F16", "f4": "F32", "i8": "I64"}, 0, {}
    for name, t in tensors.items():
        header[name] = {"dtype": types[t.dtype.str[1:]], "shape": list(t.shape), "data_offsets": [at, at + t.nbytes]}
        at += t.nbytes
    text = json.dumps(header).encode()
    with open(path, "wb") as f:
        f.write(struct.pack("<Q", len(text)) + text)
        for t in tensors.values():
            f.write(np.ascontiguousarray(t).tobytes())


def run(tensors, classes, aux=False):
    with tempfile.TemporaryDirectory() as folder:
        write(f"{folder}/file", tensors)
        image.tofile(f"{folder}/image")
        for engine in ("cpu", "ref"):  # ref where there is no oneDNN; it takes a minute
            p = subprocess.run([TOOL, f"{folder}/file", str(classes), f"{folder}/image", engine, "aux" if aux else ""],
                               capture_output=True, text=True)
            if p.returncode < 2:
                break
    return np.array(p.stdout.split(), float), p.stderr.splitlines()


def compare(name, tensors, classes, loaded, *notes):
    got, lines = run(tensors, classes)
    expected = logits[CLASSES - classes:].astype(float)
    expected -= expected[0]
    difference = abs(got - expected).max() if len(got) == classes else None
    tap.report(f"{name}: the logits of the second implementation", difference is not None and difference < 1e-3,
               f"{difference}\n" + "\n".join(lines))
    tap.report(f"{name}: {loaded} tensors are loaded, and it says what is not", lines == [*notes, f"{loaded} loaded"], lines)


ramp = np.linspace(-1, 1, 299, dtype="f4")
image = np.stack([np.outer(ramp, ramp), np.sin(9 * np.add.outer(ramp, ramp ** 2)), random.uniform(-1, 1, (299, 299))]).astype("f4")
features = inception(image)
weight = random.normal(0, .05, (CLASSES, 1536)).astype("f4")
bias = random.normal(0, 1, CLASSES).astype("f4")
logits = weight @ features + bias
tap.report("149 convolutions, and logits that differ", len(units) == 149 and 1 < logits.std() < 20, (len(units), logits.std()))

names_of = "the file has the tensor names of "
unused_aux = ("'InceptionV4/AuxLogits/Aux_logits/biases', 'InceptionV4/AuxLogits/Aux_logits/weights', "
              "'InceptionV4/AuxLogits/Conv2d_1b_1x1/BatchNorm/beta' and 8 more: only in the file, not used")
compare("fare", own(), 1001, 747)
compare("timm", timm_file(), 1001, 747, names_of + "timm")
compare("TF-Slim, background left out", slim_file(), 1000, 149 * 4 + 2,
        "the classifier has 1001 classes in the file: the first, the background, is left out",
        "the file has no scales of batch norms: they start at 1", unused_aux, names_of + "TF-Slim")
compare("Keras", keras_file(0, False), 1001, 747, names_of + "Keras")
compare("Keras, from HDF5 and not the first net", keras_file(150, True), 1001, 747, names_of + "Keras")

values, lines = run(slim_file(), 5, aux=True)
tap.report("another number of classes: both classifiers start untrained", lines == [
    "'InceptionV4/AuxLogits/Aux_logits/weights' is 768×1001, not 768×5: the classifier starts untrained",
    "'InceptionV4/Logits/Logits/weights' is 1536×1001, not 1536×5: the classifier starts untrained",
    "the file has no scales of batch norms: they start at 1", "'global_step': only in the file, not used",
    names_of + "TF-Slim", f"{151 * 4} loaded"] and len(values) == 5, "\n".join(lines))
tap.done()
