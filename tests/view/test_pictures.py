# SPDX-License-Identifier: Apache-2.0
"""The pictures of the documents are there, small, and what scripts/pictures makes of this fare."""
import os
import re
import subprocess
import sys
import xml.etree.ElementTree as tree
from pathlib import Path

sys.path.insert(0, os.environ["TESTS"])
sys.path.insert(0, os.environ["TESTS"] + "/view")
import browser  # noqa: E402
from tap import done, report, skip  # noqa: E402

ROOT, HERE = Path(os.environ["ROOT"]), Path(os.environ["TMPDIR"])
MOST_BYTES = 150_000
FROM_ELSEWHERE = {"check.svg"}  # the terminal of a machine with an H200


def size_of(path):
    """Width and height of a WebP file, from the header of its extended format."""
    head = path.read_bytes()[:30]
    if head[:4] != b"RIFF" or head[8:16] != b"WEBPVP8X":
        return None
    return tuple(int.from_bytes(head[at:at + 3], "little") + 1 for at in (24, 27))


shown = set()
for page in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))):
    text = page.read_text()
    for alt, name in re.findall(r"!\[([^\]]*)\]\(([^)]+)\)", text) + re.findall(r'srcset=()"([^"]+)"', text) + [
            (alt, name) for name, alt in re.findall(r'<img src="([^"]+)"[^>]* alt="([^"]*)"', text)]:
        path = (page.parent / name).resolve()
        shown.add(path)
        report(f"{page.name}: {name} is there", path.is_file())
        report(f"{page.name}: {name} is said in words", alt or f'srcset="{name}"' in text)
    report(f"{page.name}: every picture has words", len(re.findall(r"<img\b", text)) == len(re.findall(r'<img [^>]*\balt="[^"]+', text)))
kept = set((ROOT / "docs" / "pictures").iterdir())
report("all that are kept are shown", kept == shown, sorted(kept ^ shown))
big = [p.name for p in kept if p.stat().st_size > MOST_BYTES]
report("none is large", not big, big)
first = (ROOT / "README.md").read_text().split("## ")[0]
report("the table, the report and the dashboard are on the README's first screens",
       all(f"docs/pictures/{name}" in first for name in ("compare.svg", "report.webp", "serve.webp")))

p = subprocess.run([ROOT / "scripts" / "pictures", HERE / "made"], capture_output=True, text=True)
report("scripts/pictures makes them", p.returncode == 0, p.stderr)
made = {path.name: path for path in (HERE / "made").iterdir()}
wanted = {path.name for path in kept if path.suffix == ".svg" or not browser.MISSING}
report("all of them", set(made) | FROM_ELSEWHERE == wanted, sorted(set(made) ^ wanted))
for name in sorted(wanted - FROM_ELSEWHERE):
    path = ROOT / "docs" / "pictures" / name
    if name.endswith(".svg"):
        report(f"{name} is what this fare shows (scripts/pictures makes it anew)", made[name].read_text() == path.read_text())
    else:
        report(f"{name} is as large as it was", size_of(made[name]) == size_of(path) == (1024, 1050),
               size_of(made[name]))

# Columns of a terminal stay in line: every word lies where its letters are, however wide a font is.
lines = {"1": "a  b\033[1m c\033[0m", "2": "   <x> & é"}
svg = subprocess.run([ROOT / "scripts" / "pictures", "terminal", "cmd"], input="\n".join(lines.values()), capture_output=True,
                     text=True).stdout
cells = [((float(e.get("x")) - 16) / 8.4, float(e.get("textLength")) / 8.4, e.text)
         for e in tree.fromstring(svg).iter("{http://www.w3.org/2000/svg}text")]
report("terminal: each word in its column", [(round(x), round(n), t) for x, n, t in cells] ==
       [(0, 1, "$"), (2, 3, "cmd"), (0, 1, "a"), (3, 1, "b"), (5, 1, "c"), (3, 7, "<x> & é")], cells)
if browser.MISSING:
    skip("pictures of pages", browser.MISSING)
done()
