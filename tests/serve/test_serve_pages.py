# SPDX-License-Identifier: Apache-2.0
"""The pages of fare serve as people see and use them: in Chromium on a phone, a laptop and a wide screen, light and dark."""
import os
import re
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, os.environ["TESTS"])
sys.path.insert(0, os.environ["TESTS"] + "/report")
import browser  # noqa: E402
import records  # noqa: E402
from tap import done, report, skip  # noqa: E402

FARE, HERE = os.environ["FARE"], Path(os.environ["TMPDIR"])
LEDGER = HERE / "ledger.db"
WIDTHS, SCHEMES = (360, 1024, 1920), ("light", "dark")

if browser.MISSING:
    skip("pages in a browser", browser.MISSING)
    done()
from selenium.common.exceptions import WebDriverException  # noqa: E402

script = records.record(900, "cnn", records.NASTY, 100, 3.6)
records.write(HERE / "all.jsonl", records.everything() + [script])
subprocess.run([FARE, "runs", "import", HERE / "all.jsonl", "--ledger", LEDGER], check=True, capture_output=True)
server = subprocess.Popen([FARE, "serve", "--listen", "127.0.0.1:0", "--ledger", LEDGER], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
address = re.search(r"http://\S+:\d+", server.stdout.readline())
if not address:
    text = server.communicate()[1]
    skip("fare serve", text) if "libmicrohttpd is not on this machine" in text else report("it starts", False, text)
    done()
URL = address.group(0)
chrome = browser.Browser()

PAGES = {"runs": "/", "no runs": "/?workload=none", "run": f"/runs/{script['id']}", "compare": "/compare?" + "&".join(
    f"run={r['id']}" for r in records.machines(12)), "prices": "/prices", "offer": "/offer?name=aws/p3.2xlarge",
    "quote": "/quote?run=cnn&deadline=2h", "nothing": "/none"}
for name, path in PAGES.items():
    for width in WIDTHS:
        for scheme in SCHEMES:
            chrome.open(URL + path, width, scheme)
            where = f"{name} at {width} px, {scheme}"
            wide = chrome.ask("return document.documentElement.scrollWidth")
            report(f"{where}: nothing is wider than the page", wide <= width, wide)
            texts = chrome.texts()
            pale = [f"{t['text']!r} {browser.contrast(t['colour'], t['back']):.2f}" for t in texts
                    if browser.contrast(t["colour"], t["back"]) < 4.5]
            report(f"{where}: contrast is 4.5 or more", texts and not pale, "\n".join(pale))
    levels = chrome.ask("return [...document.querySelectorAll('h1,h2,h3,h4,h5,h6')].map(h => +h.tagName[1])")
    report(f"{name}: one h1, and no level is skipped", levels[:1] == [1] and levels.count(1) == 1
           and all(b <= a + 1 for a, b in zip(levels, levels[1:])), levels)
    nameless = chrome.ask("return [...document.querySelectorAll('input,select')].filter(e => !e.labels.length && !e.ariaLabel).length")
    report(f"{name}: every field has a name", nameless == 0, nameless)
    report(f"{name}: no scripts", chrome.ask("return document.scripts.length") == 0)

# ---- forms, by clicking


def soon(script, good):
    """What the script says once that is good; a click is back before the page is there."""
    said = None
    for _ in range(100):
        try:
            said = chrome.ask(script)
        except WebDriverException:  # between two pages
            continue
        if said and good(said):
            break
        time.sleep(0.1)
    return said


chrome.open(URL + "/")
chrome.driver.find_element("name", "workload").send_keys("imdb")
chrome.driver.find_element("css selector", "form[action='/'] button").click()
shown = soon("return [...document.querySelectorAll('tbody tr')].map(r => r.cells[2].textContent)", lambda s: set(s) == {"imdb"})
report("the list, filtered", shown and set(shown) == {"imdb"} and "workload=imdb" in chrome.driver.current_url, shown)
chrome.open(URL + "/?workload=cnn&framework=other")
boxes = chrome.driver.find_elements("css selector", "input[type=checkbox]")
chosen = [box.get_attribute("value") for box in boxes[:2]]
for box in boxes[:2]:
    box.click()
chrome.driver.find_element("css selector", "form[action='/compare'] button").click()
text = soon("return document.body ? document.body.innerText : ''", lambda t: "Side by side" in t)
report("two that were chosen, side by side", all(f"run={run}" in chrome.driver.current_url for run in chosen)
       and "Side by side" in text, chrome.driver.current_url)
chrome.open(URL + "/quote")
chrome.driver.find_element("name", "run").send_keys("cnn")
chrome.driver.find_element("name", "deadline").send_keys("3h")
chrome.driver.find_element("css selector", "select option[value=no]").click()
chrome.driver.find_element("css selector", "form button").click()
kept = soon("return document.querySelector('h2') && [document.querySelector('[name=deadline]').value, "
            "document.querySelector('select').value]", lambda k: True)
report("a quote by its form keeps what was filled in", kept == ["3h", "no"], kept)
if "PICTURES" in os.environ:
    for name, path in PAGES.items():
        chrome.open(URL + path, 1024)
        chrome.driver.save_screenshot(f"{os.environ['PICTURES']}/{name}.png")
        chrome.open(URL + path, 360, "dark")
        chrome.driver.save_screenshot(f"{os.environ['PICTURES']}/{name}-phone.png")
chrome.close()
server.terminate()
server.communicate(timeout=30)
report("the server ends well", server.returncode == 0, server.returncode)
done()
