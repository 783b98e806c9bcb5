"""A language that is translated word by word, and the smallest model of translation."""

import numpy as np

from tokbench.translation.options import PRESETS

WORDS = {"one": "eins", "two": "zwei", "red": "rot", "cat": "Katze", "dog": "Hund", "sees": "sieht"}
TINY = PRESETS["tiny"]


def sentences(number: int) -> list[tuple[str, str]]:
    """Pairs that are translated word by word."""
    drawn = np.random.default_rng(0).choice(list(WORDS), (number, 4))
    return [(" ".join(words), " ".join(WORDS[word] for word in words)) for words in drawn]
