#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What watching a job takes, beside a plain `fare run`: CPU time and resident memory, after three checkpoints of 20 MB; the
job is asked for one every 30 s.

    bench/bench_watching.py [SECONDS]

All kinds of stores and sources of notices are measured at once, over SECONDS (240). Asked for: under 0.1 % of a CPU more
than a plain run, and under 10 MiB. CPU time, not wall time, but a busy machine makes that longer too: the load is printed.
"""
import os
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "tests"), str(ROOT / "tests/save")]
import tls_front  # noqa: E402
from s3_server import Swift  # noqa: E402

FARE = os.environ.get("FARE", str(ROOT / "build/fare"))
SECONDS = float(sys.argv[1]) if len(sys.argv) > 1 else 240
SCRATCH = Path(tempfile.mkdtemp(prefix="fare-bench-"))
JOB = """
import os, time
os.mkdir("out")
for i in range(3):
    with open("out/part", "wb") as file:
        file.write(os.urandom(20 << 20))
    os.rename("out/part", f"out/step_{i}.bin")
    time.sleep(4)
open("quiet", "w")
time.sleep(3600)
"""


def figures(pid):
    """(KiB resident, ns of CPU time of all threads)"""
    status = Path(f"/proc/{pid}/status").read_text()
    cpu = sum(int(p.read_text().split()[0]) for p in Path(f"/proc/{pid}/task").glob("*/schedstat"))
    return int(status.split("VmRSS:")[1].split()[0]), cpu


def watch(case):
    name, words, env = case
    home = SCRATCH / name
    home.mkdir()
    p = subprocess.Popen([FARE, "run", "--no-cloud", "--no-trace", *words, "--", "/usr/bin/python3", "-c", JOB], cwd=home,
                         stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                         env={**os.environ, "HOME": str(home), "XDG_DATA_HOME": str(home / "data"), "FARE_METADATA": "off", **env})
    while not (home / "quiet").exists() and p.poll() is None:
        time.sleep(0.2)
    time.sleep(25)  # the last one is saved
    began, (most, before) = time.monotonic(), figures(p.pid)
    while time.monotonic() < began + SECONDS:
        time.sleep(1)
        most = max(most, figures(p.pid)[0])
    share = (figures(p.pid)[1] - before) / (time.monotonic() - began) / 1e7
    p.terminate()
    p.wait()
    return most, share


def save(place, *more):
    return ["--save", place, "--checkpoints", "out", "--save-every", "30s", *more]


def server(cloud):
    p = subprocess.Popen(["/usr/bin/python3", ROOT / "tests/save/notice_server.py", cloud, "never", "--stay", str(SECONDS + 300)],
                         stdout=subprocess.PIPE, text=True)
    servers.append(p)
    return {"FARE_METADATA": f"http://127.0.0.1:{p.stdout.readline().strip()}"}


servers = []
swift = Swift(SCRATCH / "swift")
try:
    swift.make_bucket("bucket")
    ca, every = tls_front.make_ca(SCRATCH), SCRATCH / "all.pem"
    every.write_bytes(ca.read_bytes() + Path("/etc/ssl/certs/ca-certificates.crt").read_bytes())
    port = tls_front.tls_front(swift.ports["proxy"], tls_front.make_certificate(SCRATCH, ca, "IP:127.0.0.1"))
    secure = {"AWS_ENDPOINT_URL": f"https://127.0.0.1:{port}", "AWS_CA_BUNDLE": str(every)}
    cases = [("plain", [], {}), ("again", [], {}), ("folder", save(str(SCRATCH / "store")), {}),
             ("bucket", save("s3://bucket/a"), swift.environment()),
             ("bucket-https", save("s3://bucket/b"), {**swift.environment(), **secure})]
    cases += [(cloud, save(str(SCRATCH / f"store-{cloud}"), "--notice", cloud), server(cloud)) for cloud in ("aws", "gcp", "azure")]
    with ThreadPoolExecutor(len(cases)) as pool:
        found = dict(zip([c[0] for c in cases], pool.map(watch, cases)))
finally:
    [p.kill() for p in servers]
    swift.stop()
    shutil.rmtree(SCRATCH, ignore_errors=True)
plain = (found["plain"][1] + found["again"][1]) / 2
print(f"load average {' '.join(f'{x:.1f}' for x in os.getloadavg())}; over {SECONDS:.0f} s")
for name, (kib, share) in found.items():
    print(f"  {name:14}{kib / 1024:6.1f} MiB at most, {share:.3f} % of a CPU, {share - plain:+.3f} beside a plain run")
