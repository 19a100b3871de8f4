#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A crontab in other schedulers' words, against croniter, another cron: systemd's own next elapses (systemd-analyze calendar), and an
evaluation of what EventBridge, Google, Slurm and Azure's Logic App are given, over two years."""
import datetime
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, os.path.join(os.environ["ROOT"], "tests"))
sys.path.insert(0, os.path.join(os.environ["ROOT"], "build/python"))
from tap import done, report, skip  # noqa: E402

try:
    from croniter import croniter
except ImportError:
    skip("schedules are as another cron has them", "croniter is not installed")
    done()

FARE = os.environ["FARE"]
UTC = datetime.timezone.utc
FROM, DAYS = datetime.datetime(2026, 11, 17, 6, 30, tzinfo=UTC), 731
scratch = tempfile.TemporaryDirectory(prefix="fare-emit-time-")
top = Path(scratch.name)

FIXED = ["0 3 * * *", "*/5 * * * *", "0 */4 * * *", "30 8 * * mon-fri", "0 0 1 * *", "0 0 1,15 * mon", "0 0 13 * fri", "15,45 1-5/2 * jan,jul *",
         "0 0 31 * *", "0 0 29 2 *", "59 23 28-31 12 sun", "0 12 * * 0", "0 12 * * 7", "0 12 * * 5-7", "0 0 1-31 * mon", "0 6 10 * 0-6",
         "5/20 * 2 */3 *", "@hourly", "@weekly", "@yearly", "0 0 */2 * *", "0 0 */2 * mon", "7 7 1-7 * *", "0 0 * */2 1,3,5"]
rng = random.Random(22)


def field(low, high):
    kind = rng.randrange(6)
    a, b = sorted(rng.sample(range(low, high + 1), 2))
    return ["*", str(a), f"{a}-{b}", f"*/{rng.randint(2, 9)}", f"{a},{b}", f"{a}-{b}/{rng.randint(2, 5)}"][kind]


def made_up():
    return " ".join((field(0, 59), field(0, 23), field(1, 28), field(1, 12), field(0, 6)))


EXPRESSIONS = FIXED + [made_up() for _ in range(26)]
LONG = os.environ.get("FARE_TEST_WHOLE")
if LONG:
    EXPRESSIONS += [made_up() for _ in range(1000)]


NAMED = {"@hourly": "0 * * * *", "@weekly": "0 0 * * 0", "@yearly": "0 0 1 1 *"}


def second(text):
    """The fields for croniter, and whether a day matches by either day field. croniter 1.4.1 differs from crontab(5) in three ways: 5/20 is
    5 alone, where cron has 5-59/20; a range of all days is '*', where crontab(5) has a field restricted if it has no '*'; and */3 in the
    day of the month leaves out the first of March in some years."""
    f = NAMED.get(text, re.sub(r"^5/20", "5-59/20", text)).split()
    either = f[2][0] != "*" and f[4][0] != "*"
    if either and (f[2] == "1-31" or f[4] == "0-6"):
        f[2] = f[4] = "*"
    f[2] = re.sub(r"^\*/(\d+)$", lambda m: ",".join(map(str, range(1, 32, int(m[1])))), f[2])
    return f, either


def starts(text, count, start=FROM):
    fields, either = second(text)
    text = " ".join(fields)
    it, out = croniter(text, start, day_or=either), []
    while len(out) < count:
        at = it.get_next(datetime.datetime)
        if at > start + datetime.timedelta(days=4 * 366 * 3):
            break
        out.append(at)
    return out


def emit(what, text, *more):
    offer = {"gcloud": "gcp/x", "aws": "aws/x", "azure": "azure/x"}.get(what)
    options = ["--up", "1s", "--limit", "30s"] + (["--offer", offer, "--region", "r1", "--rate", "1"] if offer else [])
    p = subprocess.run([FARE, "cron", text, "--emit", what, *options, *more, "-o", top, "--", "true"], capture_output=True, text=True)
    return p.returncode, p.stderr


