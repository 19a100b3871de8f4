# SPDX-License-Identifier: Apache-2.0
"""A real Slurm on this machine for tests: munge, slurmctld, and a slurmd for each node. Needs root."""
import os
import shutil
import socket
import subprocess
import time
from pathlib import Path

SEARCH = os.environ.get("PATH", "") + ":/usr/sbin:/sbin"


def why_not(*more):
    """Why it cannot be started here, with these programs too; empty: it can."""
    missing = [p for p in ("slurmctld", "slurmd", "sbatch", "munged", *more) if not shutil.which(p, path=SEARCH)]
    return f"{', '.join(missing)} not installed" if missing else "" if os.geteuid() == 0 else "needs root"


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def wait_for(what, seconds=40):
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if what():
            return True
        time.sleep(0.2)
    return False


class Slurm:
    """The cluster in folder `top`. `nodes`: names with what else slurm.conf says of them; `more`: further lines."""

    def __init__(self, top, nodes, more, gres=""):
        self.top, self.nodes = Path(top), list(nodes)
        self.top.chmod(0o755)  # munged wants it
        self.env = {**os.environ, "PATH": SEARCH, "SLURM_CONF": str(self.top / "slurm.conf"), "FARE_METADATA": "off",
                    "HOME": str(self.top)}
        self.env.pop("FARE_LEDGER", None)
        self.running = {}
        host = socket.gethostname()
        lines = "\n".join(f"NodeName={n} NodeHostname={host} NodeAddr=127.0.0.1 Port={free_port()} {s}" for n, s in nodes.items())
        (self.top / "slurm.conf").write_text(f"""\
ClusterName=loop
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={free_port()}
SlurmUser=root
SlurmdUser=root
StateSaveLocation={top}/state
SlurmdSpoolDir={top}/spool.%n
SlurmctldPidFile={top}/ctld.pid
SlurmdPidFile={top}/slurmd.%n.pid
SlurmctldLogFile={top}/ctld.log
SlurmdLogFile={top}/slurmd.%n.log
# A job that is put back waits until its credential has expired: 120 s by default.
AuthInfo=socket={top}/munge.socket,cred_expire=5
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
ReturnToService=2
SlurmdParameters=config_overrides
CommunicationParameters=NoInAddrAny
{more}
{lines}
""")
        if self.version() >= (23, 2):  # it would ask systemd for one
            (self.top / "cgroup.conf").write_text("CgroupPlugin=disabled\n")
        if gres:
            (self.top / "gres.conf").write_text(gres)
        (self.top / "state").mkdir()
        (self.top / "munge.key").write_bytes(os.urandom(128))
        (self.top / "munge.key").chmod(0o600)

    def version(self):
        """(22, 5) of Debian 12, (24, 11) of Debian 13."""
        words = subprocess.run(["slurmd", "-V"], env=self.env, capture_output=True, text=True).stdout.split()
        return tuple(int(n) for n in words[-1].split(".")[:2])

    def daemon(self, name, program, *options):
        with open(self.top / f"{program}.out", "ab") as out:
            self.running[name] = subprocess.Popen([shutil.which(program, path=SEARCH), *options], env=self.env, stdin=subprocess.DEVNULL,
                                                  stdout=out, stderr=out)

    def end(self, name, kill=False):
        p = self.running.pop(name)
        p.kill() if kill else p.terminate()
        try:
            p.wait(10)
        except subprocess.TimeoutExpired:
            p.kill()
            p.wait()

    def start_controller(self, *options):
        self.daemon("ctld", "slurmctld", "-D", *options)

    def start_node(self, name):
        self.daemon(name, "slurmd", "-D", "-N", name)

    def start(self):
        """Whether all nodes are idle in the end."""
        top = self.top
        self.daemon("munge", "munged", "-F", "--force", f"--key-file={top}/munge.key", f"--socket={top}/munge.socket",
                    f"--pid-file={top}/munge.pid", f"--log-file={top}/munge.log", f"--seed-file={top}/munge.seed")
        wait_for((top / "munge.socket").exists)
        self.start_controller("-c")
        for node in self.nodes:
            self.start_node(node)
        return wait_for(self.is_idle)

    def is_idle(self):
        states = self.tool("sinfo", "-h", "-N", "-o", "%N %T").stdout.split()
        return set(states[::2]) == set(self.nodes) and set(states[1::2]) == {"idle"}

    def stop(self):
        for name in reversed(list(self.running)):
            self.end(name)

    def tool(self, *command):
        return subprocess.run(command, env=self.env, capture_output=True, text=True, timeout=60)

    def said(self):
        return "".join(p.read_text()[-1500:] for p in self.top.glob("*.out"))
