# SPDX-License-Identifier: Apache-2.0
"""What every page and drawing must be like, asked of it as Chromium shows it.

Each check returns what is wrong, as lines; test_looking.py shows of each that it finds what is broken.
"""
import browser

WIDTHS, SCHEMES = (360, 1024, 1920), ("light", "dark")
LEAST_SIZE = 11  # pixels of a letter's height, as its font has it
TABS_MOST = 40

# What reaches beyond the page, where nothing can be scrolled to see it.
WIDE = """
const found = [], scrolls = e => e && (['auto', 'scroll'].includes(getComputedStyle(e).overflowX) || scrolls(e.parentElement));
if (document.documentElement.scrollWidth > innerWidth) found.push('the page: ' + document.documentElement.scrollWidth);
for (const e of document.querySelectorAll('*')) {
  const b = e.getBoundingClientRect();
  if (b.right + scrollX > innerWidth + 1 && b.width > 0 && !scrolls(e.parentElement)) found.push(e.tagName + ' ' + b.right);
}
return found;
"""

# Texts that are there and not to be seen: without room, left of or above the page, cut by what holds
# them; in fields, longer than these. And words that programs write where they have none.
MISSING = """
const found = [], known = new Map();
function edges(a) {  // of all that cuts what a holds, from the inside out
  if (!a) return [];
  if (!known.has(a)) {
    const style = getComputedStyle(a), cuts = a.tagName !== 'svg' && ['hidden', 'clip'].some(o => style.overflowX === o || style.overflowY === o);
    known.set(a, cuts ? [a.getBoundingClientRect(), ...edges(a.parentElement)] : edges(a.parentElement));
  }
  return known.get(a);
}
const walker = document.createTreeWalker(document, NodeFilter.SHOW_TEXT);
while (walker.nextNode()) {
  const node = walker.currentNode, e = node.parentElement, text = node.data.trim();
  if (!text || !e || ['STYLE', 'TITLE', 'title', 'desc', 'style', 'OPTION'].includes(e.tagName)) continue;
  if (!e.checkVisibility({visibilityProperty: true}) || e.closest('details:not([open]) > :not(summary)')) {
    if (!e.closest('details,.narrow,.wide,.more')) found.push('not shown: ' + text);
    continue;
  }
  const range = document.createRange();
  range.selectNodeContents(node);
  const b = range.getBoundingClientRect();
  if (b.width < 1 || b.height < 1) found.push('no room: ' + text);
  if (b.left + scrollX < -1 || b.top + scrollY < -1) found.push('off the page: ' + text);
  for (const box of edges(e))
    if (b.right > box.right + 1 || b.bottom > box.bottom + 2) found.push('cut: ' + text);
  if (/\\(null\\)|\\b(undefined|null|nan|-nan|inf)\\b/i.test(text)) found.push('no word: ' + text);
}
for (const e of document.querySelectorAll('input:not([type=checkbox],[type=hidden]),select')) {
  const style = getComputedStyle(e), text = e.tagName === 'SELECT' ? e.selectedOptions[0].text : e.value || e.placeholder;
  const pen = document.createElement('canvas').getContext('2d');
  pen.font = style.font;
  const room = e.clientWidth - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight);
  if (pen.measureText(text).width > room + 1) found.push('longer than its field: ' + text);
}
return found;
"""

# Whiskers and lines that go through the letters of a text, in steps of a pixel.
STRUCK = """
const found = [];
for (const svg of document.querySelectorAll('svg')) {
  if (!svg.checkVisibility()) continue;
  const dots = [];
  for (const e of svg.querySelectorAll('line.wh,path.wh,line.ln,path.ln')) {
    const m = e.getScreenCTM();
    const d = e.tagName === 'line' ? 'M' + e.getAttribute('x1') + ' ' + e.getAttribute('y1') + 'L' + e.getAttribute('x2') +
      ' ' + e.getAttribute('y2') : e.getAttribute('d');
    let last = null, x = 0, y = 0;
    for (const [, command, numbers] of d.matchAll(/([A-Za-z])([^A-Za-z]*)/g)) {
      const values = (numbers.match(/-?(?:\\d+\\.?\\d*|\\.\\d+)/g) || []).map(Number), kind = command.toLowerCase();
      for (let first = true; values.length; first = false) {
        const relative = command === kind, dx = kind === 'v' ? (relative ? 0 : x) : values.shift();
        const dy = kind === 'h' ? (relative ? 0 : y) : values.shift();
        [x, y] = relative ? [x + dx, y + dy] : [dx, dy];
        const p = new DOMPoint(x, y).matrixTransform(m);
        if (kind !== 'm' || !first) {
          const long = Math.ceil(Math.hypot(p.x - last.x, p.y - last.y)) + 1;
          for (let i = 0; i <= long; i++) dots.push([last.x + (p.x - last.x) * i / long, last.y + (p.y - last.y) * i / long]);
        }
        last = p;
      }
    }
  }
  for (const t of svg.querySelectorAll('text')) {
    const b = t.getBoundingClientRect(), hair = b.height * 0.2; // the box is higher than the letters
    if (dots.some(([x, y]) => x > b.left + 1 && x < b.right - 1 && y > b.top + hair && y < b.bottom - hair))
      found.push('struck through: ' + t.textContent);
  }
}
return found;
"""

