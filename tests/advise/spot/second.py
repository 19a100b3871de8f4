# SPDX-License-Identifier: Apache-2.0
"""Replays and fall-back policies once more, written from docs/spot.md ("What spot will cost")."""
from datetime import datetime, timezone
from functools import lru_cache

S = 10**9
HOUR = 3600 * S


def read_trace(path):
    """Samples (True: could be had), stretches as (from, until) in ns, length."""
    times, had = [], []
    for line in open(path):
        _, when, x = line.strip().split(",")
        times.append(int(datetime.fromisoformat(when.replace("Z", "+00:00")).timestamp()))
        had.append(x == "0")
    gap = times[-1] - times[-2] if len(times) > 1 else 600
    edges = [t - times[0] for t in times] + [times[-1] + gap - times[0]]
    spans = []
    for i, up in enumerate(had):
        if up and spans and spans[-1][1] == edges[i] * S:
            spans[-1][1] = edges[i + 1] * S
        elif up:
            spans.append([edges[i] * S, edges[i + 1] * S])
    return had, spans, edges[-1] * S


def stretches(spans, length, start):
    """All stretches after `start`, in time since then, endlessly and joined across the seam."""
    if not spans:
        return
    if spans == [[0, length]]:
        yield 0, None
        return
    joined = spans[0][0] == 0 and spans[-1][1] == length
    lap = -1
    while True:
        for i, (a, b) in enumerate(spans):
            if joined and i == 0:
                continue  # part of the last one of the lap before
            if joined and i == len(spans) - 1:
                b = length + spans[0][1]
            a2, b2 = a + lap * length - start, b + lap * length - start
            if b2 > 0:
                yield max(a2, 0), b2
        lap += 1


def price_at(changes, until, origin_ns, from_ns, length_ns):
    """The mean price over a time, rounded half up, by walking the changes one by one."""
    first = changes[0][0]
    total = (until - first) * S
    steps = [((at - first) * S, nano) for at, nano in changes] + [(total, None)]
    at, end, area = origin_ns + from_ns, origin_ns + from_ns + length_ns, 0
    while at < end:
        place = at % total
        k = max(i for i in range(len(steps) - 1) if steps[i][0] <= place)
        stop = min(end, at - place + steps[k + 1][0])
        area += steps[k][1] * (stop - at)
        at = stop
    return (2 * area + length_ns) // (2 * length_ns)


def half_even(numerator, denominator):
    q, r = divmod(numerator, denominator)
    return q + (2 * r > denominator or (2 * r == denominator and q % 2 == 1))


