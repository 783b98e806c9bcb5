"""Metrics of documents, counted byte by byte: alignment of tokens with syntax, words of a segmenter, parallel text."""

from collections.abc import Sequence
from fractions import Fraction

Span = tuple[int, int]


def alignment(text: bytes, tokens: Sequence[bytes], leaves: Sequence[Span], *, drop: bool) -> list[tuple[bool, bool]]:
    """Return for each leaf of syntax whether a token begins at its start, and whether one ends at its end.

    Args:
        text: the text.
        tokens: its tokens, in order; together they are the text.
        leaves: start and end of each leaf.
        drop: True if tokens lose their first space.

    >>> alignment(b'a bc', [b'a', b' b', b'c'], [(0, 1), (2, 4)], drop=True)
    [(True, True), (True, True)]
    """
    owners: list[int] = []
    for number, token in enumerate(tokens):
        owners += [number] * len(token)
    if drop:
        place = 0
        for token in tokens:
            if token.startswith(b" "):
                owners[place] = -1 - place
            place += len(token)
    return [
        (
            start == 0 or owners[start] != owners[start - 1],
            end == len(text) or owners[end] != owners[end - 1],
        )
        for start, end in leaves
    ]


def tokens_of_spans(tokens: Sequence[bytes], spans: Sequence[Span]) -> list[int]:
    """Return the number of tokens with bytes of each span.

    >>> tokens_of_spans([b'a', b' b', b'c'], [(0, 1), (2, 4)])
    [1, 2]
    """
    owners = [number for number, token in enumerate(tokens) for _ in token]
    return [len(set(owners[start:end])) for start, end in spans]


def premiums(documents: Sequence[tuple[str, bytes, int]], reference: str) -> dict[str, float] | None:
    """Return tokens per line of each language relative to a reference; None if languages have different lines.

    Args:
        documents: language, text and number of tokens of each document.
        reference: language that the others are divided by.

    >>> premiums([('en', b'the sea', 2), ('de', b'das Meer', 3)], 'en')
    {'de': 1.5, 'en': 1.0}
    """
    languages = sorted({language for language, _, _ in documents})
    lines: dict[str, list[bytes]] = {language: [] for language in languages}
    tokens = dict.fromkeys(languages, 0)
    for language, text, count in documents:
        lines[language] += [line for line in text.split(b"\n") if line.strip()]
        tokens[language] += count
    if len(set(map(len, lines.values()))) > 1:
        return None
    costs = {language: tokens[language] / len(lines[language]) for language in languages}
    return {language: cost / costs[reference] for language, cost in costs.items()}


def normalised_length(tokens: Sequence[int], of_baseline: Sequence[int]) -> tuple[Fraction, Fraction]:
    """Return tokens / tokens of a baseline: of all documents, and the mean over documents.

    >>> normalised_length([2, 3], [4, 4])
    (Fraction(5, 8), Fraction(5, 8))
    """
    ratios = [Fraction(count, baseline) for count, baseline in zip(tokens, of_baseline, strict=True) if baseline]
    return Fraction(sum(tokens), sum(of_baseline)), sum(ratios, Fraction()) / len(ratios)
