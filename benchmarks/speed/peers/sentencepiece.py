"""``sentencepiece``: trainers for BPE and Unigram, which read lines of a file, and an encoder for Unigram.

Normalisation and the dummy prefix are disabled. Its pre-tokenization is as close to GPT-2's as its options allow.
"""

from itertools import islice

import sentencepiece

from benchmarks.speed.peers import FIRST
from benchmarks.speed.worker import Job

LONGEST_LINE = 1 << 24
LINES_AT_ONCE = 1000


def _train(job: Job, model: str) -> int:
    prefix = job.folder / f"sentencepiece_{model}_{job.size}"
    with job.timed():
        sentencepiece.SentencePieceTrainer.train(
            input=str(job.text),
            model_prefix=str(prefix),
            model_type=model,
            vocab_size=job.size,
            character_coverage=0.9999,
            byte_fallback=True,
            normalization_rule_name="identity",
            add_dummy_prefix=False,
            remove_extra_whitespaces=False,
            max_sentence_length=LONGEST_LINE,
            num_threads=job.threads,
            minloglevel=2,
        )
    return int(sentencepiece.SentencePieceProcessor(model_file=f"{prefix}.model").vocab_size())


def train_bpe(job: Job) -> int:
    return _train(job, "bpe")


def train_unigram(job: Job) -> int:
    return _train(job, "unigram")


def encode_unigram(job: Job) -> int:
    model = sentencepiece.SentencePieceProcessor(model_file=str(job.folder / f"sentencepiece_unigram_{job.size}.model"))
    rest = iter(job.lines())
    model.encode([FIRST.decode()])
    tokens = 0
    with job.timed():
        while batch := list(islice(rest, LINES_AT_ONCE)):
            tokens += sum(map(len, model.encode(batch, num_threads=job.threads)))
    return tokens
