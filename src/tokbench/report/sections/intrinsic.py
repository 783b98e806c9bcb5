"""Intrinsic measures: tables of related metrics for each corpus, and dots by variant for the best known of them."""

from collections import Counter
from collections.abc import Iterator
from functools import partial
from itertools import groupby

import polars as pl

from tokbench.better import better_end
from tokbench.report.content import ReportContent
from tokbench.report.exhibits import Drawing, Section
from tokbench.report.figures import by_variant
from tokbench.report.figures.style import styles
from tokbench.report.layout import UNEXPLAINED, Column, Source, Table
from tokbench.report.sections import ngram_bits
from tokbench.report.sections.origins import RESOURCE, TEXT, measured_in, path_of
from tokbench.report.sections.rows import split
from tokbench.report.wording import counted, slug, words
from tokbench.tabulation.bounds import BOUNDS
from tokbench.tabulation.intrinsic import INTRINSIC

DRAWN = ("corpus_token_count", "gap", "renyi_efficiency_2.5", "mean_token_length")
"""Metrics that are drawn where they were measured, each under its first definition."""

ALL = "all resources"
"""What stands in place of a corpus where resources are averaged."""

_COLUMNS, _ROWS = 6, 30

Measure = tuple[str, str]
"""A metric and its definition."""


def intrinsic(content: ReportContent) -> Section:
    """Every metric of every tokenizer, with its definition and n."""
    frame = content.part("intrinsic")
    if frame is None:
        return Section(
            "intrinsic", "Intrinsic measures", missing=[f"Intrinsic measures: {content.why_missing('intrinsic')}"]
        )
    exhibits: list[Table | Drawing] = []
    for (corpus,), part in frame.sort("corpus").group_by("corpus", maintain_order=True):
        overall, split = whole_corpus(part)
        about = texts = _what(content, str(corpus))
        if split > 1:
            texts += f" (unweighted mean over {counted(split, 'language')})"
        exhibits += _drawings(content, overall, str(corpus), texts)
        for number, measures in enumerate(_related(overall), 1):
            exhibits.append(_table(content, overall, slug("intrinsic", corpus, number), measures, str(corpus), texts))
        if part["language"].n_unique() > 1:
            texts = f"{about}, by language"
            for number, measures in enumerate(_related(part), 1):
                name = slug("intrinsic", corpus, "languages", number)
                exhibits.append(_table(content, part, name, measures, str(corpus), texts, by_language=True))
    exhibits += _bounds(content) + ngram_bits.measured(content)
    return Section("intrinsic", "Intrinsic measures", exhibits=exhibits)


def _bounds(content: ReportContent) -> list[Table | Drawing]:
    """What every corpus's gaps are above."""
    found = content.part("bounds")
    corpora = [] if found is None else found["corpus"].unique().sort().to_list()
    return [table for corpus in corpora for table in split(content, BOUNDS, corpus=corpus)]


def _what(content: ReportContent, corpus: str) -> str:
    """What was measured, in words: a text or gold data."""
    if corpus in content.resources:
        return f"the words of {corpus}"
    return ALL if corpus == ALL else f"the text of the evaluation split of {corpus}"


def whole_corpus(part: pl.DataFrame) -> tuple[pl.DataFrame, int]:
    """One row per (variant, size, metric, definition) of one corpus, and how many languages each is a mean of.

    Rows without a language speak for the whole corpus. Where there are none, the languages' values are averaged; a mean
    over fewer languages than all has no value and names those that lack one.
    """
    languages = part["language"].n_unique()
    overall = whole_corpus_rows(part)
    if not overall.is_empty():
        return overall, 1
    lacking = pl.col("language").filter(pl.col("value").is_null()).sort().str.join(", ")
    whole = (pl.col("value").count() == pl.len()) & (pl.len() == languages)
    return (
        part.group_by("variant", "size", "metric", "definition", maintain_order=True).agg(
            pl.when(whole).then(pl.col("value").mean()).alias("value"),
            pl.col("n").sum(),
            pl.when(~whole).then(pl.concat_str(pl.lit("no value for some languages: "), lacking)).alias("reason"),
        ),
        languages,
    )


def whole_corpus_rows(part: pl.DataFrame) -> pl.DataFrame:
    """The rows without a language, or all rows of a corpus that has a single one."""
    alone = pl.col("language").n_unique().over("corpus") == 1
    return part.filter((pl.col("language").fill_null("") == "") | alone)


