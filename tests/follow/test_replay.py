#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Whole trainings of some eighty tools (corpus.py), replayed on a virtual clock: steps, total and time are found without any
option, and no interval misses the truth where every part was announced or seen. FARE_TEST_SEEDS=5 tries more trainings."""
import contextlib
import functools
import io
import json
import os
import re
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, os.environ["TESTS"])
sys.path.insert(0, str(Path(os.environ["TESTS"]) / "follow"))
import corpus  # noqa: E402
import corpus_left  # noqa: E402, F401
import corpus_rl  # noqa: E402, F401
from tap import done, report  # noqa: E402

TRIED = list(corpus.KINDS)
import corpus_held  # noqa: E402, F401
HELD = [kind for kind in corpus.KINDS if kind not in TRIED]
REPLAY = Path(os.environ["BUILD"]) / "tests/follow/replay"
SEEDS = int(os.environ.get("FARE_TEST_SEEDS", "1"))


@functools.cache
def training(kind, seed):
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        corpus.Run(kind, seed).write(out)
    return out.getvalue()


def replay(text, *options):
    ran = subprocess.run([REPLAY, *options], input=text, capture_output=True, text=True)
    return json.loads(ran.stdout) if ran.returncode == 0 else ran.stderr


def near(a, b, share):
    return abs(a - b) <= max(1, share * b)


def judge(kind, seed):
    """Whether the training was understood, the intervals that miss, and a line to show."""
    text = training(kind, seed)
    truth = json.loads(text.split("\n", 1)[0])
    found = replay(text)
    if isinstance(found, str):
        return False, [found], kind
    sample, full, whole = found["sample"], found["full"], truth["whole_s"]
    counts = [truth["steps"], truth.get("counted", truth["steps"])]
    projections = [sample["projection"], *full["checks"]]
    misses = [p for p in projections if p and not p["low_s"] <= whole <= p["high_s"]]
    # The last report may be a few steps before the end.
    known = any(near(sample["total"], c, 0) and near(full["steps"], c, 0.05) for c in counts)
    known = known and sample["projection"] is not None
    p = sample["projection"]
    line = f"{kind} {seed}: {sample['source']}, {sample['total']} of {counts[-1]} steps, stopped after {sample['stop_s']:.0f} s: " + (
        f"{p['wall_s']:.0f} s ({p['low_s']:.0f} to {p['high_s']:.0f}) of {whole:.0f} s" if p else "no projection")
    if sample["unseen"]:
        line += ", not seen: " + ", ".join(sample["unseen"])
    return known, misses, line, truth["announced"], sample


def main():
    understood, lines = 0, []
    for kind in TRIED:
        for seed in range(1, SEEDS + 1):
            if corpus.KINDS[kind][2] is None:
                continue
            known, misses, line, *rest = judge(kind, seed)
            understood += known and seed == 1
            lines.append(("  " if known else "? ") + line)
            if not rest:
                report(kind, False, misses[0])
                continue
            announced, sample = rest
            # Parts that are in the projection, or that it says it has not seen, must be in the interval.
            if announced or sample["unseen"] or known:
                report(f"{kind} {seed}: the interval holds", not misses, f"{line}\n{misses}")
    print("\n".join("# " + line for line in lines))
    report("at least 80 kinds of logs", len(TRIED) >= 80, len(TRIED))
    report(f"steps, total and whole are found without options in {understood} of {len(TRIED)}", understood >= 68,
           "\n".join(lines))


def test_options():
    """Totals that logs do not have, by option."""
    for kind, option, number in (("gpt_lecture", "--total-steps", 5000), ("cifar_tutorial", "--total-epochs", 2),
                                 ("pytorch_quickstart", "--total-epochs", 5), ("tqdm_epochs", "--total-epochs", 40),
                                 ("llamacpp_finetune", "--total-epochs", 2), ("espnet2", "--total-epochs", 10),
                                 ("detr_left", "--total-epochs", 6)):
        text = training(kind, 1)
        whole = json.loads(text.split("\n", 1)[0])["whole_s"]
        sample = replay(text, option, str(number), "--max-s", "200")["sample"]
        p = sample["projection"]
        report(f"{kind} with {option}", p and p["low_s"] <= whole <= p["high_s"] and sample["total_from"] in ("option", "bar"),
               json.dumps(sample, indent=1), lines=60)


def sampled(kind, *options):
    """The sample of a kind, its true time, its projection's error, and the log's lines until the sample's end."""
    text = training(kind, 1)
    first, *rest = text.splitlines()
    truth = json.loads(first)
    sample = replay(text, "--sample", *options)["sample"]
    p = sample["projection"]
    lines = [c["text"] for c in map(json.loads, rest) if sample["stop_s"] < 0 or c["t"] <= sample["stop_s"]]
    return sample, truth, p["wall_s"] / truth["whole_s"] - 1 if p else None, "".join(lines)


