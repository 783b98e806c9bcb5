"""Intrinsic metrics: one module per family, with the better end of each metric and the conditions for comparing values.

A value that cannot be computed is a row with a reason, so every tokenizer yields the same rows.

Values are compared only on one text and at one vocabulary size. For some metrics that is not enough, because the
tokenizer itself determines the denominator. Fertility in pre-tokens is low if a pre-tokenizer makes few pre-tokens,
whichever vocabulary is used. A share of a text's tokens is low if a tokenizer needs many tokens. A gap refers to the
bound for one pre-tokenizer. Such values are compared only if their ``n`` is equal. Families declare both properties at
registration, see :class:`tokbench.metric.Metric`.

Rényi efficiency, token lengths, shares of words and similar metrics have no better end here. Experiments may show
whether more or less of them is better.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol, TypeVar, get_args

from tokbench.registry import Method, Registry, several_texts

if TYPE_CHECKING:
    from tokbench.options import Options

Sight = Literal["text", "languages", "documents", "segmentations", "lexical_decisions", "embeddings"]
Direction = Literal["highest", "lowest"]
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
    "numbers",
    "operators",
    "sequences",
    "languages",
    "embeddings",
]
"""Subjects under which a report shows measurements, in the report's order; links to their headings use these names."""
Function = TypeVar("Function", bound=Callable[..., list[Any]])


class Shown(NamedTuple):
    """Place of a measurement in the report.

    Attributes:
        metric: name of the metric.
        subject: subject of the table that contains it.
        column: heading of its column (default: the metric's name, in words).
        definition: part of its definition, needed if other definitions of the metric have another place. If several
            entries match, the longest applies (default: any definition).
    """

    metric: str
    subject: Subject
    column: str = ""
    definition: str = ""


class Take(Protocol):
    """Signature of a family of metrics."""

    def __call__(self, subject: Any, options: Any) -> list[Any]:
        """Compute the measurements.

        Args:
            subject: input of the family, by its attribute ``of``:

                - ``text``: a :class:`~tokbench.metric.usage.Usage`, the unique pre-tokens of a text, their
                  segmentations and their counts, never the text itself;
                - ``languages``: a mapping of languages to these, for texts in several languages;
                - ``documents``: :class:`~tokbench.metric.documents.Documents`, encoded documents, which may be iterated
                  several times;
                - ``segmentations`` and ``lexical_decisions``: :class:`~tokbench.metric.words.Words`, the segmented
                  words of a gold data resource of that kind;
                - ``embeddings``: :class:`~tokbench.metric.embeddings.Embeddings` of a trained model.

            options: instance of the family's class of options; may be None if it has none.

        Returns:
            A list of :class:`~tokbench.metric.measurement.Measurement`; for ``languages``, and for ``documents`` with
            ``per_language``, a list of pairs (language, measurement).
        """
        ...


@dataclass(frozen=True, kw_only=True, repr=False)
class Metric(Method):
    """A family of metrics.

    Attributes:
        of: kind of input (default: ``text``).
        per_language: True if each language of a text gets its own rows, too (default: False).
        of_ids: True if the family also accepts an :class:`~tokbench.metric.usage.EncodedText`. It then returns only the
            rows that need neither pre-tokens nor the bytes of tokens (default: False).
        better: better end, ``highest`` or ``lowest``, by name of the measurement (default: none). These measurements
            are ranked in the report and by ``tokbench compare``; others are shown without a best value.
        over_the_same: names or definitions of measurements that may be compared only if their ``n`` is equal, because
            the tokenizer determines the denominator (default: none); see :mod:`tokbench.metric`.
        shown: places in the report, in reading order; other measurements come under "Further measures" (default: none).

    The last three may also name measurements that tables derive from the family's.
    """

    function: Take
    of: Sight = "text"
    per_language: bool = False
    of_ids: bool = False
    better: Mapping[str, Direction] = field(default_factory=dict)
    over_the_same: Collection[str] = ()
    shown: Collection[Shown] = ()


metrics: Registry[Metric] = Registry("metric", "tokbench.metric", Take)


def metric(
    name: str,
    *,
    options: "type[Options] | None" = None,
    of: Sight = "text",
    per_language: bool = False,
    of_ids: bool = False,
    better: Mapping[str, Direction] | None = None,
    over_the_same: Collection[str] = (),
    shown: Collection[Shown] = (),
    cites: tuple[str, ...] | None = None,
) -> Callable[[Function], Function]:
    """Register a family of metrics; the arguments are the attributes of :class:`Metric`.

    Raises:
        TokbenchError: the name is invalid, ``of``, an end or a subject is unknown, measurements are not named by
            strings, or the function does not match :class:`Take`.
    """
    metrics.check_name(name)

    def decorate(function: Function) -> Function:
        # Check the declaration before anything is registered.
        check = metrics.check
        check(of in get_args(Sight), name, f"it is of {of!r}; choose among {', '.join(get_args(Sight))}")
        ends = {} if better is None else better
        named = isinstance(ends, Mapping) and several_texts(ends)
        check(named, name, f"its better is {ends!r:.60}; pass a mapping of measurements to highest or lowest")
        for measure, end in ends.items():
            check(end in get_args(Direction), name, f"the better end of {measure} is {end!r}; choose highest or lowest")
        message = f"its over_the_same is {over_the_same!r:.60}; pass a tuple of names of measurements"
        check(several_texts(over_the_same), name, message)
        places = isinstance(shown, Collection) and all(
            isinstance(item, Shown) and several_texts(item) for item in shown
        )
        check(places, name, f"its shown is {shown!r:.60}; pass a tuple of tokbench.metric.Shown, each of texts")
        for item in shown:
            known = ", ".join(get_args(Subject))
            message = f"the subject of {item.metric} is {item.subject!r:.60}; choose among {known}"
            check(item.subject in get_args(Subject), name, message)
        # Register the family.
        metrics.add(
            Metric(
                name=name,
                function=function,
                options_class=options,
                of=of,
                per_language=per_language,
                of_ids=of_ids,
                better=dict(ends),
                over_the_same=tuple(over_the_same),
                shown=tuple(shown),
                cites=cites,
            )
        )
        return function

    return decorate


def families_of(*of: Sight) -> list[Metric]:
    """Return the families with one of these kinds of input, ordered by name."""
    return [method for method in metrics.methods() if method.of in of]


def direction(metric: str) -> Direction | None:
    """Return ``highest`` or ``lowest``, the better end of a metric; None if it has none."""
    return metrics.derived(_ends).get(metric)


def requires_equal_n(metric: str, definition: str) -> bool:
    """Return True if values of a metric with this definition are comparable only if their ``n`` is equal."""
    return not metrics.derived(_over_the_same).isdisjoint((metric, definition))


def _ends(families: Sequence[Metric]) -> dict[str, Direction]:
    return {name: end for family in families for name, end in family.better.items()}


def _over_the_same(families: Sequence[Metric]) -> frozenset[str]:
    return frozenset(name for family in families for name in family.over_the_same)
