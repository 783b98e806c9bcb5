"""Distributions of tokens by length and by how often they occur, drawn."""

import re
from functools import partial

import polars as pl

from tokbench.report.content import ReportContent
from tokbench.report.exhibits import Drawing
from tokbench.report.figures import profile
from tokbench.report.figures.style import styles
from tokbench.report.layout import Source
from tokbench.report.sections.origins import TEXT, path_of
from tokbench.report.wording import slug
from tokbench.tabulation.intrinsic import INTRINSIC

DRAWN = {
    "token_length_distribution": ("Tokens of the vocabulary by their length in bytes", "bytes", "% of the vocabulary"),
    "token_frequency_distribution": (
        "Tokens of the vocabulary by how often {about} has them", "occurrences", "% of the vocabulary",
    ),
}  # fmt: skip
"""What each distribution is, and the names of its axes."""


def distributions(content: ReportContent, part: pl.DataFrame, corpus: str, about: str) -> list[Drawing]:
    """The distributions of one corpus at its largest size.

    Args:
        content: what the report shows.
        part: the corpus's rows of the intrinsic table.
        corpus: its name.
        about: what was measured, in words.
    """
    drawings = []
    for metric, (title, xlabel, ylabel) in DRAWN.items():
        rows = part.filter(metric=metric, language="").drop_nulls("value")
        if rows.is_empty():
            continue
        size = int(str(rows["size"].max()))
        here = rows.filter(size=size).sort("definition")
        classes = here["definition"].unique(maintain_order=True).to_list()
        classes.sort(key=lambda one: ("more than" in one or "or more" in one, one))
        found = {(variant, one): value for variant, one, value in here.select("variant", "definition", "value").rows()}
        order = [variant for (variant,) in content.in_order({(variant,) for variant, _ in found})]
        shown = content.drawn(order)
        shares = {}
        for variant in shown:
            counts = [found.get((variant, one), 0.0) for one in classes]
            shares[variant] = [100 * one / (sum(counts) or 1.0) for one in counts]
        names = [_class(one) for one in classes]
        while len(names) > 1 and not any(values[len(names) - 1] for values in shares.values()):
            names = names[:-1]
        shares = {variant: values[: len(names)] for variant, values in shares.items()}
        draw = partial(profile.draw, shares, names, order, styles([*content.variants, *order]), xlabel, ylabel)
        caption = f"{title.format(about=about)}, at a vocabulary of {size:,}.{content.left_out(order)}"
        peaks = {variant: names[values.index(max(values))] for variant, values in shares.items()}
        most = max(peaks.values(), key=lambda one: (list(peaks.values()).count(one), one))
        share = f"{list(peaks.values()).count(most)} of {len(peaks)} tokenizers"
        have, their = ("has", "its") if list(peaks.values()).count(most) == 1 else ("have", "their")
        says = f"{share} {have} the largest part of {their} vocabulary at {most} {xlabel}."
        source = Source([path_of(INTRINSIC)], [TEXT])
        drawings.append(Drawing(slug(metric.replace("_", "-"), corpus), caption, draw, source, shown, says))
    return drawings


def _class(definition: str) -> str:
    """The class alone: ``3``, ``8 to 15``."""
    powers = re.search(r"uses (.*) times", definition)
    text = powers[1] if powers else definition.removeprefix("tokens of the vocabulary of ").removesuffix(" bytes")
    text = re.sub(r"2\^0*(\d+)( - 1)?", lambda one: f"{2 ** int(one[1]) - bool(one[2]):,}", text)
    text = re.sub(r"^(.+) to \1$", r"\1", text)
    return re.sub(r"^0+(?=\d)", "", text.replace("more than ", ">"))
