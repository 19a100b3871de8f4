# SPDX-License-Identifier: Apache-2.0
"""Bills that were once wrong, each against a sum done by hand (in the comments) with exact fractions."""
import json
import os
import subprocess
import sys
from fractions import Fraction as F
from pathlib import Path

sys.path.insert(0, os.environ["TESTS"])
import tap  # noqa: E402
from tap import fare  # noqa: E402

FARE = os.environ["FARE"]
HERE = Path(os.environ["TMPDIR"])
CONFIG = Path(os.environ["XDG_CONFIG_HOME"]) / "fare"


def quote(*args):
    return json.loads(fare("quote", *args, "--json"))


def advice(*args):
    return " ".join(" ".join(quote(*args)["advice"]).split())


def bill(*args):
    return quote(*args)["bills"][0]


def cost(run, *args):
    """As fare compare charges the run."""
    rows = json.loads(fare("compare", run, *args, "--rule", "paid", "--json"))["workloads"][0]["rows"]
    return F(rows[0]["cost"]["usd"])


def cron(*args):
    return json.loads(fare("cron", *args, "--disk", "0", "--rules", "0", "--function-ms", "0", "--json"))


def same(got, expected, what=""):
    assert got == expected, f"{what}: {got!r}, not {expected!r}"


def check(name):
    return lambda action: tap.check(name, action)


def record(name, wall_s, gpu=None, **more):
    machine = {"cpu": "Acme CPU", "usable_cpus": 8}
    use = {}
    if gpu:
        machine.update(gpu=gpu, gpus=1)
        use = {"gpus": 1, "gpu_list": [{"name": gpu}]}
    machine.update(more.pop("machine", {}))
    return {"schema": "fare.run/1", "id": f"20261110T000000Z-{name}", "workload": "mlp", "framework": "fare",
            "started": "2026-11-10T00:00:00Z", "machine": machine, "use": use, "full": True, "ended": "finished",
            "phases": {"wall_ns": round(wall_s * 10**9), "train_ns": round(wall_s * 10**9)}, **more}


def offers(*rows):
    (CONFIG / "offers").mkdir(parents=True, exist_ok=True)
    head = "provider,name,region,kind,gpu,gpus,price,currency,date,source\n"
    (CONFIG / "offers" / "test.csv").write_text(head + "".join(row + "\n" for row in rows))


H100, T4 = "NVIDIA H100 80GB HBM3", "Tesla T4"
offers("nobody,server,here,monthly,,,765,USD,2026-11-01,test",
       "hetzner,small,here,on-demand,,,0.10,EUR,2026-11-01,test",
       "hetzner,small,here,monthly,,,39.60,EUR,2026-11-01,test",
       "hetzner,mixed,here,on-demand,,,0.10,USD,2026-11-01,test",
       "hetzner,mixed,here,monthly,,,39.60,EUR,2026-11-01,test",
       "aws,fast,here,on-demand,H100,1,3.60,USD,2026-11-01,test",
       "aws,slow,here,on-demand,T4,1,0.36,USD,2026-11-01,test",
       "aws,only,here,spot,T4,1,0.10,USD,2026-11-01,test",
       "nobody,cheap,here,on-demand,H100,1,3.00,USD,2026-11-01,test",
       "runpod,pod,here,on-demand,T4,1,0.36,USD,2026-11-01,test")
(CONFIG / "currencies.csv").write_text("date,currency,usd,source\n2026-11-01,EUR,1.25,test\n")
(HERE / "runs.jsonl").write_text("".join(json.dumps(r) + "\n" for r in [
    record("month", 72, machine={"provider": "nobody", "instance_type": "server"}),
    record("small", 500 * 3600, machine={"provider": "hetzner", "instance_type": "small"}),
    record("mixed", 500 * 3600, machine={"provider": "hetzner", "instance_type": "mixed"}),
    record("two", 2, H100), record("ten", 10, T4), record("long", 2 * 10**6, H100, workload="cnn"),
    record("here", 3600, H100, machine={"provider": "aws", "instance_type": "fast"})]))
