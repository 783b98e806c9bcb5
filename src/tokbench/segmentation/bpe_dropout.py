"""BPE dropout: byte-pair encoding with merges dropped at random.

Provilkov, Emelianenko and Voita, "BPE-Dropout: Simple and Effective Subword Regularization" (2020), section 3,
algorithm 1.

Reference: ``bpe_dropout`` in :mod:`tokbench.reference.segmentation`.
"""

from typing import Literal

from pydantic import Field

from tokbench.kernels.dropout import DropoutSegmenter
from tokbench.options import Options
from tokbench.segmentation import Segmenter, segmentation
from tokbench.segmentation.merge import replay_merges
from tokbench.vocabulary import Vocabulary


class BpeDropoutOptions(Options):
    dropout: float = Field(0.1, ge=0, le=1)
    """Probability with which each possible merge is dropped, drawn again at every step (p; default: 0.1, as in the
    paper). 0 equals ``merge``, 1 leaves single bytes.
    """

    seed: int = Field(0, ge=0, lt=2**64)
    """Seed of the random draws (default: 0). With another seed, documents get other segmentations."""

    draws: Literal["pretoken", "document"] = "document"
    """Input of the random draws in addition to the seed. ``document`` (default): the pre-token's bytes, its document
    and its position, so that a word has several segmentations, as intended by the paper's regularisation. ``pretoken``:
    only the bytes, so that a word always has the same segmentation. Metrics over unique pre-tokens use one draw per
    pre-token.
    """


@segmentation("bpe_dropout", options=BpeDropoutOptions, needs="merges", cites=("provilkov2020",))
def bpe_dropout(vocabulary: Vocabulary, options: BpeDropoutOptions) -> Segmenter:
    """Merge as ``merge`` does, but drop each possible merge of a step at random.

    A merge is a pair at one position; each position of a pair is dropped independently. Segmentation of a pre-token
    ends at the first step that drops all of its possible merges. This becomes less likely with more possible merges, so
    a pre-token that is a full document is merged almost completely. Time is O(n log n / (1 - dropout)) in the length of
    a pre-token.

    Raises:
        TokbenchError: as ``merge`` does.
    """
    return DropoutSegmenter(
        *replay_merges(vocabulary, "bpe_dropout"), options.dropout, options.seed, options.draws == "document"
    )
