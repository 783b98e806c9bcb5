"""Bounds on the tokens of any vocabulary, with the vocabulary that came near each, and whose the gap between is."""

from collections.abc import Iterable
from pathlib import Path

import polars as pl

from tokbench.result_files import read_result
from tokbench.tabulation.reading import AGAIN, framed, taken
from tokbench.tidy.columns import CORPUS, LANGUAGE, REASON, SIZE
from tokbench.tidy.table import EXCESS, SHARE, Column, Print, TidyTable

TOLD = ("bound", "relaxed", "tokens", "gap", "unsettled", "unrounded", "candidates")


def bounds_table(bound_files: Iterable[Path | str]) -> pl.DataFrame:
    """Every bound, of the whole text and of each of its languages.

    Args:
        bound_files: files ``bounds/CORPUS/SCHEME/SIZE.json`` that ``tokbench bound`` wrote, in any order.

    Raises:
        TokbenchError: a file is not JSON or lacks a key; the message names file and key.
    """
    frames = [framed([], BOUNDS.schema, "")]
    for path in map(Path, bound_files):
        content = read_result(path, AGAIN)
        size = taken(content, "size", path)
        rows = []
        for language, one in {"": content, **content.get("languages", {})}.items():
            proven = taken(one, "bound", path) is not None
            values = [taken(one, key, path) for key in TOLD] if proven else [None] * len(TOLD)
            long = taken(one, "left_out", path) if proven else {}
            values += [taken(long, key, path) if proven else None for key in ("pretokens", "share")]
            reason = None if proven else taken(one, "reason", path)
            rows.append((path.parts[-3], language, path.parts[-2], size, *values, reason))
        frames.append(framed(rows, BOUNDS.schema, path))
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
