"""``rustbpe``: trainer of BPE."""

from collections.abc import Sequence
from pathlib import Path

import rustbpe

from benchmarks.speed.peers import GPT2


def train_bpe(_path: Path, documents: Sequence[str], size: int) -> int:
    tokenizer = rustbpe.Tokenizer()
    tokenizer.train_from_iterator(iter(documents), size, pattern=GPT2)
    return int(tokenizer.vocab_size)