def months(start_s, length):
    """Parts of a time in calendar months, as docs/billing.md has it; POSIX time."""
    while length > 0:
        at = datetime.fromtimestamp(start_s, timezone.utc)
        following = datetime(at.year + at.month // 12, at.month % 12 + 1, 1, tzinfo=timezone.utc)
        part = min(length, (int(following.timestamp()) - start_s) * S)
        yield part
        start_s, length = int(following.timestamp()), length - part


def charge(rule, nano_hour, start, length, interrupted):
    """(price, charged length)"""
    unit = HOUR if rule == "hour-partial" else S
    if interrupted and rule == "hour-free" and length < HOUR:
        return 0, 0
    units = length // unit if interrupted and rule == "hour-partial" else -(-length // unit)
    return sum(half_even(nano_hour * part, HOUR) for part in months(start // S, units * unit)), units * unit


def replay(trace, job, index):
    """(wall, charged, on demand, lost, interruptions, nano, finished)"""
    _, spans, length = trace
    work, interval, cost, first, restart, notice, life, deadline, count, rule, rate, demand, prices = job
    start = length * index // count
    origin = (prices[1] - prices[0][0][0]) * S * index // count if prices else 0
    now = charged = lost = taken = nano = kept = 0
    left = work

    def needs(w):
        return w + (-(-w // interval) - 1) * cost if interval and w else w

    def bill(a, n, interrupted):
        if n == 0:
            return 0, 0
        return charge(rule, price_at(*prices, origin, a, n) if prices else rate, a, n, interrupted)

    machines = stretches(spans, length, start)
    a, b = next(machines, (None, None))
    while taken < 100000 and (deadline or (now < 1000 * (first + work) and now - kept <= length)):
        while a is not None and b is not None and b <= now:
            a, b = next(machines)
        startup = restart if taken else first
        begin = None if a is None else max(a, now)
        if deadline:
            alone = restart + needs(left)
            cycle = interval + cost if interval else left
            if begin is None or begin + startup + cycle + alone > deadline:
                latest = deadline - alone
                at = begin if begin is not None and begin < latest else max(latest, now)
                total = startup + needs(left)
                cost_last, last = charge("second", demand, at, total, False)
                return at + total, charged + last, total, lost, taken, nano + cost_last, 1
        if begin is None:
            break
        end = b
        if life and (end is None or end - begin > life):
            end = begin + life
        total = startup + needs(left)
        if end is None or begin + total <= end:
            cost_last, last = bill(begin, total, False)
            return begin + total, charged + last, 0, lost, taken, nano + cost_last, 1
        u = end - begin - startup
        saved = did = 0
        if u > 0:
            # walk interval by interval
            if interval:
                full, into = divmod(u, interval + cost)
                saved, did = full * interval, full * interval + min(into, interval)
                if notice and notice >= cost:
                    told, saved = u - notice, 0
                    if told > 0:
                        full, into = divmod(told, interval + cost)
                        saved = full * interval + min(into, interval)
            else:
                did = u
        did = min(did, left)
        lost += max(did - saved, 0)
        left -= saved
        kept = end if saved else kept
        price, length_charged = bill(begin, end - begin, True)
        nano, charged = nano + price, charged + length_charged
        taken += 1
        now = end
    return now, charged, 0, lost, taken, nano, 0


# ---- policies

NOTHING, SPOT, DEMAND = range(3)


class Policies:
    def __init__(self, samples, past, deadline, work, delay, reserve, spot):
        """Learns from the first `past` samples; those that follow are what happens."""
        self.had = samples[past:]
        self.n = len(self.had)
        self.deadline, self.work, self.delay, self.reserve, self.spot = deadline, work, delay, reserve, spot
        seen, up = [2, 2], [1, 1]
        for now, following in zip(samples[:past], samples[1:past]):
            seen[now] += 1
            up[now] += following
        self.chance = [up[i] * 65536 // seen[i] for i in (0, 1)]

    def tick(self, kind, pending, left, choice):
        """The state after a tick, and the units paid."""
        if choice == NOTHING:
            return NOTHING, 0, left, 0
        if choice != kind:
            pending = self.delay
        wait = min(pending, 10)
        done = min(left, 10 - wait)
        return choice, pending - wait, left - done, wait + done

    def safe(self, kind, pending, left, ticks):
        return left == 0 or (pending if kind == DEMAND else self.reserve) + left <= 10 * ticks

    def run(self, start, policy):
        kind, pending, left = NOTHING, 0, self.work
        units, starts, end = [0, 0, 0], 0, 0
        for t in range(self.deadline):
            if left == 0:
                break
            up = self.had[(start + t) % self.n]
            if kind == SPOT and not up:
                kind, pending = NOTHING, 0
            want = policy(t, up, kind, pending, left)
            after = self.tick(kind, pending, left, want)
            if not self.safe(*after[:3], self.deadline - t - 1):
                want = DEMAND
                after = self.tick(kind, pending, left, want)
            starts += want != NOTHING and want != kind
            kind, pending, left, paid = after
            units[want] += paid
            end = 10 * t + paid
        return f"{int(left == 0)}:{units[SPOT]}:{units[DEMAND]}:{starts}:{end}"

    def greedy(self, t, up, kind, pending, left):
        return SPOT if up else NOTHING

    def uniform(self, t, up, kind, pending, left):
        done, total = self.work - left, 10 * self.deadline
        if kind == DEMAND:
            leave = up and done * total > self.work * (10 * t + 2 * self.delay)
            return SPOT if leave else DEMAND
        if up:
            return SPOT
        return NOTHING if done * total >= self.work * 10 * t else DEMAND

    def make_plan(self):
        """Memoised, from the start on: only states that are reached are looked at."""
        infinite = 1 << 44

        @lru_cache(maxsize=None)
        def best(t, up, kind, pending, left):
            if left == 0:
                return 0, DEMAND
            if t == self.deadline:
                return infinite, DEMAND
            value, choice = infinite, DEMAND
            for c in (NOTHING, SPOT, DEMAND):
                if c == SPOT and not up:
                    continue
                k, p, w, paid = self.tick(kind, pending, left, c)
                if not self.safe(k, p, w, self.deadline - t - 1):
                    continue
                chance = self.chance[up]
                later = 0
                if w:
                    gone = (NOTHING, 0) if k == SPOT else (k, p)
                    later = (chance * best(t + 1, True, k, p, w)[0]
                             + (65536 - chance) * best(t + 1, False, *gone, w)[0]) // 65536
                v = paid * (self.spot if c == SPOT else 1000000) + later
                if v < value:
                    value, choice = v, c
            return value, choice

        return lambda t, up, kind, pending, left: best(t, bool(up), kind, pending, left)[1]

    def best(self, start):
        """Forward, over the cheapest way into each state that can be reached."""
        states, answer = {(NOTHING, 0, self.work): 0}, None
        for t in range(self.deadline):
            up = self.had[(start + t) % self.n]
            following = {}
            for (kind, pending, left), cost in states.items():
                if kind == SPOT and not up:
                    kind, pending = NOTHING, 0
                for c in (NOTHING, SPOT, DEMAND):
                    if c == SPOT and not up:
                        continue
                    k, p, w, paid = self.tick(kind, pending, left, c)
                    v = cost + paid * (self.spot if c == SPOT else 1000000)
                    if w == 0:
                        answer = v if answer is None else min(answer, v)
                    elif p + w <= 10 * (self.deadline - t - 1) and v < following.get((k, p, w), 1 << 60):
                        following[k, p, w] = v
            states = following
        return -1 if answer is None else answer
