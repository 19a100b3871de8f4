# SPDX-License-Identifier: Apache-2.0
"""What a provider is like: a page for every provider of the book, facts of three by hand, nothing unknown as a figure, points derived by
their bounds, one's own runs, remarks."""
import csv
import json
import os
import re
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, os.environ["TESTS"])
import tap  # noqa: E402

FARE, HERE = os.environ["FARE"], Path(os.environ["TMPDIR"])
SHARE = Path(os.environ["TESTS"]).parent / "share"
CONFIG = Path(os.environ["XDG_CONFIG_HOME"]) / "fare"
CONFIG.mkdir(parents=True, exist_ok=True)


def fare(*arguments, code=0):
    p = subprocess.run([FARE, *arguments], capture_output=True, text=True, cwd=HERE)
    assert p.returncode == code, (arguments, p.returncode, p.stderr)
    return p.stdout


def page(name):
    return json.loads(fare("prices", name, "--json"))


def says(points):
    return " | ".join(point["says"] for point in points)


def own(name, text):
    (CONFIG / name).write_text(text)


with open(SHARE / "offers/current.csv", newline="") as file:
    BOOK = list(csv.DictReader(file))
PROVIDERS = sorted({row["provider"] for row in BOOK})


def every_provider():
    assert len(PROVIDERS) >= 24, PROVIDERS
    for name in PROVIDERS:
        p = page(name)
        assert p["schema"] == "fare.provider/1" and p["provider"] == name and p["title"].startswith(name + ": "), p["title"]
        assert all(point["says"] and point["from"] for point in p.get("pros", []) + p.get("cons", []))
        # Each subject is said once: as a point, or as unknown.
        points, unknown = says(p.get("pros", []) + p.get("cons", [])), " | ".join(p.get("unknown", []))
        for subject, at_all in (("stopp", "what a stopped machine costs"), ("traffic", "the price of traffic"),
                                ("ready image", "ready images"), ("ready in", "how long a machine takes to be ready")):
            assert (subject in points) != (at_all in unknown), (name, subject, points, unknown)
        text = fare("prices", name) + fare("prices", name, "--all")
        assert p["title"] in " ".join(text.split()), text
        assert not re.search(r"\bnan\b|\(null\)|(?<![\w-])-1\b", text), text


def whole_book():
    """Counted again from the shipped table, but for offers that are doubtful or retired."""
    for name in PROVIDERS:
        p = page(name)
        rows = [row for row in BOOK if row["provider"] == name]
        assert p["offers"] + p.get("doubtful", 0) + p.get("old", 0) >= len(rows) * 0.9, (name, p["offers"], len(rows))
        prices = {price["gpu"]: price for price in p["prices"]}
        for row in rows:
            if row["gpu"] in prices and row["kind"] == "on-demand" and float(row["gpus"] or 0) >= 1 and row["currency"] in ("", "USD"):
                each = float(row["price"]) / float(row["gpus"])
                low = prices[row["gpu"]].get("on_demand", {}).get("low")
                doubted = row["lacks"] or row["valid_to"] or row["price_is"]
                assert doubted or (low and float(low) <= each * 1.0001), (name, row, low)


def largest():
    """Of machines with as many GPUs the one with most memory; a part of a GPU as a fraction; counted again from the table."""
    assert page("aws")["title"].startswith("aws: virtual machines, ") and ", 1/8 to 8 GPUs a machine, " in page("aws")["title"]
    for name in PROVIDERS:
        p = page(name)
        if "largest" not in p:
            continue
        rows = [row for row in BOOK if row["provider"] == name and row["gpu"] and "region" not in row["lacks"] and row["price_is"] != "floor" and not row["valid_to"]]
        rows = [row for row in rows if row["gpu"] in {price["gpu"] for price in p["prices"]}]
        most = max((float(row["gpus"]), float(row["gpu_memory_gib"] or 0)) for row in rows)
        assert any((float(row["gpus"]), float(row["gpu_memory_gib"] or 0)) == most and row["gpu"] == p["largest_gpu"] for row in rows), (name, most, p)


def rules_only():
    """A provider whose rules are known and whose prices are not; one's own machine is none."""
    p = page("coreweave")
    assert p["provider"] == "coreweave" and p["offers"] == 0 and "no current price" in p["title"]
    assert p["rules"][0]["source"] and "no current price" in says(p["cons"])
    assert "--provider coreweave" not in fare("prices", "CoreWeave")
    assert "No such offer" in fare("prices", "own")


