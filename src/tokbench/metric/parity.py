"""Parity across languages: token counts of the same content in several languages.

Petrov et al. 2023 ("Language model tokenizers introduce unfairness between languages"): tokens of a text in one
language relative to those of its translation into another. If the texts are not translations of each other, the ratio
also reflects their amounts.
"""

from collections.abc import Mapping

from tokbench.metric import Shown, metric
from tokbench.metric.measurement import Measurement, ratio
from tokbench.metric.usage import EncodedText, Usage
from tokbench.options import Options


class ParityOptions(Options):
    reference: str | None = None
    """Language tag of the reference language. Default: the language with the fewest tokens."""


@metric(
    "parity",
    options=ParityOptions,
    of="languages",
    of_ids=True,
    cites=("petrov2023",),
    better={"parity_range": "lowest"},
    shown=(
        Shown("parity_range", "languages", "most / fewest tokens of a language"),
        Shown("parity", "languages", "tokens / those of the cheapest language"),
    ),
)
def parity(usages: Mapping[str, Usage | EncodedText], options: ParityOptions) -> list[tuple[str, Measurement]]:
    """Return tokens of each language relative to the reference, and the ratio of most to fewest tokens."""
    totals = {language: usage.total for language, usage in usages.items()}
    fewest = min(totals.values())
    base = fewest if options.reference is None else totals.get(options.reference, 0)
    which = "the language that has fewest" if options.reference is None else options.reference
    definition, none = f"tokens of the language / tokens of {which}", f"the text has no tokens in {which}"
    rows = [(language, ratio("parity", definition, total, base, none)) for language, total in totals.items()]
    widest = "tokens of the language that has most / tokens of the language that has fewest"
    return [*rows, ("", ratio("parity_range", widest, max(totals.values()), fewest, "a language has no tokens"))]
