# SPDX-License-Identifier: Apache-2.0
"""The lease's protocol (src/save/lease.h, keep.h) as three small models, gone through in all interleavings.

A request takes effect in the store at any moment after it was made, and its answer arrives at any moment after that, or
never. Times are differences to now, so that there is no end at which the search would have to stop. Each model has rules
that can be broken, to show that the search finds what they prevent.

    living()    a holder that beats and an observer that takes over: never both at once
    claiming()  several that claim one epoch without conditional writes: one wins at most
    fencing()   machines that may stand still for ever, each taking over from the last, saving and pruning: what was called
                safe is never lost, and what an ousted machine completes is never taken
"""


def search(first, moves, wrong, limit=2_000_000):
    """(states, what is wrong or None)"""
    seen, queue = {first}, [first]
    while queue:
        for after in moves(queue.pop()):
            if after in seen:
                continue
            if what := wrong(after):
                return len(seen), what
            seen.add(after)
            if len(seen) > limit:
                raise RuntimeError("the model is too large")
            queue.append(after)
    return len(seen), None


def living(hold=3, patience=3, break_=None):
    """Patience is twice as long in use, which leaves room for clocks of other speeds.
    State: (left, beat, news, look, still, taken)
    left   ticks for which the holder's lease is valid; 0: its job was ended, for good
    beat   the beat under way: None or (age, written)
    news   whether the store's count differs from the one that the observer knows
    look   the observer's look under way: None or (`still` when it began, what it read: None, "old", "new")
    still  ticks since the observer learned the count, capped
    taken  whether the observer has claimed the next epoch
    """
    def moves(state):
        left, beat, news, look, still, taken = state
        if left and beat is None:
            yield left, (0, False), news, look, still, taken
        if beat and not beat[1]:
            yield left, (beat[0], True), True, look, still, taken
        if beat and beat[1]:  # the answer: it counts from its start, and only in time
            valid = hold if break_ == "start" else hold - beat[0]
            alive = left > 0 or break_ == "late"
            yield (max(left, valid) if alive else 0), None, news, look, still, taken
        if beat and left == 0 and break_ != "late":
            yield left, None, news, look, still, taken
        if not taken and look is None:
            yield left, beat, news, (still, None), still, taken
        if look and look[1] is None:
            yield left, beat, False, (look[0], "new" if news else "old"), still, taken
        if look and look[1]:
            # A count that is new to it is known from the end of the look.
            if look[1] == "new":
                yield left, beat, news, None, 0, taken
            else:
                yield left, beat, news, None, still, (still if break_ == "end" else look[0]) >= patience
        # A tick.
        older = beat and (min(beat[0] + 1, hold), beat[1])
        yield max(left - 1, 0), older, news, look, min(still + 1, patience), taken

    def wrong(state):
        return "two run" if state[0] > 0 and state[5] else None

    return search((hold, None, True, None, 0, False), moves, wrong)


def claiming(machines=3, window=2, break_=None):
    """State: (landed, machines); landed: ids in the store. A machine: (at, age, seen, lands)
    at     start, listing, putting, waiting, asking, won, out
    age    ticks since its list was asked for, or since its claim was answered; capped
    seen   what its last list held, once that took effect
    lands  whether a claim that it sent has still not reached the store
    """
    cap = 2 * window + 1

    def moves(state):
        landed, all_ = state
        for i, (at, age, seen, lands) in enumerate(all_):
            def to(*new, into=landed):
                return into, all_[:i] + (new,) + all_[i + 1:]
            if at == "start":
                yield to("listing", 0, None, False)
            elif at == "listing" and seen is None:
                yield to(at, age, landed, False)
            elif at == "listing":
                yield to("out", 0, None, False) if seen else to("putting", age, None, True)
            elif at == "putting" and not lands:  # the answer: does the claim count?
                counts = age <= window or break_ == "window"
                yield to("waiting", 0, None, False) if counts else to("out", 0, None, False)
            elif at == "putting":
                yield to("out", 0, None, True)  # given up; it may land all the same
            elif at == "waiting" and (age >= 2 * window or break_ == "wait"):
                yield to("asking", 0, None, False)
            elif at == "asking" and seen is None:
                yield to(at, 0, landed, False)
            elif at == "asking":
                yield to("won" if min(seen) == i else "out", 0, None, False)
            if lands:
                yield to(at, age, seen, False, into=landed | {i})
        yield landed, tuple((at, min(age + 1, cap) if at in ("listing", "putting", "waiting") else 0, seen, lands)
                            for at, age, seen, lands in all_)

    def wrong(state):
        return "two won" if sum(m[0] == "won" for m in state[1]) > 1 else None

    return search((frozenset(), (("start", 0, None, False),) * machines), moves, wrong)


