#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Bills of `fare quote`, recomputed by independent.py, which was written from docs/billing.md alone: each line, the total,
the ends of the interval and what is derived from them are compared to the last nano-unit.

The offers are those that ship. Providers with a tariff and no offer, and keys that no shipped tariff has, get offers and
tariffs of the user's own (OFFERS, TARIFFS), all with a K520, so that one quote bills them together.
"""
import collections
import json
import os
import re
import subprocess
import sys
import tempfile
from decimal import Decimal

ROOT, FARE = os.environ["ROOT"], os.environ["FARE"]
sys.path[:0] = [os.path.join(ROOT, "tests"), os.path.join(ROOT, "tests", "bill")]
from independent import NANO, Rule, Tables, Use, midnight, nano, quote  # noqa: E402
from tap import done, report  # noqa: E402

TODAY = "2026-11-18"
SECONDS = {"ms": Decimal("0.001"), "s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}
BYTES = {"GB": 10**9, "TB": 10**12, "GiB": 2**30}

OFFERS = """provider,name,region,kind,gpu,gpus,bare_metal,price,currency,per,date,source
coreweave,c,,on-demand,K520,1,,2.0599,,,2016-01-01,made
coreweave,c8,us,on-demand,K520,8,,49.24,,,2016-01-01,made
coreweave,m,,on-demand,K520,1,,0.013,,minute,2016-01-01,made
jarvislabs,j,,on-demand,K520,1,,0.79,,,2016-01-01,made
jarvislabs,j2,,on-demand,K520,2,,1.5801,,,2016-01-01,made
jarvislabs,j3,,on-demand,K520,3,,2.37,,,2016-01-01,made
modal,g,,on-demand,K520,1,,1.100001,,,2016-01-01,made
modal,g,us,on-demand,K520,1,,1.100001,,,2016-01-01,made
modal,g,us-east,on-demand,K520,1,,1.100001,,,2016-01-01,made
modal,s,eu-west,on-demand,K520,1,,0.000306,,second,2016-01-01,made
together,t,,on-demand,K520,8,,23.92,,,2016-01-01,made
together,t1,,on-demand,K520,1,,2.99,,,2016-01-01,made
together,t2,,on-demand,K520,2,,5.98,,,2016-01-01,made
vastai,v,,on-demand,K520,1,,0.313131313,,,2016-01-01,made
vastai,v4,EU,on-demand,K520,4,,1.252525252,,,2016-01-01,made
vastai,v,,spot,K520,1,,0.1,,,2016-01-01,made
sagemaker,ml.g,us-east-1,on-demand,K520,1,,0.9364,,,2016-01-01,made
sagemaker,ml.g4,us-east-1,on-demand,K520,4,,5.672,,,2016-01-01,made
sagemaker,ml.p,us-east-1,on-demand,K520,2,,3.825,,,2016-01-01,made
own,desk,,on-demand,K520,1,,0.123456789,,,2016-01-01,made
own,rack,,on-demand,K520,4,,0.987654321,,,2016-01-01,made
own,box,,on-demand,K520,2,,0.5,EUR,,2016-01-01,made
lambdalabs,l,,on-demand,K520,1,,0.55,,,2016-01-01,made
digitalocean,d,,on-demand,K520,1,,0.14732,,,2016-01-01,made
datacrunch,f,,on-demand,K520,1,,0.33,EUR,,2016-01-01,made
hetzner,cloud,fsn,on-demand,K520,1,,0.2972,EUR,,2016-01-01,made
hetzner,cloud,fsn,monthly,K520,1,,184.00,EUR,,2016-01-01,made
hetzner,mixed,,on-demand,K520,2,,0.50,EUR,,2016-01-01,made
hetzner,mixed,,monthly,K520,2,yes,289.99,USD,,2016-01-01,made
hetzner,uncapped,,on-demand,K520,1,,0.11,EUR,,2016-01-01,made
hetzner,day,,monthly,K520,1,,7.77,EUR,day,2016-01-01,made
leadergpu,l,,on-demand,K520,2,yes,0.0213,EUR,minute,2016-01-01,made
softlayer,b,,on-demand,K520,2,yes,2.81,,,2016-01-01,made
nimbix,n,,on-demand,K520,1,yes,5.00,,,2016-01-01,made
ibm,x-metal-1,,on-demand,K520,1,yes,3.33,,,2016-01-01,made
oci,BM.K,,on-demand,K520,4,yes,7.11,,,2016-01-01,made
scaleway,RENDER-S,,on-demand,K520,1,,1.2426,EUR,,2016-01-01,made
ovhcloud,k,GRA,on-demand,K520,1,,0.88,EUR,,2016-01-01,made
mithril,h,,on-demand,K520,8,,12.40,,,2016-01-01,made
gcp,n1-k,,on-demand,K520,1,,0.7007,,,2016-01-01,made
gcp,n2-k,,on-demand,K520,1,,0.7007,,,2016-01-01,made
gcp,n1-k,,spot,K520,1,,0.2113,,,2016-01-01,made
gcp,n1-c,,spot,K520,1,,0.2113,,,2016-01-01,made
gcp,n1-c,,spot,K520,1,,0.3,,,2017-05-02,made
gcp,n1-c,,spot,K520,1,,0.4,,,2018-02-20,made
runpod,k,,spot,K520,1,,0.17,,,2016-01-01,made
aws,k,us-east-1,spot,K520,1,,0.361,,,2017-01-01,made
aws,k,us-east-1,spot,K520,1,,0.7211,,,2017-05-02,made
aws,k,us-east-1,spot,K520,1,,0.5,,,2017-05-03,made
aws,k,us-east-1,spot,K520,1,,0.41,,,2018-02-17,made
aws,k,us-east-1,spot,K520,1,,0.4300007,,,2018-02-18,made
azure,k,,on-demand,K520,1,,1.20,,,2016-01-01,made
azure,k,,spot,K520,1,,0.2401,,,2016-01-01,made
ibm,s,,spot,K520,1,,0.7,,,2016-01-01,made
oci,s,,spot,K520,1,,0.7,,,2016-01-01,made
vast,v,,spot,K520,1,,0.07,,,2016-01-01,made
gcp,a2-k,,on-demand,K520,1,,3.673477,,,2016-01-01,made
nobody,n,,on-demand,K520,1,,1.01,GBP,,2016-01-01,made
nobody,n,,monthly,K520,1,,301.01,,,2016-01-01,made
nobody,day,,on-demand,K520,1,,13.13,,day,2016-01-01,made
nobody,months,,on-demand,K520,2,,301.01,,month,2016-01-01,made
nobody,minute,,on-demand,K520,1,,0.013,,minute,2016-01-01,made
cudo,day,,on-demand,K520,1,,17.17,,day,2016-01-01,made
made,days,,on-demand,K520,1,,0.7,,,2016-01-01,made
made,near,,on-demand,K520,1,,1.000000001,,,2016-01-01,made
made,clock,,on-demand,K520,1,,1.37,,,2016-01-01,made
made,capped,,on-demand,K520,1,,0.77777,,,2016-01-01,made
made,capped-eur,,on-demand,K520,1,,0.77777,EUR,,2016-01-01,made
made,fees,,on-demand,K520,1,,0.3,,,2016-01-01,made
made,plain,,on-demand,K520,1,,0.313,GBP,,2016-01-01,made
made,mixed,,on-demand,K520,3,,0.313,GBP,,2016-01-01,made
made,yen,us-1,on-demand,K520,1,,33.3,JPY,,2016-01-01,made
made,spot,x,spot,K520,1,,0.2,EUR,,2016-01-01,made
made,spot,x,spot,K520,1,,0.25,EUR,,2018-02-19,made
made,spot,x,spot,K520,1,,0.3000001,EUR,,2018-03-02,made
made,ended-fees,,spot,K520,1,,0.3131,EUR,,2019-03-01,made
made,ended-partial,,spot,K520,1,,0.777,,,2019-03-01,made
made,ended-free,,spot,K520,1,,0.777,,,2019-03-01,made
made,ended-down,,spot,K520,1,,0.777,GBP,,2019-03-01,made
"""
ENDED = {"kind": "spot", "valid_to": "2020-01-01"}
TARIFFS = [
    {"id": "near", "offers": ["near"], "unit_ms": 60000, "rounding": "nearest", "decimals": 2, "billed_while_stopped": True,
     "storage_rate": "0.0777", "storage_free_gb": 7, "storage_calendar_month": True, "storage_unit_ms": 3600000,
     "egress_rate": "0.013", "ingress_rate": "0.007"},
    {"id": "clock", "offers": ["clo*"], "unit_ms": 3600000, "clock_units": True, "minimum_s": 7200,
     "billed_while_stopped": False, "storage_rate": "0.09", "storage_stopped_rate": "0.03", "storage_unit_ms": 3600000},
    {"id": "capped", "offers": ["capped*"], "unit_ms": 60000, "monthly_cap": "200.5", "minimum_amount": "1.5",
     "billed_while_stopped": True, "tiers": [{"upto_permille": 333, "percent": 100}, {"upto_permille": 1000, "percent": 110}]},
    {"id": "fees", "offers": ["fees"], "unit_ms": 0, "monthly_fee": "3.99", "setup_fee": "10", "billed_while_stopped": False,
     "storage_steps": [{"gb": 20}, {"gb": 100}], "storage_rate": "0.1", "storage_month_s": 2628000, "storage_minimum_s": 7200,
     "commitments": [{"months": 12, "permille": 777}, {"months": 36, "percent": 33}]},
    {"id": "mixed", "offers": ["mixed"], "unit_ms": 1000, "setup_fee": "1.23", "currency": "EUR", "storage_rate": "0.05",
     "egress_rate": "0.01", "egress_steps": [{"upto_gb": 10, "rate": "0.03"}, {"upto_gb": 100, "rate": "0.02"}],
     "egress_free_gb": 1, "gb_bytes": 1073741824},
    {"id": "plain", "offers": ["plain"], "commitments": [{"months": 12, "permille": 901}]},
    {"id": "yen", "offers": ["yen"], "unit_ms": 1000, "decimals": 0, "currency": "JPY", "assumed": True,
     "regions": [{"region": "us-[0-9]", "percent": 133}, {"region": "*", "percent": 50}], "storage_rate": "7"},
    {"id": "days", "offers": ["days"], "unit_ms": 86400000, "assumed": True, "billed_while_stopped": True},
    {"id": "made-spot", "kind": "spot", "unit_ms": 60000, "billed_while_stopped": True, "setup_fee": "0.5",
     "regions": [{"region": "x", "percent": 111}]},
    {"id": "ended-fees", "offers": ["ended-fees"], "ends_after_s": 36001, "unit_ms": 60000, "minimum_s": 7200, "setup_fee": "0.5",
     "monthly_fee": "1.1", "decimals": 2, "billed_while_stopped": True, "storage_rate": "0.11", "storage_stopped_rate": "0.07",
     "storage_unit_ms": 3600000, "egress_rate": "0.01", **ENDED},
    {"id": "ended-partial", "offers": ["ended-p*"], "ends_after_s": 36001, "unit_ms": 3600000, "minimum_s": 3600,
     "spot_partial_free": True, "billed_while_stopped": False, "storage_rate": "0.1", "storage_calendar_month": True, **ENDED},
    {"id": "ended-free", "offers": ["ended-free"], "ends_after_s": 3599, "spot_first_hour_free": True,
     "billed_while_stopped": False, "storage_rate": "0.1", **ENDED},
    {"id": "ended-down", "offers": ["ended-down"], "ends_after_s": 36001, "unit_ms": 900000, "rounding": "down",
     "billed_while_stopped": True, "disk_included": True, "storage_stopped_rate": "0.1", **ENDED},
]
RATES = """provider,offer,discount_percent,credit,rate,currency,from,to
aws,,12.5,,,,,
gcp,,,300,,USD,2017-01-01,2027-01-01
modal,,,,0.77,USD,,
hetzner,,,,0.099,USD,,
"""
NEGOTIATED = {"aws": {"discount": 125}, "gcp": {"credit": nano("300")}, "modal": {"own_rate": nano("0.77")},
              "hetzner": {"own_rate": nano("0.099")}}


def time_ns(text):
    number, unit = re.fullmatch(r"([\d.]+)(\D+)", text).groups()
    return int(Decimal(number) * SECONDS[unit] * NANO)


def size(text):
    number, unit = re.fullmatch(r"(\d+)(\D+)", text).groups()
    return int(number) * BYTES[unit]


def meaning(options):
    """Options of the command as arguments of quote()."""
    out = {}
    options = iter(option for option in options if option != "--all")
    for name, text in zip(options, options):
        match name:
            case "--boot": out["boot"] = time_ns(text) if text != "0" else 0
            case "--keep": out["keep"] = time_ns(text)
            case "--storage": out["gb"] = -(-size(text) // 10**9)
            case "--egress" | "--ingress": out[name[2:]] = size(text)
            case "--commit": out["commit"] = int(text)
            case "--currency": out["local"] = text
            case "--used-before": out["used"] = time_ns(text)
            case "--rule": out["prorated"] = text == "prorated"
            case "--gpus": out["used_gpus"] = int(text.rstrip("+"))
            case "--save-every": out["checkpoints"] = (time_ns(text), out.get("checkpoints", (0, 0))[1])
            case "--checkpoint-time": out["checkpoints"] = (out.get("checkpoints", (0, 0))[0], time_ns(text))
    return out


def ask(config, *options):
    """The bills of a quote, by a program without any data of its own."""
    with tempfile.TemporaryDirectory() as data:
        env = dict(os.environ, XDG_CONFIG_HOME=config, XDG_DATA_HOME=data, FARE_METADATA="off")
        for name in ("FARE_BOOK", "FARE_LEDGER"):
            env.pop(name, None)
        out = subprocess.run([FARE, "quote", "--json", *options], env=env, capture_output=True, text=True)
    if out.returncode:
        raise SystemExit(f"fare quote {' '.join(options)}: {out.stderr}")
    return json.loads(out.stdout, parse_float=Decimal)["bills"]


def printed(bill):
    """What a bill in JSON says, in nano-units and nanoseconds."""
    out = {name: bill[name] for name in ("currency", "per_s", "tariff", "incomplete", "committed_months") if name in bill}
    if not bill.get("price_own"):
        out["price_date"] = bill["price_date"]
    for name in ("rate", "total", "low", "high", "by_hours", "owed", "before_credit", "local_total", "local_low", "local_high"):
        if name in bill:
            out[name] = nano(bill[name])
    if "committed" in bill:
        out["committed"] = bill["committed"] if bill["committed"] == "unknown" else nano(bill["committed"])
    for name in ("", "local_") if "local_total" in bill else ("",):      # no interval: both ends are the total
        out.setdefault(f"{name}low", out[f"{name}total"])
        out.setdefault(f"{name}high", out[f"{name}total"])
    for name in ("charged_s", "time_s"):
        out[name] = int(Decimal(bill[name]) * NANO)
    out["items"] = [(item["what"], nano(item["amount"])) for item in bill.get("items", [])]
    return out


class Comparison:
    def __init__(self):
        self.count, self.lines, self.wrong = collections.Counter(), 0, collections.defaultdict(list)
        self.tariffs = set()

    def bills(self, tables, config, day, training, *options, negotiated=None, **more):
        """Asks for the bills of a training and compares each; how many differ."""
        times = [time_ns(text) for text in training.split("-")]
        middle = (times[0], sum(times) // 2, times[1]) if len(times) == 2 else times[0]
        command = ["--time", training, "--date", day, *options]
        wrong = 0
        for bill in ask(config, *command):
            key = (bill["provider"], bill["name"], bill.get("region", ""), bill.get("zone", ""), bill["kind"])
            mine = {**meaning(options), **more, **(negotiated or {}).get(key[0], {})}
            expected, got = quote(tables, key, day, middle, **mine), printed(bill)
            self.count[key[0]] += 1
            self.lines += len(got["items"])
            self.tariffs.add(got["tariff"])
            differ = [name for name in sorted({*expected, *got}) if expected.get(name) != got.get(name)]
            wrong += bool(differ)
            for name in differ:
                self.wrong[key[0]].append(f"fare quote {' '.join(command)}: {bill['offer']}: {name}: "
                                          f"by the page {expected.get(name)}, by fare {got.get(name)}")
        return wrong


def folder(top, **files):
    """A user's folder with these tables: {name: (path, text)}."""
    for path, text in files.values():
        path = os.path.join(top, "fare", path)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w") as file:
            file.write(text)
    return top


