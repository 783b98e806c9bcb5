"""Pre-token boundaries by regular expression: the definition that the scanners must meet."""

from itertools import accumulate

import regex


def boundaries(pattern: str | None, text: bytes) -> list[int]:
    if pattern is None:
        return [0, len(text)] if text else [0]
    characters = text.decode("utf-8", "surrogateescape")
    pretokens = regex.findall(pattern, characters)
    return [0, *accumulate(len(pretoken.encode("utf-8", "surrogateescape")) for pretoken in pretokens)]
