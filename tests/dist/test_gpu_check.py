#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""scripts/gpu-check as it is carried to a machine with a GPU: packed, unpacked beside a fare, run with a stand-in for the
driver (tests/train/engine/fake_gpu.c), whose kernels do nothing, for compute-sanitizer and for PyTorch."""
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, os.path.join(os.environ["ROOT"], "tests"))
from tap import done, report  # noqa: E402

ROOT, BUILD, FARE = Path(os.environ["ROOT"]), Path(os.environ["BUILD"]), os.environ["FARE"]
FAKE = BUILD / "tests" / "train" / "engine" / "fake_gpu.so"

CUDA = BUILD / "tests" / "machine" / "fake_cuda.so"
NVML = BUILD / "tests" / "machine" / "fake_nvml.so"
# While it runs 150 or 120 MiB more are in use on the GPU.
TORCH = """import json, os, sys, time
w, asked = (sys.argv[sys.argv.index(option) + 1] for option in ("--only", "--modes"))
def in_use(mib):
    with open(os.environ["FARE_FAKE_NVML"] + ".new", "w") as f:
        f.write(f"count = 1\\nreload = 1\\ngpu0.name = GPU\\ngpu0.memory = 2000000000 0 {1000000000 - mib * 2**20} {1000000000 + mib * 2**20}\\n")
    os.rename(f.name, os.environ["FARE_FAKE_NVML"])
if "FARE_FAKE_NVML" in os.environ:
    in_use({"graph": 150, "ampg": 120, "eager": 90}.get(asked, 10))
    time.sleep(0.3)
    in_use(0)
def next_one(mode):  # each process takes another time: 20 more, 0 more, 10 more
    with open(f"{w}-{mode}", "a+") as f:
        f.write(".")
        return (20, 0, 10)[(f.tell() - 1) % 3]
print(json.dumps({"torch": "9.9", "cudnn": 91900}))
print("noise on stdout")
if w == "l1":
    print(json.dumps({"workload": w, "mode": "eager", "ms": 100 + next_one("eager")}))
for mode, us, mib in (("graph", 200.0, 40), ("ampg", 100.0, 30)):
    if mode in asked.split(","):
        print(json.dumps({"workload": w, "mode": mode, "step_us": us + next_one(mode), "peak_mib": mib + (asked != mode)}))
"""
# The real one, but what needs a GPU that calculates, or minutes: whole trainings end as ACCURACIES says, inception is mlp (with
# OTHER another one where it is not cut), gpt2 is its smallest size, copies to the GPU are those of the machine's stand-in for the driver.
FARE_LIKE = """#!/usr/bin/python3
import json, os, sys
args = sys.argv[1:]
if "--full" in args:
    seed = int(args[args.index("--seed") + 1])
    last = {{"test_accuracy": float(os.environ["ACCURACIES"].split()[seed - 1]), "train_loss": 1.40 + seed / 100}}
    print(json.dumps({{"runs": [{{"epoch_list": [{{}}, last], "phases": {{"train_ns": seed * 10**9}}}}]}}))
    sys.exit()
if "--bandwidth" in args:
    os.environ["FARE_CUDA"] = "{cuda}"
if "inception" in args:
    args = ["mlp" if a == "inception" else a for a in args if a not in ("--precision", "bf16")]
    if "OTHER" in os.environ and "whole" in args[args.index("--checkpoint") + 1]:
        args += ["--seed", "2"]
if "gpt2" in args: # as large as a stand-in can be
    args = ["3m" if a.endswith("m") else a for a in args] + ["--context", "16", "--batch", "2"]
