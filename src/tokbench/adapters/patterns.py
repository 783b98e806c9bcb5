"""How a pre-tokenization is said to a library that cuts by one regular expression."""

from tokbench.errors import TokbenchError
from tokbench.pretokenization import Pretokenization

WHOLE = r"[\s\S]+"
"""Cuts nothing: the whole text is one pre-token."""


def pattern_of(scheme: Pretokenization) -> str | None:
    """The regular expression of a scheme; None where the whole text is one pre-token.

    Raises:
        TokbenchError: it cuts, and no one regular expression says how.
    """
    if scheme.splits is None or len(scheme.splits) > 1:
        raise TokbenchError(f"pre-tokenization '{scheme.label}' has no one regular expression that says how it cuts")
    return scheme.splits[0] if scheme.splits else None
