#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A metadata service on the loopback device, well-behaved or not, for tests.

    metadata_server.py MODE [--bind ADDRESS] [--port N] [--log FILE] [--launched WHEN]

prints its port on the first line and serves until it is killed, its parent ends or two minutes
have passed. Modes: aws, gcp, azure answer as the clouds do (aws-spot, gcp-spot, azure-spot for
the cheap kind; v1only is an AWS without tokens); none says 404 to everything; hang takes the
request and says nothing; silent does not even take the connection; garbage, html, redirect,
huge, headers, drip, reset, error, empty, types, inject misbehave in that way; web is for tests of the
HTTP client. --log appends one line per request: method, path, and the headers that matter. --launched
is when AWS says the machine was started: seconds before now, a text as it is, or "none".
"""
import argparse
import ctypes
import http.server
import json
import random
import signal
import socket
import sys
import time

TOKEN = "AQAEAH-token-of-the-test-server=="

# AWS: the example in the EC2 user guide, "Retrieve the instance identity document".
IDENTITY = {
    "devpayProductCodes": None,
    "marketplaceProductCodes": ["1abc2defghijklm3nopqrs4tu"],
    "availabilityZone": "us-west-2b",
    "privateIp": "10.158.112.84",
    "version": "2017-09-30",
    "instanceId": "i-1234567890abcdef0",
    "billingProducts": None,
    "instanceType": "t2.micro",
    "accountId": "123456789012",
    "imageId": "ami-5fb8c835",
    "pendingTime": "2016-11-19T16:32:11Z",
    "architecture": "x86_64",
    "kernelId": None,
    "ramdiskId": None,
    "region": "us-west-2",
}

# Azure: the shape of the example in "Azure Instance Metadata Service", shortened.
COMPUTE = {
    "azEnvironment": "AzurePublicCloud",
    "location": "westeurope",
    "name": "examplevmname",
    "osType": "Linux",
    "platformFaultDomain": "36",
    "priority": "",
    "provider": "Microsoft.Compute",
    "tagsList": [{"name": "baz", "value": "bash"}],
    "vmId": "02aab8a4-74ef-476e-8182-f6d2ba4166a6",
    "vmScaleSetName": "",
    "vmSize": "Standard_NC24ads_A100_v4",
    "zone": "2",
}


def aws(handler, spot):
    path, method = handler.path, handler.command
    if path == "/latest/api/token":
        if method != "PUT":
            return 405, b""
        seconds = handler.headers.get("X-aws-ec2-metadata-token-ttl-seconds", "")
        if not seconds.isdigit() or not 1 <= int(seconds) <= 21600:
            return 400, b""
        if handler.headers.get("X-Forwarded-For"):
            return 403, b""
        return 200, TOKEN.encode()
    if handler.headers.get("X-aws-ec2-metadata-token") != TOKEN:
        return 401, b""
    return aws_facts(path, spot)


def launch(when):
    """Sets the identity document's pendingTime."""
    if when == "none":
        del IDENTITY["pendingTime"]
    elif when.lstrip("-").isdigit():
        IDENTITY["pendingTime"] = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() - int(when)))
    else:
        IDENTITY["pendingTime"] = when


def aws_facts(path, spot):
    return {
        "/latest/meta-data/instance-type": (200, b"t2.micro"),
        "/latest/meta-data/instance-life-cycle": (200, b"spot" if spot else b"on-demand"),
        "/latest/dynamic/instance-identity/document": (200, json.dumps(IDENTITY, indent=2).encode()),
    }.get(path, (404, b"not found"))


def gcp(handler, spot):
    if handler.headers.get("Metadata-Flavor") != "Google":
        return 403, b"Missing Metadata-Flavor:Google header."
    base = "/computeMetadata/v1/instance/"
    facts = {
        "machine-type": b"projects/123456789012/machineTypes/a2-highgpu-1g",
        "zone": b"projects/123456789012/zones/us-central1-a",
        "id": b"4398046511104123456",
        "scheduling/preemptible": b"TRUE" if spot else b"FALSE",
    }
    if spot:
        facts["scheduling/provisioning-model"] = b"SPOT"
    if handler.path.startswith(base) and handler.path[len(base):] in facts:
        return 200, facts[handler.path[len(base):]]
    return 404, b"<html>404</html>"


