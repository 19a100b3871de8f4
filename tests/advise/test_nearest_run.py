#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Of several runs on one kind of GPU, the nearest tells the time: same machine, same provider, else the median. The times are
those of share/published/2018-tweets.jsonl, read here; the sums are by hand."""
import json
import os
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, os.environ["TESTS"])
import tap  # noqa: E402
from tap import check  # noqa: E402

FARE = os.environ["FARE"]
HERE = Path(os.environ["TMPDIR"])
CONFIG = Path(os.environ["XDG_CONFIG_HOME"]) / "fare"
SHARE = Path(os.environ["TESTS"]).parent / "share"
SECONDS, PRINTED = {}, {}
for line in (SHARE / "published/2018-tweets.jsonl").read_text().splitlines():
    run = json.loads(line)
    name = run["id"].removeprefix("published-2018-tweets-")
    SECONDS[name] = run["phases"]["wall_ns"] / 1e9
    PRINTED[name] = {x["key"]: x["value"] for x in run["labels"]}.get("printed_cost_usd")


def quote(*words):
    p = subprocess.run([FARE, "quote", *words, "--boot", "0", "--json"], capture_output=True, text=True)
    assert p.returncode == 0, (words, p.stderr)
    return json.loads(p.stdout)


def bill(q, offer):
    return next(b for b in q["bills"] if b["offer"] == offer)


def provider():
    """Google's P100 took 2.07 h, LeaderGPU's 1.87 h: Google's other machines with a P100 are no faster than Google's."""
    q = quote("tweets", "--date", "2018-02-15")
    for kind in ("", ":spot"):
        b = bill(q, "gcp/n1-standard-1+1xP100" + kind)
        assert b["time_s"] == SECONDS["gce-p100"] == 7452, b
    assert SECONDS["leadergpu-2-p100-one-used"] < 7452
    named = quote("published-2018-tweets-aws-p3-2xlarge", "--date", "2018-02-15")
    assert bill(named, "gcp/n1-standard-1+1xP100")["run"] == "published-2018-tweets-gce-p100", named


check("a run of the same provider counts before a faster one elsewhere", provider)


def machine():
    """SoftLayer's 4 x K80 took 4.1 h: five started hours at 4.02 USD, as its bill of 2018 was printed."""
    for words in ((), ("--offer", "softlayer/4xK80")):
        b = bill(quote("published-2018-tweets-aws-p2-xlarge", "--date", "2018-02-15", *words), "softlayer/4xK80")
        assert b["time_s"] == SECONDS["softlayer-4-k80"] and float(b["total"]) == float(PRINTED["softlayer-4-k80"]) == 20.1, b
    own = bill(quote("published-2018-tweets-aws-p2-xlarge", "--date", "2018-02-15"), "aws/p2.xlarge@us-east-1")
    assert own["time_s"] == SECONDS["aws-p2-xlarge"], own


check("a run on the machine itself counts before the run asked for", machine)


def median():
    """Three own machines with a T4: 50, 90 and 60 s. An offer with a T4 takes 60 s, 50 to 90; two of 50 and 60: 60."""
    (CONFIG / "offers").mkdir(parents=True)
    (CONFIG / "offers/mine.csv").write_text(
        "provider,name,region,zone,kind,gpu,gpus,gpu_memory_gib,vcpus,memory_gib,cpu,bare_metal,price,currency,per,date,source\n"
        "acme,small,here,,on-demand,T4,1,,8,64,,no,3.60,USD,hour,2026-11-01,mine\n")

    def add(name, seconds, provider):
        run = {"schema": "fare.run/1", "id": f"20261110T000000Z-{name}", "started": "2026-11-10T00:00:00Z", "name": "cnn",
               "workload": "cnn", "framework": "pytorch", "ended": "finished", "full": True, "epochs": 12,
               "data": {"name": "mnist", "made": False, "train_samples": 60000}, "use": {"gpus": 1},
               "machine": {"gpu": "Tesla T4", "gpus": 1, "provider": provider, "instance_type": "box"},
               "phases": {"wall_ns": seconds * 10**9}}
        (HERE / "run.jsonl").write_text(json.dumps(run) + "\n")
        subprocess.run([FARE, "runs", "import", str(HERE / "run.jsonl")], check=True, capture_output=True)

    def seconds():
        b = bill(quote("cnn", "--rule", "prorated"), "acme/small@here")
        return b.get("low_s"), b["time_s"], b.get("high_s"), float(b["total"])
    add("a", 50, "one")
    assert seconds() == (None, 50, None, 0.05), seconds()
    add("b", 60, "two")
    assert seconds() == (50, 60, 60, 0.06), seconds()
    add("c", 90, "three")
    assert seconds() == (50, 60, 90, 0.06), seconds()
    # The second machine, once more and slower: 60 and 80 s there. Of 50, 80 and 90 the median is 80.
    add("d", 80, "two")
    assert seconds() == (50, 80, 90, 0.08), seconds()


check("otherwise the median counts, and the others are its interval", median)
tap.done()
