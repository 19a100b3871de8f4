#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The code of a command's record, against git, hashlib and the Python's own importlib.metadata."""
import hashlib
import json
import os
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.path.insert(0, os.environ["TESTS"])
from tap import done, report, skip  # noqa: E402

FARE = os.environ["FARE"]
HERE = Path(os.environ["TMPDIR"]).resolve()
HOME = HERE / "home"
WORK = HOME / "work"
WORK.mkdir(parents=True)
ENV = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "GIT_"))}
ENV.update(HOME=str(HOME), XDG_DATA_HOME=str(HERE / "data"), GIT_CONFIG_NOSYSTEM="1", GIT_AUTHOR_NAME="a", GIT_AUTHOR_EMAIL="a@b",
           GIT_COMMITTER_NAME="a", GIT_COMMITTER_EMAIL="a@b")
ENV.pop("FARE_LEDGER", None)


def code(*command, cwd=WORK, **env):
    p = subprocess.run([FARE, "run", "--no-cloud", "--json", "--", *map(str, command)], capture_output=True, text=True, cwd=cwd,
                       env={**ENV, **env}, timeout=60, stdin=subprocess.DEVNULL)
    return json.loads(p.stdout)["runs"][0].get("code", {}) if p.stdout else {"error": p.stderr}


def git(*words, cwd=WORK):
    return subprocess.run(["git", *words], cwd=cwd, env=ENV, capture_output=True, text=True, check=True).stdout.strip()


script = WORK / "train.py"
script.write_text("print('x')\n")
plain = code(sys.executable, "train.py")
report("the folder, with ~ for the home", plain.get("folder") == "~/work", plain)
report("the script and its hash", plain.get("script") == "train.py" and
       plain.get("script_sha256") == hashlib.sha256(script.read_bytes()).hexdigest(), plain)
report("no repository, no commit", "commit" not in plain and "dirty" not in plain, plain)

# The interpreter and its packages.
venv = HERE / "venv"
subprocess.run([sys.executable, "-m", "venv", "--without-pip", venv], check=True, env=ENV)
site = next((venv / "lib").glob("python3*/site-packages"))
made = {"torch": "2.4.1+cu121", "transformers": "4.44.2", "nvidia-cuda-runtime-cu12": "12.1.105", "nvidia-cudnn-cu12": "9.1.0.70",
        "tokenizers": "0.19.1", "scikit-learn": "1.5.0"}
for name, version in made.items():
    info = site / f"{name.replace('-', '_')}-{version}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
shown = {"torch": "torch", "transformers": "transformers", "CUDA": "nvidia-cuda-runtime-cu12", "cuDNN": "nvidia-cudnn-cu12",
         "scikit-learn": "scikit-learn"}
ask = "import importlib.metadata as m, json, platform, sys; print(json.dumps([platform.python_version()] + [m.version(n) for n in sys.argv[1:]]))"
told = json.loads(subprocess.run([venv / "bin/python", "-c", ask, *shown.values()], capture_output=True, text=True, env=ENV, check=True).stdout)


def packages(c):
    return {p["name"]: p["version"] for p in c.get("packages", [])}


expected = dict(zip(shown, told[1:]))
for how, command in {"a virtual environment's Python": [venv / "bin/python", "train.py"],
                     "within nice": ["nice", "-n", "5", venv / "bin/python", "train.py"]}.items():
    c = code(*command)
    report(f"{how}: its version", c.get("python") == told[0], c)
    report(f"{how}: its packages", packages(c) == expected, c)
runner = venv / "bin" / "torchrun"
runner.write_text(f"#!{venv}/bin/python\nprint('x')\n")
runner.chmod(0o755)
c = code("torchrun", "train.py", PATH=f"{venv}/bin:{ENV['PATH']}")
report("a launcher's Python, by its first line", c.get("python") == told[0] and packages(c) == expected and c.get("script") == "train.py", c)
shutil.rmtree(next(site.glob("nvidia_cuda_runtime*")))
report("CUDA of torch's own version", packages(code(venv / "bin/python", "train.py")).get("CUDA") == "12.1")
report("no Python, none recorded", "python" not in code("sh", "-c", "true"))

