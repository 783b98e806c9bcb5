"""Overlap of vocabularies, pair by pair."""

from collections.abc import Iterable, Mapping
from itertools import combinations

import polars as pl

from tokbench.intrinsic.forms import forms
from tokbench.tidy import many
from tokbench.tidy.columns import REASON, SIZE, A, B
from tokbench.tidy.table import Column, Print, TidyTable, schema
from tokbench.vocabulary import Vocabulary

COLUMNS = (
    A,
    B,
    Column("tokens", pl.String, "which tokens were counted"),
    Column("size_a", pl.Int64, "such tokens of a", "tokens"),
    Column("size_b", pl.Int64, "such tokens of b", "tokens"),
    Column("shared", pl.Int64, "those that both have", "tokens", "shared tokens"),
    Column("jaccard", pl.Float64, "shared tokens / tokens in either", "ratio", "Jaccard index", 3),
    Column("share_of_a", pl.Float64, "shared tokens / tokens of a", "ratio"),
    Column("share_of_b", pl.Float64, "shared tokens / tokens of b", "ratio"),
    REASON,
)


def overlap(
    vocabularies: Mapping[str, Vocabulary],
    *,
    single_bytes: bool = True,
    pairs: Iterable[tuple[str, str]] | None = None,
) -> pl.DataFrame:
    """Common tokens of every pair of vocabularies, or of those that are named.

    Args:
        vocabularies: by name; pairs come in this order.
        pairs: names of the pairs, where not all are asked for.
        single_bytes: False leaves out the single bytes, which all vocabularies hold, as the share of common tokens in
            "A partition cover approach to tokenization" does.

    Returns:
        One row per pair: ``a``, ``b``, ``tokens`` (what was counted), ``size_a``, ``size_b``, ``shared`` = |A and B|,
        ``jaccard`` = |A and B| / |A or B|, ``share_of_a`` = |A and B| / |A|, ``share_of_b``. Ratios over empty sets
        are null with a ``reason``.
    """
    sets = {name: forms(vocabulary, single_bytes=single_bytes) for name, vocabulary in vocabularies.items()}
    over = "all" if single_bytes else "longer than one byte"
    rows = []
    for a, b in combinations(sets, 2) if pairs is None else pairs:
        tokens_a, tokens_b = sets[a], sets[b]
        common = len(tokens_a & tokens_b)
        sizes = len(tokens_a), len(tokens_b)
        shares = [common / size if size else None for size in (sum(sizes) - common, *sizes)]
        empty = [name for name, size in zip((a, b), sizes, strict=True) if not size]
        reason = f"no tokens longer than one byte in {', '.join(empty)}" if empty else None
        rows.append((a, b, over, *sizes, common, *shares, reason))
    return pl.DataFrame(rows, schema=schema(COLUMNS), orient="row")


def overlaps_by_size(
    vocabularies: Mapping[tuple[str, int], Vocabulary], baselines: Mapping[str, str] | None = None
) -> pl.DataFrame:
    """Common tokens of every two variants at each vocabulary size.

    Of more than :data:`tokbench.tidy.many.EVERY_PAIR_UP_TO` variants at a size these are the pairs of each with the
    baselines, or with the first of them where no baseline is among them.

    Args:
        vocabularies: by variant and size.
        baselines: variant that others are relative to, by corpus.

    Returns:
        The columns of :func:`overlap` and ``size``.
    """
    frames = [pl.DataFrame(schema=OVERLAPS.schema)]
    for size in sorted({size for _, size in vocabularies}):
        chosen = {variant: vocabulary for (variant, other), vocabulary in vocabularies.items() if other == size}
        pairs = None if len(chosen) <= many.EVERY_PAIR_UP_TO else _with_baselines(chosen, (baselines or {}).values())
        frames.append(overlap(chosen, pairs=pairs).with_columns(size=pl.lit(size, pl.Int64)))
    return pl.concat(frames)


def _with_baselines(variants: Iterable[str], baselines: Iterable[str]) -> list[tuple[str, str]]:
    """Each variant with each baseline that is among them, or else with the first."""
    names = list(variants)
    chosen = [one for one in dict.fromkeys(baselines) if one in names] or names[:1]
    return [(one, other) for place, one in enumerate(chosen) for other in names if other not in chosen[: place + 1]]


OVERLAPS = TidyTable(
    "overlaps",
    f"two variants at a vocabulary size; of more than {many.EVERY_PAIR_UP_TO} variants those with a baseline alone",
    (*COLUMNS, SIZE),
    maker=overlaps_by_size,
    takes=("vocabularies", "baselines"),
    keys=("size", "a", "b", "tokens"),
    command="tabulate",
    prints=(
        Print(
            "vocabularies",
            "Tokens that two vocabularies of one size share. Jaccard index: tokens in both / tokens in either.",
            ("size", "a", "b", "shared", "jaccard"),
            files=("tokenizers/{a}/{size}/tokens.vocab", "tokenizers/{b}/{size}/tokens.vocab"),
            folds_above=40,
            arranged=True,
        ),
    ),
)
