#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Secrets of a command are in no file and no output of fare; its files are for the user alone; escapes from elsewhere do
not reach the terminal."""
import json
import os
import stat
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

sys.path.insert(0, os.environ["TESTS"])
from tap import done, report  # noqa: E402

FARE = os.environ["FARE"]
HERE = Path(os.environ["TMPDIR"])
DATA = HERE / "data"
ENV = dict(os.environ, XDG_DATA_HOME=str(DATA), XDG_CONFIG_HOME=str(HERE / "config"), FARE_LEDGER="")
PLANTED = "Pl4nted"  # part of every secret


def fare(*args, mask=0o022, **more):
    return subprocess.run([FARE, *args], capture_output=True, text=True, timeout=120, env=ENV,
                          preexec_fn=lambda: os.umask(mask), **more)


def runs():
    return json.loads(fare("runs", "--json", "--all").stdout)["runs"]


# Each way to pass one.
token = "hf" + "_" + PLANTED + "abcdefghijklmnopqrstuvwxyz0123"
script = HERE / "train.py"
script.write_text("import time; time.sleep(0.2)\n")
commands = {
    "an option": [sys.executable, str(script), "--hf-token", PLANTED, "--lr", "0.1"],
    "an option with '='": [sys.executable, str(script), f"--password={PLANTED} and more"],
    "a form": [sys.executable, str(script), token],
    "a variable": ["env", f"KEY={PLANTED}", sys.executable, str(script)],
    "a shell": ["sh", "-c", f"export API_KEY='{PLANTED} x'; exec {sys.executable} {script} --lr 1"],
    "a URL": [sys.executable, str(script), f"postgresql://me:{PLANTED}@host/db"],
    "a pattern": [sys.executable, str(script), f"zone-{PLANTED}"],
}
for how, command in commands.items():
    p = fare("run", "--no-cloud", "--label", f"wandb_key={PLANTED}1234567890", "--secret", "zone-[A-Za-z0-9]+", "--json", "--", *command,
             mask=0)
    made = json.loads(p.stdout)["runs"][0]["id"] if p.returncode == 0 else ""
    kept = next((run for run in runs() if run["id"] == made), {})
    report(f"{how}: not in the output", p.returncode == 0 and PLANTED not in p.stdout + p.stderr, p.stdout + p.stderr)
    report(f"{how}: the command is named by its script", kept.get("name") == "train", kept.get("name"))
    report(f"{how}: three stars instead", "***" in json.dumps(kept.get("command", "")) or how == "a URL", kept.get("command"))
report("harmless arguments stay", any(run["command"][-2:] == ["--lr", "0.1"] for run in runs()), runs())
url = next(r for r in runs() if "@host/db" in json.dumps(r["command"]))
report("a URL loses its password in both members alike", "postgresql://me@host/db" in url["command"] and
       "postgresql://me@host/db" in url["program"]["command_line"], url["program"])

# A command that is killed leaves its record in the spool.
p = subprocess.Popen([FARE, "run", "--no-cloud", "--", "sh", "-c", f"HF_TOKEN={PLANTED}; sleep 30"], env=ENV, stderr=subprocess.DEVNULL)
deadline = time.time() + 20
while time.time() < deadline and not list(DATA.rglob("*.part")):
    time.sleep(0.1)
parts = list(DATA.rglob("*.part"))
report("the journal of a running command has no secret", parts and all(PLANTED not in f.read_text() for f in parts), parts)
p.terminate()
p.wait()

files = [f for f in DATA.rglob("*") if f.is_file()]
report("no file has a secret", files and all(PLANTED.encode() not in f.read_bytes() for f in files), files)

# Mode, whatever the mask (0 above).
modes = {str(f.relative_to(HERE)): oct(stat.S_IMODE(f.stat().st_mode)) for f in [DATA, *DATA.rglob("*")]}
wrong = {f: m for f, m in modes.items() if m != ("0o700" if (HERE / f).is_dir() else "0o600")}
report("files and folders are for the user alone", "data/fare/ledger.db" in modes and not wrong, wrong or modes)

# Records from elsewhere.
(HERE / "foreign.jsonl").write_text(json.dumps({"id": "foreign", "name": "x", "command": ["a", "--api-key", PLANTED], "new": {"token": PLANTED},
                                                "labels": [{"key": "password", "value": PLANTED}]}) + "\n")
fare("runs", "import", str(HERE / "foreign.jsonl"))
out = fare("runs", "export", "foreign").stdout
report("import masks", PLANTED not in out and out.count("***") == 3, out)

# A ledger of before: export masks it.
sql = subprocess.run([sys.executable, "-c", f"""
import sqlite3
db = sqlite3.connect({str(DATA / 'fare/ledger.db')!r})
db.execute("UPDATE fare_run SET record = replace(record, '***', 'hidden-{PLANTED}') WHERE id = 'foreign'")
db.commit()
"""])
out = fare("runs", "export", "foreign").stdout
report("export masks what an older fare kept", sql.returncode == 0 and PLANTED not in out and "***" in out, out)

# A record of before, with secrets in its command, name and labels: they are in no page, list or report.
old = {"schema": "fare.run/1", "id": "20260101T000000Z-old", "started": "2026-01-01T00:00:00Z", "name": f"train.py --hf-token {PLANTED}",
       "workload": f"train.py --hf-token {PLANTED}", "framework": "pytorch", "full": True, "ended": "finished",
       "command": ["python", "train.py", "--hf-token", PLANTED], "machine": {"name": "box"},
       "program": {"version": "0.1.0", "command_line": f"fare run -- python train.py --hf-token {PLANTED}"},
       "labels": [{"key": "wandb_api_key", "value": PLANTED + "1234567890"}, {"key": "team", "value": "blue"}],
       "phases": {"train_ns": 10**9, "wall_ns": 10**9}, "steps": 10, "step_ms": 100.0}
insert = subprocess.run([sys.executable, "-c", """
import json, sqlite3, sys
db, run = sqlite3.connect(sys.argv[1]), json.load(sys.stdin)
db.execute("INSERT INTO fare_run (id, started, name, workload, framework, ended, machine, gpu, record) VALUES (?,?,?,?,?,?,?,?,?)",
           (run["id"], run["started"], run["name"], run["workload"], "pytorch", "finished", "box", "", json.dumps(run)))
