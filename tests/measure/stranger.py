# SPDX-License-Identifier: Apache-2.0
"""A hostile user of a machine on which fare processes of one job find each other: takes ports before them, holds connections, sends
bytes, listens in and repeats. Needs nothing of the job: which ports are listened at, every user can see."""
import os
import selectors
import socket
import threading
import time
from pathlib import Path

FIRST, PORTS, TRIES = 20000, 12000, 8  # where fare listens, and how many ports it tries, one after the other


def listening():
    """{port: inode} of those in fare's range that somebody listens at."""
    found = {}
    for name in ("tcp", "tcp6"):
        for words in map(str.split, Path("/proc/net", name).read_text().splitlines()[1:]):
            port = int(words[1].rsplit(":", 1)[1], 16)
            if words[3] == "0A" and FIRST <= port < FIRST + PORTS:
                found[port] = words[9]
    return found


def port_of(pid, seconds=20):
    """The port at which this process listens; None: at none."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        inodes = set()
        for fd in Path(f"/proc/{pid}/fd").glob("*"):
            try:
                inodes.add(os.readlink(fd))
            except OSError:
                pass
        for port, inode in listening().items():
            if f"socket:[{inode}]" in inodes:
                return port
        time.sleep(0.05)
    return None


def following(port, count):
    return [FIRST + (port - FIRST + i) % PORTS for i in range(count)]


class Busy:
    """What it does in a thread until close()."""

    def __init__(self):
        self.selector, self.over = selectors.DefaultSelector(), False
        self.open()
        self.thread = threading.Thread(target=self.work, daemon=True)
        self.thread.start()

    def work(self):
        while not self.over:
            for key, _ in self.selector.select(0.05):
                try:
                    key.data(key.fileobj)
                except OSError:
                    self.drop(key.fileobj)
            self.tick()

    def tick(self):
        pass

    def drop(self, s):
        if s.fileno() >= 0:
            self.selector.unregister(s)
            s.close()

    def close(self):
        self.over = True
        self.thread.join()
        for key in list(self.selector.get_map().values()):
            self.drop(key.fileobj)


class Squatter(Busy):
    """Takes ports before fare does. To who comes it sends one of `words`, another at each port; None: it sends back what it gets."""

    def __init__(self, ports, words):
        self.ports, self.words, self.visits = ports, words, 0
        super().__init__()

    def open(self):
        for i, port in enumerate(self.ports):
            s = socket.socket()
            s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            s.bind(("127.0.0.1", port))
            s.listen(64)
            self.selector.register(s, selectors.EVENT_READ, lambda s, w=self.words[i % len(self.words)]: self.visit(s, w))

    def visit(self, s, word):
        one = s.accept()[0]
        self.visits += 1
        self.selector.register(one, selectors.EVENT_READ, lambda s: self.hear(s, word))
        if word:
            one.sendall(word)

    def hear(self, s, word):
        got = s.recv(1 << 16)
        if not got:
            self.drop(s)
        elif word is None:
            s.sendall(got)


class Relay(Squatter):
    """Takes a port and passes everything on to another, also what `inject` adds to the first answer. Keeps what was said: `spoken`, one
    bytearray for each connection, is what came from the side that connected."""

    def __init__(self, port, to, inject=b""):
        self.to, self.inject, self.spoken = to, inject, []
        super().__init__([port], [b""])

    def visit(self, s, word):
        one, said = s.accept()[0], bytearray()
        try:
            other = socket.create_connection(("127.0.0.1", self.to), 5)
        except OSError:  # fare is not there yet
            return one.close()
        self.visits += 1
        self.spoken.append(said)
        todo = [self.inject]
        self.selector.register(one, selectors.EVENT_READ, lambda s: self.carry(s, other, said, []))
        self.selector.register(other, selectors.EVENT_READ, lambda s: self.carry(s, one, bytearray(), todo))

    def carry(self, s, to, said, todo):
        got = s.recv(1 << 16)
        said += got
        if got:
            to.sendall(got + (todo.pop() if todo else b""))
        else:
            self.drop(s)
            self.drop(to)


class Flood(Busy):
    """Holds `count` connections to a port, each after one of `words`, and opens a new one for each that is closed."""

    def __init__(self, port, count, words):
        self.port, self.count, self.words, self.opened = port, count, words, 0
        super().__init__()

    def open(self):
        while len(self.selector.get_map() or ()) < self.count:
            s = socket.socket()
            s.setblocking(False)
            s.connect_ex(("127.0.0.1", self.port))
            word = self.words[self.opened % len(self.words)]
            self.opened += 1
            self.selector.register(s, selectors.EVENT_WRITE, lambda s, word=word: self.say(s, word))

    def say(self, s, word):
        self.selector.modify(s, selectors.EVENT_READ, self.hear)
        s.send(word)

    def hear(self, s):
        if not s.recv(1 << 16):
            self.drop(s)

    def tick(self):
        self.open()


def repeat(port, words, seconds=2):
    """Sends what was recorded, and returns what is answered."""
    answer = b""
    with socket.socket() as s:
        s.settimeout(seconds)
        try:
            s.connect(("127.0.0.1", port))
            s.sendall(words)
            while got := s.recv(1 << 16):
                answer += got
        except OSError:
            pass
    return answer
