"""Parity across languages: what the same content costs in each of them.

Petrov et al. 2023 ("Language model tokenizers introduce unfairness between languages"): tokens of a text in one
language relative to those of its translation into another. On texts that are no translations of each other the ratio
also tells how much text there is.
"""

from collections.abc import Mapping

from tokbench.metric import Shown, metric
from tokbench.metric.measurement import Measurement, ratio
from tokbench.metric.usage import EncodedText, Usage
from tokbench.options import Options


class ParityOptions(Options):
    reference: str | None = None
    """Language tag to which the others are relative; the one with the fewest tokens where it is left out."""


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
    """Tokens of each language relative to the reference, and how far the languages lie apart."""
    totals = {language: usage.total for language, usage in usages.items()}
    fewest = min(totals.values())
    base = fewest if options.reference is None else totals.get(options.reference, 0)
    which = "the language that has fewest" if options.reference is None else options.reference
    definition, none = f"tokens of the language / tokens of {which}", f"the text has no tokens in {which}"
    rows = [(language, ratio("parity", definition, total, base, none)) for language, total in totals.items()]
    widest = "tokens of the language that has most / tokens of the language that has fewest"
    return [*rows, ("", ratio("parity_range", widest, max(totals.values()), fewest, "a language has no tokens"))]
