"""JSON from outside: read by one rule, and whatever is wrong told in one line.

Python's own parser takes the last of two equal keys, ``NaN``, numbers that overflow and halves of surrogate pairs, and
ends in a ``RecursionError`` where brackets are nested deeply. Here each of these is a mistake in the file.
"""

import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NoReturn

from tokbench.errors import TokbenchError
from tokbench.inputs.regular import read_regular

DEEPEST = 100
"""Levels of lists and objects within each other; no file of ours comes near."""
HALF_PAIR = re.compile(r"\\u[dD][89a-fA-F]|[\ud800-\udfff]")
"""What may be half of a surrogate pair, which no UTF-8 can spell; the escapes of a whole pair match as well."""


def parse_json(text: str | bytes, name: str, *, remedy: str = "mend it", lenient: bool = False) -> Any:
    """The value of a JSON text.

    Args:
        text: the text; bytes are UTF-8, with or without a byte-order mark.
        name: what messages call it, the file's path.
        remedy: what to do about a mistake.
        lenient: take ``NaN``, ``Infinity``, numbers that overflow and halves of surrogate pairs, as files of results
            may have them.

    Raises:
        TokbenchError: the text is not JSON, an object has a key twice, or lists and objects are nested more than
            :data:`DEEPEST` deep; the message names file, line and column where it can.
    """

    def reject(what: str) -> NoReturn:
        raise TokbenchError(f"{name}: {what}; {remedy}")

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs):
            keys = [key for key, _ in pairs]
            reject(f"the key {next(key for key in keys if keys.count(key) > 1)[:60]!a} stands twice in one object")
        return found

    def constant(literal: str) -> float:
        return float(literal) if lenient else reject(f"{literal} is no number of JSON")

    def number(literal: str) -> float:
        value = float(literal)
        if not lenient and value in (float("inf"), float("-inf")):
            reject(f"the number {literal[:60]} is too large")
        return value

    try:
        if isinstance(text, bytes):
            text = text.decode("utf-8-sig", "surrogatepass" if lenient else "strict")
        value = json.loads(text, object_pairs_hook=unique, parse_constant=constant, parse_float=number)
    except UnicodeDecodeError as error:
        reject(f"not UTF-8 (byte {error.start})")
    except json.JSONDecodeError as error:
        raise TokbenchError(f"{name}:{error.lineno}:{error.colno}: not JSON ({error.msg}); {remedy}") from None
    except RecursionError:
        reject(f"lists and objects nested more than {DEEPEST} deep")
    except ValueError:
        reject("an integer of thousands of digits")
    if text.count("[") + text.count("{") > DEEPEST and _deep(value):
        reject(f"lists and objects nested more than {DEEPEST} deep")
    if not lenient and HALF_PAIR.search(text) and not _spelt(value):
        reject("a string holds half of a surrogate pair, which is no character")
    return value


def read_json(path: Path | str, remedy: str, *, lenient: bool = False) -> dict[str, Any]:
    """The JSON object that a file holds.

    Raises:
        TokbenchError: the file cannot be read, see :func:`parse_json`, or holds another value than an object.
    """
    try:
        text = read_regular(Path(path))
    except OSError as error:
        raise TokbenchError(f"{path}: cannot be read ({error.strerror}); {remedy}") from None
    value = parse_json(text, str(path), remedy=remedy, lenient=lenient)
    if not isinstance(value, dict):
        raise TokbenchError(f"{path}: a JSON object is expected, found {type(value).__name__}; {remedy}")
    return value


def _deep(value: Any) -> bool:
    """Whether lists and objects are nested too deeply, found level by level."""
    level: list[Any] = [value]
    for _ in range(DEEPEST):
        level = [part for whole in level if isinstance(whole, dict | list) for part in _parts(whole)]
    return any(isinstance(part, dict | list) for part in level)


def _parts(whole: "dict[str, Any] | list[Any]") -> Iterable[Any]:
    return whole.values() if isinstance(whole, dict) else whole


def _spelt(value: Any) -> bool:
    """Whether every string of a value can be written as UTF-8."""
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return False
    return True
