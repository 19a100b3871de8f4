#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Runs every test and counts: the last line is 'N passed, N failed, N skipped'.

Four kinds, found by name:
  BUILD/tests/**/test_*      unit tests (cmocka, TAP)
  tests/cli/*.test           a command, its exit code and what it prints (format: tests/cli/README.md)
  tests/**/test_*.sh, .py    scripts that print TAP; they find BUILD and ROOT in the environment
  BUILD/tests/fuzz/fuzz_*    replays of tests/fuzz/corpus
The first two and the last run once per build; scripts run for the first build only.
"""
import argparse
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

TESTS = Path(__file__).resolve().parent
ROOT = TESTS.parent
TIMEOUT_S = 600


class Outcome:
    """What one program or file gave: lists of names, and the text to show where it failed."""

    def __init__(self, label):
        self.label, self.passed, self.failed, self.skipped, self.text = label, [], [], [], ""
        self.seconds = 0.0


def environment(build):
    env = {k: os.environ[k] for k in ("PATH", "HOME", "FARE_DATA", "FARE_PYTHON", "TERM", "LANG", "USER", "CI")
           if k in os.environ}
    env.update(
        BUILD=str(build), ROOT=str(ROOT), TESTS=str(TESTS), FARE=str(build / "fare"),
        FARE_METADATA="off",  # no test ever asks a real metadata service
        LC_ALL="C.UTF-8", CMOCKA_MESSAGE_OUTPUT="TAP",
        ASAN_OPTIONS="detect_leaks=1:detect_stack_use_after_return=1",
        UBSAN_OPTIONS="print_stacktrace=1",
        # The leak checker crashes on the thread-local memory of libraries that were opened at run time.
        LSAN_OPTIONS=f"suppressions={TESTS / 'lsan.supp'}:print_suppressions=0:use_tls=0")
    return env


def parse_tap(outcome, text, code):
    planned = None
    for line in text.splitlines():
        plan = re.match(r"1\.\.(\d+)\b", line)
        if plan:
            planned = int(plan.group(1))
        m = re.match(r"(not )?ok \d+\b\s*-?\s*(.*)", line)
        if not m:
            continue
        name = m.group(2)
        if re.search(r"#\s*skip", name, re.I):
            outcome.skipped.append(name)
        elif m.group(1):
            outcome.failed.append(name)
        else:
            outcome.passed.append(name)
    ran = len(outcome.passed) + len(outcome.failed) + len(outcome.skipped)
    if planned is not None and planned != ran:
        outcome.failed.append(f"ran {ran} of {planned} tests")
    if code != 0 and not outcome.failed:
        outcome.failed.append(f"ended with code {code}")
    if code == 0 and not (outcome.passed or outcome.failed or outcome.skipped):
        outcome.failed.append("ran no test")
    if outcome.failed:
        outcome.text = text


def execute(command, build, cwd=None, extra=None):
    """Runs in a folder of its own, so that tests can leave files about."""
    with tempfile.TemporaryDirectory(prefix="fare-test-") as scratch:
        env = environment(build)
        env["TMPDIR"] = scratch
        env["XDG_DATA_HOME"] = f"{scratch}/data"  # no test touches the user's own files
        env["XDG_CONFIG_HOME"] = f"{scratch}/config"
        env.update(extra or {})
        with open(Path(scratch) / ".out", "w+b") as out:
            p = subprocess.Popen(command, cwd=cwd or scratch, env=env, stdin=subprocess.DEVNULL,
                                 stdout=out, stderr=subprocess.STDOUT, start_new_session=True)
            try:
                code = p.wait(TIMEOUT_S)
            except subprocess.TimeoutExpired:
                os.killpg(p.pid, 9)
                p.wait()
                code = -9
            out.seek(0)
            text = out.read().decode("utf-8", "replace")
    return code, text + (f"\nno end within {TIMEOUT_S} s\n" if code == -9 else "")


def run_program(path, build):
    outcome = Outcome(f"{path.relative_to(build)} [{build.name}]")
    # These lie elsewhere than fare, from where share/ is found.
    code, text = execute([str(path)], build, extra={"FARE_SHARE": str(ROOT / "share")})
    parse_tap(outcome, text, code)
    return outcome


def run_script(path, build):
    outcome = Outcome(str(path.relative_to(ROOT)))
    shell = ["bash"] if path.suffix == ".sh" else ["/usr/bin/python3"]
    code, text = execute(shell + [str(path)], build)
    parse_tap(outcome, text, code)
    return outcome


def run_replay(path, build):
    outcome = Outcome(f"{path.relative_to(build)} [{build.name}]")
    corpus = TESTS / "fuzz" / "corpus" / path.name[len("fuzz_"):]
    code, text = execute([str(path), str(corpus)], build)
    if code == 0:
        outcome.passed.append(text.strip())
    else:
        outcome.failed.append(f"ended with code {code}")
        outcome.text = text
    return outcome


def read_cli(path):
    """'key: value' lines, then 'stdout:' and 'stderr:' sections."""
    test, section = {"exit": "0", "run": ""}, None
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if section is None and (line.startswith("#") or not line.strip()):
            continue
        if line in ("stdout:", "stderr:"):
            section = line[:-1]
            test[section] = []
        elif section:
            test[section].append(line)
        else:
            key, colon, value = line.partition(": ")
            if not colon or key not in ("about", "run", "exit", "env", "needs"):
                raise ValueError(f"{path.name}:{number}: not understood: {line}")
            test[key] = value
    if not test["run"]:
        raise ValueError(f"{path.name}: no 'run:' line")
    return test


def matches(expected, got):
    """Lines equal; '~' starts a regular expression; '...' stands for any number of lines."""
    if not expected:
        return not got
    if expected[0] == "...":
        return any(matches(expected[1:], got[i:]) for i in range(len(got) + 1))
    if not got:
        return False
    first = expected[0]
    same = re.fullmatch(first[1:], got[0]) if first.startswith("~") else first == got[0]
    return bool(same) and matches(expected[1:], got[1:])


def run_cli(path, build):
    outcome = Outcome(f"{path.relative_to(ROOT)} [{build.name}]")
    try:
        test = read_cli(path)
    except ValueError as e:
        outcome.failed.append(str(e))
        outcome.text = str(e)
        return outcome
    for tool in shlex.split(test.get("needs", "")):
        if not shutil.which(tool):
            outcome.skipped.append(f"{tool} is not installed")
            return outcome
    with tempfile.TemporaryDirectory(prefix="fare-test-") as scratch:
        env = environment(build)
        env["PATH"] = f"{build}:{env['PATH']}"
        env["XDG_DATA_HOME"] = f"{scratch}/data"
        env["XDG_CONFIG_HOME"] = f"{scratch}/config"
        for word in shlex.split(test.get("env", "")):
            key, _, value = word.partition("=")
            env[key] = re.sub(r"\$(\w+)", lambda m: env.get(m.group(1), ""), value)
        p = subprocess.run(["bash", "-c", test["run"]], cwd=scratch, env=env,
                           stdin=subprocess.DEVNULL, capture_output=True, timeout=TIMEOUT_S)
    text = ""
    if p.returncode != int(test["exit"]):
        text += f"exit code {p.returncode}, expected {test['exit']}\n"
    for name, got in (("stdout", p.stdout), ("stderr", p.stderr)):
        lines = got.decode("utf-8", "replace").splitlines()
        if name in test and not matches(test[name], lines):
            text += f"{name} is not as expected; it was:\n" + "\n".join(lines) + "\n"
        elif name not in test and name == "stderr" and lines:
            text += "stderr should be empty; it was:\n" + "\n".join(lines) + "\n"
    (outcome.failed if text else outcome.passed).append(test.get("about", path.stem))
    outcome.text = text
    return outcome


def collect(builds, only):
    jobs = []
    for build in builds:
        for path in sorted((build / "tests").glob("**/test_*")):
            if path.is_file() and os.access(path, os.X_OK) and path.suffix == "" \
                    and "on_purpose" not in path.parts and "sanitize" not in \
                    path.relative_to(build).parts:
                jobs.append((run_program, path, build))
        for path in sorted((build / "tests" / "fuzz").glob("fuzz_*")):
            if path.is_file():
                jobs.append((run_replay, path, build))
        for path in sorted((TESTS / "cli").glob("*.test")):
            jobs.append((run_cli, path, build))
    for path in sorted(TESTS.glob("**/test_*.sh")) + sorted(TESTS.glob("**/test_*.py")):
        jobs.insert(0, (run_script, path, builds[0]))  # the long ones first
    return [j for j in jobs if not only or any(word in str(j[1]) for word in only)]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=Path, required=True)
    parser.add_argument("--sanitize", type=Path, help="a second build, with sanitizers")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 2)
    parser.add_argument("--programs", action="append", default=[], type=Path,
                        help="run just these programs (for the test of this runner)")
    parser.add_argument("only", nargs="*", help="words; only tests whose path has one of them")
    args = parser.parse_args()
    builds = [p.resolve() for p in (args.build, args.sanitize) if p]
    jobs = [(run_program, p.resolve(), builds[0]) for p in args.programs] \
        or collect(builds, args.only)

    def timed(job):
        start = time.monotonic()
        try:
            outcome = job[0](job[1], job[2])
        except Exception as e:  # the runner's own fault must fail the suite, not end it
            outcome = Outcome(str(job[1]))
            outcome.failed.append(repr(e))
            outcome.text = repr(e)
        outcome.seconds = time.monotonic() - start
        return outcome

    passed = failed = skipped = 0
    with ThreadPoolExecutor(args.jobs) as pool:
        for outcome in pool.map(timed, jobs):
            passed += len(outcome.passed)
            failed += len(outcome.failed)
            skipped += len(outcome.skipped)
            word = "FAIL" if outcome.failed else "ok" if outcome.passed else "skip"
            print(f"{word:5}{outcome.label}  {len(outcome.passed)} passed, "
                  f"{outcome.seconds:.1f} s", flush=True)
            for name in outcome.skipped:
                print(f"     skipped: {name}")
            for name in outcome.failed:
                print(f"     FAILED: {name}")
            if outcome.text:
                print("     | " + outcome.text.strip()[-6000:].replace("\n", "\n     | "))
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
