"""Power of a number of seeds, and the needed number.

The study's page on language models agrees with the tables in its folder.

Measures of a tokenizer and the bits of models: how often they order two variants in the same way.
"""

import re
from functools import cache
from itertools import combinations
from math import ceil, comb, sqrt
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal
from scipy.stats import binomtest, norm
from scipy.stats import t as student

from tests.conftest import Tokbench
from tests.support.fake_results import LEVELS, documents_of
from tokbench.corpus.units import read_units
from tokbench.statistics.accuracies.measures import NO_PAIR, claimed_end, clopper_pearson, measures_against_models
from tokbench.statistics.accuracies.seeds import with_seeds
from tokbench.statistics.comparisons.model_bits import compare_model_bits
from tokbench.statistics.planning.seed_plan import RULE, Pilot, detectable_by_seeds, pilots, plan_seeds
from tokbench.statistics.significance.distributions import ndtri
from tokbench.statistics.significance.student import detectable, power_of, quantile, two_sided
from tokbench.statistics.significance.verdicts import BETTER, NO_DIFFERENCE, NOT_TESTED, WORSE
from tokbench.statistics.undersized import undersized_vocabularies
from tokbench.statistics.units import sum_by_unit
from tokbench.tabulation.intrinsic import INTRINSIC
from tokbench.tabulation.ngram_bits import NGRAM_BITS


def test_power_is_that_of_simulated_tests() -> None:
    rng = np.random.default_rng(3)
    for seeds, difference in ((5, 1.5), (12, 0.9)):
        values = rng.normal(difference, 1, (20_000, seeds))
        statistics = values.mean(1) / values.std(1, ddof=1) * sqrt(seeds)
        seen = np.mean(np.abs(statistics) > student.isf(0.025, seeds - 1))
        assert power_of(difference * sqrt(seeds), seeds - 1) == pytest.approx(seen, abs=0.01)


@pytest.mark.parametrize("degrees", [1, 4, 7.5, 1000])
def test_the_detectable_difference_is_seen_with_its_power(degrees: float) -> None:
    assert power_of(detectable(degrees), degrees) == pytest.approx(0.8, abs=1e-6)
    assert quantile(0.05, degrees) == pytest.approx(student.ppf(0.975, degrees))


def test_numbers_of_seeds_are_those_of_the_books() -> None:
    """Half a standard deviation takes 34 pairs (Cohen 1988), and by the rule 63 of each of two samples."""
    pilot = Pilot(("en", "m", "s", 1), 1, 5, 10, 1 / sqrt(2), 1.0, 2.0, 0.0)
    assert pilot.needed(0.5) == 34
    assert pilot.needed(1.0) == 10
    assert pilot.needed(0.5, 2.0) == 128
    assert pytest.approx(2 * (norm.isf(0.025) + norm.isf(0.2)) ** 2, abs=0.01) == RULE
    assert pilot.power(0.5, 34) >= 0.8 > pilot.power(0.5, 33)
    assert pilot.error(5) == (pytest.approx(1 / sqrt(5)), 4)
    assert pilot.needed(1.00001 * detectable(999) / sqrt(1000)) == 1000


def test_no_seed_helps_against_few_documents() -> None:
    pilot = Pilot(("en", "m", "s", 1), 1, 5, 10, 0.01, 0.01, 0.02, 0.01)
    assert pilot.needed(0.02) is None
    assert pilot.needed(0.05) is not None
    error, degrees = pilot.error(1000)
    assert error == pytest.approx(0.01, rel=0.01)
    assert degrees == pytest.approx(9, rel=0.01)


def test_pilot_estimates_deviations() -> None:
    comparisons = compare_model_bits(documents_of(LEVELS, seeds=6), {})
    (pilot,) = pilots(comparisons)
    assert isinstance(pilot, Pilot)
    assert pilot.seed_deviation == pytest.approx(sqrt((comparisons["seed_deviation"] ** 2).mean()))
    assert pilot.run_deviation < pilot.seed_deviation < pilot.highest
    plan = plan_seeds(comparisons, 0.01).row(0, named=True)
    models = pl.DataFrame({"model": [f"m{number}" for number in range(30)]})
    planned = plan_seeds(models.join(comparisons.drop("model"), how="cross"), 0.01)["model"]
    assert planned.to_list() == sorted(models["model"])
    assert plan["by_rule"] == max(2, np.ceil(RULE * (pilot.run_deviation / 0.01) ** 2))
    assert pilot.power(0.01, plan["needed"]) >= 0.8
    assert plan["needed"] <= plan["needed_at_most"]
    seen = detectable_by_seeds(comparisons, 0.01)
    assert seen["detectable"].is_sorted(descending=True)
    assert [pilot.power(row["detectable"], row["seeds"]) for row in seen.iter_rows(named=True)] == pytest.approx(
        [0.8] * len(seen)
    )
    assert seen.filter(seeds=5)["by_rule"][0] == pytest.approx(sqrt(15.7 / 5) * pilot.run_deviation)


