#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the FinOps Foundation's FOCUS validator over exports of all kinds of bills (tests/view/focus_cases.py).

    python3.12 -m venv V && V/bin/pip install focus-validator==2.2.1 'pyarrow<20'                            # FOCUS 1.2
    python3.11 -m venv U && U/bin/pip install focus-validator==1.0.0 'pandas<2.2' 'pyarrow<16' \
        'multimethod<1.10' 'SQLAlchemy<2'
    bench/focus.py --fare build/fare --v12 V --v10 U

Release 2.2.1 has the rules of FOCUS 1.2, release 1.0.0 those of 1.0. The packages lack a list of currencies, which is
written where they look for it. Release 1.0.0 reads typed Parquet, since it takes an empty column of a CSV file for numbers,
and gets four columns under its own names, which are not those of FOCUS 1.0: Provider, Publisher, InvoiceIssuer,
ResourceID. Its rule about SkuPriceId reads ChargeType, the name of ChargeCategory in FOCUS 0.5.
Prints the rules passed, failed and skipped; exits with 1 if one failed. Rules that no conforming file can pass (IMPOSSIBLE)
are counted apart.
"""
import argparse
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests" / "view"))
from focus_cases import exports  # noqa: E402

# What the specification makes conditional and applies to a bill by fare.
APPLIES = ("AVAILABILITY_ZONE_SUPPORTED COMMITMENT_DISCOUNT_SUPPORTED MULTIPLE_PRICING_CATEGORIES_SUPPORTED "
           "NEGOTIATED_PRICING_SUPPORTED PUBLIC_PRICE_LIST_SUPPORTED USAGE_MEASUREMENT_SUPPORTED UNIT_PRICING_SUPPORTED "
           "BILLING_BASED_ON_PROVISIONED_RESOURCES_SUPPORTED RESOURCE_TYPE_ASSIGNMENT_SUPPORTED REGION_SUPPORTED "
           "TAGGING_SUPPORTED").split()

# Rules of the model 1.2.0.1 that contradict the specification or each other.
IMPOSSIBLE = {
    "InvoiceId-C-005-C": "never null; its alternative, C-004, is always null; one of them passes",
    "CommitmentDiscountStatus-C-004-C": "not null without a commitment; C-003 demands null",
    "CommitmentDiscountStatus-C-005-M": "Active, Expired or Pending; the specification has Used and Unused",
    "CommitmentDiscountStatus-C-002-C": "C-003 and C-004",
    "CommitmentDiscountStatus-C-000-C": "C-002 and C-005",
}

TO_PARQUET = """
import pandas as pd, pyarrow as pa, pyarrow.parquet as pq, sys
decimals = [l for l in open(sys.argv[1]).readline().strip().split(",") if l.endswith(("Cost", "Price", "Quantity"))]
table = pd.read_csv(sys.argv[1], dtype=str)
table[decimals] = table[decimals].astype(float)
table = table.rename(columns={"ProviderName": "Provider", "PublisherName": "Publisher",
                              "InvoiceIssuerName": "InvoiceIssuer", "ResourceId": "ResourceID"})
table["ChargeType"] = table["ChargeCategory"]
schema = pa.schema([(c, pa.float64() if c in decimals else pa.string()) for c in table.columns])
pq.write_table(pa.Table.from_pandas(table, schema=schema, preserve_index=False), sys.argv[2])
"""


def run(folder, *command):
    p = subprocess.run([str(c) for c in command], cwd=folder, capture_output=True, text=True)
    if "Traceback" in p.stderr:
        sys.exit(p.stderr)
    return p.stdout + p.stderr


def version(venv):
    return run(".", venv / "bin/python", "-c", "import importlib.metadata as m; print(m.version('focus-validator'))").strip()


def check_12(venv, folder, csv):
    out = run(folder, venv / "bin/focus-validator", "--data-file", csv, "--validate-version", "1.2.0.1", "--block-download",
              "--applicability-criteria", ",".join(APPLIES))
    counts = re.search(r"Total: \d+ \| Pass: (\d+) \| Fail: \d+ \| Skipped: (\d+)", out)
    return int(counts[1]), int(counts[2]), re.findall(r"^❌ (.*)", out, re.M)


def check_10(venv, folder, csv):
    run(folder, venv / "bin/python", "-c", TO_PARQUET, csv, "typed.parquet")
    run(folder, venv / "bin/focus-validator", "--data-file", "typed.parquet", "--validate-version", "1.0", "--output-type",
        "unittest", "--output-destination", "rules.xml")
    rules = (folder / "rules.xml").read_text()
    total = len(re.findall(r"<testcase\b", rules))
    failed = re.findall(r"<failure[^>]*message=\"([^\"]*)", rules) + re.findall(r"<error[^>]*message=\"([^\"]*)", rules)
    return total - len(failed), 0, failed


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--fare", type=Path, default=ROOT / "build/fare")
    parser.add_argument("--v12", type=Path, help="virtual environment with focus-validator 2.2.1")
    parser.add_argument("--v10", type=Path, help="virtual environment with focus-validator 1.0.0")
    o = parser.parse_args()
    bad = 0
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        for place in ("rules", "utils"):
            (folder / "focus_validator" / place).mkdir(parents=True)
            (folder / "focus_validator" / place / "currency_codes.csv").write_text("currency_codes\nUSD\nEUR\n")
        texts = dict(exports(o.fare.absolute(), folder))
        lines = [t.splitlines(True) for t in texts.values()]
        rows = [line for t in lines for line in t[1:]]
        (folder / "all.csv").write_text("".join([lines[0][0], *rows]))
        for venv, spec, check in ((o.v10, "1.0", check_10), (o.v12, "1.2", check_12)):
            if not venv:
                continue
            passed, skipped, names = check(venv.absolute(), folder, folder / "all.csv")
            failed = [n for n in names if n.split(":")[0] not in IMPOSSIBLE]
            bad += len(failed)
            print(f"FOCUS {spec}, focus-validator {version(venv.absolute())}: {len(texts)} exports, {len(rows)} rows: "
                  f"{passed} rules passed, {len(failed)} failed, {len(names) - len(failed)} impossible, {skipped} skipped")
            for name in failed:
                print(" ", name)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
