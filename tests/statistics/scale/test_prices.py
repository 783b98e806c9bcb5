"""Costs at target models, and bits per byte at equal total cost: by hand, by brute force and by a bootstrap."""

from collections.abc import Mapping
from math import exp, log
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.scale_models import RATES, budgets, groups, power, recipe
from tests.support.small_report import altered, whole
from tokbench.costs.devices import device_hours
from tokbench.costs.transformer import Transformer
from tokbench.errors import TokbenchError
from tokbench.options import validated
from tokbench.reference import scaling as reference
from tokbench.report.exhibits import Drawing, Heading, Table
from tokbench.report.figures.style import inline
from tokbench.report.sections.prices import at_targets
from tokbench.statistics.scale.equal_cost import (
    BITS_AT_EQUAL_COST,
    EQUAL_COST_COMPARISONS,
    bits_at_equal_cost,
    compare_at_equal_cost,
)
from tokbench.statistics.scale.prices import NO_LINE, PRICES, price_tokenizers
from tokbench.statistics.scale.scale_lines import ScaleGroup
from tokbench.statistics.scale.target_model import TargetModel, affordable_layers, targets_of
from tokbench.statistics.scale.total_cost import NOT_EQUAL_TEXT, NOTHING_LEFT
from tokbench.statistics.significance.eligibility import LOSSY, ONE_TRAINING
from tokbench.statistics.significance.verdicts import BETTER, NOT_TESTED
from tokbench.statistics.undersized import LEFT_OUT
from tokbench.tabulation.documents import TOKENS_BY_DOCUMENT

SHAPE: dict[str, Any] = {
    "d_model": 4096, "n_layers": 32, "n_heads": 32, "kv_heads": 8, "feed_forward": 14336, "max_seq_len": 8192,
    "serving_tokens_per_training_token": 20.0,
}  # fmt: skip
LAYER = 4096 * (2 * 4096 + 2 * 1024 + 3 * 14336)
"""Weights of a layer: queries and outputs, keys and values of 8 of 32 heads, and three matrices of the feed-forward."""
ROWS = 1088
"""1,024 tokens and two special ones, padded to a multiple of 64."""
FORWARD = 2 * (32 * LAYER + ROWS * 4096) + 4 * 32 * 4096 * 8192
"""Operations of the forward pass per token."""


def target(**options: Any) -> TargetModel:
    """Return the target with other options."""
    return validated(SHAPE | options, TargetModel, "targets.serve")


