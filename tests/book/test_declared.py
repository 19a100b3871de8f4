# SPDX-License-Identifier: Apache-2.0
"""What catalogues leave open is declared, and what cannot be bought or cannot train does not lead. The expectations are not fare's:
- Mithril: SkyPilot's fetcher writes minimum_price_cents, the lowest bid of an auction; reservations are 3 h to 2 weeks (docs.mithril.ai).
- Seeweb: its own figures in cloud-gpus.github.io pull 62 are in EUR (L4 0.38); the ECB's rate makes USD of them.
- Azure's NCv3 was retired on 2025-09-30 (retired-sizes-list.md).
- gpuhunt writes DigitalOcean's vram of all GPUs: gpu-h100x8-640gb has 8 × 80 GB.
- ROCm has no kernels for RDNA 1 (Radeon Pro V520) and none any more for gfx900 (MI25): rocm-install-on-linux system-requirements.rst."""
import csv
import json
import os
import re
import sys
from decimal import Decimal
from pathlib import Path

sys.path.insert(0, os.environ["TESTS"])
from tap import done, fare, report  # noqa: E402

FARE, SHARE, HERE = os.environ["FARE"], Path(os.environ["ROOT"]) / "share", Path(os.environ["TMPDIR"])
CONFIG = Path(os.environ["XDG_CONFIG_HOME"]) / "fare"


def quote(*args):
    return json.loads(fare("quote", *args, "--json"))


def flat(text):
    return " ".join(text.split())


# ---- the floor of an auction, and the longest term
q = quote("--time", "21d", "--gpu", "h100", "--gpus", "8", "--date", "2026-11-18", "--all")
demand = [b for b in q["bills"] if b["kind"] == "on-demand"]
report("no floor of an auction is the cheapest on demand", demand[0]["provider"] != "mithril" and float(demand[0]["total"]) > 7000,
       (demand[0]["offer"], demand[0]["total"]))
late = [m for m in q["misfits"] if m["offer"].startswith("mithril/")]
report("21 days are more than the 2 weeks of its reservations", [m["reason"] for m in late] == ["ends before the training does"]
       and "14 d" in late[0]["why"] and not any(b["provider"] == "mithril" for b in demand), late)
named = flat(fare("quote", "--time", "21d", "--offer", "mithril/h100-80gb.sxm.8x", "--date", "2026-11-18"))
report("nor is it billed by name", "ends after 14 d 00 h at the latest, the training takes 21 d" in named and "total" not in named, named)
q = quote("--time", "10d", "--gpu", "h100", "--gpus", "8", "--date", "2026-11-18", "--all")
floors = [b for b in q["bills"] if b["provider"] == "mithril"]
after = max(b["place"] for b in q["bills"] if not b.get("price_doubt"))
report("for 10 days it is a lower bound, and comes last", len(floors) == 2 and all(b["price_is"] == "floor" and b["lower_bound"] and b["place"] > after
       and "lowest bid" in b["price_doubt"] for b in floors), [(b["offer"], b["place"], after) for b in floors])
text = flat(fare("quote", "--time", "10d", "--gpu", "h100", "--gpus", "8", "--date", "2026-11-18", "--provider", "mithril"))
report("none is recommended, with the reason", "No offer is recommended, as each price is doubtful; the first: " in text and "lowest bid" in text, text)
text = flat(fare("quote", "--time", "10d", "--gpu", "h100", "--gpus", "8", "--date", "2026-11-18", "--provider", "mithril", "--all"))
report("its bill has a ≥", re.search(r"≥1928\.00\b", text), text)  # 241 started hours of 8 USD
listed = [(o["offer"], "price_doubt" in o) for o in json.loads(fare("prices", "--gpu", "h100", "--date", "2026-11-18", "--json", "-n", "9999"))["offers"]]
report("fare prices lists it, among the doubtful ones at the end", ("mithril/h100-80gb.sxm.8x@us-central2-a", True) in listed
       and [d for _, d in listed] == sorted(d for _, d in listed), listed)

# ---- euros
with open(SHARE / "ecb-rates.csv", newline="") as f:
    usd = next(Decimal(r["USD"]) for r in csv.DictReader(f) if r["Date"] == "2026-10-30")
