"""Values of the intrinsic table for one corpus, and measures by which tokenizers are not compared."""

import polars as pl

from tokbench.metric import requires_equal_n
from tokbench.report.content import ReportContent


def corpus_values(part: pl.DataFrame) -> tuple[pl.DataFrame, int]:
    """Return one row per (variant, size, metric, definition) of one corpus, and the number of averaged languages.

    Rows without a language are for the entire corpus, and the number is then 1. If there are none, values are averaged
    over languages, unweighted. A mean has no value if a language has none; the reason names these languages.

    Args:
        part: rows of the intrinsic table for one corpus.
    """
    languages = part["language"].n_unique()
    overall = corpus_rows(part)
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


def corpus_rows(part: pl.DataFrame) -> pl.DataFrame:
    """Return the rows without a language, or all rows of a corpus with a single language."""
    alone = pl.col("language").n_unique().over("corpus") == 1
    return part.filter((pl.col("language").fill_null("") == "") | alone)


def own_denominators(content: ReportContent) -> set[tuple[str, str, str]]:
    """Return corpus, metric and definition of measures whose denominator depends on the tokenizer, if n differs.

    Tokenizers are not compared by these measures.
    """
    frame = content.part("intrinsic")
    if frame is None:
        return set()
    known = corpus_rows(frame).drop_nulls("value")
    differ = (
        known.group_by("corpus", "metric", "definition", "size").agg(pl.col("n").n_unique()).filter(pl.col("n") > 1)
    )
    measures = differ.select("corpus", "metric", "definition").unique().rows()
    return {(corpus, *measure) for corpus, *measure in measures if requires_equal_n(*measure)}


def first_definition(overall: pl.DataFrame, metric: str) -> tuple[str, dict[tuple[str, int], float]]:
    """Return the first definition of a metric and its values by (variant, size); empty if it was not measured.

    Args:
        overall: rows of the entire corpus, see :func:`corpus_values`.
        metric: name of the metric.
    """
    rows = overall.filter(pl.col("metric") == metric, pl.col("value").is_not_null())
    if rows.is_empty():
        return "", {}
    definition = min(rows["definition"])
    chosen = rows.filter(pl.col("definition") == definition)
    return definition, {(row["variant"], row["size"]): row["value"] for row in chosen.iter_rows(named=True)}
