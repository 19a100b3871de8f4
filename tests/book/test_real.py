#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The real catalogues (FARE_DATA/prices), read a second time here with Python's csv and decimal, and held
against the book offer by offer; the shipped tables against the same files; then what can go wrong around an
import: killed, two at once, a server that fails.
"""
import ast
import csv
import gzip
import http.server
import json
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import defaultdict
from decimal import Decimal
from pathlib import Path

sys.path.insert(0, os.environ["TESTS"])
from tap import done, report, skip  # noqa: E402

FARE, ROOT = os.environ["FARE"], Path(os.environ["ROOT"])
SCRATCH = Path(os.environ.get("TMPDIR", "/tmp"))
DATA = Path(os.environ.get("FARE_DATA", "/nonexistent")) / "prices"
random.seed(5)


def fare(*args, home=None, **kwargs):
    home = home or SCRATCH
    env = {**os.environ, "XDG_DATA_HOME": str(home), "XDG_CONFIG_HOME": str(home / "config"),
           "no_proxy": "127.0.0.1"}
    return subprocess.run([FARE, "prices", *map(str, args)], env=env, capture_output=True, text=True,
                          timeout=300, **kwargs)


def place():
    return Path(tempfile.mkdtemp(dir=SCRATCH))


# ---- the second reading

OTHER = ("tpu", "inferentia", "trainium", "virtex", "qualcomm", "gaudi")
FAMILY = {"a2-highgpu": "A100", "a2-megagpu": "A100", "a2-ultragpu": "A100-80GB", "a3-highgpu": "H100",
          "a3-edgegpu": "H100", "a3-megagpu": "H100-MEGA", "a3-ultragpu": "H200", "a4-highgpu": "B200",
          "g2-standard": "L4", "g4-standard": "RTXPRO6000"}
# Azure: not 12, and parts of one.
GPUS = {"Standard_ND96isr_H100_v5": 8, "Standard_NV4as_v4": 0.125, "Standard_NV8as_v4": 0.25,
        "Standard_NV16as_v4": 0.5}
G2 = {4: 1, 8: 1, 12: 1, 16: 1, 32: 1, 24: 2, 48: 4, 96: 8}
G4 = {48: 1, 96: 2, 192: 4, 384: 8}


def rows_of(cloud):
    with gzip.open(DATA / "skypilot" / f"{cloud}.csv.gz", "rt", newline="") as f:
        return list(csv.DictReader(f))


def price(text):
    # Catalogues have prices such as 1.8214000000000001; the book keeps nine decimals.
    return Decimal(text).quantize(Decimal("1e-9")) if text else None


def google(rows):
    """(name, row, gpus, price, spot) for everything that Google rents out whole."""
    gpus = {(r["AcceleratorName"], int(r["AcceleratorCount"]), r["AvailabilityZone"]): r
            for r in rows if not r["InstanceType"] and not r["AcceleratorName"].startswith("tpu")}
    hosts = {(r["InstanceType"], r["AvailabilityZone"]): r for r in rows if r["InstanceType"]}

    def both(a, b):
        return tuple(None if x is None or y is None else x + y for x, y in
                     ((price(a["Price"]), price(b["Price"])), (price(a["SpotPrice"]), price(b["SpotPrice"]))))

    for r in rows:
        if not r["InstanceType"]:
            n = int(r["AcceleratorCount"])
            if r["AcceleratorName"] in ("K80", "P4", "T4", "P100", "V100"):
                host = hosts.get((f"n1-standard-{8 * n}", r["AvailabilityZone"]))
                if host:
                    yield (f"n1-standard-{8 * n}+{n}x{r['AcceleratorName']}", host, n, *both(host, r))
            continue
        family = "-".join(r["InstanceType"].split("-")[:2])
        if family not in FAMILY:
            yield (r["InstanceType"], r, 0, price(r["Price"]), price(r["SpotPrice"]))
            continue
        size = r["InstanceType"].split("-")[2]
        n = G2.get(int(size)) if family == "g2-standard" else G4.get(int(size)) if family == "g4-standard" \
            else int(size.rstrip("g"))
        gpu = gpus.get((FAMILY[family], n, r["AvailabilityZone"]))
        if gpu:
            yield (r["InstanceType"], r, n, *both(r, gpu))


def expected(cloud):
    """{(name, region, zone, kind): (price, gpus)}"""
    rows = rows_of(cloud)
    if cloud == "gcp":
        found = google(rows)
    else:
        found = ((r["InstanceType"].replace(":", "_"), r, GPUS.get(r["InstanceType"], float(r["AcceleratorCount"] or 0)),
                  price(r["Price"]), price(r["SpotPrice"]))
                 for r in rows if not r["AcceleratorName"].lower().startswith(OTHER))
    groups = defaultdict(dict)
    for name, r, gpus, demand, spot in found:
        zone = r.get("AvailabilityZone") or ""
        if cloud == "runpod" and spot == demand:
            spot = None
        for kind, value in (("on-demand", demand), ("spot", spot)):
            if value:
                zones = groups[name, r["Region"].lstrip(", "), kind]  # Vast's ", US, NA" has no town
                if zone not in zones or value < zones[zone][0]:
                    zones[zone] = (value, gpus)
    out = {}
    for (name, region, kind), zones in groups.items():
        if len(set(zones.values())) == 1 and not (cloud == "aws" and kind == "spot"):
            out[name, region, "", kind] = next(iter(zones.values()))
        else:
            for zone, value in zones.items():
                out[name, region, zone, kind] = value
    return out


# Microsoft's pages (nc- and nv-series-retirement.md, retired-sizes-list.md; A0 to A7 by UpgradePath.json of AzVMAvailability).
ENDS = ((r"Standard_N[CV][0-9]+r?(_Promo)?", "2023-09-06"), (r"Basic_A[0-9]|Standard_A[0-7]", "2024-08-31"),
        (r"Standard_NC[0-9]+r?s_v3", "2025-09-30"), (r"Standard_NV[0-9]+(s_v3|as_v4)", "2026-09-30"))


def declared(offers):
    """What the catalogues do not say: currencies, what a price is, regions that nobody has, machines that were retired."""
    bad = {"currency": [], "price": [], "region": [], "end": [], "copy": []}
    both = defaultdict(set)  # whether the prices on demand and spot of a machine differ anywhere
    demand = {(o["provider"], o["name"], o.get("region", "")): o["price"] for o in offers if o["kind"] == "on-demand"}
    for o in offers:
        place = o["provider"], o["name"], o.get("region", "")
        if o["kind"] == "spot" and place in demand:
            both[place[:2]].add(o["price"] == demand[place])
    for o in offers:
        provider, name, region, kind = o["provider"], o["name"], o.get("region", ""), o["kind"]
        lacks = o.get("lacks", "").split(";")
        if (o["currency"] == "EUR") != (provider in ("seeweb", "scaleway")):
            bad["currency"].append((provider, name, o["currency"]))
        if (o.get("price_is") == "floor") != (provider == "mithril") or (o.get("price_is") == "median") != (provider == "vast"):
            bad["price"].append((provider, name, o.get("price_is")))
        if (region == "") != ("region" in lacks):
            bad["region"].append((provider, name, lacks))
        end = next((day for pattern, day in ENDS if provider == "azure" and re.fullmatch(pattern, name)), None)
        if o.get("valid_to") != end:
            bad["end"].append((name, o.get("valid_to"), end))
        if kind == "spot" and (both[provider, name] == {True}) != ("spot" in lacks):
            bad["copy"].append((provider, name, lacks))
    found = sum("region" in o.get("lacks", "") for o in offers)
    report("Scaleway and Seeweb are in EUR, all others in USD", not bad["currency"], bad["currency"][:5])
    report("Mithril's prices are floors, Vast's medians", not bad["price"], bad["price"][:5])
    report("19 rows of Seeweb's have no region: nobody has them", found == 19 and not bad["region"], (found, bad["region"][:5]))
    report("Azure's retired series end when Microsoft says", not bad["end"], bad["end"][:5])
    report("a spot price that is the one on demand in every region is doubtful", not bad["copy"], bad["copy"][:5])


def catalogues():
    home = place()
    files = sorted((DATA / "skypilot").glob("*.csv.gz"))
    p = fare("import", *files, "--date", "2026-08-22", home=home)
    report("all catalogues are imported", p.returncode == 0, p.stderr)
    p = fare("--all", "--json", "--max-age", "9999d", "--date", "2026-08-22", home=home)
    book = defaultdict(dict)
    by_id = {}
    for o in json.loads(p.stdout)["offers"]:
        if o["source"].startswith("skypilot"):
            book[o["provider"]][o["name"], o.get("region", ""), o.get("zone", ""), o["kind"]] = \
                (Decimal(o["price"]), o.get("gpus", 0))
            by_id[o["provider"], o["name"], o.get("region", ""), o["kind"]] = o
    for file in files:
        cloud = file.name.split(".")[0]
        want, got = expected(cloud), book[cloud]
        # What comes with fare for the same date is the same thing and loses; all must be there.
        missing = [k for k in want if k not in got]
        extra = [k for k in got if k not in want]
        other = [(k, want[k], got[k]) for k in want if k in got
                 and (want[k][0] != got[k][0] or float(want[k][1]) != got[k][1])]
        report(f"{cloud}: {len(want)} offers, each with the price and GPUs of the second reading",
               want and not missing and not extra and not other,
               f"{len(missing)} missing: {missing[:5]}\n{len(extra)} extra: {extra[:5]}\n"
               f"{len(other)} differ: {other[:5]}")
    declared([o for o in json.loads(p.stdout)["offers"] if o["source"].startswith("skypilot")])
    bad = []
    for r in rows_of("runpod"):  # memory in GB, whatever the key says
        info = ast.literal_eval(r["GpuInfo"]) if r["GpuInfo"] else None
        o = by_id.get(("runpod", r["InstanceType"], r["Region"], "on-demand"))
        if info and o and o["gpu_memory_mib"] != info["Gpus"][0]["MemoryInfo"]["SizeInMiB"] * 1024:
            bad.append((r["InstanceType"], o["gpu_memory_mib"]))
    report("runpod's memory is in GB", not bad, bad[:5])
    # PrimeIntellect lists the memory of all GPUs of a machine; its machines with one tell each GPU's.
    one = {r["AcceleratorName"]: json.loads(r["GpuInfo"])["Gpus"][0]["MemoryInfo"]["SizeInMiB"]
           for r in rows_of("primeintellect") if r["AcceleratorCount"] == "1.0"}
    bad = []
    for r in rows_of("primeintellect"):
        o = by_id.get(("primeintellect", r["InstanceType"], r["Region"], "on-demand"))
        if o and r["AcceleratorName"] in one and o["gpu_memory_mib"] != one[r["AcceleratorName"]]:
            bad.append((r["InstanceType"], o["gpu"], o["gpu_memory_mib"]))
    report("a GPU of PrimeIntellect has the same memory in a machine with several", not bad, bad[:5])
    p = fare("import", *files, "--date", "2026-09-22", "--json", home=home)
    again = json.loads(p.stdout)
    total = sum(map(len, book.values()))
    report(f"a month later nothing is new, and all {total} prices are seen again",
           (again["new_offers"], again["changed_prices"], again["seen_again"]) == (0, 0, total), again)


def history():
    """The last price of each day of the spot history, by another way."""
    home = place()
    file = DATA / "aws-spot" / "us-east-1_2026-03.csv"
    p = fare("import", file, home=home)
    report("the spot history is imported", p.returncode == 0, p.stderr)
    days = defaultdict(dict)
    types = {r["InstanceType"]: (float(r["AcceleratorCount"]), float(r["vCPUs"]), float(r["MemoryGiB"]) * 1024)
             for r in rows_of("aws") if r["AcceleratorName"]}
    with open(file, newline="") as f:
        for r in sorted(csv.DictReader(f), key=lambda r: r["timestamp"]):
            if r["instance_type"].startswith("trn"):
                continue  # Trainium is not a GPU
            days[r["instance_type"], r["availability_zone"]][r["timestamp"][:10]] = Decimal(r["spot_price"])
    wrong, machines = [], []
    for (name, zone), prices in days.items():
        p = fare(f"aws/{name}@{zone}:spot", "--json", home=home)
        offer = json.loads(p.stdout)
        rows = offer["history"]
        got = (offer.get("gpus"), offer.get("vcpus"), offer.get("memory_mib"))
        if not offer.get("gpu") or (name in types and got != types[name]):
            machines.append((name, got, types.get(name)))
        changes, last = [], None
        for day, value in sorted(prices.items()):
            if value != last:
                changes.append((day, value))
            last = value
        got = [(r["since"], Decimal(r["price"])) for r in rows]  # one of them shipped too
        if got != changes:
            wrong.append((name, zone, got[:3], changes[:3]))
    report(f"{len(days)} histories are the last price of each day", not wrong, wrong[:3])
    report("their machines are those of the catalogue, which was not imported", not machines, machines[:3])
    p = fare("import", DATA / "aws-spot" / "us-east-1_2026-03-17.jsonl.gz", "--json", home=home)
    report("one day as JSON lines, packed", p.returncode == 0 and json.loads(p.stdout)["files"][0]["rows"] == 629,
           p.stdout + p.stderr)


def shipped_rows(file):
    with open(file, newline="") as f:
        return list(csv.DictReader(f))


def shipped():
    """share/offers/current.csv against the files it comes from: each row is there, and every GPU machine is here, at its
    lowest price."""
    table = ROOT / "share/offers/current.csv"
    rows = shipped_rows(table)
    known = {file.name.split(".")[0]: None for file in (DATA / "skypilot").glob("*.csv.gz")}
    known = {cloud: expected(cloud) for cloud in known}
    bad, lowest = [], {}
    for r in rows:
        value = known[r["provider"]].get((r["name"], r["region"], r["zone"], r["kind"]))
        if value is None or value[0] != Decimal(r["price"]) or float(value[1]) != float(r["gpus"] or 0):
            bad.append((r["name"], r["region"], r["zone"], r["kind"], r["price"], value))
        key = r["provider"], r["name"], r["kind"]
        lowest[key] = min(lowest.get(key, Decimal(1 << 30)), Decimal(r["price"]))
    report(f"{len(rows)} shipped offers are in the catalogues", not bad, bad[:5])
    missing = []
    for cloud, offers in known.items():
        least = {}
        for (name, _, _, kind), (value, gpus) in offers.items():
            gone = cloud == "azure" and re.fullmatch(r"Standard_N[CV][0-9]+r?(_Promo)?", name)  # NC and NV, retired in 2023
            if gpus and value / Decimal(gpus) >= Decimal("0.03") and not gone:  # less is the lowest bid of an auction
                least[name, kind] = min(least.get((name, kind), value), value)
        missing += [(cloud, *key) for key, value in least.items() if lowest.get((cloud, *key)) != value]
    report("every machine with GPUs is shipped, in its cheapest region too", not missing, missing[:5])
    home = place()
    p = subprocess.run([ROOT / "scripts/offers", home / "again.csv"], capture_output=True, text=True,
                       env={**os.environ, "BUILD": str(Path(FARE).parent), "TMPDIR": str(home)})
    report("scripts/offers makes the same table again",
           p.returncode == 0 and (home / "again.csv").read_bytes() == table.read_bytes(), p.stdout + p.stderr)


def shipped_size():
    """What the issue asked for, and the GPUs' names are those of the table of devices."""
    files = sorted((ROOT / "share/offers").glob("*.csv"))
    rows = [r for file in files for r in shipped_rows(file)]
    devices = {r["name"] for r in shipped_rows(ROOT / "share/devices/gpus.csv")}
    gpus, providers = {r["gpu"] for r in rows} - {""}, {r["provider"] for r in rows}
    size = sum(file.stat().st_size for file in files)
    report(f"{len(rows)} offers, {len(gpus)} GPUs, {len(providers)} providers, {size} bytes",
           len(rows) >= 1500 and len(gpus) >= 60 and len(providers) >= 20 and size < 1000000)
    report("the GPUs are in share/devices", gpus <= devices, gpus - devices)
    report("each row has a date and a source", all(r["date"] and r["source"] for r in rows))


