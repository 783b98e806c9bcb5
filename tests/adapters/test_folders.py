"""Folders of ``transformers``: added tokens and the end of text of their settings, for each form.

Downloads from a local stand-in of the hub through the hub's own libraries; ``make nightly`` runs them.
"""

# ruff: noqa: F811 - fixtures are named like the parameters that they fill
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from copy import deepcopy
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tests.conftest import Tokbench
from tests.support import library_tokenizers as made
from tests.support.external_tokenizers import TEXT, few, level, library_ids, ranks, read  # noqa: F401
from tests.support.hub import COMMIT, hub
from tokbench.errors import TokbenchError
from tokbench.tabulation.external_tokenizers import imported_table
from tokbench.tokenizer import Tokenizer
from tokbench.tokenizer.adapted import AdaptedTokenizer


def imported(tokenizer: Tokenizer) -> dict[str, Any]:
    found: dict[str, Any] = tokenizer.origin["imported"]
    return found


def written(folder: Path, **files: Any) -> Path:
    """A folder with these JSON files; the names lack ``.json``."""
    folder.mkdir(exist_ok=True)
    for name, values in files.items():
        made.written(folder / f"{name}.json", values)
    return folder


def entry(content: str, *, special: bool = True) -> dict[str, Any]:
    return made.added(0, content, special=special)


def with_marks(level: dict[str, Any], *names: str) -> dict[str, Any]:
    """A ``tokenizer.json`` with these special tokens after the 420 of the model."""
    values = deepcopy(level)
    values["added_tokens"] = [made.added(420 + number, name, special=True) for number, name in enumerate(names)]
    return values


NAMED = "<pad>", "</s>", "<|eot_id|>", "<end>"


@pytest.mark.parametrize(
    ("files", "token", "source"),
    [
        ({}, "</s>", "its name"),
        ({"tokenizer_config": {"eos_token": "<end>"}}, "<end>", "eos_token of tokenizer_config.json"),
        ({"tokenizer_config": {"eos_token": {"content": "<end>"}}}, "<end>", "eos_token of tokenizer_config.json"),
        (
            {"tokenizer_config": {"eos_token": None}, "special_tokens_map": {"eos_token": "<end>"}},
            "<end>",
            "eos_token of special_tokens_map.json",
        ),
        ({"config": {"eos_token_id": 423}}, "<end>", "eos_token_id of config.json"),
        (
            {"generation_config": {"eos_token_id": [422, 423]}, "config": {"eos_token_id": 423}},
            "<|eot_id|>",
            "eos_token_id of generation_config.json",
        ),
    ],
)
def test_the_end_of_text_of_a_folder(
    files: dict[str, Any], token: str, source: str, level: dict[str, Any], tmp_path: Path
) -> None:
    folder = written(tmp_path / "model", tokenizer=with_marks(level, *NAMED), **files)
    tokenizer = read(folder, "transformers")
    number = 420 + NAMED.index(token)
    assert imported(tokenizer)["end_of_text"] == {"token": token, "id": number, "source": source}
    tokenizer.save(tmp_path / "saved")
    for one in (tokenizer, Tokenizer.load(tmp_path / "saved")):
        assert (one.end_token, one.end_of_text, one.id_limit) == (token, number, 424)
    assert json.loads((tmp_path / "saved" / "tokenizer_config.json").read_text())["eos_token"] == token
    [row] = imported_table({("a", 420): tokenizer}).iter_rows(named=True)
    assert [row[name] for name in ("end_of_text", "end_of_text_id", "end_of_text_source")] == [token, number, source]


def test_an_end_that_is_no_special_token_is_skipped(level: dict[str, Any], tmp_path: Path) -> None:
    """A text can give such an id, or the tokenizer lacks it; the next name is used."""
    settings = {"tokenizer_config": {"eos_token": "a"}, "generation_config": {"eos_token_id": [5, 900, 423]}}
    tokenizer = read(written(tmp_path / "model", tokenizer=with_marks(level, *NAMED), **settings), "transformers")
    assert tokenizer.end_of_text == 423
    assert imported(tokenizer)["told"][1:] == [
        "eos_token of tokenizer_config.json is ignored: 'a' is no special or added token",
        "eos_token_id of generation_config.json is ignored: the id 5 is no special or added token",
        "eos_token_id of generation_config.json is ignored: the id 900 is no special or added token",
    ]


