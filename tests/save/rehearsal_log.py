# SPDX-License-Identifier: Apache-2.0
"""What a rehearsal's logs must show: every save in its time, every start from the newest save, and nothing deleted that must stay.

Nothing here compares a time with a time plus some allowance for a loaded machine. There are three logs: the job's (job.py), fare's looks and
pauses (fake_notes.c), and the store's manifests, markers and bases, noted as each was written. From them follows what fare had to do at each
look, whenever that came:

    saves     At a look that began an interval or more after the last save, the newest checkpoint that counted by then is saved. The
              interval is --save-every, or twice the time that the last save took (docs/saving.md, "How often"). No pause between looks is
              longer than until then, or than an eighth of it. So what an interruption takes is what was made in one interval, and the
              checkpoint that was being written or sent. Excuses are a store that fails, a lease that ran out, a notice whose time is over, and,
              for one look, a checkpoint that was finished just then.
    starts    A start begins from the newest save that was confirmed before it; an older one only where something was wrong with its
              store, and then its base says that newer ones were passed over.
    deletions A save that was whole once is still whole, or docs/saving.md, "What is deleted", lets it go: there are three newer ones that
              count, or it is one that a later start fenced out, and a save followed; never one that was passed over. A save with its
              marker has all of its data."""
import re
from collections import defaultdict

KEPT = 3          # saves, without --keep
AFTER_FAULT_S = 5  # fare's pause after a save that failed
LEAST_PAUSE_S = 0.05
QUIET = ("folder", "raw")  # formats that count when another checkpoint was begun
LEASE_LOST = re.compile("the lease ran out|the job was taken over by")


class Fault(Exception):
    pass


class Cycle:
    """A look of fare's saving thread, with what it saved, until its next pause."""

    def __init__(self, woke):
        self.woke, self.look, self.pause, self.asked_s = woke, None, None, None
        self.began, self.confirmed = None, False  # (time, step) of the save


class Log:
    """The notes of fake_notes.c, and of the network where the store is a bucket."""

    def __init__(self, path):
        lines = [line.split() for line in path.read_text().splitlines()] if path.exists() else []
        self.lines = sorted(((start, thread, float(at), *rest) for start, thread, at, *rest in lines), key=lambda line: line[2])

    def confirmed(self):
        """Saves with the time of their marker."""
        return {name_of(line[4]): line[2] for line in self.lines if line[3] == "confirmed"}

    def steps(self):
        return {name_of(line[4]): int(line[5]) for line in self.lines if line[3] == "began"}

    def bases(self):
        """The start that wrote each epoch's base."""
        return {int(line[4]): line[0] for line in self.lines if line[3] == "base"}

    def beats(self, start):
        return [line[2] for line in self.lines if line[0] == start and line[3] == "beat"]

    def turns(self, start):
        """Of the loop in which fare watches over the job."""
        return [line[2] for line in self.lines if line[0] == start and line[3] == "turn"]

    def threads(self, start):
        """The cycles of each saving thread of a start."""
        lines = [line for line in self.lines if line[0] == start]
        looking = dict.fromkeys(line[1] for line in lines if line[3] == "look")
        threads = [cycles_of([line for line in lines if line[1] == thread]) for thread in looking]
        for line in lines:  # a bucket's are noted by the network
            inside = [c for cycles in threads for c in cycles if c.look and c.look <= line[2] <= (c.pause or line[2])]
            if line[1] == "network" and inside:
                take(inside[-1], line)
        return threads


def name_of(text):
    """(epoch, number)"""
    return tuple(int(part) for part in text.split("-"))


def take(cycle, line):
    if line[3] == "began":
        cycle.began = (line[2], int(line[5]))
    elif line[3] == "confirmed":
        cycle.confirmed = True


