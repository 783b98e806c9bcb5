"""``bpeasy``: a trainer for BPE."""

import bpeasy

from benchmarks.speed.peers import GPT2
from benchmarks.speed.worker import Job

LONGEST_TOKEN = 1 << 16


def train_bpe(job: Job) -> int:
    texts = job.documents()
    with job.timed():
        vocabulary = bpeasy.train_bpe(iter(texts), GPT2, LONGEST_TOKEN, job.size)
    return len(vocabulary)
