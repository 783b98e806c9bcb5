"""``tiktoken``: an encoder for BPE, with merges as ranks of tokens."""

import base64
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import tiktoken
from tiktoken_ext import openai_public

from benchmarks.speed.peers import FIRST, GPT2
from benchmarks.speed.worker import Job


def encode_bpe(job: Job) -> int:
    """Encode with the library's own pattern for the tokenizer's name, if there is one."""
    path = Path(f"{job.tokenizer(job.vocabulary)}.tiktoken")
    ranks = {base64.b64decode(token): int(rank) for token, rank in map(bytes.split, path.read_bytes().splitlines())}
    settings = {"name": "bpe", "pat_str": GPT2, "mergeable_ranks": ranks, "special_tokens": {}}
    if published := getattr(openai_public, f"{job.vocabulary}_base", None):
        openai_public.load_tiktoken_bpe = lambda *_, **__: ranks  # Avoids a download.
        settings = published()
    encode = partial(tiktoken.Encoding(**settings).encode_to_numpy, disallowed_special=())
    texts = job.documents()
    encode(FIRST.decode())
    with job.timed(), ThreadPoolExecutor(job.threads) as pool:
        ids = list(pool.map(encode, texts))
    return sum(map(len, ids))
