"""Lower bounds on the token count of any vocabulary, the best vocabulary found, and gaps of tokenizers to the bound."""

from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl

from tokbench.errors import TokbenchError
from tokbench.io.json import read_result
from tokbench.metric.measurement import Measurement, ratio
from tokbench.optimum.gap import LowerBound, gap_of
from tokbench.tabulation.columns import CORPUS, LANGUAGE, REASON, SIZE
from tokbench.tabulation.reading import AGAIN, Row, frame_of_result, require_key
from tokbench.tabulation.table import EXCESS, SHARE, Column, Print, TidyTable
from tokbench.tabulation.tokenizer_pairs import Compared
from tokbench.tokenizer import Tokenizer

PROVEN = ("bound", "relaxed", "tokens", "gap", "unsettled", "unrounded", "candidates")


def bounds_table(bound_files: Iterable[Path | str]) -> pl.DataFrame:
    """Return every bound, for the full text and for each of its languages.

    Args:
        bound_files: files ``bounds/CORPUS/SCHEME/SIZE.json`` that ``tokbench bound`` wrote, in any order.

    Raises:
        TokbenchError: a file is not JSON or a key is missing; the message names file and key.
    """
    frames = [frame_of_result(path, BOUNDS, partial(_bounds, path)) for path in map(Path, bound_files)]
    table = pl.concat([pl.DataFrame(schema=BOUNDS.schema), *frames])
    return table.sort("corpus", "language", "pretokenization", "size").fill_nan(None)


def _bounds(path: Path, result: Any) -> Iterator[Row]:
    """Yield a row for the full text and for each of its languages."""
    nothing: dict[str, Any] = {**dict.fromkeys(PROVEN), "left_out": dict.fromkeys(("pretokens", "share"))}
    for language, bound in {"": result, **result.get("languages", {})}.items():
        proven = bound["bound"] is not None
        values = bound if proven else nothing
        yield {
            **{name: values[name] for name in PROVEN},
            "corpus": path.parts[-3],
            "language": language,
            "pretokenization": path.parts[-2],
            "size": result["size"],
            "left_out_pretokens": values["left_out"]["pretokens"],
            "left_out_share": values["left_out"]["share"],
            "reason": None if proven else bound["reason"],
        }


BOUNDS = TidyTable(
    "bounds",
    "a vocabulary size and pre-tokenizer, on the evaluation split of a corpus or one of its languages",
    (
        CORPUS,
        LANGUAGE,
        Column("pretokenization", pl.String, "pre-tokenizer, as in file names; the bound is valid only for it"),
        SIZE,
        Column("bound", pl.Int64, "proven minimum of tokens for any vocabulary of this size and any segmentation",
               "tokens", "bound"),
        Column("relaxed", pl.Float64, "value of a solution of the linear relaxation, or tokens of the best vocabulary "
               "if fewer; no bound of this kind is above it", "tokens", "relaxation", 0),
        Column("tokens", pl.Int64, "tokens of the best vocabulary found", "tokens", "best found"),
        Column("gap", pl.Float64, "best vocabulary / bound, minus 1", EXCESS, "gap (%)", 3),
        Column("unsettled", pl.Float64, "relaxation / bound, minus 1: at most this much is left to a longer search",
               EXCESS, "unsettled (%)", 3),
        Column("unrounded", pl.Float64, "best vocabulary / relaxation, minus 1: no bound of this kind closes it",
               EXCESS, "unrounded (%)", 3),
        Column("candidates", pl.Int64, "all substrings that a vocabulary may choose from", "substrings"),
        Column("left_out_pretokens", pl.Int64, "occurrences of pre-tokens longer than `bounds.max_pretoken_bytes`: "
               "excluded from the bound and from the tokens that `gap` compares with it", "left out"),
        Column("left_out_share", pl.Float64, "share of the text's bytes in these pre-tokens", SHARE, "left out (%)", 3),
        REASON,
    ),
    maker=bounds_table,
    takes=("files.bound",),
    keys=("corpus", "language", "pretokenization", "size"),
    command="tabulate",
    prints=(
        Print(
            "intrinsic",
            "The fewest tokens that any vocabulary needs for the evaluation split of {corpus}: a proven lower bound, "
            "and the best vocabulary found. The relaxation is the value of the linear program, in which a vocabulary "
            "may have parts of tokens; no bound of this kind is above it. The gap has two parts. Unsettled (relaxation "
            "over bound) might be closed by a longer search. Unrounded (best found over relaxation) cannot be closed "
            "by a bound of this kind. Candidates are the substrings of the text that a vocabulary may choose from. "
            "Pre-tokens that are too long to search are left out (`bounds.max_pretoken_bytes`): neither the bound nor "
            "the tokens compared with it count them.",
            by=("corpus",),
            files=("bounds/{corpus}/{pretokenization}/{size}.json",),
            folds_above=0,
            arranged=True,
        ),
    ),
)  # fmt: skip


Bounds = Mapping[tuple[str, str, str, int], LowerBound]
"""Bounds by corpus, language (empty for all languages), pre-tokenizer and size."""
ATTAINED = (
    "joined pairs / those that any vocabulary of the size joins at most in the same pre-tokens, bytes less the bound "
    "(proven)"
)


def read_bounds(paths: Iterable[Path | str]) -> dict[tuple[str, str, str, int], LowerBound]:
    """Return the bounds of files ``{corpus}/{scheme}/{size}.json``; files that give a reason instead are skipped.

    Raises:
        TokbenchError: a file is not JSON or a key is missing; the message names file and key.
    """
    bounds = {}
    for path in map(Path, paths):
        content = read_result(path, AGAIN)
        scheme, size = require_key(content, "scheme", path, kind=str), require_key(content, "size", path, kind=int)
        for language, bound in {"": content, **content.get("languages", {})}.items():
            if require_key(bound, "bound", path) is not None:
                bounds[path.parts[-3], language, scheme, size] = bound_of(bound, path)
    return bounds


def bound_of(proven: Any, path: Path | str) -> LowerBound:
    """Return the bound in a result of ``tokbench bound``.

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
    """Return the relative excess over the bound, for every tokenizer measured on a corpus.

    Args:
        measured: rows of the table of intrinsic metrics, for this corpus.
        tokenizers: tokenizers by variant and size.
        bounds: bounds of this and other corpora.
        corpus: name of the corpus.
        language: one of its languages; empty (default) for all languages together.
    """
    counted = measured.filter(metric="corpus_token_count", language=language).select("variant", "size", "value")
    rows: Compared = []
    for variant, size, tokens in counted.iter_rows():
        if (tokenizer := tokenizers.get((variant, size))) is not None:
            scheme = "" if tokenizer.segments_documents else tokenizer.pretokenization
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
    """Return pairs that a tokenizer joins over the most that any vocabulary of its size can join (GreedTok's
    objective).

    Every pair that a segmentation joins saves one token. So bytes minus the bound is an upper limit on joined pairs.

    Args:
        measured: rows of the table of intrinsic metrics, for this corpus.
        gaps: gaps of the full text, see :func:`gaps`.
        tokenizers: tokenizers by variant and size.
        bounds: bounds of this and other corpora.
        corpus: name of the corpus.
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
