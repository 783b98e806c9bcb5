"""Intrinsic metrics: one module per family.

A value that cannot be had is a row with a reason, so that every tokenizer yields the same rows.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, Protocol, TypeVar, get_args

from tokbench.options import Options
from tokbench.registry import Method, Registry

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
    """

    function: Take
    of: Sight = "text"
    per_language: bool = False
    of_ids: bool = False


metrics: Registry[Metric] = Registry("metric", "tokbench.metric", Take)

Function = TypeVar("Function", bound=Callable[..., list[Any]])


def metric(
    name: str,
    *,
    options: type[Options] = Options,
    of: Sight = "text",
    per_language: bool = False,
    of_ids: bool = False,
) -> Callable[[Function], Function]:
    """Register a family of metrics; the arguments are the attributes of :class:`Metric`.

    Raises:
        TokbenchError: ``of`` is nothing that a metric can see, or the function does not fit :class:`Take`.
    """

    def decorate(function: Function) -> Function:
        metrics.check(of in get_args(Sight), name, f"it is of {of!r}; choose among {', '.join(get_args(Sight))}")
        metrics.add(
            Metric(name=name, function=function, options=options, of=of, per_language=per_language, of_ids=of_ids)
        )
        return function

    return decorate


def families_of(*of: Sight) -> list[Metric]:
    """The families that see one of these, ordered by name."""
    return [method for method in metrics.methods() if method.of in of]
