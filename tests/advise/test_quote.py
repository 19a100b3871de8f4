# SPDX-License-Identifier: Apache-2.0
"""fare quote: bills of runs on offers, against sums done here with fractions."""
import csv
import io
import json
import math
import os
import re
import sqlite3
import sys
from fractions import Fraction as F
from pathlib import Path

sys.path.insert(0, os.environ["TESTS"])
import tap  # noqa: E402
from tap import check  # noqa: E402

HERE = Path(os.environ["TMPDIR"])
CONFIG = Path(os.environ["XDG_CONFIG_HOME"]) / "fare"


def fare(*args, code=0):
    if args[0] == "quote" and "--boot" not in args and "--pinned" not in args:
        args = (*args, "--boot", "0")  # start-up has tests of its own: tests/bill/test_startup.py
    return tap.fare(*args, code=code)


def quote(*args):
    return json.loads(fare("quote", *args, "--json"))


def same(got, expected, what=""):
    assert got == expected, f"{what}: {got!r}, not {expected!r}"


def near(got, expected):
    """To the nano-dollar, at which a bill rounds."""
    assert abs(F(got) - expected) <= F(1, 10**9), f"{got}, not {float(expected)}"


def whole(x, unit=1):
    return math.ceil(F(x) / unit) * unit


# ---- the table of February 2018: hours and prices as printed

EUR = F("1.228")  # in February 2018
ECB = F("1.1172")  # the ECB's of 2026-10-30
PUBLISHED = [  # run, offer, hours, what the time costs
    ("aws-p2-xlarge", "aws/p2.xlarge", "3.62", lambda s: whole(s) * F("0.90") / 3600),
    ("aws-p3-2xlarge", "aws/p3.2xlarge", "1.06", lambda s: whole(s) * F("3.06") / 3600),
    ("gce-k80", "gcp/n1-standard-4+1xK80", "3.72", lambda s: whole(s) * F("0.64") / 3600),
    ("gce-p100", "gcp/n1-standard-4+1xP100", "2.07", lambda s: whole(s) * F("1.65") / 3600),
    ("paperspace-p6000", "paperspace/P6000", "1.82", lambda s: s * F("0.90") / 3600 + 5),
    ("paperspace-v100", "paperspace/V100", "1.09", lambda s: s * F("2.30") / 3600 + 5),
    ("softlayer-2-m60", "softlayer/2xM60", "3.16", lambda s: whole(s, 3600) / 3600 * F("2.80")),
    ("softlayer-4-k80", "softlayer/4xK80", "4.1", lambda s: whole(s, 3600) / 3600 * F("4.02")),
    ("leadergpu-2-gtx-1080", "leadergpu/2xGTX1080", "2.12", lambda s: whole(s) * F("0.02") / 60 * EUR),
    ("leadergpu-2-p100", "leadergpu/2xP100", "2.42", lambda s: whole(s) * F("0.08") / 60 * EUR),
    ("leadergpu-2-gtx-1080-one-used", "leadergpu/2xGTX1080", "2.49", lambda s: whole(s) * F("0.02") / 60 * EUR),
    ("leadergpu-2-p100-one-used", "leadergpu/2xP100", "1.86", lambda s: whole(s) * F("0.08") / 60 * EUR),
]


def published(run, offer, hours, cost):
    def action():
        q = quote(f"published-2018-tweets-{run}", "--offer", offer, "--date", "2018-02-15")
        bill = q["bills"][0]
        expected = cost(F(hours) * 3600)
        assert abs(F(bill["total"]) - expected) <= F(2, 10**9), f"{bill['total']}, not {float(expected)}"
        same(sum(F(i["amount"]) for i in bill["items"]), F(bill["total"]), "items")
        same(bill["basis"], "published")
        assert bill["words"] and bill["price_source"] and bill["tariff"]
        unused = [i for i in bill["items"] if i["what"] == "unused GPUs"]
        same(len(unused), int("one-used" in run), "unused GPUs")
        if unused:
            assert abs(F(unused[0]["amount"]) * 2 - expected) <= F(4, 10**9)
        plain = quote(f"published-2018-tweets-{run}", "--offer", offer, "--date", "2018-02-15", "--rule", "prorated")
        rate = F(bill["rate"]) * (EUR if bill["currency"] == "EUR" else 1) / bill["per_s"]
        assert abs(F(plain["bills"][0]["total"]) - rate * F(hours) * 3600) <= F(2, 10**9), plain["bills"][0]["total"]
    check(f"published 2018: {run}", action)


for row in PUBLISHED:
    published(*row)


# ---- a book and runs of our own

