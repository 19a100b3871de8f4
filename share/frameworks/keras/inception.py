# SPDX-License-Identifier: Apache-2.0
"""inception in Keras: see training.py."""
from training import main

main("inception")
