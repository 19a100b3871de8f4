# SPDX-License-Identifier: Apache-2.0
"""FOCUS exports against the specification, whose columns, types and rules are written down here from its text:
FOCUS 1.2 (2025-05-29), specification/columns and specification/attributes; the columns of 1.0 too. bench/focus.py runs the
FinOps Foundation's own validator over the same exports."""
import csv
import io
import json
import os
import re
import sys
from datetime import datetime
from fractions import Fraction as F

sys.path.insert(0, os.environ["TESTS"])
import tap  # noqa: E402
from view.focus_cases import RUNS, exports  # noqa: E402

# Feature level "Mandatory" in 1.2: type, and whether null is allowed. All of them are in 1.0 too.
MANDATORY = {
    "BilledCost": ("decimal", False), "BillingAccountId": ("string", False), "BillingAccountName": ("string", True),
    "BillingCurrency": ("currency", False), "BillingPeriodEnd": ("time", False), "BillingPeriodStart": ("time", False),
    "ChargeCategory": ("string", False), "ChargeClass": ("string", True), "ChargeDescription": ("string", True),
    "ChargePeriodEnd": ("time", False), "ChargePeriodStart": ("time", False), "ContractedCost": ("decimal", False),
    "EffectiveCost": ("decimal", False), "InvoiceIssuerName": ("string", False), "ListCost": ("decimal", False),
    "PricingQuantity": ("decimal", True), "PricingUnit": ("string", True), "ProviderName": ("string", False),
    "PublisherName": ("string", False), "ServiceCategory": ("string", False), "ServiceName": ("string", False)}
# The other columns of 1.0, and those of 1.2 that the export has.
OTHERS = {
    "AvailabilityZone": "string", "ChargeFrequency": "string", "CommitmentDiscountCategory": "string",
    "CommitmentDiscountId": "string", "CommitmentDiscountName": "string", "CommitmentDiscountStatus": "string",
    "CommitmentDiscountType": "string", "ConsumedQuantity": "decimal", "ConsumedUnit": "string",
    "ContractedUnitPrice": "decimal", "ListUnitPrice": "decimal", "PricingCategory": "string", "RegionId": "string",
    "RegionName": "string", "ResourceId": "string", "ResourceName": "string", "ResourceType": "string", "SkuId": "string",
    "SkuPriceId": "string", "SubAccountId": "string", "SubAccountName": "string", "Tags": "json"}
NEWER = {
    "CommitmentDiscountQuantity": "decimal", "CommitmentDiscountUnit": "string", "InvoiceId": "string",
    "PricingCurrency": "currency", "PricingCurrencyContractedUnitPrice": "decimal",
    "PricingCurrencyEffectiveCost": "decimal", "PricingCurrencyListUnitPrice": "decimal", "ServiceSubcategory": "string",
    "SkuMeter": "string", "SkuPriceDetails": "json"}
ALLOWED = {
    "ChargeCategory": {"Usage", "Purchase", "Tax", "Credit", "Adjustment"}, "ChargeClass": {"Correction"},
    "ChargeFrequency": {"One-Time", "Recurring", "Usage-Based"}, "CommitmentDiscountCategory": {"Spend", "Usage"},
    "CommitmentDiscountStatus": {"Used", "Unused"}, "PricingCategory": {"Standard", "Dynamic", "Committed", "Other"},
    "ServiceCategory": {
        "AI and Machine Learning", "Analytics", "Business Applications", "Compute", "Databases", "Developer Tools",
        "Multicloud", "Identity", "Integration", "Internet of Things", "Management and Governance", "Media", "Migration",
        "Mobile", "Networking", "Security", "Storage", "Web", "Other"},
    "ServiceSubcategory": {"Virtual Machines", "Block Storage", "Network Connectivity", "Other (Other)"}}
# UnitFormat: plural units, or a unit and plural time units.
UNITS = {"Hours", "Months", "GB", "GB-Months", "Units"}


