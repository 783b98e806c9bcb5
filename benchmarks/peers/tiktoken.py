"""``tiktoken``: an encoder for BPE. It takes merges as the ranks of the tokens they make."""

import base64
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import tiktoken
from job import Job
from tiktoken_ext import openai_public

from peers import GPT2


def encode_bpe(job: Job) -> int:
    return _encode(job, tiktoken.Encoding("bpe", pat_str=GPT2, mergeable_ranks=_ranks(job, "merge"), special_tokens={}))


def encode_existing(job: Job) -> int:
    """With the pattern that the library itself has under the name, where it has one."""
    ranks = _ranks(job, job.vocabulary)
    published = getattr(openai_public, f"{job.vocabulary}_base", None)
    if published is None:
        return _encode(job, tiktoken.Encoding("bpe", pat_str=GPT2, mergeable_ranks=ranks, special_tokens={}))
    openai_public.load_tiktoken_bpe = lambda *_, **__: ranks  # It would fetch them.
    return _encode(job, tiktoken.Encoding(**published()))


def _ranks(job: Job, name: str) -> dict[bytes, int]:
    ranked = (line.split() for line in Path(f"{job.tokenizer(name)}.tiktoken").read_bytes().splitlines())
    return {base64.b64decode(token): int(rank) for token, rank in ranked}


def _encode(job: Job, encoding: tiktoken.Encoding) -> int:
    encode = partial(encoding.encode_to_numpy, disallowed_special=())
    texts = job.documents()
    with job.timed(), ThreadPoolExecutor(job.threads) as pool:
        ids = list(pool.map(encode, texts))
    return sum(map(len, ids))
