"""Under-trained tokens: tokens with small embeddings that a model rarely saw.

Source: "BPE Gets Picky", section 5, figures 3 to 5 and 13: L2 norms of input embeddings against probabilities. These
metrics summarize the figures; the table of tokens has every point. Neither end is better: tokens that a model never saw
are equally rare, and their order determines which of them count.
"""

from typing import TYPE_CHECKING

import numpy as np
from pydantic import Field

from tokbench.kernels.elementary import decimal_logs_of
from tokbench.kernels.exact import correlation, exact_mean, exact_sum
from tokbench.metric import Shown, metric
from tokbench.metric.measurement import ADDED, DROPPED, Measurement, ratio
from tokbench.options import Options

if TYPE_CHECKING:
    from tokbench.metric.embeddings import Embeddings


NEVER = "never holds"


class UndertrainedOptions(Options):
    corner: float = Field(0.2, gt=0, lt=1)
    """Share of the tokens that count as rare, and share that count as of small norm. Tokens in both are considered
    under-trained. Default: 0.2."""


@metric(
    "undertrained",
    options=UndertrainedOptions,
    of="embeddings",
    cites=("chizhov2024", "land2024"),
    shown=(
        Shown("undertrained_tokens", "embeddings"),
        Shown("unseen_tokens", "embeddings", "tokens never seen"),
        Shown("embedding_norm_correlation", "embeddings", "r of norm and probability"),
        Shown("mean_embedding_norm", "embeddings", "mean norm, added", ADDED),
        Shown("mean_embedding_norm", "embeddings", "mean norm, dropped", DROPPED),
        Shown("mean_embedding_norm", "embeddings", "mean norm, never seen", NEVER),
        Shown("mean_embedding_norm", "embeddings", "mean norm"),
        Shown("mean_token_probability", "embeddings", "mean probability, added", ADDED),
        Shown("mean_token_probability", "embeddings", "mean probability, dropped", DROPPED),
        Shown("mean_token_probability", "embeddings", "mean probability"),
    ),
)
def undertrained(embeddings: "Embeddings", options: UndertrainedOptions) -> list[Measurement]:
    """Return norms, unseen tokens, correlation of norm and probability, and the number of rare tokens of small norm."""
    norms, occurrences = embeddings.norms, embeddings.occurrences
    n, unseen, text = len(norms), occurrences == 0, embeddings.text
    # Tokens in the corner: smallest embeddings and rarest in the text.
    number = max(1, int(options.corner * n))
    small, rare = np.zeros(n, np.bool_), np.zeros(n, np.bool_)
    small[np.argsort(norms, kind="stable")[:number]] = True
    rare[np.argsort(occurrences, kind="stable")[:number]] = True
    share = f"the {100 * options.corner:g} %"
    name, none = "mean_embedding_norm", "the model has met every token"
    return [
        Measurement(name, "mean L2 norm of the input embeddings", exact_mean(norms.tolist()), n),
        ratio(
            name,
            f"mean L2 norm of the input embeddings of tokens that the {text} {NEVER}",
            exact_sum(norms[unseen]),
            int(unseen.sum()),
            none,
        ),
        Measurement("unseen_tokens", f"tokens that the {text} {NEVER}", float(np.count_nonzero(unseen)), n),
        _correlation(norms[~unseen], decimal_logs_of(embeddings.probabilities[~unseen]), text),
        Measurement(
            "undertrained_tokens",
            f"tokens both among {share} of smallest embedding and among {share} rarest in the {text}",
            float(np.count_nonzero(small & rare)),
            n,
        ),
    ]


def _correlation(norms: np.ndarray, logarithms: np.ndarray, text: str) -> Measurement:
    definition = f"Pearson's r of embedding norm and log10 of the probability in the {text}, tokens it holds"
    if len(norms) < 3 or not np.ptp(norms) or not np.ptp(logarithms):
        reason = "fewer than three tokens, or one of the two does not vary"
        return Measurement("embedding_norm_correlation", definition, None, len(norms), reason)
    r, _ = correlation(norms, logarithms)
    return Measurement("embedding_norm_correlation", definition, r, len(norms))
