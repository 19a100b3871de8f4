# SPDX-License-Identifier: Apache-2.0
"""Runs for the tests of reports: records with figures that the tests know, as lines of JSON.

Every name that a person or a program may choose holds something that would break a page: NASTY.
"""
import json
import math

NASTY = '<script>alert("x")</script> & \'q\' ]]> 名前 é'
TURNED = "box\u202egpj.exe\u2066"  # reads as "boxexe.jpg" where its controls are obeyed


def record(number, workload, machine, seconds, price=None, framework="fare", **more):
    """A whole training that took so long; `price` in USD an hour."""
    labels = [{"key": "price_per_hour_usd", "value": str(price)}] if price is not None else []
    run = {"schema": "fare.run/1", "id": f"20260101T{number:06d}Z-{number:012x}",
           "started": "2026-01-01T00:00:00Z", "name": workload, "workload": workload, "framework": framework,
           "machine": {"name": machine}, "labels": labels, "ended": "finished", "full": True,
           "phases": {"wall_ns": int(seconds * 1e9)}}
    run.update(more)
    return run


def machines(count, workload="cnn"):
    """`count` machines: the n-th takes 100·n seconds at 36/n^1.5 dollars an hour, and one is much dearer."""
    runs = []
    for n in range(1, count + 1):
        price = round(36 / n ** 1.5, 6)
        name = f"machine-{n:02d}" if n % 3 else f"a machine with quite a long name, number {n:02d}"
        runs.append(record(n, workload, name, 100.0 * n, price, framework="fare" if n % 2 else "other"))
    return runs


def epochs(number, workload, machine, accuracies, framework="fare"):
    return record(number, workload, machine, 60, 1, framework, epoch_list=[
        {"epoch": i + 1, "train_ns": 10 ** 9, "test_accuracy": a} for i, a in enumerate(accuracies)])


def sampled(number, machine="H100", workload="imdb"):
    """With a GPU: use, power and clocks, step times with a warm-up of 20 of 200 steps."""
    samples = [{"at_s": i * 0.5, "cpu_percent": 100 + 20 * math.sin(i / 5), "gpu_percent": 90 + i % 7,
                "power_w": 400 + 50 * math.sin(i / 9), "clock_mhz": 1980 - i} for i in range(120)]
    steps = [30.0 - i for i in range(10)] + [20 + 0.1 * (i % 5) for i in range(90)]
    run = record(number, workload, machine, 60, 2.5, samples=samples, steps=200, step_plot_ms=steps,
                 steady={"kind": "warm-up", "first_step": 20, "steps": 180, "step_ms": 20.2, "low_ms": 20.1,
                         "high_ms": 20.3, "outliers": 0})
    run["machine"]["gpu"] = "NVIDIA H100"
    return run


def crowded(first, workload="tweets"):
    """What is hard to draw: a steady part at the far right, whiskers close to each other, a name without a space."""
    late = sampled(first, "late box", workload)
    late["steady"].update(first_step=160, steps=40)
    return [late, record(first + 1, workload, "x" * 120, 70, 1.5), record(first + 9, workload, TURNED, 71, 1.6)] + [
        record(first + 2 + i, workload, f"machine-{i} of a provider", 90, round(1.2 ** i, 6), phases={"wall_ns": 20 * 10 ** 9},
               full=False, ended="sampled", projection={"wall_s": 90, "low_s": 60, "high_s": 120}) for i in range(6)]


def batches(first, sizes=(16, 32, 64, 128, 256)):
    """Step times of 5 ms + 0.1 ms a sample in the steady part; over the whole run, as it says itself, twice that."""
    runs = []
    for i, size in enumerate(sizes):
        ms = 5 + 0.1 * size
        runs.append(record(first + i, "mlp", "box", 30, 1, batch=size, samples_per_s=size / ms * 500,
                           steady={"kind": "flat", "first_step": 0, "steps": 100, "step_ms": ms,
                                   "low_ms": ms * 0.95, "high_ms": ms * 1.05}))
    return runs


def scaling(first, times=((1, 1000), (2, 520), (4, 280), (8, 160))):
    runs = []
    for i, (gpus, seconds) in enumerate(times):
        run = record(first + i, "inception", f"{gpus} A100", seconds, gpus * 2, use={"gpus": gpus})
        run["machine"].update(gpu="NVIDIA A100", gpus=gpus, provider="aws")
        runs.append(run)
    return runs


def nasty(number):
    run = record(number, NASTY, NASTY, 50, 1, framework=NASTY, taints=[NASTY], source=NASTY)
    run["name"] = NASTY
    return run


def write(path, runs):
    path.write_text("".join(json.dumps(run) + "\n" for run in runs))
    return path


def everything():
    runs = machines(40) + [sampled(100)] + batches(200) + scaling(300) + [nasty(400)] + crowded(700)
    for n in range(8):
        runs.append(epochs(500 + n, "cifar", f"box-{n}",
                           [0.5 + 0.04 * math.log(e + 1) + 0.01 * n for e in range(25)]))
    runs.append(record(600, "textgen", "box", 90, phases={"wall_ns": 20 * 10 ** 9}, full=False, ended="sampled",
                       projection={"wall_s": 90, "low_s": 80, "high_s": 101}))
    return runs


if __name__ == "__main__":
    import sys
    from pathlib import Path
    write(Path(sys.argv[1]), everything())
