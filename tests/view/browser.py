# SPDX-License-Identifier: Apache-2.0
"""Chromium, without a window, for the tests of pages: opens one, and asks what it shows.

What a page looks like is asked of the rendered page: boxes of texts, colours as computed, what has the
focus. The questions are scripts of ours; the pages have none.
"""
import base64
import os
import shutil

try:
    from selenium import webdriver
    from selenium.webdriver.chrome.options import Options
    from selenium.webdriver.chrome.service import Service
    MISSING = next((f"no {name}" for name in ("chromium", "chromedriver") if not shutil.which(name)), "")
except ImportError:
    MISSING = "no python3-selenium"

# Every text that is visible: its box, colour, what is behind it, size, and the drawing it lies in.
TEXTS = """
const found = [];
const opaque = c => { const n = c.match(/[\\d.]+/g).map(Number); return n.length < 4 || n[3] > 0.99 ? n : null; };
const known = new Map();
function behind(e) {
  if (!e) return matchMedia('(prefers-color-scheme: dark)').matches ? [18, 18, 18] : [255, 255, 255];
  if (!known.has(e)) known.set(e, opaque(getComputedStyle(e).backgroundColor) || behind(e.parentElement));
  return known.get(e);
}
const walker = document.createTreeWalker(document, NodeFilter.SHOW_TEXT);
while (walker.nextNode()) {
  const node = walker.currentNode, e = node.parentElement;
  if (!node.data.trim() || !e || ['STYLE', 'TITLE', 'title', 'desc', 'style'].includes(e.tagName)) continue;
  const range = document.createRange();
  range.selectNodeContents(node);
  const b = range.getBoundingClientRect();
  if (b.width === 0 || !e.checkVisibility()) continue;
  const style = getComputedStyle(e), svg = e.closest('svg');
  const colour = svg && e.tagName === 'text' ? style.fill : style.color;
  let back = behind(svg ? svg.parentElement : e);
  if (svg && svg === document.documentElement) back = opaque(getComputedStyle(svg.querySelector('.bg')).fill);
  const s = svg ? svg.getBoundingClientRect() : null;
  found.push({text: node.data.trim(), box: [b.left + scrollX, b.top + scrollY, b.right + scrollX, b.bottom + scrollY],
              colour: opaque(colour) || [127, 127, 127], back, size: parseFloat(style.fontSize), tag: e.tagName,
              svg: s ? [s.left + scrollX, s.top + scrollY, s.right + scrollX, s.bottom + scrollY] : null});
}
for (const e of document.querySelectorAll('input:not([type=checkbox]),select')) {
  const b = e.getBoundingClientRect(), style = e.value ? getComputedStyle(e) : getComputedStyle(e, '::placeholder');
  found.push({text: e.value || e.placeholder || e.name, box: [b.left + scrollX, b.top + scrollY, b.right + scrollX,
              b.bottom + scrollY], colour: opaque(style.color) || [127, 127, 127], back: behind(e),
              size: parseFloat(getComputedStyle(e).fontSize), tag: e.tagName, svg: null});
}
return found;
"""


def luminance(colour):
    channel = [c / 255 / 12.92 if c / 255 <= 0.04045 else ((c / 255 + 0.055) / 1.055) ** 2.4 for c in colour[:3]]
    return 0.2126 * channel[0] + 0.7152 * channel[1] + 0.0722 * channel[2]


def contrast(a, b):
    """As WCAG 2 defines it."""
    low, high = sorted((luminance(a), luminance(b)))
    return (high + 0.05) / (low + 0.05)


class Browser:
    def __init__(self):
        options = Options()
        for argument in ("--headless=new", "--disable-gpu", "--hide-scrollbars", "--disable-dev-shm-usage",
                         "--force-color-profile=srgb", "--disable-background-networking"):
            options.add_argument(argument)
        if os.geteuid() == 0:
            options.add_argument("--no-sandbox")
        options.add_argument(f"--user-data-dir={os.environ['TMPDIR']}/chromium")
        self.driver = webdriver.Chrome(service=Service(shutil.which("chromedriver")), options=options)

    def close(self):
        self.driver.quit()

    def cdp(self, command, **arguments):
        return self.driver.execute_cdp_cmd(command, arguments)

    def see(self, width=1024, scheme="light", height=900, scale=1):
        """The page that is open, on another screen."""
        self.cdp("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        self.cdp("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=scale, mobile=False)

    def open(self, path, width=1024, scheme="light", height=900, scale=1):
        self.see(width, scheme, height, scale)
        self.driver.get(path if str(path).startswith("http://") else f"file://{path}")

    def paper(self, printed):
        """The page as a printer gets it: on A4 with the usual margins."""
        self.see(718)
        self.cdp("Emulation.setEmulatedMedia", media="print" if printed else "")

    def ask(self, script, *arguments):
        return self.driver.execute_script(script, *arguments)

    def texts(self):
        return self.ask(TEXTS)

    def key(self, key, code):
        """A key pressed, as a person would: no script has a part in it."""
        for kind in ("rawKeyDown", "keyUp"):
            self.cdp("Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=code)

    def click(self, x, y):
        for kind in ("mousePressed", "mouseReleased"):
            self.cdp("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def scripts(self, allowed):
        self.cdp("Emulation.setScriptExecutionDisabled", value=not allowed)

    def picture(self, path=None, height=None, top=0):
        """The whole page as PNG, or WebP by the path's name; written where one is given. Or a part: from `top`, so high."""
        size = self.cdp("Page.getLayoutMetrics")["cssContentSize"]
        clip = {"x": 0, "y": top, "width": size["width"], "height": min(size["height"] - top, height or 15000), "scale": 1}
        kind = {"format": "webp", "quality": 85} if path and path.suffix == ".webp" else {"format": "png", "optimizeForSpeed": not path}
        picture = base64.b64decode(self.cdp("Page.captureScreenshot", captureBeyondViewport=True, clip=clip, **kind)["data"])
        if path:
            path.write_bytes(picture)
        return picture

    def printed(self):
        return base64.b64decode(self.cdp("Page.printToPDF", printBackground=False)["data"])
