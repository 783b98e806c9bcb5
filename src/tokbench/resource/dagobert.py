"""The derivatives of DagoBERT (Hofmann, Pierrehumbert and Schütze 2020).

``sents_01_train.txt`` and its like, one sentence a line: ``subreddit|||derivative|||base|||left|||sentence|||right``.
A derivative's parts are what precedes its base, the base, and what follows it.
"""

from collections.abc import Iterator
from pathlib import Path

from tokbench.errors import TokbenchError
from tokbench.intrinsic.gold import SegmentedWord
from tokbench.intrinsic.rows import lines
from tokbench.resource import ResourceOptions, resource


@resource("dagobert", gold="segmentations", files="sents_*.txt*", cites=("hofmann2020",))
def dagobert(path: Path, language: str, options: ResourceOptions) -> Iterator[SegmentedWord]:
    """Derivatives with prefix, base and suffix; those whose base has changed its spelling cannot be cut."""
    for number, line in lines(path):
        row = line.split("|||")
        if len(row) != 6:
            form = "subreddit|||derivative|||base|||left|||sentence|||right"
            raise TokbenchError(f"{path}:{number}: expected '{form}', found {line[:60]!r}; mend the line")
        word, base = row[1].strip(), row[2].strip()
        before, found, after = word.partition(base) if base else ("", "", "")
        yield SegmentedWord(language or "en", word, [part for part in (before, base, after) if part] if found else ())