(CONFIG / "offers").mkdir(parents=True)
(CONFIG / "providers").mkdir()
(CONFIG / "offers" / "mine.csv").write_text("""\
provider,name,region,zone,kind,gpu,gpus,gpu_memory_gib,vcpus,memory_gib,cpu,bare_metal,price,currency,per,date,source
acme,one,here,,on-demand,H100,1,80,16,128,,no,3.60,USD,hour,2026-11-01,mine
acme,one,there,,on-demand,H100,1,80,16,128,,no,3.00,USD,hour,2026-11-01,mine
acme,one,here,,spot,H100,1,80,16,128,,no,0.90,USD,hour,2026-11-01,mine
acme,eight,here,,on-demand,H100,8,80,128,1024,,no,24.00,USD,hour,2026-11-01,mine
acme,small,here,,on-demand,H100,1,40,16,128,,no,1.00,USD,hour,2026-11-01,mine
acme,slow,here,,on-demand,T4,1,16,4,16,,no,0.36,USD,hour,2026-11-01,mine
acme,cpu,here,,on-demand,,,,4,16,Acme CPU 9000,no,0.10,USD,hour,2026-11-01,mine
acme,other,here,,on-demand,,,,4,16,Other CPU,no,0.15,USD,hour,2026-11-01,mine
acme,cpu-large,here,,on-demand,,,,8,32,Acme CPU 9000,no,0.20,USD,hour,2026-11-01,mine
aws,c7a.2xlarge,here,,on-demand,,,,8,16,,no,0.41,USD,hour,2026-11-01,mine
aws,m7a.2xlarge,here,,on-demand,,,,8,32,,no,0.46,USD,hour,2026-11-01,mine
aws,m7a.4xlarge,here,,on-demand,,,,16,64,,no,0.92,USD,hour,2026-11-01,mine
aws,m7i.2xlarge,here,,on-demand,,,,8,32,,no,0.40,USD,hour,2026-11-01,mine
rhein,one,de,,on-demand,H100,1,80,16,128,,no,2.00,EUR,hour,2026-11-01,mine
""")
(CONFIG / "providers" / "acme.json").write_text(json.dumps({"schema": "fare.tariffs/1", "tariffs": [
    {"id": "acme", "provider": "acme", "kind": "on-demand", "unit_ms": 60000, "minimum_s": 600, "setup_fee": "0.05",
     "storage_rate": "0.10", "egress_rate": "0.08", "egress_free_gb": 1, "source": "mine", "date": "2026-11-01"},
    {"id": "acme-spot", "provider": "acme", "kind": "spot", "unit_ms": 1000, "source": "mine", "date": "2026-11-01"}]}))


def record(name, **more):
    run = {"schema": "fare.run/1", "id": f"20261110T000000Z-{name}", "started": "2026-11-10T00:00:00Z", "name": name,
           "workload": "mlp", "framework": "fare", "engine": "cuda", "precision": "bf16", "batch": 128,
           "ended": "sampled", "full": False, "steps": 100, "total_steps": 1000}
    run.update(more)
    return run


H100 = {"gpu": "NVIDIA H100 80GB HBM3", "gpus": 1, "fingerprint": "aa"}
RUNS = [
    record("strong", machine=H100, use={"gpus": 1, "gpu_list": [
        {"index": 0, "name": "NVIDIA H100 80GB HBM3", "memory_peak_bytes": 60 << 30, "power_w": 500.0}]},
        phases={"wall_ns": 60 * 10**9},
        projection={"after_s": 60, "wall_s": 3000, "low_s": 2940, "high_s": 3060, "train_s": 2800, "evaluate_s": 150,
                    "load_s": 40}),
    record("weak", machine={"gpu": "Tesla T4", "gpus": 1, "fingerprint": "bb"}, started="2026-11-09T00:00:00Z",
           use={"gpus": 1, "gpu_list": [{"index": 0, "name": "Tesla T4", "memory_peak_bytes": 9 << 30}]},
           phases={"wall_ns": 60 * 10**9}, projection={"after_s": 60, "wall_s": 30000, "low_s": 29000, "high_s": 31000}),
    record("hungry", workload="tweets", machine=H100, use={"gpus": 1, "gpu_list": [
        {"index": 0, "name": "NVIDIA H100 80GB HBM3", "memory_peak_bytes": 85 << 30}]},
        projection={"after_s": 60, "wall_s": 3000, "low_s": 2940, "high_s": 3060}),
    record("cpu", workload="cnn", engine="cpu", machine={"cpu": "Acme CPU 9000", "usable_cpus": 4.0},
           use={"gpus": 0}, ended="finished", full=True, peak_memory_bytes=1 << 30,
           phases={"setup_ns": 10**9, "load_ns": 2 * 10**9, "train_ns": 700 * 10**9, "evaluate_ns": 17 * 10**9,
                   "wall_ns": 720 * 10**9 + 1}),
    record("epyc", workload="cifar", engine="cpu", machine={"cpu": "AMD EPYC 9R14", "usable_cpus": 8.0},
           use={"gpus": 0}, ended="finished", full=True, phases={"wall_ns": 900 * 10**9}),
    record("pair", workload="pair", machine=H100, use={"gpus": 2}, ended="finished", full=True,
           phases={"wall_ns": 900 * 10**9}),
    record("never", workload="w0", machine=H100, use={"gpus": 1}, ended="finished", full=True, phases={"wall_ns": 0}),
    record("backwards", workload="w1", machine=H100, use={"gpus": 1}, projection={"wall_s": 100, "low_s": 200}),
    record("endless", workload="w2", machine=H100, use={"gpus": 1}, ended="finished", full=True,
           phases={"wall_ns": 2**61}),
    record("twenty", workload="long", epochs=20, machine=H100, use={"gpus": 1}, ended="finished", full=True,
           phases={"wall_ns": 900 * 10**9}),
    record("two", workload="long", epochs=2, machine={"gpu": "Tesla T4", "gpus": 1}, use={"gpus": 1}, ended="finished",
           full=True, phases={"wall_ns": 90 * 10**9}),
    record("batches", workload="wide", machine=H100, use={"gpus": 1}, ended="finished", full=True,
           phases={"wall_ns": 900 * 10**9}),
    record("other-batch", workload="wide", batch=1024, machine={"gpu": "Tesla T4", "gpus": 1}, use={"gpus": 1},
           ended="finished", full=True, phases={"wall_ns": 90 * 10**9}),
    record("spot-short", workload="spot short", machine={"gpu": "Tesla V100-SXM2-16GB", "gpus": 1}, use={"gpus": 1},
           ended="finished", full=True, phases={"wall_ns": 3599 * 10**9}),
    record("spot-long", workload="spot long", machine={"gpu": "Tesla V100-SXM2-16GB", "gpus": 1}, use={"gpus": 1},
           ended="finished", full=True, phases={"wall_ns": 3600 * 10**9}),
    record("lost", workload="my own", ended="stopped"),
    record("own", workload="inception", machine={"gpu": "NVIDIA GeForce GTX 1080 Ti", "gpus": 1}, ended="finished",
           full=True, use={"gpus": 1}, phases={"wall_ns": 43000 * 10**9}),
    record("rented", workload="inception", machine={"gpu": "Tesla K80", "gpus": 1, "provider": "aws",
                                                    "instance_type": "p2.xlarge"},
           ended="finished", full=True, use={"gpus": 1}, phases={"wall_ns": 167000 * 10**9}),
]
(HERE / "runs.jsonl").write_text("".join(json.dumps(r) + "\n" for r in RUNS))


