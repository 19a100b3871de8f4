# SPDX-License-Identifier: Apache-2.0
"""inception in PyTorch: see training.py."""
from training import main

main("inception")
