"""Robustness of segmentations: tokens added and changed per edit of the text, and comparisons of tokenizers.

All tokenizers encode the same lines, and edits are equal. Intervals are over documents.
"""

from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Any

import numpy as np
import polars as pl

from tokbench.statistics.cells import by_variant
from tokbench.statistics.comparisons.judgement_columns import judgement_columns
from tokbench.statistics.comparisons.model_bits import DOCUMENTS_EACH
from tokbench.statistics.comparisons.ngram_bits import judge_differences
from tokbench.statistics.comparisons.pair_selection import SELECTION, sorted_pairs
from tokbench.statistics.significance.estimate import DOCUMENTS, ratio
from tokbench.statistics.undersized import NO_UNDERSIZED, Undersized
from tokbench.tabulation.columns import CORPUS, EDITS, KIND, SIZE, VARIANT, A, B
from tokbench.tabulation.table import Column, Print, TidyTable

PER_EDIT = "tokens per edit"
KEY = ("corpus", "size", "kind")
_END = "an interval needs two documents"
_FILES = ("robustness/{variant}/{size}.json",)


def robustness_by_kind(robustness_documents: pl.DataFrame) -> pl.DataFrame:
    """Return tokens added and changed per edit for every tokenizer and kind of perturbation.

    Args:
        robustness_documents: edits and tokens of every document.

    Returns:
        The columns of :data:`ROBUSTNESS`, in the order of the documents' rows, with the variants of a kind together.
    """
    rows: list[dict[str, Any]] = []
    for (corpus, size, kind), of_kind in robustness_documents.group_by(*KEY, maintain_order=True):
        for (variant,), part in of_kind.group_by("variant", maintain_order=True):
            edits = part["edits"].to_numpy().astype(np.float64)
            row: dict[str, Any] = {"corpus": corpus, "size": size, "kind": kind, "variant": variant}
            row |= {"documents": len(edits), "edits": int(edits.sum())}
            for name in ("added", "changed"):
                per_edit = ratio(part[name].to_numpy().astype(np.float64), edits)
                if per_edit is not None:
                    low, high = per_edit.ends()
                    row |= {name: per_edit.difference, f"{name}_low": low, f"{name}_high": high}
            rows.append(row)
    return ROBUSTNESS.frame(rows)


def compare_robustness(
    robustness_documents: pl.DataFrame,
    baselines_of_all: Mapping[str, str],
    undersized: Undersized = NO_UNDERSIZED,
    unit_names: Mapping[str, str] = DOCUMENTS_EACH,
) -> pl.DataFrame:
    """Compare every two tokenizers of a corpus and size by tokens added per edit, for each kind of perturbation.

    Args:
        robustness_documents: edits and tokens of every document.
        baselines_of_all: baseline by variant.
        undersized: variant and size of undersized vocabularies, which are not tested (default: none).
        unit_names: name of the units by corpus (default: documents).

    Returns:
        The columns of :data:`ROBUSTNESS_COMPARISONS`, one row per unordered pair.
    """
    rows: list[dict[str, Any]] = []
    for key, part in robustness_documents.group_by(*KEY, maintain_order=True):
        shared, added = by_variant(part.filter(pl.col("edits") > 0), ("document", "edits"), "added")
        edits = shared["edits"].to_numpy().astype(np.float64)
        if not len(edits):
            continue
        lowest = min(added, key=lambda name: (added[name].sum(), name))
        pairs = sorted_pairs(list(added), lowest, baselines_of_all)
        unit = unit_names.get(str(key[0]), DOCUMENTS)
        judgements = judge_differences(added, edits, pairs, key[1], undersized, unit)
        for (a, b), judgement in zip(pairs, judgements, strict=True):
            row = dict(zip(KEY, key, strict=True)) | {"a": a, "b": b, "documents": len(edits)}
            rows.append(row | asdict(judgement))
    return ROBUSTNESS_COMPARISONS.frame(rows)


def _judgement_columns() -> tuple[Column, ...]:
    """Return the columns of a judgement in tokens per edit."""
    columns = judgement_columns("over documents", "all pairs of the corpus, size and kind")
    per_edit = (replace(column, unit=PER_EDIT) if column.unit == "bits per byte" else column for column in columns)
    return tuple(
        replace(column, heading="a − b (tokens per edit)")
        if column.name == "difference"
        else replace(column, definition=column.definition.replace("fewer bits", "fewer tokens added"))
        for column in per_edit
    )


ROBUSTNESS = TidyTable(
    "robustness",
    "a tokenizer under a kind of perturbation",
    (
        CORPUS,
        SIZE,
        KIND,
        VARIANT,
        Column("documents", pl.Int64, "documents with an edit", "documents"),
        EDITS,
        Column("added", pl.Float64, "tokens after the edits minus tokens before / edits", PER_EDIT, "tokens added", 3),
        Column("added_low", pl.Float64, "lower end of its 95 % interval", PER_EDIT, "added, low", 3, empty=_END),
        Column("added_high", pl.Float64, "upper end of this interval", PER_EDIT, "added, high", 3, empty=_END),
        Column("changed", pl.Float64, "edit distance of the tokens / edits", PER_EDIT, "tokens changed", 3),
        Column("changed_low", pl.Float64, "lower end of its 95 % interval", PER_EDIT, "changed, low", 3, empty=_END),
        Column("changed_high", pl.Float64, "upper end of this interval", PER_EDIT, "changed, high", 3, empty=_END),
    ),
    maker=robustness_by_kind,
    takes=("robustness_documents",),
    keys=("corpus", "size", "kind", "variant"),
    prints=(
        Print(
            "statistics",
            "Robustness of segmentations at {size} tokens on the evaluation split of {corpus}, by kind of perturbation "
            "of a word, a space or a number. Tokens added: more tokens than before, per edit of the text. Tokens "
            "changed: fewest insertions, deletions and replacements of tokens, per edit. 95 % intervals of each value "
            "by Student's t over documents; the next table has those of differences.",
            ("kind", "variant", "edits", "added", "added_low", "added_high", "changed", "changed_low", "changed_high"),
            by=("corpus", "size"),
            files=_FILES,
            folds_above=0,
            arranged=True,
        ),
    ),
)
ROBUSTNESS_COMPARISONS = TidyTable(
    "robustness_comparisons",
    f"two variants at a vocabulary size under a kind of perturbation; {SELECTION}",
    (
        CORPUS,
        SIZE,
        KIND,
        A,
        B,
        *_judgement_columns(),
        Column("documents", pl.Int64, "documents with an edit", "documents"),
    ),
    maker=compare_robustness,
    takes=("robustness_documents", "baselines_of_all", "undersized", "unit_names"),
    keys=("corpus", "size", "kind", "a", "b"),
    prints=(
        Print(
            "statistics",
            "Tokens added per edit with a minus those with b, at {size} tokens on the evaluation split of {corpus}, by "
            "kind of perturbation; by Student's t over its documents.",
            ("kind", "a", "b", "difference", "low", "high", "holm", "verdict", "excluded", "documents"),
            by=("corpus", "size"),
            files=("robustness/{a}/{size}.json", "robustness/{b}/{size}.json"),
            folds_above=0,
            arranged=True,
        ),
    ),
)
