"""Language models: training text, training curves, convergence, norms of embeddings, and bits per byte."""

from dataclasses import replace
from functools import partial
from math import log

import polars as pl

from tokbench.report.content import ReportContent
from tokbench.report.exhibits import UNEXPLAINED, Drawing, Exhibit, PrintedColumn, Section, Table
from tokbench.report.external_tokenizers import ExternalTokenizers
from tokbench.report.figure_sentences import value_range
from tokbench.report.figures import curves, dots, norms
from tokbench.report.figures.style import styles
from tokbench.report.sections.prices import at_targets
from tokbench.report.sections.rows import LEAST_DRAWN, in_order, path_of, source_of
from tokbench.report.sections.scales import over_scale
from tokbench.report.wording import join_all, pluralise, slug
from tokbench.statistics.significance.eligibility import ONE_TRAINING
from tokbench.tabulation.embeddings import EMBEDDING_NORMS
from tokbench.tabulation.training import BITS_PER_BYTE, CONVERGENCE, CURVES, TRAINED_ON

MEASURES = {"bits_per_byte": "bits per byte", "accuracy": "accuracy (%)"}


def convergences(content: ReportContent) -> list[Table | Drawing]:
    """Return a figure of convergence and its numbers for each model and suite; none without checkpoints.

    Args:
        content: content of the report.
    """
    part = content.part("convergence")
    if part is None:
        return []
    exhibits: list[Table | Drawing] = []
    for (model, suite), rows in part.group_by("model", "suite", maintain_order=True):
        if drawing := _convergence(content, str(model), str(suite), rows):
            exhibits.append(drawing)
        exhibits.append(in_order(content, CONVERGENCE, rows, 1, model=model, suite=suite))
    return exhibits


def _convergence(content: ReportContent, model: str, suite: str, part: pl.DataFrame) -> Drawing | None:
    order = [variant for (variant,) in content.sort_rows(part.select("variant").unique().rows())]
    part = part.filter(pl.col("variant").is_in(content.drawn_variants(order))).with_columns(pl.col("accuracy") * 100)
    measures = {
        title: {
            (str(variant), int(str(size))): list(rows.select("tokens", measure).iter_rows())
            for (variant, size), rows in part.drop_nulls(measure).group_by("variant", "size", maintain_order=True)
        }
        for measure, title in MEASURES.items()
    }
    measures = {title: lines for title, lines in measures.items() if lines}
    if not measures:
        return None
    draw = partial(curves.draw_convergence, measures, content.variants, styles(content.variants, content.highlight))
    caption = CONVERGENCE.prints[0].caption.format(model=model, suite=suite) + content.omission_note(order)
    title, lines = next(iter(measures.items()))
    last = content.full_size_values({key: line[-1][1] for key, line in lines.items()})
    says = value_range(f"{title.capitalize()} at the last checkpoint", last) + f" {ONE_TRAINING.capitalize()}."
    source = source_of(CONVERGENCE, model=model, suite=suite)
    return Drawing(slug("convergence", model, suite), caption, draw, source, says=says)


CAUTION = (
    "Losses are in bits per byte. Loss per token is not comparable between tokenizers, because their tokens differ in "
    "length."
)

SMOOTHED = " Lines are running means over a fiftieth of the curve, with the raw curve behind them."


