"""``sentencepiece``: trainers of BPE and Unigram, which read a file line by line.

Normalisation and the space before the text are off, and pieces may contain everything that GPT-2's pattern keeps
together. It has no option for the remaining differences from that pattern.
"""

from collections.abc import Sequence
from pathlib import Path

import sentencepiece

LONGEST_LINE = 1 << 24


def _train(path: Path, model: str, size: int) -> int:
    prefix = path.with_name(f"sentencepiece_{model}")
    sentencepiece.SentencePieceTrainer.train(
        input=str(path),
        model_prefix=str(prefix),
        model_type=model,
        vocab_size=size,
        character_coverage=0.9999,
        byte_fallback=True,
        normalization_rule_name="identity",
        add_dummy_prefix=False,
        remove_extra_whitespaces=False,
        max_sentence_length=LONGEST_LINE,
        num_threads=1,
        minloglevel=2,
    )
    return size


def train_bpe(path: Path, _documents: Sequence[str], size: int) -> int:
    return _train(path, "bpe", size)


def train_unigram(path: Path, _documents: Sequence[str], size: int) -> int:
    return _train(path, "unigram", size)