def test_power_command_prints_the_needed_seeds(tmp_path: Path, tokbench: Tokbench) -> None:
    comparisons = compare_model_bits(documents_of(LEVELS), {})
    comparisons.write_parquet(tmp_path / "bits_comparisons.parquet")
    done = tokbench("power", tmp_path, "--detect", "0.01", "-o", tmp_path / "power")
    assert done.status == 0
    needed = plan_seeds(comparisons, 0.01)["needed"][0]
    assert f"m (4 seeds) on books at 1024: detecting 0.01 bits per byte needs {needed} seeds" in done.stdout.decode()
    assert pl.read_parquet(tmp_path / "power" / "seed_plan.parquet")["needed"][0] == needed
    (tmp_path / "bits_comparisons.parquet").unlink()
    lacking = tokbench("power", tmp_path)
    assert "pass the folder statistics of an experiment with models of two or more seeds" in lacking.message


PUBLISHED = Path(__file__).parents[3] / "results" / "published"
TIDY = PUBLISHED / "study_models" / "tidy"
KINDS = ("text", "compute")


@cache
def kept(name: str) -> pl.DataFrame:
    return pl.read_parquet(TIDY / f"{name}.parquet")


@cache
def kept_of_study(name: str) -> pl.DataFrame:
    return pl.read_parquet(PUBLISHED / "study" / "tidy" / f"{name}.parquet")


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
def test_page_of_the_study_has_the_kept_bits_per_byte(what: str, heading: str) -> None:
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
        difference = -one["difference"] if turned else one["difference"]
        other = one["b"] if turned else one["a"]
        assert (one["verdict"] == NOT_TESTED) == (other == "en_greedwmc")
        low, high = (-one["high"], -one["low"]) if turned else (one["low"], one["high"])
        holm = NOT_TESTED if one["holm"] is None else "1" if one["holm"] == 1 else short(one["holm"])
        interval = f"{short(low)} to {short(high)}"
        against[other] = [short(difference), interval, holm, short(equal[other] - equal["en_bpe"])]
    wanted = [
        [f"`{name.removeprefix('en_')}`", f"{value:.3f}", *against.get(name, [""] * 4)]
        for name, value in sorted(bits.items(), key=lambda one: one[1])
    ]
    assert rows(heading) == wanted


@cache
def by_author(*, equal: bool = False, novels: bool = False) -> pl.DataFrame:
    """Comparisons made again from the bits of every novel; authors count by their text, or all the same."""
    tidy = kept("document_bits")
    units = {} if novels else {"english": PUBLISHED / "study" / "authors.csv"}
    bits = sum_by_unit(
        tidy, ("bytes", "bits", "bytes_lost"), {corpus: read_units(path) for corpus, path in units.items()}
    )
    if equal:
        bits = bits.with_columns(bits=pl.col("bits") / pl.col("bytes") * 60_000, bytes=pl.lit(60_000, pl.Int64))
    models = {kind: next(name for name in kept("bits_comparisons")["model"] if name.startswith(kind)) for kind in KINDS}
    seeds = {f"{kind}_{seed}": (models[kind], seed) for kind in KINDS for seed in range(1, 6)}
    undersized = set() if novels else undersized_vocabularies(kept("intrinsic"))
    names = {corpus: path.stem for corpus, path in units.items()}
    return compare_model_bits(with_seeds(bits, seeds), {}, undersized, names)


def test_comparisons_are_of_authors() -> None:
    assert_frame_equal(by_author(), kept("bits_comparisons"), abs_tol=1e-12, rel_tol=1e-9)
    assert set(kept("bits_comparisons").select("n", "unit").iter_rows()) == {(12, "authors")}
    authors = read_units(PUBLISHED / "study" / "authors.csv")
    tested = set(kept("document_bits")["document"])
    assert (len(authors), len(set(authors.values())), len(tested)) == (52, 24, 14)
    both = {authors[number] for number in tested} & {authors[number] for number in set(authors) - tested}
    assert len(both) == 10, "who also wrote what tokenizers and models are from"


