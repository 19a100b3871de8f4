# SPDX-License-Identifier: Apache-2.0
"""A proxy between fare and an S3 server that cuts, slows, damages, refuses and forgets.

It passes requests on as they are, so that signatures stay valid. `rule(request)` names what happens to each:
    None          passed on
    "refuse"      the connection is closed at once
    "cut"         half of the body is taken, then the connection is closed; the server sees nothing
    "lost"        the server does it, the answer never arrives
    "half"        half of the answer arrives
    "damage"      a byte of the body is changed on the way there
    "garble"      a byte of the answer's body is changed
    "stall"       nothing happens for `stall_s`
    503, 403, ... is answered; so is a text, with 200, and (status, text)
    "exclusive"   a PUT with If-None-Match: * is done only if the object is not there, as Amazon does it
"""
import http.client
import socket
import socketserver
import threading
import time


class Request:
    def __init__(self, method, target, headers, body):
        self.method, self.target, self.headers, self.body = method, target, headers, body
        self.number = 0  # of the request, from 1

    def header(self, name):
        return next((v for k, v in self.headers if k.lower() == name.lower()), "")

    @property
    def part(self):
        """The number of the part that it sends, or 0."""
        return int(self.target.split("partNumber=")[1].split("&")[0]) if self.method == "PUT" and "partNumber=" in self.target else 0


class Handler(socketserver.StreamRequestHandler):
    def handle(self):
        try:
            while self.one():
                pass
        except (OSError, ValueError):
            pass

    def one(self):
        line = self.rfile.readline().decode()
        if not line:
            return False
        method, target, _ = line.split(" ", 2)
        headers = []
        while (line := self.rfile.readline().decode().strip()):
            name, value = line.split(":", 1)
            headers.append((name, value.strip()))
        request = Request(method, target, headers, b"")
        proxy = self.server.proxy
        with proxy.lock:
            proxy.count += 1
            request.number = proxy.count
            proxy.seen.append(request)
        length = int(request.header("Content-Length") or 0)
        action = proxy.rule(request)
        if action == "refuse":
            return False
        if request.header("Expect"):
            self.wfile.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        if action == "cut":
            self.rfile.read(length // 2)
            return False
        request.body = self.rfile.read(length)
        if action == "stall":
            time.sleep(proxy.stall_s)
            return False
        return self.answer(proxy, request, action)

    def answer(self, proxy, request, action):
        if isinstance(action, bytes):
            return self.send(200, [], action, request)
        if isinstance(action, tuple):
            return self.send(action[0], [], action[1], request)
        if isinstance(action, int):
            return self.send(action, [], b"<Error><Code>Test</Code><Message>as told</Message></Error>", request)
        if action == "damage" and request.body:
            request.body = bytes([request.body[0] ^ 1]) + request.body[1:]
        headers = [(k, v) for k, v in request.headers if k.lower() != "expect"]
        if action == "exclusive" and request.header("If-None-Match") == "*":
            with proxy.exclusive:
                if request.target in proxy.created:
                    return self.send(412, [], b"<Error><Code>PreconditionFailed</Code></Error>", request)
                # The server does not know the condition, and it is signed: it is written by the proxy's own hand.
                status, body = proxy.server.ask("PUT", request.target, "", request.body)
                proxy.created.add(request.target)
                return self.send(status, [("ETag", '"x"')], body, request)
        status, answer, body = self.ask(proxy, request, headers)
        if action == "lost":
            return False
        if action == "garble" and body:
            body = body[:-1] + bytes([body[-1] ^ 1])
        return self.send(status, answer, body, request, half=action == "half")

    @staticmethod
    def ask(proxy, request, headers):
        with socket.create_connection(("127.0.0.1", proxy.port), 60) as up:
            head = f"{request.method} {request.target} HTTP/1.1\r\n" + "".join(f"{k}: {v}\r\n" for k, v in headers)
            up.sendall(head.encode() + b"Connection: close\r\n\r\n" + request.body)
            response = http.client.HTTPResponse(up, method=request.method)
            response.begin()
            body = response.read()
            keep = [(k, v) for k, v in response.getheaders() if k.lower() not in ("connection", "transfer-encoding")]
            return response.status, keep, body

    def send(self, status, headers, body, request, half=False):
        if request.method != "HEAD":
            headers = [(k, v) for k, v in headers if k.lower() != "content-length"] + [("Content-Length", str(len(body)))]
        head = f"HTTP/1.1 {status} X\r\n" + "".join(f"{k}: {v}\r\n" for k, v in headers) + "\r\n"
        data = head.encode() + body
        self.wfile.write(data[:len(head) + len(body) // 2] if half else data)
        return not half


class Server(socketserver.ThreadingTCPServer):
    daemon_threads = True
    allow_reuse_address = True
    request_queue_size = 128


class Proxy:
    def __init__(self, server):
        """`server` is an s3_server.Swift."""
        self.server, self.port = server, server.ports["proxy"]
        self.rule = lambda request: None
        self.stall_s = 3
        self.count, self.seen = 0, []
        self.created = set()
        self.lock, self.exclusive = threading.Lock(), threading.Lock()
        self.listener = Server(("127.0.0.1", 0), Handler)
        self.listener.proxy = self
        threading.Thread(target=self.listener.serve_forever, daemon=True).start()

    @property
    def endpoint(self):
        return f"http://127.0.0.1:{self.listener.server_address[1]}"

    def reset(self, rule=None):
        with self.lock:
            self.count, self.seen = 0, []
        self.rule = rule or (lambda request: None)
