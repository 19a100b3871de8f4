#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Runs every test and counts: the last line is 'N passed, N failed, N skipped'.

Four kinds, found by name:
  BUILD/tests/**/test_*      unit tests (cmocka, TAP)
  tests/cli/*.test           a command, its exit code and what it prints (format: tests/cli/README.md)
  tests/**/test_*.sh, .py    scripts that print TAP; they find BUILD and ROOT in the environment
  BUILD/tests/fuzz/fuzz_*    replays of tests/fuzz/corpus
The first two run once per build (but those in IN_THE_FIRST and IN_THE_LAST), scripts for the first build only (those in SANITIZED
for both), replays for the last, which is sanitized.
"""
import argparse
import os
import queue
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

TESTS = Path(__file__).resolve().parent
ROOT = TESTS.parent
TIMEOUT_S = 3600 if os.environ.get("FARE_TEST_WHOLE") else 600

# These mostly sleep: they run beside the others and take nobody's place. Here and below, the longest first.
WAITING = ["fleet/test_kubernetes", "measure/test_sample_command", "fleet/test_slurm", "fleet/test_hosts",
           "measure/test_parallel", "measure/test_command", "save/test_s3", "save/test_slurm", "fleet/test_sky",
           "ledger/test_faults", "save/test_with", "save/test_watching", "save/test_libraries", "follow/trace/test_traced",
           "machine/sample/test_sampler", "save/test_rehearsal", "measure/test_killed", "ledger/test_import_site", "measure/test_spend",
           "fleet/test_many", "measure/test_hostile", "follow/trace/test_inject", "save/test_store", "serve/test_serve",
           "measure/test_log_lines", "kept/test_before_36", "save/test_save", "fleet/test_rehearsal", "save/test_notice",
           "machine/sample/test_tasks", "follow/test_energy", "save/test_s3_tls", "measure/test_provenance", "machine/test_cloud",
           "measure/test_strangers", "measure/test_join", "measure/test_parallel_slurm", "fleet/test_emit_boot", "save/test_lost_work", "save/test_find", "save/test_kubernetes",
           "measure/test_ranks_slurm", "measure/test_boot", "serve/test_serve_prices",
           "measure/test_gpus"]
WAITING_AT_ONCE = 4
# These compute for ten seconds or more: they begin first. The others fill what is left at the end.
LONG = ["oom/test_oom", "train/engine/test_kernels", "measure/test_frameworks", "dist/test_gpu_check", "cli/bare", "train/engine/test_gpu_host",
        "cli/check-bandwidth-gpu", "train/engine/test_cpu_nets", "view/test_site", "train/engine/test_cpu", "advise/estimate/test_tables",
        "view/test_bare", "runner/test_lint", "bill/test_agreement", "serve/test_serve_pages", "follow/test_adapters",
        "dist/test_bundle", "train/checkpoint/test_public_names", "cli/run-sample-to-the-end", "measure/test_ranks",
        "train/engine/test_gpu_resume", "view/test_pages", "train/engine/test_cuda_ranks", "cmd/test_price_widths",
        "serve/test_serve_hostile", "advise/spend/test_spend", "bill/test_second", "measure/test_measuring",
        "serve/test_live", "measure/test_training", "train/workload/test_gpt2", "measure/test_handover",
        "cli/run-l1-times", "cli/check-expected", "fleet/test_emit_clouds", "train/engine/test_lstm", "advise/estimate/test_scaling", "advise/estimate/test_model_fit",
        "measure/test_bare_gpu", "dist/test_image", "view/test_valid", "measure/test_gate", "book/test_real",
        "save/test_torch", "ledger/test_postgres", "serve/test_serve_size", "cmd/test_docs_commands"]
# Those that compute, as many as there are processors, yield to those that mostly sleep: these need little, and soon.
NICE = 3
# Left out of `make quick` too: over two seconds of CPU each.
NOT_QUICK = ["bill/test_shipped", "serve/test_serve_clients", "cmd/test_completion", "view/test_looking", "bill/test_crontab",
             "dist/test_publish_runs", "view/test_pictures", "cli/check-bandwidth", "measure/test_command_estimates",
             "measure/test_rates", "machine/test_bandwidth", "save/test_model", "fleet/test_emit_time",
             "train/engine/test_cublas", "view/test_png", "measure/test_keras_installed", "golden/test_golden",
             "measure/test_gate_limits", "advise/test_quote_spot", "bill/test_independent", "view/test_formats", "advise/test_quote",
             "follow/test_replay", "bill/test_power", "advise/test_guarantees", "cli/run-rates", "cli/deleted-folder",
             "advise/test_quote_several", "view/test_plots", "dist/test_setup", "cli/prices-filters", "advise/spot/test_second",
             "advise/test_quote_options"]


# Scripts that are quick, or mostly sleep, and reach code that no unit test does.
SANITIZED = ["fleet/test_emit_slurm", "fleet/test_emit_systemd", "fleet/test_kubernetes", "fleet/test_many", "record/test_hostile_records",
             "view/test_bare", "oom/test_oom"]
# With two builds, these run in one of them: they measure for as long as they are told, so a slower program tells nothing more
# (view/test_bare has what is short of it sanitized); or they go through so much that the sanitized program takes in all.
IN_THE_FIRST = ["cli/bare", "cli/check-bandwidth-gpu", "cli/check-expected", "cli/run-rates", "cli/run-sample-to-the-end"]
IN_THE_LAST = ["oom/test_oom", "train/engine/test_cuda_ranks", "bill/test_agreement", "measure/test_handover"]


class Outcome:
    """What one program or file gave: lists of names, and the text to show where it failed."""

    def __init__(self, label):
        self.label, self.passed, self.failed, self.skipped, self.text = label, [], [], [], ""
        self.wall_s = self.cpu_s = 0.0


def environment(build):
    env = {k: os.environ[k] for k in ("PATH", "HOME", "FARE_DATA", "FARE_PYTHON", "FARE_TEST_WHOLE", "TERM", "LANG", "USER", "CI")
           if k in os.environ}
    env.update(
        BUILD=str(build), ROOT=str(ROOT), TESTS=str(TESTS), FARE=str(build / "fare"),
        FARE_METADATA="off",  # no test ever asks a real metadata service
        FARE_OFFLINE="1",  # nor a public catalogue of prices; book/test_renew.py asks its own server
        LC_ALL="C.UTF-8", CMOCKA_MESSAGE_OUTPUT="TAP",
        OMP_WAIT_POLICY="passive", OPENBLAS_THREAD_TIMEOUT="4",  # a thread that waits sleeps, and leaves its core to the tests beside it
        ASAN_OPTIONS="detect_leaks=1:detect_stack_use_after_return=1:malloc_context_size=12",
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


def execute(outcome, command, build, extra=None, apart=False):
    """Runs in a folder of its own, so that tests can leave files about; gives the code and what was printed: apart,
    stdout and stderr, else both in one."""
    with tempfile.TemporaryDirectory(prefix="fare-test-") as scratch, tempfile.TemporaryFile() as file:
        env = environment(build)
        env["TMPDIR"] = scratch
        env["XDG_DATA_HOME"] = f"{scratch}/data"  # no test touches the user's own files
        env["XDG_CONFIG_HOME"] = f"{scratch}/config"
        env.update(extra or {})
        # A file, so that nothing waits for what a program left behind; pipes where the test may limit its files.
        p = subprocess.Popen(command, cwd=scratch, env=env, stdin=subprocess.DEVNULL, start_new_session=True,
                             stdout=subprocess.PIPE if apart else file, stderr=subprocess.PIPE if apart else file)
        overdue = []
        timer = threading.Timer(TIMEOUT_S, lambda: (overdue.append(True), os.killpg(p.pid, 9)))
        timer.start()
        if apart:
            with p.stdout, p.stderr, ThreadPoolExecutor(1) as other:
                err = other.submit(p.stderr.read)
                texts = [p.stdout.read(), err.result()]
        _, status, used = os.wait4(p.pid, 0)
        timer.cancel()
        p.returncode = os.waitstatus_to_exitcode(status)
        outcome.cpu_s = used.ru_utime + used.ru_stime
        if not apart:
            file.seek(0)
            texts = [file.read()]
    texts = [text.decode("utf-8", "replace") for text in texts]
    if overdue:
        texts[-1] += f"\nno end within {TIMEOUT_S} s\n"
    return p.returncode, *texts


def run_program(path, build):
    outcome = Outcome(f"{path.relative_to(build)} [{build.name}]")
    # These lie elsewhere than fare, from where share/ is found.
    code, text = execute(outcome, [str(path)], build, {"FARE_SHARE": str(ROOT / "share")})
    parse_tap(outcome, text, code)
    return outcome


def run_script(path, build):
    outcome = Outcome(f"{path.relative_to(ROOT)} [{build.name}]")
    shell = ["bash"] if path.suffix == ".sh" else ["/usr/bin/python3"]
    code, text = execute(outcome, shell + [str(path)], build)
    parse_tap(outcome, text, code)
    return outcome


def run_replay(path, build):
    outcome = Outcome(f"{path.relative_to(build)} [{build.name}]")
    corpus = TESTS / "fuzz" / "corpus" / path.name[len("fuzz_"):]
    code, text = execute(outcome, [str(path), str(corpus)], build)
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
    env = {**environment(build), "PATH": f"{build}:{os.environ['PATH']}"}
    extra = {"PATH": env["PATH"]}
    for word in shlex.split(test.get("env", "")):
        key, _, value = word.partition("=")
        extra[key] = env[key] = re.sub(r"\$(\w+)", lambda m: env.get(m.group(1), ""), value)
    code, out, err = execute(outcome, ["bash", "-c", test["run"]], build, extra, apart=True)
    text = ""
    if code != int(test["exit"]):
        text += f"exit code {code}, expected {test['exit']}\n"
    for name, got in (("stdout", out), ("stderr", err)):
        lines = got.splitlines()
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
        for path in sorted((build / "tests" / "fuzz").glob("fuzz_*")) if build == builds[-1] else []:
            if path.is_file():
                jobs.append((run_replay, path, build))
        for path in sorted((TESTS / "cli").glob("*.test")):
            jobs.append((run_cli, path, build))
    for path in sorted(TESTS.glob("**/test_*.sh")) + sorted(TESTS.glob("**/test_*.py")):
        jobs.append((run_script, path, builds[0]))
        if len(builds) > 1 and str(path.relative_to(TESTS).with_suffix("")) in SANITIZED:
            jobs.append((run_script, path, builds[1]))
    names = [name_of(job) for job in jobs]
    for name in WAITING + LONG + NOT_QUICK + SANITIZED + IN_THE_FIRST + IN_THE_LAST:
        if name not in names and not only:  # some tests may be run where not all are built
            raise SystemExit(f"run.py: there is no test '{name}', which one of its lists names")
    if len(builds) > 1:
        jobs = [job for job in jobs if not (name_of(job) in IN_THE_FIRST and job[2] == builds[1])
                and not (name_of(job) in IN_THE_LAST and job[2] == builds[0])]
    place = {name: i for i, name in enumerate(WAITING + LONG)}
    jobs.sort(key=lambda job: place.get(name_of(job), len(place)))
    return [j for j in jobs if not only or any(word in name_of(j) for word in only)]


def name_of(job):
    """run/test_command: its path below tests/ without the suffix."""
    _, path, build = job
    folder = TESTS if TESTS in path.parents else build / "tests"
    return str(path.relative_to(folder).with_suffix("")) if folder in path.parents else path.name


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=Path, required=True)
    parser.add_argument("--sanitize", type=Path, help="a second build, with sanitizers")
    parser.add_argument("--quick", action="store_true", help="leave out the tests that take long")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 2)
    parser.add_argument("--programs", action="append", default=[], type=Path,
                        help="run just these programs (for the test of this runner)")
    parser.add_argument("only", nargs="*", help="words; only tests whose path below tests/ has one of them")
    args = parser.parse_args()
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT):
        # nohup and a shell's & ignore them, and so would every program of the tests; of a handler it inherits nothing.
        if signal.getsignal(number) == signal.SIG_IGN:
            signal.signal(number, lambda *_: None)
    builds = [p.resolve() for p in (args.build, args.sanitize) if p]
    jobs = [(run_program, p.resolve(), builds[0]) for p in args.programs] \
        or collect(builds, args.only)
    if args.quick:
        jobs = [job for job in jobs if name_of(job) not in WAITING + LONG + NOT_QUICK and job[0] != run_replay]

    def timed(job):
        start = time.monotonic()
        try:
            outcome = job[0](job[1], job[2])
        except Exception as e:  # the runner's own fault must fail the suite, not end it
            outcome = Outcome(str(job[1]))
            outcome.failed.append(repr(e))
            outcome.text = repr(e)
        outcome.wall_s = time.monotonic() - start
        return outcome

    passed = failed = skipped = 0
    began, cpu_s = time.monotonic(), 0.0
    waiting, computing = (iter([job for job in jobs if (name_of(job) in WAITING) == waits]) for waits in (True, False))
    ended = queue.SimpleQueue()

    def work(*lists):  # threads share an iterator: each takes the next of its jobs
        for some in lists:
            if some is computing:
                os.nice(NICE)  # on Linux a thread has a priority of its own, and what it starts inherits that
            for job in some:
                ended.put(timed(job))

    # Who is done with those that sleep goes on with the others, one more than there are processors: now and then these wait too.
    with ThreadPoolExecutor(args.jobs + WAITING_AT_ONCE) as pool:
        for lists in [(computing,)] * args.jobs + [(waiting,)] * (WAITING_AT_ONCE - 1) + [(waiting, computing)]:
            pool.submit(work, *lists)
        for _ in jobs:
            outcome = ended.get()
            passed += len(outcome.passed)
            failed += len(outcome.failed)
            skipped += len(outcome.skipped)
            cpu_s += outcome.cpu_s
            word = "FAIL" if outcome.failed else "ok" if outcome.passed else "skip"
            print(f"{word:5}{outcome.label}  {len(outcome.passed)} passed, "
                  f"{outcome.wall_s:.1f} s, {outcome.cpu_s:.1f} s of CPU", flush=True)
            for name in outcome.skipped:
                print(f"     skipped: {name}")
            for name in outcome.failed:
                print(f"     FAILED: {name}")
            if outcome.text:
                print("     | " + outcome.text.strip()[-6000:].replace("\n", "\n     | "))
    print(f"suite: {time.monotonic() - began:.0f} s, {cpu_s:.0f} s of CPU")
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