def tables(
    found: list[ScaleGroup], of: Mapping[str, TargetModel], undersized: frozenset[tuple[str, int]] = frozenset()
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return bits at equal total cost and their comparisons, with ``a`` as the baseline."""
    baselines = dict.fromkeys(RATES, "a")
    compared = compare_at_equal_cost(of, found, baselines, {}, undersized)
    EQUAL_COST_COMPARISONS.check(compared)
    bits = bits_at_equal_cost(of, found, baselines, {}, compared)
    BITS_AT_EQUAL_COST.check(bits)
    return bits, compared


def counts(**tokens: list[int]) -> pl.DataFrame:
    """Return tokens of documents of 1,000 bytes each."""
    rows = [
        (variant, 1024, "books", document, 1, 1000, count)
        for variant, of_documents in tokens.items()
        for document, count in enumerate(of_documents)
    ]
    return pl.DataFrame(rows, TOKENS_BY_DOCUMENT.schema, orient="row")


def prices(of: TargetModel, tokens: pl.DataFrame, **others: Any) -> dict[str, dict[str, Any]]:
    """Return the rows of the table by variant."""
    variants = tokens["variant"].unique().to_list()
    vocabularies, lossy = others.get("vocabularies", {}), others.get("lossy", set())
    frame = price_tokenizers({"serve": of}, tokens, vocabularies, dict.fromkeys(variants, "a"), [], lossy)
    PRICES.check(frame)
    return {row["variant"]: row for row in frame.iter_rows(named=True)}


def test_costs_by_hand() -> None:
    """A quarter of a token per byte: bf16, untied head, 30 % and 10 % of an A100's 312 TFLOP/s."""
    row = prices(target(hardware="a100", mfu=0.3, serving_mfu=0.1), counts(a=[250, 250]))["a"]
    assert row["serving_flops_per_byte"] == FORWARD / 4
    assert row["training_flops_per_byte"] == 3 * FORWARD / 4
    assert row["softmax_share"] == 2 * ROWS * 4096 / FORWARD
    assert row["cache_bytes_per_byte"] == 2 * 32 * 1024 * 2 / 4
    assert row["cache_bytes_at_context"] == 2 * 32 * 1024 * 2 * 8192 == 2**30
    assert row["embedding_bytes"] == 2 * ROWS * 4096 * 2
    assert row["context_bytes"] == 8192 * 4
    assert row["training_hours"] == pytest.approx(3 * FORWARD / 4 * 1e12 / (312e12 * 0.3) / 3600)
    assert row["serving_hours"] == pytest.approx(FORWARD / 4 * 1e12 / (312e12 * 0.1) / 3600)
    assert row["reason"] == NO_LINE, "without models there are costs and no bits"
    assert device_hours(3600e12, 1, 0.5) == 2


def test_window_ties_experts_and_precision() -> None:
    tokens = counts(a=[250, 250])
    usual = prices(target(), tokens)["a"]
    narrow = prices(target(window=1024), tokens)["a"]
    assert usual["serving_flops_per_byte"] - narrow["serving_flops_per_byte"] == 4 * 32 * 4096 * (8192 - 1024) / 4
    assert narrow["cache_bytes_at_context"] == usual["cache_bytes_at_context"] / 8
    assert narrow["context_bytes"] == usual["context_bytes"]
    assert prices(target(tied_head=True), tokens)["a"]["embedding_bytes"] == usual["embedding_bytes"] / 2
    assert prices(target(precision="fp32"), tokens)["a"]["cache_bytes_per_byte"] == 2 * usual["cache_bytes_per_byte"]
    experts = prices(target(feed_forward=None, active_parameters=32 * LAYER), tokens)["a"]
    assert experts == usual
    assert usual["training_hours"] is usual["serving_hours"] is None


def test_relative_costs_have_the_interval_of_tokens() -> None:
    """Half the tokens, with equal tokens of each document: half the cost, and a vocabulary that costs more."""
    rows = prices(
        target(), counts(a=[200, 260, 300, 240], b=[100, 131, 148, 121], c=[200, 260, 300, 240]),
        vocabularies={("b", 1024): 128_000},
    )  # fmt: skip
    dearer = target().transformer(128_000).forward_flops / FORWARD
    assert dearer > 1
    assert rows["b"]["relative"] == pytest.approx(dearer / 2 - 1)
    assert rows["b"]["low"] < rows["b"]["relative"] < rows["b"]["high"]
    assert rows["a"]["relative"] == rows["c"]["relative"] == 0
    assert rows["a"]["low"] is None


def test_a_tokenizer_that_loses_text_has_no_price() -> None:
    rows = prices(target(), counts(a=[250, 250], b=[100, 100]), lossy={"b"})
    assert rows["b"]["reason"] == LOSSY
    assert rows["b"]["training_flops_per_byte"] is None


def test_arithmetic_of_a_token_by_hand() -> None:
    """Two layers of width 4 with 100 weights in all; 6 rows; 5 positions."""
    shape = Transformer(layers=2, width=4, layer_weights=100, keys=2, positions=5, rows=6)
    assert shape.layer_flops == 2 * 100 + 4 * 2 * 4 * 5
    assert shape.softmax_flops == 2 * 6 * 4
    assert shape.forward_flops == 408
    assert shape.training_flops == 1224
    assert shape.cache_bytes("bf16") == 2 * 2 * 2 * 2


@settings(max_examples=60, deadline=None)
@given(st.floats(0.2, 5), st.floats(0, 100), st.floats(0.05, 1), st.floats(0.01, 1))
def test_affordable_text_costs_as_much_as_the_baseline(ratio: float, served: float, mfu: float, slow: float) -> None:
    """By brute force: cost of both, per byte of the baseline's training text, in time of a device."""
    planned = target(serving_tokens_per_training_token=served, hardware="h100", mfu=mfu, serving_mfu=mfu * slow)
    multiple = planned.affordable_text(ratio)
    of_baseline = ratio * 3 / mfu + ratio * served / (mfu * slow)
    assert 3 * multiple / mfu + served / (mfu * slow) == pytest.approx(of_baseline, rel=1e-9, abs=1e-9)
    assert planned.affordable_text(1.0) == 1


@settings(max_examples=60, deadline=None)
@given(st.floats(0.3, 3), st.integers(256, 200_000), st.integers(256, 200_000))
def test_affordable_layers_cost_as_much_as_the_baseline(ratio: float, vocabulary: int, of_baseline: int) -> None:
    shape, baseline = target().transformer(vocabulary), target().transformer(of_baseline)
    multiple = affordable_layers(shape, baseline, ratio)
    assert multiple * shape.layer_flops + shape.softmax_flops == pytest.approx(baseline.forward_flops * ratio)
    assert affordable_layers(shape, shape, 1.0) == 1


def test_bits_at_equal_cost_are_those_of_the_reference() -> None:
    """By the laws of the reference, and the text that each tokenizer affords."""
    found, bits = groups(
        budgets(100_000, 200_000, 400_000, 800_000), {"a": power(20, 0.16), "b": power(21, 0.2)}, noise=0.02
    )
    planned = target(serving_tokens_per_training_token=1.0)
    table, _ = tables(found, {"serve": planned})
    assert table.filter(pl.col("variant") == "a")["multiple"].to_list() == [1.0] * 4
    ratio = RATES["a"] / RATES["b"]
    multiple = ((3 + 1) * ratio - 1) / 3
    rows = table.filter(variant="b")
    assert rows["multiple"].to_list() == pytest.approx([multiple] * 4, rel=1e-4)
    for variant, times in (("a", 1.0), ("b", multiple)):
        levels = (
            bits.filter(variant=variant).group_by("model", maintain_order=True)
            .agg(pl.col("bits").sum() / pl.col("bytes").sum())["bits"].to_list()
        )  # fmt: skip
        exponent, coefficient, _ = reference.power_law(list(zip([1e5, 2e5, 4e5, 8e5], levels, strict=True)))
        expected = [coefficient * (times * text) ** -exponent for text in (1e5, 2e5, 4e5, 8e5)]
        assert table.filter(variant=variant)["bits"].to_list() == pytest.approx(expected, rel=1e-4)
    difference = (rows["bits"] - table.filter(variant="a")["bits"]).to_list()
    assert rows["difference"].to_list() == pytest.approx(difference)


def test_a_cheaper_tokenizer_with_the_same_law_is_better_at_equal_cost(monkeypatch: pytest.MonkeyPatch) -> None:
    """Half the tokens of ``d``, and the same bits at equal text: the saved cost is spent on text."""
    monkeypatch.setitem(RATES, "half", RATES["d"] / 2)
    laws = {"d": power(20, 0.16), "half": power(20, 0.16)}
    found, _ = groups(budgets(100_000, 200_000, 400_000, 800_000), laws, noise=0.002)
    of = {name: target(serving_tokens_per_training_token=served) for name, served in (("no", 0.0), ("some", 1.0))}
    compared = compare_at_equal_cost(of, found, {"half": "d", "d": "d"}, {})
    table = bits_at_equal_cost(of, found, {"half": "d", "d": "d"}, {}, compared)
    cheap = {row["target"]: row for row in table.filter(variant="half", model="m100000_1 (3 seeds)").rows(named=True)}
    assert cheap["no"]["multiple"] == pytest.approx(2)
    assert cheap["some"]["multiple"] == pytest.approx((4 * 2 - 1) / 3)
    level = table.filter(variant="d", model="m100000_1 (3 seeds)", target="no")["bits"][0]
    assert cheap["no"]["bits"] == pytest.approx(level * 2**-0.16, rel=0.01)
    assert cheap["no"]["difference"] > cheap["some"]["difference"]
    assert {row["verdict"] for row in cheap.values()} == {BETTER}
    [row] = compared.filter(target="no", model="m100000_1 (3 seeds)").rows(named=True)
    assert (row["a"], row["b"], row["difference"]) == ("d", "half", -cheap["no"]["difference"])


def test_equal_tokenizers_differ_by_zero() -> None:
    found, _ = groups(budgets(100_000, 200_000, 400_000), {"a": power(20, 0.16)}, noise=0.02, token_noise=0.1)
    twice = [
        ScaleGroup(
            one.line, one.corpus, one.suite, one.size, {"a": one.bits["a"], "b": one.bits["a"]}, one.bytes,
            dict(one.costs) | {("b", model): costs for (_, model), costs in one.costs.items()}, one.unit,
            {"a": one.tokens["a"], "b": one.tokens["a"]},
        )
        for one in found
    ]  # fmt: skip
    table, compared = tables(twice, {"serve": target()})
    assert set(compared["difference"]) == {0.0}
    assert set(table["multiple"]) == {1.0}
    assert set(table["extrapolation"]) == {1.0}
    assert table.filter(variant="a")["bits"].to_list() == table.filter(variant="b")["bits"].to_list()


def test_values_beyond_the_line_are_named_and_never_tested() -> None:
    """Without serving, ``a`` affords 1.6 times the text of ``d``, and with much serving far more."""
    found, _ = groups(budgets(100_000, 200_000), {"a": power(20, 0.16), "d": power(21, 0.16)}, noise=0.002)
    of = {name: target(serving_tokens_per_training_token=served) for name, served in (("no", 0.0), ("much", 6.0))}
    compared = compare_at_equal_cost(of, found, dict.fromkeys("ad", "d"), {})
    table = bits_at_equal_cost(of, found, dict.fromkeys("ad", "d"), {}, compared)
    far = {(row["target"], row["model"]): row for row in table.filter(variant="a").iter_rows(named=True)}
    inside, outside = far["no", "m100000_1 (3 seeds)"], far["no", "m200000_1 (3 seeds)"]
    assert inside["reason"] is None
    assert inside["verdict"] == BETTER
    assert outside["reason"] == "not tested: extrapolated 1.60 times beyond the models of the line"
    assert (outside["extrapolation"], outside["verdict"]) == (pytest.approx(1.6, rel=1e-4), NOT_TESTED)
    assert outside["difference_low"] < outside["difference"] < outside["difference_high"]
    none = far["much", "m200000_1 (3 seeds)"]
    assert none["bits"] is none["difference"] is None
    assert none["reason"] == "outside the data: 2.80 times beyond the models of the line"
    reverse, _ = tables(found, {"much": target(serving_tokens_per_training_token=20.0)})
    assert set(reverse.filter(variant="d")["reason"]) == {NOTHING_LEFT}, "serving alone costs more than the baseline"


def test_layers_on_a_line_of_sizes() -> None:
    models = {f"w{width}_{seed}": recipe(d_model=width, seed=seed) for width in (32, 64, 128) for seed in (1, 2, 3)}
    laws = {"a": power(40, 0.2), "b": power(40, 0.2)}
    found, _ = groups(models, laws, over="parameters_without_embeddings")
    table, _ = tables(found, {"serve": target()})
    multiple = (FORWARD * RATES["a"] / RATES["b"] - 2 * ROWS * 4096) / (FORWARD - 2 * ROWS * 4096)
    row = table.filter(variant="b", model="w128_1 (3 seeds)").row(0, named=True)
    assert row["multiple"] == pytest.approx(multiple, rel=1e-4)
    level = table.filter(variant="a", model="w128_1 (3 seeds)")["bits"][0]
    assert row["bits"] / level == pytest.approx(multiple**-0.2, rel=1e-4)
    equal_tokens = {name: one | {"text_bytes": None, "batches": 5} for name, one in models.items()}
    found, _ = groups(equal_tokens, laws, over="parameters_without_embeddings")
    assert set(tables(found, {"serve": target()})[0]["reason"]) == {NOT_EQUAL_TEXT}


def test_one_training_and_small_vocabularies_have_no_verdict() -> None:
    laws = {"a": power(20, 0.16), "b": power(16, 0.16)}
    of = {"serve": target(serving_tokens_per_training_token=0.0)}
    found, _ = groups(budgets(100_000, 400_000, seeds=[7]), laws, noise=0.001)
    table, compared = tables(found, of)
    assert set(compared["verdict"]) == {NOT_TESTED}
    assert ONE_TRAINING in set(compared["reason"])
    assert table.filter(variant="b")["difference_low"].null_count() == 0
    found, _ = groups(budgets(100_000, 400_000), laws, noise=0.001)
    _, compared = tables(found, of, frozenset({("b", 1024)}))
    assert set(compared["reason"]) == {f"not tested: {LEFT_OUT}"}


def test_one_scale_has_no_bits_at_equal_cost() -> None:
    found, _ = groups(budgets(100_000), {"a": power(20, 0.16), "b": power(22, 0.17)})
    assert [len(table) for table in tables(found, {"serve": target()})] == [0, 0]


def test_intervals_are_those_of_a_bootstrap() -> None:
    """Seeds and documents are drawn independently; bits, tokens and affordable text are computed again (brute force).

    With serving of 4 tokens per token, the variation of tokens is most of the error: without it the interval would be
    too narrow by far.
    """
    planned = target(serving_tokens_per_training_token=4.0)
    found, _ = groups(
        budgets(50_000, 100_000, 200_000, 400_000, seeds=range(8)), {"a": power(20, 0.4), "b": power(21, 0.4)},
        documents=40, noise=0.004, token_noise=0.03, seed=3,
    )  # fmt: skip
    [group] = found
    _, compared = tables(found, {"serve": planned})
    row = compared.filter(model="m200000_0 (8 seeds)").row(0, named=True)
    models = group.line.models
    logs = np.log([50_000, 100_000, 200_000, 400_000])
    bits = {name: np.stack([group.stack(name, model, range(8)) for model in models]) for name in "ab"}

    def difference(seeds: np.ndarray, documents: np.ndarray) -> float:
        ratio = group.tokens["a"][documents].sum() / group.tokens["b"][documents].sum()
        values = []
        for name, multiple in (("a", 1.0), ("b", planned.affordable_text(ratio))):
            level = np.log(
                bits[name][:, seeds][:, :, documents].sum((1, 2)) / len(seeds) / group.bytes[documents].sum()
            )
            slope, start = np.polyfit(logs, level, 1)
            values.append(exp(start + slope * log(200_000 * multiple)))
        return values[0] - values[1]

    assert row["difference"] == pytest.approx(difference(np.arange(8), np.arange(40)), rel=1e-9)
    rng = np.random.default_rng(5)
    draws = [difference(rng.integers(0, 8, 8), rng.integers(0, 40, 40)) for _ in range(800)]
    half, known = (row["high"] - row["low"]) / 2, 1.96 * float(np.std(draws))
    assert half == pytest.approx(known, rel=0.25)
    blind = [
        ScaleGroup(
            group.line, group.corpus, group.suite, group.size, group.bits, group.bytes, group.costs, group.unit
        )
    ]  # fmt: skip
    [narrow] = tables(blind, {"serve": planned})[1].filter(model="m200000_0 (8 seeds)").rows(named=True)
    assert (narrow["high"] - narrow["low"]) / 2 < known / 2


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"feed_forward": None}, "give either feed_forward"),
        ({"active_parameters": 10}, "give either feed_forward"),
        ({"n_heads": 7}, "n_heads must divide d_model"),
        ({"kv_heads": 5}, "kv_heads must divide n_heads"),
        ({"window": 9000}, "window must be at most max_seq_len (8192)"),
        ({"hardware": "a100"}, "hours need mfu"),
        ({"hardware": "a100", "peak_tflops": 3.0, "mfu": 0.3}, "give either hardware or peak_tflops"),
        ({"serving_mfu": 0.1}, "serving_mfu needs mfu"),
        ({"hardware": "v100", "mfu": 0.3}, "hardware"),
        ({"d_modle": 5}, "d_modle"),
        ({"serving_tokens_per_training_token": -1.0}, "serving_tokens_per_training_token"),
    ],
)
def test_wrong_targets_are_refused_in_one_line(options: dict[str, Any], message: str) -> None:
    with pytest.raises(TokbenchError) as error:
        targets_of({"targets": {"serve": SHAPE | options}})
    assert message in str(error.value)
    assert str(error.value).startswith("targets.serve: ")
    assert "\n" not in str(error.value)


def test_the_report_shows_targets() -> None:
    """Costs of eight tokenizers as a figure and a table, then differences, bits and pairs of the line."""
    exhibits = at_targets(whole())
    assert isinstance(exhibits[0], Heading)
    named = [exhibit for exhibit in exhibits if isinstance(exhibit, Table | Drawing)]
    assert [exhibit.name.partition("-serve")[0] for exhibit in named] == [
        "cost-at-target", "prices", "differences-at-equal-cost", "bits-at-equal-cost", "equal-cost-comparisons",
    ]  # fmt: skip
    for drawing in (exhibit for exhibit in named if isinstance(exhibit, Drawing)):
        assert "<svg" in inline(drawing.draw(width=4.0), "x", drawing.says)
    assert "no promise for the target" in named[2].caption
    assert at_targets(altered(whole(), prices=None)) == []
