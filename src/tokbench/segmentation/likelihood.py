"""Likelihood: the most probable sequence of tokens under a unigram language model.

Kudo, "Subword Regularization" (2018), section 3.2.

Reference: ``likelihood`` in :mod:`tokbench.reference.segmentation`.
"""

import numpy as np

from tokbench.errors import TokbenchError
from tokbench.kernels.likelihood import LikelihoodSegmenter
from tokbench.kernels.trie import Trie
from tokbench.segmentation import Segmenter, reject_continuation, segmentation
from tokbench.vocabulary import Vocabulary, usable_scores


@segmentation("likelihood", needs="scores", cites=("kudo2018",))
def likelihood(vocabulary: Vocabulary, options: object) -> Segmenter:
    """Split each pre-token into the tokens with the greatest sum of scores.

    Of segmentations with equal sums, the one with the longest last token is used. A token with a score of minus
    infinity is not used. A single byte without a finite score remains a last resort, 10 nats below the lowest finite
    score.

    Raises:
        TokbenchError: the vocabulary has continuation forms, no scores, or a different number of scores and tokens; a
            score is NaN or plus infinity, or none is finite. The message names the token.
    """
    reject_continuation(vocabulary, "likelihood")
    if vocabulary.scores is None:
        raise TokbenchError(
            "segmentation 'likelihood': the vocabulary has no scores; use 'greedy' or 'shortest_path', "
            "or a vocabulary by unigram"
        )
    scores = np.array(vocabulary.scores, np.float64)
    if scores.shape != (len(vocabulary),):
        raise TokbenchError(
            f"segmentation 'likelihood': scores have shape {list(scores.shape)} for {len(vocabulary)} tokens; "
            "set one score per token"
        )
    wrong = np.flatnonzero(np.isnan(scores) | (scores == np.inf))
    if len(wrong):
        raise TokbenchError(
            f"segmentation 'likelihood': the score of token {vocabulary.tokens[wrong[0]].hex()} is {scores[wrong[0]]}; "
            "set a finite logarithm, or -inf to exclude the token"
        )
    usable = np.isfinite(scores)
    if not usable.any():
        raise TokbenchError("segmentation 'likelihood': no score is finite; set scores for the tokens to use")
    scores, usable = usable_scores(vocabulary.tokens, scores)
    return LikelihoodSegmenter(Trie(*vocabulary.flat(), usable, backwards=True), scores)
