"""Language models over external tokenizers: their sequences, their scores, and the tables of these.

Training text of models: a row for each manifest that records it.

Checkpoints along the way: targets, rows of a table, and a figure.

Tokens counted by probability and norm: each in one cell.
"""

import json
import math
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from pydantic import ValidationError

from tests.conftest import Tokbench
from tests.support import library_tokenizers as made
from tests.support.corpora import TINY, sentences
from tests.support.corpora import corpus as pairs_of
from tests.support.external_tokenizers import few, read  # noqa: F401
from tests.support.fake_results import prose, tiny_mpt
from tests.support.small_report import altered, bits_by_seed, whole
from tokbench.config.load import read as load_read
from tokbench.config.targets import CheckpointTarget, all_checkpoints
from tokbench.corpus.documents import Document
from tokbench.corpus.parallel_prepare import prepare_parallel
from tokbench.corpus.shards import open_shards
from tokbench.errors import TokbenchError
from tokbench.io.identity import Maker
from tokbench.io.json import write_result
from tokbench.models.pretraining.budget import checkpoint_batches
from tokbench.models.pretraining.mds import read_mds
from tokbench.models.pretraining.options import PRESETS, MptOptions
from tokbench.models.training import write_occurrences
from tokbench.report.exhibits import Table
from tokbench.report.figures import norms
from tokbench.report.figures.style import inline
from tokbench.report.layout import layout
from tokbench.report.sections.models import convergences, models
from tokbench.statistics.inputs import StatisticsInputs
from tokbench.tabulation.documents import DOCUMENT_BITS
from tokbench.tabulation.embeddings import EMBEDDING_NORMS, STEPS, TRANSLATION_EMBEDDING_NORMS, embedding_norms
from tokbench.tabulation.gathered import Gathered
from tokbench.tabulation.table import make_tables
from tokbench.tabulation.training import (
    BITS_PER_BYTE,
    CONVERGENCE,
    CURVES,
    TRAINED_ON,
    convergence_table,
    curve_table,
    trained_on_table,
)
from tokbench.tabulation.translations import TRANSLATION_SCORES
from tokbench.tokenizer import Tokenizer
from tokbench.workflow.models import checkpoint_flags

TEXT = b"A  time, a hand.\n" + prose(3)[:400]


