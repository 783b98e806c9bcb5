"""LADEC, the Large Database of English Compounds (Gagné, Spalding and Schmidtke 2019).

``LADECv1-2019.csv``: among many columns the compound ``stim``, its two constituents ``c1`` and ``c2``, and
``correctParse``, which is ``yes`` where these are the compound's own.
"""

from collections.abc import Iterator
from pathlib import Path

from tokbench.intrinsic.gold import SegmentedWord
from tokbench.intrinsic.rows import records
from tokbench.resource import ResourceOptions, resource


@resource("ladec", gold="segmentations", files="LADEC*.csv*", cites=("gagne2019",))
def ladec(path: Path, language: str, options: ResourceOptions) -> Iterator[SegmentedWord]:
    """Compounds with their two constituents, those whose parse is correct."""
    for _, (compound, first, second, parse) in records(path, ("stim", "c1", "c2", "correctParse"), ","):
        if parse == "yes":
            yield SegmentedWord(language or "en", compound, (first, second))
