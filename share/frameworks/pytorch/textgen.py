# SPDX-License-Identifier: Apache-2.0
"""textgen in PyTorch: see training.py."""
from training import main

main("textgen")