fare("runs", "import", str(HERE / "runs.jsonl"))
RUN = "20261110T000000Z-"
DAY = ("--date", "2026-11-10")


@check("72 s on a server that is let by the month cost the month")
def month():
    # The same in a quote, a comparison and a schedule: 765 USD, not 765 x 72 s / 30 days = 0.0213.
    same(F(bill(RUN + "month", "--offer", "nobody/server:monthly", *DAY, "--boot", "0")["total"]), F(765))
    same(cost(RUN + "month", "--offer", "nobody/server:monthly"), F(765))
    same(F(cron("@monthly", "--up", "72s", "--offer", "nobody/server:monthly", "--month", "2026-11")["total"]), F(765))
    # However often it starts in that month.
    same(F(cron("@daily", "--up", "72s", "--offer", "nobody/server:monthly", "--month", "2026-11")["total"]), F(765))


@check("an hourly server costs at most its price by the month")
def capped():
    # 500 h x 0.10 EUR = 50 EUR, capped at 39.60 EUR: x 1.25 = 49.50 USD. From the 10th the run ends on the last day of the
    # month, so both halves lie in one month.
    args = ("--offer", "hetzner/small", "--date", "2026-11-01")
    same(F(bill(RUN + "small", *args, "--boot", "0")["total"]), F("49.50"))
    same(cost(RUN + "small", *args), F("49.50"))
    same(F(cron("@monthly", "--up", "500h", "--offer", "hetzner/small", "--month", "2026-11")["total"]), F("49.50"))
    # The hour in USD, the cap in EUR: 50 USD, capped at 39.60 x 1.25 = 49.50 USD.
    args = ("--offer", "hetzner/mixed", "--date", "2026-11-01")
    same(F(bill(RUN + "mixed", *args, "--boot", "0")["total"]), F("49.50"))
    same(cost(RUN + "mixed", *args), F("49.50"))


@check("start-up is a line of the bill, and counts in the order")
def startup():
    # 2 s on the fast machine and 10 s on the slow one, per second, a minute at least: 0.06 and 0.006 without start-up;
    # with AWS's 101 s of boot 103 s x 3.60 and 111 s x 0.36 an hour.
    fast, slow = bill(RUN + "two", "--offer", "aws/fast", *DAY), bill(RUN + "ten", "--offer", "aws/slow", *DAY)
    same(F(fast["total"]), F(103) * F("3.60") / 3600)
    same(F(slow["total"]), F(111) * F("0.36") / 3600)
    boot = fast["items"][0]
    assert boot["what"] == "boot" and boot["how"] == "1 min 41 s", boot
    assert boot["assumed"].startswith("SkyPilot"), boot
    same((fast["startup_s"], fast["time_s"]), (101.0, 103.0))
    # Its range is the interval of a time that was measured: 100 to 210 s.
    same((fast["low_s"], fast["high_s"]), (102.0, 212.0))
    same((F(fast["low"]), F(fast["high"])), (F(102) * F("0.001"), F(212) * F("0.001")))
    none = bill(RUN + "two", "--offer", "aws/fast", *DAY, "--boot", "0")
    same(F(none["total"]), F(60) * F("3.60") / 3600, "a minute at least")
    assert "startup_s" not in none and "low" not in none, none
    given = bill(RUN + "two", "--offer", "aws/fast", *DAY, "--boot", "3m", "--download", "20s", "--install", "40s")
    same(F(given["total"]), F(2 + 180 + 20 + 40) * F("0.001"))
    same([i["what"] for i in given["items"]], ["boot", "download", "install", "train"])


