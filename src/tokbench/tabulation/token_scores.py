"""Scores of tokens around the end of the vocabulary, by language model."""

from collections.abc import Iterable
from pathlib import Path

import polars as pl

from tokbench.io.json import read_result
from tokbench.tabulation.columns import TOKEN_SCORES
from tokbench.tabulation.reading import AGAIN, require_key, to_frame
from tokbench.tabulation.table import TidyTable

HEAD = ("variant", "size", "model", "corpus")
BY_TOKEN = ("rank", "token", "occurrences", "scored", "bits", "uniform_bits")


def token_scores_table(token_score_files: Iterable[Path | str]) -> pl.DataFrame:
    """Return occurrences and log-probabilities of the tokens on both sides of the end of every model's vocabulary.

    Args:
        token_score_files: results of ``tokbench score_tokens``, in any order.

    Returns:
        The columns of :data:`SCORED_TOKENS`, ordered by variant, size, model, corpus and rank.

    Raises:
        TokbenchError: a file is not JSON or a key is missing; the message names file and key.
    """
    frames = [to_frame([], SCORED_TOKENS.schema, "")]
    for path in token_score_files:
        content = read_result(path, AGAIN, lenient=True)
        head = [require_key(content, key, path) for key in HEAD]
        lists = (require_key(content, key, path, kind=list) for key in BY_TOKEN)
        rows = [(*head, *row) for row in zip(*lists, strict=True)]
        frames.append(to_frame(rows, SCORED_TOKENS.schema, path))
    return pl.concat(frames).sort(*HEAD, "rank")


SCORED_TOKENS = TidyTable(
    "token_scores",
    "a token near the end of a vocabulary, under a language model of an experiment with `causal_effect`",
    TOKEN_SCORES,
    maker=token_scores_table,
    takes=("files.token_scores",),
    keys=("variant", "size", "model", "corpus", "rank"),
    command="tabulate",
    of_models=True,
)
