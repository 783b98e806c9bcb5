"""BPE dropout: merging as byte-pair encoding does, with merges left out at random.

Provilkov, Emelianenko and Voita, "BPE-Dropout: Simple and Effective Subword Regularization" (2020), section 3,
algorithm 1.

Reference: ``bpe_dropout`` in :mod:`tokbench.reference.segmentation`.
"""

from typing import Literal

from pydantic import Field

from tokbench.kernels.dropout import DropoutSegmenter
from tokbench.options import Options
from tokbench.segmentation import Segmenter, segmentation
from tokbench.segmentation.merge import replayed
from tokbench.vocabulary import Vocabulary


class BpeDropoutOptions(Options):
    dropout: float = Field(0.1, ge=0, le=1)
    """Probability with which each possible merge is dropped, anew at every step (p, 0.1 in the paper). 0 is the same
    as ``merge``, 1 leaves single bytes."""

    seed: int = Field(0, ge=0, lt=2**64)
    """Seed of the random draws; another seed for each epoch gives another segmentation of the same documents."""

    draws: Literal["pretoken", "document"] = "document"
    """What random draws depend on beside the seed: also the document and the place in it, so that a word is cut in
    several ways as the paper's regularisation wants, or the pre-token's bytes alone, so that it is always cut in the
    same way. Measures over unique pre-tokens take one draw for each."""


@segmentation("bpe_dropout", options=BpeDropoutOptions, needs="merges", cites=("provilkov2020",))
def bpe_dropout(vocabulary: Vocabulary, options: BpeDropoutOptions) -> Segmenter:
    """Merge as ``merge`` does, each step without those merges that the step drops at random.

    A merge is a pair at one place: another place of the same pair is dropped or kept by itself. A pre-token is done in
    the first step that drops all of its possible merges, which is the less likely the more there are: where pre-tokens
    are whole documents, little is left unmerged. Time is O(n log n / (1 - dropout)) in the length of a pre-token.

    Raises:
        TokbenchError: as ``merge`` does.
    """
    return DropoutSegmenter(
        *replayed(vocabulary, "bpe_dropout"), options.dropout, options.seed, options.draws == "document"
    )
