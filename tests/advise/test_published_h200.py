# SPDX-License-Identifier: Apache-2.0
"""fare compare --published 2026-h200 and 2015-l1, against the published records, read here with Python."""
import json
import os
import re
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, os.environ["TESTS"])
import tap  # noqa: E402

FARE, ROOT = os.environ["FARE"], Path(os.environ["TESTS"]).parent


def compare(*args):
    p = subprocess.run([FARE, "compare", *args], capture_output=True, text=True)
    if p.returncode != 0:
        raise AssertionError(f"{args}: {p.returncode}\n{p.stderr}")
    return p.stdout


def published(name):
    return [json.loads(line) for line in (ROOT / "share/published" / f"{name}.jsonl").read_text().splitlines()]


def seconds(run):
    return run["phases"]["wall_ns"] / 1e9 if run["full"] else run.get("projection", {}).get("wall_s")


def close(got, expected):
    return got is not None and abs(got - expected) <= 1e-9 * abs(expected)


records = published("2026-h200")
for workload in ("mlp", "cnn", "cifar", "imdb", "textgen", "tweets", "inception", "l1"):
    mine = {r["id"]: r for r in records if r["workload"] == workload}
    table = json.loads(compare("--published", "2026-h200", "-w", workload, "--json"))["workloads"]
    rows = {row["ids"][0]: row for row in table[0]["rows"]}
    tap.report(f"{workload}: all four runs in one table, none apart",
               len(table) == 1 and len(mine) == 4 and rows.keys() == mine.keys() and not table[0].get("apart"), table)
    own = [r for r in mine.values() if r["framework"] == "fare" and r["machine"].get("gpu") == "NVIDIA H200"]
    tap.report(f"{workload}: fare's own run on the H200 is there, with its time",
               len(own) == 1 and close(rows[own[0]["id"]]["time_s"]["value"], seconds(own[0])), rows)
    tap.report(f"{workload}: the others' times", all(close(rows[i]["time_s"]["value"], seconds(r))
                                                     for i, r in mine.items() if seconds(r)), rows)
    base = next(r for r in mine.values() if rows[r["id"]].get("base"))
    tap.report(f"{workload}: and their ratios", all(close(rows[i]["time"]["ratio"], seconds(r) / seconds(base))
                                                    for i, r in mine.items() if seconds(r)), rows)
    tap.report(f"{workload}: one set of data", len({r.get("data", {}).get("identity") for r in mine.values()}) == 1)
    if workload == "l1":
        tap.report("l1: transfer and calculation apart", all(
            close(rows[i]["calculation_ms"]["value"], r["l1_calculation_ms"]) and
            rows[i].get("transfer_ms", {}).get("value") == r.get("l1_transfer_ms") for i, r in mine.items()), rows)
        text = " ".join(compare("--published", "2026-h200", "-w", "l1").split())
        tap.report("l1: both are shown", f"{own[0]['l1_transfer_ms']:.4g} ms transfer" in text
                   and f"{own[0]['l1_calculation_ms']:.4g} ms" in text, text)

# 33,554,432 bytes: two inputs of 8192 × 512 floats.
own = next(r for r in records if r["id"] == "published-2026-h200-l1-fare-gpu-f32")
tap.report("l1: the time of a copy is its bytes over its rate",
           close(own["l1_transfer_ms"] / 1e3 * own["l1_copy_bytes_per_s"], 2 * 8192 * 512 * 4))
tap.report("l1: and of the calculation", close(own["l1_calculation_ms"] / 1e3 * own["l1_pairs_per_s"], 8192 * 8192 * 512))
private = re.compile(r"/root|/home|GPU-[0-9a-f]{8}")
tap.report("no host, user, path or GPU's identity in them",
           not any("host" in r or "user" in r or private.search(json.dumps(r)) for r in records))

# The post of 2015: copying both inputs took 70 ms on a GTX 660 and 290 ms on a g2.2xlarge, the kernel 190 and 430 ms, 39.58 ms
# on a K40.
text = " ".join(compare("--published", "2015-l1").split())
tap.report("2015-l1: transfer", f"g2.2xlarge takes {290 / 70:.1f} × the time." in text and "4.1 ×" in text, text)
tap.report("2015-l1: calculation", f"a K40 is {190 / 39.58:.1f} × as fast, g2.2xlarge takes {430 / 190:.1f} × the time." in text
           and "4.8 ×" in text and "2.3 ×" in text, text)
tap.done()