def test_no_end_of_text(level: dict[str, Any], tmp_path: Path) -> None:
    tokenizer = read(written(tmp_path / "model", tokenizer=with_marks(level, "<pad>")), "transformers")
    assert imported(tokenizer)["end_of_text"] is None
    assert (tokenizer.end_token, tokenizer.end_of_text) == ("<|endoftext|>", 421)


@pytest.mark.parametrize("added", ["words", "text", "tokens"])
def test_the_end_of_text_is_a_special_token(added: str, level: dict[str, Any], tmp_path: Path) -> None:
    """As in Gemma 3, where ``</s>`` is an HTML tag; a token that is not special ends texts only if it is named."""
    values = deepcopy(level) | {"added_tokens": [entry("</s>", special=False), entry("<eos>")]}
    path = made.written(tmp_path / "tokenizer.json", values)
    assert read(path, "tokenizer_json", added=added).end_token == "<eos>"
    assert read(path, "tokenizer_json", added=added, end_of_text="</s>").end_of_text == 420
    values["added_tokens"].pop()
    made.written(path, values)
    assert imported(read(path, "tokenizer_json", added=added))["end_of_text"] is None


def test_no_end_of_text_says_how_to_name_it(level: dict[str, Any], tmp_path: Path, tokbench: Tokbench) -> None:
    path = made.written(tmp_path / "tokenizer.json", level)
    told = tokbench("import", path, "-o", tmp_path / "out").stderr
    assert "end of text: id 420, after all others, as the file names none; --end-of-text names it\n" in told


@pytest.mark.parametrize("added", ["words", "tokens"])
def test_the_end_of_text_that_is_given(added: str, level: dict[str, Any], tmp_path: Path, tokbench: Tokbench) -> None:
    folder = written(tmp_path / "model", tokenizer=with_marks(level, *NAMED), tokenizer_config={"eos_token": "</s>"})
    line = ["import", folder, "--from", "transformers", "-o", tmp_path / "out", "--added", added, "--end-of-text"]
    told = tokbench(*line, "<end>")
    assert "end of text: '<end>', id 423, by the given name\n" in told.stderr
    assert Tokenizer.load(tmp_path / "out").end_of_text == 423
    given = "a text that contains '<end>' gives the id of the end of text, too\n"
    assert (given in told.stderr) == (added == "tokens")
    assert tokbench(*line, "the").message == (
        f"tokbench: {folder}: the end of text 'the' is not one of its special and added tokens "
        "(<pad>, </s>, <|eot_id|>, <end>); name one of them"
    )


def test_the_end_of_text_of_a_unigram_model(tmp_path: Path) -> None:
    """The model makes a special token of its name, which is a token then, and may end texts all the same."""
    values = made.metaspace()
    number = len(values["model"]["vocab"])
    values["model"]["vocab"].append(["</s>", 0.0])
    values["added_tokens"].append(made.added(number, "</s>", special=True))
    tokenizer = read(made.written(tmp_path / "tokenizer.json", values), "tokenizer_json")
    assert number in tokenizer.encode("a</s>")
    assert tokenizer.decode(tokenizer.encode("a</s>b")) == b"a</s>b"
    assert (tokenizer.end_of_text, len(tokenizer)) == (number, number)
    assert imported(tokenizer)["told"][1:] == [
        "special tokens that texts can give, counted as tokens of text: 1 (first: '</s>')",
        "a text that contains '</s>' gives the id of the end of text, too",
    ]


def test_the_end_of_text_for_lm_eval(level: dict[str, Any], tmp_path: Path) -> None:
    from tokbench.adapters.transformers import adapter_of

    values = with_marks(level, *NAMED) | {"normalizer": {"type": "Lowercase"}}
    read(made.written(tmp_path / "tokenizer.json", values), "tokenizer_json").save(tmp_path / "saved")
    adapter = adapter_of(tmp_path / "saved")
    assert (adapter.eos_token, adapter.eos_token_id, adapter.pad_token_id) == ("</s>", 421, 425)
    assert adapter.vocab_size == 424


