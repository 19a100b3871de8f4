#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Inception v4 of TF-Slim or of a Keras port, and fare's, from the same parameters on the same images.

    tensorflow_logits.py [--build DIR] [--images 3] (--slim FOLDER | --keras FILE)

FOLDER holds TF-Slim's nets/inception_v4.py: tensorflow/models' research/slim, also in the package
tf-object-detection. FILE is inception_v4.py of kentsommer/keras-inceptionV4 or titu1994/Inception-v4, as it is:
what it calls by names of Keras 1 and 2 is given from Keras 3. Draws parameters, saves them with safetensors under
the net's own names, and prints the largest difference between its logits and fare's. Needs Python with TensorFlow,
tf-slim, tf_keras and safetensors, and the program inception_logits from a build with tests.
"""
import argparse
import importlib
import os
import subprocess
import sys
import tempfile
import types
from importlib.metadata import version
from pathlib import Path

import numpy as np
from safetensors.numpy import save_file

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
parser.add_argument("--build", type=Path, default=Path(__file__).resolve().parent.parent / "build")
parser.add_argument("--images", type=int, default=3)
source = parser.add_mutually_exclusive_group(required=True)
source.add_argument("--slim", type=Path)
source.add_argument("--keras", type=Path)
args = parser.parse_args()
random, CLASSES = np.random.default_rng(4), 1001


def images():
    """Noise of several sizes, enlarged, within ±1."""
    spread = lambda n: np.arange(299) * n // 299
    return np.stack([random.uniform(-1, 1, (n, n, 3))[spread(n)][:, spread(n)] for n in range(2, 2 + 5 * args.images, 5)]).astype("f4")


def value(name, shape):
    """Class 0 has weights of 0, so that its logit is 0 and fare's others can be told from its softmax."""
    leaf = name.split("/")[-1]
    if leaf in ("weights", "kernel"):
        dense = len(shape) == 2 or "Logits/Logits" in name
        drawn = random.normal(0, .1 if dense else (2 / np.prod(shape[:-1])) ** .5, shape)
        if dense:
            drawn[..., 0] = 0
    elif leaf in ("biases", "bias"):
        drawn = random.normal(0, 1, shape)
        drawn[0] = 0
    else:
        low, high = {"beta": (-.3, .3), "gamma": (.7, 1.3), "moving_mean": (-.05, .05), "moving_variance": (.72, 1.32)}[leaf]
        drawn = random.uniform(low, high, shape)
    return drawn.astype("f4")


def run_slim(batch):
    import tensorflow
    import tf_keras  # noqa: F401
    tf = tensorflow.compat.v1
    for part in ("", ".normalization", ".convolutional", ".core", ".pooling", ".base"):  # where TensorFlow looks for them
        sys.modules["tf_keras.legacy_tf_layers" + part] = importlib.import_module("tf_keras.src.legacy_tf_layers" + part)
    import tf_slim
    tf.disable_eager_execution()
    tf.contrib = types.SimpleNamespace(slim=tf_slim)
    sys.path.insert(0, str(args.slim))
    sys.modules["tensorflow"] = tf  # the definition is for TensorFlow 1
    from nets import inception_utils, inception_v4
    sys.modules["tensorflow"] = tensorflow
    x = tf.placeholder(tf.float32, (None, 299, 299, 3))
    with tf_slim.arg_scope(inception_utils.inception_arg_scope()):
        logits, _ = inception_v4.inception_v4(x, num_classes=CLASSES, is_training=False)
    tensors = {v.op.name: value(v.op.name, v.shape.as_list()) for v in tf.global_variables()}
    with tf.Session() as session:
        for v in tf.global_variables():
            v.load(tensors[v.op.name], session)
        return tensors, session.run(logits, {x: batch}), f"TF-Slim {version('tf_slim')}, TensorFlow {tensorflow.__version__}"


def old_keras(layers):
    """Modules and calls of Keras 1 and 2 by those of Keras 3."""
    def convolution(filters, *size, strides=(1, 1), padding="same", subsample=None, border_mode=None, bias=False, **more):
        return layers.Conv2D(filters, size if len(size) == 2 else size[0], strides=subsample or strides,
                             padding=border_mode or padding, **{"use_bias": bias, **more})

    def pooling(layer):
        return lambda size, strides=None, padding="valid", border_mode=None: layer(size, strides, padding=border_mode or padding)

    def dense(units=None, output_dim=None, activation=None):
        return layers.Dense(units or output_dim)  # logits instead of shares

    names = {"Convolution2D": convolution, "MaxPooling2D": pooling(layers.MaxPooling2D), "Dense": dense,
             "AveragePooling2D": pooling(layers.AveragePooling2D), "BatchNormalization": layers.BatchNormalization,
             "concatenate": layers.concatenate, "convert_all_kernels_in_model": None, "get_file": None,
             "merge": lambda parts, mode, concat_axis: layers.concatenate(parts, axis=concat_axis)}
    return {**{n: getattr(layers, n) for n in ("Input", "Dropout", "Flatten", "Activation")}, **names}


def run_keras(batch):
    import keras
    names = old_keras(keras.layers)
    for name in ("layers", "layers.convolutional", "layers.normalization", "layers.merge", "utils.layer_utils", "utils.data_utils"):
        sys.modules["keras." + name] = types.SimpleNamespace(**names)
    backend = types.SimpleNamespace(image_data_format=lambda: "channels_last", image_dim_ordering=lambda: "tf", backend=keras.backend.backend)
    sys.modules["keras.backend"] = keras.backend = backend
    port = {"__name__": "port"}
    exec(compile(args.keras.read_text(), str(args.keras), "exec"), port)
    make = port.get("create_model")
    model = make(num_classes=CLASSES) if make else port["create_inception_v4"](nb_classes=CLASSES, load_weights=False)
    for w in model.weights:
        w.assign(value(w.path, w.shape))
    tensors = {w.path: w.numpy() for w in model.weights}
    return tensors, model.predict(batch, verbose=0), f"{args.keras.name}, Keras {keras.__version__} on {backend.backend()}"


batch = images()
tensors, theirs, what = (run_slim if args.slim else run_keras)(batch)
largest = 0.0
with tempfile.TemporaryDirectory() as folder:
    save_file({k: np.ascontiguousarray(v) for k, v in tensors.items()}, f"{folder}/file.safetensors")
    for image, logits in zip(batch, theirs.astype(float)):
        np.ascontiguousarray(image.transpose(2, 0, 1)).tofile(f"{folder}/image")
        p = subprocess.run([args.build / "tests/train/checkpoint/inception_logits", f"{folder}/file.safetensors", str(CLASSES), f"{folder}/image"],
                           capture_output=True, text=True, check=True)
        ours = np.array(p.stdout.split(), dtype=float)
        difference = abs(ours - logits).max()
        largest = np.maximum(largest, difference)  # keeps a NaN
        print(f"logits {logits.min():.3f} to {logits.max():.3f}, standard deviation {logits.std():.3f}; "
              f"largest difference {difference:.2e}; best class {logits.argmax()} and {ours.argmax()}")
print(p.stderr.strip())
print(f"images differ by up to {np.ptp(theirs, 0).max():.3f}; {what}: largest difference {largest:.2e}")
raise SystemExit(int(not largest <= 1e-3))
