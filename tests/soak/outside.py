# SPDX-License-Identifier: Apache-2.0
"""What fare reads from others: a store that lies, strangers on the machine of a parallel job, records with absurd figures, a remote
host that says what it likes."""
import atexit
import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.parse
from pathlib import Path

TESTS = Path(__file__).resolve().parent.parent
sys.path += [str(TESTS / name) for name in ("fleet", "save", "measure", "record", "view")]
import hostile  # noqa: E402
import hostile_records  # noqa: E402
import lying_store  # noqa: E402
import records  # noqa: E402
import s3_server  # noqa: E402
import stranger  # noqa: E402
from round import Fault, counts  # noqa: E402
from serve import Server  # noqa: E402

UNUSABLE = 74  # exit code: there are checkpoints, and none can be used
STEPS, RANKS, RECORDS, PUSHED = 60, 3, 150, 40  # after more refusals than that, a client has to wait
PAGES = ("/", "/runs", "/runs.json", "/spend", "/spend.json", "/compare", "/metrics")
swift = []


def swift_server():
    """One for all rounds; none where it is not installed."""
    if not swift and not s3_server.Swift.missing():
        folder = tempfile.mkdtemp(prefix="fare-soak-swift-")
        swift.append(s3_server.Swift(folder))
        atexit.register(lambda: (swift[0].stop(), shutil.rmtree(folder, ignore_errors=True)))
        swift[0].make_bucket("soak")
    return swift[0] if swift else None


def saves_in(server, place):
    query = f"list-type=2&prefix={urllib.parse.quote(place + '/saves/', safe='')}"
    return set(re.findall(rb"<Key>([^<]*/complete)</Key>", server.ask("GET", "/soak", query)[1]))


def store(r):
    """A job is saved, its store lies to three starts, then it ends with the result of an uninterrupted one. Nothing whole is deleted."""
    server = swift_server()
    if not server:
        return
    liar, place, log = lying_store.LyingStore(server), r.home.name, r.home / "steps"
    liar.huge = 80 << 20

    def start(steps, *codes):
        """Half of the steps end with code 9, so that the job is saved and not done."""
        job = ["/usr/bin/python3", "-S", "-E", TESTS / "save/job.py", r.home / "out", steps, 5, 5, "safetensors", log, "{resume}"]
        fails = ["sh", "-c", '"$@"; exit 9', "sh"] if steps < STEPS else []
        return r.fare("run", "--no-cloud", "--no-trace", "--save", f"s3://soak/{place}", "--job", "soak", "--lease", "2s", "--save-every",
                      "50ms", "--keep-saves", 1000, "--checkpoint-patience", "1s", "--checkpoints", r.home / "out", "--", *fails, *job,
                      codes=codes, within_s=60, env=server.environment(AWS_ENDPOINT_URL=liar.endpoint))[0]

    start(STEPS // 2, 9)
    for _ in range(3):
        kept = saves_in(server, place)
        shutil.rmtree(r.home / "out", ignore_errors=True)
        lie, about = r.random.choice(lying_store.LIES), r.random.choice(("", "saves", "data"))
        liar.lie(lie, about)
        code = start(STEPS // 2, 1, 2, 9, UNUSABLE)
        liar.lie(None)
        counts[f"starts with a lying store, code {code}"] += 1
        if not kept or kept - saves_in(server, place):
            raise Fault(f"{lie} about '{about}' (code {code}): of {len(kept)} checkpoints {len(kept - saves_in(server, place))} are gone")
    start(STEPS, 0)
    state = "0"
    for step in range(STEPS):
        state = hashlib.sha256(f"{state}{step}".encode()).hexdigest()
    if not log.read_text().rstrip().endswith(state):
        raise Fault(f"after lies the job has another result: {log.read_text()[-200:]}")


def node(r):
    """Strangers take the ports of a job in three processes, and hold connections to them: it ends, with the same result and one record."""
    port = 30000 + r.random.randrange(20000)
    words = [r.random.choice((b"S", b"", bytes(64), r.random.randbytes(80), b"SH" * 64, bytes(20000), None)) for _ in range(7)]
    folder = r.home / "ranks"
    folder.mkdir()

    def ranks(*which, command=(sys.executable, TESTS / "measure/exchanging.py", folder, 20)):
        job = {**r.env, "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "WORLD_SIZE": str(RANKS)}
        return [r.start("run", "--no-ledger", "--json", "--", *command, stdout=open(folder / f"out.{rank}", "w"), stderr=subprocess.DEVNULL,
                        env={**job, "RANK": str(rank)}) for rank in which]

    first = ranks(0, command=("sleep", "30"))[0]
    at = stranger.port_of(first.pid)
    first.send_signal(signal.SIGTERM)
    first.wait(60)
    there = stranger.Squatter(stranger.following(at, r.random.randrange(7)), words)
    job = ranks(0)
    flood = stranger.Flood(stranger.port_of(job[0].pid), 100, [word or b"S" for word in words])
    try:
        codes = [p.wait(120) for p in job + ranks(1, 2)]
    finally:
        there.close()
        flood.close()
    counts["connections of strangers"] += there.visits + flood.opened
    results = {p.read_text() for p in folder.glob("result.*")}
    run = json.loads((folder / "out.0").read_text() or "{}").get("runs", [{}])[0]
    if codes != [0] * RANKS or len(results) != 1 or run.get("ranks") != RANKS:
        raise Fault(f"with strangers: codes {codes}, {len(results)} results, {run.get('ranks')} ranks, {run.get('taints')}")
    counts["parallel jobs among strangers"] += 1


def record(r):
    """One or two absurd figures in each record: pages and commands go on."""
    base = {**records.record(0, "mlp", "box", 3600), "schema": "fare.run/2", "project": "soak", "batch": 32, "steps": 200,
            "total_steps": 1000, "spent": {"usd": "1"}, "started": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())}
    bad = r.random.sample(list(hostile_records.singles(base)), RECORDS)
    bad += hostile_records.pairs(base, RECORDS, r.random.randrange(10**9))
    bad += [hostile_records.put(base, path, value) for path, kind in hostile_records.members() if kind == "amount"
            for value in hostile_records.VALUES[kind]]
    r.random.shuffle(bad)
    lines = [json.dumps(run) for run in hostile_records.numbered(bad)]
    (r.home / "bad.jsonl").write_text("\n".join(lines[PUSHED:]) + "\n")
    r.fare("runs", "import", r.home / "bad.jsonl")
    counts["absurd records"] += len(lines)
    s = Server(r, r.ledger).ready()
    for line in lines[:PUSHED]:
        status = s.ask("/runs", "POST", line)[0]
        if status not in (200, 400):
            raise Fault(f"an absurd record was answered {status}: {line[:300]}")
    for path in PAGES:
        status, text = s.ask(path)
        if status != 200:
            raise Fault(f"with absurd records {path} was answered {status}: {text[:300]}")
    s.end(signal.SIGTERM)
    for arguments in (["runs"], ["compare"], ["runs", "--by", "user"], ["runs", "last"], ["quote", "last"], ["report", "-o", os.devnull],
                      ["runs", "export"]):
        r.fare(*arguments, codes=(0, 1))


def remote(r):
    """A host of `fare run --on` answers what it likes: at most the record that was asked for comes."""
    for kind in r.random.sample(sorted(hostile.KINDS), 3):
        wrong = hostile.attack(r.program, r.home / kind, kind, r.random.randrange(10**9))
        if wrong:
            raise Fault(wrong)
        counts["answers of hostile hosts"] += 1
