"""Other segmentations of a text into tokens of a vocabulary: by characters, at random, and digits from the right."""

from collections.abc import Collection, Iterator
from fractions import Fraction
from itertools import groupby

import regex

from tokbench.reference.segmentation import every_segmentation, groups


def characters(text: bytes, tokens: Collection[bytes]) -> list[bytes]:
    """Return the characters of a text, and the bytes of a character that is not in the vocabulary.

    >>> [part.hex() for part in characters('né'.encode(), {b'n'})]
    ['6e', 'c3', 'a9']
    """
    tokens_found = []
    for character in text.decode("utf-8", "surrogateescape"):
        token = character.encode("utf-8", "surrogateescape")
        tokens_found += [token] if token in tokens else [bytes([byte]) for byte in token]
    return tokens_found


def random(text: bytes, tokens: Collection[bytes], draws: Iterator[float]) -> list[bytes]:
    """Return one of all segmentations with equal probability, from numbers between 0 and 1.

    Each number chooses the length of the next token, shorter ones first, in proportion to the segmentations left.
    """
    parts = []
    while text:
        ways = [len(way[0]) for way in every_segmentation(text, set(tokens))]
        size = sorted(ways)[int(Fraction(next(draws)) * len(ways))]
        parts.append(text[:size])
        text = text[size:]
    return parts


def digits_right(tokenized: list[bytes], tokens: Collection[bytes]) -> list[bytes]:
    """Return a segmentation with runs of digits in groups of three from the right.

    Args:
        tokenized: the tokenizer's segmentation of a pre-token.
        tokens: the vocabulary, which includes all single bytes.

    >>> digits_right([b'12', b'34'], {b'1', b'2', b'3', b'4', b'12', b'34', b'234'})
    [b'1', b'234']
    """
    result: list[bytes] = []
    for has_digits, run in groupby(tokenized, lambda token: regex.search(rb"[0-9]", token) is not None):
        if not has_digits:
            result += run
            continue
        before = b""
        for part in regex.findall(rb"[0-9]+|[^0-9]+", b"".join(run)):
            if not regex.match(rb"[0-9]", part):
                before = part
                continue
            first, *others = (group.encode() for group in groups(part.decode(), 3))
            if before and before + first in tokens:
                result.append(before + first)
            else:
                result += [*longest(before, tokens), *longest_from_right(first, tokens)]
            for group in others:
                result += longest_from_right(group, tokens)
            before = b""
        result += longest(before, tokens)
    return result


def longest(text: bytes, tokens: Collection[bytes]) -> list[bytes]:
    """Match the longest token repeatedly."""
    if not text:
        return []
    size = max(size for size in range(1, len(text) + 1) if text[:size] in tokens)
    return [text[:size], *longest(text[size:], tokens)]


def longest_from_right(text: bytes, tokens: Collection[bytes]) -> list[bytes]:
    """Match the longest token at the end repeatedly."""
    if not text:
        return []
    size = max(size for size in range(1, len(text) + 1) if text[-size:] in tokens)
    return [*longest_from_right(text[:-size], tokens), text[-size:]]