def both_days(text):
    f = text.split()
    return len(f) == 5 and f[4] not in ("*", "0-6") and f[2] not in ("*", "1-31") and (f[2][0] == "*" or f[4][0] == "*")


# ---- systemd
def elapses(lines, count, zone_env="UTC", base=FROM):
    """The next elapses of several OnCalendar= lines together, as systemd finds them."""
    out = set()
    for line in lines:
        p = subprocess.run(["systemd-analyze", "calendar", f"--iterations={count}", f"--base-time={base:%Y-%m-%d %H:%M:%S} UTC", line],
                           capture_output=True, text=True, env={**os.environ, "TZ": zone_env, "LC_ALL": "C"})
        assert p.returncode == 0, p.stderr
        times = re.findall(r"(?:Next elapse|Iteration #\d+|Iter\. #\d+): \w+ (\d+-\d+-\d+ \d+:\d+:\d+) UTC", p.stdout)
        out |= {datetime.datetime.fromisoformat(t).replace(tzinfo=UTC) for t in times}
    return sorted(out)[:count]


def on_calendar():
    return re.findall(r"^OnCalendar=(.*)$", (top / "fare-task.timer").read_text(), re.M)


if shutil.which("systemd-analyze"):
    wrong = []
    for text in EXPRESSIONS:
        code, said = emit("systemd", text)
        mine, other = elapses(on_calendar(), 12) if code == 0 else said, starts(text, 12)
        if mine[:len(other)] != other[:len(mine)] or min(len(mine), len(other)) < 2:
            wrong.append(f"{text}: {on_calendar()}: {mine[:3]}, {other[:3]}")
    report(f"systemd elapses when cron starts: {len(EXPRESSIONS)} schedules", not wrong, "\n".join(wrong))
    emit("systemd", "0 0 1,15 * mon", "--time-zone", "Europe/Berlin")
    lines = on_calendar()
    report("days of the month or of the week are two lines, with their zone",
           lines == ["*-*-1,15 0:0:00 Europe/Berlin", "Mon *-*-* 0:0:00 Europe/Berlin"], lines)
    report("in Berlin, midnight is 23:00 UTC in winter", elapses(lines, 1)[0] == datetime.datetime(2026, 11, 22, 23, tzinfo=UTC), elapses(lines, 1))
    # What docs/scheduled-tasks.md says of the clock change: 2027-03-28 02:30 does not exist, 2027-10-31 02:30 is there twice.
    emit("systemd", "30 2 * * *", "--time-zone", "Europe/Berlin")
    spring = elapses(on_calendar(), 2, base=datetime.datetime(2027, 3, 27, 12, tzinfo=UTC))
    autumn = elapses(on_calendar(), 2, base=datetime.datetime(2027, 10, 30, 12, tzinfo=UTC))
    report("systemd skips a time that does not exist", f"{spring[0]:%m-%d %H:%M}" == "03-29 00:30", spring)
    report("systemd starts once in the hour that comes twice, the first time",
           [f"{t:%m-%d %H:%M}" for t in autumn] == ["10-31 00:30", "11-01 01:30"], autumn)
    emit("systemd", "0 3 * * *")
    p = subprocess.run(["systemd-analyze", "verify", top / "fare-task.service", top / "fare-task.timer"], capture_output=True, text=True)
    report("systemd-analyze verify finds nothing", p.returncode == 0 and not p.stderr, p.stderr)
else:
    skip("systemd elapses when cron starts", "systemd-analyze is not installed")


# ---- expressions with lists and ranges, day by day
def numbers(text, low, high, names=()):
    out = set()
    for part in text.split(","):
        ends = [names.index(e) if e in names else int(e) for e in part.split("-")] if part != "*" else [low, high]
        out |= set(range(ends[0], ends[-1] + 1))
    return out


WEEK = ["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"]
DATES = [FROM.date() + datetime.timedelta(days=d) for d in range(DAYS)]


