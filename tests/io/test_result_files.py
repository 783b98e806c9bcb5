"""Results with checksums: readers notice a number, a count or a question that was edited by hand.

Provenance: the commit in a manifest is that of our own source, or there is none.
"""

import json
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.conftest import Tokbench
from tests.support.fake_results import rows, stub
from tests.support.file_readers import RESULT
from tests.support.pipeline import call
from tests.support.texts import counts_of
from tokbench.corpus.documents import Document
from tokbench.corpus.shards import open_shards
from tokbench.errors import TokbenchError
from tokbench.evaluation.suites import SuiteOptions
from tokbench.io import provenance
from tokbench.io.identity import made_from
from tokbench.io.json import read_result, write_result
from tokbench.io.parquet import CHECKSUM
from tokbench.pretokens import PretokenCounts
from tokbench.pretokens.files import read_languages, read_parts, write_languages
from tokbench.report.speeds import read_speeds

TEXTS = [b"the cat sat on the mat", b"the dog sat", b"cats and dogs and mats"] * 4
ALTERED = "not as it was written; delete it and run the workflow again"
SCORE = {"metric": "BLEU", "value": 21.5, "low": 20.0, "high": 23.0, "signature": "s"}
SENTENCES = {"pair": [0], "translation": ["a"], "BLEU": [21.5], "BLEU statistics": [[1, 2]]}
SYSTEM = {"parallel": "p", "source_language": "en", "target_language": "de", "model": "m", "test": "t", "size": 300}
TRANSLATED = {**SYSTEM, "source_variant": "v", "target_variant": "v", "n": 1, "scores": [SCORE], "sentences": SENTENCES}
FILES = {
    "--intrinsic": "intrinsic.json",
    "--tokens": "tokens.json",
    "--words": "words.json",
    "--bound": "books/gpt2/270.json",
    "--ngram-bits": "ngram_bits.json",
    "--downstream": "downstream.json",
    "--translation": "translation.json",
}
"""By option of ``tokbench tabulate`` a result that is given with it."""


