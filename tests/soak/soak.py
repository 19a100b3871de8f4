#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""make soak: fare under hostile use for MINUTES, and what was counted.

    tests/soak/soak.py build/fare [MINUTES [SEED]]

It goes round the themes below. Each round starts afresh, with random numbers from its own seed, such as serve-20-7. A fault
is printed with the seed of its round: given as SEED, that round alone runs again. The exit code is 1 if there was a fault."""
import signal
import sys
import time

import command
import ledger
import outside
import postgres
import serve
from round import Round, counts

THEMES = {"serve": serve.play, "command": command.play, "ledger": ledger.play, "postgres": postgres.play, "store": outside.store,
          "node": outside.node, "record": outside.record, "remote": outside.remote}
fare = sys.argv[1]
minutes = float(sys.argv[2]) if len(sys.argv) > 2 else 5
seed = sys.argv[3] if len(sys.argv) > 3 and sys.argv[3] else str(int(time.time()))
faults, began = [], time.monotonic()
signal.signal(signal.SIGTERM, lambda *_: sys.exit("soak: ended by SIGTERM"))  # cleans up


def one(theme, its_seed):
    with Round(fare, its_seed) as r:
        counts["rounds"] += 1
        try:
            THEMES[theme](r)
        except Exception as fault:  # a fault of fare, or of the soak
            faults.append(f"{its_seed}: {type(fault).__name__}: {str(fault)[:1000]}")
            print(faults[-1], flush=True)


if "-" in seed:
    one(seed.split("-")[0], seed)
else:
    print(f"seed {seed}", flush=True)
    number = 0
    while time.monotonic() - began < minutes * 60:
        number += 1
        for theme in THEMES:
            one(theme, f"{theme}-{seed}-{number}")
for name, count in counts.items():
    print(f"{count:10,} {name}")
print(f"{len(faults):10,} faults in {(time.monotonic() - began) / 60:.1f} minutes")
for text in faults:
    print(f"{text}\n  again: make soak SEED={text.split(':')[0]}")
sys.exit(bool(faults))
