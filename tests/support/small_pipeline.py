"""From documents to tables and report with every construction, in seconds.

``python -m tests.support.small_pipeline FOLDER [CORES]`` runs it in a new process with at most CORES cores.
"""

import os
import sys
from pathlib import Path

import numpy as np
import polars as pl

from tests.support.pipeline import Chain, call
from tests.support.small_report import whole
from tokbench.construction import constructions
from tokbench.report.figures.style import COLUMN, svg
from tokbench.report.files import write_tables
from tokbench.report.html import drawings
from tokbench.statistics.answers import OUTCOME

CORPUS = {
    "source": {
        "type": "text",
        "path": str(Path(__file__).parents[2] / "docs" / "configuration.md"),
        "documents": "paragraph",
    },
    "splits": {"byte_lm": 0.2, "tokenizer": 0.5, "evaluation": 0.3},
    "seed": 0,
}
BYTE_LM = {"kind": "ngram", "order": 4}
SIZE = "900"
OPTIONS = {
    "convextok": ["steps=120"],
    "unigram": ["seed_size=4000"],
    "sage": ["initial_size=1600", "lines=150", "dimensions=16", "epochs=1"],
    "pathpiece": ["initial_size=1600", "ties=random"],
    "randtrain": ["initial_size=1600"],
}
"""Of constructions that would take long, or whose random draws are to show."""


def make(folder: Path, *, threads: int = 1, backwards: bool = False) -> None:
    """Every file below ``folder``, made with so many threads; with its shards and measurements named last to first, if
    so wished."""
    chain = Chain(folder, shards=3, threads=threads, backwards=backwards)
    call("tabulate", *chain.measured(CORPUS, BYTE_LM, SIZE, OPTIONS), "-o", chain.path("tables"))
    answered([method.name for method in constructions.methods()], folder / "tables", folder / "answered")
    call("analyse", chain.path("answered"), "-o", chain.path("statistics"))


def answered(variants: list[str], tables: Path, folder: Path) -> None:
    """The tables with drawn answers of a model that no one trained: 40 questions of each of three tasks."""
    draws = np.random.default_rng(0)
    outcomes = pl.DataFrame(
        [
            ("drawn", "offline", variant, int(SIZE), task, document, bool(draws.integers(3)))
            for variant in variants
            for task in ("choice_a", "choice_b", "choice_c")
            for document in range(40)
        ],
        schema=OUTCOME,
        orient="row",
    )
    keys = ["variant", "size", "model", "suite", "task"]
    folder.mkdir()
    scores = outcomes.group_by(keys, maintain_order=True).agg(
        pl.col("correct").mean().alias("accuracy"), random_baseline=pl.lit(0.5), n=pl.len().cast(pl.Int64)
    )
    for name in ("intrinsic", "tokens_by_document", "ngram_bits", "ngram_documents", "document_bits", "imported"):
        pl.read_parquet(tables / f"{name}.parquet").write_parquet(folder / f"{name}.parquet")
    scores.write_parquet(folder / "accuracy.parquet")
    outcomes.write_parquet(folder / "outcomes.parquet")


def figures(folder: Path) -> None:
    """The typeset tables of a small report and three of its figures: on a plain axis, a logarithmic one, and a grid."""
    content = whole()
    write_tables(content, folder / "typeset")
    for drawing in drawings(content):
        if drawing.name.startswith(("average-ranks", "embedding-norms", "p-values")):
            (folder / f"{drawing.name}.svg").write_text(svg(drawing.draw(width=COLUMN)), encoding="utf-8")


if __name__ == "__main__":
    if len(sys.argv) > 2:
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: int(sys.argv[2])])
    make(Path(sys.argv[1]))
    figures(Path(sys.argv[1]))