def run(*arguments: object) -> None:
    call(*map(str, arguments))


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A result of each kind; those of models are written without a model."""
    folder = tmp_path_factory.mktemp("results")
    counts, tokenizer, shard = folder / "counts.parquet", folder / "bpe", folder / "0000.parquet"
    counts_of({word: 3 for text in TEXTS for word in text.split()}).write(counts)
    with open_shards([shard]) as add:
        for number, text in enumerate(TEXTS):
            add(Document(number, "", text))
    (folder / "gold.tsv").write_text("cats\tcat @@s\t100\ndogs\tdog @@s\t100\n")
    run("build", "bpe", "--counts", counts, "--size", "270", "-o", tokenizer)
    run("measure", tokenizer, "--counts", counts, "-o", folder / "intrinsic.json")
    run("count_tokens", tokenizer, shard, "--speed", folder / "speed.json", "-o", folder / "tokens.json")
    recipe = ("--recipe", "sigmorphon2022", "--by-word", folder / "words.json")
    run("measure_resource", tokenizer, *recipe, "-o", folder / "gold.json", folder / "gold.tsv")
    run("bound", "--counts", counts, "--size", "270", "--steps", "5", "--result", folder / FILES["--bound"])
    run("ngram_bits", tokenizer, "--train", shard, "--test", shard, "-o", folder / "ngram_bits.json")
    write_result(folder / "downstream.json", RESULT | made_from(tokenizer="its digest"))
    makers = made_from(source_tokenizer="one", target_tokenizer="one")
    write_result(folder / "translation.json", TRANSLATED | makers)
    return folder


def raised(value: Any) -> Any:
    """Return a copy whose last number is one higher."""
    if isinstance(value, dict | list):
        for place in reversed(value if isinstance(value, dict) else range(len(value))):
            if (other := raised(value[place])) != value[place]:
                value = value.copy()
                value[place] = other
                return value
    return value + 1 if isinstance(value, int | float) and not isinstance(value, bool) else value


def edit(file: Path, *, newer: bool) -> None:
    """Raise a number in a result, and leave its checksum."""
    times = file.stat()
    content = json.loads(file.read_text())
    noted = content.pop("sha256")
    edited = raised(content)
    assert edited != content
    file.write_text(json.dumps({**edited, "sha256": noted}))
    if not newer:
        os.utime(file, ns=(times.st_atime_ns, times.st_mtime_ns))


@pytest.mark.parametrize("newer", [False, True])
@pytest.mark.parametrize("option", FILES)
def test_an_edited_number_is_in_no_table(
    option: str, newer: bool, results: Path, tmp_path: Path, tokbench: Tokbench
) -> None:
    shutil.copytree(results, tmp_path / "results")
    file = tmp_path / "results" / FILES[option]
    done = tokbench("tabulate", option, file, "-o", tmp_path / "tables")
    assert done.status == 0, done.stderr
    edit(file, newer=newer)
    message = tokbench("tabulate", option, file, "-o", tmp_path / "other").message
    assert message == f"tokbench: {file}: {ALTERED}"
    assert not (tmp_path / "other").exists()


def test_an_edited_speed_is_in_no_report(results: Path, tmp_path: Path) -> None:
    file = Path(shutil.copy(results / "speed.json", tmp_path))
    assert read_speeds([str(file)])
    edit(file, newer=True)
    with pytest.raises(TokbenchError, match=ALTERED):
        read_speeds([str(file)])


def test_a_result_without_its_checksum_is_rejected(results: Path, tmp_path: Path, tokbench: Tokbench) -> None:
    for name in ("intrinsic.json", "tokens.json"):
        content = json.loads((results / name).read_text())
        del content["sha256"]
        (tmp_path / name).write_text(json.dumps(raised(content)))
    told = tokbench("tabulate", "--intrinsic", tmp_path / "intrinsic.json", "-o", tmp_path / "tables").message
    why = "no checksum (sha256), so it may be edited; make the result again"
    assert told == f"tokbench: {tmp_path / 'intrinsic.json'}: {why}"


def test_contents_that_match_their_checksum(results: Path, tmp_path: Path) -> None:
    """White space does not matter."""
    found = json.loads((results / "intrinsic.json").read_text())
    file = tmp_path / "other.json"
    file.write_text(json.dumps(found))
    without = read_result(file, "")
    assert without == {key: value for key, value in found.items() if key != "sha256"}
    write_result(file, {"a": float("inf"), 1: ("é", 0.1, -0.0, 10**30)})
    assert read_result(file, "", lenient=True) == {"a": float("inf"), "1": ["é", 0.1, -0.0, 10**30]}
    file.write_text('{"a": 1, "sha256": null}')
    with pytest.raises(TokbenchError, match=ALTERED):
        read_result(file, "")
    (tmp_path / ".tokbench.json").touch()
    with pytest.raises(TokbenchError, match="delete its folder and run the workflow again"):
        read_result(file, "")


def test_standard_output_has_no_checksum(results: Path, tokbench: Tokbench) -> None:
    printed = tokbench("measure", results / "bpe", "--counts", results / "counts.parquet").stdout
    assert json.loads(printed) == read_result(results / "intrinsic.json", "")


def with_polars(file: Path) -> None:
    pl.read_parquet(file).head(10).write_parquet(file)


def with_pyarrow(file: Path) -> None:
    pq.write_table(pq.read_table(file).slice(0, 10), file)


def with_another_count(file: Path) -> None:
    """The rewriting keeps the checksum, and writes those of pages."""
    table, noted = pq.read_table(file), pq.read_metadata(file).metadata[CHECKSUM.encode()]
    counts = pa.array([value + 1 for value in table["count"].to_pylist()], pa.int64())
    table = table.set_column(table.column_names.index("count"), "count", counts)
    pq.write_table(table.replace_schema_metadata({CHECKSUM: noted}), file, write_page_checksum=True)


def with_another_language(file: Path) -> None:
    table, noted = pq.read_table(file), pq.read_metadata(file).metadata[CHECKSUM.encode()]
    table = table.set_column(0, "language", pa.array(["de"] * len(table)))
    pq.write_table(table.replace_schema_metadata({CHECKSUM: noted}), file)


READERS: dict[str, Callable[[Path], object]] = {
    "whole": PretokenCounts.read,
    "languages": read_languages,
    "parts": lambda file: list(read_parts(file)[1]),
}
FOREIGN = "has no checksum of its rows, so another program wrote it"
REWRITTEN = {
    with_polars: f"{FOREIGN}; delete it and run the workflow again",
    with_pyarrow: f"{FOREIGN}; delete it and run the workflow again",
    with_another_count: ALTERED,
}


def counts_in(folder: Path, *, languages: bool) -> Path:
    counts = counts_of({b"%04d" % number: 1 + number % 7 for number in range(1000)})
    file = folder / "pretokens" / "books" / "tokenizer" / "gpt2.parquet"
    file.parent.mkdir(parents=True)
    write_languages({"de": counts, "en": counts} if languages else {"": counts}, file)
    return file


@pytest.mark.parametrize("languages", [False, True])
@pytest.mark.parametrize("rewrite", REWRITTEN)
@pytest.mark.parametrize("reader", READERS)
def test_rewritten_counts_are_noticed(
    reader: str, rewrite: Callable[[Path], None], languages: bool, tmp_path: Path
) -> None:
    file = counts_in(tmp_path, languages=languages)
    READERS[reader](file)
    rewrite(file)
    with pytest.raises(TokbenchError) as error:
        READERS[reader](file)
    assert str(error.value) == f"{file}: {REWRITTEN[rewrite]}"


@pytest.mark.parametrize("rewrite", REWRITTEN)
def test_nothing_is_built_from_rewritten_counts(
    rewrite: Callable[[Path], None], tmp_path: Path, tokbench: Tokbench
) -> None:
    file = counts_in(tmp_path, languages=False)
    rewrite(file)
    for given in (["build", "bpe"], ["build", "bpe", "--min-count", 2], ["bound"], ["build", "bpe", "--memory", 3000]):
        message = tokbench(*given, "--size", 300, "--counts", file, "-o", tmp_path / "made").message
        assert message == f"tokbench: {file}: {REWRITTEN[rewrite]}"
    assert not (tmp_path / "made").exists()


def test_counts_of_one_language_moved_to_another_are_noticed(tmp_path: Path) -> None:
    file = counts_in(tmp_path, languages=True)
    with_another_language(file)
    for read in READERS.values():
        with pytest.raises(TokbenchError, match=ALTERED):
            read(file)


@pytest.mark.parametrize("languages", [False, True])
def test_counts_of_other_programs_are_accepted_outside_an_experiment(languages: bool, tmp_path: Path) -> None:
    file = counts_in(tmp_path, languages=languages)
    made = list(PretokenCounts.read(file).items())
    own = tmp_path / "mine.parquet"
    pl.read_parquet(file).write_parquet(own)
    assert list(PretokenCounts.read(own).items()) == made
    for read in READERS.values():
        read(own)
    with_another_count(shutil.copy(file, own))
    with pytest.raises(TokbenchError, match=r"mine\.parquet: not as it was written; make it again"):
        PretokenCounts.read(own)


@pytest.mark.parametrize("split", ["test", "fewshot"])
def test_an_edited_question_is_not_asked(split: str, offline_tasks: Path, tmp_path: Path) -> None:
    pytest.importorskip("lm_eval")
    from tokbench.evaluation.evaluate import evaluate_suite

    folder = tmp_path / "tasks"
    shutil.copytree(offline_tasks, folder)
    suite = SuiteOptions(tasks=("continuation",), limit=1)
    assert evaluate_suite(stub(lambda context, choice: 0.0), suite, folder)["tasks"]
    file = folder / f"continuation.{split}.jsonl"
    questions = rows(file)
    questions[0]["context"] += " more"
    file.write_text("".join(json.dumps(row) + "\n" for row in questions))
    with pytest.raises(TokbenchError, match=rf"continuation\.{split}\.jsonl: not as it was written; delete its folder"):
        evaluate_suite(stub(lambda context, choice: 0.0), suite, folder)


if shutil.which("git") is None:
    pytest.skip("git is not installed", allow_module_level=True)

SOURCE = "src/tokbench/io/provenance.py"


def git(folder: Path, *arguments: str) -> str:
    named = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
    asked = ["git", "-C", str(folder), *named, *arguments]
    return subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip()


def revision(file: Path, monkeypatch: pytest.MonkeyPatch) -> str | None:
    """Return the message on a package with its source in this folder."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.touch()
    monkeypatch.setattr(provenance, "__file__", str(file))
    return provenance._revision()


