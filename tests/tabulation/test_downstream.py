"""Tables of straddling choices, of every question's outcome and of texts.

Tokens by document, in groups if documents are many.
"""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from tests.conftest import Tokbench
from tests.support.small_report import altered, whole
from tokbench.corpus.documents import Document
from tokbench.errors import TokbenchError
from tokbench.evaluation.evaluate import unused_coverings
from tokbench.intrinsic.document_tokens import tokens_by_document
from tokbench.intrinsic.encoding_speed import TOO_SHORT, ColdSpeed
from tokbench.io.json import read_result, write_result
from tokbench.metric import measurement
from tokbench.report.content import ReportContent
from tokbench.report.exhibits import Table
from tokbench.report.html import render, tables
from tokbench.report.layout import layout
from tokbench.report.sections.downstream import downstream
from tokbench.report.sections.straddling import boundaries, coverings, one_segmentation, texts, with_coverings
from tokbench.report.speeds import read_speeds
from tokbench.tabulation.answers import BOUNDARIES, OUTCOMES, TEXTS, boundary_table, outcome_table, text_table
from tokbench.tabulation.documents import tokens_by_document_table
from tokbench.tabulation.straddling import (
    COVERINGS,
    NOT_TAKEN,
    ONE_SEGMENTATION,
    SUMMED_BITS,
    coverings_table,
    one_segmentation_table,
    summed_bits_table,
)

QUESTION = {"document": 0, "group": "", "choices": 3, "straddling": 2, "gold": 0, "prediction": 1,
            "log_likelihood": -2.0, "log_likelihood_of_others": -1.0}  # fmt: skip
COMPLETION = {"document": 0, "group": "", "choices": 1, "straddling": 0, "gold": None, "prediction": None,
              "log_likelihood": -3.0, "log_likelihood_of_others": None}  # fmt: skip
TASKS = {
    "copa": {
        "num_fewshot": 5,
        "choices": 6,
        "straddling": 2,
        "n": 2,
        "straddling_questions": 1,
        "coverings": {"questions": 2, "mean": None, "largest": None},
        "documents": [
            QUESTION | {"correct": False},
            QUESTION
            | {
                "document": 1,
                "gold": 1,
                "correct": True,
                "group": "g",
                "log_likelihood": -1.0,
                "log_likelihood_of_others": -2.0,
            },
        ],
    },
    "lambada": {
        "num_fewshot": 0,
        "choices": 1,
        "straddling": 0,
        "n": 1,
        "straddling_questions": 0,
        "coverings": None,
        "documents": [COMPLETION | {"correct": True}],
    },
}
TEXT = {"wikitext": {"bits_per_byte": 1.5, "bits": 300.0, "bytes": 200, "tokens": 50, "documents": []}}


def result(folder: Path, model: str, **changes: object) -> Path:
    path = folder / f"{model}.json"
    head = {
        "model": model,
        "variant": "bpe",
        "size": 512,
        "suite": "both",
        "tasks": TASKS,
        "texts": TEXT,
        "loss": float("nan"),
    }
    write_result(path, head | changes)
    return path


def test_boundaries_are_the_tokenizers_and_outcomes_the_models(tmp_path: Path) -> None:
    files = [result(tmp_path, "small"), result(tmp_path, "large")]
    table = boundary_table(files)
    assert table.rows() == [
        ("bpe", 512, "both", "copa", 5, 6, 2, 2, 1),
        ("bpe", 512, "both", "lambada", 0, 1, 0, 1, 0),
    ]
    found = outcome_table(files)
    assert dict(found.schema) == OUTCOMES.schema
    assert found.filter(model="small").drop("model", "variant", "size", "suite").rows() == [
        ("copa", 0, "", 3, 2, 0, 1, False, -2.0, -1.0),
        ("copa", 1, "g", 3, 2, 1, 1, True, -1.0, -2.0),
        ("lambada", 0, "", 1, 0, None, None, True, -3.0, None),
    ]
    assert found["model"].unique(maintain_order=True).to_list() == ["large", "small"]
    assert text_table(files).rows()[0] == ("large", "bpe", 512, "both", "wikitext", 1.5, 300.0, 200, 50)


