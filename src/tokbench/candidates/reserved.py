"""Strings of a text that are not counted, as an option of bottom-up constructions.

Special strings such as ``<|im_start|>`` occur in the text of chats. If they were counted, a vocabulary would have
tokens for their parts.
"""

import re
from typing import Annotated, Any

from pydantic import Field, SerializerFunctionWrapHandler, model_serializer

from tokbench.errors import TokbenchError
from tokbench.options import Options
from tokbench.pretokenization import pretokenization_of
from tokbench.pretokens import PretokenCounts

String = Annotated[str, Field(min_length=1)]


class ReservedOptions(Options):
    """Options of a construction that leaves strings of the text out."""

    reserved: tuple[String, ...] = ()
    """Strings of the text that are not counted, such as ``<|im_start|>``; no token contains one. Pre-tokens are split
    at them, so the pre-tokenization must not split them, as ``added_tokens`` does not. Default: none."""

    @model_serializer(mode="wrap")
    def _without_defaults(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Leave empty lists out, so that recipes and records without these options do not change."""
        values: dict[str, Any] = handler(self)
        return {key: value for key, value in values.items() if value or key not in ("reserved", "seeds")}


def without_reserved(counts: PretokenCounts, reserved: tuple[str, ...], method: str) -> PretokenCounts:
    """Return the counts of a text without some strings. Pre-tokens are split at them; the longest string at a place
    counts.

    Args:
        counts: pre-tokens of the text.
        reserved: the strings.
        method: name of the construction, for messages.

    Raises:
        TokbenchError: the pre-tokenization splits a string, which is then not found.
    """
    if not reserved:
        return counts
    require_pretokens(counts, reserved, method, "reserved")
    strings = sorted((string.encode() for string in reserved), key=len, reverse=True)
    found = re.compile(b"|".join(map(re.escape, strings)))
    pairs = [(part, count) for pretoken, count in counts.items() for part in found.split(pretoken) if part]
    return PretokenCounts.from_pairs(pairs, counts.scheme)


def require_pretokens(counts: PretokenCounts, strings: tuple[str, ...], method: str, option: str) -> None:
    """Reject strings that a text's pre-tokenization splits.

    Args:
        counts: pre-tokens of the text. Nothing is rejected if their pre-tokenization is not known.
        strings: the strings.
        method: name of the construction, for messages.
        option: name of the option, for messages.

    Raises:
        TokbenchError: it splits one.
    """
    if counts.scheme is None:
        return
    scheme = pretokenization_of(counts.scheme)
    for string in strings:
        pieces = len(scheme.boundaries(string.encode())) - 1
        if pieces != 1:
            raise TokbenchError(
                f"{method}: {option} '{string}': the pre-tokenization {scheme.label} splits it into {pieces}; count "
                "the text with added_tokens, which keeps strings together"
            )
