# SPDX-License-Identifier: Apache-2.0
"""Short names: unique, kept for good, and taken wherever an offer is named. Expectations are by hand: what a person who rents there
would call the machine."""
import csv
import json
import os
import sys
from collections import Counter
from pathlib import Path

sys.path.insert(0, os.environ["TESTS"])
from tap import done, fare, report  # noqa: E402

SHARE, HERE = Path(os.environ["ROOT"]) / "share", Path(os.environ["TMPDIR"])
BY_HAND = {"aws/p5.48xlarge": "p5.48xlarge", "azure/Standard_NC24ads_A100_v4": "nc24ads-a100-v4", "gcp/g2-standard-8": "g2-standard-8",
           "runpod/1x_H200-SXM_SECURE": "h200", "primeintellect/datacrunch__2xV100_16GB__10__45": "datacrunch-v100x2",
           "lambda/gpu_8x_h100_sxm5": "h100x8", "shadeform/lambdalabs_H100": "lambdalabs-h100", "hetzner/ex51-ssd-gpu": "gtx1080",
           "nebius/gpu-h200-sxm_1gpu-16vcpu-200gb": "h200"}


def rows(path):
    with open(path, newline="") as f:
        return list(csv.DictReader(f))


names = {f"{r['provider']}/{r['name']}": r["short"] for r in rows(SHARE / "names.csv")}
report("names are those a person would use", {k: names.get(k) for k in BY_HAND} == BY_HAND, {k: names.get(k) for k in BY_HAND})
twice = [n for n, c in Counter((k.split("/")[0], v.lower()) for k, v in names.items()).items() if c > 1]
report("each is unique at its provider", not twice, twice)
shipped = {f"{r['provider']}/{r['name']}" for t in (SHARE / "offers").glob("*.csv") for r in rows(t)}
report("each shipped machine has one", shipped <= names.keys(), sorted(shipped - names.keys())[:9])
clash = [k for k, v in names.items() if f"{k.split('/')[0]}/{v}" in shipped and f"{k.split('/')[0]}/{v}" != k]
report("none is another machine's own name", not clash, clash)
long = [v for k, v in names.items() if len(v) > 32]
report("none is longer than 32 letters", not long, long)

one = json.loads(fare("quote", "--time", "10h", "--offer", "RunPod/H200", "--json", "--date", "2026-08-22"))["bills"][0]
report("--offer takes it, in any case", one["offer"].startswith("runpod/1x_H200-SXM_SECURE"), one["offer"])
spot = json.loads(fare("quote", "--time", "10h", "--offer", "aws/p5.48xlarge:spot", "--json", "--date", "2026-08-22"))["bills"][0]
report("place and kind go with it", spot["kind"] == "spot", spot["offer"])
report("a wrong one is named", "no offer is called 'runpod/h2000'" in fare("quote", "--time", "10h", "--offer", "runpod/h2000", code=1))

# ---- newcomers: the name that is there stays
HEAD = "provider,name,kind,gpu,gpus,vcpus,memory_gib,price,date,source\n"
BOOK = HERE / "names.book"


def add(text, when):
    table = HERE / f"offers-{when}.csv"
    table.write_text(HEAD + text)
    fare("prices", "import", table, "--book", BOOK)
    return {r["name"]: r["short"] for r in rows(f"{BOOK}.names")}


first = add("newcloud,big_H100_b,on-demand,H100,1,26,200,2.00,2026-11-01,test\n", 1)
report("a machine of a new provider is named after its GPU", first == {"big_H100_b": "big-h100"}, first)
second = add("newcloud,big_H100_a,on-demand,H100,1,26,200,1.00,2026-11-02,test\nrunpod,1x_H200-NEW_COMMUNITY,on-demand,H200,1,26,200,1.00,2026-11-02,test\n",
             2)
report("a newcomer gets a suffix, though it would come first", second == {"big_H100_b": "big-h100", "big_H100_a": "big-h100-26c",
                                                                          "1x_H200-NEW_COMMUNITY": "h200-new"}, second)
found = json.loads(fare("prices", "newcloud/big-h100", "--book", BOOK, "--json", "--date", "2026-11-03"))
report("and the old name still means the old machine", found["name"] == "big_H100_b", found.get("name"))
Path(f"{BOOK}.names").write_text("provider,name,short\nrunpod,1x_H200-SXM_SECURE,mine\n")
mine = json.loads(fare("prices", "runpod/mine", "--book", BOOK, "--json"))
report("a name given here goes before the shipped one", mine["name"] == "1x_H200-SXM_SECURE", mine.get("name"))
Path(f"{BOOK}.names").write_text("garbage")
plain = json.loads(fare("prices", "runpod/1x_H200-SXM_SECURE", "--book", BOOK, "--json"))
report("where names cannot be read, full names go on", plain["name"] == "1x_H200-SXM_SECURE", plain.get("name"))
done()
