"""Likelihood: the most probable sequence of tokens under a unigram language model.

Kudo, "Subword Regularization" (2018), section 3.2.

Reference: :mod:`tokbench.reference.likelihood`.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tokbench.errors import TokbenchError
from tokbench.kernels.likelihood import LikelihoodSegmenter
from tokbench.kernels.trie import Trie
from tokbench.options import Options
from tokbench.segmentation import Segmenter, reject_continuation, segmentation
from tokbench.vocabulary import Vocabulary

UNKNOWN_PENALTY = 10.0
"""Nats below the lowest score at which a byte without a score is used, as unknown characters are in SentencePiece."""


@segmentation("likelihood", needs="scores", cites=("kudo2018",))
def likelihood(vocabulary: Vocabulary, options: Options) -> Segmenter:
    """Cut each pre-token into the tokens with the greatest sum of scores.

    Of last tokens with equal sums the longest is kept. A score of minus infinity bars a token; a single byte is then
    used as the last resort, at 10 nats below the lowest score.

    Raises:
        TokbenchError: the vocabulary has continuation forms, has no scores, has another number of scores than tokens,
            or a score is NaN or plus infinity, or none is finite; the message names the token.
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
            "give one for each token"
        )
    wrong = np.flatnonzero(np.isnan(scores) | (scores == np.inf))
    if len(wrong):
        raise TokbenchError(
            f"segmentation 'likelihood': the score of token {vocabulary.tokens[wrong[0]].hex()} is {scores[wrong[0]]}; "
            "give a finite logarithm, or -inf to bar the token"
        )
    usable = np.isfinite(scores)
    if not usable.any():
        raise TokbenchError("segmentation 'likelihood': no score is finite; give scores to the tokens to be used")
    scores, usable = usable_scores(vocabulary.tokens, scores)
    return LikelihoodSegmenter(Trie(*vocabulary.flat(), usable, backwards=True), scores)


def usable_scores(
    tokens: Sequence[bytes], scores: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Scores, finite for barred tokens too, and which tokens may be used: all single bytes may.

    At least one score is finite.
    """
    finite = np.isfinite(scores)
    single = np.fromiter((len(token) == 1 for token in tokens), np.bool_, len(tokens))
    return np.where(finite, scores, scores[finite].min() - UNKNOWN_PENALTY), finite | single
