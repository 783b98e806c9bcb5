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
from hypothesis import given, settings
from hypothesis import strategies as st
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF
from scipy.stats import norm, ttest_rel
from statsmodels.stats.multitest import multipletests

from tests.conftest import Tokbench
from tests.test_parallel_corpora import corpus
from tokbench.commands.translation_comparison import translation_parts
from tokbench.config.load import validate
from tokbench.construction.bpe import BpeOptions, build
from tokbench.corpus.parallel.pairs import read_sentences
from tokbench.corpus.parallel.prepare import prepare_parallel
from tokbench.counting.count import count_pretokens
from tokbench.errors import TokbenchError
from tokbench.statistics.contrast import Contrast
from tokbench.statistics.translations import translation_comparisons
from tokbench.tabulation.translation_embeddings import (
    TRANSLATION_EMBEDDING_NORMS,
    TRANSLATION_EMBEDDINGS,
    translation_embedding_norms,
    translation_embeddings,
)
from tokbench.tidy.table import schema
from tokbench.tidy.translations import SENTENCES
from tokbench.tokenizer import Tokenizer
from tokbench.translation.batches import batches, decoded, encoded
from tokbench.translation.needs import parameters, training_flops
from tokbench.translation.options import PRESETS, TranslationOptions
from tokbench.translation.score import score
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
    from tokbench.translation.train import train

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
    from tokbench.translation.train import learning_rate

    paper = PRESETS["transformer_iwslt"]
    rates = [learning_rate(step - 1, paper) for step in (1, 2000, 4000, 16000)]
    assert rates == pytest.approx([5e-4 / 4000, 2.5e-4, 5e-4, 2.5e-4])


@pytest.mark.parametrize("joint", [False, True])
def test_the_papers_model_has_the_parameters_that_are_told(joint: bool) -> None:
    import torch

    from tokbench.translation.model import build as build_model

    paper = PRESETS["transformer_iwslt"]
    with torch.device("meta"):
        model = build_model(paper, 8192, 8100, joint=joint)
    learnt = sum(one.numel() for name, one in model.named_parameters() if "embed_positions" not in name)
    assert learnt == model.num_parameters(only_trainable=True) == parameters(paper, 8192, 8100, joint=joint)


def test_arithmetic_is_that_of_the_model() -> None:
    """A training's is thrice that of what goes forwards, as PyTorch counts it."""
    import torch
    from torch.nn.attention import SDPBackend, sdpa_kernel
    from torch.utils.flop_counter import FlopCounterMode

    from tokbench.translation.model import build as build_model

    options = TINY.model_copy(update={"encoder_layers": 3, "decoder_layers": 2})
    source, target = np.array([9, 30]), np.array([14, 21])
    model = build_model(options, 270, 260, joint=False)
    with torch.inference_mode(), sdpa_kernel(SDPBackend.MATH), FlopCounterMode(display=False) as counted:
        for sizes in zip(source, target, strict=True):
            ids, made = (torch.ones(1, int(size), dtype=torch.long) for size in sizes)
            model(input_ids=ids, decoder_input_ids=made, use_cache=False)
    assert 3 * counted.get_total_flops() == pytest.approx(training_flops(options, source, target, 270))


def test_what_is_encoded_is_decoded(prepared: Path) -> None:
    tokenizer = Tokenizer.load(prepared / "de")
    lines = ["Katze sieht", "ß 🦀", ""]
    ids = encoded(tokenizer, lines, 100)
    assert [decoded(tokenizer, [*one.tolist(), 0, 0]) for one in ids] == lines
    assert [len(one) for one in encoded(tokenizer, lines, 2)] == [2, 2, 1]


def test_a_model_learns_translates_and_is_scored(prepared: Path, tmp_path: Path) -> None:
    from tokbench.translation.translate import translate

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
    settings = json.loads((model / "manifest.json").read_text())["settings"]
    assert settings["parameters"] == parameters(TINY, 270, 270, joint=False)
    took = settings["effort"]
    assert settings["read"]["tokens"] == int(curve[-1][2])
    assert took["tokens_per_second"] > 0
    assert (took["starts"], took["joules"], took["mfu"]) == (1, None, None)
    assert took["peak_gib"] > 0.1


class KilledError(Exception):
    pass