os.execv("{fare}", ["{fare}", *args])
"""
SANITIZER = """#!/bin/sh
echo "$@ $FARE_TEST_FILTER $FARE_TEST_ONLY last=$FARE_TEST_LAST" >>{log}
echo "[       OK ] some_test"
echo "========= ERROR SUMMARY: {errors} errors"
exit {code}
"""
scratch = tempfile.TemporaryDirectory(prefix="fare-test-")
work = Path(scratch.name)
os.environ["GZIP_LEVEL"] = "1"  # quicker
packed = subprocess.run([ROOT / "scripts" / "dist-gpu-check", BUILD, work], capture_output=True, text=True)
archive = next(work.glob("fare-*-gpu-check.tar.gz"), None)
report("the archive is written", packed.returncode == 0 and archive, packed.stdout + packed.stderr)
first = archive.read_bytes()
subprocess.run([ROOT / "scripts" / "dist-gpu-check", BUILD, work], capture_output=True)
report("the same bytes when made again", archive.read_bytes() == first)
subprocess.run(["tar", "-C", work, "-xzf", archive], check=True)
unpacked = work / archive.name.removesuffix(".tar.gz")
needed = subprocess.run(["readelf", "-d", *(unpacked / "bin").iterdir()], capture_output=True,
                        text=True).stdout
needed = set(re.findall(r"NEEDED.*\[(.*)\]", needed))
carried = {p.name for p in (unpacked / "lib").iterdir()}
report("it carries what its programs need beyond the C library", needed - carried <= {"libc.so.6", "libm.so.6"}
       and carried <= needed, f"{needed} {carried}")
report("with their licences", all(p.stat().st_size for p in (unpacked / "licenses").iterdir())
       and len(list((unpacked / "licenses").iterdir())) == len(carried))
(work / "torch.py").write_text(TORCH)
like = work / "like" / "fare"
like.parent.mkdir()
like.write_text(FARE_LIKE.format(cuda=CUDA, fare=FARE))
like.chmod(0o755)
LIKE = ("--fare", like)


def check(*args, path="", fare=("--fare", FARE), **env):
    p = subprocess.run([unpacked / "gpu-check", *fare, *args], capture_output=True, text=True, timeout=300, cwd=work,
                       env={**os.environ, "FARE_CUDA": str(FAKE), "PATH": f"{path}:/usr/bin:/bin", **env})
    return p.returncode, p.stdout, p.stderr


def sanitizer(name, errors, code):
    folder = work / name
    folder.mkdir()
    tool = folder / "compute-sanitizer"
    tool.write_text(SANITIZER.format(log=folder / "log", errors=errors, code=code))
    tool.chmod(0o755)
    return folder


def left(name):
    """Processes with this in their command lines. One that was killed gets a moment to end; those that were not live for minutes."""
    for _ in range(100):
        found = subprocess.run(["pgrep", "-f", name], capture_output=True, text=True).stdout
        if not found:
            break
        time.sleep(0.1)
    return found


def row(text, start):
    return next(([c.strip() for c in line.strip("|").split("|")] for line in text.splitlines()
                 if line.startswith(f"| {start}")), [])


code, out, err = check("--only", "tests", FARE_TEST_LAST="1")  # one size of each operation is enough to fail
passed, failed, skipped = map(int, re.findall(r"(\d+) (?:passed|failed|skipped)", row(out, "tests of")[1]))
report("tests that fail, as these do where kernels do nothing, are told and end with 1",
       code == 1 and failed > 3 and skipped == 0 and "Failed: test_cuda" in out, out + err)
report("and the kernels that other GPUs are given", "1 failed" in row(out, "operations in f32 with the kernels for GPUs before")[1]
       and "1 failed" in row(out, "operations in tf32 as on GPUs with 99 KiB")[1], out)
report("the heading has the date, the GPU and fare's version",
       re.match(r"## scripts/gpu-check, \d{4}-\d\d-\d\d\n\n.*fare \d+\.\d+\.\d+ \(", out), out)
code, out, err = check("--only", "tests", FARE_CUDA="/nonexistent/libcuda.so.1")
report("tests that were all skipped are no success", code == 1 and "nothing was tested" in err, out + err)
code, out, err = check("--only", "tests", FARE_TEST_LAST="1", FAKE_GPU_FAIL="cuInit:1")
report("nor is a GPU that does not answer", code == 1, out + err)

code, out, err = check("--only", "memcheck,racecheck")
if Path("/usr/local/cuda/bin/compute-sanitizer").exists():
    report("without compute-sanitizer: skipped, and said so", True, skip="it is installed here")
else:
    report("without compute-sanitizer: skipped, and said so", code == 0 and "skipped: it is not installed" in
           row(out, "compute-sanitizer, memcheck")[1] and row(out, "compute-sanitizer, racecheck"), out + err)
good = sanitizer("good", 0, 0)
code, out, err = check("--only", "memcheck,racecheck", path=good)
log = (good / "log").read_text()
report("with it: both tools over some cases each", code == 0 and log.count("--tool memcheck") == log.count("--tool racecheck") > 3
       and "every_operation_in_bf16 normed convolutions" in log and "0 errors; 1 passed" in row(out, "memcheck, LSTM")[1], out + err)
report("and how long each took", re.search(r"skipped, \d+ s$", row(out, "racecheck, LSTM")[1]), out)
report("races are looked for in one size of each operation, faults in all", all(("last=1" in line) == ("racecheck" in line)
       for line in log.splitlines()), log)
code, out, err = check("--only", "memcheck", path=sanitizer("bad", 3, 99))
report("what it finds is a failure", code == 1 and "3 errors" in row(out, "memcheck, embedding")[1] and "Failed: memcheck" in out, out)

code, out, err = check("--only", "speed,memory,torch", "--workloads", "mlp,l1", "--seconds", "1", "--torch", work / "torch.py",
                       fare=LIKE)
speed = next((r for r in (row(part, "mlp") for part in out.split("GPU memory")) if r), [])
memory = row(out.split("GPU memory")[-1], "mlp")
report("a workload's step beside the faster of PyTorch's, of three processes", code == 0 and speed[1] == "tf32"
       and speed[5] == "100.0 (bf16, of 3)"
       and abs(float(speed[6]) - float(speed[2].replace(",", "")) / 100) < 0.002, out + err)
report("five rounds in one process and how far apart they are", float(speed[3].replace(",", "")) > 0 and float(speed[4].replace(",", "")) >= 0, speed)
# 669,706 parameters, RMSprop's second row of them: 5.1 MiB at least.
report("memory beside PyTorch's in the same precision", float(memory[2]) > 5.1 and memory[3] == "40.0"
       and abs(float(memory[4]) - float(memory[2]) / 40) < 0.011 and memory[5:] == ["–", "–", "–"], memory)
(work / "nvml").write_text("count = 1\nreload = 1\ngpu0.name = GPU\ngpu0.memory = 2000000000 0 1000000000 1000000000\n")
told = check("--only", "memory,torch", "--workloads", "mlp,l1", "--seconds", "1", "--torch", work / "torch.py",
             FARE_NVML=str(NVML), FARE_FAKE_NVML=str(work / "nvml"))[1]
report("with the driver's library, the memory of PyTorch's process too", row(told, "mlp")[6] == "150", told)
report("l1's process is among them, with what is counted", row(told, "l1")[2:5] == ["–"] * 3 and row(told, "l1")[6] == "90"
       and row(told, "l1")[5] != "–" and "with the two inputs and the result" in told, told)
line = next((x for x in out.splitlines() if x.startswith("l1: ")), "")
of = re.search(r"([\d.]+) GB/s to the GPU \(([\d.]+) % of the ([\d.]+) GB/s that fare check --bandwidth", line)
report("l1 has a line of its own: its copies beside what pinned memory has there", of and
       abs(float(of[2]) - 100 * float(of[1]) / float(of[3])) < 0.01 * float(of[2]) + 100 * 0.1 / float(of[3]), line)
report("and of how many passes and processes its figures are the best", re.search(r"each the best of \d+ passes, PyTorch's cdist "
       r"100\.000 ms, the fastest of 3 processes", line), line)
report("PyTorch's version is in the heading", "PyTorch 9.9 (cuDNN 91900)" in out.split("|")[0], out)
code, out, err = check("--only", "speed", "--workloads", "mlp", "--seconds", "1", FAKE_GPU_FAIL="cuGraphLaunch:3")
report("a GPU that goes away is a failure, and the table is there all the same", code == 1 and row(out, "mlp")[2] == "–"
       and "Failed: fare run mlp" in out, out + err)
for word in ("TERM", "INT"):  # while PyTorch, which never ends, is measured
    (work / "endless.py").write_text("import time\ntime.sleep(300)\n")
    p = subprocess.Popen([unpacked / "gpu-check", "--fare", FARE, "--only", "speed,torch", "--workloads", "mlp,cnn", "--seconds",
                          "1", "--torch", work / "endless.py"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=work,
                         env={**os.environ, "FARE_CUDA": str(FAKE)})
    said = ""
    while "PyTorch" not in said:
        said = p.stderr.readline() or "PyTorch"
    p.send_signal(signal.Signals["SIG" + word])
    out, err = p.communicate(timeout=60)
    report(f"stopped by SIG{word} it prints what it has", p.returncode == 1 and float(row(out, "mlp")[2].replace(",", "")) > 0
           and row(out, "mlp")[5] == "–" and not row(out, "cnn") and f"Failed: stopped by SIG{word} after " in out, out + err)
    started = left(str(work / "endless.py"))
    report("and nothing that it started is left", started == "", started)
(work / "at_any_moment.py").write_text(f"""import importlib.machinery, os, signal
check = importlib.machinery.SourceFileLoader("check", "{unpacked}/gpu-check").load_module()
for i in range(100):
    if os.fork() == 0:
        signal.signal(signal.SIGALRM, check.stop)
        try:
            signal.setitimer(signal.ITIMER_REAL, (i + 1) * 40e-6)
            check.run(["sh", "-c", "sleep 300; : {work}/sleeper"], 300, os.environ)
        except check.Stopped:
            os._exit(0)
    assert os.wait()[1] == 0
