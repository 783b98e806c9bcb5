"""Eligibility for a comparison: one rule for the command, Python, tables and the report.

A tokenizer is ranked if it restores the text and its vocabulary has the requested size. A construction may produce
fewer tokens than requested from a text where another does not; the missing tokens would bias a comparison. A tokenizer
that does not decode to the original text represents other documents than the rest.

A difference is tested for significance if both tokenizers are ranked, have the same number of tokens, and the
difference is over enough units and trainings. A model that is trained again with another seed has another score. One
training of each tokenizer therefore allows no verdict and no rank, two allow a rank, and three allow a significant
difference. Measures without a trained model are exempt: their number of trainings is None.

A difference that is not tested has the state "not tested" and a reason. It still has its interval.
"""

from collections.abc import Iterable, Mapping
from math import inf

from tokbench.statistics.significance.estimate import Estimate
from tokbench.statistics.significance.subsets import SUBSETS_FROM, SUBSETS_TO
from tokbench.statistics.significance.verdicts import ALPHA, in_full

UNITS_FROM = 6
"""Fewest units (documents, authors, clusters of questions, languages) for a significant difference. With five units of
one sign, the two-sided sign test has p = 0.0625: only an assumption on the distribution could give a lower one."""
LOSSY = "does not restore all of the text"
NO_VARIATION = "the difference is the same in all {}"
RANKED_FROM = 2
"""Fewest trainings of each tokenizer for a rank or a best one."""
SIGNIFICANT_FROM = 3
"""Fewest trainings of each tokenizer for a significant difference."""
ONE_TRAINING = "not tested: one training"
TWO_TRAININGS = "not tested: two trainings; significance needs three"

FEWER = "has fewer tokens than others of its size"

Trainings = Mapping[tuple[str, str, int], int]
"""Number of trainings by model, suite and vocabulary size."""


def fewest_trainings(trainings: Trainings | None, model: str, suite: str, sizes: Iterable[int]) -> int | None:
    """Return the fewest trainings of a model at some sizes.

    Args:
        trainings: number of trainings of every model; None for published numbers, which are compared as in their
            papers.
        model: name of the model.
        suite: name of the suite.
        sizes: vocabulary sizes; a size without an entry counts as trained once.
    """
    if trainings is None:
        return None
    return min((trainings.get((model, suite, size), 1) for size in sizes), default=1)


def may_rank(trainings: int | None) -> bool:
    """Return True if tokenizers may be ranked.

    Args:
        trainings: fewest trainings of any of them; None if no model was trained.
    """
    return trainings is None or trainings >= RANKED_FROM


def why_untested(trainings: int | None) -> str:
    """Return the reason why a difference is not tested for significance; empty if it is.

    Args:
        trainings: fewest trainings of either tokenizer; None if no model was trained.
    """
    if trainings is None or trainings >= SIGNIFICANT_FROM:
        return ""
    return TWO_TRAININGS if may_rank(trainings) else ONE_TRAINING


def why_not_tested(estimate: Estimate) -> str:
    """Return the reason why a difference is not tested, beginning with "not tested"; empty if it is.

    Reasons of the tokenizers (``estimate.reason``) come first, then too few trainings, too few units, and units that do
    not vary.
    """
    if estimate.reason:
        return in_full(estimate.reason)
    if why := why_untested(estimate.trainings):
        return why
    if estimate.units is not None and estimate.units < UNITS_FROM:
        return in_full(few_units(estimate.units, estimate.unit))
    if estimate.p_value is None:
        return in_full(NO_VARIATION.format(estimate.unit) if estimate.error < inf else "no interval")
    return ""


def few_units(count: int, unit: str) -> str:
    """Return the reason for too few units, such as "3 authors; a verdict needs 6"."""
    name = unit if count != 1 else " ".join([unit.split()[0].removesuffix("s"), *unit.split()[1:]])
    return f"{count} {name}; a verdict needs {UNITS_FROM}"


def too_few_for(estimate: Estimate, tests: int) -> str:
    """Return the reason why a difference cannot be significant among the tests of its family; empty if it can.

    Args:
        estimate: the difference.
        tests: number of tests of the family.
    """
    spread, count = estimate.over_units, estimate.units
    return "" if spread is None or count is None else too_few(count, estimate.unit, tests)


def too_few(count: int, unit: str, tests: int) -> str:
    """Return the reason why a number of units is too few for a number of tests; empty if it is not.

    Args:
        count: number of units.
        unit: name of the units, in the plural.
        tests: number of tests of the family.
    """
    if not SUBSETS_FROM <= count <= SUBSETS_TO or tests * 2.0 ** (1 - count) <= ALPHA:
        return ""
    needed = next(units for units in range(count, 64) if tests * 2.0 ** (1 - units) <= ALPHA)
    return in_full(f"{few_units(count, unit).partition(';')[0]}; verdicts on {tests} pairs need {needed}")


def different_sizes(a: int | None, b: int | None) -> str:
    """Return the reason why tokenizers of different sizes are not tested; empty if both sizes are equal or unknown.

    Args:
        a, b: numbers of tokens; None if unknown.
    """
    return f"different sizes, {min(a, b):,} and {max(a, b):,} tokens" if a and b and a != b else ""
