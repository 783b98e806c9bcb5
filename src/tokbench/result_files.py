"""JSON files of results, each with a checksum of its content, so that a number edited by hand is noticed."""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tokbench.atomic import atomic_file
from tokbench.atomic.record import RECORD
from tokbench.errors import TokbenchError
from tokbench.inputs.json import read_json

CHECKSUM = "sha256"
"""Key of the checksum, the last one of a file."""


def write_result(path: Path | str, content: Mapping[str, Any], *, indent: int | None = None) -> None:
    """Write a result with its checksum, the file whole or not at all.

    Args:
        path: the file.
        content: keys and values that JSON has, without the key :data:`CHECKSUM`.
        indent: spaces for each level; one line if None.
    """
    text = json.dumps({**content, CHECKSUM: _checksum(content)}, indent=indent, ensure_ascii=False)
    with atomic_file(path) as partial:
        partial.write_text(text + "\n", encoding="utf-8")


def read_result(path: Path | str, remedy: str, *, lenient: bool = False) -> dict[str, Any]:
    """Read a result, verify its checksum and remove it.

    A file without a checksum is accepted: older versions and other programs write none.

    Args:
        path: the file.
        remedy: advice for a file that is missing or not JSON.
        lenient: as for :func:`tokbench.inputs.json.parse_json`.

    Raises:
        TokbenchError: the content does not match the checksum, or as :func:`tokbench.inputs.json.read_json`.
    """
    content = read_json(path, remedy, lenient=lenient)
    if CHECKSUM in content and content.pop(CHECKSUM) != _checksum(content):
        output = "its folder" if (Path(path).parent / RECORD).is_file() else "it"
        raise TokbenchError(f"{path}: not as it was written; delete {output} and run the workflow again")
    return content


def _checksum(content: Mapping[str, Any]) -> str:
    """Return the SHA-256 of the content as compact JSON; white space in the file does not matter, order does."""
    return hashlib.sha256(json.dumps(content, separators=(",", ":")).encode("ascii")).hexdigest()
