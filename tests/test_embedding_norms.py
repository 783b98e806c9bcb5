"""Tokens counted by probability and norm: each in one cell, which holds it."""

import polars as pl
from hypothesis import example, given
from hypothesis import strategies as st

from tokbench.report.figures import norms
from tokbench.report.figures.style import inline
from tokbench.tabulation.embedding_norms import EMBEDDING_NORMS, STEPS, embedding_norms

TOKENS = st.lists(
    st.tuples(st.integers(0, 50), st.floats(0, 4, width=32, allow_subnormal=False)), min_size=1, max_size=40
)


def frame(tokens: list[tuple[int, float]]) -> pl.DataFrame:
    total = max(1, sum(met for met, _ in tokens))
    return pl.DataFrame({"probability": [met / total for met, _ in tokens], "norm": [norm for _, norm in tokens]})


@given(TOKENS, TOKENS)
@example([(1, 0.0)], [(1, 0.5)])
def test_every_token_is_in_one_cell(one: list[tuple[int, float]], other: list[tuple[int, float]]) -> None:
    tokenizers = {("bpe", 512): frame(one), ("unigram", 512): frame(other)}
    cells = embedding_norms({"tiny": tokenizers})
    assert cells.schema == EMBEDDING_NORMS.schema
    largest = max(norm for _, norm in one + other)
    for (variant, size), tokens in tokenizers.items():
        found = cells.filter(model="tiny", variant=variant, size=size)
        assert found["tokens"].sum() == len(tokens)
        assert (
            found.filter(probability_low=0.0, probability_high=0.0)["tokens"].sum()
            == (tokens["probability"] == 0).sum()
        )
        for low, high, bottom, top, count in found.select(list(EMBEDDING_NORMS.schema)[3:]).iter_rows():
            near = 1e-9
            within = tokens.filter(
                pl.col("probability").is_between(low * (1 - near), high * (1 + near)),
                pl.col("norm").is_between(bottom - near, top + near),
            )
            assert 0 < count <= len(within)
            if low:
                assert high / low < 1.4
            assert top - bottom <= (largest / STEPS or 1.0) + near
            assert top <= (largest or 1.0) + near


def test_no_model_no_cell() -> None:
    assert embedding_norms({}).schema == EMBEDDING_NORMS.schema
    assert embedding_norms({}).is_empty()


def test_a_panel_for_each_tokenizer_at_any_width() -> None:
    for width, many in ((3.3, 17), (6.8, 5)):
        tokenizers = {(f"variant_{n:02}", 512): frame([(n, 0.5), (40, 1.5), (0, 0.1)]) for n in range(1, many + 1)}
        table = embedding_norms({"tiny": tokenizers})
        cells = {str(variant): part for (variant,), part in table.group_by("variant", maintain_order=True)}
        figure = norms.draw(cells, list(cells), width=width)
        assert [axes.get_title(loc="left") for axes in figure.axes if axes.get_title(loc="left")] == list(cells)
        assert abs(figure.get_figwidth() - width) < 1e-9
    page = inline(figure, "f1", "norms")
    assert page.count("variant_01: 3 tokens, 1 of them never met") == 1


def test_tokens_that_are_all_met_or_none() -> None:
    for tokens in ([(1, 1.0), (2, 1.1)], [(0, 0.0)]):
        table = embedding_norms({"tiny": {("bpe", 512): frame(tokens)}})
        assert "norm" in inline(norms.draw({"bpe": table}, ["bpe"]), "f1", "norms")
