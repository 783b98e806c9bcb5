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
) -> list[Measurement]:
    """Measure a tokenizer on documents, which each family encodes once.

    Args:
        tokenizer: tokenizer that encodes texts and returns the bytes of tokens.
        read: function that returns language and text of each document; it is called once for each family.
        families: options by family; families without an entry have their defaults.
    """
    documents = Documents(tokenizer, read)
    return [
        row
        for method in families_of("documents")
        for row in method.function(documents, families.get(method.name) or method.defaults())
    ]
