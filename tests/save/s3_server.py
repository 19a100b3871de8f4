# SPDX-License-Identifier: Apache-2.0
"""A real S3 server for the tests: Debian's swift with s3api, on loopback, in a folder of its own.

It verifies signatures, dates, checksums and parts. Four servers and memcached start in about three seconds; all end with
the test. `Swift.missing()` says why it cannot run here.
"""
import ctypes
import getpass
import hashlib
import hmac
import http.client
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

PROGRAMS = ["swift-proxy-server", "swift-account-server", "swift-container-server", "swift-object-server",
            "memcached"]
SEARCH = os.environ.get("PATH", "") + ":/usr/sbin:/sbin"
KEY, SECRET = "test:tester", "s3-secret-for-tests"
DOMAIN = "s3.us-east-1.amazonaws.com"  # a bucket may stand in the host's name, as at Amazon

STORAGE = """[DEFAULT]
bind_ip = 127.0.0.1
bind_port = {port}
workers = 0
user = {user}
swift_dir = {dir}
devices = {dir}/disks
mount_check = false
log_address = {dir}/log
log_level = ERROR
fallocate_reserve = 0
[pipeline:main]
pipeline = {kind}-server
[app:{kind}-server]
use = egg:swift#{kind}
replication_server = false
"""

PROXY = """[DEFAULT]
bind_ip = 127.0.0.1
bind_port = {port}
workers = 0
user = {user}
swift_dir = {dir}
log_address = {dir}/log
log_level = ERROR
[pipeline:main]
pipeline = catch_errors cache s3api tempauth slo proxy-server
[app:proxy-server]
use = egg:swift#proxy
account_autocreate = true
allow_account_management = true
recheck_container_existence = 0
recheck_account_existence = 0
[filter:catch_errors]
use = egg:swift#catch_errors
[filter:cache]
use = egg:swift#memcache
memcache_servers = 127.0.0.1:{cache}
[filter:s3api]
use = egg:swift#s3api
location = us-east-1
s3_acl = false
storage_domain = {domain}
min_segment_size = 1
allow_multipart_uploads = true
[filter:slo]
use = egg:swift#slo
min_segment_size = 1
[filter:tempauth]
use = egg:swift#tempauth
user_test_tester = {secret} .admin
user_test_reader = other-secret
"""


def free_port():
    """Below those that the kernel gives to clients, who may take one before the server does."""
    while True:
        port = random.randrange(12000, 32000)
        with socket.socket() as s:
            try:
                s.bind(("127.0.0.1", port))
                return port
            except OSError:
                pass


def die_with_parent():
    """Precisely: with the thread that started it."""
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)


