# SPDX-License-Identifier: Apache-2.0
"""https in front of an http server on loopback: a CA, certificates of it, and a proxy that leads every name there."""
import shutil
import socket
import ssl
import subprocess
import threading

NEEDS = "openssl"


def missing():
    return None if shutil.which(NEEDS) else f"{NEEDS} is not installed"


def make_ca(folder, name="ca"):
    """A CA of our own; the path of its certificate."""
    run(folder, "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", f"{name}.key",
        "-out", f"{name}.pem", "-days", "2", "-subj", f"/CN=test {name}")
    return folder / f"{name}.pem"


def make_certificate(folder, ca, names, days=2):
    """(certificate, key) for "DNS:x,IP:y"; `days` may be negative: it has expired."""
    number = len(list(folder.glob("site*.pem")))
    site, key = folder / f"site{number}.pem", folder / f"site{number}.key"
    run(folder, "req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", key.name, "-out", "site.csr",
        "-subj", "/CN=site")
    (folder / "site.ext").write_text(f"subjectAltName={names}\n")
    run(folder, "x509", "-req", "-in", "site.csr", "-CA", ca.name, "-CAkey", ca.with_suffix(".key").name, "-CAcreateserial",
        "-out", site.name, "-days", str(days), "-extfile", "site.ext")
    return site, key


def run(folder, *words):
    subprocess.run([NEEDS, *words], cwd=folder, check=True, capture_output=True)


def pipe(a, b):
    try:
        while data := a.recv(65536):
            b.sendall(data)
    except OSError:
        pass
    for s in (a, b):
        try:
            s.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass


def listen(serve):
    """Calls `serve` for each connection, in a thread of its own; the port."""
    server = socket.create_server(("127.0.0.1", 0), backlog=128)

    def accept():
        while True:
            connection, _ = server.accept()
            threading.Thread(target=serve, args=[connection], daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    return server.getsockname()[1]


def tls_front(port, certificate):
    """Listens with that certificate and passes everything on to `port`; its own port."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*certificate)

    def serve(connection):
        try:
            inner = context.wrap_socket(connection, server_side=True)
        except OSError:
            return connection.close()
        with inner, socket.create_connection(("127.0.0.1", port)) as up:
            back = threading.Thread(target=pipe, args=[up, inner], daemon=True)
            back.start()
            pipe(inner, up)
            back.join(10)

    return listen(serve)


def connect_proxy(port, seen):
    """A proxy (https_proxy) that leads CONNECT to any host to `port`, and notes the hosts; its own port."""
    def serve(connection):
        head = b""
        while b"\r\n\r\n" not in head and (data := connection.recv(4096)):
            head += data
        method, host, _ = head.decode().split(" ", 2)
        if method != "CONNECT":
            return connection.close()
        seen.append(host)
        connection.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
        with connection, socket.create_connection(("127.0.0.1", port)) as up:
            threading.Thread(target=pipe, args=[up, connection], daemon=True).start()
            pipe(connection, up)

    return listen(serve)