def models(content: ReportContent) -> Section:
    """Return the section on language models: curves, norms of embeddings, bits per byte, and training text.

    Args:
        content: content of the report.
    """
    exhibits: list[Exhibit] = []
    missing = []
    # Training curves.
    losses = content.part("curves")
    if losses is None:
        missing.append(f"Training curves: {content.why_missing('curves')}")
    else:
        for (model,), part in losses.group_by("model", maintain_order=True):
            exhibits += _curves(content, str(model), part)
    exhibits += convergences(content)
    # Embedding norms.
    embedded = content.part("embedding_norms")
    if embedded is None:
        missing.append(f"Embedding norms: {content.why_missing('embedding_norms')}")
    else:
        for (model, size), part in embedded.group_by("model", "size", maintain_order=True):
            exhibits.append(_norms(content, str(model), int(str(size)), part))
    # Bits per byte.
    bits = content.part("bits_per_byte")
    if bits is None:
        missing.append(f"Bits per byte: {content.why_missing('bits_per_byte')}")
    else:
        groups = ["model", "suite"] if "suite" in bits.columns else ["model"]
        for names, part in bits.group_by(groups, maintain_order=True):
            exhibits += _bits_per_byte(content, [str(name) for name in names], part)
    # Text read in training, measures over scale, and costs at target models.
    if (read := content.part("trained_on")) is not None:
        table = in_order(content, TRAINED_ON, read)
        known = read["text_bytes"].drop_nulls().to_list()
        finding = f"from {min(known):,} to {max(known):,} bytes of text" if known else ""
        exhibits.append(replace(table, finding=finding))
    exhibits += [*over_scale(content), *at_targets(content)]
    return Section("models", "Language models", [CAUTION] if exhibits else [], exhibits, missing=missing)


def _curves(content: ReportContent, model: str, part: pl.DataFrame) -> list[Drawing]:
    """Return the figure of losses in bits per byte, for models with known bytes of training text; none without any."""
    # Bytes per token turn tokens and nats into bytes and bits per byte.
    read = content.part("trained_on")
    if read is None:
        return []
    bytes_per_token = pl.col("text_bytes") / pl.col("tokens")
    known = read.filter(pl.col("model") == model, pl.col("text_bytes") > 0, pl.col("tokens") > 0)
    rates = {
        (variant, size): rate
        for variant, size, rate in known.select("variant", "size", bytes_per_token.alias("rate")).rows()
    }
    losses: dict[tuple[str, int], tuple[list[float], list[float]]] = {}
    for (variant, size), curve in part.sort("batch").group_by("variant", "size", maintain_order=True):
        key = (str(variant), int(str(size)))
        if rate := rates.get(key):
            losses[key] = ((curve["tokens"] * rate).to_list(), (curve["loss"] / (rate * log(2))).to_list())
    if not losses:
        return []
    # The finding is the range of the last losses.
    last = {key: loss[-1] for key, (_, loss) in losses.items()}
    says = value_range(
        f"Training loss of {model} in bits per byte after its last batch", content.full_size_values(last)
    )
    says += " This is one noisy batch of training text; bits per byte of held-out text compare tokenizers better."
    # Figure, caption and source.
    order = [name for name in _variants_in_order(content, part) if any(variant == name for variant, _ in losses)]
    shown = content.drawn_variants(order)
    losses = {key: curve for key, curve in losses.items() if key[0] in shown}
    draw = partial(curves.draw, losses, content.variants, styles(content.variants, content.highlight))
    smoothed = any(len(loss) >= 2 * curves.PARTS for _, loss in losses.values())
    caption = CURVES.prints[0].caption.format(model=model) + SMOOTHED * smoothed + content.omission_note(order)
    own = source_of(CURVES, model=model)
    source = replace(own, tables=[*own.tables, path_of(TRAINED_ON)])
    return [Drawing(slug("curves", model), caption, draw, source, says=says)]


def _norms(content: ReportContent, model: str, size: int, part: pl.DataFrame) -> Drawing:
    order = _variants_in_order(content, part)
    unseen = {
        (str(variant), size): float(rows.filter(probability_high=0.0)["tokens"].sum())
        for (variant,), rows in part.group_by("variant", maintain_order=True)
    }
    part = part.filter(pl.col("variant").is_in(content.drawn_variants(order)))
    cells = {str(variant): rows for (variant,), rows in part.group_by("variant", maintain_order=True)}
    caption = EMBEDDING_NORMS.prints[0].caption.format(model=model, size=size) + content.omission_note(order)
    source = source_of(EMBEDDING_NORMS, model=model, size=size)
    says = value_range("Tokens that never occur in the pretraining text", content.full_size_values(unseen), 0)
    draw = partial(norms.draw, cells, content.variants)
    return Drawing(slug("embedding-norms", model, size), caption, draw, source, says=says, folded=True)