b = quote("--time", "10h", "--offer", "seeweb/ECS1GPU6", "--boot", "0", "--image-time", "0s", "--date", "2026-10-30")["bills"][0]
report("10 hours of Seeweb's L4 at 0.38 EUR", b["currency"] == "EUR" and abs(Decimal(b["total"]) - 10 * Decimal("0.38") * usd) < Decimal("0.00001"),
       (b["currency"], b["total"], usd))

# ---- catalogues
(HERE / "seeweb.csv").write_text("InstanceType,AcceleratorName,AcceleratorCount,vCPUs,MemoryGiB,Price,Region,GpuInfo,SpotPrice\n"
                                 "ECS9GPU,L4,1,4,32.0,0.38,it-fr2,,\nECS9NONE,L4,1,4,32.0,0.38,,,\n")
(HERE / "azure.csv").write_text("InstanceType,AcceleratorName,AcceleratorCount,vCPUs,MemoryGiB,GpuInfo,Price,SpotPrice,Region\n"
                                "Standard_NC6s_v3,V100,1,6,112,,3.06,0.9,eastus\nStandard_Same,T4,1,4,28,,0.5,0.5,eastus\nStandard_Same,T4,1,4,28,,0.6,0.6,westus\n"
                                "Standard_Once,T4,1,4,28,,0.5,0.5,eastus\nStandard_Once,T4,1,4,28,,0.6,0.2,westus\n")
(HERE / "newcloud.csv").write_text("InstanceType,AcceleratorName,AcceleratorCount,vCPUs,MemoryGiB,Price,Region,GpuInfo,SpotPrice\nbox,L4,1,4,32.0,0.10,here,,\n")
(HERE / "digitalocean.csv").write_text("instance_name,location,price,cpu,memory,gpu_count,gpu_name,gpu_memory,spot,disk_size,gpu_vendor\n"
                                       "gpu-h100x8-640gb,tor1,23.92,160,1920,8,H100,640.0,False,2000,nvidia\n"
                                       "gpu-h100x1-80gb,tor1,3.39,20,240,1,H100,80.0,False,700,nvidia\n")
BOOK = HERE / "book"
fare("prices", "import", *(HERE / f"{p}.csv" for p in ("seeweb", "azure", "newcloud", "digitalocean")), "--date", "2025-09-20", "--book", BOOK)


def offers(provider, date="2025-09-25"):
    return {(o["name"], o.get("region", ""), o["kind"]): o for o in
            json.loads(fare("prices", "--provider", provider, "--book", BOOK, "--date", date, "--all", "--json", "--max-age", "9999d"))["offers"]}


see = offers("seeweb")
report("Seeweb's row without a region is doubtful, the other is not", "region" in see["ECS9NONE", "", "on-demand"]["price_doubt"]
       and "price_doubt" not in see["ECS9GPU", "it-fr2", "on-demand"] and see["ECS9GPU", "it-fr2", "on-demand"]["currency"] == "EUR", see.keys())
new = offers("newcloud")["box", "here", "on-demand"]
report("a catalogue whose currency nobody has said is doubtful", new["lacks"] == "currency" and "currency" in new["price_doubt"], new)
az = offers("azure")
same = [o.get("price_doubt", "") for k, o in az.items() if k[0] == "Standard_Same"]
once = [o.get("price_doubt", "") for k, o in az.items() if k[0] == "Standard_Once"]
report("one number for on demand and spot everywhere is doubtful", len(same) == 4 and all("same on demand and spot" in d for d in same), same)
report("a spot price that reached the one on demand in one place is not", once == [""] * 4, once)
do = offers("digitalocean")
report("DigitalOcean's memory is that of one GPU", {(o["gpu"], o["gpu_memory_mib"]) for o in do.values()} == {("H100", 81920)},
       [(o["gpu"], o["gpu_memory_mib"]) for o in do.values()])

