# SPDX-License-Identifier: Apache-2.0
"""mlp in Keras: see training.py."""
from training import main

main("mlp")
