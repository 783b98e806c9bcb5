"""What the page of the study says of its language models follows from the tables that are kept beside it."""

import re
from functools import cache
from itertools import combinations
from math import ceil
from pathlib import Path

import polars as pl
import pytest

from tokbench.statistics.measures import measures_against_models
from tokbench.statistics.verdicts import NOT_TOLD

PUBLISHED = Path(__file__).parents[1] / "results" / "published"
TIDY = PUBLISHED / "study_models" / "tidy"
RESOURCES = ("SIGMORPHON", "LADEC", "MorphScore")
F1 = "F1 of token boundaries, pooled, over words that are no token"
TOKENS = F1 + " and whose gold segments all are"
MORPHEMES, NGRAM = "morphological_alignment", "ngram_bits_per_byte"
NOMINAL, OWN = "entropy / log(nominal vocabulary size)", "entropy / log(the vocabulary's own tokens)"
BUDGETS = {"half": "3,993,817", "all": "7,987,635"}
SHOWN = {
    "borders of morphemes, F1, mean over three resources": ("all resources", MORPHEMES, F1 + "; mean"),
    **{f"borders in {name}, F1": (name.lower(), MORPHEMES, F1) for name in RESOURCES},
    **{
        f"the same in {name}, words whose gold segments all are tokens": (name.lower(), MORPHEMES, TOKENS)
        for name in RESOURCES
    },
    **{
        f"order-{order} n-gram bits, {share} of the text": ("english", NGRAM, f"order {order}, trained on {budget}")
        for order in range(1, 6)
        for share, budget in BUDGETS.items()
    },
    "fewest tokens (and with them fertility)": ("english", "corpus_token_count", ""),
    "gap to the fewest possible, where it is proven": ("english", "gap", ""),
    "Rényi efficiency of order 1, by the vocabulary's own tokens": ("english", "renyi_efficiency_1", OWN),
    "Rényi efficiency of order 2.5, by the vocabulary's own tokens": ("english", "renyi_efficiency_2.5", OWN),
    "Rényi efficiency of order 2.5, by the types seen": ("english", "renyi_efficiency_2.5", "entropy / log(number"),
}
"""Which row of the tables stands behind a row of the page: corpus, metric and how its definition begins."""


@cache
def kept(name: str) -> pl.DataFrame:
    return pl.read_parquet(TIDY / f"{name}.parquet")


@cache
def kept_of_study(name: str) -> pl.DataFrame:
    return pl.read_parquet(PUBLISHED / "study" / "tidy" / f"{name}.parquet")


@cache
def measured() -> pl.DataFrame:
    """The intrinsic measures, and Renyi efficiency by each vocabulary's own number of tokens.

    Kept is the entropy over the logarithm of the size that was asked for, which one vocabulary does not come to.
    """
    every = kept("intrinsic")
    own = every.filter(metric="vocabulary_size").select("variant", "size", tokens="value").unique()
    of_size = every.filter(pl.col("metric").str.starts_with("renyi_efficiency"), definition=NOMINAL)
    assert (of_size["n"] == of_size["size"]).all()
    scale = pl.col("size").log() / pl.col("tokens").log()
    rescaled = of_size.join(own, on=["variant", "size"], validate="m:1").with_columns(pl.col("value") * scale)
    return pl.concat([every, rescaled.with_columns(definition=pl.lit(OWN)).select(every.columns)])


@cache
def rows(heading: str, first: str = "") -> list[list[str]]:
    """The cells of the page's table under a heading, where several have it of the one whose first row begins so."""
    page = (PUBLISHED / "study" / "README.md").read_text(encoding="utf-8")
    tables = (page[found.start() :].splitlines()[2:] for found in re.finditer(re.escape(heading), page))
    lines = next(lines for lines in tables if lines[0].startswith(f"| {first}" if first else "|"))
    until = next(number for number, line in enumerate(lines) if not line.startswith("|"))
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[:until]]


def comparisons_on_equal(what: str) -> pl.DataFrame:
    return kept("bits_comparisons").filter(pl.col("model").str.starts_with(what))


def short(number: float, decimals: int = 3) -> str:
    """As the page writes it: decimals without a zero before them."""
    return re.sub(r"^(-?)0\.", r"\1.", f"{number:.{decimals}f}")


