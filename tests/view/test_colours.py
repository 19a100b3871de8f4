# SPDX-License-Identifier: Apache-2.0
"""The colours of series, as a plot's own style has them, can be told apart by everyone, on light paper and dark; a page's
texts have the contrast that WCAG 2 asks for (AA), on whatever they stand.

Colour blindness is simulated with the matrices of Machado, Oliveira and Fernandes (2009) at full severity; distances
are those of CIE 1976. A distance of 10 is seen at a glance; markers and dashes differ besides.
"""
import os
import re
import subprocess
import sys
from itertools import combinations

sys.path.insert(0, os.environ["TESTS"])
from tap import done, report  # noqa: E402

KINDS = {
    "full colour vision": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    "protanopia": ((0.152286, 1.052583, -0.204868), (0.114503, 0.786281, 0.099216), (-0.003882, -0.048116, 1.051998)),
    "deuteranopia": ((0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413), (-0.011820, 0.042940, 0.968881)),
    "tritanopia": ((1.255528, -0.076749, -0.178779), (-0.078411, 0.930809, 0.147602), (0.004733, 0.691367, 0.303900)),
}


def linear(colour):
    if len(colour) == 4:
        colour = "#" + "".join(c * 2 for c in colour[1:])
    channels = [int(colour[i:i + 2], 16) / 255 for i in (1, 3, 5)]
    return [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]


def luminance(rgb):
    return 0.2126 * rgb[0] + 0.7152 * rgb[1] + 0.0722 * rgb[2]


def lab(rgb):
    r, g, b = (min(max(c, 0), 1) for c in rgb)
    xyz = ((0.4124 * r + 0.3576 * g + 0.1805 * b) / 0.9505, luminance((r, g, b)),
           (0.0193 * r + 0.1192 * g + 0.9505 * b) / 1.089)
    x, y, z = (t ** (1 / 3) if t > 0.008856 else 7.787 * t + 16 / 116 for t in xyz)
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)


def seen(colour, matrix):
    rgb = linear(colour)
    return lab([sum(m * c for m, c in zip(row, rgb)) for row in matrix])


svg = subprocess.run([os.environ["FARE"], "report", "--published", "2018-tweets", "--plot", "cost", "-o", "-"],
                     capture_output=True, text=True).stdout
style = re.search(r"<style>(.*?)</style>", svg, re.S).group(1)
light, dark = style.split("@media", 1)
for name, rules in (("light", light), ("dark", dark)):
    colours = [re.search(rf"\.c{i}{{fill:(#[0-9a-f]+)}}", rules).group(1) for i in range(6)]
    strokes = [re.search(rf"\.s{i}{{stroke:(#[0-9a-f]+)}}", rules).group(1) for i in range(6)]
    paper = re.search(r"\.bg{fill:(#[0-9a-f]+)}", rules).group(1)
    report(f"{name}: lines and fills of a series have one colour", colours == strokes)
    for kind, matrix in KINDS.items():
        worst = min((sum((p - q) ** 2 for p, q in zip(seen(a, matrix), seen(b, matrix))) ** 0.5, a, b)
                    for a, b in combinations(colours, 2))
        report(f"{name}, {kind}: any two are at least 20 apart", worst[0] >= 20, worst)
    for colour in colours:
        low, high = sorted((luminance(linear(colour)), luminance(linear(paper))))
        ratio = (high + 0.05) / (low + 0.05)
        report(f"{name}: {colour} stands out from the paper by 3 or more", ratio >= 3, ratio)

# ---- pages: 4.5 for texts, 3 for the edges of fields and bars


def contrast(a, b):
    low, high = sorted((luminance(linear(a)), luminance(linear(b))))
    return (high + 0.05) / (low + 0.05)


page = subprocess.run([os.environ["FARE"], "report", "--published", "2018-tweets", "-o", "-"], capture_output=True, text=True).stdout
palettes = [dict(re.findall(r"--(\w+):(#[0-9a-f]+)", rules)) for rules in re.findall(r":root{(--[^}]*)}", page)]
report("a palette for light and one for dark", len(palettes) == 2 and palettes[0].keys() == palettes[1].keys(), palettes)
for name, has in zip(("light", "dark"), palettes):
    texts = [(text, "paper") for text in ("ink", "mute", "link")]
    texts += [("ink", paper) for paper in ("band", "ok", "note", "wait", "bad")]
    for least, pairs in ((4.5, texts), (3, [("mute", "paper"), ("mute", "band"), ("c0", "paper")])):
        for a, b in pairs:
            report(f"{name}: {a} on {b} has a contrast of {least} or more", contrast(has[a], has[b]) >= least, contrast(has[a], has[b]))
unnamed = re.sub(r":root{--[^}]*}|<svg.*?</svg>", "", page.split("<body>")[0].split(".plot text")[0], flags=re.S)
report("pages use no colour that has no name", not re.findall(r"#[0-9a-f]{3,6}\b", unnamed), re.findall(r"#[0-9a-f]{3,6}\b", unnamed))
done()
