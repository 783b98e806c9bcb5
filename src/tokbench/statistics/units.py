"""Tables of documents and questions by unit, such as the novels of an author, see :mod:`tokbench.corpus.units`."""

from collections.abc import Mapping, Sequence

import polars as pl

from tokbench.tabulation.columns import EXTERNAL_TOKENS_COLUMNS

SUMMED: Mapping[str, tuple[str, ...]] = {
    "document_bits": ("bytes", "bits", "bytes_lost"),
    "external_tokens": tuple(column.name for column in EXTERNAL_TOKENS_COLUMNS[5:]),
    "ngram_documents": ("bytes", "bits", "tokens", "bytes_lost"),
    "robustness_documents": ("edits", "tokens", "added", "changed"),
    "segmented_documents": ("bytes", "own_bits", "bits", "own_tokens", "tokens"),
    "tokens_by_document": ("documents", "bytes", "tokens"),
}
"""Tables with a row per document, and the columns that are summed over the documents of a unit."""


def sum_by_unit(
    frame: pl.DataFrame, summed: Sequence[str], units: Mapping[str, Mapping[int, str]], *, by_language: bool = False
) -> pl.DataFrame:
    """Sum the rows of documents over the documents of each unit.

    Args:
        frame: table with a row per document: columns ``corpus``, ``document`` and others.
        summed: numeric columns to sum; rows that differ in another column are not added together.
        units: unit of each document by corpus, ascending, see :func:`tokbench.corpus.units.read_units`.
        by_language: sum the documents of each language apart (default: False, a unit of several languages has one row,
            whose ``language`` is empty).

    Returns:
        The same columns; ``document`` is the first that is summed. Rows of other corpora are unchanged.
    """
    parts = [frame.filter(~pl.col("corpus").is_in(list(units)))]
    together = "language" in frame.columns and not by_language
    language = pl.col("language")
    shared = pl.when(language.n_unique() == 1).then(language.first()).otherwise(pl.lit("")).alias("language")
    for corpus, named in units.items():
        known = pl.DataFrame({"document": list(named), "unit": list(named.values())})
        rows = frame.filter(corpus=corpus).sort("document", maintain_order=True).join_asof(known, on="document")
        keys = [name for name in rows.columns if name not in {*summed, "document", *["language"] * together}]
        sums = rows.group_by(keys, maintain_order=True).agg(
            pl.col(*summed).sum(), pl.col("document").min(), *[shared] * together
        )
        parts.append(sums.select(frame.columns))
    return pl.concat(parts) if units else frame


def name_units(questions: pl.DataFrame, units: Mapping[str, Mapping[int, str]]) -> pl.DataFrame:
    """Replace the document that each question is made from by the first document of its unit.

    Args:
        questions: table with the columns ``source_corpus`` and ``source_document``.
        units: unit of each document by corpus, ascending. Questions of other corpora are unchanged.
    """
    for corpus, named in units.items():
        first = {unit: document for document, unit in reversed(list(named.items()))}
        known = {document: first[unit] for document, unit in named.items()}
        unit = pl.col("source_document").replace_strict(known, default=pl.col("source_document"))
        questions = questions.with_columns(
            source_document=pl.when(pl.col("source_corpus") == corpus).then(unit).otherwise(pl.col("source_document"))
        )
    return questions
