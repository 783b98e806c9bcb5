"""Bits per byte of language models for the scoreboard: over seeds and documents where there are several seeds."""

from collections.abc import Iterator, Mapping

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tokbench.statistics.estimate import Estimate, interval, ratio_over_documents
from tokbench.statistics.model_bits import Group, groups
from tokbench.statistics.standing import Family, Row, Value
from tokbench.statistics.two_sources import Spread, ratio_over_both

Documents = Mapping[str, NDArray[np.float64]]
ONE_DOCUMENT = "a test needs two documents"


def over_documents(head: Row, bits: Documents, sizes: NDArray[np.float64], seeds: int | None) -> Family:
    """Bits per byte of variants on the same documents, by Student's t over these.

    Args:
        head: what the rows begin with.
        bits: float64 [documents] by variant.
        sizes: float64 [documents], their bytes, none of them zero.
        seeds: of the language model; None where there is none.
    """
    if len(sizes) < 2:
        alone = {name: Value(float(one[0] / sizes[0])) for name, one in bits.items()}
        return Family(head, "", seeds, "lowest", alone, untested=ONE_DOCUMENT)
    values = {}
    for name, one in bits.items():
        estimate = ratio_over_documents(one, sizes)
        values[name] = Value(estimate.difference, *interval(estimate), len(sizes))
    return Family(
        head, "documents", seeds, "lowest", values, lambda a, b: ratio_over_documents(bits[a] - bits[b], sizes)
    )


def model_bits(measure: str, bits_by_seed: pl.DataFrame) -> Iterator[Family]:
    """Bits per byte of every model and size.

    Intervals have seeds and documents in them where every variant has several seeds in common with the others; with one
    seed, documents alone.

    Args:
        measure: what the measure is called.
        bits_by_seed: see :func:`tokbench.statistics.model_bits.compare_model_bits`.
    """
    for group in groups(bits_by_seed):
        corpus, model, suite, size = group.key
        head = (corpus, size, measure, model, suite, f"bits of the text by the language model {model}, over its bytes")
        seeds = min(len(one) for one in group.bits.values())
        filled = group.sizes > 0
        if seeds < 2 or filled.sum() < 2:
            means = {name: np.mean(list(one.values()), axis=0)[filled] for name, one in group.bits.items()}
            yield over_documents(head, means, group.sizes[filled], seeds)
        else:
            yield _over_both(head, group, seeds)


def _over_both(head: Row, group: Group, seeds: int) -> Family:
    values = {}
    for name, one in group.bits.items():
        spread = ratio_over_both(np.stack(list(one.values())), group.sizes)
        ends = interval(Estimate(spread.mean, spread.error, spread.degrees))
        values[name] = Value(spread.mean, *ends, len(group.sizes))

    def differ(a: str, b: str) -> Estimate | None:
        found = group.spread(a, b)
        return Estimate(found.mean, found.error, found.degrees) if isinstance(found, Spread) else None

    return Family(head, "seeds and documents", seeds, "lowest", values, differ, "no two seeds in common")
