#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A dozen measurements over four hosts that fail (rehearsal.py); 200 are in make soak. The same seed every time."""
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.environ["ROOT"], "tests"))
from tap import done, report, skip  # noqa: E402

p = subprocess.run([sys.executable, os.path.join(os.path.dirname(os.path.abspath(__file__)), "rehearsal.py"), os.environ["FARE"], "--count", "12", "--calm", "2026"],
                   capture_output=True, text=True)
if "skipped:" in p.stdout:
    skip("measurements over hosts that fail", p.stdout.strip())
else:
    report("12 measurements over four hosts that fail", p.returncode == 0, p.stdout + p.stderr)
    print("# " + p.stdout.replace("\n", "\n# "))
done()