@pytest.fixture(scope="module")
def pieces(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of one that works through another library, under the name that the workflow gives it."""
    pytest.importorskip("sentencepiece")
    folder = tmp_path_factory.mktemp("pieces")
    made.written(folder / "tiny.model", made.sentencepiece_model())
    tokenizer = read(folder / "tiny.model", "sentencepiece")
    tokenizer.name = "pieces"
    tokenizer.save(folder / "pieces" / "own")
    return folder / "pieces" / "own"


@pytest.fixture
def shard(tmp_path: Path) -> Path:
    with open_shards([tmp_path / "0000.parquet"]) as add:
        add(Document(4, "en", TEXT))
        add(Document(9, "de", b"time"))
    return tmp_path / "0000.parquet"


@pytest.fixture
def model(torch: ModuleType, pieces: Path, tmp_path: Path) -> Path:
    """A model that has learned nothing, with rows for the tokenizer's ids, in the workflow's folder."""
    made_of = tiny_mpt(torch, 64)
    made_of.resize_token_embeddings(Tokenizer.load(pieces).id_limit + 2, mean_resizing=False)
    folder = tmp_path / "models" / "m" / "pieces" / "own"
    made_of.save_pretrained(folder)
    (folder / "curve.csv").write_text("batch,tokens,loss,rate,seconds\n1,64,5.5,.1,1\n")
    return folder


def test_packed_sequences_have_the_ids_of_the_library(
    pieces: Path, shard: Path, tmp_path: Path, tokbench: Tokbench
) -> None:
    line = ["pack", pieces, "--sequence-length", 16, shard, "-o", tmp_path / "packed", "--seed", 3]
    assert tokbench(*line).status == 0
    tokenizer = Tokenizer.load(pieces)
    end = tokenizer.end_of_text
    assert (tokenizer.end_token, end) == ("</s>", 2)
    ids = np.concatenate(list(read_mds(tmp_path / "packed"))).ravel().tolist()
    of = [tokenizer.encode(text).tolist() for text in (TEXT, b"time")]
    assert ids[: ids.index(end)] in of
    assert len([one for one in ids if one < tokenizer.id_limit and one != end]) == sum(map(len, of))


def test_scored_by_true_bytes_and_at_its_own_size(
    torch: ModuleType, model: Path, pieces: Path, shard: Path, offline_tasks: Path, tmp_path: Path, tokbench: Tokbench
) -> None:
    """Bits are those of its ids by hand, over the bytes of the text; what is lost of the text stands beside them."""
    line = ["evaluate", "--model", model, "--tokenizer", pieces, "--tasks", offline_tasks, "--limit", 2, "--size=own"]
    line += ["--recipe", json.dumps({"tasks": ["last_word"]}), "--variant=pieces", "--model-name=m", "--corpus=c"]
    ended = tokbench(*line, "-o", tmp_path / "found.json", shard)
    assert ended.status == 0, ended.message
    found: dict[str, Any] = json.loads((tmp_path / "found.json").read_text())
    tokenizer = Tokenizer.load(pieces)
    assert (found["variant"], found["size"]) == ("pieces", len(tokenizer))
    [first, second] = found["bits_per_byte_of"]["by_document"]
    lost = tokenizer.bytes_lost(TEXT)
    assert (first["document"], first["bytes"], first["bytes_lost"]) == (4, len(TEXT), lost)
    assert lost > 0 == second["bytes_lost"]
    ids = tokenizer.encode(b"time").tolist()
    from transformers import AutoModelForCausalLM

    with torch.inference_mode():
        read_in = torch.tensor([[tokenizer.end_of_text, *ids]])
        logs = AutoModelForCausalLM.from_pretrained(model)(input_ids=read_in).logits[0].double().log_softmax(-1)
    assert second["bits"] == pytest.approx(-sum(float(logs[place, one]) for place, one in enumerate(ids)) / math.log(2))
    assert found["bits_per_byte"] == pytest.approx((first["bits"] + second["bits"]) / (len(TEXT) + 4))
    assert (found["bits_per_byte_equal_context"], found["bits_per_byte_equal_context_of"]) == (None, None)
    assert found["tasks"]["last_word"]["n"] == 2
    gathered = Gathered({"tokenizer": [str(pieces)], "downstream": [str(tmp_path / "found.json")]})
    documents, bits = (make_tables([one], gathered)[one] for one in (DOCUMENT_BITS, BITS_PER_BYTE))
    assert (bits["equal_context"][0], bits["reason"][0][:29]) == (None, "works through another library")
    rows = documents.select("size", "document", "bytes_lost").rows()
    assert rows == [(len(tokenizer), 4, lost), (len(tokenizer), 9, 0)]


def test_tables_know_its_models_by_its_own_size(model: Path, pieces: Path, tmp_path: Path, tokbench: Tokbench) -> None:
    tokenizer = Tokenizer.load(pieces)
    counts = np.zeros(tokenizer.id_limit + 1, np.int64)
    counts[[5, tokenizer.id_limit]] = 3
    write_occurrences(counts, tmp_path / "counts.parquet", Maker(tokenizer.digest, pieces))
    folder = tmp_path / "embeddings" / "m" / "pieces" / "own"
    line = ["measure_embeddings", "--model", model, "--tokenizer", pieces, "--model-name=m", "-o", folder]
    ended = tokbench(*line, "--token-counts", tmp_path / "counts.parquet")
    assert ended.status == 0, ended.message
    tokens = pl.read_parquet(folder / "tokens.parquet")
    assert len(set(tokens["text"])) == len(tokens) <= len(tokenizer) + 1
    assert tokens.filter(id=5)["occurrences"].to_list() == [3]
    gathered = Gathered({"tokenizer": [str(pieces)], "embeddings": [str(folder)], "model": [str(model)]})
    for table in make_tables([CURVES, EMBEDDING_NORMS], gathered).values():
        assert set(table["size"]) == {len(tokenizer)}
    with pytest.raises(TokbenchError, match="the size of 'pieces' is not known; name its tokenizer with --tokenizer"):
        curve_table([model], {})


def test_a_translation_model_over_it_and_another(pieces: Path, tmp_path: Path, tokbench: Tokbench) -> None:
    """From training to tables, as the workflow calls it; nothing is translated into ids that it has not."""
    prepare_parallel(pairs_of(tmp_path, sentences(60)), 0, tmp_path)
    recipe = TINY.model_copy(update={"epochs": 1, "max_tokens": 4}).model_dump_json()
    way = tmp_path / "m/pairs/en/de/pieces/pieces/own"
    model, embeddings, scores = (tmp_path / name / way.relative_to(tmp_path) for name in ("models", "norms", "scores"))
    for folder in (model, embeddings, scores):
        folder.parent.mkdir(parents=True)
    sides = ["--from", "en", "--to", "de"]
    tokenizers = ["--source-tokenizer", pieces, "--target-tokenizer", pieces]
    lines = [
        ["train_translation", "--recipe", recipe, "--corpus", tmp_path, *tokenizers, *sides,
         "--checkpoints", tmp_path / "checkpoints", "-o", model],
        ["measure_translation_embeddings", "--model", model, "-o", embeddings],
        ["translate", "--recipe", recipe, "--model", model, *sides, "-o", tmp_path / "found.parquet",
         tmp_path / "held.parquet"],
        ["score_translation", "--corpus=pairs", "--test=held", *sides, "--model-name=m", "--source-variant=pieces",
         "--target-variant=pieces", "--size=own", "-o", scores, tmp_path / "found.parquet"],
    ]  # fmt: skip
    for line in lines:
        ended = tokbench(*line)
        assert ended.status == 0, ended.message
    tokens = pl.read_parquet(embeddings / "both.parquet")
    assert tokens["occurrences"].sum() > 0
    gathered = Gathered(
        {"tokenizer": [str(pieces)], "translation": [str(scores)], "translation_embeddings": [str(embeddings)]}
    )
    for name, table in make_tables([TRANSLATION_SCORES, TRANSLATION_EMBEDDING_NORMS], gathered).items():
        assert set(table["size"]) == {len(Tokenizer.load(pieces))}, name
        assert set(table["tokenizers"]) == {"pieces"}, name


def test_lossy_tokenizers_are_not_compared(tmp_path: Path) -> None:
    documents = bits_by_seed().filter(seed=0).drop("seed")
    lossy = (pl.col("variant") == documents["variant"][0]) & (pl.col("document") == 1)
    documents.with_columns(bytes_lost=lossy.cast(pl.Int64)).write_parquet(tmp_path / "document_bits.parquet")
    kept = StatisticsInputs(tmp_path, {}).bits_by_seed
    assert set(kept["variant"]) == set(documents["variant"]) - {documents["variant"][0]}


READ = {"documents": 62, "text_bytes": 247052, "tokens": 81920, "sequences": 320, "batches": 40, "flops": 1.5e12}


def folder(root: Path, model: str, size: str, manifest: Any) -> Path:
    """A model's, with a manifest; none where that is None."""
    made = root / model / "bpe" / size
    made.mkdir(parents=True)
    if manifest is not None:
        (made / "manifest.json").write_text(json.dumps(manifest))
    return made


def test_training_text_is_tabulated_from_manifests(tmp_path: Path) -> None:
    by_phase = READ | {"first": READ, "second": READ}
    found = [
        folder(tmp_path, "n", "1024", {"loss": float("nan"), "settings": {"read": by_phase}}),
        folder(tmp_path, "m", "own", {"settings": {"read": READ | {"text_bytes": None}}}),
        folder(tmp_path, "m", "512", {"settings": {"read": {"tokens": 9, "batches": 2}}}),
    ]
    table = trained_on_table(found, {"bpe": 300})
    assert table.rows() == [
        ("bpe", 300, "m", 62, None, 81920, 320, 40, 0.0015),
        ("bpe", 512, "m", None, None, 9, None, 2, None),
        ("bpe", 1024, "n", 62, 247052, 81920, 320, 40, 0.0015),
    ]
    TRAINED_ON.check(table)


@pytest.mark.parametrize("old", [None, {}, {"settings": None}, {"settings": {"read": 3}}, {"settings": {"effort": {}}}])
def test_old_manifests_have_no_row(old: Any, tmp_path: Path) -> None:
    table = trained_on_table([folder(tmp_path, "m", "512", old)], {})
    TRAINED_ON.check(table)
    assert table.is_empty()


def test_a_number_of_another_type_is_named(tmp_path: Path) -> None:
    for size, key in enumerate(("tokens", "flops"), 512):
        wrong = folder(tmp_path, "m", str(size), {"settings": {"read": READ | {key: "many"}}})
        with pytest.raises(TokbenchError, match=rf"{size}/manifest\.json: a value of the wrong type"):
            trained_on_table([wrong], {})


def test_training_text_is_folded_in_the_models_section() -> None:
    rows = {"variant": "bpe", "size": 512, "model": "tiny", "documents": 62, "text_bytes": None, "tokens": 81920}
    rows |= {"sequences": 320, "batches": 40, "petaflop": 0.000147}
    content = altered(whole(), trained_on=pl.DataFrame([rows], TRAINED_ON.schema))
    [told] = [one for one in models(content).exhibits if isinstance(one, Table) and one.name == "trained-on"]
    assert told.folded
    assert told.reasons[0, "text_bytes"] == TRAINED_ON["text_bytes"].empty
    assert [cell.text for cell in layout(told).rows[0]][5:] == ["81,920", "320", "40", "0.000147"]


ROOT = Path(__file__).parents[2]
SMALL = PRESETS["tiny"].recipe()


def test_shares_are_ascending_and_part_of_a_recipe_where_there_are_any() -> None:
    options = MptOptions.model_validate(SMALL | {"evaluate_at": (0.001, 0.25, 0.5)})
    assert checkpoint_batches(options, 30) == {"0.001": 1, "0.25": 8, "0.5": 15}
    assert options.recipe()["evaluate_at"] == [0.001, 0.25, 0.5]
    assert "evaluate_at" not in SMALL
    for wrong in ((0.5, 0.25), (0.5, 0.5), (1.0,), (0.0,)):
        with pytest.raises(ValidationError):
            MptOptions.model_validate(SMALL | {"evaluate_at": wrong})


def test_checkpoints_are_targets_of_their_own() -> None:
    changed = {"models": {"tiny": {"preset": "tiny", "evaluate_at": [0.25, 0.5]}}}
    plain, kept = load_read(ROOT / "config.yaml", {}), load_read(ROOT / "config.yaml", changed)
    assert all_checkpoints(plain) == []
    found = all_checkpoints(kept)
    assert len(found) == 2 * len({one[:3] + one[4:] for one in found})
    assert found[1] == CheckpointTarget(*found[0][:3], "0.5", found[0].suite)
    files = {"corpus": "c", "model": "models/tiny/bpe/400", "tokenizer": "t", "hub_cache": []}
    given = SimpleNamespace(**files, items=files.items)
    assert checkpoint_flags(SimpleNamespace(share="0.25"), given) == [
        *("--model", "models/tiny/bpe/400/checkpoints/0.25"),
        *("--tokenizer", "t"),
    ]


@pytest.fixture
def convergence_folder(tmp_path: Path) -> Path:
    """Results of two models, of which one kept two checkpoints."""
    for model, checkpoints in (
        ("m", {"0.25": {"batch": 2, "tokens": 50}, "0.5": {"batch": 4, "tokens": 99}}),
        ("n", {}),
    ):
        home = tmp_path / "models" / model / "bpe" / "400"
        home.mkdir(parents=True)
        settings = {"checkpoints": checkpoints, "read": {"batches": 8, "tokens": 200}}
        (home / "manifest.json").write_text(json.dumps({"settings": settings}))
        for share in (*checkpoints, None):
            place = Path(
                *(("convergence", model, "bpe", "400", share) if share else ("downstream", model, "bpe", "400"))
            )
            (tmp_path / place).mkdir(parents=True)
            tasks = {"a": {"accuracy": float(share or 1)}, "b": {"accuracy": None if share == "0.5" else 0.5}}
            head = {"model": model, "variant": "bpe", "size": 400, "suite": "s", "tasks": tasks}
            write_result(tmp_path / place / "s.json", head | {"bits_per_byte": 3.0 if share else None})
    return tmp_path


def test_a_row_for_each_checkpoint_and_the_model_itself(convergence_folder: Path) -> None:
    along, downstream = (sorted(convergence_folder.glob(f"{kind}/**/s.json")) for kind in ("convergence", "downstream"))
    models = sorted(convergence_folder.glob("models/*/*/*"))
    table = convergence_table(along, downstream, models, {})
    CONVERGENCE.check(table)
    assert table.drop("variant", "size", "suite").rows() == [
        ("m", 0.25, 2, 50, 0.375, 2, 3.0),
        ("m", 0.5, 4, 99, None, 2, 3.0),
        ("m", 1.0, 8, 200, 0.75, 2, None),
    ]
    assert convergence_table([], downstream, models, {}).is_empty()


def test_report_draws_convergence_if_it_was_measured(convergence_folder: Path) -> None:
    found = (
        sorted(convergence_folder.glob(pattern))
        for pattern in ("convergence/**/s.json", "downstream/**/s.json", "models/*/*/*")
    )
    table = convergence_table(*found, {})
    assert convergences(altered(whole(), convergence=None)) == []
    drawing, numbers = convergences(altered(whole(), convergence=table))
    assert drawing.caption.startswith("Convergence of m on s: ")
    assert len(drawing.draw().axes) == 2
    assert numbers.name == "convergence-in-numbers-m-s"
    assert numbers.frame["share"].to_list() == [0.25, 0.5, 1.0]


TOKENS = st.lists(
    st.tuples(st.integers(0, 50), st.floats(0, 4, width=32, allow_subnormal=False)), min_size=1, max_size=40
)


def frame(tokens: list[tuple[int, float]]) -> pl.DataFrame:
    total = max(1, sum(met for met, _ in tokens))
    return pl.DataFrame({"probability": [met / total for met, _ in tokens], "norm": [norm for _, norm in tokens]})


@given(TOKENS, TOKENS)
@example([(1, 0.0)], [(1, 0.5)])
def test_every_token_is_in_one_cell(one: list[tuple[int, float]], other: list[tuple[int, float]]) -> None:
    tokenizers = {("bpe", 512): frame(one), ("unigram", 512): frame(other)}
    cells = embedding_norms({"tiny": tokenizers})
    assert cells.schema == EMBEDDING_NORMS.schema
    largest = max(norm for _, norm in one + other)
    for (variant, size), tokens in tokenizers.items():
        found = cells.filter(model="tiny", variant=variant, size=size)
        assert found["tokens"].sum() == len(tokens)
        assert (
            found.filter(probability_low=0.0, probability_high=0.0)["tokens"].sum()
            == (tokens["probability"] == 0).sum()
        )
        for low, high, bottom, top, count in found.select(list(EMBEDDING_NORMS.schema)[3:]).iter_rows():
            near = 1e-9
            within = tokens.filter(
                pl.col("probability").is_between(low * (1 - near), high * (1 + near)),
                pl.col("norm").is_between(bottom - near, top + near),
            )
            assert 0 < count <= len(within)
            if low:
                assert high / low < 1.4
            assert top - bottom <= (largest / STEPS or 1.0) + near
            assert top <= (largest or 1.0) + near


def test_no_model_no_cell() -> None:
    assert embedding_norms({}).schema == EMBEDDING_NORMS.schema
    assert embedding_norms({}).is_empty()


def test_a_panel_for_each_tokenizer_at_any_width() -> None:
    for width, many in ((3.3, 17), (6.8, 5)):
        tokenizers = {(f"variant_{n:02}", 512): frame([(n, 0.5), (40, 1.5), (0, 0.1)]) for n in range(1, many + 1)}
        table = embedding_norms({"tiny": tokenizers})
        cells = {str(variant): part for (variant,), part in table.group_by("variant", maintain_order=True)}
        figure = norms.draw(cells, list(cells), width=width)
        assert [axes.get_title(loc="left") for axes in figure.axes if axes.get_title(loc="left")] == list(cells)
        assert abs(figure.get_figwidth() - width) < 1e-9
    page = inline(figure, "f1", "norms")
    assert page.count("variant_01: 3 tokens, 1 of them never seen") == 1


def test_tokens_that_are_all_met_or_none() -> None:
    for tokens in ([(1, 1.0), (2, 1.1)], [(0, 0.0)]):
        table = embedding_norms({"tiny": {("bpe", 512): frame(tokens)}})
        assert "norm" in inline(norms.draw({"bpe": table}, ["bpe"]), "f1", "norms")
