"""Ranked: byte-pair encoding by the rank of the joined token, as ``tiktoken`` does it.

A file of ranks has no list of merges: any two neighbours may be joined whose concatenation is a token. A token can thus
be made of several pairs, all of its rank.

Source: OpenAI's ``tiktoken``, whose plain-Python form is its ``_educational`` module.

Reference: ``ranked`` in :mod:`tokbench.reference.segmentation`.
"""

from tokbench.kernels.pairs import pairs_of
from tokbench.kernels.trie import Trie
from tokbench.kernels.whole import WholeSegmenter
from tokbench.options import Options
from tokbench.segmentation import Segmenter, reject_continuation, segmentation
from tokbench.segmentation.merge import byte_ids, joined_bytes
from tokbench.vocabulary import Vocabulary


@segmentation("ranked", cites=("tiktoken",))
def ranked(vocabulary: Vocabulary, options: Options) -> Segmenter:
    """Join the neighbours whose concatenation is the earliest token, the leftmost of several, until none is a token.

    A pre-token that is a token is taken whole, also where no sequence of joins makes it. The rank of a token is its
    place in the vocabulary.

    Raises:
        TokbenchError: the vocabulary has continuation forms.
    """
    reject_continuation(vocabulary, "ranked")
    data, offsets = vocabulary.flat()
    tokens = Trie(data, offsets)
    pairs = pairs_of(tokens, Trie(data, offsets, backwards=True), data, offsets)
    return WholeSegmenter(pairs, byte_ids(vocabulary), joined_bytes(vocabulary), tokens, by_result=True)