def test_a_killed_training_ends_with_the_same_bits(
    prepared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    from tokbench.translation import train as training

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
    assert json.loads((killed / "manifest.json").read_text())["settings"]["effort"]["starts"] == 3


def test_embeddings_of_both_sides_against_the_training_text(prepared: Path, tmp_path: Path, tokbench: Tokbench) -> None:
    """Against rows of the model's own modules, and counts of its training pairs."""
    from tokbench.translation.model import load

    short = TINY.model_copy(update={"epochs": 1})
    folders = []
    for name, joint in (("apart", False), ("joint", True)):
        model = trained(prepared, tmp_path / name, short, joint=joint)
        own = "en/en" if joint else "en/de"
        folders.append(tmp_path / "embeddings" / "tiny/news/en/de" / own / "270")
        folders[-1].parent.mkdir(parents=True)
        assert tokbench("measure_translation_embeddings", "--model", model, "-o", folders[-1]).status == 0
    pairs = read_sentences(prepared / "pairs" / "train.parquet", "en", "de")
    loaded = load(tmp_path / "apart" / "model").model
    apart, joint = ({file.stem: pl.read_parquet(file) for file in folder.glob("*.parquet")} for folder in folders)
    assert (set(apart), set(joint)) == ({"encoder", "decoder"}, {"both"})
    for side, folder, module, text in (
        ("encoder", "en", loaded.encoder, pairs.source),
        ("decoder", "de", loaded.decoder, pairs.target),
    ):
        tokenizer = Tokenizer.load(prepared / folder)
        ids = np.concatenate(list(tokenizer.encode_batch(text)))
        assert apart[side]["occurrences"].to_list() == np.bincount(ids, minlength=270).tolist()
        rows = module.embed_tokens.weight.detach().numpy()[2:272]
        assert apart[side]["norm"].to_numpy() == pytest.approx(np.linalg.norm(rows, axis=1), rel=1e-6)
    english = Tokenizer.load(prepared / "en")
    ids = np.concatenate([*english.encode_batch(pairs.source), *english.encode_batch(pairs.target)])
    assert joint["both"]["occurrences"].sum() == len(ids)
    assert joint["both"]["probability"].sum() == pytest.approx(1)
    cells = translation_embedding_norms(folders, {})
    assert cells.schema == TRANSLATION_EMBEDDING_NORMS.schema
    assert cells.group_by("side", maintain_order=True).agg(pl.col("tokens").sum()).rows() == [
        ("decoder", 270),
        ("encoder", 270),
        ("both", 270),
    ]
    table = translation_embeddings(folders, {})
    assert table.schema == TRANSLATION_EMBEDDINGS.schema
    unseen = table.filter(side="encoder", metric="unseen_tokens")["value"].item()
    assert unseen == (apart["encoder"]["occurrences"] == 0).sum()
    assert "training text" in table.filter(side="both", metric="undertrained_tokens")["definition"].item()


def test_tokens_that_a_tokenizer_adds_and_drops_are_looked_at_in_their_own_models(tmp_path: Path) -> None:
    folders = []
    for name, tokens, norms in (("one", ["61", "62"], [1.0, 2.0]), ("two", ["61", "63"], [5.0, 9.0])):
        folders.append(tmp_path / "m/news/en/de" / name / name / "300")
        folders[-1].mkdir(parents=True)
        frame = pl.DataFrame({"token": tokens, "norm": norms, "probability": [0.75, 0.25]})
        frame.write_parquet(folders[-1] / "both.parquet")
        (folders[-1] / "measurements.json").write_text('{"measurements": []}')
    found = translation_embeddings(folders, {})
    assert found.select("tokenizers", "metric", "value", "n").rows() == [
        ("two", "mean_embedding_norm", 9.0, 1),
        ("two", "mean_token_probability", 0.25, 1),
        ("two", "mean_embedding_norm", 2.0, 1),
        ("two", "mean_token_probability", 0.25, 1),
    ]


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
    assert found["p_value"] == pytest.approx(2 * norm.sf(abs(found["difference"]) / np.std(differences)), rel=0.3)
    assert found["holm"] == found["p_value"]


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
    found = translation_comparisons(pl.DataFrame(rows, schema(SENTENCES), orient="row"))
    assert [part.height for _, part in found.group_by("size", "metric", maintain_order=True)] == [6, 6, 1, 1]
    for _, part in found.group_by("size", "metric"):
        wanted = multipletests(part["p_value"].to_numpy(), method="holm")[1]
        assert part["holm"].to_numpy() == pytest.approx(wanted)
    p_values = found["p_value"].to_numpy()
    assert p_values.min() < 0.01
    assert p_values.max() > 0.1


def test_two_joint_vocabularies_are_compared_by_their_translations(tmp_path: Path) -> None:
    """Either way round, at the sizes that both have."""
    of = {"parallel": "news", "source_language": "en", "target_language": "de", "test": "held", "model": "m"}
    row = {**of, "metric": "BLEU", "a": "one", "b": "two", "score_a": 5.0, "score_b": 4.0, "difference": 1.0}
    row |= {"low": 0.5, "high": 1.75, "bootstrap_p": 0.001, "t_test_p": 0.2, "n": 40, "seeds": 1}
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


def test_a_side_may_be_cut_by_a_tokenizer_made_elsewhere() -> None:
    """It has its own size, whatever that of the other side; where both were made elsewhere, so is their path."""
    pairs = ["given", {"source": "bpe", "target": "given"}, {"source": "given", "target": "bpe"}]
    values = CONFIGURED | {
        "variants": CONFIGURED["variants"] | {"given": {"from": "sentencepiece", "path": __file__}},
        "translations": [CONFIGURED["translations"][0] | {"tokenizers": pairs}],
    }
    asked = Translations(validate(values, "here"))
    ways = [one.path.removeprefix("small/news/de/en/") for one in asked.trained]
    assert ways == ["given/given/own", "bpe/given/300", "given/bpe/300"]
    found = []
    for one in asked.trained:
        wildcards = SimpleNamespace(**{name: str(value) for name, value in one._asdict().items()})
        found.append((asked.source_size(wildcards), asked.target_size(wildcards)))
        assert asked.memory(wildcards, SimpleNamespace(corpus="nowhere"), 1) > 1000
    assert found == [("own", "own"), ("300", "own"), ("own", "300")]


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
