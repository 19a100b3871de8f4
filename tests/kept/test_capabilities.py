#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Every command, option, word, JSON key, variable, page and log format of an earlier build is still there (capabilities-36.txt.gz is what
scripts/capabilities printed for commit 819fbdb0)."""
import gzip
import os
import subprocess
import sys
from pathlib import Path

TESTS = Path(os.environ["TESTS"])
sys.path.insert(0, str(TESTS))
from tap import done, report  # noqa: E402

SCRIPT, LIST = TESTS.parent / "scripts/capabilities", TESTS / "kept/capabilities-36.txt.gz"
before = gzip.decompress(LIST.read_bytes()).decode()
p = subprocess.run([SCRIPT, "--since", LIST], capture_output=True, text=True)
report("nothing that an earlier build could do is gone", p.returncode == 0 and before.count("\n") > 3000, p.stderr)
more = Path(os.environ["TMPDIR"]) / "list"
more.write_text(before + "option fare quote --no-such-option\n")
p = subprocess.run([SCRIPT, "--since", more], capture_output=True, text=True)
report("an option that is missing is named", p.returncode == 1 and p.stderr == "gone: option fare quote --no-such-option\n", p.stderr)
done()
