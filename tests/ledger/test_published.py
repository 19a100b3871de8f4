#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The published results in share/ against the tables and logs they come from, where FARE_DATA says those
are (published/README.md): every figure there is in a record, and the sums agree."""
import csv
import json
import os
import re
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, os.path.join(os.environ["ROOT"], "tests"))
from tap import done, report, skip  # noqa: E402

FARE, ROOT = os.environ["FARE"], Path(os.environ["ROOT"])


runs = {}
for path in sorted((ROOT / "share/published").glob("*.jsonl")):
    for line in path.read_text().splitlines():
        run = json.loads(line)
        runs[run["id"]] = run
labels = {i: {label["key"]: label["value"] for label in r.get("labels", [])} for i, r in runs.items()}
report("every record has its own id, a source, a workload, a machine and the month it was published in",
       all(r["id"].startswith("published-") and r["source"] and r["workload"] and r["machine"]["name"]
           and re.fullmatch(r"20\d\d-\d\d", labels[i]["published"]) for i, r in runs.items()))
report("what is derived says so", all(("derived" in labels[i]) == ("; derived" in r["source"])
                                      for i, r in runs.items()))
p = subprocess.run([FARE, "runs", "--published", "--json"], capture_output=True, text=True)
report("fare reads all of them", p.returncode == 0 and len(json.loads(p.stdout)["runs"]) == len(runs), p.stderr)

folder = Path(os.environ.get("FARE_DATA", "/nonexistent")) / "published"
if not (folder / "README.md").exists():
    skip("against the sources", "FARE_DATA names no folder with published/README.md")
    done()
text = (folder / "README.md").read_text()


def wall(i):
    return runs[i]["phases"]["wall_ns"] / 1e9


# ---- 2017: totals of the table, and the epochs of the logs
names = {"imdb BiLSTM": "imdb-bidirectional-lstm", "mnist_mlp": "mnist-mlp", "mnist_cnn": "mnist-cnn",
         "cifar10_cnn": "cifar10-cnn", "lstm_text": "lstm-text-generation"}
columns = ["k80-tensorflow", "k80-cntk", "p100-tensorflow", "p100-cntk", "cpu32-tensorflow", "cpu16-tensorflow"]
rows = re.findall(r"^\| (imdb BiLSTM|mnist_mlp|mnist_cnn|cifar10_cnn|lstm_text) \|(.*)\|$", text, re.M)
bad, checked = [], 0
for name, cells in rows:
    base_id = f"published-2017-{names[name]}-k80-tensorflow"
    for column, cell in zip(columns, cells.split("|")):
        figures = [float(x) for x in re.findall(r"[\d.]+", cell)]
        i = f"published-2017-{names[name]}-{column}"
        checked += 1
        if abs(wall(i) - figures[0]) > 0.0006:
            bad.append(f"{i}: {wall(i)} s, {figures[0]} in the table")
        if len(figures) == 3:
            price = {k: float(labels[k]["price_per_hour_usd"]) for k in (i, base_id)}
            ratio = wall(i) / wall(base_id), wall(i) * price[i] / (wall(base_id) * price[base_id])
            if abs(ratio[0] - figures[1]) > 0.00006 or abs(ratio[1] - figures[2]) > 0.00006:
                bad.append(f"{i}: ratios {ratio}, {figures[1:]} in the table")
report(f"{checked} totals and their ratios of 2017", checked == 30 and not bad, "\n".join(bad))
bad, logs = [], 0
for path in sorted(folder.glob("minimaxir-2017/*/*.csv")):
    workload, framework = path.stem.rsplit("_", 1)
    i = f"published-2017-{workload.replace('_', '-')}-{path.parent.name}-{framework}"
    table = list(csv.DictReader(open(path)))
    logs += 1
    for row, epoch in zip(table, runs[i]["epoch_list"], strict=True):
        pairs = (("elapsed", epoch["train_ns"] / 1e9), ("loss", epoch.get("train_loss")),
                 ("acc", epoch.get("train_accuracy")), ("val_loss", epoch.get("test_loss")),
                 ("val_acc", epoch.get("test_accuracy")), ("epoch", epoch["epoch"] - 1))
        for key, value in pairs:
            if (row[key] == "") != (value is None) or (value is not None and abs(float(row[key]) - value) > 1e-8):
                bad.append(f"{i}: {key} {row[key]} is {value}")
    # What `fare runs import` makes of the same log.
    home = Path(os.environ.get("TMPDIR", "/tmp")) / "import"
    env = {**os.environ, "XDG_DATA_HOME": str(home), "FARE_METADATA": "off"}
    ledger = str(home / f"{logs}.db")
    subprocess.run([FARE, "runs", "import", path, "--ledger", ledger], env=env, check=True, capture_output=True)
    got = json.loads(subprocess.run([FARE, "runs", "export", "--ledger", ledger], env=env, check=True,
                                    capture_output=True).stdout)
    if got["phases"]["wall_ns"] != runs[i]["phases"]["wall_ns"] or got["framework"] != framework \
            or len(got["epoch_list"]) != len(table):
        bad.append(f"{i}: imported differently: {got['phases']}")
report(f"the epochs of {logs} logs, and what an import makes of them", logs == 30 and not bad, "\n".join(bad))

# ---- 2018
rows = re.findall(r"^\| (.*?) \| (\d) ([\w ]+) \| ([\d.]+) \| ([\d.]+) % \| (\d+) % \| \$([\d.]+)", text, re.M)
tweets = [i for i in runs if i.startswith("published-2018-tweets")]
bad = []
for i, (provider, gpus, gpu, hours, accuracy, use, cost) in zip(tweets, rows):
    r = runs[i]
    same = (r["machine"]["gpus"] == int(gpus) and gpu in r["machine"]["gpu"] and abs(wall(i) - float(hours) * 3600) < 1e-6
            and abs(r["test_accuracy"] * 100 - float(accuracy)) < 1e-9 and r["use"]["gpu_percent"] == float(use)
            and labels[i]["printed_cost_usd"] == cost
            and provider.split()[0].lower().replace("gce", "gcp").rstrip(",") == r["machine"]["provider"])
    if not same:
        bad.append(f"{i}: {provider} {gpus} {gpu} {hours} {accuracy} {use} {cost}")
report(f"the {len(rows)} rows of 2018", len(rows) == 13 == len(tweets) and not bad, "\n".join(bad))

# ---- 2017, relative; 2015
for word, i, want in ((r"p2\.xlarge (\d+)×", "inception-aws-p2-xlarge", 1), (r"\$2,500\) (\d+)×", "inception-gtx-1080-ti", 1),
                      (r"GPU\+ (\d+) % faster", "inception-paperspace-gpu-plus", 0),
                      (r"P5000 (\d)× p2", "inception-paperspace-p5000", 0)):
    figure = float(re.search(word, text).group(1))
    speed = float(labels["published-2017-" + i]["relative_speed"])
    wanted = figure if want else 43 * figure if figure < 10 else 43 * (1 + figure / 100)
    report(f"the speed of {i}", abs(speed - wanted) < 1e-9, f"{speed}, {wanted}")
m = re.search(r"(\d+) ms on a GTX 660 PC, (\d+) ms on AWS g2.*?calculation (\d+) ms and (\d+) ms;.*?([\d.]+)× faster", text)
pc, g2 = (runs[f"published-2015-l1-{i}"]["phases"] for i in ("gtx-660", "aws-g2-2xlarge"))
k40 = runs["published-2015-l1-k40"]["phases"]["train_ns"]
report("the times of 2015", [pc["device_ns"], g2["device_ns"], pc["train_ns"], g2["train_ns"]]
       == [int(x) * 10**6 for x in m.groups()[:4]] and abs(k40 - int(m[3]) * 1e6 / float(m[5])) < 1, m.groups())
done()
