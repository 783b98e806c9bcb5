"""The subject under which a report shows a measurement: stated with its family of metrics, where it registers.

Those of the built-in families stand in :mod:`tokbench.report.subjects`, in an order of reading across families and with
a column's name for each definition.
"""

from collections.abc import Mapping
from functools import cache
from typing import Literal

Subject = Literal[
    "compression",
    "words",
    "morphology",
    "reading",
    "vocabulary",
    "lengths",
    "exchanged",
    "renyi",
    "frequency",
    "bytes",
    "languages",
    "embeddings",
]
"""The subjects that there are, as links to their headings name them, in the report's order."""

_STATED: dict[str, Subject] = {}


def state_subjects(subjects: Mapping[str, Subject]) -> None:
    """What a family of metrics says of its measurements; see :func:`tokbench.metric.metric`."""
    _STATED.update(subjects)


def stated_subject(metric: str) -> Subject | None:
    """The subject of a measurement; None where its family states none, and it comes last in a report."""
    if metric not in _STATED:
        _load()
    return _STATED.get(metric)


@cache
def _load() -> None:
    """Families state theirs when they are imported, those of other distributions, too."""
    from tokbench.metric import metrics

    metrics.load()
