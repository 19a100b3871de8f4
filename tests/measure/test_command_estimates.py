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
rows = re.findall(r"(?m)^  (\w+/\S+)", text)
certain = re.findall(r"(?m)[\d.][*†#]* .*(lower bound|rough ×[\d.]+)$", text)
tap.report("at least 20 offers with time, USD and certainty", run.returncode == 0 and len(rows) >= 20 and len(certain) == len(rows)
           and "lower bound" in certain, text)
example = re.search(r"rent that machine for a minute and run the same command there, for example (\S+)\.", " ".join(text.split()))
tap.report("the one to rent for a minute, and none is called cheapest", "none is called cheapest" in text and example
           and re.search(rf"(?m)^  {re.escape(example[1])}\s+≥ .*lower bound$", text), text)
tap.report("in 80 columns", all(len(line) <= 80 for line in text.splitlines() if not line.startswith("fare: ")), text)
quote = json.loads(fare("quote", "last", "--json").stdout)
tap.report("a quote has all of them", len(quote["estimates"]) > 500 and {b["basis"] for b in quote["estimates"]} <= {"rough", "bound"}
           and quote["estimated"] == len(quote["estimates"]), quote.keys())
offers = [b["offer"] for b in quote["estimates"]]
tap.report("the cheapest are those of the quote", len(rows) >= 20 and rows[0] == offers[0].split()[0], (rows[:2], offers[:2]))
tap.done()
