#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Unmodified PyTorch trainings on an NVIDIA GPU: is a sample's projection of the whole right, what does the account of a step
say, and what does recording cost. Prints Markdown tables.

    bench/trace/run.py --fare build/fare --save full.json --only full        # 8 to 9 minutes: each whole, without fare
    bench/trace/run.py --fare build/fare --save sample.json --only sample --from full.json   # 6 minutes
    bench/trace/run.py --fare build/fare --save cost.json --only cost        # 6 minutes: five pairs each
    bench/trace/run.py --tables full.json sample.json cost.json

A sample ends 25 s after the first step, which the whole run's output tells. `cost` compares short runs under fare, with and without
--no-trace, by a clock inside. One program runs at a time."""
import argparse
import json
import os
import re
import signal
import statistics
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
# A compiled net starts cold in each run, and what it reads is in memory before the first: whole and sample start alike.
os.environ.update(TORCHINDUCTOR_FORCE_DISABLE_CACHES="1", PYTHONUNBUFFERED="1")
SCRIPTS = {  # arguments of the whole run, what fare must be told, arguments of a short run for the cost
    "conv": (["conv.py"], [], ["--steps", "250"]),
    "gpt": (["gpt.py", "--max_iters", "1600"], [], None),
    "loader": (["loader.py", "--steps", "2400"], [], None),
    "epochs": (["epochs.py"], [], None),
    "random": (["lengths.py"], [], None),
    "growing": (["lengths.py", "--grow"], [], None),
    "silent": (["silent.py"], ["--total-steps", "{steps}"], None),
    "mlp": (["mlp.py"], [], ["--steps", "9000"]),
}
STEPS = {"silent": 2000}
PROGRESS = re.compile(r"\b[1-9]\d*/\d+|iter [1-9]\d*:")


def command(name, *more):
    script, *arguments = SCRIPTS[name][0]
    return [sys.executable, str(HERE / "scripts" / script), *arguments, *more]


def whole(name):
    """Wall-clock time, and when the first step showed."""
    began, first = time.monotonic(), None
    p = subprocess.Popen(command(name), stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    text = b""
    while chunk := os.read(p.stdout.fileno(), 65536):
        text = (text + chunk)[-4096:]
        if first is None and PROGRESS.search(text.decode("utf-8", "replace")):
            first = time.monotonic() - began
    code = p.wait()
    return {"code": code, "wall_s": time.monotonic() - began, "first_s": first, "tail": text.decode("utf-8", "replace")[-300:] if code else ""}


def sample(name, fare, after_s, before_s, more=()):
    told = [w.format(steps=STEPS.get(name)) for w in SCRIPTS[name][1]]
    limit = f"{before_s + after_s:.0f}s"
    p = subprocess.run([fare, "run", "--sample", "--no-ledger", "--no-cloud", "--json", "--within", "0.1%", "--max-time", limit, *told,
                        *more, "--", *command(name)], capture_output=True, text=True)
    try:
        run = json.loads(p.stdout)["runs"][0]
    except (ValueError, LookupError):
        return {"code": p.returncode, "error": p.stderr[-500:]}
    keep = ("ended", "stopped_by", "steps", "total_steps", "step_ms", "steady", "projection", "account", "progress", "taints", "problem", "use")
    return {"code": p.returncode, **{k: run[k] for k in keep if k in run}, "said": p.stderr[-800:]}


CLOCKED = r"""
import sys, time, runpy, atexit
import torch
opened = []
step = torch.optim.Optimizer.step
import torch.optim as o
def wrap(kind):
    inner = kind.step
    def counted(self, *a, **k):
        r = inner(self, *a, **k)
        if counted.n % 250 == 20:
            if not opened: torch.cuda.synchronize()
            opened.append(time.perf_counter())
        counted.n += 1
        return r
    counted.n = 0
    kind.step = counted
    return counted
counters = [wrap(k) for k in (o.SGD, o.Adam, o.AdamW)]
def end():
    torch.cuda.synchronize()
    n = sum(c.n for c in counters)
    print("\nCLOCK", (n - 21) / (time.perf_counter() - opened[0]), flush=True)
    print("PARTS", *(f"{1e3 * (b - a) / 250:.4f}" for a, b in zip(opened, opened[1:])), flush=True)
