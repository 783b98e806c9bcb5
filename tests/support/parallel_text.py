"""Sentence pairs translated word by word, parallel corpora and the smallest translation model."""

from pathlib import Path
from typing import Any

import numpy as np

from tokbench.corpus.parallel.sources import ParallelCorpus
from tokbench.options import validated
from tokbench.translation.options import PRESETS

WORDS = {"one": "eins", "two": "zwei", "red": "rot", "cat": "Katze", "dog": "Hund", "sees": "sieht"}
TINY = PRESETS["tiny"]


def sentences(number: int) -> list[tuple[str, str]]:
    """Pairs that are translated word by word."""
    drawn = np.random.default_rng(0).choice(list(WORDS), (number, 4))
    return [(" ".join(words), " ".join(WORDS[word] for word in words)) for words in drawn]


def corpus(folder: Path, pairs: list[tuple[str, str]], **more: Any) -> ParallelCorpus:
    """A corpus of two files of lines; a test is drawn from it unless others are given."""
    for language, side in zip(("en", "de"), zip(*pairs, strict=True), strict=True):
        (folder / f"text.{language}").write_text("".join(f"{line}\n" for line in side), encoding="utf-8")
    path = {language: str(folder / f"text.{language}") for language in ("en", "de")}
    values = {"languages": ["en", "de"], "train": {"type": "lines", "path": path}, "tests": {"held": 1}} | more
    return validated(values, ParallelCorpus, "here")
