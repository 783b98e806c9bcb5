"""UnBlend (Pinter, Jacobs and Eisenstein 2020): novel blends and compounds of English.

``complex_words.tsv``: ``word``, its ``bases``, and a ``sequence`` with one letter for each letter of the word: A, B or
C for the base that it comes from, X where it comes from more than one, P, S and O for what comes before, after and
between. A part is a run of one letter. Letters of both bases go to the base that they complete (``adhoc|rat``: adhoc,
aristocrat; ``barri|cage``: barricade, cage), or else cannot be cut, like words whose bases are interleaved.
"""

from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

from tokbench.errors import TokbenchError
from tokbench.intrinsic.gold import SegmentedWord
from tokbench.intrinsic.rows import records
from tokbench.resource import ResourceOptions, resource

LETTERS = frozenset("ABCXPSO")


@resource("unblend", gold="segmentations", files="complex_words.tsv*", cites=("pinter2020",))
def unblend(path: Path, language: str, options: ResourceOptions) -> Iterator[SegmentedWord]:
    """Blends and compounds cut where the letters of one base end and those of the other begin."""
    columns = ("word", "bases", "sequence", "linearity")
    for number, (word, bases, sequence, linearity) in records(path, columns, "\t"):
        if len(sequence) != len(word) or not LETTERS.issuperset(sequence):
            raise TokbenchError(f"{path}:{number}: sequence {sequence!r} does not fit the word {word!r}; mend the line")
        parts = _parts(word, bases.split(), sequence) if linearity == "linear" else ()
        yield SegmentedWord(language or "en", word, parts)


def _parts(word: str, bases: list[str], sequence: str) -> list[str]:
    """The parts of a word; none where letters of both bases complete neither."""
    first, shared, second = (sequence.count(letter) for letter in "AXB")
    if shared:
        if len(bases) != 2 or "A" * first + "X" * shared + "B" * second not in sequence:
            return []
        start = sequence.index("A" * first + "X" * shared + "B" * second)
        meeting = start + first
        if word[start : meeting + shared] == bases[0]:
            sequence = sequence.replace("X", "A")
        elif word[meeting : meeting + shared + second] == bases[1]:
            sequence = sequence.replace("X", "B")
        else:
            return []
    places = iter(word)
    return ["".join(next(places) for _ in run) for _, run in groupby(sequence)]