@check("a boot measured on such a machine goes before the default, if it is within its range: 100 to 210 s at AWS, share/startup.csv")
def measured_boot():
    cases = (("in", 150, "metadata", "fare.run/2", 150), ("ordered", 150, "fare", "fare.run/2", 150), ("short", 55, "metadata", "fare.run/2", 101),
             ("long", 649, "metadata", "fare.run/2", 101), ("kernel", 150, "kernel", "fare.run/2", 101), ("old", 150, "metadata", "fare.run/1", 101),
             ("low", 100, "metadata", "fare.run/2", 100), ("high", 210, "metadata", "fare.run/2", 210))
    (HERE / "boot.jsonl").write_text("".join(json.dumps({**record("boot" + name, 100, H100, machine={"provider": "aws", "instance_type": "fast"},
        phases={"wall_ns": 10**11, "train_ns": 10**11, "boot_ns": s * 10**9}, boot_from=from_), "schema": schema}) + "\n"
        for name, s, from_, schema, _ in cases))
    fare("runs", "import", str(HERE / "boot.jsonl"))
    for name, *_, expected in cases:
        same(bill(RUN + "boot" + name, "--offer", "aws/fast", *DAY)["startup_s"], float(expected))


@check("with --runs a machine starts once")
def once():
    # 101 s of boot, then ten runs of 3600 s.
    text = advice(RUN + "here", "--offer", "aws/fast", *DAY, "--runs", "10")
    assert "10 runs one after the other on aws/fast: 10 h 02 min, 36.10 USD" in text, text  # 36101 s x 0.001


@check("every run pays for its traffic")
def traffic():
    # AWS: 100 GB a month are free, then 0.09 USD a GB to 10 TB. Ten runs with 200 GB each are 2,000 GB: 1,900 x 0.09 = 171
    # USD on top of 10 h at 3.60 = 36 USD, whether they run one after the other or side by side.
    text = advice(RUN + "here", "--offer", "aws/fast", *DAY, "--runs", "10", "--egress", "200GB", "--boot", "0")
    assert "on aws/fast: 10 h 00 min, 207.00 USD" in text, text


@check("rent or buy: long runs, discounts, idle power, interest, the machine's name")
def buying():
    # The rented machine is as fast, so that buying for 2,592 USD pays after 2592 / 3.60 = 720 h: 30 days.
    args = ("--offer", "aws/fast", *DAY, "--boot", "0")
    text = advice(RUN + "long", *args, "--buy", "2592")
    assert f"Buying a machine like {H100} for 2592.00 USD has paid for itself against aws/fast" in text, text
    assert "30.0 days" in text and "assumes that it works 720 hours a month" in text, text
    # Half the rent: twice the days.
    (CONFIG / "rates.csv").write_text("provider,offer,discount_percent,credit,rate,currency,from,to\naws,fast,50,,,,,\n")
    text = advice(RUN + "here", *args, "--buy", "2592")
    (CONFIG / "rates.csv").unlink()
    assert "60.0 days" in text, text
    # 360 h a month: 1 kW idle at 0.36 USD for as many idle hours as it works, so that an hour saves 3.60 - 0.36 - 0.36 =
    # 2.88 USD: 900 h, 75 days.
    text = advice(RUN + "here", *args, "--buy", "2592", "--hours-per-month", "360", "--watts", "1000", "--idle-watts", "1000",
                  "--kwh", "0.36")
    assert "75.0 days" in text, text
    # 12 % a year on 2592 / 2 are 12.96 USD a month, 0.018 an hour: 2592 / 3.582 = 723.62 h, 30.2 days.
    text = advice(RUN + "here", *args, "--buy", "2592", "--interest", "12%")
    assert "30.2 days" in text, text
    # A workload that only others measured has no machine of the user's.
    text = fare("quote", "tweets", "--buy", "2500", "--date", "2018-02-15")
    assert "name a run; its machine is the one to buy" in " ".join(text.split()), text


@check("cron: spot is not taken for on demand")
def spot():
    text = fare("cron", "@daily", "--up", "5m", "--offer", "aws/only", *DAY, code=2)
    assert "only a spot price for 'aws/only'" in text and "aws/only:spot" in text, text


@check("cron: once a month is once, however long the month")
def monthly():
    # 504 h x 55.04 USD.
    same(F(cron("@monthly", "--up", "504h", "--offer", "aws/p5.48xlarge", "--rate", "55.04")["total"]), F("27740.16"))


