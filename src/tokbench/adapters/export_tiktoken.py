"""Export to a file of ranks, if ``tiktoken`` returns the same ids as ours.

A line contains a token in base64 and its rank, which is its id. tiktoken encodes a pre-token that is a token as that
token. In any other it repeatedly merges the adjacent pair whose joined bytes have the lowest rank. This equals our
segmentation by merging if every token has one merge and ids follow the order of the merges. Such a file has neither the
pattern nor the special tokens; they are written to a second file.
"""

import json
from base64 import b64encode
from pathlib import Path
from typing import TYPE_CHECKING

from tokbench.adapters.forms.patterns import WHOLE_TEXT, pattern_of
from tokbench.adapters.forms.ranks import RANKS, SETTINGS
from tokbench.adapters.names import ids_of, special_names
from tokbench.adapters.same_ids import MOST_COMPARED, compare
from tokbench.errors import TokbenchError
from tokbench.pretokenization.patterns.coverage import left_out
from tokbench.pretokenization.patterns.parse import LanguageError
from tokbench.pretokens import PretokenCounts
from tokbench.tokenizer import Tokenizer
from tokbench.tokenizer.hugging_face import special_tokens
from tokbench.vocabulary import Vocabulary

if TYPE_CHECKING:
    import tiktoken

BY_RANK = ("merge", "ranked", "whole_or_merge")
"""Segmentations that merge pairs by rank, or may be equivalent."""


def to_tiktoken(tokenizer: Tokenizer) -> "tiktoken.Encoding":
    """Return the same tokenizer as an object of ``tiktoken``, if it merges by rank; ids are not compared.

    Raises:
        TokbenchError: the segmentation does not merge, or no pattern is equivalent to the pre-tokenization.
    """
    import tiktoken

    if tokenizer.segmentation not in BY_RANK:
        raise TokbenchError(
            f"tiktoken merges pairs by rank, and segmentation '{tokenizer.segmentation}' does not; nothing is written"
        )
    return tiktoken.Encoding(
        tokenizer.name or "tokbench",
        pat_str=covering(pattern_of(tokenizer.scheme) or WHOLE_TEXT),
        mergeable_ranks=_ranks(tokenizer.vocabulary),
        special_tokens=_special(tokenizer),
    )


def covering(pattern: str) -> str:
    """Return a pattern that also matches the text between the matches of a pattern, which tiktoken would drop."""
    try:
        covers = left_out(pattern) is None
    except LanguageError:
        return pattern
    return pattern if covers else rf"{pattern}|(?:(?!{pattern})[\s\S])+"


def _ranks(vocabulary: Vocabulary) -> dict[bytes, int]:
    """Return the tokens with their ids."""
    return dict(zip(vocabulary.tokens, ids_of(vocabulary), strict=True))


def _special(tokenizer: Tokenizer) -> dict[str, int]:
    """Return the special tokens with their ids; for an external tokenizer, those of its files."""
    if tokenizer.vocabulary.ids is None:
        return special_tokens(len(tokenizer))
    return special_names(tokenizer)


def export(tokenizer: Tokenizer, counts: PretokenCounts, folder: Path, most: int = MOST_COMPARED) -> str:
    """Write ``tokenizer.tiktoken`` and ``tiktoken.json`` if they return the same ids on every pre-token that is text.

    Args:
        tokenizer: tokenizer to export.
        counts: pre-tokens to compare ids on.
        folder: output folder.
        most: maximum number of pre-tokens to compare, the most frequent ones.

    Returns:
        One sentence about the comparison.

    Raises:
        TokbenchError: tiktoken cannot express the tokenizer.
    """
    encoding = to_tiktoken(tokenizer)
    comparison = compare(tokenizer, counts, lambda texts: map(encoding.encode_ordinary, texts), most)
    if comparison.differs is not None:
        raise TokbenchError(
            f"tiktoken, which merges by the rank of what a pair makes, gives other ids for {comparison.differs!r}; "
            "nothing is written"
        )
    ranks = sorted(_ranks(tokenizer.vocabulary).items(), key=lambda item: item[1])
    lines = (f"{b64encode(token).decode('ascii')} {rank}\n" for token, rank in ranks)
    (folder / RANKS).write_text("".join(lines), encoding="ascii")
    settings = {
        "name": encoding.name,
        "pat_str": encoding._pat_str,
        "special_tokens": encoding._special_tokens,
    }
    (folder / SETTINGS).write_text(json.dumps(settings, indent=2) + "\n", encoding="utf-8")
    return f"{RANKS} gives the same ids on {comparison}"
