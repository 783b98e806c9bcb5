"""Measures of a tokenizer beside the bits of models: how often they order two variants alike."""

from math import comb

import polars as pl
import pytest
from scipy.stats import binomtest

from tests.support.fake_results import documents_of
from tokbench.statistics.measures import NO_PAIR, claimed_end, clopper_pearson, measures_against_models
from tokbench.statistics.model_bits import compare_model_bits
from tokbench.statistics.verdicts import NOT_TOLD
from tokbench.tabulation.intrinsic import INTRINSIC
from tokbench.tabulation.ngram_bits import NGRAM_BITS


def test_exact_intervals_of_shares() -> None:
    for hits, of in ((0, 7), (7, 7), (3, 11), (60, 61)):
        theirs = binomtest(hits, of).proportion_ci(method="exact")
        assert clopper_pearson(hits, of) == pytest.approx((theirs.low, theirs.high))
        least = sum(comb(of, k) * theirs.high**k * (1 - theirs.high) ** (of - k) for k in range(hits + 1))
        assert least == pytest.approx(0.025 if hits < of else 1)


def measured(values: dict[str, float], metric: str) -> pl.DataFrame:
    rows = [(variant, 1024, "books", "", metric, "d", value, 1, None) for variant, value in values.items()]
    return pl.DataFrame(rows, schema=INTRINSIC.schema, orient="row")


def test_measures_that_order_pairs_as_models_do() -> None:
    levels = {"a": 1.7, "b": 1.8, "c": 1.9, "d": 2.0}
    comparisons = compare_model_bits(documents_of(levels, noise=0.001), {})
    assert NOT_TOLD not in comparisons["verdict"]
    intrinsic = pl.concat(
        [
            measured({"a": 10, "b": 20, "c": 30, "d": 40}, "corpus_token_count"),
            measured({"a": 0.1, "b": 0.2, "c": 0.2, "d": 0.05}, "renyi_efficiency_2.5"),
            measured({"a": 1, "b": 2, "c": 3, "d": 4}, "relative_corpus_token_count"),
            measured({"a": 1, "b": 2, "c": 3, "d": 4}, "token_length"),
        ]
    )
    bits = pl.DataFrame(
        [(variant, 1024, "books", "", 2, 9, value, 1, 1, 1, 1, 1, 1, 0) for variant, value in (("a", 3.0), ("d", 2.0))],
        schema=NGRAM_BITS.schema,
        orient="row",
    )
    found = {row["metric"]: row for row in measures_against_models(comparisons, intrinsic, bits).rows(named=True)}
    assert {name: (row["agreed"], row["pairs"], row["tied"]) for name, row in found.items()} == {
        "corpus_token_count": (6, 6, 0),
        "renyi_efficiency_2.5": (3, 6, 1),
        "ngram_bits_per_byte": (0, 1, 0),
    }
    assert found["corpus_token_count"]["low"] == pytest.approx(0.025 ** (1 / 6))
    assert claimed_end("token_length") is None


def test_no_pair_told_apart_gives_a_reason() -> None:
    comparisons = compare_model_bits(documents_of({"b": 2.0, "c": 2.0}), {})
    assert comparisons["verdict"].to_list() == [NOT_TOLD]
    intrinsic = measured({"b": 10, "c": 20}, "corpus_token_count")
    many = pl.concat([intrinsic.with_columns(definition=pl.lit(f"d{number}")) for number in range(30)])
    order = measures_against_models(comparisons, many, pl.DataFrame(schema=NGRAM_BITS.schema))["definition"]
    assert order.to_list() == many["definition"].unique(maintain_order=True).to_list()
    row = measures_against_models(comparisons, intrinsic, pl.DataFrame(schema=NGRAM_BITS.schema)).row(0, named=True)
    assert (row["pairs"], row["share"], row["low"], row["reason"]) == (0, None, None, NO_PAIR)