# Of a drawing with several lines: each has a sample in the legend, and no two samples look the same.
ALIKE = """
const found = [];
for (const svg of document.querySelectorAll('svg')) {
  if (!svg.checkVisibility()) continue;
  const parts = [...svg.querySelectorAll('g:not([class])')].filter(g => !g.querySelector('g:not([class])')); // with a class: labels
  for (const panel of parts.length ? parts : [svg]) {
    const lines = [...panel.querySelectorAll('path.ln')].filter(e => e.getAttribute('d')), seen = new Set();
    const samples = [...panel.querySelectorAll('line.ln')];
    if (lines.length > 1 && samples.length !== lines.length) found.push(samples.length + ' samples of ' + lines.length + ' lines');
    for (const e of samples) {
      const style = getComputedStyle(e), marker = e.nextElementSibling;
      const looks = [style.stroke, style.strokeDasharray, marker ? marker.tagName + (marker.getAttribute('d') || '').replace(/^M[^a-z]*/, '') : ''].join('|');
      if (seen.has(looks)) found.push('two look the same: ' + looks);
      seen.add(looks);
    }
  }
}
return found;
"""

# Tables that end behind the edge of what scrolls them.
CUT = """
return [...document.querySelectorAll('table')].filter(t => t.checkVisibility() && t.parentElement.scrollWidth >
  t.parentElement.clientWidth + 1).map(t => 'cut: ' + t.textContent.trim().slice(0, 40) + ' ' + t.parentElement.scrollWidth);
"""

# Times and costs in tables that nobody sees who does not scroll sideways.
FAR = """
const found = [];
for (const t of document.querySelectorAll('table')) {
  if (!t.checkVisibility() || !t.tHead || t.closest('details')) continue;
  [...t.tHead.rows[0].cells].forEach((head, i) => {
    if (!/^(time|cost, \\$|USD|USD (?:an|per) hour|whole training.*)$/.test(head.textContent)) return;
    for (const row of [t.tHead.rows[0], ...t.tBodies[0].rows])
      if (row.cells[i] && row.cells[i].getBoundingClientRect().right > innerWidth) found.push('far: ' + row.cells[i].textContent);
  });
}
return found;
"""

HEADINGS = """
const heads = [...document.querySelectorAll('h1,h2,h3,h4,h5,h6')], levels = heads.map(h => +h.tagName[1]), found = [];
if (levels[0] !== 1 || levels.filter(l => l === 1).length !== 1) found.push('not one h1 first: ' + levels);
levels.forEach((l, i) => { if (i && l > levels[i - 1] + 1) found.push('a level is skipped before ' + heads[i].textContent); });
for (const e of [...heads, ...document.querySelectorAll('th,caption,summary,title')])
  if (!e.textContent.trim()) found.push('empty: ' + e.tagName);
if (!document.documentElement.lang) found.push('no language');
return found;
"""

NAMELESS = """
return [...document.querySelectorAll('input:not([type=hidden]),select,button,a[href],[tabindex]')].filter(e => !(e.labels && e.labels.length) &&
  !e.ariaLabel && !e.textContent.trim()).map(e => 'no name: ' + e.outerHTML.slice(0, 80));
"""

# What can have the focus, in the order of the document; then what had it.
FOCUS = """
window.seen = [];
const all = [...document.querySelectorAll('a[href],input,select,button,summary,[tabindex]')].filter(e => e.checkVisibility());
addEventListener('focusin', event => {
  const e = event.target, b = e.getBoundingClientRect();
  seen.push({at: all.indexOf(e), top: b.top + scrollY, bottom: b.bottom + scrollY, what: e.tagName + ' ' + (e.name || e.textContent.trim()).slice(0, 30),
             ring: getComputedStyle(e).outlineStyle !== 'none'});
});
return all.length;
"""


def wide(chrome):
    return chrome.ask(WIDE)


def missing(chrome):
    return chrome.ask(MISSING)


def struck(chrome):
    return chrome.ask(STRUCK)


def alike(chrome):
    return chrome.ask(ALIKE)


def cut(chrome):
    return chrome.ask(CUT)


def far(chrome):
    return chrome.ask(FAR)


def paper(chrome):
    """What is wider than a printed page, also with all tables open."""
    chrome.paper(True)
    try:
        wrong = wide(chrome)
        chrome.ask("document.querySelectorAll('details').forEach(d => { d.open = !d.open })")
        wrong += wide(chrome)
        chrome.ask("document.querySelectorAll('details').forEach(d => { d.open = !d.open })")
    finally:
        chrome.paper(False)
    return wrong


