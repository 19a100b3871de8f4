#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A training of a few seconds for rehearsals: deterministic, and it writes checkpoints as careless programs do.

    job.py FOLDER STEPS STEP_MS EVERY KIND LOG [CHECKPOINT]

Its state is a chain of hashes. After EVERY steps it writes FOLDER/ckpt-STEP in the format KIND, slowly and in place: a
kill leaves a part of it. It resumes from CHECKPOINT, and notes in LOG, a line each, that it started, every step, each
checkpoint that it begins, has written or deletes, and one that is not whole. On SIGUSR1 and SIGTERM it writes a checkpoint; after SIGTERM it ends."""
import hashlib
import json
import os
import signal
import struct
import sys
import time
import zipfile

folder, steps, step_s, every, kind, log = (sys.argv[1], int(sys.argv[2]), int(sys.argv[3]) / 1e3, int(sys.argv[4]),
                                           sys.argv[5], sys.argv[6])
resume = sys.argv[7] if len(sys.argv) > 7 else ""
out = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
me = f"{os.getpid()}-{time.monotonic_ns()}"
wishes = set()


def note(*words):
    os.write(out, (" ".join([me, f"{time.monotonic():.4f}", *map(str, words)]) + "\n").encode())


def body(step, state):
    text = json.dumps([step, state])
    return json.dumps({"text": text, "sum": hashlib.sha256(text.encode()).hexdigest(), "fill": "x" * 3000}).encode()


def dribble(path, data):
    """In three pieces: a kill leaves a part."""
    with open(path, "wb", buffering=0) as file:
        for i in range(3):
            file.write(data[len(data) * i // 3:len(data) * (i + 1) // 3])
            time.sleep(0.01)


def as_zip(path, data):
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("a", data)
        time.sleep(0.02)
        file.writestr("b", b"more")


def as_safetensors(path, data):
    header = json.dumps({"t": {"dtype": "U8", "shape": [len(data)], "data_offsets": [0, len(data)]}}).encode()
    dribble(path, struct.pack("<Q", len(header)) + header + data)


def as_folder(path, data):
    """As Hugging Face's Trainer: weights, then its state."""
    os.makedirs(path, exist_ok=True)
    as_safetensors(f"{path}/model.safetensors", data)
    as_zip(f"{path}/optimizer.pt", b"o" * 1000)
    with open(f"{path}/trainer_state.json", "w") as file:
        json.dump({"global_step": 1}, file)


def as_renamed(path, data):
    dribble(path + ".tmp", data)
    os.rename(path + ".tmp", path)


KINDS = {"zip": (as_zip, ".pt"), "safetensors": (as_safetensors, ".safetensors"), "folder": (as_folder, ""),
         "raw": (as_renamed, ".npy")}
write, end = KINDS[kind]


def read(path):
    if kind == "zip":
        with zipfile.ZipFile(path) as file:
            data = file.read("a")
            assert file.read("b") == b"more"
    elif kind == "raw":
        data = open(path, "rb").read()
    else:
        data = open(path + ("/model.safetensors" if kind == "folder" else ""), "rb").read()
        (length,) = struct.unpack("<Q", data[:8])
        data = data[8 + length:]
        if kind == "folder":
            zipfile.ZipFile(f"{path}/optimizer.pt").read("a")
    value = json.loads(data)
    assert hashlib.sha256(value["text"].encode()).hexdigest() == value["sum"]
    return json.loads(value["text"])


def save(step, state):
    name = f"{folder}/checkpoint-{step}" if kind == "folder" else f"{folder}/ckpt-{step}{end}"
    note("begins", step)
    write(name, body(step, state))
    note("whole", step)
    old = sorted((int(n.split("-")[1].split(".")[0]), n) for n in os.listdir(folder)
                 if "-" in n and not n.endswith(".tmp"))
    for number, n in old[:-3]:  # as trainings do: the last three stay
        note("deletes", number)
        path = f"{folder}/{n}"
        if os.path.isdir(path):
            for inner in os.listdir(path):
                os.unlink(f"{path}/{inner}")
            os.rmdir(path)
        else:
            os.unlink(path)


for number in (signal.SIGUSR1, signal.SIGTERM):
    signal.signal(number, lambda n, _: wishes.add(n))
os.makedirs(folder, exist_ok=True)
step, state = 0, "0"
if resume:
    try:
        step, state = read(resume)
    except Exception as fault:
        note("partial", resume, type(fault).__name__, str(fault)[:60].replace("\n", " "))
        sys.exit(3)
note("start", step, os.environ.get("FAKE_NOTES_OF", "-"))
while step < steps:
    state = hashlib.sha256(f"{state}{step}".encode()).hexdigest()
    step += 1
    time.sleep(step_s)
    note("step", step)
    if step % every == 0 or step == steps or wishes:
        save(step, state)
    if signal.SIGTERM in wishes:
        sys.exit(143)
    wishes.clear()
note("final", state)
