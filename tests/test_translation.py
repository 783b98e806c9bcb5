"""Translation: batches, training that is resumed, the search, and scores held against sacrebleu and brute force."""

import json
import re
import sys
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import polars as pl
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF
from scipy.stats import ttest_rel

from tests.test_parallel_corpora import corpus
from tokbench.config.load import validate
from tokbench.construction.bpe import BpeOptions, build
from tokbench.corpus.parallel.prepare import prepare_parallel
from tokbench.counting.count import count_pretokens
from tokbench.errors import TokbenchError
from tokbench.statistics.translations import translation_comparisons
from tokbench.tidy.table import schema
from tokbench.tidy.translations import SENTENCES
from tokbench.tokenizer import Tokenizer
from tokbench.translation import train as training
from tokbench.translation.batches import batches, decoded, encoded
from tokbench.translation.model import build as build_model
from tokbench.translation.needs import parameters
from tokbench.translation.options import PRESETS, TranslationOptions
from tokbench.translation.score import score
from tokbench.translation.train import learning_rate, train
from tokbench.translation.translate import translate
from tokbench.translation_scores import bleu, chrf, resampled
from tokbench.workflow.translation import Translations

WORDS = {"one": "eins", "two": "zwei", "red": "rot", "cat": "Katze", "dog": "Hund", "sees": "sieht"}
TINY = PRESETS["tiny"]


def sentences(number: int) -> list[tuple[str, str]]:
    """Pairs that are translated word by word."""
    drawn = np.random.default_rng(0).choice(list(WORDS), (number, 4))
    return [(" ".join(words), " ".join(WORDS[word] for word in words)) for words in drawn]


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("translation")
    made = corpus(folder, sentences(400), dev=20, tests={"held": 20})
    (folder / "pairs").mkdir()
    prepare_parallel(made, 0, folder / "pairs")
    for side, name in enumerate(("en", "de")):
        counts = count_pretokens([" ".join(pair[side] for pair in sentences(400)).encode()], "gpt2")
        vocabulary = build(counts, 270, BpeOptions())
        Tokenizer(vocabulary, "gpt2", "merge", name=name).save(folder / name)
    return folder


def trained(prepared: Path, folder: Path, options: TranslationOptions = TINY, joint: bool = False) -> Path:
    tokenizers = (prepared / "en", prepared / ("en" if joint else "de"))
    train(prepared / "pairs", ("en", "de"), tokenizers, options, folder / "model", folder / "checkpoints")
    return folder / "model"


@settings(max_examples=25)
@given(st.lists(st.tuples(st.integers(1, 30), st.integers(1, 30)), min_size=1, max_size=60), st.integers(30, 80))
def test_batches_hold_every_pair_once_within_their_tokens(lengths: list[tuple[int, int]], most: int) -> None:
    source, target = np.array(lengths, np.int64).T
    found = batches(source, target, most, (0, 1))
    assert sorted(np.concatenate(found).tolist()) == list(range(len(lengths)))
    assert all(max(source[batch].max(), target[batch].max()) * len(batch) <= most for batch in found)
    assert len(found) == len(batches(source, target, most, (5, 2)))


def test_the_rate_rises_linearly_and_falls_with_the_root() -> None:
    paper = PRESETS["transformer_iwslt"]
    rates = [learning_rate(step - 1, paper) for step in (1, 2000, 4000, 16000)]
    assert rates == pytest.approx([5e-4 / 4000, 2.5e-4, 5e-4, 2.5e-4])


@pytest.mark.parametrize("joint", [False, True])
def test_the_papers_model_has_the_parameters_that_are_told(joint: bool) -> None:
    paper = PRESETS["transformer_iwslt"]
    with torch.device("meta"):
        model = build_model(paper, 8192, 8100, joint=joint)
    learnt = sum(one.numel() for name, one in model.named_parameters() if "embed_positions" not in name)
    assert learnt == parameters(paper, 8192, 8100, joint=joint)


