# SPDX-License-Identifier: Apache-2.0
"""Every check of looking.py finds what is broken, and nothing in a page that is as it should be."""
import os
import sys
from pathlib import Path

sys.path.insert(0, os.environ["TESTS"])
sys.path.insert(0, os.environ["TESTS"] + "/view")
import browser  # noqa: E402
import looking  # noqa: E402
from tap import done, report, skip  # noqa: E402

HERE = Path(os.environ["TMPDIR"])
if browser.MISSING:
    skip("pages in Chromium", browser.MISSING)
    done()

GOOD = """<h1>Head</h1><p>Text <a href="#x">way</a></p><h2 id="x">Part</h2>
<form><label>Name<input name="n" placeholder="short"></label><button>Go</button></form>
<svg width="200" height="60"><text x="10" y="20">one</text><text x="10" y="50">two</text>
<path class="ln s0" d="M60 2L90 50"/><path class="ln s1" d="M60 50L90 12"/>
<line class="ln s0" x1="100" x2="120" y1="15" y2="15"/><path class="mk" d="M110 15m-2 -2h4v4z"/><text x="125" y="20">a</text>
<line class="ln s1" x1="100" x2="120" y1="45" y2="45"/><path class="mk" d="M110 45m-2 -2h4v4z"/><text x="125" y="50">b</text></svg>
<details><summary>More</summary><table><tr><td>cell</td></tr></table></details>"""
PAGE = "<!doctype html><html lang=en><head><title>t</title><style>body{background:#fff;color:#000}.ln{fill:none;stroke:#00f}.s1{stroke:#c00}%s</style></head><body>%s</body></html>"
CHECKS = "wide cut far paper pale outside overlapping struck alike small missing headings nameless tabs without_scripts".split()


def complaints(chrome, check, style, body, width=360, scheme="light"):
    path = HERE / "page.html"
    path.write_text(PAGE % (style, body))
    chrome.open(path, width, scheme)
    if check == "without_scripts":
        return looking.without_scripts(chrome, path)
    of_texts = check in ("pale", "outside", "overlapping", "small")
    return getattr(looking, check)(chrome.texts() if of_texts else chrome)


# Which check finds it: (check, style, body).
BROKEN = {
    "a box of 500 pixels on a phone": ("wide", ".b{width:500px}", GOOD + "<div class=b>box</div>"),
    "one behind the edge of a page that cannot be scrolled":
        ("wide", "body{overflow-x:hidden}.b{width:500px}", GOOD + "<div class=b>box</div>"),
    "a table that is cut at the edge": ("cut", ".s{overflow-x:auto;width:90px}td{white-space:pre}",
                                        GOOD + "<div class=s><table><tr><td>a cell that is long</td></tr></table></div>"),
    "a time behind the edge": ("far", ".s{overflow-x:auto}.w{min-width:400px}", GOOD + "<div class=s><table><thead><tr><th>run</th>"
                               "<th>time</th></tr></thead><tbody><tr><td class=w>a</td><td>1 s</td></tr></tbody></table></div>"),
    "a table wider than paper, folded on the screen": ("paper", "td{min-width:800px}", GOOD),
    "grey on white": ("pale", "p{color:#999}", GOOD),
    "a pale placeholder": ("pale", "::placeholder{color:#aaa;opacity:1}", GOOD),
    "white in a drawing": ("pale", "text{fill:#eee}", GOOD),
    "a text that leaves its drawing": ("outside", "", GOOD.replace("one", "one that is much too long for it, by far and wide")),
    "two texts in one place": ("overlapping", "", GOOD.replace('y="50"', 'y="22"')),
    "a whisker through a text": ("struck", "", GOOD.replace('<path', '<line class="wh" x1="5" x2="90" y1="16" y2="16"/><path', 1)),
    "a slanted line through a text": ("struck", "", GOOD.replace("M60 2L90 50", "M2 2L60 30")),
    "two series of one colour and marker": ("alike", ".s1{stroke:#00f}", GOOD),
    "a line that the legend does not draw": ("alike", "", GOOD.replace('<line class="ln s1"', '<line class="s1"')),
    "small print": ("small", "p{font-size:9px}", GOOD),
    "a text that is cut": ("missing", "p{width:30px;overflow:hidden;white-space:nowrap}", GOOD),
    "a text without room": ("missing", "p{font-size:0}", GOOD),
    "a text left of the page": ("missing", "p{margin-left:-300px}", GOOD),
    "a text that is hidden": ("missing", "p{visibility:hidden}", GOOD),
    "a field that is too short": ("missing", "input{width:20px}", GOOD),
    "a value that was not there": ("missing", "", GOOD.replace("cell", "(null)").replace("<details>", "<details open>")),
    "no h1": ("headings", "", GOOD.replace("h1", "h2")),
    "h3 after h1": ("headings", "", GOOD.replace("h2", "h3")),
    "an empty heading": ("headings", "", GOOD.replace("Part", " ")),
    "a field without a name": ("nameless", "", GOOD.replace("label", "div")),
    "a button without a name": ("nameless", "", GOOD.replace(">Go<", "><")),
    "what cannot be reached by tab": ("tabs", "", GOOD.replace("<button", "<button tabindex=-1")),
    "an order of its own": ("tabs", "", GOOD.replace("<button", "<button tabindex=3")),
    "what comes first stands last": ("tabs", "body{display:flex;flex-direction:column-reverse}", GOOD),
    "focus that is not shown": ("tabs", "*{outline:none!important}", GOOD),
    "a script that writes": ("without_scripts", "", GOOD + "<script>document.body.append('written')</script>"),
    "a handler": ("without_scripts", "", GOOD.replace("<button", "<button onclick='go()'")),
}
chrome = browser.Browser()
try:
    for check in CHECKS:
        found = complaints(chrome, check, "", GOOD)
        report(f"a page as it should be: '{check}' finds nothing", not found, found)
    for name, (check, style, body) in BROKEN.items():
        report(f"{name}: found by '{check}'", complaints(chrome, check, style, body))
    report("every check is shown to find something", {check for check, _, _ in BROKEN.values()} == set(CHECKS))
    dark = "@media (prefers-color-scheme:dark){body{background:#111}}"
    report("black on black, in the dark only", complaints(chrome, "pale", dark, GOOD, scheme="dark") and
           not complaints(chrome, "pale", dark, GOOD))
finally:
    chrome.close()
done()
