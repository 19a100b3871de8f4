# SPDX-License-Identifier: Apache-2.0
"""A training on a machine without a GPU ends with lower bounds for rented GPUs: a CPU does not show what a GPU waits for."""
import json
import os
import re
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, os.environ["TESTS"])
import tap  # noqa: E402

HERE = Path(os.environ["TMPDIR"])
(HERE / "train.py").write_text("""\
for step in range(1, 5001):
    sum(i * i for i in range(50000))
    print(f"step {step}/5000 loss {1 / step:.4f}", flush=True)
""")


def fare(*args):
    return subprocess.run([os.environ["FARE"], *args], capture_output=True, text=True, check=False, timeout=120)


run = fare("--max-time", "4s", "--no-cloud", "--", sys.executable, str(HERE / "train.py"))
text = run.stderr
# Machines without a GPU may have an estimate, unless the sample was too noisy for one; GPUs have lower bounds, which never lead.
row = re.compile(r"(?m)^[\w-]+ +(\w+/\S+) +≥ (?:\d+ h )?\d+ (?:min|s).*? (≥[\d.]+)(?: +(?:-|≥[\d.]+))?$")
rows = row.findall(text)
cpus = re.findall(r"(?m)^\d+ vCPU +(\w+/\S+) +(?:\d+ h )?\d+ (?:min|s)", text)
tap.report("up to five machines with time and USD, those with GPUs as lower bounds", run.returncode == 0 and 1 <= len(rows) + len(cpus) <= 5, text)
flat = " ".join(text.split())
named = re.search(r"Cheapest by estimate: (\S+),", flat)
tap.report("no lower bound is called cheapest", named[1] in cpus if named else "none called cheapest; a CPU does not tell the time on a GPU" in flat, text)
tap.report("in 80 columns", all(len(line) <= 80 for line in text.splitlines() if not line.startswith("fare: ")), text)
quote = json.loads(fare("quote", "last", "--all", "--json").stdout)
tap.report("a quote has all of them", len(quote["estimates"]) > 500 and {b["basis"] for b in quote["estimates"]} <= {"rough", "bound"}
           and quote["estimated"] == len(quote["estimates"]), quote.keys())
names = {b["short_name"]: float(b["total"]) for b in quote["estimates"] if b.get("kind") == "on-demand"}
tap.report("they are the quote's, with its amounts", all(name.endswith("…") or abs(names[name] / float(usd[1:]) - 1) < 0.01 for name, usd in rows), rows)
tap.done()
