# SPDX-License-Identifier: Apache-2.0
"""cnn in Keras: see training.py."""
from training import main

main("cnn")
