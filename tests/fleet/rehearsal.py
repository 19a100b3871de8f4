#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Measurements over four ssh hosts that are killed, cut off, slowed and filled at random, by a dispatcher that is killed too.

    tests/fleet/rehearsal.py FARE [--count N] [--calm] [SEED]

Every measurement must end as one record or as a failure with a reason; none runs twice at the same time, none is recorded twice, none is
lost; then all machines are repaired and `fare runs resume --failed` must bring the rest. In the end nothing is left on a host but the bundle.
The same SEED makes the same faults at the same times. --calm: fewer of them, for `make test`. Exit code 1 if something went wrong."""
import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import hosts

JOB = """#!/bin/sh
seed=$1 work=$2
exec 9>>"$work/locks/$seed"
flock -n 9 || { echo "$seed ran twice at the same time" >>"$work/violations"; exit 9; }
echo begin >>"$work/begun/$seed"
for i in 1 2 3 4 5 6 7 8; do echo "step $i/8 loss 0.$i"; sleep 0.06; done
echo end >>"$work/ended/$seed"
[ $((seed % 20)) != 7 ] || { echo 'this setting fails' >&2; exit 3; }
"""
KINDS = ["kill", "kill", "cut", "cut", "slow", "fill", "dispatcher", "dispatcher", "interrupt"]


class Rehearsal:
    def __init__(self, fare, count, seed, calm):
        self.fare, self.count, self.calm = fare, count, calm
        self.random = random.Random(seed)
        self.work = Path(tempfile.mkdtemp(prefix="fare-fleet-"))
        for name in ("locks", "begun", "ended", "here"):
            (self.work / name).mkdir()
        (self.work / "job.sh").write_text(JOB)
        hosts.setup(self.work)
        self.hosts = [hosts.Host(self.work, i) for i in range(1, 5)]
        version = subprocess.run([fare, "--version"], capture_output=True, text=True).stdout.split()[1]
        self.env = dict(os.environ, XDG_DATA_HOME=str(self.work / "data"), FARE_BUNDLE=str(hosts.small_bundle(self.work, fare, version)),
                        FARE_SSH=f"ssh -F {self.work}/config -oConnectTimeout=2 -oServerAliveInterval=1 -oServerAliveCountMax=3")
        self.env.pop("FARE_LEDGER", None)
        self.faults, self.over, self.dispatcher, self.begun = {}, threading.Event(), None, time.monotonic()
        self.log = open(self.work / "log", "w")
        for host in self.hosts:
            host.wait(self.work / "config")

    def note(self, text):
        self.log.write(f"{time.monotonic() - self.begun:7.1f} {text}\n")
        self.log.flush()

    # ---- the dispatcher

    def start(self, *words):
        self.note("dispatcher: " + " ".join(words))
        self.dispatcher = subprocess.Popen([self.fare, *words], env=self.env, cwd=self.work / "here", stdin=subprocess.DEVNULL,
                                           stdout=self.log, stderr=self.log)

    def id(self):
        names = sorted(p.parent.name for p in self.work.glob("data/fare/fleet/*/plan.json"))
        return names[0] if names else ""

    def tasks(self):
        out = subprocess.run([self.fare, "runs", "resume", self.id(), "--json"], env=self.env, capture_output=True, text=True)
        return json.loads(out.stdout)["tasks"]

    # ---- faults

    def fault(self):
        kind, host = self.random.choice(KINDS), self.random.choice(self.hosts)
        lasts = self.random.uniform(0.3, 4)
        if self.random.random() < 0.05 and not self.calm:
            lasts = 25  # longer than the patience
        if kind in ("dispatcher", "interrupt"):
            self.count_fault(kind)
            self.note(f"fault: {kind}")
            self.dispatcher.send_signal(signal.SIGKILL if kind == "dispatcher" else signal.SIGINT)
            return
        if host.busy:
            return
        self.count_fault(kind)
        host.busy = True
        self.note(f"fault: {kind} {host.name} for {lasts:.1f} s")
        rate = self.random.choice(["60kbit", "250kbit"])
        begin, end = {"kill": (host.kill, host.start), "cut": (host.cut, host.mend), "fill": (host.fill, host.empty),
                      "slow": (lambda: host.slow(rate), host.quick)}[kind]
        begin()

        def repair():
            time.sleep(lasts)
            end()
            self.note(f"repaired: {kind} {host.name}")
            host.busy = False
        host.repair = threading.Thread(target=repair)
        host.repair.start()

    def count_fault(self, kind):
        self.faults[kind] = self.faults.get(kind, 0) + 1

    def torment(self):
        pause = (1.5, 4) if self.calm else (0.4, 2.5)
        while not self.over.wait(self.random.uniform(*pause)):
            self.fault()

    def keep_going(self, limit_s):
        """Starts the dispatcher again whenever it was killed, until it ends by itself."""
        deadline = time.monotonic() + limit_s
        while True:
            try:
                code = self.dispatcher.wait(max(0.1, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                raise RuntimeError("the dispatcher does not end")
            self.note(f"dispatcher ended with {code}")
            if code in (0, 1):
                return
            time.sleep(self.random.uniform(0, 0.5))
            self.start("runs", "resume", *([self.id()] if self.id() else []))

    # ---- the whole

    def records(self):
        out = subprocess.run([self.fare, "runs", "export", "--label", f"dispatch={self.id()}"], env=self.env, capture_output=True, text=True)
        found = {}
        for line in filter(None, out.stdout.split("\n")):
            run = json.loads(line)
            labels = {label["key"]: label["value"] for label in run["labels"]}
            found.setdefault(int(labels["seed"]), []).append(run)
        return found

    def check(self, tasks, records, problems):
        if len(tasks) != self.count:
            problems.append(f"{len(tasks)} tasks instead of {self.count}")
        for task in tasks:
            seed, now = int(task["settings"][0]["value"]), task["now"]
            mine = records.get(seed, [])
            if now["state"] not in ("done", "failed"):
                problems.append(f"{seed} is {now['state']}")
            if now["state"] == "failed" and not now.get("problem"):
                problems.append(f"{seed} failed without a reason")
            if now["state"] == "done" and (len(now["records"]) != 1 or [r["id"] for r in mine] != now["records"]):
                problems.append(f"{seed} is done with {len(mine)} records")
            if len(mine) > 1:
                problems.append(f"{seed} has {len(mine)} records")

    def go(self):
        problems = []
        for host in self.hosts:
            host.busy, host.repair = False, None
        self.start("run", "--on", "ssh:h1,h2,h3,h4", "--patience", "12s", "--sweep", f"seed=1..{self.count}", "--",
                   "sh", str(self.work / "job.sh"), "{seed}", str(self.work))
        while not self.id():
            time.sleep(0.05)
        torment = threading.Thread(target=self.torment)
        torment.start()
        try:
            self.keep_going(60 + 30 * self.count)
        finally:
            self.over.set()
            torment.join()
            for host in self.hosts:
                if host.repair:
                    host.repair.join()
        for host in self.hosts:
            host.wait(self.work / "config")
        plan = json.loads(next(self.work.glob("data/fare/fleet/*/plan.json")).read_text())
        state = {t["number"]: t["now"] for t in plan["tasks"]}
        for line in next(self.work.glob("data/fare/fleet/*/log.jsonl")).read_text().splitlines():
            try:
                now = json.loads(line)
                state[now["number"]] = now
            except (ValueError, KeyError):
                pass  # cut off by a kill
        for task in plan["tasks"]:
            task["now"] = state[task["number"]]
        first = self.records()
        self.check(plan["tasks"], first, problems)
        done = sum(t["now"]["state"] == "done" for t in plan["tasks"])
        failed = [t["now"].get("problem", "") for t in plan["tasks"] if t["now"]["state"] == "failed"]
        self.faulty_s = time.monotonic() - self.begun
        # All machines work again: what failed for their sake is measured now.
        self.start("runs", "resume", self.id(), "--failed")
        self.keep_going(300)
        for task in self.tasks():
            seed, now = int(task["settings"][0]["value"]), task["now"]
            if (now["state"] != "done") != (seed % 20 == 7):
                problems.append(f"{seed} is {now['state']} in the end: {now.get('problem')}")
        if (self.work / "violations").exists():
            problems += (self.work / "violations").read_text().splitlines()
        for host in self.hosts:
            left = [f for f in host.files() if not f.startswith(".cache/fare/bundle") and f not in (".cache", ".cache/fare")]
            if left or host.processes("FARE_"):
                problems.append(f"left on {host.name}: {left[:5]} {host.processes('FARE_')}")
            if len(set(f.split("/")[3] for f in host.files() if f.count("/") > 2)) != 1:
                problems.append(f"bundles on {host.name}: {host.files()}")
        begun = sum(len(p.read_text().splitlines()) for p in (self.work / "begun").iterdir())
        print(f"{self.count} measurements in {self.faulty_s:.0f} s: {done} recorded, {len(failed)} failed "
              f"({sum('exit code 3' in f for f in failed)} by themselves); {begun - self.count} started again; faults: "
              + ", ".join(f"{n} {k}" for k, n in sorted(self.faults.items())))
        for problem in sorted(set(f for f in failed if "exit code 3" not in f)):
            print(f"  failed: {problem}")
        return problems


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("fare")
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--calm", action="store_true")
    parser.add_argument("seed", nargs="?", type=int, default=None)
    args = parser.parse_intermixed_args()
    why = hosts.missing()
    if why:
        print(f"skipped: {why}")
        return 0
    seed = args.seed if args.seed is not None else random.randrange(1000000)
    print(f"seed {seed}", flush=True)
    hosts.enter()
    r = Rehearsal(os.path.abspath(args.fare), args.count, seed, args.calm)
    try:
        problems = r.go()
    except Exception as e:
        problems = [repr(e)]
    for problem in problems[:20]:
        print(f"WRONG: {problem}")
    if problems:
        print(f"log: {r.work}/log, replay with seed {seed}")
    else:
        for host in r.hosts:
            host.end()
        subprocess.run(["rm", "-rf", str(r.work)])
    return bool(problems)


if __name__ == "__main__":
    sys.exit(main())