def test_nothing_gives_empty_tables_and_old_results_are_rejected(tmp_path: Path) -> None:
    for make, table in ((boundary_table, BOUNDARIES), (outcome_table, OUTCOMES), (text_table, TEXTS)):
        assert dict(make([]).schema) == table.schema
    old = json.loads(result(tmp_path, "old").read_text())
    del old["texts"], old["sha256"]
    write_result(tmp_path / "old.json", old)
    with pytest.raises(TokbenchError, match=r"old\.json: no key texts for table texts; make the result again"):
        text_table([tmp_path / "old.json"])


def test_segmentation_loss_is_tabulated_for_suites_that_request_it(tmp_path: Path) -> None:
    estimate = {"bits_per_byte": 0.25, "low": 0.125, "high": 0.5, "samples": 16, "documents": 2, "bytes": 200}
    asked = result(tmp_path, "new", one_segmentation=estimate)
    nothing = [result(tmp_path, "old"), result(tmp_path, "empty", one_segmentation=None)]
    table = one_segmentation_table([asked, *nothing])
    assert table.rows() == [("bpe", 512, "new", "both", 0.25, 0.125, 0.5, 16, 2, 200)]
    assert one_segmentation_table(nothing).is_empty()
    content = ReportContent(
        title="t", recipes={"bpe": {}}, configuration="", provenance={}, declared=[ONE_SEGMENTATION],
        frames={"one_segmentation": table},
    )  # fmt: skip
    [told] = one_segmentation(content)
    assert told.frame["bits_per_byte"].to_list() == [0.25]
    del estimate["low"]
    for wrong, why in (
        (estimate, "no key low for table one_segmentation"),
        ([1], "wrong type for one_segmentation"),
    ):
        with pytest.raises(TokbenchError, match=why):
            one_segmentation_table([result(tmp_path, "new", one_segmentation=wrong)])


def test_bits_summed_over_segmentations(tmp_path: Path) -> None:
    measured = {
        "bits_per_byte": 2.0, "own_bits_per_byte": 2.25, "gap": 0.25, "low": 0.125, "high": 0.5, "missed": 1.25,
        "width": 16, "documents": 2, "bytes": 200,
    }  # fmt: skip
    nothing = [result(tmp_path, "old"), result(tmp_path, "empty", summed_bits=None)]
    table = summed_bits_table([result(tmp_path, "new", summed_bits=measured), *nothing])
    assert table.rows() == [("bpe", 512, "new", "both", *measured.values())]
    SUMMED_BITS.check(table)  # A narrow beam drops more than it keeps.
    assert summed_bits_table(nothing).is_empty()
    content = ReportContent(
        title="t", recipes={"bpe": {}}, configuration="", provenance={}, declared=[SUMMED_BITS],
        frames={"summed_bits": table},
    )  # fmt: skip
    [printed] = one_segmentation(content)
    assert printed.frame["gap"].to_list() == [0.25]
    del measured["missed"]
    with pytest.raises(TokbenchError, match="no key missed for table summed_bits"):
        summed_bits_table([result(tmp_path, "new", summed_bits=measured)])


def test_results_of_the_wrong_form_are_named(tmp_path: Path) -> None:
    whole = read_result(result(tmp_path, "bad"), "", lenient=True)
    path = tmp_path / "bad.json"
    for key, make in (("tasks", boundary_table), ("tasks", outcome_table), ("texts", text_table)):
        for wrong in ([], {"a": 1}, {"a": {"documents": [3]}}, {"a": None}):
            write_result(path, whole | {key: wrong})
            with pytest.raises(TokbenchError, match=rf"^{path}: .*; make the result again$"):
                make([path])


