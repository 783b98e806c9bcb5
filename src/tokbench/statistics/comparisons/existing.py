"""Existing tokenizers compared at their own sizes, in total and by language.

Existing tokenizers cannot be trained again at another size, so that external tokenizers of all sizes and pre-tokenizers
are compared with each other, and the size is a column. Each language is a family of comparisons of its own.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import polars as pl

from tokbench.statistics.comparisons.families import (
    TOKENS,
    ComparisonFamily,
    NamedRow,
    Pretokenizers,
    ranking_rows,
    token_counts,
    unrank_lossy,
)
from tokbench.statistics.comparisons.scoreboard import SCOREBOARD, tokens_of_documents, unit_of_documents
from tokbench.tabulation.columns import CORPUS, VARIANT
from tokbench.tabulation.table import EXCESS, Column, Print, TidyTable

CONTEXT = 8192
"""Tokens of the context of which the table has the characters and words."""
REFERENCES = ("en", "eng")
"""Tags of the language whose tokens premiums are relative to; a script or region may follow."""
DEFINITION = "tokens of the documents of a language, without ends"
JUDGED = (
    "best", "behind", "behind_low", "behind_high", "holm", "verdict", "reason", "baseline", "difference",
    "difference_low", "difference_high", "difference_holm", "difference_verdict", "difference_reason", "difference_n",
    "difference_unit",
)  # fmt: skip
"""Columns of the scoreboard that this table shares."""
COUNTED = ("documents", "bytes", "characters", "words", "lines", "tokens", "documents_changed")
"""Columns of the token counts that are summed."""


def existing_tokenizers(
    families: Sequence[ComparisonFamily],
    imported: pl.DataFrame,
    external_tokens: pl.DataFrame,
    baselines_of_all: Mapping[str, str],
    pretokenizers_of_all: Pretokenizers,
    unit_names: Mapping[str, str],
) -> pl.DataFrame:
    """Compare external tokenizers by their tokens of each corpus and of each of its languages.

    Args:
        families: main measures, see :func:`tokbench.statistics.comparisons.scoreboard.scoreboard_families`.
        imported: table of external tokenizers.
        external_tokens: token counts of external tokenizers by language.
        baselines_of_all: baseline by variant.
        pretokenizers_of_all: pre-tokenizer by variant.
        unit_names: name of the units by corpus; units of other corpora are documents.

    Returns:
        The columns of :data:`EXISTING_TOKENIZERS`: by corpus the rows of the text, then those of each language.
    """
    ids = dict(imported.select("variant", "ids").iter_rows())
    of_text = {family.head[0]: family for family in families if family.own_sizes and family.head[2] == TOKENS}
    rows: list[NamedRow] = []
    for (corpus,), counts in external_tokens.sort("corpus").group_by("corpus", maintain_order=True):
        if (family := of_text.get(corpus)) is None:
            continue
        parts: list[tuple[str | None, ComparisonFamily, pl.DataFrame]] = [(None, family, counts)]
        if counts["language"].n_unique() > 1:
            unit = unit_names.get(str(corpus))
            for (language,), part in counts.sort("language").group_by("language", maintain_order=True):
                parts.append((str(language), _of_language(family, part, unit), part))
        # Rows of all documents, then of each language.
        premiums = _premiums(counts)
        for language, of_part, part in parts:
            judged = {row["variant"]: row for row in ranking_rows(of_part, baselines_of_all, pretokenizers_of_all)}
            for counted in _sums(part):
                variant = counted["variant"]
                if variant in judged:
                    rows.append(
                        {name: judged[variant].get(name) for name in ("size", "pretokenization", *JUDGED)}
                        | {"corpus": corpus, "language": language, "ids": ids[variant]}
                        | {"premium": premiums.get((language, variant))}
                        | counted
                        | _costs(counted)
                        | _interval(counted["bytes"], judged[variant])
                    )
    return EXISTING_TOKENIZERS.frame(rows)


def _of_language(family: ComparisonFamily, part: pl.DataFrame, unit: str | None) -> ComparisonFamily:
    """Return the family of one language; tokenizers that change its documents are not ranked.

    Args:
        family: family of the text.
        part: token counts of the language.
        unit: name of the units; None for documents or groups of them.
    """
    sums = list(_sums(part))
    totals: dict[str, tuple[float | None, str | None]] = {row["variant"]: (float(row["tokens"]), None) for row in sums}
    sizes, by_document = tokens_of_documents(part)
    head = (*family.head[:5], DEFINITION)
    made = token_counts(head, totals, by_document, sizes, unit or unit_of_documents(part))
    lossy = {row["variant"] for row in sums if row["documents_changed"]}
    return replace(unrank_lossy(made, lossy), own_sizes=family.own_sizes)


def _sums(part: pl.DataFrame) -> Iterator[dict[str, Any]]:
    """Yield the summed counts of each tokenizer."""
    sums = part.group_by("variant", maintain_order=True).agg(pl.col(*COUNTED).sum())
    yield from sums.iter_rows(named=True)


def _premiums(counts: pl.DataFrame) -> dict[tuple[str | None, str], float]:
    """Return tokens relative to those of English, by language and tokenizer; empty unless the text is parallel.

    A text is parallel if each language has as many lines that are not blank.
    """
    sums = counts.group_by("language", "variant").agg(pl.col("lines", "tokens").sum())
    tagged = [language for language in sums["language"].unique().sort() if language.replace("_", "-").split("-")[0] in
              REFERENCES]  # fmt: skip
    if not tagged or sums["language"].n_unique() < 2 or sums["lines"].n_unique() > 1:
        return {}
    base = dict(sums.filter(language=tagged[0]).select("variant", "tokens").iter_rows())
    return {
        (language, variant): tokens / base[variant]
        for language, variant, tokens in sums.select("language", "variant", "tokens").iter_rows()
        if base.get(variant)
    }


def _costs(counted: Mapping[str, Any]) -> dict[str, float | None]:
    """Return bytes per token, and tokens per word and character with the context that follows from them."""
    tokens, size, words, characters = (counted[name] or None for name in ("tokens", "bytes", "words", "characters"))
    return {
        "bytes_per_token": size / tokens if tokens and size else None,
        "tokens_per_1000_words": 1000 * tokens / words if tokens and words else None,
        "tokens_per_1000_characters": 1000 * tokens / characters if tokens and characters else None,
        "words_in_context": CONTEXT * words / tokens if tokens and words else None,
        "characters_in_context": CONTEXT * characters / tokens if tokens and characters else None,
    }


def _interval(size: int, judged: Mapping[str, Any]) -> dict[str, float | None]:
    """Return the ends of the interval of bytes per token, from that of the tokens."""
    return {
        f"bytes_per_token_{name}": None if judged[end] is None else size / judged[end]
        for name, end in (("low", "high"), ("high", "low"))
    }


EXISTING_TOKENIZERS = TidyTable(
    "existing_tokenizers",
    "an external tokenizer on the evaluation split of a corpus, or on its documents in one language",
    (
        CORPUS,
        Column("language", pl.String, "language of the documents; empty for all documents"),
        VARIANT,
        Column("pretokenization", pl.String, "pre-tokenizer; empty if it is not known", heading="pre-tokenizer"),
        Column("size", pl.Int64, "tokens that text can produce", "tokens"),
        Column("ids", pl.Int64, "largest id plus 1: rows of an embedding matrix", "ids", "rows of embeddings"),
        Column("documents", pl.Int64, "documents", "documents"),
        Column("documents_changed", pl.Int64, "documents that decoding does not return byte for byte", "documents",
               "documents changed"),
        Column("bytes", pl.Int64, "bytes of the documents", "bytes"),
        Column("characters", pl.Int64, "Unicode characters of the documents", "characters"),
        Column("words", pl.Int64, "words of the documents: runs of characters other than white space", "words"),
        Column("lines", pl.Int64, "lines of the documents that are not blank", "lines"),
        Column("tokens", pl.Int64, "tokens of the documents", "tokens"),
        Column("bytes_per_token", pl.Float64, "bytes / tokens", "bytes per token", "bytes per token", 3),
        Column("bytes_per_token_low", pl.Float64, "lower end of its 95 % interval", "bytes per token"),
        Column("bytes_per_token_high", pl.Float64, "upper end of this interval", "bytes per token"),
        *(replace(SCOREBOARD[name], unit=EXCESS) if SCOREBOARD[name].dtype == pl.Float64 and "holm" not in name
          else SCOREBOARD[name] for name in JUDGED),
        Column("premium", pl.Float64, "tokens / tokens of the same text in English; empty if the text is not parallel "
               "or has no English", "ratio", "premium", 2),
        Column("tokens_per_1000_words", pl.Float64, "tokens / 1,000 words", "tokens", "tokens per 1,000 words", 0),
        Column("tokens_per_1000_characters", pl.Float64, "tokens / 1,000 characters", "tokens",
               "tokens per 1,000 characters", 0),
        Column("words_in_context", pl.Float64, f"words of {CONTEXT:,} tokens", "words",
               f"words in {CONTEXT:,} tokens", 0),
        Column("characters_in_context", pl.Float64, f"characters of {CONTEXT:,} tokens", "characters",
               f"characters in {CONTEXT:,} tokens", 0),
    ),
    maker=existing_tokenizers,
    takes=(
        "families", "imported", "external_tokens", "baselines_of_all", "pretokenizers_of_all", "unit_names",
    ),
    keys=("variant", "size", "corpus", "language"),
    prints=(
        Print(
            "summary",
            "Existing tokenizers at their own sizes.",
            files=("tokens/{variant}/own/{corpus}.json",),
            name="existing",
            arranged=True,
        ),
    ),
)  # fmt: skip
