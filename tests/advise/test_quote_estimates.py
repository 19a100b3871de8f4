# SPDX-License-Identifier: Apache-2.0
"""fare quote: estimates for offers without a run, against the formula of docs/estimating.md worked out here."""
import csv
import json
import math
import os
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, os.environ["TESTS"])
import tap  # noqa: E402

FARE, ROOT = os.environ["FARE"], Path(os.environ["ROOT"])
HERE = Path(os.environ["TMPDIR"])
CONFIG = Path(os.environ["XDG_CONFIG_HOME"]) / "fare"

(CONFIG / "offers").mkdir(parents=True)
(CONFIG / "providers").mkdir()
(CONFIG / "offers" / "mine.csv").write_text("""\
provider,name,region,zone,kind,gpu,gpus,gpu_memory_gib,vcpus,memory_gib,cpu,bare_metal,price,currency,per,date,source
acme,own,here,,on-demand,H100,1,80,16,128,,no,3.00,USD,hour,2026-11-01,mine
acme,sure,here,,on-demand,A100-80GB,1,80,16,128,,no,0.40,USD,hour,2026-11-01,mine
acme,sure,dear,,on-demand,A100-80GB,1,80,16,128,,no,0.90,USD,hour,2026-11-01,mine
acme,near,here,,on-demand,A100-80GB,1,80,16,128,,no,1.20,USD,hour,2026-11-01,mine
acme,eight,here,,on-demand,A100-80GB,8,80,16,128,,no,9.00,USD,hour,2026-11-01,mine
acme,amd,here,,on-demand,MI300X,1,192,16,128,,no,9.00,USD,hour,2026-11-01,mine
acme,small,here,,on-demand,T4,1,16,16,128,,no,0.01,USD,hour,2026-11-01,mine
acme,volta,here,,on-demand,V100-32GB,1,32,16,128,,no,0.01,USD,hour,2026-11-01,mine
acme,poor,here,,on-demand,A100-80GB,1,80,16,8,,no,0.01,USD,hour,2026-11-01,mine
acme,cpu,here,,on-demand,,,,4,16,Acme CPU 9000,no,0.01,USD,hour,2026-11-01,mine
acme,part,here,,on-demand,H100,0.5,40,4,16,,no,0.01,USD,hour,2026-11-01,mine
""")
(CONFIG / "providers" / "acme.json").write_text(json.dumps({"schema": "fare.tariffs/1", "tariffs": [
    {"id": "acme", "provider": "acme", "kind": "on-demand", "unit_ms": 1000, "source": "mine", "date": "2026-11-01"}]}))

H100 = "NVIDIA H100 80GB HBM3"
RUN = {"schema": "fare.run/1", "id": "20261110T000000Z-resnet", "started": "2026-11-10T00:00:00Z", "name": "my resnet50",
       "framework": "command", "precision": "bf16", "batch": 64, "ended": "sampled", "full": False, "steps": 100,
       "total_steps": 1000, "peak_memory_bytes": 20 << 30, "machine": {"gpu": H100, "gpus": 1, "fingerprint": "aa"},
       "use": {"gpus": 1, "steady": {"gpu_percent": 97}, "gpu_list": [{"index": 0, "name": H100, "memory_peak_bytes": 20 << 30}]},
       "projection": {"after_s": 60, "wall_s": 3600, "low_s": 3420, "high_s": 3780, "train_s": 3500, "load_s": 100}}
LAPTOP = {"schema": "fare.run/1", "id": "20261111T000000Z-laptop", "started": "2026-11-11T00:00:00Z", "name": "laptop",
          "framework": "command", "ended": "finished", "full": True, "batch": 8, "use": {"gpus": 0},
          "machine": {"cpu": "Some Laptop CPU", "usable_cpus": 8.0, "thread_ops_per_s": 4e9}, "phases": {"wall_ns": 10**13}}
(HERE / "runs.jsonl").write_text(json.dumps(RUN) + "\n" + json.dumps(LAPTOP) + "\n")


def fare(*args, code=0):
    p = subprocess.run([FARE, *args], capture_output=True, text=True, check=False)
    if p.returncode != code:
        raise AssertionError(f"{args}: {p.returncode}\n{p.stdout}\n{p.stderr}")
    return p.stdout


def quote(*args):
    return json.loads(fare("quote", *args, "--provider", "acme", "--boot", "0", "--image", "0s", "--json"))


def check(name, action):
    try:
        action()
        tap.report(name, True)
    except (AssertionError, KeyError, IndexError, StopIteration) as e:
        tap.report(name, False, f"{type(e).__name__}: {e}")


def table(name):
    with open(ROOT / "share" / name, newline="") as f:
        return list(csv.DictReader(f))


