"""The memory of a neural byte language model is estimated before training and use, and equals measurements.

Commands that train or apply models check their memory before a model is read or made.
"""

import json
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest
from safetensors.numpy import save_file

from tests.conftest import Tokbench
from tests.support.small_models import packed_documents, saved_tokenizer
from tokbench.config.load import read
from tokbench.construction.bpe import BpeOptions, build
from tokbench.corpus.documents import Document
from tokbench.corpus.shards import open_shards, shard_paths
from tokbench.metric.embeddings import LANGUAGE_MODEL, PER_NUMBER, room
from tokbench.models.byte_lm.options import PRESETS, ByteLmOptions, byte_lm_flops_per_byte
from tokbench.models.memory import (
    BYTE_LM_BASE,
    DOCUMENT,
    NGRAMS_SCORED,
    PAIR,
    PAIR_BYTE,
    byte_lm_parameters,
    byte_lm_scoring_memory,
    byte_lm_training_memory,
    documents_memory,
    pairs_memory,
    seconds,
    translation_search_memory,
)
from tokbench.models.translation.options import PRESETS as TRANSLATION_PRESETS
from tokbench.pretokens import PretokenCounts
from tokbench.tokenizer import Tokenizer
from tokbench.workflow.byte_lms import MEMORY, SCORING, ByteLms
from tokbench.workflow.models import Translations, evaluating_memory
from tokbench.workflow.resources import OVERHEAD, STARTUP

ROOT = Path(__file__).parents[2]
TINY = {"layers": 2, "hidden": 64, "feed_forward": 192, "heads": 4, "context": 256, "batch": 8}
WIDE = {"layers": 4, "hidden": 256, "feed_forward": 1024, "heads": 8, "context": 512, "batch": 8}
MEASURED = [
    (TINY, 89, 47),
    (TINY | {"batch": 32}, 216, 47),
    (TINY | {"batch": 32, "layers": 8}, 656, 48),
    (WIDE, 838, 184),
    (WIDE | {"microbatch": 2}, 378, 184),
]
"""A shape, and the MB that training it (three steps, a checkpoint after the second, float32 on a processor) and scoring
eight windows at a time took at their most, beside what they took when all was imported (``VmHWM`` less ``VmRSS``)."""


def options(shape: dict[str, int]) -> ByteLmOptions:
    few = {"steps": 3, "warmup_steps": 1, "decay_steps": 1, "stride": shape["context"], "score_batch": 8}
    return ByteLmOptions.model_validate({**few, "device": "cpu", **shape})


@pytest.mark.parametrize(("shape", "trained", "scored"), MEASURED)
def test_memory_estimate_is_above_the_measured_peak_by_at_most_a_third(
    shape: dict[str, int], trained: int, scored: int
) -> None:
    chosen = options(shape)
    assert trained < byte_lm_training_memory(chosen, False) / 1e6 < 1.35 * trained + 80
    assert scored < byte_lm_scoring_memory(chosen, False) / 1e6 < 1.35 * scored + 80


@pytest.mark.parametrize("tied", [True, False])
def test_parameters_are_counted(tied: bool) -> None:
    from tokbench.models.byte_lm.model import build

    chosen = options(TINY).model_copy(update={"tied_embeddings": tied})
    assert byte_lm_parameters(chosen) == build(chosen).num_parameters()


def test_arithmetic_is_that_of_the_model() -> None:
    """A training's is thrice that of what goes forwards, as PyTorch counts it; positions beside."""
    import torch
    from torch.nn.attention import SDPBackend, sdpa_kernel
    from torch.utils.flop_counter import FlopCounterMode

    from tokbench.models.byte_lm.model import build

    chosen = options(WIDE)
    model = build(chosen)
    with torch.inference_mode(), sdpa_kernel(SDPBackend.MATH), FlopCounterMode(display=False) as counted:
        model(input_ids=torch.zeros(1, chosen.context, dtype=torch.long))
    assert 3 * counted.get_total_flops() == pytest.approx(chosen.context * byte_lm_flops_per_byte(chosen), rel=1e-3)


def test_time_is_shared_among_threads_and_halves_have_it_short_on_a_gpu() -> None:
    assert seconds(1e12, "bf16", 4) == seconds(1e12, "fp32", 4) == seconds(1e12, "fp32", 1) / 4
    assert seconds(1e12, "bf16", None) < seconds(1e12, "fp32", None) < seconds(1e12, "fp32", 64)


def test_byte_lm_jobs_request_memory_by_model_size(tmp_path: Path) -> None:
    wildcards = SimpleNamespace(byte_lm="tiny")
    small = ByteLms(read(ROOT / "config.yaml", {}))
    assert [small.training_memory(wildcards, attempt) for attempt in (1, 2)] == [MEMORY, 2 * MEMORY]
    large = ByteLms(read(ROOT / "config.yaml", {"byte_lms": {"tiny": "paper_57m"}}))
    paper = PRESETS["paper_57m"]
    assert isinstance(paper, ByteLmOptions)
    asked = large.training_memory(wildcards, 1) * 1e6
    assert 4e9 + BYTE_LM_BASE + 40 * byte_lm_parameters(paper) < asked < 1e10
    assert large.scoring_memory(wildcards, SimpleNamespace(model=tmp_path), 1) * 1e6 < asked


def test_scoring_ngrams_asks_by_their_number(tmp_path: Path) -> None:
    counted = ByteLms(read(ROOT / "config.yaml", {"byte_lms": {"tiny": "ngram"}}))
    wildcards, given = SimpleNamespace(byte_lm="tiny"), SimpleNamespace(model=tmp_path)
    assert counted.training_memory(wildcards, 1) == counted.scoring_memory(wildcards, given, 1) == MEMORY
    with (tmp_path / "windows.npy").open("wb") as file:
        file.truncate(8 * 50_000_000)
    assert 12_000 < counted.scoring_memory(wildcards, given, 1) < 15_000