def test_what_is_encoded_is_decoded(prepared: Path) -> None:
    tokenizer = Tokenizer.load(prepared / "de")
    lines = ["Katze sieht", "ß 🦀", ""]
    ids = encoded(tokenizer, lines, 100)
    assert [decoded(tokenizer, [*one.tolist(), 0, 0]) for one in ids] == lines
    assert [len(one) for one in encoded(tokenizer, lines, 2)] == [2, 2, 1]


def test_a_model_learns_translates_and_is_scored(prepared: Path, tmp_path: Path) -> None:
    model = trained(prepared, tmp_path, TINY.model_copy(update={"epochs": 8, "batch_tokens": 128}))
    curve = [line.split(",") for line in (model / "curve.csv").read_text().splitlines()[1:]]
    dev = [float(row[5]) for row in curve if row[5]]
    assert len(dev) == 8
    assert dev[-1] < dev[0] / 2
    assert translate(model, prepared / "pairs" / "held.parquet", ("en", "de"), TINY, tmp_path / "held.parquet") == 20
    found = score(tmp_path / "held.parquet", tmp_path / "held.json", {"model": "tiny"})
    assert found["BLEU"] > 20
    assert json.loads((tmp_path / "held.json").read_text())["n"] == 20
    assert not (tmp_path / "checkpoints").exists()


class KilledError(Exception):
    pass


