# SPDX-License-Identifier: Apache-2.0
"""tweets in Keras: see training.py."""
from training import main

main("tweets")