fare("runs", "import", str(HERE / "runs.jsonl"))
devices = {r["name"]: r for r in table("devices/gpus.csv")}
model = {r["kind"]: r for r in table("estimate/model.csv")}
factor = {tuple(r[k] for k in ("relation", "bound", "scale", "trace", "kind")): float(r["factor90"]) for r in table("estimate/errors.csv")}


def time_on(name, kind, rate):
    d, m = devices[name], {k: float(v) for k, v in model[kind].items() if k != "kind"}
    boost = float(d["boost_mhz"])
    clock = (float(d["base_mhz"] or 0.7 * boost) / boost) ** m["clock_power"]
    matrix = float(d[rate])
    if matrix > 1.3 * float(d["fp32_tflops"]):
        matrix *= m["matrix_unit_efficiency"]
    return m["matrix"] / (matrix * clock) + m["memory"] / float(d["memory_gbs"]) + m["units"] / (float(d["units"]) * boost / 1000 * clock)


RATIO = time_on("A100-80GB", "conv", "bf16_tflops") / time_on("H100", "conv", "bf16_tflops")
HALF = math.hypot(math.log(factor["other", "gpu", "one", "no", "known"]), math.log(3780 / 3420) / 2 * 1.645 / 1.960)


def near(got, expected):
    assert abs(float(got) / expected - 1) < 1e-4, f"{got}, not {expected}"


def figures():
    q = quote(RUN["id"])
    bills = {b["name"]: b for b in q["estimates"]}
    assert set(bills) == {"sure", "near", "eight", "amd"}, set(bills)
    assert q["estimated"] == 4 and q["not_measured"] == 9, (q["estimated"], q["not_measured"])
    b = bills["near"]
    near(b["time_s"], 100 + 3500 * RATIO)  # the rest of 3,600 s is loading
    near(b["low_s"], 100 + 3500 * RATIO * math.exp(-HALF))
    near(b["high_s"], 100 + 3500 * RATIO * math.exp(HALF))
    near(b["total"], math.ceil(100 + 3500 * RATIO) * 1.2 / 3600)
    assert b["certainty"] == f"estimated ±{math.ceil(100 * (math.exp(HALF) - 1))} %", b["certainty"]
    assert b["basis"] == "estimated" and b["run"] == RUN["id"], b
    near(bills["eight"]["time_s"], 100 + 3500 * RATIO)  # it uses one of them and pays for all
    assert bills["eight"]["gpus_used"] == 1
    assert bills["sure"]["region"] == "here"
    assert bills["amd"]["basis"] == "rough" and bills["amd"]["certainty"].startswith("rough ×"), bills["amd"]["certainty"]
    assert [b["name"] for b in q["bills"]] == ["own"]
    assert [b["name"] for b in q["estimates"]][:2] == ["sure", "near"]


check("times, intervals and bills of estimates", figures)


def order():
    """`near` is cheaper than the measured one, but not for sure."""
    text = fare("quote", RUN["id"], "--provider", "acme", "--boot", "0", "--image", "0s")
    rows = [line.split()[0] for line in text.splitlines() if line.startswith("acme/")]
    assert rows[:3] == ["acme/sure@here", "acme/own@here", "acme/near@here"], rows
    assert "By estimate, the cheapest is acme/sure@here" in text.replace("\n", " "), text
    assert "projected" in text and "estimated ±" in text and "rough ×" in text, text
    assert "5 other offers like these have no estimate" in text.replace("\n", " "), text


check("one table, in which a measured bill goes before an estimate that overlaps it", order)


def measured():
    q = quote(RUN["id"], "--measured")
    assert "estimates" not in q and "estimated" not in q, q.keys()
    assert "certainty" not in fare("quote", RUN["id"], "--provider", "acme", "--measured")


check("--measured leaves them out", measured)


def explained():
    text = fare("quote", RUN["id"], "--explain", "acme/near")
    flat = " ".join(text.split())
    for words in (RUN["id"], "net: conv", "precision: bf16", "GPU busy 97 %", "H100 to A100-80GB", f"factor of a step: {RATIO:.3g}",
                  "another architecture, bound by the GPU, one GPU, without a trace: 390 pairs", "90 % interval"):
        assert words in flat, (words, text)
    assert len(text.splitlines()) <= 12, text
    assert "trains in bf16, which the V100-32GB does not have" in fare("quote", RUN["id"], "--explain", "acme/volta")
    flat = " ".join(fare("quote", RUN["id"], "--explain", "acme/small").split())
    assert "needs 20 GiB of GPU memory, the T4 has 16 GiB; a batch of at most 51 instead of 64 could fit" in flat, flat
    assert "no whole GPU" in fare("quote", RUN["id"], "--explain", "acme/part")
    fare("quote", RUN["id"], "--explain", "acme/nothing", code=1)


