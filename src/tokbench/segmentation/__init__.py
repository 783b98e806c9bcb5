"""Segmentation: one module per method of cutting a pre-token into tokens.

A segmentation is a function ``(vocabulary, options) -> Segmenter``, registered under its name. ``needs`` names what
it takes from the vocabulary beyond the tokens: ``"merges"``, ``"scores"`` or nothing.
"""

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from tokbench.options import Options
from tokbench.registry import Registry


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


segmentations = Registry("segmentation", "tokbench.segmentation", "tokbench.segmentation")


def segmentation(
    name: str, *, options: type[Options] = Options, needs: str | None = None
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register a segmentation method; ``needs`` is None, "merges" or "scores"."""
    return segmentations.register(name, options=options, needs=needs)
