"""``rustbpe``: a trainer for BPE."""

import rustbpe

from benchmarks.speed.peers import GPT2
from benchmarks.speed.worker import Job


def train_bpe(job: Job) -> int:
    tokenizer = rustbpe.Tokenizer()
    texts = job.documents()
    with job.timed():
        tokenizer.train_from_iterator(iter(texts), job.size, pattern=GPT2)
    return int(tokenizer.vocab_size)