def headings(chrome):
    return chrome.ask(HEADINGS)


def nameless(chrome):
    return chrome.ask(NAMELESS)


def pale(texts):
    found = [(t["text"], browser.contrast(t["colour"], t["back"])) for t in texts]
    return [f"{text!r} {ratio:.2f}" for text, ratio in found if ratio < 4.5] if texts else ["no text at all"]


def outside(texts):
    """Texts that leave their drawing, and would be cut or lie on something else."""
    return [t["text"] for t in texts if t["svg"] and (
        t["box"][0] < t["svg"][0] - 1.5 or t["box"][2] > t["svg"][2] + 1.5 or
        t["box"][1] < t["svg"][1] - 2 or t["box"][3] > t["svg"][3] + 2)]


def overlapping(texts):
    """Pairs of texts in one drawing, or of fields, whose boxes share more than a hair."""
    found = []
    for i, a in enumerate(texts):
        for b in texts[i + 1:]:
            if a["svg"] != b["svg"]:
                continue
            x = min(a["box"][2], b["box"][2]) - max(a["box"][0], b["box"][0])
            y = min(a["box"][3], b["box"][3]) - max(a["box"][1], b["box"][1])
            # Boxes are as high as the font's ascent and descent; letters are not.
            if x > 1 and y > 0.3 * min(a["box"][3] - a["box"][1], b["box"][3] - b["box"][1]):
                found.append(f"{a['text']!r} on {b['text']!r}")
    return found


def small(texts):
    return [t["text"] for t in texts if t["size"] < LEAST_SIZE]


def tabs(chrome):
    """Tab goes through everything, as the document and the eye do, and shows where it is."""
    count = min(chrome.ask(FOCUS), TABS_MOST)
    for _ in range(count):
        chrome.key("Tab", 9)
    seen = chrome.ask("return seen")
    wrong = [] if [s["at"] for s in seen] == list(range(count)) else [f"{len(seen)} of {count}: {[s['at'] for s in seen]}"]
    wrong += [f"{b['what']} is above {a['what']}" for a, b in zip(seen, seen[1:]) if b["bottom"] <= a["top"]]
    return wrong + [f"{s['what']} does not show that it has the focus" for s in seen if not s["ring"]]


def without_scripts(chrome, path):
    """It has none, and looks the same where none may run."""
    found = chrome.ask("return [...document.querySelectorAll('script,link,img,iframe,object,embed,base')].map(e => e.outerHTML)"
                       ".concat([...document.querySelectorAll('*')].filter(e => [...e.attributes].some("
                       "a => a.name.startsWith('on') || /^\\s*javascript:/i.test(a.value))).map(e => e.outerHTML))")
    chrome.open(path)
    before = chrome.picture()
    chrome.scripts(False)
    try:
        chrome.open(path)
        after = chrome.picture()
    finally:
        chrome.scripts(True)
    return found + ([] if before == after else ["it looks different without scripts"])


def look(chrome, path, name, report, drawing=False):
    """All of it, at every width, light and dark. A drawing alone has no headings and no way through it."""
    chrome.open(path)
    for width in WIDTHS:
        for scheme in SCHEMES:
            chrome.see(width, scheme)
            texts = chrome.texts()
            drawn = [t for t in texts if t["svg"] or t["tag"] in ("INPUT", "SELECT")]
            for what, wrong in (("nothing is wider than the page", wide(chrome)),
                                (f"contrast of {len(texts)} texts is 4.5 or more", pale(texts)),
                                ("no text leaves its drawing", outside(drawn)),
                                ("no texts lie on each other", overlapping(drawn)),
                                ("no line goes through a text", struck(chrome)),
                                ("lines are told apart in the legend", alike(chrome)),
                                ("no text is missing", missing(chrome)),
                                ("no text is too small to read", small(texts))):
                report(f"{name} at {width} px, {scheme}: {what}", not wrong, "\n".join(wrong))
        wrong = far(chrome) if width == WIDTHS[0] else cut(chrome)
        report(f"{name} at {width} px: {'time and cost are in sight' if width == WIDTHS[0] else 'no table is cut'}", not wrong,
               "\n".join(wrong))
    if drawing:
        return
    wrong = paper(chrome)
    report(f"{name}: printed, nothing is wider than the paper", not wrong, "\n".join(wrong))
    chrome.see()
    for what, wrong in (("headings are in order", headings(chrome)), ("all that can be used has a name", nameless(chrome)),
                        ("tab goes from top to bottom", tabs(chrome)),
                        ("no scripts are needed", without_scripts(chrome, path))):
        report(f"{name}: {what}", not wrong, "\n".join(wrong))
