"""How far tokenizers are from the fewest tokens that any vocabulary of their size could need."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import polars as pl

from tokbench.inputs.json import read_json
from tokbench.intrinsic.encoded_text import WITHOUT_PHASES
from tokbench.intrinsic.measurement import Measurement
from tokbench.tabulation.comparison import Compared
from tokbench.tabulation.reading import AGAIN, taken
from tokbench.tokenizer import Tokenizer

Bounds = Mapping[tuple[str, str, int], int]
"""Tokens that any vocabulary needs at least, by corpus, pre-tokenization and size."""
DEFINITION = (
    "tokens / those that any vocabulary of the size needs at least for the same pre-tokens, however they are cut "
    "(proven), minus 1"
)


def read_bounds(paths: Iterable[Path | str]) -> dict[tuple[str, str, int], int]:
    """The bounds in files ``{corpus}/{scheme}/{size}.json``, those left out of which a file says why there is none.

    Raises:
        TokbenchError: a file is not JSON or lacks a key; the message names file and key.
    """
    bounds = {}
    for path in map(Path, paths):
        content = read_json(path, AGAIN)
        scheme, size = taken(content, "scheme", path, kind=str), taken(content, "size", path, kind=int)
        if taken(content, "bound", path) is not None:
            bounds[path.parts[-3], scheme, size] = taken(content, "bound", path, kind=int)
    return bounds


def gaps(
    measured: pl.DataFrame, tokenizers: Mapping[tuple[str, int], Tokenizer], bounds: Bounds, corpus: str
) -> Compared:
    """Tokens over the bound, of every tokenizer that is measured on a corpus.

    Args:
        measured: rows of the table of intrinsic metrics, of this corpus.
        tokenizers: by variant and size.
        bounds: of this corpus and others.
        corpus: its name.
    """
    counted = measured.filter(metric="corpus_token_count", language="").select("variant", "size", "value")
    rows: Compared = []
    for variant, size, tokens in counted.iter_rows():
        if (variant, size) in tokenizers:
            rows.append(((variant, size), _gap(tokens, size, tokenizers[variant, size], bounds, corpus)))
    return rows


def _gap(tokens: Any, size: int, tokenizer: Tokenizer, bounds: Bounds, corpus: str) -> Measurement:
    if tokenizer.library_name:
        return Measurement("gap", DEFINITION, None, 0, WITHOUT_PHASES.format(tokenizer.library_name))
    bound = bounds.get((corpus, tokenizer.pretokenization, size))
    longer = sum(len(token) > 1 for token in tokenizer.vocabulary.tokens)
    reason = None
    if tokenizer.vocabulary.continuation is not None:
        reason = "tokens have forms of their own inside a pre-token, so that a size holds fewer strings"
    elif bound is None:
        reason = f"no bound was proven for {tokenizer.pretokenization} at this size"
    elif longer > max(size - 256, 0):
        reason = f"{longer} tokens are longer than a byte, and the bound holds for {size - 256}"
    elif tokens is None or not bound:
        reason = "the text has no tokens"
    if reason is not None or bound is None:
        return Measurement("gap", DEFINITION, None, 0, reason)
    return Measurement("gap", DEFINITION, tokens / bound - 1, bound)
