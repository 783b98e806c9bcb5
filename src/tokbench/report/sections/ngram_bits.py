"""Token n-gram models: bits per byte by order, budget and language, and comparisons over documents."""

from functools import partial
from typing import Any

import polars as pl

from tokbench.report.content import ReportContent
from tokbench.report.exhibits import Drawing, PrintedColumn, Table
from tokbench.report.external_tokenizers import ExternalTokenizers
from tokbench.report.figure_sentences import lowest_rank, value_range
from tokbench.report.figures import curves, differences
from tokbench.report.figures.style import styles
from tokbench.report.sections.comparisons import SAID, forest, rank_range
from tokbench.report.sections.rows import rows, source_of, split, with_unequal_sizes_note
from tokbench.report.wording import pluralise, slug, unranked_note
from tokbench.statistics.comparisons.languages import NGRAM_LANGUAGES
from tokbench.statistics.comparisons.ngram_bits import NGRAM_RANKS, NGRAM_VERDICTS
from tokbench.statistics.significance.eligibility import FEWER
from tokbench.tabulation.columns import CANNOT
from tokbench.tabulation.ngram_bits import NGRAM_BITS


def ngram_exhibits(content: ReportContent) -> list[Table | Drawing]:
    """Return, for each corpus, a figure, a table for each budget, and a table by language; empty without results.

    Args:
        content: content of the report.
    """
    frame = content.part("ngram_bits")
    exhibits: list[Table | Drawing] = []
    if frame is None:
        return exhibits
    for (corpus,), part in frame.group_by("corpus", maintain_order=True):
        whole, languages = part.filter(language=""), part.filter(pl.col("language") != "")
        if (lossless := whole.filter(bytes_lost=0)).height:
            exhibits.append(_drawing(content, str(corpus), lossless))
        for budget in whole["training_bytes"].unique().sort(descending=True):
            exhibits.append(_table(content, str(corpus), budget, whole.filter(training_bytes=budget)))
        if languages.height:
            at = {"corpus": corpus, **_largest_setting(languages)}
            chosen = content.sort_variants(languages.filter(**at).sort("language", "size", "value"))
            exhibits.append(rows(NGRAM_BITS, chosen, 1, **at))
    return exhibits


def ngram_tests(content: ReportContent) -> list[Table | Drawing]:
    """Return, for each corpus and size, ranks and comparisons for the highest order and the largest budget.

    Args:
        content: content of the report.
    """
    ranks = content.part("ngram_ranks")
    exhibits: list[Table | Drawing] = []
    if ranks is None:
        return exhibits
    for (corpus, size), part in ranks.group_by("corpus", "size", maintain_order=True):
        at = {"corpus": corpus, **_largest_setting(part), "size": size}
        # The critical-difference diagram, if any ranks differ.
        here = part.filter(**at).drop_nulls("critical_difference")
        if here.height:
            place = dict(here.select("variant", "average_rank").iter_rows())
            order = sorted(place, key=lambda variant: (place[variant], variant))
            drawn = {variant: place[variant] for variant in content.drawn_variants(order)}
            draw = partial(
                differences.draw_critical_difference,
                drawn,
                here["critical_difference"][0],
                styles([*content.variants, *place], content.highlight),
                of=len(place),
            )
            caption = NGRAM_RANKS.prints[0].caption.format(**at) + content.omission_note(order, ranked=True)
            caption += unranked_note(part.filter(reason=FEWER, **at)["variant"].to_list())
            name = slug("ngram-ranks", *at.values())
            says = lowest_rank(place, here["critical_difference"][0])
            if rank_range(place) > here["critical_difference"][0]:
                exhibits.append(Drawing(name, caption, draw, source_of(NGRAM_RANKS, **at), list(drawn), says))
        # Differences from the baseline, and the tables of pairs and languages.
        exhibits += _forest(content, at)
        for table in (NGRAM_VERDICTS, NGRAM_LANGUAGES):
            exhibits += [
                with_unequal_sizes_note(content, exhibit, at["size"]) for exhibit in split(content, table, **at)
            ]
    return exhibits


