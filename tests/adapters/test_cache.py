"""Cache of external tokenizers: a second load does not compare again, and everything that matters makes it compare."""

import json
import shutil
from base64 import b64encode
from collections.abc import Callable
from pathlib import Path

import pytest
from tokenizers import Tokenizer as Other
from tokenizers import decoders, models, pre_tokenizers

import tokbench
from tests.conftest import ODD
from tokbench.adapters import read
from tokbench.adapters.cache import MOST
from tokbench.adapters.forms.parsed import ReadOptions
from tokbench.adapters.read import read_tokenizer
from tokbench.pretokenization import schemes
from tokbench.tokenizer.hugging_face import CHARACTERS

Calls = list[str]
ENDS = ["<first>", "<second>"]


@pytest.fixture
def cache(own_cache: Path) -> Path:
    """Return the folder of tokenizers in the cache."""
    return own_cache / "tokbench" / "tokenizers"


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> Calls:
    """Return the names of the files that are compared with their library."""
    compare, names = read._compared_with_library, []

    def counted(found: object, tokenizer: tokbench.Tokenizer, *args: object) -> object:
        names.append(tokenizer.name)
        return compare(found, tokenizer, *args)  # type: ignore[arg-type]

    monkeypatch.setattr(read, "_compared_with_library", counted)
    return names


def write_tokenizer(path: Path, merges: list[tuple[str, str]]) -> Path:
    ids = {character: number for number, character in enumerate(CHARACTERS)}
    for left, right in merges:
        ids[left + right] = len(ids)
    other = Other(models.BPE(ids, merges))
    other.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    other.decoder = decoders.ByteLevel()
    other.add_special_tokens(ENDS)
    path.parent.mkdir(exist_ok=True)
    other.save(str(path))
    return path


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return write_tokenizer(tmp_path / "mine.json", [("a", "b"), ("ab", "c")])


def test_second_load_does_not_compare(path: Path, calls: Calls) -> None:
    first, second = (tokbench.load(path) for _ in range(2))
    assert calls == ["mine"]
    assert (second.digest, second.name, second.origin) == (first.digest, first.name, first.origin)
    assert second.encode(ODD).tolist() == first.encode(ODD).tolist()


def test_again_compares(path: Path, calls: Calls) -> None:
    tokbench.load(path)
    read.open_tokenizer(str(path), None, {}, again=True)
    assert len(calls) == 2


def test_documents_are_always_compared(path: Path, calls: Calls) -> None:
    for _ in range(2):
        read_tokenizer(path, "tokenizer_json", texts=[b"abc"])
    assert len(calls) == 2


def change_content(path: Path, _: pytest.MonkeyPatch) -> None:
    write_tokenizer(path, [("a", "b")])


def change_library(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from tokbench.adapters import cache

    monkeypatch.setattr(cache, "version", lambda distribution: "0")
    cache._installed.cache_clear()


def change_code(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from tokbench.adapters import cache

    monkeypatch.setattr(cache, "_installed", lambda: ("another file",))


@pytest.mark.parametrize("change", [change_content, change_library, change_code])
def test_changes_that_compare_again(
    path: Path, calls: Calls, monkeypatch: pytest.MonkeyPatch, change: Callable[[Path, pytest.MonkeyPatch], None]
) -> None:
    tokbench.load(path)
    change(path, monkeypatch)
    tokbench.load(path)
    assert len(calls) == 2


def test_another_option_is_another_tokenizer(path: Path, calls: Calls) -> None:
    words, text = (
        read_tokenizer(path, "tokenizer_json", ReadOptions(added=added)).origin["imported"]["options"]["added"]
        for added in ("words", "text")
    )
    assert (words, text, len(calls)) == ("words", "text", 2)


def test_files_of_a_folder_count(tmp_path: Path, calls: Calls) -> None:
    file = write_tokenizer(tmp_path / "folder" / "tokenizer.json", [("a", "b")])
    configuration = file.with_name("tokenizer_config.json")
    for end in ENDS:
        configuration.write_text(json.dumps({"tokenizer_class": "PreTrainedTokenizerFast", "eos_token": end}))
        for _ in range(2):
            assert tokbench.load(file.parent).end_token == end
    assert len(calls) == 2


def test_files_next_to_a_file_count(tmp_path: Path, calls: Calls) -> None:
    """Ranks take their pattern from a second file, which may change."""
    ranks = tmp_path / "tokenizer.tiktoken"
    ranks.write_text("".join(f"{b64encode(bytes([byte])).decode()} {byte}\n" for byte in range(256)))
    for scheme in ("gpt2", "cl100k"):
        pattern = str(schemes[scheme].pattern)
        settings = {"pat_str": pattern, "special_tokens": {}}
        ranks.with_name("tiktoken.json").write_text(json.dumps(settings))
        for _ in range(2):
            assert tokbench.load(ranks).pretokenization == scheme
    assert len(calls) == 2


def test_object_of_a_library_is_kept(path: Path, calls: Calls) -> None:
    for _ in range(2):
        tokbench.load(Other.from_file(str(path)))
    assert len(calls) == 1


def test_damaged_entry_is_made_again(path: Path, calls: Calls, cache: Path) -> None:
    tokbench.load(path)
    (entry,) = cache.iterdir()
    (entry / "tokens.vocab").write_text("61\n")
    for _ in range(2):
        assert tokbench.load(path).encode("abc").tolist() == [257]
    assert len(calls) == 2


def test_cache_that_cannot_be_written_is_no_error(path: Path, calls: Calls, cache: Path) -> None:
    cache.parent.write_text("a file")
    for _ in range(2):
        tokbench.load(path)
    assert len(calls) == 2


def test_oldest_entries_are_removed(path: Path, cache: Path) -> None:
    tokbench.load(path)
    (entry,) = cache.iterdir()
    for number in range(MOST):
        shutil.copytree(entry, cache / str(number))
    tokbench.load(path, name="another")
    assert len(list(cache.iterdir())) == MOST