@check("cron: a small server of 2018 is no alternative to a GPU, nor to anything today")
def small_server():
    for args in (("gcp/n1-standard-1:spot", "--rate", "0.01"), ("aws/slow", *DAY)):
        names = [a["name"] for a in cron("@daily", "--up", "5m", "--offer", *args)["always_up"]]
        assert names and not any("small" in n for n in names), names


@check("cron: tasks that start together do not fit on one machine")
def together():
    # 32 tasks of 2 h at 03:00: one machine runs 12 of them before it is 03:00 again. Twelve cost 12 x 30 x 2 h = 720 h, and
    # the machine that is always up 730 h: never more.
    always = cron("0 3 * * *", "--up", "2h", "--offer", "aws/slow", *DAY, "--tasks", "32")["always_up"][0]
    assert "cheaper_from_tasks" not in always, always


@check("cron and quote: the disk of a stopped pod costs its stopped rate")
def stopped_volume():
    # RunPod: 0.10 USD a GB and month while it runs, 0.20 while it is stopped. 10 GB, 12 h a day up in a month of 30 days:
    # 10 x (0.10 / 2 + 0.20 / 2) = 1.50 USD.
    text = json.loads(fare("cron", "@daily", "--up", "12h", "--offer", "runpod/pod", *DAY, "--disk", "10GB", "--rules", "0",
                           "--function-ms", "0", "--json"))
    disk = next(i for i in text["items"] if i["name"] == "disk")
    same(F(disk["amount"]), F("1.50"))
    # An hour of work, kept for ten days: 1 h at 0.10, 239 h at 0.20.
    b = bill(RUN + "ten", "--offer", "runpod/pod", *DAY, "--boot", "3590s", "--image-time", "0s", "--storage", "10GB", "--keep", "10d")
    kept = sum(F(i["amount"]) for i in b["items"] if i["what"].startswith("storage"))
    assert abs(kept - 10 * (F("0.10") * 1 + F("0.20") * 239) / 720) < F(2, 10**9), float(kept)


@check("an assumed rule makes nothing the cheapest")
def assumed():
    # Per second 1 h 01 min 41 s at 3.00 are 3.08 USD, less than 3.70 at 3.60; but started hours would be 6.00.
    q = quote(RUN + "here", "--gpu", "h100", *DAY, "--provider", "nobody")
    same(q["bills"][0]["by_hours"], "6.00")
    q = quote(RUN + "here", "--gpu", "h100", *DAY)
    order = [b["offer"] for b in q["bills"]]
    assert order.index("aws/fast@here") < order.index("nobody/cheap@here"), order
    assert q["advice"][0].startswith("Cheapest: ") and "nobody/cheap" not in q["advice"][0].split(";")[0], q["advice"][0]


@check("a spot price that changes is integrated")
def history():
    # 0.36 until the 10th, 0.72 from then on: two days from the 9th are 24 h of each, 8.64 + 17.28 = 25.92 USD.
    offers("aws,moves,here,spot,T4,1,0.36,USD,2026-10-01,test", "aws,moves,here,spot,T4,1,0.72,USD,2026-10-10,test")
    (HERE / "days.jsonl").write_text(json.dumps({**record("days", 2 * 86400, T4), "started": "2026-10-09T00:00:00Z"}) + "\n")
    fare("runs", "import", str(HERE / "days.jsonl"))
    args = ("--offer", "aws/moves:spot")
    same(F(bill(RUN + "days", *args, "--date", "2026-10-09", "--boot", "0")["total"]), F("25.92"))
    same(cost(RUN + "days", *args), F("25.92"))
    same(F(bill(RUN + "days", *args, "--date", "2026-10-01", "--boot", "0")["total"]), F("17.28"))


@check("a misspelt offer is refused everywhere, with a suggestion")
def misspelt():
    for args in (("quote", RUN + "here", "--offer", "aws/p5.48xlargee"), ("compare", RUN + "here", "--offer", "aws/p5.48xlargee"),
                 ("cron", "@daily", "--up", "5m", "--offer", "aws/p5.48xlargee"),
                 ("run", "mlp", "--max-spend", "1", "--offer", "aws/p5.48xlargee")):
        p = subprocess.run([FARE, *args], capture_output=True, text=True)
        assert p.returncode in (1, 2) and "p5.48xlarge" in p.stderr.replace("p5.48xlargee", ""), (args, p.stderr)


