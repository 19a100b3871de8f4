# SPDX-License-Identifier: Apache-2.0
"""fare quote --time and --steps: a time that the user knows, against sums done here."""
import json
import os
import re
import subprocess
import sys
from fractions import Fraction as F
from pathlib import Path

sys.path.insert(0, os.environ["TESTS"])
import tap  # noqa: E402

FARE = os.environ["FARE"]
CONFIG = Path(os.environ["XDG_CONFIG_HOME"]) / "fare"
(CONFIG / "offers").mkdir(parents=True)
(CONFIG / "providers").mkdir()
(CONFIG / "offers" / "mine.csv").write_text("""\
provider,name,region,kind,gpu,gpus,vcpus,memory_gib,price,currency,per,date,source
acme,eight,here,,H100,8,96,1000,20.00,USD,hour,2026-11-01,mine
acme,eight,here,spot,H100,8,96,1000,7.00,USD,hour,2026-11-01,mine
acme,pcie,here,,H100-PCIE,8,96,1000,16.00,USD,hour,2026-11-01,mine
acme,nvl,here,,H100-NVL,1,12,100,2.50,USD,hour,2026-11-01,mine
acme,one,here,,H100,1,12,100,3.00,USD,hour,2026-11-01,mine
acme,cpus,here,,,0,64,256,2.00,USD,hour,2026-11-01,mine
started,eight,here,,H100,8,96,1000,18.00,USD,hour,2026-11-01,mine
""")
for provider, kind, unit_ms in (("acme", "on-demand", 1000), ("acme", "spot", 1000), ("started", "on-demand", 3600000)):
    (CONFIG / "providers" / f"{provider}-{kind}.json").write_text(json.dumps({"schema": "fare.tariffs/1", "tariffs": [
        {"id": f"{provider}-{kind}", "provider": provider, "kind": kind, "unit_ms": unit_ms, "egress_rate": "0.08",
         "source": "mine", "date": "2026-11-01"}]}))
DAY = ("--date", "2026-11-10")
BOOT = ("--boot", "0")


def fare(*args, code=0):
    p = subprocess.run([FARE, "quote", *args], capture_output=True, text=True)
    assert p.returncode == code, f"{args}: {p.returncode}\n{p.stdout}\n{p.stderr}"
    return p.stdout if code == 0 else p.stderr


def quote(*args):
    return json.loads(fare(*args, *DAY, "--json"))


def totals(*args):
    """Of the providers above: the shipped book has offers of others."""
    bills = [b for p in ("acme", "started") for b in quote(*args, "--provider", p)["bills"]]
    return {b["offer"]: F(b["total"]) for b in bills}


def same(got, expected):
    assert got == expected, f"{got!r}, not {expected!r}"


def near(got, expected):
    assert abs(F(got) - expected) <= F(4, 10**9), f"{got}, not {float(expected)}"


def check(action):
    tap.check(action.__doc__, action)


def a_time():
    """21 days on 8 H100 are 504 h at each offer's price, on every form of the H100 with exactly 8"""
    same(totals("--time", "21d", "--gpu", "h100", "--gpus", "8", *BOOT),
         {"acme/eight@here": 504 * 20, "acme/eight@here:spot": 504 * 7, "acme/pcie@here": 504 * 16,
          "started/eight@here": 504 * 18})
    same(totals("--time", "3w", "--gpu", "H100 SXM", "--gpus", "8", "--spot", *BOOT), {"acme/eight@here:spot": 504 * 7})
    same(totals("--time", "3h", "--gpu", "h100", *BOOT), {"acme/one@here": 9, "acme/nvl@here": F("7.5")})


def a_range():
    """20d-22d is 21 days with an interval of 480 to 528 h; a time alone has none"""
    q = quote("--time", "20d-22d", "--gpu", "h100-sxm", "--gpus", "8", "--provider", "acme", "--kind", "on-demand", *BOOT)
    b = q["bills"][0]
    same((F(b["total"]), F(b["low"]), F(b["high"])), (504 * 20, 480 * 20, 528 * 20))
    same((b["basis"], b["time_s"], b["low_s"], b["high_s"]), ("given", 504 * 3600, 480 * 3600, 528 * 3600))
    same(q["given"], "20 d 00 h to 22 d 00 h on 8 × H100")
    assert "workload" not in q and "run" not in q and "not_measured" not in q, q.keys()
    b = quote("--time", "21d", "--gpu", "h100-sxm", "--gpus", "8", *BOOT)["bills"][0]
    assert "low_s" not in b and "low" not in b, b


