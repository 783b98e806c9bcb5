"""Strings that are never split, and another pre-tokenization of the text between them.

External tokenizers find their added tokens in a text before pre-tokenization, which sees only the text between them. A
``sequence`` would differ: its later steps split the matches of earlier ones.

Reference: ``isolated`` in :mod:`tokbench.reference.segmentation`.
"""

from functools import partial
from itertools import pairwise
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, PlainValidator, WithJsonSchema

from tokbench.errors import TokbenchError
from tokbench.options import Options
from tokbench.pretokenization import Boundaries, Cut, pretokenization, pretokenization_of
from tokbench.pretokenization.sequence import FORMS


def _validated_setting(setting: Any) -> Any:
    """Validate the other pre-tokenization and return it with all its options."""
    try:
        scheme = pretokenization_of(setting, "others")
    except TokbenchError as error:
        raise ValueError(str(error)) from None
    if scheme.method.name == "added_tokens":
        raise ValueError("has added tokens itself; put all of them here")
    return scheme.setting


class AddedTokensOptions(Options):
    tokens: tuple[Annotated[str, Field(min_length=1)], ...] = Field(min_length=1)
    """Strings that are always pre-tokens. The leftmost match counts, and of several the longest."""
    others: Annotated[str | dict[str, Any], PlainValidator(_validated_setting), WithJsonSchema(FORMS)]
    """Pre-tokenization of the text between them: a name, or a mapping with ``method`` and options."""


@pretokenization("added_tokens", options=AddedTokensOptions, cites=())
def added_tokens(options: AddedTokensOptions) -> Cut:
    """Given strings, such as the added tokens of an external tokenizer, and another pre-tokenization between them."""
    from tokbench.kernels.added import AddedScanner
    from tokbench.kernels.scan import boundaries
    from tokbench.kernels.trie import Trie

    others = pretokenization_of(options.others)
    strings = [token.encode() for token in options.tokens]
    splits = None
    if others.splits is not None and all(len(others.boundaries(string)) == 2 for string in strings):
        splits = (_pattern(options.tokens), *others.splits)
    if others.scanner is None:
        return Cut(boundaries=_split_around(options.tokens, others.boundaries), splits=splits, modules=others.modules)
    joined = np.zeros(65536, np.uint8)
    for string in strings:
        joined[[256 * left + right for left, right in pairwise(string)]] = 1
    data = np.frombuffer(b"".join(strings), np.uint8)
    trie = Trie(data, np.cumsum([0, *map(len, strings)], dtype=np.int64))
    scanner = AddedScanner(trie, joined, others.scanner)
    return Cut(boundaries=partial(boundaries, scanner), splits=splits, scanner=scanner, modules=others.modules)


def _pattern(tokens: tuple[str, ...]) -> str:
    """Return the regular expression of the tokens, which finds the longest one at a place."""
    import regex

    longest = sorted(tokens, key=len, reverse=True)
    return "|".join(regex.escape(token, special_only=True) for token in longest)


def _split_around(tokens: tuple[str, ...], others: Boundaries) -> Boundaries:
    """Return the function for another pre-tokenization that has no scanner."""
    import regex

    longest = sorted((token.encode() for token in tokens), key=len, reverse=True)
    separator = regex.compile(b"(" + b"|".join(map(regex.escape, longest)) + b")")

    def boundaries(text: bytes) -> NDArray[np.int64]:
        bounds = [np.zeros(1, np.int64)]
        for number, part in enumerate(separator.split(text)):
            if part:
                ends = np.array([len(part)], np.int64) if number % 2 else others(part)[1:]
                bounds.append(bounds[-1][-1] + ends)
        return np.concatenate(bounds)

    return boundaries
