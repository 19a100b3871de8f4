# SPDX-License-Identifier: Apache-2.0
"""Bare `fare` ends by writing its report, where it is told to, and not where it is told not to."""
import json
import os
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, os.environ["TESTS"])
from tap import done, report  # noqa: E402

FARE, HERE = os.environ["FARE"], Path(os.environ["TMPDIR"])


def fare(*arguments, until=("--max-time", "50ms")):
    return subprocess.run([FARE, "--no-cloud", *until, *arguments], capture_output=True, text=True, cwd=HERE)


def files():
    return {str(p.relative_to(HERE)) for p in HERE.rglob("*.html")}


p = fare("--json", "--no-ledger", "--report", "json.html")
report("--json stays JSON, with --report beside it", json.loads(p.stdout)["schema"] == "fare.report/1" and
       files() == {"json.html"}, p.stderr)
text = (HERE / "json.html").read_text()
report("it is about the runs that were made", text.startswith("<!doctype html>") and ">mlp<" in text and ">textgen<" in text)
(HERE / "json.html").unlink()
p = fare("--no-report")
report("--no-report writes none", p.returncode == 0 and "The report" not in p.stdout and not files(), p.stdout[-200:])
# As far as it goes for users, sanitized here alone: cli/bare has the other build.
p = fare("--report", "nowhere/at/all.html", **({"until": ("--within", "20%")} if "sanitize" in os.environ["BUILD"] else {}))
report("a report that cannot be written is a warning", p.returncode == 0 and "nowhere/at/all.html" in p.stderr and
       "mlp" in p.stdout, p.stderr)
done()
