"""Intrinsic metrics: one module per family.

A value that cannot be had is a row with a reason, so that every tokenizer yields the same rows.

Which end of an intrinsic metric is the better one, and what must be equal before two of its values are compared.

Values are compared on one text and at one vocabulary size alone. Of some metrics that is not enough: what they divide
by is made by the tokenizer itself. Fertility in pre-tokens is low where a pre-tokenization cuts few of them, whatever
the vocabulary; a share of the tokens of a text is low where a tokenizer takes many; a gap is above the bound of one
pre-tokenization. Such values are compared where they are over equally many things, their n, and nowhere else. Both are
stated where a family of metrics registers, see :class:`tokbench.metric.Metric`.

Rényi efficiency, token lengths, shares of words and the like have no better end here: whether more of them is better is
what experiments are to find out.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, Protocol, TypeVar, get_args

from tokbench.options import Options
from tokbench.registry import Method, Registry, several_texts

Sight = Literal["text", "languages", "segmentations", "lexical_decisions", "embeddings"]
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
    "languages",
    "embeddings",
]
"""The subjects under which a report shows measurements, as links to their headings name them, in the report's order."""


class Shown(NamedTuple):
    """Where a report shows a measurement.

    Attributes:
        metric: its name.
        subject: the table that it stands in.
        column: its column's name; empty where that is the metric's, in words.
        definition: what its definition has in it, where others of the same name stand elsewhere or under another
            column's name. Of several that fit, the longest says where it stands.
    """

    metric: str
    subject: Subject
    column: str = ""
    definition: str = ""


class Take(Protocol):
    """How a family of metrics is called."""

    def __call__(self, seen: Any, options: Any) -> list[Any]:
        """Take the measurements.

        Args:
            seen: by what the family sees:

                - ``text``: a :class:`~tokbench.metric.usage.Usage`, the unique pre-tokens of a text, their
                  segmentations and their counts, never the text itself;
                - ``languages``: a mapping of languages to these, for texts in several languages;
                - ``segmentations`` and ``lexical_decisions``: :class:`~tokbench.metric.words.Words`, the words of a
                  resource of that kind of gold data as the tokenizer cuts them;
                - ``embeddings``: :class:`~tokbench.metric.embeddings.Embeddings`, those of a trained model.

            options: an instance of the family's class of options.

        Returns:
            A list of :class:`~tokbench.metric.measurement.Measurement`; for ``languages`` of pairs (language,
            measurement).
        """
        ...


@dataclass(frozen=True, kw_only=True, repr=False)
class Metric(Method):
    """A family of metrics.

    Attributes:
        of: what it sees.
        per_language: whether each language of a text deserves its own rows, too.
        of_ids: whether it takes an :class:`~tokbench.metric.usage.EncodedText` in place of a usage, too, and
            gives those of its rows that need neither pre-tokens nor the bytes of tokens.
        better: the better end, ``highest`` or ``lowest``, by name of the measurement, for those of which one end is
            better. They are ranked in the report and by ``tokbench compare``; the others stand there without a best.
        over_the_same: names of measurements, or definitions of some, that two tokenizers may be compared by only where
            their ``n`` is equal, as what they divide by is made by the tokenizer itself; see :mod:`tokbench.metric`.
        shown: where the report shows its measurements, in an order of reading; those left out come under "Further
            measures".

    The last three may speak of measurements, too, that tables derive from the family's.
    """

    function: Take
    of: Sight = "text"
    per_language: bool = False
    of_ids: bool = False
    better: Mapping[str, Direction] = field(default_factory=dict)
    over_the_same: Collection[str] = ()
    shown: Collection[Shown] = ()


metrics: Registry[Metric] = Registry("metric", "tokbench.metric", Take)

Function = TypeVar("Function", bound=Callable[..., list[Any]])


def metric(
    name: str,
    *,
    options: type[Options] = Options,
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
        TokbenchError: the name is none, ``of`` is nothing that a metric can see, an end is neither, a subject is none,
            measurements are not named by texts, or the function does not fit :class:`Take`.
    """
    metrics.check_name(name)

    def decorate(function: Function) -> Function:
        check = metrics.check
        check(of in get_args(Sight), name, f"it is of {of!r}; choose among {', '.join(get_args(Sight))}")
        ends = {} if better is None else better
        named = isinstance(ends, Mapping) and several_texts(ends)
        check(named, name, f"its better is {ends!r:.60}; give a mapping of measurements to highest or lowest")
        for measured, end in ends.items():
            check(
                end in get_args(Direction), name, f"the better end of {measured} is {end!r}; choose highest or lowest"
            )
        told = f"its over_the_same is {over_the_same!r:.60}; give a tuple of names of measurements"
        check(several_texts(over_the_same), name, told)
        places = isinstance(shown, Collection) and all(isinstance(one, Shown) and several_texts(one) for one in shown)
        check(places, name, f"its shown is {shown!r:.60}; give a tuple of tokbench.metric.Shown, each of texts")
        for one in shown:
            known = ", ".join(get_args(Subject))
            told = f"the subject of {one.metric} is {one.subject!r:.60}; choose among {known}"
            check(one.subject in get_args(Subject), name, told)
        metrics.add(
            Metric(
                name=name,
                function=function,
                options=options,
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
    """The families that see one of these, ordered by name."""
    return [method for method in metrics.methods() if method.of in of]


def direction(metric: str) -> Direction | None:
    """``highest`` or ``lowest``; None where neither end is better by itself."""
    return metrics.derived(_ends).get(metric)


def requires_equal_n(metric: str, definition: str) -> bool:
    """Whether values of one definition of a metric are compared only where their n is equal."""
    return not metrics.derived(_over_the_same).isdisjoint((metric, definition))


def _ends(families: Sequence[Metric]) -> dict[str, Direction]:
    return {name: end for family in families for name, end in family.better.items()}


def _over_the_same(families: Sequence[Metric]) -> frozenset[str]:
    return frozenset(name for family in families for name in family.over_the_same)
