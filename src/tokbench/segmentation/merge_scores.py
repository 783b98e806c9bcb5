"""Merge scores: byte-pair encoding of SentencePiece, over characters with byte fallback.

Two neighbours may be joined if their concatenation is a token; its score is the priority. A character that is not a
token is the symbols of its bytes. Kudo and Richardson, "SentencePiece" (2018), and its class ``bpe::Model``.

Reference: ``merge_scores`` in :mod:`tokbench.reference.segmentation`.
"""

import numpy as np

from tokbench.errors import TokbenchError
from tokbench.kernels.pairs import pairs_of
from tokbench.kernels.trie import Trie
from tokbench.options import Options
from tokbench.segmentation import Segmenter, reject_continuation, segmentation
from tokbench.segmentation.merge_characters import segmenter_of
from tokbench.vocabulary import Vocabulary


@segmentation("merge_scores", needs="scores", cites=("kudo2018sentencepiece",))
def merge_scores(vocabulary: Vocabulary, options: Options) -> Segmenter:
    """Join the neighbours whose concatenation has the highest score, the leftmost first, beginning with characters.

    Tokens of equal scores have one rank. A token whose score is minus infinity is never joined from others.

    Raises:
        TokbenchError: the vocabulary has no scores, or has continuation forms.
    """
    reject_continuation(vocabulary, "merge_scores")
    if vocabulary.scores is None:
        raise TokbenchError("segmentation 'merge_scores': the vocabulary has no scores; use 'greedy' or 'merge'")
    data, offsets = vocabulary.flat()
    pairs = pairs_of(Trie(data, offsets), Trie(data, offsets, backwards=True), data, offsets)
    parts = np.fromiter(
        (len(token) == 1 and token[0] >= 0x80 for token in vocabulary.tokens), np.bool_, len(vocabulary)
    )
    usable = np.isfinite(vocabulary.scores)
    pairs = pairs[~parts[pairs[:, 0]] & ~parts[pairs[:, 1]] & usable[pairs[:, 2]]]
    _, ranks = np.unique(-vocabulary.scores, return_inverse=True)
    return segmenter_of(vocabulary, pairs, ranks[pairs[:, 2]].astype(np.int32))
