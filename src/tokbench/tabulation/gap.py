"""How far tokenizers are from the fewest tokens that any vocabulary of their size could need."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from tokbench.errors import TokbenchError
from tokbench.intrinsic.encoded_text import WITHOUT_PHASES
from tokbench.intrinsic.measurement import Measurement, ratio
from tokbench.pretokens import PretokenCounts
from tokbench.result_files import read_result
from tokbench.tabulation.between_tokenizers import Compared
from tokbench.tabulation.reading import AGAIN, taken
from tokbench.tokenizer import Tokenizer


@dataclass(frozen=True)
class Bound:
    """A lower bound on the tokens of a text.

    Attributes:
        tokens: tokens that any vocabulary needs at least.
        left_out: count by pre-token, of those that are too long to take part; the bound does not count their tokens.
    """

    tokens: int
    left_out: Mapping[bytes, int] = field(default_factory=dict)

    def tokens_left_out(self, tokenizer: Tokenizer) -> int:
        """Return the tokens that a tokenizer needs for the pre-tokens that are left out."""
        if not self.left_out:
            return 0
        counts = PretokenCounts.from_pairs(self.left_out.items())
        _, bounds = tokenizer.segment(counts)
        return int(np.diff(bounds) @ counts.counts)

    def bytes_left_out(self) -> int:
        """Return the bytes of the pre-tokens that are left out."""
        return sum(len(pretoken) * count for pretoken, count in self.left_out.items())


Bounds = Mapping[tuple[str, str, str, int], Bound]
"""Bounds by corpus, language (empty for the whole), pre-tokenization and size."""
DEFINITION = (
    "tokens / those that any vocabulary of the size needs at least for the same pre-tokens, however they are cut "
    "(proven), minus 1"
)
ATTAINED = (
    "joined pairs / those that any vocabulary of the size joins at most in the same pre-tokens, bytes less the bound "
    "(proven)"
)


def read_bounds(paths: Iterable[Path | str]) -> dict[tuple[str, str, str, int], Bound]:
    """The bounds in files ``{corpus}/{scheme}/{size}.json``, those left out of which a file says why there is none.

    Raises:
        TokbenchError: a file is not JSON or lacks a key; the message names file and key.
    """
    bounds = {}
    for path in map(Path, paths):
        content = read_result(path, AGAIN)
        scheme, size = taken(content, "scheme", path, kind=str), taken(content, "size", path, kind=int)
        for language, one in {"": content, **content.get("languages", {})}.items():
            if taken(one, "bound", path) is not None:
                bounds[path.parts[-3], language, scheme, size] = bound_of(one, path)
    return bounds


def bound_of(proven: Any, path: Path | str) -> Bound:
    """Return the bound in what ``tokbench bound`` wrote.

    Raises:
        TokbenchError: a key is missing or has another type; the message names it.
    """
    long = taken(taken(proven, "left_out", path), "counts", path, kind=dict)
    try:
        left_out = {bytes.fromhex(word): int(count) for word, count in long.items()}
    except (ValueError, TypeError):
        raise TokbenchError(f"{path}: left_out.counts is not as it was written; {AGAIN}") from None
    return Bound(taken(proven, "bound", path, kind=int), left_out)


def gaps(
    measured: pl.DataFrame,
    tokenizers: Mapping[tuple[str, int], Tokenizer],
    bounds: Bounds,
    corpus: str,
    language: str = "",
) -> Compared:
    """Tokens over the bound, of every tokenizer that is measured on a corpus.

    Args:
        measured: rows of the table of intrinsic metrics, of this corpus.
        tokenizers: by variant and size.
        bounds: of this corpus and others.
        corpus: its name.
        language: one of its languages; all of them together where it is empty.
    """
    counted = measured.filter(metric="corpus_token_count", language=language).select("variant", "size", "value")
    rows: Compared = []
    for variant, size, tokens in counted.iter_rows():
        if (tokenizer := tokenizers.get((variant, size))) is not None:
            scheme = "" if tokenizer.library_name else tokenizer.pretokenization
            bound = bounds.get((corpus, language, scheme, size))
            rows.append(((variant, size), gap_of(tokens, size, tokenizer, bound)))
    return rows


def attained(
    measured: pl.DataFrame,
    gaps: Compared,
    tokenizers: Mapping[tuple[str, int], Tokenizer],
    bounds: Bounds,
    corpus: str,
) -> Compared:
    """Pairs that tokenizers join over those that any vocabulary of the size could: GreedTok's objective.

    Every pair that a segmentation joins is a token less, so that bytes less the bound is what none exceeds.

    Args:
        measured: rows of the table of intrinsic metrics, of this corpus.
        gaps: those of the whole text, see :func:`gaps`.
        tokenizers: by variant and size.
        bounds: of this corpus and others.
        corpus: its name.
    """
    rows: Compared = []
    joined = {
        (row["variant"], row["size"]): row["value"]
        for row in measured.filter(metric="joined_pairs", language="").iter_rows(named=True)
    }
    for key, gap in gaps:
        if key not in joined:
            continue
        if gap.value is None:
            rows.append((key, Measurement("partition_cover_attained", ATTAINED, None, 0, gap.reason)))
            continue
        tokenizer = tokenizers[key]
        bound = bounds[corpus, "", tokenizer.pretokenization, key[1]]
        pairs = int(joined[key]) - (bound.bytes_left_out() - bound.tokens_left_out(tokenizer))
        tokens = round((gap.value + 1) * gap.n)
        most = pairs + tokens - gap.n
        rows.append((key, ratio("partition_cover_attained", ATTAINED, pairs, most, "no pair can be joined")))
    return rows


def gap_of(tokens: float | None, size: int, tokenizer: Tokenizer, bound: Bound | None) -> Measurement:
    """How far a text's tokens are above the bound for a vocabulary of ``size``; without a value where it says nothing.

    Args:
        tokens: of the text, by the tokenizer.
        size: what the bound was proven for.
        tokenizer: the tokenizer.
        bound: what was proven; None where nothing was.
    """
    if tokenizer.library_name:
        return Measurement("gap", DEFINITION, None, 0, WITHOUT_PHASES.format(tokenizer.library_name))
    longer = sum(len(token) > 1 for token in tokenizer.vocabulary.tokens)
    reason = None
    if tokenizer.vocabulary.continuation is not None:
        reason = (
            "tokens inside a word count apart from the same letters at its beginning (“##ing” beside “ing”), so that a "
            "vocabulary of this size has fewer different strings than the bound allows for"
        )
    elif bound is None:
        reason = f"no lower bound was proven for pre-tokens by “{tokenizer.scheme.label}” at this size"
    elif longer > max(size - 256, 0):
        reason = (
            f"the vocabulary has {longer:,} tokens of two bytes or more, as it lacks some single bytes; the bound was "
            f"proven for {max(size - 256, 0):,} of them at most"
        )
    elif tokens is None or not bound.tokens:
        reason = "the text has no tokens"
    if reason is not None or bound is None or tokens is None:
        return Measurement("gap", DEFINITION, None, 0, reason)
    counted = tokens - bound.tokens_left_out(tokenizer)
    return Measurement("gap", DEFINITION, counted / bound.tokens - 1, bound.tokens)