def tariffs(rules):
    rules = [{"provider": "made", "source": "made", "date": TODAY, **rule} for rule in rules]
    return json.dumps({"schema": "fare.tariffs/1", "tariffs": rules})


# Every offer with such GPUs: a day, a time, and options.
SHIPPED = [
    (TODAY, "10h", "--gpu h100 --gpus 1+"),
    (TODAY, "7d", "--gpu a100 --gpus 1+ --keep 60d --storage 123GB --egress 12TB --ingress 7GB"),
    (TODAY, "31s", "--gpu v100 --gpus 1+ --boot 0 --keep 61s --storage 10GB --currency JPY"),
    (TODAY, "50d", "--gpu l4 --gpus 1 --commit 12 --currency EUR"),
    (TODAY, "40d", "--gpu t4 --gpus 1 --commit 36 --used-before 200h"),
    (TODAY, "3d", "--gpu l40s --gpus 1 --rule prorated --keep 9d --storage 70GB"),
    (TODAY, "20d-22d", "--gpu h200 --gpus 2+ --storage 1TB"),
    (TODAY, "350ms", "--gpu rtx4090 --gpus 1+ --boot 0"),
    (TODAY, "3600s", "--gpu rtxa6000 --gpus 1+ --boot 0 --currency GBP"),
    (TODAY, "3601s", "--gpu p100 --gpus 1+ --boot 0"),
    (TODAY, "5h", "--gpu rtx3070 --gpus 1 --keep 3d"),
    (TODAY, "90m", "--gpu a100-80gb --gpus 8 --commit 36 --egress 200TB"),
    (TODAY, "61s", "--gpu rtxa4000 --gpus 1 --boot 2m --storage 51GB --keep 3d"),
    ("2026-08-31", "100h", "--gpu rtxpro6000 --gpus 1+ --storage 20GB --keep 200h"),
    ("2015-06-01", "90m", "--gpu k40"),
    ("2016-02-28", "30m", "--gpu k40 --boot 7m"),
    ("2017-04-15", "61m", "--gpu k80 --boot 0 --storage 10GB"),
    ("2017-09-30", "80h", "--gpu k80 --keep 20d --storage 8GB --egress 3GB --currency EUR"),
    ("2017-11-15", "61m", "--gpu k80"),
    ("2018-02-15", "20h", "--gpu k80 --gpus 1+ --egress 200GB --currency CHF"),
    ("2018-02-18", "40d", "--gpu p100 --gpus 1+ --kind on-demand --used-before 100h"),
    ("2018-01-31", "1064ms", "--gpu p6000 --boot 0"),
    ("2018-02-15", "3816s", "--gpu v100 --storage 30GB --keep 30d"),
    ("2017-05-20", "15d", "--gpu m4000"),
    ("2017-05-20", "45d", "--gpu p5000 --boot 1ms"),
    ("2018-02-28", "70m", "--gpu m60 --gpus 1+"),
    ("2018-03-01", "70m", "--gpu m60 --gpus 1+ --boot 61s"),
    ("2018-02-18", "8200s", "--gpu gtx1080 --gpus 1+ --currency EUR"),
    ("2018-02-18", "31d", "--gpu gtx1080 --gpus 2 --keep 80d"),
]
# One offer each, most of them without a GPU.
SINGLE = [
    (TODAY, "40d", "do/s-4vcpu-8gb", ""),
    ("2025-12-31", "10s", "digitalocean/d", "--keep 90m"),
    (TODAY, "50d", "gcp/n2-standard-8", "--boot 0"),
    (TODAY, "50d", "gcp/n2-standard-8", "--commit 12"),
    (TODAY, "12d", "azure/Standard_D16as_v5", "--commit 12 --storage 33GB --keep 30d"),
    (TODAY, "12d", "ibm/bx2-8x32", "--keep 30d"),
    (TODAY, "30m", "oci/BM.GPU.A10.4", "--egress 11TB"),
    (TODAY, "30m", "aws/c6i.16xlarge", "--storage 1GB --keep 2h"),
    ("2018-02-18", "5h", "gcp/n1-highcpu-32:spot", ""),
    ("2018-11-03", "1h", "gcp/n1-standard-1:spot", "--storage 10GB --egress 1GiB"),
]
# The user's own offers, all with a K520.
MADE = [
    (TODAY, "10h", ""),
    (TODAY, "45d", "--boot 90s --keep 100d --storage 33GB --egress 12GB --ingress 7GB --currency GBP"),
    (TODAY, "61s", "--gpus 2+ --boot 0 --commit 36 --storage 7GB"),
    ("2024-02-29", "3601s", "--boot 0 --keep 1w --storage 120GB --egress 120GB"),
    ("2026-03-31", "29h", "--boot 30s --currency JPY"),
    ("2026-01-31", "31s", "--boot 0 --commit 12 --used-before 700h"),
    ("2020-12-20", "20d", "--gpu k520 --commit 12 --storage 50GB --keep 21d --kind on-demand"),
    ("2022-01-01", "725h", "--boot 0"),
    ("2018-02-18", "23h", "--keep 20d --storage 33GB --egress 200GB"),
    ("2018-02-18", "100h", "--boot 75s --save-every 1h --checkpoint-time 60s"),
    ("2017-05-01", "29h", "--boot 30s --save-every 90m --checkpoint-time 7s"),
    ("2017-05-01", "29h", "--boot 30s --save-every 90m --checkpoint-time 7s --keep 30h --storage 100GB --egress 3GB"),
    ("2018-02-18", "77h", "--boot 75s --save-every 1h --checkpoint-time 60s --keep 99d --storage 7GB --currency EUR"),
    ("2018-02-18", "50h", "--boot 0 --save-every 1h --checkpoint-time 60s --keep 50h --storage 33GB"),
    ("2017-05-01", "28h", "--boot 0 --commit 12 --save-every 5h --checkpoint-time 7s"),
    ("2019-03-28", "80h", "--boot 61s --save-every 31m --checkpoint-time 11s --keep 81h --storage 33GB --egress 9GB"),
    ("2019-03-28", "40h", "--boot 0 --save-every 31m --checkpoint-time 11s --keep 9d --storage 33GB --currency JPY"),
    ("2019-03-28", "40h", "--boot 61s --save-every 31m --checkpoint-time 11s --storage 33GB"),
    ("2019-03-28", "40h", "--boot 61s --save-every 31m --checkpoint-time 11s --keep 42h --rule prorated --storage 9GB"),
    ("2016-02-29", "61s", "--boot 0 --rule prorated --keep 90d --storage 10GB"),
    ("2016-02-29", "405s", "--boot 0 --keep 410s --storage 10GB"),
]


