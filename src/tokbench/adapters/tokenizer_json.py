"""Export to ``tokenizer.json``, where Hugging Face's own models give the same ids as ours."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tokbench.adapters.names import ids_of, special_ids, spellings, unused_name
from tokbench.adapters.same_ids import MOST_COMPARED, compare
from tokbench.adapters.splits import splits_of, why_not
from tokbench.byte_level import CONTINUATION
from tokbench.kernels.pairs import pairs_of
from tokbench.kernels.trie import Trie
from tokbench.pretokens import PretokenCounts
from tokbench.tokenizer import Tokenizer
from tokbench.usable_scores import usable_scores
from tokbench.vocabulary import Vocabulary

if TYPE_CHECKING:
    import tokenizers

REJECTED = "not exported: "
"""How the record of a tokenizer begins that has no such file."""

BY_WORDPIECE = ("greedy", "longest_prefix")
"""Segmentations that Hugging Face's WordPiece model does."""

BY_BPE = ("merge", "whole_or_merge", "ranked")
"""Segmentations that its BPE model does."""

UNBOUNDED = 10**9
"""Longest word, in characters, that Hugging Face's WordPiece model may cut; its own 100 would make unknowns."""

LONGEST_WORD = 2000
"""Bytes of the longest pre-token that its WordPiece model cuts in good time, which grows with the length's cube."""


def to_hugging_face(tokenizer: Tokenizer) -> "tokenizers.Tokenizer | None":
    """The same tokenizer as an object of the ``tokenizers`` library, or None where that has no such model or cut.

    Merge, whole or merge and ranked become BPE, likelihood becomes Unigram, greedy and longest prefix become WordPiece
    without and with a continuation prefix. Ids are the same; end of text and padding follow the vocabulary. Special ids
    that a tokenizer has of its own are special tokens, and stand in the model, too: the library numbers what does not
    as it comes.
    """
    from tokenizers import AddedToken, decoders, pre_tokenizers
    from tokenizers import Tokenizer as HuggingFaceTokenizer

    special = special_ids(tokenizer)
    model, splits = _model(tokenizer, special), splits_of(tokenizer.scheme)
    if model is None or isinstance(splits, str):
        return None
    converted = HuggingFaceTokenizer(model)
    level = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    converted.pre_tokenizer = pre_tokenizers.Sequence([*splits, level])
    converted.decoder = decoders.Sequence([decoders.Replace(CONTINUATION, ""), decoders.ByteLevel()])
    names = sorted(special, key=special.__getitem__)
    converted.add_special_tokens([AddedToken(name, special=True) for name in names])
    return converted


def _model(tokenizer: Tokenizer, special: Mapping[str, int]) -> Any:
    from tokenizers import models

    vocabulary = tokenizer.vocabulary
    spelt = spellings(tokenizer)
    ids = dict(zip(spelt, ids_of(vocabulary), strict=True))
    if vocabulary.ids is not None:
        ids |= special
        taken = set(ids.values())
        ids |= {unused_name(one): one for one in range(max(taken)) if one not in taken}  # The library warns of holes.
    if tokenizer.segmentation in BY_BPE:
        pairs = [(spelt[left], spelt[right]) for left, right, _ in _merges(tokenizer).tolist()]
        return models.BPE(ids, pairs, ignore_merges=tokenizer.segmentation != "merge")
    if tokenizer.segmentation == "likelihood" and vocabulary.scores is not None:
        return models.Unigram(_scored(tokenizer, dict(zip(spelt, _finite(vocabulary), strict=True)), ids))
    if tokenizer.segmentation in BY_WORDPIECE:
        prefix = "" if vocabulary.continuation is None else CONTINUATION
        return models.WordPiece(
            ids, unk_token=spelt[0], max_input_chars_per_word=UNBOUNDED, continuing_subword_prefix=prefix
        )
    return None


def _merges(tokenizer: Tokenizer) -> NDArray[np.int32]:
    """Places of what is joined, in the order of ranks: of a segmentation by ranks every pair that makes a token."""
    vocabulary = tokenizer.vocabulary
    if tokenizer.segmentation != "ranked":
        assert vocabulary.merges is not None
        return vocabulary.merges
    data, offsets = vocabulary.flat()
    return pairs_of(Trie(data, offsets), Trie(data, offsets, backwards=True), data, offsets)


def _finite(vocabulary: Vocabulary) -> list[float]:
    """Scores as ``likelihood`` takes them, and for a token that is barred one that its bytes always exceed: JSON has no
    infinity."""
    assert vocabulary.scores is not None
    scores, usable = usable_scores(vocabulary.tokens, vocabulary.scores)
    below = 2 * min(float(scores.min()), -1.0)
    lengths = np.fromiter(map(len, vocabulary.tokens), np.int64, len(vocabulary))
    found: list[float] = np.where(usable, scores, below * lengths).tolist()
    return found


def _scored(tokenizer: Tokenizer, scores: Mapping[str, float], ids: Mapping[str, int]) -> list[tuple[str, float]]:
    """What Unigram numbers from 0 on: tokens with their scores; other ids by names that no text is spelt by."""
    if tokenizer.vocabulary.ids is None:
        return list(scores.items())
    lowest = min(scores.values())
    return [(name, scores.get(name, lowest)) for name in sorted(ids, key=ids.__getitem__)]


def export(tokenizer: Tokenizer, counts: PretokenCounts | None, folder: Path, most: int = MOST_COMPARED) -> str:
    """Write ``tokenizer.json`` if it gives the same ids on every pre-token that is text; say what was done.

    What is compared is what the file gives: the library may read a score otherwise than it wrote it.

    Args:
        tokenizer: what to export.
        counts: pre-tokens on which the two must agree; None compares nothing.
        folder: where the file goes.
        most: pre-tokens that are compared at the most, the most frequent ones.

    Returns:
        One sentence for the tokenizer's record.
    """
    if reason := why_not(tokenizer.scheme, counts):
        return f"{REJECTED}{reason}"
    converted = to_hugging_face(tokenizer)
    if converted is None:
        return f"{REJECTED}Hugging Face has no model for segmentation '{tokenizer.segmentation}'"
    longest = int(np.diff(counts.offsets).max(initial=0)) if counts is not None else 0
    if longest > LONGEST_WORD and tokenizer.segmentation in BY_WORDPIECE:
        return f"{REJECTED}Hugging Face's WordPiece takes too long on pre-tokens of up to {longest} bytes"
    if wrong := [name for name, number in special_ids(tokenizer).items() if converted.token_to_id(name) != number]:
        return f"{REJECTED}Hugging Face's model gives special tokens other ids, {wrong[0]} for one"
    read = converted if tokenizer.vocabulary.scores is None else type(converted).from_str(converted.to_str())
    told = compare(tokenizer, counts, lambda texts: _ids(read, texts), most)
    if told.differs is not None:
        return f"{REJECTED}Hugging Face's model gives other ids for {told.differs!r}"
    converted.save(str(folder / "tokenizer.json"), pretty=False)
    return f"tokenizer.json gives the same ids on {told}"


def _ids(converted: "tokenizers.Tokenizer", texts: list[str]) -> list[list[int]]:
    return [encoding.ids for encoding in converted.encode_batch_fast(texts, add_special_tokens=False)]
