# SPDX-License-Identifier: Apache-2.0
"""Exchange rates of the European Central Bank: the shipped month ends, imported files, bills in another currency. The figures
are the bank's own: 2017-08-31 1.1825 dollars and 130.81 yen for a euro."""
import json
import os
import subprocess
import sys
from fractions import Fraction as F
from pathlib import Path

sys.path.insert(0, os.environ["TESTS"])
from tap import done, report  # noqa: E402

FARE, HERE = os.environ["FARE"], Path(os.environ["TMPDIR"])
CONFIG = Path(os.environ["XDG_CONFIG_HOME"]) / "fare"


def fare(*args):
    p = subprocess.run([FARE, *args], capture_output=True, text=True)
    return p.returncode, p.stdout, p.stderr


def bill(name, date, *more):
    code, out, err = fare("quote", "--time", "1h", "--offer", name, "--date", date, "--boot", "0", "--image-time", "0", "--json", *more)
    return json.loads(out)["bills"][0] if code == 0 else {"total": "0", "exchange": err}


(CONFIG / "offers").mkdir(parents=True, exist_ok=True)
(CONFIG / "offers" / "test.csv").write_text(
    "provider,name,region,kind,gpu,gpus,price,currency,date,source\n"
    "here,euro,,on-demand,T4,1,1.00,EUR,2016-01-01,test\nhere,yen,,on-demand,T4,1,1000,JPY,2016-01-01,test\n"
    "here,dollar,,on-demand,T4,1,2.3650,USD,2016-01-01,test\n")


def near(got, want):
    return abs(F(got) - want) < want / 10**6


got = bill("here/euro", "2017-09-10")
report("the month end before the day", near(got["total"], F("1.1825")) and "2017-08-31, ECB reference rate" in got["exchange"], got)
got = bill("here/yen", "2017-09-10")
report("a currency by way of the euro", near(got["total"], 1000 * F("1.1825") / F("130.81")), got)
got = bill("here/dollar", "2017-09-10", "--currency", "EUR")
report("a bill in another currency: 2.3650 / 1.1825 = 2", got.get("local_currency") == "EUR" and near(got["local_total"], F(2)), got)
text = fare("quote", "--time", "1h", "--offer", "here/dollar", "--date", "2017-09-10", "--boot", "0", "--image-time", "0",
            "--currency", "EUR")[1]
report("in its lines too", "the same in EUR" in text and "1 EUR = 1.1825 USD on 2017-08-31" in " ".join(text.split()), text)
text = fare("quote", "--time", "1h", "--gpu", "t4", "--provider", "here", "--date", "2017-09-10", "--boot", "0", "--currency", "EUR")[1]
report("in the table too", " EUR" in text and "2.00" in text, text)
code, out, err = fare("quote", "--time", "1h", "--gpu", "t4", "--currency", "XYZ")
report("a currency without a rate is refused", code != 0 and "no exchange rate for the currency 'XYZ'" in err, (code, err))

# ---- imported files: the bank's CSV and both kinds of its XML
history = HERE / "eurofxref-hist.csv"
history.write_text("Date,USD,JPY,BGN,\n2017-09-08,1.2060,130.09,1.9558,\n2017-09-11,1.2007,130.36,N/A,\n")
code, out, err = fare("prices", "import", str(history))
report("the history is imported", code == 0 and "exchange rates up to 2017-09-11 (ecb)" in out, (out, err))
got = bill("here/euro", "2017-09-10")
report("its days count", near(got["total"], F("1.2060")) and "2017-09-08" in got["exchange"], got)
xml = HERE / "eurofxref-hist-90d.xml"
xml.write_text('<?xml version="1.0" encoding="UTF-8"?><gesmes:Envelope xmlns="http://www.ecb.int/vocabulary/2002-08-01/eurofxref"><Cube>'
               '<Cube time="2017-09-12"><Cube currency="USD" rate="1.1936"/><Cube currency="JPY" rate="131.07"/></Cube>'
               '<Cube time="2017-09-11"><Cube currency="USD" rate="1.2008"/></Cube></Cube></gesmes:Envelope>')
code, out, err = fare("prices", "update", f"file://{xml}")
report("an update fetches the last days", code == 0 and "exchange rates up to 2017-09-12 (ecb)" in out, (out, err))
report("they are added, and replace the same day", near(bill("here/euro", "2017-09-11")["total"], F("1.2008"))
       and near(bill("here/euro", "2017-09-12")["total"], F("1.1936")) and near(bill("here/euro", "2017-09-10")["total"], F("1.2060")))
xml.write_text("<?xml version='1.0'?><x xmlns='eurofxref'><Cube time='2017-09-13'><Cube currency='USD' rate='1.1979'/></Cube></x>")
code, out, err = fare("prices", "import", str(xml))
report("with single quotes, as the daily file has them", code == 0 and near(bill("here/euro", "2017-09-13")["total"], F("1.1979")), err)
for bad, why in (('<?xml version="1.0"?><eurofxref><Cube time="2017-13-01"><Cube currency="USD" rate="1"/></Cube>', "'2017-13-01'"),
                 ('<?xml version="1.0"?><eurofxref><Cube currency="USD" rate="1"/>', "without its day"),
                 ('<?xml version="1.0"?><eurofxref><Cube time="2017-09-14"><Cube currency="USD" rate="-1"/></Cube>', "above zero"),
                 ('<?xml version="1.0"?><eurofxref><Cube time="2017-09-14"', "does not end"),
                 ('<?xml version="1.0"?><eurofxref>', "no exchange rates"), ("Date,USD,\n2017-09-14,x,\n", "line 2"),
                 ("Date,USD,\n2017-09-14,0,\n", "above zero")):
    xml.write_text(bad)
    code, out, err = fare("prices", "import", str(xml))
    report(f"refused: {bad[-40:]!r}", code != 0 and (why in err or "2017-13" in why) and near(bill("here/euro", "2017-09-14")["total"], F("1.1979")), err)
done()
