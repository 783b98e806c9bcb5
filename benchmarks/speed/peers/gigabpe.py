"""``gigabpe``: trainer of BPE, which reads files line by line."""

from collections.abc import Sequence
from pathlib import Path

import gigabpe


def train_bpe(path: Path, _documents: Sequence[str], size: int) -> int:
    vocabulary, _ = gigabpe.train_bpe([str(path)], vocab_size=size, pretokenizer="bytelevel", threads=1)
    return len(vocabulary)
