"""Language models over scale: fitted power laws, the order of tokenizers, costs, and bits at equal arithmetic."""

from dataclasses import replace
from functools import partial
from typing import Any

import polars as pl

from tokbench.report.content import ReportContent
from tokbench.report.exhibits import Drawing, Exhibit, Heading, NumberSource, Table
from tokbench.report.figures import scales, scatter
from tokbench.report.figures.style import styles
from tokbench.report.sections.rows import path_of, rows, split
from tokbench.report.wording import format_value, slug
from tokbench.statistics.scale.back_test import SCALE_BACK_TESTS, SCALE_PREDICTIONS
from tokbench.statistics.scale.equal_bits import COST_AT_EQUAL_BITS, MODEL_COSTS
from tokbench.statistics.scale.equal_flops import EQUAL_ARITHMETIC, EQUAL_ARITHMETIC_ORDER
from tokbench.statistics.scale.ladders import SCALE_LADDERS
from tokbench.statistics.scale.scale_lines import PETA
from tokbench.statistics.scale.scaling import SCALE_COMPARISONS, SCALE_FITS, SCALE_ORDERS
from tokbench.tabulation.table import TidyTable

BY = ("corpus", "suite", "size", "varies", "models")
DRAWN = {
    "budget": {"text_bytes": "bytes of text", "petaflop": "operations of the training"},
    "size": {
        "parameters_without_embeddings": "parameters without embeddings",
        "forward_flops_per_byte": "operations per byte of text",
    },
}
"""Quantities that figures show, with their labels, by scale."""
LEAST_POINTS = 3
"""Fewest tokenizers for a figure at equal arithmetic."""


def over_scale(content: ReportContent) -> list[Exhibit]:
    """Return the exhibits on models that differ only in scale; none if there are no such models.

    Args:
        content: content of the report.
    """
    fits = content.part(SCALE_FITS.name)
    if fits is None:
        return []
    exhibits: list[Exhibit] = [Heading("models-over-scale", "Bits per byte over scale")]
    orders = content.part(SCALE_ORDERS.name)
    if orders is not None:
        exhibits.append(replace(rows(SCALE_ORDERS, orders), finding=_order_finding(orders)))
    back_tests = content.part(SCALE_BACK_TESTS.name)
    if back_tests is not None:
        exhibits.append(replace(rows(SCALE_BACK_TESTS, back_tests), finding=_back_test_finding(back_tests)))
    exhibits += split(content, SCALE_LADDERS)
    for values in fits.select(BY).unique(maintain_order=True).rows():
        at = dict(zip(BY, values, strict=True))
        part = fits.filter(**at)
        exhibits += _drawing(content, part, at)
        for table in (SCALE_FITS, SCALE_COMPARISONS, SCALE_PREDICTIONS, COST_AT_EQUAL_BITS):
            exhibits += [_with_name(exhibit, table, at) for exhibit in split(content, table, **at)]
    exhibits += [*_at_equal_arithmetic(content), *split(content, EQUAL_ARITHMETIC_ORDER)]
    costs = content.part(MODEL_COSTS.name)
    for corpus, suite in [] if costs is None else costs.select("corpus", "suite").unique(maintain_order=True).rows():
        exhibits += split(content, MODEL_COSTS, corpus=corpus, suite=suite)
    return exhibits


def _with_name(table: Table, declared: TidyTable, at: dict[str, Any]) -> Table:
    """Return a table with the options that differ along its line as a note."""
    differs = next(iter(table.frame["differs"].to_list()), "")
    equal = next(iter(table.frame["equal"].to_list()), "")
    name = slug(
        declared.name.replace("_", "-"), at["corpus"], at["suite"], at["size"], at["varies"], _largest_model(at)
    )
    note = f"Equal on this line: {equal}." + f" Options that differ: {differs}." * bool(differs)
    return replace(table, name=name, notes=[*table.notes, note])


def _largest_model(at: dict[str, Any]) -> str:
    """Return the model of the largest scale of a line, for names of files."""
    name: str = at["models"].rpartition(", ")[2]
    return name


def _order_finding(orders: pl.DataFrame) -> str:
    """Return the reversed pairs of all lines in words; empty if nothing was tested."""
    tested = orders.drop_nulls("reversed")
    if tested.is_empty():
        return "not tested"
    reversed_, both = (int(tested[name].sum()) for name in ("reversed", "significant_at_two"))
    if not both:
        return "no pair differs significantly at two scales"
    return f"of {both:,} pairs that differ significantly at two scales, {reversed_:,} change their order"


def _back_test_finding(back_tests: pl.DataFrame) -> str:
    """Return how often each rule predicted the order and the difference, over all lines."""
    findings = []
    for (rule,), part in back_tests.group_by("rule", maintain_order=True):
        tested = part.drop_nulls("held")
        held = f", the interval in {tested['held'].sum():,} of {tested['pairs'].sum():,}" * (not tested.is_empty())
        findings.append(
            f"by rule {rule} the order held in {part['same_order'].sum():,} of {part['pairs'].sum():,} pairs{held}"
        )
    return "; ".join(findings)


