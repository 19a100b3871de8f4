# SPDX-License-Identifier: Apache-2.0
"""Many hosts that do not exist: `fare run --on ssh:@FILE` with standin.sh for ssh; what the dispatcher itself needs."""
import json
import os
import subprocess
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent


def simulate(fare, count, jobs, seconds, looks, bad=0, more=()):
    """Returns a dict: wall_s, cpu_s and peak_mib of the dispatcher alone; done, failed; records in the ledger."""
    with tempfile.TemporaryDirectory(prefix="fare-many-") as top:
        top = Path(top)
        env = dict(os.environ, XDG_DATA_HOME=f"{top}/data", FARE_BUNDLE=f"{top}/bundle", LC_ALL="C")
        env.pop("FARE_LEDGER", None)
        subprocess.run([fare, "run", "l1", "--n", "16", "--m", "16", "--dim", "8", "--steps", "1", "--max-time", "1s", "--ledger", f"{top}/one.db"], env=env, check=True,
                       capture_output=True)
        record = subprocess.run([fare, "runs", "export", "--ledger", f"{top}/one.db"], env=env, check=True, capture_output=True, text=True).stdout.strip()
        run_id = json.loads(record)["id"]
        record = json.dumps({**json.loads(record), "labels": [{"key": "dispatch", "value": "DISPATCH-ID"}]})
        head, tail = record.split(run_id, 1)
        (top / "head").write_text(head + "standin-\n")
        (top / "tail").write_text(tail + "\n")
        (top / "bundle").write_text("nothing")
        (top / "hosts").write_text("".join(f"{'bad' if i < bad else 'host'}{i}\n" for i in range(count)))
        (top / "state").mkdir()
        for name in ("head", "tail"):
            os.link(top / name, top / "state" / name)
        env["FARE_SSH"] = f"{HERE}/standin.sh {top}/state {seconds} {looks}"
        began = time.monotonic()
        with open(top / "log", "w") as log:
            p = subprocess.Popen([fare, "run", "mlp", "--on", f"ssh:@{top}/hosts", "--jobs", str(jobs), *more], env=env, stdout=log, stderr=log,
                                 stdin=subprocess.DEVNULL)
            peak = cpu = 0.0
            while p.poll() is None:
                try:
                    stat = Path(f"/proc/{p.pid}/stat").read_text().rsplit(")", 1)[1].split()
                    cpu = (int(stat[11]) + int(stat[12])) / os.sysconf("SC_CLK_TCK")
                    for line in Path(f"/proc/{p.pid}/status").read_text().splitlines():
                        if line.startswith("VmHWM:"):
                            peak = max(peak, int(line.split()[1]) / 1024)
                except (OSError, IndexError):
                    pass
                time.sleep(0.2)
        wall = time.monotonic() - began
        state = {}
        for line in next(top.glob("data/fare/fleet/*/log.jsonl")).read_text().splitlines():
            now = json.loads(line)
            state[now["number"]] = now
        out = subprocess.run([fare, "runs", "export"], env=env, capture_output=True, text=True).stdout
        ids = [json.loads(line)["id"] for line in out.split("\n") if line]
        return {"wall_s": wall, "cpu_s": cpu, "peak_mib": peak, "code": p.returncode,
                "done": sum(s["state"] == "done" for s in state.values()),
                "failed": [s.get("problem", "") for s in state.values() if s["state"] == "failed"],
                "records": len(ids), "different": len(set(ids)), "log": (top / "log").read_text()[-2000:]}
