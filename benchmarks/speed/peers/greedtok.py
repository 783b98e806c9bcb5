"""``greedtok``: the implementation of "A partition cover approach to tokenization" by its authors."""

import ctypes
import sys
from pathlib import Path

from benchmarks.speed.worker import Job

ctypes.CDLL(str(Path(sys.prefix) / "lib" / "libtbb.so.12"), ctypes.RTLD_GLOBAL)
from pcatt import pco_tokenizer  # noqa: E402


def _choose(job: Job, name: str) -> int:
    words = job.words(name)
    longest = max(len(word.encode()) for word in words) + 1
    with job.timed():
        tokenizer = pco_tokenizer.build(words, set(), 100, False)
        tokenizer.initialize_graph(longest, 1)
        tokens, _ = tokenizer.solve_to_step(job.size)
    return len(tokens)


def choose_un(job: Job) -> int:
    return _choose(job, "un_words")


def choose_text(job: Job) -> int:
    return _choose(job, "text_words")
