"""Accessibility check of report pages: runs axe-core in headless Chromium at two widths, in light and dark mode.

``python tools/check_accessibility.py --axe node_modules/axe-core/axe.min.js results/demo/report.html``

Needs Chromium, playwright (PyPI) and axe-core (npm); see CONTRIBUTING.md. Folded parts are opened and lazily drawn
parts are drawn, because axe ignores invisible content. This is done for twenty parts of the page at a time, because a
page of some megabytes would otherwise need gigabytes of memory. Rules on the complete page, such as those on headings
and landmarks, run once. A page of 2 MB needs about 45 seconds of processor time per width and scheme, and at most 1 GB.
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
"""Selector of disjoint parts that cover the page, except section frames and headings."""
FRAME = (
    "bypass,document-title,html-has-lang,landmark-one-main,page-has-heading-one,heading-order,region,duplicate-id-aria"
)
"""Rules on the complete page."""
SCRIPT = """async ([selector, rules, first, last]) => {
  const parts = selector ? Array.from(document.querySelectorAll(selector)).slice(first, last) : [document];
  if (!parts.length) return null;
  const inside = selector ? parts.flatMap((part) => [part, ...part.querySelectorAll("*")]) : [];
  const lazy = inside.filter((one) => getComputedStyle(one).contentVisibility === "auto");
  const visible = (value) => lazy.forEach((one) => { one.style.contentVisibility = value; });
  for (const one of document.querySelectorAll("details")) one.open = true;
  visible("visible");
  const only = rules ? { runOnly: { type: "rule", values: rules.split(",") } } : {};
  const { violations } = await axe.run({ include: parts }, { resultTypes: ["violations"], ...only });
  visible("");
  return violations.flatMap((one) => one.nodes.map((node) => [one.id, one.help, node.target.join(" ")]));
}"""
STEP = 20
"""Number of parts that are checked together."""


def main() -> None:
    """Print all violations; exit with status 1 if there are any."""
    parser = argparse.ArgumentParser(description="Run axe-core over pages of a report.")
    parser.add_argument("pages", nargs="+", type=Path)
    parser.add_argument("--axe", type=Path, required=True, help="axe.min.js of axe-core")
    parser.add_argument("--width", type=int, action="append", help="Width in pixels. Default: 1280 and 390.")
    parser.add_argument("--scheme", choices=SCHEMES, action="append", help="Colour scheme. Default: both.")
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
    """Return rule, description and element of each violation.

    Args:
        page: an HTML file.
        width: width of the window in pixels.
        scheme: colour scheme, ``light`` or ``dark``.
        axe: source code of axe-core.
        chromium: path of the browser, or None.
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
