"""Segmentation methods, which split a pre-token into tokens; one module per method."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeVar, get_args

import numpy as np
from numpy.typing import NDArray

from tokbench.errors import TokbenchError
from tokbench.registry import Method, Registry
from tokbench.vocabulary import Vocabulary

if TYPE_CHECKING:
    from tokbench.options import Options

Needs = Literal["merges", "scores", "events", "substring_counts", "tuples", "supermerges"]


class Segmenter(Protocol):
    """Splits pre-tokens into tokens. Thread-safe; kernels release the GIL."""

    def segment(
        self, data: NDArray[np.uint8], offsets: NDArray[np.int64]
    ) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        """Segment n pre-tokens: any, or all of one document in order if the method segments documents.

        Args:
            data: uint8 [bytes], concatenated pre-tokens.
            offsets: int64 [n + 1], start of each pre-token; the last entry is the end of the last one.

        Returns:
            ids: int32 [tokens], concatenated segmentations.
            bounds: int64 [n + 1], start of each pre-token's ids; ``bounds[0]`` is 0. Only 0 and the number of tokens
                if the method segments documents.
        """
        ...


class Segment(Protocol):
    """Signature of a segmentation's function, called once with a vocabulary and an instance of its options.

    The options of a method without a class of options may be None.
    """

    def __call__(self, vocabulary: Vocabulary, options: Any) -> Segmenter: ...


@dataclass(frozen=True, kw_only=True, repr=False)
class Segmentation(Method):
    """Segmentation method.

    Attributes:
        needs: Part of the vocabulary that the method needs in addition to the tokens (default: None).
        continuation: True if tokens at the start of a pre-token differ from tokens inside it (default: False).
        segments_documents: True if tokens may span pre-tokens, so that documents are segmented and not each pre-token
            independently (default: False). The segmenter then receives all pre-tokens of one document per call.
    """

    function: Segment
    needs: Needs | None = None
    continuation: bool = False
    segments_documents: bool = False


segmentations: Registry[Segmentation] = Registry("segmentation", "tokbench.segmentation", Segment)

Function = TypeVar("Function", bound=Callable[..., Segmenter])


def segmentation(
    name: str,
    *,
    options: "type[Options] | None" = None,
    needs: Needs | None = None,
    continuation: bool = False,
    segments_documents: bool = False,
    cites: tuple[str, ...] | None = None,
) -> Callable[[Function], Function]:
    """Register a segmentation. The arguments are the attributes of :class:`Segmentation`.

    Raises:
        TokbenchError: the name is invalid, ``needs`` is not a part of a vocabulary, or the function does not have the
            signature of :class:`Segment`.
    """
    segmentations.check_name(name)

    def decorate(function: Function) -> Function:
        known = needs is None or needs in get_args(Needs)
        segmentations.check(
            known, name, f"it needs {needs!r}; choose among {', '.join(get_args(Needs))}, or leave it out"
        )
        segmentations.add(
            Segmentation(
                name=name,
                function=function,
                options_class=options,
                needs=needs,
                continuation=continuation,
                segments_documents=segments_documents,
                cites=cites,
            )
        )
        return function

    return decorate


def with_added_tokens(segmenter: Segmenter, vocabulary: Vocabulary, segmentation: str) -> Segmenter:
    """Return a segmenter that does not split a pre-token that is an added token; the same one if there are none.

    Raises:
        TokbenchError: the vocabulary has added tokens, and the segmentation has no kernel.
    """
    if vocabulary.added is None or not vocabulary.added.any():
        return segmenter
    from tokbench.kernels.added import AddedSegmenter
    from tokbench.kernels.segmenter import PretokenSegmenter
    from tokbench.kernels.trie import Trie

    if not isinstance(segmenter, PretokenSegmenter):
        raise TokbenchError(
            f"segmentation '{segmentation}': has no kernel, so it cannot keep the vocabulary's added tokens; "
            "use another one"
        )
    return AddedSegmenter(segmenter, Trie(*vocabulary.flat(), vocabulary.added))


def reject_continuation(vocabulary: Vocabulary, segmentation: str) -> None:
    """Reject a vocabulary with continuation tokens, for methods that do not support them.

    Raises:
        TokbenchError: the vocabulary has ``continuation``.
    """
    if vocabulary.continuation is not None:
        raise TokbenchError(
            f"segmentation '{segmentation}': the vocabulary's tokens have continuation forms, which this method "
            "does not support; use 'longest_prefix'"
        )
