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

    def pixel(self, value):
        """Where a value is."""
        v = math.log(value / self.times) if self.log else value / self.times
        return self.a + (v - self.low) / (self.high - self.low) * (self.b - self.a)

    def step(self):
        """What a tenth of a pixel is worth at most: how well a coordinate with two decimals can be read."""
        return abs(self.value(self.b) - self.value(self.b - 0.1))


def classes(e):
    return (e.get("class") or "").split()


NUMBER = r"-?(?:\d+\.?\d*|\.\d+)"


def strokes(path):
    """The points of each piece of a path of straight lines, by the grammar of SVG."""
    pieces, x, y = [], 0.0, 0.0
    for letter, numbers in re.findall(rf"([A-Za-z])((?:[ ,]*{NUMBER})*)", path):
        values = [float(v) for v in re.findall(NUMBER, numbers)]
        relative = letter.islower()
        while values:
            along = values.pop(0) if letter in "MmLlHh" else (0 if relative else x)
            across = values.pop(0) if letter in "MmLlVv" else (0 if relative else y)
            x, y = (x + along, y + across) if relative else (along, across)
            if letter in "Mm":
                pieces.append([])
                letter = "l" if relative else "L"
            pieces[-1].append((x, y))
    return pieces


def straight(e):
    """An element with many lines, as lines."""
    for piece in strokes(e.get("d")):
        for (x1, y1), (x2, y2) in zip(piece, piece[1:]):
            yield tree.Element(SVG + "line", {"x1": f"{x1:.2f}", "y1": f"{y1:.2f}", "x2": f"{x2:.2f}", "y2": f"{y2:.2f}",
                                              "class": e.get("class")})


def place(e):
    """Where a marker is."""
    if e.tag == SVG + "circle":
        return float(e.get("cx")), float(e.get("cy"))
    return tuple(map(float, re.match(r"M(-?[\d.]+) (-?[\d.]+)m", e.get("d")).groups()))


class Panel:
    def __init__(self, title, group):
        self.title = title
        self.elements = []
        for labels in group.iter(SVG + "g"):
            for e in labels if labels.get("class") else []:
                e.set("class", labels.get("class"))
        for e in group.iter():
            many = e.tag == SVG + "path" and {"ax", "gr", "wh"} & set(classes(e))
            self.elements += straight(e) if many else [e] if e.tag != SVG + "g" else []
        self.texts = [e for e in self.elements if e.tag == SVG + "text"]
        # Marks on the axes come in the order of the labels beside them.
        axis = next((e for e in group.iter(SVG + "path") if "ax" in classes(e)), None)
        ticks = [e.get("x1") for e in (straight(axis) if axis is not None else []) if e.get("x1") == e.get("x2")]
        grid = [e.get("y1") for e in self.elements if "gr" in classes(e) and e.get("y1") == e.get("y2")]
        labels = [e.text or "" for e in self.texts if classes(e) == ["sm", "mu", "mi"]]
        levels = [e.text for e in self.texts if classes(e) == ["sm", "mu", "en"]]
        below = [(float(x), t) for x, t in zip(ticks, labels)]
        beside = [(float(y), t) for y, t in zip(grid, levels)]
        title_below = labels[len(below)] if len(labels) > len(below) else ""
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
                x, y = place(e)
                found.append((self.x.value(x) if self.x else x, self.y.value(y) if self.y else y, "ho" not in classes(e),
                              e.find(SVG + "title").text))
        return found

    def lines(self):
        """The points of each line."""
        found = []
        for e in self.elements:
            if e.tag == SVG + "path" and "ln" in classes(e):
                points = sum(strokes(e.get("d")), [])
                found.append([(self.x.value(x) if self.x else x, self.y.value(y)) for x, y in points])
        return found


def distance(point, piece):
    """From a point to a line of straight pieces, in pixels."""
    least = math.dist(point, piece[0])
    for (x1, y1), (x2, y2) in zip(piece, piece[1:]):
        dx, dy = x2 - x1, y2 - y1
        share = max(0, min(1, ((point[0] - x1) * dx + (point[1] - y1) * dy) / (dx * dx + dy * dy or 1)))
        least = min(least, math.dist(point, (x1 + share * dx, y1 + share * dy)))
    return least


def passes(panel, number, wanted):
    """Whether a line of many points goes through all of these and has no corner anywhere else: points between two others on a
    straight line may be left out. To a third of a pixel."""
    path = [e for e in panel.elements if e.tag == SVG + "path" and "ln" in classes(e)][number]
    corners = sum(strokes(path.get("d")), [])
    points = [(panel.x.pixel(x), panel.y.pixel(y)) for x, y in wanted]
    return (len(corners) <= len(points) and all(distance(p, corners) < 0.34 for p in points)
            and all(min(math.dist(c, p) for p in points) < 0.34 for c in corners))


def plain(text):
    """With usual spaces: a figure and its unit have one at which no line ends."""
    return text.replace("\u00a0", " ").replace("\u2060", "")


def in_page(text, kind):
    """The panels of a plot of a page, as wide screens show them, by their titles."""
    section = re.search(rf'<section id="plot-{kind}"[^>]*>(.*?)</section>', text, re.S).group(1)
    found = {}
    for title, svg in re.findall(r'<figcaption><h\d>(.*?)</h\d>.*?<div class="wide">(<svg.*?</svg>)', section, re.S):
        title = plain(html.unescape(title))
        found[title] = Panel(title, tree.fromstring(svg.replace("<svg", '<svg xmlns="http://www.w3.org/2000/svg"', 1)))
    return found


def panels(path):
    root = tree.parse(path).getroot()
    found = []
    for g in root.findall(SVG + "g"):
        title = g.find(SVG + "text")
        found.append(Panel(title.text or "", g.find(SVG + "g")))
    return found
