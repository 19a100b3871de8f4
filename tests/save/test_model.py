#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The lease's protocol holds in every interleaving (model_lease.py), and each of its rules is needed."""
import os
import sys

sys.path[:0] = [os.path.join(os.environ["ROOT"], "tests"), os.path.join(os.environ["ROOT"], "tests/save")]
from model_lease import claiming, fencing, living  # noqa: E402
from tap import done, report  # noqa: E402

for name, model, rules in (("a holder and an observer", living, {"start": "a beat counts from its start", "late": "a late beat does not count",
                                                                  "end": "patience ends where a look begins"}),
                           ("three claims without conditional writes", claiming, {"window": "a slow claim does not count",
                                                                                  "wait": "all wait before they ask again"}),
                           ("machines that stand still", fencing, {"base": "a base fences older epochs",
                                                                   "look": "a save looks at the lease after its marker"})):
    states, what = model()
    report(f"{name}: nothing goes wrong in {states} states", what is None and states > 100, what)
    for rule, words in rules.items():
        states, what = model(break_=rule)
        report(f"{name}: without the rule that {words}, it does ({what})", what is not None)
done()