def test_memory_is_printed_in_gib(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.sysconf", {"SC_PAGE_SIZE": 4096, "SC_PHYS_PAGES": 1_600_000}.__getitem__)
    assert provenance.provenance.__wrapped__()["hardware"]["memory_gib"] == 6.1


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """Somebody's repository with a commit."""
    folder = tmp_path / "theirs"
    folder.mkdir()
    git(folder, "init", "--quiet")
    (folder / "pyproject.toml").touch()
    git(folder, "add", "pyproject.toml")
    git(folder, "commit", "--quiet", "-m", "first")
    return folder


@pytest.mark.parametrize(
    "place", [".venv/lib/python3.11/site-packages/tokbench/io/provenance.py", "vendored/" + SOURCE, SOURCE]
)
def test_the_commit_of_another_repository_is_not_ours(
    place: str, repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Installed, vendored, or lying there untracked."""
    assert revision(repository / place, monkeypatch) is None


def test_the_commit_of_our_own_checkout(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = repository / SOURCE
    assert revision(file, monkeypatch) is None
    git(repository, "add", SOURCE)
    git(repository, "commit", "--quiet", "-m", "second")
    head = git(repository, "rev-parse", "HEAD")
    assert provenance._revision() == head
    file.write_text("changed")
    assert provenance._revision() == f"{head}+"
    monkeypatch.setenv("GIT_DIR", "/nowhere")
    assert provenance._revision() == f"{head}+"


def test_no_commit_outside_a_repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert revision(tmp_path / SOURCE, monkeypatch) is None
