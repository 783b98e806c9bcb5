"""Make the pictures of docs/gallery.md: the first screens of reports, in headless Chromium.

``python tools/make_gallery.py``, or ``make gallery``. The reports of results/published are built into build/gallery.
That of the demo, results/demo/report.html, is used if it exists. The picture of the README is that of the leaderboard.
Names of pictures as arguments limit the work to these.
"""

import argparse
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

from build_reports import build
from leaderboard_page import PAGE, write_page
from PIL import Image
from render_published import ROOT

GALLERY = ROOT / "docs" / "gallery.md"
PICTURES = ROOT / "docs" / "images"
WIDTH, HEIGHT = 1280, 800
README_HEIGHT = 760
COLORS = 256


def main() -> None:
    """Build the reports and write one PNG for each."""
    parser = argparse.ArgumentParser(description="Make the pictures of docs/gallery.md.")
    parser.add_argument("names", nargs="*", help="folders of results/published, demo, leaderboard; default: all")
    parser.add_argument("--chromium", default=shutil.which("chromium") or shutil.which("google-chrome"))
    given = parser.parse_args()
    if given.chromium is None:
        parser.error("no Chromium here; name one with --chromium")
    wanted = given.names or re.findall(r"images/gallery/(\w+)\.png", GALLERY.read_text(encoding="utf-8"))
    wanted = [name for name in wanted if name != PAGE.stem]
    if not given.names or PAGE.stem in given.names:
        write_page()
        picture(PAGE, PICTURES / f"{PAGE.stem}.png", README_HEIGHT, given.chromium)
    for page in build(wanted) if wanted else ():
        picture(page, PICTURES / "gallery" / f"{page.stem}.png", HEIGHT, given.chromium)


def picture(page: Path, path: Path, height: int, chromium: str) -> None:
    """Write the first screen of a page as a PNG with a palette."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        shot = Path(folder) / "shot.png"
        call = [
            chromium, "--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", f"--screenshot={shot}",
            f"--user-data-dir={folder}/profile", f"--window-size={WIDTH},{height}", page.resolve().as_uri(),
        ]  # fmt: skip
        subprocess.run(call, check=True, capture_output=True, timeout=300)
        with Image.open(shot) as image:
            image.convert("RGB").quantize(COLORS, dither=Image.Dither.NONE).save(path, optimize=True)
    print(f"{path.relative_to(ROOT)}: {path.stat().st_size / 1000:.0f} kB", flush=True)


if __name__ == "__main__":
    main()