def steps():
    """60,000 steps of 350 ms are 21,000 s; a provider with started hours charges six"""
    got = totals("--steps", "60000", "--step-time", "350ms", "--gpu", "h100-sxm", "--gpus", "8", "--kind", "on-demand", *BOOT)
    near(got["acme/eight@here"], F(21000, 3600) * 20)
    same(got["started/eight@here"], 6 * 18)
    b = quote("--steps", "60000", "--step-time", "340ms-360ms", "--offer", "acme/eight", *BOOT)["bills"][0]
    same((b["low_s"], b["time_s"], b["high_s"]), (20400, 21000, 21600))


def number_of_gpus():
    """a machine with more GPUs fits only with a plus, and its others are unused"""
    same(totals("--time", "1h", "--gpu", "h100", "--gpus", "4", *BOOT), {})
    got = quote("--time", "1h", "--gpu", "h100-sxm", "--gpus", "4+", "--provider", "started", *BOOT)["bills"][0]
    same((F(got["total"]), got["gpus_used"], got["gpus"]), (18, 4, 8))
    items = {i["what"]: F(i["amount"]) for i in got["items"]}
    same((items["run"], items["unused GPUs"]), (9, 9))


def an_offer():
    """with --offer the machine is the offer, with GPUs or without"""
    for name, hour in (("acme/eight", 20), ("acme/eight:spot", 7), ("acme/cpus", 2)):
        b = quote("--time", "90m", "--offer", name, *BOOT)["bills"][0]
        same((F(b["total"]), b["basis"]), (F(3, 2) * hour, "given"))


def startup_and_traffic():
    """start-up, traffic and several runs are those of any quote"""
    b = quote("--time", "1h", "--offer", "acme/eight", "--boot", "90s", "--image-time", "30s", "--egress", "10GB")["bills"][0]
    near(b["total"], F(3720, 3600) * 20 + 10 * F("0.08"))
    same((b["time_s"], b["startup_s"]), (3720, 120))
    q = quote("--time", "1h", "--offer", "acme/eight", "--boot", "90s", "--image-time", "30s", "--egress", "10GB", "--runs", "3")
    three = F(3 * 3600 + 120, 3600) * 20 + 30 * F("0.08")  # the machine starts once: 63.0667
    text = " ".join(q["advice"])
    assert f"3 h 02 min, {float(three):.2f} USD" in text, text


def buying():
    """rent or buy: 8 H100 that work round the clock for 20 USD an hour, against 100,000 USD"""
    # Nothing is paid for power: 100,000 / 20 = 5000 h = 208 d 08 h of use, 208.3 days.
    text = " ".join(fare("--time", "10d", "--gpu", "h100-sxm", "--gpus", "8", "--provider", "acme", "--kind", "on-demand",
                         "--buy", "100000", *DAY, *BOOT).split())
    assert ("Buying a machine like 8 × H100 for 100000.00 USD has paid for itself against acme/eight after 208 d 08 h "
            "of use: 208.3 days") in text, text


def what_is_said():
    """the table names the GPUs that were matched, the title says that the time was given"""
    text = fare("--time", "21d", "--gpu", "h100", "--gpus", "8", "--provider", "acme", *DAY, *BOOT)
    assert text.startswith("21 d 00 h on 8 × H100, H100-PCIE or H100-NVL, as given, prices of 2026-11-10\n"), text
    assert "Each is taken to need that time; a fuller name, such as H100-NVL" in text, text
    text = fare("--time", "21d", "--offer", "acme/eight", *DAY, *BOOT)
    assert text.startswith("21 d 00 h on acme/eight, as given") and "the time is" not in text, text
    text = fare("--time", "21d", "--gpu", "h100", "--gpus", "12", "--provider", "acme", *DAY)
    assert "No offer in the book has 12 × H100 and matches --provider acme. 'fare prices H100'" in " ".join(text.split()), text
    fare("cnn", "--precision", "bf16", code=2)


