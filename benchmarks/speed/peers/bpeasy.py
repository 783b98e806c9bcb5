"""``bpeasy``: trainer of BPE."""

from collections.abc import Sequence
from pathlib import Path

import bpeasy

from benchmarks.speed.peers import GPT2

LONGEST_TOKEN = 1 << 16


def train_bpe(_path: Path, documents: Sequence[str], size: int) -> int:
    return len(bpeasy.train_bpe(iter(documents), GPT2, LONGEST_TOKEN, size))
