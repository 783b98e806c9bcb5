"""Tasks, and the libraries that are measured on each.

To add a library, write a module in :mod:`benchmarks.speed.peers`, name its package in ``requirements.txt`` and
:data:`PACKAGES`, and list it here.
"""

from dataclasses import asdict, dataclass
from pathlib import Path

OURS = "tokbench"
PACKAGES = {
    "gigatoken": "gigatoken",
    "fastokens": "fastokens",
    "quicktok": "quicktok-v1",
    "splintr": "splintr-rs",
    "kitoken": "kitoken",
    "tokie": "tokie",
    "rs_bpe": "rs_bpe",
    "tiktoken": "tiktoken",
    "tokenizers": "tokenizers",
    "gigabpe": "gigabpe",
    "flashbpe": "flashbpe",
    "rustbpe": "rustbpe",
    "bpeasy": "bpeasy",
    "sentencepiece": "sentencepiece",
}
"""Name of each library's package by that of its module."""
INCLUDING = {"quicktok", "rs_bpe"}
"""Encoders that only have the tokenizers that they include."""
FAST = ("gigatoken", "fastokens", "quicktok", "splintr")
ENCODERS = (*FAST, "tokie", "kitoken", "rs_bpe", "tiktoken", "tokenizers")
PARALLEL = ("gigatoken", "fastokens", "quicktok")


@dataclass(frozen=True)
class Task:
    """One task.

    Attributes:
        kind: Function of :mod:`benchmarks.speed.worker`.
        text: Name of the text, or kind of the long run.
        tokenizer: Name of the tokenizer, or method of a training.
        peers: Libraries that are compared with Tokbench.
        threads: Number of threads, and of processors (default: 1).
        size: Tokens of a trained vocabulary (default: 32,768).
        limit: Seconds after which a process is stopped (default: 100).
        rounds: Rounds at most (default: 5).
    """

    kind: str
    text: str
    tokenizer: str
    peers: tuple[str, ...]
    threads: int = 1
    size: int = 32_768
    limit: float = 100
    rounds: int = 5

    def job(self, folder: Path) -> dict[str, object]:
        """Return the settings that the worker reads."""
        return {**asdict(self), "folder": str(folder)}


def able(peers: tuple[str, ...], tokenizer: str) -> tuple[str, ...]:
    """Return the libraries that can load a tokenizer."""
    return tuple(peer for peer in peers if tokenizer != "own" or peer not in INCLUDING)


TEXTS = ("english", "languages", "unseen")
RUNS = ("a", "blanks", "letters", "chinese")
TRAINERS = {
    "bpe": ("gigabpe", "sentencepiece", "flashbpe", "rustbpe", "gigatoken", "bpeasy", "tokenizers"),
    "wordpiece": ("tokenizers",),
    "unigram": ("tokenizers", "sentencepiece"),
}
TASKS = (
    *(Task("text", text, "cl100k", ENCODERS if text == "unseen" else (*FAST, "tokie")) for text in TEXTS),
    *(Task("text", text, tokenizer, able(FAST, tokenizer)) for tokenizer in ("o200k", "own") for text in TEXTS),
    Task("large", "large", "cl100k", PARALLEL, rounds=3),
    Task("loop", "short", "cl100k", (*FAST, "tokie", "tiktoken", "tokenizers")),
    *(Task("batch", "short", "cl100k", (*FAST, "tokie"), threads) for threads in (1, 2)),
    *(Task("batch", "languages", "cl100k", PARALLEL, threads) for threads in (1, 2)),
    *(Task("first", "english", tokenizer, able(FAST, tokenizer)) for tokenizer in ("cl100k", "o200k", "own")),
    *(Task("start", "", tokenizer, able(ENCODERS, tokenizer)) for tokenizer in ("cl100k", "own")),
    Task("decode", "unseen", "cl100k", ENCODERS),
    *(Task("long", run, "cl100k", (*FAST, "tokie", "tiktoken"), limit=4, rounds=3) for run in RUNS),
    *(Task("count", text, "gpt2", ("gigatoken",)) for text in TEXTS),
    *(Task("train", "english", method, peers) for method, peers in TRAINERS.items()),
    *(Task("train", text, "bpe", ("gigabpe", "sentencepiece")) for text in ("languages", "unseen")),
)
