# SPDX-License-Identifier: Apache-2.0
"""tweets in PyTorch: see training.py."""
from training import main

main("tweets")
