"""Zipf measures: the shape of the distribution of token frequencies by rank, on logarithmic axes.

Lotz et al. 2025 ("Beyond text compression: evaluating tokenizers across scales", section 3.4) propose four measures:
the number of tokens in use, and area, slope and deviation of the curve of ln(frequency) over ln(rank). The curve is cut
at ln(rank) = 6, the 403 most frequent tokens. Ranks are 1, 2, ... by falling frequency; equal frequencies have
ranks of their own. The mean rank of an occurrence and the ratio of types to tokens are those of TokEval.
"""

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from tokbench.kernels.elementary import logs_of
from tokbench.kernels.exact import exact_sum
from tokbench.metric import Shown, metric
from tokbench.metric.measurement import Measurement, ratio
from tokbench.metric.usage import EncodedText, Usage
from tokbench.options import Options

FEW = "the text uses fewer than two tokens"
NO_TOKENS = "the text has no tokens"


class ZipfOptions(Options):
    log_rank: float = Field(6.0, gt=0, le=20)
    """Natural logarithm of the highest rank of the curve. Default: 6, the 403 most frequent tokens, as Lotz et al."""


def rank_curve(frequencies: NDArray[np.int64], log_rank: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return ln(rank) and ln(frequency) of the tokens in use by falling frequency, float64 [ranks] each.

    Args:
        frequencies: int64 [tokens], occurrences of each token.
        log_rank: the highest ln(rank).
    """
    used = np.sort(frequencies[frequencies > 0])[::-1]
    ranks = logs_of(np.arange(1, len(used) + 1, dtype=np.float64))
    chosen = ranks <= log_rank
    return ranks[chosen], logs_of(used[chosen].astype(np.float64))


def area(x: NDArray[np.float64], y: NDArray[np.float64]) -> float:
    """Return the area under a curve by Simpson's rule for unequal steps.

    If the number of steps is odd, the last one is that of the parabola through the last three points (Cartwright 2017).

    Args:
        x: ascending places, float64 [points], two or more.
        y: values at these places.
    """
    steps = np.diff(x)
    if len(steps) == 1:
        return float(steps[0] * (y[0] + y[1]) / 2)
    even = len(steps) // 2 * 2
    first, second = steps[:even:2], steps[1:even:2]
    widths = first + second
    left, middle, right = y[: even - 1 : 2], y[1:even:2], y[2 : even + 1 : 2]
    parts = (2 - second / first) * left + widths**2 / (first * second) * middle + (2 - first / second) * right
    total = exact_sum(widths * parts) / 6
    if even < len(steps):
        before, last = float(steps[-2]), float(steps[-1])
        total += float(y[-1]) * (2 * last**2 + 3 * before * last) / (6 * (before + last))
        total += float(y[-2]) * (last**2 + 3 * before * last) / (6 * before)
        total -= float(y[-3]) * last**3 / (6 * before * (before + last))
    return total


def curve_measures(x: NDArray[np.float64], y: NDArray[np.float64]) -> tuple[float, float, float]:
    """Return area (Simpson's rule), slope (least squares) and mean absolute deviation from the line of a curve."""
    mean = exact_sum(y) / len(y)
    centred = x - exact_sum(x) / len(x)
    slope = exact_sum(centred * (y - mean)) / exact_sum(centred * centred)
    return area(x, y), slope, exact_sum(np.abs(y - mean - slope * centred)) / len(y)


def mean_rank(frequencies: NDArray[np.int64]) -> float:
    """Return the mean rank over occurrences; of equal frequencies, the token of the lower id has the lower rank."""
    ordered = np.sort(frequencies[frequencies > 0])[::-1]
    return exact_sum(np.arange(1.0, len(ordered) + 1) * ordered) / int(ordered.sum())


@metric(
    "zipf",
    options=ZipfOptions,
    per_language=True,
    of_ids=True,
    cites=("lotz2025",),
    shown=(
        Shown("zipf_cardinality", "frequency", "tokens in use"),
        Shown("zipf_area", "frequency", "area of the Zipf curve"),
        Shown("zipf_slope", "frequency", "slope of the Zipf curve"),
        Shown("zipf_deviation", "frequency", "deviation from the Zipf line"),
        Shown("mean_token_rank", "frequency", "mean rank"),
        Shown("type_token_ratio", "frequency", "types / tokens"),
    ),
)
def zipf(usage: Usage | EncodedText, options: ZipfOptions) -> list[Measurement]:
    """Return tokens in use; area, slope and deviation of ln(frequency) over ln(rank); mean rank; types per token."""
    frequencies, total = usage.used if isinstance(usage, EncodedText) else usage.frequencies, usage.total
    types = int(np.count_nonzero(frequencies))
    x, y = rank_curve(frequencies, options.log_rank)
    limit = f"ln(rank) up to {options.log_rank:g}"
    definitions = {
        "zipf_area": f"area under ln(frequency) over ln(rank) by Simpson's rule, {limit}",
        "zipf_slope": f"slope of the line of least squares of ln(frequency) on ln(rank), {limit}",
        "zipf_deviation": f"mean absolute difference of ln(frequency) from that line, {limit}",
    }
    none = NO_TOKENS if total == 0 else FEW
    if len(x) > 1:
        pairs = zip(definitions.items(), curve_measures(x, y), strict=True)
        curve = [Measurement(name, definition, value, len(x)) for (name, definition), value in pairs]
    else:
        curve = [Measurement(name, definition, None, 0, none) for name, definition in definitions.items()]
    in_use = "tokens of the vocabulary that the text uses"
    return [
        Measurement("zipf_cardinality", in_use, float(types), total),
        *curve,
        _rank(frequencies, total),
        ratio("type_token_ratio", f"{in_use} / tokens of the text", types, total, NO_TOKENS),
    ]


def _rank(frequencies: NDArray[np.int64], total: int) -> Measurement:
    definition = "mean over the text's tokens of the rank of the token by falling frequency, from 1"
    if total == 0:
        return Measurement("mean_token_rank", definition, None, 0, NO_TOKENS)
    return Measurement("mean_token_rank", definition, mean_rank(frequencies), total)
