"""What commands need that train models or apply them is told before anything of a model is read or made."""

import json
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest
from safetensors.numpy import save_file

from tests.conftest import Tokbench
from tests.support.packing import packed_documents
from tokbench.config.load import read
from tokbench.construction.bpe import BpeOptions, build
from tokbench.corpus.documents import Document
from tokbench.corpus.shards import open_shards
from tokbench.intrinsic.embeddings import LANGUAGE_MODEL, PER_NUMBER, room
from tokbench.model_memory import DOCUMENT, PAIR, PAIR_BYTE, documents_memory, pairs_memory, translation_search_memory
from tokbench.pretokens import PretokenCounts
from tokbench.tokenizer import Tokenizer
from tokbench.translation.options import PRESETS
from tokbench.workflow.downstream import evaluating_memory
from tokbench.workflow.resources import OVERHEAD
from tokbench.workflow.translation import Translations

ROOT = Path(__file__).parents[1]
ROWS, WIDTH, WINDOW = 320, 64, 128
MPT = {"vocab_size": ROWS, "d_model": WIDTH, "max_seq_len": WINDOW}
MARIAN = {"d_model": WIDTH, "decoder_layers": 2, "decoder_vocab_size": ROWS, "max_position_embeddings": WINDOW}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tokenizer, weights that no library would take for a model, a shard, pairs and sequences."""
    folder = tmp_path_factory.mktemp("place")
    vocabulary = build(PretokenCounts.from_pairs([(b"the", 3)], "gpt2"), 257, BpeOptions())
    Tokenizer(vocabulary, "gpt2", "merge", name="bpe").save(folder / "bpe")
    for name, config in (("model", MPT), ("marian", MARIAN)):
        (folder / name).mkdir()
        (folder / name / "config.json").write_text(json.dumps(config))
        save_file({LANGUAGE_MODEL.tensors[0]: np.ones((ROWS, WIDTH), np.float32)}, folder / name / "model.safetensors")
    with open_shards([folder / "text.parquet"]) as add:
        add(Document(0, "en", b"the cat sat"))
    pairs = {"pair": [0, 1], "en": ["one", "two"], "de": ["eins", "zwei"]}
    (folder / "pairs").mkdir()
    pl.DataFrame(pairs).write_parquet(folder / "pairs" / "train.parquet")
    pl.DataFrame({"id": range(258), "occurrences": [1] * 258}).write_parquet(folder / "occurrences.parquet")
    packed_documents(folder / "packed")
    return folder


RECIPE = '{"max_seq_len":32,"d_model":64,"n_heads":4,"batches":4,"batch":4,"device":"cpu"}'
COMMANDS = [
    (
        f"pretrain --recipe {RECIPE} --packed @packed --tokenizer @bpe",
        "this training",
        "lower microbatch",
    ),
    ("evaluate --model @model --tokenizer @bpe @text.parquet", "this evaluation", "lower --batch-size"),
    (
        "measure_embeddings --model @model --token-counts @occurrences.parquet --tokenizer @bpe --model-name tiny",
        "this measurement",
        "",
    ),
    (
        "train_translation --recipe tiny --corpus @pairs --from en --to de --source-tokenizer @bpe",
        "this training",
        "lower batch_tokens",
    ),
    (
        "translate --recipe tiny --model @marian --from en --to de @pairs/train.parquet",
        "this translation",
        "lower translate_batch",
    ),
]


@pytest.mark.parametrize(("command", "what", "remedy"), COMMANDS)
def test_too_little_is_told(command: str, what: str, remedy: str, place: Path, tokbench: Tokbench) -> None:
    given = [argument.replace("@", f"{place}/") for argument in command.split()]
    told = tokbench(*given, "--memory", "1", "-o", place / "out")
    assert told.status == 2
    assert told.message.startswith(f"tokbench: --memory 1: {what} needs about ")
    assert told.message.endswith(f"MB; allow that much{f', or {remedy}' if remedy else ''}")
    assert not (place / "out").exists()


def test_a_training_on_a_gpu_may_have_less_than_is_asked_for(place: Path, tokbench: Tokbench) -> None:
    """No less than the model takes that each process makes in main memory."""
    recipe = RECIPE.replace("cpu", "cuda")
    call = f"pretrain --recipe {recipe} --packed {place}/packed --tokenizer {place}/bpe --nodes 2 -o {place}/out"
    assert tokbench(*call.split(), "--memory", "1000").message.startswith(
        "tokbench: --memory 1000: this training needs"
    )
    assert tokbench(*call.split(), "--memory", "1500").message.startswith("tokbench: nodes: 2, but this is not part of")


def test_embeddings_are_measured_in_what_their_numbers_take(place: Path) -> None:
    assert PER_NUMBER * ROWS * WIDTH + 2_100 * ROWS < room(place / "model") < PER_NUMBER * ROWS * WIDTH + 5_000 * ROWS


def test_pairs_are_held_in_what_their_text_takes(place: Path) -> None:
    text = len("one two eins zwei".replace(" ", ""))
    assert (
        2 * PAIR + PAIR_BYTE * text
        < pairs_memory(place / "pairs" / "train.parquet")
        < 2 * PAIR + PAIR_BYTE * (text + 500)
    )


@pytest.mark.parametrize("preset", PRESETS)
def test_a_rule_asks_for_what_a_search_is_told_to_need(preset: str, place: Path) -> None:
    options = PRESETS[preset].model_copy(update={"device": "cpu"})
    sizes = {"d_model": options.d_model, "decoder_layers": options.decoder_layers, "decoder_vocab_size": 10_002}
    (place / "other").mkdir(exist_ok=True)
    (place / "other" / "config.json").write_text(json.dumps(sizes))
    experiment = read(ROOT / "config.yaml", {}).model_copy(update={"translation_models": {"one": options}})
    wildcards = SimpleNamespace(model="one", variant="bpe", target_variant="bpe", size="10000")
    asked = Translations(experiment).memory(wildcards, SimpleNamespace(corpus=place / "pairs"), 1) - OVERHEAD
    weights = 4 * options.d_model * 20_000
    assert translation_search_memory(options, place / "other", on_gpu=False) + weights < asked * 1e6


def test_an_evaluation_asks_for_its_documents_too(place: Path) -> None:
    """Once they are there; what is no shard is left to the job to tell."""
    (place / "corpus" / "evaluation").mkdir(parents=True)
    shard = place / "corpus" / "evaluation" / "0000.parquet"
    with open_shards([shard]) as add:
        for number in range(1_000):
            add(Document(number, "en", b"%d" % number * 1_000))
    asked = evaluating_memory(lambda wildcards, attempt: 1_000 * attempt)
    given, later = SimpleNamespace(corpus=place / "corpus"), SimpleNamespace(corpus=place / "nowhere")
    assert documents_memory([shard]) > DOCUMENT * 1_000 + 2_800_000
    assert asked(None, given, 1) == 1_000 + round(documents_memory([shard]) / 1e6)
    assert asked(None, later, 2) == 2_000
    shard.write_bytes(b"no shard")
    assert asked(None, given, 1) == 1_000
