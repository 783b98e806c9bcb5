"""Intrinsic metrics: one module per family.

A value that cannot be had is a row with a reason, so that every tokenizer yields the same rows.
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, TypeVar, get_args

from tokbench.better import End, state
from tokbench.options import Options
from tokbench.registry import Method, Registry, several_texts
from tokbench.subjects import Subject, state_subjects

Sight = Literal["text", "languages", "segmentations", "lexical_decisions", "embeddings"]


class Take(Protocol):
    """How a family of metrics is called."""

    def __call__(self, seen: Any, options: Any) -> list[Any]:
        """Take the measurements.

        Args:
            seen: by what the family sees:

                - ``text``: a :class:`~tokbench.intrinsic.usage.Usage`, the unique pre-tokens of a text, their
                  segmentations and their counts, never the text itself;
                - ``languages``: a mapping of languages to these, for texts in several languages;
                - ``segmentations`` and ``lexical_decisions``: :class:`~tokbench.intrinsic.words.Words`, the words of a
                  resource of that kind of gold data as the tokenizer cuts them;
                - ``embeddings``: :class:`~tokbench.intrinsic.embeddings.Embeddings`, those of a trained model.

            options: an instance of the family's class of options.

        Returns:
            A list of :class:`~tokbench.intrinsic.measurement.Measurement`; for ``languages`` of pairs (language,
            measurement).
        """
        ...


@dataclass(frozen=True, kw_only=True)
class Metric(Method):
    """A family of metrics.

    Attributes:
        of: what it sees.
        per_language: whether each language of a text deserves its own rows, too.
        of_ids: whether it takes an :class:`~tokbench.intrinsic.encoded_text.EncodedText` in place of a usage, too, and
            gives those of its rows that need neither pre-tokens nor the bytes of tokens.
        better: the better end of its measurements, by name, of those that have one.
    """

    function: Take
    of: Sight = "text"
    per_language: bool = False
    of_ids: bool = False
    better: Mapping[str, End] = field(default_factory=dict)


metrics: Registry[Metric] = Registry("metric", "tokbench.metric", Take)

Function = TypeVar("Function", bound=Callable[..., list[Any]])


def metric(
    name: str,
    *,
    options: type[Options] = Options,
    of: Sight = "text",
    per_language: bool = False,
    of_ids: bool = False,
    better: Mapping[str, End] | None = None,
    over_the_same: Collection[str] = (),
    subjects: Mapping[str, Subject] | None = None,
    cites: tuple[str, ...] | None = None,
) -> Callable[[Function], Function]:
    """Register a family of metrics; the arguments are the attributes of :class:`Metric`, and three more.

    Args:
        name, options, of, per_language, of_ids, cites: see :class:`Metric`.
        better: ``highest`` or ``lowest`` by name of the measurement, for those of which one end is better. They are
            ranked in the report and by ``tokbench compare``; the others stand there without a best.
        over_the_same: names of measurements, or definitions of some, that two tokenizers may be compared by only where
            their ``n`` is equal, as what they divide by is made by the tokenizer itself; see :mod:`tokbench.better`.
        subjects: the subject under which the report shows them, by name of the measurement; those without one come
            under "Further measures". Built-in ones stand in :mod:`tokbench.report.subjects`.

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
        for one, end in ends.items():
            check(end in get_args(End), name, f"the better end of {one} is {end!r}; choose highest or lowest")
        told = f"its over_the_same is {over_the_same!r:.60}; give a tuple of names of measurements"
        check(several_texts(over_the_same), name, told)
        shown = {} if subjects is None else subjects
        named = isinstance(shown, Mapping) and several_texts(shown)
        check(named, name, f"its subjects is {shown!r:.60}; give a mapping of measurements to subjects")
        for one, subject in shown.items():
            known = ", ".join(get_args(Subject))
            check(subject in get_args(Subject), name, f"the subject of {one} is {subject!r:.60}; choose among {known}")
        metrics.add(
            Metric(
                name=name,
                function=function,
                options=options,
                of=of,
                per_language=per_language,
                of_ids=of_ids,
                better=dict(ends),
                cites=cites,
            )
        )
        state(ends, over_the_same)
        state_subjects(shown)
        return function

    return decorate


def families_of(*of: Sight) -> list[Metric]:
    """The families that see one of these, ordered by name."""
    return [method for method in metrics.methods() if method.of in of]
