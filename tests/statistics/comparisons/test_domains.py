"""Comparisons by domain: values by hand, pairing by document, weights that are changed afterwards."""

import numpy as np
import polars as pl
import pytest

from tests.support.small_report import (
    SIZES,
    VARIANTS,
    bits_by_seed,
    document_domains,
    ngram_documents,
    tokens_by_document,
)
from tokbench.statistics.comparisons.domains import MEAN, domain_comparisons, domain_documents, domain_values
from tokbench.statistics.significance.estimate import ratio, ratio_over_both

DOCUMENTS = domain_documents(document_domains(), tokens_by_document(), ngram_documents(), bits_by_seed())
OF = {"corpus": "books", "measure": "bits_per_byte", "size": SIZES[0]}


def runs(variant: str, frame: pl.DataFrame = DOCUMENTS) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return bits [seeds, documents], bytes and domains of a variant."""
    rows = frame.filter(variant=variant, **OF).sort("seed", "document")
    seeds = rows["seed"].n_unique()
    bits = rows["part"].to_numpy().reshape(seeds, -1)
    first = rows.filter(seed=rows["seed"].min())
    return bits, first["bytes"].to_numpy(), first["domain"].to_numpy().astype(str)


def test_values_are_ratios_of_sums_and_their_weighted_mean() -> None:
    values = domain_values(DOCUMENTS, {"web": 3, "code": 1})
    assert set(values["measure"]) == {"tokens", "ngram_bits_per_byte", "bits_per_byte"}
    assert set(values["domain"]) == {"web", "code", MEAN}
    for variant in VARIANTS:
        bits, sizes, domains = runs(variant)
        expected = {name: bits[:, domains == name].sum() / 3 / sizes[domains == name].sum() for name in ("web", "code")}
        rows = values.filter(variant=variant, **OF)
        found = dict(rows.select("domain", "value").iter_rows())
        mean = 0.75 * expected["web"] + 0.25 * expected["code"]
        assert found == pytest.approx({**expected, MEAN: mean}, rel=1e-12)
        assert dict(rows.select("domain", "weight").iter_rows()) == {"web": 0.75, "code": 0.25, MEAN: None}


def test_differences_are_paired_by_document_and_seed() -> None:
    compared = domain_comparisons(DOCUMENTS, {}, {}).filter(**OF)
    for domain in ("web", "code"):
        [row] = compared.filter(domain=domain, a=VARIANTS[0], b=VARIANTS[1]).rows(named=True)
        (a, sizes, domains), (b, _, _) = runs(VARIANTS[0]), runs(VARIANTS[1])
        own = domains == domain
        spread = ratio_over_both((a - b)[:, own], sizes[own])
        assert row["difference"] == pytest.approx(spread.mean, rel=1e-12)
        assert (row["low"], row["high"]) == pytest.approx(spread.estimate.ends(), rel=1e-9)
        assert (row["n"], row["seeds"], row["unit"]) == (own.sum(), 3, "documents")
    # Shares of bytes give the difference over the full text.
    [row] = compared.filter(domain=MEAN, a=VARIANTS[0], b=VARIANTS[1]).rows(named=True)
    whole = ratio((a - b), sizes, trained=True)
    assert whole is not None
    assert row["difference"] == pytest.approx(whole.difference, rel=1e-12)


def test_units_of_a_corpus_have_their_name() -> None:
    compared = domain_comparisons(DOCUMENTS, {}, {}, unit_names={"books": "authors"})
    assert set(compared["unit"]) == {"authors"}
    assert set(domain_comparisons(DOCUMENTS, {}, {})["unit"]) == {"documents"}


def test_weights_change_only_the_weighted_mean() -> None:
    before = domain_comparisons(DOCUMENTS, {}, {})
    after = domain_comparisons(DOCUMENTS, {"web": 1, "code": 9}, {})
    assert before.filter(pl.col("domain") != MEAN).equals(after.filter(pl.col("domain") != MEAN))
    assert not before.filter(domain=MEAN).equals(after.filter(domain=MEAN))
    only = domain_comparisons(DOCUMENTS, {"web": 1, "code": 0}, {})
    web = only.filter(domain="web", **OF).sort("a", "b")
    mean = only.filter(domain=MEAN, **OF).sort("a", "b")
    for name in ("difference", "low", "high"):
        assert mean[name].to_list() == pytest.approx(web[name].to_list(), rel=1e-9)


def test_corpora_without_domains_or_with_one_have_no_rows() -> None:
    empty = document_domains().clear()
    one = document_domains().with_columns(domain=pl.lit("web"))
    for domains in (empty, one):
        documents = domain_documents(domains, tokens_by_document(), ngram_documents(), bits_by_seed())
        assert domain_values(documents, {}).is_empty()
        assert domain_comparisons(documents, {}, {}).is_empty()


def test_one_training_is_not_tested() -> None:
    documents = DOCUMENTS.filter((pl.col("seed") == 0) | pl.col("seed").is_null())
    compared = domain_comparisons(documents, {}, {}).filter(measure="bits_per_byte")
    assert set(compared["verdict"]) == {"not tested"}
    assert compared["reason"].str.contains("one training").all()