def empty():
    text = fare("quote", code=1)
    assert "fare run" in text or "no run" in text.lower(), text


check("an empty ledger says what to do", empty)
fare("runs", "import", str(HERE / "runs.jsonl"))


def charge(rate, seconds, minimum=600, unit=60):
    return whole(max(F(seconds), minimum), unit) * F(rate) / 3600


def bills(q):
    return {b["offer"]: b for b in q["bills"]}


def fits():
    q = quote("20261110T000000Z-strong", "--provider", "acme")
    got = bills(q)
    same(sorted(got), ["acme/eight@here", "acme/one@here:spot", "acme/one@there", "acme/slow@here"])
    one = got["acme/one@there"]  # the cheaper region
    same(F(one["total"]), charge("3.00", 3000) + F("0.05"))
    same(F(one["low"]), charge("3.00", 2940) + F("0.05"))
    same(F(one["high"]), charge("3.00", 3060) + F("0.05"))
    same(one["charged_s"], 3000)
    same(one["basis"], "projected")
    names = [i["what"] for i in one["items"]]
    same(names, ["load", "train", "evaluate", "other", "set-up fee"])
    same(sum(F(i["amount"]) for i in one["items"]), F(one["total"]))
    eight = got["acme/eight@here"]
    unused = next(i for i in eight["items"] if i["what"] == "unused GPUs")
    same(F(unused["amount"]), charge("24.00", 3000) * 7 / 8)
    same(unused["how"], "7 of 8")
    same(got["acme/slow@here"]["run"], "20261110T000000Z-weak", "what was measured there")
    totals = [F(b["total"]) for b in q["bills"]]
    same(totals, sorted(totals), "order")
    hungry = quote("20261110T000000Z-hungry", "--provider", "acme", "--gpu", "h100", "--kind", "on-demand")
    same([m["offer"] for m in hungry["misfits"]], ["acme/eight@here", "acme/one@here", "acme/one@there"])
    assert "85 GiB" in hungry["misfits"][0]["why"], hungry["misfits"]
    same(hungry["bills"], [])
    same(len(bills(quote("20261110T000000Z-strong", "--provider", "acme", "--all"))), 5, "--all")


check("offers that fit, and those that do not", fits)


def filters():
    same(list(bills(quote("mlp", "--provider", "acme", "--gpu", "tesla t4"))), ["acme/slow@here"])
    same(list(bills(quote("mlp", "--provider", "acme", "--kind", "spot"))), ["acme/one@here:spot"])
    same(list(bills(quote("mlp", "--provider", "acme", "--region", "here", "--gpu", "h100"))),
         ["acme/one@here:spot", "acme/one@here", "acme/eight@here"])


check("filters", filters)


def beside():
    q = quote("20261110T000000Z-strong", "--offer", "acme/one@here", "--boot", "90s", "--storage", "100GB", "--egress",
              "5GB", "--hour-of-mine", "30")
    bill = q["bills"][0]
    item = {i["what"]: F(i["amount"]) for i in bill["items"]}
    length = 3090
    same(item["storage"], round(F("0.10") * 100 * length / 2592000 * 10**9) * F(1, 10**9))
    same(item["egress"], 4 * F("0.08"))
    same(bill["time_s"], length)
    same(F(bill["waiting"]), F(30) * length / 3600)
    time = sum(v for k, v in item.items() if k not in ("storage", "egress", "set-up fee"))
    same(time, charge("3.60", length))
    assert abs(item["boot"] - charge("3.60", length) * 90 / whole(length, 60)) < F(2, 10**9)
    assert "idle to the end of the billing unit" in item


check("boot, storage, egress, waiting", beside)


def currencies():
    bill = quote("20261110T000000Z-strong", "--offer", "rhein/one")["bills"][0]
    assert bill["tariff_assumed"] and "1.1172 USD on 2026-10-30, ECB" in bill["exchange"], bill
    assert abs(F(bill["total"]) - F(2) * 3000 / 3600 * ECB) < F(2, 10**9)


check("another currency", currencies)


def cpu():
    got = bills(quote("cnn", "--provider", "acme"))
    same(list(got), ["acme/cpu@here"], "the same processor with as many CPUs")
    near(got["acme/cpu@here"]["total"], charge("0.10", F(720 * 10**9 + 1, 10**9)) + F("0.05"))
    assert "low" not in got["acme/cpu@here"], "a full run has no interval"


