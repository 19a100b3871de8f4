#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A stand-in for kubectl and its cluster in the folder STANDIN: Jobs are files, a Pod is a process on this machine. It misbehaves as the
words in STANDIN/faults say, each once: refuse (no connection), hang (it does not answer), evict (a Pod is ended by its node), cut (a log
without its end), vanish (a Job is deleted by somebody), image (it cannot be pulled), forbidden (Jobs may not be created)."""
import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path

from faults import take

top = Path(os.environ["STANDIN"])
args = sys.argv[1:]
with open(top / "calls", "a") as f:
    f.write(json.dumps(args) + "\n")


def fault(word):
    return take(top, word)


def fail(text):
    print(text, file=sys.stderr)
    sys.exit(1)


def expand(word, env):
    """As Kubernetes does (k8s.io: $(VAR_NAME) is replaced, $$ is a dollar, an unknown name stays)."""
    return re.sub(r"\$(\$|\((.*?)\))", lambda m: "$" if m[1] == "$" else env.get(m[2], m[0]), word)


words = [a for i, a in enumerate(args) if not a.startswith("-") and (i == 0 or args[i - 1] not in ("-l", "-o", "-f"))]
verb = words[0]
if fault("hang"):
    time.sleep(3600)
if fault("refuse"):
    fail("Unable to connect to the server: dial tcp 127.0.0.1:6443: connect: connection refused")


def label():
    return args[args.index("-l") + 1].split("=", 1)


def jobs():
    return sorted(top.glob("job-*"))


if verb == "auth":
    print("no" if fault("forbidden") else "yes")
elif verb == "apply":
    for item in json.load(sys.stdin)["items"]:
        folder = top / f"job-{item['metadata']['name']}"
        if folder.exists():
            print(f"job.batch/{item['metadata']['name']} unchanged")
            continue
        folder.mkdir()
        (top / f"applied-{item['metadata']['name']}").write_text(json.dumps(item))
        box = item["spec"]["template"]["spec"]["containers"][0]
        env = {e["name"]: e["value"] for e in box["env"]}
        command = [expand(w, env) for w in box["command"]]
        if fault("image"):
            (folder / "image").touch()
            continue
        if command[0] in ("fare", "/fare/fare", "/opt/fare/fare"):
            command[0] = os.environ["FARE"]
        command = [w.replace("/tmp/fare-ledger.db", str(folder / "ledger.db")) for w in command]
        runner = (f"import subprocess, json, pathlib; f = pathlib.Path({str(folder)!r}); "
                  f"c = subprocess.run({command!r}, stdin=subprocess.DEVNULL, stdout=open(f / 'log', 'wb'), stderr=subprocess.STDOUT); "
                  "(f / 'code').write_text(str(c.returncode))")
        subprocess.Popen([sys.executable, "-S", "-E", "-c", runner], env={**os.environ, **env}, stdin=subprocess.DEVNULL,
                         stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
        print(f"job.batch/{item['metadata']['name']} created")
elif verb == "get" and words[1] == "jobs":
    if jobs() and fault("vanish"):
        subprocess.run(["rm", "-rf", jobs()[0]])
    for job in jobs():
        print(job.name[4:])
elif verb == "get":
    for job in jobs():
        made = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(job.stat().st_mtime - (600 if (job / "image").exists() else 0)))
        code = (job / "code").read_text() if (job / "code").exists() else ""
        ended = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime((job / "code").stat().st_mtime)) if code else ""
        if (job / "image").exists():
            print(job.name[4:], "Pending", "<none>", "ImagePullBackOff", "<none>", made, "<none>", "<none>", sep="   ")
        elif code and fault("evict"):
            (job / "evicted").touch()
        if (job / "evicted").exists():
            print(job.name[4:], "Failed", "Evicted", "<none>", "<none>", made, "<none>", "<none>", sep="   ")
        elif code:
            print(job.name[4:], "Succeeded" if code == "0" else "Failed", "<none>", "<none>", code, made, made, ended, sep="   ")
        elif not (job / "image").exists():
            print(job.name[4:], "Running", "<none>", "<none>", "<none>", made, "<none>", "<none>", sep="   ")
elif verb == "logs":
    job = top / f"job-{label()[1]}"
    log = (job / "log").read_bytes() if (job / "log").exists() and not (job / "evicted").exists() else b""
    sys.stdout.buffer.write(log[:len(log) // 2] if fault("cut") else log)
elif verb == "delete":
    for name in words[2:]:
        subprocess.run(["rm", "-rf", top / f"job-{name}"])
        print(f'job.batch "{name}" deleted')
else:
    fail(f"error: unknown command {args}")
