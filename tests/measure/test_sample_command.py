#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""`fare -- CMD` asks what a training would cost, and stops it; `fare run -- CMD` measures one that is wanted anyway.
The trainings sleep 20 ms a step, so that their whole time follows from their number of steps."""
import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, os.environ["TESTS"])
from tap import done, report  # noqa: E402

FARE = os.environ["FARE"]
CONFIG = Path(os.environ["XDG_CONFIG_HOME"]) / "fare"
HERE = Path(os.environ["TMPDIR"])

# A machine that costs a cent a second, billed by the second.
(CONFIG / "offers").mkdir(parents=True)
(CONFIG / "providers").mkdir()
(CONFIG / "offers" / "mine.csv").write_text("""\
provider,name,region,zone,kind,gpu,gpus,gpu_memory_gib,vcpus,memory_gib,cpu,bare_metal,price,currency,per,date,source
acme,one,here,,on-demand,,,,4,16,,no,36.00,USD,hour,2026-11-01,mine
""")
(CONFIG / "providers" / "acme.json").write_text(json.dumps({"schema": "fare.tariffs/1", "tariffs": [
    {"id": "acme", "provider": "acme", "kind": "on-demand", "unit_ms": 1000, "source": "mine", "date": "2026-11-01"}]}))

# Steps to FARE_EVENTS, with or without the total; the loop never runs faster than 20 ms a step.
TRAIN = HERE / "train.py"
TRAIN.write_text("""
import json, os, sys, time
steps, tell_total = int(sys.argv[1]), sys.argv[2] == "total"
time.sleep(float(sys.argv[3]) if len(sys.argv) > 3 else 0)
out = open(os.environ["FARE_EVENTS"], "a", buffering=1)
began = time.monotonic()
for i in range(1, steps + 1):
    time.sleep(max(0, began + i * 0.02 - time.monotonic()))
    out.write(json.dumps({"step": i, **({"total_steps": steps} if tell_total else {})}) + "\\n")
