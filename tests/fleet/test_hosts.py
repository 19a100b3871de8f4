#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""`fare run --on ssh` over hosts with a real sshd (hosts.py): records, resuming, cancelling, limits, and words that must stay words."""
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, os.path.join(os.environ["ROOT"], "tests"))
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import hosts  # noqa: E402
from tap import done, report, skip  # noqa: E402

if why := hosts.missing():
    skip("measurements on other machines", why)
    done()
FARE = os.environ["FARE"]
hosts.enter()
scratch = tempfile.TemporaryDirectory(prefix="fare-hosts-")
top = Path(scratch.name)
hosts.setup(top)
H = [hosts.Host(top, i, known=i < 3) for i in (1, 2, 3)]
version = subprocess.run([FARE, "--version"], capture_output=True, text=True).stdout.split()[1]
env = dict(os.environ, XDG_DATA_HOME=f"{top}/data", FARE_BUNDLE=str(hosts.small_bundle(top, FARE, version)),
           FARE_SSH=f"ssh -F {top}/config -oConnectTimeout=3 -oServerAliveInterval=1", LC_ALL="C.UTF-8")
env.pop("FARE_LEDGER", None)
here = top / "here"
here.mkdir()
for h in H[:2]:
    h.wait(top / "config")


def fare(*words, cwd=here, **more):
    return subprocess.run([FARE, *words], env={**env, **more}, cwd=cwd, capture_output=True, text=True, timeout=120, stdin=subprocess.DEVNULL)