@pytest.mark.parametrize(
    ("what", "heading"),
    [("text", "| | bits per byte | minus BPE"), ("compute", "| on equal compute | bits per byte | minus BPE")],
)
def test_bits_per_byte_and_what_is_told_of_them(what: str, heading: str) -> None:
    read = kept("bits_per_byte").filter(pl.col("model").str.starts_with(what))
    assert (read.height, read["model"].n_unique()) == (50, 5)
    bits, equal = (
        dict(read.group_by("variant").agg(pl.col(name).mean()).iter_rows()) for name in ("value", "equal_context")
    )
    ordered = [[one[a] < one[b] for a, b in combinations(bits, 2)] for one in (bits, equal)]
    assert sum(a != b for a, b in zip(*ordered, strict=True)) == 1
    against = {}
    for one in comparisons_on_equal(what).filter((pl.col("a") == "en_bpe") | (pl.col("b") == "en_bpe")).to_dicts():
        turned = one["a"] == "en_bpe"
        low, high = (-one["high"], -one["low"]) if turned else (one["low"], one["high"])
        holm = f"{one['holm']:.0f}" if one["holm"] == 1 else short(one["holm"])
        difference = -one["difference"] if turned else one["difference"]
        other = one["b"] if turned else one["a"]
        against[other] = [
            short(difference),
            f"{short(low)} to {short(high)}",
            holm,
            short(equal[other] - equal["en_bpe"]),
        ]
    wanted = [
        [f"`{name.removeprefix('en_')}`", f"{value:.3f}", *against.get(name, [""] * 4)]
        for name, value in sorted(bits.items(), key=lambda one: one[1])
    ]
    assert rows(heading) == wanted


@pytest.mark.parametrize("row", rows("| measure, of the same"), ids=lambda row: row[0])
def test_which_measure_orders_pairs_as_language_models_do(row: list[str]) -> None:
    corpus, metric, begins = SHOWN[row[0]]

    def ordered(comparisons: pl.DataFrame) -> dict[str, float]:
        """Of definitions that begin alike the shortest: others go on."""
        measures = measures_against_models(comparisons, measured(), kept("ngram_bits"))
        chosen = measures.filter(corpus=corpus, metric=metric).filter(pl.col("definition").str.starts_with(begins))
        return min(chosen.to_dicts(), key=lambda one: len(one["definition"]))

    comparisons = comparisons_on_equal("text")
    every = ordered(comparisons)
    others = ordered(comparisons.filter(pl.col("a") != "en_greedwmc", pl.col("b") != "en_greedwmc"))
    share, low, high = (f"{every[name]:.2f}".removeprefix("0") for name in ("share", "low", "high"))
    told = [f"{one['agreed']} of {one['pairs']}" for one in (every, others)]
    assert row[1:] == [told[0], share, f"{low} to {high}", told[1]]


@pytest.mark.parametrize(("what", "pairs"), [("text", 15), ("compute", 4)])
def test_no_pair_is_ordered_alike_by_renyi_efficiency_by_equal_denominators(what: str, pairs: int) -> None:
    """By the size that was asked for a smaller vocabulary is given less, and so pairs of it would be ordered alike:
    they are left out."""
    told, measures = (
        measures_against_models(comparisons_on_equal(what), intrinsic, kept("ngram_bits"))
        for intrinsic in (measured(), measured().filter(pl.col("metric") != "vocabulary_size"))
    )
    of_greedwmc = 9 if what == "text" else 3
    nominal = told.filter(metric="renyi_efficiency_2.5", corpus="english", definition=NOMINAL)
    assert nominal["pairs"].item() == pairs - of_greedwmc
    of_order = measures.filter(metric="renyi_efficiency_2.5", corpus="english")
    alike = dict(of_order.select("definition", "agreed").iter_rows())
    seen = next(definition for definition in alike if definition.startswith("entropy / log(number"))
    assert set(of_order["pairs"]) == {pairs}
    assert (alike[OWN], alike[seen]) == (0, 0)
    page = " ".join((PUBLISHED / "study" / "README.md").read_text(encoding="utf-8").split())
    assert (f"{alike[NOMINAL]} of {pairs} are alike" if what == "text" else "and two of the four") in page
    efficiencies = measured().filter(metric="renyi_efficiency_2.5", definition=OWN).sort("value")
    low, *_, second, first = efficiencies.select("variant", "value").rows()
    assert (low[0], second[0], first[0]) == ("en_unigram", "en_bytespan_monotonic", "en_greedwmc")
    for _, value in (low, second, first):
        assert short(value) in page


