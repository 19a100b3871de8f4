#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""--with keras: how the backend is chosen, with a stand-in for Python; and, where FARE_PYTHON (else /usr/bin/python3) has
Keras 3, the workloads on each backend that is installed. The nets are compared with those of PyTorch, from fare's initial
parameters; the first losses with fare's own; the optimizers with their rules."""
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, os.path.join(os.environ["ROOT"], "tests"))
from tap import done, report, skip  # noqa: E402

FARE = os.environ["FARE"]
FOLDER = Path(os.environ["ROOT"]) / "share/frameworks"
PYTHON = os.environ.get("FARE_PYTHON") or "/usr/bin/python3"
BACKENDS = ("tensorflow", "jax", "torch")
# Parameters by definition, on generated sets.
PARAMETERS = {"mlp": 669_706, "cnn": 1_199_882, "cifar": 1_250_858, "imdb": 2_658_945, "textgen": 102_585,
              "tweets": 274_562 * 128 + 98_945}
# How far the first losses may be apart: they differ by dropout, cifar's also by shifts.
APART = {"textgen": 1e-5, "mlp": 0.1, "cnn": 0.1, "cifar": 0.15, "imdb": 0.05, "tweets": 0.05}


def fare(*args, **env):
    p = subprocess.run([FARE, "run", "--no-ledger", *map(str, args)], capture_output=True, text=True, timeout=900,
                       env={**os.environ, **env})
    runs = json.loads(p.stdout)["runs"] if "--json" in args and p.stdout else []
    return p.returncode, runs, p.stdout + p.stderr


def executable(path, text):
    path.write_text(text)
    path.chmod(0o755)
    return str(path)


def chosen(folder):
    fake = executable(folder / "python", '#!/bin/sh\necho "[$1 $KERAS_BACKEND]"\nfor i in 1 2 3; do\n'
                      'echo "{\\"step\\": $i, \\"samples\\": 128}" >>"$FARE_EVENTS"; sleep 0.02; done\n')
    for with_, own, want in (("keras:jax", "torch", "jax"), ("keras", "torch", "torch"), ("keras", "", "tensorflow")):
        code, runs, text = fare("textgen", "--with", with_, "--steps", 3, "--json", FARE_PYTHON=fake, KERAS_BACKEND=own)
        report(f"--with {with_}, KERAS_BACKEND={own}: {want}", code == 0 and f"keras/textgen.py {want}]" in text
               and runs[0]["framework"] == f"keras:{want}" and runs[0]["workload"] == "textgen", text)
    for with_, told in (("keras", True), ("keras:jax", False)):
        text = fare("textgen", "--with", with_, "--steps", 3, FARE_PYTHON=fake, KERAS_BACKEND="jax")[2]
        report(f"--with {with_} {'tells' if told else 'need not tell'} which one", ("Keras on jax" in text) is told, text)
    code, _, text = fare("l1", "--with", "keras:jax", FARE_PYTHON=fake)
    report("Keras has no l1", code != 0 and "keras has no l1" in text, text)
    here = {p.stem for p in (FOLDER / "keras").glob("*.py")}
    report("it has all seven nets", here >= {*PARAMETERS, "inception"}, here)


CHECK = """
import importlib.util, json, sys
sys.path[:0] = [KERAS, KERAS + "/../../python"]
import keras, numpy as np, torch
import data as sets, nets
name = sys.argv[1].rsplit("/", 1)[1][:-3]
files = dict(zip(sys.argv[2::2], sys.argv[3::2]))
data, (order, start) = sets.load(name, files["--data"]), sets.load_start(files["--start"])
spec = importlib.util.spec_from_file_location("theirs", KERAS + "/../pytorch/nets.py")
theirs = importlib.util.module_from_spec(spec)
spec.loader.exec_module(theirs)
x = data.train[0][order[0][:2 if name == "inception" else 8]]
net = nets.WORKLOADS[name].build(data)
net.start(start.values())
got = keras.ops.convert_to_numpy(net.model()(x, training=False))
other = theirs.WORKLOADS[name].build(data.vocabulary or data.classes)
theirs.glorot(other)
theirs.start(other, [torch.tensor(v) for v in start.values()])
other.eval()
y = torch.tensor(x.transpose(0, 3, 1, 2)).float() / 255 if x.ndim == 4 else torch.tensor(x).long()
y = y * 2 - 1 if name == "inception" else y
with torch.no_grad():
    want = other(y).numpy().reshape(got.shape)
print("check", json.dumps([float(abs(got - want).max()), float(abs(want).max())]))
"""

