"""Files of a source: those that its paths name, skipped files of folders, and checks of endings and first bytes."""

import glob
from pathlib import Path

from tokbench.corpus.folders import Folder, line_of, read_folder
from tokbench.corpus.formats import format_by_content, format_by_ending, format_of
from tokbench.corpus.sources import CountsSource, FileSource, type_of
from tokbench.errors import TokbenchError
from tokbench.io.compression import check_regular, has_ending
from tokbench.io.contents import content_of
from tokbench.io.encodings import BYTES, ENCODING_SYNTAX

COUNTS_ENDINGS = (".parquet", ".tsv")
"""Endings of files of counts."""
NEVER_TEXT = ("tokenizer", "model", "results")
"""Kinds of content that no source reads."""


def tagged_files(source: FileSource) -> list[tuple[str, Path]]:
    """List the source's files with their language tags (empty if not given), sorted within each entry.

    Raises:
        TokbenchError: an entry matches no file, or is a pipe.
    """
    tagged = source.path if isinstance(source.path, dict) else {"": source.path}
    return [(tag, file) for tag, entries in tagged.items() for entry in entries for file in _files(entry, source)]


def files_of(source: FileSource) -> list[Path]:
    """List the source's files.

    Raises:
        TokbenchError: an entry matches no file, or is a pipe.
    """
    return [file for _, file in tagged_files(source)]


def left_out(source: FileSource) -> list[str]:
    """Return one line for each folder of a source with files that are not read.

    Raises:
        TokbenchError: a folder cannot be read.
    """
    tagged = source.path if isinstance(source.path, dict) else {"": source.path}
    folders = (entry for entries in tagged.values() for entry in entries if Path(entry).is_dir())
    lines = (
        line_of(entry, type_of(source), _endings(source), _folder(Path(entry), source))
        for entry in dict.fromkeys(folders)
    )
    return [line for line in lines if line]


def _files(entry: str, source: FileSource) -> list[Path]:
    path = Path(entry)
    check_regular(path)
    if path.is_dir():
        # Folders of tokenizers and models have files with the endings of text. Shards of a binary format may be in one.
        if isinstance(source, CountsSource) or format_of(source).compressed:
            check_content(path, source)
        folder = _folder(path, source)
        if not folder.files:
            why = f" ({folder.left_out()} left out)" if folder.left_out() else ""
            raise TokbenchError(
                f"no file of type '{type_of(source)}' in '{entry}'{why}; name files, or a folder with files that end "
                f"in {', '.join(_endings(source))}"
            )
        return folder.files
    paths = [path] if path.is_file() else [Path(name) for name in glob.glob(entry, recursive=True)]
    files = sorted(file for file in paths if file.is_file())
    if not files:
        home = "; '~' is not replaced by the home folder" if entry.startswith("~") else ""
        raise TokbenchError(f"no file at '{entry}'; name an existing file, folder or pattern{home}")
    for file in files:
        _check_ending(file, source)
    return files


def _folder(path: Path, source: FileSource) -> Folder:
    belongs = None if isinstance(source, CountsSource) else format_of(source).belongs
    return read_folder(path, _endings(source), belongs)


def _check_ending(file: Path, source: FileSource) -> None:
    """Reject a file whose ending is that of another format than its source's.

    The endings of text are those of no format: any file may be of another one.

    Raises:
        TokbenchError: it is.
    """
    method = format_by_ending(file.name)
    if method is None or method.begins is None or has_ending(file.name, _endings(source)):
        return
    kind, remedy = type_of(source), f"set 'type: {method.name}', or rename it"
    raise TokbenchError(f"{file}: {method.label} by its ending, but the source has 'type: {kind}'; {remedy}")


def check_content(file: Path, source: FileSource) -> None:
    """Reject a file or folder whose content is no text of its source's type.

    ``encoding: bytes`` accepts any file but a tokenizer as text.

    Raises:
        TokbenchError: there is such content; the message names its kind.
    """
    content = content_of(file)
    if content.kind in NEVER_TEXT:
        raise TokbenchError(f"{file}: {content.what}, and a text is read here; name a file or folder of text")
    if not _may_be_anything(source) or getattr(source, "encoding", None) == BYTES or file.is_dir():
        return
    unchanged = f"read it as it is ({ENCODING_SYNTAX.format(BYTES)})"
    if content.kind == "marked_up":
        raise TokbenchError(
            f"{file}: {content.what}, whose marks would count as text; extract its text, or {unchanged}"
        )
    if (other := format_by_content(file)) is not None:
        how = f"set 'type: {other.name}', rename it to {other.endings[0]}, or {unchanged}"
        raise TokbenchError(f"{file}: {other.label} by its first bytes, and read as {type_of(source)} here; {how}")


def _may_be_anything(source: FileSource) -> bool:
    """Return whether files of a source may have any first bytes, as text has."""
    return not isinstance(source, CountsSource) and format_of(source).begins is None


def _endings(source: FileSource) -> tuple[str, ...]:
    return COUNTS_ENDINGS if isinstance(source, CountsSource) else format_of(source).endings
