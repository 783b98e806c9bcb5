"""Numbers: places where tokens split digits, how consistently they do, and tokens per digit.

Definitions of TokEval (tokenizer-intrinsic-evals). A number is a longest run of decimal digits, of L digits. A token
boundary between digit k and k + 1 is the split k. Three-digit splits are L - 3, L - 6, ... above 0. A number with bytes
in no token is left out. In a document that is not UTF-8, only the digits 0 to 9 are read.

Reference: the tests spell out every number digit by digit.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from math import fsum, log2, sqrt

import numpy as np
import regex
from numpy.typing import NDArray

from tokbench.kernels.exact import correlation, exact_sum
from tokbench.metric import Shown, metric
from tokbench.metric.documents import Documents, TokenizedDocument
from tokbench.metric.measurement import Measurement, ratio
from tokbench.options import Options

LONGEST = 10
"""Numbers of this many digits or more are one class."""
CLASSES = (*range(4, LONGEST), LONGEST)
"""Classes of length that have rows of their own; shorter numbers have no three-digit split."""
DIGITS, ASCII_DIGITS = regex.compile(r"\d+"), regex.compile(rb"[0-9]+")
NO_NUMBER = "no number of the text has all its bytes in tokens"
SHORT = 3
Splits = Counter[tuple[int, tuple[int, ...], int]]
"""Numbers by their digits, their splits and the number of tokens with bytes of them."""
LENGTHS = "over numbers of 1 to 9 digits and of 10 or more"
MAGNITUDE = {
    "correlation": f"Spearman's correlation of digits and tokens per digit, {LENGTHS}",
    "variation": f"standard deviation of tokens per digit / mean, {LENGTHS}",
    "slope": f"slope of tokens on digits by least squares, {LENGTHS}",
    "r2": "share of variance of that line",
}
BY_DIGITS = {
    "digit_split_entropy": "entropy of splits",
    "digit_split_agreement": "split as most",
    "digit_split_patterns": "different splits",
    "tokens_per_digit": "tokens per digit",
}
"""Columns of the measurements of each number of digits."""


class NumberOptions(Options):
    ascii_only: bool = False
    """Whether only 0 to 9 are digits. Default: all decimal digits of Unicode."""


def numbers_in(document: TokenizedDocument, ascii_only: bool) -> tuple[list[list[int]], int]:
    """Return the start of each digit and the end of each number in bytes, and the number of those left out."""
    places: list[list[int]]
    try:
        text = None if ascii_only else document.text.decode()
    except UnicodeDecodeError:
        text = None
    if text is None or text.isascii() or not any(DIGITS.match(letter) for letter in set(text) if letter > "\x7f"):
        spans = (match.span() for match in ASCII_DIGITS.finditer(document.text))
        places = [list(range(start, end + 1)) for start, end in spans]
    else:
        data = np.frombuffer(document.text, np.uint8)
        starts = np.append(np.flatnonzero(data & 0xC0 != 0x80), len(data))
        places = [starts[match.start() : match.end() + 1].tolist() for match in DIGITS.finditer(text)]
    if not places:
        return [], 0
    edges = np.array([(digits[0], digits[-1]) for digits in places], np.int64)
    covered = document.are_covered(edges[:, 0], edges[:, 1]).tolist()
    complete = [digits for digits, whole in zip(places, covered, strict=True) if whole]
    return complete, len(places) - len(complete)


def count_splits(documents: Iterable[TokenizedDocument], ascii_only: bool = False) -> tuple[Splits, int]:
    """Return the splits of all numbers, and the number of numbers that are left out."""
    splits: Splits = Counter()
    left_out = 0
    for document in documents:
        places, lost = numbers_in(document, ascii_only)
        left_out += lost
        if not places:
            continue
        edges = np.array([(digits[0], digits[-1]) for digits in places], np.int64)
        tokens = np.diff(document.token_ranges(edges[:, 0], edges[:, 1]), axis=1)[:, 0].tolist()
        inner = np.fromiter((place for digits in places for place in digits[1:-1]), np.int64)
        split = iter(document.are_borders(inner).tolist())
        for digits, touched in zip(places, tokens, strict=True):
            cut = tuple(k for k in range(1, len(digits) - 1) if next(split))
            splits[len(digits) - 1, cut, touched] += 1
    return splits, left_out


def three_digit_scores(digits: int, cut: Iterable[int]) -> tuple[float, float, float]:
    """Return precision, recall and F1 of the splits of a number; all are 1 if it has none and needs none."""
    ideal, actual = set(range(digits - 3, 0, -3)), set(cut)
    if not ideal and not actual:
        return 1.0, 1.0, 1.0
    common = len(ideal & actual)
    precision = common / len(actual) if actual else 1.0
    recall = common / len(ideal) if ideal else 1.0
    return precision, recall, 2 * common / (len(ideal) + len(actual))


def split_entropy(patterns: Mapping[tuple[int, ...], int]) -> float:
    """Return the entropy of splits in bits."""
    total = sum(patterns.values())
    return -fsum(count / total * log2(count / total) for count in patterns.values()) + 0.0


def _length_name(length: int) -> str:
    return f"{length} digits or more" if length == LONGEST else f"{length} digit{'s' * (length > 1)}"


def _three_digits(splits: Splits) -> Iterator[Measurement]:
    totals = np.zeros(3)
    sums = dict.fromkeys((*range(1, 4), *CLASSES), 0.0)
    counts = dict.fromkeys(sums, 0)
    for (digits, cut, _), number in splits.items():
        scores = three_digit_scores(digits, cut)
        totals += np.array(scores) * number
        sums[min(digits, LONGEST)] += scores[2] * number
        counts[min(digits, LONGEST)] += number
    for name, total in zip(("precision", "recall", "F1"), totals.tolist(), strict=True):
        definition = f"mean {name} of the splits of a number against three-digit splits"
        yield ratio(f"three_digit_{name.lower()}", definition, total, splits.total(), NO_NUMBER)
    for length in CLASSES:
        definition = f"mean F1 of the splits of a number of {_length_name(length)} against three-digit splits"
        none = f"the text has no number of {_length_name(length)}"
        yield ratio("three_digit_f1", definition, sums[length], counts[length], none)


def _consistency(splits: Splits) -> Iterator[Measurement]:
    patterns: defaultdict[int, Counter[tuple[int, ...]]] = defaultdict(Counter)
    for (digits, cut, _), number in splits.items():
        patterns[digits][cut] += number
    for name, chosen in (
        (f"up to {SHORT} digits", [pattern for digits, pattern in patterns.items() if digits <= SHORT]),
        (f"more than {SHORT} digits", [pattern for digits, pattern in patterns.items() if digits > SHORT]),
    ):
        total = sum(split_entropy(pattern) * pattern.total() for pattern in chosen)
        definition = f"entropy in bits of the splits of a number of {name}, given its digits"
        number = sum(pattern.total() for pattern in chosen)
        yield ratio("digit_split_entropy", definition, total, number, f"the text has no number of {name}")
    dominant = sum(max(pattern.values()) for pattern in patterns.values())
    definition = "numbers split as most numbers of as many digits are / numbers"
    yield ratio("digit_split_agreement", definition, dominant, splits.total(), NO_NUMBER)


def _by_digits(splits: Splits) -> Iterator[Measurement]:
    """Yield the measurements of each number of digits that the text has."""
    for length in sorted({min(digits, LONGEST) for digits, _, _ in splits}):
        patterns: defaultdict[int, Counter[tuple[int, ...]]] = defaultdict(Counter)
        number = all_digits = touched = 0
        # Add up the numbers of this class of length.
        for (digits, cut, tokens), count in splits.items():
            if min(digits, LONGEST) == length:
                patterns[digits][cut] += count
                number, all_digits, touched = (
                    number + count,
                    all_digits + digits * count,
                    touched + tokens * count,
                )
        name = _length_name(length)
        # A number of one digit cannot be split.
        if length > 1:
            total = sum(split_entropy(pattern) * pattern.total() for pattern in patterns.values())
            yield Measurement(
                "digit_split_entropy", f"entropy in bits of the splits of numbers of {name}", total / number, number
            )
            dominant = sum(max(pattern.values()) for pattern in patterns.values())
            definition = f"numbers of {name} split as most of as many digits are / those numbers"
            yield Measurement("digit_split_agreement", definition, dominant / number, number)
            distinct = float(sum(map(len, patterns.values())))
            yield Measurement("digit_split_patterns", f"different splits of numbers of {name}", distinct, number)
        yield Measurement(
            "tokens_per_digit",
            f"tokens with bytes of numbers of {name} / digits",
            touched / all_digits,
            all_digits,
        )


def tokens_by_length(splits: Splits) -> tuple[list[float], list[float]]:
    """Return mean digits and mean tokens of the numbers of each class of length, in order."""
    sums: defaultdict[int, list[int]] = defaultdict(lambda: [0, 0, 0])
    for (digits, _, tokens), number in splits.items():
        sums_of_class = sums[min(digits, LONGEST)]
        sums_of_class[0] += digits * number
        sums_of_class[1] += tokens * number
        sums_of_class[2] += number
    ordered = [sums[length] for length in sorted(sums)]
    return [digits / number for digits, _, number in ordered], [tokens / number for _, tokens, number in ordered]


def average_ranks(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the rank of each value, from 1; equal values share the mean of their ranks."""
    _, places, counts = np.unique(values, return_inverse=True, return_counts=True)
    return np.asarray((np.cumsum(counts) - (counts - 1) / 2)[places])