def test_the_report_shows_them(tmp_path: Path) -> None:
    files = [result(tmp_path, "small")]
    content = ReportContent(
        title="t", recipes={"bpe": {}}, configuration="", provenance={}, declared=[BOUNDARIES, TEXTS],
        frames={"boundaries": boundary_table(files), "texts": text_table(files)},
    )  # fmt: skip
    assert coverings(content) == []
    gains = [{"straddling": 2, "unwritten": nats} for nats in (0.5, 0.25)]
    known = TASKS["copa"] | {"coverings": unused_coverings(gains)}
    files = [result(tmp_path, "new", tasks={"copa": known}), files[0]]
    assert unused_coverings([*gains, {"straddling": 1}]) == {"questions": 3, "mean": None, "largest": None}
    both = coverings_table(files)
    assert both.select("model", "task", "questions", "mean", "largest").rows() == [
        ("new", "copa", 2, 0.375, 0.5),
        ("small", "copa", 2, None, None),
    ]
    [told] = coverings(replace(content, declared=[COVERINGS], frames={"coverings": both}))
    assert told.frame["largest"].to_list() == [0.5, None]
    assert set(told.reasons.values()) >= {NOT_TAKEN}
    suites, tasks = boundaries(content)
    assert suites.frame.rows() == [("bpe", 512, "both", 3, 1, 7, 2)]
    assert tasks.frame.rows() == [("bpe", 512, "both", "copa", 2, 1, 6, 2)]
    assert texts(content)[0].frame["value"].to_list() == [1.5]
    empty = replace(content, frames={"texts": pl.DataFrame(schema=TEXTS.schema)})
    assert boundaries(empty) == texts(empty) == []


