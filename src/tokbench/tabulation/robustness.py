"""Changes of segmentations under perturbations of text, by document."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import polars as pl

from tokbench.tabulation.columns import PERTURBED
from tokbench.tabulation.reading import Row, rows_of_lists, table_of_results
from tokbench.tabulation.table import TidyTable


def robustness_documents_table(robustness_files: Iterable[Path | str]) -> pl.DataFrame:
    """Return edits, tokens added and tokens changed of every document, by kind of perturbation.

    Args:
        robustness_files: results of ``tokbench measure_robustness``, in any order.

    Returns:
        The columns of :data:`ROBUSTNESS_DOCUMENTS`, ordered by corpus, size and variant. Kinds keep their order.

    Raises:
        TokbenchError: see :func:`tokbench.tabulation.reading.frame_of_result`.
    """
    return table_of_results(robustness_files, ROBUSTNESS_DOCUMENTS, _documents, "corpus", "size", "variant")


def _documents(result: Any) -> Iterator[Row]:
    """Yield a row for each kind of perturbation and document."""
    for kind in result["kinds"]:
        for row in rows_of_lists(kind, BY_DOCUMENT):
            yield {**row, "kind": kind["kind"], "document": row["documents"]}


BY_DOCUMENT = ("documents", "edits", "tokens", "added", "changed")
ROBUSTNESS_DOCUMENTS = TidyTable(
    "robustness_documents",
    "a document with an edit under a kind of perturbation and a tokenizer",
    PERTURBED,
    maker=robustness_documents_table,
    takes=("files.robustness",),
    keys=("variant", "size", "corpus", "kind", "document"),
    command="tabulate",
)
