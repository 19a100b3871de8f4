#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Writes a long spot price history by resampling a real, short one.

    bench/spot_history.py MONTH.csv OUT.csv|OUT.jsonl|OUT.json [--days 808] [--seed 1] [--copies 1]

MONTH.csv has the columns timestamp, availability_zone, instance_type, spot_price. Each machine in each zone keeps
its own waiting times and relative changes, drawn at random with replacement; a price is held between a third and
three times its mean, so that it does not wander off. --copies N makes N machines of each type. .jsonl is what
`aws ec2 describe-spot-price-history` gives one object per line, .json the same as one indented document.
"""
import argparse
import csv
import json
import random
from datetime import datetime, timezone


def read(path):
    series = {}
    for row in csv.DictReader(open(path)):
        at = int(datetime.fromisoformat(row["timestamp"]).timestamp())
        series.setdefault((row["instance_type"], row["availability_zone"]), []).append((at, float(row["spot_price"])))
    return {key: sorted(rows) for key, rows in series.items() if len(rows) > 1}


def resample(rows, start, end, rng):
    waits = [b[0] - a[0] for a, b in zip(rows, rows[1:]) if b[0] > a[0]]
    steps = [b[1] / a[1] for a, b in zip(rows, rows[1:])]
    mean = sum(price for _, price in rows) / len(rows)
    at, price = start + rng.randrange(86400), rows[0][1]
    while at < end:
        yield at, f"{price:.6f}"
        at += rng.choice(waits)
        price = min(max(price * rng.choice(steps), mean / 3), mean * 3)


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("month")
    p.add_argument("out")
    p.add_argument("--days", type=int, default=808)
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--copies", type=int, default=1)
    o = p.parse_args()
    rng = random.Random(o.seed)
    end = int(datetime(2026, 10, 1, tzinfo=timezone.utc).timestamp())
    changes = []
    for (kind, zone), rows in sorted(read(o.month).items()):
        for copy in range(o.copies):
            name = kind if copy == 0 else f"{kind}-{copy}"
            changes += [(at, zone, name, price) for at, price in resample(rows, end - o.days * 86400, end, rng)]
    changes.sort()
    stamp = lambda at: datetime.fromtimestamp(at, timezone.utc).isoformat()
    objects = ({"AvailabilityZone": zone, "InstanceType": name, "ProductDescription": "Linux/UNIX",
                "SpotPrice": price, "Timestamp": stamp(at)} for at, zone, name, price in changes)
    with open(o.out, "w") as out:
        if o.out.endswith(".csv"):
            out.write("timestamp,availability_zone,instance_type,spot_price\n")
            out.writelines(f"{stamp(at)},{zone},{name},{price}\n" for at, zone, name, price in changes)
        elif o.out.endswith(".jsonl"):
            out.writelines(json.dumps(x, separators=(",", ":")) + "\n" for x in objects)
        else:
            json.dump({"SpotPriceHistory": list(objects)}, out, indent=4)
    print(f"{len(changes)} changes")


main()