atexit.register(end)
sys.argv = sys.argv[1:]
sys.path.insert(0, sys.argv[0].rsplit("/", 1)[0])
runpy.run_path(sys.argv[0], run_name="__main__")
"""


def clocked(name, fare, on):
    """Steps per second after the first 20, by a clock around the script, which runs under fare; and ms per step of each 250 steps.
    Four cores: a host-bound step takes longer each time the system moves it."""
    line = command(name, *SCRIPTS[name][2])
    told = [] if on else ["--no-trace"]
    p = subprocess.run([fare, "run", "--no-ledger", "--no-cloud", "--json", *told, "--", line[0], "-c", CLOCKED, *line[1:]],
                       capture_output=True, text=True, preexec_fn=lambda: os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:4]))
    rate = re.search(r"CLOCK (\S+)", p.stderr)
    try:
        account = json.loads(p.stdout)["runs"][0].get("account", {})
    except (ValueError, LookupError):
        account = {}
    parts = re.search(r"PARTS (.*)", p.stderr)
    return {"rate": float(rate.group(1)) if rate else None, "account": account, "parts_ms": parts.group(1).split() if parts else [], **({} if rate else {"error": p.stderr[-300:]})}


def cost(name, fare, pairs):
    rows = []
    for i in range(pairs):
        row = {}
        for on in ((False, True) if i % 2 == 0 else (True, False)):
            row["with" if on else "without"] = clocked(name, fare, on)
        rows.append(row)
        print(f"  {name}: {[(k, v['rate']) for k, v in row.items()]}", file=sys.stderr, flush=True)
    return rows


def percent(x):
    return f"{100 * x:.1f} %"


def tables(data):
    full, sampled, costs = data.get("full", {}), data.get("sample", {}), data.get("cost", {})
    if full or sampled:
        print("| training | whole | projected | interval | error | covered | steps from | unsteady | GPU works | data | sync | host | precision | launches/step |")
        print("|---|---|---|---|---|---|---|---|---|---|---|---|---|---|")
    for name in SCRIPTS:
        f, s = full.get(name), sampled.get(name)
        if not (f or s):
            continue
        p, a = (s or {}).get("projection", {}), (s or {}).get("account", {})
        wall = f["wall_s"] if f else None
        share = lambda k: percent(a[k]) if k in a else "–"  # noqa: E731
        print("|", " | ".join([
            name, f"{wall:.1f} s" if wall else "–", f"{p['wall_s']:.1f} s" if "wall_s" in p else "–",
            f"{p.get('low_s', 0):.1f} to {p.get('high_s', 0):.1f}" if "low_s" in p else "–",
            percent(p["wall_s"] / wall - 1) if wall and "wall_s" in p else "–",
            ("yes" if p["low_s"] <= wall <= p["high_s"] else "**no**") if wall and "low_s" in p else "–",
            str((s or {}).get("progress", {}).get("source", "–")), str((s or {}).get("progress", {}).get("unsteady", "–")),
            share("busy_share"), share("data_share"), share("sync_share"), share("host_share"), a.get("precision", "–"),
            f"{a['launches_per_step']:.0f}" if "launches_per_step" in a else a.get("off", "–")]), "|")
    if costs:
        print("\n| training | steps/s without | with | cost, median of pairs | each pair | launches/s | recorded |")
        print("|---|---|---|---|---|---|---|")
    for name, rows in costs.items():
        rows = [r for r in rows if r["with"]["rate"] and r["without"]["rate"]]
        if not rows:
            print(f"| {name} | failed |")
            continue
        each = [1 - r["with"]["rate"] / r["without"]["rate"] for r in rows]
        rate = statistics.median(r["with"]["rate"] for r in rows)
        account = rows[0]["with"]["account"]
        print("|", " | ".join([name, f"{statistics.median(r['without']['rate'] for r in rows):.2f}", f"{rate:.2f}", percent(statistics.median(each)),
                               ", ".join(percent(e) for e in each), f"{account.get('launches_per_step', 0) * rate:.0f}",
                               f"{account.get('traced_s', 0):.1f} s"]), "|")


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--fare", default="build/fare")
    p.add_argument("--only", default="full,sample,cost")
    p.add_argument("--scripts", default=",".join(SCRIPTS))
    p.add_argument("--from", dest="source", help="results of an earlier call, for the time of the first step")
    p.add_argument("--after", type=float, default=25)
    p.add_argument("--pairs", type=int, default=5)
    p.add_argument("--save")
    p.add_argument("--tables", nargs="+")
    o = p.parse_args()
    data = {}
    for path in [*(o.tables or []), *([o.source] if o.source else [])]:
        for kind, rows in json.loads(Path(path).read_text()).items():
            data.setdefault(kind, {}).update(rows)
    if o.tables:
        return tables(data)

    def keep(kind, name, row):
        data.setdefault(kind, {})[name] = row
        print(f"{kind} {name}: {json.dumps(row)[:1500]}", file=sys.stderr, flush=True)
        if o.save:
            Path(o.save).write_text(json.dumps(data, indent=1))

    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    names = [n for n in o.scripts.split(",") if n in SCRIPTS]
    first = "gpt" if "gpt" in names else "mlp"
    subprocess.run(command(first, "--max_iters" if first == "gpt" else "--steps", "20"), check=True)
    for kind in o.only.split(","):
        for name in names:
            if kind == "full":
                keep(kind, name, whole(name))
            elif kind == "sample":
                before = data.get("full", {}).get(name, {}).get("first_s") or 8
                keep(kind, name, sample(name, o.fare, o.after, before))
            elif kind == "cost" and SCRIPTS[name][2]:
                keep(kind, name, cost(name, o.fare, o.pairs))
    tables(data)


if __name__ == "__main__":
    main()
