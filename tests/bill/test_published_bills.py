#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Recomputes the printed costs of published results from their hours and the tariffs. --write writes
the last section of docs/classics.md; as a test it compares that section with these sums.

A figure counts as reached if a time within the rounding of its hours gives it. A price derived from the figure itself
proves nothing, and the page says so."""
import csv
import json
import os
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from tap import done, report  # noqa: E402

ROOT = Path(os.environ.get("ROOT", Path(__file__).resolve().parents[2]))
BUILD = Path(os.environ.get("BUILD", ROOT / "build"))
FARE = os.environ.get("FARE", BUILD / "fare")
PAGE, HEAD = ROOT / "docs/classics.md", "## Published costs, and ours\n"
DATE, START = "2018-02-15", 1518652800  # within the month of publication
S = 10**9


# ---- tariffs, and what our program charges by them

def tariffs_of(provider):
    return json.loads((ROOT / f"share/providers/{provider}.json").read_text())["tariffs"]


def tariff(provider, kind="on-demand", name="", date=DATE):
    found = [t for t in tariffs_of(provider)
             if t["kind"] == kind and t.get("valid_from", "") <= date < t.get("valid_to", "9")
             and ("offers" not in t or any(name.startswith(p.rstrip("*")) for p in t["offers"]))]
    return max(found, key=lambda t: "offers" in t)


TIME, FEE, STORAGE = 1, 2, 4  # members of an answer of test_charge


def answers(rule, rate, lengths, **use):
    """The lines of the bills for uses of these lengths (s), in nano-units."""
    lines = "".join(json.dumps({"tariff": {**rule, "rate": rate}, "gpus": 1, "used": 1, "lengths": [],
                                "use": {"start_s": START, "length_ns": int(s * S), **use}}) + "\n" for s in lengths)
    p = subprocess.run([BUILD / "tests/bill/test_charge", "lines"], input=lines, capture_output=True, text=True)
    return [list(map(int, a.split())) for a in p.stdout.splitlines()]


def charges(rule, rate, lengths, **use):
    """Time and monthly fee of each."""
    return [(a[TIME], a[FEE]) for a in answers(rule, rate, lengths, **use)]


eur = next(Fraction(r["usd"]) for r in csv.DictReader((ROOT / "share/currencies.csv").open())
           if r["currency"] == "EUR" and r["date"] <= DATE)


def in_usd(nano, rule):
    return Fraction(nano, S) * (eur if rule.get("currency") == "EUR" else 1)


def digits(printed):
    return len(printed.partition(".")[2])


def rounded(amount, decimals):
    """A half goes up, as in print."""
    return f"{float((amount * 10**decimals + Fraction(1, 2)) // 1 / 10**decimals):.{decimals}f}"


# ---- the table of February 2018

PRICES = {"published-2018-tweets-softlayer-4-k80": "4.02",
          "published-2018-tweets-leadergpu-2-gtx-1080": "0.02", "published-2018-tweets-leadergpu-2-p100": "0.08",
          "published-2018-tweets-leadergpu-2-gtx-1080-one-used": "0.02",
          "published-2018-tweets-leadergpu-2-p100-one-used": "0.08"}


DERIVED = {"published-2018-tweets-softlayer-4-k80"}  # the price comes from the printed cost


def second_of(run, hours, printed, rule, rate):
    """The first whole second within the rounding of the hours whose cost is the printed one, or none."""
    first, last = int((hours - Fraction(5, 1000)) * 3600), int((hours + Fraction(5, 1000)) * 3600)
    seconds = range(first, last)  # the upper end would round to the next
    for s, (time, _) in zip(seconds, charges(rule, rate, seconds)):
        if rounded(in_usd(time, rule), digits(printed)) == printed:
            return s
    return None


def tweets():
    rows, reached, all_rows = [], 0, 0
    for line in (ROOT / "share/published/2018-tweets.jsonl").read_text().splitlines():
        run = json.loads(line)
        labels = {label["key"]: label["value"] for label in run["labels"]}
        provider, printed = run["machine"]["provider"], labels["printed_cost_usd"]
        if provider == "hetzner":
            continue
        all_rows += run["id"] not in DERIVED
        rule = tariff(provider, name=run["machine"].get("instance_type", ""))
        rate = PRICES.get(run["id"]) or labels["price_per_hour_usd"]
        hours = Fraction(run["phases"]["wall_ns"], 3600 * S)
        (time, fee), = charges(rule, rate, [hours * 3600])
        ours = in_usd(time, rule)
        at = second_of(run, hours, printed, rule, rate)
        derived = run["id"] in DERIVED
        how = "no"
        if at is not None:
            reached += not derived
            how = "yes" if rounded(ours, digits(printed)) == printed else f"yes, at {at / 3600:.4f} h"
            if derived:
                how = "by construction"
            elif rule.get("currency") == "EUR":
                how += ", with the derived rate"
        money = f"€{rate}/min" if rule.get("currency") == "EUR" else f"${rate}/h"
        if derived:
            money += " (derived from the printed cost: $20.1 for five hours)"
        extra = f" (and ${fee // S} monthly fee, apart)" if fee else ""
        rows.append(f"| {provider} {run['machine']['name']} | {float(hours):.2f} | {money}, {rule['id']} | ${printed} | "
                    f"${rounded(ours, 4)}{extra} | {how} |")
        if provider == "paperspace":
            report(f"{run['id']}: 5 USD a month are apart", fee == 5 * S, fee)
    report(f"all {all_rows} printed costs of the 2018 table with a published price are reached",
           reached == all_rows == 11, "\n".join(rows))
    return rows


def eur_range():
    """The rates that give all four costs in EUR."""
    low, high = Fraction(0), Fraction(10)
    for line in (ROOT / "share/published/2018-tweets.jsonl").read_text().splitlines():
        run = json.loads(line)
        if run["machine"]["provider"] != "leadergpu":
            continue
        printed = next(label["value"] for label in run["labels"] if label["key"] == "printed_cost_usd")
        half = Fraction(1, 2 * 10**digits(printed))
        price = Fraction(PRICES[run["id"]]) * 60
        hours = Fraction(run["phases"]["wall_ns"], 3600 * S)
        low = max(low, (Fraction(printed) - half) / ((hours + Fraction(5, 1000)) * price))
        high = min(high, (Fraction(printed) + half) / ((hours - Fraction(5, 1000)) * price))
    report("the rate of EUR is one that gives all four costs", low < eur < high, f"{low} {eur} {high}")
    return low, high


def hetzner():
    """The monthly price that a prorated $0.5 for 2.27 h can have had; what is paid for that month."""
    rule = tariff("hetzner", "monthly")
    hours, half = Fraction("2.27"), Fraction(5, 1000)
    month = Fraction(rule["per_s"], 3600)
    low, high = Fraction("0.45") * month / (hours + half), Fraction("0.55") * month / (hours - half)
    found = {}
    for name, price in (("low", low), ("high", high)):
        text = f"{float(price / eur):.9f}"
        prorated = charges(rule, text, [(hours + half) * 3600 - 1 if name == "low" else (hours - half) * 3600],
                           prorated=True)[0][0]
        paid = charges(rule, text, [hours * 3600])[0][0]
        found[name] = in_usd(prorated, rule), in_usd(paid, rule)
    report("a month's price at either end of the range gives the printed $0.5 prorated",
           rounded(found["low"][0] + Fraction(1, 10**4), 1) == "0.5"
           and rounded(found["high"][0] - Fraction(1, 10**4), 1) == "0.5", found)
    report("paid, it is the whole month", abs(found["low"][1] - low) < Fraction(1, 10**6)
           and abs(found["high"][1] - high) < Fraction(1, 10**6), found)
    return low, high


# ---- own machine, scheduled task

def cron(*options):
    p = subprocess.run([FARE, "cron", *options, "--up", "2m", "--offer", "gcp/n1-standard-1:spot", "--json"],
                       capture_output=True, text=True)
    if p.returncode:
        report("fare cron", False, p.stderr)
        sys.exit(1)
    return json.loads(p.stdout)


def items(record):
    return {i["name"]: Fraction(i["amount"]) for i in record["items"]}


def others():
    rows = []

    def row(name, printed, ours, by, good):
        rows.append(f"| {name} | {printed} | {ours} | {by} | {good if isinstance(good, str) else 'yes' if good else 'no'} |")
        return good

    def cents(amount):
        return "$" + rounded(Fraction(amount), 2)

    p = subprocess.run([BUILD / "tests/bill/test_own", "2500", "0.90", "167", "43"], capture_output=True, text=True)
    days = rounded(Fraction(int(p.stdout), 86400), 1)
    report("the break-even of the own machine is 29.8 days", row(
        "own machine of $2,500 against p2.xlarge, continuous use", "just under 30 days", f"{days} days",
        "2500 / (0.90 × 24 × 167/43)", days == "29.8"), p.stdout)
    ratio = Fraction("0.90") / Fraction("0.40") * Fraction("1.15")
    row("Paperspace GPU+ against p2.xlarge, adjusted for speed", "2.7 × cheaper", f"{float(ratio):.2f} ×",
        "0.90 / 0.40 × 1.15, the figures printed there", False)
    report("2.7 is published and 2.59 derived", rounded(ratio, 2) == "2.59")
    monthly = charges({"per_s": 2592000, "unit_ms": 2592000000}, "765", [72], prorated=True)[0][0]
    paid = charges({"per_s": 2592000, "unit_ms": 2592000000}, "765", [72])[0][0]
    row("cheapest public CIFAR-10 training, 72 s of a month", "$0.0212", f"${rounded(Fraction(monthly, S), 5)} prorated, "
        f"${rounded(Fraction(paid, S), 0)} paid", "$765 × 72 s / 30 days; the $765 is itself about $0.0212 taken to a month",
        "by construction")
    report("72 s of a month of $765 are 0.02125 prorated and 765 paid",
           (monthly, paid) == (21250000, 765 * S), (monthly, paid))
    four, hour = cron("0 */4 * * *", "--date", "2018-11-01"), cron("0 * * * *", "--date", "2018-11-01")
    lines = {k: rounded(v, 2) for k, v in items(four).items()}
    good = lines == {"machine": "0.06", "disk": "0.40", "rules": "0.20", "functions": "0.10"}
    report("the scheduled task, item by item", good, lines)
    old = cron("0 */4 * * *", "--date", "2017-08-01", "--rate", "0.01")
    more = items(old)["machine"] - items(four)["machine"]
    always = {a["name"]: Fraction(a["amount"]) for a in four["always_up"]}
    same = next(v for k, v in always.items() if "730 h" in k)
    fixed = next(v for k, v in always.items() if "fixed" in k)
    ours = [cents(v) for v in (four["total"], four["total_with_allowances"], hour["total"], more, same)]
    printed = ["$0.76", "$0.06", "$1.24", "$0.24", "$7.30"]
    report("0.76, 0.06, 1.24, 0.24 more, and 7.30 always up", ours == printed, ours)
    same_as = [a == b for a, b in zip(ours, printed)]
    row("task every 4 hours, 2 minutes each, a month", printed[0], ours[0],
        "0.06 machine, 0.40 disk, 0.20 rules, 0.10 functions", good and same_as[0])
    row("the same with the free allowances", printed[1], ours[1],
        "30 GB, 3 rules and 500,000 s of functions free (sizes from memory, not published there)", same_as[1])
    row("every hour", printed[2], ours[2], "720 starts", same_as[2])
    row("machine of the 4-hourly task before September 2017", "10 minutes at least; the sum is not printed",
        f"{ours[3]} more", "180 × 8 min more at $0.01/h", "derived")
    row("preemptible n1-standard-1, always up", printed[4], ours[4], "730 h × $0.01", same_as[4])
    row("a small fixed server", "$5", cents(fixed), "as printed", "input")
    report("the fixed server is the published one", fixed == 5, always)
    # The providers' own examples. 4 March 2026, 09:40 UTC; 8 days, 6 h and 50 min.
    (hours, _), = charges(tariff("ovhcloud", date="2026-03-04"), "1", [715800], start_s=1772617200)
    good = row("OVHcloud's example: 4th 09:40 to 12th 16:30", "200 h", f"{hours // S} h", "198 h 50 min, by clock hours",
               hours == 200 * S)
    (minutes, _), = charges(tariff("azure"), "60", [405])
    good &= row("Azure's example: 6 min 45 s", "6 min", f"{minutes // S} min", "rounded down, until 2018", minutes == 6 * S)
    days = answers(tariff("paperspace", date="2026-03-04"), "0", [0], storage_gb=100, storage_ns=10 * 86400 * S)[0][STORAGE]
    good &= row("Paperspace's example: 10 days of storage at $10 a month", "$3.33", cents(Fraction(days, S)),
                "100 GB × $0.10 × 10 / 30", cents(Fraction(days, S)) == "$3.33")
    report("the examples of OVHcloud, Azure and Paperspace come out", good, rows[-3:])
    return rows


def page():
    low, high = hetzner()
    least, most = eur_range()
    return "\n".join([
        HEAD,
        "`tests/bill/test_published_bills.py --write` writes this section; run as a test, it fails if it is out of date.",
        "The rules are those of `share/providers` on the date of publication, hours and printed figures those of",
        "`share/published`.",
        "",
        "### Bidirectional LSTM on tweets, February 2018",
        "",
        "The hours are printed with two decimals. A cost counts as reached if a time within that rounding gives it; if that",
        f"is not the printed time itself, the table names one. 1 EUR is {float(eur)} USD. That rate is derived",
        f"from the four costs in EUR, not published: any from {rounded(least + Fraction(5, 10**5), 4)} to "
        f"{rounded(most - Fraction(5, 10**5), 4)} gives all four, so they test the rule and",
        "not the rate.",
        "",
        "| run | hours | price and rule | printed | ours at the printed hours | reached |",
        "|---|---|---|---|---|---|",
        *tweets(),
        "",
        "The monthly server (Hetzner ex51-ssd-gpu, 2.27 h, printed $0.5) has no published price. Its cost was prorated, so the",
        f"month must have cost between ${rounded(low, 2)} and ${rounded(high, 2)} (€{rounded(low / eur, 2)} to "
        f"€{rounded(high / eur, 2)}):",
        "**estimated**, for a month of 30 days. Prorated by our rule either end gives $0.5; as paid in 2018 it is the whole",
        "month and a setup fee, which is not known.",
        "",
        "### Other figures",
        "",
        "| figure | published | ours | how | reached |",
        "|---|---|---|---|---|",
        *others(),
        "",
        "The 2.7 does not follow from the figures beside it. \"By construction\": the price was derived from the printed cost, so",
        "reaching that cost proves nothing.",
        ""])


text = page()
before, _, after = PAGE.read_text().partition(HEAD)
if "--write" in sys.argv:
    PAGE.write_text(before + text)
report("docs/classics.md says what these sums say (--write writes it)", HEAD + after == text, text)
done()
