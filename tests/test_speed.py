"""benchmarks/speed: texts in halves, turns of the libraries, ratios within a round, the page."""

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from benchmarks.speed import page, texts, worker
from benchmarks.speed.measure import rotated
from benchmarks.speed.peers import tokbench as ours
from benchmarks.speed.summary import Rows, entries
from benchmarks.speed.tasks import OURS, PACKAGES, TASKS

TEXT = "A line of text.\nAnd one more, with words.\n" * 20


def row(peer: str, number: int, measure: str, seconds: float | None, **others: Any) -> dict[str, Any]:
    common = {"kind": "text", "text": "english", "tokenizer": "own", "threads": 1, "peak_mib": 90.0, "error": ""}
    return {
        **common,
        "peer": peer,
        "round": number,
        "measure": measure,
        "seconds": seconds,
        "processor": seconds,
        "bytes": 10**6,
        "tokens": 5,
        "ids": "0",
        **others,
    }


@pytest.fixture
def rows() -> Rows:
    """Three rounds, in which everything slows down by half each time; one library with other ids, one that fails."""
    made = []
    for number, slower in enumerate((1, 2, 4)):
        for measure, factor in (("cold", 2.0), ("new", 1.5), ("warm", 0.5)):
            made.append(row(OURS, number, measure, slower))
            made.append(row("gigatoken", number, measure, slower * factor))
            made.append(row("tokie", number, measure, slower * 0.1, ids="1"))
    empty = {"bytes": None, "tokens": None, "ids": "", "error": "stopped after 5 s"}
    return [*made, row("kitoken", 0, "", None, **empty)]


def test_ratios_are_within_a_round(rows: Rows) -> None:
    tokbench, tokie, gigatoken, kitoken = entries(rows)
    assert tokbench.ours
    assert tokbench.speed["cold"] == 0.5
    assert gigatoken.ratios == {"cold": 2.0, "new": 1.5, "warm": 0.5}
    assert (gigatoken.same, tokie.same) == (True, False)
    assert (kitoken.error, kitoken.ratios, kitoken.rounds) == ("stopped after 5 s", {}, 0)


def test_faster_libraries_are_named_if_their_ids_are_the_same(rows: Rows) -> None:
    assert list(page.behind(rows)) == ["- `gigatoken`: one text, warm (own English 0.50)"]
    assert "`tokie` in one text (own, English)" in page.differing(rows)


def test_the_page_is_made_from_the_results(rows: Rows, tmp_path: Path) -> None:
    pl.DataFrame(rows, infer_schema_length=None).write_parquet(tmp_path / "runs.parquet")
    text = {"documents": 2, "halves": [1, 1], "bytes": 2, "pretokens": 1, "unique": 1}
    about = {"processor": "x", "cores": 2, "memory_gib": 1.0, "system": "Linux", "python": "3.11", "day": "2026-01-01"}
    files = {
        "texts": {
            "texts": dict.fromkeys(("english", "languages", "unseen"), text),
            "short": {"texts": 10, "bytes": 1000},
            "large": {"bytes": 10, "once": 5},
        },
        "machine": {**about, "load": [1.0, 2.0], "minutes": 1.0},
        "versions": {OURS: "0.1.0", "rs_bpe": None},
    }
    for name, content in files.items():
        (tmp_path / f"{name}.json").write_text(json.dumps(content))
    written = page.page(tmp_path)
    assert written == page.page(tmp_path)
    assert "| own, English | **tokbench** | 0.5 |  | 0.5 |  | 0.5 |  | 90 |  |" in written
    assert "|  | gigatoken | 0.25 | 2.00 | 0.333 | 1.50 | 1 | 0.50 | 90 | same |" in written
    assert "|  | kitoken | – | – | – | – | – | – | 90 | stopped after 5 s |" in written
    assert (tmp_path / "peers.svg").exists()


def test_libraries_take_turns() -> None:
    assert [list(rotated("abc", number)) for number in range(3)] == [["a", "b", "c"], ["b", "c", "a"], ["c", "a", "b"]]


def test_halves_alternate() -> None:
    assert texts.halves(["aa", "b", "cc", "d", "ee", "f"], most=3) == [["aa", "cc"], ["b", "d", "f"]]


def test_every_library_has_a_package() -> None:
    folder = Path(worker.__file__).with_name("peers")
    assert {path.stem for path in folder.glob("*.py")} == {"__init__", OURS, *PACKAGES}
    assert {peer for task in TASKS for peer in task.peers} <= PACKAGES.keys()
    required = (folder.parent / "requirements.txt").read_text()
    assert all(f"\n{package}==" in required for package in PACKAGES.values())


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    documents = [TEXT, TEXT.upper(), TEXT.lower()]
    for name in ("english", "languages"):
        texts.write_text(tmp_path, name, documents, by_line=name == "languages")
    texts.write_large(tmp_path, ("english", "languages"), 10_000)
    texts.write_own(tmp_path, ("english", "languages"))
    return tmp_path


@pytest.mark.parametrize(
    ("kind", "text", "measures"),
    [
        ("text", "languages", ["cold", "new", "warm"]),
        ("loop", "languages", ["cold", "new", "warm"]),
        ("batch", "english", ["cold", "new", "warm"]),
        ("large", "large", ["cold"]),
        ("decode", "english", ["decode"]),
        ("start", "", ["start", "longer"]),
        ("long", "a", [str(length) for length in worker.LENGTHS]),
        ("count", "english", ["count"]),
    ],
)
def test_tokbench_does_every_task(kind: str, text: str, measures: list[str], folder: Path) -> None:
    job = {"folder": folder, "text": text, "tokenizer": "own", "threads": 1, "started": 0.0}
    results = list(getattr(worker, kind)(ours, job))
    assert [result["measure"] for result in results] == measures
    assert all(result["seconds"] > 0 and result["tokens"] > 0 for result in results)
    if kind == "text":
        assert results[1]["ids"] == results[2]["ids"] != results[0]["ids"]
        assert results[0]["bytes"] == (folder / "languages_0.txt").stat().st_size
    if kind == "decode":
        assert results[0]["ids"] == "True"


@pytest.mark.parametrize("method", ["bpe", "wordpiece", "unigram"])
def test_tokbench_trains(method: str, folder: Path) -> None:
    job = {"folder": folder, "text": "english", "tokenizer": method, "size": 520}
    (result,) = worker.train(ours, job)
    assert result["tokens"] <= 520


def test_ids_are_compared_in_any_form() -> None:
    import numpy as np

    ids = np.array([1, 2, 70_000], np.uint32)
    forms = (
        ids,
        ids.astype(np.int32),
        ids.tobytes(),
        ids.tolist(),
        (ids, [0, 3]),
        [ids[:1], ids[1:]],
        [[1, 2], [70_000]],
    )
    assert all(worker.flat_ids(form).tolist() == ids.tolist() for form in forms)
