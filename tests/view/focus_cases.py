# SPDX-License-Identifier: Apache-2.0
"""FOCUS exports of all kinds of bills, for test_focus.py and bench/focus.py."""
import json
import os
import subprocess
from pathlib import Path

HOUR = 3600 * 10**9


def run(name, gpu, gpus, hours):
    return {"id": f"20261101T000000Z-{name}", "started": "2026-11-01T00:00:00Z", "workload": name, "framework": "pytorch",
            "full": True, "ended": "finished",
            "machine": {"name": "rented", "gpu": gpu, "gpus": gpus},
            "use": {"gpus": gpus, "gpu_list": [{"index": i, "name": gpu} for i in range(gpus)]},
            "phases": {"setup_ns": HOUR // 60, "train_ns": int(hours * HOUR), "wall_ns": int(hours * HOUR) + HOUR // 60}}


RUNS = [run("one", "NVIDIA H100 80GB HBM3", 1, 2.5), run("eight", "NVIDIA H100 80GB HBM3", 8, 40),
        run("short", "NVIDIA A100-SXM4-80GB", 1, 0.001), run("volta", "Tesla V100-SXM2-16GB", 1, 30),
        {"id": "20261101T000000Z-none", "workload": "none", "full": True, "machine": {"name": "nobody's"},
         "phases": {"wall_ns": HOUR}}, run("ampere", "NVIDIA A100-SXM4-40GB", 1, 30)]

RATES = ("provider,offer,discount_percent,credit,rate,currency,from,to\n"
         "runpod,,10,0.5,,USD,,\n"
         "gcp,,,,9.99,USD,,\n")

TRAFFIC = ("--storage", "100GB", "--keep", "30d", "--egress", "700GB", "--ingress", "20GB")

CASES = {  # name: arguments, with the user's rates
    "published": (("quote", "mlp"), False),
    "published, spot, 2018": (("quote", "tweets", "--date", "2018-02-15"), False),
    "published, by the month, EUR": (("quote", "tweets", "--date", "2018-02-15", "--kind", "monthly"), False),
    "unused GPUs": (("quote", "tweets", "--date", "2018-02-15", "--provider", "leadergpu"), False),
    "eight GPUs": (("quote", RUNS[1]["id"]), False),
    "spot": (("quote", RUNS[0]["id"], "--spot"), False),
    "seconds": (("quote", RUNS[2]["id"]), False),
    "disk and traffic": (("quote", RUNS[0]["id"], *TRAFFIC), False),
    "disk and traffic, aws": (("quote", RUNS[3]["id"], "--provider", "aws", *TRAFFIC), False),
    "disk and traffic, azure": (("quote", RUNS[3]["id"], "--provider", "azure", "--date", "2025-09-15", *TRAFFIC), False),
    "own rate": (("quote", RUNS[3]["id"], "--provider", "gcp"), True),
    "discount and credit": (("quote", RUNS[0]["id"], "--provider", "runpod", *TRAFFIC), True),
    "commitment": (("quote", RUNS[5]["id"], "--offer", "gcp/a2-highgpu-1g", "--commit", "12"), False),
    "several months": (("quote", "--time", "70d", "--gpu", "h100"), False),
    "unknown price": (("quote", RUNS[4]["id"]), False),
    "report": (("report", RUNS[0]["id"], RUNS[1]["id"]), False),
}


def exports(fare, folder):
    """Yields the name of each case and the text of its export."""
    folder = Path(folder)
    config = folder / "config" / "fare"
    config.mkdir(parents=True, exist_ok=True)
    environment = {**os.environ, "XDG_CONFIG_HOME": str(folder / "config"), "XDG_DATA_HOME": str(folder / "data"),
                   "FARE_LEDGER": str(folder / "runs.db"), "FARE_BOOK": "-"}
    (folder / "runs.jsonl").write_text("".join(json.dumps(r) + "\n" for r in RUNS))

    def call(*args):
        p = subprocess.run([fare, *args], capture_output=True, text=True, env=environment)
        if p.returncode != 0:
            raise AssertionError(f"{args}: {p.returncode}\n{p.stderr}")
        return p.stdout

    call("runs", "import", str(folder / "runs.jsonl"))
    for name, (args, own) in CASES.items():
        (config / "rates.csv").write_text(RATES if own else RATES.splitlines(True)[0])
        yield name, call(*args, "--format", "focus")