def facts():
    # BILLING-2026, part A: RunPod 1 s, volume 0.20 when stopped, 0.10 running, free traffic; part B 30 to 60 s; its documentation's image.
    p = page("runpod")
    assert p["rules"][0]["unit"] == "per second" and not p["rules"][0]["assumed"]
    assert "0.10 USD (0.20 while stopped)" in says(p["cons"]) and "traffic out is free" in says(p["pros"])
    assert (p["start"]["low_s"], p["start"]["high_s"]) == (30, 60) and p["machine"] == "containers"
    assert p["images"][0]["pytorch"] == "2.8.0" and "driver" not in p["images"][0]
    # DigitalOcean: 1 s, minimum max(60 s, $0.01), full price until destroyed, traffic $0.01; start-up and storage not found.
    p = page("do")
    assert p["rules"][0]["unit"] == "per second, at least 60 s and 0.01 USD a start"
    assert "as much as a running one" in says(p["cons"]) and "0.01 USD per GB" in says(p["cons"])
    assert {"the price of storage", "how long a machine takes to be ready"} <= set(p["unknown"])
    # Lambda: 1 min from the passed health check, no stop, filesystem 0.20, traffic free.
    p = page("lambda")
    assert p["rules"][0]["unit"] == "per started minute" and "cannot be stopped" in says(p["cons"])
    assert "until a machine is ready is free" in says(p["pros"]) and p["storage"].startswith("storage 0.20 USD")
    # Part C: AWS 120 s, GCP 30 s, Vast none; bounds of view/provider.h: 60 s.
    assert "120 s of notice" in says(page("aws")["pros"]) and "30 s of notice" in says(page("gcp")["cons"])


def assumed():
    for path in (SHARE / "providers").glob("*.json"):
        for tariff in json.loads(path.read_text())["tariffs"]:
            name = tariff["provider"]
            if tariff.get("assumed") and name in PROVIDERS and "valid_to" not in tariff:
                p = page(name)
                assert any("unit of time" in point for point in p["assumed"]), (name, p.get("assumed"))
                assert "assumed" in says(p["cons"]) or p["prices"] == [], (name, p["cons"])
    p = page("scp")  # no rule of it is in share/providers
    assert "no billing rule is known" in says(p["cons"]) and "how it bills time" in p["unknown"]


def a_list_still():
    """A word that is no provider's, or an option that narrows down, lists as before."""
    for words in (("h100",), ("runpod",), ("--provider", "runpod")):
        assert fare("prices", *words, "-n", "3").startswith("Cheapest GPU-hour: "), words


OFFERS = "provider,name,region,kind,gpu,gpus,vcpus,memory_gib,bare_metal,price,currency,per,date,source\n"


def bounds():
    """Either side of each bound."""
    own("startup.csv", "provider,machine,part,seconds,low,high,source,date\n"
        "acme,vm,boot,120,100,200,mine,2026-11-01\nbolt,vm,boot,121,100,200,mine,2026-11-01\n")
    own("spot.csv", "provider,notice_s,taken,words,source,date\nacme,60,capacity,,mine,2026-11-01\nbolt,59,capacity,,mine,2026-11-01\n")
    today = subprocess.run(["date", "-u", "+%F"], capture_output=True, text=True).stdout.strip()
    (CONFIG / "offers").mkdir(exist_ok=True)
    own("offers/mine.csv", OFFERS + "".join(
        f"{name},one,here,{kind},L4,1,8,32,no,{price},USD,hour,{today},mine\n"
        for name in ("acme", "bolt") for kind, price in (("on-demand", 0.8), ("spot", 0.4))))
    (CONFIG / "providers").mkdir(exist_ok=True)
    for name, unit, least, stopped in (("acme", 60000, 60, "false"), ("bolt", 60000, 61, "true")):
        own(f"providers/{name}.json", json.dumps({"schema": "fare.tariffs/1", "tariffs": [
            {"id": name, "provider": name, "kind": "on-demand", "unit_ms": unit, "minimum_s": least,
             "billed_while_stopped": stopped == "true", "source": "mine", "date": "2026-11-01"}]}))
    a, b = page("acme"), page("bolt")
    assert "ready in 2 min 00 s" in says(a["pros"]) and "ready in 2 min 01 s" in says(b["cons"])
    assert "60 s of notice" in says(a["pros"]) and "59 s of notice" in says(b["cons"])
    assert "billed per started minute" in says(a["pros"]) and "billed per started minute" in says(b["cons"])
    assert "costs only its disk" in says(a["pros"]) and "as much as a running one" in says(b["cons"])
    assert a["prices"] == [{"gpu": "L4", "offers": 2, "on_demand": {"low": "0.80", "high": "0.80"},
                            "spot": {"low": "0.40", "high": "0.40"}}], a["prices"]


