#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""One machine as several devices: an NVIDIA GPU at four locked clocks, its processor with 16, 8, 4, 2 and 1 cores. Every training is
measured on each and estimated from each for the others.

    bench/estimate_devices.py --fare build/fare --measure gpu --save gpu.json     # 7 minutes; as root, for nvidia-smi -lgc
    bench/estimate_devices.py --fare build/fare --measure cpu --save cpu.json     # 4 minutes
    bench/estimate_devices.py --estimates build/tests/advise/estimate/estimates gpu.json cpu.json

The last prints Markdown: the error and the coverage of the estimates that the program makes.
"""
import argparse
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

CLOCKS = (1980, 1500, 1000, 600)
CORES = (16, 8, 4, 2, 1)
TRACED = {"conv": ["conv.py", "--steps", "4000"], "gpt": ["gpt.py", "--no_compile", "--max_iters", "4000"],
          "mlp": ["mlp.py", "--steps", "90000"]}
SCRIPTS = Path(__file__).resolve().parent / "trace" / "scripts"
KEEP = ("name", "workload", "framework", "engine", "precision", "batch", "net", "parameters", "step_flops", "threads", "command", "machine",
        "libraries", "steps", "total_steps", "step_ms", "steady", "projection", "account", "use", "taints", "problem", "l1_transfer_ms",
        "l1_calculation_ms")


def fare(program, *arguments, cores=None):
    pin = (lambda: os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:cores])) if cores else None
    p = subprocess.run([program, *arguments, "--no-cloud", "--json"] if "--" not in arguments else [program, *arguments], preexec_fn=pin,
                       capture_output=True, text=True)
    try:
        return json.loads(p.stdout)
    except ValueError:
        print(f"{' '.join(arguments)}: {p.returncode}: {p.stderr[-400:]}", file=sys.stderr)
        return {}


def take(answer, device, rows, label=""):
    for run in answer.get("runs", []):
        row = {k: run[k] for k in KEEP if k in run}
        row["use"].pop("processes", None)
        rows.append({"device": device, "training": label + (run.get("workload") or run["name"]), "run": row})
        print(f"  {device} {rows[-1]['training']}: {run.get('step_ms')} ms", file=sys.stderr, flush=True)


def measure_gpu(program, clocks, rows, commands_only=False):
    for clock in clocks:
        subprocess.run(["nvidia-smi", "-lgc", f"{clock},{clock}"], check=True, stdout=subprocess.DEVNULL)
        if not commands_only:
            fare(program, "check", "--bandwidth")
            take(fare(program, "run", "all", "--max-time", "4s", "--no-ledger"), clock, rows)
        for name, (script, *arguments) in TRACED.items():
            take(fare(program, "run", "--sample", "--max-time", "19s", "--within", "0.1%", "--no-ledger", "--no-cloud", "--json", "--",
                      sys.executable, str(SCRIPTS / script), *arguments), clock, rows, f"pytorch {name}:")
    subprocess.run(["nvidia-smi", "-rgc"], check=False, stdout=subprocess.DEVNULL)


def measure_cpu(program, cores, rows):
    for n in cores:
        if n > len(os.sched_getaffinity(0)):
            continue
        fare(program, "check", "--bandwidth", cores=n)
        names = "mlp cnn cifar imdb textgen tweets l1".split()
        common = ("--engine", "cpu", "--max-time", "3s", "--no-ledger")
        take(fare(program, "run", *names, *common, cores=n), n, rows)
        take(fare(program, "run", "inception", "--batch", "1", *common, cores=n), n, rows)


def step_ms(run):
    return run.get("steady", {}).get("step_ms") or run["step_ms"]


def ask(tool, rows):
    """(training, from, to, true / estimated, factor of the interval, answer) for each ordered pair."""
    questions, about = [], []
    for a in rows:
        for b in rows:
            if a["training"] != b["training"] or a["device"] == b["device"]:
                continue
            machine, use = b["run"]["machine"], b["run"]["use"]
            there = {"rates": machine["rates"]} if "rates" in machine else {}
            if use.get("gpus"):
                there |= {"gpu": machine["gpu"], "gpus": 1, "clock_mhz": use["gpu_list"][0]["clock_mhz"]}
            else:
                there |= {"gpu": machine["cpu"], "gpus": 0, "cpus": machine["usable_cpus"]}
            # The host is the same in all: its own speed, which varies between measurements, is left out.
            questions.append(json.dumps({"run": {"schema": "fare.run/1", **a["run"]}, **there}))
            about.append((a, b))
    p = subprocess.run([tool], input="\n".join(questions) + "\n", capture_output=True, text=True)
    answers = p.stdout.splitlines()
    if p.returncode != 0 or len(answers) != len(about):
        sys.exit(f"{tool}: {len(answers)} answers to {len(about)} questions: {p.stderr}")
    for (a, b), answer in zip(about, answers):
        time, low, high, *kind = answer.split()
        true = step_ms(b["run"]) / step_ms(a["run"])
        yield a, b, true, float(time), float(low), float(high), " ".join(kind)


def figures(pairs):
    """Median error, its 90th percentile, pairs inside their interval, all pairs, median factor of the interval."""
    pairs = [p for p in pairs if p[3] > 0]
    errors = sorted(abs(t / true - 1) for _, _, true, t, *_ in pairs)
    inside = sum(low <= true <= high for _, _, true, t, low, high, _ in pairs)
    return (statistics.median(errors), errors[math.ceil(0.9 * len(errors)) - 1], inside, len(errors),
            statistics.median(high / t for _, _, _, t, _, high, _ in pairs))


def read(path):
    text = Path(path).read_text()
    return json.loads(text) if text.startswith("[") else [json.loads(line) for line in text.splitlines()]


def judge(tool, rows, each):
    pairs = list(ask(tool, rows))
    def line(name, chosen):
        if all(p[3] <= 0 for p in chosen):
            return print(f"| {name} | no estimate | | | |")
        median, p90, inside, count, width = figures(chosen)
        print(f"| {name} | {100 * median:.1f} % | {100 * p90:.1f} % | {inside} of {count} | × {width:.2f} |")
    print("| training | median error | 90th percentile | inside the 90 % interval | interval |\n|---|---|---|---|---|")
    for name in dict.fromkeys(r["training"] for r in rows):
        line(name, [p for p in pairs if p[0]["training"] == name])
    line("all", pairs)
    for a, b, true, t, low, high, kind in pairs if each else ():
        print(f"{a['training']} {a['device']} to {b['device']}: {true:.3f}, estimated {t:.3f} ({low:.3f} to {high:.3f}) {kind}")


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--fare", default="build/fare")
    p.add_argument("--measure", choices=("gpu", "commands", "cpu"))
    p.add_argument("--on", help="clocks in MHz or numbers of cores, instead of the usual ones")
    p.add_argument("--save")
    p.add_argument("--estimates", default="build/tests/advise/estimate/estimates")
    p.add_argument("--each", action="store_true", help="every pair")
    p.add_argument("files", nargs="*")
    o = p.parse_args()
    if o.measure:
        rows, os.environ["PYTHONUNBUFFERED"] = [], "1"
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as home:
            os.environ.update(HOME=home, XDG_DATA_HOME=home + "/data", XDG_CACHE_HOME=os.environ.get("XDG_CACHE_HOME", home + "/cache"))
            on = [int(x) for x in o.on.split(",")] if o.on else CORES if o.measure == "cpu" else CLOCKS
            try:
                if o.measure == "cpu":
                    measure_cpu(os.path.abspath(o.fare), on, rows)
                else:
                    measure_gpu(os.path.abspath(o.fare), on, rows, o.measure == "commands")
            finally:
                Path(o.save or "/dev/stdout").write_text(json.dumps(rows))
    for path in o.files:
        print(f"\n{path}\n")
        judge(o.estimates, read(path), o.each)


if __name__ == "__main__":
    main()
