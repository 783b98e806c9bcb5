"""The regions of a Venn diagram of vocabularies."""

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import combinations

import polars as pl

from tokbench.errors import TokbenchError
from tokbench.intrinsic.forms import Form, forms
from tokbench.tidy.columns import SIZE
from tokbench.tidy.table import Column, Print, TidyTable
from tokbench.vocabulary import Vocabulary

REGIONS = {
    "only_a": "in a alone",
    "only_b": "in b alone",
    "only_c": "in c alone",
    "a_and_b": "in a and b, not in c",
    "a_and_c": "in a and c, not in b",
    "b_and_c": "in b and c, not in a",
    "all": "in all three",
}


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


def venn_by_size(vocabularies: Mapping[tuple[str, int], Vocabulary], variants: Sequence[str]) -> pl.DataFrame:
    """The seven regions of three variants' vocabularies, at each size at which all three stand.

    Args:
        vocabularies: by variant and size.
        variants: three names; with any other number there are no rows.

    Returns:
        Columns ``size``, ``a``, ``b``, ``c`` (names), ``only_a``, ``only_b``, ``only_c``, ``a_and_b``, ``a_and_c``,
        ``b_and_c`` and ``all`` (tokens in exactly these).
    """
    rows = []
    for size in sorted({size for _, size in vocabularies}):
        present = all((variant, size) in vocabularies for variant in variants)
        if len(variants) == 3 and present:
            counted = venn_regions({variant: vocabularies[variant, size] for variant in variants})
            rows.append((size, *variants, *counted["tokens"].to_list()))
    return pl.DataFrame(rows, schema=VENN.schema, orient="row")


VENN = TidyTable(
    "venn",
    "three variants at a vocabulary size",
    (
        SIZE,
        Column("a", pl.String, "the first of three variants"),
        Column("b", pl.String, "the second"),
        Column("c", pl.String, "the third"),
        *(Column(name, pl.Int64, f"tokens {where}", "tokens") for name, where in REGIONS.items()),
    ),
    maker=venn_by_size,
    takes=("vocabularies", "venn_variants"),
    keys=("size", "a", "b", "c"),
    command="tabulate",
    prints=(
        Print(
            "vocabularies",
            "Tokens in the vocabularies of {a}, {b} and {c} at size {size:,}. The numbers are exact; three circles can "
            "show them by their areas only nearly.",
            by=("a", "b", "c", "size"),
            arranged=True,
            form="figure",
        ),
    ),
)
