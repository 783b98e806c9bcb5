"""The printable spelling of bytes that GPT-2 introduced and Hugging Face's byte-level tokenizers share."""

import numpy as np
from numpy.typing import NDArray

PRINTABLE = frozenset((*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)))
"""The bytes that are spelt as the character of the same code point; the others follow from U+0100, in order."""
CONTINUATION = "\u203f"
"""Stands before tokens that match only inside a pre-token. No byte is spelt with it, so spellings stay unique,
which WordPiece's own ``##`` would not be."""


def _characters() -> tuple[str, ...]:
    replacements = iter(range(0x100, 0x200))
    return tuple(chr(byte if byte in PRINTABLE else next(replacements)) for byte in range(256))


CHARACTERS: tuple[str, ...] = _characters()
"""The character of each of the 256 bytes."""
BYTE_OF = {character: byte for byte, character in enumerate(CHARACTERS)}


def spell(token: bytes, continuation: bool = False) -> str:
    """A token's printable spelling."""
    return (CONTINUATION if continuation else "") + "".join(CHARACTERS[byte] for byte in token)


def unspell(spelling: str) -> bytes:
    """The bytes of a printable spelling."""
    return bytes(BYTE_OF[character] for character in spelling.removeprefix(CONTINUATION))


def spelling_ranks() -> NDArray[np.int64]:
    """int64 [256], each byte's place in the order of characters, by which Hugging Face settles ties."""
    order = sorted(range(256), key=CHARACTERS.__getitem__)
    return np.argsort(np.array(order)).astype(np.int64)
