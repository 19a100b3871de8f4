#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Metadata services that announce the end of the machine, for tests.

    notice_server.py CLOUD WHEN [--after S] [--lead S] [--log FILE] [--stay S]

prints its port and serves until it is killed or --stay (120) seconds have passed. CLOUD is aws, v1only (without
tokens), rebalance, gcp or azure. WHEN: ontime, late (little of the lead is left), past (its time is over),
ahead (by a clock that is an hour ahead), twice (again, with an earlier time), withdrawn (after two seconds),
flicker (every other answer is an error), never, garbage, html, hang (takes the question and says nothing),
other (azure: another machine's), started (azure: no time any more), error (500).
The notice comes --after seconds after the start.
"""
import argparse
import email.utils
import http.server
import json
import threading
import time

parser = argparse.ArgumentParser()
parser.add_argument("cloud")
parser.add_argument("when")
parser.add_argument("--after", type=float, default=0.5)
parser.add_argument("--lead", type=float)
parser.add_argument("--log")
parser.add_argument("--stay", type=float, default=120)
args = parser.parse_args()
BEGUN = time.monotonic()
TOKEN = "AQAEAG-token=="
LEAD = args.lead or {"gcp": 30, "azure": 30}.get(args.cloud, 120)
asked = 0


def elapsed():
    return time.monotonic() - BEGUN


def announced():
    if args.when in ("never", "error", "hang", "garbage", "html"):
        return False
    return elapsed() >= args.after and not (args.when == "withdrawn" and elapsed() >= args.after + 2)


def date():
    """When the machine goes."""
    at = time.time() - elapsed() + args.after + LEAD
    shift = {"late": -LEAD + 8, "past": -LEAD - 600, "ahead": 3600}.get(args.when, 0)
    if args.when == "twice" and elapsed() > args.after + 1.5:
        shift = -LEAD / 2
    return at + shift


def iso(at):
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(at))


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def say(self, status, body=b"", kind="text/plain"):
        body = body if isinstance(body, bytes) else body.encode()
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def misbehaves(self):
        global asked
        asked += 1
        if args.log:
            with open(args.log, "a") as log:
                print(self.command, self.path, file=log)
        if args.when == "hang":
            time.sleep(100)
        elif args.when == "garbage":
            self.say(200, bytes(range(256)) * 20)
        elif args.when == "html":
            self.say(200, "<html><body>Sign in to the network</body></html>", "text/html")
        elif args.when == "error" or (args.when == "flicker" and asked % 2):
            self.say(500, "later")
        else:
            return False
        return True

    def do_PUT(self):
        if args.cloud == "v1only":
            return self.say(405)
        if self.misbehaves():
            return
        ok = self.path == "/latest/api/token" and self.headers.get("X-aws-ec2-metadata-token-ttl-seconds") == "21600"
        self.say(200 if ok else 400, TOKEN if ok else "")

    def do_GET(self):
        if self.misbehaves():
            return
        {"gcp": self.gcp, "azure": self.azure}.get(args.cloud, self.aws)()

    def aws(self):
        if args.cloud != "v1only" and self.headers.get("X-aws-ec2-metadata-token") != TOKEN:
            return self.say(401)
        if self.path == "/latest/meta-data/spot/instance-action" and args.cloud != "rebalance" and announced():
            return self.say(200, json.dumps({"action": "terminate", "time": iso(date())}))
        if self.path.endswith("/rebalance") and args.cloud == "rebalance" and announced():
            return self.say(200, json.dumps({"noticeTime": iso(time.time())}))
        self.say(404, "<?xml version='1.0'?><html>404 - Not Found</html>", "text/html")

    def gcp(self):
        path, _, query = self.path.partition("?")
        if self.headers.get("Metadata-Flavor") != "Google" or path != "/computeMetadata/v1/instance/preempted":
            return self.say(403)
        if "wait_for_change=true" in query:
            limit = float(query.split("timeout_sec=")[1]) if "timeout_sec=" in query else 100
            until, before = time.monotonic() + limit, announced()
            while time.monotonic() < until and announced() == before:
                time.sleep(0.02)
        self.say(200, "TRUE" if announced() else "FALSE")

    def azure(self):
        if self.headers.get("Metadata") != "true":
            return self.say(400)
        if self.path.startswith("/metadata/instance/compute/name"):
            return self.say(200, "myvm_3")
        events = []
        if announced():
            started = args.when == "started"
            events.append({"EventId": "A1", "EventType": "Preempt", "ResourceType": "VirtualMachine",
                           "Resources": ["myvm_4" if args.when == "other" else "myvm_3"],
                           "EventStatus": "Started" if started else "Scheduled",
                           "NotBefore": "" if started else email.utils.formatdate(date(), usegmt=True)})
        self.say(200, json.dumps({"DocumentIncarnation": 1, "Events": events}), "application/json")


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
server.daemon_threads = True
threading.Timer(args.stay, lambda: __import__("os")._exit(0)).start()
print(server.server_port, flush=True)
server.serve_forever()
