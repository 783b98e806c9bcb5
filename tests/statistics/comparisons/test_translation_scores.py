"""Scores of translations and their comparisons, compared with sacrebleu, statsmodels and brute force.

More variants than pairs can be read of: each is compared with its baseline and with the best.
"""

import json
import sys
from importlib.machinery import ModuleSpec
from itertools import permutations
from pathlib import Path
from types import ModuleType, SimpleNamespace

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm, ttest_rel
from statsmodels.stats.multitest import multipletests

from tests.support import small_report
from tests.support.small_report import altered, whole
from tokbench.errors import TokbenchError
from tokbench.inspection.comparison.experiments import translation_parts
from tokbench.models.translation.score import metrics, score
from tokbench.report.answer import summary
from tokbench.report.content import ReportContent
from tokbench.report.html import _shown_table, drawings, render, tables
from tokbench.report.sections.downstream import ranked_variants
from tokbench.report.sentences import SELECTED
from tokbench.report.typeset import to_csv, to_markdown
from tokbench.statistics.accuracies import pairs as pairing
from tokbench.statistics.accuracies.critical_difference import critical_differences
from tokbench.statistics.accuracies.pairs import compare_pairs, power_table
from tokbench.statistics.accuracies.ranks import averages, averages_by_size
from tokbench.statistics.cells import ACCURACY
from tokbench.statistics.comparisons.translations import bleu, resample_scores, translation_comparisons
from tokbench.statistics.significance.wilcoxon import holm
from tokbench.tabulation import limits
from tokbench.tabulation.columns import SENTENCES
from tokbench.tabulation.table import schema
from tokbench.tabulation.vocabularies import overlaps_by_size
from tokbench.vocabulary import BYTES, Vocabulary

BLEU = pytest.importorskip("sacrebleu.metrics.bleu").BLEU

LINES = st.lists(st.tuples(*[st.text("ab cd.,é", max_size=24)] * 2), min_size=2, max_size=8)


@settings(max_examples=60)
@given(LINES)
def test_scores_from_statistics_are_those_of_sacrebleu(pairs: list[tuple[str, str]]) -> None:
    pytest.importorskip("sacrebleu")
    ours, theirs = map(list, zip(*pairs, strict=True))
    for _, metric, own, counts in metrics():
        statistics = np.array([counts(*pair) for pair in pairs], np.int64)
        assert float(own(statistics.sum(0))) == pytest.approx(metric.corpus_score(ours, [theirs]).score, abs=1e-9)
    draws = np.random.default_rng(3).integers(len(pairs), size=(4, len(pairs)))
    _, metric, _, counts = metrics()[0]
    statistics = np.array([counts(*pair) for pair in pairs], np.int64)
    brute = [metric.corpus_score([ours[i] for i in draw], [[theirs[i] for i in draw]]).score for draw in draws]
    assert resample_scores(statistics, bleu, resamples=4, seed=3).tolist() == pytest.approx(brute, abs=1e-9)


def test_two_systems_are_compared_as_by_brute_force() -> None:
    """Against sacrebleu on every resample, with three seeds taken together."""
    sacrebleu = pytest.importorskip("sacrebleu")
    references = ["the cat sees the dog", "a red cat", "two dogs and one cat", "one", "the red dog sees a cat today"]
    ours = [["the cat sees a dog", "a red cat", "two dogs and a cat", "two", "the red dog sees a cat today"]] * 3
    theirs = [["the cat", "a red dog", "two dogs and one", "one", "a dog sees the cat"], references, references]
    rows = []
    for name, seeds in (("a", ours), ("b", theirs)):
        for lines in seeds:
            numbers = [metrics()[0][3](*pair) for pair in zip(lines, references, strict=True)]
            for pair, (line, counts) in enumerate(zip(lines, numbers, strict=True)):
                value = sacrebleu.BLEU(effective_order=True).sentence_score(line, [references[pair]]).score
                of = ("news", "en", "de", "test", "m", 500, name, "BLEU", pair, value, " ".join(map(str, counts)))
                rows.append(of)
    frame = pl.DataFrame(rows, schema(SENTENCES), orient="row")
    [found] = translation_comparisons(frame).rows(named=True)

    def together(seeds: list[list[str]], places: list[int]) -> float:
        lines = [seed[place] for seed in seeds for place in places]
        return float(sacrebleu.BLEU().corpus_score(lines, [[references[place] for place in places] * len(seeds)]).score)

    everything = list(range(len(references)))
    assert found["score_a"] == pytest.approx(together(ours, everything))
    assert found["score_b"] == pytest.approx(together(theirs, everything))
    draws = np.random.default_rng(0).integers(len(references), size=(1000, len(references))).tolist()
    differences = [together(ours, draw) - together(theirs, draw) for draw in draws[:300]]
    assert np.mean(np.array(differences) <= 0) == pytest.approx(found["bootstrap_p"], abs=0.06)
    assert found["low"] < np.median(differences) < found["high"]
    single = frame.group_by("tokenizers", "pair", maintain_order=True).agg(pl.col("value").mean())
    values = [single.filter(tokenizers=name)["value"].to_numpy() for name in ("a", "b")]
    assert found["t_test_p"] == pytest.approx(ttest_rel(*values).pvalue)
    assert (found["n"], found["seeds"]) == (5, 3)
    assert found["p_value"] == pytest.approx(2 * norm.sf(abs(found["difference"]) / np.std(differences)), rel=0.3)
    assert found["holm"] == found["p_value"]


