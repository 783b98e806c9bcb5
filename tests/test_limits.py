"""Lower bounds on the times of kernels: any text has them."""

from pathlib import Path

import numpy as np

from benchmarks.speed import limits
from benchmarks.speed.worker import Job
from tokbench.counting.count import count_pretokens
from tokbench.vocabulary import BYTES, Vocabulary

LONG = "にほんごのながいことば".encode()
"""A token of more than the 32 bytes that PathPiece's kernel takes, as texts in such scripts give."""


def test_tokens_of_any_length(tmp_path: Path) -> None:
    counts = count_pretokens([LONG + b" ab ab"], "gpt2")
    tokens = (*BYTES, b" ab", LONG)
    folder = tmp_path / "likelihood_258"
    folder.mkdir()
    Vocabulary(tokens, scores=-np.log(np.arange(2.0, len(tokens) + 2))).write(folder)
    found = {limit.kernel: limit.lookups for limit in limits.estimating(Job(tmp_path, 258), counts)}
    unique = counts.data.size
    assert found == {"expectation of unigram, once": unique, "round of pathpiece, once": unique}