open("finished", "w").close()
""")


def fare(*words, command=("1000", "total"), timeout=180):
    """Its exit code, stdout, stderr and the seconds it took; whether the training came to its end."""
    (HERE / "finished").unlink(missing_ok=True)
    began = time.monotonic()
    p = subprocess.run([FARE, *words, "--", sys.executable, str(TRAIN), *command], capture_output=True, text=True,
                       timeout=timeout, cwd=HERE)
    return p.returncode, p.stdout, p.stderr, time.monotonic() - began, (HERE / "finished").exists()


def seconds(words):
    parts = re.findall(r"([\d.]+) (h|min|s)\b", words)
    return sum(float(n) * {"h": 3600, "min": 60, "s": 1}[unit] for n, unit in parts)


def newest():
    p = subprocess.run([FARE, "runs", "export"], capture_output=True, text=True)
    return max((json.loads(line) for line in p.stdout.splitlines()), key=lambda run: run["id"])


# Steps of 20 and of 200 ms, 8 each, beside all others: the sample of a few seconds is too short, and ends before they do.
short = subprocess.Popen([FARE, "--max-time", "4s", "--no-report", "--ledger", str(HERE / "short.db"), "--", sys.executable, "-c", """
import time
for i in range(5000):
    time.sleep(0.2 if i // 8 % 2 else 0.02)
    print(f"step {i + 1}/5000", flush=True)
"""], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)

# ---- what would it cost?
code, out, err, took, finished = fare(command=("20000", "total", "1"))
lines = err.splitlines()
report("a sample says at the start that it will be stopped", lines and re.fullmatch(
    r"fare: sampling: this will be stopped once its total time is known; 'fare run -- \S.*\.\.\.' runs it to the end",
    lines[0]) and "python" in lines[0], lines[:1])
report("it is stopped, which is a success", code == 0 and not finished and took < 90, (code, took, err))
last = next((line for line in lines if line.startswith("fare: the whole training takes")), "")
match = re.match(r"fare: the whole training takes (.+?) \(between (.+?) and (.+?)\); kept as (\S+)$", last)
report("one line has the time with its interval, and where the run is kept", match, err)
if match:
    whole, low, high = map(seconds, match.groups()[:3])
    report("20,000 steps of 20 ms and a second before them are 401 s", low <= 402 and 400 <= high
           and abs(whole / 401 - 1) < 0.05, match.groups())
    report("the run is in the ledger", newest()["id"] == match.group(4), match.group(4))
report("then comes the quote, as for fare's own workloads", "and on rented machines" not in err
       and re.search(r"^train: 6 min \d\d s here", err, re.M), err)
page = Path(os.environ["XDG_DATA_HOME"]) / "fare" / "report.html"
report("and the report", f"The report, with plots: {page}" in err and page.exists(), err)
report("the command's stdout is its own", out == "", out)

code, out, err, took, finished = fare("--json", "--max-time", "3s", command=("20000", "total"))
record = json.loads(out)
report("--json has the run and its quote", record["schema"].startswith("fare.report/") and len(record["quotes"]) == 1
       and record["runs"][0]["stopped_by"] == "max-time" and record["runs"][0]["progress"]["source"] == "events", record)

# The same command on a rented machine, by its record: 10 s and a start of some minutes, a cent a second.
there = {**record["runs"][0], "id": "20261101T000000Z-aaaaaaaaaaaa", "full": True, "ended": "finished",
         "machine": {"provider": "acme", "instance_type": "one"}, "phases": {"wall_ns": 10**10}}
there = {k: v for k, v in there.items() if k not in ("projection", "stopped_by", "signal")}
there["command"] = ["/opt/env/bin/python3", *there["command"][1:]]
(HERE / "there.jsonl").write_text(json.dumps(there) + "\n")
p = subprocess.run([FARE, "runs", "import", str(HERE / "there.jsonl")], capture_output=True, text=True)
code, out, err, took, finished = fare("--max-time", "3s", command=("20000", "total"))
text = " ".join(err.split())
report("a record from a rented machine is its price", re.search(r"vCPU acme/one 5 min 10 s 5 min 00 s +3\.10 ", text)
       and "Cheapest: acme/one, 3.10 USD in 5 min 10 s, the time of another run." in text
       and "Next fare quote last --offer acme/one: its bill" in text, (p, err))

code, out, err, took, finished = fare("--max-time", "3s", "--label", "price_per_hour_usd=36.00", command=("20001", "total"))
text = " ".join(err.split())
report("a machine with a price of its own is not asked for one", re.search(r"and costs [34]\.\d+ USD; kept", text) and re.search(
    r"train: [67] min \d\d s here(?: \([^)]*\))?, at 36.00 USD an hour", text) and "name its offer" not in text, err)

code, out, err, took, finished = fare(command=("50", "total"))
report("a command that ends by itself is a full run", code == 0 and finished and "train finished after" in err
       and newest()["full"] is True and "train took" in err, err)

code, out, err, took, finished = fare(command=("20000", "none"))
report("without a total it stops when the rate is known: after about 30 s", code == 0 and not finished
       and 29 < took < 60 and "stopped: its step time is known, its total is not" in err, (took, err))
rate = re.search(r"steps were seen \(([\d.]+) a second\), but not how many the whole training has: give --total-steps N, "
                 r"or --total-epochs N", err)
report("it gives the rate, 50 a second, and the two ways to give the total", rate and 40 < float(rate.group(1)) < 51, err)
report("in one line, the last about the run", len(re.findall("unknown|but not how many", err)) == 1 and re.search(
    r"if it reports epochs; kept as \S+; next: fare quote last --total-steps N$", err, re.M), err)
report("and stores why", newest()["stopped_by"] == "no-total" and "projection" not in newest(), newest())

# ---- programs that count samples or parts of epochs
def samples_of(line, *words):
    """What `fare run --sample` says about a program that prints `line` of i = 1, 2, ... every 20 ms."""
    (HERE / "lines.py").write_text(f"import time\nfor i in range(1, 3000):\n    time.sleep(0.02)\n    print({line})\n")
    p = subprocess.run([FARE, "run", "--sample", *words, "--", sys.executable, str(HERE / "lines.py")], capture_output=True,
                       text=True, timeout=60)
    return p.stderr


# PyTorch's MNIST example: 64 samples in 20 ms are 3200 a second.
err = samples_of("'Train Epoch: 1 [%d/600000 (%d%%)]\\tLoss: 0.5' % (i * 64, i * 64 / 6000)", "--max-time", "11s")
told = re.search(r"^fare: lines after 10\.\d s: sample (\d+), (\d\d+) a second, loss 0\.5, at most .+ left of the sample$", err,
                 re.M)
report("samples are called samples on the way", told and int(told.group(1)) % 64 == 0
       and 2200 < int(told.group(2)) <= 3230, err)
report("and at the end", re.search(r"^fare: \d+ samples, [23]\d\d\d samples/s, loss 0\.5$", err, re.M)
       and re.search(r"^fare: samples were seen \(\d+ a second\), but not how many the whole training has: give "
                     r"--total-epochs N; kept as \S+; next: fare quote last --total-epochs N$", err, re.M), err)
# Hugging Face's Trainer without a bar: a thousandth of an epoch in 20 ms is an epoch in 20 s.
err = samples_of("{'loss': '2.5', 'grad_norm': '0.7', 'learning_rate': '4e-05', 'epoch': '%g' % (i / 1000)}",
                 "--max-time", "11s")
told = re.search(r"^fare: lines after 10\.\d s: in epoch 1, (\d\d\.\d) s an epoch, loss 2\.5, at most .+ left of the sample$",
                 err, re.M)
report("epochs have seconds, also within the first", told and 19.8 < float(told.group(1)) < 28, err)
report("in plain digits at the end too", re.search(r"^fare: epochs took \d\d\.\d s to \d\d\.\d s$", err, re.M)
       and re.search(r"^fare: epochs were seen \(\d\d\.\d s an epoch\), but", err, re.M) and "e+0" not in err, err)

# ---- a training that is wanted
code, out, err, took, finished = fare("run", "--total-steps", "900", "--offer", "acme/one", command=("900", "none"))
lines = [line for line in err.splitlines() if line.startswith("fare: ")]
report("'fare run' runs to the end, whatever is known", code == 0 and finished and newest()["ended"] == "finished",
       (code, err))
told = re.match(r"fare: train after 1\d\.\d s: step (\d+) of 900 \(\d+ %\), (?:loss \S+, )?(.+?) left \(± [\d.]+ %\), (0\.\d+) of (0\.\d+) USD$", lines[0])
report("where output is redirected a line after 10 s says how far it is", told, lines)
if told:
    step, left, paid, whole = int(told.group(1)), seconds(told.group(2)), float(told.group(3)), float(told.group(4))
    # A cent for each second that was begun: 10 to 12 at the time of the line, 18 and up for all of it.
    report("with the time left and the bill of a cent a second", 300 <= step <= 900 and abs(left - (900 - step) * 0.02) < 1.5
           and 0.09 < paid < 0.14 and 0.17 < whole < 0.23, told.groups())
run = newest()
wall = run["phases"]["wall_ns"] / 1e9
off = re.search(r"its projections on the way were off by (.*)", err)
checks = run.get("checks", [])
report("projections made on the way are kept, with how far each was off", len(checks) >= 2
       and all(abs(c["error"] - (c["wall_s"] / wall - 1)) < 1e-6 for c in checks), checks)
report("which is said, in the order of time", off and [float(x) for x in re.findall(r"([+-][\d.]+) %", off.group(1))]
       == [round(c["error"] * 100, 1) for c in sorted(checks, key=lambda c: c["after_s"])], (off, checks))
page = subprocess.run([FARE, "runs", "last", "--all"], capture_output=True, text=True).stdout
report("also by 'fare runs'", off and "Projected" in page and off.group(1).split(",")[0] in " ".join(page.split()), page)
report("the last line has time, cost, place and the next command", re.fullmatch(
    rf"fare: train took (?:1[89]|2\d)\.\d s and cost 0\.(?:1[89]|2)\d* USD; kept as {run['id']}; next: fare quote last", lines[-1]), lines[-1])
p = subprocess.run([FARE, "quote", "last", "--offer", "acme/one"], capture_output=True, text=True)
report("which works", p.returncode == 0 and "acme/one" in p.stdout, p)

code, out, err, took, finished = fare("run", "--sample", "--within", "10%", command=("20000", "total"))
report("--sample stops it, and says so", code == 0 and not finished and took < 60 and err.startswith(
    "fare: sampling: this will be stopped once its total time is known; without --sample it runs to the end\n"), err)
report("and says what comes next", re.search(r"\); kept as \S+; next: fare quote last$", err.splitlines()[-1]), err)
for words, text in ((("--within", "5%"), "--within is for samples"), (("--sample", "--full"), "exclude each other")):
    code, out, err, took, finished = fare("run", *words)
    report(f"{' '.join(words)} is refused before anything runs", code == 2 and text in err and not finished, err)
err = short.communicate(timeout=120)[1]
told = re.search(r"the sample was too short for a narrow interval: sample about (\S+ \S+(?: \d+ s)?) longer \(--max-time (\d+)s\)", err)
report("a sample that was too short says how much longer", told and int(told.group(2)) >= 4 + seconds(told.group(1)) > 5, err)
done()
