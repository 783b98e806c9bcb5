"""JSON: a strict reader, a writer for machine-readable output, and result files with checksums.

The reader rejects duplicate keys, numbers that are not finite and unpaired surrogates in one line. The writer replaces
numbers that JSON does not have, such as NaN, by null. The checksum of a result file detects numbers edited by hand.
Results of the workflow begin with the record of their job.
"""

import hashlib
import json
import math
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tokbench.errors import TokbenchError
from tokbench.io.compression import read_regular
from tokbench.io.job_record import FOLDER_RECORD, KEY, current_job

HALF_PAIR = re.compile(r"\\u[dD][89a-fA-F]|[\ud800-\udfff]")
"""Possible unpaired surrogates, which UTF-8 cannot encode; the escapes of a pair match as well."""
CHECKSUM = "sha256"
"""Key of the checksum, the last one in a file."""


def parse_json(text: str | bytes, name: str, *, remedy: str = "correct it", lenient: bool = False) -> Any:
    """Parse a JSON text.

    Args:
        text: The text; bytes are UTF-8, with or without a byte-order mark.
        name: The source in messages, such as the file's path.
        remedy: The remedy in messages.
        lenient: Accept ``NaN``, ``Infinity``, numbers that overflow and unpaired surrogates, which files of results may
            have (default: no).

    Raises:
        TokbenchError: The text is not JSON, an object has a key twice, or lists and objects are nested too deeply; the
            message names file, line and column if possible.
    """
    try:
        if isinstance(text, bytes):
            text = text.decode("utf-8-sig", "surrogatepass" if lenient else "strict")
        value = json.loads(text, object_pairs_hook=_unique)
        if not lenient:
            json.dumps(value, ensure_ascii=False, allow_nan=False).encode()
    except json.JSONDecodeError as error:
        raise TokbenchError(f"{name}:{error.lineno}:{error.colno}: not JSON ({error.msg}); {remedy}") from None
    except UnicodeDecodeError as error:
        reason = f"not UTF-8 (byte {error.start})"
    except UnicodeEncodeError:
        reason = "a string has half of a surrogate pair, which is not a character"
    except RecursionError:
        reason = "lists and objects are nested too deeply"
    except ValueError as error:  # Numbers that are not finite, integers of thousands of digits, equal keys.
        reason = str(error).partition(";")[0]
    else:
        return value
    raise TokbenchError(f"{name}: {reason}; {remedy}")


def read_json(path: Path | str, remedy: str, *, lenient: bool = False) -> dict[str, Any]:
    """Read a file that contains a JSON object.

    Raises:
        TokbenchError: The file cannot be read or its value is not an object; or see :func:`parse_json`.
    """
    try:
        text = read_regular(Path(path))
    except OSError as error:
        raise TokbenchError(f"{path}: cannot be read ({error.strerror}); {remedy}") from None
    value = parse_json(text, str(path), remedy=remedy, lenient=lenient)
    if not isinstance(value, dict):
        raise TokbenchError(f"{path}: a JSON object is expected, found {type(value).__name__}; {remedy}")
    return value


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) < len(pairs):
        keys = [key for key, _ in pairs]
        raise ValueError(
            f"the key {next(key for key in keys if keys.count(key) > 1)[:60]!a} occurs twice in one object"
        )
    return value


def written(value: Any) -> str:
    """Return a value as indented, strict JSON with a final line end; see :func:`plain`."""
    return json.dumps(plain(value), indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def plain(value: Any) -> Any:
    """Replace numbers that are not finite by None, recursively."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return value


def write_result(path: Path | str, content: Mapping[str, Any], *, indent: int | None = None) -> None:
    """Write a result with the record of its job and its checksum, atomically.

    Args:
        path: the file.
        content: JSON object without the keys of the record (:mod:`tokbench.io.job_record`) and the checksum.
        indent: spaces per level (default: None, everything on one line).
    """
    content = {**current_job(), **content}
    text = json.dumps({**content, CHECKSUM: _checksum(content)}, indent=indent, ensure_ascii=False)
    from tokbench.io.atomic import atomic_file

    with atomic_file(path) as partial:
        partial.write_text(text + "\n", encoding="utf-8")


def read_result(path: Path | str, remedy: str, *, lenient: bool = False) -> dict[str, Any]:
    """Read a result and verify its checksum. Neither that nor the record of its job is returned.

    Args:
        path: the file.
        remedy: remedy in messages if the file is missing, not JSON, or has no checksum.
        lenient: see :func:`parse_json`.

    Raises:
        TokbenchError: the content does not match the checksum, or there is none; or see :func:`read_json`.
    """
    content = read_json(path, remedy, lenient=lenient)
    if CHECKSUM not in content:
        raise TokbenchError(f"{path}: no checksum ({CHECKSUM}), so it may be edited; {remedy}")
    if content.pop(CHECKSUM) != _checksum(content):
        output = "its folder" if (Path(path).parent / FOLDER_RECORD).is_file() else "it"
        raise TokbenchError(f"{path}: not as it was written; delete {output} and run the workflow again")
    content.pop(KEY, None)
    return content


def _checksum(content: Mapping[str, Any]) -> str:
    """Return the SHA-256 of the content as compact JSON. It depends on the order of keys, but not on white space in the
    file."""
    return hashlib.sha256(json.dumps(content, separators=(",", ":")).encode("ascii")).hexdigest()
