"""Changes of segmentations under perturbations of text, by document."""

from collections.abc import Iterable
from pathlib import Path

import polars as pl

from tokbench.io.json import read_result
from tokbench.tabulation.columns import PERTURBED
from tokbench.tabulation.reading import AGAIN, require_key, to_frame
from tokbench.tabulation.table import TidyTable


def robustness_documents_table(robustness_files: Iterable[Path | str]) -> pl.DataFrame:
    """Return edits, tokens added and tokens changed of every document, by kind of perturbation.

    Args:
        robustness_files: results of ``tokbench measure_robustness``, in any order.

    Returns:
        The columns of :data:`ROBUSTNESS_DOCUMENTS`, ordered by corpus, size and variant. Kinds keep their order.

    Raises:
        TokbenchError: a file is not JSON or a key is missing; the message names file and key.
    """
    frames = [to_frame([], ROBUSTNESS_DOCUMENTS.schema, "")]
    for path in robustness_files:
        content = read_result(path, AGAIN, lenient=True)
        head = [require_key(content, key, path) for key in ("variant", "size", "corpus")]
        rows = [
            (*head, require_key(kind, "kind", path), *document)
            for kind in require_key(content, "kinds", path, kind=list)
            for document in zip(*(require_key(kind, key, path, kind=list) for key in BY_DOCUMENT), strict=True)
        ]
        frames.append(to_frame(rows, ROBUSTNESS_DOCUMENTS.schema, path))
    return pl.concat(frames).sort("corpus", "size", "variant", maintain_order=True)


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
