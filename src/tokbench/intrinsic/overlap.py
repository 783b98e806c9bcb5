"""Overlap of vocabularies: pairwise shares, and the regions of a Venn diagram."""

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import combinations

import polars as pl

from tokbench.errors import TokbenchError
from tokbench.intrinsic.forms import Form, forms
from tokbench.vocabulary import Vocabulary

PAIRS = {
    "a": pl.String,
    "b": pl.String,
    "tokens": pl.String,
    "size_a": pl.Int64,
    "size_b": pl.Int64,
    "shared": pl.Int64,
    "jaccard": pl.Float64,
    "share_of_a": pl.Float64,
    "share_of_b": pl.Float64,
    "reason": pl.String,
}


def overlap(vocabularies: Mapping[str, Vocabulary], *, single_bytes: bool = True) -> pl.DataFrame:
    """Common tokens of every pair of vocabularies.

    Args:
        vocabularies: by name; pairs come in this order.
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
    for (a, tokens_a), (b, tokens_b) in combinations(sets.items(), 2):
        common = len(tokens_a & tokens_b)
        sizes = len(tokens_a), len(tokens_b)
        shares = [common / size if size else None for size in (sum(sizes) - common, *sizes)]
        empty = [name for name, size in zip((a, b), sizes, strict=True) if not size]
        reason = f"no tokens longer than one byte in {', '.join(empty)}" if empty else None
        rows.append((a, b, over, *sizes, common, *shares, reason))
    return pl.DataFrame(rows, schema=PAIRS, orient="row")


def venn_regions(vocabularies: Mapping[str, Vocabulary]) -> pl.DataFrame:
    """Tokens by the exact set of vocabularies that hold them, as in a Venn diagram.

    Args:
        vocabularies: two or more, by name.

    Returns:
        One row per region, empty ones included: ``region`` (names joined by `` & ``, in the order given) and
        ``tokens`` (Int64). Regions of fewer vocabularies come first.

    Raises:
        TokbenchError: fewer than two vocabularies.
    """
    if len(vocabularies) < 2:
        raise TokbenchError(f"vocabulary overlap: {len(vocabularies)} vocabulary given; name two or more")
    membership: dict[Form, int] = {}
    for index, vocabulary in enumerate(vocabularies.values()):
        for form in forms(vocabulary):
            membership[form] = membership.get(form, 0) | 1 << index
    sizes = Counter(membership.values())
    names = list(vocabularies)
    rows = []
    for members in range(1, len(names) + 1):
        for chosen in combinations(range(len(names)), members):
            key = sum(1 << index for index in chosen)
            rows.append((" & ".join(names[index] for index in chosen), sizes[key]))
    return pl.DataFrame(rows, schema={"region": pl.String, "tokens": pl.Int64}, orient="row")


def overlaps_by_size(vocabularies: Mapping[tuple[str, int], Vocabulary]) -> pl.DataFrame:
    """Common tokens of every two variants at each vocabulary size.

    Args:
        vocabularies: by variant and size.

    Returns:
        The columns of :func:`overlap` and ``size``.
    """
    frames = [pl.DataFrame(schema={**PAIRS, "size": pl.Int64})]
    for size in sorted({size for _, size in vocabularies}):
        chosen = {variant: vocabulary for (variant, other), vocabulary in vocabularies.items() if other == size}
        frames.append(overlap(chosen).with_columns(size=pl.lit(size, pl.Int64)))
    return pl.concat(frames)


def venn_by_size(vocabularies: Mapping[tuple[str, int], Vocabulary], variants: Sequence[str]) -> pl.DataFrame:
    """The seven regions of three variants' vocabularies, at each size at which all three stand.

    Args:
        vocabularies: by variant and size.
        variants: three names; with any other number there are no rows.

    Returns:
        Columns ``size``, ``a``, ``b``, ``c`` (names), ``only_a``, ``only_b``, ``only_c``, ``a_and_b``, ``a_and_c``,
        ``b_and_c`` and ``all`` (tokens in exactly these).
    """
    regions = ("only_a", "only_b", "only_c", "a_and_b", "a_and_c", "b_and_c", "all")
    schema = {"size": pl.Int64, **dict.fromkeys("abc", pl.String), **dict.fromkeys(regions, pl.Int64)}
    rows = []
    for size in sorted({size for _, size in vocabularies}):
        present = all((variant, size) in vocabularies for variant in variants)
        if len(variants) == 3 and present:
            counted = venn_regions({variant: vocabularies[variant, size] for variant in variants})
            rows.append((size, *variants, *counted["tokens"].to_list()))
    return pl.DataFrame(rows, schema=schema, orient="row")
