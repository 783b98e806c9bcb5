"""Token frequencies: distribution over classes of frequency, and frequency of rare tokens."""

from dataclasses import replace
from itertools import pairwise
from typing import Annotated

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from tokbench.metric import Shown, metric
from tokbench.metric.measurement import Measurement
from tokbench.metric.usage import UNKNOWN_SIZE, EncodedText, Usage
from tokbench.options import Options

USED = "tokens of the vocabulary that the text uses"
PERCENTILES = (50, 95, 99)


class FrequencyOptions(Options):
    classes: int = Field(17, ge=1, le=62)
    """Classes of frequency in addition to 0: once, 2 to 3 times, 4 to 7 times, and so on, each twice as wide as the one
    before; the last has no upper limit. Default: 17."""

    percentiles: tuple[Annotated[int, Field(ge=1, le=100)], ...] = PERCENTILES
    """Shares of the vocabulary, in percent from the most frequent token on, for which the lowest frequency is reported.
    Default: 50, 95 and 99."""


def frequency_classes(frequencies: NDArray[np.int64], classes: int) -> NDArray[np.int64]:
    """Count tokens that occur 0, 1, 2 to 3, ..., 2^(classes - 1) or more times: int64 [classes + 1]."""
    lowest = np.concatenate([[0], np.int64(1) << np.arange(classes)])
    return np.bincount(np.searchsorted(lowest, frequencies, "right") - 1, minlength=classes + 1)


def class_names(classes: int) -> list[str]:
    """Return names of the classes whose alphabetical order is that of the classes."""
    named = [f"2^{low:02} to 2^{high:02} - 1 times" for low, high in pairwise(range(classes))]
    return ["0 times", *named, f"2^{classes - 1:02} times or more"]


@metric(
    "frequency",
    options=FrequencyOptions,
    of_ids=True,
    cites=(),
    shown=[
        Shown(f"token_frequency_at_{percent}", "frequency", f"least of the top {percent} %") for percent in PERCENTILES
    ],
)
def frequency(usage: Usage | EncodedText, options: FrequencyOptions) -> list[Measurement]:
    """Return the distribution of token frequencies; its left tail contains the rare tokens.

    The frequency at the 95th percentile is Gowda and May's measure of the tail ("Finding the optimal vocabulary size
    for neural machine translation", 2020).
    """
    if isinstance(usage, EncodedText):
        used = usage.used
        rows = _distribution(np.pad(used, (0, max((usage.size or 1) - len(used), 0))), options)
        return rows if usage.size else [replace(row, value=None, n=0, reason=UNKNOWN_SIZE) for row in rows]
    return _distribution(usage.frequencies, options)


def _distribution(frequencies: NDArray[np.int64], options: FrequencyOptions) -> list[Measurement]:
    size = len(frequencies)
    rows = [
        Measurement("token_frequency_distribution", f"{USED} {name}", float(n), size)
        for name, n in zip(
            class_names(options.classes), frequency_classes(frequencies, options.classes).tolist(), strict=True
        )
    ]
    ordered = np.sort(frequencies)[::-1]
    for percent in options.percentiles:
        fewest = int(ordered[-(-size * percent // 100) - 1])
        definition = f"least occurrences in the text among the {percent} % of the vocabulary's tokens that occur most"
        rows.append(Measurement(f"token_frequency_at_{percent}", definition, float(fewest), size))
    return rows
