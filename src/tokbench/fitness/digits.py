"""How numbers are cut: told, and whether those of one length are cut alike."""

import math
from collections import Counter
from collections.abc import Mapping

from tokbench.fitness.finding import Check, Example, Finding, not_applicable
from tokbench.fitness.subject import Rejection, Subject

LEAST = 0.99
"""Consistency below which a person should look."""


def consistency(patterns: Mapping[str, int]) -> float:
    """1 - H / log2(patterns), where H is the entropy of how often each occurs; 1 where there is one."""
    if len(patterns) < 2:
        return 1.0
    total = sum(patterns.values())
    entropy = -math.fsum(count / total * math.log2(count / total) for count in patterns.values())
    return 1 - entropy / math.log2(len(patterns))


def how(subject: Subject) -> Finding:
    """How often each pattern occurs, by length."""
    found = _told(subject)
    if isinstance(found, Finding):
        return found
    told = "; ".join(
        f"{length} {'digit' if length == 1 else 'digits'}: "
        + ", ".join(_cut(pattern, count) for pattern, count in patterns.most_common(4))
        + (f" and {len(patterns) - 4} more" if len(patterns) > 4 else "")
        for length, patterns in sorted(found.items())
    )
    return Finding(True, told, numbers={"patterns": {str(length): dict(one) for length, one in found.items()}})


def _cut(pattern: str, count: int) -> str:
    """How many numbers are cut so: ``77 cut 1+1``, ``13 whole``."""
    return f"{count:,} cut {pattern}" if "+" in pattern else f"{count:,} whole"


def consistent(subject: Subject) -> Finding:
    """Whether numbers of one length have one pattern."""
    found = _told(subject)
    if isinstance(found, Finding):
        return found
    values = {length: consistency(patterns) for length, patterns in sorted(found.items())}
    worst = min(values, key=values.__getitem__)
    told = (
        f"consistency {values[worst]:.3f} at {worst} digits, the least" if values[worst] < 1 else "one pattern a length"
    )
    examples = [] if values[worst] >= LEAST else _unlike(subject, worst, found[worst])
    shown = {str(length): value for length, value in values.items()}
    return Finding(values[worst] >= LEAST, told, examples, {"consistency": shown})


def _told(subject: Subject) -> Finding | dict[int, Counter[str]]:
    try:
        found = subject.cuts_of_numbers
    except Rejection as error:
        return not_applicable(f"it takes no numbers ({error})")
    return found or not_applicable("no number comes back from its tokens")


def _unlike(subject: Subject, length: int, patterns: Counter[str]) -> list[Example]:
    """The least number of each of the two most frequent patterns."""
    wanted = [pattern for pattern, _ in patterns.most_common(2)]
    shown = []
    for number, ids in subject.numbers.items():
        if len(number) == length:
            pieces = [subject.tokens.get(one, b"").strip() for one in ids]
            pattern = "+".join(str(len(piece)) for piece in pieces if piece)
            if pattern in wanted:
                wanted.remove(pattern)
                shown.append(Example(number, "cut as " + "|".join(piece.decode() for piece in pieces if piece)))
    return shown


CHECKS = (
    Check("numbers", "how 0 to 9999 are cut, by lengths of the parts", "told", how),
    Check("digits", "numbers of one length are cut alike", "warning", consistent, "C6"),
)
