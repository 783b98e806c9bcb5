"""Paths of the worst kind: the workflow bears them, or rejects them in one line before any work."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.workflow.checkout import Checkout
from tokbench.config.load import validate
from tokbench.errors import TokbenchError
from tokbench.inputs.paths import path_mistakes

WORST = """-x y  $(touch pwned)`touch pwned`;touch pwned&#~!|'"\\ü東京(%s)=:,@"""
"""A name that a shell would run, cut, expand or leave out where nothing quotes it."""


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Checkout]:
    checkout = Checkout(tmp_path_factory.mktemp("paths"))
    (checkout.folder / "books" / WORST).mkdir(parents=True)
    (checkout.folder / "books" / WORST / f"{WORST}.txt").write_text("It was a dark and stormy night.\n\n" * 200)
    long = checkout.folder / "books" / ("東" * 80) / ("京" * 80)
    long.mkdir(parents=True)
    for number in range(300):
        (long / f"{number}.txt").write_text("Few characters of the command line, many bytes.")
    (checkout.folder / "worst.yaml").write_text(
        yaml.safe_dump(
            {
                "name": "worst",
                "results": WORST,
                "corpora": {
                    "books": {
                        "source": {"type": "text", "path": "books", "documents": "paragraph"},
                        "splits": {"tokenizer": 0.5, "evaluation": 0.5},
                    }
                },
                "variants": {
                    "bpe": {"pretokenization": "gpt2", "construction": "bpe", "segmentation": "greedy"},
                },
                "sizes": [260],
            },
            allow_unicode=True,
        )
    )
    yield checkout
    checkout.close()


def test_worst_names_run(checkout: Checkout) -> None:
    measured = ("--configfile", "worst.yaml", "--until", "measure")
    checkout.snakemake("--cores", "2", *measured)
    assert (checkout.folder / WORST / "worst" / "intrinsic" / "bpe" / "260.json").is_file()
    assert not list(checkout.folder.rglob("pwned"))
    assert re.search(r"total\s+0\n", checkout.snakemake("--dry-run", *measured))


@pytest.mark.parametrize("results", ["a{b}", "a<b", "a>b", "a*", "a?", "[a]", "a\nb", "a\x7f", "s3://a", "", "\udcff"])
def test_what_no_path_can_be_is_rejected(experiment: dict[str, Any], results: str) -> None:
    with pytest.raises(TokbenchError) as rejection:
        validate({**experiment, "results": results}, "mine.yaml")
    [line] = str(rejection.value).splitlines()
    assert line.startswith("mine.yaml: results: ")
    line.encode()


@pytest.mark.parametrize(
    ("folder", "reason"),
    [
        ("taken", "taken is a file; name a folder"),
        ("taken/deeper/still", "taken is a file; name a folder"),
        ("link", "link/trial is a file; name a folder"),
        ("loop/deeper", "loop/deeper/trial: Too many levels of symbolic links; name another folder"),
        ("n" * 300, "n" * 300 + "/trial: File name too long; name another folder"),
    ],
)
def test_where_no_results_can_stand(experiment: dict[str, Any], tmp_path: Path, folder: str, reason: str) -> None:
    """The workflow engine would end in a traceback when it looks for outputs there."""
    (tmp_path / "taken").touch()
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "there").mkdir()
    (tmp_path / "there" / "trial").symlink_to(tmp_path / "taken")
    (tmp_path / "link").symlink_to("there")
    with pytest.raises(TokbenchError) as rejection:
        validate({**experiment, "results": str(tmp_path / folder)}, "mine.yaml")
    assert str(rejection.value) == f"mine.yaml: results: {tmp_path}/{reason}"


@pytest.mark.parametrize("name", ["a{b}.txt", "a<b>.txt", "a\nb.txt", "\udcff.txt"])
def test_files_that_cannot_be_carried_are_rejected(experiment: dict[str, Any], tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("text")
    experiment["corpora"]["pydoc"]["source"] = {"type": "text", "path": str(tmp_path)}
    with pytest.raises(TokbenchError) as rejection:
        validate(experiment, "mine.yaml")
    [line] = str(rejection.value).splitlines()
    assert line.startswith("mine.yaml: corpora.pydoc.source.path: ")
    assert "rename" in line


def test_paths_of_every_section_are_looked_at(experiment: dict[str, Any], tmp_path: Path) -> None:
    folder = tmp_path / "a{b}"
    folder.mkdir()
    (folder / "gold.tsv").write_text("cats\tcat @@s\t100\n")
    (folder / "q.jsonl").write_text("")
    experiment["released"] = str(folder)
    experiment["resources"] = {"gold": {"type": "sigmorphon2022", "path": str(folder / "gold.tsv")}}
    task = {"format": "choices", "file": "q.jsonl"}
    experiment["suites"]["mine"] = {"source": "local", "path": str(folder), "tasks": ["q"], "files": {"q": task}}
    with pytest.raises(TokbenchError) as rejection:
        validate(experiment, "mine.yaml")
    keys = [line.split(": ")[1] for line in str(rejection.value).splitlines()]
    assert keys == ["resources.gold.path", "suites.mine.path", "released"]


def test_patterns_may_stand_in_names_of_files_that_are_read() -> None:
    assert list(path_mistakes("key", ["a[1]*?.txt", WORST], patterns=True)) == []
    assert len(list(path_mistakes("key", ["a[1].txt", "b*"]))) == 1


@pytest.mark.parametrize("results", ["out/", "./out", "out//", "./out/."])
def test_results_have_one_spelling(experiment: dict[str, Any], results: str) -> None:
    assert validate({**experiment, "results": results}, "mine.yaml").folder == "out/trial"
