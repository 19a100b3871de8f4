# SPDX-License-Identifier: Apache-2.0
"""Reports and plots as people see them: opened in Chromium on a phone, a laptop and a wide screen, light and dark."""
import os
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, os.environ["TESTS"])
sys.path.insert(0, os.environ["TESTS"] + "/view")
import browser  # noqa: E402
import looking  # noqa: E402
import records  # noqa: E402
from tap import done, report, skip  # noqa: E402

FARE, HERE = os.environ["FARE"], Path(os.environ["TMPDIR"])
LEDGER = HERE / "ledger.db"


def fare(*arguments):
    p = subprocess.run([FARE, *map(str, arguments)], capture_output=True, text=True, cwd=HERE)
    if p.returncode:
        report(f"fare {' '.join(map(str, arguments))}", False, p.stderr)
    return p.stdout


def says(chrome, name, words):
    text = chrome.ask("return document.body.textContent")
    lost = [word for word in words if word not in text]
    report(f"{name}: names what it is about", not lost, "\n".join(lost))


def alone(chrome, name):
    """Needs no other file; its links lead to places in it."""
    ways = chrome.ask("return [...document.querySelectorAll('[href],[src]')].map(e => e.getAttribute('href') || "
                      "e.getAttribute('src')).filter(v => !v.startsWith('#') || !document.querySelector(v))")
    report(f"{name}: links lead to places in the page", not ways, ways)


def tables(chrome, name):
    """Enter opens the table of a plot; with all of them open nothing is wider."""
    closed = chrome.ask("const s = document.querySelector('details:not([open]) > summary'); s.focus(); "
                        "return s.parentElement.querySelector('table').checkVisibility()")
    chrome.driver.switch_to.active_element.send_keys("\n")
    opened = chrome.ask("return document.activeElement.parentElement.querySelector('table').checkVisibility()")
    report(f"{name}: Enter opens the table of a plot", not closed and opened)
    for width in looking.WIDTHS:
        chrome.see(width)
        chrome.ask("document.querySelectorAll('details').forEach(d => { d.open = true })")
        for what, wrong in (("it is no wider", looking.wide(chrome)), ("no text is missing", looking.missing(chrome))):
            report(f"{name} with all tables open at {width} px: {what}", not wrong, "\n".join(wrong))


if browser.MISSING:
    skip("pages in Chromium", browser.MISSING)
    done()

records.write(HERE / "all.jsonl", records.everything())
fare("runs", "import", HERE / "all.jsonl", "--ledger", LEDGER)
records.write(HERE / "two.jsonl", records.machines(2))
fare("runs", "import", HERE / "two.jsonl", "--ledger", HERE / "two.db")
forty, two = ([r["machine"]["name"] for r in records.machines(n)] for n in (40, 2))
# By what was asked for: its options, and what must be named on the page.
pages = {"everything": (("--all", "--ledger", LEDGER, "--deadline", "30m"), [*forty, "H100", records.NASTY, "deadline"]),
         "a workload on 40 machines": (("--workload", "cnn", "--ledger", LEDGER), forty),
         "the newest": (("--ledger", HERE / "two.db"), two),
         "two runs by name": ((*(r["id"] for r in records.machines(2)), "--ledger", LEDGER), two),
         "one run": (("published-2018-tweets-aws-p3-2xlarge", "--date", "2018-02-15", "--buy", "2500", "--watts", "400",
                      "--kwh", "0.30", "--hours-per-month", "200", "--ledger", LEDGER), ["p3.2xlarge", "Rent or buy"]),
         "2017": (("--published", "2017-keras-backends", "--base", "k80+tensorflow"), ["p100", "cntk", "cpu16"]),
         "2018": (("--published", "2018-tweets"), ["ex51-ssd-gpu", "P6000"])}
plots = [("cost", "everything"), ("cost", "the newest"), ("relative", "2017"), ("relative", "everything"),
         ("frontier", "everything"), ("frontier", "the newest"), ("accuracy", "2017"), ("use", "everything"),
         ("steps", "everything"), ("batch", "everything"), ("gpus", "everything"), ("prices", "one run"), ("buy", "one run")]
chrome = browser.Browser()
try:
    for name, (arguments, words) in pages.items():
        path = HERE / f"{name.replace(' ', '-')}.html"
        fare("report", *arguments, "-o", path)
        looking.look(chrome, path, name, report)
        alone(chrome, name)
        says(chrome, name, words)
        report(f"{name}: prints", len(chrome.printed()) > 20000)
        tables(chrome, name)
    for kind, of in plots:
        path = HERE / f"{kind}.svg"
        fare("report", *pages[of][0], "--plot", kind, "-o", path)
        looking.look(chrome, path, f"{kind}.svg of {of}", report, drawing=True)
finally:
    chrome.close()
done()
