# SPDX-License-Identifier: Apache-2.0
"""Reads a site as a browser would: follows every link of every page, from the overview on.

crawl() returns what is wrong, as lines; test_site.py shows that it finds what is broken.
"""
import functools
import html.parser
import json
import re
import urllib.parse

SCHEME = re.compile(r"[a-z][a-z0-9+.-]*:|//", re.I)


class Page(html.parser.HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.links, self.ids, self.loads, self.wrong = [], set(), [], []
        self.feed(text)
        if not text.rstrip().endswith("</html>"):
            self.wrong.append("it is cut off")

    def handle_starttag(self, tag, attributes):
        for name, value in attributes:
            if name == "id":
                if value in self.ids:
                    self.wrong.append(f"two elements are #{value}")
                self.ids.add(value)
            elif name == "href" and tag == "a":
                self.links.append(value)
            elif name in ("src", "srcset", "data", "poster", "action", "formaction", "background", "ping") or (
                    name in ("href", "xlink:href") and not (value or "").startswith("#")):
                self.loads.append(f"<{tag} {name}={value!r}>")
            elif name.startswith("on") or (value or "").strip().lower().startswith("javascript:"):
                self.loads.append(f"<{tag} {name}={value!r}>")
            if name == "style" or tag in ("script", "link", "iframe", "object", "embed", "base"):
                self.loads.append(f"<{tag} {name}={value!r}>")
            if name == "http-equiv" and value.lower() != "content-security-policy":
                self.loads.append(f"<{tag} {name}={value!r}>")


@functools.cache
def page_of(text):
    """A site is crawled over and over, and most of its pages are as they were."""
    return Page(text)


def crawl(folder, first="index.html", need_all=True):
    """Every link leads to a file of the site and a place in it; every file is reached (if need_all)."""
    wrong, waiting, pages, reached = [], [first], {}, set()
    while waiting:
        path = waiting.pop()
        if path in reached:
            continue
        reached.add(path)
        try:
            text = (folder / path).read_text()
        except (OSError, UnicodeDecodeError) as error:
            wrong.append(f"{path}: {error}")
            continue
        if path.endswith(".json"):
            try:
                json.loads(text)
            except ValueError as error:
                wrong.append(f"{path}: {error}")
            continue
        page = pages[path] = page_of(text)
        wrong += [f"{path}: loads {load}" for load in page.loads] + [f"{path}: {w}" for w in page.wrong]
        style = "".join(re.findall(r"<style>(.*?)</style>", text, re.S))
        if re.search(r"@import|url\(", style):
            wrong.append(f"{path}: its style loads something")
        for link in page.links:
            if not link or SCHEME.match(link) or link.startswith("/"):
                wrong.append(f"{path}: {link!r} is not relative")
                continue
            target = urllib.parse.urlsplit(urllib.parse.urljoin("http://site/" + path, link))
            to = urllib.parse.unquote(target.path.lstrip("/")) or path
            if not (folder / to).is_file():
                wrong.append(f"{path}: {link} is dead")
            else:
                waiting.append(to)
    for path, page in pages.items():
        for link in page.links:
            to, _, place = link.partition("#")
            if place and not SCHEME.match(link):
                at = urllib.parse.urlsplit(urllib.parse.urljoin("http://site/" + path, to)).path.lstrip("/") if to else path
                if at in pages and place not in pages[at].ids:
                    wrong.append(f"{path}: {link} leads to no place")
    files = {str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file()} - {"site.json"}
    if need_all:
        wrong += [f"{path}: no link leads to it" for path in sorted(files - reached)]
    return wrong


def snapshot(folder):
    """What is in it: bytes and times of change by path."""
    return {str(p.relative_to(folder)): (p.read_bytes(), p.stat().st_mtime_ns) for p in folder.rglob("*") if p.is_file()}


def contents(folder):
    return {path: data for path, (data, _) in snapshot(folder).items()}
