"""Change of fertility by language between a variant that balances languages and the same recipe without balancing."""

from collections.abc import Mapping
from functools import partial

import polars as pl

from tokbench.metric.fertility import PER_PRETOKEN
from tokbench.report.content import ReportContent
from tokbench.report.exhibits import Drawing, NumberSource
from tokbench.report.figures import dots
from tokbench.report.figures.style import styles
from tokbench.report.wording import join_all, slug

FERTILITY = "fertility"
BALANCED = "balance_languages"
"""Option of ByteSpan that gives each language an equal part of the vocabulary."""


def balancing(
    content: ReportContent, part: pl.DataFrame, corpus: str, about: str, source: NumberSource
) -> list[Drawing]:
    """Return the figure of the change of fertility by language (figure 5 of ByteSpan); none without such variants.

    The two variants differ only in ``balance_languages`` and are compared at the largest size that both have.

    Args:
        content: content of the report.
        part: rows of the intrinsic table for the corpus.
        corpus: name of the corpus.
        about: measured text, in words.
        source: source of the numbers.
    """
    # Differences at the largest size that both variants of a pair have.
    pairs = _balanced_pairs(content.recipes)
    values: dict[tuple[str, str], float] = {}
    sizes: dict[str, int] = {}
    without: set[str] = set()
    for balanced, other in pairs:
        rows = part.filter(pl.col("variant").is_in([balanced, other]), pl.col("language") != "", metric=FERTILITY)
        rows = rows.filter(definition=PER_PRETOKEN)
        without |= set(rows.filter(pl.col("value").is_null())["language"])
        rows = rows.drop_nulls("value")
        common = rows.group_by("size").agg(pl.col("variant").n_unique()).filter(variant=2)["size"]
        if common.is_empty():
            continue
        sizes[balanced] = int(str(common.max()))
        at = rows.filter(size=sizes[balanced]).select("variant", "language", "value")
        measured = {(variant, language): value for variant, language, value in at.iter_rows()}
        values |= {
            (balanced, language): value - measured[other, language]
            for (variant, language), value in measured.items()
            if variant == balanced and (other, language) in measured
        }
    if not values:
        return []
    # The figure has a column for each language.
    order = [balanced for balanced, _ in pairs if balanced in sizes]
    known = sorted({language for _, language in values})
    change = f"{FERTILITY}, balanced minus not balanced"
    draw = partial(
        dots.draw_by_language, values, known, order, styles([*content.variants, *order], content.highlight), change
    )
    named = join_all(
        [f"{balanced} minus {other} at {sizes[balanced]:,}" for balanced, other in pairs if balanced in sizes]
    )
    caption = (
        f"Change of {FERTILITY} by language if the vocabulary is balanced over languages, on {about}: {named}; "
        f"{PER_PRETOKEN}. Below zero, balancing saves tokens."
    )
    if without:
        caption += f" Left out, because their words are not pre-tokens: {join_all(sorted(without))}."
    # The finding counts the languages with a lower value.
    says = " ".join(
        f"{balanced}: lower in {sum(value < 0 for value in of)} of {len(of)} languages, mean {sum(of) / len(of):+.3f}."
        for balanced in order
        for of in [[value for (variant, _), value in values.items() if variant == balanced]]
    )
    return [Drawing(slug("balancing", corpus), caption, draw, source, order, says)]


def _balanced_pairs(recipes: Mapping[str, Mapping[str, object]]) -> list[tuple[str, str]]:
    """Return variants that balance languages, each with the variant of the same recipe without balancing."""
    parts = {name: _balance(recipe) for name, recipe in recipes.items()}
    return [
        (name, other)
        for name, (balanced, recipe) in parts.items()
        for other, (also, same) in parts.items()
        if balanced and not also and same == recipe
    ]


def _balance(recipe: Mapping[str, object]) -> tuple[bool, dict[str, object]]:
    """Return True if a recipe balances languages, and the recipe without that option."""
    construction = recipe.get("construction")
    if not isinstance(construction, Mapping):
        return False, dict(recipe)
    rest = {key: value for key, value in construction.items() if key != BALANCED}
    return bool(construction.get(BALANCED)), {**recipe, "construction": rest}
