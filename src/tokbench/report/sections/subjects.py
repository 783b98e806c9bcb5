"""Subjects of intrinsic measures, their order, and distinct names of columns.

The family of a metric defines its subject and its column's name, see :class:`tokbench.metric.Shown`. This module
defines the order of families. Measures without a subject come last, with the name of their metric.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tokbench.metric import Metric, Shown, metrics
from tokbench.report.wording import words

Measure = tuple[str, str]
"""A metric and its definition."""
Place = tuple[str, int, Shown]
"""Place of a measure: name of the family, index among its columns, and the column."""
SAME = {"single_byte_token_share": "byte_fallback"}
"""Metrics with equal values under another metric's name; only the latter is shown if both were measured."""
_MODEL = re.compile(r"model (\S+)$")


@dataclass(frozen=True)
class MetricGroup:
    """Measures of one subject.

    Attributes:
        identifier: anchor of the heading, one of :data:`tokbench.metric.Subject`.
        title: heading.
        families: families that come first, each with its columns in its order; others follow by name. A metric may be
            named to separate it from its family.
    """

    identifier: str
    title: str
    families: tuple[str, ...] = ()


SUBJECTS = (
    MetricGroup("compression", "Compression", ("compression", "partition_cover")),
    MetricGroup("words", "Tokens per word (fertility) and whole words", ("fertility", "vocabulary", "length")),
    MetricGroup("morphology", "Morphology (alignment with morphemes)", ("morphology",)),
    MetricGroup("reading", "Reading times of people (cognitive plausibility)", ("cognition",)),
    MetricGroup("vocabulary", "Vocabulary", ("vocabulary", "length", "removed")),
    MetricGroup("lengths", "Token lengths", ("length", "removed")),
    MetricGroup("exchanged", "Vocabulary compared with the baseline's", ("vocabulary", "length")),
    MetricGroup("renyi", "Evenness of use (Rényi efficiency)", ("renyi",)),
    MetricGroup("frequency", "How often tokens occur", ("frequency", "unigram_objective")),
    MetricGroup(
        "bytes", "Byte fallback and broken characters", ("byte_fallback", "vocabulary", "tokens_cutting_characters")
    ),
    MetricGroup("numbers", "Digits of numbers", ("numbers",)),
    MetricGroup("operators", "Code and operators", ("code", "operators")),
    MetricGroup("sequences", "Successive tokens", ("sequences",)),
    MetricGroup("languages", "Parity between languages", ("parity",)),
    MetricGroup("embeddings", "Embeddings of the trained models", ("undertrained",)),
)
OTHERS = MetricGroup("others", "Further measures")


def by_subject(measures: Iterable[Measure]) -> list[tuple[MetricGroup, list[tuple[Measure, str]]]]:
    """Return the measures of each subject in order, each with a distinct column name.

    Args:
        measures: metrics and definitions.

    Returns:
        Subjects that have measures, each with (measure, column name).
    """
    every = set(measures)
    known = {metric for metric, _ in every}
    by_group: defaultdict[str, list[tuple[Place, Measure]]] = defaultdict(list)
    others = []
    for measure in sorted(measure for measure in every if SAME.get(measure[0]) not in known):
        place = _place(*measure)
        if place is None:
            others.append((measure, words(measure[0])))
        else:
            by_group[place[-1].subject].append((place, measure))
    ordered = [(subject, _in_order(subject, by_group[subject.identifier])) for subject in SUBJECTS]
    return [(subject, _distinct(named)) for subject, named in [*ordered, (OTHERS, others)] if named]


def _place(metric: str, definition: str) -> Place | None:
    """Return the place of a measure; None if no family defines one."""
    fitting = [place for place in metrics.derived(_places).get(metric, []) if place[-1].definition in definition]
    return max(fitting, key=lambda place: len(place[-1].definition), default=None)


def _places(families: Sequence[Metric]) -> dict[str, list[Place]]:
    """Return the places of measures by metric."""
    places: dict[str, list[Place]] = {}
    for family in families:
        for number, shown in enumerate(family.shown):
            places.setdefault(shown.metric, []).append((family.name, number, shown))
    return places


def _in_order(subject: MetricGroup, placed: list[tuple[Place, Measure]]) -> list[tuple[Measure, str]]:
    def order(named: tuple[Place, Measure]) -> tuple[int, Place, Measure]:
        (family, number, shown), measure = named
        first = shown.metric if shown.metric in subject.families else family
        return (*subject.families, first).index(first), (family, number, shown), measure

    return [(measure, shown.column or words(shown.metric)) for (_, _, shown), measure in sorted(placed, key=order)]


def _distinct(named: list[tuple[Measure, str]]) -> list[tuple[Measure, str]]:
    """Append the model or a number to names that several measures share."""
    names = [name for _, name in named]
    seen: dict[str, int] = {}
    rows = []
    for (metric, definition), name in named:
        if names.count(name) > 1:
            seen[name] = seen.get(name, 0) + 1
            model = _MODEL.search(definition)
            name += f", {model[1]}" if model else f" ({seen[name]})"
        rows.append(((metric, definition), name))
    return rows
