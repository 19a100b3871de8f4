#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Writes checkpoints as PyTorch and others write them into a folder, for test_find.c. Prints the names of those made."""
import json
import os
import struct
import sys
import zipfile

os.chdir(sys.argv[1])


def safetensors(path, tensors):
    """By the format's specification: length of the header, header, tensors one behind the other."""
    header, at, data = {"__metadata__": {"format": "pt"}}, 0, b""
    for name, values in tensors.items():
        raw = struct.pack(f"<{len(values)}f", *values)
        header[name] = {"dtype": "F32", "shape": [len(values)], "data_offsets": [at, at + len(raw)]}
        at, data = at + len(raw), data + raw
    text = json.dumps(header).encode()
    with open(path, "wb") as out:
        out.write(struct.pack("<Q", len(text)) + text + data)
    print(path)


def hugging_face(folder, save):
    os.mkdir(folder)
    safetensors(f"{folder}/model-00001-of-00002.safetensors", {"a": [1.0] * 50})
    safetensors(f"{folder}/model-00002-of-00002.safetensors", {"b": [2.0] * 50})
    with open(f"{folder}/model.safetensors.index.json", "w") as out:
        json.dump({"weight_map": {"a": "model-00001-of-00002.safetensors", "b": "model-00002-of-00002.safetensors"}}, out)
    save(f"{folder}/optimizer.pt")
    for name in ("config", "trainer_state"):
        with open(f"{folder}/{name}.json", "w") as out:
            json.dump({"global_step": 500}, out)


def keras(path):
    """Keras 3's file: a zip with config, metadata and the weights in HDF5."""
    with zipfile.ZipFile(path, "w") as out:
        for name in ("metadata.json", "config.json", "model.weights.h5"):
            out.writestr(name, b"x" * 300)
    print(path)


safetensors("model.safetensors", {"weight": [0.5] * 64, "bias": [1.5] * 8})
keras("net.keras")
try:
    import torch
except ImportError:
    torch = None
if torch:
    torch.manual_seed(1)
    net = torch.nn.Linear(7, 5)
    torch.save({"net": net.state_dict(), "step": 3}, "plain.pt")
    torch.save({"net": net.state_dict()}, "old.pth", _use_new_zipfile_serialization=False)
    print("plain.pt")
hugging_face("checkpoint-500", (lambda path: torch.save({"a": torch.ones(100)}, path)) if torch else
             lambda path: keras(path))
try:
    import h5py
    with h5py.File("net.h5", "w") as out:
        out["weights"] = [1.0] * 1000
except ImportError:
    pass