# Launchers choose the Python: the one that runs tells what it is.
LAUNCHERS = HERE / "launchers"
LAUNCHERS.mkdir()
OTHER = HERE / "other"
subprocess.run([sys.executable, "-m", "venv", "--without-pip", OTHER], check=True, env=ENV)
tells = WORK / "tells.py"
tells.write_text(f"""import importlib.metadata as m, json, os, platform, subprocess, sys, time
if len(sys.argv) > 2:
    subprocess.Popen([{str(OTHER / "bin/python")!r}, "-c", "import time; time.sleep(3)"])  # a helper
until = time.process_time() + .25
while time.process_time() < until:
    pass
passed = time.time() - float(os.environ["BEGAN"])
time.sleep(max(1.5, passed))  # fare looks again when the time that has passed is half as long again
told = {{"interpreter": sys.executable, "python": platform.python_version(),
        "packages": {{n: m.version(n) for n in ("torch", "transformers", "scikit-learn")}}}}
open(sys.argv[1], "w").write(json.dumps(told))
""")
(WORK / "mod").mkdir()
(WORK / "mod" / "tells.py").write_text("# another file\n" + tells.read_text())
with_mark = WORK / "marked"
with_mark.write_text(f"#!{venv}/bin/python\n" + tells.read_text())
with_mark.chmod(0o755)
BURN = "import time\nuntil = time.process_time() + .4\nwhile time.process_time() < until: pass\n"
inside = ", ".join(map(repr, (str(venv / "bin/python"), "-u")))
stand_ins = {  # what each does, in short: its own Python starts the environment's, as a child or in its place
    "uv": f"#!/bin/sh\nshift\nexec {venv}/bin/python \"$@\"\n",
    "conda": f"#!{OTHER}/bin/python\nimport os, subprocess, sys\nos.environ['PATH'] = '{venv}/bin:' + os.environ['PATH']\n"
             "sys.exit(subprocess.call(['sh', '-c', '\"$@\"; exit $?', 'sh', *sys.argv[4:]]))\n",
    "poetry": f"#!{OTHER}/bin/python\nimport os, sys\n{BURN}os.environ['PATH'] = '{venv}/bin:' + os.environ['PATH']\n"
              "os.execvp(sys.argv[2], sys.argv[2:])\n",
    "accelerate": f"#!{OTHER}/bin/python\nimport subprocess, sys\n{BURN}sys.exit(subprocess.call([{inside}, *sys.argv[2:]]))\n",
    "srun": "#!/bin/sh\nexec \"$@\"\n",
}
for name, text in stand_ins.items():
    (LAUNCHERS / name).write_text(text)
    (LAUNCHERS / name).chmod(0o755)
(WORK / "job.sh").write_text(f". {venv}/bin/activate\npython tells.py \"$1\"\n")
python = str(venv / "bin/python")
cases = {
    "uv run": (["uv", "run", "tells.py"], "tells.py"),
    "conda run": (["conda", "run", "-n", "e", "python", "tells.py"], "tells.py"),
    "poetry run, which becomes that Python": (["poetry", "run", "python", "tells.py"], "tells.py"),
    "accelerate launch, with a Python of its own": (["accelerate", "launch", "tells.py"], "tells.py"),
    "srun": (["srun", python, "tells.py"], "tells.py"),
    "python -m": ([python, "-m", "mod.tells"], "mod/tells.py"),
    "env": (["env", "A=1", f"PATH={venv}/bin:{ENV['PATH']}", "python", "tells.py"], "tells.py"),
    "sh -c in another folder": (["sh", "-c", f"cd mod; . {venv}/bin/activate; python tells.py \"$0\""], "tells.py"),
    "a script for the shell": (["bash", "job.sh"], "job.sh"),
    "a script with a first line": (["./marked"], "./marked"),
    "beside a helper with another Python": ([python, "tells.py"], "tells.py"),
}


def launched(item):
    how, (command, named) = item
    truth = HERE / f"{how}.json"
    c = code(*command, truth, *(["helper"] if "helper" in how else []), PATH=f"{LAUNCHERS}:{ENV['PATH']}", BEGAN=str(time.time()))
    return how, c, json.loads(truth.read_text()) if truth.exists() else None, named


