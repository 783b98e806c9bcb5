"""Bits per byte of language models for the scoreboard: over seeds and documents where there are several seeds."""

from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tokbench.statistics.estimate import Estimate, interval, ratio_over_documents
from tokbench.statistics.model_bits import Group, groups
from tokbench.statistics.standing import Family, Row, Value
from tokbench.statistics.two_sources import Spread, ratio_over_both
from tokbench.statistics.verdicts import may_rank

Documents = Mapping[str, NDArray[np.float64]]
ONE_DOCUMENT = "a test needs two documents"


def over_documents(
    head: Row, bits: Documents, sizes: NDArray[np.float64], trainings: Mapping[str, int] | None = None
) -> Family:
    """Bits per byte of variants on the same documents, by Student's t over these.

    Args:
        head: what the rows begin with.
        bits: float64 [documents] by variant.
        sizes: float64 [documents], their bytes, none of them zero.
        trainings: number of trainings by variant; None where no model was trained.
    """
    seeds = trainings or {}
    if len(sizes) < 2:
        alone = {name: Value(float(one[0] / sizes[0])) for name, one in bits.items()}
        return Family(head, "", "lowest", alone, untested=ONE_DOCUMENT, trainings=seeds)
    values = {}
    for name, one in bits.items():
        estimate = ratio_over_documents(one, sizes)
        values[name] = Value(estimate.difference, *interval(estimate), len(sizes))

    def differ(a: str, b: str) -> Estimate:
        estimate = ratio_over_documents(bits[a] - bits[b], sizes)
        return replace(estimate, trainings=min(seeds[a], seeds[b])) if seeds else estimate

    return Family(head, "documents", "lowest", values, differ, trainings=seeds)


def model_bits(measure: str, bits_by_seed: pl.DataFrame) -> Iterator[Family]:
    """Bits per byte of every model and size.

    Intervals are over seeds and documents for variants with several seeds, and over documents for those with one.

    Args:
        measure: what the measure is called.
        bits_by_seed: see :func:`tokbench.statistics.model_bits.compare_model_bits`.
    """
    for group in groups(bits_by_seed):
        corpus, model, suite, size = group.key
        head = (corpus, size, measure, model, suite, f"bits of the text by the language model {model}, over its bytes")
        filled = group.sizes > 0
        trainings = {name: len(one) for name, one in group.bits.items()}
        several = {name: one for name, one in group.bits.items() if may_rank(trainings[name]) and filled.sum() > 1}
        if several:
            yield _over_both(head, replace(group, bits=several), trainings)
        if single := group.bits.keys() - several.keys():
            means = {name: np.mean(list(group.bits[name].values()), axis=0)[filled] for name in sorted(single)}
            yield over_documents(head, means, group.sizes[filled], trainings)


def _over_both(head: Row, group: Group, trainings: Mapping[str, int]) -> Family:
    values = {}
    for name, one in group.bits.items():
        spread = ratio_over_both(np.stack(list(one.values())), group.sizes)
        values[name] = Value(spread.mean, *interval(spread.estimate), len(group.sizes))

    def differ(a: str, b: str) -> Estimate | None:
        found = group.spread(a, b)
        return found.estimate if isinstance(found, Spread) else None

    untested = "no two seeds in common"
    return Family(head, "seeds and documents", "lowest", values, differ, untested, trainings=trainings)