def test_accuracies_and_ranks_say_how_far_scores_may_be_off(tmp_path: Path) -> None:
    known = coverings_table([])
    rows = [("sage", 1024, 0.5), ("bpe", 1024, 0.0625), ("bpe", 2048, 0.25), ("sage", 2048, None)]
    found = pl.DataFrame(
        [(variant, size, "tiny", "offline", "choice_a", 2, nats, nats) for variant, size, nats in rows],
        known.schema, orient="row",
    )  # fmt: skip

    def captions(content: ReportContent) -> dict[str, Table]:
        return {one.name: one for one in downstream(content).exhibits if isinstance(one, Table)}

    told = captions(altered(whole(), coverings=found))
    high = "their scores may be too high by up to {} nats, for token sequences of the context that the sum omits"
    for name, nats, more in (
        ("accuracy-tiny-offline-1024", "0.500", ""),
        ("accuracy-tiny-offline-2048", "0.250", "; for some this was not measured"),
        ("ranks-tiny-offline", "0.500", "; for some this was not measured"),
        ("accuracy-every-score", "0.500", "; for some this was not measured"),
    ):
        assert f"{high.format(nats)}{more} (table “coverings”)." in told[name].caption
        assert told[name].see == ["coverings"]
    nothing = captions(altered(whole(), coverings=found.with_columns(mean=None, largest=None).cast(found.schema)))
    assert "the possible error of their scores was not measured (table" in nothing["ranks-tiny-offline"].caption
    other = captions(altered(whole(), coverings=found.filter(size=2048)))
    assert "straddle" not in other["accuracy-tiny-offline-1024"].caption
    none = captions(altered(whole(), coverings=None))
    assert not any(table.see for table in none.values())
    render(altered(whole(), coverings=found), tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text()
    assert page.count('<a href="#table-coverings">Table of coverings</a>.') == 4
    assert 'id="table-coverings"' in page
    several = found.with_columns(model=pl.lit("tiny_2"))
    of_all = with_coverings(altered(whole(), coverings=several), none["ranks-tiny-offline"], model="tiny (2 seeds)")
    assert "0.500 nats" in of_all.caption


class Letters:
    """A token for each byte."""

    def count(self, text: bytes) -> int:
        return 2 * len(text)


def documents(sizes: list[int]) -> list[Document]:
    return [Document(10 + 3 * place, "", b"a" * size) for place, size in enumerate(sizes)]


def test_few_documents_are_not_grouped() -> None:
    found, texts = tokens_by_document(Letters(), documents([3, 0, 5]))
    assert found == {"document": [10, 13, 16], "documents": [1, 1, 1], "bytes": [3, 0, 5], "tokens": [6, 0, 10]}
    assert texts == [b"aaa", b"aaaaa"]
    assert tokens_by_document(Letters(), [])[0]["tokens"] == []


def test_many_documents_are_taken_in_groups_of_neighbours(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measurement, "MOST", 7)
    sizes = np.random.default_rng(3).integers(0, 9, 30).tolist()
    found, _ = tokens_by_document(Letters(), documents(sizes))
    assert len(found["tokens"]) == 7
    assert sum(found["documents"]) == 30
    assert set(found["documents"]) == {4, 5}
    start = 0
    for first, number, size, tokens in zip(*found.values(), strict=True):
        assert first == 10 + 3 * start
        assert size == sum(sizes[start : start + number])
        assert tokens == 2 * size
        start += number


def test_from_shards_to_the_table(tokbench: Tokbench, tmp_path: Path) -> None:
    """Every document's tokens are those that encoding gives, and all of them together those of the text."""
    texts = ["the cat sat on the mat", "the hat", ""]
    rows = {"document": [4, 7, 9], "language": [""] * 3, "text": [text.encode() for text in texts]}
    pl.DataFrame(rows).write_parquet(tmp_path / "0000.parquet")
    (tmp_path / "plain.txt").write_text("\n".join(texts))
    assert tokbench("count", "--scheme", "gpt2", tmp_path / "plain.txt", "-o", tmp_path / "counts.parquet").status == 0
    out = tmp_path / "bpe"
    assert tokbench("build", "bpe", "--counts", tmp_path / "counts.parquet", "--size", "262", "-o", out).status == 0
    tokens, speed = tmp_path / "tokens.json", tmp_path / "speed.json"
    call = ("count_tokens", out, tmp_path / "0000.parquet", "--corpus", "books", "--memory", "9000")
    assert tokbench(*call, "--speed", speed, "-o", tokens).status == 0
    from tokbench.tokenizer import Tokenizer

    tokenizer = Tokenizer.load(out)
    frame = tokens_by_document_table([tokens])
    assert frame["tokens"].to_list() == [len(tokenizer.encode(text)) for text in texts]
    assert frame.select("document", "documents", "bytes", "corpus").rows() == [
        (4, 1, 22, "books"), (7, 1, 7, "books"), (9, 1, 0, "books"),
    ]  # fmt: skip
    assert read_speeds([str(speed)]) == {("books", 262, "bpe"): None}, "29 bytes are too short to be timed"
    content = json.loads(tokens.read_text())
    write_result(tokens, {key: value for key, value in content.items() if key not in ("bytes", "sha256")})
    with pytest.raises(TokbenchError, match="no key bytes for table tokens_by_document; make the result again"):
        tokens_by_document_table([tokens])


def test_speed_is_a_column_of_the_page_alone() -> None:
    plain = next(table for table in tables(whole()) if table.name == "scoreboard")
    assert not any(column.timed for column in plain.columns)
    speeds = {("books", 1024, "bpe"): ColdSpeed(200_000, 200_000 / 12.345e6, 25), ("books", 1024, "sage"): None}
    content = altered(whole(), speeds={**speeds, ("other", 1024, "bpe"): ColdSpeed(60_000, 0.06, 3)})
    table = next(table for table in tables(content) if table.name == "scoreboard")
    assert [column.header for column in table.columns if column.timed] == ["encoding, cold (MB/s)"]
    place = table.frame.select("variant", "size").rows().index(("bpe", 1024))
    assert layout(table).rows[place][-1].text == "12.3"
    assert table.frame["speed"].count() == 1
    place = table.frame.select("variant", "size").rows().index(("sage", 1024))
    assert table.reasons[place, "speed"] == TOO_SHORT
