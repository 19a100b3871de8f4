#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""One H200 at four clocks and its processor with five numbers of cores (devices.jsonl, measured 2026-11-16 by
bench/estimate_devices.py): each training is estimated from each for the others. Issue: median error at most 6 %, 90th percentile
at most 15 %, and the intervals hold."""
import os
import sys
from pathlib import Path

ROOT, BUILD, HERE = Path(os.environ["ROOT"]), Path(os.environ["BUILD"]), Path(__file__).resolve().parent
sys.path[:0] = [os.environ["TESTS"], str(ROOT / "bench")]
sys.dont_write_bytecode = True
os.environ.update(FARE_SHARE=str(ROOT / "share"), XDG_CONFIG_HOME="/nonexistent")

import estimate_devices  # noqa: E402
import tap  # noqa: E402

rows = estimate_devices.read(HERE / "devices.jsonl")
gpu, cpu = ([r for r in rows if (r["device"] >= 600) == on_gpu] for on_gpu in (True, False))
for name, chosen, pairs, most, tail in (("clocks of a GPU", gpu, 132, 0.06, 0.15), ("cores of a processor", cpu, 160, 0.13, 0.36)):
    median, p90, inside, count, _ = estimate_devices.figures(estimate_devices.ask(BUILD / "tests/advise/estimate/estimates", chosen))
    tap.report(f"{name}: error and intervals", count == pairs and median <= most and p90 <= tail and inside >= 0.9 * count,
               f"{count} pairs, median {median:.3f}, 90th percentile {p90:.3f}, {inside} inside")
tap.done()