# Two steps of each optimizer, by the rules in src/train/net/net.h. Keras's RMSprop has epsilon inside the root: 1e-8 outside
# it changes a step of 0.03 by at most 1e-6 where the gradient is 0.001.
OPTIMIZERS = """
import sys
sys.path[:0] = [KERAS, KERAS + "/../../python"]
import keras, numpy as np
import nets
g, worst = np.array([[0.5, -1.0], [1e-3, 2.0]]), {}
def check(name, optimizer, rule):
    p = want = np.array([[1.0, 2.0], [-1.0, 0.5]])
    v = keras.Variable(p.astype("float32"))
    state = [np.zeros_like(p), np.zeros_like(p)] if name != "inception" else [np.ones_like(p), np.zeros_like(p)]
    for t in range(2):
        optimizer.apply([keras.ops.convert_to_tensor((g * (t + 1)).astype("float32"))], [v])
        want = rule(want, g * (t + 1), state, t)
    worst[name] = float(abs(keras.ops.convert_to_numpy(v) - want).max())
def rmsprop(rate, decay=0):
    def rule(p, g, s, t):
        s[0] = 0.9 * s[0] + 0.1 * g * g
        return p - rate / (1 + decay * t) * g / (np.sqrt(s[0]) + 1e-8)
    return rule
def adadelta(p, g, s, t):
    s[0] = 0.95 * s[0] + 0.05 * g * g
    u = g * np.sqrt(s[1] + 1e-8) / np.sqrt(s[0] + 1e-8)
    s[1] = 0.95 * s[1] + 0.05 * u * u
    return p - u
def adam(p, g, s, t):
    s[0], s[1] = 0.9 * s[0] + 0.1 * g, 0.999 * s[1] + 0.001 * g * g
    return p - 1e-3 * np.sqrt(1 - 0.999 ** (t + 1)) / (1 - 0.9 ** (t + 1)) * s[0] / (np.sqrt(s[1]) + 1e-8)
def slim(p, g, s, t):
    g = g + 4e-5 * p
    s[0] = 0.9 * s[0] + 0.1 * g * g
    s[1] = 0.9 * s[1] + 0.01 * g / np.sqrt(s[0] + 1)
    return p - s[1]
for name, rule in (("mlp", rmsprop(1e-3)), ("cifar", rmsprop(1e-4, 1e-6)), ("textgen", rmsprop(0.01)), ("cnn", adadelta),
                   ("imdb", adam)):
    check(name, nets.WORKLOADS[name].optimizer(), rule)
check("inception", nets.SlimRMSprop(0.01), slim)
print(worst)
assert len(worst) == 6 and max(worst.values()) < 5e-6
"""


# Trains textgen, which has no dropout, with RMSprop as defined: epsilon outside the root.
DEFINED = """
import sys
sys.path.insert(0, KERAS)
import training, backends
prepare = backends.prepare
def prepare_and_replace(o):
    prepare(o)
    import keras, nets
    class Defined(keras.optimizers.Optimizer):
        def build(self, variables):
            if not self.built:
                super().build(variables)
                self.squares = [self.add_variable_from_reference(v, name="square") for v in variables]
        def update_step(self, g, p, rate):
            a = self.squares[self._get_variable_index(p)]
            self.assign(a, 0.9 * a + 0.1 * keras.ops.square(g))
            self.assign_sub(p, rate * g / (keras.ops.sqrt(a) + 1e-8))
    nets.WORKLOADS["textgen"].optimizer = lambda: Defined(learning_rate=0.01)
backends.prepare = prepare_and_replace
sys.argv = sys.argv[1:]
training.main("textgen")
"""


