# SPDX-License-Identifier: Apache-2.0
"""fare quote: what options, credits, currencies and exports do to a bill, against sums done here with fractions."""
import csv
import io
import json
import math
import os
import re
import subprocess
import sys
from fractions import Fraction as F
from pathlib import Path

sys.path.insert(0, os.environ["TESTS"])
import tap  # noqa: E402
from tap import check  # noqa: E402

FARE = os.environ["FARE"]
HERE = Path(os.environ["TMPDIR"])
CONFIG = Path(os.environ["XDG_CONFIG_HOME"]) / "fare"
NANO = F(1, 10**9)


def fare(*args, code=0):
    if args[0] == "quote" and "--boot" not in args and "--pinned" not in args:
        args = (*args, "--boot", "30s")  # as the run's own; defaults have tests in tests/bill/test_startup.py
    return tap.fare(*args, code=code)


def quote(*args):
    return json.loads(fare("quote", *args, "--json"))


def bill(*args):
    return quote(*args)["bills"][0]


def items(b):
    return {i["what"]: F(i["amount"]) for i in b["items"]}


def same(got, expected, what=""):
    assert got == expected, f"{what}: {got!r}, not {expected!r}"


def near(got, expected, parts=2):
    assert abs(F(got) - expected) <= parts * NANO, f"{got}, not {float(expected)}"


class own_file:
    """A file in the user's folder, for as long as the block runs."""
    def __init__(self, name, text):
        self.path, self.text = CONFIG / name, text

    def __enter__(self):
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.path.write_text(self.text)

    def __exit__(self, *_):
        self.path.unlink()


(CONFIG / "offers").mkdir(parents=True)
(CONFIG / "providers").mkdir()
(CONFIG / "offers" / "mine.csv").write_text("""\
provider,name,region,kind,gpu,gpus,vcpus,memory_gib,price,currency,per,date,source
acme,strong,here,,H100,1,16,128,9.00,USD,hour,2026-11-01,mine
acme,cheap,here,,T4,1,4,16,0.36,USD,hour,2026-11-01,mine
acme,month,here,monthly,T4,1,4,16,72,USD,month,2026-11-01,mine
rhein,one,de,,H100,1,16,128,2.00,EUR,hour,2026-11-01,mine
rhein,fees,de,,H100,1,16,128,2.00,USD,hour,2026-11-01,mine
tokyo,one,jp,,H100,1,16,128,300,JPY,hour,2026-11-01,mine
dakar,one,sn,,H100,1,16,128,300,XOF,hour,2026-11-01,mine
stale,one,here,,H100,1,16,128,1.00,USD,hour,2026-10-01,mine
""")
(CONFIG / "providers" / "acme.json").write_text(json.dumps({"schema": "fare.tariffs/1", "tariffs": [
    {"id": "acme", "provider": "acme", "kind": "on-demand", "unit_ms": 1000, "setup_fee": "0.05", "storage_rate": "0.10",
     "egress_rate": "0.08", "ingress_rate": "0.02", "source": "mine", "date": "2026-11-01"}]}))
(CONFIG / "providers" / "rhein.json").write_text(json.dumps({"schema": "fare.tariffs/1", "tariffs": [
    {"id": "rhein", "provider": "rhein", "kind": "on-demand", "unit_ms": 1000, "currency": "EUR", "offers": ["fees"],
     "monthly_fee": "10", "source": "mine", "date": "2026-11-01"}]}))
RATES = "provider,offer,discount_percent,credit,rate,currency,from,to\n"


def record(name, **more):
    run = {"schema": "fare.run/1", "id": f"20261110T000000Z-{name}", "started": "2026-11-10T00:00:00Z", "name": name,
           "workload": "mlp", "framework": "fare", "ended": "sampled", "full": False}
    run.update(more)
    return run


def machine(gpu):
    return {"machine": {"gpu": gpu, "gpus": 1}, "use": {"gpus": 1, "gpu_list": [{"index": 0, "name": gpu}]}}


(HERE / "runs.jsonl").write_text("".join(json.dumps(r) + "\n" for r in [
    record("h100", projection={"after_s": 60, "wall_s": 3000, "low_s": 2900, "high_s": 3100}, **machine("NVIDIA H100 80GB HBM3")),
    record("t4", projection={"after_s": 60, "wall_s": 15000, "low_s": 14000, "high_s": 16000}, **machine("Tesla T4"))]))