def fencing(machines=3, saves=2, break_=None):
    """There is no time in it: anyone may take anyone for dead, and act on it at any later moment.
    State: (claimed, bases, marks, gone, late, machines)
    claimed  the highest epoch; bases: its checkpoint for each epoch that began; marks: complete checkpoints (epoch, number)
    gone     data that was deleted; late: what was marked after a newer epoch had begun
    A machine: (at, epoch, last, number, safe, doomed): `last` is its base or its last checkpoint, `doomed` what it deletes.
    A checkpoint needs its own data and that of the one before it, whose files it did not send again; one is kept.
    """
    def counting(bases, marks):
        return [m for m in marks if break_ == "base" or all(f <= m[0] or m <= b for f, b in bases)]

    def before(mark, bases):
        return (mark[0], mark[1] - 1) if mark[1] > 1 else dict(bases)[mark[0]]

    def needs(mark, bases):
        return {mark, before(mark, bases)} - {(0, 0)} if mark != (0, 0) else set()

    def moves(state):
        claimed, bases, marks, gone, late, all_ = state
        for i, (at, epoch, last, number, safe, doomed) in enumerate(all_):
            def to(*new, claimed=claimed, bases=bases, marks=marks, gone=gone, late=late):
                return claimed, bases, marks, gone, late, all_[:i] + (new,) + all_[i + 1:]
            if at == "out":
                continue
            yield to("out", epoch, last, number, safe, frozenset())  # dies, or an answer is lost
            if at == "claim":  # exclusive, by the store or by claiming()
                yield to("find", claimed + 1, last, 0, safe, doomed, claimed=claimed + 1)
            elif at == "find":
                yield to("base", epoch, max(counting(bases, marks), default=(0, 0)), 0, safe, doomed)
            elif at == "base":
                yield to("run", epoch, last, 0, safe, doomed, bases=bases | {(epoch, last)})
            elif at == "run" and number < saves:
                yield to("mark", epoch, last, number + 1, safe, doomed)
            elif at == "mark":
                mark = (epoch, number)
                is_late = any(f > epoch for f, _ in bases)
                yield to("look", epoch, mark, number, safe, doomed, marks=marks | {mark}, late=late | {mark} if is_late else late)
            elif at == "look":
                if claimed == epoch or break_ == "look":
                    keep = needs(last, bases)
                    old = frozenset(m for m in counting(bases, marks) if m < last)
                    yield to("prune", epoch, last, number, last, old | frozenset(d for m in old for d in needs(m, bases)
                                                                                 if d not in keep and d not in gone))
                else:
                    yield to("out", epoch, last, number, safe, frozenset())
            elif at == "prune":
                if not doomed:
                    yield to("run", epoch, last, number, safe, doomed)
                keep = needs(last, bases)
                for d in doomed:  # the marker first, then data that nobody needs
                    if d in marks:
                        yield to(at, epoch, last, number, safe, doomed - (set() if d not in keep else {d}), marks=marks - {d})
                    elif not any(m in marks for m in doomed):
                        yield to(at, epoch, last, number, safe, doomed - {d}, gone=gone | {d})

    def wrong(state):
        claimed, bases, marks, gone, late, all_ = state
        newest = max(counting(bases, marks), default=(0, 0))
        if newest in late:
            return "an ousted machine's checkpoint was taken"
        if newest != (0, 0) and needs(newest, bases) & gone:
            return "the newest checkpoint lacks data"
        for at, epoch, last, number, safe, doomed in all_:
            if safe and any(f > safe[0] and b < safe for f, b in bases):
                return "a safe checkpoint was lost"
        return None

    return search((0, frozenset(), frozenset(), frozenset(), frozenset(), (("claim", 0, (0, 0), 0, None, frozenset()),) * machines),
                  moves, wrong)
