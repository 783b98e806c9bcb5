"""Tidy tables of corpora that mix several sources: domains of evaluation documents, intrinsic metrics by domain."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import polars as pl

from tokbench.corpus.documents import read_domains
from tokbench.corpus.units import DRAWN_UNITS, read_units
from tokbench.tabulation.columns import DOCUMENT_DOMAINS_COLUMNS
from tokbench.tabulation.columns import INTRINSIC as INTRINSIC_COLUMNS
from tokbench.tabulation.reading import Row, table_of_results
from tokbench.tabulation.table import Column, Print, TidyTable


def document_domains_table(folders: Iterable[Path | str]) -> pl.DataFrame:
    """Return domain and unit of each document of evaluation splits, ordered by corpus and document.

    Args:
        folders: folders of corpora, in any order.

    Raises:
        TokbenchError: a shard or the table of units is missing or not readable.
    """
    parts = [pl.DataFrame(schema=DOCUMENT_DOMAINS.schema)]
    for folder in sorted(map(Path, folders)):
        domains = dict(zip(*read_domains(sorted((folder / "evaluation").glob("*.parquet"))), strict=True))
        units = read_units(path) if (path := folder / DRAWN_UNITS).is_file() else {}
        numbers = list(domains or units)
        columns = {
            "corpus": [folder.name] * len(numbers),
            "document": numbers,
            "domain": [domains.get(number, "") for number in numbers],
            "unit": [units.get(number) for number in numbers],
        }
        parts.append(pl.DataFrame(columns, DOCUMENT_DOMAINS.schema))
    return pl.concat(parts).sort("corpus", "document")


DOCUMENT_DOMAINS = TidyTable(
    "document_domains",
    "a document of the evaluation split of a corpus that mixes several sources, or a drawn document with a unit",
    DOCUMENT_DOMAINS_COLUMNS,
    maker=document_domains_table,
    takes=("files.domains",),
    keys=("corpus", "document"),
    command="tabulate",
)


def domain_metrics_table(measurements: Iterable[Path | str]) -> pl.DataFrame:
    """Return intrinsic metrics of every tokenizer by domain, ordered by corpus, metric, definition, size and domain.

    Args:
        measurements: files of :func:`tokbench.tabulation.intrinsic.intrinsic_table`, with domains in place of
            languages. Metrics that compare languages have no row, since domains are not translations of each other.

    Raises:
        TokbenchError: a file is not JSON or a key is missing; the message names file and key.
    """

    def rows(result: Any) -> list[Row]:
        measured = result["measurements"]
        of_text = {(row["metric"], row["definition"]) for row in measured if not row["language"]}
        named = [row for row in measured if row["language"] and (row["metric"], row["definition"]) in of_text]
        return [{**row, "domain": row["language"]} for row in named]

    order = ("corpus", "metric", "definition", "size", "domain", "variant")
    return table_of_results(measurements, DOMAIN_METRICS, rows, *order).fill_nan(None)


DOMAIN_METRICS = TidyTable(
    "domain_metrics",
    "a metric with one definition, of a tokenizer on a domain of a corpus that mixes several sources",
    tuple(Column("domain", pl.String, "name of the source") if c.name == "language" else c for c in INTRINSIC_COLUMNS),
    maker=domain_metrics_table,
    takes=("files.domain_measurements",),
    keys=("variant", "size", "corpus", "domain", "metric", "definition"),
    command="tabulate",
    prints=(
        Print(
            "intrinsic",
            "{metrics}, measured on {texts}.",
            by=("corpus",),
            files=("domain_measurements/{variant}/{size}/{on}.json",),
            name="intrinsic",
            arranged=True,
        ),
    ),
)