fare("runs", "import", str(HERE / "runs.jsonl"))
RUN = ("20261110T000000Z-h100", "--date", "2026-11-10")
STRONG = (*RUN, "--offer", "acme/strong")
HOUR = F("9.00")
BOOT = 30  # which --boot gives


def parts():
    b = bill(*STRONG, "--storage", "200GB", "--ingress", "7GB", "--egress", "3GB")
    i, s = items(b), 3000 + BOOT
    same(i["ingress"], 7 * F("0.02"))
    same(i["egress"], 3 * F("0.08"))
    near(i["storage"], F("0.10") * 200 * s / 2592000)
    near(b["total"], HOUR * s / 3600 + F("0.05") + i["ingress"] + i["egress"] + i["storage"])
    # A disk that is kept for ten days, whatever the machine does.
    b = bill(*STRONG, "--storage", "200GB", "--keep", "10d")
    near(items(b)["storage"] + items(b)["storage while stopped"], F("0.10") * 200 * 10 / 30)
    near(F(b["high"]) - F(b["low"]), HOUR * 200 / 3600)


check("storage that is kept, traffic both ways", parts)


def zero():
    same(F(bill(*STRONG)["items"][0]["amount"]), HOUR * BOOT / 3600, "the boot that is given")
    b = bill(*STRONG, "--boot", "0s")
    same(b["time_s"], 3000)
    assert "boot" not in items(b), b["items"]
    b = bill(*STRONG, "--storage", "200GB", "--keep", "0s")  # not before the training ends
    same(items(b), items(bill(*STRONG, "--storage", "200GB")))
    b = bill(*STRONG, "--storage", "0GB", "--egress", "0GB", "--ingress", "0GB")
    same(sorted(items(b)), sorted(items(bill(*STRONG))))
    same(F(bill(*STRONG, "--hour-of-mine", "0")["waiting"]), 0)
    advice = " ".join(quote(*RUN, "--provider", "acme", "--deadline", "0s", "--budget", "0")["advice"])
    assert "none of them finishes" in advice and "For 0.00 USD no offer is affordable" in advice, advice
    for option in ("--runs", "--hours-per-month", "--life"):
        assert "1" in fare("quote", *RUN, option, "0", code=2)
    text = " ".join(quote(*RUN, "--provider", "acme", "--buy", "100", "--watts", "0", "--kwh", "0.30")["advice"])
    assert "counts no power" not in text and "has paid for itself" in text, text
    assert "counts no power" in " ".join(quote(*RUN, "--provider", "acme", "--buy", "100")["advice"])
    text = " ".join(quote("mlp", "--watts", "300", "--kwh", "0.30")["advice"])
    assert "Rents include the power" in text, text
    own = [b for b in quote(*RUN, "--buy", "0", "--watts", "0", "--kwh", "0")["bills"] if b["provider"] == "own"]
    same(F(own[0]["total"]), 0, "a machine that was a present")


check("0 is 0", zero)


def ages():
    def names(*args):
        return sorted({b["provider"] for b in quote(*RUN, "--gpu", "h100", *args)["bills"]} & {"acme", "stale"})
    same(names(), ["acme", "stale"])
    same(names("--max-age", "40"), ["acme", "stale"])  # 2026-10-01 to 2026-11-10
    same(names("--max-age", "39"), ["acme"])
    same(names("--max-age", "9"), ["acme"])
    same(names("--max-age", "8"), [])
    same(names("--max-age", "0"), [])
    same(len(quote("20261110T000000Z-h100", "--date", "2026-11-01", "--provider", "acme", "--max-age", "0")["bills"]), 3,
         "what was seen on the day itself")


check("--max-age", ages)


