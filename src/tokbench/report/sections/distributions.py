"""Figures of distributions over the tokens of a vocabulary, by length and by frequency."""

import re
from dataclasses import replace
from functools import partial

import polars as pl

from tokbench.report.content import ReportContent
from tokbench.report.exhibits import Drawing, NumberSource
from tokbench.report.figures import venn
from tokbench.report.figures.style import styles
from tokbench.report.sections.rows import TEXT, drawn_sizes, path_of
from tokbench.report.wording import slug
from tokbench.tabulation.intrinsic import INTRINSIC

DISTRIBUTIONS_DRAWN = {
    "token_length_distribution": ("Tokens of the vocabulary by length in bytes", "bytes", "% of the vocabulary"),
    "token_frequency_distribution": (
        "Tokens of the vocabulary by number of occurrences in {about}", "occurrences", "% of the vocabulary",
    ),
}  # fmt: skip
"""Title and axis labels of each distribution."""


def distributions(content: ReportContent, part: pl.DataFrame, corpus: str, about: str) -> list[Drawing]:
    """Return the distributions of one corpus, at the sizes of :func:`drawn_sizes`.

    Args:
        content: content of the report.
        part: rows of the intrinsic table for the corpus.
        corpus: name of the corpus.
        about: measured text, in words.
    """
    drawings = []
    for metric in DISTRIBUTIONS_DRAWN:
        rows = part.filter(metric=metric, language="").drop_nulls("value")
        sizes = drawn_sizes(rows["size"].to_list())
        made = [_distribution(content, rows.filter(size=size), metric, corpus, about) for size in sizes]
        name = slug(metric.replace("_", "-"), corpus)
        named = [
            replace(drawing, name=name if size == sizes[-1] else slug(name, size), size=size)
            for drawing, size in zip(made, sizes, strict=True)
        ]
        drawings += [replace(drawing, series=name) for drawing in named] if len(named) > 1 else named
    return drawings


def _distribution(content: ReportContent, here: pl.DataFrame, metric: str, corpus: str, about: str) -> Drawing:
    # Open classes such as "more than 15 bytes" come last.
    title, xlabel, ylabel = DISTRIBUTIONS_DRAWN[metric]
    classes = here["definition"].unique(maintain_order=True).sort().to_list()
    classes.sort(key=lambda definition: ("more than" in definition or "or more" in definition, definition))
    values = {
        (variant, definition): value
        for variant, definition, value in here.select("variant", "definition", "value").rows()
    }
    order = [variant for (variant,) in content.sort_rows({(variant,) for variant, _ in values})]
    shown = content.drawn_variants(order)
    # Shares in percent; empty classes at the end are cut off.
    shares = {}
    for variant in shown:
        counts = [values.get((variant, definition), 0.0) for definition in classes]
        shares[variant] = [100 * count / (sum(counts) or 1.0) for count in counts]
    names = [_class(definition) for definition in classes]
    while len(names) > 1 and not any(values[len(names) - 1] for values in shares.values()):
        names = names[:-1]
    shares = {variant: values[: len(names)] for variant, values in shares.items()}
    # The figure and its caption.
    baseline = next((variant for variant in content.baselines if variant in shares), "")
    draw = partial(
        venn.draw_profile,
        shares,
        names,
        order,
        styles([*content.variants, *order], content.highlight),
        xlabel,
        ylabel,
        baseline=baseline,
    )
    caption = f"{title.format(about=about)}, at a vocabulary of {here['size'][0]:,}."
    caption += f" Dashed: {baseline}." * bool(baseline and len(shares) > 1) + content.omission_note(order)
    # The finding names the class that is the largest for most tokenizers.
    peaks = {variant: names[values.index(max(values))] for variant, values in shares.items()}
    most = max(peaks.values(), key=lambda peak: (list(peaks.values()).count(peak), peak))
    share = f"{list(peaks.values()).count(most)} of {len(peaks)} tokenizers"
    have, their = ("has", "its") if list(peaks.values()).count(most) == 1 else ("have", "their")
    says = f"{share} {have} the largest share of {their} vocabulary at {most} {xlabel}."
    source = NumberSource([path_of(INTRINSIC)], [TEXT])
    return Drawing(slug(metric.replace("_", "-"), corpus), caption, draw, source, shown, says)


def _class(definition: str) -> str:
    """Return the class of a definition: ``3``, ``8 to 15``."""
    powers = re.search(r"uses (.*) times", definition)
    text = powers[1] if powers else definition.removeprefix("tokens of the vocabulary of ").removesuffix(" bytes")
    text = re.sub(r"2\^0*(\d+)( - 1)?", lambda match: f"{2 ** int(match[1]) - bool(match[2]):,}", text)
    text = re.sub(r"^(.+) to \1$", r"\1", text)
    return re.sub(r"^0+(?=\d)", "", text.replace("more than ", ">"))
