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
# Other programs slow this machine down, not the rented one: no "16 times as fast" is made of that.
busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(2 * (os.cpu_count() or 2))]
p = fare("--no-report", until=("--max-time", "2s"))
for one in busy:
    one.kill()
    one.wait()
rows = json.loads(subprocess.run([FARE, "runs", "--all", "--json"], capture_output=True, text=True).stdout)["runs"]
newest = {}
for run in rows:
    newest.setdefault(run["workload"], run)
lines = p.stdout.split("on rented machines\n")[1].splitlines()
head = next(line for line in lines if line.startswith("training "))
end = head.find("faster") + len("faster")  # a column without any figure is left out
found = {line.split()[0]: line[:end].split()[-1] if "faster" in head else "-" for line in lines if line.split()[:1] and line.split()[0] in newest}
noisy = {w for w in found if newest[w].get("taints")}
report("no time of a noisy sample is compared with that of a rented machine",
       len(noisy) > 2 and all(found[w] == "-" for w in noisy) and "its time here is not compared" in " ".join(p.stdout.split()), (noisy, p.stdout[-2500:]))
# As far as it goes for users, sanitized here alone: cli/bare has the other build.
p = fare("--report", "nowhere/at/all.html", **({"until": ("--within", "20%")} if "sanitize" in os.environ["BUILD"] else {}))
report("a report that cannot be written is a warning", p.returncode == 0 and "nowhere/at/all.html" in p.stderr and
       "mlp" in p.stdout, p.stderr)
done()