def cycles_of(lines):
    cycles = [Cycle(lines[0][2])]
    for line in lines:
        if line[3] == "woke":
            cycles.append(Cycle(line[2]))
        elif line[3] == "look":
            cycles[-1].look = cycles[-1].look or line[2]
        elif line[3] == "pause":
            cycles[-1].pause, cycles[-1].asked_s = line[2], float(line[4])
        else:
            take(cycles[-1], line)
    return [c for c in cycles if c.look]


# ---- saves

def counts_at(cycle, earlier, step, written, kind):
    """Whether fare must know by this look that the checkpoint is complete. `written` has, by step, when a checkpoint was begun, whole and
    deleted."""
    it = written[step]
    if not it.get("whole", cycle.look) < cycle.look or it.get("deletes", cycle.pause + 1) < cycle.pause:
        return False
    if kind not in QUIET:
        return True
    follower = min((s for s in written if s > step), default=None)
    if follower is None or not written[follower].get("whole", cycle.look) < cycle.look:
        return False
    return any(it["whole"] < e.look and e.pause < written[follower]["begins"] for e in earlier)


def excused(cycle, cycles, faults):
    """Faults of the store: (from, to). A save that failed is tried again after a pause."""
    hit = [c.pause for c in cycles if c.pause and any(a <= c.pause and c.woke <= b for a, b in faults)]
    return any(c == cycle.pause for c in hit) or any(c <= cycle.pause and cycle.woke <= c + AFTER_FAULT_S for c in hit)


def lease_is_out(cycle, beats, lease_s):
    """It holds from the start of the last beat, which is no earlier than the end of the one before."""
    before = [at for at in beats if at < cycle.pause]
    return cycle.pause >= (before[-2] if len(before) > 1 else 0) + lease_s


def interval(last, every_s):
    """After a save."""
    return max(every_s, 2 * (last.pause - last.woke))


def judge_pause(cycle, last, every_s):
    every = interval(last, every_s) if last else every_s
    most = max(LEAST_PAUSE_S, every / 8, last.began[0] + every - cycle.look if last else 0)
    if cycle.asked_s > most:
        raise Fault(f"at {cycle.pause:.3f} fare paused for {cycle.asked_s:.3f} s, over {most:.3f} s")


def being_written(cycle, written):
    """The checkpoints that became whole around this look. It may have found one, and then that it changed while it was read."""
    return {s for s, w in written.items() if w["begins"] < cycle.pause and w.get("whole", cycle.pause) > cycle.woke}


def judge_saves(cycles, written, kind, every_s, excuse):
    """Of one thread and one copy of the job. Returns the looks at which a save was due and there was one to make."""
    last, due, tried = None, 0, set()
    for i, c in enumerate(cycles):
        if not c.pause:
            break  # killed, or the end
        steps = [s for s in written if counts_at(c, cycles[:i], s, written, kind)]
        every = interval(last, every_s) if last else 0
        must = steps and (not last or (max(steps) > last.began[1] and c.woke - last.began[0] >= every))
        due += bool(must)
        right = c.began and c.confirmed and c.began[1] >= max(steps) if must else not c.began or c.confirmed
        new = being_written(c, written) - tried if not right and not c.began else set()
        tried |= new  # the next look has no such excuse
        if not right and not new and not excuse(c):
            raise Fault(f"no save at {c.look:.3f}: step {max(steps) if steps else c.began[1]} was complete, "
                        + (f"the last was {last.began[1]} at {last.began[0]:.3f}" if last else "none was saved")
                        + f", the interval {every:.3f} s; began {c.began}, confirmed {c.confirmed}")
        if c.began and c.confirmed:
            last = c
        judge_pause(c, last, every_s)
    return due


def written_by(lines, start):
    """The job's copies of one start: [(first, last time, {step: {"begins", "whole", "deletes"}})]."""
    copies, whose = defaultdict(lambda: [None, None, defaultdict(dict)]), {}
    for who, at, what, *rest in lines:
        if what == "start":
            whose[who] = rest[1]
        if whose.get(who) != start:
            continue
        copy = copies[who]
        copy[0], copy[1] = copy[0] or float(at), float(at)
        if what in ("begins", "whole", "deletes"):
            copy[2][int(rest[0])][what] = float(at)
    # Files of an earlier copy that this one deletes are none of its own.
    return [(a, b, {s: w for s, w in steps.items() if "begins" in w}) for a, b, steps in copies.values()]