class Swift:
    @staticmethod
    def missing():
        absent = [p for p in PROGRAMS if not shutil.which(p, path=SEARCH)]
        return f"{', '.join(absent)} not installed (packages swift-proxy, -account, -container, -object, memcached)" if absent else None

    def __init__(self, folder):
        self.dir = Path(folder)
        self.ports = {kind: free_port() for kind in ("account", "container", "object", "cache", "proxy")}
        (self.dir / "disks/d1").mkdir(parents=True)
        (self.dir / "swift.conf").write_text("[swift-hash]\nswift_hash_path_suffix = s\nswift_hash_path_prefix = p\n")
        user = getpass.getuser()
        for kind in ("account", "container", "object"):
            (self.dir / f"{kind}.conf").write_text(STORAGE.format(kind=kind, port=self.ports[kind], dir=self.dir, user=user))
        (self.dir / "proxy.conf").write_text(PROXY.format(port=self.ports["proxy"], cache=self.ports["cache"], secret=SECRET,
                                                           dir=self.dir, user=user, domain=DOMAIN))
        # It ends with this process, when its input does. Not by die_with_parent(): whoever started it may be a thread of a pool.
        command = ["/usr/bin/python3", __file__, str(self.dir), *(f"{k}:{p}" for k, p in self.ports.items())]
        with open(self.dir / "servers.out", "wb") as out:
            self.servers = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=out, stderr=out, start_new_session=True)
        for port in self.ports.values():
            self.wait(port)

    def wait(self, port):
        for _ in range(2400):  # two minutes: a loaded machine took more than 30 s
            try:
                socket.create_connection(("127.0.0.1", port), 1).close()
                return
            except OSError:
                time.sleep(0.05)
            if self.servers.poll() is not None:
                break
        said = (self.dir / "servers.out").read_text()[-600:]
        self.stop()
        raise RuntimeError(f"swift did not start: {said}")

    @property
    def endpoint(self):
        return f"http://127.0.0.1:{self.ports['proxy']}"

    def environment(self, **more):
        return {"AWS_ACCESS_KEY_ID": KEY, "AWS_SECRET_ACCESS_KEY": SECRET, "AWS_ENDPOINT_URL": self.endpoint,
                "AWS_REGION": "us-east-1", "AWS_EC2_METADATA_DISABLED": "true", **more}

    def ask(self, method, path, query="", body=b""):
        """A signed request by a second implementation of AWS's signature version 4; (status, answer)."""
        sha = lambda b: hashlib.sha256(b).hexdigest()
        now = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
        host = f"127.0.0.1:{self.ports['proxy']}"
        headers = {"host": host, "x-amz-content-sha256": sha(body), "x-amz-date": now}
        names = ";".join(headers)
        canonical = "\n".join([method, path, query, *(f"{k}:{v}" for k, v in headers.items()), "", names, sha(body)])
        scope = f"{now[:8]}/us-east-1/s3/aws4_request"
        key = ("AWS4" + SECRET).encode()
        for word in scope.split("/"):
            key = hmac.digest(key, word.encode(), "sha256")
        text = "\n".join(["AWS4-HMAC-SHA256", now, scope, sha(canonical.encode())])
        headers["Authorization"] = (f"AWS4-HMAC-SHA256 Credential={KEY}/{scope}, SignedHeaders={names}, "
                                    f"Signature={hmac.new(key, text.encode(), 'sha256').hexdigest()}")
        connection = http.client.HTTPConnection(host, timeout=60)
        connection.request(method, path + ("?" + query if query else ""), body, headers)
        answer = connection.getresponse()
        data = answer.read()
        connection.close()
        return answer.status, data

    def make_bucket(self, name):
        for _ in range(10):
            status, answer = self.ask("PUT", f"/{name}")
            if status != 503:
                break
            time.sleep(1)  # on a loaded machine its servers are late to begin
        if status not in (200, 409):  # 409: an answer of 503 came too soon
            raise RuntimeError(f"cannot make the bucket {name}: {status} {answer[:300]}")

    def stop(self):
        self.servers.kill()
        self.servers.wait()
        self.servers.stdin.close()


def serve(folder, ports):
    """All four servers and memcached, each in a child; swift is imported once, which takes longer than the rest."""
    subprocess.Popen([shutil.which("memcached", path=SEARCH), "-u", getpass.getuser(), "-l", "127.0.0.1", "-p", ports["cache"], "-m", "16"],
                     stdin=subprocess.DEVNULL, preexec_fn=die_with_parent)
    import swift.common.utils
    swift.common.utils.SWIFT_CONF_FILE = os.path.join(folder, "swift.conf")
    from swift.common.ring import RingBuilder
    from swift.common.wsgi import run_wsgi
    for kind in ("account", "container", "object"):
        builder = RingBuilder(4, 1, 1)
        builder.add_dev({"region": 1, "zone": 1, "ip": "127.0.0.1", "port": int(ports[kind]), "device": "d1", "weight": 1,
                         "replication_ip": "127.0.0.1", "replication_port": int(ports[kind]), "meta": ""})
        builder.rebalance()
        builder.get_ring().save(os.path.join(folder, f"{kind}.ring.gz"))
    for kind in ("account", "container", "object", "proxy"):
        if os.fork() == 0:
            die_with_parent()
            run_wsgi(os.path.join(folder, f"{kind}.conf"), f"{kind}-server")
            os._exit(0)
    sys.stdin.read()


if __name__ == "__main__":
    serve(sys.argv[1], dict(word.split(":") for word in sys.argv[2:]))
