"""The shortest input that still shows a fault."""

from collections.abc import Callable

MOST_TRIALS = 3000
"""Inputs that are tried at most; what is found by then is short enough to read."""


def shortest(text: bytes, shows: Callable[[bytes], bool], most: int = MOST_TRIALS) -> bytes:
    """Leave out of a text what it shows its fault without: halves, then ever smaller runs of characters.

    Of what is no UTF-8, bytes are left out then; what is stays so, as its fault is not that of broken characters. None
    of what is returned can be left out by itself, unless the trials ran out.

    Args:
        text: an input that shows a fault.
        shows: whether another does.
        most: inputs to try.
    """
    left = most

    def still(units: list[bytes]) -> bool:
        nonlocal left
        left -= 1
        return bool(units) and left >= 0 and shows(b"".join(units))

    for cut in (_characters,) if _is_text(text) else (_characters, _bytes):
        kept = cut(text)
        size = max(1, len(kept) // 2)
        while size:
            before = len(kept)
            kept = _without_runs(kept, size, still)
            size = size // 2 if size > 1 or len(kept) == before else 1
        text = b"".join(kept)
    return text


def _without_runs(kept: list[bytes], size: int, still: Callable[[list[bytes]], bool]) -> list[bytes]:
    """Units less every run of a size that can be left out, from left to right."""
    start = 0
    while start < len(kept):
        fewer = kept[:start] + kept[start + size :]
        if still(fewer):
            kept = fewer
        else:
            start += size
    return kept


def _is_text(text: bytes) -> bool:
    try:
        text.decode()
    except UnicodeDecodeError:
        return False
    return True


def _characters(text: bytes) -> list[bytes]:
    return [one.encode("utf-8", "surrogateescape") for one in text.decode("utf-8", "surrogateescape")]


def _bytes(text: bytes) -> list[bytes]:
    return [bytes([one]) for one in text]