def magnitude(digits: list[float], tokens: list[float]) -> dict[str, float | None]:
    """Return how tokens per digit depend on the digits of a number, over classes of length.

    Returns:
        ``correlation`` (Spearman's, of digits and tokens per digit), ``variation`` (population standard deviation of
        tokens per digit / mean), ``slope`` and ``r2`` (least squares of tokens on digits). None without two classes, or
        if the values are all equal where they may not be.
    """
    if len(digits) < 2:
        return dict.fromkeys(("correlation", "variation", "slope", "r2"))
    x, y = np.array(digits, np.float64), np.array(tokens, np.float64)
    rates = y / x
    centred, rest = x - exact_sum(x) / len(x), y - exact_sum(y) / len(y)
    slope = exact_sum(centred * rest) / exact_sum(centred * centred)
    vary = len(set(rates.tolist())) > 1
    mean = exact_sum(rates) / len(rates)
    residual, variation = (exact_sum(np.asarray(part**2, np.float64)) for part in (rest - slope * centred, rest))
    return {
        "correlation": correlation(average_ranks(x), average_ranks(rates))[0] if vary else None,
        "variation": sqrt(exact_sum(np.asarray((rates - mean) ** 2, np.float64)) / len(rates)) / mean,
        "slope": slope,
        "r2": 1 - residual / variation if variation else None,
    }


