#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What a measured run says of itself, through the command line: its phases, its projection, its
provenance; repeated, with several batch sizes, and wrongly asked."""
import json
import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.environ["ROOT"], "tests"))
from tap import done, report  # noqa: E402

FARE = os.environ["FARE"]


def fare(*args, **more):
    env = {**os.environ, **more.pop("env", {})}
    p = subprocess.run([FARE, "run", *map(str, args)], capture_output=True, text=True, timeout=300, env=env, **more)
    return p.returncode, p.stdout, p.stderr


def runs(*args):
    code, out, error = fare("--no-cloud", "--json", *args)
    return json.loads(out) if code == 0 else {"runs": [{}], "error": error}


one = runs("mlp", "--max-time", "3s", "--label", "team=blue", "--label", "note=a=b", "--name", "first")["runs"][0]
phases = one.get("phases", {})
parts = [v for k, v in phases.items() if k not in ("boot_ns", "wall_ns")]
report("the phases add up to the wall time", parts and sum(parts) == phases["wall_ns"], phases)
report("every phase has its time", phases.get("load_ns", 0) > 0 and phases.get("setup_ns", 0) > 0
       and phases.get("evaluate_ns", 0) > 0 and phases.get("train_ns", 0) > 0, phases)
wait = one.get("use", {}).get("data_wait_ns", -1)
report("data in memory is hardly waited for", 0 <= wait < 0.25 * (phases.get("train_ns", 0) + phases.get("warmup_ns", 0)),
       (wait, phases))
report("a sample stops at its time", phases.get("wall_ns", 9e9) < 8e9, phases)
p = one.get("projection", {})
report("the whole training is projected, with an interval", p and p["low_s"] < p["wall_s"] < p["high_s"], one)
if p:
    rate = (phases["train_ns"] + phases["warmup_ns"]) / one["steps"] / 1e9
    report("the projection is of 20 epochs of 469 steps", one["total_steps"] == 9380
           and 0.4 < p["train_s"] / (9380 * rate) < 2.5, p)
    report("its parts are the whole", abs(p["train_s"] + p["evaluate_s"] + p["load_s"] - p["wall_s"])
           < 0.05 * p["wall_s"], p)
report("the steps were judged", one.get("steady", {}).get("kind") in
       ("flat", "warm-up", "slow-down", "unsteady", "short"), one.get("steady"))
report("drift was watched for under 0.2 % of the time", 0 < one.get("drift", {}).get("share", 1) < 0.002,
       one.get("drift"))
report("the run has an id that sorts by time", re.fullmatch(r"20\d{6}T\d{6}Z-[0-9a-f]{12}", one.get("id", "")), one)
report("labels are kept", one.get("labels") == [{"key": "team", "value": "blue"}, {"key": "note", "value": "a=b"}],
       one.get("labels"))
report("so is its name", one.get("name") == "first" and one.get("workload") == "mlp", one.get("name"))
provenance = [one.get("machine", {}).get("fingerprint"), one.get("program", {}).get("build"), one.get("libraries"),
              one.get("data", {}).get("identity"), one.get("net"), one.get("recipe"), one.get("threads"),
              one.get("started"), one.get("program", {}).get("command_line")]
report("it says where it comes from", all(provenance), provenance)
report("the step times are there for a plot", 0 < len(one.get("step_plot_ms", [])) <= 200, one.get("step_plot_ms"))

full = runs("mlp", "--full", "--epochs", "2")["runs"][0]
report("a full run is finished and has no projection", full.get("ended") == "finished" and "projection" not in full,
       full.get("ended"))
wall = full.get("phases", {}).get("wall_ns", 0) / 1e9
checks = full.get("checks", [])
report("what it projected on the way is held against what it took",
       checks and all(abs(c["error"] - (c["wall_s"] / wall - 1)) < 1e-6 and
                      c["covered"] == (c["low_s"] <= wall <= c["high_s"]) for c in checks), checks)

several = runs("mlp", "--repeat", "3", "--steps", "30")
group = (several.get("groups") or [{}])[0]
steps = [r.get("steady", r).get("step_ms", r.get("step_ms")) for r in several["runs"]]
report("three repeated runs are three runs", len(several["runs"]) == 3 and len({r.get("id") for r in several["runs"]}) == 3,
       several.get("error", several))
report("with their spread", group.get("runs") == 3 and group.get("low_ms", 9e9) <= group.get("step_ms", -1)
       <= group.get("high_ms", -1) and group.get("spread", -1) >= 0, group)
losses = {r.get("last_loss") for r in several["runs"]}
report("fresh processes compute the same", len(losses) == 1, losses)

sweep = runs("mlp", "--batch", "16,64", "--steps", "40")
report("two batch sizes are two runs", [r.get("batch") for r in sweep["runs"]] == [16, 64], sweep.get("error", sweep))
pair = sweep.get("groups", [])
report("whether the smaller one saturates follows from their speeds; of the larger one nobody knows",
       len(pair) == 2 and "saturated" not in pair[1] and
       pair[0].get("saturated") == (pair[1]["samples_per_s"] <= 1.05 * pair[0]["samples_per_s"]), pair)

for args, text in ((("mlp", "--within", "x"), "--within 'x'"), (("mlp", "--within", "0"), "--within '0'"),
                   (("mlp", "--batch", "12,x"), "--batch"), (("mlp", "--batch", ""), "--batch"),
                   (("mlp", "--label", "x"), "--label 'x'"), (("mlp", "--full", "--max-time", "3s"), "--full"),
                   (("mlp", "--hard-gates"), "no LSTM"), (("imdb", "--auxiliary"), "no auxiliary head"),
                   (("mlp", "--checkpoint", "/x", "--repeat", "2"), "--checkpoint")):
    code, out, error = fare("--no-cloud", *args)
    report(f"fare run {' '.join(args)} is refused", code == 2 and text in error, error)

code, out, error = fare("--no-cloud", "mlp", "--steps", "20", "--ledger-is-not-an-option")
report("an unknown option is refused", code == 2, error)
line = runs("mlp", "--steps", "20", "--name", "postgresql://me:sec@ret@host/x")["runs"][0]["program"]["command_line"]
report("a password in an argument stays out of the record", "me:" not in line and "sec@" not in line and "ret@" not in line and "me@host" in line, line)
done()