""")
told = subprocess.run([sys.executable, work / "at_any_moment.py"], capture_output=True, text=True, timeout=120)
started = left(f"{work}/sleeper")
report("nor when it is stopped while it starts something", told.returncode == 0 and started == "", told.stderr + started)
code, out, err = check("--only", "full", "--data", work / "nowhere", "--workloads", "mlp")
report("a whole training without its data too", code == 1 and row(out, "mlp")[1] == "–", out + err)
code, out, err = check("--only", "full", "--data", work, "--workloads", "mlp,textgen", fare=LIKE, ACCURACIES="0.975 0.985 0.981")
report("whole trainings are judged by the mean over their seeds", code == 0 and row(out, "mlp")[1:] ==
       ["98.03 %", "97.50 %; 98.50 %; 98.10 %", "98.00 %", "yes", "1.00; 2.00; 3.00"], out + err)
report("textgen's by its loss", row(out, "textgen")[1:5] == ["1.420", "1.410; 1.420; 1.430", "at most 1.440", "yes"], out)
code, out, err = check("--only", "full", "--data", work, "--workloads", "mlp", "--seeds", "2", fare=LIKE, ACCURACIES="0.97 0.985")
report("a mean that is too low is a failure", code == 1 and row(out, "mlp")[1:5] == ["97.75 %", "97.00 %; 98.50 %", "98.00 %", "NO"]
       and "in the mean of 2" in out, out + err)
asked = {name: float(reach) for f in (ROOT / "src" / "train" / "workload").glob("*.c")
         for name, reach in re.findall(r'\.name = "(\w+)",(?:(?!\.name = ).)*?\.reach = ([\d.]+)', f.read_text(), re.S)}
known = re.search(r"^REACHED = (.*)$", (unpacked / "gpu-check").read_text(), re.M)[1]
report("what is asked is what the workloads' definitions say", all(asked[w] == x for w, x in json.loads(known).items()), f"{asked} {known}")

code, out, err = check("--only", "resume", "--workloads", "inception", fare=LIKE)
report("a training that was cut and one that was not end in the same bits", code == 0 and
       row(out, "inception, 3 steps")[1].startswith("the same bits in the checkpoint, "), out + err)
code, out, err = check("--only", "resume", "--workloads", "inception", fare=LIKE, OTHER="1")
report("other bits are a failure", code == 1 and "Failed: inception, cut and resumed: steps [3, 3, 6], checkpoints" in out, out + err)
code, out, err = check("--only", "resume", "--workloads", "inception", FAKE_GPU_MEMORY="100000000")
report("and so is a training that does not begin", code == 1 and "steps [None, None, None]" in row(out, "inception")[1], out + err)
code, out, err = check("--only", "gpt2,resume", "--workloads", "", fare=LIKE)
report("every size of gpt2 has its row, and is cut and resumed", code == 0 and all(len(row(out, f"{size} ")) == 8 for size in
       ("124m", "350m", "774m", "1558m")) and "the same bits" in row(out, "gpt2, 3 steps")[1], out + err)
code, out, err = check("--only", "resume", "--workloads", "mlp")
losses = [float(x) for x in re.findall(r"\d\.\d{3}", row(out, "mlp, 300 steps each on CPU, GPU, CPU")[1])]
report("losses that do not go on are one, as here where the GPU has none; the CPU's second part begins where its first one ended",
       code == 1 and losses[1] == losses[4] == 0 and 0 < losses[2] < 2 * losses[3] < losses[0], out + err)

code, out, err = check("--only", "start", "--workloads", "mlp", "--processes", "1", "--save", work / "start.json")
ways = row(out, "mlp")
seconds = [float(ways[i].split()[0]) for i in (2, 6, 8)]
report("the first step's time from the start, three ways, and what was asked", ways[1] == "PTX" and ways[10] == "1.5"
       and all(0 < x < 60 for x in seconds) and (code == 0) == (seconds[0] <= 1.5), out + err)
slow = json.loads((work / "start.json").read_text())
slow["started"]["mlp"]["packed"] = [[2.0, 0.5, "machine code", 1, 0.25], [1.0, 0.25, "PTX", 1, 0.25], [1.25, 0.25, "PTX", 1, 0.25]]
(work / "start.json").write_text(json.dumps(slow))
code, out, err = check("--tables", work / "start.json", fare=())
report("of several processes the median, and the first beside it", row(out, "mlp")[1:6] == ["machine code", "1.25 (2.00)", "0.25",
       "1.00", "0.25"], out + err)

code, out, err = check("--only", "nccl", FARE_NCCL="/nonexistent")
report("without NCCL its part is skipped, and says so", code == 0 and row(out, "sums with NCCL")[1].startswith("skipped: "), out + err)
ranks = unpacked / "bin/test_cuda_ranks"
real = ranks.read_bytes()
ranks.write_text('#!/bin/sh\necho "[       OK ] a_rank_alone"\n[ "$FARE_TEST_GPU" = 1 ] && exit $BAD\n')
quick = work / "short" / "fare"
quick.parent.mkdir()
quick.write_text(f"""#!/usr/bin/python3
import json, os, sys
if sys.argv[1] == "run":
    ms = {{None: 1, "0": 2, "1": 3}}[os.environ.get("FARE_NCCL_ALONE")]
    print(json.dumps({{"runs": [{{"step_ms": ms + len(sys.argv[2]) / 100}}]}}))
