# SPDX-License-Identifier: Apache-2.0
"""Prices as pages: strips of offers, the page of a GPU model, prices that moved, and how old a price is.

The offers are made here; what should be drawn is computed here. Speeds are computed a second time, from the formula
in docs/estimating.md and the tables in share/.
"""
import csv
import ctypes
import datetime
import html
import http.client
import json
import math
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, os.environ["TESTS"])
sys.path.insert(0, os.environ["TESTS"] + "/view")
import drawing  # noqa: E402
import records  # noqa: E402
from tap import done, report, skip  # noqa: E402

FARE, HERE, ROOT = os.environ["FARE"], Path(os.environ["TMPDIR"]), Path(os.environ["ROOT"])
os.environ["XDG_CONFIG_HOME"] = str(HERE / "config")
OFFERS = HERE / "config/fare/offers"
OFFERS.mkdir(parents=True)
TODAY = datetime.datetime.now(datetime.timezone.utc).date()


def ago(days):
    return (TODAY - datetime.timedelta(days=days)).isoformat()


# provider, name, region, zone, kind, GPUs, price of the machine, date; of a model that no table has
MADE = [("acme", "one", "moon", "", "on-demand", 1, 2.00, ago(1)), ("acme", "eight", "moon", "", "on-demand", 8, 12.00, ago(1)),
        ("acme", "eight", "mars", "", "on-demand", 8, 12.20, ago(1)),  # within 2 % of the other
        ("acme", "one", "moon", "moon-1", "spot", 1, 0.50, ago(1)), ("acme", "one", "moon", "moon-2", "spot", 1, 0.70, ago(1)),
        ("sun <b>", "big", "sky", "", "on-demand", 4, 24.00, ago(90)), ("tiny", "half", "", "", "on-demand", 0.5, 0.60, ago(20))]
HEAD = "provider,name,region,zone,kind,gpu,gpus,price,date,source"
(OFFERS / "made.csv").write_text("\n".join([HEAD] + [f"{p},{n},{r},{z},{k},Z9 <i>,{g},{usd},{day},test"
                                                      for p, n, r, z, k, g, usd, day in MADE]) + "\n")
# What it cost before, and a model all of whose prices are old.
(OFFERS / "before.csv").write_text(f"{HEAD}\nacme,one,moon,,on-demand,Z9 <i>,1,2.50,{ago(60)},test\n"
                                   f"dust,a,,,on-demand,Y1,1,1.00,{ago(100)},test\ndust,b,,,spot,Y1,1,0.40,{ago(8)},test\n")
records.write(HERE / "runs.jsonl", records.machines(3))
subprocess.run([FARE, "runs", "import", HERE / "runs.jsonl", "--ledger", HERE / "ledger.db"], check=True, capture_output=True)


