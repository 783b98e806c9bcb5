"""Hugging Face ``tokenizers``: trainers for BPE, WordPiece and Unigram, encoders for all three."""

from itertools import islice
from typing import Any

from tokenizers import Tokenizer, models, pre_tokenizers, trainers

from benchmarks.speed.peers import FIRST
from benchmarks.speed.worker import Job

DOCUMENTS_AT_ONCE = 20
LINES_AT_ONCE = 100


def _train(job: Job, model: Any, trainer: Any) -> int:
    tokenizer = Tokenizer(model)
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    with job.timed():
        tokenizer.train([str(job.text)], trainer)
    return int(tokenizer.get_vocab_size())


def _settings(job: Job) -> dict[str, Any]:
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    return {"vocab_size": job.size, "initial_alphabet": alphabet, "show_progress": False}


def train_bpe(job: Job) -> int:
    return _train(job, models.BPE(), trainers.BpeTrainer(**_settings(job)))


def train_wordpiece(job: Job) -> int:
    trainer = trainers.WordPieceTrainer(**_settings(job), special_tokens=["[UNK]"])
    return _train(job, models.WordPiece(unk_token="[UNK]"), trainer)


def train_unigram(job: Job) -> int:
    trainer = trainers.UnigramTrainer(**_settings(job), unk_token="<unk>", special_tokens=["<unk>"])
    return _train(job, models.Unigram(), trainer)


def count(job: Job) -> int:
    """Count with the word-level trainer, which runs entirely in Rust."""
    return _train(job, models.WordLevel(), trainers.WordLevelTrainer(vocab_size=1 << 31, show_progress=False))


def _encode(job: Job, name: str, texts: list[str], at_once: int) -> int:
    tokenizer = Tokenizer.from_file(f"{job.tokenizer(name)}.json")
    tokenizer.encode_batch_fast([FIRST.decode()], add_special_tokens=False)
    rest = iter(texts)
    tokens = 0
    with job.timed():
        while batch := list(islice(rest, at_once)):
            tokens += sum(map(len, tokenizer.encode_batch_fast(batch, add_special_tokens=False)))
    return tokens


def encode_bpe_documents(job: Job) -> int:
    return _encode(job, job.vocabulary, job.documents(), DOCUMENTS_AT_ONCE)


def encode_bpe(job: Job) -> int:
    return _encode(job, job.vocabulary, job.lines(), LINES_AT_ONCE)


def encode_unigram(job: Job) -> int:
    return _encode(job, "likelihood", job.lines(), LINES_AT_ONCE)


def encode_wordpiece(job: Job) -> int:
    return _encode(job, "longest_prefix", job.lines(), LINES_AT_ONCE)