@pytest.mark.parametrize(("what", "pairs", "of_greedwmc"), [("text", 15, 9), ("compute", 4, 3)])
def test_how_many_pairs_are_told_apart(what: str, pairs: int, of_greedwmc: int) -> None:
    comparisons = comparisons_on_equal(what)
    told = comparisons.filter(pl.col("verdict") != NOT_TOLD)
    with_greedwmc = told.filter((pl.col("a") == "en_greedwmc") | (pl.col("b") == "en_greedwmc"))
    assert (comparisons.height, told.height, with_greedwmc.height) == (45, pairs, of_greedwmc)
    for page in (PUBLISHED / "study" / "README.md", PUBLISHED.parents[1] / "README.md"):
        text = " ".join(page.read_text(encoding="utf-8").split())
        assert re.search(rf"\b{pairs} of 45 pairs|all 45 pairs, {pairs} are told apart", text)


def test_alignment_orders_the_pairs_of_equal_compute_by_all_words_and_not_by_those_of_tokens() -> None:
    comparisons = comparisons_on_equal("compute")
    measures = measures_against_models(comparisons, measured(), kept("ngram_bits")).filter(metric=MORPHEMES)
    alike = {(one["corpus"], one["definition"]): (one["agreed"], one["pairs"]) for one in measures.to_dicts()}
    names = [name.lower() for name in RESOURCES]
    assert {alike[name, F1] for name in names} == {(4, 4)}
    assert {share for (name, words), share in alike.items() if name == "all resources" and TOKENS not in words} == {
        (4, 4)
    }
    assert [alike[name, TOKENS] for name in names] == [(1, 4), (0, 1), (1, 4)]


def test_every_measure_that_is_shown_is_known() -> None:
    assert {row[0] for row in rows("| measure, of the same")} == set(SHOWN)


def test_equal_compute_tells_what_equal_text_tells() -> None:
    both = comparisons_on_equal("text").join(comparisons_on_equal("compute"), on=["a", "b"], suffix="_compute")
    assert both.filter((pl.col("difference") > 0) == (pl.col("difference_compute") > 0)).height == 41
    told = both.filter(pl.col("verdict_compute") != NOT_TOLD)
    assert told["verdict"].to_list() == told["verdict_compute"].to_list()


def test_gaps_of_the_search_have_two_parts_and_gaps_of_tokenizers_grow() -> None:
    bounds = pl.read_csv(PUBLISHED / "study" / "tidy" / "bounds.csv").sort("corpus", "size")
    ordered = pl.concat([bounds.filter(corpus=name) for name in ("english", "german", "ukrainian", "languages")])
    heading = (
        "| | English 4,096 | 16,384 | German 4,096 | 8,192 | Ukrainian 4,096 | 8,192 | 22 languages 4,096 | 16,384 |"
    )
    parts = zip(rows(heading), ("gap", "unsettled", "unrounded"), strict=False)
    for (_, *cells), column in parts:
        assert cells == [f"{100 * value:.1f}" for value in ordered[column]]
    gaps = kept_of_study("intrinsic").filter(metric="gap").drop_nulls("value").join(bounds, on=["corpus", "size"])
    possible = gaps.with_columns(least=(1 + pl.col("value")) * pl.col("bound") / pl.col("tokens") - 1).sort("size")
    grown = possible.group_by("corpus", "variant").agg(
        of=pl.len(),
        grows=pl.col("value").last() > pl.col("value").first(),
        surely=pl.col("least").last() > pl.col("value").first(),
    )
    assert grown["of"].unique().to_list() == [2]
    counted = grown.group_by("corpus").agg(pl.len(), pl.col("grows", "surely").sum()).sort("corpus")
    assert counted.select("len", "grows").rows() == [(21, 12), (21, 20), (21, 19), (21, 20)]
    assert counted["surely"].to_list() == [11, 20, 19, 20]


def by_page(table: pl.DataFrame) -> list[pl.DataFrame]:
    """The parts of a table in the order of the page's columns, which go by corpus and size."""
    parts = [table.filter(corpus=name) for name in ("english", "german", "ukrainian", "languages")]
    return [part.filter(size=size) for part in parts for size in sorted(part["size"].unique())]


