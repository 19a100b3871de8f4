# SPDX-License-Identifier: Apache-2.0
"""fare quote --gpus: a run on one GPU, estimated on several, against the formulas of docs/estimating.md worked out here."""
import csv
import json
import math
import os
import sys
from pathlib import Path

sys.path.insert(0, os.environ["TESTS"])
import tap  # noqa: E402
from tap import fare  # noqa: E402

FARE, ROOT = os.environ["FARE"], Path(os.environ["ROOT"])
HERE = Path(os.environ["TMPDIR"])
CONFIG = Path(os.environ["XDG_CONFIG_HOME"]) / "fare"

(CONFIG / "offers").mkdir(parents=True)
(CONFIG / "providers").mkdir()
(CONFIG / "offers" / "mine.csv").write_text("""\
provider,name,region,zone,kind,gpu,gpus,gpu_memory_gib,vcpus,memory_gib,cpu,bare_metal,price,currency,per,date,source
acme,one,here,,on-demand,H100,1,80,16,128,,no,3.00,USD,hour,2026-11-01,mine
acme,three,here,,on-demand,H100,3,80,16,128,,no,9.00,USD,hour,2026-11-01,mine
acme,eight,here,,on-demand,H100,8,80,16,128,,no,24.00,USD,hour,2026-11-01,mine
acme,sixteen,here,,on-demand,H100,16,80,16,128,,no,50.00,USD,hour,2026-11-01,mine
acme,pcie,here,,on-demand,H100-PCIE,8,80,16,128,,no,16.00,USD,hour,2026-11-01,mine
acme,nolink,here,,on-demand,GB10,8,128,16,128,,no,1.00,USD,hour,2026-11-01,mine
beta,one,here,,on-demand,H100,1,80,16,128,,no,3.00,USD,hour,2026-11-01,mine
beta,two,here,,on-demand,H100,2,80,16,128,,no,4.20,USD,hour,2026-11-01,mine
beta,four,here,,on-demand,H100,4,80,16,128,,no,13.00,USD,hour,2026-11-01,mine
beta,eight,here,,on-demand,H100,8,80,16,128,,no,24.00,USD,hour,2026-11-01,mine
beta,sixteen,here,,on-demand,H100,16,80,16,128,,no,40.00,USD,hour,2026-11-01,mine
""")
# One without a link and without a bus, in a machine where x86-64 programs run.
with open(ROOT / "share/devices/gpus.csv", newline="") as f:
    spark = next(r for r in csv.DictReader(f) if r["name"] == "GB10")
with open(CONFIG / "gpus.csv", "w", newline="") as f:
    table = csv.DictWriter(f, spark)
    table.writeheader()
    table.writerow({**spark, "host_isa": ""})
(CONFIG / "providers" / "acme.json").write_text(json.dumps({"schema": "fare.tariffs/1", "tariffs": [
    {"id": p, "provider": p, "kind": "on-demand", "unit_ms": 1000, "source": "mine", "date": "2026-11-01"} for p in ("acme", "beta")]}))

H100 = "NVIDIA H100 80GB HBM3"
RUN = {"schema": "fare.run/1", "id": "20261110T000000Z-resnet", "started": "2026-11-10T00:00:00Z", "name": "my resnet50",
       "framework": "command", "precision": "bf16", "batch": 64, "ended": "sampled", "full": False, "steps": 100, "total_steps": 1000,
       "parameters": 100000000, "step_ms": 250.0, "machine": {"gpu": H100, "gpus": 1, "fingerprint": "aa"},
       "use": {"gpus": 1, "steady": {"gpu_percent": 97}, "gpu_list": [{"index": 0, "name": H100, "memory_peak_bytes": 20 << 30}]},
       "projection": {"after_s": 60, "wall_s": 3600, "low_s": 3420, "high_s": 3780, "train_s": 3500, "load_s": 100}}
WAITS = {**RUN, "id": "20261111T000000Z-waits", "name": "waits", "account": {"data_share": 0.3}}
BOTH = {**RUN, "id": "20261112T000000Z-both", "name": "train.py", "command": ["python", "train.py"]}
EIGHT = {**BOTH, "id": "20261113T000000Z-eight", "machine": {"gpu": H100, "gpus": 8, "fingerprint": "bb"}, "step_ms": 260.0,
         "use": {**RUN["use"], "gpus": 8}, "projection": {"after_s": 60, "wall_s": 600, "low_s": 590, "high_s": 610, "train_s": 500, "load_s": 100}}
FAST, HOST = ({**{k: v for k, v in RUN.items() if k != "parameters"}, "id": f"2026110{i}T000000Z-{bound}", "name": f"{bound} resnet",
               "use": {**RUN["use"], "steady": {"gpu_percent": busy}}} for i, (bound, busy) in enumerate((("gpu", 97), ("host", 30)), 8))
(HERE / "runs.jsonl").write_text("".join(json.dumps(r) + "\n" for r in (RUN, WAITS, BOTH, EIGHT, FAST, HOST)))


