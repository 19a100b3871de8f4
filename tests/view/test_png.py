# SPDX-License-Identifier: Apache-2.0
"""A plot as PNG: twice the size of its SVG, not blank, by whichever program is there; whole or not at all."""
import os
import shutil
import struct
import subprocess
import sys
import xml.etree.ElementTree as tree
import zlib
from collections import Counter
from pathlib import Path

sys.path.insert(0, os.environ["TESTS"])
from tap import done, report, skip  # noqa: E402

FARE, HERE = os.environ["FARE"], Path(os.environ["TMPDIR"])
PLOT = ("report", "--published", "2018-tweets", "--plot")
BLUE = (0x0b, 0x4f, 0xc0)  # of the bars


def fare(*arguments, path=None):
    env = {**os.environ, "PATH": str(path)} if path else os.environ
    return subprocess.run([FARE, *map(str, arguments)], capture_output=True, text=True, cwd=HERE, env=env)


def pixels(path):
    """Width, height and the colours of an 8-bit RGB or RGBA file (the PNG specification, parts 7 to 9)."""
    data, at, packed, head = path.read_bytes(), 8, b"", None
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    while at < len(data):
        size, kind = struct.unpack(">I4s", data[at:at + 8])
        body = data[at + 8:at + 8 + size]
        assert zlib.crc32(kind + body) == struct.unpack(">I", data[at + 8 + size:at + 12 + size])[0]
        head = struct.unpack(">IIBBBBB", body) if kind == b"IHDR" else head
        packed += body if kind == b"IDAT" else b""
        at += 12 + size
    width, height, depth, colour, _, _, interlaced = head
    assert depth == 8 and colour in (2, 6) and interlaced == 0
    step = 3 if colour == 2 else 4
    raw, found, before = zlib.decompress(packed), Counter(), bytes(width * step)
    for y in range(height):
        start = y * (width * step + 1)
        kind, line = raw[start], bytearray(raw[start + 1:start + 1 + width * step])
        for i in range(len(line)):
            left, up, corner = (line[i - step], before[i], before[i - step]) if i >= step else (0, before[i], 0)
            if kind == 4:
                guess = left + up - corner
                near = min((abs(guess - left), 0, left), (abs(guess - up), 1, up), (abs(guess - corner), 2, corner))[2]
            else:
                near = (0, left, up, (left + up) // 2)[kind]
            line[i] = (line[i] + near) & 255
        found.update(bytes(line[i:i + 3]) for i in range(0, len(line), step))
        before = bytes(line)
    return width, height, found


def check(name, kind, path=None):
    """Draws it with the programs in `path`, and looks at the pixels."""
    fare(*PLOT, kind, "-o", HERE / "x.svg")
    svg = tree.parse(HERE / "x.svg").getroot()
    p = fare(*PLOT, kind, "-o", HERE / "x.png", path=path)
    report(f"{name}: written", p.returncode == 0 and "x.png" in p.stdout and not p.stderr, p.stderr)
    if p.returncode != 0:
        return
    width, height, found = pixels(HERE / "x.png")
    wanted = [2 * float(svg.get(side)) for side in ("width", "height")]
    report(f"{name}: twice the size of the SVG", abs(width - wanted[0]) <= 1 and abs(height - wanted[1]) <= 1, (width, height, wanted))
    share = {colour: found[bytes(colour)] / (width * height) for colour in ((255, 255, 255), BLUE)}
    report(f"{name}: a white ground, bars, and texts", 0.5 < share[255, 255, 255] < 0.98 and 0.01 < share[BLUE] < 0.4 and len(found) > 30,
           (share, len(found)))
    (HERE / "x.png").unlink()


def programs(name, **scripts):
    """A PATH with these programs, and what a wrapper's script needs."""
    folder = HERE / name
    folder.mkdir()
    for program, text in scripts.items():
        (folder / program.replace("_", "-")).write_text("#!/bin/sh\n" + text)
        (folder / program.replace("_", "-")).chmod(0o755)
    return folder


REAL = {name: shutil.which(name) for name in ("rsvg-convert", "chromium")}
for name, real in REAL.items():
    if not real:
        skip(f"PNG by {name}", f"no {name}")
        continue
    folder = programs(f"only-{name}", **{name: f'PATH="{os.environ["PATH"]}" exec "{real}" "$@"\n'})
    check(name, "cost", folder)
    if name == "rsvg-convert":
        check("rsvg-convert, several series", "relative", folder)

# Without any: the package to install, and nothing written.
empty = programs("empty")
p = fare(*PLOT, "cost", "-o", HERE / "none.png", path=empty)
report("no program: says what to install", p.returncode == 1 and "librsvg2-bin" in p.stderr and "none.png" not in p.stdout, p.stderr)
report("no program: nothing is written", not (HERE / "none.png").exists())

# One that fails, or makes something else: its exit code, and the old file stays.
(HERE / "old.png").write_text("before")
failing = programs("failing", rsvg_convert="echo broken >&2; exit 3\n")
p = fare(*PLOT, "cost", "-o", HERE / "old.png", path=failing)
report("a program that fails: says so", p.returncode == 1 and "rsvg-convert: exit code 3" in p.stderr, p.stderr)
lying = programs("lying", rsvg_convert='for a; do case "$a" in --output=*) echo no >"${a#--output=}";; esac; done\n')
p = fare(*PLOT, "cost", "-o", HERE / "old.png", path=lying)
report("a program that makes no PNG: says so", p.returncode == 1 and "no PNG of the right size" in p.stderr, p.stderr)
report("the old file is as it was", (HERE / "old.png").read_text() == "before")
if REAL["rsvg-convert"]:
    second = programs("second", rsvg_convert="exit 3\n", inkscape=f"""for a; do case "$a" in
--export-filename=*) out="${{a#--export-filename=}}";; --export-width=*) width="${{a#--export-width=}}";; -*) ;; *) in="$a";; esac; done
exec {REAL["rsvg-convert"]} --width="$width" --keep-aspect-ratio -o "$out" "$in"
""")
    check("the next one, where the first fails", "cost", second)
report("nothing is left over", not list(HERE.glob("fare-??????")), list(HERE.glob("fare-??????")))

# The SVG is passed by name, whatever it holds: nothing is run by a shell.
p = fare("report", "--published", "2018-tweets", "--plot", "cost", "-o", "$(touch gone).png", path=empty)
report("no shell sees the name", not (HERE / "gone").exists())

p = fare("report", "--published", "2018-tweets", "-o", "page.png")
report("a page is not a picture", p.returncode == 2 and "the page is written as HTML" in p.stderr, p.stderr)
p = fare(*PLOT, "cost", "-o", "x.jpg")
report("other pictures are refused", p.returncode == 2 and "SVG or PNG" in p.stderr, p.stderr)
p = fare(*PLOT, "cost", "--format", "csv", "-o", "cost.csv")
report("figures are not drawn", p.returncode == 0 and (HERE / "cost.csv").read_text().startswith("panel,"), p.stderr)
done()
