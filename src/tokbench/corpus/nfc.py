"""Normalization Form C of texts, and the number of documents that it changes.

The form is that of Unicode 9.0 (Unicode Standard Annex #15), the edition of Hugging Face's ``tokenizers``. Later
editions gave combining classes or compositions to 221 more code points, up to Unicode 18. These are not changed here,
so the result does not depend on the edition of Python's ``unicodedata``.
"""

import re
import unicodedata
from functools import cache

from tokbench.corpus.long_documents import GOES_ON, Text
from tokbench.io.encodings import Notes

LATER = """
5C8-5C9 7FD 897-89F 8CA-8D3 9FE C3C D3B-D3C EBA 1715 1ABF-1AF0 1DF6-1DFA A82C 105C9 105D2 105DA 105E4 10D24-10D27
10D69-10D6D 10EAB-10EAC 10ECB-10ECF 10EF0-10EFB 10EFD-10EFF 10F46-10F50 10F82-10F85 11070 1133B 11382-11385 1138B 1138E
11390-11391 113C2 113C5 113C7-113C8 113CE-113D0 1145E 11839-1183A 11935 11938 1193D-1193E 11943 119E0 11A34 11A47 11A99
11D42 11D44-11D45 11D97 11F41-11F42 1611E 16121-16129 1612F 16D63 16D67-16D6A 16FF0-16FF1 1D127-1D128 1D250-1D252
1D25B-1D25C 1D25F 1D280-1D281 1E08F 1E130-1E136 1E2AE 1E2EC-1E2EF 1E4EC-1E4EF 1E5EE-1E5EF 1E6E3 1E6E6 1E6EE-1E6EF 1E6F5
"""
"""Code points whose normalization is defined by editions of Unicode from 10.0 to 18.0."""


def nfc(text: bytes) -> bytes:
    """Return a text in Normalization Form C of Unicode 9.0; a byte that is not UTF-8 is not changed."""
    if text.isascii():
        return text
    characters = text.decode("utf-8", "surrogateescape")
    if unicodedata.is_normalized("NFC", characters):
        return text
    parts = _later_characters().split(characters)
    return "".join(unicodedata.normalize("NFC", part) for part in parts).encode("utf-8", "surrogateescape")


def _codes(ranges: str) -> str:
    """Return ranges in hexadecimal as the content of a set of a regular expression."""
    ends = (part.partition("-") for part in ranges.split())
    return "".join(rf"\U{int(first, 16):08x}-\U{int(last or first, 16):08x}" for first, _, last in ends)


@cache
def _later_characters() -> re.Pattern[str]:
    return re.compile(f"([{_codes(LATER)}])")


class Normalizer:
    """Normalization of documents that are read in order.

    Args:
        notes: counter of documents that are changed (default: they are not counted).
    """

    def __init__(self, notes: Notes | None = None) -> None:
        self._notes = Notes() if notes is None else notes
        self._changed = self._counted = False

    def normalize(self, text: Text) -> Text:
        """Return a text, or a piece of a long one, in Normalization Form C, with its tag."""
        tag, content = text
        normalized = nfc(content)
        self._changed = normalized != content
        return tag, normalized

    def count(self, text: Text) -> Text:
        """Count the document of the text that was normalised last, if it is changed; return the text."""
        if text[0] is not GOES_ON:
            self._counted = False
        if self._changed and not self._counted:
            self._notes.normalized += 1
            self._counted = True
        return text
