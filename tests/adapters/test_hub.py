"""Names on the Hugging Face hub, tried with a server of the hub's protocol on this machine."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from tokenizers import Tokenizer as Other
from tokenizers import decoders, models, pre_tokenizers

from tokbench.adapters.hub import HubName, hub_name
from tokbench.errors import TokbenchError
from tokbench.tokenizer.hugging_face import CHARACTERS

FIRST, SECOND = "1" * 40, "2" * 40


class Hub(ThreadingHTTPServer):
    """A hub with one repository, ``owner/name``.

    Attributes:
        content: its ``tokenizer.json``.
        head: commit of the main branch.
        requests: paths that were requested.
    """

    def __init__(self, content: bytes) -> None:
        self.content, self.head = content, FIRST
        self.requests: list[str] = []
        super().__init__(("127.0.0.1", 0), Handler)

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class Handler(BaseHTTPRequestHandler):
    """Answers of the hub: the revision and the files of a repository, and its files."""

    server: Hub

    def log_message(self, *arguments: object) -> None:
        """Print nothing."""

    def do_HEAD(self) -> None:
        self._answer(body=False)

    def do_GET(self) -> None:
        self._answer(body=True)

    def _answer(self, *, body: bool) -> None:
        hub, path = self.server, self.path.partition("?")[0]
        hub.requests.append(path)
        parts = path.strip("/").split("/")
        if parts[:4] == ["api", "models", "owner", "name"]:
            revision = parts[5] if len(parts) > 5 and parts[4] == "revision" else "main"
            commit = hub.head if revision == "main" else revision
            names = ("tokenizer.json", "model.safetensors")
            about: Any = {"id": "owner/name", "sha": commit, "siblings": [{"rfilename": name} for name in names]}
            if parts[4:5] == ["tree"]:  # Newer versions of the library list the files apart.
                about = [{"type": "file", "path": name, "size": 1, "oid": "0" * 40} for name in names]
            content = json.dumps(about).encode()
            kind = "application/json"
        elif parts[:3] == ["owner", "name", "resolve"] and parts[4:] == ["tokenizer.json"]:
            commit, content, kind = parts[3], hub.content, "application/octet-stream"
        else:
            self.send_error(404)
            return
        self.send_response(200)
        headers = {"Content-Length": str(len(content)), "Content-Type": kind, "ETag": '"1"', "X-Repo-Commit": commit}
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        if body:
            self.wfile.write(content)


@pytest.fixture
def hub() -> Iterator[Hub]:
    ids = {character: number for number, character in enumerate(CHARACTERS)} | {"ab": 256}
    other = Other(models.BPE(ids, [("a", "b")]))
    other.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    other.decoder = decoders.ByteLevel()
    with Hub(other.to_str().encode()) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


def run(hub: Hub, cache: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a command with the hub's address, as the library reads it when it is imported."""
    names = ("HF_HUB_OFFLINE", "HF_DATASETS_OFFLINE")
    environment = {name: value for name, value in os.environ.items() if name not in names}
    environment |= {"HF_ENDPOINT": hub.address, "XDG_CACHE_HOME": str(cache), "HF_HOME": str(cache / "hf")}
    return subprocess.run(
        [sys.executable, "-m", "tokbench", *arguments], env=environment, capture_output=True, text=True, check=False
    )


def test_revision_is_resolved_once_printed_and_kept(hub: Hub, tmp_path: Path) -> None:
    first = run(hub, tmp_path, "show", "hf:owner/name", "abc")
    assert first.returncode == 0, first.stderr
    assert f"hf:owner/name: revision {FIRST}, kept for later commands" in first.stderr
    assert "ab" in first.stdout
    assert not any("safetensors" in path for path in hub.requests)
    # A later command asks for nothing, even if the main branch is another commit.
    hub.head = SECOND
    hub.requests.clear()
    assert run(hub, tmp_path, "show", "hf:owner/name", "abc").stdout == first.stdout
    assert hub.requests == []
    # A branch is resolved again, and kept.
    again = run(hub, tmp_path, "show", "hf:owner/name@main", "abc")
    assert f"revision {SECOND}" in again.stderr
    assert (tmp_path / "tokbench" / "hub" / "owner--name" / SECOND / "owner--name" / "tokenizer.json").is_file()


def test_commit_is_not_resolved(hub: Hub, tmp_path: Path) -> None:
    done = run(hub, tmp_path, "show", f"hf:owner/name@{SECOND}", "abc")
    assert (done.returncode, "kept" in done.stderr) == (0, False)


def test_unknown_name_is_one_line(hub: Hub, tmp_path: Path) -> None:
    done = run(hub, tmp_path, "show", "hf:owner/other", "abc")
    assert done.returncode == 2
    assert done.stderr.startswith("tokbench: hf:owner/other: cannot be resolved (")
    assert done.stderr.count("\n") == 1


def test_a_hub_that_cannot_be_reached_is_one_plain_line(tmp_path: Path) -> None:
    closed = Hub(b"")
    closed.server_close()
    done = run(closed, tmp_path, "show", "hf:owner/name", "abc")
    reason = "no connection to the hub: Connection refused"
    assert done.stderr == f"tokbench: hf:owner/name: cannot be resolved ({reason})\n"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("hf:gpt2", HubName("gpt2", "")),
        ("hf:owner/name", HubName("owner/name", "")),
        ("hf:owner/name@v1", HubName("owner/name", "v1")),
    ],
)
def test_names_of_the_hub(text: str, expected: HubName) -> None:
    assert hub_name(text) == expected


@pytest.mark.parametrize("text", ["hf:", "hf:a/b/c", "hf:../secret", "hf:a b"])
def test_other_names_are_rejected(text: str) -> None:
    with pytest.raises(TokbenchError, match=r"not a name on the hub; write hf:OWNER/NAME or hf:OWNER/NAME@REVISION$"):
        hub_name(text)