def told_with(table: pl.DataFrame, some: set[tuple[str, int]]) -> int:
    """Pairs that are told apart and of which one at least is among some tokenizers."""
    told = table.filter(pl.col("verdict") != NOT_TOLD)
    return sum((a, size) in some or (b, size) in some for a, b, size in told.select("a", "b", "size").iter_rows())


def test_pairs_told_apart_by_order_5_and_those_that_say_less() -> None:
    sizes = kept_of_study("intrinsic").filter(metric="vocabulary_size")
    smaller = set(sizes.filter(pl.col("value") < pl.col("size")).select("variant", "size").rows())
    again = set(sizes.filter(pl.col("variant").str.ends_with("_bpe_cover")).select("variant", "size").rows())
    parts = by_page(kept_of_study("ngram_verdicts"))
    page = {row[0]: row[1:] for row in rows("| | English 4,096", "drawn from")}
    assert {part.height for part in parts} == {325}
    told = [part.filter(pl.col("verdict") != NOT_TOLD).height for part in parts]
    assert page["told apart by order 5 on all of the text"] == [str(count) for count in told]
    less = {"a vocabulary that is smaller than its size": smaller, "`bpe_cover`, which is `bpe` again": again}
    for words, some in less.items():
        assert page[f"told apart there, with {words}"] == [str(told_with(part, some)) for part in parts]
    excluded = [median_excluded(part) for part in parts]
    wanted = page["of those not told apart there, the median difference that is excluded: above"]
    assert wanted == [short(ceil(value * 1e4) / 1e4, 4) for value in excluded]
    without = [
        median_excluded(part.filter(~pl.any_horizontal(pl.col("a", "b").str.ends_with("_bpe_cover")))) for part in parts
    ]
    assert round(max(b - a for a, b in zip(excluded, without, strict=True)), 4) == 0.0007
    of_languages = by_page(kept_of_study("ngram_languages"))
    assert [told_with(part, smaller) for part in of_languages] == [0, 40]


def median_excluded(verdicts: pl.DataFrame) -> float:
    excluded = verdicts["excluded"].drop_nulls().median()
    assert isinstance(excluded, float)
    return excluded


def test_bpe_cover_is_bpe_again() -> None:
    key = ["size", "corpus", "language", "metric", "definition"]
    every = kept_of_study("intrinsic").filter(pl.col("metric") != "venn_region")
    for family in ("en", "de", "uk", "many"):
        one, other = (
            every.filter(variant=f"{family}_{name}").drop("variant").sort(key) for name in ("bpe", "bpe_cover")
        )
        assert one.equals(other)
    pairs = kept_of_study("ngram_verdicts").filter(
        pl.col("a").str.ends_with("_bpe"), pl.col("b") == pl.col("a") + "_cover"
    )
    assert pairs.select("low", "difference", "high").unique().rows() == [(0, 0, 0)]


def test_bpe_and_unigram_in_english_by_order_5() -> None:
    pairs = kept_of_study("ngram_verdicts").filter(a="en_bpe", b="en_unigram").sort("size")
    small, large = pairs.to_dicts()
    assert [one["verdict"] for one in (small, large)] == [NOT_TOLD] * 2
    page = " ".join((PUBLISHED / "study" / "README.md").read_text(encoding="utf-8").split())
    least, most = (short(-small[name], 4) for name in ("high", "low"))
    told = f"needs {short(-small['difference'], 4)} fewer at 4,096 tokens, {least} to {most} by the interval"
    above = [short(ceil(one["excluded"] * 1e4) / 1e4, 4) for one in (small, large)]
    assert told in page
    assert f"above {above[0]} is excluded, and above {above[1]} at 16,384" in page


def test_vocabularies_that_are_smaller_are_named() -> None:
    sizes = kept_of_study("intrinsic").filter(metric="vocabulary_size")
    smaller = sizes.filter(pl.col("value") < pl.col("size")).select("variant", "size", "value").unique()
    wanted = [[f"`{variant}`", f"{size:,}", f"{value:,.0f}"] for variant, size, value in smaller.sort(pl.all()).rows()]
    assert rows("| vocabulary | asked for | tokens") == wanted
