"""Rényi efficiency: uniformity of token use in a text (Zouhar et al. 2023, "Tokenization and the noiseless channel").

Two denominators are common. "Tokenization Is More Than Compression" (table 11) divides by the logarithm of the nominal
vocabulary size. ByteSpan's intrinsic benchmark divides by that of the number of types seen in the text. The nominal
size is the requested size. For a vocabulary with fewer tokens it is too large, so such vocabularies should not be
ranked with others.
"""

from typing import Annotated

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from tokbench.kernels.elementary import logs_of, powers_of
from tokbench.kernels.exact import exact_sum
from tokbench.metric import Shown, metric
from tokbench.metric.measurement import Measurement
from tokbench.metric.usage import UNKNOWN_SIZE, EncodedText, Usage
from tokbench.options import Options

ORDERS = (1.0, 1.5, 2.0, 2.5, 3.0, 3.5)
SEEN = "types seen"


class RenyiOptions(Options):
    orders: tuple[Annotated[float, Field(gt=0, le=100)], ...] = Field(ORDERS, min_length=1)
    """Orders of the entropy. Order 1 is Shannon's, 2.5 is recommended by Zouhar et al. Default: 1, 1.5, 2, 2.5, 3 and
    3.5."""


def renyi_entropy(frequencies: NDArray[np.int64], order: float) -> float:
    """Return the Rényi entropy of a unigram distribution: ``log(sum p^a) / (1 - a)``, or ``-sum p log p`` for a = 1.

    Args:
        frequencies: int64 [types], occurrences; not all zero. Types that never occur are ignored.
        order: order a, positive.

    Returns:
        The entropy in nats.
    """
    positive = frequencies[frequencies > 0]
    shares = positive / positive.sum()
    if order == 1.0:
        return -exact_sum(shares * logs_of(shares))
    return float(logs_of(exact_sum(powers_of(shares, order)))) / (1.0 - order)


def renyi_efficiency(frequencies: NDArray[np.int64], order: float, types: int) -> float | None:
    """Return Rényi entropy as a share of the largest entropy of ``types`` types, ``log(types)``.

    Args:
        frequencies: int64 [any], occurrences of each type.
        order: order of the entropy, positive.
        types: requested vocabulary size or number of observed types.

    Returns:
        A dimensionless number, or None if it is undefined: no occurrences, or fewer than two types.
    """
    if types < 2 or not frequencies.any():
        return None
    return renyi_entropy(frequencies, order) / float(logs_of(types))


@metric(
    "renyi",
    options=RenyiOptions,
    per_language=True,
    of_ids=True,
    cites=("zouhar2023",),
    shown=[
        Shown(f"renyi_efficiency_{order:g}", "renyi", f"α = {order:g}{which}", over)
        for over, which in (("", ""), (SEEN, f", {SEEN}"))
        for order in ORDERS
    ],
)
def renyi(usage: Usage | EncodedText, options: RenyiOptions) -> list[Measurement]:
    """Return Rényi efficiency at several orders, relative to the requested size and to the types seen."""
    observed = int(np.count_nonzero(usage.frequencies))
    denominators = (
        ("entropy / log(nominal vocabulary size)", usage.nominal_size),
        (f"entropy / log(number of {SEEN} in the text)", observed),
    )
    rows = []
    for order in options.orders:
        for definition, types in denominators:
            name = f"renyi_efficiency_{_spelt(order)}"
            if types is None:
                rows.append(Measurement(name, definition, None, 0, UNKNOWN_SIZE))
                continue
            value = renyi_efficiency(usage.frequencies, order, types)
            reason = "fewer than two types, or no tokens" if value is None else None
            rows.append(Measurement(name, definition, value, types, reason))
    return rows


def _spelt(order: float) -> str:
    """Return an order as text with six digits, or more if these are another number."""
    short = f"{order:g}"
    return short if float(short) == order else repr(order)
