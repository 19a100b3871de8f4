#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""--max-spend and --max-time: a run ends when its money or its time is over, whatever it told until then. Offers of
the user's own cost a cent a second, so that three cents are three seconds."""
import json
import os
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, os.environ["TESTS"])
from tap import done, report  # noqa: E402

FARE = os.environ["FARE"]
CONFIG = Path(os.environ["XDG_CONFIG_HOME"]) / "fare"
HERE = Path(os.environ["TMPDIR"])
SPENT = "fare: stopped: --max-spend 0.03 USD is spent on acme/one"

(CONFIG / "offers").mkdir(parents=True)
(CONFIG / "providers").mkdir()
(CONFIG / "offers" / "mine.csv").write_text("""\
provider,name,region,zone,kind,gpu,gpus,gpu_memory_gib,vcpus,memory_gib,cpu,bare_metal,price,currency,per,date,source
acme,one,here,,on-demand,,,,4,16,,no,36.00,USD,hour,2026-11-01,mine
long,one,here,,on-demand,,,,4,16,,no,36.00,USD,hour,2026-11-01,mine
nobody,hours,here,,on-demand,,,,4,16,,no,36.00,USD,hour,2026-11-01,mine
nobody,months,here,,monthly,,,,4,16,,no,0.02,USD,month,2026-11-01,mine
""")
for provider, least in (("acme", 0), ("long", 600)):
    (CONFIG / "providers" / f"{provider}.json").write_text(json.dumps({"schema": "fare.tariffs/1", "tariffs": [
        {"id": provider, "provider": provider, "kind": "on-demand", "unit_ms": 1000, "minimum_s": least, "source": "mine",
         "date": "2026-11-01"}]}))


def fare(*words, spend="0.03", offer="acme/one"):
    """Its exit code, the runs of its record, stderr, and the seconds it took."""
    began = time.monotonic()
    given = (["--max-spend", spend] if spend else []) + (["--offer", offer] if offer else [])
    p = subprocess.run([FARE, "run", "--json", "--no-ledger", *given, *words], capture_output=True, text=True, timeout=120)
    runs = json.loads(p.stdout)["runs"] if p.stdout else []
    return p.returncode, runs, p.stderr, time.monotonic() - began


def shown(*words):
    p = subprocess.run([FARE, "run", "--no-ledger", "--max-spend", "0.03", "--offer", "acme/one", *words],
                       capture_output=True, text=True, timeout=120)
    return p.returncode, p.stderr.splitlines()


TELLS = """
import json, os, time
for i in range(1, 1000):
    with open(os.environ["FARE_EVENTS"], "a") as f:
        f.write(json.dumps({"step": i, "loss": 1 / i}) + "\\n")
    time.sleep(0.05)
"""
CLEAN = "import signal, sys, time\nsignal.signal(signal.SIGTERM, lambda *_: sys.exit(0))\nprint('ready', flush=True)\ntime.sleep(60)"


def about_three(run):
    return run and 2.2 <= run["phases"]["wall_ns"] / 1e9 <= 4.5


code, runs, error, took = fare("--", "sleep", "60")
report("a command that tells nothing ends when the money is spent, as planned: 0", code == 0 and about_three(runs[0])
       and runs[0]["ended"] == "stopped" and runs[0]["full"] is False and took < 6, (code, runs, error, took))
code, runs, error, took = fare("--", sys.executable, "-c", TELLS)
report("so does one that tells its steps", code == 0 and about_three(runs[0]) and runs[0]["ended"] == "stopped"
       and 20 <= runs[0]["steps"] <= 60, (code, runs, error))
code, runs, error, took = fare("--sample", "--total-steps", "1000", "--within", "0.1%", "--", sys.executable, "-c", TELLS)
report("or whose end is known", runs[0]["ended"] == "stopped" and about_three(runs[0])
       and 45 <= runs[0]["projection"]["wall_s"] <= 60, (runs, error))
code, runs, error, took = fare("--", sys.executable, "-c", CLEAN)
report("how it ended is in the record", code == 0 and runs[0]["ended"] == "stopped"
       and runs[0]["exit_code"] == 0, (code, runs, error))
code, runs, error, took = fare("--", "sh", "-c", "sleep 1; kill -TERM $$")
report("one that somebody else ends has its own exit code", code == 128 + 15 and runs[0]["ended"] == "failed",
       (code, runs, error))
for words in (["mlp"], ["--", "sleep", "60"]):
    code, runs, error, took = fare("--full", *words)
    report(f"--full is not cut off by money: {words[-1]}", code == 2 and "not for --full" in error and not runs, error)
