# SPDX-License-Identifier: Apache-2.0
"""The pages of fare serve as people see and use them: in Chromium on a phone, a laptop and a wide screen, light and dark."""
import atexit
import html
import json
import os
import re
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

sys.path.insert(0, os.environ["TESTS"])
sys.path.insert(0, os.environ["TESTS"] + "/view")
import browser  # noqa: E402
import drawing  # noqa: E402
import looking  # noqa: E402
import records  # noqa: E402
from tap import done, report, skip  # noqa: E402

FARE, HERE = os.environ["FARE"], Path(os.environ["TMPDIR"])
LEDGER = HERE / "ledger.db"

if browser.MISSING:
    skip("pages in a browser", browser.MISSING)
    done()
from selenium.common.exceptions import WebDriverException  # noqa: E402

script = records.record(900, "cnn", records.NASTY, 100, 3.6)
scored = {**records.record(901, "transformer", "scored", 100, 3.6), "quality": [{"metric": "BLEU", "value": 25.31}]}
scored.pop("test_accuracy", None)
records.write(HERE / "all.jsonl", records.everything() + [script, scored])
subprocess.run([FARE, "runs", "import", HERE / "all.jsonl", "--ledger", LEDGER], check=True, capture_output=True)
(HERE / "token").write_text("a-token-of-many-characters\n")
(HERE / "token").chmod(0o600)


def serve(*options):
    server = subprocess.Popen([FARE, "serve", "--ledger", LEDGER, *options], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              text=True)
    atexit.register(server.kill)  # where a check throws
    address = re.search(r"http://\S+:(\d+)", server.stdout.readline())
    if not address:
        text = server.communicate()[1]
        skip("fare serve", text) if "libmicrohttpd is not on this machine" in text else report("it starts", False, text)
        done()
    return server, f"http://127.0.0.1:{address.group(1)}"


server, URL = serve("--listen", "127.0.0.1:0")
closed, CLOSED = serve("--listen", "0.0.0.0:0", "--token-file", HERE / "token")
chrome = browser.Browser()

# Its address, and words that must be on it.
PAGES = {"overview": (URL + "/", ["Latest runs", "Cheapest and fastest machines to rent", "cheapest with a run"]),
         "runs": (URL + "/runs", ["box-7", "textgen", "Older"]),
         "the slowest": (URL + "/runs?sort=-time", ["machine-02", "Next"]), "older runs": (URL + "/?page=2", ["machine-01", "Newer"]),
         "runs with a metric": (URL + "/?workload=transformer", ["scored", "quality", "BLEU 25.31"]),
         "no runs": (URL + "/?workload=none", ["No such run"]),
         "run": (f"{URL}/runs/{script['id']}", [records.NASTY, "1 min 40 s"]),
         "run with plots": (f"{URL}/runs/{records.sampled(100)['id']}", ["H100", "step time", "utilisation", "What it costs elsewhere", "Do it again"]),
         "compare two": (URL + "/compare?" + "&".join(f"run={r['id']}" for r in records.machines(2)), ["machine-01", "machine-02", "What differs", "of the base"]),
         "compare 40": (URL + "/compare?" + "&".join(f"run={r['id']}" for r in records.machines(40)),
                        [r["machine"]["name"] for r in records.machines(40)]),
         "prices": (URL + "/prices", ["USD per hour", "T4"]), "no prices": (URL + "/prices?text=none", ["No matching offer"]),
         "prices of a GPU": (URL + "/prices?gpu=h100", ["H100: from", "lowest", "Offers, the lowest price first"]),
         "a GPU": (URL + "/gpu?name=A100", ["Who has it", "since", "the speed of an H100"]),
         "a GPU that nobody has": (URL + "/gpu?name=GTX660", ["nobody in the book rents it out"]),
         "offer": (URL + "/offer?name=aws/p3.2xlarge", ["3.06", "per second"]), "what to quote": (URL + "/quote", ["Price it"]),
         "quote": (URL + "/quote?run=cnn&deadline=2h", ["Within 2 h"]),
         "quote of a long id": (URL + "/quote?run=published-2026-h200-cifar-pytorch-gpu-tf32", ["published-2026-h200-cifar-pytorch-cpu-f32"]),
         "a wrong address": (URL + "/none", ["no such page"]), "no such run": (URL + "/runs/none", ["none"]),
         "a wrong time": (URL + "/quote?run=cnn&deadline=soon", ["soon"]), "no token": (HERE / "401.html", ["token is required"]),
         "with the token": (CLOSED.replace("//", "//x:a-token-of-many-characters@") + "/runs", ["box-7"])}
try:  # Chromium without a window shows nothing of an answer that asks who one is
    urllib.request.urlopen(CLOSED)
except urllib.error.HTTPError as e:
    (HERE / "401.html").write_bytes(e.read())
    report("without the token: 401", e.code == 401, e.code)
