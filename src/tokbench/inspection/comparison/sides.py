"""The two tokenizers of a comparison: the sizes at which they are compared, and their labels."""

from collections.abc import Sequence

from tokbench.errors import TokbenchError
from tokbench.inspection.comparison.named_tokenizers import NamedTokenizer

Sizes = Sequence[tuple[int, int]]
"""Pairs of vocabulary sizes of a and b to compare."""


def matched(a: NamedTokenizer, b: NamedTokenizer) -> list[tuple[int, int]]:
    """Return the sizes of a and b to compare: those that both have, or the single size of each.

    Raises:
        TokbenchError: they share none, or are the same tokenizer.
    """
    shared = sorted(a.folders.keys() & b.folders.keys())
    if shared and all(a.folders[size] == b.folders[size] for size in shared):
        raise TokbenchError(f"{a.name} and {b.name} are the same tokenizer; name another")
    if shared:
        return [(size, size) for size in shared]
    if len(a.folders) == len(b.folders) == 1:
        return [(next(iter(a.folders)), next(iter(b.folders)))]
    message = " and ".join(f"{side.name} has {', '.join(map(str, side.folders))}" for side in (a, b))
    raise TokbenchError(f"no vocabulary size in common: {message}; name one size of each, as in {a.name}/SIZE")


def unequal(a: NamedTokenizer, b: NamedTokenizer, sizes: Sizes) -> dict[tuple[int, int], tuple[int, int]]:
    """Return the sizes of a and b at which their numbers of tokens differ, with these numbers.

    Two tokenizers of one nominal size may differ, since a text may yield fewer tokens than requested. External files
    are excluded, as they do not contain the number.
    """
    tokens = {(size_a, size_b): (a.tokens(size_a), b.tokens(size_b)) for size_a, size_b in sizes}
    return {
        pair: (of_a, of_b)
        for pair, (of_a, of_b) in tokens.items()
        if of_a is not None and of_b is not None and of_a != of_b
    }


def distinct(a: NamedTokenizer, b: NamedTokenizer) -> tuple[str, str]:
    """Return labels of the two: their names, with sizes or full paths if the names are equal."""
    if a.name != b.name:
        return a.name, b.name
    sized = tuple(f"{side.name}/{next(iter(side.folders))}" for side in (a, b))
    full = tuple(str(next(iter(side.folders.values()))) for side in (a, b))
    first, second = sized if sized[0] != sized[1] else full
    return first, second


def size_label(size_a: int, size_b: int) -> str:
    """Return the label of a comparison at a size of a and one of b; 0 is a tokenizer without a size."""
    if not size_a or not size_b:
        return "tokens"
    return f"{size_a:,}" if size_a == size_b else f"{size_a:,} against {size_b:,}"
