# SPDX-License-Identifier: Apache-2.0
"""Who spent what, a second time: sums over exported records by docs/team.md, in exact decimals.

Made records use whole seconds and prices whose seconds cost whole nano-dollars, so that no rounding rule enters.
"""
import hashlib
import json
import random
from datetime import datetime, timedelta, timezone
from decimal import Decimal

KEYS = ("user", "host", "project", "offer", "month")


def hashed(name):
    return "sha256:" + hashlib.sha256(name.encode()).hexdigest()[:16]


def made(count, seed=1, now=None):
    """Records of a team: priced when they ran, by a label, or not at all; names plain and hashed; saved jobs."""
    random.seed(seed)
    start = (now or datetime(2026, 11, 17, tzinfo=timezone.utc)) - timedelta(days=120)
    records = []
    for i in range(count):
        at = start + timedelta(seconds=random.randrange(119 * 86400))
        user, host = random.choice(["ann", "ben", "cleo", "dä"]), random.choice(["node-1", "node-2", "gpu <3>"])
        wall = random.randrange(1, 100000)
        run = {"id": f"{at:%Y%m%dT%H%M%SZ}-{random.getrandbits(48):012x}", "started": f"{at:%Y-%m-%dT%H:%M:%SZ}",
               "workload": random.choice(["mlp", "cnn"]), "name": "n",
               "user": random.choice([user, hashed(user)]), "host": random.choice([host, hashed(host)]),
               "ended": random.choice(["finished", "sampled", "failed", "killed"]),
               "phases": {"wall_ns": wall * 10**9}, "labels": [{"key": "team", "value": random.choice("ab")}],
               "machine": {"gpu": "NVIDIA H100", "gpus": 8}}
        if random.random() < 0.5:
            run["use"] = {"gpus": random.choice([0, 1, 4])}
        if random.random() < 0.7:
            run["project"] = random.choice(["bert", "vision", "a,b|c"])
        elif random.random() < 0.5:
            run["labels"].append({"key": "project", "value": "labelled"})
        kind = random.random()
        if kind < 0.4:
            run["spent"] = {"usd": f"{random.randrange(10**7) / 10**4:.4f}", "offer": "aws/p3.2xlarge@us-east-1"}
        elif kind < 0.6:
            run["labels"].append({"key": "price_per_hour_usd", "value": f"{random.randrange(1, 50) * 0.36:.2f}"})
        elif kind < 0.7:
            run["live"] = {"elapsed_s": float(wall), "bill_usd": "0.125"}
        elif kind < 0.8:
            del run["phases"]
        records.append(run)
    return records + jobs(random.sample(records, 3))


def jobs(others):
    """A job with three starts: the first has its own record, the second died with its machine, and the last two records
    both list them. And a start that nobody numbered."""
    def attempt(number, run, usd, wall):
        return {"epoch": number, "job": "j1", "run": run, "started": f"2026-10-0{number}T00:00:00Z", "ended": "killed",
                "host": f"spot-{number}", "wall_s": float(wall), "usd": usd,
                "offer": "book: aws/p3.2xlarge@us-east-1:spot on 2026-10-01"}
    first, lost, third = (attempt(n, f"j1-{n}", f"{n}.50", 100 * n) for n in (1, 2, 3))
    nameless = attempt(4, "", "", 50)
    del nameless["run"], nameless["usd"], nameless["offer"]
    last = attempt(5, "j1-5", "5.50", 500)

    def record(own, told):
        return {"id": own["run"], "started": own["started"], "name": "job", "workload": "cnn", "user": "ann",
                "host": own["host"], "project": "spot", "ended": "interrupted",
                "phases": {"wall_ns": int(own["wall_s"]) * 10**9}, "machine": {"gpu": "NVIDIA H100", "gpus": 8},
                "spent": {"usd": own["usd"], "offer": "aws/p3.2xlarge@us-east-1:spot"},
                "saving": {"place": "/x", "job": "j1", "attempts": told}}
    return [record(first, [first]), record(third, [first, lost, third]),
            record(last, [first, lost, third, nameless, last])]


def label(run, key):
    return next((entry["value"] for entry in run.get("labels", []) if entry["key"] == key), None)


