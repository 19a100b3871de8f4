# SPDX-License-Identifier: Apache-2.0
"""Reports and plots as people see them: opened in Chromium on a phone, a laptop and a wide screen, light and dark."""
import os
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, os.environ["TESTS"])
sys.path.insert(0, os.environ["TESTS"] + "/report")
import browser  # noqa: E402
import records  # noqa: E402
from tap import done, report, skip  # noqa: E402

FARE, HERE = os.environ["FARE"], Path(os.environ["TMPDIR"])
LEDGER = HERE / "ledger.db"
WIDTHS, SCHEMES = (360, 1024, 1920), ("light", "dark")


def fare(*arguments):
    p = subprocess.run([FARE, *map(str, arguments)], capture_output=True, text=True, cwd=HERE)
    if p.returncode:
        report(f"fare {' '.join(map(str, arguments))}", False, p.stderr)
    return p.stdout


def overlapping(texts):
    """Pairs of texts in one drawing whose boxes share more than a hair."""
    found = []
    for i, a in enumerate(texts):
        for b in texts[i + 1:]:
            if a["svg"] != b["svg"] or a["svg"] is None:
                continue
            x = min(a["box"][2], b["box"][2]) - max(a["box"][0], b["box"][0])
            y = min(a["box"][3], b["box"][3]) - max(a["box"][1], b["box"][1])
            # Boxes are as high as the font's ascent and descent; letters are not.
            if x > 1 and y > 0.3 * min(a["box"][3] - a["box"][1], b["box"][3] - b["box"][1]):
                found.append(f"{a['text']!r} on {b['text']!r}")
    return found


def outside(texts):
    """Texts that leave their drawing, and would be cut or lie on something else."""
    return [t["text"] for t in texts if t["svg"] and (
        t["box"][0] < t["svg"][0] - 1.5 or t["box"][2] > t["svg"][2] + 1.5 or
        t["box"][1] < t["svg"][1] - 2 or t["box"][3] > t["svg"][3] + 2)]


def look(chrome, path, name, least_size):
    for width in WIDTHS:
        for scheme in SCHEMES:
            chrome.open(path, width, scheme)
            texts = chrome.texts()
            where = f"{name} at {width} px, {scheme}"
            shown = path.suffix == ".svg" or chrome.ask("return document.documentElement.scrollWidth") <= width
            report(f"{where}: nothing is wider than the page", shown,
                   chrome.ask("return document.documentElement.scrollWidth"))
            pale = [f"{t['text']!r} {browser.contrast(t['colour'], t['back']):.2f}" for t in texts
                    if browser.contrast(t["colour"], t["back"]) < 4.5]
            report(f"{where}: contrast of {len(texts)} texts is 4.5 or more", texts and not pale, "\n".join(pale))
            report(f"{where}: no text leaves its drawing", not outside(texts), "\n".join(outside(texts)))
            report(f"{where}: no texts lie on each other", not overlapping(texts), "\n".join(overlapping(texts)))
            small = [t["text"] for t in texts if t["size"] < least_size]
            report(f"{where}: no text is too small to read", not small, "\n".join(small))


def headings(chrome, path, name):
    chrome.open(path)
    levels = chrome.ask("return [...document.querySelectorAll('h1,h2,h3,h4,h5,h6')].map(h => +h.tagName[1])")
    steps = all(b <= a + 1 for a, b in zip(levels, levels[1:]))
    report(f"{name}: one h1, and no level is skipped", levels[:1] == [1] and levels.count(1) == 1 and steps, levels)
    empty = chrome.ask("return [...document.querySelectorAll('h1,h2,h3,th')].filter(h => !h.textContent.trim()).length")
    report(f"{name}: no heading is empty", empty == 0, empty)


