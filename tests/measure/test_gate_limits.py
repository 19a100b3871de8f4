#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""fare run --gate: limits of one's own, for commands and workloads. A gate that cannot be judged is missed: it passed at
chance level once. The figures are those that the stand-in for a training prints last."""
import os
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, os.environ["TESTS"])
import tap  # noqa: E402

FARE = os.environ["FARE"]
SCRIPT = Path(os.environ["TMPDIR"]) / "train.py"
SCRIPT.write_text("""\
import sys
for epoch in range(1, 4):
    for step in range(1, 6):
        print(f"epoch {epoch} step {step}/5 loss: {3 - epoch * 0.5 - step * 0.01:.3f}", flush=True)
    print(f"epoch {epoch}: val_loss: {2.5 - epoch * 0.3:.3f} val_accuracy: {0.7 + epoch * 0.05:.3f}", flush=True)
sys.exit(int(sys.argv[1]) if len(sys.argv) > 1 else 0)
""")


def run(*args):
    p = subprocess.run([FARE, "run", "--no-ledger", "--no-cloud", *args], capture_output=True, text=True)
    return p.returncode, " ".join(p.stderr.split())


# The last loss is 3 - 1.5 - 0.05 = 1.45, the last of the evaluations 2.5 - 0.9 = 1.6, the accuracy 0.7 + 0.15 = 0.85.
TRAIN = ("--", sys.executable, str(SCRIPT))
for limit, expected in (("loss=1.45", 0), ("loss=1.449", 3), ("loss<1.4", 3), ("test_loss=1.6", 0), ("test_loss=1.59", 3),
                        ("accuracy=0.85", 0), ("accuracy>=0.851", 3), ("0.8", 0), ("86%", 3)):
    code, text = run("--gate", limit, *TRAIN)
    tap.report(f"a command, {limit}: {'passed' if expected == 0 else 'missed'}",
               code == expected and f": {'passed' if expected == 0 else 'missed'}" in text, f"{code}: {text}")
code, text = run("--gate=loss=1.4", *TRAIN)
tap.report("with =", code == 3, f"{code}: {text}")
code, text = run("--gate", "loss=9", *TRAIN, "7")
tap.report("a command that fails has its own exit code", code == 7, f"{code}: {text}")
code, text = run("--gate", "loss=9", "--", "true")
tap.report("a command without a loss misses", code == 3 and "no loss was seen" in text, f"{code}: {text}")
code, text = run("--gate", *TRAIN)
tap.report("a command needs a limit, before it runs", code == 2 and "--gate loss=2.1" in text and "step" not in text, f"{code}: {text}")
for wrong in ("loss>2", "accuracy<=0.9", "accuracy=90", "accuracy", "loss=", "bleu=30", "loss=x", "0.9x"):
    code, text = run("--gate", wrong, *TRAIN)
    tap.report(f"{wrong} is refused", code == 2 and "expected a threshold" in text, f"{code}: {text}")
code, text = run("--gate", "loss=2", "--sample", *TRAIN)
tap.report("not for a sample", code == 2, f"{code}: {text}")

# Ten steps on generated data: nothing is learnt that anybody published, so there is no target.
MLP = ("mlp", "--full", "--epochs", "1", "--batch", "6000")
code, text = run(*MLP, "--gate")
tap.report("a workload without a target misses", code == 3 and "it has no target" in text, f"{code}: {text}")
code, text = run("l1", "--n", "64", "--m", "64", "--dim", "16", "--full", "--gate", "loss=100")
tap.report("nor does one pass a limit of something that it has not", code == 3 and "gate: l1, missed, " in text, f"{code}: {text}")
tap.done()
