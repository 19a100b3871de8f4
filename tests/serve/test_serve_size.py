# SPDX-License-Identifier: Apache-2.0
"""How large pages are, and the memory of the server that renders them: no page of it and no report of eight runs has over
250 KB, and after many different pages its memory stays as it is.

The runs are published ones with the lists that a record in a ledger has: 200 step times and 100 samples each."""
import atexit
import http.client
import json
import math
import os
import random
import re
import subprocess
import sys
import time
import urllib.parse
from pathlib import Path

sys.path.insert(0, os.environ["TESTS"])
from tap import done, report, skip  # noqa: E402

FARE, HERE = os.environ["FARE"], Path(os.environ["TMPDIR"])
LEDGER, ROOT = HERE / "ledger.db", Path(os.environ["TESTS"]).parent
KB_MOST, RUNS = 250, 320
REAL = [json.loads(line) for line in (ROOT / "share/published/2026-h200.jsonl").read_text().splitlines()]
random.seed(1)


def record(i):
    run = json.loads(json.dumps(REAL[i % len(REAL)]))
    started = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(1790000000 + 37 * i))
    step = run.get("step_ms", 1) * random.uniform(0.9, 1.1)
    run.update(id=started.replace("-", "").replace(":", "") + f"-{random.getrandbits(48):012x}", started=started, project=f"p{i % 30}")
    run["machine"]["name"] = f"{run['machine']['name']} {i // len(REAL) % 20}"
    run["step_plot_ms"] = [round(step * random.uniform(0.98, 1.03), 4) for _ in range(200)]
    run["samples"] = [{"at_s": n / 2, "cpu_percent": round(random.uniform(80, 120), 1), "gpu_percent": random.randrange(80, 100),
                       "power_w": round(400 + 50 * math.sin(n / 9) + random.uniform(-9, 9), 1), "clock_mhz": 1980 - n % 3 * 15}
                      for n in range(100)]
    return run


runs = [record(i) for i in range(RUNS)]
(HERE / "all.jsonl").write_text("".join(json.dumps(run) + "\n" for run in runs))
subprocess.run([FARE, "runs", "import", HERE / "all.jsonl", "--ledger", LEDGER], check=True, capture_output=True)
ids = [run["id"] for run in reversed(runs)]  # the newest first

# ---- reports

for count in (1, 2, 8):
    subprocess.run([FARE, "report", *ids[:count], "--ledger", LEDGER, "-o", HERE / "report.html"], check=True, capture_output=True)
    size = (HERE / "report.html").stat().st_size / 1e3
    report(f"a report of {count}: {size:.0f} KB", size <= KB_MOST, size)

# ---- pages

server = subprocess.Popen([FARE, "serve", "--ledger", LEDGER, "--listen", "127.0.0.1:0"], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True)
atexit.register(server.kill)  # where a check throws
address = re.search(r"http://([^/]+)/", server.stdout.readline())
if not address:
    text = server.communicate()[1]
    skip("fare serve", text) if "libmicrohttpd is not on this machine" in text else report("it starts", False, text)
    done()
connection = http.client.HTTPConnection(address.group(1))


def ask(path):
    connection.request("GET", path)
    answer = connection.getresponse()
    return answer.status, answer.read()


def compare(count):
    return "/compare?" + "&".join(f"run={run}" for run in ids[:count])


for _ in range(300):  # the figures of the overview are made in the background
    if b"being computed" not in ask("/")[1].lower():
        break
    time.sleep(0.1)
PAGES = {"the overview": "/", "the list": "/runs", "its last page": f"/runs?page={RUNS // 50}", "a filter": "/runs?workload=cnn&sort=time",
         "two runs": compare(2), "eight runs": compare(8), "fifty runs": compare(50), "prices": "/prices", "prices of a GPU": "/prices?gpu=H100",
         "a GPU": "/gpu?name=H100", "an offer": "/offer?name=aws/p3.2xlarge", "a quote": "/quote?run=cnn",
         "a quote with wishes": f"/quote?run={ids[0]}&deadline=2h&budget=5", "who spent what": "/spend",
         "by month": "/spend?by=project,month", **{f"a run of {run['workload']}": f"/runs/{run['id']}" for run in runs[:len(REAL)]}}
sizes = {}
for name, path in PAGES.items():
    status, body = ask(path)
    sizes[name] = len(body) / 1e3
    report(f"{name}: {sizes[name]:.0f} KB", status == 200 and sizes[name] <= KB_MOST, (status, sizes[name]))

# ---- memory


def resident_mb():
    return int(re.search(r"VmRSS:\s+(\d+)", Path(f"/proc/{server.pid}/status").read_text()).group(1)) / 1024


def many(turn):
    """All kinds of pages, no two of which are the same."""
    for n in range(6):
        for path in (f"/runs/{ids[(turn * 6 + n) % RUNS]}", f"/runs?page=1&page={turn}.{n}", f"/prices?max_price={turn}.{n + 1}",
                     f"/quote?run=cnn&budget={turn + 1}.{n}", f"/compare?run={ids[n]}&run={ids[n + 1 + turn]}", f"/gpu?name=A100&name={turn}.{n}"):
            status, body = ask(path)
            if status != 200:
                report(f"{urllib.parse.unquote(path)} is there", False, (status, body[-500:]))


looks = []
if os.environ.get("FARE_SANITIZED") or "sanitize" in FARE:
    skip("memory stays as it is", "the sanitizer keeps what is freed")
else:
    for turn in range(8):
        many(turn)
        looks.append(resident_mb())
    report(f"memory stays as it is: {', '.join(f'{mb:.1f}' for mb in looks)} MB", max(looks[4:]) <= 1.15 * max(looks[:4]), looks)
server.terminate()
server.wait(10)
done()
