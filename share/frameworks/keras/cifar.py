# SPDX-License-Identifier: Apache-2.0
"""cifar in Keras: see training.py."""
from training import main

main("cifar")