for _ in range(300):  # the figures of the overview are made in the background
    if "cheapest with a run" in urllib.request.urlopen(URL + "/").read().decode():
        break
    time.sleep(0.1)
for name, (address, words) in PAGES.items():
    looking.look(chrome, address, name, report)
    text = chrome.ask("return document.body.textContent")
    lost = [word for word in words if word not in drawing.plain(text)]
    report(f"{name}: says what it is about", not lost, lost or text)

alone = f"run={records.nasty(400)['id']}&deadline=10s"  # 50 s on a machine that nobody rents out
text = drawing.plain(urllib.request.urlopen(f"{URL}/quote?{alone}").read().decode())
report("a deadline is answered where there is no offer", "<p>Within 10.0 s: the time is unknown on every offer in the book; on the "
       "machine measured (" in text and ") it takes 50.0 s.</p>" in text, text)
said = json.loads(urllib.request.urlopen(f"{URL}/quote.json?{alone}").read())["advice"]
report("and in its twin", [s[:16] for s in said] == ["No offer in the ", "Within 10.0 s: t"], said)
# The page of a run says what the quote of that run says.
for run in (records.sampled(100), script):
    said = json.loads(urllib.request.urlopen(f"{URL}/quote.json?run={run['id']}").read())
    text = urllib.request.urlopen(f"{URL}/runs/{run['id']}").read().decode()
    page = html.unescape(text).replace("<wbr>", "")
    named = [b.get("short_name", b["offer"]) for b in said.get("bills", []) + said.get("estimates", [])]
    named = [name for name in named if any(f" {name}," in s or f" {name}:" in s for s in said["advice"])]
    lost = [name for name in named if name not in page]
    report(f"{run['workload']}: a run's page names the offers that its quote does", not lost and (named or said["advice"][0] in page),
           (lost, said["advice"], page))

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


chrome.open(URL + "/runs")
chrome.driver.find_element("name", "workload").send_keys("imdb")
chrome.driver.find_element("css selector", "form[action='/runs'] button").click()
shown = soon("return [...document.querySelectorAll('tbody tr')].map(r => r.querySelector('a').textContent)", lambda s: set(s) == {"imdb"})
report("the list, filtered", shown and set(shown) == {"imdb"} and "workload=imdb" in chrome.driver.current_url, shown)
chrome.open(URL + "/?workload=mlp")
rows = chrome.ask("return [...document.querySelectorAll('tbody tr')].map(r => r.innerText + r.querySelector('a').href)")
report("runs of one workload on one machine are told apart", len(rows) == len(set(rows)) == 5 and all(
    f"batch {r['batch']}" in row and r["id"] in row and "2026-01-01 00:00" in row
    for row, r in zip(rows, reversed(records.batches(200)))), rows)
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
chrome.open(URL + "/prices")
chrome.driver.find_element("name", "gpu").send_keys("h100")
chrome.driver.find_element("name", "max_price").send_keys("3")
chrome.driver.find_element("css selector", "select[name=kind] option[value=spot]").click()
chrome.driver.find_element("css selector", "form button").click()
rows = soon("return [...document.querySelectorAll('[aria-label=Offers] tbody tr')].map(r => [r.cells[0].textContent, "
            "r.cells[4].textContent, r.cells[1].innerText])", lambda rows: all("H100" in gpus for gpus, _, _ in rows))
report("the book, filtered", rows and all("H100" in gpus and name.endswith(":spot") and float(usd) <= 3 for gpus, usd, name in rows), rows)
chrome.driver.find_element("css selector", "[aria-label=Offers] tbody a").click()
text = soon("return document.body ? document.body.innerText : ''", lambda t: "Price history" in t)
report("an offer, by its link", rows and rows[0][2].split()[-1] in text, text)

# ---- from the list to a run and what it would cost, where no script may run: by pointer alone

chrome.open(URL + "/?workload=imdb")
where = "const b = document.querySelector(arguments[0]).getBoundingClientRect(); return [b.left + b.width / 2, b.top + b.height / 2]"
spot = chrome.ask(where, "tbody a")
chrome.scripts(False)


def address(good):
    for _ in range(100):
        history = chrome.cdp("Page.getNavigationHistory")
        at = history["entries"][history["currentIndex"]]["url"]
        if good in at:
            break
        time.sleep(0.1)
    return at


chrome.click(*spot)
report("a run by its link, without scripts", "/runs/20260101T000100Z" in address("/runs/"), address("/runs/"))
chrome.scripts(True)
chrome.open(URL + "/runs")
spot, field = chrome.ask(where, "form button"), chrome.ask(where, "[name=workload]")
chrome.scripts(False)
chrome.click(*field)
chrome.cdp("Input.insertText", text="mlp")
chrome.click(*spot)
report("the filters, without scripts", "workload=mlp" in address("workload="), address("workload="))
chrome.scripts(True)
chrome.close()
for one in (server, closed):
    one.terminate()
    one.communicate(timeout=30)
    report("the server ends well", one.returncode == 0, one.returncode)
done()
