"""Strict JSON: equal keys, numbers that are not finite and halves of surrogate pairs are errors in one line."""

import json
import re
from pathlib import Path
from typing import Any

from tokbench.errors import TokbenchError
from tokbench.inputs.regular import read_regular

HALF_PAIR = re.compile(r"\\u[dD][89a-fA-F]|[\ud800-\udfff]")
"""Possible halves of surrogate pairs, which UTF-8 cannot encode; the escapes of a pair match as well."""


def parse_json(text: str | bytes, name: str, *, remedy: str = "mend it", lenient: bool = False) -> Any:
    """Return the value of a JSON text.

    Args:
        text: The text; bytes are UTF-8, with or without a byte-order mark.
        name: The source in messages: the file's path.
        remedy: The remedy in messages.
        lenient: Accept ``NaN``, ``Infinity``, numbers that overflow and halves of surrogate pairs (default: no), since
            files of results may have them.

    Raises:
        TokbenchError: The text is not JSON, an object has a key twice, or lists and objects are nested too deeply; the
            message names file, line and column where it can.
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
        reason = "a string has half of a surrogate pair, which is no character"
    except RecursionError:
        reason = "lists and objects are nested too deeply"
    except ValueError as error:  # Numbers that are not finite, integers of thousands of digits, equal keys.
        reason = str(error).partition(";")[0]
    else:
        return value
    raise TokbenchError(f"{name}: {reason}; {remedy}")


def read_json(path: Path | str, remedy: str, *, lenient: bool = False) -> dict[str, Any]:
    """Return the JSON object of a file.

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