def _forest(content: ReportContent, at: dict[str, Any]) -> list[Drawing]:
    """Return the forest plot of differences from the baseline, by Student's t over documents."""
    frame = content.part(NGRAM_VERDICTS.name)
    part = None if frame is None else frame.filter(**at)
    if part is None or part.is_empty():
        return []
    caption = (
        f"Bits per byte of token n-gram models of order {at['order']} trained on {at['training_bytes']:,} bytes, on "
        f"the evaluation split of {at['corpus']} at vocabulary size {at['size']:,}, minus those with {{baseline}}; "
    ) + SAID.format(over=f"by Student's t over {pluralise(part['documents'][0], 'document')}")
    source = source_of(NGRAM_VERDICTS, **at)
    return forest(content, part, slug("ngram-differences", *at.values()), f"{caption} {CANNOT}", source, at["size"])


def _largest_setting(part: pl.DataFrame) -> dict[str, int]:
    """Return the largest budget and the highest order."""
    return {name: int(str(part[name].max())) for name in ("training_bytes", "order")}


def _drawing(content: ReportContent, corpus: str, part: pl.DataFrame) -> Drawing:
    order = [variant for (variant,) in content.sort_rows(part.select("variant").unique().rows())]
    shown = set(content.drawn_variants(order))
    values: dict[curves.Panel, dict[str, dict[int, float]]] = {}
    for row in part.filter(pl.col("variant").is_in(shown)).iter_rows(named=True):
        panel = values.setdefault((row["training_bytes"], row["size"]), {})
        panel.setdefault(row["variant"], {})[row["order"]] = row["value"]
    caption = (
        f"Bits per byte of token n-gram models by order, on the evaluation split of {corpus}, relative to the lowest "
        f"variant. One panel for each vocabulary size and number of training bytes. {CANNOT}"
    )
    draw = partial(curves.draw_ngram_bits, values, order, styles([*content.variants, *order], content.highlight))
    source = source_of(NGRAM_BITS, corpus=corpus)
    last = part.filter(**_largest_setting(part))
    lossy = ExternalTokenizers(content).lossy
    bits = {
        (variant, size): value
        for variant, size, value in last.select("variant", "size", "value").rows()
        if variant not in lossy
    }
    what = f"Bits per byte of {corpus} with the models of the highest order and the most training text"
    says = value_range(what, content.full_size_values(bits)) if bits else ""
    caption += content.omission_note(order)
    return Drawing(slug("ngram-bits", corpus), caption, draw, source, content.drawn_variants(order), says)


def _table(content: ReportContent, corpus: str, budget: int, part: pl.DataFrame) -> Table:
    # Values of tokenizers that restore all text, one column for each order.
    scores = {(row["variant"], row["size"], row["order"]): row for row in part.iter_rows(named=True)}
    tokenizers = content.sort_rows({(variant, size) for variant, size, _ in scores})
    whole = {key: row["value"] for key, row in scores.items() if not row["bytes_lost"]}
    orders = part["order"].unique().sort().to_list()
    data = {"variant": [variant for variant, _ in tokenizers], "size": [size for _, size in tokenizers]} | {
        f"order {order}": [whole.get((*tokenizer, order)) for tokenizer in tokenizers] for order in orders
    }
    columns = [PrintedColumn("variant"), PrintedColumn("size", kind="count")]
    columns += [PrintedColumn(f"order {order}", kind="real", decimals=4, best="lowest") for order in orders]
    # Reasons of empty cells.
    reasons = {
        (index, f"order {order}"): _missing_reason(scores.get((*tokenizer, order)))
        for index, tokenizer in enumerate(tokenizers)
        for order in orders
        if (*tokenizer, order) not in whole
    }
    # Caption and vocabularies that are not ranked.
    documents = pluralise(part["documents"][0], "document")
    unranked, notes = content.unranked_cells(
        {(row, column.name): tokenizer for row, tokenizer in enumerate(tokenizers) for column in columns if column.best}
    )
    return Table(
        slug("ngram-bits", corpus, budget),
        NGRAM_BITS.prints[0].caption.format(corpus=corpus, training_bytes=f"{budget:,}", documents=documents),
        pl.DataFrame(data, infer_schema_length=None),
        columns,
        reasons,
        best_within="size",
        notes=notes,
        unranked=unranked,
        source=source_of(NGRAM_BITS, 0, corpus=corpus, training_bytes=budget),
    )


def _missing_reason(row: dict[str, Any] | None) -> str:
    """Return the reason why a value is left out."""
    if row is None:
        return "not measured for this tokenizer"
    return f"{row['value']:.4f}, but {row['bytes_lost']:,} of {row['bytes']:,} bytes of the text are lost"
