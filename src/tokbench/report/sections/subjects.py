"""Intrinsic measures by subject, in an order of reading, each under a name of its own.

Which subject a measure belongs to and what its column is called stands with its family of metrics, see
:class:`tokbench.metric.Shown`; here stands only in which order families are read. A measure that no family places comes
last of all, under its metric's name.
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
"""Where a family places a measure: the family's name, the how manieth of its columns this is, and the column."""


@dataclass(frozen=True)
class MetricGroup:
    """Measures that are read together.

    Attributes:
        identifier: of the heading's link, one of :data:`tokbench.metric.Subject`.
        title: of the heading.
        families: those that come first, each with its columns in its own order; others follow by name. A metric may be
            named, too, that does not stand with its family.
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
    MetricGroup("exchanged", "Vocabulary beside the baseline's", ("vocabulary", "length")),
    MetricGroup("renyi", "Evenness of use (Rényi efficiency)", ("renyi",)),
    MetricGroup("frequency", "How often tokens occur", ("frequency", "unigram_objective")),
    MetricGroup(
        "bytes", "Byte fallback and broken characters", ("byte_fallback", "vocabulary", "tokens_cutting_characters")
    ),
    MetricGroup("languages", "Parity between languages", ("parity",)),
    MetricGroup("embeddings", "Embeddings of the trained models", ("undertrained",)),
)
SAME = {"single_byte_token_share": "byte_fallback"}
"""Metrics of which another has the same number under another name, which is shown where both were measured."""
OTHERS = MetricGroup("others", "Further measures")
_MODEL = re.compile(r"model (\S+)$")


def by_subject(measures: Iterable[Measure]) -> list[tuple[MetricGroup, list[tuple[Measure, str]]]]:
    """The measures of each subject in order, with a name that no other column of the subject has."""
    every = set(measures)
    known = {metric for metric, _ in every}
    found: defaultdict[str, list[tuple[Place, Measure]]] = defaultdict(list)
    others = []
    for one in sorted(one for one in every if SAME.get(one[0]) not in known):
        place = _place(*one)
        if place is None:
            others.append((one, words(one[0])))
        else:
            found[place[-1].subject].append((place, one))
    told = [(subject, _in_order(subject, found[subject.identifier])) for subject in SUBJECTS]
    return [(subject, _distinct(named)) for subject, named in [*told, (OTHERS, others)] if named]


def _place(metric: str, definition: str) -> Place | None:
    """Where a measure is shown; None where no family says so."""
    fitting = [place for place in metrics.derived(_places).get(metric, []) if place[-1].definition in definition]
    return max(fitting, key=lambda place: len(place[-1].definition), default=None)


def _places(families: Sequence[Metric]) -> dict[str, list[Place]]:
    """Where families place their measures, by metric."""
    places: dict[str, list[Place]] = {}
    for family in families:
        for number, shown in enumerate(family.shown):
            places.setdefault(shown.metric, []).append((family.name, number, shown))
    return places


def _in_order(subject: MetricGroup, placed: list[tuple[Place, Measure]]) -> list[tuple[Measure, str]]:
    def order(one: tuple[Place, Measure]) -> tuple[int, Place, Measure]:
        (family, number, shown), measure = one
        first = shown.metric if shown.metric in subject.families else family
        return (*subject.families, first).index(first), (family, number, shown), measure

    return [(measure, shown.column or words(shown.metric)) for (_, _, shown), measure in sorted(placed, key=order)]


def _distinct(named: list[tuple[Measure, str]]) -> list[tuple[Measure, str]]:
    """Names that several measures share are told apart by the model, or by a number."""
    names = [name for _, name in named]
    seen: dict[str, int] = {}
    told = []
    for (metric, definition), name in named:
        if names.count(name) > 1:
            seen[name] = seen.get(name, 0) + 1
            model = _MODEL.search(definition)
            name += f", {model[1]}" if model else f" ({seen[name]})"
        told.append(((metric, definition), name))
    return told