check("runs on CPUs", cpu)


def classes():
    """The same processor in another family, as far as it is known which have it."""
    got = bills(quote("20261110T000000Z-epyc", "--provider", "aws"))
    same(sorted({name.split("@")[0] for name in got}), ["aws/c7a.2xlarge", "aws/m7a.2xlarge"])
    assert {"aws/c7a.2xlarge@here", "aws/m7a.2xlarge@here"} <= set(got)


check("a processor's class", classes)


def rates():
    path = CONFIG / "rates.csv"
    path.write_text("provider,offer,discount_percent,credit,rate,currency,from,to\nacme,,10,100,,USD,,\n"
                    "rhein,one,,,1.00,USD,,\n")
    try:
        bill = quote("20261110T000000Z-strong", "--offer", "acme/one@there")["bills"][0]
        full = charge("3.00", 3000) + F("0.05")
        same(F(bill["before_credit"]), full * 9 / 10)
        same(F(bill["total"]), 0, "the credit pays all of it")
        bill = quote("20261110T000000Z-strong", "--offer", "rhein/one")["bills"][0]
        assert abs(F(bill["total"]) - F(3000, 3600)) < F(2, 10**9), bill["total"]
    finally:
        path.unlink()


check("one's own discounts and rates", rates)


def advice():
    def says(*args):
        return " ".join(" ".join(quote("20261110T000000Z-strong", "--provider", "acme", *args)["advice"]).split())
    # 3000 s: spot 0.75; slow 30000 s: 3.05; one 2.55; eight 20.05
    text = says()
    assert text.startswith("Cheapest: acme/one, 2.55 USD (2.50-2.60) in 50 min 00 s") and "1 lower bound (≥) may be cheaper." in text, text
    assert "the cheapest is acme/one" in says("--kind", "on-demand", "--deadline", "1h"), says("--deadline", "1h")
    assert "none of them finishes; the fastest" in says("--deadline", "10m")
    assert "none of them is sure to finish" in says("--deadline", "3030s"), "the end of the interval counts"
    # 3060 s at 3.00 an hour are 2.55, and 0.05 besides: the budget has to pay that too
    assert "For 2.60 USD the fastest is acme/one, 2.55 USD (2.50-2.60) in 50 min 00 s (even at the end of its interval)." \
        in says("--budget", "2.60"), says("--budget", "2.60")
    assert "For 2.59 USD no offer is certainly affordable at the end of its interval; the cheapest is acme/one" \
        in says("--budget", "2.59", "--kind", "on-demand"), says("--budget", "2.59", "--kind", "on-demand")
    # Nobody knows how often the spot machine is taken away: it is sure of nothing.
    assert re.search(r"For 1.00 USD no offer is certainly affordable; the cheapest is acme/one, 2.55 USD [^;]*; may be within the "
                     r"budget: acme/one:spot, ≥0.750 USD", says("--budget", "1")), says("--budget", "1")
    # Beside both prices of a machine stands which of them misses the limit: the spot machine may be within it.
    row = next(line for line in fare("quote", "20261110T000000Z-strong", "--provider", "acme", "--budget", "1").splitlines() if " acme/one " in line)
    assert re.search(r"≥0\.750? on demand over budget$", row), row
    marks = {b["offer"]: (b["deadline"], b["budget"]) for b in quote("20261110T000000Z-strong", "--provider", "acme", "--deadline", "1h",
                                                                     "--budget", "100")["bills"]}
    same((marks["acme/one@here:spot"], marks["acme/one@there"]), (("met at the middle",) * 2, ("met",) * 2))
    assert "Within 1 h 00 min the cheapest is acme/one" in says("--deadline", "1h"), says("--deadline", "1h")
    assert "; may be cheaper, but is not sure to be in time: acme/one:spot, ≥0.750 USD" in says("--deadline", "1h")
    assert re.search(r"none of them is sure to finish; the fastest is acme/one, 2.55 USD [^;]*; may be in time: acme/one:spot, "
                     r"≥0.750 USD", says("--deadline", "3059s")), says("--deadline", "3059s")
    assert "For 0.749 USD no offer is affordable; the cheapest is" in says("--budget", "0.749")
    assert "no offer is affordable; the cheapest is" in says("--budget", "0.01")
    text = says("--runs", "10")
    # In one go with one set-up fee: 30,000 s at 3.00 an hour and 0.05; ten machines have ten fees.
    assert "10 runs one after the other on acme/one: 8 h 20 min, 25.05 USD; " \
        "on 10 × acme/one in parallel: 50 min 00 s, 25.50 USD." in text, text
    text = says("--hours-per-month", "10")
    assert "occasional use (one run a month): acme/one, 2.55 USD a month; may be cheaper: " \
        "acme/one:spot, ≥0.75 USD a month" in text, text
    assert "(12.0 runs): acme/one, 30.05 USD a month; may be cheaper: acme/one:spot, ≥9.00 USD a month" in text, text


check("deadline, budget, runs, hours a month", advice)