@check("--interrupted is gone")
def interrupted():
    assert "unknown option" in fare("quote", RUN + "here", "--interrupted", code=2)


# ---- found by a review of every step from an offer to a bill

offers("nobody,server,here,monthly,,,765,USD,2026-11-01,test",
       "nobody,cheap,here,on-demand,H100,1,3.00,USD,2026-11-01,test",
       "hetzner,rented,here,monthly,,,72,EUR,2026-11-01,test",
       "aws,fast,here,on-demand,H100,1,3.60,USD,2026-11-01,test",
       "aws,odd,here,on-demand,T4,1,0.36,XYZ,2026-11-01,test",
       "aws,moves,here,spot,T4,1,0.20,USD,2026-10-01,test",
       "aws,moves,here,spot,T4,1,0.40,USD,2026-10-10,test",
       "aws,hist,here,spot,,,0.10,USD,2018-05-01,test",
       "aws,hist,here,spot,,,0.50,USD,2018-06-10,test",
       "aws,hist,here,spot,,,0.20,USD,2018-10-01,test",
       "aws,years,here,spot,T4,1,0.10,USD,2019-01-01,test",
       "aws,years,here,spot,T4,1,0.20,USD,2020-01-01,test",
       "aws,euro,here,spot,T4,1,0.36,EUR,2026-11-01,test",
       "aws,euro,here,spot,T4,1,0.72,EUR,2026-11-10,test",
       "aws,hourly,here,spot,T4,1,0.10,USD,2017-05-01,test",
       "aws,hourly,here,spot,T4,1,1.00,USD,2017-05-10,test",
       "ovhcloud,clock,here,on-demand,T4,1,0.36,EUR,2026-11-01,test",
       "ovhcloud,one,here,on-demand,,,1.00,EUR,2026-11-01,test",
       "lambda,box,here,on-demand,H100,1,3.60,USD,2026-11-01,test",
       "gcp,n1-test,here,on-demand,H100,1,3.60,USD,2025-12-01,test",
       "vastai,host,here,on-demand,T4,1,0.36,USD,2026-11-01,test",
       "runpod,pod,here,on-demand,T4,1,0.36,USD,2026-11-01,test",
       "verda,box,here,on-demand,T4,1,0.36,USD,2026-11-01,test",
       "modal,container,us,on-demand,A10,1,2.00,USD,2026-11-01,test",
       "modal,container,,on-demand,A10,1,2.50,USD,2026-11-01,test")
(CONFIG / "offers" / "memory.csv").write_text("provider,name,region,kind,vcpus,memory_gib,price,currency,date,source\n"
                                              "aws,eight,here,on-demand,8,64,0.50,USD,2026-11-01,test\n")
(HERE / "more.jsonl").write_text("".join(json.dumps(r) + "\n" for r in [
    record("hour", 3600, T4), record("blink", 0.0004, H100, workload="cifar"), record("pytorch", 10, T4, framework="pytorch"),
    record("modal", 3600, "NVIDIA A10", machine={"provider": "modal", "instance_type": "container", "region": "us"}),
    record("paid", 3600, "NVIDIA A10", machine={"provider": "modal", "instance_type": "container", "region": "us"},
           labels=[{"key": "price_per_hour_usd", "value": "2.00"}]),
    record("huge", 3600, use={"memory_peak_bytes": 2**40}),
    record("gpus", 3600, H100, use={"gpus": 10000000, "gpu_list": [{"name": H100}]}),
    {**record("years", 1100 * 86400, T4), "started": "2019-01-01T00:00:00Z"},
    {**record("halfpast", 3600, T4), "started": "2017-05-09T23:30:00Z"},
    {**record("twohours", 7200, T4), "started": "2017-05-09T23:30:00Z"}]))
fare("runs", "import", str(HERE / "more.jsonl"))


def own(name, text):
    """A file of the user's own for the time of one check."""
    class Own:
        def __enter__(self):
            (CONFIG / name).write_text(text)

        def __exit__(self, *_):
            (CONFIG / name).unlink()
    return Own()


