"""Export to ``tokenizer.json``, where Hugging Face's own models give the same ids as ours."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tokbench.adapters.comparison import MOST_COMPARED, compare
from tokbench.adapters.splits import splits_of, why_not
from tokbench.byte_level import CONTINUATION, spell
from tokbench.errors import TokbenchError
from tokbench.pretokens import PretokenCounts
from tokbench.tokenizer import Tokenizer
from tokbench.tokenizer_config import END_OF_TEXT, PADDING

if TYPE_CHECKING:
    import tokenizers

REFUSED = "not exported: "
"""How the record of a tokenizer begins that has no such file."""

BY_WORDPIECE = ("greedy", "longest_prefix")
"""Segmentations that Hugging Face's WordPiece model does."""

UNBOUNDED = 10**9
"""Longest word, in characters, that Hugging Face's WordPiece model may cut; its own 100 would make unknowns."""

LONGEST_WORD = 2000
"""Bytes of the longest pre-token that its WordPiece model cuts in good time, which grows with the length's cube."""


def spellings(tokenizer: Tokenizer) -> list[str]:
    """The tokens' printable spellings, in id order; all different.

    Raises:
        TokbenchError: the tokenizer has ids of its own, which are not its tokens' places.
    """
    ids = tokenizer.vocabulary.ids
    if ids is not None and not np.array_equal(ids, np.arange(len(ids))):
        raise TokbenchError(
            f"{tokenizer.name or 'the tokenizer'} has ids of its own, with holes or special ones between; open the "
            "file that it was imported from instead"
        )
    flags = tokenizer.vocabulary.continuation
    marks = [False] * len(tokenizer) if flags is None else flags.tolist()
    return [spell(token, mark) for token, mark in zip(tokenizer.vocabulary.tokens, marks, strict=True)]


def to_hugging_face(tokenizer: Tokenizer) -> "tokenizers.Tokenizer | None":
    """The same tokenizer as an object of the ``tokenizers`` library, or None where that has no such model or cut.

    Merge and whole or merge become BPE, likelihood becomes Unigram, greedy and longest prefix become WordPiece without
    and with a continuation prefix. Ids are the same; end of text and padding follow the vocabulary.
    """
    from tokenizers import AddedToken, decoders, pre_tokenizers
    from tokenizers import Tokenizer as HuggingFaceTokenizer

    model, splits = _model(tokenizer), splits_of(tokenizer.scheme)
    if model is None or isinstance(splits, str):
        return None
    converted = HuggingFaceTokenizer(model)
    level = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    converted.pre_tokenizer = pre_tokenizers.Sequence([*splits, level])
    converted.decoder = decoders.Sequence([decoders.Replace(CONTINUATION, ""), decoders.ByteLevel()])
    converted.add_special_tokens([AddedToken(END_OF_TEXT, special=True), AddedToken(PADDING, special=True)])
    return converted


def _model(tokenizer: Tokenizer) -> Any:
    from tokenizers import models

    vocabulary = tokenizer.vocabulary
    spelt = spellings(tokenizer)
    ids = {spelling: index for index, spelling in enumerate(spelt)}
    if tokenizer.segmentation in ("merge", "whole_or_merge") and vocabulary.merges is not None:
        pairs = [(spelt[left], spelt[right]) for left, right, _ in vocabulary.merges.tolist()]
        return models.BPE(ids, pairs, ignore_merges=tokenizer.segmentation == "whole_or_merge")
    if tokenizer.segmentation == "likelihood" and vocabulary.scores is not None:
        return models.Unigram(list(zip(spelt, vocabulary.scores.tolist(), strict=True)))
    if tokenizer.segmentation in BY_WORDPIECE:
        prefix = "" if vocabulary.continuation is None else CONTINUATION
        return models.WordPiece(
            ids, unk_token=spelt[0], max_input_chars_per_word=UNBOUNDED, continuing_subword_prefix=prefix
        )
    return None


def export(tokenizer: Tokenizer, counts: PretokenCounts | None, folder: Path, most: int = MOST_COMPARED) -> str:
    """Write ``tokenizer.json`` if it gives the same ids on every pre-token that is text; say what was done.

    Args:
        tokenizer: what to export.
        counts: pre-tokens on which the two must agree; None compares nothing.
        folder: where the file goes.
        most: pre-tokens that are compared at the most, the most frequent ones.

    Returns:
        One sentence for the tokenizer's record.
    """
    if reason := why_not(tokenizer.scheme, counts):
        return f"{REFUSED}{reason}"
    converted = to_hugging_face(tokenizer)
    if converted is None:
        return f"{REFUSED}Hugging Face has no model for segmentation '{tokenizer.segmentation}'"
    longest = int(np.diff(counts.offsets).max(initial=0)) if counts is not None else 0
    if longest > LONGEST_WORD and tokenizer.segmentation in BY_WORDPIECE:
        return f"{REFUSED}Hugging Face's WordPiece takes too long on pre-tokens of up to {longest} bytes"
    told = compare(tokenizer, counts, lambda texts: _ids(converted, texts), most)
    if told.differs is not None:
        return f"{REFUSED}Hugging Face's model gives other ids for {told.differs!r}"
    converted.save(str(folder / "tokenizer.json"), pretty=False)
    return f"tokenizer.json gives the same ids on {told}"


def _ids(converted: "tokenizers.Tokenizer", texts: list[str]) -> list[list[int]]:
    return [encoding.ids for encoding in converted.encode_batch_fast(texts, add_special_tokens=False)]