db.commit()
""", str(DATA / "fare/ledger.db")], input=json.dumps(old), text=True)
shown = {" ".join(words): fare(*words) for words in (
    ["runs", old["id"]], ["runs", old["id"], "--json"], ["runs", "--all"], ["runs", "--all", "--json"], ["compare", old["id"], "last"],
    ["report", old["id"], "-o", "-"], ["report", old["id"], "--format", "md"], ["report", "-o", "-"], ["quote", old["id"], "--json"],
    ["runs", "export", old["id"]])}
report("an older fare's secrets are not shown", insert.returncode == 0 and all(PLANTED not in p.stdout + p.stderr for p in shown.values()),
       [words for words, p in shown.items() if PLANTED in p.stdout + p.stderr])
page = shown[f"runs {old['id']} --json"].stdout
report("three stars are, and what is harmless", page.count("***") == 5 and "blue" in page, page)
server = subprocess.Popen([FARE, "serve", "--listen", "127.0.0.1:0"], env=ENV, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
address = next(word.rstrip(".,") for line in server.stdout for word in line.split() if word.startswith("http://"))
bodies = {}
for place in ("/", "/runs", f"/runs/{old['id']}", "/metrics", "/compare"):
    try:
        with urllib.request.urlopen(address.rstrip("/") + place, timeout=20) as answer:
            bodies[place] = answer.read().decode()
    except urllib.error.HTTPError as e:
        bodies[place] = e.read().decode()
server.terminate()
server.wait()
report("nor served", not any(PLANTED in body for body in bodies.values()) and any("***" in body for body in bodies.values()),
       {place: body[:200] for place, body in bodies.items() if PLANTED in body or "***" not in body})

# The token of a server.
secret = HERE / "token"
secret.write_text("0123456789abcdef0123\n")
secret.chmod(0o644)
for words in (["runs", "push", "http://127.0.0.1:1", "last"], ["serve", "--listen", "127.0.0.1:0"]):
    p = fare(*words, "--token-file", str(secret))
    report(f"{words[0]}: a token that others can read is refused", p.returncode == 2 and f"chmod 600 {secret}" in p.stderr, p.stderr)

p = fare("run", "--secret", "(", "--", "true")
report("a pattern that is none is refused", p.returncode == 2 and "--secret" in p.stderr, p.stderr)

# Escapes.
EVIL = "\x1b]0;owned\x07\x1b[2J\u009b2J\u202e"
events = HERE / "evil.py"
events.write_text(f"import os\nopen(os.environ['FARE_EVENTS'], 'a').write('{{\"step\": ' + {EVIL!r} + '\\n')\n")
p = fare("run", "--no-cloud", "--", sys.executable, str(events))
report("an unreadable event line", "could not be read" in p.stderr and not any(c in p.stdout + p.stderr for c in "\x1b\x07\u009b\u202e"), repr(p.stderr))
place = HERE / f"a{EVIL}.html"
p = fare("report", "-o", str(place), "last")
report("a path of output", p.returncode == 0 and place.exists() and "Wrote" in p.stdout and
       not any(c in p.stdout + p.stderr for c in "\x1b\x07\u009b\u202e"), repr(p.stdout + p.stderr))
p = fare("report", "-o", str(HERE / "no" / f"{EVIL}.html"), "last")
report("and in an error", p.returncode != 0 and not any(c in p.stdout + p.stderr for c in "\x1b\x07\u009b\u202e"), repr(p.stderr))
done()
