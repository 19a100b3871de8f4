# SPDX-License-Identifier: Apache-2.0
"""imdb in PyTorch: see training.py."""
from training import main

main("imdb")
