"""Shortest path: PathPiece's segmentation into the fewest tokens, for any vocabulary.

"Tokenization Is More Than Compression", section 3.1, algorithm 1; appendix A for random ties.

Reference: ``longest`` in :mod:`tokbench.reference.segmentation`.
"""

from typing import Literal

import numpy as np
from pydantic import Field

from tokbench.kernels.shortest_path import ShortestPathSegmenter
from tokbench.kernels.trie import Trie
from tokbench.options import Options
from tokbench.segmentation import Segmenter, reject_continuation, segmentation
from tokbench.vocabulary import Vocabulary


class ShortestPathOptions(Options):
    ties: Literal["longest", "random"] = "longest"
    """Choice among equally good last tokens: the longest (default, PathPieceL) or uniformly random (PathPieceR)."""

    seed: int = Field(0, ge=0, lt=2**64)
    """Seed of the random choices (default: 0)."""

    draws: Literal["pretoken", "document"] = "pretoken"
    """Input of the random choices in addition to the seed. ``pretoken`` (default): only the pre-token's bytes, so that
    a word always has the same segmentation. ``document``: the bytes, the document and the position, as in the paper's
    appendix A. Metrics over unique pre-tokens use one draw per pre-token.
    """

    max_token_bytes: int | None = Field(None, ge=1)
    """Longest token to use, in bytes (L; 16 in the paper; default: no limit)."""


@segmentation("shortest_path", options=ShortestPathOptions, cites=("schmidt2024",))
def shortest_path(vocabulary: Vocabulary, options: ShortestPathOptions) -> Segmenter:
    """Split each pre-token into the fewest tokens possible.

    Raises:
        TokbenchError: the vocabulary has continuation forms.
    """
    reject_continuation(vocabulary, "shortest_path")
    data, offsets = vocabulary.flat()
    short = None if options.max_token_bytes is None else np.diff(offsets) <= options.max_token_bytes
    return ShortestPathSegmenter(
        Trie(data, offsets, short, backwards=True), options.ties == "random", options.seed, options.draws == "document"
    )
