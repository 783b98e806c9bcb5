"""Pre-tokenization: the schemes that cut a document into pre-tokens, and the counting of pre-tokens.

A scheme is a function ``bytes -> int64 [n + 1]`` of pre-token boundaries (first 0, last the length; an empty text
gives ``[0]``), registered under its name with the regular expression that defines it on text. Bytes that are not
valid UTF-8 count as characters that are neither space, letter nor number.
"""

from collections.abc import Callable
from typing import Any

from tokbench.registry import Registry

schemes = Registry("pre-tokenization", "tokbench.pretokenization", "tokbench.pretokenization")


def pretokenization(name: str, *, pattern: str | None) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register a scheme; ``pattern`` is its regular expression, None where the whole document is one pre-token."""
    return schemes.register(name, pattern=pattern)
