# SPDX-License-Identifier: Apache-2.0
"""Estimates from several runs, corrected by reference runs, and what they learn from past ones: against the rules of
docs/estimating.md worked out here, with errors and constants in round figures."""
import csv
import json
import math
import os
import sys
from pathlib import Path

sys.path.insert(0, os.environ["TESTS"])
import tap  # noqa: E402
from tap import check, fare  # noqa: E402

FARE, ROOT = os.environ["FARE"], Path(os.environ["ROOT"])
HERE = Path(os.environ["TMPDIR"])
CONFIG = Path(os.environ["XDG_CONFIG_HOME"]) / "fare"
CORRELATION, PRIOR, COUNTS = 0.4, 1, 20
PLAIN, REFERENCE = {0.5: 1.1, 0.8: 1.3, 0.9: 1.5, 0.95: 2.0}, {0.5: 1.05, 0.8: 1.15, 0.9: 1.25, 0.95: 1.5}

(CONFIG / "offers").mkdir(parents=True)
(CONFIG / "estimate").mkdir()
(CONFIG / "offers" / "mine.csv").write_text("""\
provider,name,region,zone,kind,gpu,gpus,gpu_memory_gib,vcpus,memory_gib,cpu,bare_metal,price,currency,per,date,source
acme,l40s,here,,on-demand,L40S,1,48,16,128,,no,1.00,USD,hour,2026-11-01,mine
""")
(CONFIG / "estimate" / "errors.csv").write_text(
    "relation,bound,scale,trace,kind,median_percent,p90_percent,factor50,factor80,factor90,factor95,pairs,sources,borrowed\n"
    + "".join(f"other,gpu,one,{trace},known,9,29,{','.join(map(str, f.values()))},50,mine,\n" for trace, f in (("no", PLAIN), ("reference", REFERENCE))))
(CONFIG / "estimate" / "constants.csv").write_text(f"name,value\nsource_correlation,{CORRELATION}\nreference_prior,{PRIOR}\n")

GPUS = {"H100": "NVIDIA H100 80GB HBM3", "A100-80GB": "NVIDIA A100-SXM4-80GB", "L40S": "NVIDIA L40S"}


def record(number, script, gpu, seconds, **more):
    name = GPUS[gpu]
    return {"schema": "fare.run/1", "id": f"2026111{number}T000000Z-{number:012x}", "started": f"2026-11-1{number}T00:00:00Z", "name": script,
            "command": ["python", script], "framework": "command", "precision": "bf16", "batch": 64, "ended": "sampled", "full": False,
            "steps": 100, "total_steps": 1000, "machine": {"gpu": name, "gpus": 1, "fingerprint": gpu},
            "use": {"gpus": 1, "steady": {"gpu_percent": 97}, "gpu_list": [{"index": 0, "name": name}]},
            "projection": {"after_s": 60, "wall_s": seconds + 100, "train_s": seconds, "load_s": 100}} | more


def add(*records):
    (HERE / "runs.jsonl").write_text("".join(json.dumps(r) + "\n" for r in records))
    fare("runs", "import", str(HERE / "runs.jsonl"))


def table(name):
    with open(ROOT / "share" / name, newline="") as f:
        return list(csv.DictReader(f))


devices = {r["name"]: r for r in table("devices/gpus.csv")}
model = {r["kind"]: {k: float(v) for k, v in r.items() if k != "kind"} for r in table("estimate/model.csv")}


def ratio(a, b, kind):
    def time_on(name):
        d, m = devices[name], model[kind]
        boost = float(d["boost_mhz"])
        clock = (float(d["base_mhz"] or 0.7 * boost) / boost) ** m["clock_power"]
        matrix = float(d["bf16_tflops"]) * m["matrix_unit_efficiency"]
        return m["matrix"] / (matrix * clock) + m["memory"] / float(d["memory_gbs"]) + m["units"] / (float(d["units"]) * boost / 1000 * clock)
    return time_on(b) / time_on(a)