def _drawing(content: ReportContent, fits: pl.DataFrame, at: dict[str, Any]) -> list[Drawing]:
    """Return the figure of the laws on a line; none if its points are not in the table of costs."""
    costs = content.part(MODEL_COSTS.name)
    if costs is None or at["varies"] not in DRAWN:
        return []
    # Models of the group, in its order.
    models = at["models"].split(", ")
    here = costs.filter(pl.col("model").is_in(models), corpus=at["corpus"], suite=at["suite"], size=at["size"])
    place = {model: index for index, model in enumerate(models)}
    here = here.sort(pl.col("model").replace_strict(place, default=len(place), return_dtype=pl.Int64))
    shown = content.drawn_variants(
        [variant for (variant,) in content.sort_rows(fits.select("variant").unique().rows())]
    )
    # A panel for each quantity, with a fitted law for each variant.
    panels: dict[str, dict[str, scales.Law]] = {}
    for column, label in DRAWN[at["varies"]].items():
        axis, unit = ("flops", PETA) if column == "petaflop" else (column, 1.0)
        laws = fits.filter(pl.col("variant").is_in(shown), axis=axis)
        for variant, coefficient, exponent in laws.select("variant", "coefficient", "exponent").rows():
            known = here.filter(variant=variant).drop_nulls(column)
            points = list(known.select(pl.col(column) * unit, "bits_per_byte").iter_rows())
            ends = [None if low is None else (low, high) for low, high in known.select("low", "high").iter_rows()]
            law = scales.Law(points, ends, coefficient, exponent)
            panels.setdefault(label, {})[content.label(variant)] = law
    if not panels:
        return []
    # The figure, relative to the law of the baseline.
    baseline = next((variant for variant in [*content.baselines, *shown] if variant in shown), shown[0])
    labels = [*map(content.label, shown)]
    look = content.by_label(styles([*content.variants, *shown], content.highlight))
    draw = partial(scales.draw, panels, labels, look, content.label(baseline))
    caption = (
        f"Bits per byte over the {at['varies']} of {at['models']} on {at['suite']}, at a vocabulary of "
        f"{at['size']:,}, with the fitted power law of each tokenizer. Below: the same relative to the law of "
        f"{baseline} at the same quantity, in the range of its models; lower is better.{content.omission_note(shown)}"
        f"{content.bracket_note}"
    )
    # Finding and source.
    says = f"Exponents over {_exponents(fits, fits['axis'][0])}"
    source = NumberSource([path_of(SCALE_FITS), path_of(MODEL_COSTS)])
    name = slug("bits-over", at["varies"], at["corpus"], at["suite"], at["size"], _largest_model(at))
    return [Drawing(name, caption, draw, source, shown, says)]


def _exponents(fits: pl.DataFrame, axis: str) -> str:
    part = fits.filter(axis=axis).sort("exponent", descending=True)
    exponents = []
    for row in part.iter_rows(named=True):
        exponent, low, high = (format_value(row[name], "real", 3) for name in ("exponent", "low", "high"))
        exponents.append(f"{row['variant']} {exponent}" + f" ({low} to {high})" * (row["low"] is not None))
    return f"{axis.replace('_', ' ')}: {', '.join(exponents)}."


def _at_equal_arithmetic(content: ReportContent) -> list[Table | Drawing]:
    """Return a figure and a table of bits against bytes per token for each arithmetic."""
    frame, orders = (content.part(table.name) for table in (EQUAL_ARITHMETIC, EQUAL_ARITHMETIC_ORDER))
    exhibits: list[Table | Drawing] = []
    keys = ["corpus", "suite", "models", "petaflop"]
    for values in [] if frame is None else frame.select(keys).unique(maintain_order=True).rows():
        at = dict(zip(keys, values, strict=True))
        part = frame.filter(**at)  # type: ignore[union-attr]
        order = (
            None if orders is None else next(iter(orders.filter(**at).drop_nulls("tau").iter_rows(named=True)), None)
        )
        if len(part) >= LEAST_POINTS:
            exhibits.append(_scatter(content, part, at, order))
        name = slug("equal-arithmetic", at["corpus"], at["suite"], _largest_model(at), f"{at['petaflop']:.4g}")
        exhibits += [replace(exhibit, name=name) for exhibit in split(content, EQUAL_ARITHMETIC, **at)]
    return exhibits


def _scatter(content: ReportContent, part: pl.DataFrame, at: dict[str, Any], order: dict[str, Any] | None) -> Drawing:
    points = {
        (variant, size): (length, bits)
        for variant, size, length, bits in part.select("variant", "size", "bytes_per_token", "bits_per_byte").rows()
    }
    names = list(dict.fromkeys(variant for variant, _ in sorted(points, key=lambda key: (points[key][1], key))))
    shown = content.drawn_variants(names)
    kept = content.by_label_and_size({key: point for key, point in points.items() if key[0] in shown})
    look = content.by_label(styles([*content.variants, *names], content.highlight))
    tau = None if order is None else (order["tau"], order["tokenizers"])
    ends = None if order is None or order["low"] is None else (order["low"], order["high"])
    draw = partial(
        scatter.draw, kept, [*map(content.label, names)], look, "bytes per token", "bits per byte", correlation=tau,
        interval=ends, coefficient="τ",
    )  # fmt: skip
    how = "trained with" if part["how"][0] == "trained" else "interpolated at"
    caption = (
        f"Bits per byte against bytes per token on {at['suite']}, models {how} {at['petaflop']:.4g} PFLOP "
        f"({at['models']}). τ is Kendall's tau with a 95 % interval over seeds and documents, for these tokenizers; n "
        f"is their number.{content.omission_note(names, ranked=True)}{content.bracket_note}"
    )
    says = "Kendall's tau was not computed."
    if order is not None:
        says = f"Kendall's tau {format_value(order['tau'], 'real', 2)}"
        says += (
            f", 95 % interval {format_value(ends[0], 'real', 2)} to {format_value(ends[1], 'real', 2)}."
            if ends
            else "."
        )
    source = NumberSource([path_of(EQUAL_ARITHMETIC), path_of(EQUAL_ARITHMETIC_ORDER)])
    name = slug("bits-at-equal-arithmetic", at["corpus"], at["suite"], _largest_model(at), f"{at['petaflop']:.4g}")
    return Drawing(name, caption, draw, source, shown, says)
