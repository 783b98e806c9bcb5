"""Bounds on the tokens of any vocabulary, with the vocabulary that came near each, and whose the gap between is.

How far tokenizers are from the fewest tokens that any vocabulary of their size could need.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import polars as pl

from tokbench.errors import TokbenchError
from tokbench.io.json import read_result
from tokbench.metric.measurement import Measurement, ratio
from tokbench.optimum.gap import LowerBound, gap_of
from tokbench.tabulation.columns import CORPUS, LANGUAGE, REASON, SIZE
from tokbench.tabulation.reading import AGAIN, require_key, to_frame
from tokbench.tabulation.table import EXCESS, SHARE, Column, Print, TidyTable
from tokbench.tabulation.tokenizer_pairs import Compared
from tokbench.tokenizer import Tokenizer

TOLD = ("bound", "relaxed", "tokens", "gap", "unsettled", "unrounded", "candidates")


def bounds_table(bound_files: Iterable[Path | str]) -> pl.DataFrame:
    """Every bound, of the whole text and of each of its languages.

    Args:
        bound_files: files ``bounds/CORPUS/SCHEME/SIZE.json`` that ``tokbench bound`` wrote, in any order.

    Raises:
        TokbenchError: a file is not JSON or lacks a key; the message names file and key.
    """
    frames = [to_frame([], BOUNDS.schema, "")]
    for path in map(Path, bound_files):
        content = read_result(path, AGAIN)
        size = require_key(content, "size", path)
        rows = []
        for language, one in {"": content, **content.get("languages", {})}.items():
            proven = require_key(one, "bound", path) is not None
            values = [require_key(one, key, path) for key in TOLD] if proven else [None] * len(TOLD)
            long = require_key(one, "left_out", path) if proven else {}
            values += [require_key(long, key, path) if proven else None for key in ("pretokens", "share")]
            reason = None if proven else require_key(one, "reason", path)
            rows.append((path.parts[-3], language, path.parts[-2], size, *values, reason))
        frames.append(to_frame(rows, BOUNDS.schema, path))
    return pl.concat(frames).sort("corpus", "language", "pretokenization", "size")


BOUNDS = TidyTable(
    "bounds",
    "a vocabulary size under a pre-tokenization, on the evaluation split of a corpus or on a language of it",
    (
        CORPUS,
        LANGUAGE,
        Column("pretokenization", pl.String, "what cuts the text, as files are named; a bound holds for no other"),
        SIZE,
        Column("bound", pl.Int64, "tokens that any vocabulary of the size needs at least, however it segments; proven",
               "tokens", "bound"),
        Column("relaxed", pl.Float64, "tokens of a solution of the linear relaxation, above which no prices prove "
               "anything, or of the best vocabulary where those are fewer", "tokens", "relaxation", 0),
        Column("tokens", pl.Int64, "tokens of the best vocabulary that was found", "tokens", "best found"),
        Column("gap", pl.Float64, "best vocabulary over bound, less 1", EXCESS, "gap (%)", 3),
        Column("unsettled", pl.Float64, "relaxation over bound, less 1: what is left to the search for prices, at most",
               EXCESS, "unsettled (%)", 3),
        Column("unrounded", pl.Float64, "best vocabulary over relaxation, less 1: what no prices close", EXCESS,
               "unrounded (%)", 3),
        Column("candidates", pl.Int64, "substrings that a vocabulary may choose from: all", "substrings"),
        Column("left_out_pretokens", pl.Int64, "occurrences of pre-tokens longer than `bounds.max_pretoken_bytes`: "
               "they are left out of the bound and of the tokens that `gap` compares with it", "left out"),
        Column("left_out_share", pl.Float64, "their share of the bytes of the text", SHARE, "left out (%)", 3),
        REASON,
    ),
    maker=bounds_table,
    takes=("bound_files",),
    keys=("corpus", "language", "pretokenization", "size"),
    command="tabulate",
    prints=(
        Print(
            "intrinsic",
            "The fewest tokens that any vocabulary could need for the evaluation split of {corpus}: a proven lower "
            "bound, and the best vocabulary that was found. The relaxation is what the best vocabulary would take if "
            "it could have parts of tokens; no bound of this kind is above it. The gap between the two has two parts: "
            "unsettled, relaxation over bound, which a longer search might still close by a better bound, and "
            "unrounded, best found over relaxation, which no bound of this kind can close. Candidates are the "
            "substrings of the text that a vocabulary may choose from. Left out are pre-tokens that are too long to "
            "search (`bounds.max_pretoken_bytes`); neither the bound nor the tokens compared with it count them.",
            by=("corpus",),
            files=("bounds/{corpus}/{pretokenization}/{size}.json",),
            folds_above=0,
            arranged=True,
        ),
    ),
)  # fmt: skip


Bounds = Mapping[tuple[str, str, str, int], LowerBound]
"""Bounds by corpus, language (empty for the whole), pre-tokenization and size."""
ATTAINED = (
    "joined pairs / those that any vocabulary of the size joins at most in the same pre-tokens, bytes less the bound "
    "(proven)"
)


def read_bounds(paths: Iterable[Path | str]) -> dict[tuple[str, str, str, int], LowerBound]:
    """The bounds in files ``{corpus}/{scheme}/{size}.json``, those left out of which a file says why there is none.

    Raises:
        TokbenchError: a file is not JSON or lacks a key; the message names file and key.
    """
    bounds = {}
    for path in map(Path, paths):
        content = read_result(path, AGAIN)
        scheme, size = require_key(content, "scheme", path, kind=str), require_key(content, "size", path, kind=int)
        for language, one in {"": content, **content.get("languages", {})}.items():
            if require_key(one, "bound", path) is not None:
                bounds[path.parts[-3], language, scheme, size] = bound_of(one, path)
    return bounds


def bound_of(proven: Any, path: Path | str) -> LowerBound:
    """Return the bound in what ``tokbench bound`` wrote.

    Raises:
        TokbenchError: a key is missing or has another type; the message names it.
    """
    require_key(require_key(proven, "left_out", path), "counts", path, kind=dict)
    require_key(proven, "bound", path, kind=int)
    try:
        return LowerBound.from_result(proven)
    except (ValueError, TypeError):
        raise TokbenchError(f"{path}: left_out.counts is not as it was written; {AGAIN}") from None


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
