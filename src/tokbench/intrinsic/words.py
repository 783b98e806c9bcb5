"""Words as a tokenizer cuts them: the input of the metrics that compare tokens with gold data.

A word stands as it does in running text, after a space. Where the pre-tokenization gives that space to the word, the
space is part of it, as in the intrinsic benchmark of Uzan et al. 2024 ("Greed is all you need"), whose words begin with
``Ġ``; where every space is a pre-token by itself, the word has none.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from tokbench.intrinsic.usage import CountSegmenter
from tokbench.pretokenization import pretokenization_of
from tokbench.pretokens import PretokenCounts
from tokbench.vocabulary import Vocabulary

if TYPE_CHECKING:
    import polars as pl


class WordSegmenter(CountSegmenter, Protocol):
    """What is asked of a tokenizer: its vocabulary, its pre-tokenization, and the segmentation of unique pre-tokens."""

    @property
    def pretokenization(self) -> str: ...


@dataclass(frozen=True, slots=True, eq=False)
class Words:
    """The words of a resource and their tokens.

    Attributes:
        vocabulary: the tokens.
        gold: the resource's table, one row a word.
        spaces: int64 [n], 1 where the space before a word is part of it, otherwise 0.
        cuts: for each word, where its pre-tokens end: byte offsets, the last one its length; without the space.
        ids: int32 [tokens], the segmentations of the words, laid end to end.
        bounds: int64 [n + 1], where each word's ids start.
    """

    vocabulary: Vocabulary
    gold: "pl.DataFrame"
    spaces: NDArray[np.int64]
    cuts: list[tuple[int, ...]]
    ids: NDArray[np.int32]
    bounds: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.spaces)

    @property
    def tokens_per_word(self) -> NDArray[np.int64]:
        """int64 [n]; a space that is part of the word counts if it is a token by itself."""
        return np.diff(self.bounds)

    def token_ends(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The boundaries between tokens: number of the word, and byte offset in it, both int64 [boundaries].

        The end of a word is no boundary. The offset is 0 where a space that is part of the word is a token by itself.
        """
        lengths = np.fromiter(map(len, self.vocabulary.tokens), np.int64, len(self.vocabulary))
        ends = np.concatenate([[0], np.cumsum(lengths[self.ids])])
        words = np.repeat(np.arange(len(self)), self.tokens_per_word)
        offsets = ends[1:] - ends[self.bounds[:-1]][words] - self.spaces[words]
        inner = np.ones(len(self.ids), np.bool_)
        inner[self.bounds[1:][self.tokens_per_word > 0] - 1] = False
        return words[inner], offsets[inner]

    def only(self, kept: NDArray[np.bool_]) -> "Words":
        """Some of the words: ``kept``, bool [n]."""
        lengths = self.tokens_per_word
        return Words(
            self.vocabulary,
            self.gold.filter(kept),
            self.spaces[kept],
            [cuts for cuts, keep in zip(self.cuts, kept.tolist(), strict=True) if keep],
            self.ids[np.repeat(kept, lengths)],
            np.concatenate([[0], np.cumsum(lengths[kept])]),
        )


def words_of(tokenizer: WordSegmenter, gold: "pl.DataFrame") -> Words:
    """Cut the words of a resource, column ``word``, all at once.

    Raises:
        TokbenchError: the tokenizer's pre-tokenization is not known.
    """
    boundaries = pretokenization_of(tokenizer.pretokenization).boundaries
    pieces: list[bytes] = []
    first_pieces, spaces, cuts = [0], [], []
    for word in _spelt(gold):
        text = b" " + word
        edges = boundaries(text).tolist()
        space = int(edges[1] > 1 or not word)
        starts = edges if space else edges[1:]
        pieces += (text[start:end] for start, end in pairwise(starts))
        first_pieces.append(len(pieces))
        spaces.append(space)
        cuts.append(tuple(end - 1 for end in starts[1:]))
    offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(np.fromiter(map(len, pieces), np.int64, len(pieces)))])
    data = np.frombuffer(b"".join(pieces), np.uint8)
    ids, bounds = tokenizer.segment(PretokenCounts(data, offsets, np.ones(len(pieces), np.int64)))
    return Words(tokenizer.vocabulary, gold, np.array(spaces, np.int64), cuts, ids, bounds[first_pieces])


def _spelt(gold: "pl.DataFrame") -> Iterator[bytes]:
    return (word.encode("utf-8", "surrogatepass") for word in gold["word"])