def azure(handler, spot):
    if handler.headers.get("Metadata", "").lower() != "true":
        return 400, b'{"error":"Bad request. Required metadata header not specified"}'
    if handler.path.partition("?")[0] != "/metadata/instance/compute":
        return 404, b'{"error":"Not found"}'
    if "api-version=" not in handler.path:
        return 400, b'{"error":"Bad request. api-version was not specified"}'
    return 200, json.dumps({**COMPUTE, "priority": "Spot"} if spot else COMPUTE).encode()


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # header and body are two writes; waiting would cost 40 ms
    mode = ""
    log = None

    def log_message(self, *args):
        pass

    def note(self):
        if not self.log:
            return
        names = ("Host", "User-Agent", "X-aws-ec2-metadata-token", "Metadata-Flavor", "Metadata")
        said = [f"{n}={self.headers[n]}" for n in names if self.headers.get(n)]
        with open(self.log, "a") as log:  # one write: lines of several threads do not mix
            log.write(" ".join([self.command, self.path, *said]) + "\n")

    def reply(self, status, body=b"", **headers):
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        if "Content_Length" not in headers and "Transfer_Encoding" not in headers:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def serve(self):
        self.note()
        length = int(self.headers.get("Content-Length") or 0)
        self.body = self.rfile.read(length)
        mode, _, kind = self.mode.partition("-")
        try:
            getattr(self, "mode_" + mode)(kind)
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True

    do_GET = do_PUT = do_POST = do_HEAD = do_DELETE = serve

    def mode_aws(self, kind):
        self.reply(*aws(self, kind == "spot"))

    def mode_v1only(self, kind):
        if self.command != "GET" or self.path == "/latest/api/token":
            return self.reply(405)
        self.reply(*aws_facts(self.path, False))

    def mode_inject(self, kind):  # a token that would add a header to the next request
        if self.path == "/latest/api/token":
            return self.reply(200, b"token\r\nX-Evil: 1\r\n")
        self.reply(*aws_facts(self.path, False))

    def mode_gcp(self, kind):
        self.reply(*gcp(self, kind == "spot"))

    def mode_azure(self, kind):
        self.reply(*azure(self, kind == "spot"))

    def mode_none(self, kind):
        self.reply(404, b"no such thing")

    def mode_hang(self, kind):
        time.sleep(60)
        self.close_connection = True

    def mode_garbage(self, kind):
        self.wfile.write(random.Random(1).randbytes(2000).replace(b"\n", b"x") + b"\r\n\r\n")
        self.close_connection = True

    def mode_html(self, kind):
        self.reply(200, b"<!doctype html><title>Welcome</title><p>Please sign in.</p>\n",
                   Content_Type="text/html")

    def mode_redirect(self, kind):  # to an answer that would be believed
        if not self.path.startswith("/moved"):
            return self.reply(302, b"", Location="/moved" + self.path)
        if self.path == "/moved/latest/api/token":
            return self.reply(200, TOKEN.encode())
        self.reply(*aws_facts(self.path[len("/moved"):], False))

    def mode_huge(self, kind):
        self.reply(200, b"", Transfer_Encoding="chunked")
        while True:
            self.wfile.write(b"10000\r\n" + b"a" * 65536 + b"\r\n")

    def mode_headers(self, kind):
        self.wfile.write(b"HTTP/1.1 200 OK\r\n")
        while True:
            self.wfile.write(b"X-More: " + b"a" * 1000 + b"\r\n")

    def mode_drip(self, kind):
        self.send_response(200)
        self.send_header("Content-Length", "1000")
        self.end_headers()
        for _ in range(60):
            self.wfile.write(b"a")
            time.sleep(1)

    def mode_reset(self, kind):
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        self.connection.close()
        self.close_connection = True

    def mode_error(self, kind):
        self.reply(500, b"internal error")

    def mode_empty(self, kind):
        self.reply(200)

    def mode_types(self, kind):  # JSON, but not of these types
        wrong = {"instanceType": 1, "region": None, "instanceId": ["i-1"], "vmSize": {},
                 "location": True, "vmId": 1.5}
        self.reply(200, json.dumps(wrong).encode())

    def mode_web(self, kind):
        path, _, query = self.path.partition("?")
        if path == "/echo":
            said = {"method": self.command, "headers": dict(self.headers.items()),
                    "body": self.body.decode("latin-1")}
            self.reply(200, json.dumps(said).encode())
        elif path == "/bytes":  # ?N of a known pattern
            self.reply(200, bytes(i % 251 for i in range(int(query))))
        elif path == "/cut":  # says 1000, sends 10, closes
            self.reply(200, b"0123456789", Content_Length="1000")
            self.close_connection = True
        elif path == "/status":
            self.reply(int(query), b"" if query == "204" else b"text of the error")
        elif path == "/redirect":  # ?URL
            self.reply(302, b"moved", Location=query)
        elif path == "/loop":
            self.reply(302, b"", Location="/loop")
        elif path == "/slow":  # ?N: one byte every 10 ms, N of them
            self.send_response(200)
            self.send_header("Content-Length", query)
            self.end_headers()
            for _ in range(int(query)):
                self.wfile.write(b"s")
                time.sleep(0.01)
        elif path.startswith("/mode/"):
            getattr(self, "mode_" + path[6:])("")
        else:
            self.reply(404, b"no such thing")


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64

    def handle_error(self, request, client_address):
        pass


def silent(address, port):
    """Listens and accepts nobody: the queue is full, so a connection is never made."""
    listener = socket.socket()
    listener.bind((address, port))
    listener.listen(0)
    port = listener.getsockname()[1]
    held = [listener]
    for _ in range(4):
        s = socket.socket()
        s.setblocking(False)
        try:
            s.connect((address, port))
        except BlockingIOError:
            pass
        held.append(s)
    time.sleep(0.05)
    print(port, flush=True)
    time.sleep(120)
    return held


def main():
    options = argparse.ArgumentParser()
    options.add_argument("mode")
    options.add_argument("--bind", default="127.0.0.1")
    options.add_argument("--port", type=int, default=0)
    options.add_argument("--log")
    options.add_argument("--launched")
    options.add_argument("--tls", help="a file with a certificate and its key")
    given = options.parse_args()
    if given.launched:
        launch(given.launched)
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG: end with the test
    signal.alarm(120)
    if given.mode == "silent":
        silent(given.bind, given.port)
        return
    if not hasattr(Handler, "mode_" + given.mode.partition("-")[0]):
        sys.exit(f"no mode {given.mode}")
    Handler.mode, Handler.log = given.mode, given.log
    server = Server((given.bind, given.port), Handler)
    if given.tls:
        import ssl
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(given.tls)
        server.socket = context.wrap_socket(server.socket, server_side=True)
    print(server.server_address[1], flush=True)
    server.serve_forever(poll_interval=0.05)


main()