def several_machines():
    """16 GPUs are two machines of 8, 24 three, each billed by its own rule; not two spot machines, nor sixteen of one GPU"""
    given = ("--time", "3d", "--gpu", "h100-sxm", *BOOT)
    two = quote(*given, "--gpus", "16", "--provider", "acme")
    same({b["offer"]: (F(b["total"]), b["machines"], b["gpus"]) for b in two["bills"]}, {"acme/eight@here": (2 * 72 * 20, 2, 8)})
    same([(m["offer"], m["reason"]) for m in two["misfits"]], [("acme/eight@here:spot", "several spot machines")])
    three = quote("--time", "90m", "--gpu", "h100-sxm", *BOOT, "--gpus", "24", "--provider", "started")["bills"]
    same([(F(b["total"]), b["machines"]) for b in three], [(3 * 2 * 18, 3)])  # two started hours each
    text = fare(*given, "--gpus", "16", "--provider", "acme", *DAY)
    assert re.search(r"2 × 8 × H100 +acme/eight +unknown +2880.00", text) or "link" in text, text
    links = {b["offer"].split("@")[0]: b.get("link") for b in quote(*given, "--gpus", "16")["bills"]}
    same((links["aws/p5.48xlarge"], links["acme/eight"]), ("3.2 Tb/s, EFA", None))  # share/links.csv


def a_list():
    """of a list of GPUs the first has the time, the others are estimated from it; one of them is no forms of the first"""
    q = quote("--time", "3d", "--gpu", "h100-sxm,h100-pcie", "--gpus", "8", "--precision", "bf16", "--provider", "acme", *BOOT)
    same({b["offer"]: F(b["total"]) for b in q["bills"]}, {"acme/eight@here": 72 * 20, "acme/eight@here:spot": 72 * 7})
    (pcie,) = q["estimates"]
    same((pcie["offer"], pcie["gpus"]), ("acme/pcie@here", 8))
    # By the data sheets of NVIDIA, an H100 PCIe has 756 of the 989 TFLOP/s and 2.0 of the 3.35 TB/s of an H100 SXM.
    assert 72 * 16 < F(pcie["total"]) < 72 * 16 * 4 and F(pcie["low"]) < 72 * 16 * F(989, 756) < F(pcie["high"]), pcie
    text = " ".join(fare("--time", "3d", "--gpu", "h100-sxm,l4,nosuch", *DAY, code=2).split())
    assert "'nosuch' is not a GPU that fare knows" in text, text
    only = json.loads(fare("cnn", "--gpu", "l4,t4", "--json", *DAY))
    same({b["gpu"] for b in only["estimates"] + only["bills"]}, {"L4", "T4"})


def idle_hours():
    """12 idle hours a day: 240 USD if it runs on at 20 an hour, nothing but a disk if stopped, a boot of 6 min if given back"""
    given = ("--time", "21d", "--gpu", "h100-sxm", "--gpus", "8", "--provider", "acme", "--kind", "on-demand", *DAY)
    text = " ".join(fare(*given, "--boot", "6m", "--idle-per-day", "12h").split())
    assert "Idle 12 h 00 min a day, acme/eight costs 240.00 USD more each day if it runs on, 0.00 USD and its disk (--storage: how " \
        "large) if it is stopped, and 2.00 USD if it is given back" in text, text
    fare(*given, "--idle-per-day", "24h", code=2)
    fare(*given, "--idle-per-day", "0", code=2)


def a_gate():
    """--fail-above: exit code 3 unless the end of the interval is below; a lower bound and no offer at all fail; stdout stays"""
    given = ("--time", "20d-22d", "--gpu", "h100-sxm", "--gpus", "8", "--provider", "acme", "--kind", "on-demand", *BOOT, *DAY)
    for limit, code in (("10560USD", 0), ("10559.99USD", 3), ("1e9USD", 2), ("22d", 0), ("527h", 3), ("10560", 2), ("", 2)):
        p = subprocess.run([FARE, "quote", *given, "--fail-above", limit], capture_output=True, text=True)
        same((p.returncode, "acme/eight" in p.stdout, "--fail-above" in p.stderr), (code, code != 2, code != 0))
    spot = ("--time", "1h", "--offer", "acme/eight:spot", *BOOT, *DAY)
    fare(*spot, "--fail-above", "1000USD", code=3)
    fare("--time", "1h", "--gpu", "k80", "--provider", "acme", "--fail-above", "1000USD", *DAY, code=3)


for test in (idle_hours, a_gate, several_machines, a_list, a_time, a_range, steps, number_of_gpus, an_offer, startup_and_traffic, buying, what_is_said):
    check(test)
tap.done()
