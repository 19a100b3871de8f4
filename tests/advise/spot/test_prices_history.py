# SPDX-License-Identifier: Apache-2.0
"""What a spot price did, computed a second time here with exact fractions: on the real month of FARE_DATA and on
made-up histories; bills over changes within a day; files that overlap, leave gaps, are cut off; and two years at once."""
import csv
import json
import os
import random
import subprocess
import sys
import time
from datetime import datetime, timezone
from fractions import Fraction as F
from pathlib import Path

sys.path.insert(0, os.environ["TESTS"])
import tap  # noqa: E402

FARE = os.environ["FARE"]
HERE = Path(os.environ["TMPDIR"])
MONTH = Path(os.environ.get("FARE_DATA", "/nonexistent")) / "prices/aws-spot/us-east-1_2026-03.csv"
HEAD = "timestamp,availability_zone,instance_type,spot_price\n"
books = 0


def fare(*args, book=None, code=0, **env):
    more = {"FARE_BOOK": str(book)} if book else {}
    p = subprocess.run([FARE, *map(str, args)], capture_output=True, text=True, env={**os.environ, **more, **env})
    if code is not None and p.returncode != code:
        raise AssertionError(f"{args}: {p.returncode}\n{p.stdout}\n{p.stderr}")
    return p.stdout if code == 0 else p.stderr


def new_book(*files):
    global books
    books += 1
    book = HERE / f"book-{books}"
    for file in files:
        fare("prices", "import", file, book=book)
    return book


def write(name, rows):
    path = HERE / name
    path.write_text(HEAD + "".join(f"{stamp(at)},{zone},{kind},{price}\n" for at, zone, kind, price in rows))
    return path


