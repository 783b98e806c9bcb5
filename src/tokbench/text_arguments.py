"""Texts as functions of Python receive them: one text, several, or files."""

import os
from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path, PurePath
from typing import Any

from tokbench.errors import TokbenchError, shortened
from tokbench.given import bytes_of, is_iterable, is_text, plain, reject_table, shown

Text = str | bytes | bytearray | memoryview
Texts = Text | Path | Iterable[Text | Path]
LONGEST_PATH = 4096
"""Characters above which no text is a path."""
LONGEST_SHOWN = 120
"""Characters of a path that a message repeats."""
SUFFIXES = (
    *(".csv", ".gz", ".htm", ".html", ".json", ".jsonl", ".md", ".ndjson", ".npy", ".parquet", ".py", ".rst", ".tex"),
    *(".tsv", ".txt", ".xml", ".yaml", ".yml", ".zip", ".zst"),
)
"""Ends of names by which a text without white space is a file's name."""


def texts_of(call: str, texts: Any) -> Iterator[bytes]:
    """Return the bytes of each text.

    Args:
        call: name of the function that received the texts, for messages.
        texts: a text, or several; a path has the documents of its file, as on the command line.

    Raises:
        TokbenchError: it is a table, a ``str`` that looks like a path, or nothing to go through; while the texts are
            read, also where one of them is no text.
    """
    texts = plain(texts)
    if isinstance(texts, str):
        _reject_path(call, texts)
    if is_text(texts):
        return iter([bytes_of(texts)])
    if isinstance(texts, PurePath):
        return _of_file(texts)
    reject_table(texts)
    if not is_iterable(texts):
        raise TokbenchError(f"texts {shown(texts)}: give a text, str or bytes, or several")
    return chain.from_iterable(_of_file(one) if isinstance(one, PurePath) else (bytes_of(one),) for one in texts)


def _of_file(path: PurePath) -> Iterator[bytes]:
    from tokbench.corpus.text_files import read_files

    if not os.path.exists(path):
        raise TokbenchError(f"{path}: no such file; name an existing file")
    return (document.text for document in read_files([os.fspath(path)]))


def _reject_path(call: str, text: str) -> None:
    """Reject a single ``str`` that is the name of a file rather than a text."""
    if not text or len(text) > LONGEST_PATH:
        return
    exists = os.path.exists(text)
    named = os.sep in text or text.lower().endswith(SUFFIXES)
    if not exists and (not named or any(letter.isspace() for letter in text)):
        return
    name = shortened(repr(text), LONGEST_SHOWN)
    remedy = f"pass pathlib.Path({name}) for the file, or [{name}] to {call} the string"
    if not exists:
        remedy = f"there is no such file, so correct it or pass [{name}] to {call} the string"
    raise TokbenchError(f"{call}: {name} looks like a path; {remedy}")
