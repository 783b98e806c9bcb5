"""``tokie``: encoders for BPE, WordPiece and Unigram, which read files, its fastest interface.

The first call, on another file, imports NumPy before the clock starts.
"""

from pathlib import Path

import tokie

from benchmarks.speed.peers import FIRST
from benchmarks.speed.worker import Job

NO_SEPARATOR = b"\xff\xfe\xff"


def first_file(job: Job) -> Path:
    """Write the text of the first call to a file."""
    path = job.folder / "first.txt"
    path.write_bytes(FIRST)
    return path


def _encode(job: Job, name: str) -> int:
    tokenizer = tokie.Tokenizer.from_json(f"{job.tokenizer(name)}.json")
    tokenizer.encode_files([str(first_file(job))], separator=NO_SEPARATOR)
    with job.timed():
        ids, _ = tokenizer.encode_files([str(job.text)], separator=NO_SEPARATOR)
    return len(ids)


def count_bpe(job: Job) -> int:
    """Count tokens without their ids."""
    tokenizer = tokie.Tokenizer.from_json(f"{job.tokenizer('merge')}.json")
    tokenizer.count_tokens_files([str(first_file(job))], separator=NO_SEPARATOR)
    with job.timed():
        return int(tokenizer.count_tokens_files([str(job.text)], separator=NO_SEPARATOR))


def encode_bpe(job: Job) -> int:
    return _encode(job, job.vocabulary)


def encode_unigram(job: Job) -> int:
    return _encode(job, "likelihood")


def encode_wordpiece(job: Job) -> int:
    return _encode(job, "longest_prefix")
