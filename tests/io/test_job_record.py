"""The record of a job is in every kind of output of its command, and in none of a command that is called by hand."""

import json
import re
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow.parquet as pq
import pytest

from tests.conftest import Tokbench
from tokbench.errors import TokbenchError
from tokbench.io.atomic import atomic_folder
from tokbench.io.job_record import VARIABLE, comment_of_job, digest_of_job, job_metadata, read_job, reject_other_jobs
from tokbench.io.json import read_result, write_result
from tokbench.pretokens.tables import counts_writer

RECORD: dict[str, Any] = {
    "code": "0123456789abcdef",
    "recipe": {"method": "bpe", "max_token_bytes": None, "share": 1e-05},
    "pattern": "-->@<é",
    "wildcards": {"variant": "bpe"},
}
KINDS = ("folder", "result.json", "indented.json", "counts.parquet", "polars.parquet", "page.html", "references.bib")


def write(path: Path) -> None:
    """Write an output of the kind that a name says, as commands do."""
    frame = pl.DataFrame({"pretoken": [b"a"], "count": [1]})
    if path.name == "folder":
        with atomic_folder(path, "tables") as partial:
            (partial / "a.csv").write_text("a\n")
    elif path.suffix == ".json":
        write_result(path, {"value": 1}, indent=2 if path.stem == "indented" else None)
    elif path.name == "counts.parquet":
        table = frame.to_arrow()
        with counts_writer(path, table.schema) as add:
            add(table)
    elif path.suffix == ".parquet":
        frame.write_parquet(path, metadata=job_metadata())
    else:
        path.write_text("<p>\n" * 400_000 + comment_of_job(path.suffix))


@pytest.fixture(params=KINDS)
def output(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    return tmp_path / str(request.param)


def test_an_output_has_the_record_of_its_job(output: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, json.dumps(RECORD))
    write(output)
    assert read_job(output) == RECORD


def test_an_output_of_a_command_by_hand_has_none(output: Path) -> None:
    write(output)
    assert read_job(output) is None


def test_unreadable_files_have_no_record(output: Path) -> None:
    if output.suffix:
        output.write_bytes(b"\xff")
    assert read_job(output) is None


def test_results_are_read_without_the_record_and_with_its_checksum(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "result.json"
    monkeypatch.setenv(VARIABLE, json.dumps(RECORD))
    write(path)
    assert read_result(path, "again") == {"value": 1}
    path.write_text(path.read_text().replace("0123456789abcdef", "0" * 16))
    with pytest.raises(TokbenchError, match="not as it was written"):
        read_result(path, "again")


def test_comments_end_where_they_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, json.dumps(RECORD))
    assert comment_of_job(".html").index("-->") == len(comment_of_job(".html")) - len("-->\n")
    assert "@" not in comment_of_job(".bib")


def test_counts_of_counts_have_one_record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not that of the file which they were made from."""
    path = tmp_path / "counts.parquet"
    monkeypatch.setenv(VARIABLE, json.dumps({"code": "first"}))
    write(path)
    table = pq.read_table(path)
    monkeypatch.setenv(VARIABLE, json.dumps({"code": "second"}))
    with counts_writer(path, table.schema) as add:
        add(table)
    assert read_job(path) == {"code": "second"}


def test_results_of_other_options_are_rejected_in_one_line(tmp_path: Path, tokbench: Tokbench) -> None:
    """Other code is not another option, and a result without a record is accepted."""
    path, old = tmp_path / "result.json", tmp_path / "old.json"
    path.write_text(json.dumps({"job": RECORD}))
    old.write_text("{}")
    expected = {str(path): digest_of_job(RECORD | {"code": "other"}), str(old): "0"}
    reject_other_jobs(expected)
    expected[str(path)] = digest_of_job(RECORD | {"recipe": {"method": "bpe", "max_token_bytes": 3}})
    message = f"{path}: made from other options than those of the configuration (found {{"
    with pytest.raises(TokbenchError, match=re.escape(message)) as rejected:
        reject_other_jobs(expected)
    assert str(rejected.value).endswith(f"make it again: snakemake --forcerun {path}")
    for command in (["tabulate", "-o", str(tmp_path / "tables")], ["report", "-o", str(tmp_path / "report.html")]):
        outcome = tokbench(*command, "--expected", json.dumps(expected))
        assert outcome.status == 2
        assert outcome.stderr.startswith(f"tokbench: {message}")
        assert outcome.stderr.count("\n") == 1