def is_time(text):
    return re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", text) and datetime.fromisoformat(text.replace("Z", "+00:00"))


def is_json(text):
    try:
        return isinstance(json.loads(text), dict)
    except ValueError:
        return False


TYPES = {"string": lambda t: t == t.strip(), "decimal": lambda t: re.fullmatch(r"-?\d+(\.\d+)?(E-?\d+)?", t),
         "currency": lambda t: t in {"USD", "EUR"}, "time": is_time, "json": is_json}


def faults_of_cells(row):
    types = {**{c: t for c, (t, _) in MANDATORY.items()}, **OTHERS, **NEWER}
    for column, text in row.items():
        if text == "":
            if column in MANDATORY and not MANDATORY[column][1] or column in ("ChargeFrequency", "ServiceSubcategory"):
                yield f"{column} is null"
        elif not TYPES[types[column]](text):
            yield f"{column} is {text!r}, no {types[column]}"
        elif column in ALLOWED and text not in ALLOWED[column]:
            yield f"{column} is {text!r}"
        elif column.endswith("Unit") and text not in UNITS:
            yield f"{column} is {text!r}"


def faults_of_row(row):
    """Rules between columns."""
    charged = row["ChargeCategory"] in ("Usage", "Purchase")
    for column in ("PricingQuantity", "PricingCategory", "ListUnitPrice", "ContractedUnitPrice", "SkuId", "SkuPriceId"):
        if charged and not row[column]:
            yield f"{column} is null"
    if bool(row["ConsumedQuantity"]) != (row["ChargeCategory"] == "Usage"):
        yield "ConsumedQuantity of other than usage, or none of usage"
    for one, other in (("PricingQuantity", "PricingUnit"), ("ConsumedQuantity", "ConsumedUnit"), ("RegionId", "RegionName"),
                       ("ResourceId", "ResourceType"), ("CommitmentDiscountId", "CommitmentDiscountCategory"),
                       ("CommitmentDiscountId", "CommitmentDiscountType"), ("CommitmentDiscountId", "CommitmentDiscountStatus"),
                       ("CommitmentDiscountId", "CommitmentDiscountQuantity"),
                       ("CommitmentDiscountQuantity", "CommitmentDiscountUnit")):
        if bool(row[one]) != bool(row[other]):
            yield f"one of {one} and {other} is null"
    if (row["PricingCategory"] == "Committed") != bool(row["CommitmentDiscountId"]):
        yield "Committed without a commitment, or the other way round"
    if row["ChargeCategory"] == "Purchase" and row["ChargeFrequency"] == "Usage-Based":
        yield "a purchase is not by usage"
    for cost in ("List", "Contracted"):
        if row["PricingQuantity"]:
            product = F(row["PricingQuantity"]) * F(row[cost + "UnitPrice"])
            if abs(product - F(row[cost + "Cost"])) > F(1, 10**9) * max(1, abs(product)) or F(row[cost + "UnitPrice"]) < 0:
                yield f"{cost}Cost is not PricingQuantity × {cost}UnitPrice"
        elif row[cost + "Cost"] != row["BilledCost"]:
            yield f"{cost}Cost of a charge without a price is not BilledCost"
    if not row["BillingPeriodStart"] <= row["ChargePeriodStart"] < row["ChargePeriodEnd"] <= row["BillingPeriodEnd"]:
        yield "the charge is outside its period"


rows, by_case, texts = [], {}, {}
for name, text in exports(os.environ["FARE"], os.environ["TMPDIR"]):
    texts[name] = text
    by_case[name] = list(csv.DictReader(io.StringIO(text)))
    rows += by_case[name]

