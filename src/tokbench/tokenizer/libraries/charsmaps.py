"""Normalization tables of SentencePiece, checked before a library reads them, since libraries do not check bounds.

A table is a double array (``darts-clone``) of 32-bit units after its length in bytes, followed by the strings that
units point to, each terminated by a NUL byte.
"""

import base64
from typing import Any

import numpy as np

LABEL = 0x800000FF
LEAF = 0x100
MAX_CHARACTERS = 256
"""Maximum number of characters that a table may map one to. Those of SentencePiece map to up to 18."""


def check_charsmaps(normalizer: Any) -> None:
    """Check every table in the ``normalizer`` of a ``tokenizer.json``.

    Raises:
        ValueError: a table is damaged.
    """
    if not isinstance(normalizer, dict):
        return
    for inner in normalizer.get("normalizers") or []:
        check_charsmaps(inner)
    if normalizer.get("type") == "Precompiled" or "precompiled_charsmap" in normalizer:
        if not isinstance(table := normalizer.get("precompiled_charsmap"), str):
            raise ValueError("a normalizer of type Precompiled has no table")
        check_charsmap(base64.b64decode(table, validate=True))


def longest_string(table: bytes) -> int:
    """Return the number of characters of the longest string in a table."""
    strings = table[4 + int.from_bytes(table[:4], "little") :].split(b"\0")
    return max(len(string.decode("utf-8", "replace")) for string in strings)


def check_charsmap(table: bytes) -> None:
    """Check all units and strings of a table.

    Raises:
        ValueError: it is truncated, a unit points outside it, or a string is longer than :data:`MAX_CHARACTERS`.
    """
    if not table:
        return
    size = int.from_bytes(table[:4], "little")
    if len(table) < 4 + size or size % 4 or size < 1024:
        raise ValueError("its table of normalisations is cut short")
    units = np.frombuffer(table, "<u4", size // 4, 4).astype(np.int64)
    strings = table[4 + size :]
    nodes = np.zeros(1, np.int64)
    seen = np.zeros(len(units), np.bool_)
    labels = np.arange(1, 256)
    while len(nodes):
        seen[nodes] = True
        unit = units[nodes]
        base = nodes ^ ((unit >> 10) << ((unit & 0x200) >> 6))
        if (base | 0xFF).max() >= len(units):
            raise ValueError("its table of normalisations leads out of itself")
        leaves = units[base[(unit & LEAF) > 0]] & 0x7FFFFFFF
        if len(leaves) and leaves.max() >= len(strings):
            raise ValueError("its table of normalisations leads out of its strings")
        children = base[:, None] ^ labels
        nodes = np.unique(children[(units[children] & LABEL) == labels])
        nodes = nodes[~seen[nodes]]  # Equal ends are stored once.
    if not strings.endswith(b"\0"):
        raise ValueError("its table of normalisations has no end")
    if (longest := longest_string(table)) > MAX_CHARACTERS:
        raise ValueError(
            f"its table of normalisations makes {longest:,} characters of one, and {MAX_CHARACTERS} are the most"
        )