def uses(records):
    """One for each run, and for each start of a job whose own run is not among the records."""
    there = {run["id"] for run in records}
    told = {}
    for run in records:
        gpus = run.get("use", {}).get("gpus", run.get("machine", {}).get("gpus"))
        if gpus is None and "gpu" not in run.get("machine", {}):
            gpus = 0
        common = {"user": run.get("user"), "project": run.get("project") or label(run, "project"), "gpus": gpus or 0,
                  "workload": run.get("workload"), "labels": run.get("labels", [])}
        wall = run["phases"]["wall_ns"] // 10**9 if "wall_ns" in run.get("phases", {}) else \
            run.get("live", {}).get("elapsed_s")
        rate, usd = label(run, "price_per_hour_usd"), run.get("spent", {}).get("usd") or run.get("live", {}).get("bill_usd")
        if usd is None and rate is not None and wall is not None:
            usd = Decimal(rate) * int(wall) / 3600
        yield {**common, "host": run.get("host"), "offer": run.get("spent", {}).get("offer") or label(run, "offer"),
               "started": run["started"], "ended": run.get("ended"), "wall": wall,
               "usd": None if usd is None else Decimal(usd)}
        for a in run.get("saving", {}).get("attempts", []):
            name = a.get("run") or f"{a['job']}#{a['epoch']}"
            if name not in there:
                offer = a["offer"].split(": ", 1)[1].split(" on ")[0] if "offer" in a else None
                told[name] = {**common, "host": a["host"], "offer": offer, "started": a["started"], "ended": a["ended"],
                              "wall": a["wall_s"], "usd": Decimal(a["usd"]) if "usd" in a else None}
    yield from told.values()


def sums(records, by, keep=lambda use: True):
    """{the values of the keys: figures}. A plain name and its hash are one; the plain one is shown if anybody has it."""
    groups, plain = {}, {}
    for use in filter(keep, uses(records)):
        use["month"] = use["started"][:7]
        key = []
        for k in by:
            value = use[k] or None
            if k in ("user", "host") and value:
                name, value = value, value if value.startswith("sha256:") else hashed(value)
                key.append(value)
                if name != value:
                    plain.setdefault((k, value), name)
            else:
                key.append(value)
        group = groups.setdefault(tuple(key), {"runs": 0, "failed": 0, "unknown": 0, "time_s": 0, "gpu_s": 0, "usd": None,
                                               "plain": set()})
        group["plain"] |= {k for k in by if k in ("user", "host") and use[k] and not use[k].startswith("sha256:")}
        group["runs"] += 1
        group["failed"] += use["ended"] in ("failed", "killed")
        group["time_s"] += use["wall"] or 0
        group["gpu_s"] += (use["wall"] or 0) * use["gpus"]
        if use["usd"] is None:
            group["unknown"] += 1
        else:
            group["usd"] = (group["usd"] or 0) + use["usd"]
    return {tuple(plain.get((k, v), v) if k in g["plain"] else v for k, v in zip(by, key)): g
            for key, g in groups.items()}


def differs(spending, expected, by):
    """What of `fare runs --by ... --json` is not as expected; empty: nothing."""
    rows = {tuple(row.get(k) for k in by): row for row in spending["rows"]}
    bad = [f"keys: {sorted(map(str, set(rows) ^ set(expected)))}"] if set(rows) != set(expected) else []
    total = Decimal(0)
    for key, e in expected.items():
        row = rows.get(key, {})
        total += e["usd"] or 0
        for name in ("runs", "failed", "unknown"):
            if row.get(name) != e[name]:
                bad.append(f"{key} {name}: {row.get(name)} is not {e[name]}")
        if abs(row.get("time_s", -1) - e["time_s"]) > 1e-6 or abs(row.get("gpu_hours", -1) - e["gpu_s"] / 3600) > 1e-6:
            bad.append(f"{key}: time {row.get('time_s')} {e['time_s']}, GPU-hours {row.get('gpu_hours')} {e['gpu_s'] / 3600}")
        if (None if row.get("usd") is None else Decimal(row["usd"])) != e["usd"]:
            bad.append(f"{key}: {row.get('usd')} USD is not {e['usd']}")
    if Decimal(spending["total"].get("usd", 0)) != total:
        bad.append(f"total: {spending['total'].get('usd')} is not {total}")
    return bad


def lines(records):
    return "".join(json.dumps(run) + "\n" for run in records)
