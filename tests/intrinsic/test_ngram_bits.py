"""Bits per byte of token n-gram models: budgets, files, the command, the tables and the statistics."""

import json
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.conftest import TOPICS
from tests.support.pipeline import call
from tokbench.commands.bounds import each_flagged
from tokbench.corpus.documents import Document
from tokbench.errors import TokbenchError
from tokbench.intrinsic.ngram_bits import budgets_of, ngram_bits
from tokbench.io.json import write_result
from tokbench.io.numbers import HIGHEST_NGRAM_ORDER
from tokbench.kernels import token_ngrams as kernel
from tokbench.models.pretraining.order import EncodedDocument
from tokbench.reference import ngram as twin
from tokbench.statistics.comparisons.ngram_bits import KEY, rank_ngram_bits
from tokbench.statistics.undersized import lossless_documents
from tokbench.tabulation.ngram_bits import ngram_bits_table, ngram_documents_table
from tokbench.tokenizer.encoder import leading_text

TRAINING = [(1, "en", b"ababa"), (2, "en", b"abb"), (3, "uk", "бба".encode()), (4, "en", b"")]
TEST = [(5, "en", b"aba"), (6, "uk", "а".encode()), (7, "en", b"")]


def documents(rows: list[tuple[int, str, bytes]]) -> list[Document]:
    return [Document(*row) for row in rows]


def by_bytes(given: Any) -> Any:
    """A tokenizer whose ids are the bytes, a byte at a time."""
    for each in given:
        ids = np.frombuffer(each.text, np.uint8).astype(np.int32)
        for place in range(len(ids) - 1):
            yield EncodedDocument(each.document, False, 1, ids[place : place + 1])
        yield EncodedDocument(each.document, True, 1, ids[-1:])


def measured(training: list[tuple[int, str, bytes]] = TRAINING, **more: Any) -> dict[str, Any]:
    options = {"order": 3, "training_bytes": [7, 14], **more}
    return ngram_bits(by_bytes, 256, lambda: documents(training), documents(TEST), **options)


def test_a_budget_is_shared_out_to_languages_by_their_bytes() -> None:
    (half, whole) = budgets_of([("en", 5), ("uk", 6), ("en", 3)], None)
    assert (half.training_bytes, half.taken) == (7, {"en": 4, "uk": 3})
    assert (whole.training_bytes, whole.taken) == (14, {"en": 8, "uk": 6})
    assert [budget.training_bytes for budget in budgets_of([("", 9)], [9, 2, 2])] == [2, 9]


@pytest.mark.parametrize(
    ("sizes", "asked", "message"),
    [([], None, "^the training text is empty"), ([("en", 3)], [4], "^training_bytes: 4 requested, .* text has 3$")],
)
def test_budgets_that_cannot_be(sizes: list[tuple[str, int]], asked: list[int] | None, message: str) -> None:
    with pytest.raises(TokbenchError, match=message):
        budgets_of(sizes, asked)


@given(st.text(), st.integers(0, 20))
def test_texts_are_cut_between_characters(text: str, size: int) -> None:
    whole = text.encode("utf-8", "replace")
    if size < len(whole):
        assert text.startswith(leading_text(whole, size).decode())
        assert size - 3 <= len(leading_text(whole, size)) <= size
    assert leading_text(whole, len(whole)) == leading_text(whole, len(whole) + 1) == whole


def test_bytes_that_are_no_characters_are_cut_all_the_same() -> None:
    assert leading_text(b"\x80" * 9, 5) == b"\x80" * 5


@pytest.mark.parametrize("order", [1, 2, 3])
def test_models_are_those_of_the_formulas(order: int) -> None:
    """The smaller budget has abab, since of eight bytes of English it takes four; and one letter of Ukrainian."""
    found = measured()
    texts = {7: [b"abab", "б".encode()], 14: [text for *_, text in TRAINING]}
    for model in found["models"]:
        if model["order"] == order:
            expected = twin.bits(texts[model["training_bytes"]], [text for *_, text in TEST], 256, order)
            assert model["bits"] == pytest.approx(expected, rel=1e-12)
            assert model["bits_per_byte"] == pytest.approx(sum(expected) / 5)
    assert [(one["training_bytes"], one["text_bytes"], one["tokens"]) for one in found["training"]] == [
        (7, 6, 6),
        (14, 14, 14),
    ]
    assert [one["unseen_tokens"] for one in found["training"]] == [1, 0]
    assert [one["unused_entries"] for one in found["training"]] == [252, 251]
    assert (found["vocabulary"], found["bytes"], found["tokens"]) == (256, 5, 5)
    assert [each["document"] for each in found["documents"]] == [5, 6, 7]