def aws_days(text):
    """EventBridge: '?' in one day field means that the other decides."""
    minute, hour, day, month, weekday, year = text[5:-1].split()
    assert year == "*" and "?" in (day, weekday) and day != weekday and "/" not in text
    months = numbers(month, 1, 12)
    days = {d for d in DATES if d.month in months and
            (d.day in numbers(day, 1, 31) if weekday == "?" else d.isoweekday() % 7 in numbers(weekday, 0, 6, WEEK))}
    return days, {(h, m) for h in numbers(hour, 0, 23) for m in numbers(minute, 0, 59)}


def azure_days(workflow):
    """The trigger's condition, with Logic Apps' functions (workflow-definition-language-functions-reference) as Python's."""
    trigger = json.loads(workflow)["triggers"]["Schedule"]
    expression = trigger["conditions"][0]["expression"]
    code = re.sub(r"\b(and|or)\(", r"\1_(", expression[1:]).replace("true", "True")
    plan = trigger["recurrence"]["schedule"]
    names = {"and_": lambda *a: all(a), "or_": lambda *a: any(a), "contains": lambda a, x: x in a, "createArray": lambda *a: list(a),
             "dayOfWeek": lambda t: t.isoweekday() % 7, "formatDateTime": lambda t, f: t.strftime({"MM": "%m", "dd": "%d"}[f]),
             "convertFromUtc": lambda t, zone: t}
    compiled = compile(code, "condition", "eval")
    days = {d for d in DATES if eval(compiled, {"__builtins__": {}, **names, "utcNow": lambda d=d: d})}
    return days, {(h, m) for h in plan["hours"] for m in plan["minutes"]}


def cron_days(text):
    """The same from croniter: which days match (a day's first start), and the times of a day."""
    fields, either = second(text)
    midnight = " ".join(["0", "0", *fields[2:]])
    it, days, last = croniter(midnight, FROM.replace(hour=0, minute=0) - datetime.timedelta(minutes=1), day_or=either), set(), DATES[-1]
    while True:
        day = it.get_next(datetime.datetime).date()
        if day > last:
            break
        days.add(day)
    it, times = croniter(f"{fields[0]} {fields[1]} * * *", FROM.replace(hour=0, minute=0) - datetime.timedelta(minutes=1)), set()
    while len(times) < 1441:
        at = it.get_next(datetime.datetime)
        if at.date() != FROM.date():
            break
        times.add((at.hour, at.minute))
    return days, times


wrong = {"aws": [], "gcloud": [], "slurm": [], "azure": []}
for text in EXPRESSIONS:
    expected = cron_days(text)
    for what in wrong:
        code, said = emit(what, text)
        if what != "azure" and both_days(text):
            if code != 2 or "both" not in said and "two day fields" not in said:
                wrong[what].append(f"{text}: not refused: {said}")
            continue
        if code != 0:
            wrong[what].append(f"{text}: {said}")
            continue
        if what == "azure":
            found = azure_days((top / "workflow.json").read_text())
        elif what == "aws":
            parts = [aws_days(x) for x in re.findall(r"^expression(?:_2)?='(cron.*)'$", (top / "set-up.sh").read_text(), re.M)]
            found = set().union(*(p[0] for p in parts)), parts[0][1]
            assert all(p[1] == parts[0][1] for p in parts)
        else:
            file, pattern = (("set-up.sh", r"^schedule='(.*)'$") if what == "gcloud" else ("scrontab", r"^([0-9*].*) @KEEP@/task.sh$"))
            found = cron_days(re.search(pattern, (top / file).read_text(), re.M).group(1))
        if found != expected:
            wrong[what].append(f"{text}: {len(found[0] ^ expected[0])} days, {len(found[1] ^ expected[1])} times differ")
for what, lines in wrong.items():
    report(f"{what} starts when cron does: {len(EXPRESSIONS)} schedules over two years", not lines, "\n".join(lines))
done()
