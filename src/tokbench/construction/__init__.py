"""Vocabulary construction: one module per method.

A construction is a function ``(source, size, options, *, seed, threads) -> Vocabulary``. The source is
:class:`~tokbench.pretokens.PretokenCounts`; for methods registered with ``source="scores"`` the scored documents of a
byte language model (:class:`~tokbench.candidates.scored_text.ScoredDocuments`); for those with
``source="documents"``, which need the order of the text, its documents
(:class:`~tokbench.candidates.running_text.Documents`). Top-down methods (``initial=True``) also take ``initial``, the
vocabulary they start from.

Traits: ``source`` ("counts", "scores" or "documents"), ``segmentation`` (the method's own default), ``alphabet`` (the
smallest size it can build), ``initial`` (whether it starts from a larger vocabulary).
"""

from collections.abc import Callable
from typing import Any

from tokbench.options import Options
from tokbench.registry import Registry

constructions = Registry("construction", "tokbench.construction", "tokbench.construction")


def construction(
    name: str,
    *,
    segmentation: str,
    options: type[Options] = Options,
    source: str = "counts",
    alphabet: int = 256,
    initial: bool = False,
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register a construction method; see the module's documentation for the traits."""
    return constructions.register(
        name, options=options, segmentation=segmentation, source=source, alphabet=alphabet, initial=initial
    )
