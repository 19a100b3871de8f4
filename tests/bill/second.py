#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The second implementation of docs/billing.md, in exact arithmetic, written from that page alone."""

import calendar
from datetime import datetime, timedelta, timezone
from functools import lru_cache

S = 10**9  # nanoseconds in a second, and nano-units in a unit
MS = 10**6
DAY = 86400 * S


def nearest(a: int, b: int) -> int:
    """a / b to the nearest whole number, a half to the even one."""
    whole, rest = divmod(a, b)
    return whole + (2 * rest > b or 2 * rest == b and whole % 2)


@lru_cache(maxsize=4096)
def amount(text: str) -> int:
    """In nano-units, of which an amount has a whole number."""
    units, _, decimals = text.partition(".")
    return int(units + f"{decimals:0<9}")


def nano(tariff: dict, key: str) -> int:
    """An amount of the tariff in nano-units; 0 where it is absent."""
    return amount(tariff.get(key, "0"))


def to_units(length: int, unit: int, rounding: str) -> int:
    """A length brought to whole units; a unit of 0 leaves it as it is."""
    if unit == 0:
        return length
    if rounding == "up":
        return -(-length // unit) * unit
    if rounding == "down":
        return length // unit * unit
    if rounding == "nearest":
        return (2 * length + unit) // (2 * unit) * unit
    raise ValueError(f"rounding: {rounding}")


@lru_cache(maxsize=4096)
def month_of_day(day: int) -> int:
    """The calendar month of a day since 1970, as 12 * year + month - 1."""
    date = datetime(1970, 1, 1, tzinfo=timezone.utc) + timedelta(days=day)
    return 12 * date.year + date.month - 1


def month_index(at: int) -> int:
    """The calendar month (UTC) of a time in ns, as 12 * year + month - 1."""
    return month_of_day(at // DAY)


@lru_cache(maxsize=4096)
def month_begin(index: int) -> int:
    """Where a calendar month begins, in ns."""
    return calendar.timegm((index // 12, index % 12 + 1, 1, 0, 0, 0)) * S


def unit_begin(tariff: dict, use: dict, unit: int) -> int:
    """Where the charged time begins, in ns: at the start, or with clock_units where the unit of the start begins."""
    start = use.get("start_s", 0) * S
    if tariff.get("clock_units", False) and unit and not use.get("prorated", False):
        return start // unit * unit
    return start


def freed(tariff: dict, use: dict) -> bool:
    """Whether step 2 of the page's "Time" holds."""
    return use.get("interrupted", False) and (
        tariff.get("spot_first_hour_free", False) and use.get("length_ns", 0) < 3600 * S
        or tariff.get("spot_partial_free", False))


def charged_length(tariff: dict, use: dict) -> int:
    """Steps 1 and 2 of the page's "Time"."""
    length = use.get("length_ns", 0)
    if use.get("prorated", False):
        return length
    unit = tariff.get("unit_ms", 1000) * MS
    before = use.get("start_s", 0) * S - unit_begin(tariff, use, unit)
    if use.get("interrupted", False):
        if tariff.get("spot_first_hour_free", False) and length < 3600 * S:
            return 0
        if tariff.get("spot_partial_free", False):
            return to_units(before + length, unit, "down")
    length = max(length, tariff.get("minimum_s", 0) * S)
    return to_units(before + length, unit, tariff.get("rounding", "up"))


PARTS = 1000 * 100  # of a tier's end and of its price: permille, per cent


def exact_price(tariff: dict, month: int, time: int) -> int:
    """The price of the first `time` ns of a month of `month` ns, not rounded and without the cap, times per_s * S * PARTS."""
    rate = nano(tariff, "rate")
    tiers = tariff.get("tiers")
    if not tiers:
        return rate * time * PARTS
    price = begin = 0
    time *= 1000
    for tier in tiers:
        end = tier["upto_permille"] * month
        price += max(0, min(time, end) - begin) * tier["percent"]
        begin = end
    return rate * (price + max(0, time - begin) * tiers[-1]["percent"])


def time_price(tariff: dict, use: dict, charged: int) -> int:
    """Steps 3 and 4: the charged length laid on the calendar, and the minimum amount."""
    if use.get("prorated", False):
        return nearest(nano(tariff, "rate") * charged, tariff.get("per_s", 3600) * S)
    at = unit_begin(tariff, use, tariff.get("unit_ms", 1000) * MS)
    end = at + charged
    cap = nano(tariff, "monthly_cap") if "monthly_cap" in tariff else None
    whole = tariff.get("per_s", 3600) * S * PARTS
    used = use.get("used_ns", 0)
    price = 0
    while at < end:
        index = month_index(at)
        month_end = month_begin(index + 1)
        month = month_end - month_begin(index)
        part = min(end, month_end) - at
        before = exact_price(tariff, month, used)
        after = exact_price(tariff, month, used + part)
        if cap is not None:
            price += min(cap, nearest(after, whole)) - min(cap, nearest(before, whole))
        else:
            price += nearest(after - before, whole)
        at += part
        used = 0
    return price if freed(tariff, use) else max(price, nano(tariff, "minimum_amount"))


def stopped_price(tariff: dict, use: dict) -> int:
    """Step 5: the machine while it is stopped."""
    if not tariff.get("billed_while_stopped", False) or use.get("interrupted", False):
        return 0
    if use.get("stopped_ns", 0) == 0:
        return 0
    whole = {**use, "length_ns": use.get("length_ns", 0) + use["stopped_ns"]}
    return (time_price(tariff, whole, charged_length(tariff, whole))
            - time_price(tariff, use, charged_length(tariff, use)))


def months_touched(use: dict) -> int:
    """Step 6: the calendar months in which the machine exists, at least one."""
    start = use.get("start_s", 0) * S
    kept = 0 if use.get("interrupted", False) else use.get("stopped_ns", 0)
    last = start + max(use.get("length_ns", 0) + kept - 1, 0)
    return month_index(last) - month_index(start) + 1


def storage_prices(tariff: dict, use: dict) -> tuple[int, int]:
    """The lines for storage while the machine runs and while it is stopped."""
    size = use.get("storage_gb", 0)
    if size == 0:
        return 0, 0
    steps = [step["gb"] for step in tariff.get("storage_steps", [])]
    size = min((gb for gb in steps if gb >= size), default=size)
    size = max(0, size - tariff.get("storage_free_gb", 0))
    unit = tariff.get("storage_unit_ms", 1000) * MS
    begin = unit_begin(tariff, use, unit)

    def charged(time: int) -> int:
        if use.get("prorated", False):
            return time
        time = max(time, tariff.get("storage_minimum_s", 0) * S)
        return to_units(use.get("start_s", 0) * S - begin + time, unit, "up")

    def price(rate: int, at: int, end: int) -> int:
        if not tariff.get("storage_calendar_month", False):
            return nearest(rate * size * (end - at), tariff.get("storage_month_s", 2592000) * S)
        sum_ = 0
        while at < end:
            first, after = (month_begin(month_index(at) + i) for i in (0, 1))
            to = min(end, after)
            sum_ += nearest(rate * size * (to - at), after - first)
            at = to
        return sum_

    running = charged(use.get("storage_ns", 0))
    whole = charged(use.get("storage_ns", 0) + use.get("stopped_ns", 0))
    rate = nano(tariff, "storage_rate")
    stopped_rate = nano(tariff, "storage_stopped_rate") if "storage_stopped_rate" in tariff else rate
    return (price(0 if tariff.get("disk_included", False) else rate, begin, begin + running),
            price(stopped_rate, begin + running, begin + whole))


def egress_price(tariff: dict, use: dict) -> int:
    gb = tariff.get("gb_bytes", 10**9)
    begin = use.get("egress_used_bytes", 0)
    end = begin + use.get("egress_bytes", 0)
    begin = max(begin, tariff.get("egress_free_gb", 0) * gb)
    price = 0
    for step in [*tariff.get("egress_steps", []), {"rate": tariff.get("egress_rate", "0")}]:
        to = min(end, step["upto_gb"] * gb) if "upto_gb" in step else end
        if to > begin:
            price += nearest(amount(step["rate"]) * (to - begin), gb)
            begin = to
    return price


def to_decimals(amount: int, decimals: int) -> int:
    """Nano-units rounded to so many decimals, a half away from zero."""
    step = 10 ** (9 - decimals)
    size = (2 * abs(amount) + step) // (2 * step) * step
    return size if amount >= 0 else -size


def charge(tariff: dict, use: dict) -> dict:
    """What a use costs under a tariff, line by line, in nano-units."""
    prorated = use.get("prorated", False)
    gb = tariff.get("gb_bytes", 10**9)
    charged = charged_length(tariff, use)
    storage, storage_stopped = storage_prices(tariff, use)
    lines = {
        "time": time_price(tariff, use, charged),
        "stopped": stopped_price(tariff, use),
        "monthly_fee": 0 if prorated else nano(tariff, "monthly_fee") * months_touched(use),
        "setup_fee": 0 if prorated else nano(tariff, "setup_fee"),
        "storage": storage,
        "storage_stopped": storage_stopped,
        "egress": egress_price(tariff, use),
        "ingress": nearest(nano(tariff, "ingress_rate") * use.get("ingress_bytes", 0), gb),
    }
    subtotal = sum(lines.values())
    discount = nearest(subtotal * use.get("discount_permille", 0), 1000)
    total = to_decimals(subtotal - discount, tariff.get("decimals", 9))
    return {"charged_ns": charged, **lines, "subtotal": subtotal, "discount": discount,
            "rounding": total - (subtotal - discount), "total": total}


def parts(charge: dict, gpus: int, used: int, lengths: list[int]) -> tuple[list[int], int]:
    """The price of the time over parts of these lengths, in order and idle last, and of the unused GPUs."""
    price = charge["time"]
    unused = nearest(price * (gpus - used), gpus)
    rest = price - unused
    length = sum(lengths)
    whole = max(length, charge["charged_ns"])
    if whole == 0:
        return [0] * len(lengths) + [rest], unused
    prices = []
    begin = 0
    for part in [*lengths, whole - length]:
        end = begin + part
        prices.append(nearest(rest * end, whole) - nearest(rest * begin, whole))
        begin = end
    return prices, unused


# Random cases.

LONGEST = 100 * DAY


def decimal_text(nanos: int, decimals: int) -> str:
    """Nano-units as a text with so many decimals; the digits after them are dropped."""
    text = f"{nanos // S}.{nanos % S:09}"
    return text[:-9 + decimals] if 0 < decimals < 9 else text if decimals else text[:-10]


def random_amount(random, most: int) -> str:
    """An amount up to `most` units with 0 to 9 decimals; seldom 0."""
    decimals = random.randint(0, 9)
    step = 10 ** (9 - decimals)
    limit = random.choice([most * S, S, S // 100])
    nanos = step * random.randint(1, max(1, limit // step))
    return decimal_text(nanos if random.random() < 0.95 else 0, decimals)


def random_tariff(random) -> dict:
    units = [0, 1, 100, 1000, 1000, 60000, 60000, 900000, 3600000, 3600000]
    minimums = [0, 1, 30, 60, 90, 600, 3600, 5400, 86400]
    months = [2592000, 2628000, 3600]
    tiers = sorted(random.sample(range(1, 1000), random.randint(0, 3)))
    tiers += [1000] if not tiers or random.random() < 0.8 else []
    steps = sorted(random.sample(range(1, 3000), random.randint(1, 5)))
    rate = random_amount(random, 100)
    per = random.choice([1, 60, 3600, 3600, 3600, 86400, 2592000, 2628000])
    cap_ns = random.randrange(random.choice([3600 * S, DAY, 20 * DAY, 60 * DAY]))
    cap = nearest(amount(rate) * cap_ns, per * S)
    bounds = sorted(random.sample(range(1, 100000), random.randint(1, 8)))
    # key: (how often it is there, what gives its value)
    members = {
        "per_s": (1 if per != 3600 else 0.5, lambda: per),
        "unit_ms": (0.8, lambda: random.choice(units)),
        "minimum_s": (0.5, lambda: random.choice(minimums)),
        "minimum_amount": (0.2, lambda: random_amount(random, 2)),
        "billed_while_stopped": (0.4, lambda: random.random() < 0.8),
        "disk_included": (0.2, lambda: random.random() < 0.8),
        "rounding": (0.7, lambda: random.choice(["up", "nearest", "down"])),
        "monthly_cap": (0.4, lambda: decimal_text(cap, random.randint(0, 9))),
        "monthly_fee": (0.4, lambda: random_amount(random, 1000)),
        "setup_fee": (0.4, lambda: random_amount(random, 1000)),
        "storage_rate": (0.7, lambda: random_amount(random, 2)),
        "storage_stopped_rate": (0.4, lambda: random_amount(random, 2)),
        "storage_month_s": (0.5, lambda: random.choice(months)),
        "storage_unit_ms": (0.5, lambda: random.choice(units)),
        "storage_minimum_s": (0.4, lambda: random.choice(minimums)),
        "storage_free_gb": (0.4, lambda: random.choice([0, 1, 5, 30, 100, 1000])),
        "storage_steps": (0.4, lambda: [{"gb": gb} for gb in steps]),
        "egress_rate": (0.7, lambda: random_amount(random, 2)),
        "egress_steps": (0.4, lambda: [{"upto_gb": gb, "rate": random_amount(random, 1)} for gb in bounds]),
        "egress_free_gb": (0.5, lambda: random.choice([0, 1, 100, 1024])),
        "ingress_rate": (0.5, lambda: random_amount(random, 2)),
        "gb_bytes": (0.5, lambda: random.choice([10**9, 2**30])),
        "tiers": (0.4, lambda: [{"upto_permille": upto, "percent": random.randint(0, 120)} for upto in tiers]),
        "spot_first_hour_free": (0.5, lambda: random.random() < 0.6),
        "spot_partial_free": (0.5, lambda: random.random() < 0.6),
        "decimals": (0.6, lambda: random.randint(0, 9)),
    }
    tariff = {"rate": rate, "currency": "USD"}
    for key, (often, value) in members.items():
        if random.random() < often:
            tariff[key] = value()
    if "egress_steps" in tariff:
        tariff.setdefault("egress_rate", "0.05")
    if random.random() < 0.3:
        tariff.pop("storage_month_s", None)
        tariff["storage_calendar_month"] = True
    if random.random() < 0.25:
        tariff.pop("rounding", None)
        tariff.update({"clock_units": True, "unit_ms": random.choice([1000, 60000, 900000, 3600000, 86400000]),
                       "storage_unit_ms": random.choice([1000, 60000, 3600000, 86400000])})
    return tariff


def near(random, value) -> int:
    """A whole number at or beside a value, at least 0."""
    return max(0, int(value) + random.choice([-1, 0, 0, 1]))


def turning_point(random, tariff: dict, start: int, used: int) -> int:
    """A length at which some rule of the tariff turns."""
    unit = tariff.get("unit_ms", 1000) * MS or S
    first = month_index(start * S)
    index = first + random.randrange(4)
    begin = month_begin(index)
    month = month_begin(index + 1) - begin
    offset = begin - start * S if index > first else -used  # the length at which the month's count is 0
    multiple = random.choice([random.randrange(5), random.randrange(LONGEST // unit)])
    kinds = [
        lambda: multiple * unit,
        lambda: multiple * unit + unit // 2,
        lambda: tariff.get("minimum_s", 0) * S,
        lambda: 3600 * S * random.choice([1, 1, random.randrange(2400)]),
        lambda: month_begin(index + 1) - start * S,
    ]
    if "tiers" in tariff:
        upto = random.choice(tariff["tiers"])["upto_permille"]
        kinds += 2 * [lambda: offset + upto * month // 1000]
    rate = nano(tariff, "rate")
    if "monthly_cap" in tariff and rate:
        cap_ns = nano(tariff, "monthly_cap") * tariff.get("per_s", 3600) * S // rate
        kinds += 2 * [lambda: offset + cap_ns]
    value = random.choice(kinds)()
    return int(min(max(value, 0), LONGEST - 1))


def random_use(random, tariff: dict) -> dict:
    def time_of(year: int) -> int:
        return calendar.timegm((year, 1, 1, 0, 0, 0))

    start = random.randrange(time_of(2006), time_of(2031))
    begin = month_begin(month_index(start * S))
    month = month_begin(month_index(start * S) + 1) - begin
    if random.random() < 0.3:  # close to a month's end or begin
        start = (begin + month) // S - random.choice([0, 1, 2, 60, 3600, 7200, random.randrange(86400)])
        start = min(start, time_of(2031) - 1)
        begin = month_begin(month_index(start * S))
        month = month_begin(month_index(start * S) + 1) - begin
    used = random.choice([0, random.randrange(start * S - begin + 1), random.randrange(month), 3600 * S])
    if "tiers" in tariff and random.random() < 0.3:
        used = near(random, random.choice(tariff["tiers"])["upto_permille"] * month // 1000)

    def length() -> int:
        if random.random() < 0.6:
            return near(random, turning_point(random, tariff, start, used))
        return random.randrange(random.choice([2, S, 3600 * S, DAY, LONGEST + 1, LONGEST + 1]))

    length_ns = length()
    unit = tariff.get("storage_unit_ms", 1000) * MS or S
    gb = tariff.get("gb_bytes", 10**9)
    bounds = [step["upto_gb"] for step in tariff.get("egress_steps", [])] + [tariff.get("egress_free_gb", 0)]
    sizes = [step["gb"] for step in tariff.get("storage_steps", [])] + [tariff.get("storage_free_gb", 0)]
    use = {
        "start_s": start,
        "length_ns": length_ns,
        "used_ns": used,
        "storage_gb": random.choice([0, random.randrange(100), random.randrange(5000),
                                     near(random, random.choice(sizes))]),
        "storage_ns": random.choice([length_ns, length_ns, length(), 0,
                                     near(random, tariff.get("storage_minimum_s", 0) * S),
                                     near(random, unit * random.randrange(LONGEST // unit))]),
        "egress_bytes": random.choice([0, random.randrange(10**6), random.randrange(10**14),
                                       near(random, random.choice(bounds) * gb)]),
        "egress_used_bytes": random.choice([0, 0, random.randrange(10**14), near(random, random.choice(bounds) * gb)]),
        "stopped_ns": random.choice([0, 0, 1, length(), near(random, unit * random.randrange(LONGEST // unit))]),
        "ingress_bytes": random.choice([0, random.randrange(10**6), random.randrange(10**14)]),
        "discount_permille": random.choice([0, 0, 1, 50, 333, 500, 1000, random.randrange(1001)]),
        "interrupted": random.random() < 0.4,
        "prorated": random.random() < 0.15,
    }
    if random.random() < 0.2:  # absent members
        for key in random.sample(sorted(use), 3):
            if key not in ("start_s", "length_ns"):
                del use[key]
    return use


def random_case(random) -> tuple[dict, dict]:
    """A random tariff and a use that is likely to lie where its rules turn."""
    tariff = random_tariff(random)
    return tariff, random_use(random, tariff)
