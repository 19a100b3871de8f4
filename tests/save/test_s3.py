#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The store in a bucket against a real server that verifies signatures (s3_server.py), and through a proxy that cuts,
damages, refuses and forgets (s3_proxy.py)."""
import hashlib
import http.server
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.path[:0] = [os.path.join(os.environ["ROOT"], "tests"), os.path.join(os.environ["ROOT"], "tests/save")]
from lying_store import LyingStore  # noqa: E402
from s3_proxy import Proxy  # noqa: E402
from s3_server import KEY, SECRET, Swift  # noqa: E402
from tap import done, report, skip  # noqa: E402
from tool import CLEAN, TOOL, Job, tool  # noqa: E402

if why := Swift.missing():
    skip("S3", why)
    done()

SCRATCH = Path(tempfile.mkdtemp(dir=os.environ.get("TMPDIR", "/tmp")))
swift = Swift(SCRATCH / "swift")
swift.make_bucket("bucket")
proxy = Proxy(swift)
DIRECT = swift.environment(TOOL_STALL_MS="20000", HOME=str(SCRATCH))
THROUGH = {**DIRECT, "AWS_ENDPOINT_URL": proxy.endpoint}
PART = 8 << 20
everything = []  # that was printed


def s3(place, *words, env=DIRECT, **more):
    code, said = tool(place, *words, env=env, **more)
    everything.append(said)
    return code, said


def moved(said):
    return int(said.split("moved ")[1].split()[0])


def file_of(size, name="file"):
    path = SCRATCH / f"{name}-{size}"
    if not path.exists():
        block = hashlib.sha256(str(size).encode()).digest() * 32768
        path.write_bytes((block * (size // len(block) + 1))[:size])
    return path


# ---- small objects, and names that need care
PLACE = "s3://bucket/run 1/a=b+c%&é"
code, said = s3(PLACE, "check")
report("a bucket can be written, read and deleted in", code == 0, said)
code, said = s3(PLACE, "put", "saves/x", "hello")
status, data = swift.ask("GET", "/bucket/run%201/a%3Db%2Bc%25%26%C3%A9/saves/x")
report("another client finds the object under its name", (status, data) == (200, b"hello"), f"{said} {status} {data}")
report("it comes back", s3(PLACE, "get", "saves/x") == (0, "ok 0 hello\n"))
report("an absent one is missing", "error -4" in s3(PLACE, "get", "saves/y")[1])
code, said = s3(PLACE, "exclusive")
report("a server without conditional writes is recognised", said == "ok 0 \n", said)
for i in range(12):
    swift.ask("PUT", f"/bucket/pages/data/{i:04}", "", b"x" * i)
proxy.reset()
code, said = s3("s3://bucket/pages", "list", "data/")
report("lists have names and sizes, sorted", said.splitlines() == [f"data/{i:04} {i}" for i in range(12)], said)

def page(r):
    more = "continuation-token=" in r.target
    keys = "".join(f"<Contents><Key>pre/data/{i}</Key><Size>{i}</Size></Contents>" for i in ([3, 4] if more else [1, 2]))
    tail = "<IsTruncated>false</IsTruncated>" if more else \
        "<IsTruncated>true</IsTruncated><NextContinuationToken>a/b=+&amp;</NextContinuationToken>"
    return f"<ListBucketResult>{keys}<Contents><Key>elsewhere/x</Key><Size>1</Size></Contents>{tail}</ListBucketResult>".encode()


proxy.reset(page)
code, said = s3("s3://bucket/pre", "list", "data/", env=THROUGH)
report("lists of several pages, and only what is below the prefix", said.splitlines() == [f"data/{i} {i}" for i in (1, 2, 3, 4)]
       and "?continuation-token=a%2Fb%3D%2B%26&list-type=2&max-keys=1000&prefix=pre%2Fdata%2F" in proxy.seen[-1].target, said)
for text in (b"", b"<html>portal</html>", b"<ListBucketResult><Contents>", b"<ListBucketResult><IsTruncated>true</IsTruncated></ListBucketResult>"):
    proxy.reset(lambda r: text)
    code, said = s3("s3://bucket/pre", "list", "data/", env=THROUGH)
    report(f"an answer that is not S3's is no empty list: {text[:30]}", code == 1 and "error -5" in said, said)


# ---- what never ends, or is absurdly large, costs neither time nor memory
def bounded(command, env, seconds=40):
    """(exit code or None if it did not end, what it said, MiB of memory)."""
    out, most = tempfile.TemporaryFile(), 0
    p = subprocess.Popen([str(word) for word in command], env=env, stdin=subprocess.DEVNULL, stdout=out, stderr=out)
    until = time.monotonic() + seconds
    while p.poll() is None and time.monotonic() < until:
        try:  # the highest since it was started; of a process that has just ended, there is none
            most = max(most, *map(int, re.findall(r"VmHWM:\s+(\d+)", Path(f"/proc/{p.pid}/status").read_text())), 0)
        except OSError:
            pass
        time.sleep(0.02)
    late = p.poll() is None
    p.kill()
    p.wait()
    out.seek(0)
    return (None if late else p.returncode), out.read().decode(errors="replace")[-3000:], most / 1024


liar = LyingStore(swift)
LIED = {**CLEAN, **DIRECT, "AWS_ENDPOINT_URL": liar.endpoint}
for lie, words in (("endless list", "over 100000 objects"), ("repeating list", "the same page again and again"), ("huge page", "sends more than")):
    liar.lie(lie)
    code, said, mib = bounded([TOOL, "s3://bucket/lied", "list", "saves/"], LIED)
    report(f"{lie}: an error in time and within 100 MiB", code == 1 and "error -5" in said and words in said and mib < 100, f"{code} {mib} {said}")
empty_pages = iter(range(10**9))
liar.reset(lambda r: f"<ListBucketResult><IsTruncated>true</IsTruncated><NextContinuationToken>{next(empty_pages)}"
           "</NextContinuationToken></ListBucketResult>".encode())
code, said, mib = bounded([TOOL, "s3://bucket/lied", "list", "saves/"], LIED)
report("a list of empty pages ends", code == 1 and "does not end within 1000 pages" in said, f"{code} {said}")
liar.lie("huge objects")
code, said, mib = bounded([TOOL, "s3://bucket/lied", "get", "saves/x"], LIED)
report("an object of 64 MiB where a manifest is looked for is too large, and asked for once", code == 1 and "is larger than" in said
       and liar.count == 1 and mib < 100, f"{code} {mib} {liar.count} {said}")

# ---- a server that lies for one start: the job is not started, and the start after it goes on. They wait beside the tests below
def lied(place, lie, about, expect, codes):
    """Job, lying start, honest start."""
    home = SCRATCH / place
    home.mkdir()
    own, steps = LyingStore(swift), []
    own.huge = 33 << 20  # a MiB more than a manifest may have

    def start(count, fails=""):
        command = [os.environ["FARE"], "run", "--no-cloud", "--no-trace", "--save", f"s3://bucket/{place}", "--job", "bert", "--lease", "3s",
                   "--save-every", "50ms", "--checkpoint-patience", "1s", "--checkpoints", home / "out", "--", "sh", "-c", '"$@"; ' + fails,
                   "sh", "/usr/bin/python3", "-S", "-E", Path(os.environ["ROOT"]) / "tests/save/job.py", home / "out", count, "5", "5",
                   "safetensors", home / "log", "{resume}"]
        code, said, mib = bounded(command, {**CLEAN, **DIRECT, "AWS_ENDPOINT_URL": own.endpoint, "FARE_METADATA": "off",
                                            "HOME": str(home), "XDG_DATA_HOME": str(home / "data")}, 90)
        everything.append(said)
        steps[:] = [int(line.split()[3]) for line in (home / "log").read_text().splitlines() if line.split()[2] == "start"]
        return code, said, mib
    (home / "log").touch()
    first = start(30, "exit 9")
    shutil.rmtree(home / "out", ignore_errors=True)
    if not lie:  # it is slow, and true
        own.reset(lambda r: time.sleep(2.5) if r.method == "GET" and "/data/" in r.target else None)
        code, said, mib = start(60)
        return first[0] == 9 and code == 0 and len(steps) == 2 and steps[1] > 0, f"{first} {code} {said} {steps}"
    own.lie(lie, about)
    code, said, mib = start(60)
    ok = first[0] == 9 and code in codes and steps == [0] and expect in said and mib < 200
    own.lie(None)
    last = start(60)
    return ok and last[0] == 0 and len(steps) == 2 and steps[1] > 0, f"{first} {code} {mib} {said} {last} {steps}"


CASES = [("lies-endless", "endless list", "saves", "over 100000 objects", [74]), ("lies-empty", "empty list", "saves", "--start-over", [74]),
         ("lies-bytes", "wrong bytes", "data", "--start-over", [74]),
         ("lies-huge", "huge objects", "saves", "--start-over", [74]), ("lies-lease", "empty list", "", "does not list what was written", [1]),
         ("lies-not", None, "", "", [])]
lying = ThreadPoolExecutor(len(CASES)).map(lambda case: lied(*case), CASES)

# ---- files in parts
big = file_of(2 * PART + 1_000_000)
sums = hashlib.sha256(big.read_bytes()).hexdigest()
code, said = s3("s3://bucket/big", "send", "data/f", big)
status, data = swift.ask("GET", "/bucket/big/data/f")
report("a file in three parts arrives", moved(said) == big.stat().st_size and hashlib.sha256(data).hexdigest() == sums, said)
code, said = s3("s3://bucket/big", "send", "data/f", big)
report("what is there is not sent again", moved(said) == 0, said)
code, said = s3("s3://bucket/big", "fetch", "data/f", SCRATCH / "back", big)
report("it comes back whole", (SCRATCH / "back").read_bytes() == big.read_bytes(), said)
for size in (0, 1, PART - 1, PART, PART + 1):
    path = file_of(size)
    code, said = s3("s3://bucket/sizes", "send", f"data/{size}", path)
    code2, said2 = s3("s3://bucket/sizes", "fetch", f"data/{size}", SCRATCH / "back", path)
    report(f"{size} bytes go there and back", code == code2 == 0 and (SCRATCH / "back").read_bytes() == path.read_bytes(), said + said2)

# ---- cut at every part, and continued by the next process
for part in (1, 2, 3):
    proxy.reset(lambda r: "cut" if r.part >= part else None)
    code, said = s3(f"s3://bucket/cut{part}", "send", "data/f", big, env=THROUGH, TOOL_PARALLEL=1, TOOL_PAUSE_MS=1)
    first, early = moved(said), swift.ask("HEAD", f"/bucket/cut{part}/data/f")[0]
    proxy.reset()
    code2, said2 = s3(f"s3://bucket/cut{part}", "send", "data/f", big, env=THROUGH)
    status, data = swift.ask("GET", f"/bucket/cut{part}/data/f")
    report(f"cut at part {part}: the rest is sent, and no more", code == 1 and code2 == 0 and first == (part - 1) * PART
           and first + moved(said2) == big.stat().st_size and hashlib.sha256(data).hexdigest() == sums, f"{said} {said2} {status}")
    report(f"cut at part {part}: nothing was there before it was whole", early == 404, early)
proxy.reset(lambda r: "cut" if r.part >= 2 else None)
s3("s3://bucket/parts", "send", "data/f", big, env=THROUGH, TOOL_PARALLEL=1, TOOL_PAUSE_MS=1)
liar.reset(lambda r: b"<ListPartsResult><IsTruncated>true</IsTruncated><NextPartNumberMarker>1</NextPartNumberMarker></ListPartsResult>"
           if r.method == "GET" and "uploadId=" in r.target else None)
code, said, mib = bounded([TOOL, "s3://bucket/parts", "send", "data/f", big], LIED)
report("a list of parts that never ends is an error", code == 1 and "error -5" in said and "no number of a part after 1" in said, f"{code} {said}")
proxy.reset(lambda r: "cut" if r.part and sum(q.part == r.part for q in proxy.seen) == 1 else None)
code, said = s3("s3://bucket/once", "send", "data/f", big, env=THROUGH)
report("each part cut once: tried again", code == 0 and moved(said) == big.stat().st_size and len([r for r in proxy.seen if r.part]) == 6, said)

for name, answer in (("no empty list of uploads (rclone)", (404, b"<Error><Code>NoSuchUpload</Code></Error>")), ("no list of uploads", 501)):
    proxy.reset(lambda r: answer if r.method == "GET" and "uploads=" in r.target else None)
    code, said = s3(f"s3://bucket/unlisted-{len(name)}", "send", "data/f", big, env=THROUGH)
    report(f"a server that has {name}", code == 0 and moved(said) == big.stat().st_size, said)
proxy.reset(lambda r: (404, b"<Error><Code>NoSuchBucket</Code></Error>") if r.method == "GET" and "uploads=" in r.target else None)
code, said = s3("s3://bucket/unlisted", "send", "data/f", big, env=THROUGH)
report("a bucket that is gone is no such server", code == 1 and "there is no bucket" in said, said)

# ---- every answer lost once, at each request of a save and a fetch
tree = SCRATCH / "ckpt"
(tree / "sub").mkdir(parents=True)
shutil.copy(big, tree / "model.bin")
(tree / "sub/config").write_text("{}")
SLOW = {"TOOL_BEAT_MS": "1000", "TOOL_HOLD_MS": "8000", "TOOL_PATIENCE_MS": "60000", "TOOL_PAUSE_MS": "1"}


def run(place, env=THROUGH, **more):
    """A job that fetches and saves; what it said."""
    job = Job(place, env={**env, **SLOW, **more})
    job.started()
    said = job.said + job.ask("fetch", SCRATCH / "into") + job.ask("save", tree, 5)
    job.end("release")
    everything.append(said)
    return said


def once_each(action):
    """Beats come at their own time, so requests are chosen by what they are, not by their number."""
    seen, own, place, into = set(), Proxy(swift), f"s3://bucket/each-{action}", SCRATCH / f"into-{action}"

    def rule(r):
        kind = (r.method, r.target.split("?")[0].split("/")[-1][:12], r.target.split("?")[-1][:9] if "?" in r.target else "", r.part)
        first = kind not in seen
        seen.add(kind)
        return action if first else None

    own.rule = rule
    said = run(place, {**THROUGH, "AWS_ENDPOINT_URL": own.endpoint})
    check = Job(place, env={**DIRECT, **SLOW}, command="read")
    found = check.ask("fetch", into)
    check.end()
    whole = (into / "ckpt/model.bin").exists() and (into / "ckpt/model.bin").read_bytes() == big.read_bytes()
    outcomes[action] = (len(seen), len(seen) >= 12 and bool(re.search(r"^saved \d-1 ", said, re.M) and re.search(r"^found \d-1 ", found, re.M) and whole), f"{said}\n{found}")


outcomes = {}
threads = [threading.Thread(target=once_each, args=[a]) for a in ("lost", "refuse", 503, "half")]
[t.start() for t in threads]
[t.join() for t in threads]
for action, (kinds, good, text) in outcomes.items():
    report(f"{action} once at each of {kinds} kinds of requests: saved and found", good, text)
report("all four were tried", len(outcomes) == 4)

# ---- damage
proxy.reset(lambda r: "damage" if r.part == 2 and sum(q.part == 2 for q in proxy.seen) == 1 else None)
code, said = s3("s3://bucket/damage", "send", "data/f", big, env=THROUGH)
status, data = swift.ask("GET", "/bucket/damage/data/f")
report("a byte damaged on the way is noticed by the server, and sent again", code == 0 and hashlib.sha256(data).hexdigest() == sums
       and sum(r.part == 2 for r in proxy.seen) == 2, said)
proxy.reset(lambda r: "garble" if r.header("Range").startswith("bytes=8388608")
            and sum(q.header("Range") == r.header("Range") for q in proxy.seen) == 1 else None)
code, said = s3("s3://bucket/damage", "fetch", "data/f", SCRATCH / "back2", big, env=THROUGH, TOOL_PARALLEL=1)
report("a byte damaged on the way back is asked for again", code == 0 and (SCRATCH / "back2").read_bytes() == big.read_bytes(), said)
proxy.reset(lambda r: "garble" if r.header("Range").startswith("bytes=8388608") else None)
code, said = s3("s3://bucket/damage", "fetch", "data/f", SCRATCH / "back3", big, env=THROUGH)
report("one that stays is an error, and no file appears", code == 1 and "error -5: part 2 of 'data/f'" in said
       and not (SCRATCH / "back3").exists() and not list(SCRATCH.glob(".fare-tmp-*")), said)

# ---- slow and dead
proxy.stall_s = 2
proxy.reset(lambda r: "stall" if proxy.count == 1 else None)
start = time.monotonic()
code, said = s3("s3://bucket/stall", "put", "saves/x", "1", env=THROUGH, TOOL_STALL_MS=300)
report("a stalled connection is given up, and the request made again", code == 0, said)
proxy.reset(lambda r: "stall")
code, said = s3("s3://bucket/stall", "put", "saves/x", "1", env=THROUGH, TOOL_STALL_MS=200, TOOL_DEADLINE_MS=1000)
report("no answer at all is an error in time", code == 1 and "no answer in time" in said, said)
proxy.reset(lambda r: 503)
code, said = s3("s3://bucket/stall", "put", "saves/x", "1", env=THROUGH, TOOL_PAUSE_MS=1)
report("a server that is down is tried six times", code == 1 and "answered 503" in said and proxy.count == 6, said)

# ---- refusals in plain words
code, said = s3("s3://bucket/x", "check", AWS_SECRET_ACCESS_KEY="not-the-secret-key")
report("a wrong secret", "does not accept the credentials" in said and "from the environment" in said and "error -2" in said, said)
code, said = s3("s3://bucket/x", "check", AWS_ACCESS_KEY_ID="nobody:nobody")
report("a wrong id", "error -2" in said and "credentials" in said, said)
code, said = s3("s3://gone-bucket/x", "check")
report("a bucket that is not there", "there is no bucket 'gone-bucket' at http://127.0.0.1" in said, said)
fake = Path(os.environ["BUILD"]) / "tests/save/fake_hour.so"
if "sanitize" in str(fake):
    skip("a clock that is an hour off", "the sanitizers have their own preloaded library")
else:
    code, said = s3("s3://bucket/x", "check", LD_PRELOAD=fake)
    now = time.strftime("%d %b %Y %H:%M", time.gmtime())[:14]
    ahead = time.strftime("%Y-%m-%dT%H", time.gmtime(time.time() + 3600))
    report("a clock that is an hour off: both times", "error -2" in said and f"the clock of this machine says {ahead}" in said
           and now in said and "set the clock" in said, said)


def saved_run(place, job, env, *options):
    """fare run --save, with what it says."""
    p = subprocess.Popen([os.environ["FARE"], "run", "--no-cloud", "--no-trace", "--save", place, "--checkpoints", str(SCRATCH / "out"), *options,
                          "--", *job], env={**os.environ, **env, "FARE_METADATA": "off", "XDG_DATA_HOME": str(SCRATCH / "data")},
                         stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    return p


def refused(what, place, expect, **env):
    ran = SCRATCH / f"ran-{what}"
    p = saved_run(place, ["touch", str(ran)], {**DIRECT, **env})
    said = p.communicate(timeout=120)[1]
    everything.append(said)
    report(f"fare run: {what}: refused before the job starts, with the reason", p.returncode not in (0, 75) and not ran.exists()
           and said.startswith("fare: ") and expect in said, said)


refused("a wrong secret", "s3://bucket/x", "does not accept the credentials", AWS_SECRET_ACCESS_KEY="not-the-secret-key")
refused("no bucket", "s3://gone-bucket/x", "there is no bucket 'gone-bucket'")
if "sanitize" not in str(fake):
    refused("a clock an hour off", "s3://bucket/x", "set the clock", LD_PRELOAD=str(fake))

# ---- a bucket that is gone for a while: the job goes on, and what it writes later is saved
proxy.reset()
log = SCRATCH / "log"
p = saved_run("s3://bucket/while", ["/usr/bin/python3", "-S", "-E", str(Path(os.environ["ROOT"]) / "tests/save/job.py"), str(SCRATCH / "out"), "400", "20", "5",
                                    "safetensors", str(log)], THROUGH, "--save-every", "300ms", "--lease", "60s")
until = time.monotonic() + 60
while time.monotonic() < until and not (log.exists() and log.read_text().count(" step ") > 30):
    time.sleep(0.05)
proxy.reset(lambda r: 404)
time.sleep(3)
proxy.reset()
said = p.communicate(timeout=120)[1]
everything.append(said)
report("fare run: a bucket that is gone for a while: the job goes on, and it says so", p.returncode == 0 and "tried again" in said
       and "checkpoints are saved again" in said and log.read_text().count(" start ") == 1, said)

for case, (ok, detail) in zip(CASES, lying):
    report(f"fare run: {case[1]} of {case[2] or 'everything'} for one start: it is not started from 0, and goes on later" if case[1] else
           "fare run: a fetch that takes longer than the patience of a second is not cut", ok, detail)
code, said = tool("s3://bucket/x", "check", env={"AWS_EC2_METADATA_DISABLED": "true", "HOME": str(SCRATCH)})
report("no credentials", "there are no credentials for S3" in said and "AWS_ACCESS_KEY_ID" in said, said)
code, said = tool("s3://bucket/x", "check", env={"AWS_ACCESS_KEY_ID": "AKIDONLY", "HOME": str(SCRATCH)})
report("half a pair of keys", "AWS_ACCESS_KEY_ID is set and AWS_SECRET_ACCESS_KEY is not" in said, said)
code, said = s3("s3://b/x", "check")
report("a name that is no bucket's", "'b' cannot be a bucket's name" in said and "3 to 63 letters" in said, said)
proxy.reset(lambda r: 301)
code, said = s3("s3://bucket/x", "check", env=THROUGH)
report("a bucket elsewhere", "is not in region us-east-1" in said, said)

# ---- where the keys come from
(SCRATCH / ".aws").mkdir()
(SCRATCH / ".aws/credentials").write_text(f"[default]\naws_access_key_id = wrong\naws_secret_access_key = wrong\n"
                                          f"[work]\naws_access_key_id={KEY}\naws_secret_access_key = {SECRET}\n")
(SCRATCH / ".aws/config").write_text(f"[profile work]\nregion = us-east-1\nendpoint_url = {swift.endpoint}\ns3 =\n  region = no\n")
bare = {"HOME": str(SCRATCH), "AWS_EC2_METADATA_DISABLED": "true"}
report("a profile has keys, region and endpoint", tool("s3://bucket/profile", "check", env={**bare, "AWS_PROFILE": "work"})[0] == 0)
code, said = tool("s3://bucket/profile", "check", env={**bare, "AWS_PROFILE": "nobody"})
report("a profile that is not there", "AWS_PROFILE is 'nobody'" in said, said)
asked = []


class Role(http.server.BaseHTTPRequestHandler):
    def log_message(self, *args):
        pass

    def answer(self, text):
        asked.append((self.command, self.path, self.headers.get("X-aws-ec2-metadata-token")))
        good = self.path.endswith("token") or self.headers.get("X-aws-ec2-metadata-token") == "TOKEN"
        self.send_response(200 if good else 401)
        self.end_headers()
        self.wfile.write(text.encode())

    def do_PUT(self):
        self.answer("TOKEN")

    def do_GET(self):
        keys = {"AccessKeyId": KEY, "SecretAccessKey": SECRET, "Token": "a-session-token",
                "Expiration": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + 7200))}
        self.answer("the-role\n" if self.path.endswith("/") else json.dumps(keys))


role = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Role)
threading.Thread(target=role.serve_forever, daemon=True).start()
shutil.rmtree(SCRATCH / ".aws")
proxy.reset()
code, said = tool("s3://bucket/role", "check", env={"HOME": str(SCRATCH), "AWS_ENDPOINT_URL": proxy.endpoint,
                                                    "FARE_METADATA": f"http://127.0.0.1:{role.server_address[1]}"})
report("an instance's role", code == 0 and [a[0] for a in asked] == ["PUT", "GET", "GET"]
       and all(r.header("x-amz-security-token") == "a-session-token" for r in proxy.seen), f"{said} {asked}")

# ---- claims at once, with conditional writes and without
for name, rule, env in (("with conditional writes", lambda r: "exclusive", THROUGH), ("without", None, DIRECT)):
    proxy.reset(rule)
    jobs = [Job(f"s3://bucket/claims-{name.replace(' ', '-')}", env={**env, **SLOW}) for _ in range(4)]
    epochs, held, most = [], [0], [0]

    def turn(job):
        epoch = job.started()
        held[0] += 1
        most[0] = max(most[0], held[0])
        epochs.append(epoch)
        held[0] -= 1
        job.end("release")

    threads = [threading.Thread(target=turn, args=[j]) for j in jobs]
    [t.start() for t in threads]
    if name == "without":  # each turn waits for a while, and those that lose for the patience: one is enough
        while not epochs and any(t.is_alive() for t in threads):
            time.sleep(0.1)
        time.sleep(0.5)
        report(f"four machines at once {name}: one holds it", len(epochs) == 1 and most[0] == 1, f"{epochs}")
        [j.p.kill() for j in jobs]
        [t.join() for t in threads]
    else:
        [t.join() for t in threads]
        report(f"four machines at once {name}: one after the other", sorted(epochs) == [1, 2, 3, 4] and most[0] == 1, f"{epochs}")

report("no secret was ever printed", not any(word in text for text in everything for word in
                                             (SECRET, "not-the-secret-key", "a-session-token", "Signature=")))
swift.stop()
shutil.rmtree(SCRATCH, ignore_errors=True)
done()
