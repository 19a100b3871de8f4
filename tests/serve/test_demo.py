# SPDX-License-Identifier: Apache-2.0
"""make demo: what others published beside this machine's runs, in a ledger of its own; it ends and leaves nothing running."""
import atexit
import json
import os
import re
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path

sys.path.insert(0, os.environ["TESTS"])
sys.path.insert(0, os.environ["TESTS"] + "/view")
import records  # noqa: E402
from tap import done, report, skip  # noqa: E402

FARE, ROOT, HERE = os.environ["FARE"], Path(os.environ["ROOT"]), Path(os.environ["TMPDIR"])
OWN = HERE / "own.db"
PUBLISHED = sum(len(path.read_text().splitlines()) for path in (ROOT / "share" / "published").glob("*.jsonl"))


def start(**more):
    demo = subprocess.Popen([ROOT / "scripts" / "demo", "--listen", "127.0.0.1:0"], stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, text=True, env=dict(os.environ, **more))
    atexit.register(demo.kill)
    said = ""
    while "Serving" not in said and (line := demo.stdout.readline()):
        said += line
    address = re.search(r"http://127\.0\.0\.1:\d+", said)
    return demo, said, address and address.group(0)


def ask(url):
    with urllib.request.urlopen(url, timeout=30) as answer:
        return answer.read().decode()


def end(demo, how):
    demo.send_signal(how)
    text = demo.communicate(timeout=30)[1]
    # It is the server itself that was started: its number is that of the script.
    return demo.returncode, text


records.write(HERE / "own.jsonl", records.machines(3))
subprocess.run([FARE, "runs", "import", HERE / "own.jsonl", "--ledger", OWN], check=True, capture_output=True)
before = OWN.read_bytes()
demo, said, url = start(FARE_LEDGER=str(OWN))
if not url:
    text = demo.communicate()[1]
    skip("make demo", text) if "libmicrohttpd is not on this machine" in text else report("it starts", False, text)
    done()
report("it is the process that was started", Path(f"/proc/{demo.pid}/exe").resolve() == Path(FARE).resolve())
page = ask(url + "/?workload=cnn&framework=fare")
report("this machine's runs are listed", "machine-01" in page, page)
page = ask(url + "/?workload=tweets")
report("beside the published", "p3.2xlarge" in page and "published-2018-tweets-aws-p3-2xlarge" in page, page)
runs, number, more = [], 1, True
while more:
    answer = json.loads(ask(f"{url}/runs.json?page={number}"))
    runs, number, more = runs + answer["runs"], number + 1, answer["more"]
report("all of both", len(runs) == PUBLISHED + 3, len(runs))
report("a published run has its page", "1 h 04 min" in ask(url + "/runs/published-2018-tweets-aws-p3-2xlarge"))
folder = Path(FARE).parent / "demo" / str(demo.pid)
report("its ledger is its own", (folder / "ledger.db").is_file())
code, text = end(demo, signal.SIGINT)
report("Ctrl-C ends it", code == 0 and not text, (code, text))
report("the user's ledger is as it was", OWN.read_bytes() == before)

demo, said, url = start(FARE_LEDGER=str(HERE / "empty.db"))
report("without runs it says how to make some", "no runs yet" in said and "make run" in said, said)
report("and shows the published", "p3.2xlarge" in ask(url + "/?workload=tweets"))
report("what the one before left is gone", not folder.exists())
code, text = end(demo, signal.SIGTERM)
report("SIGTERM ends it", code == 0 and not text, (code, text))

demo, said, url = start(FARE_LEDGER="postgresql://nobody@127.0.0.1:1/none")
report("a ledger that does not answer is left out", url and "p3.2xlarge" in ask(url + "/?workload=tweets"), said)
code, text = end(demo, signal.SIGTERM)
report("and it says so", code == 0 and "127.0.0.1" in text and "left out" in text, text)
made = subprocess.run(["make", "-n", "-C", ROOT, "demo", "LISTEN=127.0.0.1:9"], capture_output=True, text=True).stdout
report("make demo builds and starts it", "ninja -C build" in made and "scripts/demo --listen 127.0.0.1:9" in made, made)
done()
