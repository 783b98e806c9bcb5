"""Plain-Python Zipf measures, for tests of :mod:`tokbench.metric.zipf`."""

from collections.abc import Iterable
from math import log


def zipf_measures(frequencies: Iterable[int], log_rank: float = 6.0) -> tuple[int, float, float]:
    """Return the number of tokens in use, and slope and mean absolute deviation of ln(frequency) over ln(rank)."""
    used = sorted((number for number in frequencies if number), reverse=True)
    points = [(log(rank), log(number)) for rank, number in enumerate(used, 1) if log(rank) <= log_rank]
    mean_x = sum(x for x, _ in points) / len(points)
    mean_y = sum(y for _, y in points) / len(points)
    slope = sum((x - mean_x) * (y - mean_y) for x, y in points) / sum((x - mean_x) ** 2 for x, _ in points)
    deviations = [abs(y - mean_y - slope * (x - mean_x)) for x, y in points]
    return len(used), slope, sum(deviations) / len(deviations)
