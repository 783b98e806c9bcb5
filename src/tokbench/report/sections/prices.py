"""Target models: costs of tokenizers, and bits per byte at equal total cost."""

from dataclasses import replace
from functools import partial
from typing import Any

import polars as pl

from tokbench.report.content import ReportContent
from tokbench.report.exhibits import Drawing, Exhibit, Heading
from tokbench.report.figure_sentences import value_range
from tokbench.report.figures import dots
from tokbench.report.figures.style import styles
from tokbench.report.sections.comparisons import SAID, forest
from tokbench.report.sections.rows import LEAST_DRAWN, source_of, split
from tokbench.report.wording import slug
from tokbench.statistics.scale.equal_cost import BITS_AT_EQUAL_COST, EQUAL_COST_COMPARISONS, clearest_model
from tokbench.statistics.scale.prices import PRICES

GIGA = 1e9
LINE_AT_TARGET = ("target", "corpus", "suite", "size", "varies", "models")


def at_targets(content: ReportContent) -> list[Exhibit]:
    """Return the exhibits on target models; none if there are no targets.

    Args:
        content: content of the report.
    """
    frame = content.part(PRICES.name)
    if frame is None or frame.is_empty():
        return []
    exhibits: list[Exhibit] = [Heading("prices-at-targets", "Price at a target model")]
    for target, corpus in frame.select("target", "corpus").unique(maintain_order=True).rows():
        at = {"target": target, "corpus": corpus}
        exhibits += [*_costs(content, frame.filter(**at), at), *split(content, PRICES, **at)]
    bits, pairs = (content.part(table.name) for table in (BITS_AT_EQUAL_COST, EQUAL_COST_COMPARISONS))
    lines = [] if bits is None else bits.select(LINE_AT_TARGET).unique(maintain_order=True).rows()
    for number, values in enumerate(lines, 1):
        at = dict(zip(LINE_AT_TARGET, values, strict=True))
        name = slug(at["target"], at["corpus"], at["suite"], number)
        model = clearest_model(bits.filter(**at))  # type: ignore[union-attr]
        part = None if pairs is None else pairs.filter(**at, model=model)
        if part is not None and not part.is_empty():
            exhibits += _differences(content, part, at, model, slug("differences-at-equal-cost", name))
        for table in (BITS_AT_EQUAL_COST, EQUAL_COST_COMPARISONS):
            stem = slug(table.name.replace("_", "-"), name)
            exhibits += [replace(exhibit, name=stem) for exhibit in split(content, table, **at)]
    return exhibits


def _costs(content: ReportContent, part: pl.DataFrame, at: dict[str, Any]) -> list[Drawing]:
    """Return the figure of costs of serving; none if there are few numbers."""
    known = part.drop_nulls("serving_flops_per_byte")
    if len(known) < LEAST_DRAWN:
        return []
    values = {
        (variant, size): flops / GIGA
        for variant, size, flops in known.select("variant", "size", "serving_flops_per_byte").rows()
    }
    least = {name: min(value for (other, _), value in values.items() if other == name) for name, _ in values}
    order = sorted(least, key=lambda name: (least[name], name))
    shown = content.drawn_variants(order)
    kept = content.by_label_and_size({key: value for key, value in values.items() if key[0] in shown})
    look = content.by_label(styles([*content.variants, *order], content.highlight))
    label = "10⁹ operations of serving per byte of text"
    draw = partial(dots.draw, kept, [*map(content.label, shown)], look, label)
    caption = (
        f"Cost of serving a byte of text with the target model {at['target']} on {at['corpus']}: operations of a "
        "forward pass by formula. Larger marks are larger vocabularies. Training costs three times as much."
        f"{content.omission_note(order, ranked=True)}{content.bracket_note}"
    )
    says = value_range("Operations of serving per byte, in 10⁹", content.by_label_and_size(values), 2)
    return [Drawing(slug("cost-at-target", *at.values()), caption, draw, source_of(PRICES, **at), shown, says)]


def _differences(
    content: ReportContent, part: pl.DataFrame, at: dict[str, Any], model: str, name: str
) -> list[Drawing]:
    """Return the forest plot of differences at the cost of one model."""
    seeds, documents = (int(str(part[column].max() or 0)) for column in ("seeds", "documents"))
    caption = (
        f"Bits per byte at equal total cost of the target model {at['target']}, that of {model} with {{baseline}}, "
        f"minus those with {{baseline}}, at vocabulary size {at['size']:,}. They are bits of {at['models']} and no "
        "promise for the target; "
    ) + SAID.format(over=f"over seeds ({seeds}) and documents ({documents})")
    return forest(content, part, name, caption, source_of(EQUAL_COST_COMPARISONS, **at), at["size"])