def rates(row):
    return own("rates.csv", "provider,offer,discount_percent,credit,rate,currency,from,to\n" + row + "\n")


def total(*args):
    return F(cron(*args)["total"])


@check("cron: a server by the month that is charged by the hour costs its hours")
def hours_of_a_month():
    # 30 x 12 h of the 720 that the price is for: 36 EUR, 45 USD. 31 days of 24 h are more than the month's 72 EUR.
    args = ("--offer", "hetzner/rented:monthly")
    same(total("@daily", "--up", "12h", *args, "--month", "2026-11"), F(45))
    same(total("@daily", "--up", "24h", *args, "--month", "2026-12"), F(90))


@check("cron: a server that is paid by the month costs the months in which it starts")
def months_with_a_start():
    args = ("--offer", "nobody/server:monthly", *DAY)
    same(total("@yearly", "--up", "1h", *args), F(765) / 12)
    same(total("0 0 1,15 1,7 *", "--up", "1h", *args), F(765) / 6)
    same(total("0 0 1,15 * *", "--up", "1h", *args), F(765))


@check("cron: a server that is always up costs one month, however long, and says so")
def long_month():
    december = cron("@daily", "--up", "1h", "--offer", "nobody/server:monthly", "--month", "2026-12")
    same([F(december["total"]), F(december["always_up"][0]["amount"])], [F(765), F(765)])
    assert december["rule"].startswith("per started month of 30 days;"), december["rule"]
    words = bill(RUN + "month", "--offer", "nobody/server:monthly", *DAY)["words"]
    assert words.startswith("per started month of 30 days;"), words


@check("a rate by the hour is no price of a month")
def hourly_rate():
    # 500 h x 0.05 = 25: USD by --rate, EUR (31.25 USD) by rates.csv.
    same(total("@monthly", "--up", "500h", "--offer", "hetzner/new:monthly", "--rate", "0.05"), F(25))
    with rates("hetzner,rented:monthly,,,0.05,EUR,,"):
        b = bill(RUN + "small", "--offer", "hetzner/rented:monthly", "--date", "2026-11-01", "--boot", "0")
    same(F(b["total"]), F("31.25"))


@check("a price that the user gave, or an import kept, is the price")
def given_price():
    with rates("aws,fast,,,1.00,USD,,"):
        same(cost(RUN + "here", "--price", "h100=3.60"), F("3.60"))
    # Not 1.5 times that, as Modal's list prices are in a region.
    same(cost(RUN + "modal", "--price", "a10=2.00"), F(2))
    same(cost(RUN + "paid"), F(2))
    same(cost(RUN + "modal"), F(3))


@check("cron: spot prices are those of the date, or of each day of the month")
def spot_history():
    # 504 h at 0.20, the price of November 2018, and not those of the June that stands for any month.
    args = ("--offer", "aws/hist:spot", "--up", "504h")
    same(total("@monthly", *args, "--date", "2018-11-01"), F("100.80"))
    # In June 2018: nine days at 0.10, twelve at 0.50.
    same(total("@monthly", *args, "--month", "2018-06"), 216 * F("0.10") + 288 * F("0.50"))
    # Another month at the prices of November.
    same(total("@monthly", *args, "--month", "2018-06", "--date", "2018-11-01"), F("100.80"))
    # 9 x 0.20 + 22 x 0.40.
    c = cron("@daily", "--up", "1h", "--offer", "aws/moves:spot", "--month", "2026-10")
    same((F(c["total"]), c["items"][0]["what"]), (F("10.60"), "31 × 1 h 00 min at the spot price of each day"))
    # At 23:30 the ninth's start has half an hour of each.
    same(total("30 23 * * *", "--up", "1h", "--offer", "aws/moves:spot", "--month", "2026-10"),
         8 * F("0.20") + F("0.30") + 22 * F("0.40"))