def start(*words):
    return subprocess.Popen([FARE, *words], env=env, cwd=here, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def newest():
    return max(top.glob("data/fare/fleet/*/plan.json"), key=lambda p: p.stat().st_mtime_ns).parent.name


def records(dispatch):
    out = fare("runs", "export", "--label", f"dispatch={dispatch}").stdout
    return [json.loads(line) for line in out.split("\n") if line]


def left():
    """What is on the hosts beside the bundle."""
    return [f"{h.name}: {f}" for h in H for f in h.files() if not f.startswith(".cache/fare/bundle") and f not in (".cache", ".cache/fare")] + \
        [f"{h.name}: process {p}" for h in H for p in h.processes("FARE_")]


def wait_for(what, seconds=20):
    deadline = time.monotonic() + seconds
    while not (found := what()) and time.monotonic() < deadline:
        time.sleep(0.05)
    return found


# ---- one measurement on each host, and a host whose key nobody has seen

p = fare("run", "mlp", "--max-time", "1s", "--label", "odd=a 'b' $(c)", "--on", "ssh:h1,ssh:h2", "--on", "ssh:h3", "--json")
tasks = {t["bound"]: t for t in json.loads(p.stdout or "{}").get("tasks", [])}
good = all(tasks[f"ssh:h{i}"]["now"]["state"] == "done" and len(tasks[f"ssh:h{i}"]["now"]["records"]) == 1 for i in (1, 2)) if len(tasks) == 3 else False
report("each host gives a record", good and len(records(newest())) == 2, p.stderr)
report("an unknown host key is refused, with ssh's reason", p.returncode == 1 and "Host key verification failed" in tasks["ssh:h3"]["now"].get("problem", ""), p.stderr)
report("options reach the other side as they are", {"key": "odd", "value": "a 'b' $(c)"} in records(newest())[0]["labels"], p.stderr)
report("only the bundle stays", not left() and ".cache/fare/bundle" in H[0].files(), left())
p = fare("run", "l1", "--n", "64", "--m", "64", "--dim", "8", "--on", "ssh:h1,h2")
report("the bundle is copied once per version", p.returncode == 0 and "copying" not in p.stderr and "done" in p.stderr, p.stderr)
report("the comparison follows", "l1, against" in p.stdout, p.stdout)

# ---- a host whose fare sends more than it was asked for

program = next(H[0].folder.glob("home/.cache/fare/bundle/*/fare"))
honest = program.read_text()
evil = json.dumps({"schema": "fare.run/1", "id": "evil-NUMBER", "started": "2026-01-01T00:00:00Z", "workload": "l1", "name": "l1", "machine": {"name": "evil"},
                   "ended": "finished", "phases": {"wall_ns": 10**9}, "labels": [{"key": "dispatch", "value": "WHICH"}]})
program.write_text("#!/bin/sh\ncase $1 in runs) seq 3000 | sed \"s|.*|$(echo '" + evil + "' | sed \"s/WHICH/${FARE_TASK%%-*}/; s/NUMBER/\\&/\")|\" >record.jsonl;;\n"
                   f'*) exec {FARE} "$@";; esac\n')
p = fare("run", "l1", "--n", "64", "--m", "64", "--dim", "8", "--on", "ssh:h1")
report("of 3,000 records one was asked for, the others are refused", p.returncode == 1 and "it sent 2999 records that nobody asked for" in p.stderr
       and [r["id"] for r in records(newest())] == ["evil-1"], p.stderr + str(len(records(newest()))))
program.write_text(honest)

# ---- words stay words

ODD = ["two words", "it's", '"quoted"', "$(touch /root/pwned)", "`touch /root/pwned`", "; touch /root/pwned #", "new\nline\ntouch /root/pwned", "-rf", "--", "",
       " ends ", "back\\slash", "é%41", "$HOME", "a=b", "*", "{x}y"]
out = top / "out"
odd_folder = top / "a 'folder' $(touch pwned)\n-x"
odd_folder.mkdir()
(odd_folder / "data.txt").write_text("brought")
(odd_folder / "big").write_text("left")
(odd_folder / ".fareignore").write_text("big\n")
p = fare("run", "--on", "ssh:h1", "--", "sh", "-c", f'printf "%s\\0" "$@" >{out}; cat data.txt >>{out}; test ! -e big', "sh", *ODD, cwd=odd_folder)
want = "\0".join(ODD) + "\0brought"
report("arguments arrive byte for byte, in a copy of the folder", p.returncode == 0 and out.read_text() == want, p.stderr + (repr(out.read_text()) if out.exists() else ""))
values = ["a b", "it's", "$(touch /root/pwned)", "-rf", ";touch /root/pwned", "new\nline", "%0A"]
out.unlink(missing_ok=True)
p = fare("run", "--on", "ssh:h1,h2", "--no-bring", "--sweep", "x=" + ",".join(values), "--", "sh", "-c", f'printf "%s\\0" "$1" >>{out}', "sh", "<{x}>")
got = sorted(out.read_text().split("\0")[:-1]) if out.exists() else []
report("settings arrive byte for byte, each once", p.returncode == 0 and got == sorted(f"<{v}>" for v in values), p.stderr + repr(got))
report("nothing was injected", not [f for h in H for f in h.files() if "pwned" in f] and not list(top.glob("**/pwned")), [h.files() for h in H])
bad = ["ssh:-oProxyCommand=touch pwned", "ssh:-h1", "ssh:u@-h1", "ssh:h1 h2", "ssh:h1;id", "ssh:$(id)", "ssh:h1\nh2", "ssh:", "ssh", "ssh:h1,,h2", "ssh:@/nowhere", "telnet:h1", "ssh:'h1'",
       "ssh:h1=no/such-offer"]
codes = {b: fare("run", "mlp", "--on", b).returncode for b in bad}
report("names that are no hosts are refused", all(c in (1, 2) for c in codes.values()) and not list(here.iterdir()), codes)
hostsfile = top / "hosts"
hostsfile.write_text("# ours\nh1\n\nroot@h2 # the second\n-oProxyCommand=id\n")
p = fare("run", "mlp", "--on", f"ssh:@{hostsfile}")
report("a hosts file's faults have a line number", p.returncode == 2 and "hosts:5" in p.stderr, p.stderr)
hostsfile.write_bytes(b"h1\n\0\nh2\n")
p = fare("run", "mlp", "--on", f"ssh:@{hostsfile}")
report("a hosts file that is not text is refused", p.returncode == 2 and "not text" in p.stderr, p.stderr)
hostsfile.write_bytes(b"\xef\xbb\xbfssh:h1\r\n\th2 # the second\r\n")
p = fare("run", "l1", "--n", "64", "--m", "64", "--dim", "8", "--on", f"ssh:@{hostsfile}")
report("one of another system is read: its mark, its line ends, names as --on has them", p.returncode == 0 and "2 done" in p.stdout, p.stderr)

# ---- the dispatcher is killed; what runs goes on and is collected once

d = start("run", "--on", "ssh:h1,h2", "--no-bring", "--", "sh", "-c", f"echo begun >>{top}/begun; sleep 3")
wait_for(lambda: (top / "begun").exists() and (top / "begun").read_text().count("begun") == 2)
d.kill()
d.wait()
p = fare("runs", "resume")
report("a killed dispatcher is resumed", p.returncode == 0 and len(records(newest())) == 2 and (top / "begun").read_text().count("begun") == 2, p.stderr)
p = fare("runs", "resume", newest())
report("resuming again measures nothing again", p.returncode == 0 and len(records(newest())) == 2, p.stderr)
report("and leaves nothing behind", not left(), left())

# ---- Ctrl-C, then cancel

d = subprocess.Popen([FARE, "run", "--on", "ssh:h1,h2", "--no-bring", "--", "sh", "-c", "trap '' TERM; (setsid sleep 1000 &) ; sleep 1000"], env=env, cwd=here,
                     stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
wait_for(lambda: all(len(h.processes("FARE_TASK")) >= 4 for h in H[:2]))
running = fare("runs", "resume", newest())
report("a second dispatcher is kept out", running.returncode == 2 and "another process" in running.stderr, running.stderr)
d.send_signal(signal.SIGINT)
_, says = d.communicate(timeout=20)
report("Ctrl-C says how to go on", d.returncode == 130 and f"fare runs resume {newest()}" in says and f"fare runs cancel {newest()}" in says, says)
report("what runs there goes on", all(h.processes("FARE_TASK") for h in H[:2]))
p = fare("runs", "cancel")
report("cancelling ends the whole tree and removes the folders", p.returncode == 0 and "2 cancelled" in p.stdout and not left(), p.stderr + p.stdout + str(left()))

# ---- saving and trying again, as on one machine

soon, log, count = top / "soon", top / "job.log", top / "count"
job = ["/usr/bin/python3", "-S", "-E", os.path.join(os.environ["ROOT"], "tests/save/job.py"), "out", "300", "20", "5", "safetensors", str(log), "{resume}"]
d = subprocess.Popen([FARE, "run", "--on", "ssh:h1", "--no-bring", "--save", f"{top}/store", "--save-every", "200ms", "--lease", "2s", "--notice", f"file:{soon}",
                      "--on-notice", "USR1", "--checkpoints", "out", "--", *job], env=env, cwd=here, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                     stderr=open(top / "said", "w"), text=True)
wait_for(lambda: log.exists() and " step 12" in log.read_text())
soon.write_text("30")
wait_for(lambda: "interrupted and saved" in (top / "said").read_text())
soon.unlink()
out, _ = d.communicate(timeout=120)
starts = [int(line.split()[3]) for line in log.read_text().splitlines() if line.split()[2] == "start"]
report("a machine's notice: saved, started again, resumed", d.returncode == 0 and "1 done" in out and len(starts) == 2 and starts[0] == 0 < starts[1], (top / "said").read_text() + out + str(starts))
p = fare("run", "--on", "ssh:h1", "--no-bring", "--retry", "4", "--", "sh", "-c", f"echo x >>{count}; test $(wc -l <{count}) -ge 3")
report("--retry there: done at the third try", p.returncode == 0 and "1 done" in p.stdout and len(count.read_text()) == 6, p.stderr + p.stdout)

# ---- the time limit, a failing setting, a disk without room

p = fare("run", "--on", "ssh:h1", "--no-bring", "--limit", "1s", "--", "sleep", "1000")
report("a measurement ends at its time limit", p.returncode == 1 and "time limit" in p.stderr and not left(), p.stderr + str(left()))
flag = top / "flag"
p = fare("run", "--on", "ssh:h1=aws/c6i.16xlarge,ssh:h2=aws/c6i.16xlarge", "--no-bring", "--sweep", "n=1..6", "--", "sh", "-c", f"test {{n}} != 2 || test -e {flag}")
report("a setting that fails is listed with its reason", p.returncode == 1 and "5 done, 1 failed" in p.stdout and "exit code 1" in p.stdout, p.stdout + p.stderr)
report("the bill stands against one machine in a row", "One after the other on ssh:" in p.stdout and "USD" in p.stdout, p.stdout)
flag.touch()
p = fare("runs", "resume", newest(), "--failed", "--json")
now = [t["now"] for t in json.loads(p.stdout or '{"tasks": []}')["tasks"]]
report("and can be run again alone", p.returncode == 0 and sorted(n["attempts"] for n in now) == [1, 1, 1, 1, 1, 2] and len(records(newest())) == 7, p.stderr + str([n["attempts"] for n in now]) + str(len(records(newest()))))
H[0].fill()
p = fare("run", "--on", "ssh:h1,h2", "--no-bring", "--patience", "2s", "--sweep", "n=1..2", "--", "test", "{n}")
report("a host without room is left out, its task goes elsewhere", p.returncode == 0 and "room" in p.stderr and "2 done" in p.stdout, p.stderr + p.stdout)
p = fare("run", "--on", "ssh:h1", "--no-bring", "--patience", "3s", "--", "true")
report("and if there is no other, it fails with that reason", p.returncode == 1 and "room" in p.stdout and p.stderr.count("answers again") == 0, p.stderr + p.stdout)
H[0].empty()

# ---- copies of the bundle

(top / "padding").mkdir()
(top / "padding" / f"fare-{version}").mkdir()
for name, data in (("fare", f'#!/bin/sh\nexec {FARE} "$@"\n'.encode()), ("pad", os.urandom(60000))):
    (top / "padding" / f"fare-{version}" / name).write_bytes(data)
(top / "padding" / f"fare-{version}" / "fare").chmod(0o755)
hosts.run("tar", "-C", top / "padding", "-czf", top / "large.tar.gz", f"fare-{version}")
cutter = top / "cut.sh"
cutter.write_text(f'#!/bin/sh\nhead -c 30000 | ssh -F {top}/config "$@"\n')
cutter.chmod(0o755)
before = set(f for f in H[0].files() if f.count("/") == 3)
p = fare("run", "l1", "--on", "ssh:h1", "--patience", "3s", FARE_SSH=str(cutter), FARE_BUNDLE=str(top / "large.tar.gz"))
after = set(f for f in H[0].files() if f.count("/") == 3)
report("a cut copy never counts", p.returncode == 1 and "did not arrive whole" in p.stderr and before == after, p.stderr + str(after))
two = [subprocess.Popen([FARE, "run", "l1", "--n", "64", "--m", "64", "--dim", "8", "--on", "ssh:h1"], env={**env, "FARE_BUNDLE": str(top / "large.tar.gz")}, cwd=here, stdin=subprocess.DEVNULL,
                        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) for _ in range(2)]
says = [d.communicate(timeout=60)[1] for d in two]
after = set(f for f in H[0].files() if f.count("/") == 3)
report("two that copy at the same time end with one whole copy", [d.returncode for d in two] == [0, 0] and len(after - before) == 1 and not left(), "\n".join(says) + str(after))

# ---- here

mixed = top / "mixed"
mixed.mkdir()
(mixed / "log").write_text("before\n")
p = fare("run", "--on", "here,ssh:h1", "--sweep", "n=1..6", "--", "sh", "-c", "grep -q before log && echo {n} >>log", cwd=mixed)
ran = [t for t in json.loads(fare("runs", "resume", newest(), "--json").stdout)["tasks"] if t["now"]["place"] == "here"]
report("beside other hosts, this folder is worked in and nothing in it is replaced", p.returncode == 0 and "6 done" in p.stdout and ran and
       (mixed / "log").read_text().split() == ["before"] + [t["settings"][0]["value"] for t in ran], p.stderr + (mixed / "log").read_text())
p = fare("run", "--on", "here", "--bring", "mixed", "--", "sh", "-c", "pwd >where", cwd=top)
report("--bring DIR works in that folder here", p.returncode == 0 and (mixed / "where").read_text().strip() == str(mixed), p.stderr)
for words in (["init", "-q"], ["add", "log"], ["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "x"]):
    subprocess.run(["git", *words], cwd=mixed, check=True)
(mixed / "log").write_text("after\n")
p = fare("run", "--on", "here", "--bring", "HEAD", "--", "grep", "before", "log", cwd=mixed)
report("and a git revision in a folder of its own", p.returncode == 0 and (mixed / "log").read_text() == "after\n", p.stderr + p.stdout)
report("--bring and --no-bring are refused together", fare("run", "--on", "here", "--bring", ".", "--no-bring", "--", "true").returncode == 2)
p = fare("runs", "cancel")
report("cancelling what has ended says so", p.returncode == 0 and "has ended" in p.stdout and newest() in p.stdout, p.stdout + p.stderr)

p = fare("run", "--sweep", "n=1..2", "--", "sh", "-c", "pwd >>{n}.txt")
report("a sweep without --on runs here, in this folder", p.returncode == 0 and all((here / f"{n}.txt").read_text().strip() == str(here) for n in (1, 2)), p.stderr)
done()
