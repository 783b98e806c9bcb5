"""Likeliest shortest path: MinGram's segmentation, the fewest tokens, and of equally few the most probable ones.

Land, "MinGram: A Minimalist Unigram Tokenizer" (2026). Probabilities decide only between segmentations into equally
many tokens. They are compared in units of 1/512 nat, in integers, so that training, encoding and exports agree.

Reference: ``likeliest_shortest`` in :mod:`tokbench.reference.segmentation`.
"""

from typing import Literal

import numpy as np

from tokbench.errors import TokbenchError
from tokbench.kernels.mingram import MAX_COST, MinGramSegmenter
from tokbench.kernels.trie import Trie
from tokbench.options import Options
from tokbench.segmentation import Segmenter, reject_continuation, segmentation
from tokbench.vocabulary import UNITS, Vocabulary, costs_of, usable_scores


class LikeliestShortestPathOptions(Options):
    ties: Literal["leading", "trailing"] = "leading"
    """Choice among equally likely segmentations, by their last tokens: the shorter last token (``leading``, default, as
    in the paper), or the longer one (``trailing``). Unigram models of other libraries choose the longer one, so that
    exports give equal ids with ``trailing``."""


@segmentation(
    "likeliest_shortest_path", options=LikeliestShortestPathOptions, needs="scores", cites=("land2026", "schmidt2024")
)
def likeliest_shortest_path(vocabulary: Vocabulary, options: LikeliestShortestPathOptions) -> Segmenter:
    """Split each pre-token into the fewest tokens, and of those segmentations choose the greatest sum of scores.

    Scores are rounded to 1/512 nat. A token with a score of minus infinity is not used. A single byte without a finite
    score remains a last resort, 10 nats below the lowest finite score.

    Raises:
        TokbenchError: the vocabulary has continuation forms, no scores, or a different number of scores and tokens; a
            score is NaN, plus infinity or too large, or none is finite. The message names the token.
    """
    name = "likeliest_shortest_path"
    reject_continuation(vocabulary, name)
    if vocabulary.scores is None:
        raise TokbenchError(
            f"segmentation '{name}': the vocabulary has no scores; use 'shortest_path', or a vocabulary by mingram"
        )
    scores = np.array(vocabulary.scores, np.float64)
    if scores.shape != (len(vocabulary),):
        raise TokbenchError(
            f"segmentation '{name}': scores have shape {list(scores.shape)} for {len(vocabulary)} tokens; "
            "set one score per token"
        )
    largest = MAX_COST // UNITS - 10
    wrong = np.flatnonzero(~((scores == -np.inf) | (np.abs(scores) <= largest)))
    if len(wrong):
        raise TokbenchError(
            f"segmentation '{name}': the score of token {vocabulary.tokens[wrong[0]].hex()} is {scores[wrong[0]]}; "
            f"set a logarithm of at most {largest:,} in magnitude, or -inf to exclude the token"
        )
    if not np.isfinite(scores).any():
        raise TokbenchError(f"segmentation '{name}': no score is finite; set scores for the tokens to use")
    scores, usable = usable_scores(vocabulary.tokens, scores)
    trie = Trie(*vocabulary.flat(), usable, backwards=True)
    return MinGramSegmenter(trie, costs_of(scores), options.ties == "leading")
