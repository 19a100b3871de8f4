#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""share/models.csv: does the shape of each model give its parameters, and are names, sources and dates whole? Some of them are stated
by the models' authors."""
import csv
import datetime
import os
import re
import sys
from pathlib import Path

sys.path.insert(0, os.environ["TESTS"])
import tap  # noqa: E402

with open(Path(os.environ["ROOT"]) / "share" / "models.csv", newline="") as file:
    rows = list(csv.DictReader(file))
# As their authors state them: gpt2 (124M to 1558M: llm.c's README), Llama 3.2 (1.23B, 3.21B), Llama 2's and 3's and Qwen2.5's model
# cards (6.74B is Llama 2's checkpoint), DeepSeek-V3's (671B, 37B active), OPT-125M's paper.
STATED = {"gpt2": (124e6, None), "gpt2-xl": (1558e6, None), "llama-3.2-1b": (1.23e9, None), "llama-3.2-3b": (3.21e9, None),
          "llama-2-7b": (6.74e9, None), "llama-3-8b": (8.03e9, None), "qwen2.5-0.5b": (0.49e9, None), "qwen2.5-7b": (7.61e9, None),
          "deepseek-v3": (671e9, 37e9)}


def by_shape(row):
    """(all, active): embeddings, attention and feed-forward matrices, experts and their routers; without biases and norms."""
    get = lambda key: int(row[key] or 0)
    width, layers, experts = get("width"), get("layers"), get("experts")
    attention = get("attention") or width * get("head_size") * 2 * (get("heads") + get("kv_heads"))
    dense = get("dense_layers") if experts else layers
    rest = ((1 if get("tied") else 2) * get("vocabulary") + get("positions")) * width + layers * attention
    rest += dense * get("matrices") * width * get("ff_width") + (layers - dense) * width * experts
    expert = (layers - dense) * get("matrices") * width * get("expert_width")
    return rest + expert * (experts + get("shared")), rest + expert * (get("chosen") + get("shared"))


off = [(r["name"], column, round(computed / int(r[column]) - 1, 4)) for r in rows
       for column, computed in zip(("parameters", "active"), by_shape(r)) if abs(computed / int(r[column]) - 1) > 0.01]
tap.report(f"the shapes of {len(rows)} models give their parameters within 1 %", len(rows) >= 100 and not off, off)

named = {r["name"]: r for r in rows}
wrong = [(name, column, named[name][column]) for name, figures in STATED.items()
         for column, figure, within in zip(("parameters", "active"), figures, (0.01, 0.03))
         if figure and abs(int(named[name][column]) / figure - 1) > within]
tap.report("parameters are those that the authors state", not wrong, wrong)

names = [name for r in rows for name in [r["name"], *r["aliases"].split(";")] if name]
bad = [name for name in names if not re.fullmatch(r"[a-z0-9.+-]+", name.replace("_", "-")) or names.count(name) > 1]
tap.report("names and aliases are lower case and lead to one model", not bad, bad)

sourced = [r["name"] for r in rows if not re.match(r"github\.com/[\w-]+/[\w.-]+/blob/[0-9a-f]{7,}/", r["source"])
           or not datetime.date(2023, 1, 1) < datetime.date.fromisoformat(r["date"]) < datetime.date(2100, 1, 1)]
tap.report("each row names a file of a public repository and its date", not sourced, sourced)

absurd = [r["name"] for r in rows if int(r["heads"]) % int(r["kv_heads"]) or int(r["active"]) > int(r["parameters"])
          or bool(r["experts"]) != bool(r["chosen"]) or r["matrices"] not in ("2", "3") or r["tied"] not in ("0", "1")]
tap.report("heads share keys evenly, and no more is active than there is", not absurd, absurd)
tap.done()