def serve():
    started = subprocess.Popen([FARE, "serve", "--listen", "127.0.0.1:0", "--ledger", HERE / "ledger.db", "--book", "-"],
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    return started, re.search(r"http://(.*):(\d+)/", started.stdout.readline())


server, found = serve()
if not found:
    text = server.communicate()[1]
    skip("fare serve", text.strip()) if "libmicrohttpd is not on this machine" in text else report("it starts", False, text)
    done()


def ask(path, said=True):
    connection = http.client.HTTPConnection("127.0.0.1", int(found.group(2)), timeout=60)
    connection.request("GET", path)
    answer = connection.getresponse()
    text = answer.read().decode()
    connection.close()
    if said:
        report(f"{path}: under 250 KB", len(text.encode()) < 250000, len(text.encode()))
    return answer.status, text


def cells(text, label):
    """The rows of a table of a page, as texts."""
    table = re.search(rf'aria-label="{re.escape(label)}"><table>(.*?)</table>', text, re.S).group(1)
    rows = re.findall(r"<tr>(.*?)</tr>", table.split("<tbody>", 1)[1], re.S)
    return [[html.unescape(re.sub(r"<[^>]*>", "", cell)) for cell in re.findall(r"<td[^>]*>(.*?)</td>", row, re.S)] for row in rows]


# ---- the strip: one mark per price of a GPU-hour, a row per provider

status, page = ask("/gpu?name=Z9%20%3Ci%3E")
report("a GPU that only offers name has a page", status == 200 and "<i>" not in page and "<b>" not in page.replace("<b>1", ""), page[:400])
((title, panel),) = drawing.in_page(page, "offers").items()
report("its strip says from where to where", title == "Z9 <i>: on demand 1.20 to 6.00 USD, spot 0.50 to 0.70", title)
wanted = {("acme/one@moon", 2.0, "on demand"), ("acme/eight@moon", 1.5, "on demand"), ("acme/one@moon-1:spot", 0.5, "spot"),
          ("acme/one@moon-2:spot", 0.7, "spot"), ("sun <b>/big@sky", 6.0, "on demand"), ("tiny/half", 1.2, "on demand")}
drawn = panel.markers()
tips = {tip.split(": $")[0]: (x, y, tip) for x, y, _, tip in drawn}
report("a mark for each price", len(drawn) == len(wanted) and set(tips) == {name for name, _, _ in wanted}, drawn)
for name, usd, kind in sorted(wanted):
    x, _, tip = tips[name]
    report(f"{name} lies at {usd}", abs(x / usd - 1) < 0.01 and kind in tip, (x, tip))
report("two within 2 % are one mark, which says so", tips["acme/eight@moon"][2].endswith("; 2 offers from 1.50 to 1.53"), tips["acme/eight@moon"])
lines = sorted((y, name.split("/")[0]) for name, (_, y, _) in tips.items())
report("rows of providers, the cheapest first", list(dict.fromkeys(provider for _, provider in lines)) == ["acme", "tiny", "sun <b>"]
       and [provider for _, provider in lines] == ["acme"] * 4 + ["tiny", "sun <b>"], lines)
report("in a row, spot lies below on demand", min(tips[n][1] for n in tips if n.endswith(":spot")) > max(
    tips[n][1] for n in ("acme/one@moon", "acme/eight@moon")), tips)
texts = [(float(e.get("y")), e.text) for e in panel.texts if drawing.classes(e) == ["sm", "en"]]
report("the cheapest price of each at its end", [t for _, t in sorted(texts)] == ["$0.50", "$1.20", "$6.00"], texts)
shapes = {re.sub(r"^M[^a-z]*", "", e.get("d") or e.tag) for e in panel.elements if "mk" in drawing.classes(e) and e.find(drawing.SVG + "title") is not None}
report("on demand and spot have two shapes", len(shapes) == 2, shapes)
report("12 times apart: a logarithmic axis", panel.x.log)

# ---- who has it

made = json.loads(ask("/gpu.json?name=Z9%20%3Ci%3E")[1])
rows = {row["provider"]: row for row in made["providers"]}
report("the cheapest provider first", list(rows) == ["acme", "tiny", "sun <b>"] and made["offers"] == 7, made["providers"])
report("its cheapest on demand, and on spot", rows["acme"]["on_demand"] == {"usd": "1.50", "offer": "acme/eight@moon"}
       and rows["acme"]["spot"] == {"usd": "0.50", "offer": "acme/one@moon-1:spot"} and math.isclose(rows["acme"]["spot_share"], 1 / 3), rows["acme"])
report("since when: the first price in the book", rows["acme"]["since"] == ago(60) and rows["tiny"]["since"] == ago(20), rows)
report("how many offers, in how many places", (rows["acme"]["offers"], rows["acme"]["places"]) == (5, 4), rows["acme"])
table = {row[0]: row for row in cells(page, "Who has it")}
report("the table of the page says the same", table["acme"][1:4] == ["1.50", "0.50", "33 %"] and table["acme"][5] == ago(60), table)
report("no speed is made up for it", made.get("speeds", []) == [] and "its data sheet is not known" in page)
report("what is asked for is needed", ask("/gpu")[0] == 400 and ask("/gpu?name=none")[0] == 404 and ask("/gpu?gpu=H100")[0] == 400)
status, page = ask("/gpu?name=GTX660")
report("a known GPU that nobody rents out: what to do", status == 200 and "nobody in the book rents it out" in page and "fare prices update" in page, page[:500])

# ---- how old a price is: a small mark, or one sentence

page = ask("/prices?gpu=Z9%20%3Ci%3E")[1]
marked = [row[1] for row in cells(page, "Offers") if row[-1].endswith("†")]
report("an old price has a small mark, which is explained once", marked == ["sun <b>/big@sky"] and page.count("†</td>") == 1
       and "OLD" not in page and page.replace("\u00a0", " ").count("† last seen over 30 days ago") == 1, (marked, page.count("†")))
page = ask("/prices?gpu=Y1")[1]
report("where all are old, one sentence says so", "†" not in page and "OLD" not in page
       and f"dust/a, 1.00 USD on demand (Y1, seen {ago(100)}); dust/b, 0.40 USD on spot (Y1, seen {ago(8)})." in " ".join(html.unescape(page).split())
       and "gets today's prices" in html.unescape(page), page[-1500:])

# ---- the book by GPU model

page = ask("/prices")[1]
row = next(row for row in cells(page, "GPU models") + cells(page, "More GPU models") if row[0] == "Z9 <i>")
report("a model: lowest prices and providers", row[1:4] == ["1.20", "0.50", "3"], row)
svg = re.search(r'href="/gpu\?name=Z9%20%3Ci%3E">.*?(<svg.*?</svg>)', page, re.S).group(1)
paths = dict(re.findall(r'<path class="rg (s\d)" d="([^"]*)"', svg))
at = {kind: [int(x) for x in re.findall(r"M(\d+)\.5", d)] for kind, d in paths.items()}


def pixel(usd):
    """A logarithmic scale from 0.03 to 30 USD, 240 pixels wide."""
    return round(math.log(usd / 0.03) / math.log(1000) * 239)


report("its strip has a line for each price", at == {"s0": sorted({pixel(p) for p in (1.2, 1.5, 12.20 / 8, 2, 6)}), "s1": [pixel(0.5), pixel(0.7)]}, at)
heads = [float(x) for x in re.findall(r'<text x="([\d.]+)"[^>]*>(?:0\.1|1|10)<', page)]
report("its head has the scale", heads[:3] == [pixel(0.1), pixel(1), pixel(10)], heads)
report("no offer at all: what to do", "fare prices update" in ask("/prices?text=nothing-like-it")[1])

# ---- prices that moved, on the overview

for _ in range(300):  # made in the background
    page = ask("/", False)[1]
    if "Being computed" not in page:
        break
    time.sleep(0.2)
moved = cells(page, "Prices that moved")
report("the cheapest offer whose price changed", [row for row in moved if row[0].startswith("Z9")] == [
    ["Z9 <i>", "acme/one@moon", f"2.50{ago(60)}", "2.00", "−20 % "]], moved)
report("what did not change is not there", not any(row[0].startswith("Y1") for row in moved), moved)
report("the cheapest of acme never changed: no history of it", 'id="plot-prices"' not in ask("/gpu?name=Z9%20%3Ci%3E")[1])
(OFFERS / "more.csv").write_text(f"{HEAD}\nacme,eight,moon,,on-demand,Z9 <i>,8,16.00,{ago(60)},test\n")
time.sleep(2.5)  # a page is reused for up to two seconds
((title, panel),) = drawing.in_page(ask("/gpu?name=Z9%20%3Ci%3E")[1], "prices").items()
report("once it did, the title says so", title == "acme/eight@moon went from 2.00 to 1.50 USD", title)
(line,) = panel.lines()
steps = [(60, 2.0), (1, 2.0), (1, 1.5)]
report("and the line goes down on that day", len(line) == 3 and all(
    abs(x - drawing.day(ago(days))) < 1 and abs(y - usd) < 0.01 for (x, y), (days, usd) in zip(line, steps)), line)

# ---- speed beside an H100: the formula once more


def table_of(name, key):
    with open(ROOT / "share" / name, newline="") as f:
        return {row[key]: row for row in csv.DictReader(f)}


devices, models = table_of("devices/gpus.csv", "name"), table_of("estimate/model.csv", "kind")
power = float(table_of("estimate/bounds.csv", "bound")["gpu"]["power"])


def step(device, model, precision):
    d, m = devices[device], {k: float(v) for k, v in models[model].items() if k != "kind"}
    rate = float(d[precision + "_tflops"] or 0) or float(d["fp32_tflops"])
    clock = (float(d["base_mhz"]) / float(d["boost_mhz"])) ** m["clock_power"]
    units = m["matrix_unit_efficiency"] if rate > 1.3 * float(d["fp32_tflops"]) else 1
    return (m["matrix"] / (rate * clock * units) + m["memory"] / float(d["memory_gbs"])
            + m["units"] / (float(d["units"]) * float(d["boost_mhz"]) / 1e3 * clock))


def factor(relation):
    with open(ROOT / "share/estimate/errors.csv", newline="") as f:
        return next(float(r["factor90"]) for r in csv.DictReader(f) if (r["relation"], r["bound"], r["scale"], r["trace"], r["kind"]) ==
                    (relation, "gpu", "one", "no", "known"))


for gpu, relation in (("A100", "other"), ("V100", "other"), ("L4", "other"), ("H200", "same")):
    status, page = ask(f"/gpu?name={gpu}")
    speeds = {s["net"]: s for s in json.loads(ask(f"/gpu.json?name={gpu}")[1])["speeds"]}
    panel = list(drawing.in_page(page, "speed").values())[0]
    bars = {e.find(drawing.SVG + "title").text.split(":")[0]: value for _, value, _, e in panel.bars()}
    for net, model in (("transformers", "attention"), ("convolutional nets", "conv"), ("recurrent nets", "recurrent"), ("recommenders", "recommend")):
        ratio = (step("H100", model, "fp16") / step(gpu, model, "fp16")) ** power
        s, wide = speeds[net], factor(relation)
        report(f"{gpu}, {net}: {ratio:.3f} of an H100, within ×/÷ {wide}", math.isclose(s["ratio"], ratio, rel_tol=1e-3) and
               math.isclose(s["low"], ratio / wide, rel_tol=1e-3) and math.isclose(s["high"], ratio * wide, rel_tol=1e-3), s)
        report(f"{gpu}, {net}: the kind of figure", s["certainty"] == f"estimated ±{math.ceil(100 * (wide - 1) - 1e-9)} %" and s["certainty"] in page, s)
        report(f"{gpu}, {net}: the bar is as long, to a pixel", abs(bars[net] - ratio) <= 10 * panel.x.step(), bars)
made = subprocess.run([FARE, "report", "--gpu", "l4", "--book", "-", "-o", "-"], capture_output=True, text=True).stdout
page = ask("/gpu?name=L4")[1]
for kind in ("offers", "speed"):
    both = [re.search(rf'<section id="plot-{kind}"[^>]*>.*?</section>', text, re.S).group(0) for text in (made, page)]
    report(f"fare report --gpu has the same {kind}", both[0] == both[1])
report("and links nowhere", "href=" not in made)
report("of the H100 itself there is none", "speeds" not in json.loads(ask("/gpu.json?name=H100")[1]))

# ---- prices stay in memory until a file changes


def soon(path, word, there=True):
    """Whether the page has it within three seconds, or no longer has it."""
    end = time.monotonic() + 3
    while (word in ask(path, False)[1]) != there and time.monotonic() < end:
        time.sleep(0.05)
    return (word in ask(path, False)[1]) == there


(OFFERS / "late.csv").write_text(f"{HEAD}\nlate,x,moon,,on-demand,Z9 <i>,1,0.11,{ago(0)},test\n")
report("a new table of one's own is seen", soon("/prices?gpu=z9%20%3Ci%3E", "late/x"))
(OFFERS / "late.csv").write_text(f"{HEAD}\nlate,y,moon,,on-demand,Z9 <i>,1,0.12,{ago(0)},test\n")
report("a changed one too", soon("/prices?gpu=z9%20%3Ci%3E", "late/y"))
(OFFERS / "late.csv").unlink()
report("and one that is gone", soon("/prices?gpu=z9%20%3Ci%3E", "late/y", there=False))
server.terminate()
server.communicate(timeout=30)
report("the server ends well", server.returncode == 0, server.returncode)

# ---- published runs, too: their files are read for the first page that needs them, and not again

shutil.copytree(ROOT / "share", HERE / "share")
FILE = HERE / "share/published/2018-tweets.jsonl"
os.environ["FARE_SHARE"] = str(HERE / "share")
libc = ctypes.CDLL(None, use_errno=True)
opened = libc.inotify_init1(os.O_NONBLOCK)
libc.inotify_add_watch(opened, str(FILE).encode(), 0x20)  # IN_OPEN


def openings():
    """How often the file was opened since the last call."""
    try:
        return len(os.read(opened, 4096)) // 16  # events without a name
    except BlockingIOError:
        return 0


server, found = serve()
ID = "published-2018-tweets-aws-p3-2xlarge"
counts = []
for path in (f"/runs/{ID}", "/runs/published-2018-tweets-gce-k80", "/quote?run=tweets", f"/quote?run={ID}"):
    status, text = ask(path, False)
    counts.append(openings() if status == 200 else path)
report("the first page reads them, later ones do not", counts == [1, 0, 0, 0], counts)
FILE.write_text(FILE.read_text().replace(ID, ID + "-renamed"))
report("until the file changes", soon(f"/runs/{ID}-renamed", "takes 1"), ask(f"/runs/{ID}-renamed", False)[1])
server.terminate()
server.communicate(timeout=30)
report("and it ends well", server.returncode == 0, server.returncode)
done()
