# SPDX-License-Identifier: Apache-2.0
"""The nets of the workloads in Keras 3, by the same definitions as fare's own: layers, start, optimizer."""
import re

import keras
import numpy as np
from keras import layers


LSTM_OPTIONS = {}  # of every LSTM: fitting.py sets use_cudnn to False for --plain


class OneHot(layers.Layer):
    def __init__(self, classes):
        super().__init__()
        self.classes = classes

    def call(self, x):
        return keras.ops.one_hot(x, self.classes, dtype=self.compute_dtype)

    def compute_output_shape(self, shape):
        return (*shape, self.classes)


class Net:
    """A net in the making. `made` has the layers with parameters in the order in which fare has them."""

    def __init__(self, shape, dtype):
        self.input = self.x = keras.Input(shape, dtype=dtype)
        self.made = []
        self.flat = {}  # dense layers after an image: its shape

    def add(self, *added):
        for layer in added:
            if isinstance(layer, layers.Dense) and len(self.x.shape) == 4:
                self.flat[layer] = self.x.shape[1:]
                self.x = layers.Flatten()(self.x)
            self.x = layer(self.x)
            if layer.weights:
                self.made.append(layer)
        return self

    def model(self):
        # The loss needs 32 bits in mixed precision.
        return keras.Model(self.input, layers.Activation("linear", dtype="float32")(self.x))

    def start(self, values):
        """Takes fare's initial parameters, which lie as in PyTorch."""
        values = iter(values)
        for layer in self.made:
            for variable in layer.trainable_variables:
                value = next(values)
                if layer in self.flat and value.ndim == 2:
                    h, w, c = self.flat[layer]
                    value = value.reshape(-1, c, h, w).transpose(0, 2, 3, 1).reshape(len(value), -1)
                if value.ndim == 4:
                    value = value.transpose(2, 3, 1, 0)
                elif value.ndim == 2 and not isinstance(layer, layers.Embedding):
                    value = value.T
                if value.shape != tuple(variable.shape):
                    raise ValueError(f"a parameter of fare's net has the shape {value.shape}, not {tuple(variable.shape)}")
                variable.assign(np.ascontiguousarray(value))
        if next(values, None) is not None:
            raise ValueError("fare's net has more parameters")


def conv(filters, size=3, padding="valid"):
    return layers.Conv2D(filters, size, padding=padding, activation="relu")


def dense(units):
    return layers.Dense(units, activation="relu")


def image(size, channels, offset=0.0):
    net = Net((size, size, channels), "uint8")
    return net.add(layers.Rescaling((1 - offset) / 255, offset))


def digits(data):
    return image(28, 1).add(dense(512), layers.Dropout(0.2), dense(512), layers.Dropout(0.2), layers.Dense(data.classes))


def digits_conv(data):
    return image(28, 1).add(conv(32), conv(64), layers.MaxPooling2D(), layers.Dropout(0.25),
                            dense(128), layers.Dropout(0.5), layers.Dense(data.classes))


def photographs(data):
    net = image(32, 3)
    for filters in (32, 64):
        net.add(conv(filters, padding="same"), conv(filters), layers.MaxPooling2D(), layers.Dropout(0.25))
    return net.add(dense(512), layers.Dropout(0.5), layers.Dense(data.classes))


def both_ways(data):
    return Net((data.time,), "int32").add(layers.Embedding(data.vocabulary, 128), layers.Bidirectional(layers.LSTM(64, **LSTM_OPTIONS)),
                                          layers.Dropout(0.5), layers.Dense(1))


def next_character(data):
    return Net((data.time,), "int32").add(OneHot(data.vocabulary), layers.LSTM(128, **LSTM_OPTIONS), layers.Dense(data.vocabulary))


def unit(net, text):
    """Convolution, batch norm, relu: "96 3x3s2V" has 96 filters, stride 2 and no padding."""
    m = re.fullmatch(r"(\d+) (\d)x(\d)(s2)?(V)?", text)
    net.add(layers.Conv2D(int(m[1]), (int(m[2]), int(m[3])), 2 if m[4] else 1, "valid" if m[5] else "same", use_bias=False),
            layers.BatchNormalization(momentum=0.9997, epsilon=0.001), layers.ReLU())


def branches(net, *texts):
    """Branches side by side, each a text of units; 'avg …', 'max' and '… | a | b' (a fork) too."""
    start, ends = net.x, []
    for text in texts:
        net.x = start
        head, *forks = text.split(" | ")
        for part in head.split(", "):
            if part == "max":
                net.add(layers.MaxPooling2D(3, 2))
                continue
            if part.startswith("avg "):
                net.add(layers.AveragePooling2D(3, 1, "same"))
            unit(net, part.removeprefix("avg "))
        if forks:
            branches(net, *forks)
        ends.append(net.x)
    net.x = layers.Concatenate()(ends)


