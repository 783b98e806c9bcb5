"""Run axe-core over pages of a report, in headless Chromium at two widths, in light and in dark; list what it finds.

``python tools/check_accessibility.py --axe node_modules/axe-core/axe.min.js results/demo/report.html``

It needs Chromium and two things that nothing else here does: playwright (PyPI) and axe-core (npm); CONTRIBUTING.md
says how they are had. What is folded is opened, and what a browser leaves undrawn until it is scrolled to is drawn:
axe passes over what it does not see. That is done twenty parts of the page at a time, since all at once a page of some
megabytes takes a browser gigabytes. Rules on the page as a whole, such as those of headings and landmarks, are run
once over all of it. A page of 2 MB takes about 45 seconds of processor time at each width and scheme, and a gigabyte
at most.
"""

import argparse
import shutil
import sys
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

WIDTHS = (1280, 390)
SCHEMES = ("light", "dark")
PARTS = "header, nav, main > *:not(section), main > section > *"
"""Parts of a page, none within another, which are all of it but the frame of sections and their headings."""
FRAME = (
    "bypass,document-title,html-has-lang,landmark-one-main,page-has-heading-one,heading-order,region,duplicate-id-aria"
)
"""Rules on the page as a whole."""
SCRIPT = """async ([selector, rules, first, last]) => {
  const parts = selector ? Array.from(document.querySelectorAll(selector)).slice(first, last) : [document];
  if (!parts.length) return null;
  const visible = (value) => selector && parts.forEach((part) => { part.style.contentVisibility = value; });
  for (const one of document.querySelectorAll("details")) one.open = true;
  visible("visible");
  const only = rules ? { runOnly: { type: "rule", values: rules.split(",") } } : {};
  const { violations } = await axe.run({ include: parts }, { resultTypes: ["violations"], ...only });
  visible("");
  return violations.flatMap((one) => one.nodes.map((node) => [one.id, one.help, node.target.join(" ")]));
}"""
STEP = 20
"""Parts that are looked at together."""


def main() -> None:
    """Print every violation; the exit status is 1 where there is one."""
    parser = argparse.ArgumentParser(description="Run axe-core over pages of a report.")
    parser.add_argument("pages", nargs="+", type=Path)
    parser.add_argument("--axe", type=Path, required=True, help="axe.min.js of axe-core")
    parser.add_argument("--width", type=int, action="append", help="pixels; 1280 and 390 if left out")
    parser.add_argument("--scheme", choices=SCHEMES, action="append", help="both if left out")
    parser.add_argument("--chromium", default=shutil.which("chromium") or shutil.which("google-chrome"))
    given = parser.parse_args()
    axe, found = given.axe.read_text(encoding="utf-8"), 0
    for page, width, scheme in product(given.pages, given.width or WIDTHS, given.scheme or SCHEMES):
        violations = looked_at(page, width, scheme, axe, given.chromium)
        print(f"{page}, {width} pixels, {scheme}: {len(violations)} violations", flush=True)
        for rule, says, where in violations:
            print(f"  {rule}: {says}: {where}")
        found += len(violations)
    sys.exit(1 if found else 0)


def looked_at(page: Path, width: int, scheme: str, axe: str, chromium: str | None) -> list[list[str]]:
    """Rule, meaning and place of each violation.

    Args:
        page: an HTML file.
        width: of the window, in pixels.
        scheme: of colours, light or dark.
        axe: the text of axe-core.
        chromium: the browser.
    """
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        shown = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme).new_page()
        shown.goto(page.resolve().as_uri())
        shown.evaluate(axe)
        found = list(_violations(shown))
        browser.close()
    return found


def _violations(shown: Any) -> Iterator[list[str]]:
    yield from shown.evaluate(SCRIPT, ["", FRAME, 0, 1])
    first = 0
    while (found := shown.evaluate(SCRIPT, [PARTS, "", first, first + STEP])) is not None:
        yield from found
        first += STEP


if __name__ == "__main__":
    main()
