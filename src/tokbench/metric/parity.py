"""Parity across languages: token counts of the same content in several languages.

Petrov et al. 2023 ("Language model tokenizers introduce unfairness between languages"): tokens of a text in one
language relative to those of its translation into another. If the texts are not translations of each other, the ratio
also reflects their amounts.

Foroutan et al. 2026 ("Parity-Aware Byte-Pair Encoding"): the Gini coefficient of the languages' costs. It is 0 if all
are equal, and at most 1 - 1 / languages. Costs are tokens per line of a parallel text. As such a text has equally many
lines in each language, the coefficient is that of the token counts. Costs per byte do not need parallel text, but
languages differ in their bytes per character.
"""

from collections.abc import Mapping, Sequence
from fractions import Fraction

from tokbench.metric import Shown, metric
from tokbench.metric.measurement import Measurement, ratio
from tokbench.metric.usage import EncodedText, Usage
from tokbench.options import Options

GINI = "Gini coefficient over languages of"


class ParityOptions(Options):
    reference: str | None = None
    """Language tag of the reference language. Default: the language with the fewest tokens."""


@metric(
    "parity",
    options=ParityOptions,
    of="languages",
    of_ids=True,
    cites=("petrov2023", "foroutan2026"),
    better={"parity_range": "lowest", "parity_gini": "lowest"},
    shown=(
        Shown("parity_range", "languages", "most / fewest tokens of a language"),
        Shown("parity_gini", "languages", "Gini coefficient per line"),
        Shown("parity_gini_bytes", "languages", "Gini coefficient per byte"),
        Shown("parity_range_bytes", "languages", "most / fewest tokens per byte"),
        Shown("parity", "languages", "tokens / those of the cheapest language"),
    ),
)
def parity(usages: Mapping[str, Usage | EncodedText], options: ParityOptions) -> list[tuple[str, Measurement]]:
    """Return tokens of each language relative to the reference, and the inequality of all languages.

    The latter are the ratio of most to fewest tokens and the Gini coefficient, of tokens and of tokens per byte.
    """
    totals = {language: usage.total for language, usage in usages.items()}
    fewest = min(totals.values())
    base = fewest if options.reference is None else totals.get(options.reference, 0)
    which = "the language that has fewest" if options.reference is None else options.reference
    definition, none = f"tokens of the language / tokens of {which}", f"the text has no tokens in {which}"
    rows = [(language, ratio("parity", definition, total, base, none)) for language, total in totals.items()]
    widest = "tokens of the language that has most / tokens of the language that has fewest"
    costs = [Fraction(total) for total in totals.values()]
    per_byte = [Fraction(usage.total, usage.total_bytes) for usage in usages.values() if usage.total_bytes]
    if len(per_byte) < len(usages):
        per_byte = []
    spread = max(per_byte) / min(per_byte) if all(per_byte) and per_byte else None
    return [
        *rows,
        ("", ratio("parity_range", widest, max(totals.values()), fewest, "a language has no tokens")),
        ("", _row("parity_gini", f"{GINI} tokens per line; each language has the same lines", gini(costs), len(costs))),
        ("", _row("parity_gini_bytes", f"{GINI} tokens per byte", gini(per_byte), len(costs))),
        (
            "",
            _row("parity_range_bytes", "most tokens per byte of a language / fewest of a language", spread, len(costs)),
        ),
    ]


def gini(costs: Sequence[Fraction]) -> Fraction | None:
    """Return the Gini coefficient of costs that are not negative, exactly; None if all are 0 or there are none.

    The sum over all ordered pairs of the absolute difference, divided by 2 n^2 times the mean.
    """
    if not sum(costs):
        return None
    # The i-th smallest of n costs is the greater one in i pairs, and the smaller one in n - 1 - i.
    differences = sum((2 * place - len(costs) + 1) * cost for place, cost in enumerate(sorted(costs)))
    return Fraction(differences, len(costs) * sum(costs))


def _row(name: str, definition: str, value: Fraction | None, languages: int) -> Measurement:
    if value is None:
        return Measurement(name, definition, None, 0, "a language has no tokens")
    return Measurement(name, definition, float(value), languages)
