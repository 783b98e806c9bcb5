"""Added tokens in a text, found by the ``tokenizers`` library.

They are found leftmost first, the longest of those. Tokens that are not normalized, special ones among them, are
searched first, then the others in the text between them. A token may have to be a word of its own, and may include the
whitespace before or after it.
"""

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any, NamedTuple

from tokenizers import AddedToken, Tokenizer
from tokenizers.models import WordLevel

FLAGS = ("single_word", "lstrip", "rstrip", "normalized", "special")
SURROGATES = re.compile("[\ud800-\udfff]")
"""Characters that the library cannot read."""
REPLACEMENT = "\ufffd"


class AddedTokenMatch(NamedTuple):
    """A part of a text: characters ``start`` to ``end``, and the id of an added token, None for plain text."""

    start: int
    end: int
    id: int | None


class AddedTokens:
    """The added tokens of a tokenizer.

    Args:
        tokens: each token with its id.
    """

    def __init__(self, tokens: Iterable[tuple[int, AddedToken]]) -> None:
        tokens = [(number, token) for number, token in tokens if token.content]
        self._finder = Tokenizer(WordLevel({"": 0}, unk_token=""))  # All other text is the unknown token.
        self._finder.add_tokens([token for _, token in tokens if not token.special])
        self._finder.add_special_tokens([token for _, token in tokens if token.special])
        self._ids = {self._finder.token_to_id(token.content): number for number, token in tokens}

    @classmethod
    def of(cls, tokens: Mapping[int, Any]) -> "AddedTokens":
        """Return the added tokens from a mapping of ids to ``AddedToken``, also of ``transformers``; cached."""
        return _made(
            tuple(
                (number, token.content, *(getattr(token, flag) for flag in FLAGS)) for number, token in tokens.items()
            )
        )

    def split(self, text: str, special: bool = True) -> list[AddedTokenMatch]:
        """Split a text into parts, in order; they cover the text.

        Args:
            text: any text.
            special: search for special tokens, default: True; otherwise their names are plain text.
        """
        self._finder.encode_special_tokens = not special
        encoding = self._finder.encode(SURROGATES.sub(REPLACEMENT, text), add_special_tokens=False)
        return [
            AddedTokenMatch(start, end, self._ids.get(number))
            for number, (start, end) in zip(encoding.ids, encoding.offsets, strict=True)
        ]


@lru_cache(maxsize=64)
def _made(tokens: tuple[tuple[Any, ...], ...]) -> AddedTokens:
    return AddedTokens(
        (number, AddedToken(content, **dict(zip(FLAGS, flags, strict=True)))) for number, content, *flags in tokens
    )
