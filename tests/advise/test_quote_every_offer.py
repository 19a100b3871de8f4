# SPDX-License-Identifier: Apache-2.0
"""fare quote: each of the shipped offers has a price, or a reason why the training could not run there. What could not run follows
from the shipped tables alone: fare has engines for NVIDIA's GPUs and for processors, a machine needs as much memory as the run, an
x86-64 processor, and a provider that still has it. AWS's instances with a processor of ARM have a g after the number of their
generation (docs.aws.amazon.com/ec2/latest/instancetypes/instance-type-names.html); the GH200 is one, too."""
import csv
import datetime
import json
import os
import re
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, os.environ["TESTS"])
import tap  # noqa: E402

FARE, SHARE = os.environ["FARE"], Path(os.environ["ROOT"]) / "share"


def rows(path):
    with open(path, newline="") as f:
        return list(csv.DictReader(f))


def key_of(offer):
    """provider/name@region:kind"""
    kind = re.search(r":(spot|monthly)$", offer)
    provider, name = re.sub(r"(@.*)?(:(spot|monthly))?$", "", offer).split("/", 1)
    return provider, name, kind[1] if kind else "on-demand"


def words(keys):
    return sorted("/".join(k) for k in keys)[:20]


gpus = {r["name"]: r for r in rows(SHARE / "devices" / "gpus.csv")}
offers = {}  # one machine in all regions
for path in sorted((SHARE / "offers").glob("*.csv")):
    for r in rows(path):
        offers.setdefault((r["provider"], r["name"], r["kind"]), []).append(r)
tap.report("the shipped offers are read", len(offers) > 1500 and any(not r[0]["gpu"] for r in offers.values()), len(offers))


def quoted(workload):
    p = subprocess.run([FARE, "quote", workload, "--all", "--max-age", "36500d", "--json"], capture_output=True, text=True, check=True)
    return json.loads(p.stdout)


UNABLE = {"no engine for the GPU", "not enough GPU memory", "not enough memory", "ARM host", "retired", "no framework for the GPU",
          "not supported by the framework"}
TODAY = datetime.datetime.now(datetime.timezone.utc).date().isoformat()
RETIRED = {k for k, r in offers.items() if all(row.get("valid_to") and row["valid_to"] <= TODAY for row in r)}
ARM = {k for k, r in offers.items() if (k[0] == "aws" and re.match(r"[a-z]+[0-9]+g", k[1])) or r[0]["gpu"] == "GH200"}
OLD = {k for k, r in offers.items() if re.match("K[0-9]", r[0]["gpu"])}  # Kepler: before the oldest GPU of PyTorch 2.8's support matrix
MAXWELL = {k for k, r in offers.items() if r[0]["gpu"] and gpus[r[0]["gpu"]]["architecture"] == "maxwell"}  # fare's kernels begin at Pascal
tap.report("some are retired, dozens have ARM hosts, some a GPU of Kepler's", RETIRED and len(ARM) > 50 and OLD, (len(RETIRED), len(ARM), len(OLD)))


def judge(workload):
    q = quoted(workload)
    bills = {key_of(b["offer"]): b for b in q["bills"] + q["estimates"]}
    misfits = {}
    for m in q["misfits"]:
        misfits.setdefault(key_of(m["offer"]), m)
    missing = set(offers) - set(bills) - set(misfits)
    tap.report(f"{workload}: no offer is silently left out", not missing, words(missing))
    tap.report(f"{workload}: nothing else is quoted", not (set(bills) | set(misfits)) - set(offers), words((set(bills) | set(misfits)) - set(offers)))
    other = {k: m["reason"] for k, m in misfits.items() if k not in bills and (m["reason"] not in UNABLE or not m["why"])}
    tap.report(f"{workload}: the rest could not run there", not other, dict(list(other.items())[:10]))
    for reason, machines in (("ARM host", ARM), ("retired", RETIRED), ("no framework for the GPU", OLD - set(bills)),
                             ("not supported by the framework", MAXWELL - RETIRED - set(bills))):
        found = {k for k, m in misfits.items() if m["reason"] == reason}
        tap.report(f"{workload}: {reason}: these and no others", found == machines and not machines & set(bills), words(found ^ machines))
    no_engine = {k for k, r in offers.items() if r[0]["gpu"] and gpus[r[0]["gpu"]]["vendor"] != "nvidia"} - RETIRED
    found = {k for k, m in misfits.items() if m["reason"] == "no engine for the GPU"}
    tap.report(f"{workload}: another vendor's GPUs have no engine, all others do", no_engine == found, words(no_engine ^ found))
    unpriced = [k for k, b in bills.items() if not float(b["total"]) > 0 or not float(b["time_s"]) > 0]
    tap.report(f"{workload}: each has a time and a total", not unpriced, words(unpriced))
    return q, bills


_, cnn = judge("cnn")
judge("mlp")

unnamed = {k for k, b in cnn.items() if b.get("processor_unknown")}
parts = {k for k, r in offers.items() if r[0]["gpus"] and float(r[0]["gpus"]) < 1 and k in cnn}
mig = {k for k in cnn if "-MIG-" in k[1]}
tap.report("processors that nobody names are told apart", len(unnamed) > 100 and all(not offers[k][0]["gpu"] for k in unnamed), len(unnamed))
tap.report("there are shares of GPUs and parts of them", len(parts) >= 10 and len(mig) == 16, (len(parts), len(mig)))
named = {k for k in cnn if not offers[k][0]["gpu"] and "certainty" in cnn[k]} - unnamed


def widths(keys):
    """Of machines with eight virtual CPUs: a far larger machine than that of the run is rougher for that."""
    return [cnn[k]["training_high_s"] / cnn[k]["training_low_s"] for k in keys if cnn[k]["vcpus"] == 8]


tap.report("they are rougher than those with a name", min(widths(unnamed)) > max(widths(named)), (widths(unnamed), widths(named)))
tap.report("all of these are rough", all(cnn[k]["basis"] == "rough" for k in unnamed | parts | mig), "")
tap.done()
