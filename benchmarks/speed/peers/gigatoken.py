"""``gigatoken``: a trainer for BPE that reads files, and an encoder."""

from pathlib import Path

import gigatoken
from gigatoken.gigatoken_rs import load_hf_json, pretokenized_counts

from benchmarks.speed.peers import FIRST
from benchmarks.speed.worker import Job


def train_bpe(job: Job) -> int:
    with job.timed():
        vocabulary, _ = gigatoken.train_bpe(job.text, job.size, [])
    return len(vocabulary)


def count(job: Job) -> int:
    text = job.text.read_bytes()
    pretokenized_counts(FIRST)
    with job.timed():
        counts = pretokenized_counts(text)
    return len(counts)


def encode_bpe(job: Job) -> int:
    """Encode the text as one document. The first call imports NumPy and Awkward before the clock starts."""
    tokenizer = load_hf_json(Path(f"{job.tokenizer(job.vocabulary)}.json").read_bytes())
    text = job.text.read_bytes()
    tokenizer.encode_batch([FIRST], parallel=job.threads > 1)
    with job.timed():
        ids = tokenizer.encode_batch([text], parallel=job.threads > 1)
    return sum(map(len, ids))
