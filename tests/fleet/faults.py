# SPDX-License-Identifier: Apache-2.0
"""The words in a stand-in's folder that say how it misbehaves, each once, though several processes take them at a time."""
import fcntl


def take(folder, word):
    """Whether the word is in FOLDER/faults; it is taken out."""
    try:
        with open(folder / "faults", "r+") as f:
            fcntl.flock(f, fcntl.LOCK_EX)
            words = f.read().split()
            if word not in words:
                return False
            words.remove(word)
            f.seek(0)
            f.truncate()
            f.write(" ".join(words))
    except FileNotFoundError:
        return False
    return True