@check("spot for years")
def spot_years():
    # 365 days at 0.10 and 735 at 0.20 an hour; each of 37 months is rounded.
    off = cost(RUN + "years", "--offer", "aws/years:spot") - (365 * 24 * F("0.10") + 735 * 24 * F("0.20"))
    assert abs(off) <= F(37, 2 * 10**9), float(off)


@check("spot in another currency than the fees")
def spot_currency():
    # AWS's fees are in USD. A day at 0.36 EUR and one at 0.72: 25.92 EUR.
    b = bill(RUN + "days", "--offer", "aws/euro:spot", "--date", "2026-11-09", "--boot", "0")
    same(F(b["total"]), F("25.92") * F("1.25"))


@check("spot by the hour: each hour costs the price at its start")
def spot_hours():
    # Until October 2017. 23:30 to 00:30 costs 0.10, although the price is 1.00 from midnight on; the next hour 1.00.
    same(cost(RUN + "halfpast", "--offer", "aws/hourly:spot"), F("0.10"))
    same(cost(RUN + "twohours", "--offer", "aws/hourly:spot"), F("1.10"))


@check("of several runs in one go only the boot is free, not the download")
def boot_apart():
    # OVHcloud, clock hours, 0.36 EUR: 2 h of download and each run's hour; the boot is not charged. At any time of day
    # they touch one hour more, but for a start on the hour.
    args = ("--offer", "ovhcloud/clock", *DAY, "--boot", "60s", "--download", "2h")
    same(F(bill(RUN + "hour", *args)["total"]), 4 * F("0.36") * F("1.25"))
    text = advice(RUN + "hour", *args, "--runs", "2")
    assert "2 runs one after the other on ovhcloud/clock: 4 h 01 min, 2.25 USD" in text, text


@check("a boot that is free moves no end of the interval")
def free_boot():
    # Lambda: an hour at 3.60, whether the machine takes 180 or 600 s to come up.
    b = bill(RUN + "here", "--offer", "lambda/box", *DAY)
    same(F(b["total"]), F("3.60"))
    assert "low" not in b and "high" not in b, b
    same((b["low_s"], b["high_s"]), (3780.0, 4200.0))


@check("cron: every clock hour that a start touches is charged")
def clock_hours():
    # :10 to :25 touches one, :50 to :05 two. 720 x 3 h at 1 EUR.
    c = cron("10,50 * * * *", "--up", "15m", "--offer", "ovhcloud/one", *DAY)
    same((F(c["total"]), c["charged_s"]), (720 * 3 * F("1.25"), 5400.0))


@check("rent or buy does not depend on the month")
def any_month():
    # Sustained use brings 3.60 to 70 % over a month: 2.52. 1814.40 / 2.52 = 720 h.
    for month in ("2026-01", "2026-02", "2026-04"):
        text = advice(RUN + "here", "--offer", "gcp/n1-test", "--date", month + "-10", "--boot", "0", "--buy", "1814.40")
        assert " 30.0 days" in text, (month, text)


@check("rent or buy: a run of less than a millisecond")
def blink():
    text = advice(RUN + "blink", "--offer", "aws/fast", *DAY, "--boot", "0", "--buy", "2592")
    assert " 30.0 days" in text, text


@check("rent or buy: the interest on thousands of millions")
def rich():
    # Nothing is lost on the resale, but 10 % of 5,000,000,000 a year is more than any rent.
    text = advice(RUN + "here", "--offer", "aws/fast", *DAY, "--boot", "0", "--buy", "5000000000", "--resale", "5000000000",
                  "--interest", "10%")
    assert "never pays" in text, text


@check("a disk that is included is not free while it is kept")
def kept_disk():
    args = (RUN + "ten", "--offer", "vastai/host", *DAY, "--storage", "10GB")
    assert "incomplete" not in bill(*args)
    b = bill(*args, "--keep", "10d")
    assert b["incomplete"] and any(n.startswith("storage while stopped: not in the total, since the tariff has no price") for n in b["notes"]), b
    # A rate of the user's own is for the whole month: 10 x 0.10.
    c = json.loads(fare("cron", "@daily", "--up", "12h", "--offer", "vastai/host", *DAY, "--disk", "10GB", "--disk-rate", "0.10",
                        "--rules", "0", "--function-ms", "0", "--json"))
    same(F(next(i for i in c["items"] if i["name"] == "disk")["amount"]), F(1))