def significant(comparisons: pl.DataFrame, what: str) -> set[frozenset[str]]:
    told = comparisons.filter(pl.col("model").str.starts_with(what), pl.col("verdict").is_in(["better", "worse"]))
    return {frozenset((a.removeprefix("en_"), b.removeprefix("en_"))) for a, b in told.select("a", "b").rows()}


def test_pairs_that_differ_whichever_way_authors_count() -> None:
    texts, equal = significant(by_author(), "text"), significant(by_author(equal=True), "text")
    assert texts == {frozenset(("unigram", "bpe"))}
    assert equal - texts == {frozenset(("unigram", name)) for name in ("picky_bpe", "bytespan_monotonic")}
    assert texts <= equal
    for equally in (False, True):
        assert significant(by_author(equal=equally), "compute") == set()


def p_value(comparisons: pl.DataFrame, what: str, *pair: str, decimals: int = 3) -> str:
    a, b = sorted(f"en_{name}" for name in pair)
    holm = comparisons.filter(pl.col("model").str.starts_with(what), a=a, b=b)["holm"].item()
    return short(holm, decimals)


def test_the_page_prints_their_p_values() -> None:
    page = " ".join((PUBLISHED / "study" / "README.md").read_text(encoding="utf-8").split())
    text, equal = by_author(), by_author(equal=True)
    both = [p_value(one, "text", "unigram", "bpe") for one in (text, equal)]
    assert "(Holm's p {}; {} if all authors count the same)".format(*both) in page
    others = ("picky_bpe", "bytespan_monotonic")
    by_authors = [p_value(equal, "text", "unigram", name) for name in others]
    assert "fewer bits than Picky BPE (p {}) and ByteSpan (p {})".format(*by_authors) in page
    assert {p_value(text, "text", "unigram", name, decimals=4) for name in others} == {".0500"}
    assert "their p is .0500, just above the level" in page
    nearest = [p_value(one, "compute", "unigram", "bytespan_monotonic") for one in (text, equal)]
    assert "least p ({}, and {} if authors count the same)".format(*nearest) in page
    for place in (PUBLISHED / "study_models" / "README.md", PUBLISHED.parents[1] / "README.md"):
        assert f"p {both[0]})" in place.read_text(encoding="utf-8")


def test_one_pair_cannot_say_which_measure_orders_pairs_as_models_do() -> None:
    """Measures are counted as the page says, each over the only significant pair."""
    measures = kept("measures").filter(pl.col("model").str.starts_with("text"))
    assert set(measures["pairs"]) <= {0, 1}
    page = (PUBLISHED / "study" / "README.md").read_text(encoding="utf-8")
    assert f"the order of BPE and Unigram by {measures.height} measures" in " ".join(page.split())


def test_how_many_pairs_differ() -> None:
    for what, pairs in (("text", 1), ("compute", 0)):
        comparisons = comparisons_on_equal(what)
        left_out = comparisons.filter((pl.col("a") == "en_greedwmc") | (pl.col("b") == "en_greedwmc"))
        assert set(left_out["verdict"]) == {NOT_TESTED}
        tested = comparisons.filter(pl.col("verdict") != NOT_TESTED)
        assert (tested.height, tested.filter(pl.col("verdict") != NO_DIFFERENCE).height) == (36, pairs)
    for page in (PUBLISHED / "study" / "README.md", PUBLISHED.parents[1] / "README.md"):
        text = " ".join(page.read_text(encoding="utf-8").split())
        assert re.search(r"Unigram (than with|needs fewer bits than) BPE", text)
        assert re.search(r"one of 36 pairs", text)
        assert re.search(r"[Nn]o pair of 36 differs", text)
    intervals = comparisons_on_equal("text").filter(pl.col("verdict") != NOT_TESTED)
    excluding = intervals.filter((pl.col("low") > 0) | (pl.col("high") < 0)).height
    assert f"{excluding} of the 36 pairs exclude zero" in " ".join(page_of_study().split())


def page_of_study() -> str:
    return (PUBLISHED / "study" / "README.md").read_text(encoding="utf-8")


