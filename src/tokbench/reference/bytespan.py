"""ByteSpan's spans and vocabularies."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from itertools import groupby, pairwise

Form = tuple[bytes, bool]
Documents = Iterable[tuple[bytes, Sequence[float]]]
Boundaries = Callable[[bytes], Sequence[int]]


def cut(text: bytes, start: int, end: int, starts: set[int]) -> list[tuple[int, int, bool]]:
    """Return (start, end, inside a pre-token) of each part of a group, split at pre-token starts.

    A part that follows the space of its word includes the space.
    """
    parts = []
    cuts = [start, *(i for i in range(start + 1, end) if i in starts), end]
    for first, last in pairwise(cuts):
        if first not in starts and first - 1 in starts and text[first - 1 : first] == b" ":
            first -= 1
        if last - first > 1:
            parts.append((first, last, first not in starts))
    return parts


def runs(places: Iterable[int]) -> list[tuple[int, int]]:
    """Return (start, end) of each run of consecutive positions."""
    grouped = groupby(enumerate(sorted(places)), lambda item: item[1] - item[0])
    members = [[position for _, position in group] for _, group in grouped]
    return [(group[0], group[-1] + 1) for group in members]


def find_spans(
    text: bytes,
    signal: Sequence[float],
    bounds: Sequence[int],
    threshold: float = float("-inf"),
    fall: float = 0.0,
    peaks: bool = True,
) -> list[tuple[int, int, bool]]:
    """Return (start, end, inside a pre-token) of each span, split at pre-token starts.

    >>> find_spans(b'abcab', [3.0, 1.0, 1.0, 2.0, 1.0], [0, 5])
    [(0, 2, False), (3, 5, True)]
    """
    starts = set(bounds[:-1])
    if not peaks:
        groups = runs(i for i in range(len(text)) if signal[i] < threshold)
    else:
        tops = [
            i for i in range(len(text)) if i == 0 or not (signal[i] < threshold or signal[i] - signal[i - 1] < fall)
        ]
        groups = [(peak, end) for peak, end in pairwise([*tops, len(text)]) if end - peak > 1]
    return [span for start, end in groups for span in cut(text, start, end, starts)]


def base() -> list[Form]:
    single = [bytes([value]) for value in range(256)]
    return [(byte, False) for byte in single] + [(byte, True) for byte in single] + [(b" " + b, False) for b in single]


def by_count(counts: Counter[Form]) -> list[Form]:
    """Return the forms that are not in the base vocabulary, most frequent first."""
    return sorted((form for form in counts if form not in base()), key=lambda form: (-counts[form], form))


def build(documents: Documents, boundaries: Boundaries, size: int, threshold: float, peaks: bool = True) -> list[Form]:
    """Return (bytes, inside a pre-token) of each token, the base vocabulary first."""
    counts: Counter[Form] = Counter()
    for text, signal in documents:
        for start, end, inside in find_spans(text, signal, boundaries(text), threshold, peaks=peaks):
            counts[text[start:end], inside] += 1
    return [*base(), *by_count(counts)][:size]


def incremental(documents: Documents, boundaries: Boundaries, size: int, least: int, step: int) -> list[Form]:
    """Return the vocabulary of the incremental method: all segments are recomputed after each ``step`` activations."""
    rows = list(documents)
    order = sorted((value, row, i) for row, (_, signal) in enumerate(rows) for i, value in enumerate(signal))
    forms: list[Form] = []
    for done in range(step, len(order) + step, step):
        counts: Counter[Form] = Counter()
        for row, (text, _) in enumerate(rows):
            starts = set(boundaries(text)[:-1])
            for start, end in runs(i for _, at, i in order[:done] if at == row):
                for first, last, inside in cut(text, start, end, starts):
                    counts[text[first:last], inside] += 1
        forms = by_count(Counter({form: count for form, count in counts.items() if count >= least}))
        if 768 + len(forms) >= size:
            break
    return [*base(), *forms][:size]


def bpe(words: list[tuple[bytes, int]], forms: list[Form], size: int, least: int) -> list[Form]:
    """Split words into forms by longest prefix, then merge the most frequent pair. Ties: the lowest ids."""
    forms = list(forms)
    # Words in forms by longest prefix.
    spellings = []
    for word, count in words:
        ids, at = [], 0
        while at < len(word):
            fitting = [form for form in forms if word.startswith(form[0], at) and form[1] == (at > 0)]
            longest = max(fitting, key=lambda form: len(form[0]))
            ids.append(forms.index(longest))
            at += len(longest[0])
        spellings.append((ids, count))
    # Merges of the most frequent pair.
    while len(forms) < size:
        pairs: Counter[tuple[int, int]] = Counter()
        for ids, count in spellings:
            for pair in pairwise(ids):
                pairs[pair] += count
        if not pairs or max(pairs.values()) < least:
            break
        best = min(pairs, key=lambda pair: (-pairs[pair], pair))
        for ids, _ in spellings:
            at = 0
            while at + 1 < len(ids):
                if (ids[at], ids[at + 1]) == best:
                    ids[at : at + 2] = [len(forms)]
                at += 1
        forms.append((forms[best[0]][0] + forms[best[1]][0], forms[best[0]][1]))
    return forms
