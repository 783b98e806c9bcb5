"""``tokie``: encoders for BPE, WordPiece and Unigram, which read files themselves."""

import tokie
from job import Job

NO_SEPARATOR = b"\xff\xfe\xff"


def _encode(job: Job, name: str) -> int:
    tokenizer = tokie.Tokenizer.from_json(f"{job.tokenizer(name)}.json")
    with job.timed():
        ids, _ = tokenizer.encode_files([str(job.text)], separator=NO_SEPARATOR)
    return len(ids)


def count_bpe(job: Job) -> int:
    """The number of tokens alone."""
    tokenizer = tokie.Tokenizer.from_json(f"{job.tokenizer('merge')}.json")
    with job.timed():
        return int(tokenizer.count_tokens_files([str(job.text)], separator=NO_SEPARATOR))


def encode_bpe(job: Job) -> int:
    return _encode(job, job.vocabulary)


def encode_unigram(job: Job) -> int:
    return _encode(job, "likelihood")


def encode_wordpiece(job: Job) -> int:
    return _encode(job, "longest_prefix")