# ---- what can go wrong around an import

def table(n, value):
    return "provider,name,region,price,date,source\n" + "".join(
        f"p{i % 7},n{i},r{i % 13},{value},2026-08-22,test\n" for i in range(n))


def killed():
    home = place()
    (home / "a.csv").write_text(table(20000, 1))
    (home / "b.csv").write_text(table(20000, 2).replace("2026-08-22", "2026-09-22"))
    assert fare("import", home / "a.csv", home=home).returncode == 0
    start = time.monotonic()
    probe = place()
    assert fare("import", home / "b.csv", home=probe).returncode == 0
    takes = time.monotonic() - start
    bad, before, after = [], 0, 0
    env = {**os.environ, "XDG_DATA_HOME": str(home), "XDG_CONFIG_HOME": str(home)}
    for _ in range(40):
        p = subprocess.Popen([FARE, "prices", "import", str(home / "b.csv")], env=env,
                             stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(random.uniform(0, takes * 1.1))
        p.send_signal(signal.SIGKILL)
        p.wait()
        q = fare("p3/n3", "--json", home=home)
        if q.returncode != 0:
            bad.append(q.stderr)
            continue
        value = json.loads(q.stdout)["price"]
        before += value == "1.00"
        after += value == "2.00"
        if value not in ("1.00", "2.00"):
            bad.append(value)
    report(f"killed while importing: the book is the old one ({before}) or the new one ({after})", not bad,
           bad[:3])


def crowd():
    home = place()
    env = {**os.environ, "XDG_DATA_HOME": str(home), "XDG_CONFIG_HOME": str(home)}
    jobs = []
    for i in range(6):
        file = home / f"f{i}.csv"
        file.write_text(f"provider,name,price,date,source\np,n{i},1,2026-08-22,test\n")
        jobs.append(subprocess.Popen([FARE, "prices", "import", str(file)], env=env,
                                     stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
    codes = [p.wait() for p in jobs]
    q = fare("p/", "--json", "--book", home / "fare/book", home=home)
    report("six imports at once lose nothing",
           codes == [0] * 6 and len(json.loads(q.stdout)["offers"]) == 6, q.stdout + q.stderr)


class Server(http.server.BaseHTTPRequestHandler):
    text = table(3, 5)

    def do_GET(self):
        if self.path.startswith("/gone"):
            self.send_error(404)
            return
        body = gzip.compress(self.text.encode()) if self.path.endswith(".gz") else self.text.encode()
        if self.path.startswith("/page"):
            body = b"<html>not a table</html>"
        self.send_response(200)
        cut = self.path.startswith("/cut")
        self.send_header("Content-Length", str(len(body) + (100 if cut else 0)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        pass


def update():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Server)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    base = f"http://127.0.0.1:{server.server_port}"
    home = place()
    p = fare("update", f"{base}/a.csv", f"{base}/b.csv.gz", "--json", home=home)
    got = json.loads(p.stdout) if p.returncode == 0 else {}
    report("update over HTTP, plain and packed", got.get("new_offers") == 3 and len(got["files"]) == 2,
           p.stdout + p.stderr)
    p = fare("update", f"{base}/gone.csv", f"{base}/page.csv", f"{base}/cut.csv", "http://127.0.0.1:1/x.csv",
             f"{base}/a.csv?key=secret", "--date", "2026-10-01", "--json", home=home)
    got = json.loads(p.stdout)
    errors = [f.get("error") for f in got["files"]]
    report("sources that fail are named, the others taken, secrets not shown",
           p.returncode == 1 and all(errors[:4]) and errors[4] is None and got["seen_again"] == 3
           and "secret" not in p.stdout + p.stderr and "404" in errors[0], p.stdout + p.stderr)
    server.shutdown()


if DATA.is_dir():
    catalogues()
    history()
    shipped()
else:
    for name in ("the real catalogues", "the spot history", "shipped offers against the catalogue"):
        skip(name, "FARE_DATA has no prices")
shipped_size()
killed()
crowd()
update()
done()
