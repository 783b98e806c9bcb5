"""HTML of the leaderboard of existing tokenizers: a part of the site's first page, and a page of its own."""

import html
import json
from pathlib import Path

import polars as pl

from tokbench.io.atomic import atomic_file

ROOT = Path(__file__).parents[1]
BOARD = ROOT / "results" / "published" / "existing" / "leaderboard.csv"
"""The leaderboard, one row for each tokenizer and text; ``tools/make_leaderboard.py`` writes it."""
PAGE = ROOT / "build" / "gallery" / "leaderboard.html"
"""The page of its own that :func:`write_page` writes."""
TEMPLATES = Path(__file__).parent / "site"
SCRIPT, STYLE = "leaderboard.js", "leaderboard.css"
TEXTS = {
    "languages": "All 57 languages, parallel text", "news": "English news", "novels": "English novels",
    "chat": "English chat", "code": "Code, 12 languages", "mathematics": "Mathematics in LaTeX",
    "tables": "Tables of numbers", "emoji": "Emoji, one by one",
}  # fmt: skip
"""Names of the texts, in their order."""
OF_TOKENIZER = ("title", "maker", "year", "licence", "size", "ids", "pretokenization")
"""Columns that are the same for all texts."""
OF_TEXT = (
    "bytes_per_token", "low", "high", "behind", "premium", "words_in_one_token", "tokens_per_digit",
    "documents_changed", "documents", "megabytes_per_second", "verdict", "ranked",
)  # fmt: skip
DIGITS = 5
"""Significant digits in the page; the table of the repository has more."""


def fragment(board: pl.DataFrame, results: str) -> str:
    """Return the leaderboard as HTML without style and script.

    Args:
        board: the leaderboard.
        results: address of the page of the experiment, relative to the page.
    """
    data = json.dumps(data_of(board), ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")
    return (
        f'<div class="leaderboard" id="leaderboard" data-search-exclude>\n<noscript><p>The table needs JavaScript. '
        f'<a href="{html.escape(results)}">The page of the experiment</a> has the numbers.</p></noscript>\n'
        f'<script type="application/json">{data}</script>\n</div>\n'
    )


def data_of(board: pl.DataFrame) -> dict[str, object]:
    """Return tokenizers, texts and their values as the script reads them.

    Values are lists by tokenizer in the order of ``columns``; a number has :data:`DIGITS` significant digits.
    """
    tokenizers = board.unique("variant", maintain_order=True).sort("year", "title")
    place = {variant: index for index, variant in enumerate(tokenizers["variant"])}
    values: dict[str, list[list[object]]] = {}
    for row in board.select("text", "language", "variant", *OF_TEXT).iter_rows():
        text, language, variant, *rest = row
        key = f"{text}/{language}" if language else text
        rounded = [float(f"{one:.{DIGITS}g}") if isinstance(one, float) else one for one in rest]
        values.setdefault(key, []).append([place[variant], *rounded])
    return {
        "tokenizers": tokenizers.select("variant", *OF_TOKENIZER).to_dicts(),
        "columns": ["tokenizer", *OF_TEXT],
        "texts": {text: name for text, name in TEXTS.items() if text in values},
        "values": values,
    }


def page(board: pl.DataFrame) -> str:
    """Return the leaderboard as a page of its own, with style and script."""
    style, script = ((TEMPLATES / name).read_text(encoding="utf-8") for name in (STYLE, SCRIPT))
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>Tokenizers that people use</title>\n<style>\n{style}</style>\n</head>\n"
        f'<body class="leaderboard-page">\n<h1>Tokenizers that people use</h1>\n'
        f"{fragment(board, 'existing.html')}<script>\n{script}</script>\n</body>\n</html>\n"
    )


def write_page() -> None:
    """Write the kept leaderboard as a page of its own."""
    PAGE.parent.mkdir(parents=True, exist_ok=True)
    with atomic_file(PAGE) as partial:
        partial.write_text(page(read_board()), encoding="utf-8")


def read_board() -> pl.DataFrame:
    """Return the leaderboard that is kept."""
    return pl.read_csv(BOARD, schema_overrides={"language": pl.String}, infer_schema_length=None).with_columns(
        pl.col("language").fill_null("")
    )
