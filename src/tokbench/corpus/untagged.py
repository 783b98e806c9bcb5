"""Documents without a language in a corpus where others have one: all of them get one tag when it is prepared."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from tokbench.languages import UNDETERMINED

UNTAGGED = b"untagged"


def merge_untagged(languages: NDArray[np.int32], numbers: Mapping[str, int]) -> int:
    """Give documents without a language the number of undetermined ones where other documents have a language.

    Args:
        languages: the number of the language of each document, changed in place; negative numbers are no documents.
        numbers: the numbers of the languages, that of the empty tag for documents without one.

    Returns:
        How many documents without a language there are next to others with one.
    """
    own = numbers.get("")
    if own is None:
        return 0
    untagged = languages == own
    number = int(untagged.sum())
    if number == int((languages >= 0).sum()):
        return 0
    languages[untagged] = numbers.get(UNDETERMINED, own)
    return number


def found_untagged(number: int) -> dict[str, str]:
    """Return how many documents get a tag because others have one, for the manifest; empty where there are none."""
    return {"untagged_documents": note_of_untagged(number)} if number else {}


def note_of_untagged(number: int) -> str:
    """Return a line on how many documents get a tag because others have one."""
    some = "1 document has" if number == 1 else f"{number:,} documents have"
    return f"{some} no language and others have one; the tag '{UNDETERMINED}' (undetermined) is used"


def untagged_in(metadata: dict[bytes, bytes] | None) -> str:
    """Return the tag of documents without a language by the metadata of a file of places, empty for none."""
    return (metadata or {}).get(UNTAGGED, b"").decode()
