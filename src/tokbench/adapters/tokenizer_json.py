"""Export to ``tokenizer.json``, where Hugging Face's own models give the same ids as ours."""

from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from tokbench.byte_level import CONTINUATION, spell
from tokbench.pretokenization import schemes
from tokbench.pretokens import PretokenCounts
from tokbench.tokenizer import Tokenizer
from tokbench.tokenizer_config import END_OF_TEXT, PADDING

if TYPE_CHECKING:
    import tokenizers

BY_WORDPIECE = ("greedy", "longest_prefix")
"""Segmentations that Hugging Face's WordPiece model does."""

UNBOUNDED = 10**9
"""Longest word, in characters, that Hugging Face's WordPiece model may cut; its own 100 would make unknowns."""

LONGEST_WORD = 2000
"""Bytes of the longest pre-token that its WordPiece model cuts in good time, which grows with the length's cube."""

TEXTS_AT_ONCE = 1000
"""Pre-tokens that are compared in one batch; all at once would need a kilobyte each."""


def spellings(tokenizer: Tokenizer) -> list[str]:
    """The tokens' printable spellings, in id order; all different."""
    flags = tokenizer.vocabulary.continuation
    marks = [False] * len(tokenizer) if flags is None else flags.tolist()
    return [spell(token, mark) for token, mark in zip(tokenizer.vocabulary.tokens, marks, strict=True)]


def to_hugging_face(tokenizer: Tokenizer) -> "tokenizers.Tokenizer | None":
    """The same tokenizer as an object of the ``tokenizers`` library, or None where that has no such model.

    Merge becomes BPE, likelihood becomes Unigram, greedy and longest prefix become WordPiece without and with a
    continuation prefix. Ids are the same; end of text and padding follow the vocabulary.
    """
    from tokenizers import AddedToken, Regex, decoders, pre_tokenizers
    from tokenizers import Tokenizer as HuggingFaceTokenizer

    model = _model(tokenizer)
    if model is None:
        return None
    converted = HuggingFaceTokenizer(model)
    pattern = schemes[tokenizer.pretokenization].pattern
    level = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    cut = [] if pattern is None else [pre_tokenizers.Split(Regex(pattern), "isolated")]
    converted.pre_tokenizer = pre_tokenizers.Sequence([*cut, level])
    converted.decoder = decoders.Sequence([decoders.Replace(CONTINUATION, ""), decoders.ByteLevel()])
    converted.add_special_tokens([AddedToken(END_OF_TEXT, special=True), AddedToken(PADDING, special=True)])
    return converted


def _model(tokenizer: Tokenizer) -> Any:
    from tokenizers import models

    vocabulary = tokenizer.vocabulary
    spelt = spellings(tokenizer)
    ids = {spelling: index for index, spelling in enumerate(spelt)}
    if tokenizer.segmentation == "merge" and vocabulary.merges is not None:
        return models.BPE(ids, [(spelt[left], spelt[right]) for left, right, _ in vocabulary.merges.tolist()])
    if tokenizer.segmentation == "likelihood" and vocabulary.scores is not None:
        return models.Unigram(list(zip(spelt, vocabulary.scores.tolist(), strict=True)))
    if tokenizer.segmentation in BY_WORDPIECE:
        prefix = "" if vocabulary.continuation is None else CONTINUATION
        return models.WordPiece(
            ids, unk_token=spelt[0], max_input_chars_per_word=UNBOUNDED, continuing_subword_prefix=prefix
        )
    return None


def export(tokenizer: Tokenizer, counts: PretokenCounts | None, folder: Path) -> str:
    """Write ``tokenizer.json`` if it gives the same ids on every pre-token that is text; say what was done.

    Args:
        tokenizer: what to export.
        counts: pre-tokens on which the two must agree; None compares nothing but the single bytes.
        folder: where the file goes.

    Returns:
        One sentence for the tokenizer's record.
    """
    converted = to_hugging_face(tokenizer)
    if converted is None:
        return f"not exported: Hugging Face has no model for segmentation '{tokenizer.segmentation}'"
    longest = int(np.diff(counts.offsets).max(initial=0)) if counts is not None else 0
    if longest > LONGEST_WORD and tokenizer.segmentation in BY_WORDPIECE:
        return f"not exported: Hugging Face's WordPiece takes too long on pre-tokens of up to {longest} bytes"
    compared = 0
    for texts in _texts(counts) if counts is not None else ():
        for encoding, text in zip(converted.encode_batch(texts, add_special_tokens=False), texts, strict=True):
            if encoding.ids != tokenizer.encode(text).tolist():
                return f"not exported: Hugging Face's model gives other ids for {text!r}"
        compared += len(texts)
    converted.save(str(folder / "tokenizer.json"), pretty=False)
    return f"tokenizer.json gives the same ids on {compared} pre-tokens"


def _texts(counts: PretokenCounts) -> Iterator[list[str]]:
    """The pre-tokens that are text, :data:`TEXTS_AT_ONCE` at a time."""
    texts = (text for token, _ in counts.items() if (text := _text(token)) is not None)
    while batch := list(islice(texts, TEXTS_AT_ONCE)):
        yield batch


def _text(token: bytes) -> str | None:
    try:
        return token.decode()
    except UnicodeDecodeError:
        return None