def test_the_end_of_text_by_auto_tokenizer(level: dict[str, Any], tmp_path: Path) -> None:
    from transformers import AutoTokenizer

    folder = written(tmp_path / "model", tokenizer=with_marks(level, *NAMED), config={"eos_token_id": 423})
    read(folder, "transformers").save(tmp_path / "saved")
    theirs = AutoTokenizer.from_pretrained(tmp_path / "saved")
    assert (theirs.eos_token, theirs.eos_token_id) == ("<end>", 423)
    assert {*NAMED} <= {*theirs.all_special_tokens}


DECODER = {
    "420": entry("<|im_end|>"),
    "421": entry("xyzzy", special=False),
    "425": entry("<|far|>"),
    "426": entry("quux", special=False),
}
ADDED = {"<|im_end|>": 420, "xyzzy": 421, "<|far|>": 425, "quux": 426}


@pytest.mark.parametrize(
    "files",
    [
        {"tokenizer_config": {"added_tokens_decoder": DECODER, "eos_token": "<|im_end|>"}},
        {"added_tokens": ADDED, "special_tokens_map": {"eos_token": {"content": "<|im_end|>"}}},
    ],
)
def test_added_tokens_of_the_settings(files: dict[str, Any], level: dict[str, Any], tmp_path: Path) -> None:
    """A ``tokenizer.json`` has the ids of the library; next to merges the ids are those of the settings.

    In ``added_tokens.json``, tokens that no role names are not special, as in ``transformers``.
    """
    text = "a xyzzy b<|im_end|> quux"
    far = "tokenizer_config" in files
    fast = read(written(tmp_path / "fast", tokenizer=level, **files), "transformers")
    assert not isinstance(fast, AdaptedTokenizer)
    assert {421, 423} <= set(fast.encode(text).tolist())
    assert fast.vocabulary.special == {420: b"<|im_end|>"} | ({422: b"<|far|>"} if far else {})
    assert (fast.id_limit, fast.end_of_text, len(fast)) == (424, 420, 423 - far)
    assert (422 in fast.encode("a<|far|>b")) != far
    assert fast.decode(fast.encode(text)) == text.encode()
    slow = written(tmp_path / "slow", vocab=level["model"]["vocab"], **files)
    made.written(slow / "merges.txt", "\n".join(" ".join(pair) for pair in level["model"]["merges"]))
    slower = read(slow, "transformers")
    assert {421, 426} <= set(slower.encode(text).tolist())
    assert not isinstance(slower, AdaptedTokenizer)
    assert slower.vocabulary.special == {420: b"<|im_end|>"} | ({425: b"<|far|>"} if far else {})
    assert (slower.id_limit, slower.end_of_text, len(slower)) == (427, 420, 423 - far)
    assert slower.decode(slower.encode(text)) == text.encode()
    assert any("4 added tokens are from" in line for line in imported(slower)["told"])
    as_text = read(slow, "transformers", added="text")
    assert isinstance(as_text, Tokenizer)
    assert as_text.encode(text).tolist() == library_ids(level, text)
    assert as_text.decode([425, 426]) == b"<|far|>quux"


