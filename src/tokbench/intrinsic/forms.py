"""The tokens of vocabularies as sets that can be compared."""

from tokbench.vocabulary import Vocabulary

Form = tuple[bytes, bool]
"""A token, and whether it stands inside a pre-token."""


def forms(vocabulary: Vocabulary, *, single_bytes: bool = True) -> frozenset[Form]:
    """The tokens as a set; a token inside a pre-token and one at its start are two where the vocabulary parts them."""
    continuation = vocabulary.continuation
    inside = [False] * len(vocabulary) if continuation is None else continuation.tolist()
    pairs = zip(vocabulary.tokens, inside, strict=True)
    return frozenset((token, inner) for token, inner in pairs if single_bytes or len(token) > 1)