def test_a_share_of_resamples_is_never_above_one_nor_zero() -> None:
    shared = ("news", "en", "de", "test", "m", 500)
    rows = [(*shared, name, "COMET", pair, value, "") for name, value in (("a", 0.5), ("b", 0.7)) for pair in range(4)]
    frame = pl.DataFrame(rows * 3, schema(SENTENCES), orient="row")
    assert translation_comparisons(frame)["bootstrap_p"].to_list() == [1.0]
    turned = frame.with_columns(value=1 - pl.col("value"))
    assert translation_comparisons(turned)["bootstrap_p"].to_list() == [1 / 1001]


def test_p_is_that_of_a_normal_difference() -> None:
    random = np.random.default_rng(2)
    drawn = {"a": random.normal(0.2, 1, 100), "b": np.zeros(100)}
    shared = ("news", "en", "de", "test", "m", 500)
    rows = [(*shared, name, "COMET", pair, one, "") for name, ones in drawn.items() for pair, one in enumerate(ones)]
    [found] = translation_comparisons(pl.DataFrame(rows * 3, schema(SENTENCES), orient="row")).rows(named=True)
    assert found["p_value"] == pytest.approx(2 * norm.sf(drawn["a"].mean() / drawn["a"].std() * 10), rel=0.2)


def test_pairs_of_one_test_and_size_are_corrected_together() -> None:
    """By Holm's procedure as statsmodels has it; two metrics, and two sizes, are two families."""
    random = np.random.default_rng(1)
    rows = []
    for size, names in ((500, "abcd"), (600, "ab")):
        for metric, width in (("BLEU", 10), ("chrF", 18)):
            for place, name in enumerate(names):
                for pair in range(60):
                    numbers = random.integers(1, 20, width)
                    numbers[2:6] += place
                    value = float(random.normal(place))
                    of = ("news", "en", "de", "test", "m", size, name, metric, pair, value, " ".join(map(str, numbers)))
                    rows.append(of)
    found = translation_comparisons(pl.DataFrame(rows * 3, schema(SENTENCES), orient="row"))
    assert [part.height for _, part in found.group_by("size", "metric", maintain_order=True)] == [6, 6, 1, 1]
    for _, part in found.group_by("size", "metric"):
        wanted = multipletests(part["p_value"].to_numpy(), method="holm")[1]
        assert part["holm"].to_numpy() == pytest.approx(wanted)
    p_values = found["p_value"].to_numpy()
    assert p_values.min() < 0.01
    assert p_values.max() > 0.1


@pytest.mark.parametrize("seeds", [1, 2, 3])
def test_translations_need_three_trainings_for_a_test(seeds: int) -> None:
    shared = ("news", "en", "de", "test", "m", 500)
    rows = [
        (*shared, name, "COMET", pair, value + pair / 100, "")
        for name, value in (("a", 0.5), ("b", 0.7)) for pair in range(9)
    ]  # fmt: skip
    frame = translation_comparisons(pl.DataFrame(rows * seeds, schema(SENTENCES), orient="row"))
    [row] = frame.rows(named=True)
    assert (row["seeds"], row["difference"]) == (seeds, pytest.approx(-0.2))
    assert row["low"] <= row["difference"] <= row["high"]
    assert [row[name] is None for name in ("bootstrap_p", "p_value", "holm")] == [seeds < 3] * 3
    content = altered(whole(), translation_comparisons=frame)
    [table] = [one for one in tables(content) if one.name.startswith("translation-comparisons")]
    reason = {1: "not tested: one training", 2: "not tested: two trainings; significance needs three"}.get(seeds)
    text = to_markdown(table)
    assert ("not tested: " in text) == (reason is not None)
    assert reason is None or f"] {reason}" in text


