"""Tokenizers that were made elsewhere: which they are, how they work here, and what they lose of a text."""

from collections.abc import Mapping
from typing import Any

import polars as pl

from tokbench.tabulation.columns import REASON, SIZE, VARIANT
from tokbench.tabulation.table import Column, Print, TidyTable
from tokbench.tokenizer import Tokenizer

NATIVE = "our three phases"
UNMEASURED = "it was imported without documents to check"


def imported_table(tokenizers: Mapping[tuple[str, int], Tokenizer]) -> pl.DataFrame:
    """A row a tokenizer that was made elsewhere, in the order of the configuration.

    Args:
        tokenizers: by variant and size; those that were built here are passed over.
    """
    rows = []
    for (variant, size), tokenizer in tokenizers.items():
        told = tokenizer.origin.get("imported")
        if told is None:
            continue
        end: dict[str, Any] = told.get("end_of_text") or {}
        loss: dict[str, Any] = told.get("loss") or {}
        counts = [loss.get(name) for name in COUNTS]
        rows.append(
            (variant, size, told["ids"], told["form"], told["file"], told["sha256"], tokenizer.library_name or NATIVE,
             f"{variant}'s own" if tokenizer.library_name else tokenizer.scheme.label, told["why"],
             "; ".join(told["told"]), tokenizer.end_token, tokenizer.end_of_text, end.get("source"), *counts,
             loss.get("first"), None if loss else UNMEASURED)
        )  # fmt: skip
    return pl.DataFrame(rows, schema=IMPORTED.schema, orient="row")


COUNTS = {
    "documents": "documents of the evaluation split, on which it was held against its library",
    "documents_changed": "those of them that decoding does not give back, byte for byte",
    "documents_not_utf8": "those of them that are not UTF-8, which libraries never see as they are",
    "bytes": "bytes of these documents",
    "bytes_lost": "bytes that are not found again in what is decoded, in order: at most so many",
    "tokens": "tokens of these documents",
    "unknown_tokens": "tokens that stand for what the vocabulary cannot spell",
    "characters": "characters of these documents, where its library sees them; 0 of one in our three phases",
    "characters_normalised": "characters that its normaliser changes and decoding does not restore; no white space",
}
"""What an import counts, with what each number is."""
_UNITS = {
    "documents": "documents",
    "bytes": "bytes",
    "tokens": "tokens",
    "unknown": "tokens",
    "characters": "characters",
}
IMPORTED = TidyTable(
    "imported",
    "a tokenizer that was made elsewhere",
    (
        VARIANT,
        SIZE,
        Column("ids", pl.Int64, "one more than its largest id", "ids"),
        Column("form", pl.String, "of its file"),
        Column("file", pl.String, "its name, or that of the tokenizer on the hub"),
        Column("sha256", pl.String, "checksum of the file; empty for a folder"),
        Column("works_through", pl.String, f"“{NATIVE}” where these give its library's ids, else the library",
               heading="works through"),
        Column("pretokenization", pl.String, "its pre-tokenizer; its own where it works through its library",
               heading="pre-tokenizer"),
        Column("why", pl.String, "on what its ids were found equal, or why they are left to its library"),
        Column("told", pl.String, "what was done with the file"),
        Column("end_of_text", pl.String, "name of the token that ends a text", heading="end of text"),
        Column("end_of_text_id", pl.Int64, "its id", heading="id of the end of text"),
        Column("end_of_text_source", pl.String,
               "what names it: a key and its file, or its name; empty where no file names one"),
        *(Column(name, pl.Int64, what, _UNITS[name.split("_")[0]], name.replace("_", " "))
          for name, what in COUNTS.items()),
        Column("first", pl.String, "the first difference between a document and what was decoded"),
        REASON,
    ),
    maker=imported_table,
    takes=("tokenizers",),
    keys=("variant",),
    command="tabulate",
    prints=(
        Print(
            "tokenizers",
            "Tokenizers that were made elsewhere, used as they are. Those that Tokbench runs by itself give the same "
            "ids as their own library; that was checked on test strings and on every document of the evaluation split. "
            "What they lose of a text was found by encoding and decoding these documents.",
            ("variant", "size", "ids", "works_through", "why", "documents", "documents_changed", "bytes", "bytes_lost",
             "unknown_tokens", "characters_normalised"),
            files=("tokenizers/{variant}/own/tokbench.json",),
            arranged=True,
        ),
    ),
)  # fmt: skip