def buying():
    text = " ".join(quote("20261110T000000Z-own", "--provider", "aws", "--kind", "on-demand", "--date", "2017-05-01",
                          "--buy", "2500")["advice"])
    # 2500 / (0.90 x 24 x 167 / 43) days
    same(round(float(F(2500) / (F("0.90") * 24 * 167 / 43)), 1), 29.8)
    assert "29.8 days, on 2017-05-30" in text and "720 hours a month" in text, text
    bought = quote("20261110T000000Z-own", "--provider", "aws", "--kind", "on-demand", "--date", "2017-05-01",
                   "--buy", "2500", "--watts", "400", "--kwh", "0.30", "--hours-per-month", "360", "--resale", "340")
    own = next(b for b in bought["bills"] if b["provider"] == "own")
    # 2160 over 36 months of 360 hours, and 0.4 kW at 0.30
    rate = F(2160, 36 * 360) + F("0.12")
    assert abs(F(own["total"]) - rate * 43000 / 3600) < F(2, 10**8), own["total"]
    more = " ".join(quote("20261110T000000Z-own", "--provider", "aws", "--kind", "on-demand", "--date", "2017-05-01",
                          "--buy", "2500", "--watts", "400", "--kwh", "0.30")["advice"])
    # its hour of power costs 0.12, an hour's work 0.90 x 167 / 43 to rent
    days = F(2500) / ((F("0.90") * 167 / 43 - F("0.12")) * 24)
    assert f"{float(days):.1f} days" in more or f"{float(days) + 0.1:.1f} days" in more, (more, float(days))


check("rent or buy: 29.8 days", buying)


def unknown_total():
    text = fare("quote", "20261110T000000Z-lost")
    assert "could not be projected" in " ".join(text.split()) and "--full" in text, text
    same(quote("20261110T000000Z-lost")["bills"], [])


check("a run that was never projected", unknown_total)


def assumed():
    """Another processor may be assumed to be the same; another GPU may not."""
    text = fare("quote", "20261110T000000Z-cpu", "--offer", "acme/other")
    assert "this one is assumed to take as long" in " ".join(text.split()), text
    same(quote("20261110T000000Z-cpu", "--offer", "acme/other")["bills"][0]["basis"], "assumed")
    text = fare("quote", "20261110T000000Z-cpu", "--offer", "acme/slow", "--measured", code=2)
    assert "acme/slow has 1 × T4, but run 20261110T000000Z-cpu was measured without a GPU" in text, text
    assert "needs a run on such a machine" in text, text


check("an offer that is only assumed", assumed)


def named():
    """The run that is named is the one priced, also where another was measured on the offer."""
    weak, strong = "20261110T000000Z-weak", "20261110T000000Z-strong"
    for run, offer, words in ((weak, "acme/one@there", "1 × H100"), (strong, "acme/slow", "1 × T4")):
        text = fare("quote", run, "--offer", offer, "--measured", code=2)
        assert f"{offer} has {words}, but run {run} was measured on 1 × " in text, text
    for more in ((), ("--measured",)):  # no figure, the reason and the remedy
        text = fare("quote", strong, "--offer", "acme/cpu", *more, code=2)
        assert f"acme/cpu has no GPU, and run {strong} was measured on 1 × " in text and "tells nothing about the time on a processor" in text, text
        assert "measure the training on any CPU for a minute" in text and "USD" not in text, text
    bill = quote(strong, "--offer", "acme/one@there")["bills"][0]
    same((bill["run"], bill["basis"]), (strong, "projected"))
    assert not any("fare quote" in n for n in bill.get("notes", [])), bill["notes"]
    # A run whose time nobody knows is not given another's.
    fare("runs", "import", str(HERE / "stopped.jsonl"))
    same(quote("20261110T000000Z-cut", "--offer", "acme/one@there")["bills"], [])
    assert "is unknown" in fare("quote", "20261110T000000Z-cut", "--offer", "acme/one@there")
    # A workload has no run that was named: what was measured there.
    bill = quote("mlp", "--offer", "acme/slow")["bills"][0]
    same((bill["run"], bill["basis"]), (weak, "projected"))
    same([i["what"] for i in bill["items"]], ["run", "set-up fee"])


(HERE / "stopped.jsonl").write_text(json.dumps(record("cut", machine=H100, use={"gpus": 1}, ended="stopped",
                                                      started="2026-11-01T00:00:00Z")) + "\n")
check("the run that is named is priced", named)


def filters_beside():
    for option in (("--region", "here"), ("--kind", "spot"), ("--provider", "acme"), ("--gpu", "h100"), ("--max-age", "5"),
                   ("--all",)):
        text = fare("quote", "20261110T000000Z-strong", "--offer", "acme/one", *option, code=2)
        assert f"'{option[0]}' selects among offers" in text, text


check("filters beside the name of an offer are refused", filters_beside)


def too_early():
    text = fare("quote", "20261110T000000Z-strong", "--offer", "acme/one@there", "--date", "2026-10-31", code=1)
    assert "'acme/one@there' has no price on 2026-10-31: its first is from 2026-11-01" in text, text
    assert "--date 2026-11-01" in text, text
    same(len(quote("20261110T000000Z-strong", "--offer", "acme/one@there", "--date", "2026-11-01")["bills"]), 1)
    for command in (("prices", "acme/one"), ("cron", "@daily", "--up", "2m", "--offer", "acme/one")):
        text = fare(*command, "--date", "2026-10-31", code=1)
        assert "has no price on 2026-10-31: its first is from 2026-11-01" in text, text
    text = fare("quote", "20261110T000000Z-strong", "--offer", "acme/two", "--date", "2026-10-31", code=1)
    assert "no offer is called 'acme/two'" in text, text


check("an offer before its first price", too_early)


