# SPDX-License-Identifier: Apache-2.0
"""An S3 server that lies: a proxy (s3_proxy.py) before the real one, which answers wrongly for as long as it is told to.

    store = LyingStore(swift)
    store.lie("wrong bytes", about="data")   # only of objects below data/; "" is everything
    ... a start of a job with AWS_ENDPOINT_URL=store.endpoint ...
    store.lie(None)

What it says, it says in S3's own words, with signatures checked by the real server where that is asked at all.
"""
import itertools
import urllib.parse

from s3_proxy import Proxy

LISTS = ("empty list", "endless list", "repeating list", "huge page")
OBJECTS = ("wrong bytes", "no objects", "cut bodies", "huge objects")
LIES = (*LISTS, *OBJECTS, "errors")
MISSING = b"<Error><Code>NoSuchKey</Code><Message>The specified key does not exist.</Message></Error>"
EMPTY = b"<ListBucketResult><IsTruncated>false</IsTruncated></ListBucketResult>"


def prefix_of(target):
    return urllib.parse.parse_qs(urllib.parse.urlsplit(target).query).get("prefix", [""])[0]


def page(prefix, number, token, keys=1000):
    """A page of a list that goes on."""
    found = "".join(f"<Contents><Key>{prefix}{number:010}-{i:06}/manifest</Key><Size>9</Size></Contents>" for i in range(1, keys + 1))
    return (f"<ListBucketResult>{found}<IsTruncated>true</IsTruncated>"
            f"<NextContinuationToken>{token}</NextContinuationToken></ListBucketResult>").encode()


class LyingStore(Proxy):
    def __init__(self, server):
        super().__init__(server)
        self.pages = itertools.count(1)
        self.huge = 64 << 20  # bytes of an object

    def lie(self, what, about=""):
        """`what` is one of LIES; None: the truth."""
        assert what is None or what in LIES, what
        self.reset(lambda request: self.answer(what, about, request) if what else None)

    def answer(self, what, about, request):
        is_list = "list-type=2" in request.target
        if about and f"/{about}/" not in urllib.parse.unquote(request.target):
            return None
        if what == "errors":
            return 500
        if what in LISTS and is_list:
            return self.list(what, prefix_of(request.target))
        if what in OBJECTS and not is_list and request.method in ("GET", "HEAD") and "?" not in request.target:
            return self.object(what, request)
        return None

    def list(self, what, prefix):
        if what == "empty list":
            return EMPTY
        number = next(self.pages)
        if what == "huge page":
            return page(prefix, number, number, 200_000)
        return page(prefix, number, number if what == "endless list" else "again")

    def object(self, what, request):
        if what == "no objects":
            return 404, MISSING if request.method == "GET" else b""
        if request.method == "HEAD":
            return None
        return {"wrong bytes": "garble", "cut bodies": "half"}.get(what, b"[" * self.huge)