def _magnitude(splits: Splits) -> Iterator[Measurement]:
    all_digits = sum(digits * number for (digits, _, _), number in splits.items())
    touched = sum(tokens * number for (_, _, tokens), number in splits.items())
    yield ratio("tokens_per_digit", "tokens with bytes of a number / digits", touched, all_digits, NO_NUMBER)
    digits, tokens = tokens_by_length(splits)
    reason = NO_NUMBER if not splits else "the text has numbers of one length only, or their tokens do not vary"
    for name, value in magnitude(digits, tokens).items():
        metric_name, definition = f"tokens_per_digit_{name}", MAGNITUDE[name]
        if value is None:
            yield Measurement(metric_name, definition, None, 0, reason)
        else:
            yield Measurement(metric_name, definition, value, len(digits))


@metric(
    "numbers",
    options=NumberOptions,
    of="documents",
    cites=(),
    shown=(
        Shown("three_digit_f1", "numbers", "three-digit splits, F1", "of a number against"),
        Shown("three_digit_f1", "numbers", "F1 of longer numbers", "of a number of"),
        Shown("three_digit_precision", "numbers", "precision"),
        Shown("three_digit_recall", "numbers", "recall"),
        Shown("digit_split_entropy", "numbers", "entropy of splits", "given its digits"),
        Shown("digit_split_agreement", "numbers", "split as most", "numbers split as"),
        Shown("tokens_per_digit", "numbers", "", "of a number / digits"),
        Shown("tokens_per_digit_correlation", "numbers", "correlation of digits and tokens per digit"),
        Shown("tokens_per_digit_variation", "numbers", "variation of tokens per digit"),
        Shown("tokens_per_digit_slope", "numbers", "tokens for each further digit"),
        Shown("tokens_per_digit_r2", "numbers", "variance of that line (share)"),
        Shown("numbers_left_out", "numbers", "numbers left out"),
        *(
            Shown(name, "numbers", f"{column}, {_length_name(length)}", f"numbers of {_length_name(length)}")
            for length in range(1, LONGEST + 1)
            for name, column in BY_DIGITS.items()
        ),
    ),
)
def numbers(documents: Documents, options: NumberOptions) -> list[Measurement]:
    """Return agreement of digit splits with groups of three, entropy of splits, and tokens per digit."""
    splits, left_out = count_splits(documents, options.ascii_only)
    rows = [*_three_digits(splits), *_consistency(splits), *_magnitude(splits), *_by_digits(splits)]
    definition = "numbers that are left out, as some of their bytes are in no token"
    return [*rows, Measurement("numbers_left_out", definition, float(left_out), splits.total() + left_out)]