def test_signs_on_equal_text_and_on_equal_compute() -> None:
    both = comparisons_on_equal("text").join(comparisons_on_equal("compute"), on=["a", "b"], suffix="_compute")
    tested = both.filter(pl.col("verdict") != NOT_TESTED)
    assert tested.filter((pl.col("difference") > 0) == (pl.col("difference_compute") > 0)).height == 32
    for what, seeds, most, excluded in (("text", ".016", ".026", ".086"), ("compute", ".027", ".059", ".111")):
        part = comparisons_on_equal(what)
        deviations = part.filter(pl.col("verdict") != NOT_TESTED)["seed_deviation"]
        assert [short(value) for value in (deviations.median(), deviations.max(), part["excluded"].median())] == [
            seeds, most, excluded,
        ]  # fmt: skip


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


def significant_with(table: pl.DataFrame, some: set[tuple[str, int]]) -> int:
    """Significant pairs of which at least one tokenizer is among some."""
    found = table.filter(pl.col("verdict").is_in([BETTER, WORSE]))
    return sum((a, size) in some or (b, size) in some for a, b, size in found.select("a", "b", "size").iter_rows())


def test_significant_pairs_by_order_5_and_those_that_say_less() -> None:
    sizes = kept_of_study("intrinsic").filter(metric="vocabulary_size")
    smaller = undersized_vocabularies(kept_of_study("intrinsic"))
    again = set(sizes.filter(pl.col("variant").str.ends_with("_bpe_cover")).select("variant", "size").rows())
    parts = by_page(kept_of_study("ngram_verdicts"))
    page = {row[0]: row[1:] for row in rows("| | English 4,096", "drawn from")}
    assert {part.height for part in parts} == {325}
    assert page["pairs tested"] == [str(part.filter(pl.col("verdict") != NOT_TESTED).height) for part in parts]
    counts = [part.filter(pl.col("verdict").is_in([BETTER, WORSE])).height for part in parts]
    assert page["significant"] == [str(count) for count in counts]
    assert [significant_with(part, smaller) for part in parts] == [0] * 8
    cover = page["significant, with `bpe_cover`, which is `bpe` again"]
    assert cover == [str(significant_with(part, again)) for part in parts]
    excluded = [median_excluded(part) for part in parts]
    wanted = page["median difference that is excluded, of pairs that are tested and not significant: above"]
    assert wanted == ["" if value is None else short(ceil(value * 1e4) / 1e4, 4) for value in excluded]
    without = [
        median_excluded(part.filter(~pl.any_horizontal(pl.col("a", "b").str.ends_with("_bpe_cover")))) for part in parts
    ]
    assert round(max(b - a for a, b in zip(excluded, without, strict=True) if a and b), 4) == 0.0003
    of_languages = by_page(kept_of_study("ngram_languages"))
    tested = [part.filter(pl.col("verdict") != NOT_TESTED) for part in of_languages]
    found = [part.filter(pl.col("verdict") != NO_DIFFERENCE).height for part in tested]
    text = " ".join(page_of_study().split())
    assert f"{counts[-2]} of 325 pairs of 4,096 tokens" in text
    assert f"and {found[0]} over languages. At 16,384 tokens it is {counts[-1]} and {found[1]} of 276 pairs" in text
    assert [part.height for part in tested] == [325, 276]


def test_seven_novels_allow_no_verdict_on_300_pairs() -> None:
    english = kept_of_study("ngram_verdicts").filter(corpus="english", size=4096)
    reasons = set(english.filter(~pl.col("reason").str.contains("fewer tokens"))["reason"])
    assert reasons == {"not tested: 7 documents; verdicts on 300 pairs need 14"}
    assert "seven novels allow no verdict on 300 pairs, which needs 14" in " ".join(page_of_study().split())


def median_excluded(verdicts: pl.DataFrame) -> float | None:
    excluded = verdicts["excluded"].drop_nulls().median()
    assert excluded is None or isinstance(excluded, float)
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
    assert [one["verdict"] for one in (small, large)] == [NOT_TESTED] * 2
    least, most = (short(-small[name], 4) for name in ("high", "low"))
    told = f"needs {short(-small['difference'], 4)} fewer at 4,096 tokens, {least} to {most} by the earlier interval"
    assert told in " ".join(page_of_study().split())