else:
    print(json.dumps({{"gpus": [], "gpu_libraries": [{{"name": "NCCL", "version": "2.27.3"}}], "fare": {{"version": "1", "build": "b"}}}}))
""")
quick.chmod(0o755)
for bad in ("0", "7"):
    code, out, err = check("--only", "nccl", fare=("--fare", quick), BAD=bad)
    report(f"NCCL's test that ends with {bad}: told, and steps in three ways", (code == 0) == (bad == "0") and row(out, "sums with NCCL")[1].startswith("1 passed")
           and row(out, "gpt2") == ["gpt2", "1.0400", "2.0400", "3.0400"] and row(out, "inception")[1:] == ["1.0900", "2.0900", "3.0900"], out + err)
ranks.write_bytes(real)

code, out, err = check("--only", "adam", "--workloads", "mlp,imdb", "--save", work / "adam.json")
line = next((x for x in out.splitlines() if x.startswith("Adam with imdb's table of 20,000 × 128: ")), "")
used, whole = line.partition(", all rows ")[::2]
report("Adam's launches both ways", code == 0 and "embed_back 10.0" in used and "fill" not in used and "fill 10.0" in whole
       and "embed_back 10.0" in whole and " in a step of " in used and " in a step of " in whole, out + err)
# 20,000 rows of 128 numbers, of each the gradient, the parameter and two states: 28 bytes in the stand-in's 10 us.
rate = re.search(r"optimize 10\.0 at (\d+) GB/s", whole)
report("and what the one over all rows moves", rate and 7168 <= int(rate[1]) < 1.05 * 7168, whole)

check("--only", "memcheck", "--cases", "embedding", "--save", work / "1.json", path=good)
check("--only", "speed", "--workloads", "cnn", "--seconds", "1", "--save", work / "2.json", FAKE_GPU_FAIL="cuGraphLaunch:3")
check("--only", "speed,memory", "--workloads", "mlp", "--seconds", "1", "--save", work / "3.json")
one = json.loads((work / "1.json").read_text())
one["machines"] = [one["machines"][0].partition(" Libraries")[0] + " Libraries found: cuDNN 9.19.0.56."]  # as it may be
(work / "1.json").write_text(json.dumps(one))
code, out, err = check("--tables", *(work / f"{n}.json" for n in ("1", "2", "3", "adam")), fare=())
report("what several calls kept is one set of tables", code == 1 and out.count("## scripts/gpu-check") == 1
       and len(re.findall(r"fare \d+\.\d+\.\d+ \(", out)) == 1
       and row(out, "memcheck, embedding") and row(out, "cnn")[2] == "–" and float(row(out, "mlp")[2].replace(",", "")) > 0
       and "GPU memory" in out and "Adam with imdb" in out and "Failed: fare run cnn" in out, out + err)
code, out, err = check("--only", "tests", fare=("--fare", "/nonexistent"))
report("a fare that is not there is named", code != 0 and "--fare /nonexistent: there is no program" in err, out + err)
code, out, err = check("--only", "tests", fare=())
report("without a bundle it says what to unpack", code != 0 and "unpack the bundle" in err
       and f"no {work}/{unpacked.name.removesuffix('-gpu-check')}/fare" in err, out + err)
code, out, err = check("--help")
report("its help has no default that is none", code == 0 and "(default: 3)" in out and "default: None" not in out
       and "default: )" not in out, out)
code, out, err = check("--only", "nothing")
report("a part that is not there is a wrong use", code == 2 and "'nothing' is none of" in err, err)
done()
