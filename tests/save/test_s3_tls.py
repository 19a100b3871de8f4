#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A store over https: certificates of a CA that the user names, ones that do not hold, and Amazon's own addresses, with the
bucket in the host's name, led to a server on loopback that verifies signatures."""
import hashlib
import os
import sys
import tempfile
import time
from pathlib import Path

sys.path[:0] = [os.path.join(os.environ["ROOT"], "tests"), os.path.join(os.environ["ROOT"], "tests/save")]
import tls_front  # noqa: E402
from s3_server import DOMAIN, KEY, SECRET, Swift  # noqa: E402
from tap import done, report, skip  # noqa: E402
from tool import tool  # noqa: E402

if why := Swift.missing() or tls_front.missing():
    skip("S3 over https", why)
    done()

SCRATCH = Path(tempfile.mkdtemp(dir=os.environ.get("TMPDIR", "/tmp")))
swift = Swift(SCRATCH / "swift")
for bucket in ("bucket", "dotted.bucket"):
    swift.make_bucket(bucket)
ca, other = tls_front.make_ca(SCRATCH), tls_front.make_ca(SCRATCH, "other")
good = tls_front.make_certificate(SCRATCH, ca, f"IP:127.0.0.1,DNS:{DOMAIN},DNS:*.{DOMAIN}")
port = tls_front.tls_front(swift.ports["proxy"], good)
ENDPOINT = f"https://127.0.0.1:{port}"
BASE = {"AWS_ACCESS_KEY_ID": KEY, "AWS_SECRET_ACCESS_KEY": SECRET, "AWS_REGION": "us-east-1", "AWS_EC2_METADATA_DISABLED": "true",
        "HOME": str(SCRATCH), "TOOL_PAUSE_MS": "1", "TOOL_STALL_MS": "20000"}


def s3(place, *words, endpoint=ENDPOINT, **more):
    return tool(place, *words, env={**BASE, **({"AWS_ENDPOINT_URL": endpoint} if endpoint else {}), **{k: str(v) for k, v in more.items()}})


big = SCRATCH / "big"
big.write_bytes(hashlib.sha256(b"x").digest() * ((17 << 20) // 32))

# ---- a CA that the user names
code, said = s3("s3://bucket/tls", "send", "data/f", big, AWS_CA_BUNDLE=ca)
status, data = swift.ask("GET", "/bucket/tls/data/f")
report("AWS_CA_BUNDLE: a file in three parts arrives", code == 0 and data == big.read_bytes(), said)
code, said = s3("s3://bucket/tls", "fetch", "data/f", SCRATCH / "back", big, AWS_CA_BUNDLE=ca)
report("and comes back", code == 0 and (SCRATCH / "back").read_bytes() == big.read_bytes(), said)
report("SSL_CERT_FILE", s3("s3://bucket/tls", "check", SSL_CERT_FILE=ca)[0] == 0)
report("AWS_CA_BUNDLE comes before it", s3("s3://bucket/tls", "check", AWS_CA_BUNDLE=ca, SSL_CERT_FILE=other)[0] == 0)
(SCRATCH / ".aws").mkdir()
(SCRATCH / ".aws/config").write_text(f"[default]\nca_bundle = {ca}\n")
report("the profile's ca_bundle", s3("s3://bucket/tls", "check")[0] == 0)
(SCRATCH / ".aws/config").unlink()
code, said = s3("s3://bucket/tls", "check", AWS_CA_BUNDLE=SCRATCH / "nothing.pem")
report("a CA file that is not there", code == 1 and "cannot read the CA certificates" in said and "AWS_CA_BUNDLE" in said, said)
(SCRATCH / "junk.pem").write_text("not a certificate")
code, said = s3("s3://bucket/tls", "check", AWS_CA_BUNDLE=SCRATCH / "junk.pem")
report("a CA file that is none", code == 1 and "error -2" in said and "junk.pem" in said, said)


# ---- certificates that do not hold
def refused(name, words, **more):
    start = time.monotonic()
    code, said = s3("s3://bucket/tls", "check", TOOL_PAUSE_MS=2000, **more)
    quick = time.monotonic() - start < 2
    report(f"{name}: refused at once, in plain words", code == 1 and "error -2" in said and "certificate" in said and words in said
           and "AWS_CA_BUNDLE" in said and quick, f"{quick} {said}")
    report(f"{name}: no key in the message", SECRET not in said and KEY not in said, said)


def endpoint_of(names, days=2):
    return f"https://127.0.0.1:{tls_front.tls_front(swift.ports['proxy'], tls_front.make_certificate(SCRATCH, ca, names, days))}"


refused("a CA that nobody named", "", AWS_CA_BUNDLE=other)
refused("a certificate for another host", "", endpoint=endpoint_of("DNS:elsewhere.example"), AWS_CA_BUNDLE=ca)
refused("one that has expired", "expired", endpoint=endpoint_of("IP:127.0.0.1", -1), AWS_CA_BUNDLE=ca)
code, said = s3("s3://bucket/tls", "check", endpoint=swift.endpoint.replace("http:", "https:"), AWS_CA_BUNDLE=ca)
report("https to a port that speaks http", code == 1 and "does it speak https on that port?" in said, said)
code, said = s3("s3://bucket/tls", "check", endpoint=ENDPOINT.replace("https:", "http:"))
report("http to a port that speaks https", code == 1 and "error" in said, said)

# ---- Amazon's addresses, through a proxy that leads every host here
seen = []
through = {"https_proxy": f"http://127.0.0.1:{tls_front.connect_proxy(port, seen)}", "no_proxy": "", "AWS_CA_BUNDLE": ca}
code, said = s3("s3://bucket/a b/é", "send", "data/g", big, endpoint=None, **through)
status, data = swift.ask("GET", "/bucket/a%20b/%C3%A9/data/g")
report("Amazon's address has the bucket in the host's name", code == 0 and data == big.read_bytes() and set(seen) == {f"bucket.{DOMAIN}:443"}, f"{said} {seen}")
code, said = s3("s3://bucket/a b/é", "list", "data/", endpoint=None, **through)
report("lists at Amazon's address", code == 0 and said.strip() == f"data/g {big.stat().st_size}", said)
seen.clear()
report("a bucket with a dot stands in the path", s3("s3://dotted.bucket/x", "check", endpoint=None, **through)[0] == 0 and set(seen) == {f"{DOMAIN}:443"}, seen)
code, said = s3("s3://bucket/x", "check", endpoint=None, **{**through, "AWS_SECRET_ACCESS_KEY": "wrong-wrong"})
report("a wrong secret is refused there too", "does not accept the credentials" in said and "Amazon S3 in us-east-1" in said, said)
seen.clear()
code, said = s3("s3://bucket/x", "check", endpoint=None, **{**through, "AWS_REGION": "eu-central-1"})
report("another region is another host, whose certificate this is not", code == 1 and "certificate" in said
       and set(seen) == {"bucket.s3.eu-central-1.amazonaws.com:443"}, f"{said} {seen}")
swift.stop()
done()
