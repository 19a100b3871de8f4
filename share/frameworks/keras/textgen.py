# SPDX-License-Identifier: Apache-2.0
"""textgen in Keras: see training.py."""
from training import main

main("textgen")