check("--explain says how, or why not", explained)


def laptop():
    text = fare("quote", LAPTOP["id"])
    assert "By estimate, the cheapest is" in " ".join(text.split()), text
    bills = json.loads(fare("quote", LAPTOP["id"], "--json"))["estimates"]
    assert len(bills) >= 500 and all(b["basis"] == "rough" for b in bills), len(bills)
    b = next(b for b in bills if b["name"] == "own")
    rate = 8 / 2 * 32 * (4e9 / 2) / 1e12  # TFLOP/s
    constant = float(next(r["value"] for r in table("estimate/constants.csv") if r["name"] == "cpu_to_gpu"))
    near(b["time_s"] - b["startup_s"], 10000 * constant * time_on("H100", "conv", "fp32_tflops") * rate)


check("from a laptop without a GPU: hundreds of rough estimates", laptop)


def processors():
    """Offers without a GPU, by cores, clock and operations per cycle of the processor table."""
    cpus = {r["name"]: r for r in table("devices/cpus.csv")}
    power = float(next(r["value"] for r in table("estimate/constants.csv") if r["name"] == "cpu_power"))

    def rate(name, vcpus):
        r = cpus[name]
        clocks = [float(r[c]) for c in ("base_mhz", "boost_mhz") if r[c]]
        return vcpus / float(r["threads_per_core"]) * float(r["fp32_per_cycle"]) * sum(clocks) / len(clocks) / 1e6

    bills = {b["offer"].split("@")[0]: b for b in json.loads(fare("quote", SERVER["id"], "--json", "--boot", "0", "--image", "0s"))["estimates"]}
    for offer, name, vcpus in (("aws/c7g.4xlarge", "Graviton3", 16), ("aws/c7i.8xlarge", "Xeon Platinum 8488C", 32)):
        b = bills[offer]
        near(b["time_s"], 10000 * (rate("EPYC 7763", 8) / rate(name, vcpus)) ** power)
        near(b["high_s"], b["time_s"] * factor["cpu", "unknown", "one", "no", "unknown"])
        assert b["basis"] == "rough" and b["certainty"].startswith("rough ×") and "gpus_used" not in b, b
    # A program of one thread gains nothing by more of them.
    single = {b["offer"].split("@")[0]: b for b in json.loads(fare("quote", SINGLE["id"], "--json", "--boot", "0", "--image", "0s"))["estimates"]}
    near(single["aws/c7g.4xlarge"]["time_s"], 10000 * (rate("EPYC 7763", 1) / rate("Graviton3", 1)) ** power)
    text = fare("quote", SERVER["id"], "--explain", "aws/c7g.4xlarge")
    assert "processors: EPYC 7763 to Graviton3, 8 to 16 virtual CPUs" in text and "from a CPU to a CPU" in text, text
    # A run on a GPU says nothing about processors.
    assert not any("gpu" not in b for b in quote(RUN["id"])["estimates"])


SERVER = {**LAPTOP, "id": "20261112T000000Z-server", "name": "server", "machine": {"cpu": "AMD EPYC 7763 64-Core Processor", "usable_cpus": 8.0}}
SINGLE = {**SERVER, "id": "20261113T000000Z-single", "name": "single", "use": {"gpus": 0, "steady": {"cpu_percent": 100}}}
(HERE / "more.jsonl").write_text(json.dumps(SERVER) + "\n" + json.dumps(SINGLE) + "\n")
fare("runs", "import", str(HERE / "more.jsonl"))
check("machines without a GPU, for runs on CPUs", processors)


def named_offer():
    q = json.loads(fare("quote", RUN["id"], "--offer", "acme/near", "--boot", "0", "--image", "0s", "--json"))
    assert q["bills"] == [] and len(q["estimates"]) == 1, q
    near(q["estimates"][0]["time_s"], 100 + 3500 * RATIO)
    text = " ".join(fare("quote", RUN["id"], "--offer", "acme/near").split())
    assert "Nobody measured it there: the time is estimated ±" in text and "total, without tax" in text, text
    q = json.loads(fare("quote", LAPTOP["id"], "--offer", "acme/own", "--json"))
    assert q["estimates"][0]["basis"] == "rough", q
    text = " ".join(fare("quote", RUN["id"], "--offer", "acme/volta").split())
    assert "trains in bf16, which the V100-32GB does not have" in text, text
    fare("quote", RUN["id"], "--offer", "acme/cpu", code=2)  # from a GPU to a processor: never compared
    fare("quote", RUN["id"], "--offer", "acme/near", "--measured", code=2)


check("--offer on a machine without a run", named_offer)
tap.done()
