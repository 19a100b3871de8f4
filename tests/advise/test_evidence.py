# SPDX-License-Identifier: Apache-2.0
"""Which runs are evidence for a quote: one rule, whether a run, a workload or a report asks. Sums by hand: an hour of
acme costs 3.60 USD, a second a thousandth."""
import json
import os
import subprocess
import sys
from fractions import Fraction as F
from pathlib import Path

sys.path.insert(0, os.environ["TESTS"])
import tap  # noqa: E402
from tap import check  # noqa: E402

FARE = os.environ["FARE"]
HERE = Path(os.environ["TMPDIR"])
CONFIG = Path(os.environ["XDG_CONFIG_HOME"]) / "fare"
HEAD = "provider,name,region,zone,kind,gpu,gpus,gpu_memory_gib,vcpus,memory_gib,cpu,bare_metal,price,currency,per,date,source\n"
CARDS = {"h200": "NVIDIA H200", "v100": "Tesla V100-SXM2-16GB", "t4": "Tesla T4"}


def fare(*args):
    p = subprocess.run([FARE, *args], capture_output=True, text=True)
    assert p.returncode == 0, f"{args}: {p.returncode}\n{p.stdout}\n{p.stderr}"
    return p.stdout


def quote(*args):
    return json.loads(fare("quote", *args, "--provider", "acme", "--rule", "prorated", "--boot", "0", "--json"))


def rows(q, which="bills"):
    return {(b["name"], b["variant"]): F(b["total"]) for b in q.get(which, [])}


def same(got, expected, what=""):
    assert got == expected, f"{what}: {got!r}, not {expected!r}"


def record(name, workload, card, seconds, **more):
    """A run to the end on one GPU."""
    run = {"schema": "fare.run/1", "id": f"20261110T000000Z-{name}", "started": "2026-11-10T00:00:00Z", "name": name,
           "workload": workload, "framework": "pytorch", "ended": "finished", "full": True,
           "machine": {"gpu": CARDS[card], "gpus": 1}, "use": {"gpus": 1},
           "phases": {"wall_ns": round(seconds * 10**9)}}
    run.update(more)
    return run


def data(name, identity=None, made=False, samples=None):
    d = {"name": name, "made": made}
    d.update({"identity": identity} if identity else {})
    d.update({"train_samples": samples} if samples else {})
    return d


def offer(text):
    return [{"key": "offer", "value": text}]


SHA = "440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609"
REAL = data("tweets", "sha256:11", samples=1578627)
IMDB = data("imdb", "sha256:22", samples=25000)
MNIST = data("mnist", SHA, samples=60000)
RUNS = [
    # The two of issue 17: 1 h 04 min on 1,578,627 real tweets, 2.3 s on 100,000 made ones.
    record("real", "tweets", "v100", 3840, data=REAL, epochs=4),
    record("made", "tweets", "h200", 2.3, data=data("made tweets", "made:tweets:1", True, 100000), epochs=4),
    # One data set under two names; another one under the first name.
    record("named", "cnn", "v100", 100, data=MNIST, epochs=12),
    record("renamed", "cnn", "t4", 200, data=data("MNIST (idx)", SHA, samples=60000), epochs=12,
           started="2026-11-09T00:00:00Z"),
    record("other", "cnn", "h200", 1, data=data("mnist", "00" + SHA[2:], samples=60000), epochs=12,
           started="2026-11-09T00:00:00Z"),
    # Another framework, fewer epochs, a run that was stopped, and one of 2017.
    record("mine", "imdb", "v100", 1000, data=IMDB, epochs=4),
    record("twice", "imdb", "h200", 50, data=IMDB, epochs=4, framework="fare", started="2026-11-09T00:00:00Z"),
    record("short", "imdb", "t4", 20, data=IMDB, epochs=1, started="2026-11-09T00:00:00Z"),
    record("stopped", "imdb", "h200", 0, data=IMDB, epochs=4, started="2026-11-09T00:00:00Z", ended="stopped",
           full=False, phases={"wall_ns": 10**9}, projection={"wall_s": 10, "low_s": 9, "high_s": 11}),
    record("ancient", "imdb", "t4", 30, data=IMDB, epochs=4, started="2017-11-09T00:00:00Z"),
    # Machines that were assumed: one said nothing of itself, one said the same, one something else.
    record("declared", "mlp", "t4", 10, data=MNIST, epochs=20, labels=offer("acme/box"),
           machine={"cpu": "Laptop", "provider": "acme", "instance_type": "box"}, use={"gpus": 0}),
    record("seen", "mlp", "t4", 20, data=MNIST, epochs=20, labels=offer("acme/crate@here"),
           machine={"cpu": "Server", "provider": "acme", "instance_type": "crate", "region": "here"}, use={"gpus": 0}),
    record("denied", "mlp", "t4", 30, data=MNIST, epochs=20, labels=offer("acme/cra"),
           machine={"cpu": "Desktop", "provider": "acme", "instance_type": "case", "region": "here"}, use={"gpus": 0}),
]
(CONFIG / "offers").mkdir(parents=True)
(CONFIG / "offers" / "mine.csv").write_text(HEAD + "".join(
    f"acme,{name},here,,on-demand,{gpu},{1 if gpu else ''},,8,64,,no,3.60,USD,hour,2026-11-01,mine\n"
    for name, gpu in (("new", "H200"), ("old", "V100"), ("small", "T4"), ("box", ""), ("crate", ""), ("case", ""))))
