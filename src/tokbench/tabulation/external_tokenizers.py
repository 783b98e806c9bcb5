"""Table of external tokenizers: source files, how Tokbench runs them, and text lost in decoding."""

from collections.abc import Mapping
from typing import Any

import polars as pl

from tokbench.tabulation.columns import REASON, SIZE, VARIANT
from tokbench.tabulation.table import Column, Print, TidyTable
from tokbench.tokenizer import Tokenizer

NATIVE = "our three phases"
UNMEASURED = "it was imported without documents to check"
COUNTS = {
    "documents": "documents of the evaluation split, on which it was compared with its library",
    "documents_changed": "documents that decoding does not return byte for byte",
    "documents_not_utf8": "documents that are not UTF-8, which libraries cannot read unchanged",
    "bytes": "bytes of these documents",
    "bytes_lost": "bytes missing from the decoded text, in order; an upper limit",
    "tokens": "tokens of these documents",
    "unknown_tokens": "tokens for text that the vocabulary cannot represent",
    "characters": "characters of these documents, as its library reads them; 0 if Tokbench runs it unnormalised",
    "characters_normalised": "characters changed by its normaliser and not restored by decoding, without whitespace",
}
"""Counts of an import, with their definitions."""
_UNITS = {
    "documents": "documents",
    "bytes": "bytes",
    "tokens": "tokens",
    "unknown": "tokens",
    "characters": "characters",
}


def imported_table(tokenizers: Mapping[tuple[str, int], Tokenizer]) -> pl.DataFrame:
    """Return one row per external tokenizer, in the order of the configuration.

    Args:
        tokenizers: tokenizers by variant and size; those built by Tokbench are skipped.
    """
    rows = []
    for (variant, size), tokenizer in tokenizers.items():
        imported = tokenizer.origin.get("imported")
        if imported is None:
            continue
        loss: dict[str, Any] = imported.get("loss") or {}
        rows.append(
            {
                **{name: imported[name] for name in ("ids", "form", "file", "sha256", "why")},
                **{name: loss.get(name) for name in (*COUNTS, "first")},
                "variant": variant,
                "size": size,
                "works_through": tokenizer.library_name or NATIVE,
                "pretokenization": f"{variant}'s own" if tokenizer.library_name else tokenizer.scheme.label,
                "told": "; ".join(imported["told"]),
                "end_of_text": tokenizer.end_token,
                "end_of_text_id": tokenizer.end_of_text,
                "end_of_text_source": (imported.get("end_of_text") or {}).get("source"),
                "reason": None if loss else UNMEASURED,
            }
        )
    return IMPORTED.frame(rows)


IMPORTED = TidyTable(
    "imported",
    "an external tokenizer",
    (
        VARIANT,
        SIZE,
        Column("ids", pl.Int64, "largest id plus 1", "ids"),
        Column("form", pl.String, "format of its file"),
        Column("file", pl.String, "name of the file, or of the tokenizer on the hub"),
        Column("sha256", pl.String, "checksum of the file; empty for a folder"),
        Column("works_through", pl.String, f"“{NATIVE}” if these return its library's ids, else the library",
               heading="works through"),
        Column("pretokenization", pl.String, "pre-tokenizer; “VARIANT's own” if it runs through its library",
               heading="pre-tokenizer"),
        Column("why", pl.String, "texts on which the ids were found equal, or the reason why its library is used"),
        Column("told", pl.String, "changes made during import"),
        Column("end_of_text", pl.String, "name of the token that ends a text", heading="end of text"),
        Column("end_of_text_id", pl.Int64, "id of this token", heading="id of the end of text"),
        Column("end_of_text_source", pl.String,
               "source of this token: a key and its file, or its name; empty if no file names one"),
        *(Column(name, pl.Int64, what, _UNITS[name.split("_")[0]], name.replace("_", " "))
          for name, what in COUNTS.items()),
        Column("first", pl.String, "first difference between a document and the decoded text"),
        REASON,
    ),
    maker=imported_table,
    takes=("tokenizers",),
    keys=("variant",),
    command="tabulate",
    prints=(
        Print(
            "tokenizers",
            "External tokenizers, used unchanged. For those that Tokbench runs directly, ids equal those of the "
            "tokenizer's library on test strings and on every document of the evaluation split. Losses were counted "
            "by encoding and decoding these documents.",
            ("variant", "size", "ids", "works_through", "why", "documents", "documents_changed", "bytes", "bytes_lost",
             "unknown_tokens", "characters_normalised"),
            files=("tokenizers/{variant}/own/tokbench.json",),
            arranged=True,
        ),
    ),
)  # fmt: skip
