"""Hugging Face ``tokenizers``: encoder for BPE; trainers of BPE, WordPiece and Unigram."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer, models, pre_tokenizers, trainers

TEXT = str


def load(folder: Path, name: str) -> Tokenizer:
    return Tokenizer.from_file(str(folder / f"{name}.json"))


def encode(tokenizer: Tokenizer, text: str) -> list[int]:
    return tokenizer.encode_batch_fast([text], add_special_tokens=False)[0].ids


def encode_short(tokenizer: Tokenizer, text: str) -> list[int]:
    return tokenizer.encode(text, add_special_tokens=False).ids


def encode_batch(tokenizer: Tokenizer, texts: Sequence[str], _threads: int) -> list[list[int]]:
    return [encoding.ids for encoding in tokenizer.encode_batch_fast(texts, add_special_tokens=False)]


def decode(tokenizer: Tokenizer, ids: Sequence[int]) -> str:
    return tokenizer.decode(ids)


def _train(path: Path, model: Any, trainer: Any) -> int:
    tokenizer = Tokenizer(model)
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.train([str(path)], trainer)
    return int(tokenizer.get_vocab_size())


def _settings(size: int) -> dict[str, Any]:
    return {"vocab_size": size, "initial_alphabet": pre_tokenizers.ByteLevel.alphabet(), "show_progress": False}


def train_bpe(path: Path, _documents: Sequence[str], size: int) -> int:
    return _train(path, models.BPE(), trainers.BpeTrainer(**_settings(size)))


def train_wordpiece(path: Path, _documents: Sequence[str], size: int) -> int:
    trainer = trainers.WordPieceTrainer(**_settings(size), special_tokens=["[UNK]"])
    return _train(path, models.WordPiece(unk_token="[UNK]"), trainer)


def train_unigram(path: Path, _documents: Sequence[str], size: int) -> int:
    trainer = trainers.UnigramTrainer(**_settings(size), unk_token="<unk>", special_tokens=["<unk>"])
    return _train(path, models.Unigram(), trainer)
