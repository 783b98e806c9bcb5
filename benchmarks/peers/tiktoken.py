"""``tiktoken``: an encoder for BPE. It takes merges as the ranks of the tokens they make."""

import base64
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import tiktoken
from job import Job

from peers import GPT2


def encode_bpe(job: Job) -> int:
    ranked = (line.split() for line in Path(f"{job.tokenizer('merge')}.tiktoken").read_bytes().splitlines())
    ranks = {base64.b64decode(token): int(rank) for token, rank in ranked}
    encoding = tiktoken.Encoding("bpe", pat_str=GPT2, mergeable_ranks=ranks, special_tokens={})
    texts = job.documents()
    with job.timed(), ThreadPoolExecutor(job.threads) as pool:
        ids = list(pool.map(encoding.encode_to_numpy, texts))
    return sum(map(len, ids))