def outdated():
    """A price that nobody saw for years is no offer, and that is said; the days are those to the date of the quote."""
    book = CONFIG / "offers" / "old.csv"
    head = (CONFIG / "offers" / "mine.csv").read_text().splitlines()[0]
    book.write_text(head + "\nacme,ancient,here,,on-demand,,,,4,16,,no,1.00,USD,hour,2018-02-01,mine\n"
                    "acme,older,here,,on-demand,,,,4,16,,no,1.00,USD,hour,2018-01-01,mine\n")
    run = record("aged", workload="aged", machine={"provider": "acme", "instance_type": "ancient", "cpu": "Some CPU"},
                 use={"gpus": 0}, ended="finished", full=True, phases={"wall_ns": 90 * 10**9})
    (HERE / "aged.jsonl").write_text(json.dumps(run) + "\n")
    fare("runs", "import", str(HERE / "aged.jsonl"))
    try:
        q = quote(run["id"], "--date", "2020-02-11", "--deadline", "1m")  # 2018-02-01 and 740 days
        same((q["bills"], q["outdated"], q["outdated_days"]), ([], "acme/ancient@here", 740))
        same(q["advice"], ["The price of acme/ancient@here, which is the same as the machine measured (ancient), was last "
                           "seen 740 days ago: too old to count.",
                           "Within 1 min 00 s: the time is unknown on every offer in the book; on the machine measured (ancient) it "
                           "takes 1 min 30 s."])
        text = " ".join(fare("quote", run["id"], "--date", "2020-02-11").split())
        assert q["advice"][0] in text and "--max-age 740" in text and "No offer" not in text, text
        page = json.loads(fare("report", run["id"], "--date", "2020-02-11", "--json"))
        assert any(q["advice"][0] in s for s in page["verdict"]), page["verdict"]
        same(len(quote(run["id"], "--date", "2020-01-31")["bills"]), 1, "729 days count")
        assert "outdated" not in quote(run["id"], "--date", "2020-02-11", "--max-age", "740")
    finally:
        book.unlink()


check("a price that is too old to count is named", outdated)


def focus():
    rows = list(csv.DictReader(io.StringIO(fare("quote", "20261110T000000Z-strong", "--provider", "acme", "--format",
                                               "focus"))))
    q = quote("20261110T000000Z-strong", "--provider", "acme")
    same(sum(F(r["BilledCost"]) for r in rows), F(next(b for b in q["bills"] if b["kind"] != "spot")["total"]),
         "the cheapest that is no lower bound, and it alone")
    for column in ("BilledCost", "EffectiveCost", "BillingCurrency", "ChargePeriodStart", "ChargePeriodEnd",
                   "ChargeCategory"):
        assert all(r[column] for r in rows), column


check("rows of FOCUS", focus)


def table():
    text = fare("quote", "20261110T000000Z-strong", "--provider", "acme")
    assert all(len(line) <= 80 for line in text.splitlines()), max(text.splitlines(), key=len)
    text += fare("quote", "20261110T000000Z-strong", "--provider", "acme", "--all", "--long")
    text += fare("quote", "20261110T000000Z-hungry", "--provider", "acme", "--gpu", "h100")
    for word in ("acme/one ", "acme/one@here:spot", "8 × H100", "without tax", "Tax is left out", "does not fit"):
        assert word in text, word


check("the table", table)


def pinned():
    run = "20261110T000000Z-weak"
    before = fare("quote", run, "--pinned").splitlines()
    for _ in range(2):  # on one day, by one rule: one
        quote(run, "--offer", "acme/slow")
    quote(run, "--offer", "acme/slow", "--rule", "prorated")
    after = fare("quote", run, "--pinned").splitlines()
    same(sum("acme/" in line.split()[0] for line in after), sum("acme/" in line.split()[0] for line in before) + 2, "\n".join(after))
    # 30000 s are 500 started minutes
    assert any("acme/slow@here" in line and "3.05" in line and "2026-11-01" in line for line in after), after
    kept = json.loads(fare("quote", run, "--pinned", "--json"))["quotes"]
    same(sorted(k["quote"]["rule"] for k in kept if k["quote"]["bills"][0]["name"] == "slow"), ["paid", "prorated"])
    quote(run, "--offer", "acme/slow", "--storage", "10GB", "--boot", "60s", "--commit", "12")
    after = fare("quote", run, "--pinned").splitlines()
    assert "paid acme/slow storage 10 GB boot 1 min 00 s committed 12 months" in " ".join(" ".join(after).split()), after
    # A price that changes afterwards leaves it as it was.
    path = CONFIG / "offers" / "mine.csv"
    text = path.read_text()
    path.write_text(text.replace("T4,1,16,4,16,,no,0.36", "T4,1,16,4,16,,no,9.99"))
    same(fare("quote", run, "--pinned").splitlines(), after)
    path.write_text(text)


check("quotes are kept with their prices", pinned)


def other_lengths():
    """A training of other epochs is another one; another batch is said."""
    got = bills(quote("20261110T000000Z-twenty", "--provider", "acme"))
    assert "acme/slow@here" not in got, list(got)
    notes = " ".join(got["acme/eight@here"].get("notes", []))
    assert "batch" not in notes, notes
    got = bills(quote("20261110T000000Z-batches", "--provider", "acme"))
    assert any("batch" in n for n in got["acme/slow@here"]["notes"]), got["acme/slow@here"].get("notes")


check("whole trainings of other lengths", other_lengths)


