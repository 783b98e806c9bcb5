"""Validation of arguments of the Python interface: texts, files of texts, and tokenizers."""

import os
from collections.abc import Iterable, Iterator, Mapping
from glob import glob
from itertools import chain
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any

from tokbench.corpus.languages import TAG
from tokbench.errors import TokbenchError, shortened
from tokbench.io.compression import Fields
from tokbench.io.contents import ENDINGS
from tokbench.tokenizer import Tokenizer
from tokbench.tokenizer.encoder import as_bytes, is_iterable, is_text, plain, reject_table, shown

if TYPE_CHECKING:
    from tokbench.corpus.documents import Document

Text = str | bytes | bytearray | memoryview
Texts = Text | Path | Iterable[Text | Path]
Paths = str | Path | Iterable[str | Path]
LONGEST_PATH = 4096
"""Maximum number of characters of a path."""
LONGEST_SHOWN = 120
"""Maximum number of characters of a path in a message."""
SUFFIXES = (*ENDINGS, ".npy", ".py", ".rst", ".tex", ".yaml", ".yml", ".zip")
"""Suffixes by which a text without white space looks like a file name, in addition to those of corpus formats."""


def texts_of(call: str, texts: Any) -> Iterator[bytes]:
    """Return the bytes of each text.

    Args:
        call: name of the function that received the texts, for messages.
        texts: a text, or several; paths are read as on the command line.

    Raises:
        TokbenchError: ``texts`` is a table, a ``str`` that looks like a path, or not iterable; or, during iteration,
            an element is not a text.
    """
    texts = plain(texts)
    if isinstance(texts, str):
        _reject_path(call, texts)
    if is_text(texts):
        return iter([as_bytes(texts)])
    if isinstance(texts, PurePath):
        return _of_file(texts)
    reject_table(texts)
    if not is_iterable(texts):
        raise TokbenchError(f"texts {shown(texts)}: pass a text, str or bytes, or several")
    return chain.from_iterable(_of_file(text) if isinstance(text, PurePath) else (as_bytes(text),) for text in texts)


def tagged_texts(call: str, texts: Any) -> tuple[list[bytes], list[str]]:
    """Return the bytes of each text, and its language: a key of a mapping, or that of a record or folder; else empty.

    Args:
        call: name of the function that received the texts, for messages.
        texts: as for :func:`texts_of`, or a mapping from language tags to such texts.

    Raises:
        TokbenchError: as for :func:`texts_of`; other mappings are rejected.
    """
    documents: list[tuple[str, bytes]]
    if isinstance(texts, Mapping) and all(isinstance(key, str) and TAG.fullmatch(key) for key in texts):
        documents = [(language, text) for language, part in texts.items() for text in texts_of(call, part)]
    elif isinstance(texts, PurePath):
        documents = [(document.language, document.text) for document in _documents_of_file(texts)]
    elif is_text(texts) or not is_iterable(texts):
        documents = [("", text) for text in texts_of(call, texts)]
    else:
        reject_table(texts)
        documents = []
        for text in texts:
            if isinstance(text, PurePath):
                documents += [(document.language, document.text) for document in _documents_of_file(text)]
            else:
                documents.append(("", as_bytes(text)))
    return [text for _, text in documents], [language for language, _ in documents]


def _of_file(path: PurePath) -> Iterator[bytes]:
    return (document.text for document in _documents_of_file(path))


def _documents_of_file(path: PurePath) -> "Iterator[Document]":
    from tokbench.corpus.language_folders import read_texts

    if not os.path.exists(path):
        raise TokbenchError(f"{path}: no such file; name an existing file")
    return read_texts([os.fspath(path)])


def _reject_path(call: str, text: str) -> None:
    """Reject a single ``str`` that looks like a file name."""
    if not text or len(text) > LONGEST_PATH:
        return
    exists = os.path.exists(text)
    if not exists and (any(letter.isspace() for letter in text) or not _is_file_name(text)):
        return
    name = shortened(repr(text), LONGEST_SHOWN)
    remedy = f"pass pathlib.Path({name}) for the file, or [{name}] to {call} the string"
    if not exists:
        remedy = f"there is no such file, so correct it or pass [{name}] to {call} the string"
    raise TokbenchError(f"{call}: {name} looks like a path; {remedy}")


def _is_file_name(text: str) -> bool:
    """Return whether a text looks like a path, by a separator or a known ending."""
    if os.sep in text or "." not in text:
        return os.sep in text
    from tokbench.corpus.formats import endings_of_formats

    return text.lower().endswith((*SUFFIXES, *endings_of_formats()))


def read(paths: Paths, *, text_field: str | None = None, encoding: str | None = None) -> list[bytes]:
    """Return the documents of files, as the command line reads them.

    Args:
        paths: a file or folder, or several; ``*``, ``?`` and ``[`` in a ``str`` match files, sorted by name.
            Each record, such as a line of JSON Lines, is a document, and each file of text. Files may be compressed.
        text_field: key or column of the text. Default: ``text``.
        encoding: encoding of text, and of other files without an encoding of their own. Default: UTF-8; invalid bytes
            are returned unchanged.

    Raises:
        TokbenchError: a file does not exist or is damaged, a pattern matches no file, or an option is unused.

    Examples:
        >>> from pathlib import Path
        >>> _ = Path("two.jsonl").write_text('{"text": "the cat"}\\n{"text": "a hat"}\\n')
        >>> tokbench.read("two.jsonl")
        [b'the cat', b'a hat']
    """
    return list(documents_of(paths, Fields(text_field, encoding=encoding)))


def documents_of(paths: Any, fields: Fields) -> Iterator[bytes]:
    """Return the documents of the paths that :func:`read` accepts.

    Raises:
        TokbenchError: as :func:`read`.
    """
    from tokbench.corpus.text_files import read_files

    several = [paths] if isinstance(paths, str | PurePath) else paths
    if not is_iterable(several) or isinstance(several, bytes | bytearray | Mapping):
        raise TokbenchError(f"paths {shown(paths)}: pass a path, or several")
    files = [file for path in several for file in _files(path)]
    if not files:
        raise TokbenchError("paths: no path; pass one")
    try:
        return (document.text for document in read_files(files, fields))
    except TokbenchError as error:
        raise TokbenchError(
            str(error).replace("--text-field", "text_field").replace("--encoding", "encoding")
        ) from None


def _files(path: Any) -> list[str]:
    """Return the path if it exists, else the files that match it as a pattern."""
    if not isinstance(path, str | PurePath):
        raise TokbenchError(f"path {shown(path)}: pass a str or a pathlib.Path; texts go to tokbench.count")
    if os.path.exists(path):
        return [os.fspath(path)]
    files = sorted(glob(path, recursive=True)) if isinstance(path, str) and any(sign in path for sign in "*?[") else []
    if not files:
        raise TokbenchError(f"{shortened(str(path), LONGEST_SHOWN)}: no such file; name an existing file")
    return files


def tokenizer_of(call: str, value: Any) -> Tokenizer:
    """Return the value if it is a tokenizer.

    Raises:
        TokbenchError: it is not a tokenizer.
    """
    if not isinstance(value, Tokenizer):
        raise TokbenchError(
            f"{call}: {shown(value)} is not a tokenizer; pass it through tokbench.load or tokbench.wrap"
        )
    return value
