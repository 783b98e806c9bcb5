"""From what is given to be encoded to the rows of a batch: texts, pairs and words, and what truncation leaves."""

from collections.abc import Callable, Iterator, Sequence
from itertools import product
from typing import Any

from tokbench.adapters.encoded import Encoded, Source, Window
from tokbench.adapters.windows import Truncation, lengths, windows
from tokbench.errors import TokbenchError


def is_batch(text: Any, worded: bool) -> bool:
    """Return whether an argument is several samples, and not one.

    Args:
        text: a text, the words of one, or a list of either.
        worded: whether texts are given as their words.
    """
    if worded:
        text = text[0] if isinstance(text, list | tuple) and text else None
    return isinstance(text, list | tuple)


def samples_of(texts: Sequence[Any], pairs: Any) -> Sequence[Any]:
    """Return the samples of a batch: its texts, each with its pair where there are pairs.

    Raises:
        TokbenchError: the pairs are not a list of the same length.
    """
    if pairs is None:
        return texts
    if not isinstance(pairs, list | tuple) or len(pairs) != len(texts):
        raise TokbenchError(f"text_pair: {pairs!r:.60} is not a list of {len(texts)} texts; pass a pair for each text")
    return list(zip(texts, pairs, strict=True))


def texts_of(sample: Any, worded: bool) -> list[list[str]]:
    """The text of a sample, or the two of a pair, each as the list of its words or as the only one of its list.

    Raises:
        TokbenchError: it is neither a text, nor two, nor, where it should be split, words.
    """
    pair = isinstance(sample, list | tuple) and (not worded or bool(sample and isinstance(sample[0], list | tuple)))
    texts = list(sample) if pair else [sample]
    if not worded:
        texts = [[text] for text in texts]
    flat = [word for text in texts if isinstance(text, list | tuple) for word in text]
    if (
        not 1 <= len(texts) <= 2
        or not all(isinstance(text, list | tuple) for text in texts)
        or any(not isinstance(word, str) for word in flat)
    ):
        raise TokbenchError(
            f"{sample!r:.60} is no text, nor a pair of texts; give text, or words and is_split_into_words"
        )
    return texts


def rows_of(
    sources: list[Source], spell: Callable[[list[int]], list[str]], truncation: Truncation | None
) -> Iterator[Encoded]:
    """What is left of a text, or of a pair, and then the windows of what was cut off.

    All windows of the first text past its own come before those of the second alone, as in ``tokenizers``.

    Args:
        sources: the text, or the two of a pair.
        spell: from ids to tokens.
        truncation: None leaves everything.

    Raises:
        TokbenchError: as :func:`tokbench.adapters.windows.lengths`.
    """
    sizes = [len(source.ids) for source in sources]
    left = lengths(sizes, truncation) if truncation else sizes
    each = []
    for number, (source, size, kept) in enumerate(zip(sources, sizes, left, strict=True)):
        spans = windows(size, kept, truncation) if truncation else [(0, size)]
        each.append([Window(source, *span, number) for span in spans])
    yield Encoded(tuple(found[0] for found in each), spell)
    places = product(*(range(len(found)) for found in each))
    for place in sorted(places, key=lambda place: (place[0] == 0, place)):
        if any(place):
            yield Encoded(tuple(found[one] for found, one in zip(each, place, strict=True)), spell)