def measured_there():
    # The workload's own run on that machine, not the first in the list.
    bill = quote("tweets", "--offer", "aws/p3.2xlarge", "--date", "2018-02-15")["bills"][0]
    near(bill["total"], F("3.06") * 3816 / 3600)
    same(bill["run"], "published-2018-tweets-aws-p3-2xlarge")
    text = fare("quote", "tweets", "--offer", "aws/p3.2xlarge", "--date", "2018-02-15")
    assert "published-2018-tweets-aws-p3-2xlarge" in text, text


check("an offer on which it was measured", measured_there)


def failed_runs():
    """A run that failed is no evidence, one that was stopped only where there is no other."""
    def half(name, ended, wall, machine=H100, **more):
        return record(name, workload="cut off", ended=ended, machine=machine, use={"gpus": 1},
                      projection={"after_s": 1, "wall_s": wall, "low_s": wall / 2, "high_s": wall * 2}, **more)
    (HERE / "cut.jsonl").write_text("".join(json.dumps(r) + "\n" for r in (
        half("died", "failed", 10, problem="signal SIGKILL"), half("cut-off", "stopped", 20), half("whole", "sampled", 3000),
        half("other", "sampled", 9000, {"gpu": "Tesla T4", "gpus": 1}))))
    fare("runs", "import", str(HERE / "cut.jsonl"))
    got = bills(quote("20261110T000000Z-other", "--provider", "acme"))
    same(got["acme/slow@here"]["run"], "20261110T000000Z-other")
    same(got["acme/one@there"]["run"], "20261110T000000Z-whole")
    bill = quote("20261110T000000Z-died", "--offer", "acme/one@there")["bills"][0]
    assert any("the run failed" in n for n in bill["notes"]), bill["notes"]
    bill = quote("20261110T000000Z-cut-off", "--offer", "acme/one@there")["bills"][0]
    assert any("was stopped early" in n for n in bill["notes"]), bill["notes"]


check("runs that were cut off", failed_runs)


def few_gpus():
    q = quote("20261110T000000Z-pair", "--offer", "acme/one@here")
    same(q["bills"], [])
    assert "has 1 GPU, the run used 2" in q["misfits"][0]["why"], q["misfits"]


check("an offer with fewer GPUs", few_gpus)


def fees_in_rent():
    # 0.90 an hour and 5 a month over 100 hours: 0.95
    text = " ".join(quote("published-2018-tweets-paperspace-p6000", "--provider", "paperspace", "--gpu", "p6000",
                          "--date", "2018-02-15", "--buy", "95", "--hours-per-month", "100")["advice"])
    assert "after 4 d 04 h of use: 30.0 days" in text, text
    # 4000 over 36 months are 111.11 in every month, however little it works; 4210 h of rent are 42 months
    text = " ".join(quote("published-2018-tweets-paperspace-p6000", "--provider", "paperspace", "--gpu", "p6000",
                          "--date", "2018-02-15", "--buy", "4000", "--hours-per-month", "100")["advice"])
    assert "(one run a month): paperspace/p6000, 6.64 USD" in text, text
    assert "does not pay within its 36 months" in text, text


check("what an hour of rent is", fees_in_rent)


def own_spot_rate():
    path = CONFIG / "rates.csv"
    path.write_text("provider,offer,discount_percent,credit,rate,currency,from,to\nacme,one,,,2.00,USD,,\n"
                    "acme,one:spot,,,0.36,USD,,\n")
    try:
        spot = quote("20261110T000000Z-strong", "--offer", "acme/one@here:spot")["bills"][0]
        near(spot["total"], F("0.36") * 3000 / 3600)
        same(spot["rate"], "0.36")
        assert any("list price is 0.90" in n for n in spot["notes"]), spot["notes"]
        near(quote("20261110T000000Z-strong", "--offer", "acme/one@there")["bills"][0]["total"],
             charge("2.00", 3000) + F("0.05"))
    finally:
        path.unlink()


check("a spot rate of one's own", own_spot_rate)


def fee_currency():
    path = CONFIG / "providers" / "rhein.json"
    path.write_text(json.dumps({"schema": "fare.tariffs/1", "tariffs": [
        {"id": "rhein", "provider": "rhein", "kind": "on-demand", "currency": "USD", "setup_fee": "5",
         "source": "mine", "date": "2026-11-01"}]}))
    try:
        bill = quote("20261110T000000Z-strong", "--offer", "rhein/one")["bills"][0]
        item = {i["what"]: F(i["amount"]) for i in bill["items"]}
        same(item["set-up fee"], 5)
        near(bill["total"], 5 + ECB * 2 * 3000 / 3600)
    finally:
        path.unlink()


check("fees in the tariff's currency", fee_currency)


def one_bad_offer():
    path = CONFIG / "offers" / "odd.csv"
    path.write_text("provider,name,region,kind,gpu,gpus,price,currency,per,date,source\n"
                    "acme,zork,here,on-demand,H100,1,1.00,ZZZ,hour,2026-11-01,mine\n"
                    "acme,tomorrow,here,on-demand,H100,1,0.01,USD,hour,2099-01-01,mine\n")
    try:
        q = quote("20261110T000000Z-strong", "--provider", "acme")
        assert any(m["offer"] == "acme/zork@here" for m in q["misfits"]), q["misfits"]
        assert "acme/one@there" in bills(q) and "acme/tomorrow@here" not in bills(q), list(bills(q))
    finally:
        path.unlink()


check("one bad offer, and one of tomorrow", one_bad_offer)


