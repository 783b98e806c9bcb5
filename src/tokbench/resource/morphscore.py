"""MorphScore (Arnett and Bergen 2025): words of many languages, each cut in two.

``english_morph_data.csv``: an index, ``full_word``, ``pt1`` and ``rest``. The language is the file's name up to
``_morph_data``.
"""

from collections.abc import Iterator
from pathlib import Path

from tokbench.intrinsic.gold import SegmentedWord
from tokbench.intrinsic.rows import language_tag, records
from tokbench.resource import ResourceOptions, resource


@resource("morphscore", gold="segmentations", files="*_morph_data.csv*", cites=("arnett2025",))
def morphscore(path: Path, language: str, options: ResourceOptions) -> Iterator[SegmentedWord]:
    """Words with a first part and the rest of them; where there is no rest, the word is one part."""
    tag = language or language_tag(path, "_morph_data")
    for _, (word, first, rest) in records(path, ("full_word", "pt1", "rest"), ","):
        yield SegmentedWord(tag, word, (first, rest) if rest else (first,))