def test_a_killed_training_ends_with_the_same_bits(
    prepared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    options = TINY.model_copy(update={"dropout": 0.2, "checkpoint_every": 7, "batch_tokens": 256})
    whole = trained(prepared, tmp_path / "whole", options, joint=True)
    own = training.update
    for steps in (10, 24):
        left = iter(range(steps))

        def step(*arguments: object, left: object = left) -> tuple[float, int]:
            if next(left, None) is None:  # type: ignore[call-overload]
                raise KilledError
            return own(*arguments)  # type: ignore[arg-type]

        monkeypatch.setattr(training, "update", step)
        with pytest.raises(KilledError):
            trained(prepared, tmp_path / "killed", options, joint=True)
    monkeypatch.setattr(training, "update", own)
    caplog.set_level("INFO")
    killed = trained(prepared, tmp_path / "killed", options, joint=True)
    assert "translation resumes after step 28" in caplog.text
    for name in ("model.safetensors", "curve.csv", "config.json"):
        assert (whole / name).read_bytes() == (killed / name).read_bytes()


def test_a_loss_that_is_no_number_ends_the_training(prepared: Path, tmp_path: Path) -> None:
    options = TINY.model_copy(update={"learning_rate": 1e30, "warmup_steps": 1})
    with pytest.raises(TokbenchError, match=r"the loss of step \d+ of \d+ is no number .*; lower learning_rate"):
        trained(prepared, tmp_path, options)
    assert (tmp_path / "checkpoints" / "curve.csv").is_file()


LINES = st.lists(st.tuples(*[st.text("ab cd.,é", max_size=24)] * 2), min_size=2, max_size=8)


@settings(max_examples=60)
@given(LINES)
def test_scores_from_statistics_are_those_of_sacrebleu(pairs: list[tuple[str, str]]) -> None:
    ours, theirs = map(list, zip(*pairs, strict=True))
    for metric, own in ((BLEU(), bleu), (CHRF(), chrf)):
        statistics = np.array(metric._extract_corpus_statistics(ours, [theirs]), np.int64)
        assert float(own(statistics.sum(0))) == pytest.approx(metric.corpus_score(ours, [theirs]).score, abs=1e-9)
    draws = np.random.default_rng(3).integers(len(pairs), size=(4, len(pairs)))
    metric = BLEU()
    statistics = np.array(metric._extract_corpus_statistics(ours, [theirs]), np.int64)
    brute = [metric.corpus_score([ours[i] for i in draw], [[theirs[i] for i in draw]]).score for draw in draws]
    assert resampled(statistics, bleu, resamples=4, seed=3).tolist() == pytest.approx(brute, abs=1e-9)


def test_two_systems_are_compared_as_by_brute_force() -> None:
    """Against sacrebleu on every resample, with two seeds of one of them taken together."""
    references = ["the cat sees the dog", "a red cat", "two dogs and one cat", "one", "the red dog sees a cat today"]
    ours = [["the cat sees a dog", "a red cat", "two dogs and a cat", "two", "the red dog sees a cat today"]] * 2
    theirs = [["the cat", "a red dog", "two dogs and one", "one", "a dog sees the cat"], references]
    rows = []
    for name, seeds in (("a", ours), ("b", theirs)):
        for lines in seeds:
            metric = BLEU()
            numbers = metric._extract_corpus_statistics(lines, [references])
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
    assert (found["n"], found["seeds"]) == (5, 2)


CONFIGURED: dict[str, Any] = {
    "name": "pairs",
    "parallel_corpora": {
        "news": {
            "languages": ["en", "de"],
            "train": {"type": "lines", "path": {"en": __file__, "de": __file__}},
            "tests": {"one": 5, "two": 5},
        }
    },
    "corpora": {"both": {"source": {"type": "parallel", "corpus": "news"}}},
    "variants": {name: {"pretokenization": "gpt2", "construction": "bpe"} for name in ("bpe", "other")},
    "sizes": [300, 400],
    "translation_models": {"small": "tiny"},
    "translations": [
        {
            "corpora": ["news"], "source": "de", "target": "en", "models": ["small"], "sizes": [300],
            "tokenizers": ["bpe", {"source": "bpe", "target": "other"}], "bleu_words": "intl",
        }
    ],
}  # fmt: skip


def test_the_workflow_asks_for_every_model_on_every_test() -> None:
    asked = Translations(validate(CONFIGURED, "here"))
    ways = ["small/news/de/en/bpe/bpe/300", "small/news/de/en/bpe/other/300"]
    assert [f"{one.path}/{one.test}" for one in asked.tested] == [
        f"{way}/{test}" for way in ways for test in ("one", "two")
    ]
    names = ("model", "parallel", "source", "target", "variant", "target_variant", "size")
    wildcards = SimpleNamespace(**dict(zip(names, ways[1].split("/"), strict=True)))
    assert asked.scoring(wildcards) == ["--tokenize", "intl"]
    assert json.loads(asked.training_recipe(wildcards))["beam"] == 5
    assert json.loads(asked.recipe(wildcards))["beam"] == 2
    given = SimpleNamespace(corpus="nowhere")
    assert asked.memory(wildcards, given, 2) == 2 * asked.memory(wildcards, given, 1)


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"corpora": ["nowhere"]}, "translations.0.corpora: 'nowhere' is not"),
        ({"models": ["large"]}, "translations.0.models: 'large' is not"),
        ({"target": "et"}, "'news' has en and de; name one as source and the other as target"),
        ({"tokenizers": ["bpee"]}, "translations.0.tokenizers: 'bpee' is not"),
        ({"sizes": [500]}, "translations.0.sizes: 'bpe' is not built at 500"),
    ],
)
def test_mistakes_in_translations_are_told(changed: dict[str, Any], told: str) -> None:
    values = CONFIGURED | {"translations": [CONFIGURED["translations"][0] | changed]}
    with pytest.raises(TokbenchError, match=re.escape(told)):
        validate(values, "here")


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


def test_comet_is_asked_for_and_not_there(prepared: Path, tmp_path: Path) -> None:
    frame = pl.DataFrame({"pair": [0], "source": ["a"], "reference": ["b"], "translation": ["b"]})
    frame.write_parquet(tmp_path / "one.parquet")
    with pytest.raises(TokbenchError, match="not installed here: unbabel-comet"):
        score(tmp_path / "one.parquet", tmp_path / "one.json", {}, comet=tmp_path / "wmt.ckpt")
    assert not (tmp_path / "one.json").exists()