def committed():
    path = CONFIG / "offers" / "gcp.csv"
    path.write_text("provider,name,region,kind,gpu,gpus,price,currency,per,date,source\n"
                    "gcp,n1-mine-8,here,on-demand,H100,1,3.60,USD,hour,2026-11-01,mine\n")
    try:
        run = ("20261110T000000Z-strong", "--offer", "gcp/n1-mine-8")
        near(quote(*run)["bills"][0]["total"], F(3))
        year = quote(*run, "--commit", "12")["bills"][0]
        near(year["total"], F(3) * 63 / 100)
        # 3.60 x 0.63 x 730
        assert any("1655.64 USD a month" in n for n in year["notes"]), year["notes"]
        # Sustained use: the second quarter of a month at 80 %, and none of that with a commitment.
        used = ("--used-before", "200h", "--date", "2026-11-05")
        near(quote(*run, *used)["bills"][0]["total"], F(3) * 80 / 100)
        near(quote(*run, *used, "--commit", "36")["bills"][0]["total"], F(3) * 45 / 100)
        other = quote("20261110T000000Z-strong", "--offer", "acme/one@here", "--commit", "12")["bills"][0]
        assert any("price with a commitment of 12 months is unknown" in n for n in other["notes"]), other["notes"]
        # 1655.64 x 12 are owed, whatever is used
        assert year["committed"] == "19867.68" and any("19867.68 USD in all" in n for n in year["notes"]), year
    finally:
        path.unlink()


check("committed and sustained use", committed)


def free_boot():
    path = CONFIG / "offers" / "lambda.csv"
    path.write_text("provider,name,region,kind,gpu,gpus,price,currency,per,date,source\n"
                    "lambda,mine,here,on-demand,H100,1,3.60,USD,hour,2026-11-01,mine\n")
    try:
        bill = quote("20261110T000000Z-strong", "--offer", "lambda/mine", "--boot", "600s")["bills"][0]
        near(bill["total"], F("3.60") * 3000 / 3600)
        same(bill["time_s"], 3600, "the machine is waited for all the same")
    finally:
        path.unlink()


check("a boot that is not charged", free_boot)


def unpriced():
    q = quote("20261110T000000Z-strong", "--gpu", "h100", "--ingress", "5GB", "--provider", "acme")
    assert all(b["incomplete"] for b in q["bills"]), q["bills"]
    text = fare("quote", "20261110T000000Z-strong", "--gpu", "h100", "--ingress", "5GB", "--provider", "acme")
    assert "a tariff lacks the price of something you asked for" in " ".join(text.split()), text
    # Each row is a lower bound, and nothing else marks it.
    rows = [line for line in text.splitlines() if " acme/" in line and "H100 " in line]
    assert rows and "*" not in text and all("≥" in line for line in rows), text


check("what a tariff has no price for", unpriced)


def impossible():
    # An import refuses such times; a ledger from before it did may hold them.
    db = sqlite3.connect(Path(os.environ["XDG_DATA_HOME"]) / "fare/ledger.db")
    for run, old, new in (("backwards", ": 100", ": -100"), ("backwards", ": 200", ": -200"),
                          ("endless", str(2**61), str(2**63 - 1))):
        changed = db.execute("UPDATE fare_run SET record = replace(record, ?, ?) WHERE id = ? AND record LIKE ?",
                             (old, new, f"20261110T000000Z-{run}", f"%{old}%"))
        same(changed.rowcount, 1, run)
    db.commit()
    db.close()
    for word in ("never", "backwards", "endless"):
        same(quote(f"20261110T000000Z-{word}")["bills"], [], word)


check("times that cannot be", impossible)


def usage():
    for args, word in ((("--date", "soon"), "date"), (("--budget", "-1"), "budget"), (("--budget", "1e400"), "budget"),
                       (("--hours-per-month", "800"), "720"), (("--kwh", "nan"), "kwh"), (("mlp", "cnn"), "one run"),
                       (("nothing-like-it",), "nothing-like-it")):
        code = 1 if args == ("nothing-like-it",) else 2
        text = fare("quote", *args, code=code)
        assert word in text, (args, text)
    text = fare("quote", "--offer", "acme/oen", code=1)
    assert "acme/oen" in text, text


check("mistakes", usage)


def spending():
    # As acme/one, without GPUs: this machine is said to be that one.
    (CONFIG / "offers" / "plain.csv").write_text("""\
provider,name,region,kind,vcpus,memory_gib,price,currency,per,date,source
acme,plain,here,on-demand,16,128,3.60,USD,hour,2026-11-01,mine
acme,plain,here,spot,16,128,0.90,USD,hour,2026-11-01,mine
""")
    text = fare("run", "mlp", "--max-spend", "1", code=2)
    assert "--offer" in text, text
    text = fare("run", "mlp", "--max-spend", "0.5", "--offer", "acme/plain@here", code=2)  # 600 s at least: 0.65
    assert "is not enough to start" in text, text
    text = fare("run", "mlp", "--max-spend", "1", "--offer", "acme/none", "--no-ledger", code=1)
    assert "acme/none" in text, text
    # 0.0009 USD are 3.6 s of the spot machine
    out = json.loads(fare("run", "mlp", "--max-spend", "0.0009", "--offer", "acme/plain@here:spot", "--within", "0.1%",
                          "--no-ledger", "--json"))["runs"][0]
    assert 2.5 < out["phases"]["wall_ns"] / 1e9 < 6, out["phases"]
    assert {"key": "offer", "value": "acme/plain@here:spot"} in out["labels"], out["labels"]
    same(out["machine"]["instance_type"], "plain")


check("a sample that may cost no more", spending)
tap.done()