def credits():
    plain = F(bill(*STRONG)["total"])
    with own_file("rates.csv", RATES + "acme,,,5,,USD,,2026-12-01\nacme,,20,,,,,\nrhein,,,100,,USD,,\n"):
        b = bill(*STRONG)
        near(b["before_credit"], plain * F(8, 10))  # the discount's row is not hidden by the credit's
        near(b["total"], plain * F(8, 10) - 5)
        near(b["low"], (HOUR * (2900 + BOOT) / 3600 + F("0.05")) * F(8, 10) - 5)
        same(items(b)["credit"], F(-5))
        near(sum(items(b).values()), F(b["total"]))
        text = fare("quote", *STRONG)
        lines = [line.split()[0] for line in text.splitlines() if re.search(r"\d\.\d+$", line)]
        assert lines.index("before") + 1 == lines.index("credit") and lines.index("credit") + 1 == lines.index("total,"), text
        assert "before_credit" not in bill("20261110T000000Z-h100", "--offer", "acme/strong", "--date", "2026-12-01"), "expired"
        b = bill(*RUN, "--offer", "rhein/one")  # pays all of it, and no more
        same((F(b["total"]), F(b["low"]), F(b["high"])), (0, 0, 0))
        assert any("would be left" in n for n in b["notes"]), b["notes"]
        q = quote(*RUN, "--provider", "acme", "--runs", "3")
        assert any("credits" in a for a in q["advice"]), q["advice"]
    with own_file("rates.csv", RATES + "acme,,,2,,USD,,\nacme,strong,,1,,USD,,\nacme,cheap,,64,,USD,,\n"):
        near(bill(*STRONG)["total"], plain - 3)  # all that hold, together
    with own_file("rates.csv", RATES + "acme,,,1,,XXX,,\n"):
        q = quote(*RUN, "--gpu", "h100", "--provider", "acme")
        assert "XXX" in q["misfits"][0]["why"], q


check("credits are a line of the bill", credits)


def rates_that_fit_nothing():
    """A typing error in one's own rates is told; what is over, or not yet, is not."""
    rows = ["acme,storng,,,1,,,", "acmee,,10,,,,,", "acme,strong,,,30,,,2026-01-01", "acme,st*,5,,,,,", "acme,nothing,5,,,,2099-01-01,",
            "acme,cheap,5,,,,,", "acme,cheap:monthly,5,,,,,", "\x1b[31m,,1,,,,,"]
    with own_file("rates.csv", RATES + "\n".join(rows) + "\n"):
        p = subprocess.run([FARE, "quote", *STRONG], capture_output=True, text=True)
        same(p.returncode, 0, p.stderr)
        told = [line.partition("rates.csv, ")[2] for line in p.stderr.splitlines()]
        same(told[:3], ["line 2: the book has no 'storng' of acme, so this row changes no bill",
                        "line 3: the book has no provider 'acmee', so this row changes no bill",
                        "line 8: the book has no 'cheap:monthly' of acme, so this row changes no bill"])
        assert len(told) == 4 and "\x1b" not in p.stderr, p.stderr


check("rates of one's own that fit no offer", rates_that_fit_nothing)


def paid_in_full():
    """Credits that pay several: the smallest bill before them goes first, in sentence, frontier and table."""
    table = (CONFIG / "offers" / "mine.csv").read_text().splitlines()[0] + "\n"
    for name, gpus, price in (("a-eight", 8, "80.00"), ("b-four", 4, "30.00"), ("c-one", 1, "10.00"), ("d-two", 2, "21.00")):
        table += f"paid,{name},here,,H100,{gpus},16,128,{price},USD,hour,2026-11-01,mine\n"
    # The region that is cheaper in USD: 9 EUR are more than 10 USD.
    table += "paid,c-one,abroad,,H100,1,16,128,9.00,EUR,hour,2026-11-01,mine\n"
    order = ["paid/c-one@here", "paid/d-two@here", "paid/b-four@here", "paid/a-eight@here"]
    with own_file("offers/paid.csv", table), own_file("rates.csv", RATES + "paid,,,1000,,USD,,\n"):
        q = quote(*RUN, "--provider", "paid")
        same([b["offer"] for b in q["bills"]], order)
        same({F(b["total"]) for b in q["bills"]}, {F(0)})
        before = F(10) * (3000 + BOOT) / 3600
        assert q["advice"][0].startswith(f"Cheapest: paid/c-one, 0.00 USD after credits, {float(before):.2f} before, in "
                                         ), q["advice"]
        text = fare("quote", *RUN, "--provider", "paid", "--all", "--long")
        same(re.findall(r"^\S.* (paid/\S+@\S+) ", text, re.M), [order[0], "paid/c-one@abroad", *order[1:]])
        row = next(line for line in text.splitlines() if " paid/c-one@" in line)
        assert "before credit" in text and "0.00" in row and f" {float(before):.2f} " in row, text
        assert q["advice"][1:] == ["Your credits are taken off each bill."], "all are equally fast: no frontier"
    with own_file("offers/paid.csv", table):
        same([b["offer"] for b in quote(*RUN, "--provider", "paid")["bills"]], order, "without credits the same")


check("credits that pay several offers in full", paid_in_full)


ECB = "1.1172"  # dollars for a euro on 2026-10-30, the last day in the ECB's table that is shipped
EXCHANGE = rf"1 EUR = (OLD: )?{ECB} USD on 2026-10-30, ECB reference rate"