(HERE / "runs.jsonl").write_text("".join(json.dumps(r) + "\n" for r in RUNS))
fare("runs", "import", str(HERE / "runs.jsonl"))


def tweets():
    q = quote("tweets")
    same(rows(q), {("old", "pytorch, 2026, tweets, 1,578,627 samples"): F("3.84")})
    others = rows(q, "others")
    same(others["new", "pytorch, 2026, made tweets, 100,000 samples"], F("0.0023"))
    # Published runs on these cards are rows of their own too.
    same(others["old", "2018, tweets, 1,578,627 samples"], F("3.924"), "1.06 and 1.09 h on two V100: the slower")
    assert ("new", "fare, 2026, made tweets, 100,000 samples") in others, others
    assert q["advice"][0].startswith("Cheapest: acme/old, 3.84 USD in 1 h 04 min"), q["advice"]
    assert not any("0.0023" in line or "2.3 s" in line for line in q["advice"]), q["advice"]  # the other training's
    row = next(b for b in q["others"] if b["name"] == "new" and b["framework"] == "pytorch" and b["total"] == "0.0023")
    same((row["year"], row["run"]), (2026, "20261110T000000Z-made"))
    # On an offer where only another training was measured, nothing is assumed of this one.
    one = json.loads(fare("quote", "tweets", "--offer", "acme/new", "--rule", "prorated", "--boot", "0", "--json"))
    same(one["bills"], [])
    same(rows(one, "others")["new", "pytorch, 2026, made tweets, 100,000 samples"], F("0.0023"))
    # Asked for itself, the made set is the training, and the real one another.
    q = quote("20261110T000000Z-made")
    assert ("new", "pytorch, 2026, made tweets, 100,000 samples") in rows(q), rows(q)
    same([b["name"] for b in q["bills"]], ["new"])
    assert ("old", "pytorch, 2026, tweets, 1,578,627 samples") in rows(q, "others")


check("1,578,627 real tweets and 100,000 made ones are two trainings", tweets)


def identity():
    label = "pytorch, 2026, mnist, 60,000 samples"
    for word in ("20261110T000000Z-named", "cnn"):
        q = quote(word)
        same({k: v for k, v in rows(q).items()}, {("old", label): F("0.1"), ("small", label): F("0.2")}, word)
        same(rows(q, "others")["new", label + ", another recipe or version of the data"], F("0.001"), word)
    same(json.loads(fare("runs", "20261110T000000Z-named", "--against", "20261110T000000Z-renamed", "--json"))["words"],
         "same")
    same(json.loads(fare("runs", "20261110T000000Z-named", "--against", "20261110T000000Z-other", "--json"))["reasons"],
         ["the data differ, though both are called mnist"])


check("data sets are known by their checksum", identity)


def variants():
    for word in ("20261110T000000Z-mine", "imdb"):
        q = quote(word)
        same(rows(q), {("old", "pytorch, 2026, imdb, 25,000 samples"): F(1)}, word)
        others = rows(q, "others")
        same(others["new", "fare, 2026, imdb, 25,000 samples"], F("0.05"), word)
        same(others["small", "pytorch, 2026, imdb, 25,000 samples, 1 epoch"], F("0.02"), word)
        same(others["new", "pytorch, 2026, imdb, 25,000 samples, stopped"], F("0.01"), word)
        same(others["small", "pytorch, 2017, imdb, 25,000 samples"], F("0.03"), word)
    # A run that was stopped can be asked for.
    same(rows(quote("20261110T000000Z-stopped"))["new", "pytorch, 2026, imdb, 25,000 samples, stopped"], F("0.01"))