# ---- a table of declarations of one's own goes first, and a mistake in it is refused with its line
COLUMNS = "provider,offers,kind,currency,price_is,valid_to,source,date\n"
CONFIG.mkdir(parents=True, exist_ok=True)
(CONFIG / "catalogues.csv").write_text(COLUMNS + "newcloud;other*,b?x,on-demand,CHF,list,2026-01-01,mine,2026-11-18\nseeweb,,,USD,,,mine,2026-11-18\n")
fare("prices", "import", HERE / "newcloud.csv", HERE / "seeweb.csv", "--date", "2025-09-22", "--book", HERE / "second")
mine = {o["name"]: (o["currency"], o.get("price_is"), o.get("valid_to"), o.get("lacks")) for o in
        json.loads(fare("prices", "--book", HERE / "second", "--date", "2025-09-25", "--all", "--json"))["offers"] if o["source"].startswith("skypilot")}
report("one's own declarations go first", mine == {"box": ("CHF", "list", "2026-01-01", None), "ECS9GPU": ("USD", None, None, None),
       "ECS9NONE": ("USD", None, None, "region")}, mine)
for row, word in (("x,,often,,,,mine,", "kind"), ("x,,,euro,,,mine,", "currency"), ("x,,,,cheap,,mine,", "price_is"), ("x,,,,,2026-02-30,mine,", "valid_to"),
                  ("x,,,USD,,,,", "source")):
    (CONFIG / "catalogues.csv").write_text(COLUMNS + row + "\n")
    text = fare("prices", "import", HERE / "newcloud.csv", "--book", HERE / "second", code=1)
    report(f"declarations: a bad {word} is refused", f"line 2, column '{word}'" in text, text)
(CONFIG / "catalogues.csv").unlink()

# ---- retired
for day, there in (("2025-09-29", True), ("2025-09-30", False), ("2026-11-18", False)):
    q = quote("--time", "1h", "--gpu", "v100", "--provider", "azure", "--date", day, "--book", BOOK)
    names = {b["name"] for b in q["bills"]}
    gone = {m["reason"] for m in q.get("misfits", []) if "Standard_NC6s_v3" in m["offer"]}
    report(f"Azure's NC6s_v3 on {day}: {'offered' if there else 'retired'}",
           ("Standard_NC6s_v3" in names) == there and gone == (set() if there else {"retired"}), (names, gone))
page = flat(fare("prices", "azure/Standard_NC6s_v3", "--book", BOOK))
report("fare prices still has it, with its end", "no longer offered from 2025-09-30 on" in page and "no longer be ordered" in page, page)
(CONFIG / "offers").mkdir(parents=True, exist_ok=True)
(CONFIG / "offers" / "mine.csv").write_text("provider,name,gpu,price,date,valid_to,price_is,source\n"
                                            "acme,box,L4,0.5,2026-01-01,2026-06-01,list,mine\nacme,bid,L4,0.1,2026-01-01,,floor,mine\n")
mine = {b["name"]: b for b in quote("--time", "1h", "--gpu", "l4", "--provider", "acme", "--date", "2026-05-31")["bills"]}
report("a table of one's own can say both", set(mine) == {"box", "bid"} and mine["box"]["place"] == 1 and mine["bid"]["price_is"] == "floor", mine)
mine = {b["name"] for b in quote("--time", "1h", "--gpu", "l4", "--provider", "acme", "--date", "2026-06-01")["bills"]}
report("the day it ends is the first without it", mine == {"bid"}, mine)
for column, value in (("valid_to", "soon"), ("price_is", "cheap"), ("lacks", "style")):
    (CONFIG / "offers" / "mine.csv").write_text(f"provider,name,price,date,{column},source\nacme,box,0.5,2026-01-01,{value},mine\n")
    text = fare("prices", "acme/", code=1)
    report(f"{column} '{value}' is refused with its line", f"line 2, column '{column}'" in text, text)
(CONFIG / "offers" / "mine.csv").unlink()

# ---- a price's age goes with what is made from it: p3.2xlarge has a spot price of 2026-03-30 and one on demand of 2018-02-01
OLD = "aws/p3.2xlarge@us-east-1a:spot"
b = quote("--time", "20h", "--offer", OLD, "--mtbi", "5h", "--deadline", "40h", "--date", "2026-11-18")["bills"][0]
dated = {r["what"]: (r.get("price_date"), r.get("price_old")) for r in b["spot"]["rows"]}
report("on demand and fall-back have the age of the price on demand, spot has its own", dated["on demand"] == ("2018-02-01", True)
       and dated["spot with fall-back to on demand"] == ("2018-02-01", True) and dated["spot, no checkpoints"] == (None, None), dated)