def currencies():
    rows = "date,currency,usd,source\n2026-01-01,EUR,1.5,mine\n2026-11-05,EUR,1.25,mine\n2026-12-24,EUR,9,mine\n" \
           "2026-11-09,JPY,0.007,mine\n"
    b = bill(*RUN, "--offer", "rhein/one")
    assert re.match(EXCHANGE, b["exchange"]), b["exchange"]
    assert "dakar/one@sn" in [m["offer"] for m in quote(*RUN, "--provider", "dakar")["misfits"]], "no rate, no bill"
    yen = F(ECB) / F("175.68")  # both of that day, for a euro
    assert abs(F(bill(*RUN, "--offer", "tokyo/one")["total"]) / (300 * F(3000 + BOOT, 3600) * yen) - 1) < F(1, 10**6)
    with own_file("currencies.csv", rows):
        b = bill(*RUN, "--offer", "rhein/one")
        near(b["total"], 2 * F(3000 + BOOT, 3600) * F("1.25"))
        same(b["exchange"], "1 EUR = 1.25 USD on 2026-11-05, mine")
        b = bill("20261110T000000Z-h100", "--offer", "rhein/one", "--date", "2026-11-04")
        near(b["total"], 2 * F(3000 + BOOT, 3600) * F("1.5"))
        same(b["exchange"], "1 EUR = OLD: 1.50 USD on 2026-01-01, mine")
        near(bill(*RUN, "--offer", "tokyo/one")["total"], 300 * F(3000 + BOOT, 3600) * F("0.007"))
        b = bill(*RUN, "--offer", "rhein/fees")  # the price in USD, the fee in EUR
        near(b["total"], 2 * F(3000 + BOOT, 3600) + 10 * F("1.25"))
        same(b["exchange"], "1 EUR = 1.25 USD on 2026-11-05, mine")
        text = " ".join(fare("quote", *RUN, "--all").split())
        assert text.count("1 EUR = 1.25 USD on 2026-11-05") == 1 and text.count("1 JPY = 0.007 USD on 2026-11-09") == 1, text


check("rates of exchange of one's own, by date", currencies)


def own_rate():
    """A negotiated rate has a date of its own or none, never the list price's age; credits name their rate of exchange."""
    old = ("20261110T000000Z-h100", "--offer", "stale/one", "--date", "2026-11-10")  # 40 days: OLD
    same(bill(*old)["price_old"], True)
    for since, words in (("2026-06-01", ", your own rate since 2026-06-01;"), ("", ", your own rate;")):
        with own_file("rates.csv", RATES + f"stale,one,,,0.50,EUR,{since},\n"):
            b = bill(*old)
            same((b["price_own"], b.get("price_date"), b["price_source"]), (True, since or None, "your rates.csv"))
            assert "price_age_days" not in b and "price_old" not in b, b
            near(b["total"], F("0.50") * F(3000 + BOOT, 3600) * F(ECB))
            assert any("the list price is 1.00 USD, seen 2026-10-01" in n for n in b["notes"]), b["notes"]
            text = " ".join(fare("quote", *old).split())
            assert words in text and re.search(EXCHANGE, text) and "(OLD" not in text, text
            row = next(line for line in fare("quote", *RUN, "--provider", "stale", "--all").splitlines() if " stale/" in line and not line.startswith("Cheapest"))
            assert row.endswith("yours"), row
            advice = quote(*RUN, "--provider", "stale")["advice"]
            assert "OLD" not in advice[0], advice
    with own_file("rates.csv", RATES + "acme,,,1,,EUR,,\n"):
        b = bill(*STRONG)
        assert re.match(EXCHANGE, b["exchange"]), b
        near(items(b)["credit"], -F(ECB))
        with own_file("currencies.csv", "date,currency,usd,source\n2026-11-05,EUR,1.25,mine\n"):
            same(bill(*STRONG)["exchange"], "1 EUR = 1.25 USD on 2026-11-05, mine")
            same(bill(*RUN, "--offer", "rhein/one")["exchange"].count("1 EUR"), 1)
    assert "exchange" not in bill(*STRONG)


check("rates and credits of one's own: their dates, their exchange", own_rate)


