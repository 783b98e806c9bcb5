"""Measurement of a tokenizer with the metrics of documents; see :mod:`tokbench.metric.documents`."""

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING

from tokbench.metric import families_of
from tokbench.metric.documents import Documents, EncodesSpans
from tokbench.metric.measurement import Measurement

if TYPE_CHECKING:
    from tokbench.options import Options


def measure_texts(
    tokenizer: EncodesSpans,
    read: Callable[[], Iterable[tuple[str, bytes]]],
    *,
    families: "Mapping[str, Options]",
) -> list[tuple[str, Measurement]]:
    """Measure a tokenizer on documents, which each family encodes once.

    Args:
        tokenizer: tokenizer that encodes texts and returns the bytes of tokens.
        read: function that returns language and text of each document; it is called once for each family.
        families: options by family; families without an entry have their defaults.

    Returns:
        Rows with their languages; the language is empty for all documents.
    """
    documents = Documents(tokenizer, read)
    rows: list[tuple[str, Measurement]] = []
    for method in families_of("documents"):
        measurements = method.function(documents, families.get(method.name) or method.defaults())
        rows += measurements if method.per_language else [("", row) for row in measurements]
    return rows