def together(*estimates):
    """(time, half-width) of several."""
    w = [1 / h ** 2 for _, h in estimates]
    middle = sum(x * math.log(t) for x, (t, _) in zip(w, estimates)) / sum(w)
    return math.exp(middle), math.sqrt(CORRELATION * min(h for _, h in estimates) ** 2 + (1 - CORRELATION) / sum(w))


def learnt(factors, errors):
    """By steps of a hundred-thousandth: the least factor that covers 90 % of the table's 20 and the own errors."""
    points = [(0, 0)] + [(math.log(f) / math.log(factors[0.9]), q) for q, f in factors.items()]
    for i in range(70000, 1000000):
        s = i / 1e5
        share = next((q0 + (q - q0) * (s - x0) / (x - x0) for (x0, q0), (x, q) in zip(points, points[1:]) if s < x), 0.95)
        if COUNTS * share + sum(e <= s for e in errors) >= 0.9 * (COUNTS + len(errors)):
            return s
    return 10


def near(got, expected, within=1e-4):
    assert abs(float(got) / expected - 1) < within, f"{got}, not {expected}"


def quoted(run):
    bills = json.loads(fare("quote", run, "--provider", "acme", "--boot", "0", "--image-time", "0s", "--json"))["estimates"]
    return next(b for b in bills if b["name"] == "l40s")


H = math.log(PLAIN[0.9])
X1, X2 = record(1, "resnet.py", "H100", 3500), record(2, "resnet.py", "A100-80GB", 6000)
# Another batch is another training, another precision no source beside these.
OTHER = record(3, "resnet.py", "A100-80GB", 100, batch=128)
add(X1)
# On the L40S, by each source; and each of the two by the other.
BY_H100, BY_A100 = 3500 * ratio("H100", "L40S", "conv"), 6000 * ratio("A100-80GB", "L40S", "conv")
H100_BY_A100 = 6000 * ratio("A100-80GB", "H100", "conv")
OFF = abs(math.log(3500 / H100_BY_A100)) / H  # both ways: the formula has no direction


def one_source():
    b = quoted(X1["id"])
    near(b["time_s"], 100 + BY_H100)
    near(b["high_s"], 100 + BY_H100 * PLAIN[0.9])
    assert "sources:" not in fare("quote", X1["id"], "--explain", "acme/l40s")
    assert "no estimate to check" in " ".join(fare("runs", "--estimates").split())
    assert "Estimated" not in fare("runs", X1["id"]) and "estimated" not in json.loads(fare("runs", X1["id"], "--json"))


check("one source, nothing to learn from", one_source)


def two_sources():
    add(X2, OTHER)
    b = quoted(X1["id"])
    time, half = together((BY_H100, H), (BY_A100, H))
    factor = learnt(PLAIN, [OFF, OFF])
    near(b["time_s"], 100 + time)
    near(b["high_s"], 100 + time * math.exp(half * factor), 1e-3)
    near(b["low_s"], 100 + time * math.exp(-half * factor), 1e-3)
    text = " ".join(fare("quote", X1["id"], "--explain", "acme/l40s").split())
    assert f"sources: the first counts 50 %, run {X2['id']} on A100-SXM4-80GB 50 %" in text, text
    assert f"learnt: from 2 estimates for runs of yours between such devices: interval × {factor:.2f}" in text, text
    assert len(text) < 1200


check("two sources of one precision and batch; past estimates change the interval", two_sources)

Y1, Y2 = record(4, "vgg.py", "H100", 1000), record(5, "vgg.py", "L40S", 3100)
MISSED = math.log(3100 / (1000 * ratio("H100", "L40S", "conv")))


