# SPDX-License-Identifier: Apache-2.0
"""Reads a plot back from its SVG: the values that a reader with a ruler would find.

Axes are read from their ticks and the labels beside them, as people do; nothing of fare's own is asked.
"""
import datetime
import html
import math
import re
import xml.etree.ElementTree as tree

SVG = "{http://www.w3.org/2000/svg}"
UNITS = {"ms": 1e-3, "s": 1, "min": 60, "h": 3600, "days": 86400}


def day(text):
    """A date in days; "2026-10" is its first day."""
    return datetime.date(*(int(part) for part in (text + "-01-01")[:10].split("-"))).toordinal()


def number(text):
    return float(re.sub(r"[$,]", "", text).replace("−", "-").replace("M", "e6").replace("G", "e9"))


class Axis:
    """From pixels to values, by two ticks and their labels."""

    def __init__(self, ticks, title):
        self.log = title.endswith(", logarithmic")
        unit = title.removesuffix(", logarithmic").rsplit(", ", 1)
        self.times = UNITS.get(unit[1], 1) if len(unit) == 2 else 1
        self.times = 1 if len(unit) == 2 and unit[1] == "ms" else self.times  # step times stay in ms
        (self.a, low), (self.b, high) = ticks[0], ticks[-1]
        self.low, self.high = (math.log(low), math.log(high)) if self.log else (low, high)
        self.ticks = ticks

    def value(self, at):
        v = self.low + (at - self.a) / (self.b - self.a) * (self.high - self.low)
        return (math.exp(v) if self.log else v) * self.times

    def step(self):
        """What a tenth of a pixel is worth at most: how well a coordinate with two decimals can be read."""
        return abs(self.value(self.b) - self.value(self.b - 0.1))


def classes(e):
    return (e.get("class") or "").split()


class Panel:
    def __init__(self, title, group):
        self.title = title
        self.elements = [e for e in group.iter() if e.tag != SVG + "g"]
        self.texts = [e for e in self.elements if e.tag == SVG + "text"]
        below, beside, pending = [], [], None
        title_below = ""
        for e in self.elements:
            c = classes(e)
            if e.tag == SVG + "line" and ("ax" in c or "gr" in c):
                pending = e
            elif e.tag == SVG + "text" and pending is not None and "mu" in c and "sm" in c:
                if "mi" in c and "ax" in classes(pending) and pending.get("x1") == pending.get("x2"):
                    below.append((float(pending.get("x1")), e.text))
                elif "en" in c and "gr" in classes(pending):
                    beside.append((float(pending.get("y1")), e.text))
                elif "mi" in c:
                    title_below = e.text or ""
                pending = None
        self.dates = bool(below) and bool(re.fullmatch(r"\d{4}-\d\d(-\d\d)?|\d{4}", below[0][1])) and "date" in title_below
        self.x = Axis([(x, (day if self.dates else number)(t)) for x, t in below], title_below) if len(below) > 1 else None
        heading = next((e.text for e in self.texts if classes(e) == ["sm", "mu"]), "")
        self.y = Axis([(y, number(t)) for y, t in beside], heading) if len(beside) > 1 else None

    def bars(self):
        """(series, value) of each bar but the legend's, from top to bottom; None where it is cut."""
        found = []
        cuts = [float(e.get("y2")) + 2 for e in self.elements if "ct" in classes(e)]
        for e in self.elements:
            c = classes(e)
            if e.tag == SVG + "rect" and "bar" in c and e.find(SVG + "title") is not None:
                series = 0 if "c0" in c else int(next(x for x in c if re.fullmatch(r"s\d", x))[1])
                x, width = float(e.get("x")), float(e.get("width"))
                cut = any(abs(y - float(e.get("y"))) < 0.1 for y in cuts)
                found.append((series, None if cut else self.x.value(x + width), self.x.value(x), e))
        return found

    def markers(self):
        """(x, y, filled, tip) of points that have a tip: not the legend's."""
        found = []
        for e in self.elements:
            if "mk" in classes(e) and e.find(SVG + "title") is not None:
                x, y = map(float, re.match(r"M(-?[\d.]+) (-?[\d.]+)m", e.get("d")).groups())
                found.append((self.x.value(x) if self.x else x, self.y.value(y) if self.y else y, "ho" not in classes(e),
                              e.find(SVG + "title").text))
        return found

    def lines(self):
        """The points of each line."""
        found = []
        for e in self.elements:
            if e.tag == SVG + "path" and "ln" in classes(e):
                points = re.findall(r"[ML](-?[\d.]+) (-?[\d.]+)", e.get("d"))
                found.append([(self.x.value(float(x)) if self.x else float(x), self.y.value(float(y)))
                              for x, y in points])
        return found


def in_page(text, kind):
    """The panels of a plot of a page, as wide screens show them, by their titles."""
    section = re.search(rf'<section id="plot-{kind}">(.*?)</section>', text, re.S).group(1)
    found = {}
    for title, svg in re.findall(r'<figcaption><h\d>(.*?)</h\d>.*?<div class="wide">(<svg.*?</svg>)', section, re.S):
        found[html.unescape(title)] = Panel(html.unescape(title), tree.fromstring(svg))
    return found


def panels(path):
    root = tree.parse(path).getroot()
    found = []
    for g in root.findall(SVG + "g"):
        title = g.find(SVG + "text")
        found.append(Panel(title.text or "", g.find(SVG + "g")))
    return found