def inception(data):
    a = ("96 1x1", "64 1x1, 96 3x3", "64 1x1, 96 3x3, 96 3x3", "avg 96 1x1")
    b = ("384 1x1", "192 1x1, 224 1x7, 256 7x1", "192 1x1, 192 7x1, 224 1x7, 224 7x1, 256 1x7", "avg 128 1x1")
    c = ("256 1x1", "384 1x1 | 256 1x3 | 256 3x1", "384 1x1, 448 3x1, 512 1x3 | 256 1x3 | 256 3x1", "avg 256 1x1")
    net = image(299, 3, -1.0)
    for text in ("32 3x3s2V", "32 3x3V", "64 3x3"):
        unit(net, text)
    for texts in (("max", "96 3x3s2V"), ("64 1x1, 96 3x3V", "64 1x1, 64 1x7, 64 7x1, 96 3x3V"), ("192 3x3s2V", "max"),
                  *[a] * 4, ("384 3x3s2V", "192 1x1, 224 3x3, 256 3x3s2V", "max"),
                  *[b] * 7, ("192 1x1, 192 3x3s2V", "256 1x1, 256 1x7, 320 7x1, 320 3x3s2V", "max"), *[c] * 3):
        branches(net, *texts)
    return net.add(layers.GlobalAveragePooling2D(), layers.Dropout(0.2), layers.Dense(data.classes))


class SlimRMSprop(keras.optimizers.Optimizer):
    """As Inception's original has it: the averages start at 1, epsilon (1) stands inside the root, and only the
    weights of convolutions and dense layers decay."""

    def __init__(self, rate):
        super().__init__(learning_rate=rate, name="slim_rmsprop")

    def build(self, variables):
        if self.built:
            return
        super().build(variables)
        # One by one: Keras 3.3 has no add_optimizer_variables().
        self.squares = [self.add_variable_from_reference(v, name="square", initializer="ones") for v in variables]
        self.momenta = [self.add_variable_from_reference(v, name="momentum") for v in variables]

    def update_step(self, gradient, variable, learning_rate):
        at = self._get_variable_index(variable)
        square, momentum = self.squares[at], self.momenta[at]
        if len(variable.shape) > 1:
            gradient = gradient + 4e-5 * variable
        self.assign(square, 0.9 * square + 0.1 * keras.ops.square(gradient))
        self.assign(momentum, 0.9 * momentum + learning_rate * gradient * keras.ops.rsqrt(square + 1.0))
        self.assign_sub(variable, momentum)


def rmsprop(rate):
    """By definition epsilon (1e-8) stands outside the root; Keras has it inside."""
    return lambda: keras.optimizers.RMSprop(rate, 0.9, epsilon=1e-16)


def rmsprop_decaying():
    return rmsprop(keras.optimizers.schedules.InverseTimeDecay(1e-4, 1, 1e-6))()


def adam():
    return keras.optimizers.Adam(1e-3, epsilon=1e-8)


class Workload:
    def __init__(self, build, batch, epochs, optimizer):
        self.build, self.batch, self.epochs, self.optimizer = build, batch, epochs, optimizer


WORKLOADS = {
    "mlp": Workload(digits, 128, 20, rmsprop(0.001)),
    "cnn": Workload(digits_conv, 128, 12, lambda: keras.optimizers.Adadelta(1.0, 0.95, epsilon=1e-8)),
    "cifar": Workload(photographs, 32, 20, rmsprop_decaying),
    "imdb": Workload(both_ways, 32, 4, adam),
    "tweets": Workload(both_ways, 32, 4, adam),
    "textgen": Workload(next_character, 128, 10, rmsprop(0.01)),
    "inception": Workload(inception, 32, 0, None),  # a rate for each stage
}


def same_sign(labels, logits):
    """The accuracy of logits. BinaryAccuracy(threshold=0.0) would do, but Keras 3.3 refuses that threshold."""
    labels = keras.ops.reshape(labels, keras.ops.shape(logits))
    return keras.ops.cast(keras.ops.equal(logits > 0, labels > 0), "float32")


def loss_and_metrics(name):
    if name in ("imdb", "tweets"):
        return keras.losses.BinaryCrossentropy(from_logits=True), [keras.metrics.MeanMetricWrapper(same_sign, name="accuracy")]
    return keras.losses.SparseCategoricalCrossentropy(from_logits=True), ["accuracy"]
