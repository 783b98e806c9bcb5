"""Intrinsic metrics: one module per family.

A metric is a function ``(Usage, options) -> list[Measurement]``, registered under its family's name. It sees unique
pre-tokens, their segmentations and their counts, never the text itself. A value that cannot be had is a row with a
reason, so that every tokenizer yields the same rows.
"""

from collections.abc import Callable, Mapping
from typing import Any

from tokbench.intrinsic.measurement import Measurement
from tokbench.intrinsic.usage import CountSegmenter, usage_of
from tokbench.pretokens import PretokenCounts
from tokbench.registry import Options, Registry

metrics = Registry("metric", "tokbench.intrinsic", "tokbench.metric")


def metric(
    name: str, *, options: type[Options] = Options, per_language: bool = False
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register a family of metrics; ``per_language`` where each language of a text deserves its own rows, too."""
    return metrics.register(name, options=options, per_language=per_language)


def families_per_language() -> dict[str, Options]:
    """The families that are taken of each language, with their defaults."""
    return {method.name: method.options() for method in metrics.methods() if method.traits["per_language"]}


def measure(
    tokenizer: CountSegmenter,
    counts: PretokenCounts,
    *,
    families: Mapping[str, Options] | None = None,
    nominal_size: int | None = None,
) -> list[Measurement]:
    """Measure a tokenizer on the pre-token counts of a text, segmenting each unique pre-token once.

    Args:
        tokenizer: anything with ``segment(counts)`` and ``vocabulary``.
        counts: the pre-tokens of the text, cut by the tokenizer's own scheme.
        families: the metrics to take, with the options of each; every registered one with its defaults when None.
        nominal_size: the vocabulary size that was asked for; the number of tokens when None.

    Returns:
        Rows in order of family name, and in each family's own order.

    Raises:
        TokbenchError: no such metric, or a segmentation that does not fit the counts.
    """
    if families is None:
        families = {method.name: method.options() for method in metrics.methods()}
    methods = [(metrics[name], families[name]) for name in sorted(families)]
    usage = usage_of(tokenizer, counts, nominal_size)
    return [row for method, options in methods for row in method.function(usage, options)]
