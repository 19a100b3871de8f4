#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What fare prints, kept as files: every command of `cases` with a pinned clock and ledger, compared with expected/.

A difference is an improvement or a fault: read it as a diff. `tests/golden/test_golden.py --rewrite` (with FARE or build/fare) makes
the files anew. Nothing here says what is right; the other tests do.
"""
import difflib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path.insert(0, str(HERE.parent))
sys.path.insert(0, str(HERE))
import stage  # noqa: E402
from tap import done, report, skip  # noqa: E402

FARE = Path(os.environ.get("FARE", ROOT / "build/fare")).resolve()
CASES = stage.cases()
MOST_BYTES = 3_000_000
SCRATCH = Path(tempfile.mkdtemp(prefix="golden-", dir=os.environ.get("TMPDIR")))
ENV = stage.environment(FARE, SCRATCH)

# What nothing can pin, and why.
VARYING = [(re.escape(str(SCRATCH)), "SCRATCH"),  # folders of this run of the test
           (re.escape(str(ROOT)), "ROOT"),  # where the tree lies
           (r"(the ledger )\S*ledger\.db", r"\1SCRATCH/ledger.db"),  # the same folders with places to break the line
           (r"http://127\.0\.0\.1:\d+", "http://SERVER"),  # any free port
           (r"\(build \S+?(?=\\?\))", "(build COMMIT")]  # changes with each commit


class Figure(float):
    """A number that keeps the digits it was printed with."""

    def __new__(cls, text):
        self = super().__new__(cls, text)
        self.text = text
        return self


def json_lines(value, indent=""):
    """Lists and objects of plain values on one line, if that is not long; others with a line for each item."""
    if isinstance(value, Figure):
        return value.text
    if not value or not isinstance(value, (dict, list)):
        return json.dumps(value, ensure_ascii=False)
    named, inner = isinstance(value, dict), indent + " "
    parts = value.values() if named else value
    items = [json_lines(part, inner) for part in parts]
    items = [f"{json.dumps(key, ensure_ascii=False)}: {item}" for key, item in zip(value, items)] if named else items
    left, right = "{}" if named else "[]"
    line = left + ", ".join(items) + right
    if len(indent + line) <= 140 and not any(isinstance(part, (dict, list)) for part in parts):
        return line
    return f"{left}\n{inner}" + f",\n{inner}".join(items) + f"\n{indent}{right}"


def of_json(text):
    return json_lines(json.loads(text, parse_float=Figure)) + "\n"


def of_page(text):
    """One element a line, without styles and scripts; a drawing's coordinates to a whole pixel, so that its last digit is no difference."""
    text = re.sub(r"<(style|script)\b[^>]*>.*?</\1>", r"<\1/>", text, flags=re.S)
    places = lambda m: re.sub(r"-?\d+\.\d+", lambda n: str(round(float(n.group(0)))), m.group(0))  # noqa: E731
    text = re.sub(r'\b(?:d|points|x|y|x1|x2|y1|y2|cx|cy|r|width|height|transform|viewBox)="[^"]*"', places, text)
    return re.sub(r">[ \n]*<(?!/)", ">\n<", text)


LAYOUTS = {".json": of_json, ".html": of_page, ".svg": of_page}


def laid_out(name, text, more=""):
    try:
        text = LAYOUTS.get(Path(name).suffix, str)(text) if text else ""
    except ValueError:
        more += "--- not JSON\n"
    text += "" if text.endswith("\n") or not text else "\n"
    for pattern, word in VARYING:
        text, more = re.sub(pattern, word, text), re.sub(pattern, word, more)
    return text + more


def run(name):
    folder = SCRATCH / name
    shutil.copytree(SCRATCH / "given", folder)
    p = subprocess.run(["sh", "-c", CASES[name]], cwd=folder, env={**ENV, "XDG_DATA_HOME": f"{folder}/data"}, stdin=subprocess.DEVNULL,
                       capture_output=True, text=True, timeout=120)
    shutil.rmtree(folder)
    more = f"--- stderr\n{p.stderr}" if p.stderr else ""
    more += f"--- exit {p.returncode}\n" if p.returncode else ""
    return laid_out(name, p.stdout.replace(str(folder), "SCRATCH"), more.replace(str(folder), "SCRATCH"))


def ask(address, name):
    try:
        with urllib.request.urlopen(address + CASES[name].split(" ", 1)[1], timeout=60) as answer:
            return laid_out(name, answer.read().decode())
    except urllib.error.HTTPError as error:
        return laid_out(name, error.read().decode(), f"--- status {error.code}\n")


def pages():
    """{case: page} of one server; the overview's table of machines is made beside, so it is asked again until it is there."""
    folder = SCRATCH / "serve"
    shutil.copytree(SCRATCH / "given", folder)
    server = subprocess.Popen([FARE, "serve", "--listen", "127.0.0.1:0"], cwd=folder, env=ENV, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True)
    try:
        found = re.search(r"http://\S+:\d+", server.stdout.readline())
        if not found:
            text = server.communicate()[1]
            skip("pages", text) if "libmicrohttpd is not" in text else report("fare serve starts", False, text)
            return {name: (HERE / "expected" / name).read_text() for name in CASES if CASES[name].startswith("GET ")}
        address = found.group(0)
        deadline = time.monotonic() + 60
        while "cheapest with a run" not in ask(address, "serve-home.html") and time.monotonic() < deadline:
            time.sleep(0.1)
        return {name: ask(address, name) for name in CASES if CASES[name].startswith("GET ")}
    finally:
        server.terminate()
        server.wait()


def outputs():
    with ThreadPoolExecutor(2) as pool:
        served = pool.submit(pages)
        commands = [name for name in CASES if not CASES[name].startswith("GET ")]
        return {**dict(zip(commands, pool.map(run, commands))), **served.result()}


def compare(name, text):
    path = HERE / "expected" / name
    kept = path.read_text() if path.exists() else ""
    diff = "" if kept == text else "\n".join(difflib.unified_diff(kept.splitlines(), text.splitlines(), f"expected/{name}", CASES[name],
                                                                  n=1, lineterm=""))
    lines = diff.splitlines()
    more = [f"... {len(lines) - 39} lines more"] if len(lines) > 40 else []
    report(name, kept == text, "\n".join((lines[:39] if more else lines) + more), lines=40)


def rewrite(texts):
    shutil.rmtree(HERE / "expected", ignore_errors=True)
    (HERE / "expected").mkdir()
    for name, text in texts.items():
        (HERE / "expected" / name).write_text(text)


try:
    wrong = stage.prepare(SCRATCH, ENV)
    report("the ledger and the book", not wrong, wrong)
    texts = outputs()
finally:
    shutil.rmtree(SCRATCH, ignore_errors=True)
if sys.argv[1:] == ["--rewrite"]:
    rewrite(texts)
for case, output in texts.items():
    compare(case, output)
kept = [path.name for path in (HERE / "expected").iterdir()]
report("a file for each case, and no others", sorted(kept) == sorted(CASES), sorted(set(kept) ^ set(CASES)))
size = sum(path.stat().st_size for path in (HERE / "expected").iterdir())
report(f"at most {MOST_BYTES} bytes in all", size <= MOST_BYTES, size)
done()