def quote(run, *args):
    return json.loads(fare("quote", run["id"], *args, "--provider", "acme", "--boot", "0", "--image-time", "0s", "--json"))


def check(action):
    tap.check(action.__doc__, action)


def table(name):
    with open(ROOT / "share" / name, newline="") as f:
        return list(csv.DictReader(f))


fare("runs", "import", str(HERE / "runs.jsonl"))
scaling = {(r["link"], r["bound"], r["parameters"], int(r["gpus"])): {k: float(r[k]) for k in ("median", "low90", "high90")}
           for r in table("estimate/scaling.csv")}
constants = {r["name"]: float(r["value"]) for r in table("estimate/constants.csv")}
OWN = math.log(3780 / 3420) / 2 * 1.645 / 1.960


def near(got, expected):
    assert abs(float(got) / expected - 1) < 1e-4, f"{got}, not {expected}"


def eight():
    """eight GPUs: as many samples, each GPU with its batch; the efficiency of NVLink, and its range with the run's own"""
    q = quote(RUN, "--gpus", "8")
    bills = {b["name"]: b for b in q["estimates"]}
    assert set(bills) == {"eight", "pcie"} and q["bills"] == [], (set(bills), q["bills"])
    b, row = bills["eight"], scaling["nvlink", "gpu", "unknown", 8]
    train = 3500 / (8 * row["median"])
    near(b["time_s"], 100 + train)
    near(b["high_s"], 100 + train * math.exp(math.hypot(OWN, math.log(row["median"] / row["low90"]))))
    # The gradients bound it: 2 * 7/8 * 4e8 bytes at 450 GB/s hide behind the backward pass, so efficiency 1 is possible.
    near(b["low_s"], 100 + train * math.exp(-math.hypot(OWN, math.log(min(row["high90"], 1) / row["median"]))))
    assert (b["gpus_used"], b["gpus"]) == (8, 8), b
    near(b["efficiency"], row["median"])
    near(b["total"], math.ceil(100 + train) * 24 / 3600)


def pcie():
    """over PCIe a ring of gradients slows the step down"""
    b = next(b for b in quote(RUN, "--gpus", "8")["estimates"] if b["name"] == "pcie")
    one = next(b for b in quote(RUN)["estimates"] if b["name"] == "pcie")  # it uses one of them
    assert one["gpus_used"] == 1 and "efficiency" not in one, one
    slower = (float(one["time_s"]) - 100) / 3500
    step, ring = 0.25 * slower, 2 * 7 / 8 * 4e8 / (constants["pcie_reach"] * 63e9)
    exposed = max(constants["pcie_exposed"] * ring, ring - step * 2 / 3)
    known, any_ = scaling["pcie", "gpu", "known", 8], scaling["pcie", "gpu", "unknown", 8]
    efficiency = min(step / (step + exposed) * known["median"], any_["high90"])
    near(b["efficiency"], efficiency)
    near(b["time_s"], 100 + 3500 * slower / (8 * efficiency))


def more():
    """8+ takes machines with more GPUs, which are paid for"""
    bills = {b["name"]: b for b in quote(RUN, "--gpus", "8+")["estimates"]}
    assert set(bills) == {"eight", "pcie", "sixteen"}, set(bills)
    b = bills["sixteen"]
    assert (b["gpus_used"], b["gpus"], b["time_s"]) == (8, 16, bills["eight"]["time_s"]), b
    near(b["total"], math.ceil(b["time_s"]) * 50 / 3600)
    text = fare("quote", RUN["id"], "--gpus", "8+", "--provider", "acme", "--boot", "0", "--image-time", "0s", "--all")
    assert "8 of 16 × H100" in text and "\n8 × H100 " in text and "rough ×2.1 " in text, text
    assert "On 8 GPUs, each with the run's batch" in " ".join(text.split()), text


def any_number():
    """any: as many GPUs as is fastest on each machine, as far as somebody measured that many"""
    q = quote(RUN, "--gpus", "any")
    used = {b["name"]: b["gpus_used"] for b in q["bills"] + q["estimates"]}
    assert used == {"one": 1, "three": 3, "eight": 8, "sixteen": 8, "pcie": 8, "nolink": 1}, used
    assert [b["name"] for b in q["bills"]] == ["one"], q["bills"]
    three = next(b for b in q["estimates"] if b["name"] == "three")
    near(three["time_s"], 100 + 3500 / (3 * scaling["nvlink", "gpu", "unknown", 4]["median"]))


def as_many_as_the_run():
    """without --gpus the run uses as many as it did"""
    q = quote(RUN)
    used = {b["name"]: b["gpus_used"] for b in q["bills"] + q["estimates"]}
    assert {"one", "three", "eight", "sixteen", "pcie"} <= set(used) and set(used.values()) == {1}, used
    assert "each with the run's batch" not in fare("quote", RUN["id"])


def measured():
    """a run on that many GPUs is a measured row, and --measured leaves only it"""
    q = quote(BOTH, "--gpus", "8", "--measured")
    assert [(b["name"], b["run"], b["gpus_used"]) for b in q["bills"]] == [("eight", EIGHT["id"], 8)], q["bills"]
    q = quote(BOTH, "--gpus", "8")
    assert [b["name"] for b in q["bills"]] == ["eight"] and "eight" not in {b["name"] for b in q["estimates"]}, q


