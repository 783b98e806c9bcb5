"""Intrinsic metrics: one module per family.

A metric is a function registered under its family's name; it gives a list of measurements. What it sees is told by
``of``:

- ``text``: ``(Usage, options)``, the unique pre-tokens of a text, their segmentations and their counts, never the text
  itself;
- ``languages``: ``({language: Usage}, options)`` and gives measurements by language, for texts in several languages;
- ``segmentations`` and ``lexical_decisions``: ``(Words, options)``, the words of a resource of that kind of gold data
  as the tokenizer cuts them;
- ``embeddings``: ``(Embeddings, options)``, the input embeddings of a trained model.

A value that cannot be had is a row with a reason, so that every tokenizer yields the same rows.
"""

from collections.abc import Callable
from typing import Any, Literal

from tokbench.options import Options
from tokbench.registry import Method, Registry

metrics = Registry("metric", "tokbench.metric", "tokbench.metric")

Sight = Literal["text", "languages", "segmentations", "lexical_decisions", "embeddings"]


def metric(
    name: str, *, options: type[Options] = Options, of: Sight = "text", per_language: bool = False
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register a family of metrics; ``per_language`` where each language deserves its own rows, too."""
    return metrics.register(name, options=options, of=of, per_language=per_language)


def families_of(*of: Sight) -> list[Method]:
    """The families that see one of these, ordered by name."""
    return [method for method in metrics.methods() if method.traits["of"] in of]
