"""The schedule of the learning rate: a linear rise, then half a cosine."""

from math import cos, pi


def rate(batch: int, batches: int, warmup: float, last: float) -> float:
    """Share of the highest learning rate that a batch is trained with: as a number from 0 to 1.

    Args:
        batch: its number, from 0.
        batches: batches of the training.
        warmup: share of them in which the rate rises; the first is trained with a rate above 0, the last of them with
            the highest.
        last: the last batch's share of the highest rate.
    """
    rising = int(warmup * batches)
    if batch < rising:
        return (batch + 1) / rising
    fallen = (batch + 1 - rising) / (batches - rising)
    return last + (1.0 - last) * (1.0 + cos(pi * fallen)) / 2.0
