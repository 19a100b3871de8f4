# SPDX-License-Identifier: Apache-2.0
"""imdb in Keras: see training.py."""
from training import main

main("imdb")
