"""Plain-Python twin of ByteSpan's spans and of its vocabulary."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise

Form = tuple[bytes, bool]


def find_spans(
    text: bytes, signal: Sequence[float], bounds: Sequence[int], threshold: float = float("-inf"), fall: float = 0.0
) -> list[tuple[int, int, bool]]:
    """(start, end, inside a pre-token) of each span, cut at pre-token starts."""
    starts = set(bounds[:-1])
    peaks = [i for i in range(len(text)) if i == 0 or not (signal[i] < threshold or signal[i] - signal[i - 1] < fall)]
    spans = []
    for peak, end in pairwise([*peaks, len(text)]):
        if end - peak == 1:
            continue
        cuts = [peak, *(i for i in range(peak + 1, end) if i in starts), end]
        for start, stop in pairwise(cuts):
            if start not in starts and start - 1 in starts and text[start - 1 : start] == b" ":
                start -= 1
            if stop - start > 1:
                spans.append((start, stop, start not in starts))
    return spans


def build(
    documents: Iterable[tuple[bytes, Sequence[float]]],
    boundaries: Callable[[bytes], Sequence[int]],
    size: int,
    threshold: float,
) -> list[Form]:
    """(bytes, inside a pre-token) of each token, the base vocabulary first."""
    counts: Counter[Form] = Counter()
    for text, signal in documents:
        for start, end, inside in find_spans(text, signal, boundaries(text), threshold):
            counts[text[start:end], inside] += 1
    single = [bytes([value]) for value in range(256)]
    forms = [(byte, False) for byte in single] + [(byte, True) for byte in single]
    forms += [(b" " + byte, False) for byte in single]
    for form, _ in sorted(counts.items(), key=lambda item: (-item[1], item[0])):
        if form not in forms and len(forms) < size:
            forms.append(form)
    return forms