def test_memory_limit_keeps_values() -> None:
    found = measured(order=5)
    room = 96 * 256 + 2 * 24 * 20
    assert measured(order=5, room=room) == found
    assert measured(order=5, room=1) == found, "at least the places after one token"


def test_vocabulary_too_large_for_ngram_keys_is_rejected() -> None:
    with pytest.raises(TokbenchError, match="too large for token n-grams of 2,097,150"):
        ngram_bits(by_bytes, 1 << 21, lambda: documents(TRAINING), documents(TEST), order=2)


def test_empty_text_is_rejected() -> None:
    with pytest.raises(TokbenchError, match=r"^the test text is empty"):
        ngram_bits(by_bytes, 256, lambda: documents(TRAINING), [], order=2)


def test_the_command_line_knows_the_highest_order() -> None:
    assert kernel.MAX_ORDER == HIGHEST_NGRAM_ORDER


def test_flags_take_several_values() -> None:
    given_ = ["folder", "--train", "a", "b", "--order", "2", "--test", "c", "d"]
    expected = ["folder", "--train", "a", "--train", "b", "--order", "2", "--test", "c", "--test", "d"]
    assert each_flagged(given_, ("--train", "--test")) == expected


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A corpus in two shards and in one, a tokenizer, and its bits."""
    folder = tmp_path_factory.mktemp("ngrams")
    (folder / "text.txt").write_bytes(b"\n\n".join(TOPICS))
    source = {"type": "text", "path": str(folder / "text.txt"), "documents": "paragraph"}
    for shards in (1, 2):
        recipe = {"source": source, "shards": shards, "splits": {"tokenizer": 0.6, "evaluation": 0.4}, "seed": 0}
        call("prepare", "--recipe", json.dumps(recipe), "-o", f"{folder}/corpus{shards}", "--", f"{folder}/text.txt")
    call("count", "--scheme", "gpt2", "-o", f"{folder}/counts.parquet", f"{folder}/text.txt")
    call("build", "bpe", "--counts", f"{folder}/counts.parquet", "--size", "400", "-o", f"{folder}/bpe")
    return folder


def bits_of(folder: Path, shards: int, *more: str) -> dict[str, Any]:
    texts = [
        *("--train", *shards_of(folder, shards, "tokenizer")),
        *("--test", *shards_of(folder, shards, "evaluation")),
    ]
    call("ngram_bits", f"{folder}/bpe", "-o", f"{folder}/bits.json", "--order", "3", *more, *texts)
    found: dict[str, Any] = json.loads((folder / "bits.json").read_text())
    return found


def shards_of(folder: Path, shards: int, split: str) -> list[str]:
    return [str(path) for path in sorted((folder / f"corpus{shards}" / split).iterdir()) if path.suffix == ".parquet"]


def test_shards_and_memory_change_nothing(made: Path) -> None:
    whole = bits_of(made, 1)
    assert bits_of(made, 2) == whole
    assert bits_of(made, 2, "--memory", "1000") == whole
    assert [(model["training_bytes"], model["order"]) for model in whole["models"]] == list(
        product([one["training_bytes"] for one in whole["training"]], (1, 2, 3))
    )
    first, second = ([m["bits_per_byte"] for m in whole["models"]][place] for place in (0, 1))
    assert second < first < 8


def comparable() -> pl.DataFrame:
    """On 30 documents a needs less than b, and c about as much as b; on the smaller budget c needs less than a."""
    draws = np.random.default_rng(0)
    rows = []
    for document in range(30):
        size = 100 + 10 * document
        common = draws.normal(2.0, 0.2)
        for budget in (500, 1000):
            for variant, more in (("a", 0.0), ("b", 0.1), ("c", 0.1 + draws.normal(0, 0.01) - 0.2 * (budget == 500))):
                bits = size * (common + more + draws.normal(0, 0.01))
                rows.append((variant, 1024, "books", 2, budget, document, "", size, bits, None, 0))
    return pl.DataFrame(rows, schema=ngram_documents_table([]).schema, orient="row")


def test_average_ranks() -> None:
    found = rank_ngram_bits(comparable()).filter(training_bytes=1000)
    ranks = dict(found.select("variant", "average_rank").iter_rows())
    assert ranks["a"] == 1
    assert ranks["b"] + ranks["c"] == 5
    assert found["blocks"].unique().to_list() == [30]
    assert found["critical_difference"][0] == pytest.approx(2.343 * np.sqrt(3 * 4 / (6 * 30)), abs=1e-3)
    assert rank_ngram_bits(comparable().filter(variant="a"))["reason"][0] == "there is no other variant"


def test_tables_by_language(tmp_path: Path) -> None:
    path = tmp_path / "bits.json"
    write_result(path, {"variant": "bytes", "size": 256, "corpus": "books", **measured()})
    table = ngram_bits_table([path])
    whole = table.filter(language="", order=2, training_bytes=14).row(0, named=True)
    parts = table.filter(pl.col("language") != "", order=2, training_bytes=14)
    assert dict(parts.select("language", "bytes").iter_rows()) == {"en": 3, "uk": 2}
    assert (parts["value"] * parts["bytes"]).sum() == pytest.approx(whole["value"] * 5)
    assert whole["documents"] == 3
    assert ngram_documents_table([path]).height == 2 * 3 * 3
    assert ngram_bits_table([]).is_empty()
    write_result(path, {"variant": "bytes", "size": 256})
    with pytest.raises(TokbenchError, match=r"bits\.json: no key documents for table ngram_bits"):
        ngram_bits_table([path])


def test_ids_with_holes_are_no_entries() -> None:
    """Ids three times as far apart give the same bits, and the same tokens are unused."""

    def spread(given: Any) -> Any:
        for piece in by_bytes(given):
            yield piece._replace(ids=piece.ids * 3 + 5)

    plain = measured()
    held = ngram_bits(
        spread, 256, lambda: documents(TRAINING), documents(TEST), order=3, training_bytes=[7, 14], ids=1000
    )
    assert held == plain
    counted = ngram_bits(spread, 1000, lambda: documents(TRAINING), documents(TEST), order=3, training_bytes=[7, 14])
    assert all(
        more["bits_per_byte"] > one["bits_per_byte"]
        for more, one in zip(counted["models"], plain["models"], strict=True)
    )


def test_ngram_bits_record_lost_bytes(tmp_path: Path) -> None:
    """A number of a tokenizer that loses some of the text goes with how much, and is compared with no other."""
    found = measured(lost=lambda text: text.count(b"b"))
    assert [one["bytes_lost"] for one in found["documents"]] == [1, 0, 0]
    assert found["bytes"] == measured()["bytes"]
    path = tmp_path / "bits.json"
    write_result(path, {"variant": "lossy", "size": 256, "corpus": "books", **found})
    table = ngram_bits_table([path]).filter(order=2, training_bytes=14)
    assert dict(table.select("language", "bytes_lost").iter_rows()) == {"": 1, "en": 1, "uk": 0}
    lost = comparable().with_columns(bytes_lost=(pl.col("variant") == "b").cast(pl.Int64))
    assert lossless_documents(lost, KEY).equals(
        comparable().filter(pl.col("variant") != "b").with_columns(bytes_lost=pl.lit(0, pl.Int64))
    )


def test_documents_of_several_files_are_numbered_as_one_text(made: Path, tmp_path: Path) -> None:
    (tmp_path / "lines.jsonl").write_text('{"text": "one cat"}\n{"text": "two cats"}\n')
    (tmp_path / "more.txt").write_text("three cats\n")
    files = [str(tmp_path / name) for name in ("lines.jsonl", "more.txt", "lines.jsonl")]
    call(
        "ngram_bits",
        f"{made}/bpe",
        "--corpus",
        "cats",
        "-o",
        f"{tmp_path}/bits.json",
        "--train",
        *files,
        "--test",
        *files,
    )
    found = json.loads((tmp_path / "bits.json").read_text())
    assert [one["document"] for one in found["documents"]] == [0, 1, 2, 3, 4]
    assert [one["bytes"] for one in found["documents"]] == [7, 8, 11, 7, 8]
    assert ngram_documents_table([tmp_path / "bits.json"]).filter(order=1)["document"].n_unique() == 5
    [training] = {one["documents"] for one in found["training"] if one["text_bytes"] == found["bytes"]}
    assert training == 5