def waiting():
    """a run that waits for data has no estimate on more GPUs"""
    assert "estimates" not in quote(WAITS, "--gpus", "8")
    flat = " ".join(fare("quote", WAITS["id"], "--gpus", "8", "--explain", "acme/eight").split())
    assert "no estimate: the GPU waits for data" in flat, flat


def explained():
    """--explain has numbers, efficiency, communication and overlap, or why there is no estimate"""
    flat = " ".join(fare("quote", RUN["id"], "--gpus", "8", "--explain", "acme/pcie").split())
    for words in ("GPUs: from 1 to 8, the batch of each kept; efficiency of 8 0.", "communication: 381 MiB of gradients (4 bytes a parameter) over "
                  "PCIe, 63 GB/s each way, 20 % of it reached: 55.6 ms", "40 % of it overlaps"):
        assert words in flat, (words, flat)
    assert len(fare("quote", RUN["id"], "--gpus", "8", "--explain", "acme/pcie").splitlines()) <= 14
    flat = " ".join(fare("quote", RUN["id"], "--gpus", "8", "--explain", "acme/one").split())
    assert "no estimate: the offer has 1 GPU, 8 were asked for" in flat, flat
    flat = " ".join(fare("quote", RUN["id"], "--gpus", "8", "--explain", "acme/nolink").split())
    assert "no estimate" in flat, flat


MACHINES = {"one": (1, 3.00), "two": (2, 4.20), "four": (4, 13.00), "eight": (8, 24.00), "sixteen": (16, 40.00)}  # GPUs, USD an hour
MEASURED = (3600, 3420, 3780)


def times(bound, gpus):
    """{number: (time, low, high)} of 1, 2, 4, ... of a machine's GPUs, as far as the table goes: 100 s of loading, 3500 of training."""
    found = {1: (3600, 100 + 3500 * math.exp(-OWN), 100 + 3500 * math.exp(OWN))}
    for n in (2, 4, 8):
        row = scaling["nvlink", bound, "unknown", n]
        train = 3500 / (n * row["median"])
        if n <= gpus:
            found[n] = (100 + train, 100 + train * math.exp(-math.hypot(OWN, math.log(row["high90"] / row["median"]))),
                        100 + train * math.exp(math.hypot(OWN, math.log(row["median"] / row["low90"]))))
    return found


def best_under(bound, deadline):
    """The machine and its number of GPUs that the documents ask for; and all numbers. A machine with one GPU was measured; an
    estimate goes behind it if their bills overlap."""
    rows = {}
    for name, (gpus, price) in MACHINES.items():
        counts = times(bound, gpus)
        good = [n for n, (_, _, high) in counts.items() if high <= deadline] or list(counts)
        used = min(good, key=lambda n: counts[n][0])
        time = MEASURED if gpus == 1 else counts[used]
        rows[name] = used, time, [math.ceil(round(t, 6)) * price / 3600 for t in time]
    dearest = rows["one"][2]
    key = {n: b[0] if n == "one" or b[2] < dearest[1] else max(b[0], dearest[0]) for n, (_, _, b) in rows.items()}
    in_time = [n for n, (_, t, _) in rows.items() if t[2] <= deadline]
    return min(in_time, key=lambda n: (key[n], n != "one", rows[n][2][0]), default=None), {n: u for n, (u, _, _) in rows.items()}


def under_a_deadline():
    """any with a deadline: the cheapest machine, and its number of GPUs, that is in time even at the end of the interval"""
    answers = set()
    for run, bound in ((FAST, "gpu"), (HOST, "host")):
        for deadline in range(300, 9001, 150):
            found, used = best_under(bound, deadline)
            q = json.loads(fare("quote", run["id"], "--gpus", "any", "--deadline", f"{deadline}s", "--provider", "beta", "--boot", "0",
                                "--image-time", "0s", "--json"))
            rows = {b["name"]: b for b in q["bills"] + q.get("estimates", [])}
            assert {n: b["gpus_used"] for n, b in rows.items()} == used, (bound, deadline, used, {n: b["gpus_used"] for n, b in rows.items()})
            said = next(a for a in q["advice"] if a.startswith("Within"))
            if found:
                assert f"the cheapest is beta/{found}, " in said, (bound, deadline, found, said)
            else:
                assert "none of them" in said, (bound, deadline, said)
            answers.add((bound, found, used[found] if found else 0))
            if found and found != "one":
                b, n = rows[found], used[found]
                near(b["time_s"], times(bound, MACHINES[found][0])[n][0])
                near(b["high_s"], times(bound, MACHINES[found][0])[n][2])
                assert b["deadline"] == "met", b
    assert len(answers) == 10, answers


for test in (eight, pcie, more, any_number, under_a_deadline, as_many_as_the_run, measured, waiting, explained):
    check(test)
tap.done()
