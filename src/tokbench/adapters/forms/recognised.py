"""Of which form a file is, by what is in it: each form has something that no other has."""

import base64
import binascii
import codecs
from pathlib import Path

from tokbench.adapters.forms import FORMS, REMEDY
from tokbench.adapters.forms.files import read_bounded
from tokbench.adapters.forms.merges import FIRST
from tokbench.adapters.forms.protobuf import fields
from tokbench.adapters.forms.sentencepiece import PIECES
from tokbench.errors import TokbenchError
from tokbench.inputs.json import parse_json

LINES = 1000
"""Lines by which a file of lines is told; a vocabulary that has every byte has a quarter as many at the least."""


def form_of(path: Path) -> str:
    """The form of a file, or ``transformers`` for a folder.

    Raises:
        TokbenchError: it is of none that is known.
    """
    if path.is_dir():
        return "transformers"
    content = read_bounded(path)
    is_json = content.removeprefix(codecs.BOM_UTF8).lstrip().startswith(b"{")
    form = _of_json(content, path) if is_json else _of_messages(content) or _of_lines(content)
    if form is None:
        raise TokbenchError(f"{path}: of no form that is known; name it with --from, one of {', '.join(FORMS)}")
    return form


def _of_json(content: bytes, path: Path) -> str | None:
    values = parse_json(content, str(path), remedy=REMEDY)
    if isinstance(values.get("model"), dict):
        return "tokenizer_json"
    return "tekken" if isinstance(values.get("config"), dict) and isinstance(values.get("vocab"), list) else None


def _of_messages(content: bytes) -> str | None:
    try:
        return "sentencepiece" if any(one.number == PIECES for one in list(fields(content))) else None
    except ValueError:
        return None


def _of_lines(content: bytes) -> str | None:
    """What every one of the first lines is: a token and its rank, a token, or two parts of one."""
    lines = [line.removesuffix(b"\r") for line in content.split(b"\n", LINES)[:LINES]]
    lines = [line for line in lines if line.strip()]
    if lines and lines[0].startswith(FIRST.encode()):
        return "merges"
    return next((form for form, fits in LINE.items() if lines and all(map(fits, lines))), None)


def _is_rank(line: bytes) -> bool:
    token, _, rank = line.partition(b" ")
    try:
        return rank.isdigit() and bool(base64.b64decode(token, validate=True))
    except binascii.Error:
        return False


def _is_token(line: bytes) -> bool:
    try:
        return bool(bytes.fromhex(line.decode("ascii")))
    except ValueError:
        return False


def _is_merge(line: bytes) -> bool:
    left, blank, right = line.partition(b" ")
    return bool(left and blank and right) and b" " not in right


LINE = {"tiktoken": _is_rank, "tokens": _is_token, "merges": _is_merge}
"""What a line of each form is, the narrower ones first."""