def test_two_joint_vocabularies_are_compared_by_their_translations(tmp_path: Path) -> None:
    """Either way round, at the sizes that both have."""
    of = {"parallel": "news", "source_language": "en", "target_language": "de", "test": "held", "model": "m"}
    row = {**of, "metric": "BLEU", "a": "one", "b": "two", "score_a": 5.0, "score_b": 4.0, "difference": 1.0}
    row |= {"low": 0.5, "high": 1.75, "bootstrap_p": 0.001, "t_test_p": 0.2, "n": 40, "seeds": 3}
    rows = [row | {"size": size} for size in (300, 400)] + [row | {"size": 300, "b": "two + three"}]
    (tmp_path / "statistics").mkdir()
    pl.DataFrame(rows).write_parquet(tmp_path / "statistics" / "translation_comparisons.parquet")
    [found] = translation_parts("two", "one", [300], tmp_path)
    assert found.heading == "Translation of held by m, paired bootstrap over sentences"
    [line] = found.lines
    values = ("value_a", "value_b", "difference", "low", "high", "n", "unit")
    assert [line.row[name] for name in values] == [5.0, 4.0, 1.0, 0.5, 1.75, 40, "sentences"]
    assert (line.winner, line.row["verdict"]) == ("", "not tested")
    [other] = translation_parts("one", "two", [300], tmp_path)
    assert [other.lines[0].row[name] for name in values] == [4.0, 5.0, -1.0, -1.75, -0.5, 40, "sentences"]
    assert translation_parts("one", "two", [300], tmp_path / "nowhere") == []