def test_added_tokens_of_a_folder_with_a_model_of_sentencepiece(tmp_path: Path) -> None:
    """The library cannot cut them out of texts; they are special tokens with the ids of the settings."""
    model = made.sentencepiece_model()
    made.written(tmp_path / "alone.model", model)
    alone = read(tmp_path / "alone.model", "sentencepiece")
    assert imported(alone)["end_of_text"] == {"token": "</s>", "id": 2, "source": "eos_piece of the model"}
    size = alone.id_limit
    decoder = {
        "0": entry("<unk>"),
        "1": entry("<other>"),
        str(size): entry("<|im_end|>"),
        str(size + 3): entry("xyzzy", special=False),
    }
    settings = {"added_tokens_decoder": decoder, "eos_token": "<|im_end|>"}
    folder = written(tmp_path / "model", tokenizer_config=settings)
    made.written(folder / "tokenizer.model", model)
    tokenizer = read(folder, "transformers")
    assert tokenizer.encode(TEXT).tolist() == alone.encode(TEXT).tolist()
    assert (tokenizer.id_limit, tokenizer.end_of_text, len(tokenizer)) == (size + 4, size, len(alone))
    assert tokenizer.decode([size, size + 3]) == b"<|im_end|>xyzzy"
    assert imported(tokenizer)["told"][1:] == [
        "2 added tokens are from tokenizer_config.json",
        "added tokens of tokenizer_config.json that have another id or name in the tokenizer, which is kept: 1 "
        "(first: '<other>', id 1)",
        "added tokens of tokenizer_config.json that stay text, as the library cannot cut them out: 1 (first: 'xyzzy')",
    ]
    with pytest.raises(TokbenchError, match="cannot be cut out of texts by the library of this file; choose --added"):
        read(folder, "transformers", added="tokens")


def test_added_tokens_of_a_folder_with_ranks(ranks: dict[bytes, int], tmp_path: Path) -> None:
    """They are the special tokens that a file of ranks lacks; given ones replace them."""
    decoder = {"420": entry("<|im_end|>"), "430": entry("<s>")}
    settings = {"added_tokens_decoder": decoder, "eos_token": "<|im_end|>"}
    folder = written(tmp_path / "model", tokenizer_config=settings)
    made.written(folder / "a.tiktoken", made.tiktoken_file(ranks))
    tokenizer = read(folder, "transformers", pattern="cl100k")
    assert (tokenizer.id_limit, tokenizer.end_of_text) == (431, 420)
    assert imported(tokenizer)["told"] == ["2 special tokens of tokenizer_config.json are text in texts"]
    given = read(folder, "transformers", pattern="cl100k", special_tokens={"</s>": 500})
    assert (given.end_token, given.end_of_text) == ("</s>", 500)


def test_the_end_of_text_of_tekken(ranks: dict[bytes, int], tmp_path: Path) -> None:
    """A file that names no special tokens has those of Mistral's library."""
    values = made.tekken(ranks)
    del values["special_tokens"]
    folder = written(tmp_path / "model", tekken=values, added_tokens={"<more>": 427})
    tokenizer = read(folder, "transformers")
    assert imported(tokenizer)["end_of_text"] == {"token": "</s>", "id": 2, "source": "its name"}
    assert tokenizer.decode([0, 6, 427]) == b"<unk>[/AVAILABLE_TOOLS]<more>"
    assert tokenizer.id_limit == 428


@pytest.mark.parametrize(
    ("name", "content", "told"),
    [
        ("tokenizer_config", "{", "tokenizer_config.json:1:2: not JSON"),
        ("tokenizer_config", "[]", r"tokenizer_config.json: expected a JSON object \(list\)"),
        ("tokenizer_config", '{"added_tokens_decoder": []}', None),
        ("tokenizer_config", '{"added_tokens_decoder": [1]}', "added_tokens_decoder is not an object"),
        ("tokenizer_config", '{"added_tokens_decoder": {"x": {"content": "a"}}}', "added_tokens_decoder.x: expected a"),
        (
            "tokenizer_config",
            '{"added_tokens_decoder": {"5": {}}}',
            "added_tokens_decoder.5: expected a name and an id",
        ),
        ("added_tokens", '{"a": -1}', r"added_tokens.json: 'a': expected a name and an id below 16777216 \(-1\)"),
        ("config", '{"eos_token_id": "5", "x": Infinity}', None),
    ],
)
def test_damaged_settings(name: str, content: str, told: str | None, level: dict[str, Any], tmp_path: Path) -> None:
    folder = written(tmp_path / "model", tokenizer=level)
    made.written(folder / f"{name}.json", content)
    if told is None:
        assert imported(read(folder, "transformers"))["end_of_text"] is None
        return
    with pytest.raises(TokbenchError, match=told):
        read(folder, "transformers")


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


@pytest.mark.skipif("TOKBENCH_BULK" not in os.environ, reason="make nightly runs it")
@pytest.mark.skipif(find_spec("lm_eval") is None, reason="needs lm-eval")
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
