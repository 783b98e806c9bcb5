"""Segmentation: one module per method of cutting a pre-token into tokens."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, Protocol, TypeVar, get_args

import numpy as np
from numpy.typing import NDArray

from tokbench.errors import TokbenchError
from tokbench.options import Options
from tokbench.registry import Method, Registry
from tokbench.vocabulary import Vocabulary


class Segmenter(Protocol):
    """Cuts pre-tokens into tokens. Safe to call from several threads; kernels release the interpreter's lock."""

    def segment(
        self, data: NDArray[np.uint8], offsets: NDArray[np.int64]
    ) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        """Segment n pre-tokens.

        Args:
            data: uint8 [bytes], the pre-tokens laid end to end.
            offsets: int64 [n + 1], where each starts; the last entry is where the last one ends.

        Returns:
            ids: int32 [tokens], the segmentations laid end to end.
            bounds: int64 [n + 1], where each pre-token's ids start; ``bounds[0]`` is 0.
        """
        ...


class Segment(Protocol):
    """How a segmentation is called: once for a vocabulary and an instance of its class of options."""

    def __call__(self, vocabulary: Vocabulary, options: Any) -> Segmenter: ...


Needs = Literal["merges", "scores", "events"]


@dataclass(frozen=True, kw_only=True, repr=False)
class Segmentation(Method):
    """A method that cuts pre-tokens.

    Attributes:
        needs: what it takes from the vocabulary beyond the tokens; None where they are all it takes.
        continuation: whether it tells tokens at the start of a pre-token from those inside.
    """

    function: Segment
    needs: Needs | None = None
    continuation: bool = False


segmentations: Registry[Segmentation] = Registry("segmentation", "tokbench.segmentation", Segment)

Function = TypeVar("Function", bound=Callable[..., Segmenter])


def segmentation(
    name: str,
    *,
    options: type[Options] = Options,
    needs: Needs | None = None,
    continuation: bool = False,
    cites: tuple[str, ...] | None = None,
) -> Callable[[Function], Function]:
    """Register a segmentation; the arguments are the attributes of :class:`Segmentation`.

    Raises:
        TokbenchError: the name is none, ``needs`` is nothing that a vocabulary has, or the function does not fit
            :class:`Segment`.
    """
    segmentations.check_name(name)

    def decorate(function: Function) -> Function:
        known = needs is None or needs in get_args(Needs)
        segmentations.check(
            known, name, f"it needs {needs!r}; choose among {', '.join(get_args(Needs))}, or leave it out"
        )
        segmentations.add(
            Segmentation(
                name=name, function=function, options=options, needs=needs, continuation=continuation, cites=cites
            )
        )
        return function

    return decorate


def reject_continuation(vocabulary: Vocabulary, segmentation: str) -> None:
    """Reject a vocabulary that tells tokens inside a pre-token from those at its start, for methods that do not.

    Raises:
        TokbenchError: the vocabulary has ``continuation``.
    """
    if vocabulary.continuation is not None:
        raise TokbenchError(
            f"segmentation '{segmentation}': the vocabulary's tokens have continuation forms, which this method "
            "does not tell apart; use 'longest_prefix'"
        )
