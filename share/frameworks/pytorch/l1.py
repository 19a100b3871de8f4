# SPDX-License-Identifier: Apache-2.0
"""l1 in PyTorch: see training.py."""
from training import main

main("l1")
