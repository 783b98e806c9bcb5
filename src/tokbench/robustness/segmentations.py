"""Changes of a tokenizer's segmentation under perturbations: tokens added, and edit distance.

A perturbed line and its original are encoded as two texts. Tokens added are the difference of the numbers of tokens.
The edit distance of the two token sequences is the fewest insertions, deletions and replacements of tokens
(Levenshtein 1966). Tables divide both by the number of edits of the text, such as misspelt words. The quotients do not
depend on the number of units drawn, as long as edits rarely affect one token together.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING, TypedDict

import numpy as np
import polars as pl

from tokbench.kernels.edit_distance import distances
from tokbench.robustness.lines import originals
from tokbench.robustness.perturbations import KINDS

if TYPE_CHECKING:
    from tokbench.tokenizer import Tokenizer


class ChangedSegmentation(TypedDict):
    """Changes of a segmentation under one kind of perturbation, by document.

    Each list has one number per document with an edit: the document's position in its source, edits of the text,
    tokens of the lines with an edit before the edits, tokens added, and edit distance of the tokens.
    """

    kind: str
    documents: list[int]
    edits: list[int]
    tokens: list[int]
    added: list[int]
    changed: list[int]


def changed_segmentations(tokenizer: "Tokenizer", lines: pl.DataFrame) -> Iterator[ChangedSegmentation]:
    """Yield the changes of a tokenizer's segmentation for each kind of perturbation, in the order of the kinds.

    Args:
        tokenizer: any tokenizer.
        lines: perturbed lines, see :data:`tokbench.robustness.lines.LINES`.
    """
    by_kind = lines.partition_by("kind", as_dict=True)
    for kind in filter(lambda kind: (kind,) in by_kind, KINDS):
        part = by_kind[kind,]
        after, after_bounds = tokenizer.encode_flat(part["text"].to_list())
        before, before_bounds = tokenizer.encode_flat(originals(part))
        by_line = pl.DataFrame(
            {
                "documents": part["document"],
                "edits": part["starts"].list.len().cast(pl.Int64),
                "tokens": np.diff(before_bounds),
                "added": np.diff(after_bounds) - np.diff(before_bounds),
                "changed": distances(before, before_bounds, after, after_bounds),
            }
        )
        by_document = by_line.group_by("documents", maintain_order=True).sum()
        yield {
            "kind": kind,
            "documents": by_document["documents"].to_list(),
            "edits": by_document["edits"].to_list(),
            "tokens": by_document["tokens"].to_list(),
            "added": by_document["added"].to_list(),
            "changed": by_document["changed"].to_list(),
        }