def test_time_left():
    """mmengine, mmcv, PaddleDetection, scikit-learn and llama.cpp's older program print only how long it takes still."""
    for kind in ("mmengine_left", "mmcv", "paddledetection", "sklearn_boosting", "sklearn_boosting_short", "llamacpp_lora"):
        sample, truth, off, _ = sampled(kind)
        report(f"{kind}: the total follows from the time left", sample["total_from"] == "time left" and off is not None and abs(off) < 0.05
               and near(sample["total"], truth["steps"], 0.02), json.dumps(sample))
    sample, _, off, _ = sampled("detr_left")
    report("the time left of an epoch is not that of the training", sample["total"] == 0 and off is None, json.dumps(sample))


def test_faults():
    sample, _, off, _ = sampled("llamacpp_finetune")
    report("llama.cpp: bars that grow are one counter, whose epochs nobody told", sample["source"] == "llama.cpp" and sample["steps"] > 300
           and sample["total"] == 0 and off is None, json.dumps(sample))
    sample, truth, off, _ = sampled("paddleseg")
    report("PaddleSeg: the sample waits for an evaluation that comes soon", not sample["unseen"] and abs(off) < 0.05, json.dumps(sample))
    for kind in ("openrlhf_flat", "openrlhf_grows"):
        sample, truth, off, _ = sampled(kind)
        report(f"{kind}: the outer counter is the training", sample["counter"].startswith("Episode") and sample["total"] == 60,
               json.dumps(sample))
    for kind in ("fasttext", "fasttext_old"):
        sample, truth, off, _ = sampled(kind)
        report(f"{kind}: its percentage counts", sample["source"] == "fastText" and abs(off) < 0.03, json.dumps(sample))
    sample, truth, off, _ = sampled("verl")
    report("verl: a bar of the whole training is not multiplied by its epochs", sample["total"] == truth["steps"], json.dumps(sample))
    sample, truth, off, _ = sampled("csv_bare")
    report("columns without a word are seen", sample["steps"] > 50 and abs(off) < 0.03, json.dumps(sample))


def test_last_loss():
    """The loss shown is the last one of the log."""
    for kind, pattern in (("plain_step", r"loss ([\d.]+)"), ("csv_epochs", r"(?m)^\d+,([\d.]+),"), ("nanogpt", r"iter \d+: loss ([\d.]+)"),
                          ("nemo_rl", r"Loss: ([\d.]+)"), ("trl_grpo", r"'loss': ([\d.]+)")):
        sample, _, _, lines = sampled(kind)
        last = float(re.findall(pattern, lines)[-1])
        report(f"{kind}: the last loss is the one shown", sample["loss"] == last, (sample["loss"], last))


def test_lengthening():
    """On-policy reinforcement learning: its steps may double, the interval says so, and so does the record."""
    for kind in ("verl", "openrlhf_grows", "nemo_rl", "trl_grpo"):
        sample, truth, off, _ = sampled(kind)
        p = sample["projection"]
        report(f"{kind}: answers may lengthen", sample["lengthens"] and p["high_s"] > 2 * p["wall_s"] - p["after_s"]
               and p["low_s"] <= truth["whole_s"] <= p["high_s"], json.dumps(sample))
    report("other trainings have no such doubt", not sampled("hf_trainer")[0]["lengthens"])


def test_held_out():
    """Logs that no reader was written for: what a sample says is true, or it says nothing."""
    told = 0
    for kind in HELD:
        for seed in range(1, SEEDS + 1):
            text = training(kind, seed)
            whole = json.loads(text.split("\n", 1)[0])["whole_s"]
            p = replay(text, "--sample")["sample"]["projection"]
            told += p is not None and seed == 1
            report(f"{kind} {seed}: no wrong figure", p is None or p["low_s"] <= whole <= p["high_s"], f"{p} of {whole}")
    report(f"{told} of {len(HELD)} kinds nobody had in mind have a figure", told >= 9 and len(HELD) >= 10, told)


def test_impossible_interval():
    """9,390 steps of 380 ms or more take at least an hour, whatever the sample's scatter; and a longer sample is advised."""
    for seed in range(1, 4):
        sample = replay(training("disturbed", seed), "--sample")["sample"]
        p = sample["projection"]
        left = (9390 - sample["steps"]) * 0.38
        report(f"the lower end is at least what is left by the fastest step, seed {seed}", p["low_s"] >= 0.97 * left, json.dumps(sample))
        report("how much longer to sample", p["longer_s"] > 10, json.dumps(p))
    report("a narrow interval asks for nothing", sampled("plain_step")[0]["projection"]["longer_s"] == 0)


main()
test_options()
test_time_left()
test_faults()
test_last_loss()
test_lengthening()
test_impossible_interval()
test_held_out()
done()