check("another framework, length or year, and a stopped run, are rows of their own", variants)


def sample():
    """tweets is about 1,578,627 rows: a run on 6,166 is another training, and has to be named."""
    part = record("part", "tweets", "t4", 5, data=data("tweets", "sha256:44", samples=6166), epochs=4, started="2026-11-12T00:00:00Z")
    (HERE / "part.jsonl").write_text(json.dumps(part) + "\n")
    fare("runs", "import", str(HERE / "part.jsonl"))
    q = quote("tweets")
    same(rows(q), {("old", "pytorch, 2026, tweets, 1,578,627 samples"): F("3.84")})
    same(rows(q, "others")["small", "pytorch, 2026, tweets, 6,166 samples"], F("0.005"))
    assert fare("quote", "tweets", "--provider", "acme").startswith("tweets (pytorch, 2026, tweets, 1,578,627 samples)")
    same(rows(quote("20261110T000000Z-part")), {("small", "pytorch, 2026, tweets, 6,166 samples"): F("0.005")})


check("a run on a part of the data does not replace the workload", sample)


def assumed():
    names = [b["name"] for b in quote("mlp")["bills"] + quote("mlp").get("others", [])]
    assert "crate" in names and "box" not in names and "case" not in names, names
    same([b["name"] for b in quote("20261110T000000Z-declared")["bills"]], ["crate", "box"][::-1])


check("a machine that was assumed is no evidence for other quotes", assumed)


def commands():
    """The same command on a laptop and, by its imported record, on a T4: 50 s of acme/small are 0.05 USD."""
    def command(name, argv, seconds, card="t4", **more):
        run = record(name, None, card, seconds, framework="command", command=argv, total_steps=500, **more)
        return {**{k: v for k, v in run.items() if v is not None}, "name": "train"}
    laptop = {"machine": {"cpu": "Laptop"}, "use": {"gpus": 0}}
    RUN = ["train.py", "--lr", "1"]
    runs = [command("laptop", ["python", *RUN], 600, **laptop), command("rented", ["/opt/env/bin/python3", *RUN], 50),
            # Other arguments, and another length of the same: other trainings.
            command("faster", ["python", "train.py", "--lr", "2"], 5), command("longer", ["python", *RUN], 90),
            command("script", ["python", *RUN], 4, "v100")]
    runs[3]["total_steps"] = 900
    for run in runs:  # the last is another script of that name
        run["code"] = {"script": "train.py", "script_sha256": ("b" if run is runs[4] else "a") * 64}
    (HERE / "commands.jsonl").write_text("".join(json.dumps(r) + "\n" for r in runs))
    fare("runs", "import", str(HERE / "commands.jsonl"))
    q = quote("20261110T000000Z-laptop")
    same(rows(q), {("small", "command, 2026"): F("0.05")})
    same([b["run"] for b in q["bills"]], ["20261110T000000Z-rented"])
    same(rows(q, "others"), {("small", "command, 2026, 900 steps"): F("0.09")})
    # Asked for the rented one, the laptop's time is no offer's.
    same(rows(quote("20261110T000000Z-rented")), {("small", "command, 2026"): F("0.05")})


check("a command's quote uses the same command measured elsewhere", commands)


def report():
    page = json.loads(fare("report", "--workload", "tweets", "--format", "json"))
    q = page["quotes"][0]
    assert q["bills"] and all(b["run"] == "20261110T000000Z-real" for b in q["bills"]), q["bills"]
    assert not any("H200" in line or "2.3 s" in line for line in page["verdict"]), page["verdict"]


check("a report quotes by the same rule", report)


def many():
    """Forty sizes of one workload: the one asked for, and nineteen others."""
    sizes = [record(f"size{n:02}", "textgen", "t4", n, data=data("nietzsche", "sha256:33", samples=n)) for n in range(1, 41)]
    (HERE / "sizes.jsonl").write_text("".join(json.dumps(r) + "\n" for r in sizes))
    fare("runs", "import", str(HERE / "sizes.jsonl"))
    q = quote("20261110T000000Z-size07")
    same(rows(q), {("small", "pytorch, 2026, nietzsche, 7 samples"): F("0.007")})
    same(len({b["variant"] for b in q["others"]}), 19)


check("a quote is about at most twenty trainings", many)
tap.done()
