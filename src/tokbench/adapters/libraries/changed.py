"""Characters that a normaliser changes, counted by where each part of a normalised text comes from."""

from collections import Counter
from collections.abc import Iterable


def characters_changed(text: str, parts: Iterable[tuple[str, int, int]]) -> int:
    """Count the characters of a text, white space excluded, that are missing from its normalised form.

    Parts that come from the same characters are one part. In each, characters are counted in any order.

    Args:
        text: the text before it is normalised.
        parts: the normalised text in order, each part with the start and the end of the characters it comes from.
    """
    kept = start = end = 0
    normalised = ""
    for part, first, last in parts:
        if first >= end:
            kept += _kept(text[start:end], normalised)
            start, normalised = first, ""
        end, normalised = max(end, last), normalised + part
    return len(solid(text)) - kept - _kept(text[start:end], normalised)


def solid(text: str) -> str:
    """Return a text without white space."""
    return "".join(text.split())


def _kept(characters: str, normalised: str) -> int:
    if characters == normalised:
        return len(solid(characters))
    return (Counter(solid(characters)) & Counter(solid(normalised))).total()
