"""Scores of tokens around the end of the vocabulary, by language model."""

from collections.abc import Iterable
from pathlib import Path

import polars as pl

from tokbench.tabulation.columns import TOKEN_SCORES
from tokbench.tabulation.reading import rows_of_lists, table_of_results
from tokbench.tabulation.table import TidyTable

BY_TOKEN = ("rank", "token", "occurrences", "scored", "bits", "uniform_bits")


def token_scores_table(token_score_files: Iterable[Path | str]) -> pl.DataFrame:
    """Return occurrences and log-probabilities of the tokens on both sides of the end of every model's vocabulary.

    Args:
        token_score_files: results of ``tokbench score_tokens``, in any order.

    Returns:
        The columns of :data:`SCORED_TOKENS`, ordered by variant, size, model, corpus and rank.

    Raises:
        TokbenchError: see :func:`tokbench.tabulation.reading.frame_of_result`.
    """
    rows = table_of_results(
        token_score_files,
        SCORED_TOKENS,
        lambda result: rows_of_lists(result, BY_TOKEN),
        *("variant", "size", "model", "corpus", "rank"),
    )
    return rows.fill_nan(None)


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