def spending_old():
    """--max-spend says by which price it counts, where that is OLD: 2026-10-01 is over 30 days ago."""
    def says(offer):
        p = subprocess.run([FARE, "run", "--max-spend", "1", "--offer", offer, "--no-ledger", "--", "true"],
                           capture_output=True, text=True)
        same(p.returncode, 0, p.stderr)
        return p.stderr
    # Without GPUs: this machine is said to be that one.
    with own_file("offers/plain.csv", "provider,name,region,vcpus,memory_gib,price,currency,per,date,source\n"
                  "stale,plain,here,16,128,1.00,USD,hour,2026-10-01,mine\n"
                  "rhein,plain,de,16,128,2.00,EUR,hour,2026-11-01,mine\n"):
        assert "an OLD price, last seen 2026-10-01" in says("stale/plain"), says("stale/plain")
        with own_file("currencies.csv", "date,currency,usd,source\n2018-02-01,EUR,1.228,mine\n"):
            assert "an OLD exchange rate: 1 EUR = OLD: 1.228 USD" in says("rhein/plain"), says("rhein/plain")
        with own_file("rates.csv", RATES + "stale,plain,,,0.50,USD,,\n"):
            assert "OLD" not in says("stale/plain"), says("stale/plain")


check("--max-spend at an OLD price", spending_old)


def estimated():
    run = ("published-2018-tweets-hetzner-ex51-ssd-gpu", "--offer", "hetzner/ex51-ssd-gpu:monthly", "--date", "2018-02-15",
           "--boot", "0")
    paid, prorated = bill(*run), bill(*run, "--rule", "prorated")
    same(F(paid["total"]), F("158.59"), "the whole month")
    near(prorated["total"], F("158.59") * F("2.27") / 720)
    same(f"{float(F(prorated['total'])):.1f}", "0.5", "what was printed")
    for b in (paid, prorated):
        assert b["price_estimated"] is True, b
        # 0.45 and 0.55 USD are printed as 0.5; 2.265 h and 2.275 h as 2.27 h
        low, high = F("0.45") * 720 / F("2.275"), F("0.55") * 720 / F("2.265")
        assert any(f"estimated: {float(low):.2f} to {float(high):.2f} USD" in n for n in b["notes"]), b["notes"]
    text = fare("quote", "tweets", "--date", "2018-02-15", "--gpu", "gtx1080")
    assert re.search(r"hetzner/gtx1080:monthly .*~158\.59", text) and "~ nobody published it" in text, text
    assert "~ the price is an estimate" in fare("quote", "tweets", "--date", "2018-02-15", "--gpu", "gtx1080", "--all")
    assert "estimated" in fare("prices", "hetzner/ex51-ssd-gpu:monthly", "--date", "2018-02-15")


check("the monthly server's price is estimated, and says so", estimated)


def focus(*args):
    return list(csv.DictReader(io.StringIO(fare("quote", *STRONG, *args, "--format", "focus"))))


def rows_of_focus():
    args = ("--storage", "100GB", "--egress", "5GB", "--ingress", "1GB")
    with own_file("rates.csv", RATES + "acme,strong,10,2,7.20,USD,,\n"):
        rows, b = focus(*args), bill(*STRONG, *args)
        same(sum(F(r["BilledCost"]) for r in rows), F(b["total"]), "billed")
        by = {r["ChargeDescription"]: r for r in rows}
        assert "discount" not in by, by
        s = 3000 + BOOT
        time = [r for r in rows if r["ServiceCategory"] == "Compute"]
        near(sum(F(r["ListCost"]) for r in time), HOUR * s / 3600)
        near(sum(F(r["ContractedCost"]) for r in time), F("7.20") * s / 3600)
        near(sum(F(r["BilledCost"]) for r in time), F("7.20") * s / 3600 * F(9, 10), 4)
        near(F(by["egress"]["BilledCost"]), 5 * F("0.08") * F(9, 10))
        same(F(by["egress"]["ListCost"]), 5 * F("0.08"))
        categories = {k: (r["ServiceCategory"], r["ChargeCategory"]) for k, r in by.items()}
        same(categories["storage"], ("Storage", "Usage"))
        same(categories["egress"], ("Networking", "Usage"))
        same(categories["ingress"], ("Networking", "Usage"))
        same(categories["set-up fee"], ("Other", "Purchase"))
        same(categories["credit"], ("Other", "Credit"))
        same({r["PricingCategory"] for r in time}, {"Standard"})
        same(F(by["credit"]["BilledCost"]), F(-2))
        same({(r["BillingPeriodStart"], r["BillingPeriodEnd"]) for r in rows},
             {("2026-11-01T00:00:00Z", "2026-12-01T00:00:00Z")})
        same({(r["ChargePeriodStart"], r["ChargePeriodEnd"]) for r in rows},
             {("2026-11-10T00:00:00Z", "2026-11-10T00:50:30Z")})


