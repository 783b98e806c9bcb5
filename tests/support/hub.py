"""Local HTTP server with the API of the Hugging Face hub, and pairs of Tokbench and ``transformers`` tokenizers.

Repositories are folders. The server implements the requests of the client libraries: the files of a revision, entries
of a folder or by path, and complete or partial files.
"""

import hashlib
import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

import pytest

from tests.conftest import ODD, TOPICS
from tokbench.adapters.export_hugging_face import to_hugging_face
from tokbench.construction import bpe
from tokbench.pretokens.count import count_pretokens
from tokbench.tokenizer import Tokenizer
from tokbench.tokenizer.hugging_face import END_OF_TEXT, PADDING

COMMIT = "a" * 40
"""Revision of every repository."""


@contextmanager
def hub(root: Path) -> Iterator[tuple[str, list[str]]]:
    """Serve ``root``/KIND/OWNER/NAME, with KIND ``models`` or ``datasets``; yield the address and the requests."""
    asked: list[str] = []

    class Answer(BaseHTTPRequestHandler):
        def do_HEAD(self) -> None:
            self.answer()

        def do_GET(self) -> None:
            self.answer()

        def do_POST(self) -> None:
            form = parse_qs(self.rfile.read(int(self.headers["Content-Length"])).decode())
            match urlsplit(self.path).path.strip("/").split("/"):
                case ["api", kind, owner, name, "paths-info", revision] if revision == COMMIT:
                    repository = root / kind / owner / name
                    self.entries(repository, [path for one in form["paths"] if (path := repository / one).exists()])
                case _:
                    self.send(404, b"", {})

        def answer(self) -> None:
            path = unquote(urlsplit(self.path).path).strip("/")
            asked.append(path)
            match path.split("/"):
                case ["api", kind, owner, name, "revision", revision] if revision == COMMIT:
                    self.files(root / kind / owner / name, f"{owner}/{name}")
                case ["api", kind, owner, name, "tree", revision, *rest] if revision == COMMIT:
                    self.folder(root / kind / owner / name, Path(*rest))
                case ["datasets", owner, name, "resolve", revision, *rest] if revision == COMMIT:
                    self.file(root / "datasets" / owner / name / Path(*rest))
                case [owner, name, "resolve", revision, *rest] if revision == COMMIT:
                    self.file(root / "models" / owner / name / Path(*rest))
                case _:
                    self.send(404, b"", {})

        def files(self, repository: Path, name: str) -> None:
            if not repository.is_dir():
                return self.send(404, b"", {"X-Error-Code": "RepoNotFound"})
            files = [
                {"rfilename": str(path.relative_to(repository))} for path in repository.rglob("*") if path.is_file()
            ]
            return self.send(200, json.dumps({"id": name, "sha": COMMIT, "siblings": files}).encode(), {})

        def folder(self, repository: Path, folder: Path) -> None:
            if not (repository / folder).is_dir():
                return self.send(404, b"", {"X-Error-Code": "EntryNotFound"})
            every = "recursive=True" in self.path
            return self.entries(
                repository, (repository / folder).rglob("*") if every else (repository / folder).iterdir()
            )

        def entries(self, repository: Path, paths: Iterable[Path]) -> None:
            found = [
                {
                    "type": "file" if path.is_file() else "directory",
                    "path": str(path.relative_to(repository)),
                    "oid": hashlib.sha1(path.name.encode()).hexdigest(),
                    "size": path.stat().st_size,
                }
                for path in paths
            ]
            self.send(200, json.dumps(found).encode(), {})

        def file(self, path: Path) -> None:
            if not path.is_file():
                return self.send(404, b"", {"X-Error-Code": "EntryNotFound", "X-Repo-Commit": COMMIT})
            whole = path.read_bytes()
            told = {"ETag": f'"{hashlib.sha256(whole).hexdigest()}"', "X-Repo-Commit": COMMIT, "Accept-Ranges": "bytes"}
            asked_for = self.headers.get("Range")
            if asked_for is None:
                return self.send(200, whole, told)
            first, _, last = asked_for.removeprefix("bytes=").partition("-")
            part = whole[int(first) : int(last) + 1 if last else None]
            told["Content-Range"] = f"bytes {first}-{int(first) + len(part) - 1}/{len(whole)}"
            return self.send(206, part, told)

        def send(self, status: int, body: bytes, told: dict[str, str]) -> None:
            self.send_response(status)
            for name, value in {**told, "Content-Length": str(len(body))}.items():
                self.send_header(name, value)
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Suppress output."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Answer)
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", asked
    finally:
        server.shutdown()
        server.server_close()


if find_spec("transformers") is None:
    pytest.skip("transformers is not installed", allow_module_level=True)

SIZE = 700
FIRST = "Naïve Straße 東京 🦀\u200d don't  2024\n\n\tlambda expressions"
SECOND = "for loops, else"
LONG = TOPICS[0].decode()[:400]
TEXTS = [FIRST, "", SECOND, LONG]
Pair = tuple[Any, Any]
FIVE = metadata.version("transformers").startswith("5.")
"""True for version 5 of ``transformers``, whose class has fewer methods."""
TENSOR = "pt" if find_spec("torch") else "np"
"""Available type of tensors."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("bpe")
    Tokenizer(bpe.build(count_pretokens([*TOPICS, ODD], "gpt2"), SIZE, bpe.BpeOptions()), "gpt2", "merge").save(folder)
    return folder


@pytest.fixture
def both(folder: Path) -> Pair:
    """Return new instances of both tokenizers for each test."""
    from transformers import AutoTokenizer, PreTrainedTokenizerFast

    ours = AutoTokenizer.from_pretrained(folder)
    stock = PreTrainedTokenizerFast(
        tokenizer_object=to_hugging_face(ours.tokenizer),
        eos_token=END_OF_TEXT,
        bos_token=END_OF_TEXT,
        pad_token=PADDING,
        clean_up_tokenization_spaces=False,
        model_input_names=["input_ids", "attention_mask"],
        model_max_length=ours.model_max_length,
    )
    return ours, stock


def marked(content: str, **flags: bool) -> Any:
    from transformers import AddedToken

    return AddedToken(content, **flags)