def judge_start(log, start, lines, kind, every_s, lease_s, faults, said):
    """`said`: what this start said to people."""
    threads, beats, due = log.threads(start), log.beats(start), 0
    for first, last, written in written_by(lines, start):
        overlap = lambda cycles: min(last, cycles[-1].pause or cycles[-1].look) - max(first, cycles[0].woke)
        if not threads:
            continue
        cycles = max(threads, key=overlap)
        saved = max((c.look for c in cycles if c.confirmed), default=0)  # an epoch whose lease was lost saves no more
        due += judge_saves(cycles, written, kind, every_s, lambda c: excused(c, cycles, faults)
                           or (c.look > saved and (LEASE_LOST.search(said) or lease_is_out(c, beats, lease_s))))
    return due


# ---- starts and deletions

class Kept:
    """The saves of a job, from snapshot to snapshot: each is taken while no fare runs."""

    def __init__(self):
        self.ever, self.gone, self.known = set(), set(), {}  # saves; bases by epoch: (save, passed)

    @staticmethod
    def fences(save, bases):
        return [(epoch, passed) for epoch, (base, passed) in bases.items() if save[0] < epoch and save > base]

    def newest(self, saves, bases):
        return max((s for s in saves if not self.fences(s, bases)), default=(0, 0))

    def look(self, whole, listed, bases, log, began, wrong):
        """`whole`: saves whose data was verified; `listed`: those with a marker; `bases`: by epoch. `began` has the time of each start;
        those in `wrong` had a store or a folder that was not right."""
        confirmed, starts = log.confirmed(), log.bases()
        for epoch in sorted(set(bases) - set(self.known)):
            start, (base, passed) = starts.get(epoch), bases[epoch]
            earlier = {e: b for e, b in bases.items() if e < epoch}
            before = self.ever | {s for s, at in confirmed.items() if start in began and at < began[start]}
            if base < self.newest(before, earlier) and not (passed and (start is None or start in wrong)):
                raise Fault(f"epoch {epoch} began from {base}, and {self.newest(before, earlier)} had been saved")
        self.ever |= whole | set(confirmed)
        if cut := sorted(s for s in self.ever & listed if s not in whole):
            raise Fault(f"{cut} have a marker, and not all of their data")
        for save in sorted(self.ever - whole - self.gone):
            self.judge_gone(save, bases)
            self.gone.add(save)
        self.known = dict(bases)

    def judge_gone(self, save, bases):
        fences = self.fences(save, bases)
        if any(passed for _, passed in fences):
            raise Fault(f"{save} is gone, which a start had passed over")
        if fences and not any(s[0] >= min(fences)[0] for s in self.ever):
            raise Fault(f"{save} is gone, and nothing was saved since")
        counting = sorted(s for s in self.ever if not self.fences(s, bases))
        if not fences and save in counting[-KEPT:]:
            raise Fault(f"{save} is gone, one of the last {KEPT} of {counting}")


def noted_request(head):
    """What a request to a bucket would be noted as; None: nothing."""
    if re.match(rb"PUT /\S*?/lease/[0-9]+/beat\.", head):
        return "beat"
    found = re.match(rb"PUT /\S*?/(?:saves/([0-9-]+)/(manifest|complete)|lease/([0-9]+)/base)[ ?]", head)
    if not found:
        return None
    if found[3]:
        return f"base {int(found[3])}"
    step = re.search(rb'"step":\s*(-?[0-9]+)', head)
    return f"confirmed {found[1].decode()}" if found[2] == b"complete" else f"began {found[1].decode()} {int(step[1]) if step else -1}"
