"""Overlap of vocabularies: pairs of vocabularies, and regions of Venn diagrams."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations

import polars as pl

from tokbench.errors import TokbenchError
from tokbench.metric.measurement import Form, token_set
from tokbench.tabulation import limits
from tokbench.tabulation.columns import REASON, SIZE, A, B
from tokbench.tabulation.table import Column, Print, TidyTable, schema
from tokbench.vocabulary import Vocabulary

COLUMNS = (
    A,
    B,
    Column("tokens", pl.String, "tokens counted: all, or those longer than one byte"),
    Column("size_a", pl.Int64, "counted tokens of a", "tokens"),
    Column("size_b", pl.Int64, "counted tokens of b", "tokens"),
    Column("shared", pl.Int64, "tokens in both", "tokens", "shared tokens"),
    Column("jaccard", pl.Float64, "shared tokens / tokens in either", "ratio", "Jaccard index", 3),
    Column("share_of_a", pl.Float64, "shared tokens / tokens of a", "ratio"),
    Column("share_of_b", pl.Float64, "shared tokens / tokens of b", "ratio"),
    REASON,
)
REGIONS = {
    "only_a": "only in a",
    "only_b": "only in b",
    "only_c": "only in c",
    "a_and_b": "in a and b, not in c",
    "a_and_c": "in a and c, not in b",
    "b_and_c": "in b and c, not in a",
    "all": "in all three",
}


def overlap(
    vocabularies: Mapping[str, Vocabulary],
    *,
    single_bytes: bool = True,
    pairs: Iterable[tuple[str, str]] | None = None,
) -> pl.DataFrame:
    """Count common tokens of every pair of vocabularies, or of named pairs.

    Args:
        vocabularies: vocabularies by name; pairs come in this order.
        single_bytes: count single bytes, which all vocabularies have (default: True). "A partition cover approach to
            tokenization" (figure 5) does not define its counts. Its token sets are those added to the 256 bytes, so
            its share of common tokens is ``share_of_a`` with False.
        pairs: names of the pairs (default: None, every pair).

    Returns:
        One row per pair: ``a``, ``b``, ``tokens`` (tokens counted), ``size_a``, ``size_b``, ``shared`` = |A and B|,
        ``jaccard`` = |A and B| / |A or B|, ``share_of_a`` = |A and B| / |A|, ``share_of_b``. Ratios over empty sets
        are null with a ``reason``.
    """
    sets = {name: token_set(vocabulary, single_bytes=single_bytes) for name, vocabulary in vocabularies.items()}
    over = "all" if single_bytes else "longer than one byte"
    rows = []
    for a, b in combinations(sets, 2) if pairs is None else pairs:
        tokens_a, tokens_b = sets[a], sets[b]
        common = len(tokens_a & tokens_b)
        sizes = len(tokens_a), len(tokens_b)
        jaccard, of_a, of_b = (common / size if size else None for size in (sum(sizes) - common, *sizes))
        empty = [name for name, size in zip((a, b), sizes, strict=True) if not size]
        rows.append(
            {
                "a": a,
                "b": b,
                "tokens": over,
                "size_a": sizes[0],
                "size_b": sizes[1],
                "shared": common,
                "jaccard": jaccard,
                "share_of_a": of_a,
                "share_of_b": of_b,
                "reason": f"no tokens longer than one byte in {', '.join(empty)}" if empty else None,
            }
        )
    return pl.DataFrame(rows, schema=schema(COLUMNS))


def overlaps_by_size(
    vocabularies: Mapping[tuple[str, int], Vocabulary],
    baselines: Mapping[str, str] | None = None,
    single_bytes: bool = True,
) -> pl.DataFrame:
    """Count common tokens of every two variants at each vocabulary size.

    If a size has more than :data:`tokbench.tabulation.limits.MAX_PAIRWISE_VARIANTS` variants, each is paired only with
    the baselines, or with the first variant if there is no baseline among them.

    Args:
        vocabularies: vocabularies by variant and size.
        baselines: baseline variant by corpus (default: none).
        single_bytes: see :func:`overlap`.

    Returns:
        The columns of :func:`overlap` and ``size``.
    """
    frames = [pl.DataFrame(schema=OVERLAPS.schema)]
    for size in sorted({size for _, size in vocabularies}):
        chosen = {variant: vocabulary for (variant, other), vocabulary in vocabularies.items() if other == size}
        pairs = (
            None if len(chosen) <= limits.MAX_PAIRWISE_VARIANTS else _with_baselines(chosen, (baselines or {}).values())
        )
        counted = overlap(chosen, pairs=pairs, single_bytes=single_bytes)
        frames.append(counted.with_columns(size=pl.lit(size, pl.Int64)))
    return pl.concat(frames)


def _with_baselines(variants: Iterable[str], baselines: Iterable[str]) -> list[tuple[str, str]]:
    """Pair each variant with each baseline among them, or with the first variant if there is none."""
    names = list(variants)
    chosen = [name for name in dict.fromkeys(baselines) if name in names] or names[:1]
    return [(name, other) for place, name in enumerate(chosen) for other in names if other not in chosen[: place + 1]]


OVERLAPS = TidyTable(
    "overlaps",
    f"two variants at a vocabulary size; only pairs with a baseline if there are more than "
    f"{limits.MAX_PAIRWISE_VARIANTS} variants",
    (*COLUMNS, SIZE),
    maker=overlaps_by_size,
    takes=("vocabularies", "baselines", "overlap_single_bytes"),
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


def venn_regions(vocabularies: Mapping[str, Vocabulary]) -> pl.DataFrame:
    """Count tokens by the exact set of vocabularies that contain them, as in a Venn diagram.

    Args:
        vocabularies: two or more vocabularies, by name.

    Returns:
        One row per region, empty ones included: ``region`` (names joined by `` & ``, in the order given) and
        ``tokens`` (Int64). Regions of fewer vocabularies come first.

    Raises:
        TokbenchError: there are fewer than two vocabularies.
    """
    if len(vocabularies) < 2:
        raise TokbenchError(f"vocabulary overlap: {len(vocabularies)} vocabulary; name two or more")
    membership: dict[Form, int] = {}
    for index, vocabulary in enumerate(vocabularies.values()):
        for form in token_set(vocabulary):
            membership[form] = membership.get(form, 0) | 1 << index
    sizes = Counter(membership.values())
    names = list(vocabularies)
    rows = []
    for members in range(1, len(names) + 1):
        for chosen in combinations(range(len(names)), members):
            key = sum(1 << index for index in chosen)
            rows.append({"region": " & ".join(names[index] for index in chosen), "tokens": sizes[key]})
    return pl.DataFrame(rows, schema={"region": pl.String, "tokens": pl.Int64})


def venn_by_size(vocabularies: Mapping[tuple[str, int], Vocabulary], triples: Sequence[Sequence[str]]) -> pl.DataFrame:
    """Count the seven regions of three variants' vocabularies, at each size that all three have.

    Args:
        vocabularies: vocabularies by variant and size.
        triples: three names per diagram.

    Returns:
        Columns ``size``, ``a``, ``b``, ``c`` (names), ``only_a``, ``only_b``, ``only_c``, ``a_and_b``, ``a_and_c``,
        ``b_and_c`` and ``all`` (tokens in exactly these).
    """
    rows = []
    for size in sorted({size for _, size in vocabularies}):
        for variants in triples:
            if all((variant, size) in vocabularies for variant in variants):
                counted = venn_regions({variant: vocabularies[variant, size] for variant in variants})
                row = dict(zip(REGIONS, counted["tokens"], strict=True))
                rows.append({"size": size, **dict(zip("abc", variants, strict=True)), **row})
    return VENN.frame(rows)


VENN = TidyTable(
    "venn",
    "three variants at a vocabulary size",
    (
        SIZE,
        Column("a", pl.String, "first of three variants"),
        Column("b", pl.String, "second variant"),
        Column("c", pl.String, "third variant"),
        *(Column(name, pl.Int64, f"tokens {where}", "tokens") for name, where in REGIONS.items()),
    ),
    maker=venn_by_size,
    takes=("vocabularies", "venn_triples"),
    keys=("size", "a", "b", "c"),
    command="tabulate",
    prints=(
        Print(
            "vocabularies",
            "Tokens in the vocabularies of {a}, {b} and {c} at size {size:,}. The numbers are exact; the areas of "
            "three circles can only approximate them.",
            by=("a", "b", "c", "size"),
            arranged=True,
            form="figure",
        ),
    ),
)