heads = {t.splitlines()[0] for t in texts.values()}
have = next(iter(heads)).split(",")
tap.report("one header, without repetition", len(heads) == 1 and len(have) == len(set(have)), heads)
needed = set(MANDATORY) | set(OTHERS)
tap.report("all columns of 1.0 and the mandatory ones of 1.2", needed <= set(have), needed - set(have))
tap.report("no column that the specification does not know", set(have) <= needed | set(NEWER), have)
faults = [f"{name}: {fault}" for name, of in by_case.items() for row in of for fault in faults_of_cells(row)]
tap.report("types, null and allowed values", not faults, faults[:9])
faults = [f"{name}: {fault}" for name, of in by_case.items() for row in of for fault in faults_of_row(row)]
tap.report("rules between columns", not faults, faults[:9])
services, skus = {}, {}
for row in rows:
    services.setdefault(row["ServiceName"], set()).add(row["ServiceCategory"])
    skus.setdefault(row["SkuPriceId"], set()).add(row["SkuId"])
tap.report("a service has one category, a price one product", all(len(v) == 1 for v in (*services.values(), *skus.values())),
           services)

# ---- what the rows say, by hand

tap.report("every case but one has rows", [n for n, of in by_case.items() if not of] == ["unknown price"],
           {n: len(of) for n, of in by_case.items()})


def only(case, what):
    return next(row for row in by_case[case] if row["ChargeDescription"] == what)


train = only("eight GPUs", "train")
tap.report("40 hours on eight GPUs", F(train["PricingQuantity"]) == 40 and json.loads(train["SkuPriceDetails"])["GpuCount"] == 8
           and json.loads(train["Tags"]) == {"workload": "eight", "framework": "pytorch", "run": RUNS[1]["id"]}, train)
spot = only("spot", "train")
tap.report("spot is dynamic, and the same product as on demand", spot["PricingCategory"] == "Dynamic"
           and spot["SkuPriceId"].endswith(":spot") and ":" not in spot["SkuId"] and F(spot["ConsumedQuantity"]) == F("2.5"),
           spot)
month = by_case["published, by the month, EUR"]
tap.report("a month in months, 720 hours", sum(F(r["PricingQuantity"]) for r in month) - 1 < F(1, 10**9)
           and {r["PricingUnit"] for r in month} == {"Months"} and {r["ChargeFrequency"] for r in month} == {"Recurring"}, month)
egress = only("disk and traffic, aws", "egress")  # 700 GB of which 100 are free, at 0.09 USD
tap.report("traffic by the GB", F(egress["PricingQuantity"]) == 700 and F(egress["BilledCost"]) == 54, egress)
kept = [only("disk and traffic", w) for w in ("storage", "storage while stopped")]  # RunPod: 0.10 and 0.20 USD, 30 days
tap.report("disks by the GB and month", abs(sum(F(r["PricingQuantity"]) for r in kept) - 100) < F(1, 10**6)
           and [r["ListUnitPrice"] for r in kept] == ["0.1", "0.2"]
           and {r["ServiceCategory"] for r in kept} == {"Storage"}, kept)
own = only("own rate", "train")
tap.report("an own rate is contracted", F(own["ContractedUnitPrice"]) == F("9.99") != F(own["ListUnitPrice"]), own)
less = only("discount and credit", "train")
tap.report("a discount is billed", F(less["BilledCost"]) == F(less["ContractedCost"]) * F(9, 10), less)
tap.report("a credit", F(only("discount and credit", "credit")["BilledCost"]) == F("-0.5"))
committed = only("commitment", "train")
tap.report("a commitment", committed["PricingCategory"] == "Committed" and committed["ContractedCost"] == committed["ListCost"]
           and F(committed["BilledCost"]) < F(committed["ListCost"]) and committed["CommitmentDiscountStatus"] == "Used",
           committed)
tap.report("a time without a run has no resource", {r["ResourceId"] for r in by_case["several months"]} == {""})
tap.report("a report has a bill of each workload", {json.loads(r["Tags"])["workload"] for r in by_case["report"]}
           == {"one", "eight"}, by_case["report"])
tap.done()
