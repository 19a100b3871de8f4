# SPDX-License-Identifier: Apache-2.0
"""Checkpoints of a script of share/frameworks under `fare run --with FRAMEWORK --save`: written when fare asks for one."""
import os

import fare

KEPT = 2


def write(name, step, ending, put):
    """`put(path)` writes the checkpoint after `step` steps. It gets its name when it is complete."""
    folder = fare.checkpoints()
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, f"{name}-{step:012d}{ending}")
    aside = os.path.join(folder, f"tmp-{name}{ending}")
    put(aside)
    os.replace(aside, path)
    for old in sorted(n for n in os.listdir(folder) if n.startswith(name + "-") and n.endswith(ending))[:-KEPT]:
        os.remove(os.path.join(folder, old))
    fare.saved(path)
