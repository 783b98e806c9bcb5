"""Vocabularies that tell tokens at the start of a pre-token from tokens inside it, and who can take them."""

from tokbench.errors import TokbenchError
from tokbench.vocabulary import Vocabulary


def reject_forms(vocabulary: Vocabulary, segmentation: str) -> None:
    """Stop where tokens have continuation forms, which ``segmentation`` would not respect.

    Raises:
        TokbenchError: the vocabulary has ``continuation``.
    """
    if vocabulary.continuation is not None:
        raise TokbenchError(
            f"segmentation '{segmentation}': the vocabulary's tokens have continuation forms, which this method "
            "does not tell apart; use 'longest_prefix'"
        )
