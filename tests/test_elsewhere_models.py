"""Language models over tokenizers made elsewhere: their sequences, their scores, and the tables of these."""

import json
import math
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import polars as pl
import pytest

from tests.conftest import Tokbench
from tests.support import library_tokenizers as made
from tests.support.downstream_tasks import prose, tiny_mpt
from tests.support.external_tokenizers import few, read  # noqa: F401
from tests.support.parallel_text import TINY, sentences
from tests.support.parallel_text import corpus as pairs_of
from tests.support.small_report import bits_by_seed
from tokbench.corpus.documents import Document
from tokbench.corpus.parallel.prepare import prepare_parallel
from tokbench.corpus.shards import open_shards
from tokbench.errors import TokbenchError
from tokbench.pretraining.mds import read_mds
from tokbench.statistics.tidy_tables import TidyTables
from tokbench.tabulation.bits_per_byte import BITS_PER_BYTE
from tokbench.tabulation.curves import CURVES, curve_table
from tokbench.tabulation.document_bits import DOCUMENT_BITS
from tokbench.tabulation.embedding_norms import EMBEDDING_NORMS
from tokbench.tabulation.gathered import Gathered
from tokbench.tabulation.translation_embeddings import TRANSLATION_EMBEDDING_NORMS
from tokbench.tabulation.translations import TRANSLATION_SCORES
from tokbench.tidy.make import make_tables
from tokbench.tokenizer import Tokenizer

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


def test_sequences_are_what_the_library_gives(pieces: Path, shard: Path, tmp_path: Path, tokbench: Tokbench) -> None:
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
    gathered = Gathered((), (str(pieces),), (), (), (), (str(tmp_path / "found.json"),), {}, ())
    documents, bits = (make_tables([one], gathered)[one] for one in (DOCUMENT_BITS, BITS_PER_BYTE))
    assert (bits["equal_context"][0], bits["reason"][0][:29]) == (None, "works through another library")
    rows = documents.select("size", "document", "bytes_lost").rows()
    assert rows == [(len(tokenizer), 4, lost), (len(tokenizer), 9, 0)]


def test_tables_know_its_models_by_its_own_size(model: Path, pieces: Path, tmp_path: Path, tokbench: Tokbench) -> None:
    tokenizer = Tokenizer.load(pieces)
    counts = np.zeros(tokenizer.id_limit + 1, np.int64)
    counts[[5, tokenizer.id_limit]] = 3
    pl.DataFrame({"id": np.arange(len(counts)), "occurrences": counts}).write_parquet(tmp_path / "counts.parquet")
    folder = tmp_path / "embeddings" / "m" / "pieces" / "own"
    line = ["measure_embeddings", "--model", model, "--tokenizer", pieces, "--model-name=m", "-o", folder]
    ended = tokbench(*line, "--token-counts", tmp_path / "counts.parquet")
    assert ended.status == 0, ended.message
    tokens = pl.read_parquet(folder / "tokens.parquet")
    assert len(set(tokens["text"])) == len(tokens) <= len(tokenizer) + 1
    assert tokens.filter(id=5)["occurrences"].to_list() == [3]
    gathered = Gathered((), (str(pieces),), (), (str(folder),), (str(model),), (), {}, ())
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
        (), (str(pieces),), (), (), (), (), {}, (),
        scored_translations=(str(scores),), translation_embeddings_folders=(str(embeddings),),
    )  # fmt: skip
    for name, table in make_tables([TRANSLATION_SCORES, TRANSLATION_EMBEDDING_NORMS], gathered).items():
        assert set(table["size"]) == {len(Tokenizer.load(pieces))}, name
        assert set(table["tokenizers"]) == {"pieces"}, name


def test_what_loses_text_is_not_compared(tmp_path: Path) -> None:
    documents = bits_by_seed().filter(seed=0).drop("seed")
    lossy = (pl.col("variant") == documents["variant"][0]) & (pl.col("document") == 1)
    documents.with_columns(bytes_lost=lossy.cast(pl.Int64)).write_parquet(tmp_path / "document_bits.parquet")
    kept = TidyTables(tmp_path, {}).bits_by_seed
    assert set(kept["variant"]) == set(documents["variant"]) - {documents["variant"][0]}
