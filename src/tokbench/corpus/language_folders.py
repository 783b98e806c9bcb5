"""Languages by the names of folders: ``en/ de/ hi/``, or one folder that contains them."""

from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path

from tokbench.corpus.documents import Document
from tokbench.corpus.languages import TAG
from tokbench.corpus.text_files import read_files
from tokbench.io.compression import AS_USUAL, Fields


def language_folders(paths: Sequence[str]) -> dict[str, list[str]]:
    """Return the folders of each language; empty if the names of folders are not languages.

    Paths are either two or more folders, or one folder of two or more, and every name is a language tag.
    """
    folders = [Path(path) for path in paths]
    if len(folders) == 1 and folders[0].is_dir():
        folders = sorted(path for path in folders[0].iterdir() if not path.name.startswith("."))
    if len(folders) < 2 or not all(path.is_dir() and TAG.fullmatch(path.resolve().name) for path in folders):
        return {}
    languages: dict[str, list[str]] = {}
    for path in folders:
        languages.setdefault(path.resolve().name, []).append(str(path))
    return languages if len(languages) > 1 else {}


def read_texts(paths: Sequence[str], fields: Fields = AS_USUAL, limit: int | None = None) -> Iterator[Document]:
    """Read documents of files and folders as :func:`tokbench.corpus.text_files.read_files` does.

    Documents of a folder that is named by a language have that language, unless they have one of their own.

    Args:
        paths: files and folders.
        fields: options of reading.
        limit: maximum number of documents, for each language if folders are named by languages. Default: no limit.

    Raises:
        TokbenchError: as for :func:`tokbench.corpus.text_files.read_files`.
    """
    languages = language_folders(paths)
    if not languages:
        yield from islice(read_files(paths, fields), limit)
    for language, folders in languages.items():
        for document in islice(read_files(folders, fields), limit):
            yield document._replace(language=document.language or language)
