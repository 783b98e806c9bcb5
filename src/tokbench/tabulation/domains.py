"""Tidy table of the domains of evaluation documents, for corpora that mix several sources."""

from collections.abc import Iterable
from pathlib import Path

import polars as pl

from tokbench.corpus.documents import read_domains
from tokbench.tabulation.columns import DOCUMENT_DOMAINS_COLUMNS
from tokbench.tabulation.table import TidyTable


def document_domains_table(folders: Iterable[Path | str]) -> pl.DataFrame:
    """Return the domain of each document of evaluation splits, ordered by corpus and document.

    Args:
        folders: folders of corpora, in any order.

    Raises:
        TokbenchError: a shard is missing or not readable.
    """
    parts = [pl.DataFrame(schema=DOCUMENT_DOMAINS.schema)]
    for folder in sorted(map(Path, folders)):
        numbers, domains = read_domains(sorted((folder / "evaluation").glob("*.parquet")))
        parts.append(pl.DataFrame({"corpus": [folder.name] * len(numbers), "document": numbers, "domain": domains}))
    return pl.concat(parts).sort("corpus", "document")


DOCUMENT_DOMAINS = TidyTable(
    "document_domains",
    "a document of the evaluation split of a corpus that mixes several sources",
    DOCUMENT_DOMAINS_COLUMNS,
    maker=document_domains_table,
    takes=("files.domains",),
    keys=("corpus", "document"),
    command="tabulate",
)
