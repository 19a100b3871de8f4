#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What the build of November 18, 2026, 12:00 kept (before-36.tar.xz, made by make_36.py): ledger, spool, journal, pinned quotes, image of
prices, static site, store of checkpoints, a sweep, a ledger in PostgreSQL. All of it opens, and today's answers have every fact that
build answered with. tests/ledger/test_postgres.py opens the dump."""
import hashlib
import json
import os
import re
import subprocess
import sys
import tarfile
import time
import urllib.request
from pathlib import Path

TESTS = Path(os.environ["TESTS"])
sys.path.insert(0, str(TESTS))
from tap import done, report, skip  # noqa: E402

TMP = Path(os.environ["TMPDIR"]) / "kept36"
with tarfile.open(TESTS / "kept" / "before-36.tar.xz") as archive:
    archive.extractall(TMP)
DATA, SAID = TMP / "data" / "fare", TMP / "said"
(TMP / "config/fare/offers").mkdir(parents=True)
(TMP / "config/fare/offers/own.csv").write_text((TESTS / "golden/given/own.csv").read_text())
ENV = {**os.environ, "XDG_DATA_HOME": str(TMP / "data"), "XDG_CONFIG_HOME": str(TMP / "config"), "FARE_METADATA": "off", "TZ": "UTC"}
ENV.pop("FARE_LEDGER", None)


def fare(*words, env=ENV, cwd=TMP):
    p = subprocess.run([os.environ["FARE"], *map(str, words)], env=env, cwd=cwd, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120)
    return p.stdout if p.returncode == 0 else f"exit {p.returncode}: {p.stdout}{p.stderr}"


def lost(old, new, path=""):
    """Paths of the facts of `old` that `new` does not have. A text of several words may be worded anew."""
    if isinstance(old, dict) and isinstance(new, dict):
        return [p for key in old for p in (lost(old[key], new[key], f"{path}.{key}") if key in new else [f"{path}.{key}"])]
    if isinstance(old, list) and isinstance(new, list):
        return [p for i, one in enumerate(old) for p in (lost(one, new[i], f"{path}[{i}]") if i < len(new) else [f"{path}[{i}]"])]
    same = old == new or isinstance(old, str) and isinstance(new, str) and " " in old and " " in new
    return [] if same else [f"{path}: {old!r}, now {new!r}"]


def check(name, file, *words, env=ENV):
    """Today's answer to what that build was asked; volatile are the ages of prices, which count from today."""
    old, answer = json.loads((SAID / file).read_text()), fare(*words, env=env)
    try:
        gone = [p for p in lost(old, json.loads(answer)) if not re.search(r"\bage_days\b|\bold_days\b", p)]
    except ValueError:
        gone = [answer]
    report(name, not gone, "\n".join(gone))


report("two values that differ are told", lost({"a": [1, {"b": "2"}]}, {"a": [1, {"b": "3"}]}) and lost({"a": 1}, {}) and lost([1], []) and not lost({"a": 1}, {"a": 1, "c": 2}))
other = {**ENV, "FARE_LEDGER": str(DATA / "ledger.db")}
# ---- the ledger, before anything else is delivered into it
(DATA / "spool").rename(TMP / "spool")
check("the list of runs", "runs.json", "runs", "--all", "--json")
check("a run", "native.json", "runs", "native", "--json")
check("what was spent", "spend.json", "runs", "--by", "project", "--json")
check("budgets", "budgets.json", "runs", "--budgets", "--json")
check("pinned quotes", "pinned.json", "quote", "00091a", "--pinned", "--json")
text = fare("quote", "00091a", "--pinned")
report("and their table", text.count("aws/g5.xlarge") >= 2 and "2026-11-18" in text, text)
old = [json.loads(line) for line in (SAID / "export.jsonl").read_text().splitlines()]
new = {one["id"]: one for one in map(json.loads, fare("runs", "export", "--all").splitlines())}
gone = [p for one in old for p in lost(one, new.get(one["id"], {}), one["id"])]
report(f"the {len(old)} exported records", len(old) > 20 and not gone, "\n".join(gone))
# ---- the image of prices
check("spot prices over time", "spot.json", "prices", "show", "aws/g5.xlarge:spot", "--json")
check("an offer and its earlier price", "small.json", "prices", "show", "small/box-1", "--json")
(TMP / "more.csv").write_text("provider,name,region,kind,gpu,gpus,price,date,source\nsmall,box-1,here,on-demand,L4,1,9,2026-11-18,made\n")
text = fare("prices", "import", "more.csv") + fare("prices", "show", "small/box-1", "--json")
report("a price is added to it, and the earlier ones stay", all(f'"{usd}"' in text for usd in ("0.125", "1.125", "9.00")), text)
# ---- spool and journal: named after their ledger, whose folder is another now
place = DATA / "spool" / hashlib.sha256(str(DATA / "ledger.db").encode()).hexdigest()[:12]
place.parent.mkdir(mode=0o700)
full = next(p for p in (TMP / "spool").iterdir() if list(p.glob("*.part")))
full.rename(place)
part = json.loads(next(place.glob("*.part")).read_text())
runs = {one["id"]: one for one in json.loads(fare("runs", "--all", "--json"))["runs"]}
report("the spooled run is delivered", runs.get("20261118T110000Z-00000000beef", {}).get("name") == "spooled", runs.keys())
report("the run that was killed is delivered with its time", runs.get(part["id"], {}).get("ended") == "killed"
       and part["phases"]["wall_ns"] > 10**9
       and not lost({k: part[k] for k in ("name", "started", "command", "phases")}, runs[part["id"]]), (part, runs.get(part["id"])))
