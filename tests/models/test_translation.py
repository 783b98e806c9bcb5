"""Models of translation: batches, sizes, arithmetic, training that is resumed, the search, embeddings.

Translations as a configuration asks for them: which models and tests, by which tokenizers, and mistakes.
"""

import json
import math
import re
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.conftest import Tokbench
from tests.support.corpora import TINY, corpus, sentences
from tokbench.config.load import validate
from tokbench.config.targets import all_tested_translations
from tokbench.construction.bpe import BpeOptions, build
from tokbench.corpus.parallel_prepare import prepare_parallel
from tokbench.corpus.parallel_read import read_sentences
from tokbench.errors import TokbenchError
from tokbench.io.json import write_result
from tokbench.models.memory import translation_parameters, translation_training_memory
from tokbench.models.sampler import ThroughputLog
from tokbench.models.translation.options import PRESETS, TranslationOptions, translation_training_flops
from tokbench.models.translation.score import score
from tokbench.pretokens.count import count_pretokens
from tokbench.tabulation.embeddings import (
    TRANSLATION_EMBEDDING_NORMS,
    TRANSLATION_EMBEDDINGS,
    translation_embedding_norms,
    translation_embeddings,
)
from tokbench.tokenizer import Tokenizer
from tokbench.workflow.models import Translations


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
    from tokbench.models.translation.train import train

    tokenizers = (prepared / "en", prepared / ("en" if joint else "de"))
    train(prepared / "pairs", ("en", "de"), tokenizers, options, folder / "model", folder / "checkpoints")
    return folder / "model"


@settings(max_examples=25)
@given(st.lists(st.tuples(st.integers(1, 30), st.integers(1, 30)), min_size=1, max_size=60), st.integers(30, 80))
def test_batches_contain_every_pair_once_within_the_token_limit(lengths: list[tuple[int, int]], most: int) -> None:
    from tokbench.models.translation.model import batches

    source, target = np.array(lengths, np.int64).T
    found = batches(source, target, most, (0, 1))
    assert sorted(np.concatenate(found).tolist()) == list(range(len(lengths)))
    assert all(max(source[batch].max(), target[batch].max()) * len(batch) <= most for batch in found)
    assert len(found) == len(batches(source, target, most, (5, 2)))


def test_the_rate_rises_linearly_and_falls_with_the_root() -> None:
    from tokbench.models.translation.train import learning_rate

    paper = PRESETS["transformer_iwslt"]
    rates = [learning_rate(step - 1, paper) for step in (1, 2000, 4000, 16000)]
    assert rates == pytest.approx([5e-4 / 4000, 2.5e-4, 5e-4, 2.5e-4])


@pytest.mark.parametrize("joint", [False, True])
def test_model_of_the_paper_has_the_stated_parameters(joint: bool) -> None:
    import torch

    from tokbench.models.translation.model import build as build_model

    paper = PRESETS["transformer_iwslt"]
    with torch.device("meta"):
        model = build_model(paper, 8192, 8100, joint=joint)
    learnt = sum(one.numel() for name, one in model.named_parameters() if "embed_positions" not in name)
    assert learnt == model.num_parameters(only_trainable=True) == translation_parameters(paper, 8192, 8100, joint=joint)


def test_training_memory_counts_weights_gradients_and_moments() -> None:
    held, learnt = (
        [count(PRESETS["transformer_iwslt"], 8192, 8100, joint=joint) for joint in (False, True)]
        for count in (translation_training_memory, translation_parameters)
    )
    assert held[0] - held[1] >= 4 * 4 * (learnt[0] - learnt[1]) > 0


def test_arithmetic_is_that_of_the_model() -> None:
    """A training's is thrice that of what goes forwards, as PyTorch counts it."""
    import torch
    from torch.nn.attention import SDPBackend, sdpa_kernel
    from torch.utils.flop_counter import FlopCounterMode

    from tokbench.models.translation.model import build as build_model

    options = TINY.model_copy(update={"encoder_layers": 3, "decoder_layers": 2})
    source, target = np.array([9, 30]), np.array([14, 21])
    model = build_model(options, 270, 260, joint=False)
    with torch.inference_mode(), sdpa_kernel(SDPBackend.MATH), FlopCounterMode(display=False) as counted:
        for sizes in zip(source, target, strict=True):
            ids, made = (torch.ones(1, int(size), dtype=torch.long) for size in sizes)
            model(input_ids=ids, decoder_input_ids=made, use_cache=False)
    assert 3 * counted.get_total_flops() == pytest.approx(translation_training_flops(options, source, target, 270))


def test_translation_encoding_round_trips(prepared: Path) -> None:
    from tokbench.models.translation.model import decode_sentence, encode_sentences

    tokenizer = Tokenizer.load(prepared / "de")
    lines = ["Katze sieht", "ß 🦀", ""]
    ids = encode_sentences(tokenizer, lines, 100)
    assert [decode_sentence(tokenizer, [*one.tolist(), 0, 0]) for one in ids] == lines
    assert [len(ids) for ids in encode_sentences(tokenizer, lines, 2)] == [2, 2, 1]


