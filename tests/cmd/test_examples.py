# SPDX-License-Identifier: Apache-2.0
"""Every example in the help of commands that only read and print works as it stands."""
import json
import os
import re
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, os.environ["TESTS"])
import tap  # noqa: E402

FARE = os.environ["FARE"]
HERE = Path(os.environ["TMPDIR"])
# Not here: those that train, wait for clients, or fetch and send something.
LEFT_OUT = re.compile(r"^fare (run |serve|check --(bandwidth|strict)|.*\bupdate\b|.*\bdata (get|path)\b|.*\bpush\b|.*postgresql://|-- )|^fare$")
FILES = {"aws.csv.gz": None, "mnist_mlp_tensorflow.csv": "epoch,acc,loss\n0,0.9,0.3\n", "runs.jsonl": ""}


def record(name, gpu, instance, workload="cnn"):
    return {"schema": "fare.run/1", "id": f"20261110T000000Z-{name}000000", "workload": workload, "framework": "fare",
            "started": "2026-11-10T00:00:00Z", "full": True, "ended": "finished", "batch": 128,
            "machine": {"gpu": gpu, "gpus": 1, "provider": "aws", "instance_type": instance, "cpu": "Acme"},
            "use": {"gpus": 1, "gpu_list": [{"name": gpu}]},
            "phases": {"wall_ns": 10**11, "train_ns": 10**11}, "steps": 5625, "steady": {"kind": "flat", "step_s": 0.01}}


def run(line):
    return subprocess.run(["bash", "-c", line], capture_output=True, text=True, cwd=HERE,
                          env={**os.environ, "PATH": f"{Path(FARE).parent}:{os.environ['PATH']}"})


for name, text in FILES.items():
    (HERE / name).write_text(text or "")
(HERE / "first.jsonl").write_text("".join(json.dumps(r) + "\n" for r in [
    {**record("3f9a2c", "NVIDIA H100 80GB HBM3", "p5.4xlarge"), "labels": [{"key": "project", "value": "bert"}]},
    record("81d04e", "Tesla V100-SXM2-16GB", "p3.2xlarge")]))
got = run("fare runs import first.jsonl")
tap.report("two runs to look at", got.returncode == 0, got.stderr)
help_text = run("fare --help").stdout
commands = re.findall(r"^  ([a-z]+) {2,}", help_text, re.M)
tap.report("the commands are listed", len(commands) >= 10, help_text)
seen = 0
for command in commands:
    text = run(f"fare {command} --help").stdout
    examples = re.findall(r"^  (fare[^\n]*(?:\n {4}[^ \n][^\n]*)?)", text.split("Examples:")[-1], re.M) if "Examples:" in text else []
    for line in examples:
        line = re.split(r"\n| && | \| ", line)[0].strip()  # fare's own part
        if LEFT_OUT.search(line) or any(name in line for name in FILES):
            continue
        seen += 1
        got = run(line)
        tap.report(line, got.returncode == 0, f"exit {got.returncode}\n{got.stderr}")
tap.report("examples were tried", seen > 20, seen)
tap.done()