report("the spool is empty", not list(place.iterdir()), list(place.iterdir()))
# ---- the site
text = fare("runs", "import", "site", "--ledger", "site.db")
got = {one["name"] for one in map(json.loads, fare("runs", "export", "--all", "--ledger", "site.db").splitlines())}
report("the site is imported", got == {"native", "command", "train.sh"}, text + str(got))
before = {p.name for p in (TMP / "site/runs").iterdir()}
text = fare("report", "native", "command", "--site", "site")
report("and written again in place", "exit" not in text and before >= {p.name for p in (TMP / "site/runs").iterdir()}
       and "native" in (TMP / "site/index.html").read_text(), text)
# ---- the store: its job goes on from its newest checkpoint
step = max(int(n) for n in re.findall(r"ckpt-(\d+)", " ".join(p.read_text() for p in (TMP / "store/saves").glob("*/manifest"))))
LAST = step + 20
job = ["/usr/bin/python3", "-S", "-E", str(TESTS / "save/job.py"), "out", str(LAST), "1", "5", "safetensors", "log", "{resume}"]
text = fare("run", "--no-cloud", "--no-trace", "--identity", "none", "--name", "saved", "--save", "store", "--job", "kept", "--checkpoints", "out",
            "--lease", "2s", "--save-every", "200ms", "--", *job)
log = (TMP / "log").read_text() if (TMP / "log").exists() else ""
state = "0"
for i in range(LAST):
    state = hashlib.sha256(f"{state}{i}".encode()).hexdigest()
report("the job resumes from the checkpoint in the store", f" start {step} " in log and step > 10, f"{step}\n{log}\n{text}")
report("and ends as if it had never been killed", f" final {state}\n" in log, log + text)
saving = json.loads(fare("runs", "last", "--json")).get("saving", {})
report("its record has both starts", len(saving.get("attempts", [])) == 2 and saving["attempts"][0]["saved_step"] == step, saving)
# ---- the sweep: one of four was done
plan = next(DATA.glob("fleet/*/plan.json"))
(TMP / "job").mkdir()
plan.write_text(json.dumps({**json.loads(plan.read_text()), "folder": {"from": str(TMP / "job")}}))
text = fare("runs", "resume", plan.parent.name)
swept = (TMP / "job/swept").read_text().split() if (TMP / "job/swept").exists() else []
report("the sweep goes on with what was left", sorted(swept) == ["2", "3", "4"], f"{swept} {text}")
# ---- pages over that ledger
server = subprocess.Popen([os.environ["FARE"], "serve", "--listen", "127.0.0.1:0"], env=ENV, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
address = re.search(r"http://\S+:\d+", server.stdout.readline())
if address:
    for path in ("/", "/runs", "/runs/" + old[0]["id"], "/spend", "/prices?provider=small", f"/compare?run={old[0]['id']}&run={old[1]['id']}", "/quote?run=00091a", "/metrics"):
        try:
            with urllib.request.urlopen(address[0] + path, timeout=60) as answer:
                report(f"page {path.split('/2026')[0]}", answer.status == 200 and len(answer.read()) > 500)
        except OSError as error:
            report(f"page {path}", False, error)
    server.kill()
    server.wait()
else:
    text = server.communicate()[1]
    skip("pages", text) if "libmicrohttpd is not on this machine" in text else report("it serves", False, text)
done()
