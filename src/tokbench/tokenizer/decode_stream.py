"""Text of ids that arrive one at a time, such as those that a language model generates.

Text is returned as soon as later ids cannot change it. Tokens in Tokbench's three phases and of tiktoken are bytes, so
each complete character is returned. Other libraries decode the last ids together, because their decoders read
neighbouring tokens.
"""

import re
from codecs import getincrementaldecoder
from collections.abc import Callable
from typing import Protocol

from tokbench.errors import TokbenchError
from tokbench.tokenizer.adapted import AdaptedTokenizer
from tokbench.tokenizer.encoder import TokenBytes
from tokbench.tokenizer.tokenizer import Tokenizer

REPLACEMENT = "\ufffd"
BYTE_NAME = re.compile(rb"<0x[0-9A-F]{2}>")
"""Name of a byte. ``tokenizers`` decodes bytes in a row together, so none is final before another token follows."""
CONTEXT = 16
"""Minimum number of earlier ids that a library decodes with a new one. Decoders of libraries read one or two."""
WINDOW = 64
"""Number of ids that a library decodes together before the earlier ones are dropped."""
LOCAL_DECODERS = ("tokenizers", "sentencepiece")
"""Libraries whose decoders read few neighbours. Functions of the user decode all ids each time."""


class DecodeStream:
    """Decoder of ids that arrive one at a time; ``tokbench.decode_stream`` returns one.

    The joined texts are those of ``decode_text`` for all ids.

    Args:
        tokenizer: the tokenizer of the ids.

    Raises:
        TokbenchError: the tokenizer cannot decode.
    """

    def __init__(self, tokenizer: Tokenizer) -> None:
        tokenizer.require_decode()
        self._tokenizer = tokenizer
        self._reader = _reader_of(tokenizer)

    def add(self, number: int) -> str:
        """Return the text that one more id completes; empty if its character is not complete.

        Args:
            number: the id.

        Raises:
            TokbenchError: the id is not in the vocabulary or not an integer, or the decoder changes text that was
                returned before.
        """
        return self._reader.add(number)

    def end(self) -> str:
        """Return the rest of the text, with U+FFFD for an incomplete character. The next id begins another text.

        Raises:
            TokbenchError: the decoder changes text that was returned before.
        """
        rest, self._reader = self._reader.end(), _reader_of(self._tokenizer)
        return rest


class _Reader(Protocol):
    def add(self, number: int) -> str: ...

    def end(self) -> str: ...


def _reader_of(tokenizer: Tokenizer) -> _Reader:
    if not isinstance(tokenizer, AdaptedTokenizer):
        return _ByteReader(TokenBytes(tokenizer.vocabulary).decode, tokenizer.normalization.restored)
    return _ByteReader(tokenizer.decode, bytes) if tokenizer.library_name == "tiktoken" else _WindowReader(tokenizer)


class _ByteReader:
    """Reader of tokenizers whose decoded text is the bytes of the ids in a row.

    Args:
        decode: function that returns the bytes of ids.
        restored: function that removes the blank before a text from its first bytes.
    """

    def __init__(self, decode: Callable[[list[int]], bytes], restored: Callable[[bytes], bytes]) -> None:
        self._decode, self._restored = decode, restored
        self._characters = getincrementaldecoder("utf-8")("replace")
        self._begun = False

    def add(self, number: int) -> str:
        data = self._decode([number])
        if data and not self._begun:
            data, self._begun = self._restored(data), True
        return self._characters.decode(data)

    def end(self) -> str:
        return self._characters.decode(b"", final=True)


class _WindowReader:
    """Reader of tokenizers whose decoders depend on neighbouring tokens.

    Args:
        tokenizer: the tokenizer.
    """

    def __init__(self, tokenizer: AdaptedTokenizer) -> None:
        self._tokenizer = tokenizer
        self._ids: list[int] = []
        self._returned = ""

    def add(self, number: int) -> str:
        text = self._tokenizer.decode_text([*self._ids, number])
        self._ids.append(number)
        if self._is_byte(number):
            return ""
        new = self._after_returned(text.rstrip(REPLACEMENT))
        if len(self._ids) >= WINDOW and self._returned == text and self._tokenizer.library_name in LOCAL_DECODERS:
            self._drop_earlier_ids()
        return new

    def end(self) -> str:
        return self._after_returned(self._tokenizer.decode_text(self._ids))

    def _after_returned(self, text: str) -> str:
        """Return the part of a text that was not returned before.

        Raises:
            TokbenchError: the text does not begin with the returned one.
        """
        if not text.startswith(self._returned):
            raise TokbenchError(
                f"{self._tokenizer.name}: more ids change the text of earlier ones, so it cannot be returned as it "
                "arrives; decode all ids at once"
            )
        new, self._returned = text[len(self._returned) :], text
        return new

    def _is_byte(self, number: int) -> bool:
        named = self._tokenizer.library_name == "tokenizers"
        return named and bool(BYTE_NAME.fullmatch(self._tokenizer.library.name(number)))

    def _drop_earlier_ids(self) -> None:
        """Drop ids of the window, so that the others are not part of a run of bytes and have more than blanks."""
        for start in range(len(self._ids) - CONTEXT, 0, -1):
            later = self._tokenizer.decode_text(self._ids[start:])
            if later.strip() and not self._is_byte(self._ids[start - 1]) and self._returned.endswith(later):
                self._ids, self._returned = self._ids[start:], later
                return
