#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What a run draws and how its GPU fares, end to end: a command under a stand-in for NVIDIA's library, which the
command itself tells what to answer. So what it has to come to is known: watts × seconds."""
import json
import os
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, os.environ["TESTS"])
from tap import done, report  # noqa: E402

FARE = os.environ["FARE"]
HERE = Path(os.environ["TMPDIR"])
ENV = {**os.environ, "FARE_NVML": str(Path(os.environ["BUILD"]) / "tests/machine/fake_nvml.so"),
       "FARE_FAKE_NVML": str(HERE / "nvml.txt")}

# The first GPU is the command's, the second is idle. tell() makes the answers from now on.
START = """
import json, os, sys, time
ANSWERS = '''init = 0
driver = 550.54.15
count = 2
reload = 1
gpu*.name = NVIDIA H100 80GB HBM3
gpu0.uuid = GPU-00000000-0000-4000-8000-000000000000
gpu1.uuid = GPU-11111111-1111-4111-8111-111111111111
gpu*.energy = added
gpu1.use = 0
gpu1.power = 70000
gpu1.memory = 85520809984 572850176 84947959808 0
gpu1.temperature = 30
'''
def tell(watts=100, use=0, gib=1, celsius=40, mhz=1000, reasons=0):
    used = gib << 30
    text = ANSWERS + f'''gpu0.power = {watts * 1000}
gpu0.use = {use}
gpu0.memory = 85520809984 0 {85520809984 - used} {used}
gpu0.temperature = {celsius}
gpu0.sm = {mhz}
gpu0.reasons = {reasons}
gpu0.gpm = 1
gpu0.gpm2 = {use / 2}
gpu0.process0 = {os.getpid()} {used}
'''
    path = os.environ["FARE_FAKE_NVML"]
    with open(path + ".new", "w") as f:
        f.write(text)
    os.rename(path + ".new", path)
def event(**what):
    with open(os.environ["FARE_EVENTS"], "a") as f:
        f.write(json.dumps({**what, "at": time.monotonic()}) + "\\n")
def steps(first, last, seconds):
    due = time.monotonic()
    for i in range(first, last + 1):
        due += seconds
        time.sleep(max(0, due - time.monotonic()))
        event(step=i)
"""


def run(script, *options, json_out=True):
    subprocess.run([sys.executable, "-c", START + "tell()"], env=ENV, check=True)  # for the first look
    p = subprocess.run([FARE, "run", "--no-ledger", *(["--json"] if json_out else []), *options, "--", sys.executable, "-c",
                        START + script], capture_output=True, text=True, timeout=120, env=ENV)
    return (json.loads(p.stdout)["runs"][0] if json_out and p.stdout else {}), p.stderr


def near(got, expected, share):
    return got is not None and abs(got - expected) <= share * expected


# Two seconds of set-up at 100 W, then 60 steps of 0.1 s at 300 W: 30 J for each, though energy over steps is 33.
one, error = run("""
tell(watts=100)
time.sleep(2)
event(phase="train")
tell(watts=300, use=60, gib=30, celsius=71, mhz=1500)
steps(1, 30, 0.1)
tell(watts=300, use=90, gib=20, celsius=65, mhz=1900)
steps(31, 60, 0.1)
""")
use = one.get("use", {})
cards = use.get("gpu_list", [])
report("sixty steps of a tenth of a second", one.get("steps") == 60 and near(one.get("step_ms"), 100, 0.03), (one, error))
report("a step draws what the GPU drew while steps were made", near(use.get("joules_per_step"), 30, 0.05), use)
report("the whole run drew that and its set-up", near(use.get("gpu_energy_j"), 2 * 100 + 6 * 300, 0.10), use)
report("one GPU was used, by its process", use.get("gpus") == 1 and [c["index"] for c in cards] == [0], use)
report("its use on average", near(use.get("gpu_percent"), (2 * 0 + 3 * 60 + 3 * 90) / 8, 0.10)
       and near(cards[0]["use_percent"], use["gpu_percent"], 1e-9), use)
steady = use.get("steady", {})
report("and in the steps alone, with its own counter of busy multiprocessors", near(steady.get("gpu_percent"), (60 + 90) / 2, 0.08)
       and near(steady.get("sm_percent"), (30 + 45) / 2, 0.08), (steady, one.get("steady")))
report("its power on average", near(cards[0]["power_w"], (2 * 100 + 6 * 300) / 8, 0.07), cards)
report("its clock on average", near(cards[0]["clock_mhz"], (2 * 1000 + 3 * 1500 + 3 * 1900) / 8, 0.05), cards)
report("the most memory and heat there was", use.get("gpu_memory_peak_bytes") == 30 << 30
       and cards[0]["memory_peak_bytes"] == 30 << 30 and cards[0]["temperature_max_c"] == 71, use)
report("nothing held it down", cards[0].get("throttling") == [] and not any("GPU" in t for t in one["taints"]), one["taints"])
samples = [s for s in one.get("samples", []) if "power_w" in s]
report("the samples tell the two halves", len(samples) >= 10 and min(s["power_w"] for s in samples[:3]) < 110
       and 290 < samples[-2]["power_w"] < 310 and near(samples[-2]["gpu_percent"], 90, 0.05), samples)

# With steps from the start, joules per step are the energy over the steps.
one, error = run("tell(watts=250, use=100)\nevent(phase='train')\nsteps(1, 40, 0.1)")
use = one.get("use", {})
report("energy over steps, where there is nothing but steps", one.get("steps") == 40
       and near(use.get("gpu_energy_j"), 250 * one["phases"]["wall_ns"] / 1e9, 0.08) and near(use["joules_per_step"], 25, 0.05),
       (use, one.get("phases"), error))

# NVML's reasons: 0x4 is the software's power cap, 0x20 its slowdown by heat, 0x1 that it is idle.
HELD = "tell(watts=700, use=100, reasons=0x24)\nevent(phase='train')\nsteps(1, 12, 0.1)\ntell(watts=700, use=100, reasons=1)\n" \
       "steps(13, 24, 0.1)"
one, error = run(HELD)
card = (one.get("use", {}).get("gpu_list") or [{}])[0]
report("what held the clocks down", sorted(card.get("throttling", [])) == ["sw power cap", "sw thermal slowdown"], (one, error))
report("taints the run", [t for t in one.get("taints", []) if t.startswith("GPU 0 was throttled by heat in")]
       and [t for t in one["taints"] if "throttled by its power limit in" in t], one.get("taints"))
_, error = run(HELD, json_out=False)
report("and is said", "fare: GPU 0 was throttled by heat in " in error, error)

done()
