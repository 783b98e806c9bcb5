"""Truncation as the ``tokenizers`` library does it: how long a pair's two texts may be, and the windows of one."""

from collections.abc import Sequence
from dataclasses import dataclass

from tokbench.errors import TokbenchError


@dataclass(frozen=True)
class Truncation:
    """How texts are cut.

    Attributes:
        strategy: ``longest_first``, ``only_first`` or ``only_second``.
        most: tokens of a text and its pair together.
        stride: tokens that neighbouring windows share.
        left: whether the end is kept instead of the beginning.

    Raises:
        TokbenchError: windows share all their tokens.
    """

    strategy: str
    most: int
    stride: int = 0
    left: bool = False

    def __post_init__(self) -> None:
        if self.stride and self.stride >= self.most:
            raise TokbenchError(f"stride {self.stride} leaves nothing of max_length {self.most}; give a smaller one")


def lengths(sizes: Sequence[int], truncation: Truncation) -> Sequence[int]:
    """How many tokens are left of a text, or of the two of a pair, of as many tokens as ``sizes`` says.

    Raises:
        TokbenchError: the one to be cut is shorter than what must go, or there is no second.
    """
    most, strategy = truncation.most, truncation.strategy
    excess = sum(sizes) - most
    if excess <= 0:
        return sizes
    if strategy == "longest_first":
        return [most] if len(sizes) == 1 else _balanced(sizes[0], sizes[1], most)
    if strategy == "only_second" and len(sizes) == 1:
        raise TokbenchError("truncation 'only_second': there is no second text; give pairs, or choose another")
    place = 0 if strategy == "only_first" else 1
    if sizes[place] <= excess and most:
        raise TokbenchError(
            f"truncation '{strategy}': the text has {sizes[place]} tokens and {excess} must go; choose 'longest_first'"
        )
    return [max(0, size - excess) if number == place else size for number, size in enumerate(sizes)]


def _balanced(first: int, second: int, most: int) -> tuple[int, int]:
    """What is left where the longer one is cut before the other."""
    short, long = sorted((first, second))
    long = short if short > most else max(short, most - short)
    if short + long > most:
        short = most // 2
        long = short + most % 2
    return (long, short) if first > second else (short, long)


def windows(size: int, most: int, truncation: Truncation) -> list[tuple[int, int]]:
    """Where each window of a text starts and ends, the one that is kept first.

    Args:
        size: tokens of the text.
        most: tokens of a window; what is shorter is one window.
        truncation: the stride, and which end is kept.
    """
    if size <= most:
        return [(0, size)]
    if not most:
        return [(0, 0), (0, size)]
    step = most - truncation.stride
    starts = range(0, size - most + step, step)
    if truncation.left:
        return [(max(0, size - start - most), size - start) for start in starts]
    return [(start, min(start + most, size)) for start in starts]
