"""What is fetched from the hub, through the hub's own libraries, from a stand-in for it; ``make nightly`` runs it."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest

from tests.support import library_tokenizers as made
from tests.support.hub import COMMIT, hub

pytestmark = pytest.mark.skipif("TOKBENCH_BULK" not in os.environ, reason="make nightly runs it")

SPLITS = ("train", "validation", "test")
CARD = """---
configs:
- config_name: ARC-Easy
  data_files:
  - {split: train, path: ARC-Easy/train.parquet}
  - {split: validation, path: ARC-Easy/validation.parquet}
  - {split: test, path: ARC-Easy/test.parquet}
---
"""


@pytest.fixture
def served(tmp_path: Path) -> Iterator[tuple[str, list[str]]]:
    root = tmp_path / "hub"
    model, texts, pairs, questions = (
        root / name
        for name in ("models/some/model", "datasets/some/texts", "datasets/some/pairs", "datasets/allenai/ai2_arc")
    )
    for folder in (model, texts, pairs, questions / "ARC-Easy"):
        folder.mkdir(parents=True)
    made.written(model / "tokenizer.json", made.byte_level())
    (model / "modeling.py").write_text("raise SystemExit('code of a repository was run')\n")
    pl.DataFrame({"text": ["One.", "Two."], "lang": ["en", "en"]}).write_parquet(texts / "train.parquet")
    pl.DataFrame({"translation": [{"en": "one", "de": "eins"}]}).write_parquet(pairs / "train.parquet")
    (questions / "README.md").write_text(CARD)
    asked = {
        "id": ["1"],
        "question": ["What is one and one?"],
        "choices": [{"text": ["two", "three"], "label": ["A", "B"]}],
        "answerKey": ["A"],
    }
    for split in SPLITS:
        pl.DataFrame(asked).write_parquet(questions / "ARC-Easy" / f"{split}.parquet")
    with hub(root) as told:
        yield told


def test_all_that_is_fetched(served: tuple[str, list[str]], tmp_path: Path) -> None:
    address, asked = served
    environment = os.environ | {"HF_ENDPOINT": address, "HF_HOME": str(tmp_path / "cache")}

    def call(command: str, recipe: object, output: str) -> Path:
        line = [command, "--recipe", json.dumps(recipe), "-o", str(tmp_path / output)]
        done = subprocess.run(
            [sys.executable, "-m", "tokbench", *line], env=environment, capture_output=True, text=True, timeout=120
        )
        assert done.returncode == 0, done.stderr
        return tmp_path / output

    data = {"type": "hub", "revision": COMMIT, "split": "train"}
    tokenizer = call("fetch_tokenizer", {"path": "some/model", "revision": COMMIT}, "tokenizer")
    assert {path.name for path in tokenizer.iterdir()} == {"tokenizer.json", "fetched.json", ".tokbench.json"}
    texts = call("fetch", data | {"dataset": "some/texts", "language_field": "lang"}, "texts.parquet")
    assert pl.read_parquet(texts).rows() == [(b"One.", "en"), (b"Two.", "en")]
    fields = {"en": "translation.en", "de": "translation.de"}
    source = data | {"dataset": "some/pairs", "fields": fields}
    pairs = call("fetch_pairs", {"languages": ["en", "de"], "source": source}, "pairs.parquet")
    assert pl.read_parquet(pairs).rows() == [(b"one", b"eins")]
    suite = {"source": "hub", "tasks": ["arc_easy"], "revisions": {"allenai/ai2_arc": COMMIT}}
    tasks = call("fetch_tasks", suite, "tasks")
    assert json.loads((tasks / "revisions.json").read_text()) == {"allenai/ai2_arc": COMMIT}
    assert not [path for path in asked if path.endswith("modeling.py")]