def alone(chrome, path, name):
    """Needs no script and no other file; a record's text never becomes an element."""
    chrome.open(path)
    things = chrome.ask("return [...document.querySelectorAll('script,link,img,iframe,object,embed,base')].length")
    report(f"{name}: no scripts, no other files", things == 0, things)
    ways = chrome.ask("return [...document.querySelectorAll('[href],[src]')].map(e => e.getAttribute('href') || "
                      "e.getAttribute('src')).filter(v => !v.startsWith('#') || !document.querySelector(v))")
    report(f"{name}: links lead to places in the page", not ways, ways)
    handlers = chrome.ask("return [...document.querySelectorAll('*')].filter(e => [...e.attributes].some("
                          "a => a.name.startsWith('on'))).length")
    report(f"{name}: no handlers of events", handlers == 0, handlers)
    before = chrome.picture()
    chrome.scripts(False)
    chrome.open(path)
    after = chrome.picture()
    chrome.scripts(True)
    report(f"{name}: looks the same with scripts disabled", before == after)


def keyboard(chrome, path, name):
    """Tab goes through the page in reading order, and Enter opens a table."""
    from selenium.webdriver.common.action_chains import ActionChains
    from selenium.webdriver.common.keys import Keys
    chrome.open(path)
    wanted = chrome.ask("return [...document.querySelectorAll('a[href],summary,[tabindex=\"0\"]')]"
                        ".filter(e => e.checkVisibility()).length")
    places = []
    for _ in range(min(wanted, 40)):
        ActionChains(chrome.driver).send_keys(Keys.TAB).perform()
        places.append(chrome.ask("return [...document.querySelectorAll('*')].indexOf(document.activeElement)"))
    report(f"{name}: tab goes from top to bottom", places == sorted(places) and len(set(places)) == len(places), places)
    closed = chrome.ask("const s = document.querySelector('details:not([open]) > summary'); s.focus(); "
                        "return s.parentElement.querySelector('table').checkVisibility()")
    ActionChains(chrome.driver).send_keys(Keys.ENTER).perform()
    opened = chrome.ask("return document.activeElement.parentElement.querySelector('table').checkVisibility()")
    report(f"{name}: Enter opens the table of a plot", not closed and opened)
    chrome.ask("document.querySelectorAll('details').forEach(d => { d.open = true })")
    width = chrome.ask("return document.documentElement.scrollWidth")
    report(f"{name}: with all tables open it is no wider", width <= 1024, width)


if browser.MISSING:
    skip("pages in Chromium", browser.MISSING)
    done()

records.write(HERE / "all.jsonl", records.everything())
fare("runs", "import", HERE / "all.jsonl", "--ledger", LEDGER)
records.write(HERE / "two.jsonl", records.machines(2))
fare("runs", "import", HERE / "two.jsonl", "--ledger", HERE / "two.db")
pages = {"everything": ("--all", "--ledger", LEDGER, "--deadline", "30m"),
         "two runs": ("--ledger", HERE / "two.db"),
         "one run": ("published-2018-tweets-aws-p3-2xlarge", "--date", "2018-02-15", "--buy", "2500", "--watts", "400",
                     "--kwh", "0.30", "--hours-per-month", "200", "--ledger", LEDGER),
         "2017": ("--published", "2017-keras-backends", "--base", "k80+tensorflow"),
         "2018": ("--published", "2018-tweets")}
plots = [("cost", "everything"), ("relative", "2017"), ("frontier", "everything"), ("accuracy", "2017"),
         ("use", "everything"), ("steps", "everything"), ("batch", "everything"), ("gpus", "everything"),
         ("prices", "one run"), ("buy", "one run")]
chrome = browser.Browser()
try:
    for name, arguments in pages.items():
        path = HERE / f"{name.replace(' ', '-')}.html"
        fare("report", *arguments, "-o", path)
        look(chrome, path, name, 11)
        headings(chrome, path, name)
        alone(chrome, path, name)
        keyboard(chrome, path, name)
        chrome.open(path)
        report(f"{name}: prints", len(chrome.printed()) > 20000)
    for kind, of in plots:
        path = HERE / f"{kind}.svg"
        fare("report", *pages[of], "--plot", kind, "-o", path)
        look(chrome, path, f"{kind}.svg", 11)
finally:
    chrome.close()
done()