def _variants_in_order(content: ReportContent, part: pl.DataFrame) -> list[str]:
    """Return the variants of a part, in the order of reading."""
    return [variant for (variant,) in content.sort_rows(part.select("variant").unique().rows())]


def _bits_per_byte(content: ReportContent, names: list[str], part: pl.DataFrame) -> list[Table | Drawing]:
    # The table: a column for each size, and one for equal contexts if they were measured.
    sizes = part["size"].unique().sort().to_list()
    scores = {(row["variant"], row["size"]): row for row in part.iter_rows(named=True)}
    variants = [variant for (variant,) in content.sort_rows({(variant,) for variant, _ in scores})]
    cells = {size: [scores.get((variant, size), {}) for variant in variants] for size in sizes}
    kinds = {"value": ("", ""), "equal_context": (" equal context", ", equal context")}
    taken = [kind for kind in kinds if kind == "value" or part[kind].count()]
    names_of = {(size, kind): f"{size}{kinds[kind][0]}" for size in sizes for kind in taken}
    frame = pl.DataFrame(
        {"variant": variants}
        | {
            name: pl.Series([row.get(kind) for row in cells[size]], dtype=pl.Float64)
            for (size, kind), name in names_of.items()
        }
    )
    reasons = {
        (index, name): (row.get("reason") or UNEXPLAINED) if row else "no model at this size"
        for (size, kind), name in names_of.items()
        for index, row in enumerate(cells[size])
        if row.get(kind) is None
    }
    columns = [PrintedColumn("variant")] + [
        PrintedColumn(name, f"{size:,}{kinds[kind][1]}", "real", BITS_PER_BYTE[kind].decimals, None, {"size": size})
        for (size, kind), name in names_of.items()
    ]
    caption = BITS_PER_BYTE.prints[0].caption.format(names=", ".join(names), models=pluralise(len(scores), "model"))
    source = source_of(BITS_PER_BYTE, 0, **dict(zip(("model", "suite"), names, strict=False)))
    # Undersized vocabularies are not ranked.
    at = [
        ((row, name), (variant, size)) for (size, _), name in names_of.items() for row, variant in enumerate(variants)
    ]
    unranked, notes = content.unranked_cells(dict(at))
    notes += [*content.pretokenizer_notes(ranked=False), f"{ONE_TRAINING.capitalize()}."]
    table = Table(
        slug("bits-per-byte", *names), caption, frame, columns, reasons, source=source, notes=notes, unranked=unranked
    )
    # The figure: variants that lose text are left out, the lowest value comes first.
    lossy = ExternalTokenizers(content).lossy
    values = {key: row["value"] for key, row in scores.items() if row["value"] is not None and key[0] not in lossy}
    if len(values) < LEAST_DRAWN:
        return [replace(table, folded=True)]
    lowest: dict[str, float] = {}
    for (variant, _), value in content.full_size_values(values).items():
        lowest[variant] = min(value, lowest.get(variant, value))
    order = sorted(
        (variant for variant in variants if variant not in lossy), key=lambda variant: lowest.get(variant, 1e9)
    )
    shown = set(content.drawn_variants(order))
    drawn = {key: value for key, value in values.items() if key[0] in shown}
    labels, looks = [*map(content.label, order)], content.by_label(styles(content.variants, content.highlight))
    draw = partial(dots.draw, content.by_label_and_size(drawn), labels, looks, "bits per byte")
    caption = f"Bits per byte of {', '.join(names)} on the evaluation split, by variant and vocabulary size."
    caption += content.omission_note(order, ranked=True) + content.bracket_note
    if gone := [variant for variant in variants if variant in lossy]:
        caption += f" Left out, because they lose text: {join_all(gone)}."
    # The finding is the range of values.
    says = value_range(
        f"Bits per byte of {', '.join(names)}", content.by_label_and_size(content.full_size_values(values))
    )
    says += f" {ONE_TRAINING.capitalize()}."
    return [Drawing(table.name, caption, draw, source, says=says), table]