def words(text, defaults=""):
    given = text.split()
    for name, value in zip(*[iter(defaults.split())] * 2):
        if name not in given:
            given += [name, value]
    return given


def anchors(tables, config):
    """Sums that providers publish or that follow from their rules by hand: both must give them."""
    def both(name, day, training, offer, options, key, expected, kind="on-demand"):
        bill = printed(*ask(config, "--time", training, "--date", day, "--offer", f"{offer}:{kind}", *options.split()))
        where = next(k for k in tables.offers if f"{k[0]}/{k[1]}" == offer and k[4] == kind)
        mine = quote(tables, where, day, time_ns(training), **meaning(options.split()))
        found = [dict(b["items"]).get(key) if key not in b else b[key] for b in (mine, bill)]
        report(f"by hand: {name}", found == [nano(expected)] * 2, f"{expected} expected; by the page, by fare: {found}")

    # 198 h 50 min from the 4th, 09:40 to the 12th, 16:30 touch 200 clock hours, and no start touches more
    rule = Rule(tables, ("ovhcloud", "k", "GRA", "", "on-demand"), TODAY)
    use = Use(midnight("2026-03-04") + time_ns("580m"), time_ns("11930m"), where=time_ns("580m"))
    report("by hand: OVHcloud's example, 09:40 to 16:30, is 200 hours", rule.bill(use)[1:] == (200 * rule.rate, time_ns("200h")))
    both("OVHcloud's example at the worst time of day", TODAY, "11930m", "ovhcloud/k", "--boot 0 --currency EUR", "local_high", "176")
    both("DigitalOcean's least amount", TODAY, "10s", "digitalocean/d", "--boot 0", "total", "0.01")
    both("DigitalOcean charges a droplet that is off", TODAY, "10s", "digitalocean/d", "--boot 0 --keep 3d", "time while stopped",
         "10.59704")
    both("DigitalOcean, whole hours until 2026", "2025-12-31", "10s", "digitalocean/d", "--boot 0", "total", "0.14732")
    both("Paperspace, 10 days of 10 USD", TODAY, "10d", "paperspace/V100", "--boot 0 --storage 100GB",
         "storage", "3.333333333")
    both("AWS, started hours until 2017-10-02", "2017-10-01", "61m", "aws/p2.xlarge", "--boot 0", "total", "1.80")
    both("AWS, seconds from then on", "2017-10-02", "61m", "aws/p2.xlarge", "--boot 0", "total", "0.915")
    both("Google, 30 % off for a full month", "2018-04-01", "30d", "gcp/n1-standard-4+1xK80", "--boot 0", "total", "322.56")
    # 24 h are a first machine's life; 23,458 s on the second are 391 minutes. Together 0.2113 x 109,860 / 3600 = 6.448171667.
    ended = ("2017-05-01", "29h", "gcp/n1-k", "--boot 30s --save-every 90m --checkpoint-time 7s --storage 100GB")
    both("Google charges started minutes of each preemptible machine", *ended, "charged_s", "109860", "spot")
    # A disk that is kept for 30 h, and then until the training ends after 109,858 s: 109,858 x 100 x 0.04 / 2,592,000.
    both("--keep charges the disk until the training ends", *ended[:3], ended[3] + " --keep 30h", "total", "6.617705618", "spot")
    # Until 40 h are over: 34,142 s more, 0.052688272.
    both("and no longer than it is kept", *ended[:3], ended[3] + " --keep 40h", "total", "6.670393890", "spot")
    both("Azure, 6 min 45 s are 6 min in 2018", "2018-02-18", "405s", "azure/k", "--boot 0", "total", "0.12")
    both("a price for a day and no known rule: whole days", TODAY, "5h", "nobody/day", "--boot 0", "total", "13.13")
    # 5 h of nobody/n are 5 x 1.01 GBP, under 13.13 USD; 5 / 24 of the day's price would be 2.74 USD.
    options = "--time 5h --boot 0 --gpu k520 --provider nobody --max-age 9999 --all --date"
    order = [b["name"] for b in ask(config, *options.split(), TODAY)]
    report("a price for a day does not lead by a part of it", order.index("n") < order.index("day"), order)