def test_comet_scores_each_sentence_from_a_model_at_hand(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The package is stood in for: it is large, and its models are not to be had here."""

    class Model:
        def predict(self, rows: list[dict[str, str]], **_: object) -> SimpleNamespace:
            return SimpleNamespace(scores=[len(row["mt"]) / 10 for row in rows])

    module = ModuleType("comet")
    module.__spec__ = ModuleSpec("comet", None)
    module.load_from_checkpoint = lambda path: Model()  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "comet", module)
    frame = pl.DataFrame({"pair": [0, 1], "source": ["a", "b"], "reference": ["b", "c"], "translation": ["b", "cde"]})
    frame.write_parquet(tmp_path / "two.parquet")
    with pytest.raises(TokbenchError, match="no COMET model here"):
        score(tmp_path / "two.parquet", tmp_path / "two.json", {}, comet=tmp_path / "wmt.ckpt")
    (tmp_path / "wmt.ckpt").touch()
    assert score(tmp_path / "two.parquet", tmp_path / "two.json", {}, comet=tmp_path / "wmt.ckpt")["COMET"] == 0.2
    assert json.loads((tmp_path / "two.json").read_text())["sentences"]["COMET"] == [0.1, 0.3]


def test_comet_is_asked_for_and_not_there(tmp_path: Path) -> None:
    frame = pl.DataFrame({"pair": [0], "source": ["a"], "reference": ["b"], "translation": ["b"]})
    frame.write_parquet(tmp_path / "one.parquet")
    with pytest.raises(TokbenchError, match="not installed here: unbabel-comet"):
        score(tmp_path / "one.parquet", tmp_path / "one.json", {}, comet=tmp_path / "wmt.ckpt")
    assert not (tmp_path / "one.json").exists()


FIVE = ("a", "b", "c", "d", "e")
BASELINES = dict.fromkeys(FIVE, "b")


def accuracy(variants: tuple[str, ...] = FIVE) -> pl.DataFrame:
    """Accuracies by which the fourth variant is the best."""
    rows = [
        (
            variant,
            size,
            "tiny",
            "s",
            task,
            0.3 + 0.01 * ((place * 7 + len(task) * size) % 11) + 0.2 * (place == 3),
            0.25,
            9,
        )
        for place, variant in enumerate(variants)
        for size in (1, 2, 3)
        for task in ("copa", "qa", "arc_easy")
    ]
    return pl.DataFrame(rows, schema=ACCURACY, orient="row")


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three variants are as many as have all their pairs compared."""
    monkeypatch.setattr(limits, "MAX_PAIRWISE_VARIANTS", 3)


def test_every_pair_up_to_the_limit(few: None) -> None:
    assert len(pairing.select_pairs(FIVE[:3], "a", BASELINES)) == 6
    every = compare_pairs(accuracy(FIVE[:3]), averages(accuracy(FIVE[:3])), BASELINES)
    assert every.equals(compare_pairs(accuracy(FIVE[:3])))
    assert pairing.has_every_pair(every)
    assert pairing.has_every_pair(pl.DataFrame(permutations(FIVE, 2), ["a", "b"], orient="row"))


def test_above_it_the_baseline_and_the_best(few: None) -> None:
    pairs = compare_pairs(accuracy(), averages(accuracy()), BASELINES)
    found = pairs.select("a", "b").rows()
    assert found == [
        ("a", "b"), ("a", "d"), ("b", "a"), ("b", "c"), ("b", "d"), ("b", "e"), ("c", "b"), ("c", "d"),
        ("d", "a"), ("d", "b"), ("d", "c"), ("d", "e"), ("e", "b"), ("e", "d"),
    ]  # fmt: skip
    assert not pairing.has_every_pair(pairs)
    assert power_table(pairs)["pairs"].to_list() == [7]
    models = [f"m{number % 7}{number}" for number in range(60)]
    several = pl.concat(
        [pairs.head(1).with_columns(a=pl.lit("a"), b=pl.lit("b"), model=pl.lit(model)) for model in models]
    )
    assert power_table(several)["model"].to_list() == models


def test_a_test_is_the_same_and_corrected_for_those_that_are_made(few: None, monkeypatch: pytest.MonkeyPatch) -> None:
    some = compare_pairs(accuracy(), averages(accuracy()), BASELINES)
    assert some["holm"].to_list() == pytest.approx(holm(some["p_value"].to_list()).tolist())
    monkeypatch.setattr(limits, "MAX_PAIRWISE_VARIANTS", 5)
    every, keys = compare_pairs(accuracy()), ["model", "suite", "a", "b"]
    corrected = ["holm", "benjamini_hochberg"]
    assert every.join(some, on=keys, how="semi").drop(corrected).equals(some.drop(corrected))


def test_above_it_each_has_the_best_of_its_group(few: None) -> None:
    """And the baseline; no test is made with the best of another group."""
    bests = {"a": "a", "b": "a", "c": "d", "d": "d", "e": "d"}
    pairs = pairing.unordered_pairs(pairing.select_pairs(FIVE, bests, dict.fromkeys(FIVE, "b")))
    assert pairs == [("a", "b"), ("b", "c"), ("b", "d"), ("b", "e"), ("c", "d"), ("d", "e")]


def test_each_has_the_baseline_of_its_corpus(few: None) -> None:
    pairs = pairing.select_pairs(FIVE, None, {"a": "a", "b": "a", "c": "a", "d": "d", "e": "d"})
    assert pairs == [("a", "b"), ("a", "c"), ("b", "a"), ("c", "a"), ("d", "e"), ("e", "d")]


def test_first_variant_replaces_missing_baseline_and_best(few: None) -> None:
    pairs = pairing.select_pairs(FIVE, None, dict.fromkeys(FIVE, "not trained"))
    assert pairs == [*(("a", other) for other in "bcde"), *((other, "a") for other in "bcde")]


def test_rows_grow_with_the_variants(few: None) -> None:
    def rows(count: int) -> int:
        names = tuple(f"v{number}" for number in range(count))
        scores = accuracy(names)
        return compare_pairs(scores, averages(scores), dict.fromkeys(names, "v0")).height

    assert (rows(8), rows(16)) == (26, 58)


@pytest.fixture
def much(monkeypatch: pytest.MonkeyPatch) -> ReportContent:
    """A report on four variants where three are few: figures show two and the baseline, tables three rows."""
    whole = small_report.whole()  # It is kept, and made of all pairs.
    for name, value in (("MAX_PAIRWISE_VARIANTS", 3), ("MAX_DRAWN", 2), ("MAX_PRINTED", 3)):
        monkeypatch.setattr(limits, name, value)
    scores = small_report.accuracy().with_columns(pl.col("accuracy").fill_null(0.6))
    baselines = dict.fromkeys(small_report.VARIANTS, "random")
    ranks = averages(scores)
    return small_report.altered(
        whole, accuracy=scores, ranks=ranks, ranks_by_size=averages_by_size(scores),
        critical_differences=critical_differences(scores), comparisons=compare_pairs(scores, ranks, baselines),
        baselines=["random"],
    )  # fmt: skip


def test_figures_show_the_best_and_the_baseline(much: ReportContent) -> None:
    order = ranked_variants(much.frames["ranks"])
    assert order[-1] == "random"
    assert much.drawn_variants(order) == [*order[:2], "random"]
    assert much.reading_order[0] == "random"
    assert sorted(much.reading_order) == sorted(much.variants)
    drawn = {drawing.name: drawing for drawing in drawings(much)}
    assert not [name for name in drawn if name.startswith("p-values")]
    for name in ("average-ranks-tiny-offline", "accuracy-by-rank-tiny-offline", "bits-per-byte-tiny-offline"):
        assert "Shown: 3 of 4 variants" in drawn[name].caption
        assert drawn[name].draw(width=4) is not None
    tokens = drawn["corpus_token_count-books"]
    assert "bpe" not in tokens.variants
    assert tokens.says.startswith("Corpus token count on books at a vocabulary of 2,048: ")
    assert tokens.says.endswith("to 117,952, bpe."), "of all, not of those drawn"


def test_the_page_prints_the_first_rows_and_the_files_all(much: ReportContent, tmp_path: Path) -> None:
    render(much, tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text()
    made = {table.name: table for table in tables(much)}
    pairs = made["comparisons-tiny-offline"]
    assert pairs.frame.height == much.frames["comparisons"].height == 10
    assert "each variant with the baseline of its corpus and with the best" in pairs.caption
    part = page[page.index('id="table-comparisons-tiny-offline"') :]
    part = part[: part.index("</figure>")]
    assert part.count("<tr") == 1 + 3
    assert "First 3 of 10 rows; all are in typeset/comparisons-tiny-offline.csv." in part
    assert made["recipes"].frame["variant"].to_list() == much.reading_order
    assert to_csv(pairs).count("\n") == 1 + 10


def test_few_variants_are_shown_as_ever() -> None:
    content = small_report.altered(small_report.whole(), baselines=["random"])
    assert content.reading_order == content.variants
    assert content.drawn_variants(content.variants) == content.variants
    assert content.omission_note(content.variants) == ""
    frame = content.frames["comparisons"]
    assert content.sort_variants(frame).equals(frame)


def test_table_slightly_above_the_row_limit_is_shown_completely(monkeypatch: pytest.MonkeyPatch) -> None:
    """A reader loses more by two rows that are not there than by reading two more."""
    content = small_report.whole()
    pairs = next(table for table in tables(content) if table.name == "comparisons-tiny-offline")
    assert pairs.frame.height == 12
    for most, rows in ((9, 9), (10, 12), (12, 12)):
        monkeypatch.setattr("tokbench.report.html._PAGE_ROWS", most)
        shown = _shown_table(content, pairs, 1)
        assert len(shown.layout.rows) == rows
        assert any(note.startswith("First 9 of 12 rows") for note in shown.table.notes) == (rows == 9)


def test_overlaps_of_many_vocabularies_are_those_with_the_baseline(few: None, monkeypatch: pytest.MonkeyPatch) -> None:
    vocabulary = Vocabulary(BYTES)
    found = overlaps_by_size(dict.fromkeys([(name, 300) for name in FIVE], vocabulary), {"corpus": "c"})
    assert found.select("a", "b").rows() == [("c", "a"), ("c", "b"), ("c", "d"), ("c", "e")]
    some = dict.fromkeys([(name, 300) for name in FIVE[:3]], vocabulary)
    assert overlaps_by_size(some, {"corpus": "c"}).equals(overlaps_by_size(some))
    monkeypatch.setattr(limits, "MAX_PAIRWISE_VARIANTS", 4)
    assert overlaps_by_size(some, {"corpus": "c"}).equals(overlaps_by_size(some))


def test_the_summary_says_how_the_best_was_chosen(much: ReportContent, monkeypatch: pytest.MonkeyPatch) -> None:
    told = [sentence for sentence in summary(much) if "95 % interval" in sentence]
    assert told
    assert all(sentence.endswith(f". {SELECTED}") for sentence in told)
    monkeypatch.setattr(limits, "MAX_PAIRWISE_VARIANTS", 64)
    assert not any(SELECTED in sentence for sentence in summary(small_report.whole()))
