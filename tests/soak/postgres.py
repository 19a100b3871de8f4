# SPDX-License-Identifier: Apache-2.0
"""fare serve on a PostgreSQL that stalls or is stopped: pages without the ledger go on, SIGTERM ends the server, and every acknowledged run
is there when the database is back."""
import glob
import os
import pwd
import signal
import socket
import subprocess
import threading
import time
from pathlib import Path

from round import Fault, counts
from serve import Server, kept_in

BIN = (sorted(glob.glob("/usr/lib/postgresql/*/bin")) or [""])[-1]


class Database:
    def __init__(self, folder):
        self.folder, self.user = folder, []
        if os.geteuid() == 0:  # PostgreSQL refuses to be root
            name = next(n for n in ("postgres", "nobody") if n in {p.pw_name for p in pwd.getpwall()})
            self.user = ["runuser", "-u", name, "--"]
            os.chown(folder, pwd.getpwnam(name).pw_uid, -1)
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            self.port = s.getsockname()[1]
        self.call("initdb", "-D", folder / "db", "-U", "fare", "--auth=trust", "--no-sync", "-E", "UTF8", "--locale=C.UTF-8")
        self.start()

    def call(self, program, *arguments, check=True):
        subprocess.run([*self.user, f"{BIN}/{program}", *map(str, arguments)], cwd=self.folder, check=check, timeout=120,
                       stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def start(self):
        self.call("pg_ctl", "-D", self.folder / "db", "-l", self.folder / "log", "-w", "start", "-o",
                  f"-c listen_addresses=127.0.0.1 -c port={self.port} -c unix_socket_directories={self.folder} -c fsync=off")

    def stop(self, check=True):
        self.call("pg_ctl", "-D", self.folder / "db", "-w", "stop", "-m", "immediate", check=check)

    def signal(self, which):
        master = int((self.folder / "db/postmaster.pid").read_text().split()[0])
        for pid in [master, *map(int, Path(f"/proc/{master}/task/{master}/children").read_text().split())]:
            try:
                os.kill(pid, which)
            except ProcessLookupError:
                pass


def stall(r, database, url, kept):
    s = Server(r, url).ready()
    kept |= s.push(*(r.record() for _ in range(10)))
    database.signal(signal.SIGSTOP)

    def wait_for_list(i):
        try:
            s.ask(f"/?page={i + 1}")
        except Fault:
            pass

    stuck = [threading.Thread(target=wait_for_list, args=(i,)) for i in range(20)]
    try:
        for t in stuck:
            t.start()
        time.sleep(r.random.uniform(0, 0.3))
        began = time.monotonic()
        status, _ = s.ask("/prices?gpu=h100")
        if status != 200 or time.monotonic() - began > 5:
            raise Fault(f"stalled: the prices were answered {status} after {time.monotonic() - began:.1f} s")
        s.end(signal.SIGTERM)
        counts["PostgreSQL stalled"] += 1
    finally:
        database.signal(signal.SIGCONT)
        for t in stuck:
            t.join()


def stop_and_start(r, database, url, kept):
    """Runs measured while the database is down wait in the spool."""
    s = Server(r, url).ready()
    kept |= s.push(r.record(), r.record())
    database.stop()
    status, _ = s.ask("/prices")
    if status != 200:
        raise Fault(f"stopped: the prices were answered {status}")
    kept |= s.push(r.record())
    r.fare("run", "--ledger", url, "--", "true", codes=(0,))
    database.start()
    kept |= s.push(r.record())
    counts["PostgreSQL stopped"] += 1
    s.end(signal.SIGTERM)


def play(r):
    if not BIN:
        return
    r.home.chmod(0o755)
    folder = r.home / "pg"
    folder.mkdir(mode=0o755)
    database = Database(folder)
    url = f"postgresql://fare@127.0.0.1:{database.port}/postgres"
    kept = set()
    try:
        for _ in range(3):
            stall(r, database, url, kept)
            stop_and_start(r, database, url, kept)
        there = kept_in(r, url)
        lost = kept - there
        if lost or len(there - kept) != 3:  # three were measured meanwhile
            raise Fault(f"PostgreSQL: lost {sorted(lost)}, measured {len(there - kept)} of 3")
        counts["acknowledged runs, all kept"] += len(kept)
    finally:
        database.stop(check=False)