code, lines = shown("--", "sleep", "60")
report("it is said", SPENT in lines and lines[0].startswith("fare: sleep stopped after"), lines)
code, runs, error, took = fare("--", "true")
report("a command that ends before is not touched", code == 0 and runs[0]["ended"] == "finished", (code, runs, error))
code, lines = shown("--", "true")
report("and nothing is said", code == 0 and not any("spend" in line for line in lines), lines)

code, runs, error, took = fare("mlp", "--within", "0.1%")
report("a workload ends when the money is spent", code == 0 and about_three(runs[0]) and runs[0]["ended"] == "stopped"
       and runs[0]["steps"] > 0, (code, runs, error))
report("it is said too", SPENT in error.splitlines(), error)
code, runs, error, took = fare("mlp", "--steps", "1000000")
report("also one of so many steps", code == 0 and about_three(runs[0]) and runs[0]["ended"] == "stopped", (code, runs))
code, runs, error, took = fare("mlp", "cnn", "imdb", "--steps", "1000000")
report("three workloads have no more than one", code == 0 and len(runs) == 1 and took < 6 and SPENT in error.splitlines(),
       (code, len(runs), took, error))
code, runs, error, took = fare("mlp", "--steps", "1000000", "--repeat", "3")
report("nor has one that is repeated", code == 0 and len(runs) == 1 and about_three(runs[0]) and took < 6,
       (code, len(runs), took, error))
code, runs, error, took = fare("mlp", "--steps", "3")
report("a short one is not touched", code == 0 and runs[0]["ended"] == "sampled" and "spent" not in error, (runs, error))
began = time.monotonic()
p = subprocess.run([FARE, "--no-ledger", "--no-cloud", "--max-spend", "0.03", "--offer", "acme/one"],
                   capture_output=True, text=True, timeout=120)
report("nor do all the samples of bare fare cost more", p.returncode == 0 and time.monotonic() - began < 8
       and SPENT in p.stderr.splitlines(), p)

mark = HERE / "started"
for name, words in (("a workload", ["mlp", "--steps", "3"]), ("a command", ["--", "touch", str(mark)])):
    code, runs, error, _ = fare(*words, offer=None)
    report(f"{name}: money needs an offer", code == 2 and "--max-spend needs --offer" in error, error)
    code, runs, error, _ = fare(*words, offer="acme/two")
    report(f"{name}: an offer that nobody makes", code == 1 and "no offer is called 'acme/two'" in error, error)
    for amount in ("0", "-1", "much", "1 EUR", ""):
        code, runs, error, _ = fare(f"--max-spend={amount}", *words, spend=None)
        report(f"{name}: '{amount}' is no amount", code == 2 and "--max-spend" in error, error)
    code, runs, error, _ = fare(*words, offer="long/one", spend="5.99")
    report(f"{name}: ten minutes at least are 6.00 USD", code == 2 and "5.99 USD is not enough to start" in error, error)
    report(f"{name}: nothing was started", not mark.exists() and not runs)
    code, runs, error, _ = fare(*words, offer="long/one", spend="6")
    report(f"{name}: which 6 USD pay for", code == 0 and runs[0]["ended"] in ("finished", "sampled"), (code, runs, error))

for name, rule in (("hours", "per second"), ("months", "per started month of 30 days")):
    code, runs, error, _ = fare("--", "true", offer=f"nobody/{name}")
    report(f"an assumed rule is named as it is applied: {name}", code == 0 and
           f"--max-spend uses an assumed rule: {rule}; no billing rule of this provider is known" in error, error)
code, runs, error, _ = fare("--", "touch", str(mark), offer="nobody/months", spend="0.019")
report("a started month is 0.02 USD", code == 2 and "0.019 USD is not enough to start" in error, error)

code, runs, error, took = fare("--max-time", "2s", "--", "sleep", "60", spend=None, offer=None)
report("--max-time ends a command that tells nothing", code == 0 and runs[0]["ended"] == "sampled"
       and runs[0]["stopped_by"] == "max-time" and 1.8 <= runs[0]["phases"]["wall_ns"] / 1e9 <= 3.5, (code, runs, error))
p = subprocess.run([FARE, "run", "--no-ledger", "--max-time", "1s", "--", "sleep", "60"], capture_output=True, text=True)
report("and says why", "sleep ran 1." in p.stderr and "; stopped at the time limit (1 s)\n" in p.stderr, p)
code, lines = shown("--grace", "2s", "--", "sh", "-c", "trap '' TERM; sleep 30 & wait; sleep 30")
report("a command that takes its time to end costs more, and that is said", SPENT in lines
       and any("to stop, which is billed too" in line for line in lines), lines)
done()
