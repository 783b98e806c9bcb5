"""Plain-Python reference of stable orders."""

from collections.abc import Sequence


def descending(values: Sequence[float]) -> list[int]:
    """Places of numbers from the greatest down, equal ones as they stand."""
    return sorted(range(len(values)), key=lambda place: -values[place])


def ascending(first: Sequence[int], second: Sequence[int]) -> list[int]:
    """Places of pairs of numbers, by the first, then by the second, equal ones as they stand."""
    return sorted(range(len(first)), key=lambda place: (first[place], second[place]))


def by_bytes(strings: Sequence[bytes], places: Sequence[int]) -> list[int]:
    """Places of strings in byte order, the same ones as they stand."""
    return sorted(places, key=strings.__getitem__)
