# SPDX-License-Identifier: Apache-2.0
"""Makes a step and an evaluation of each workload's net in Keras, with the back end of KERAS_BACKEND, on a few samples; prints
TAP's reasons as JSON, a line each: [name, passed, why]. Run by test_keras.py with a Python that has Keras."""
import json
import sys
import types
from pathlib import Path

sys.path[:0] = [str(Path(sys.argv[1]) / "frameworks/keras")]
import keras  # noqa: E402
import nets  # noqa: E402
import numpy as np  # noqa: E402

random = np.random.default_rng(1)
SMALL = types.SimpleNamespace(classes=3, time=5, vocabulary=7)


def samples(net, name, count=4):
    shape = tuple(net.input.shape[1:])
    x = random.integers(0, 256, (count, *shape)).astype("uint8") if len(shape) == 3 else random.integers(0, 7, (count, *shape)).astype("int32")
    classes = 2 if name in ("imdb", "tweets") else 7 if name == "textgen" else 3
    return x, (np.arange(count) % classes).astype("int64")


def tell(name, passed, why):
    print(json.dumps([name, bool(passed), str(why)]), flush=True)


def trains(name, net, optimizer):
    x, y = samples(net, name)
    model = net.model()
    loss, metrics = nets.loss_and_metrics(name)
    model.compile(optimizer, loss=loss, metrics=metrics)
    before = [np.array(keras.ops.convert_to_numpy(v)) for v in model.trainable_variables]
    model.fit(x, y, batch_size=4, epochs=1, verbose=0, shuffle=False)
    changed = sum(bool((a != keras.ops.convert_to_numpy(b)).any()) for a, b in zip(before, model.trainable_variables))
    result = model.evaluate(x, y, verbose=0, return_dict=True)
    logits = np.asarray(model.predict(x, verbose=0))
    right = (logits[:, 0] > 0) == (y > 0) if logits.shape[1] == 1 else logits.argmax(1) == y
    tell(f"{name}: a step changes its parameters, and its accuracy is the share of right answers",
         changed == len(before) and abs(result["accuracy"] - right.mean()) < 1e-6 and np.isfinite(result["loss"]),
         (changed, len(before), result, right.mean()))


def small_inception():
    """The parts that it is made of: the whole net takes minutes to compile."""
    net = nets.image(9, 3, -1.0)
    nets.unit(net, "4 3x3s2V")
    nets.branches(net, "2 1x1", "2 1x1, 3 3x3", "avg 2 1x1", "2 1x1 | 2 1x3 | 2 3x1")
    return net.add(keras.layers.GlobalAveragePooling2D(), keras.layers.Dropout(0.2), keras.layers.Dense(3))


def slim_rmsprop():
    """By the definition: mean squares start at 1, decay 0.9, epsilon 1 in the root; momentum 0.9; weights decay by 4e-5."""
    rate, value = 0.01, np.array([[0.5, -2.0]], "float32")
    variable = keras.Variable(value)
    optimizer = nets.SlimRMSprop(rate)
    square, momentum = np.ones_like(value), np.zeros_like(value)
    for gradient in (np.array([[0.3, 1.0]], "float32"), np.array([[-0.1, 2.0]], "float32")):
        optimizer.apply([keras.ops.convert_to_tensor(gradient)], [variable])
        g = gradient + 4e-5 * value
        square = 0.9 * square + 0.1 * g * g
        momentum = 0.9 * momentum + rate * g / np.sqrt(square + 1)
        value = value - momentum
    got = keras.ops.convert_to_numpy(variable)
    tell("inception's optimizer is the one of its definition", np.allclose(got, value, rtol=1e-5), (got, value))


for name, workload in nets.WORKLOADS.items():
    try:
        if name == "inception":
            trains(name, small_inception(), nets.SlimRMSprop(0.01))
        else:
            trains(name, workload.build(SMALL), workload.optimizer())
    except Exception as e:
        tell(f"{name}: it trains", False, repr(e))
try:
    slim_rmsprop()
except Exception as e:
    tell("inception's optimizer", False, repr(e))
