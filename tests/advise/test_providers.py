#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Rented machines of several providers: the table of February 2018, whose 13 rows stand here as they were published, and made-up runs
whose conclusions are the other way round."""
import json
import math
import os
import re
import sys
from fractions import Fraction as F
from pathlib import Path

sys.path.insert(0, os.environ["TESTS"])
from tap import done, fare, report  # noqa: E402

HERE = Path(os.environ["TMPDIR"])
EUR = F("1.228")  # derived from the four costs in EUR: share/currencies.csv
MONTH = F("158.59")  # the middle of what a prorated 0.5 allows
# provider, instance, GPU, GPUs, memory of one, budget or high-end, hours, accuracy, GPU use, printed cost, its sum from those hours
TABLE = [
    ("aws", "p2.xlarge", "K80", 1, 12, "low", "3.62", 82.47, 78, "3.3", F("3.62") * F("0.90")),
    ("aws", "p3.2xlarge", "V100", 1, 16, "high", "1.06", 82.23, 67, "3.3", F("1.06") * F("3.06")),
    ("gcp", "n1-standard-4+1xK80", "K80", 1, 12, "low", "3.72", 82.54, 77, "2.4", F("3.72") * F("0.64")),
    ("gcp", "n1-standard-4+1xP100", "P100", 1, 16, "high", "2.07", 82.30, 71, "3.4", F("2.07") * F("1.65")),
    ("paperspace", "P6000", "P6000", 1, 24, "low", "1.82", 82.24, 76, "1.6", F("1.82") * F("0.90")),
    ("paperspace", "V100", "V100", 1, 16, "high", "1.09", 82.59, 68, "2.5", F("1.09") * F("2.30")),
    ("hetzner", "ex51-ssd-gpu", "GTX1080", 1, 8, "low", "2.27", 82.46, 81, "0.5", F("2.27") * MONTH / 720),
    ("softlayer", "2xM60", "M60", 2, 8, "low", "3.16", 82.22, 85, "11.2", math.ceil(F("3.16")) * F("2.80")),
    ("softlayer", "4xK80", "K80", 4, 12, "high", "4.1", 82.57, 62, "20.1", math.ceil(F("4.1")) * F("4.02")),
    ("leadergpu", "2xGTX1080", "GTX1080", 2, 8, "low", "2.12", 82.29, 67, "3.13", F("2.12") * 60 * F("0.02") * EUR),
    ("leadergpu", "2xP100", "P100", 2, 16, "high", "2.42", 82.26, 42, "14.26", F("2.42") * 60 * F("0.08") * EUR),
    ("leadergpu", "2xGTX1080", "GTX1080", 1, 8, "low", "2.49", 82.50, 71, "3.7", F("2.49") * 60 * F("0.02") * EUR),
    ("leadergpu", "2xP100", "P100", 1, 16, "high", "1.86", 82.32, 74, "11.0", F("1.86") * 60 * F("0.08") * EUR)]
ROUNDED = {("aws", "1.06"), ("leadergpu", "2.12")}  # the printed hours alone do not give the printed cost


def key(row):
    return row["provider"], f"{row['time_s']['value'] / 3600:.2f}"


def table_of_2018():
    compare = json.loads(fare("compare", "--published", "2018-tweets", "--rule", "published", "--json"))
    work = compare["workloads"][0]
    rows = {key(r): r for r in work["rows"]}
    report("13 rows by the rule", len(rows) == 13 and compare["rule"] == "published", sorted(rows))
    for provider, instance, gpu, gpus, memory, kind, hours, accuracy, use, printed, cost in TABLE:
        row = rows[provider, f"{float(hours):.2f}"]
        name = f"{provider} {instance}, {hours} h"
        report(f"{name}: ${printed} as printed", row["cost"]["printed"] == printed, row["cost"])
        # LeaderGPU charged by the minute: at most one more than the time.
        near = abs(F(row["cost"]["usd"]) - cost) <= (F("0.08") * EUR if provider == "leadergpu" else F("0.0001"))
        report(f"{name}: the sum behind it", near, (row["cost"]["usd"], float(cost)))
        what = (row["instance"], row["gpu"], row.get("gpus_used", row["gpus"]), row["gpu_memory_gib"], row["type"])
        report(f"{name}: what was rented", what == (instance, gpu, gpus, memory, kind), what)
        figures = round(row["accuracy"]["value"] * 100, 2), row["gpu_percent"]["value"]
        report(f"{name}: accuracy and use", figures == (accuracy, use), figures)
        said = any(f"{hours} h is rounded" in n and f"printed ${printed}" in n for n in row.get("notes", []))
        report(f"{name}: rounded hours are explained, and only those", said == ((provider, hours) in ROUNDED), row.get("notes"))
    charged = {k: F(r["cost"]["charged_usd"]) for k, r in rows.items()}
    report("as charged: the monthly fee of 5 USD, and a whole month",
           abs(charged["paperspace", "1.82"] - F("6.638")) < F("0.001") and charged["hetzner", "2.27"] == MONTH
           and charged["softlayer", "3.16"] == F("11.2"), charged)
    order = [F(r["cost"]["usd"]) for r in work["rows"]]
    report("the order is that of the costs", order == sorted(order), order)
    says = " ".join(work["sentences"])
    # 1/1.638 and 1/2.507; (2.507 - 1.638) / (1.82 - 1.09); (3.4155 - 2.3808) / (3.72 - 2.07)
    for words in ("Cheapest: GTX1080 at hetzner, $0.50 a training if its month is paid anyway, else P6000 at paperspace, $1.64",
                  "Fastest: V100 at aws, 1 h 04 min", "0.61 and 0.40 at paperspace", "$1.19 at paperspace", "$0.63 at gcp",
                  "always at aws", "never at softlayer", "the same at aws"):
        report(f"it says '{words[:40]}…'", words in says, says)


def paid():
    work = json.loads(fare("compare", "--published", "2018-tweets", "--json"))["workloads"][0]
    report("as paid, a month is no bargain", "Cheapest: K80 at gcp, $2.38 a training. " in work["sentences"][0], work["sentences"])
    report("and nothing is printed", not any("printed" in r["cost"] or "charged_usd" in r["cost"] for r in work["rows"]))
    text = fare("compare", "--published", "2018-tweets", "--format", "md", "--rule", "published")
    heads = re.search(r"^\| *provider.*$", text, re.M)
    report("the columns of 2018", heads and all(h in heads[0] for h in ("type", "GPU", "memory", "time", "accuracy", "instance", "GPU use",
                                                                        "cost", "as charged")), text)


    page = fare("report", "--published", "2018-tweets", "--rule", "published", "--format", "md", "-o", "-")
    report("a report by the same rule has the same rows", all(f"| {row[9]} |" in page for row in TABLE) and "as charged" in page, page)
    plain = fare("compare", "--published", "2017-keras-backends", "--rule", "published", "--workload", "mlp")
    report("a table without the column does not explain it", "Costs are as comparisons print them" in plain and "Charged is" not in plain, plain)


def run(number, provider, machine, gpu, hours, price):
    return json.dumps({"schema": "fare.run/1", "id": f"20200101T00000{number}Z-{number:06}", "started": "2020-01-01T00:00:00Z",
                       "workload": "cnn", "machine": {"name": machine, "gpu": gpu, "gpus": 1, "provider": provider, "instance_type": machine},
                       "labels": [{"key": "price_per_hour_usd", "value": str(price)}], "full": True, "ended": "finished",
                       "phases": {"wall_ns": int(hours * 3600e9)}})


def other_way():
    """The dear GPU is cheaper by the training at both."""
    file, ledger = HERE / "rented.jsonl", f"--ledger={HERE}/rented.db"
    file.write_text("\n".join([run(1, "aws", "a", "NVIDIA Tesla K80", 10, 1), run(2, "aws", "b", "NVIDIA Tesla V100", 1, 4),
                               run(3, "gcp", "c", "NVIDIA Tesla K80", 8, 1), run(4, "gcp", "d", "NVIDIA Tesla P100", 9, 0.5)]))
    fare("runs", "import", file, ledger)
    work = json.loads(fare("compare", "--json", "--rule", "prorated", ledger))["workloads"][0]
    types = {r["machine"]: r["type"] for r in work["rows"]}
    report("the dearer hour is the high one", types == {"a": "low", "b": "high", "c": "high", "d": "low"}, types)
    says = " ".join(work["sentences"])
    # a 10 USD, b 4; d 4.50 in 9 h, c 8 in 8 h: 3.50 for an hour
    report("conclusions follow the figures", "costs less at gcp; more at aws" in says and "always at aws" in says
           and "worth $3.50 at gcp" in says and "Cheapest: V100 at aws, $4.00" in says, says)
    file.write_text(run(5, "aws", "e", "NVIDIA Tesla T4", 3, 2))
    fare("runs", "import", file, f"--ledger={HERE}/one.db")
    alone = json.loads(fare("compare", "--json", f"--ledger={HERE}/one.db"))["workloads"][0]
    report("of one provider there are no types", "type" not in alone["rows"][0], alone)


def every_machine():
    """Each rented machine of the five posts has a price and a bill in the month of its post."""
    share = Path(os.environ["ROOT"]) / "share/published"
    runs = [json.loads(line) for path in sorted(share.glob("201*.jsonl")) for line in path.read_text().splitlines()]
    rented = [r for r in runs if r["machine"].get("provider")]
    offers = {(f"{r['machine']['provider']}/{r['machine']['instance_type']}", next(l["value"] for l in r["labels"] if l["key"] == "published"),
               ":spot" * any(l["key"] == "price_kind" for l in r["labels"])) for r in rented if "instance_type" in r["machine"]}
    # Machines that the posts price without a run on them: 2015's on spot and the larger one, the 16 processors of 2017, the task of 2018.
    offers |= {("aws/g2.2xlarge", "2015-05", ":spot"), ("aws/g2.8xlarge", "2015-05", ""), ("gcp/n1-highcpu-16", "2017-11", ":spot"),
               ("gcp/n1-standard-1", "2018-11", ":spot"), ("aws/p2.xlarge", "2017-04", ":spot")}
    for offer, month, kind in sorted(offers):
        kind = ":monthly" if offer.startswith("hetzner/") else kind
        quote = json.loads(fare("quote", "--time", "1h", "--offer", offer + kind, "--date", f"{month}-15", "--json"))
        bills = quote["bills"]
        report(f"{offer}{kind} has a bill in {month}", len(bills) == 1 and F(bills[0]["total"]) > 0, quote)
    timed = 0
    for name in ("2015-l1", "2017-keras-backends", "2018-tweets"):
        for work in json.loads(fare("compare", "--published", name, "--json"))["workloads"]:
            for row in work["rows"]:
                timed += "provider" in row and "time_s" in row
                if "provider" in row and "time_s" in row:
                    report(f"{work['workload']} on {row['machine']}, {row['framework']}: a cost", "usd" in row.get("cost", {}), row)
    report("all timed runs of the posts were seen", timed == 1 + 30 + 13, timed)
    first = {r["machine"]: r for r in json.loads(fare("compare", "--published", "2015-l1", "--json"))["workloads"][0]["rows"]}
    report("2015: a started hour of 0.65 USD", first["g2.2xlarge"]["cost"]["usd"] == "0.65", first["g2.2xlarge"])


def relative():
    text = fare("compare", "--published", "2017-inception")
    report("167 × prints as 167 ×, and 43 × as 43 ×", re.search(r"GTX 1080 Ti +167 × ", text) and re.search(r"p2\.xlarge +43 × ", text), text)


table_of_2018()
paid()
other_way()
every_machine()
relative()
done()