check("rows of FOCUS: list price, contract, discount, category", rows_of_focus)


def cents(amount):
    """Rounded half up, as bills are shown."""
    return f"{math.floor(amount * 100 + F(1, 2)) / 100:.2f}"


def parallel():
    # Ten runs: on the strong machine 30 s of boot and 10 x 3000 s = 8 h 20 min 30 s. The cheap one takes 15000 s for each,
    # so that it is done with two of them in that time: five in parallel, each with two, and each boots once.
    text = " ".join(" ".join(quote(*RUN, "--provider", "acme", "--kind", "on-demand", "--runs", "10")["advice"]).split())
    strong = HOUR * 30030 / 3600 + F("0.05")
    cheap = 5 * (F("0.36") * (30 + 2 * 15000) / 3600 + F("0.05"))
    assert f"10 runs one after the other on acme/strong: 8 h 21 min, {cents(strong)} USD; " \
           f"on 5 × acme/cheap in parallel: 8 h 21 min, {cents(cheap)} USD." in text, text


check("one strong machine, or several cheap ones", parallel)


def never():
    for more in (("--buy", "9000000000"), ("--buy", "100", "--watts", "900000", "--kwh", "1")):
        text = " ".join(quote(*RUN, "--provider", "acme", "--kind", "on-demand", *more)["advice"])
        assert "never pays: renting acme/cheap stays cheaper" in text, text


check("a machine that never pays", never)


def heavy():
    text = " ".join(" ".join(quote(*RUN, "--provider", "acme", "--hours-per-month", "20")["advice"]).split())
    # Occasional: one run. Steady: 20 h are 24 runs of 3000 s, for which the cheap machine needs 100 h and the monthly
    # one costs its 72 USD. Heavy: 864 runs, which only the strong machine gets done in 720 h.
    one = F("0.36") * 15030 / 3600 + F("0.05")
    steady = F("0.36") * (30 + 24 * 15000) / 3600 + F("0.05")
    all_month = HOUR * (720 * 3600 + 30) / 3600 + F("0.05")
    assert f"For occasional use (one run a month): acme/cheap, {float(one):.2f} USD a month" in text, text
    assert f"(24.0 runs): acme/cheap, {float(steady):.2f} USD a month" in text, text
    assert f"For heavy use (round the clock): acme/strong, {cents(all_month)} USD a month" in text, text
    # Of 100 h a month the cheap one would need 496: dearer than the month's price.
    text = " ".join(" ".join(quote("20261110T000000Z-t4", "--date", "2026-11-10", "--provider", "acme",
                                   "--hours-per-month", "600")["advice"]).split())
    assert "acme/month:monthly, 72.00 USD a month" in text, text


check("occasional, steady and heavy use", heavy)


def long_list():
    rows = "".join(f"many,type-{i},here,,H100,1,16,128,{3 + i / 1000:.3f},USD,hour,2026-11-01,mine\n" for i in range(2500))
    with own_file("offers/many.csv", (CONFIG / "offers" / "mine.csv").read_text().splitlines()[0] + "\n" + rows):
        q = quote(*RUN, "--provider", "many", "--all")  # too many for one piece of JSON
        same([b["name"] for b in q["bills"]], [f"type-{i}" for i in range(2500)])
        same(q["schema"], "fare.quote/2")
        same(set(q) - {"misfits"}, {"schema", "workload", "run", "date", "rule", "bills", "measured", "not_measured", "estimated", "verdict", "advice"})
        near(q["bills"][2499]["total"], F("5.499") * 3030 / 3600)
        few = quote(*RUN, "--provider", "many")  # without --all the first, and how many there are
        same((len(few["bills"]), few["measured"], few["bills"][0]["name"]), (100, 2500, "type-0"))
        same(few["verdict"], {"leader": "many/type-0@here", "cheapest": "many/type-0@here", "fastest": "many/type-0@here"})
        same(quote(*RUN, "--provider", "many", "--deadline", "1h", "--budget", "3")["verdict"]["in_time"], "many/type-0@here")
        text = fare("quote", *RUN, "--provider", "many", "--all")
        same(sum(line.startswith("H100 ") and " many/" in line for line in text.splitlines()), 2500)


check("thousands of bills", long_list)
tap.done()
