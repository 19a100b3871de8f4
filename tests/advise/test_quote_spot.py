#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""fare quote on spot offers: interruptions in bills, times and order. Expected figures: Daly's formulas and billing rules,
computed here; a machine of one dollar an hour makes bills of times."""
import json
import math
import os
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, os.environ["TESTS"])
import tap  # noqa: E402
from tap import check  # noqa: E402

HERE = Path(tempfile.mkdtemp())
ENV = dict({k: v for k, v in os.environ.items() if k != "FARE_BOOK"}, XDG_DATA_HOME=str(HERE / "data"), XDG_CONFIG_HOME=str(HERE / "config"))
OWN = HERE / "config/fare"
(OWN / "offers").mkdir(parents=True)
(OWN / "offers/mine.csv").write_text("""provider,name,region,zone,kind,gpu,gpus,gpu_memory_gib,vcpus,memory_gib,cpu,bare_metal,price,currency,per,date,source
acme,one,here,here-a,spot,H100,1,80,16,128,,no,1.00,USD,hour,2026-11-01,mine
acme,one,here,,on-demand,H100,1,80,16,128,,no,3.00,USD,hour,2026-11-01,mine
acme,two,here,,on-demand,H100,1,80,16,128,,no,1.05,USD,hour,2026-11-01,mine
""")
(OWN / "providers").mkdir()
(OWN / "providers/acme.json").write_text(json.dumps({"schema": "fare.tariffs/1", "tariffs": [
    {"id": "acme", "provider": "acme", "kind": "on-demand", "unit_ms": 1000, "source": "mine", "date": "2026-11-01"},
    {"id": "acme-spot", "provider": "acme", "kind": "spot", "unit_ms": 1000, "source": "mine", "date": "2026-11-01"}]}))
(OWN / "spot.csv").write_text("provider,notice_s,taken,words,source,date\nacme,60,capacity,,mine,2026-11-01\n")


def run(*words):
    return subprocess.run([Path(os.environ["BUILD"]) / "fare", *words], env=ENV, capture_output=True, text=True)


def fare(*words, code=0):
    p = run(*words)
    assert p.returncode == code, (p.returncode, p.stdout, p.stderr)
    return p.stdout if code == 0 else p.stderr


def quote(*words):
    return json.loads(fare("quote", "--gpu", "h100", "--provider", "acme", "--boot", "0", "--image-time", "0", "--json", *words))


def offer(*words):
    (bill,) = json.loads(fare("quote", "--offer", "acme/one@here:spot", "--boot", "0", "--json", *words))["bills"]
    return bill


def daly(cost, mean):
    return math.sqrt(2 * cost * mean) * (1 + math.sqrt(cost / (2 * mean)) / 3 + cost / (2 * mean) / 9) - cost


def expected(work, interval, cost, restart, mean):
    return mean * math.exp(restart / mean) * math.expm1((interval + cost) / mean) * work / interval


def near(a, b, share):
    assert abs(a / b - 1) < share, (a, b)


def unknown():
    q = quote("--time", "21d")
    spot = q["bills"][0]
    assert spot["offer"] == "acme/one@here-a:spot" and spot["total"] == "504.00", spot
    assert spot["spot"]["hazard"] == "unknown" and spot["spot"]["lower_bound"] and "method" not in spot["spot"], spot
    assert any("unknown: this is the bill if it never is" in n for n in spot["notes"]), spot["notes"]
    text = fare("quote", "--gpu", "h100", "--provider", "acme", "--boot", "0", "--time", "21d")
    assert "≥504.00" in text and "Others may be cheaper." in text and "≥ interruptions unknown" in " ".join(text.split()), text
    text = fare("quote", "--gpu", "h100", "--provider", "acme", "--boot", "0", "--time", "21d", "--all")
    assert "≥504.00" in text and "≥ a lower bound, and so is its time: how often this spot machine is taken away is unknown." in text.replace("\n", " "), text


check("nobody knows how often: a lower bound that says so", unknown)


def random():
    b = offer("--time", "100h", "--mtbi", "6h", "--checkpoint-time", "5m")
    s, interval = b["spot"], daly(300, 21600)
    near(s["interval_s"], interval, 1e-9)
    time = expected(360000, interval, 300, 0, 21600)
    near(b["time_s"], time, 0.01)
    near(float(b["total"]), time / 3600, 0.01)
    near(s["interruptions"], time / 21600, 0.03)
    assert b["low_s"] < b["time_s"] < b["high_s"] and float(b["low"]) < float(b["total"]) < float(b["high"]), b
    near(sum(float(i["amount"]) for i in b["items"]), float(b["total"]), 1e-12)
    assert (s["hazard"], s["method"], s["uninterrupted"], s["checkpoint_from"]) == ("given", "simulated", "100.00", "given"), s
    rows = {r["what"]: r for r in s["rows"]}
    assert rows["on demand"]["mean"] == "300.00" and rows["on demand"]["high_s"] == 360000, rows
    for what, factor in (("spot, twice as often", 0.5), ("spot, half as often", 2)):
        near(float(rows[what]["mean"]), expected(360000, factor * interval, 300, 0, 21600) / 3600, 0.015)
    best = rows["spot, best interval by replay"]
    assert all(float(best["mean"]) <= float(r["mean"]) for w, r in rows.items() if w.startswith("spot") and "mean" in r), rows
    # 100 hours without an interruption come about e^(100/6) times less often than they are tried.
    assert rows["spot, no checkpoints"]["unfinished"] == 1 and "mean" not in rows["spot, no checkpoints"], rows
    assert "spot, and a checkpoint on notice" not in rows, "60 s are too short for 5 minutes"
    rows = {r["what"]: r for r in offer("--time", "100h", "--mtbi", "6h", "--checkpoint-time", "30s")["spot"]["rows"]}
    assert float(rows["spot, and a checkpoint on notice"]["mean"]) < float(rows["spot, checkpoints by Daly's formula"]["mean"]), rows


check("random interruptions: Daly's formulas to 1 %", random)


def unsaved():
    """Without checkpoints w hours take M (e^(w/M) - 1) on average, at 1 USD an hour. Such a time is nearly exponentially
    distributed, so e^(-20 w / mean) of the replays take more than 20 w. None is left out, and nothing jumps."""
    shares = []
    for w in (27, 28, 29):
        b = offer("--time", f"{w}h", "--mtbi", "6h")
        row = {r["what"]: r for r in b["spot"]["rows"]}["spot, no checkpoints"]
        mean = 6 * math.expm1(w / 6)
        near(float(row["mean"]), mean, 0.05)
        near(row["mean_s"] / 3600, mean, 0.05)
        shares.append(row["unfinished"])
        assert abs(row["unfinished"] - math.exp(-20 * w / mean)) < 0.03, (w, row)
    assert shares == sorted(shares) and shares[2] - shares[0] < 0.15, shares


check("replays that take long are in the mean", unsaved)


def on_demand_in_time():
    """30 h of work with interruptions take over 31 h; an on-demand machine at 3 USD an hour is done after 30 h, for 90 USD."""
    said = " ".join(fare("quote", "--offer", "acme/one@here:spot", "--boot", "0", "--time", "30h", "--mtbi", "6h", "--deadline", "31h").split())
    assert "Within 1 d 07 h this offer does not finish: acme/one:spot, " in said and "; on demand does, in 1 d 06 h, for 90.00 USD." in said, said


check("a machine on demand that is in time is named beside the spot machine that is not", on_demand_in_time)


def order():
    q = quote("--time", "100h", "--mtbi", "6h", "--checkpoint-time", "5m")
    # 1.00 an hour is more than 1.05 with interruptions.
    assert [b["offer"] for b in q["bills"]] == ["acme/two@here", "acme/one@here-a:spot", "acme/one@here"], q["bills"]
    again = offer("--time", "100h", "--mtbi", "6h", "--checkpoint-time", "5m")
    assert again["total"] == q["bills"][1]["total"], "one figure everywhere"


check("the expected bill ranks", order)


def fall_back():
    words = ("--time", "100h", "--mtbi", "6h", "--checkpoint-time", "5m", "--deadline")
    row = {r["what"]: r for r in offer(*words, "120h")["spot"]["rows"]}["spot with fall-back to on demand"]
    assert row["deadline_kept"] and row["high_s"] <= 120 * 3600, row
    # 19 hours more than the work and its checkpoints are not enough for all interruptions: some of it is on demand.
    assert float(offer(*words, "120h")["spot"]["uninterrupted"]) < float(row["mean"]) < 300, row
    b = offer(*words, "90h")
    assert not any("fall-back" in r["what"] for r in b["spot"]["rows"]) and any("no fall-back keeps" in n for n in b["notes"]), b
    assert b["deadline"] == "missed"


check("fall-back keeps a deadline that can be kept", fall_back)


def too_often():
    b = offer("--time", "48h", "--mtbi", "1m", "--checkpoint-time", "3m")
    assert b["spot"]["never_ends"] and any("too often for this training ever to finish" in n for n in b["notes"]), b
    q = quote("--time", "48h", "--mtbi", "1m", "--checkpoint-time", "3m")
    assert [x["kind"] for x in q["bills"]][-1] == "spot", "listed last"
    # It is not advised, meets no budget, and has no interval.
    assert not any("acme/one:spot" in line for line in q["advice"]), q["advice"]
    words = ("--boot", "0", "--time", "48h", "--mtbi", "1m", "--checkpoint-time", "3m", "--budget", "60")
    assert "never ends" in fare("quote", "--gpu", "h100", "--provider", "acme", "--all", *words)
    assert offer(*words[2:])["budget"] == "missed"
    alone = " ".join(fare("quote", "--offer", "acme/one@here:spot", *words).split())
    assert "taken away too often to ever finish" in alone and "% of the replays" not in alone and "never ends USD" not in alone, alone


check("a checkpoint longer than the time between interruptions never ends", too_often)


def trace_of(samples):
    rows = []
    for i, x in enumerate(samples):
        rows.append(f"{i},2024-01-{1 + i // 144:02d}T{i % 144 // 6:02d}:{i % 6 * 10:02d}:00.000Z,{x}\n")
    return "".join(rows)


def traces():
    # Two hours had, one not; a day of it. No checkpoint costs anything; an hour of work between them.
    file = HERE / "2024-01-01_here-a_h100_1.txt"
    file.write_text(trace_of(([0] * 12 + [1] * 6) * 8))
    words = ("--time", "10h", "--checkpoint-time", "0", "--save-every", "1h")
    b = offer(*words, "--trace", str(file))
    s = b["spot"]
    assert (s["hazard"], s["method"], s["replays"], s["between_s"]) == ("trace", "replayed", 1000, 7200), s
    # From the start of a stretch: 5 stretches of 2 hours in 14 hours. In the mean over all starts a little more.
    assert 14 * 3600 < b["time_s"] < 16 * 3600 and 10 <= float(b["total"]) < 11.5, b
    fare("prices", "import", str(file))
    kept = offer(*words)
    assert kept["total"] == b["total"] and "2024-01-01_here-a_h100_1.txt" in kept["spot"]["hazard_words"], kept
    rows = {r["what"]: r for r in offer(*words, "--deadline", "20h")["spot"]["rows"]}
    mean = {p: float(rows[f"policy: {p}"]["mean"]) for p in ("greedy", "uniform progress", "planned", "best possible")}
    assert all(mean["best possible"] <= m + 1e-9 for m in mean.values()), mean
    assert all(rows[f"policy: {p}"]["deadline_kept"] for p in mean), rows
    away = HERE / "away.txt"
    away.write_text(trace_of([1] * 50))
    b = offer(*words, "--trace", str(away), "--deadline", "20h")
    assert b["spot"]["never_ends"], b
    said = " ".join(fare("quote", "--offer", "acme/one@here:spot", "--boot", "0", *words, "--trace", str(away), "--deadline", "20h").split())
    assert "this offer does not finish; spot with fall-back to on demand is always in time, for 30.00 USD on average; on demand does, in 10 h 00 min, for 30.00 USD." in said, said
    rows = {r["what"]: r for r in b["spot"]["rows"]}
    assert rows["spot with fall-back to on demand"]["mean"] == "30.00", rows
    assert rows["policy: best possible"]["mean"][:2] in ("30", "31"), rows
    (HERE / "data/fare/availability/2024-01-01_here-a_h100_1.txt").unlink()


check("traces: given, imported, never to be had", traces)


def not_spot():
    for words, named in ((("--offer", "acme/two@here", "--mtbi", "6h"), ["--mtbi"]),
                         (("--gpu", "h100", "--kind", "on-demand", "--provider", "acme", "--bid", "2", "--checkpoint-time", "1m"), ["--bid", "--checkpoint-time"]),
                         (("--gpu", "h100", "--provider", "acme", "--mtbi", "6h"), [])):
        p = run("quote", "--time", "10h", "--json", *words)
        said = [line.split("'")[1] for line in p.stderr.splitlines() if "none is quoted: it changes nothing" in line]
        assert p.returncode == 0 and said == named, (words, p.stderr)


check("options for spot machines without one are said to change nothing", not_spot)


def price_history():
    """Ten days at 0.10 and ten at 0.30 USD an hour: a day costs 2.40 if it begins in the first nine, 7.20 in the last ten, and 4.80
    on average, since the history begins again at its end."""
    file = HERE / "march.csv"
    file.write_text("timestamp,availability_zone,instance_type,spot_price\n2026-03-01T00:00:00+00:00,us-east-1a,g4dn.xlarge,0.1\n"
                    "2026-03-11T00:00:00+00:00,us-east-1a,g4dn.xlarge,0.3\n2026-03-21T00:00:00+00:00,us-east-1b,g4dn.xlarge,0.3\n")
    fare("prices", "import", str(file))
    words = ("quote", "--offer", "aws/g4dn.xlarge@us-east-1a:spot", "--boot", "0", "--time", "1d")
    (bill,) = json.loads(fare(*words, "--json"))["bills"]
    assert bill["spot"]["lower_bound"] and "method" not in bill["spot"] and "20 d 00 h" in bill["spot"]["prices"], bill
    near(float(bill["total"]), 4.8, 0.005)
    assert float(bill["low"]) == 2.4 and float(bill["high"]) == 7.2, bill
    lines = {i["what"]: float(i["amount"]) for i in bill["items"]}
    near(lines["price history"], 4.8 - 7.2, 0.005)
    # Hardly ever taken away: what the prices do is not the interruptions' doing.
    (bill,) = json.loads(fare(*words, "--mtbi", "3650d", "--json"))["bills"]
    lines = {i["what"]: float(i["amount"]) for i in bill["items"]}
    near(lines["price history"], 4.8 - 7.2, 0.005)
    assert abs(lines.get("interruptions and checkpoints", 0)) < 0.02, lines
    text = fare(*words, "--mtbi", "6h")
    head = next(line for line in text.splitlines() if line.startswith("way"))
    assert head.split() == "way USD 10 % 50 % 90 % ends 10 % ends 50 % ends 90 %".split(), head
    (best,) = [r for r in json.loads(fare(*words, "--mtbi", "6h", "--json"))["bills"][0]["spot"]["rows"] if "best interval" in r["what"]]
    minutes = int(best["interval_s"] // 60)
    assert f"by replay: a checkpoint after every {minutes} min" in " ".join(text.split()), text
    assert "price: its history of 20 d 00 h, 0.20 USD an hour on average" in " ".join(text.split()), text


check("a price history is replayed, also where nobody knows how often it is taken away", price_history)


def mistakes():
    base = ("quote", "--time", "10h", "--offer", "acme/one@here:spot")
    for words, text in ((("--mtbi", "0"), "above 0"), (("--save-every", "0"), "above 0"), (("--bid", "0"), "above 0"),
                        (("--mtbi", "6h", "--trace", "x"), "exclude each other"), (("--mtbi", "nan"), "--mtbi"),
                        (("--trace", str(HERE / "none.txt")), "none.txt")):
        assert text in fare(*base, *words, code=1 if "none" in text else 2), words
    bad = HERE / "bad.txt"
    bad.write_text("0,2024-01-01T00:00:00Z,0\n1,2024-01-01T00:10:00Z,nan\n")
    assert "line 2" in fare(*base, "--trace", str(bad), code=1)
    assert "DATE_ZONE_GPU_COUNT" in fare("prices", "import", str(HERE / "away.txt"), code=1)


check("mistakes", mistakes)
tap.done()