@check("advice: an assumed rule or a missing price makes nothing the cheapest")
def assumed_advice():
    # nobody/cheap: 3.25 per second, 6.00 by started hours; aws/fast: 3.70.
    args = (RUN + "here", "--gpu", "h100", *DAY, "--hours-per-month", "1")
    for more in ((), ("--storage", "10GB")):
        uses = [a for a in quote(*args, *more)["advice"] if a.startswith("For ")]
        assert len(uses) == 3 and not any("nobody/cheap" in a for a in uses[:2]), uses
    text = advice(RUN + "here", "--provider", "nobody", *DAY, "--budget", "3.50")
    assert "For 3.50 USD no offer is certainly affordable if started hours are charged; the cheapest is nobody/cheap" in text, text


@check("a credit pays by an assumed rule too")
def credit_order():
    # 3.25 or 6.00 USD, all of it paid by the credit: before 3.70.
    with rates("nobody,cheap,,10,,USD,,"):
        q = quote(RUN + "here", "--gpu", "h100", *DAY)
    order = [b["offer"] for b in q["bills"]]
    first = q["bills"][0]
    same((first["offer"], F(first["total"]), F(first["by_hours"])), ("nobody/cheap@here", F(0), F(0)), order)


@check("the region is chosen by its price with its factor")
def region_factor():
    # 2.00 in us costs 1.5 times as much: 3.00 an hour. Without a region it is 2.50.
    args = (RUN + "modal", *DAY, "--provider", "modal", "--boot", "0", "--gpu", "a10")
    same([(b["region"] if "region" in b else "", b["rate"], F(b["total"])) for b in quote(*args)["bills"]
          if b["name"] == "container"], [("", "2.50", F("2.50"))])
    b = bill(RUN + "modal", "--offer", "modal/container@us", *DAY, "--boot", "0")
    same((b["rate"], F(b["total"])), ("3.00", F(3)))


@check("Verda's unit is a guess, and its bills say so")
def verda():
    assert bill(RUN + "ten", "--offer", "verda/box", *DAY)["tariff_assumed"]


@check("start-up: what kind of machine a provider rents out")
def kinds():
    args = (RUN + "pytorch", *DAY, "--offer")
    same(bill(*args, "vastai/host")["startup_s"], 180.0 + 270.0)
    head = "provider,machine,part,seconds,low,high,source,date\n"
    with own("startup.csv", head + "runpod,any,boot,10,10,10,mine,2026-11-01\n"):
        same(bill(*args, "runpod/pod")["startup_s"], 10.0 + 270.0)
    for row, expected in (("aws,VM,boot", "expected vm, container, bare-metal or any"),
                          ("aws,vm,bot", "expected boot, image or kernels"), (",vm,boot", "column 'provider': expected a value")):
        with own("startup.csv", head + row + ",10,10,10,mine,2026-11-01\n"):
            text = fare("quote", RUN + "here", "--offer", "aws/fast", code=1)
        assert expected in " ".join(text.split()) and "startup.csv" in text, text


@check("more GPUs, memory and traffic than there is")
def hostile():
    q = quote(RUN + "gpus", "--offer", "aws/fast", *DAY)
    assert not q["bills"] and "the run used 10000000" in q["misfits"][0]["why"], q
    q = quote(RUN + "huge", "--offer", "aws/eight", *DAY)
    assert not q["bills"] and q["misfits"][0]["why"] == "does not fit: the run needed 1 TiB of memory", q
    text = advice(RUN + "here", "--offer", "aws/fast", *DAY, "--egress", "4000000TB", "--runs", "10")
    assert "10 runs are too many to price" in text, text


@check("a misfit names its offer once")
def once_named():
    m = next(m for m in quote(RUN + "ten", *DAY, "--provider", "aws", "--all")["misfits"] if m["offer"] == "aws/odd@here")
    assert "XYZ" in m["why"] and "aws/odd" not in m["why"], m


tap.done()
