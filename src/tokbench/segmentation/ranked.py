"""Ranked: byte-pair encoding by the rank of the joined token, as in ``tiktoken``.

A rank file has no list of merges. Two neighbours may be joined if their concatenation is a token, so a token can result
from several pairs, all with its rank.

Source: OpenAI's ``tiktoken``, with a pure Python version in its ``_educational`` module.

Reference: ``ranked`` in :mod:`tokbench.reference.segmentation`.
"""

from tokbench.kernels.deferred import DeferredSegmenter, RankSegmenter
from tokbench.kernels.pairs import pairs_of
from tokbench.kernels.trie import Trie
from tokbench.kernels.whole import WholeSegmenter
from tokbench.segmentation import Segmenter, reject_continuation, segmentation
from tokbench.segmentation.merge import byte_ids, joined_bytes
from tokbench.vocabulary import Vocabulary

WORTH = 32
"""Bytes of pre-tokens per token of the vocabulary after which the tables are built. In that many bytes they would have
saved about half of the time that they take, 15 ns a byte and 0.8 µs a token."""


@segmentation("ranked", cites=("tiktoken",))
def ranked(vocabulary: Vocabulary, options: object) -> Segmenter:
    """Join the neighbours whose concatenation has the lowest rank, the leftmost first, until no concatenation is a
    token.

    A pre-token that is a token is not split, even if no sequence of joins produces it. The rank of a token is its index
    in the vocabulary.

    Raises:
        TokbenchError: the vocabulary has continuation forms.
    """
    reject_continuation(vocabulary, "ranked")
    data, offsets = vocabulary.flat()
    tokens = Trie(data, offsets)

    def build() -> WholeSegmenter:
        pairs = pairs_of(tokens, Trie(data, offsets, backwards=True), data, offsets)
        return WholeSegmenter(pairs, byte_ids(vocabulary), joined_bytes(vocabulary), tokens, by_result=True)

    return DeferredSegmenter(RankSegmenter(tokens), build, WORTH * len(vocabulary))