def test_vocabularies_that_are_smaller_are_named() -> None:
    sizes = kept_of_study("intrinsic").filter(metric="vocabulary_size")
    smaller = sizes.filter(pl.col("value") < pl.col("size")).select("variant", "size", "value").unique()
    wanted = [[f"`{variant}`", f"{size:,}", f"{value:,.0f}"] for variant, size, value in smaller.sort(pl.all()).rows()]
    assert rows("| vocabulary | asked for | tokens") == wanted


def test_exact_intervals_of_shares() -> None:
    for hits, of in ((0, 7), (7, 7), (3, 11), (60, 61)):
        theirs = binomtest(hits, of).proportion_ci(method="exact")
        assert clopper_pearson(hits, of) == pytest.approx((theirs.low, theirs.high))
        least = sum(comb(of, k) * theirs.high**k * (1 - theirs.high) ** (of - k) for k in range(hits + 1))
        assert least == pytest.approx(0.025 if hits < of else 1)


def measures_beside_models_measured(values: dict[str, float], metric: str) -> pl.DataFrame:
    rows = [(variant, 1024, "books", "", metric, "d", value, 1, None) for variant, value in values.items()]
    return pl.DataFrame(rows, schema=INTRINSIC.schema, orient="row")


def test_measures_that_order_pairs_as_models_do() -> None:
    levels = {"a": 1.7, "b": 1.8, "c": 1.9, "d": 2.0}
    comparisons = compare_model_bits(documents_of(levels, noise=0.001), {})
    assert NO_DIFFERENCE not in comparisons["verdict"]
    intrinsic = pl.concat(
        [
            measures_beside_models_measured({"a": 10, "b": 20, "c": 30, "d": 40}, "corpus_token_count"),
            measures_beside_models_measured({"a": 0.1, "b": 0.2, "c": 0.2, "d": 0.05}, "renyi_efficiency_2.5"),
            measures_beside_models_measured({"a": 1, "b": 2, "c": 3, "d": 4}, "relative_corpus_token_count"),
            measures_beside_models_measured({"a": 1, "b": 2, "c": 3, "d": 4}, "token_length"),
        ]
    )
    bits = pl.DataFrame(
        [(variant, 1024, "books", "", 2, 9, value, 1, 1, 1, 1, 1, 1, 0) for variant, value in (("a", 3.0), ("d", 2.0))],
        schema=NGRAM_BITS.schema,
        orient="row",
    )
    found = {row["metric"]: row for row in measures_against_models(comparisons, intrinsic, bits).rows(named=True)}
    assert {name: (row["agreed"], row["pairs"], row["tied"]) for name, row in found.items()} == {
        "corpus_token_count": (6, 6, 0),
        "renyi_efficiency_2.5": (3, 6, 1),
        "ngram_bits_per_byte": (0, 1, 0),
    }
    assert found["corpus_token_count"]["low"] == pytest.approx(0.025 ** (1 / 6))
    assert claimed_end("token_length") is None


def test_measures_without_significant_pairs_have_a_reason() -> None:
    comparisons = compare_model_bits(documents_of({"b": 2.0, "c": 2.0}), {})
    assert comparisons["verdict"].to_list() == [NO_DIFFERENCE]
    intrinsic = measures_beside_models_measured({"b": 10, "c": 20}, "corpus_token_count")
    many = pl.concat([intrinsic.with_columns(definition=pl.lit(f"d{number}")) for number in range(30)])
    order = measures_against_models(comparisons, many, pl.DataFrame(schema=NGRAM_BITS.schema))["definition"]
    assert order.to_list() == many["definition"].unique(maintain_order=True).to_list()
    row = measures_against_models(comparisons, intrinsic, pl.DataFrame(schema=NGRAM_BITS.schema)).row(0, named=True)
    assert (row["pairs"], row["share"], row["low"], row["reason"]) == (0, None, None, NO_PAIR)


def test_quantiles_are_those_of_scipy_stats() -> None:
    """The functions of ``scipy.special`` give the last digit of ``scipy.stats``."""
    for degrees in (1, 2, 2.5, 7, 30, 199.25, 1e6):
        for level in (1e-12, 0.001, 0.05 / 45, 0.05, 0.2, 0.5, 1):
            assert quantile(level, degrees) == student.isf(level / 2, degrees)
            assert ndtri(level / 2) == -norm.isf(level / 2)
        for statistic in (0.0, 0.3, -1.96, 12.0, 1e4):
            assert two_sided(statistic, degrees) == min(1.0, 2 * student.sf(abs(statistic), degrees))