text = flat(fare("quote", "--time", "20h", "--offer", OLD, "--mtbi", "5h", "--date", "2026-11-18"))
report("so has the text", "The price on demand is OLD: last seen 2018-02-01, 3212 days ago." in text, text[-400:])  # 2018-02-01 to 2026-11-18
q = quote("--time", "20h", "--offer", "aws/p3.2xlarge@us-east-1", "--date", "2026-11-18", "--runs", "3", "--hours-per-month", "40", "--buy", "9000", "--gpu", "v100")
made = [a for a in q["advice"] if re.match(r"For (occasional|steady|heavy) use|3 runs|Buying", a)]
report("so have months, several runs and rent or buy", len(made) == 5 and all("at a price 3212 days old" in a for a in made), made)
report("and the page of its prices", "aws/p3.2xlarge@us-east-1, OLD: seen 2018-02-01" in flat(fare("prices", OLD, "--date", "2026-11-18")), "")
text = flat(fare("cron", "@daily", "--up", "1h", "--offer", "mithril/h100-80gb.sxm.8x", "--date", "2026-11-18"))
report("a schedule at a floor says so", "The price is the lowest bid of an auction" in text, text)

# ---- GPUs that nothing trains on, hosts that run no x86-64 program: a user's own PyTorch run on a T4
T4 = "Tesla T4"
run = {"schema": "fare.run/1", "id": "20261110T000000Z-resnet", "started": "2026-11-10T00:00:00Z", "name": "my resnet50", "framework": "command",
       "precision": "f32", "batch": 64, "ended": "sampled", "full": False, "steps": 100, "total_steps": 1000, "step_ms": 250.0,
       "machine": {"gpu": T4, "gpus": 1, "fingerprint": "aa"},
       "use": {"gpus": 1, "steady": {"gpu_percent": 97}, "gpu_list": [{"index": 0, "name": T4, "memory_peak_bytes": 2 << 30}]},
       "projection": {"after_s": 60, "wall_s": 3600, "low_s": 3420, "high_s": 3780, "train_s": 3500, "load_s": 100}}
(HERE / "run.jsonl").write_text(json.dumps(run) + "\n")
fare("runs", "import", HERE / "run.jsonl")
q = quote(run["id"], "--date", "2026-09-01", "--all")
billed = {b.get("gpu") for b in q["bills"] + q["estimates"]}
why = {m["offer"].split("@")[0].split(":")[0]: m["reason"] for m in q["misfits"]}
report("nothing is quoted on a V520 or an MI25", not billed & {"Radeon-Pro-V520", "MI25"} and why["aws/g4ad.xlarge"] == "no framework for the GPU"
       and why["azure/Standard_NV32as_v4"] == "no framework for the GPU", (why.get("aws/g4ad.xlarge"), why.get("azure/Standard_NV32as_v4")))
report("nor on a Graviton's T4g or a GH200", not billed & {"T4g", "GH200"} and why["aws/g5g.xlarge"] == why["lambda/gpu_1x_gh200"] == "ARM host",
       (why.get("aws/g5g.xlarge"), why.get("lambda/gpu_1x_gh200")))
counted = {g["reason"]: g["count"] for g in q["left_out"]}
report("they are counted by reason", counted["ARM host"] >= 14 and counted["no framework for the GPU"] >= 18, counted)
listed = {o["gpu"] for o in json.loads(fare("prices", "--date", "2026-09-01", "--json", "--all"))["offers"] if o.get("gpu")}
report("fare prices still lists them", {"Radeon-Pro-V520", "MI25", "T4g", "GH200"} <= listed, listed)
one = quote(run["id"], "--offer", "aws/g5g.xlarge", "--date", "2026-09-01")
report("asked for by name there is a bill that says so", any("ARM" in n for n in one["estimates"][0]["notes"]), one)
done()
