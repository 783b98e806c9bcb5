"""``gigatoken``: a trainer and an encoder for BPE, which read files themselves."""

from pathlib import Path

import gigatoken
from gigatoken.gigatoken_rs import load_hf_json, pretokenized_counts
from job import Job


def train_bpe(job: Job) -> int:
    with job.timed():
        vocabulary, _ = gigatoken.train_bpe(job.text, job.size, [])
    return len(vocabulary)


def count(job: Job) -> int:
    text = job.text.read_bytes()
    with job.timed():
        counts = pretokenized_counts(text)
    return len(counts)


def encode_bpe(job: Job) -> int:
    tokenizer = load_hf_json(Path(f"{job.tokenizer(job.vocabulary)}.json").read_bytes())
    with job.timed():
        ids = tokenizer.encode_files(str(job.text), parallel=job.threads > 1)
    return sum(map(len, ids))