def _related(part: pl.DataFrame) -> Iterator[list[Measure]]:
    """Metrics of one family, the same first word, stay together, six columns to a table; small families share one."""
    measures = sorted(set(part.select("metric", "definition").rows()), key=lambda m: (m[0].split("_")[0], m[1], m[0]))
    table: list[Measure] = []
    for _, group in groupby(measures, key=lambda measure: measure[0].split("_")[0]):
        family = list(group)
        if table and len(table) + len(family) > _COLUMNS:
            yield table
            table = []
        table += family
        while len(table) > _COLUMNS:
            yield table[:_COLUMNS]
            table = table[_COLUMNS:]
    if table:
        yield table


def _table(
    content: ReportContent,
    part: pl.DataFrame,
    name: str,
    measures: list[Measure],
    corpus: str,
    texts: str,
    by_language: bool = False,
) -> Table:
    heads = [Column("variant"), Column("size", kind="count")] + [Column("language")] * by_language
    keys = [column.name for column in heads]
    told = part.filter(pl.col("metric").is_in({metric for metric, _ in measures}))
    found = {row[:-3]: row[-3:] for row in told.select("metric", "definition", *keys, "value", "n", "reason").rows()}
    tokenizers = content.in_order(set(part.select(keys).rows()))
    data = {key: [tokenizer[place] for tokenizer in tokenizers] for place, key in enumerate(keys)}
    columns, notes, reasons = [], [], {}
    defined = Counter(metric for metric, _ in measures)
    seen: Counter[str] = Counter()
    for metric, definition in measures:
        seen[metric] += 1
        column, header = f"{metric}.{seen[metric]}", words(metric) + f" ({seen[metric]})" * (defined[metric] > 1)
        rows = [found.get((metric, definition, *tokenizer)) for tokenizer in tokenizers]
        data[column] = [row[0] if row else None for row in rows]
        for index, row in enumerate(rows):
            if row is None or row[0] is None:
                reasons[index, column] = (row[2] or UNEXPLAINED) if row else "not measured for this tokenizer"
        over = _over([row[1] for row in rows if row is not None and row[0] is not None])
        notes.append(f"{header}: {definition}{over}.")
        columns.append(
            Column(column, header, "real", best=None if by_language else better_end(metric), files=measured_in(metric))
        )
    names = ", ".join(dict.fromkeys(words(metric) for metric, _ in measures))
    caption = INTRINSIC.prints[0].caption.format(metrics=f"{names[0].upper()}{names[1:]}", texts=texts)
    if any(column.best for column in columns):
        caption += " In bold the best at each size, where one end is better by itself."
    frame = pl.DataFrame(data, infer_schema_length=None)
    return Table(
        name, caption, frame, [*heads, *columns], reasons, best_within="" if by_language else "size",
        definitions=notes, source=_source(content, corpus), folded=len(frame) > _ROWS,
    )  # fmt: skip


def _over(counts: list[int]) -> str:
    """``; n = 7 to 9``: over how many things values were taken."""
    return f"; n = {min(counts):,}" + f" to {max(counts):,}" * (max(counts) > min(counts)) if counts else ""


def _source(content: ReportContent, corpus: str) -> Source:
    if corpus in content.resources:
        return Source([path_of(INTRINSIC)], [RESOURCE], {"corpus": corpus})
    return Source([path_of(INTRINSIC)], [RESOURCE if corpus == ALL else TEXT])


def measured(overall: pl.DataFrame, metric: str) -> tuple[str, dict[tuple[str, int], float]]:
    """The first definition of a metric and its values by (variant, size); nothing where it was not measured."""
    rows = overall.filter(pl.col("metric") == metric, pl.col("value").is_not_null())
    if rows.is_empty():
        return "", {}
    definition = min(rows["definition"])
    chosen = rows.filter(pl.col("definition") == definition)
    return definition, {(row["variant"], row["size"]): row["value"] for row in chosen.iter_rows(named=True)}


def _drawings(content: ReportContent, overall: pl.DataFrame, corpus: str, texts: str) -> list[Drawing]:
    drawings = []
    for metric in DRAWN:
        definition, values = measured(overall, metric)
        if values:
            order = [variant for (variant,) in content.in_order({(variant,) for variant, _ in values})]
            shown = set(content.drawn(order))
            values = {key: value for key, value in values.items() if key[0] in shown}
            draw = partial(by_variant.draw, values, content.reading, styles(content.variants), words(metric))
            known = overall.filter(metric=metric, definition=definition).drop_nulls("value")
            over = f"{definition}{_over(known['n'].to_list())}"
            caption = f"{words(metric).capitalize()} ({over}) over {texts}, by variant and vocabulary size."
            caption += content.left_out(order)
            source = _source(content, corpus)
            drawings.append(Drawing(slug(metric, corpus), caption, draw, source, content.drawn(order)))
    return drawings