def main():
    share = os.path.join(ROOT, "share")
    shipped = Tables(share)
    seen = Comparison()
    with tempfile.TemporaryDirectory() as top:
        none, made, rates, hours = (os.path.join(top, name) for name in ("none", "made", "rates", "hours"))
        tables = {"offers": ("offers/made.csv", OFFERS), "tariffs": ("providers/made.json", tariffs(TARIFFS))}
        folder(made, **tables)
        folder(rates, **tables, rates=("rates.csv", RATES))
        own = Tables(share, os.path.join(made, "fare"))

        for day, training, options in SHIPPED:
            seen.bills(shipped, none, day, training, *words(options), "--all")
        for day, training, offer, options in SINGLE:
            seen.bills(own, made, day, training, "--offer", offer, *words(options))
        few = "--gpu k520 --gpus 1+ --max-age 9999"
        for day, training, options in MADE:
            seen.bills(own, made, day, training, *words(options, few), "--all")
        for day, options in ((TODAY, "--keep 2d"), ("2018-02-18", "--boot 0")):
            seen.bills(own, rates, day, "30h", *words(options, few), "--all", "--kind", "on-demand", negotiated=NEGOTIATED)
        for training in ("30h", "2400h"):
            seen.bills(own, rates, "2019-03-28", training, *words("--boot 9s --save-every 31m --checkpoint-time 11s", few), "--all",
                       "--kind", "spot", negotiated=NEGOTIATED)

        for provider, count in sorted(seen.count.items()):
            report(f"{provider}: bills as by the page, {count}", not seen.wrong[provider], "\n".join(seen.wrong[provider]))
        total = sum(seen.count.values())
        report(f"{total} bills with {seen.lines} lines, 400 or more", total >= 400)
        names = {(t["provider"], *t.get("aliases", ())) for _, t in shipped.tariffs}
        rare = [group[0] for group in names if sum(seen.count[name] for name in group) < 3]
        report("three bills or more of every provider", not rare, rare)
        unused = {t["id"] for _, t in own.tariffs} - seen.tariffs
        report(f"every tariff was used, {len(seen.tariffs)} in all", not unused, unused)

        anchors(own, made)

        # It can fail: a rounding or a tariff that is not the page's is noticed.
        day, training, options = SHIPPED[13]
        arguments = (day, training, *words(options), "--all")
        for slip, what in (("nano", "a nano-unit rounded down"), ("units", "the nearest unit instead of the started one")):
            wrong = Comparison()
            wrong.bills(shipped, none, *arguments, slip=slip)
            wrong.bills(own, made, *MADE[4][:2], *words(MADE[4][2], "--gpu k520 --gpus 1+ --max-age 9999"), "--all", slip=slip)
            count = sum(map(bool, wrong.wrong.values()))
            report(f"{what} is a difference, for {count} providers", count >= 3)
        folder(hours, tariffs=("providers/runpod.json", tariffs([{"id": "hours", "provider": "runpod", "unit_ms": 3600000}])))
        wrong, right = Comparison(), Comparison()
        arguments = (TODAY, "350ms", "--gpu", "rtx4090", "--gpus", "1+", "--boot", "0", "--all", "--provider", "runpod")
        differ = wrong.bills(shipped, hours, *arguments)
        report(f"another tariff is a difference in {differ} bills", 0 < differ == wrong.count["runpod"])
        report("and none once its table is read", not right.bills(Tables(share, os.path.join(hours, "fare")), hours, *arguments))
    done()


if __name__ == "__main__":
    main()
