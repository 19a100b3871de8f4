#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Every command and every request of `fare serve` with memory running out, at each place that allocates.

The program is the real one with tests/oom/fail.c in front of malloc(). A place is an allocation with its nearest callers; over all
cases one in SHARE of them fails once. With --whole each does, with all its callers, at its first and second use. What must be
seen: no crash, report of a sanitizer, leak or hang; an error that says "out of memory", or the right answer where the piece was
optional; files whole or not there; a server that answers the next request; a watched command that ends by itself, with its own exit
status. Commands and pages are listed by the program: one without a case fails the test.

tests/oom/test_oom.py [--whole] [--share N] [--places FILE] [CASE ...]      (BUILD: the sanitized build)
"""
import argparse
import difflib
import hashlib
import mmap
import os
import re
import resource
import shutil
import signal
import sqlite3
import struct
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from contextlib import closing
from datetime import datetime
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE.parent / "golden")]
import stage  # noqa: E402
from tap import done, report, skip  # noqa: E402

BUILD = Path(os.environ.get("BUILD", stage.ROOT / "build/sanitize")).resolve()
FARE = BUILD / "tests/oom/fare"
FIELDS = ["mode", "left", "failed", "calls", "depth", "turns", "skew_ns", "run", "share", "skipped"]  # as in fail.c
OFF, FORK, ONE = range(3)
CONTROL_BYTES = 8 * (len(FIELDS) + (1 << 18))
CRASHED = re.compile(r"ERROR: \w+Sanitizer|runtime error:|Assertion .* failed")
# Commands that write files, which a forked child would do in its parent's folder.
WRITES = re.compile(r"import|delete|--site|--budget |-o |fare run |-- sh|push|update|get|>first")
RUNS = '{"id":"20261101T000000Z-00000000abcd","name":"pushed","full":true,"started":"2026-11-01T00:00:00Z","phases":{"wall_ns":60000000000}}'
TOKEN = "a-token-that-is-long-enough"
LIMIT_S = 60
# What a file is between the two of a renewal, which says when it asked before it asks: {file: text}, with FOLDER and NOW_S.
BETWEEN = {"book.sources": "url,etag,modified,fetched,asked,answered\nfile://FOLDER/d/aws/vms.csv,,,0,NOW_S,0\n"}
SHARE = 8  # about a minute of CPU


class Control:
    """What fail.c and this test share."""

    def __init__(self, path, whole, share):
        path.write_bytes(bytes(CONTROL_BYTES))
        with open(path, "r+b") as file:
            self.__dict__["map"] = mmap.mmap(file.fileno(), CONTROL_BYTES)
        self.depth, self.turns, self.share = (1000, 2, 1) if whole else (6, 1, share)

    def __getattr__(self, name):
        return struct.unpack_from("q", self.map, 8 * FIELDS.index(name))[0]

    def __setattr__(self, name, value):
        struct.pack_into("q", self.map, 8 * FIELDS.index(name), value)


def snapshot(folder):
    """Files by their sums, without databases."""
    return {str(p.relative_to(folder)): hashlib.sha256(p.read_bytes()).digest() for p in folder.rglob("*") if p.is_file() and ".db" not in p.name}


def ledger_runs(path):
    """The ids of a ledger, which must be whole."""
    if not path.exists():
        return set()
    with closing(sqlite3.connect(path)) as db:
        whole = db.execute("pragma integrity_check").fetchone()[0]
        tables = {row[0] for row in db.execute("select name from sqlite_master")}
        ids = {row[0] for row in db.execute("select id from fare_run")} if "fare_run" in tables else set()
        return ids if whole == "ok" else {whole}


def difference(right, out):
    return "\n".join(list(difflib.unified_diff((right or "").splitlines(), out.splitlines(), n=0, lineterm=""))[:8])


class Oom:
    def __init__(self, scratch, arguments):
        self.scratch, self.failed = scratch, 0
        self.control = Control(scratch / "control", arguments.whole, arguments.share)
        self.env = {**stage.environment(FARE, scratch), "FARE_SHARE": str(stage.ROOT / "share"), "NVML": f"{BUILD}/tests/machine/fake_nvml.so",
                    "OMP_WAIT_POLICY": "passive", "ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "detect_leaks=1") + ":exitcode=99",
                    "UBSAN_OPTIONS": os.environ.get("UBSAN_OPTIONS", "print_stacktrace=1") + ":exitcode=99",
                    "LSAN_OPTIONS": f"suppressions={HERE.parent}/lsan.supp:print_suppressions=0:use_tls=0:exitcode=99"}
        wrong = stage.prepare(scratch, self.env)
        wrong = wrong or subprocess.run([FARE, "report", "00091a", "000246", "--site", "old"], cwd=scratch / "given", env=self.env, text=True,
                                        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE).stderr
        report("the ledger and the book", not wrong, wrong)
        (scratch / "token").write_text(TOKEN + "\n")
        (scratch / "token").chmod(0o600)
        self.before, self.runs_before = snapshot(scratch / "given"), ledger_runs(scratch / "given/ledger.db")
        words = {"FOLDER": f"{scratch}/work", "NOW_S": f"{datetime.fromisoformat(self.env['FARE_TEST_NOW']).timestamp():.0f}"}
        self.between = {path: hashlib.sha256(re.sub("FOLDER|NOW_S", lambda m: words[m.group()], text).encode()).digest()
                        for path, text in BETWEEN.items()}
        self.places = Path(arguments.places or scratch / "places").resolve()
        self.places.write_text("")
        self.failing = {**self.env, "FARE_OOM": f"{scratch}/control", "FARE_OOM_OUT": f"{scratch}/children", "FARE_OOM_PLACES": str(self.places)}

    def where(self, number):
        """The callers of the allocation that failed, innermost first."""
        line = next((line for line in self.places.read_text().splitlines() if line.startswith(f"{number} ")), "")
        tool = next(filter(shutil.which, ["llvm-symbolizer", "llvm-symbolizer-14"]), None)
        if not tool:
            return f"at {line}\n"
        found = subprocess.run([tool, f"--obj={FARE}", "--output-style=GNU", "--functions=short"], capture_output=True, text=True,
                               input="\n".join(f"0x{int(word, 16) - 1:x}" for word in line.split()[1:])).stdout.split()
        return "failed: " + " < ".join(f"{name} {Path(at).name}" for name, at in zip(found[::2], found[1::2])) + "\n"

    # ---- commands

    def fresh(self, name):
        folder = self.scratch / name
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(self.scratch / "given", folder)
        return folder

    def execute(self, command, mode):
        """Runs in a fresh folder; gives exit status, stdout and stderr."""
        folder = self.fresh("work")
        shutil.rmtree(self.scratch / "children", ignore_errors=True)
        (self.scratch / "children").mkdir()
        with open(self.scratch / "out", "w+b") as out, open(self.scratch / "err", "w+b") as err:
            self.control.mode = mode
            p = subprocess.Popen(["sh", "-c", command], cwd=folder, env={**self.failing, "XDG_DATA_HOME": f"{folder}/data"}, stdout=out, stderr=err,
                                 stdin=subprocess.DEVNULL, start_new_session=True)
            try:
                status = p.wait(LIMIT_S * (10 if mode == FORK else 1))
            except subprocess.TimeoutExpired:
                status = "no end"
                os.killpg(p.pid, signal.SIGKILL)
                p.wait()
            self.control.mode = OFF
        return status, *[(self.scratch / name).read_text(errors="replace") for name in ("out", "err")]

    def judge(self, number, status, out, err, right):
        """What is wrong with an end; `right`: exit status and stdout (None: any) of the command without a failure."""
        if CRASHED.search(err) or not isinstance(status, int) or status < 0 or status in (99, 134, 139):
            wrong = "crashed, leaked or hung"
        elif status == right[0] and right[1] in (None, out) or status == 1 and "out of memory" in err:
            return []
        else:
            wrong = "neither the right answer nor 'out of memory'"
        return [f"{wrong} (exit {status})\n{self.where(number)}{err[-4000:]}{difference(right[1], out) if right[1] != out else ''}"]

    def watched(self, folder):
        """What to look at of a watched command: nothing, unless it began; its end; its exit status."""
        return None if not (folder / "began").exists() else "status" if (folder / "ended").exists() else "end"

    def forked(self, command):
        """All places of a command that neither writes nor has threads, in one go."""
        status, out, err = self.execute(command, FORK)
        wrong = ["the parent crashed: " + err] if CRASHED.search(err) else []
        for end in (self.scratch / "children").glob("*.end"):
            child, parent = (int(word) for word in end.read_text().split())
            out, err = (end.with_suffix(x).read_text(errors="replace") for x in (".out", ".err"))
            whole = end.with_name(f"{parent}.whole")
            wrong += self.judge(end.stem, os.waitstatus_to_exitcode(child), out, err, (status, whole.read_text(errors="replace") if whole.exists() else None))
            self.failed += 1
        return wrong

    def one_by_one(self, command, varies):
        """The command again and again, until it finds no new place; that run is the right one."""
        seen, folder = [], self.scratch / "work"
        while True:
            found = self.control.failed
            end = self.execute(command, ONE)
            left = end, snapshot(folder), ledger_runs(folder / "ledger.db"), self.watched(folder)
            if self.control.failed == found:
                break
            seen.append((found + 1, *left))
        self.failed += len(seen)
        (status, out, err), after, runs_after, _ = left
        wrong = self.judge(0, status, out, err, (status, out))
        for number, end, files, runs, harmed in seen:
            wrong += self.judge(number, *end, (status, None if varies else out))
            odd = [path for path, sum in files.items() if sum not in (self.before.get(path), after.get(path), self.between.get(path))]
            if odd and not varies and ">first" not in command:
                wrong.append(f"half-written: {' '.join(odd)}\n{self.where(number)}{end[2]}")
            if not varies and not self.runs_before & runs_after <= runs <= self.runs_before | runs_after:
                wrong.append(f"the ledger is neither as before nor as after\n{end[2]}")
            if harmed == "status" and end[0] != status:
                wrong.append(f"not its own exit status: {end[0]}\n{self.where(number)}{end[2]}")
            elif harmed == "end":
                wrong.append(f"the watched command did not end\n{self.where(number)}{end[2]}")
        return wrong

    def command(self, command):
        varies, command = command.startswith("~"), command.lstrip("~")
        self.control.skipped = 0
        forks = not varies and not WRITES.search(command)
        wrong = self.forked(command) if forks else []
        return wrong + (self.one_by_one(command, varies) if not forks or self.control.skipped else [])

    # ---- requests

    def start_server(self, folder, env):
        """A server, and its address; no address: it ended."""
        err = open(self.scratch / f"{folder.name}.err", "w+b")
        server = subprocess.Popen([FARE, "serve", "--listen", "127.0.0.1:0", "--token-file", "../token"], cwd=folder, env=env, stdout=subprocess.PIPE,
                                  stderr=err, text=True)
        found = re.search(r"http://\S+:\d+", server.stdout.readline())
        return server, found.group(0) if found else None

    def stop_server(self, server, folder):
        server.terminate()
        try:
            server.wait(LIMIT_S)
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait()
        server.stdout.close()
        return (self.scratch / f"{folder.name}.err").read_text(errors="replace")

    def ask(self, address, request):
        """Status and body; the clock jumps, so that no kept answer is given."""
        method, path = request.split(" ", 1)
        self.control.skew_ns += 15_000_000_000
        self.control.run += 1
        body = RUNS.encode() if method == "POST" else None
        asked = urllib.request.Request(address + path, data=body, method=method, headers={"Authorization": f"Bearer {TOKEN}"})
        try:
            with urllib.request.urlopen(asked, timeout=LIMIT_S) as answer:
                return answer.status, self.plain(path, answer.read())
        except urllib.error.HTTPError as error:
            return error.code, self.plain(path, error.read())
        except (OSError, urllib.error.URLError) as error:
            return 0, str(error)

    def plain(self, path, body):
        """Without what differs from one answer to the next."""
        text = body.decode(errors="replace")
        return re.sub(r"(?m)^fare_(?:serve|process|build)\S* .*$", "", text) if path == "/metrics" else text

    def starts(self):
        """`fare serve` with failures until it listens."""
        wrong, folder = [], self.fresh("starting")
        while True:
            found = self.control.failed
            self.control.mode = ONE
            server, address = self.start_server(folder, self.failing)
            self.control.mode = OFF
            failed = self.control.failed > found
            answer = self.ask(address, "GET /prices.json?gpu=b200")[0] if address else None
            status = server.poll() if not address else 0
            said = self.stop_server(server, folder)
            if CRASHED.search(said) or server.returncode not in (0, 1, -signal.SIGTERM) or answer not in (None, 200):
                wrong.append(f"start: answer {answer}, exit {server.returncode}\n{said[-3000:]}")
            if not address and "out of memory" not in said:
                wrong.append(f"start: no address, exit {status}\n{said[-3000:]}")
            self.failed += failed
            if not failed:
                return wrong

    def requests(self, cases):
        """{case: faults} of one server, which lives through all of them."""
        folder, wrong = self.fresh("served"), {"fare serve starts": self.starts()}
        server, address = self.start_server(folder, self.failing)
        for name, request in cases.items():
            faults, began = [], self.failed
            deadline = time.monotonic() + LIMIT_S
            while name == "serve-home.html" and "cheapest with a run" not in self.ask(address, request)[1] and time.monotonic() < deadline:
                time.sleep(0.1)
            self.ask(address, request)  # a pushed run is new only once
            right = self.ask(address, request)
            while True:
                found = self.control.failed
                self.control.mode = ONE
                status, text = self.ask(address, request)
                self.control.mode = OFF
                if self.control.failed == found:
                    break
                self.failed += 1
                # 0: there was no memory for an answer, so the connection was closed
                if (status, text) != right and status not in (0, 500, 503):
                    faults.append(f"status {status}\n{self.where(found + 1)}{difference(right[1], text)}")
                again = self.ask(address, request)
                if again != right:
                    faults.append(f"the next answer: {again[0]}\n{self.where(found + 1)}{difference(right[1], again[1])}")
            print(f"# {name}: {self.failed - began} failures", flush=True)
            wrong[name] = faults
        said = self.stop_server(server, folder)
        wrong["fare serve ends"] = [said[-6000:]] if CRASHED.search(said) or server.returncode not in (0, -signal.SIGTERM) else []
        return wrong


def to_ask():
    """{command or page of the program: what its cases look like}"""
    listed = subprocess.run([str(stage.ROOT / "scripts/capabilities")], env={**os.environ, "FARE": str(BUILD / "fare")}, capture_output=True,
                            text=True, check=True).stdout
    looks = {command: rf".*\b{command}\b.*" for command in re.findall(r"(?m)^command (.*)$", listed) if command != "fare serve"}
    for page in re.findall(r"(?m)^page ([^?\n]*)$", listed):
        more = ".+" if page.endswith("/") and page != "/" else ""
        looks[page] = "GET " + re.escape(page).replace(r"/\.json", r"/.+\.json") + more + r"(\?.*)?"
    for page in re.findall(r'ROW\("(/[^"]*)", \w+, (?!NULL)\w+,', (stage.ROOT / "src/serve/request.h").read_text()):
        looks["POST " + page] = "POST " + re.escape(page)
    return looks


def spread(cases, own):
    """The own cases, one in four of the others, and one for each command and page that has none else."""
    chosen = {name for i, name in enumerate(cases) if name in own or i % 4 == 0}
    for look in to_ask().values():
        asking = [name for name, text in cases.items() if re.fullmatch(look, text)]
        if not chosen & set(asking):
            chosen.add(asking[0])
    return {name: text for name, text in cases.items() if name in chosen}


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--whole", action="store_true")
    parser.add_argument("--share", type=int, default=SHARE)
    parser.add_argument("--places")
    parser.add_argument("only", nargs="*")
    arguments = parser.parse_args()
    if not FARE.exists():
        skip("memory running out", "only the sanitized build has this program")
        done()
    own = {**stage.cases(HERE / "cases"), "push": "POST /runs"}
    cases = {**stage.cases(), **own}
    lacking = [what for what, look in to_ask().items() if not any(re.fullmatch(look, text) for text in cases.values())]
    report("every command and page has a case", not lacking, lacking)
    # The end of a pipe is not fare's own. A site of all runs takes seconds, hundreds of times: `site` has one of two runs.
    cases = {name: text for name, text in cases.items()
             if "|" not in text and "--site site >" not in text and "--all --site" not in text
             and (not arguments.only or any(re.fullmatch(word, name) for word in arguments.only))}
    if arguments.share > 1 and not arguments.only and not lacking:
        cases = spread(cases, own)
    scratch = Path(tempfile.mkdtemp(prefix="oom-", dir=os.environ.get("TMPDIR")))
    try:
        oom = Oom(scratch, arguments)
        beside, address = oom.start_server(oom.fresh("beside"), oom.env)
        oom.failing["SERVER"] = address or ""
        for name, command in cases.items():
            if not re.match("GET |POST ", command):
                began, before = time.monotonic(), oom.failed
                wrong = oom.command(command)
                report(name, not wrong, "\n".join(wrong[:10]), lines=200)
                print(f"# {name}: {oom.failed - before} failures, {time.monotonic() - began:.1f} s", flush=True)
        requests = {name: text for name, text in cases.items() if re.match("GET |POST ", text)}
        for name, wrong in oom.requests(requests).items() if requests else []:
            report(name, not wrong, "\n".join(wrong[:3]), lines=100)
        oom.stop_server(beside, scratch / "beside")
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        print(f"# {oom.failed} failures, {used.ru_utime + used.ru_stime:.0f} s of CPU")
        report("there were failures", oom.failed > (0 if arguments.only else 300))
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    done()


main()
