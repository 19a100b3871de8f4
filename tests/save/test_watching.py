#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""What fare itself takes while it watches a job (issue: under 10 MiB), after large checkpoints were saved: into a folder,
into a bucket, and into a bucket over https. The resident memory counts, with all libraries."""
import os
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

sys.path[:0] = [os.path.join(os.environ["ROOT"], "tests"), os.path.join(os.environ["ROOT"], "tests/save")]
import tls_front  # noqa: E402
from s3_server import Swift  # noqa: E402
from tap import done, report, skip  # noqa: E402

if "sanitize" in os.environ["BUILD"]:
    skip("memory while watching", "sanitizers need their own")
    done()

FARE = os.environ["FARE"]
SCRATCH = Path(tempfile.mkdtemp(dir=os.environ.get("TMPDIR", "/tmp")))
LIMIT_KIB, LOOKS_S = 10 << 10, 24  # two beats of the lease
JOB = """
import os, time
for i in range(3):
    with open("out/part", "wb") as file:
        file.write(os.urandom(20 << 20))
    os.rename("out/part", f"out/step_{i}.bin")
    time.sleep(4)
open("quiet", "w")
time.sleep(300)
"""


def figures(pid):
    """(KiB resident, ns of CPU time of all threads)"""
    status = Path(f"/proc/{pid}/status").read_text()
    cpu = sum(int(p.read_text().split()[0]) for p in Path(f"/proc/{pid}/task").glob("*/schedstat"))
    return int(status.split("VmRSS:")[1].split()[0]), cpu


def watch(name, place, env):
    home = SCRATCH / name
    (home / "out").mkdir(parents=True)
    p = subprocess.Popen([FARE, "run", "--no-cloud", "--no-trace", "--save", place, "--checkpoints", "out", "--save-every", "1s",
                          "--", "/usr/bin/python3", "-c", JOB], cwd=home, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                         env={**os.environ, "HOME": str(home), "XDG_DATA_HOME": str(home / "data"), "FARE_METADATA": "off", **env})
    until = time.monotonic() + 100
    while not (home / "quiet").exists() and p.poll() is None and time.monotonic() < until:
        time.sleep(0.1)
    time.sleep(3)
    seen, until = [], time.monotonic() + 120  # on a busy machine the last one is saved later
    while p.poll() is None and len(seen) < LOOKS_S * 2:
        seen.append(figures(p.pid))
        if seen[-1][0] >= LIMIT_KIB and time.monotonic() < until:
            seen = []
        time.sleep(0.5)
    if p.poll() is None:
        p.terminate()
    err = p.communicate(timeout=60)[1]
    results[name] = (seen, "is safe in" in err, err)


results = {}
cases = [("folder", str(SCRATCH / "store"), {})]
if why := Swift.missing() or tls_front.missing():
    skip("with a bucket", why)
else:
    swift = Swift(SCRATCH / "swift")
    swift.make_bucket("bucket")
    ca, system = tls_front.make_ca(SCRATCH), Path("/etc/ssl/certs/ca-certificates.crt")
    all_cas = SCRATCH / "all.pem"
    all_cas.write_bytes(ca.read_bytes() + (system.read_bytes() if system.exists() else b""))
    port = tls_front.tls_front(swift.ports["proxy"], tls_front.make_certificate(SCRATCH, ca, "IP:127.0.0.1"))
    cases += [("bucket", "s3://bucket/a", swift.environment()),
              ("bucket-https", "s3://bucket/b", {**swift.environment(), "AWS_ENDPOINT_URL": f"https://127.0.0.1:{port}", "AWS_CA_BUNDLE": str(all_cas)})]
threads = [threading.Thread(target=watch, args=case) for case in cases]
[t.start() for t in threads]
[t.join() for t in threads]
for name, (seen, safe, err) in sorted(results.items()):
    most = max((kib for kib, _ in seen), default=0)
    share = (seen[-1][1] - seen[0][1]) / (len(seen) - 1) / 0.5e9 * 100 if len(seen) > 1 else 0
    print(f"# {name}: at most {most} KiB resident, {share:.3f} % of a CPU")
    report(f"{name}: under 10 MiB while watching, at each of {LOOKS_S * 2} looks in a row", safe and len(seen) == LOOKS_S * 2
           and 1000 < most < LIMIT_KIB, f"{most} KiB {err}")
if len(cases) > 1:
    swift.stop()
done()