def shard(folder: Path, split: str, text: bytes, copies: int) -> None:
    [path] = shard_paths(folder, split, 1)
    path.parent.mkdir()
    with open_shards([path]) as add:
        for number in range(copies):
            add(Document(number, "", text))


@pytest.mark.parametrize(
    ("recipe", "gpus", "threads"),
    [
        ("ngram", 0, 1),
        ("tiny", 0, 1),
        ({"preset": "tiny", "cpu_threads": 6}, 0, 6),
        ("paper_57m", 1, 1),
        ({"preset": "tiny", "device": "cuda"}, 1, 1),
    ],
)
def test_only_neural_models_that_are_not_for_processors_ask_for_a_gpu(recipe: object, gpus: int, threads: int) -> None:
    asked = ByteLms(read(ROOT / "config.yaml", {"byte_lms": {"tiny": recipe}}))
    wildcards = SimpleNamespace(byte_lm="tiny")
    assert (asked.gpus(wildcards), asked.threads(wildcards)) == (gpus, threads)


def test_time_follows_from_the_model_and_the_text(tmp_path: Path) -> None:
    """Two days, and one for scoring, are left where neither tells it."""
    wildcards = SimpleNamespace(byte_lm="tiny", shard="0000")
    nothing = SimpleNamespace(corpus=tmp_path / "none")
    there = Inputs([str(tmp_path)], corpus=tmp_path)
    for split in ("byte_lm", "tokenizer"):
        shard(tmp_path, split, bytes(range(256)) * 4000, 10)
    small, large, counted = (
        ByteLms(read(ROOT / "config.yaml", {"byte_lms": {"tiny": name}})) for name in ("tiny", "paper_57m", "ngram")
    )
    paper = PRESETS["paper_57m"]
    assert isinstance(paper, ByteLmOptions)
    assert byte_lm_flops_per_byte(paper) == pytest.approx(6 * byte_lm_parameters(paper) + 12 * 6 * 768 * 2048, rel=1e-3)
    hours = 50_000 * 128 * 2048 * byte_lm_flops_per_byte(paper) / 1e14 / 3600
    assert large.training_time(wildcards, there, 1) == pytest.approx(STARTUP + 90 * hours, abs=1)
    assert [small.training_time(wildcards, there, attempt) for attempt in (1, 2)] == [31, 62]
    assert counted.training_time(wildcards, Inputs([str(tmp_path / "none")], corpus=tmp_path / "none"), 1) == 2880
    assert STARTUP <= counted.training_time(wildcards, there, 1) < STARTUP + 5
    for models in (small, large, counted):
        assert [models.scoring_time(wildcards, nothing, attempt) for attempt in (1, 2, 3)] == [SCORING, 2880, 2880]
    assert counted.scoring_time(wildcards, there, 1) == STARTUP + round(1.5 * 10 * 1_024_000 / NGRAMS_SCORED / 60)
    assert STARTUP < small.scoring_time(wildcards, there, 1) < STARTUP + 30
    (tmp_path / "tokenizer" / "0000.parquet").write_bytes(b"no shard")
    assert small.scoring_time(wildcards, there, 1) == SCORING


class Inputs(list[str]):
    """A job's inputs, by number and by name."""

    def __init__(self, files: list[str], **named: Path) -> None:
        super().__init__(files)
        self.__dict__ |= named


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
    saved_tokenizer(folder / "bytes")
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
def test_insufficient_memory_limit_is_one_line_error(
    command: str, what: str, remedy: str, place: Path, tokbench: Tokbench
) -> None:
    given = [argument.replace("@", f"{place}/") for argument in command.split()]
    told = tokbench(*given, "--memory", "1", "-o", place / "out")
    assert told.status == 2
    assert told.message.startswith(f"tokbench: --memory 1: {what} needs about ")
    assert told.message.endswith(f"MB; allow that much{f', or {remedy}' if remedy else ''}")
    assert not (place / "out").exists()


def test_a_training_on_a_gpu_may_have_less_than_is_asked_for(place: Path, tokbench: Tokbench) -> None:
    """No less than the model takes that each process makes in main memory."""
    recipe = RECIPE.replace("cpu", "cuda")
    call = f"pretrain --recipe {recipe} --packed {place}/packed --tokenizer {place}/bytes --nodes 2 -o {place}/out"
    assert tokbench(*call.split(), "--memory", "1000").message.startswith(
        "tokbench: --memory 1000: this training needs"
    )
    assert tokbench(*call.split(), "--memory", "1500").message.startswith("tokbench: nodes: 2, but this is not part of")


def test_memory_of_embeddings_follows_their_numbers(place: Path) -> None:
    assert PER_NUMBER * ROWS * WIDTH + 2_100 * ROWS < room(place / "model") < PER_NUMBER * ROWS * WIDTH + 5_000 * ROWS


def test_memory_of_pairs_follows_their_text(place: Path) -> None:
    text = len("one two eins zwei".replace(" ", ""))
    assert (
        2 * PAIR + PAIR_BYTE * text
        < pairs_memory(place / "pairs" / "train.parquet")
        < 2 * PAIR + PAIR_BYTE * (text + 500)
    )


@pytest.mark.parametrize("preset", TRANSLATION_PRESETS)
def test_translation_rule_requests_the_memory_of_the_search(preset: str, place: Path) -> None:
    options = TRANSLATION_PRESETS[preset].model_copy(update={"device": "cpu"})
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
