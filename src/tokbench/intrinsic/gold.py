"""The two rows to which every resource comes down: a word with its parts, a word with how people read it.

Boundaries between parts are byte offsets into the word, so that they can be compared with tokens in any script. A
segmentation that does not spell its word (``mak|ing`` does, ``make|ing`` does not) has no boundaries.
"""

from collections.abc import Sequence
from itertools import accumulate
from typing import NamedTuple


class SegmentedWord(NamedTuple):
    """A word and its parts, as a file gives them; no parts where the file tells of the word but not how to cut it."""

    language: str
    word: str
    segments: Sequence[str]


class Decision(NamedTuple):
    """A word or nonword with what a lexical decision experiment found of it."""

    language: str
    word: str
    lexicality: str
    reaction_time: float | None
    accuracy: float | None


def boundaries(word: str, segments: Sequence[str]) -> list[int] | None:
    """Byte offsets in the word at which its parts meet; None where the parts do not spell the word.

    Case is no difference, so that the parts of a German compound may keep their capitals.
    """
    joined = "".join(segments)
    if not segments or not all(segments) or len(joined) != len(word) or joined.lower() != word.lower():
        return None
    ends = list(accumulate(map(len, segments)))[:-1]
    return [len(word[:end].encode("utf-8", "surrogatepass")) for end in ends]
