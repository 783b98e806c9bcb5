"""Scores of translations and their comparisons, held against sacrebleu, statsmodels and brute force."""

import json
import sys
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType, SimpleNamespace

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sacrebleu.metrics.bleu import BLEU
from scipy.stats import norm, ttest_rel
from statsmodels.stats.multitest import multipletests

from tests.support.small_report import altered, whole
from tokbench.commands.translation_comparison import translation_parts
from tokbench.errors import TokbenchError
from tokbench.report.html import tables
from tokbench.report.typeset import to_markdown
from tokbench.statistics.contrast import Contrast
from tokbench.statistics.translations import translation_comparisons
from tokbench.tidy.table import schema
from tokbench.tidy.translations import SENTENCES
from tokbench.translation.score import metrics, score
from tokbench.translation_scores import bleu, resampled

LINES = st.lists(st.tuples(*[st.text("ab cd.,é", max_size=24)] * 2), min_size=2, max_size=8)


@settings(max_examples=60)
@given(LINES)
def test_scores_from_statistics_are_those_of_sacrebleu(pairs: list[tuple[str, str]]) -> None:
    ours, theirs = map(list, zip(*pairs, strict=True))
    for _, metric, own, counts in metrics():
        statistics = np.array([counts(*pair) for pair in pairs], np.int64)
        assert float(own(statistics.sum(0))) == pytest.approx(metric.corpus_score(ours, [theirs]).score, abs=1e-9)
    draws = np.random.default_rng(3).integers(len(pairs), size=(4, len(pairs)))
    _, metric, _, counts = metrics()[0]
    statistics = np.array([counts(*pair) for pair in pairs], np.int64)
    brute = [metric.corpus_score([ours[i] for i in draw], [[theirs[i] for i in draw]]).score for draw in draws]
    assert resampled(statistics, bleu, resamples=4, seed=3).tolist() == pytest.approx(brute, abs=1e-9)


def test_two_systems_are_compared_as_by_brute_force() -> None:
    """Against sacrebleu on every resample, with three seeds taken together."""
    references = ["the cat sees the dog", "a red cat", "two dogs and one cat", "one", "the red dog sees a cat today"]
    ours = [["the cat sees a dog", "a red cat", "two dogs and a cat", "two", "the red dog sees a cat today"]] * 3
    theirs = [["the cat", "a red dog", "two dogs and one", "one", "a dog sees the cat"], references, references]
    rows = []
    for name, seeds in (("a", ours), ("b", theirs)):
        for lines in seeds:
            numbers = [metrics()[0][3](*pair) for pair in zip(lines, references, strict=True)]
            for pair, (line, counts) in enumerate(zip(lines, numbers, strict=True)):
                value = BLEU(effective_order=True).sentence_score(line, [references[pair]]).score
                of = ("news", "en", "de", "test", "m", 500, name, "BLEU", pair, value, " ".join(map(str, counts)))
                rows.append(of)
    frame = pl.DataFrame(rows, schema(SENTENCES), orient="row")
    [found] = translation_comparisons(frame).rows(named=True)

    def together(seeds: list[list[str]], places: list[int]) -> float:
        lines = [seed[place] for seed in seeds for place in places]
        return float(BLEU().corpus_score(lines, [[references[place] for place in places] * len(seeds)]).score)

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
    [found] = translation_parts("two", "one", [(300, 300)], tmp_path)
    assert found.heading == "m, news from en into de, test held; intervals over sentences"
    [line] = found.lines
    assert line.contrast == Contrast(4.0, 5.0, -1.0, -1.75, -0.5, 40, 0.002)
    assert line.winner == "b"
    [other] = translation_parts("one", "two", [(300, 300)], tmp_path)
    assert other.lines[0].contrast == Contrast(5.0, 4.0, 1.0, 0.5, 1.75, 40, 0.002)
    assert translation_parts("one", "two", [(300, 300)], tmp_path / "nowhere") == []
    same = row | {"difference": 0.0, "low": 0.0, "high": 0.0, "bootstrap_p": 1.0, "size": 300}
    tied = same | {"difference": -0.1, "low": -0.2}
    for rows, least in (([same], 1.0), ([tied], 0.05)):
        pl.DataFrame(rows).write_parquet(tmp_path / "statistics" / "translation_comparisons.parquet")
        [found] = translation_parts("one", "two", [(300, 300)], tmp_path)
        assert found.lines[0].contrast.p_value == least
    for seeds, told in ((1, "one training"), (2, "two trainings; significance needs three")):
        few = row | {"size": 300, "bootstrap_p": None, "t_test_p": None, "seeds": seeds}
        pl.DataFrame([few]).write_parquet(tmp_path / "statistics" / "translation_comparisons.parquet")
        [found] = translation_parts("one", "two", [(300, 300)], tmp_path)
        [line] = found.lines
        assert (line.untested, line.winner, line.contrast.p_value) == (f"not tested: {told}", "", None)
        assert found.notes[-1] == f"  Not tested: {told}."


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
