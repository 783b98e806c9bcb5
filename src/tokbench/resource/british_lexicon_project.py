"""The British Lexicon Project (Keuleers, Lacey, Rastle and Brysbaert 2012): lexical decisions on words and nonwords.

``blp-items.txt``: fields between tabs, among them ``spelling``, ``lexicality`` (W or N), ``rt`` (mean reaction time of
right answers, milliseconds) and ``accuracy``; ``NA`` or nothing where there is no value.
"""

from collections.abc import Iterator
from pathlib import Path

from tokbench.errors import TokbenchError
from tokbench.inputs.numbers import real_number
from tokbench.intrinsic.gold import Decision
from tokbench.intrinsic.rows import records
from tokbench.resource import ResourceOptions, resource

ABSENT = ("", "NA", "NaN", "nan")


@resource("british_lexicon_project", gold="lexical_decisions", files="blp-items*", cites=("keuleers2012",))
def british_lexicon_project(path: Path, language: str, options: ResourceOptions) -> Iterator[Decision]:
    """Words and nonwords with reaction time and accuracy."""
    for number, row in records(path, ("spelling", "lexicality", "rt", "accuracy"), "\t"):
        spelling, lexicality, *values = row
        if not spelling or lexicality not in ("W", "N"):
            raise TokbenchError(f"{path}:{number}: lexicality {lexicality!r} is neither W nor N; mend the line")
        try:
            reaction_time, accuracy = (None if value in ABSENT else real_number(value.strip()) for value in values)
        except ValueError:
            raise TokbenchError(f"{path}:{number}: rt and accuracy must be numbers, found {values}; mend it") from None
        yield Decision(language or "en", spelling, lexicality, reaction_time, accuracy)