def same_training(folder, backend):
    script = folder / "defined.py"
    script.write_text(f"KERAS = {str(FOLDER / 'keras')!r}\n" + DEFINED)
    python = executable(folder / "defines", f'#!/bin/sh\nexec "{PYTHON}" "{script}" "$@"\n')
    options = ("textgen", "--steps", 10, "--threads", 2, "--json")
    own = fare(*options)[1][0]["last_loss"]
    code, runs, text = fare(*options, "--with", f"keras:{backend}", FARE_PYTHON=python)
    report(f"{backend}, textgen: with epsilon as defined, the tenth loss is fare's too",
           code == 0 and abs(runs[0]["last_loss"] / own - 1) < 1e-4, (own, runs or text))


def same_net(folder, backend, name):
    """Without dropout and shifts, the net's outputs are PyTorch's."""
    script = folder / "check.py"
    script.write_text(f"KERAS = {str(FOLDER / 'keras')!r}\n" + CHECK)
    python = executable(folder / "checks", f'#!/bin/sh\nexec "{PYTHON}" "{script}" "$@"\n')
    text = fare(name, "--with", f"keras:{backend}", "--json", FARE_PYTHON=python)[2]
    said = [json.loads(line[6:]) for line in text.splitlines() if line.startswith("check ")]
    report(f"{backend}, {name}: the outputs are PyTorch's", len(said) == 1 and said[0][1] > 0
           and said[0][0] <= 1e-4 * said[0][1], said or text[-2000:])


def trains(backend, name):
    own = fare(name, "--steps", 4, "--threads", 2, "--json")[1][0]
    code, runs, text = fare(name, "--steps", 4, "--threads", 2, "--with", f"keras:{backend}", "--json", FARE_PYTHON=PYTHON)
    if code:
        report(f"{backend}, {name}: it trains", False, text)
        return
    run = runs[0]
    report(f"{backend}, {name}: it trains, with {PARAMETERS[name]} parameters", run["steps"] == 4
           and run["parameters"] == PARAMETERS[name], run)
    report(f"{backend}, {name}: the first loss is fare's, within {APART[name]}",
           abs(run["first_loss"] / own["first_loss"] - 1) < APART[name], (run["first_loss"], own["first_loss"]))
    report(f"{backend}, {name}: data, net, recipe and steps are fare's",
           all(run[k] == own[k] for k in ("data", "net", "recipe", "total_steps", "epochs", "batch", "threads", "precision")),
           (run, own))
    versions = {library["name"]: library["version"] for library in run["libraries"]}
    report(f"{backend}, {name}: versions are recorded", {"keras", backend, "python"} <= versions.keys()
           and versions["keras"].startswith("3."), versions)


def has(*modules):
    words = "; ".join(f"import {m}" for m in modules)
    return subprocess.run([PYTHON, "-c", words], capture_output=True, env={**os.environ, "KERAS_BACKEND": modules[0]}).returncode == 0


def real(folder):
    for i, backend in enumerate(BACKENDS):
        if not has(backend, "keras"):
            skip(f"the workloads train in Keras on {backend}", f"{PYTHON} has no keras and {backend}; FARE_PYTHON names another")
            continue
        p = subprocess.run([PYTHON, "-c", f"KERAS = {str(FOLDER / 'keras')!r}\n" + OPTIMIZERS], capture_output=True, text=True,
                           env={**os.environ, "KERAS_BACKEND": backend})
        report(f"{backend}: the optimizers follow their rules", p.returncode == 0, p.stdout + p.stderr)
        for name in PARAMETERS:
            trains(backend, name)
        same_training(folder, backend)
        for name in (*PARAMETERS, "inception") if has("torch", "keras") else ():
            same_net(folder, backend, name)


os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
with tempfile.TemporaryDirectory() as scratch:
    os.environ["XDG_CACHE_HOME"] = scratch  # no data that was fetched
    chosen(Path(scratch))
    real(Path(scratch))
done()
