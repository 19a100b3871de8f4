# SPDX-License-Identifier: Apache-2.0
"""TAP for the Python tests: report() each check, done() at the end.

    import sys, os; sys.path.insert(0, os.environ["TESTS"])
    import tap
    tap.report("two and two", 2 + 2 == 4)
    tap.done()
"""
import os
import subprocess
import sys

count = failures = 0
os.environ.setdefault("FARE_OFFLINE", "1")  # no test fetches prices, also when it is run by hand


def report(name, good, text="", skip="", lines=20):
    """One check; `text` is shown where it failed, its last lines as TAP's comments."""
    global count, failures
    count += 1
    failures += not good
    print(f"{'ok' if good else 'not ok'} {count} - {name}" + (f" # SKIP {skip}" if skip else ""), flush=True)
    if not good:
        print("\n".join(f"  # {line}" for line in str(text).splitlines()[-lines:]), flush=True)


def skip(name, why):
    report(name, True, skip=why)


def check(name, action):
    """A check that asserts: it holds where nothing is raised."""
    try:
        action()
    except (AssertionError, LookupError, StopIteration) as e:
        report(name, False, f"{type(e).__name__}: {e}")
    else:
        report(name, True)


def fare(*args, code=0):
    """What the program prints; where it should fail, what it says on stderr."""
    p = subprocess.run([os.environ["FARE"], *map(str, args)], capture_output=True, text=True)
    if p.returncode != code:
        raise AssertionError(f"{args}: {p.returncode}\n{p.stdout}\n{p.stderr}")
    return p.stdout if code == 0 else p.stderr


def done():
    """The plan, and the exit code."""
    print(f"1..{count}", flush=True)
    sys.exit(failures != 0)