def stamp(at):
    return datetime.fromtimestamp(at, timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def seconds(text):
    return int(datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp())


def spot(offer, book, *args):
    return json.loads(fare("prices", offer, "--json", *args, book=book))["spot"]


def check(name):
    return lambda action: tap.check(name, action)


# ---- the second implementation: a price for every second would be the definition; these are sums of it

def held(prices, until, begin=None, end=None):
    """[(from, to, price)] of {time: price}, within begin and end."""
    times = sorted(prices)
    begin, end = times[0] if begin is None else begin, until if end is None else end
    cut = [(max(a, begin), min(b, end), prices[a]) for a, b in zip(times, times[1:] + [until])]
    return [(a, b, p) for a, b, p in cut if a < b]


def quantile(parts, share):
    total = sum(b - a for a, b, _ in parts)
    for price in sorted({p for _, _, p in parts}):
        if F(sum(b - a for a, b, p in parts if p <= price), total) >= share:
            return price


def longest(parts, limit):
    best = run = 0
    for a, b, p in parts:
        run = run + b - a if p <= limit else 0
        best = max(best, run)
    return best


def figures(prices, until, limit):
    parts = held(prices, until)
    seen = sum(b - a for a, b, _ in parts)
    changes = [b[0] for a, b in zip(parts, parts[1:]) if a[2] != b[2]]
    middle = parts[0][0] + (until - parts[0][0]) // 2
    first, second = held(prices, until, end=middle), held(prices, until, begin=middle)
    then = quantile(first, F(9, 10))
    return {"seen_s": seen, "changes": len(changes), "changes_per_day": len(changes) * 86400 / seen,
            "price": parts[-1][2], "steady_s": until - (changes[-1] if changes else parts[0][0]),
            "p10": quantile(parts, F(1, 10)), "p50": quantile(parts, F(1, 2)), "p90": quantile(parts, F(9, 10)),
            "lowest": min(p for _, _, p in parts), "highest": max(p for _, _, p in parts),
            "mean": F(sum((b - a) * p for a, b, p in parts), seen), "longest_under_s": longest(parts, limit),
            "under_share": sum(b - a for a, b, p in parts if p <= limit) / seen,
            "count_on_then": then, "count_on_later": quantile(second, F(9, 10)),
            "count_on_highest": max(p for _, _, p in second),
            "count_on_held": sum(b - a for a, b, p in second if p <= then) / sum(b - a for a, b, _ in second)}


def differences(zone, expected):
    bad = []
    for key, value in expected.items():
        got = zone.get(key)
        if isinstance(value, F):
            good = got is not None and abs(F(got) - value) <= F(1, 10**9)
        elif isinstance(value, float):
            good = got is not None and abs(got - value) <= 1e-9 * max(1, value)
        else:
            good = got == value
        if not good:
            bad.append(f"{zone['zone']} {key}: {got}, not {value}")
    return bad


def real():
    series = {}
    for row in csv.DictReader(open(MONTH)):
        prices = series.setdefault(row["instance_type"], {}).setdefault(row["availability_zone"], {})
        at = seconds(row["timestamp"])
        prices[at] = max(F(row["spot_price"]), prices.get(at, 0))
    return {kind: zones for kind, zones in series.items() if not kind.startswith("trn")}


if MONTH.exists():
    KINDS = real()
    UNTIL = 1 + max(seconds(row["timestamp"]) for row in csv.DictReader(open(MONTH)))
    WHOLE = new_book(MONTH)

    @check("the figures of every machine and zone of the real month")
    def every():
        bad, count = [], 0
        for kind, zones in KINDS.items():
            limit = sorted(p for prices in zones.values() for p in prices.values())[sum(map(len, zones.values())) // 3]
            got = {z["zone"]: z for z in spot(f"aws/{kind}@us-east-1:spot", WHOLE, "--max-price", str(float(limit)))["zones"]}
            assert sorted(got) == sorted(zones), (kind, sorted(got))
            for zone, prices in zones.items():
                bad += differences(got[zone], figures(prices, UNTIL, limit))
                count += 1
        assert count > 40 and not bad, (count, bad[:5])

    @check("the zone to count on has the lowest price to count on")
    def best():
        s = spot("aws/g5.xlarge@us-east-1:spot", WHOLE)
        order = sorted(s["zones"], key=lambda z: (F(z["count_on"]), z["zone"]))
        assert s["count_on_zone"] == order[0]["zone"] and order[0]["count_on"] == order[0]["p90"], s["count_on_zone"]
        assert s["chosen_then"] == min(s["zones"], key=lambda z: (F(z["count_on_then"]), z["zone"]))["zone"]

    @check("two overlapping halves are the whole, in either order, and once more changes nothing")
    def halves():
        rows = list(csv.DictReader(open(MONTH)))
        parts = []
        for name, keep in (("a", rows[:3000]), ("b", rows[2000:])):
            path = HERE / f"half-{name}.csv"
            path.write_text(HEAD + "".join(",".join(r.values()) + "\n" for r in keep))
            parts.append(path)
        whole = [spot(f"aws/{kind}:spot", WHOLE)["zones"] for kind in KINDS]
        for files in (parts, parts[::-1], [MONTH, *parts, MONTH]):
            book = new_book(*files)
            assert [spot(f"aws/{kind}:spot", book)["zones"] for kind in KINDS] == whole, files
else:
    tap.skip("the real month", "FARE_DATA has no prices")

# ---- by hand

T = seconds("2026-03-10T00:00:00Z")
HOUR = 3600


@check("a bill follows the price within a day")
def bills():
    # 0.36 until 06:00, 0.72 until 12:00, then 0.18 for the rest of the day and 1.80 from midnight on.
    book = new_book(write("day.csv", [(T - 1000, "us-east-1a", "g4dn.xlarge", "0.36"), (T + 6 * HOUR, "us-east-1a", "g4dn.xlarge", "0.72"),
                                      (T + 12 * HOUR, "us-east-1a", "g4dn.xlarge", "0.18"), (T + 24 * HOUR, "us-east-1a", "g4dn.xlarge", "1.80"),
                                      (T + 90 * HOUR, "us-east-1a", "g4dn.xlarge", "0.36")]))
    machine = {"cpu": "Acme CPU", "usable_cpus": 4, "gpu": "Tesla T4", "gpus": 1}
    for name, start, hours, usd in (("whole", 0, 24, "8.64"),       # 6 × 0.36 + 6 × 0.72 + 12 × 0.18
                                    ("later", 7, 2, "1.44"),        # 2 × 0.72
                                    ("over", 11, 2, "0.90"),        # 0.72 + 0.18
                                    ("days", 18, 30, "44.28"),      # 6 × 0.18 + 24 × 1.80
                                    ("after", 89, 3, "2.52")):      # 1.80 + 2 × 0.36: the last price goes on
        run = {"schema": "fare.run/1", "id": f"20260310T000000Z-{name}", "workload": "mlp", "framework": "fare",
               "started": stamp(T + start * HOUR), "machine": machine, "use": {"gpus": 1, "gpu_list": [{"name": "Tesla T4"}]},
               "full": True, "ended": "finished",
               "phases": {"wall_ns": hours * HOUR * 10**9, "train_ns": hours * HOUR * 10**9}}
        (HERE / "run.jsonl").write_text(json.dumps(run) + "\n")
        fare("runs", "import", HERE / "run.jsonl")
        rows = json.loads(fare("compare", run["id"], "--offer", "aws/g4dn.xlarge@us-east-1a:spot", "--rule", "paid", "--json",
                               book=book))["workloads"][0]["rows"]
        assert F(rows[0]["cost"]["usd"]) == F(usd), (name, rows[0]["cost"]["usd"], usd)


@check("a gap is not counted")
def gap():
    first = [(T + i * HOUR, "us-east-1a", "g5.xlarge", f"0.{4 + i % 2}") for i in range(24)]
    later = [(T + 20 * 24 * HOUR + i * HOUR, "us-east-1a", "g5.xlarge", f"0.{4 + i % 2}") for i in range(24)]
    zone = spot("aws/g5.xlarge:spot", new_book(write("g1.csv", first), write("g2.csv", later)))["zones"][0]
    # 23 hours each, and the second in which the last price was seen; 23 changes each.
    assert (zone["changes"], zone["seen_s"], zone["price"]) == (46, 46 * HOUR + 2, "0.50"), zone
    assert zone["longest_under_s"] == 23 * HOUR + 1, zone


@check("a zone that vanishes keeps its last price until the end of the file")
def vanished():
    rows = [(T, "us-east-1a", "g5.xlarge", "0.4")] + [(T + i * 24 * HOUR, "us-east-1b", "g5.xlarge", f"0.{5 + i % 2}") for i in range(9)]
    zones = {z["zone"]: z for z in spot("aws/g5.xlarge:spot", new_book(write("v.csv", rows)))["zones"]}
    assert zones["us-east-1a"]["steady_s"] == 8 * 24 * HOUR + 1 and zones["us-east-1a"]["changes"] == 0, zones


@check("--date shows what was known then")
def dated():
    rows = [(T + i * 24 * HOUR, "us-east-1a", "g5.xlarge", f"0.{4 + i}") for i in range(5)]
    zone = spot("aws/g5.xlarge:spot", new_book(write("d.csv", rows)), "--date", "2026-03-11")["zones"][0]
    assert zone["price"] == "0.50" and zone["until"] == "2026-03-12T00:00:00Z", zone


@check("prices of days, where the book has no changes")
def days():
    folder = HERE / "config" / "fare" / "offers"
    folder.mkdir(parents=True)
    (folder / "own.csv").write_text("provider,name,region,kind,gpu,gpus,price,currency,date,source\n" + "".join(
        f"acme,box,here,spot,T4,1,0.{price},USD,2026-10-{day:02},test\n" for day, price in ((1, 2), (2, 4), (3, 3))))
    more = {"XDG_CONFIG_HOME": str(HERE / "config")}
    s = json.loads(fare("prices", "acme/box:spot", "--json", book="-", **more))["spot"]
    zone = s["zones"][0]
    assert zone["daily"] and zone["changes"] == 2 and zone["seen_s"] == 3 * 86400 and zone["p50"] == "0.30", zone
    assert s["under_is"] == "median" and "prices of days" in fare("prices", "acme/box:spot", book="-", **more)


@check("a file that is cut off changes nothing, wherever it is cut")
def cut():
    rows = [(T + i * HOUR, "us-east-1a", "g5.xlarge", "0.4") for i in range(3)]
    text = json.dumps({"SpotPriceHistory": [{"AvailabilityZone": z, "InstanceType": k, "SpotPrice": p, "Timestamp": stamp(at)}
                                            for at, z, k, p in rows]}, indent=1)
    (HERE / "whole.json").write_text(text)
    book = new_book(HERE / "whole.json")
    before = book.read_bytes()
    for length in range(30, len(text), 37):
        (HERE / "cut.json").write_text(text[:length])
        said = fare("prices", "import", HERE / "cut.json", book=book, code=1)
        assert "cut.json, line" in said and book.read_bytes() == before, said


@check("the page fits 80 columns, and 40")
def fits():
    rng = random.Random(4)
    rows = [(T + i * 1800, f"ap-northeast-{z}a", "p5.48xlarge", f"{rng.uniform(18, 60):.4f}") for i in range(2000) for z in range(1, 4)]
    book = new_book(write("wide.csv", rows))
    for width in (80, 40):
        text = fare("prices", "aws/p5.48xlarge:spot", book=book, COLUMNS=str(width), LC_ALL="C.UTF-8")
        wide = [line for line in text.splitlines() if len(line) > 80]
        assert not wide, wide
    assert "Count on" in text and "█" in text, text


@check("the plot has every change of a short history")
def plot():
    rows = [(T + i * HOUR, "us-east-1a", "g4dn.xlarge", f"0.{20 + i % 7}") for i in range(50)]
    book = new_book(write("plot.csv", rows))
    run = {"schema": "fare.run/1", "id": "20260310T000000Z-plot", "workload": "mlp", "framework": "fare", "started": stamp(T),
           "machine": {"cpu": "Acme CPU", "usable_cpus": 4, "gpu": "Tesla T4", "gpus": 1}, "full": True, "ended": "finished",
           "use": {"gpus": 1, "gpu_list": [{"name": "Tesla T4"}]}, "phases": {"wall_ns": 10**12, "train_ns": 10**12}}
    (HERE / "run.jsonl").write_text(json.dumps(run) + "\n")
    fare("runs", "import", HERE / "run.jsonl")
    p = json.loads(fare("report", run["id"], "--plot", "spot", "--json", book=book))
    panel = next(panel for panel in p["panels"] if "g4dn.xlarge" in panel["title"])
    points = [(round(point["x"] * 86400), point["y"]) for point in panel["series"][0]["points"]]
    expected = [(at, float(price)) for at, _, _, price in rows]
    assert points == [*expected, (rows[-1][0] + 1, expected[-1][1])], points[-3:]
    assert "<svg" in fare("report", run["id"], "--plot", "spot", "-o", "-", book=book)


@check("808 days of a region in under 15 s and 100 MB")
def long():
    rng = random.Random(6)
    days, rows = 808, []
    for kind in ("g4dn.xlarge", "g5.xlarge", "g6.xlarge", "p4d.24xlarge", "p5.48xlarge"):
        for zone in "abcdef":
            at, price = T - days * 86400, rng.uniform(0.2, 20)
            while at < T:
                rows.append(f'{{"AvailabilityZone":"us-east-1{zone}","InstanceType":"{kind}","ProductDescription":"Linux/UNIX",'
                            f'"SpotPrice":"{price:.6f}","Timestamp":"{stamp(at)}"}}\n')
                at += rng.randrange(2000, 50000)
                price *= rng.uniform(0.98, 1.0204)
    (HERE / "long.jsonl").write_text("".join(rows))
    book, start = HERE / "long.book", time.monotonic()
    p = subprocess.Popen([FARE, "prices", "import", str(HERE / "long.jsonl")], env={**os.environ, "FARE_BOOK": str(book)}, stdout=subprocess.DEVNULL)
    _, status, use = os.wait4(p.pid, 0)
    took, memory = time.monotonic() - start, use.ru_maxrss / 1e3
    assert status == 0 and len(rows) > 75000 and took < 15 and memory < 100, (status, len(rows), took, memory)
    zones = spot("aws/g5.xlarge:spot", book)["zones"]
    assert len(zones) == 6 and all(z["seen_s"] > 800 * 86400 for z in zones), zones


tap.done()
