"""What the page of the study says of its language models follows from the tables that are kept beside it."""

import re
from functools import cache
from pathlib import Path

import polars as pl
import pytest

from tokbench.statistics.judgement import NOT_TOLD
from tokbench.statistics.measures import measures_against_models

PUBLISHED = Path(__file__).parents[1] / "results" / "published"
TIDY = PUBLISHED / "study_models" / "tidy"
RESOURCES = ("SIGMORPHON", "LADEC", "MorphScore")
F1 = "F1 of token boundaries, pooled, over words that are no token"
TOKENS = F1 + " and whose gold segments all are"
MORPHEMES, NGRAM = "morphological_alignment", "ngram_bits_per_byte"
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
    "Rényi efficiency of order 1, over the size asked for": ("english", "renyi_efficiency_1", "entropy / log(nominal"),
    "Rényi efficiency of order 2.5, over the size asked for": (
        "english",
        "renyi_efficiency_2.5",
        "entropy / log(nominal",
    ),
    "Rényi efficiency of order 2.5, over the types seen": ("english", "renyi_efficiency_2.5", "entropy / log(number"),
}
"""Which row of the tables stands behind a row of the page: corpus, metric and how its definition begins."""


@cache
def kept(name: str) -> pl.DataFrame:
    return pl.read_parquet(TIDY / f"{name}.parquet")


@cache
def rows(heading: str) -> list[list[str]]:
    """The cells of the page's table under a heading."""
    page = (PUBLISHED / "study" / "README.md").read_text(encoding="utf-8")
    lines = page[page.index(heading) :].splitlines()[2:]
    until = next(number for number, line in enumerate(lines) if not line.startswith("|"))
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[:until]]


def comparisons_on_equal(what: str) -> pl.DataFrame:
    return kept("bits_comparisons").filter(pl.col("model").str.starts_with(what))


def short(number: float) -> str:
    """As the page writes it: three decimals, no zero before them."""
    return re.sub(r"^(-?)0\.", r"\1.", f"{number:.3f}")


@pytest.mark.parametrize(
    ("what", "heading"),
    [("text", "| | bits per byte | minus BPE"), ("compute", "| on equal compute | bits per byte | minus BPE")],
)
def test_bits_per_byte_and_what_is_told_of_them(what: str, heading: str) -> None:
    read = kept("bits_per_byte").filter(pl.col("model").str.starts_with(what))
    assert (read.height, read["model"].n_unique()) == (50, 5)
    bits = dict(read.group_by("variant").agg(pl.col("value").mean()).iter_rows())
    against = {}
    for one in comparisons_on_equal(what).filter((pl.col("a") == "en_bpe") | (pl.col("b") == "en_bpe")).to_dicts():
        turned = one["a"] == "en_bpe"
        low, high = (-one["high"], -one["low"]) if turned else (one["low"], one["high"])
        holm = f"{one['holm']:.0f}" if one["holm"] == 1 else short(one["holm"])
        difference = -one["difference"] if turned else one["difference"]
        against[one["b"] if turned else one["a"]] = [short(difference), f"{short(low)} to {short(high)}", holm]
    wanted = [
        [f"`{name.removeprefix('en_')}`", f"{value:.3f}", *against.get(name, [""] * 3)]
        for name, value in sorted(bits.items(), key=lambda one: one[1])
    ]
    assert rows(heading) == wanted


@pytest.mark.parametrize("row", rows("| measure, of the same"), ids=lambda row: row[0])
def test_which_measure_orders_pairs_as_language_models_do(row: list[str]) -> None:
    corpus, metric, begins = SHOWN[row[0]]

    def ordered(comparisons: pl.DataFrame) -> dict[str, float]:
        """Of definitions that begin alike the shortest: others go on."""
        measures = measures_against_models(comparisons, kept("intrinsic"), kept("ngram_bits"))
        chosen = measures.filter(corpus=corpus, metric=metric).filter(pl.col("definition").str.starts_with(begins))
        return min(chosen.to_dicts(), key=lambda one: len(one["definition"]))

    comparisons = comparisons_on_equal("text")
    every = ordered(comparisons)
    others = ordered(comparisons.filter(pl.col("a") != "en_greedwmc", pl.col("b") != "en_greedwmc"))
    share, low, high = (f"{every[name]:.2f}".removeprefix("0") for name in ("share", "low", "high"))
    told = [f"{one['agreed']} of {one['pairs']}" for one in (every, others)]
    assert row[1:] == [told[0], share, f"{low} to {high}", told[1]]


@pytest.mark.parametrize(("what", "pairs", "of_greedwmc"), [("text", 15, 9), ("compute", 4, 3)])
def test_how_many_pairs_are_told_apart(what: str, pairs: int, of_greedwmc: int) -> None:
    comparisons = comparisons_on_equal(what)
    told = comparisons.filter(pl.col("verdict") != NOT_TOLD)
    with_greedwmc = told.filter((pl.col("a") == "en_greedwmc") | (pl.col("b") == "en_greedwmc"))
    assert (comparisons.height, told.height, with_greedwmc.height) == (45, pairs, of_greedwmc)
    for page in (PUBLISHED / "study" / "README.md", PUBLISHED.parents[1] / "README.md"):
        text = " ".join(page.read_text(encoding="utf-8").split())
        assert re.search(rf"\b{pairs} of 45 pairs|all 45 pairs, {pairs} are told apart", text)


def test_every_measure_that_is_shown_is_known() -> None:
    assert {row[0] for row in rows("| measure, of the same")} == set(SHOWN)


def test_equal_compute_tells_what_equal_text_tells() -> None:
    both = comparisons_on_equal("text").join(comparisons_on_equal("compute"), on=["a", "b"], suffix="_compute")
    assert both.filter((pl.col("difference") > 0) == (pl.col("difference_compute") > 0)).height == 41
    told = both.filter(pl.col("verdict_compute") != NOT_TOLD)
    assert told["verdict"].to_list() == told["verdict_compute"].to_list()


def test_vocabularies_that_are_smaller_are_named() -> None:
    sizes = pl.read_parquet(PUBLISHED / "study" / "tidy" / "intrinsic.parquet").filter(metric="vocabulary_size")
    smaller = sizes.filter(pl.col("value") < pl.col("size")).select("variant", "size", "value").unique()
    wanted = [[f"`{variant}`", f"{size:,}", f"{value:,.0f}"] for variant, size, value in smaller.sort(pl.all()).rows()]
    assert rows("| vocabulary | asked for | tokens") == wanted