def test_a_model_learns_translates_and_is_scored(prepared: Path, tmp_path: Path) -> None:
    from tokbench.models.translation.translate import translate

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
    assert settings["devices"] == 1
    assert settings["parameters"] == translation_parameters(TINY, 270, 270, joint=False)
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
    from tokbench.models.translation import train as training

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


def test_translation_model_made_by_a_concurrent_process_is_kept(
    prepared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that has waited does not train again: what rests on the model would be older than it."""
    from tokbench.models.translation import train as training

    def waited(_: Path) -> nullcontext[bool]:
        return nullcontext(True)

    def step(*_: object) -> tuple[float, int]:
        raise KilledError

    made = trained(prepared, tmp_path)
    before = made.stat().st_mtime_ns
    monkeypatch.setattr(training, "exclusive", waited)
    monkeypatch.setattr(training, "update", step)
    trained(prepared, tmp_path, TINY.model_copy(update={"checkpoint_every": 3}))
    assert made.stat().st_mtime_ns == before
    for options, joint in ((TINY.model_copy(update={"seed": 1}), False), (TINY, True)):
        with pytest.raises(KilledError):
            trained(prepared, tmp_path, options, joint)


def test_embeddings_of_both_sides_against_the_training_text(prepared: Path, tmp_path: Path, tokbench: Tokbench) -> None:
    """Against rows of the model's own modules, and counts of its training pairs."""
    from tokbench.models.translation.model import load

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
    for _, side in cells.group_by("side"):
        assert side.equals(side.sort("probability_low", "probability_high", "norm_low"))
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
        write_result(folders[-1] / "measurements.json", {"measurements": []})
    found = translation_embeddings(folders, {})
    assert found.select("tokenizers", "metric", "value", "n").rows() == [
        ("two", "mean_embedding_norm", 9.0, 1),
        ("two", "mean_token_probability", 0.25, 1),
        ("two", "mean_embedding_norm", 2.0, 1),
        ("two", "mean_token_probability", 0.25, 1),
    ]


def test_a_training_no_better_than_equal_probabilities_ends(tmp_path: Path) -> None:
    from tokbench.models.translation.train import Progress, _reject

    done = Progress(ThroughputLog(100), step=50, last_loss=math.log(301))
    with pytest.raises(TokbenchError, match=r"the loss is 5.707 nats a token, .* has 5.707: the model is not learning"):
        _reject(done, 100, 300, tmp_path)
    done.last_loss -= 1e-9
    _reject(done, 100, 300, tmp_path)


def test_a_loss_that_is_no_number_ends_the_training(prepared: Path, tmp_path: Path) -> None:
    options = TINY.model_copy(update={"learning_rate": 1e30, "warmup_steps": 1})
    with pytest.raises(TokbenchError, match=r"the loss of step \d+ of \d+ is not a number .*; lower learning_rate"):
        trained(prepared, tmp_path, options)
    assert (tmp_path / "checkpoints" / "curve.csv").is_file()


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
    experiment = validate(CONFIGURED, "here")
    asked = Translations(experiment)
    ways = ["small/news/de/en/bpe/bpe/300", "small/news/de/en/bpe/other/300"]
    assert [f"{target.path}/{target.test}" for target in all_tested_translations(experiment)] == [
        f"{way}/{test}" for way in ways for test in ("one", "two")
    ]
    names = ("model", "parallel", "source", "target", "variant", "target_variant", "size")
    wildcards = SimpleNamespace(**dict(zip(names, ways[1].split("/"), strict=True)))
    assert asked.scoring_options(wildcards) == ["--tokenize", "intl"]
    assert json.loads(asked.training_recipe(wildcards))["beam"] == 5
    assert json.loads(asked.recipe(wildcards))["beam"] == 2
    given = SimpleNamespace(corpus="nowhere")
    assert asked.memory(wildcards, given, 2) == 2 * asked.memory(wildcards, given, 1)


def test_either_side_may_use_an_external_tokenizer() -> None:
    """It has its own size, whatever that of the other side; where both were made elsewhere, so is their path."""
    pairs = ["given", {"source": "bpe", "target": "given"}, {"source": "given", "target": "bpe"}]
    values = CONFIGURED | {
        "variants": CONFIGURED["variants"] | {"given": {"from": "sentencepiece", "path": __file__}},
        "translations": [CONFIGURED["translations"][0] | {"tokenizers": pairs}],
    }
    asked = Translations(validate(values, "here"))
    ways = [one.path.removeprefix("small/news/de/en/") for one in asked.entries]
    assert ways == ["given/given/own", "bpe/given/300", "given/bpe/300"]
    found = []
    for one in asked.entries:
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
def test_mistakes_in_translations_are_errors(changed: dict[str, Any], told: str) -> None:
    values = CONFIGURED | {"translations": [CONFIGURED["translations"][0] | changed]}
    with pytest.raises(TokbenchError, match=re.escape(told)):
        validate(values, "here")
