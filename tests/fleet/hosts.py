# SPDX-License-Identifier: Apache-2.0
"""Hosts with a real sshd, each in namespaces of its own: network, processes, mounts and a disk.

    hosts.missing()             why there can be none here, or ""
    hosts.enter()               puts this process into its own network and mount namespaces
    h = hosts.Host(folder, 1)   started; reached as "h1" by `ssh -F folder/config`
    h.kill(); h.start()         the power goes; it starts again with the same disk
    h.cut(); h.mend()           the cable
    h.slow("300kbit"); h.quick()
    h.fill(); h.empty()         the disk
    h.processes("FARE_TASK")    those with this text in their environment
"""
import atexit
import ctypes
import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

NEWNS, NEWNET = 0x00020000, 0x40000000
libc = ctypes.CDLL(None, use_errno=True)


def missing():
    for program in ("sshd", "ssh", "ssh-keygen", "ip", "unshare", "mount"):
        if not shutil.which(program, path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin"):
            return f"{program} is not installed"
    if os.geteuid() != 0:
        return "network namespaces need root"
    p = subprocess.run(["unshare", "--net", "--mount", "--pid", "--fork", "--mount-proc", "ip", "link", "add", "veth-try", "type", "veth",
                        "peer", "name", "veth-peer"], capture_output=True, text=True)
    return "" if p.returncode == 0 else f"no namespaces here: {(p.stderr.strip() or 'refused').splitlines()[-1]}"


def run(*words, **more):
    return subprocess.run([str(w) for w in words], check=True, capture_output=True, text=True, **more)


def enter():
    os.environ["PATH"] += ":/usr/sbin:/sbin"
    if libc.unshare(NEWNS | NEWNET) != 0:
        raise OSError(ctypes.get_errno(), "unshare")
    run("mount", "--make-rprivate", "/")
    run("ip", "link", "set", "lo", "up")


def setup(folder):
    """Keys and the client's configuration; each host adds its own part."""
    folder = Path(folder)
    run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", folder / "key")
    (folder / "known_hosts").write_text("")
    (folder / "config").write_text(f"Host *\nIdentityFile {folder}/key\nIdentitiesOnly yes\nUserKnownHostsFile {folder}/known_hosts\n"
                                   "GlobalKnownHostsFile /dev/null\nStrictHostKeyChecking yes\nUser root\n")


class Host:
    def __init__(self, folder, number, disk="64m", known=True):
        self.folder, self.number = Path(folder) / f"host{number}", number
        self.name, self.address, self.link = f"h{number}", f"10.77.{number}.2", f"veth{number}"
        self.process = None
        for name in ("home", "run"):
            (self.folder / name).mkdir(parents=True)
        run("mount", "-t", "tmpfs", "-o", f"size={disk},mode=700", "disk", self.folder / "home")
        run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", self.folder / "hostkey")
        public = (self.folder / "hostkey.pub").read_text().split()
        top = Path(folder)
        if known:
            with open(top / "known_hosts", "a") as f:
                f.write(f"{self.address} {public[0]} {public[1]}\n")
        config = (top / "config").read_text()
        (top / "config").write_text(f"Host {self.name}\n  HostName {self.address}\n\n" + config if number == 1 else
                                    config.replace("Host h1\n", f"Host {self.name}\n  HostName {self.address}\n\nHost h1\n"))
        (self.folder / "sshd").write_text(
            f"ListenAddress {self.address}\nHostKey {self.folder}/hostkey\nAuthorizedKeysFile {top}/key.pub\nPidFile none\n"
            "PermitRootLogin yes\nStrictModes no\nUsePAM no\nPasswordAuthentication no\nMaxStartups 100\nLogLevel ERROR\n")
        (self.folder / "init").write_text(
            f"mount --bind {self.folder}/home /root && mount --bind {self.folder}/run /run && mkdir -p /run/sshd || exit 1\n"
            f"hostname host{number}\n"
            f"while ! ip addr show dev eth0 2>/dev/null | grep -q {self.address}; do sleep 0.05; done\n"
            f"exec /usr/sbin/sshd -D -e -f {self.folder}/sshd\n")
        atexit.register(self.end)
        self.start()

    def start(self):
        log = open(self.folder / "log", "ab")
        self.process = subprocess.Popen(
            ["unshare", "--net", "--mount", "--pid", "--uts", "--fork", "--kill-child", "--mount-proc", "sh", "-c",
             (self.folder / "init").read_text()], stdin=subprocess.DEVNULL, stdout=log, stderr=log, env={"PATH": os.environ["PATH"], "HOME": "/root"})
        deadline = time.monotonic() + 20
        while not (pid := self.init()):
            if time.monotonic() > deadline:
                raise RuntimeError((self.folder / "log").read_text())
            time.sleep(0.02)
        run("ip", "link", "add", self.link, "type", "veth", "peer", "name", "eth0", "netns", pid)
        run("ip", "addr", "add", f"10.77.{self.number}.1/30", "dev", self.link)
        run("ip", "link", "set", self.link, "up")
        for words in (["addr", "add", f"{self.address}/30", "dev", "eth0"], ["link", "set", "eth0", "up"], ["link", "set", "lo", "up"]):
            run("nsenter", "-t", pid, "-n", "ip", *words)

    def wait(self, config):
        for _ in range(100):
            if subprocess.run(["ssh", "-F", config, "-o", "ConnectTimeout=1", "-o", "BatchMode=yes", self.name, "true"],
                              capture_output=True).returncode == 0:
                return
            time.sleep(0.1)
        raise RuntimeError(f"{self.name} does not answer: " + (self.folder / "log").read_text())

    def init(self):
        """The host's first process, seen from here."""
        try:
            children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()
        except OSError:
            return 0
        # It is in its own network only once unshare has forked.
        return int(children[0]) if children else 0

    def kill(self):
        if pid := self.init():
            os.kill(pid, signal.SIGKILL)
        self.process.wait()
        subprocess.run(["ip", "link", "del", self.link], capture_output=True)

    def cut(self):
        run("ip", "link", "set", self.link, "down")

    def mend(self):
        run("ip", "link", "set", self.link, "up")

    def slow(self, rate):
        run("tc", "qdisc", "replace", "dev", self.link, "root", "tbf", "rate", rate, "burst", "16kb", "latency", "2s")

    def quick(self):
        subprocess.run(["tc", "qdisc", "del", "dev", self.link, "root"], capture_output=True)

    def fill(self):
        try:
            with open(self.folder / "home/filler", "wb") as f:
                while True:
                    f.write(b"x" * 65536)
                    f.flush()
        except OSError:
            pass

    def empty(self):
        (self.folder / "home/filler").unlink(missing_ok=True)

    def files(self):
        """Everything on its disk, but for the filler."""
        top = self.folder / "home"
        return sorted(str(p.relative_to(top)) for p in top.rglob("*") if p.name != "filler")

    def processes(self, text):
        found, pid = [], self.init()
        try:
            mine = os.readlink(f"/proc/{pid}/ns/pid")
        except OSError:
            return []
        for name in os.listdir("/proc"):
            try:
                if name.isdigit() and os.readlink(f"/proc/{name}/ns/pid") == mine and text.encode() in Path(f"/proc/{name}/environ").read_bytes():
                    found.append(int(name))
            except OSError:
                pass
        return found

    def end(self):
        if self.process and self.process.poll() is None:
            self.kill()
        subprocess.run(["umount", "-l", str(self.folder / "home")], capture_output=True)


def small_bundle(folder, fare, version):
    """A bundle whose program is the one of the build, which the hosts see too: quick to copy and to unpack."""
    top = Path(folder) / f"fare-{version}"
    top.mkdir()
    # A sanitizer cannot look for leaks in a process namespace of its own.
    (top / "fare").write_text(f'#!/bin/sh\nASAN_OPTIONS=detect_leaks=0 exec {fare} "$@"\n')
    (top / "fare").chmod(0o755)
    run("tar", "-C", folder, "-czf", Path(folder) / "bundle.tar.gz", top.name)
    return Path(folder) / "bundle.tar.gz"