def run(number, step_ms, **more):
    record = {"schema": "fare.run/2", "id": f"20261101T{number:06d}Z-{number:012x}", "started": f"2026-11-01T00:00:{number:02d}Z",
              "name": "cnn", "workload": "cnn", "framework": "fare", "ended": "finished", "full": True, "steps": 100, "batch": 32,
              "step_ms": step_ms, "machine": {"provider": "acme", "instance_type": "one", "gpu": "L4", "gpus": 1},
              "phases": {"wall_ns": int(step_ms * 1e8)}}
    record.update(more)
    return json.dumps(record)


def yours():
    """Steps of 100 and 108 ms are ±4 %; other runs there, and runs elsewhere, are apart."""
    elsewhere = {"provider": "bolt", "instance_type": "one", "gpu": "L4", "gpus": 1}
    boot = {"wall_ns": 10**10}
    lines = [
        run(1, 100.0, phases=dict(boot, boot_ns=41 * 10**9), boot_from="metadata", boot_to="sshd"),
        run(2, 108.0, phases=dict(boot, boot_ns=62 * 10**9), boot_from="fare", boot_to="fare"),
        run(3, 300.0, batch=64, phases=dict(boot, boot_ns=5 * 10**9), boot_from="kernel", boot_to="sshd"),
        run(4, 500.0, machine=elsewhere),
        run(5, 100.0, ended="failed", steps=0, problem="no memory"),
        run(6, 100.0, taints=["GPU 0 was throttled by heat in 40 % of the samples"]),
        run(7, 100.0, saving={"job": "j", "attempts": [
            {"epoch": 1, "job": "j", "billed": "acme/one@here:spot", "ended": "interrupted", "taken": True},
            {"epoch": 2, "job": "j", "billed": "acme/one@here:spot", "ended": "finished"}]}),
        run(8, 100.0, saving={"job": "j", "attempts": [
            {"epoch": 1, "job": "j", "billed": "acme/one@here:spot", "ended": "interrupted", "taken": True},
            {"epoch": 2, "job": "j", "billed": "bolt/one@here:spot", "ended": "interrupted", "taken": True}]}),
    ]
    (HERE / "runs.jsonl").write_text("\n".join(lines) + "\n")
    fare("runs", "import", "runs.jsonl")
    p = page("acme")
    y = p["yours"]
    assert (y["runs"], y["failed_starts"], y["noisy"], y["throttled"], y["interruptions"]) == (7, 1, 1, 1, 1), y
    assert abs(y["spread_percent"] - 100 * 4 / 104) < 1e-6 and y["spread_of"] == "cnn on one", y
    s = p["start"]
    assert (s["measured"], s["measured_low_s"], s["measured_high_s"]) == (2, 41, 62), s
    assert "ready in 41 s to 1 min 02 s" in says(p["pros"]), p["pros"]
    assert "steps within ±3.8 %" in says(p["pros"]), p["pros"]
    assert "1 of 7 runs failed before the first step" in says(p["cons"]), p["cons"]
    assert "1 taken away" in says(p["cons"]) and "1 of 7 runs throttled" in says(p["cons"]), p["cons"]
    assert page("runpod")["yours"] == {"runs": 0}, page("runpod")["yours"]
    assert "no runs there yet" in " ".join(fare("prices", "runpod").split())


def remarks():
    own("providers-remarks.csv", 'provider,date,remark\nacme,2026-11-02,"support answered in an hour"\nother,2026-11-02,no\n')
    assert page("acme")["remarks"] == [{"date": "2026-11-02", "remark": "support answered in an hour"}]
    assert "2026-11-02: support answered in an hour" in fare("prices", "acme")
    own("providers-remarks.csv", "provider,date,remark\nacme,soon,x\n")
    p = subprocess.run([FARE, "prices", "acme"], capture_output=True, text=True)
    assert p.returncode == 1 and "providers-remarks.csv" in p.stderr and "date" in p.stderr, p.stderr
    (CONFIG / "providers-remarks.csv").unlink()


tap.check("a page for every provider of the book, each point with what says so", every_provider)
tap.check("its prices are those of the book", whole_book)
tap.check("the largest machine is that with most GPUs and most memory", largest)
tap.check("a provider of whom only the rules are known", rules_only)
tap.check("facts of five providers, by hand", facts)
tap.check("assumed rules are said, and missing ones", assumed)
tap.check("a word that is no provider's lists offers", a_list_still)
tap.check("for and against follow from the bounds", bounds)
tap.check("one's own and imported runs", yours)
tap.check("remarks", remarks)
tap.done()
