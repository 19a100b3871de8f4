# SPDX-License-Identifier: Apache-2.0
"""docs/billing.md once more, written from that page alone: the bill of a quote from the shipped tables.

Money is whole nano-units and time whole nanoseconds; what lies in between is a Fraction, and round() of a
Fraction goes half to even. Nothing here reads the program's sources, and test_independent.py compares the two.
"""
import csv
import fnmatch
import glob
import json
import os
from datetime import date, datetime, timezone
from decimal import Decimal
from fractions import Fraction

NANO = 10**9
HOUR = 3600 * NANO
PER = {"second": 1, "minute": 60, "hour": 3600, "day": 86400, "month": 2592000, "730 hours": 2628000}


def nano(text):
    """A published amount as nano-units; more than nine decimals are an error."""
    amount = Decimal(text) * NANO
    assert amount == int(amount), text
    return int(amount)


def up(length, unit):
    return -(-length // unit) * unit


def midnight(day):
    """00:00 UTC of an ISO date, in nanoseconds."""
    return (date.fromisoformat(day) - date(1970, 1, 1)).days * 86400 * NANO


def month_of(at):
    """Beginning and end of the calendar month of a time in nanoseconds."""
    t = datetime.fromtimestamp(at // NANO, timezone.utc)
    last = (t.year + t.month // 12, t.month % 12 + 1)
    return (date(t.year, t.month, 1) - date(1970, 1, 1)).days * 86400 * NANO, (
        date(*last, 1) - date(1970, 1, 1)).days * 86400 * NANO


def months(start, length):
    """The parts of a time on the calendar, cut at the ends of months: (part, length of the month)."""
    end = start + length
    while start < end:
        first, last = month_of(start)
        yield min(end, last) - start, last - first
        start = last


class Tables:
    """Offers, tariffs, currencies and start-up times, as they lie in share/ and in a user's folder."""

    def __init__(self, share, own=None):
        self.offers, self.tariffs, self.startup = {}, [], []
        for mine, top in ((False, share), (True, own)):
            if top:
                self.read(mine, top)
        with open(f"{share}/ecb-rates.csv", newline="") as file:
            self.ecb = sorted(csv.DictReader(file), key=lambda row: row["Date"])
        with open(f"{share}/currencies.csv", newline="") as file:
            self.values = list(csv.DictReader(file))
        with open(f"{share}/startup.csv", newline="") as file:
            self.startup = list(csv.DictReader(file))

    def read(self, mine, top):
        for path in sorted(glob.glob(f"{top}/providers/*.json")):
            with open(path) as file:
                self.tariffs += [(mine, tariff) for tariff in json.load(file)["tariffs"]]
        for path in sorted(glob.glob(f"{top}/offers/*.csv")):
            with open(path, newline="") as file:
                for row in csv.DictReader(file):
                    kind = row.get("kind") or "on-demand"
                    key = (row["provider"], row["name"], row.get("region") or "", row.get("zone") or "", kind)
                    per = row.get("per") or ("month" if kind == "monthly" else "hour")
                    self.offers.setdefault(key, []).append({
                        "mine": mine, "date": row["date"], "price": nano(row["price"]), "per_s": PER[per],
                        "currency": row.get("currency") or "USD", "bare_metal": row.get("bare_metal") == "yes",
                        "gpus": Fraction(row.get("gpus") or (1 if row.get("gpu") else 0))})

    def price(self, key, day):
        """The last price on or before a day; one of the user's own tables wins."""
        rows = [row for row in self.offers[key] if row["date"] <= day]
        if not rows:
            return None
        row = max(rows, key=lambda row: (row["mine"], row["date"]))
        later = [other for other in self.offers[key] if other["date"] > day and other["mine"] == row["mine"]]
        same = later and min(later, key=lambda other: other["date"])["price"] == row["price"]
        return {**row, "date": day} if same else row            # seen again later: it held in between

    def tariff(self, key, day):
        provider, name, _, _, kind = key
        best = None
        for i, (mine, t) in enumerate(self.tariffs):
            if provider != t["provider"] and provider not in t.get("aliases", ()):
                continue
            if t.get("kind", "on-demand") != kind or not t.get("valid_from", "") <= day < t.get("valid_to", "9999"):
                continue
            if "offers" in t and not any(fnmatch.fnmatchcase(name, pattern) for pattern in t["offers"]):
                continue
            order = (mine, "offers" in t, t.get("valid_from", ""), i)
            if not best or order > best[0]:
                best = (order, t)
        return best and best[1]

    def value(self, currency, day, strict=False):
        """What one unit is worth in nano-USD on a day; `strict`: unknown before the first figure."""
        if currency == "USD":
            return NANO
        known = {}
        for row in self.values:
            if row["currency"] == currency:
                known[row["date"]] = nano(row["usd"])
        for row in self.ecb:
            other = "1" if currency == "EUR" else row.get(currency, "N/A")
            if "N/A" not in (other, row["USD"]) and other and row["USD"]:
                known[row["Date"]] = round(Fraction(row["USD"]) / Fraction(other) * NANO)
        before = [at for at in known if at <= day]
        if strict and not before:
            return None
        return known[max(before) if before else min(known)] if known else None

    def start_up(self, provider, bare_metal, part):
        """Seconds, low and high of a part of the start-up; None where the table has no row."""
        own = [row for row in self.startup if row["provider"] == provider]
        machine = "bare-metal" if bare_metal else own[0]["machine"] if own else "vm"
        for who in (provider, "*"):
            for row in self.startup:
                if (row["provider"], row["part"]) == (who, part) and row["machine"] in (machine, "any"):
                    return tuple(int(Fraction(row[column]) * NANO) for column in ("seconds", "low", "high"))
        return None


class Rule:
    """What an offer costs on a day: its tariff, rate and currency after the six steps of the page."""

    def __init__(self, tables, key, day, commit=0, own_rate=None, slip=None):
        self.tables, self.key, self.day, self.slip, self.own_rate = tables, key, day, slip, own_rate
        price, t = tables.price(key, day), tables.tariff(key, day)
        self.assumed = t is None or t.get("assumed", False)
        if t is None:
            t = {"id": "default", "unit_ms": price["per_s"] * 1000 if key[4] == "monthly" else 1000}
        self.tariff, self.offer = t, price
        self.list_rate = self.rate = price["price"]
        self.per, self.currency = price["per_s"] * NANO, price["currency"]
        if own_rate:
            self.list_rate = self.rate = own_rate
            self.per, self.currency = HOUR, "USD"
        if self.assumed and HOUR < self.per < 28 * 24 * HOUR:
            self.tariff = t = {**t, "unit_ms": max(t.get("unit_ms", 1000), self.per // 10**6)}
        self.tiers, self.committed_months = t.get("tiers"), 0
        if commit and key[4] != "spot":
            for c in t.get("commitments", ()):
                fits = "offers" not in c or any(fnmatch.fnmatchcase(key[1], p) for p in c["offers"])
                if c["months"] == commit and fits and day < c.get("valid_to", "9999"):
                    self.rate = round(Fraction(self.rate * (c.get("permille") or 10 * c["percent"]), 1000))
                    self.tiers, self.committed_months = None, commit
                    break
        for r in () if own_rate else t.get("regions", ()):
            if fnmatch.fnmatchcase(key[2], r["region"]) and (key[2] or r["region"] == "*"):
                self.rate = round(Fraction(self.rate * r["percent"], 100))
                break
        self.shown = self.rate, self.currency
        amounts = {k: nano(t[k]) for k in ("minimum_amount", "monthly_cap", "monthly_fee", "setup_fee", "storage_rate",
                                           "storage_stopped_rate", "egress_rate", "ingress_rate") if k in t}
        self.steps = [(s["upto_gb"], nano(s["rate"])) for s in t.get("egress_steps", ())]
        self.to_usd = False
        others = list(amounts.values()) + [rate for _, rate in self.steps]
        if t.get("currency", "USD") != self.currency and any(others):
            worth = lambda x: self.usd(x, t.get("currency", "USD"))
            amounts = {k: worth(x) for k, x in amounts.items()}
            self.steps = [(gb, worth(x)) for gb, x in self.steps]
            self.rate, self.currency, self.to_usd = self.usd(self.rate, self.currency), "USD", True
        self.amounts, self.cap = amounts, amounts.get("monthly_cap")
        if t.get("capped_by_month") and key[4] == "on-demand":
            monthly = tables.offers.get((*key[:4], "monthly")) and tables.price((*key[:4], "monthly"), day)
            if monthly:
                self.cap = monthly["price"]
                if monthly["currency"] != self.currency:
                    usd = self.usd(self.cap, monthly["currency"])
                    self.cap = round(Fraction(usd * NANO, tables.value(self.currency, day)))
        elif t.get("capped_by_month") and key[4] == "monthly" and self.per >= 28 * 24 * HOUR and not own_rate:
            self.cap = self.rate

    def usd(self, amount, currency):
        return round(Fraction(amount * self.tables.value(currency, self.day), NANO))

    def units(self, length, unit, minimum, where, rounding="up"):
        """A charged length; `where` is a start on the clock: mean, best, worst, or how far into a unit."""
        length = max(length, minimum)
        if self.slip == "units" and unit > NANO:
            rounding = "nearest"
        if self.tariff.get("clock_units"):
            if not isinstance(where, str):
                return up(where % unit + length, unit)
            return (length if where == "mean" else up(length, unit)) + (where != "best") * unit
        if not unit:
            return length
        if rounding == "down":
            return length // unit * unit
        if rounding == "nearest":
            return (2 * length + unit) // (2 * unit) * unit
        return up(length, unit)

    def charged(self, use, length):
        """Steps 1 and 2: the charged length, and whether time is free."""
        t = self.tariff
        unit = use.unit if use.unit is not None else t.get("unit_ms", 1000) * 10**6
        if use.prorated:
            return length, False
        if use.taken and t.get("spot_first_hour_free") and length < HOUR:
            return 0, True
        if use.taken and t.get("spot_partial_free"):
            return length // unit * unit if unit else length, True
        return self.units(length, unit, t.get("minimum_s", 0) * NANO, use.where, use.rounding or t.get("rounding", "up")), False

    def history(self, use, charged):
        """The mean of a spot price that changes during the charged length: (rate, per)."""
        changes = sorted((row["date"], row["price"]) for row in self.tables.offers[self.key]
                         if row["mine"] == self.offer["mine"])
        if self.key[4] != "spot" or self.own_rate or self.tiers or self.cap is not None or not charged or use.start >= use.today:
            return self.rate, self.per

        def at(moment):
            before = [p for d, p in changes if midnight(d) <= moment]
            return before[-1] if before else changes[0][1]

        unit = use.unit if use.unit is not None else self.tariff.get("unit_ms", 1000) * 10**6
        cuts = [midnight(d) - use.start for d, _ in changes if 0 < midnight(d) - use.start < charged]
        if unit == HOUR:
            cuts = [up(cut, HOUR) for cut in cuts if up(cut, HOUR) < charged]
        cuts = [0] + cuts + [charged]
        if len({at(use.start + a) for a, b in zip(cuts, cuts[1:]) if b > a}) <= 1:
            return self.rate, self.per
        total = sum(Fraction(at(use.start + a) * (b - a), self.per) for a, b in zip(cuts, cuts[1:]))
        mean = (2 * total + 1).__floor__() // 2
        mean = round(Fraction(mean * self.shown[0], self.list_rate))
        return (self.usd(mean, self.offer["currency"]) if self.to_usd else mean), charged

    def time(self, use, length):
        """Steps 1 to 4: the price of a use of this length, and its charged length."""
        charged, free = self.charged(use, length)
        rate, per = use.mean or self.history(use, charged)
        use.mean = rate, per
        if use.prorated:
            return round(Fraction(rate * length, per)), charged
        total, used = 0, use.used
        for part, month in months(use.start, charged):
            def first(t):
                if not self.tiers:
                    return Fraction(rate * t, per)
                sum_, low = Fraction(0), Fraction(0)
                for i, tier in enumerate(self.tiers):
                    high = Fraction(tier["upto_permille"] * month, 1000)
                    if i == len(self.tiers) - 1:
                        high = max(high, Fraction(t))
                    if t > low:
                        sum_ += Fraction(tier["percent"], 100) * rate * (min(t, high) - low) / per
                    low = high
                return sum_
            if self.cap is not None:
                total += min(self.cap, round(first(used + part))) - min(self.cap, round(first(used)))
            else:
                exact = first(used + part) - first(used)
                total += exact.__floor__() if self.slip == "nano" else round(exact)
            used = 0
        if not (free and charged == 0):
            total = max(total, self.amounts.get("minimum_amount", 0))
        return total, charged

    def storage(self, use, lines):
        t, gb = self.tariff, use.gb
        if not gb:
            return
        for step in t.get("storage_steps", ()):
            if step["gb"] >= gb:
                gb = step["gb"]
                break
        gb = max(gb - t.get("storage_free_gb", 0), 0)
        unit, least = t.get("storage_unit_ms", 1000) * 10**6, t.get("storage_minimum_s", 0) * NANO
        charged = (lambda x: x) if use.prorated else (lambda x: self.units(x, unit, least, use.where))
        running = charged(use.length)
        stopped = charged(use.length + use.stopped) - running
        rate = self.amounts.get("storage_rate")
        for what, per_gb, start, length in (
                ("storage", 0 if t.get("disk_included") else rate, use.start, running),
                ("storage while stopped", self.amounts.get("storage_stopped_rate", rate), use.start + running, stopped)):
            if per_gb is None:
                use.incomplete |= what == "storage" or use.stopped > 0
            elif t.get("storage_calendar_month"):
                lines[what] = sum(round(Fraction(per_gb * gb * part, month)) for part, month in months(start, length))
            else:
                lines[what] = round(Fraction(per_gb * gb * length, t.get("storage_month_s", 2592000) * NANO))

    def traffic(self, use, lines):
        t, size = self.tariff, self.tariff.get("gb_bytes", 10**9)
        if use.egress and "egress_rate" not in self.amounts:
            use.incomplete = True
        elif use.egress:
            low, total = t.get("egress_free_gb", 0) * size, 0
            for bound, rate in [(gb * size, rate) for gb, rate in self.steps] + [(None, self.amounts["egress_rate"])]:
                high = use.egress if bound is None else min(bound, use.egress)
                if high > low:
                    total += round(Fraction(rate * (high - low), size))
                    low = high
            lines["egress"] = total
        if use.ingress:
            use.incomplete |= "ingress_rate" not in self.amounts
            lines["ingress"] = round(Fraction(self.amounts.get("ingress_rate", 0) * use.ingress, size))

    def bill(self, use):
        """The lines of a use in the bill's currency, the total, and the charged length."""
        t, lines = self.tariff, {}
        use.mean, use.incomplete = None, False
        lines["time"], charged = self.time(use, use.length)
        if use.stopped and not use.taken:
            if t.get("billed_while_stopped"):
                lines["time while stopped"] = self.time(use, use.length + use.stopped)[0] - lines["time"]
            use.incomplete |= "billed_while_stopped" not in t
        if not use.prorated:
            exists = use.length + (0 if use.taken else use.stopped)
            lines["monthly fee"] = self.amounts.get("monthly_fee", 0) * max(1, sum(1 for _ in months(use.start, exists)))
            lines["set-up fee"] = self.amounts.get("setup_fee", 0)
        self.storage(use, lines)
        self.traffic(use, lines)
        total = sum(lines.values())
        if use.discount:
            lines["discount"] = -round(Fraction(total * use.discount, 1000))
            total += lines["discount"]
        grain = 10 ** (9 - t.get("decimals", 9))
        return lines, (2 * total + grain) // (2 * grain) * grain, charged


class Use:
    """One start of a machine; `where` is the start on the clock that the charge is for."""

    def __init__(self, start, length, **more):
        self.start, self.length = start, length
        self.stopped = self.gb = self.egress = self.ingress = self.used = self.discount = 0
        self.prorated = self.taken = self.incomplete = False
        self.where, self.unit, self.rounding, self.mean = "mean", None, None, None
        self.today = midnight(datetime.now(timezone.utc).date().isoformat())
        self.__dict__.update(more)


def parts(price, charged, spans, gpus, used):
    """The price of the time in parts: [(name, amount)], with the idle rest and the GPUs not used."""
    unused = round(price * (gpus - used) / gpus) if gpus > used else 0
    rest, at = price - unused, 0
    length = sum(span for _, span in spans)
    whole = max(length, charged)
    out = []
    for name, span in spans + [("idle to the end of the billing unit", whole - length)]:
        share = (lambda x: round(Fraction(rest * x, whole))) if whole else (lambda x: rest)
        if whole or name.startswith("idle"):
            out.append((name, share(at + span) - (share(at) if whole else 0)))
        at += span
    return out + [("unused GPUs", unused)]


def replay(rule, start, startup, work, interval, checkpoint, **more):
    """A spot machine that its provider ends after a fixed time, and nobody earlier: (total, time, charged) of all machines."""
    life, total, time, charged = rule.tariff["ends_after_s"] * NANO, 0, 0, 0
    while True:
        length = startup + work + (-(-work // interval) - 1) * checkpoint
        use = Use(start + time, min(length, life), taken=length > life, **more)
        _, cost, billed = rule.bill(use)
        total, time, charged = total + cost, time + use.length, charged + billed
        if not use.taken:
            return total, time, charged
        work -= (life - startup) // (interval + checkpoint) * interval


def several(rule, use, work, checkpoints, keep):
    """What the machines on which a training of `work` runs cost more than its one use, in nano-USD; time and charged time."""
    rest = {"discount": use.discount, "prorated": use.prorated, "today": use.start}     # the price of the day
    one_disk = {"gb": use.gb} if keep > use.length else {}
    own = {"gb": 0 if one_disk else use.gb, **rest}

    def disk(time):
        with_both = Use(use.start, time, stopped=max(keep - time, 0), **one_disk, **rest)
        return rule.bill(with_both)[1] - rule.bill(Use(use.start, time, **rest))[1] if one_disk else 0

    course, time, charged = replay(rule, use.start, use.length - work, work, *checkpoints, **own)
    alone = rule.bill(Use(use.start, use.length, **own))[1]
    more = rule.usd(course + disk(time), rule.currency) - rule.usd(alone + disk(use.length), rule.currency)
    return more, time, charged


def quote(tables, key, day, training, *, boot=None, keep=0, commit=0, local=None, used_gpus=None, own_rate=None, credit=0,
          checkpoints=None, slip=None, **more):
    """The bill of `fare quote`, with the keys of its JSON. `training` is a time in ns, or (low, middle, high)."""
    rule = Rule(tables, key, day, commit, own_rate, slip)
    start = midnight(day)
    free = rule.tariff.get("boot_free", False)
    spans = []                                      # (name, (middle, low, high))
    if key[0] == "own":                             # a bought machine has no start-up
        boot = 0
    if boot is None:
        if row := tables.start_up(key[0], rule.offer["bare_metal"], "boot"):
            spans.append(("boot", row))
    elif boot:
        spans.append(("boot", (boot,) * 3))
    if boot != 0 and key[0] in {r["provider"] for r in tables.startup if r["machine"] == "container"}:
        spans.append(("image", tables.start_up(key[0], False, "image")))
    low, middle, high = training if isinstance(training, tuple) else (training,) * 3
    spans.append(("run", (middle, low, high)))
    paid = [(name, times) for name, times in spans if not (free and name == "boot")]

    def bill(i, where="mean", **other):
        length = sum(times[i] for _, times in paid)
        use = Use(start, length, stopped=max(keep - length, 0), where=where, **more, **other)
        lines, total, charged = rule.bill(use)
        return use, lines, total, charged

    use, lines, total, charged = bill(0)
    price, gpus = lines.pop("time"), rule.offer["gpus"] or Fraction(1)
    items = parts(price, charged, [(name, times[0]) for name, times in paid], gpus, used_gpus or gpus)
    items += list(lines.items())
    out = {"rate": rule.shown[0], "currency": rule.shown[1], "per_s": rule.per // NANO, "tariff": rule.tariff["id"],
           "charged_s": charged, "time_s": sum(times[0] for _, times in spans)}
    dollars = lambda amount: rule.usd(amount, rule.currency)
    out["total"] = dollars(total)
    items = [(name, dollars(amount)) for name, amount in items]
    ends = rule.tariff.get("ends_after_s")
    ended = checkpoints and ends and key[4] == "spot" and use.length > ends * NANO
    if ended:
        extra, out["time_s"], out["charged_s"] = several(rule, use, middle, checkpoints, keep)
    items.append(("rounding", out["total"] - sum(amount for _, amount in items)))
    if ended:
        items.append(("interruptions and checkpoints", extra))
        out["total"] += extra
    out["items"] = [(name, amount) for name, amount in items if amount]
    out["low"], out["high"] = dollars(bill(1, "best")[2]), dollars(bill(2, "worst")[2])
    if ended:                                       # every replay takes the same course
        out["low"] = out["high"] = out["total"]
    if rule.assumed and not use.prorated and key[4] != "monthly" and rule.tariff.get("unit_ms", 1000) <= 3600000:
        out["by_hours"] = dollars(bill(0, unit=HOUR, rounding="up")[2])
    if credit and out["total"]:
        out["before_credit"] = out["total"]
        out["items"].append(("credit", -min(out["total"], credit)))
        for name in ("total", "low", "high", "by_hours"):
            if name in out:
                out[name] -= min(out[name], credit)
    if use.incomplete:
        out["incomplete"] = True
    if commit and (rule.committed_months or key[4] == "on-demand"):
        out["committed"] = "unknown"
        if rule.committed_months:
            owed = commit * round(Fraction(rule.shown[0] * 2628000 * NANO, rule.per))
            out.update(committed=owed, owed=rule.usd(owed, rule.shown[1]), committed_months=commit)
    if not own_rate:
        out["price_date"] = rule.offer["date"]
    if local:
        worth = tables.value(local, day, strict=True)
        for name in ("total", "low", "high"):
            out[f"local_{name}"] = round(Fraction(out[name] * NANO, worth)) if worth else None
    return out
