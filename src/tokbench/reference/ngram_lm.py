"""The interpolated byte n-gram model, straight from its formula."""

from collections import Counter, defaultdict
from math import log


def followers(documents: list[bytes], order: int) -> dict[bytes, Counter[int]]:
    """How often each byte follows each context of up to ``order - 1`` bytes."""
    found: dict[bytes, Counter[int]] = defaultdict(Counter)
    for text in documents:
        for i, byte in enumerate(text):
            for width in range(min(i, order - 1) + 1):
                found[text[i - width : i]][byte] += 1
    return found


def distribution(found: dict[bytes, Counter[int]], context: bytes) -> list[float]:
    """p(byte | context) of each of the 256 bytes."""
    shorter = [1 / 256] * 256 if not context else distribution(found, context[1:])
    if context not in found:
        return shorter
    seen = found[context]
    total, different = sum(seen.values()), len(seen)
    return [(seen[byte] + different * shorter[byte]) / (total + different) for byte in range(256)]


def score(documents: list[bytes], order: int, text: bytes) -> tuple[list[float], list[float]]:
    """Surprisal and entropy of each byte, in nats."""
    found = dict(followers(documents, order))
    drawn = [distribution(found, text[max(0, i - order + 1) : i]) for i in range(len(text))]
    return [-log(p[byte]) for p, byte in zip(drawn, text, strict=True)], [-sum(q * log(q) for q in p) for p in drawn]
