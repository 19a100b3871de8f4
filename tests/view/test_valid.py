# SPDX-License-Identifier: Apache-2.0
"""Reports, the site of the published results and the pages of fare serve are valid HTML, by the W3C's checker."""
import atexit
import os
import re
import subprocess
import sys
import urllib.request
from pathlib import Path

sys.path.insert(0, os.environ["TESTS"])
sys.path.insert(0, os.environ["TESTS"] + "/view")
import records  # noqa: E402
import validator  # noqa: E402
from tap import done, report, skip  # noqa: E402

FARE, HERE, ROOT = os.environ["FARE"], Path(os.environ["TMPDIR"]), Path(os.environ["ROOT"])
LEDGER, ALL, SITE = HERE / "published.db", HERE / "all.db", HERE / "site"
RUNS = 5  # of the site's, besides all other pages


def fare(*arguments):
    p = subprocess.run([FARE, *map(str, arguments)], capture_output=True, text=True, cwd=HERE)
    if p.returncode:
        report(f"fare {' '.join(map(str, arguments))}", False, p.stderr)
    return p.stdout


if validator.MISSING:
    skip("valid HTML", validator.MISSING)
    done()

fare("runs", "import", *sorted(ROOT.glob("share/published/*.jsonl")), "--ledger", LEDGER)
fare("report", "--all", "--ledger", LEDGER, "--site", SITE)
records.write(HERE / "all.jsonl", records.everything())
fare("runs", "import", HERE / "all.jsonl", "--ledger", ALL)
fare("report", "--all", "--ledger", ALL, "--site", HERE / "nasty")
fare("report", "--all", "--ledger", ALL, "-o", HERE / "report.html")
fare("report", "--published", "2017-keras-backends", "-o", HERE / "2017.html")

runs = sorted(SITE.glob("runs/*.html"))
pages = {"the site of the published results": [*SITE.glob("*.html"), *sorted(SITE.glob("compare/*.html"))[::2], *runs[::len(runs) // RUNS]],
         "a site with hostile names": [*(HERE / "nasty").glob("*.html"), *sorted((HERE / "nasty").glob("compare/*.html"))[::3],
                                       *(HERE / "nasty").glob("runs/*000400z*.html")],
         "reports": [HERE / "report.html", HERE / "2017.html"]}

server = subprocess.Popen([FARE, "serve", "--ledger", ALL, "--listen", "127.0.0.1:0"], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True)
atexit.register(server.kill)
address = re.search(r"http://\S+:\d+", server.stdout.readline())
if address:
    one, two = (r["id"] for r in records.machines(2))
    served = HERE / "served"
    served.mkdir()
    for i, path in enumerate(("/", "/runs", "/runs?sort=-time", "/runs?workload=none", f"/runs/{one}", f"/compare?run={one}&run={two}",
                              "/prices?gpu=h100", f"/quote?run={one}&deadline=1h", "/spend", "/nothing")):
        try:
            text = urllib.request.urlopen(address.group() + path, timeout=30).read()
        except urllib.error.HTTPError as error:  # the page of an error is a page too
            text = error.read()
        (served / f"{i}.html").write_bytes(text)
    pages["fare serve"] = sorted(served.glob("*.html"))
else:
    skip("pages of fare serve", server.communicate()[1].strip())

broken = HERE / "broken.html"
broken.write_text(next(SITE.glob("index.html")).read_text().replace("</dl>", "<p></dl>", 1).replace("<main>", "<main><img>", 1))
wrong = validator.check([broken])
report("the checker finds what is broken", len(wrong) >= 2 and any("img" in w for w in wrong), "\n".join(wrong))
wrong = validator.check([path for paths in pages.values() for path in paths])
for name, paths in pages.items():
    names = {path.name for path in paths}
    of = [w for w in wrong if w.split(":")[0] in names]
    report(f"{name}: {len(paths)} pages are valid HTML", len(paths) > 1 and not of, "\n".join(of))
done()
