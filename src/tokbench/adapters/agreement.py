"""Whether a tokenizer gives the ids of another library, text by text."""

from collections.abc import Iterable
from dataclasses import dataclass

from tokbench.adapters.libraries import Library, told
from tokbench.errors import shortened
from tokbench.tokenizer import Tokenizer

SHOWN = 24
"""Characters that are shown around a difference."""


@dataclass(frozen=True)
class Difference:
    """The first place where two tokenizers differ.

    Attributes:
        text: what follows the last token that is the same.
        ours: the ids from there on, a few.
        theirs: those of the library.
    """

    text: str
    ours: list[int]
    theirs: list[int]

    def __str__(self) -> str:
        return f"'{shortened(self.text, SHOWN)}' ({_listed(self.ours)} and {_listed(self.theirs)})"


def first_difference(tokenizer: Tokenizer, library: Library, texts: Iterable[bytes]) -> Difference | int:
    """The first place where the library gives other ids; where there is none, how many texts were compared.

    Args:
        tokenizer: ours.
        library: the library's.
        texts: documents; those that are not UTF-8 are left out, since libraries take text.
    """
    compared = 0
    for data in texts:
        try:
            text = data.decode()
        except UnicodeDecodeError:
            continue
        with told("the library ends on a text"):
            theirs = list(library.encode(text))
        ours = tokenizer.encode(data).tolist()
        if ours != theirs:
            same = next((i for i, (a, b) in enumerate(zip(ours, theirs, strict=False)) if a != b), None)
            same = min(len(ours), len(theirs)) if same is None else same
            rest = data[len(tokenizer.decode(ours[:same])) :].decode("utf-8", "replace")
            return Difference(rest, ours[same:], theirs[same:])
        compared += 1
    return compared


def _listed(ids: list[int]) -> str:
    return " ".join(map(str, ids[:4])) + (" ..." if len(ids) > 4 else "") or "nothing"