def check(how, c, truth, named):
    found = packages(c)
    same = truth and {"interpreter": c.get("interpreter", "").replace("~", str(HOME), 1), "python": c.get("python"),
                      "packages": {n: found.get(n) for n in truth["packages"]}} == truth
    file = WORK / "mod/tells.py" if "another folder" in how else WORK / named
    report(f"{how}: the Python that ran, by its own account", same, (c, truth))
    report(f"{how}: the script", c.get("script") == named and
           c.get("script_sha256") == hashlib.sha256(file.read_bytes()).hexdigest(), c)


with ThreadPoolExecutor(4) as pool:
    for result in pool.map(launched, cases.items()):
        check(*result)
for tool, command in {"uv": ["uv", "run", "--no-project", "--offline", "tells.py"], "poetry": ["poetry", "run", "python", "tells.py"],
                      "pipenv": ["pipenv", "run", "python", "tells.py"]}.items():
    if not shutil.which(tool):
        skip(f"the real {tool}", "it is not installed")
        continue
    (WORK / "pyproject.toml").write_text("[project]\nname = 'x'\nversion = '1'\n[tool.poetry]\npackage-mode = false\n")
    (WORK / "Pipfile").write_text("")
    truth = HERE / f"{tool}.json"
    c = code(*command, truth, BEGAN=str(time.time()), VIRTUAL_ENV=str(venv), UV_CACHE_DIR=str(HERE / "uv"), PIPENV_VERBOSITY="-1")
    check(f"the real {tool}", c, json.loads(truth.read_text()) if truth.exists() else None, "tells.py")
    (WORK / "pyproject.toml").unlink()
    (WORK / "Pipfile").unlink()
report("a program that is no script", "script" not in code("true") and "python" not in code("true"))
fifo = HERE / "pipe.py"
os.mkfifo(fifo)
start = time.time()
report("a pipe is not read", "script_sha256" not in code("true", fifo) and time.time() - start < 30)

# git
if not shutil.which("git"):
    skip("git", "it is not installed")
    done()
git("init", "-q")
git("add", "train.py")
git("commit", "-qm", "one")
head = git("rev-parse", "HEAD")
c = code(sys.executable, "train.py")
report("a clean tree", c.get("commit") == head and c.get("dirty") is False, c)
(WORK / "untracked").write_text("x")
report("a file that git does not track", code("true").get("dirty") is False)
script.write_text("print('y')\n")
index = (WORK / ".git/index").read_bytes()
report("a changed file", code("true").get("dirty") is True)
report("the index is not written", (WORK / ".git/index").read_bytes() == index)
git("pack-refs", "--all")
(WORK / "deep" / "er").mkdir(parents=True)
report("packed references, from a folder below", code("true", cwd=WORK / "deep/er").get("commit") == head)
git("worktree", "add", "-q", "-b", "other", str(HERE / "tree"))
c = code("true", cwd=HERE / "tree")
report("a second work tree", c.get("commit") == head and c.get("dirty") is False, c)
git("checkout", "-q", "--detach")
report("a detached head", code("true").get("commit") == head)
c = code(sys.executable, HOME / "work/train.py", cwd=HERE)
report("a script in another folder: its commit", c.get("commit") == head and c.get("dirty") is True and
       c.get("folder") == str(HERE), c)
slow = HERE / "bin"
slow.mkdir()
(slow / "git").write_text("#!/bin/sh\nsleep 30\n")
(slow / "git").chmod(0o755)
start = time.time()
c = code("true", PATH=f"{slow}:{ENV['PATH']}")
report("a slow git is given up", c.get("commit") == head and "dirty" not in c and time.time() - start < 15, c)

code(venv / "bin/python", "train.py")
page = subprocess.run([FARE, "runs", "last", "--all"], capture_output=True, text=True, env=ENV, cwd=WORK).stdout
report("the page", f"{head}, with changes" in page and "train.py, ~/work" in page and f"Python {told[0]}" in page and
       "cuDNN 9.1.0.70" in page, page)
done()