def reference_runs():
    add(Y1, Y2)
    b = quoted(X1["id"])
    shift = math.exp(MISSED * 1 / (1 + PRIOR))
    near_one, far = (BY_H100 * shift, math.log(REFERENCE[0.9])), (BY_A100, H)
    time, half = together(near_one, far)
    factor = learnt(REFERENCE, [OFF, OFF, abs(MISSED) / H, abs(MISSED) / H])
    near(b["time_s"], 100 + time)
    near(b["high_s"], 100 + time * math.exp(half * factor), 1e-3)
    text = " ".join(fare("quote", X1["id"], "--explain", "acme/l40s").split())
    for words in (f"of which × {shift:.3g} by 1 training measured on both GPUs", "corrected by reference runs: 50 pairs",
                  "learnt: from 4 estimates"):
        assert words in text, (words, text)
    assert len(fare("quote", X1["id"], "--explain", "acme/l40s").splitlines()) <= 20


check("a training measured on both GPUs corrects another", reference_runs)

X3 = record(6, "resnet.py", "L40S", 8000)


def past():
    add(X3)
    found = json.loads(fare("runs", X3["id"], "--json"))["estimated"]
    shift = math.exp(MISSED / 2)
    time, half = together((BY_H100 * shift, math.log(REFERENCE[0.9])), (BY_A100, H))
    near(found["time_s"], time)
    near(found["high_s"], time * math.exp(half))
    near(found["error"], time / 8000 - 1)
    assert found["measured_s"] == 8000 and found["sources"] == 2 and found["from"] == X1["id"] and found["machine"] == "L40S", found
    assert found["within"] == (abs(math.log(8000 / time)) <= half), found
    text = " ".join(fare("runs", X3["id"], "--all").split())
    side = "low" if time < 8000 else "high"
    words = f"from run {X1['id'][17:23]} on H100 and 1 more:"
    assert words in text and f"{abs(time / 8000 - 1) * 100:.0f} % too {side}; {'within' if found['within'] else 'outside'} its interval" in text, text


check("the estimate that a measured run would have got, without it", past)


def summary():
    found = json.loads(fare("runs", "--estimates", "--json"))
    errors = sorted(abs(e["error"]) for e in found["estimates"])
    assert found["count"] == len(errors) == 5, found  # three of the conv net, two of the other
    near(found["median_error"], errors[2])
    assert found["within"] == sum(e["within"] for e in found["estimates"])
    text = " ".join(fare("runs", "--estimates").split())
    assert f"5 estimates of training times, each from your other runs: {errors[2] * 100:.0f} % off in the median" in text, text
    assert json.loads(fare("runs", "--estimates", "--name", "vgg.py", "--json"))["count"] == 2


check("how far off past estimates were, in all", summary)


def repeated():
    """Runs on a machine that was measured before teach nothing new."""
    add(*(record(4, "vgg.py", "L40S", 3100 + i) | {"id": f"20261114T010000Z-{i:012x}"} for i in range(1, 20)))
    assert json.loads(fare("runs", "--estimates", "--json"))["count"] == 5
    found = json.loads(fare("runs", f"20261114T010000Z-{19:012x}", "--json"))["estimated"]
    assert found["measured_s"] == 3119, found


check("repeated runs count once", repeated)


def another_kind():
    """A reference of another kind of net, or with another library, corrects nothing."""
    def time():
        return json.loads(fare("runs", X3["id"], "--json"))["estimated"]["time_s"]
    before = time()
    for i, script in enumerate(("bert.py", "alexnet.py")):
        add(*(record(4, script, gpu, s, libraries=[{"name": "torch", "version": version if script == "alexnet.py" else "2.8.0"}])
              | {"id": f"20261114T020000Z-{s + i:012x}"} for gpu, s, version in (("H100", 500, "2.7.1"), ("L40S", 900, "2.8.0"))))
        assert time() == before, script
    add(*(record(4, "vgg16.py", gpu, s) | {"id": f"20261114T020000Z-{s:012x}"} for gpu, s in (("H100", 600), ("L40S", 800))))
    assert time() != before


check("references of another kind or with other software correct nothing", another_kind)
tap.done()
