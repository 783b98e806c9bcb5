"""Files and documents made of the members of an archive. Nothing else is unpacked, and nothing runs."""

import hashlib
import json
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from fnmatch import fnmatchcase
from pathlib import Path
from typing import NamedTuple

from tokbench.archives.lists import Documents, PublishedFile
from tokbench.errors import TokbenchError, shortened

Read = Callable[[str], bytes]
"""Function that returns the content of a member."""
WORD_START = "\u2581"
"""Mark of the pieces that begin a word in the JSON form of BERT's vocabulary."""
BLANK = {"": "[unused0]"}
"""Entry of ``vocab.txt`` for a mark without letters."""


class Members(NamedTuple):
    """Members of an open archive.

    Attributes:
        names: names of its regular files, sorted.
        read: function that returns the content of one.
    """

    names: list[str]
    read: Read


@contextmanager
def opened_archive(path: Path) -> Iterator[Members]:
    """Return a context with the members of a zip file (a wheel) or of a tar file (a package of npm).

    Raises:
        TokbenchError: the archive is damaged.
    """
    try:
        if zipfile.is_zipfile(path):
            with zipfile.ZipFile(path) as packed:
                yield Members(sorted(one.filename for one in packed.infolist() if not one.is_dir()), packed.read)
            return
        with tarfile.open(path) as packed_tar:
            files = {one.name: one for one in packed_tar if one.isfile()}

            def read(name: str) -> bytes:
                file = packed_tar.extractfile(files[name])
                return file.read() if file else b""

            yield Members(sorted(files), read)
    except (zipfile.BadZipFile, tarfile.TarError, zlib.error, EOFError, OSError, RuntimeError) as error:
        # A member that is encrypted, or of a later version of the format, is a RuntimeError of zipfile.
        raise TokbenchError(f"{path}: cannot be unpacked ({error}); download it again") from None


def content_of(file: PublishedFile, archives: Mapping[str, Path]) -> bytes:
    """Return the content of a file.

    Args:
        file: the file.
        archives: paths of its archives, by key.

    Raises:
        TokbenchError: an archive is damaged, or has no such member.
    """
    if file.documents:
        return b"".join(line for part in file.documents for line in _records(part, archives[part.archive]))
    path = archives[file.archive]
    with opened_archive(path) as members:
        if file.member not in members.names:
            raise TokbenchError(f"{path}: has no member {file.member}; correct the list")
        content = members.read(file.member)
    return bert_vocabulary(content, file.member) if file.format == "bert_vocabulary" else content


def bert_vocabulary(content: bytes, name: str) -> bytes:
    """Convert a JSON list of BERT's pieces to ``vocab.txt``.

    In the list, pieces that begin a word have a mark and the others have none. In ``vocab.txt``, the others begin with
    ``##``. Names in brackets are special tokens and have neither.

    Args:
        content: the list.
        name: its name, for messages.

    Raises:
        TokbenchError: it is not a JSON list of strings.
    """
    try:
        pieces = json.loads(content)
    except ValueError as error:
        raise TokbenchError(f"{name}: not JSON ({error}); correct the list of archives") from None
    if not isinstance(pieces, list) or not all(isinstance(piece, str) for piece in pieces):
        raise TokbenchError(f"{name}: not a list of pieces; correct the list of archives")
    return "".join(f"{_entry(piece)}\n" for piece in pieces).encode()


def _entry(piece: str) -> str:
    if piece.startswith(WORD_START):
        word = piece.removeprefix(WORD_START)
        return BLANK.get(word, word)
    special = len(piece) > 2 and piece.startswith("[") and piece.endswith("]")
    return piece if special else f"##{piece}"


def _records(part: Documents, path: Path) -> Iterator[bytes]:
    """Yield the documents of an archive as lines of JSON, in order of their names."""
    with opened_archive(path) as members:
        names = [name for name in members.names if fnmatchcase(name, part.members)]
        if not names:
            raise TokbenchError(f"{path}: no member matches {shortened(part.members)}; correct the list")
        documents = READERS[part.format](names, members.read)
        kept = [(title, text) for title, full in documents if (text := _shortened(full, part)).strip()]
    for title, text in _sample(kept, part.max_bytes):
        record = {"title": title, "language": part.language, "text": text}
        yield f"{json.dumps(record, ensure_ascii=False)}\n".encode()


def _shortened(text: str, part: Documents) -> str:
    """Return a text, or its first lines if it is too long; empty if it is to be left out."""
    if len(encoded := text.encode()) <= part.longest:
        return text
    return encoded[: encoded.rfind(b"\n", 0, part.longest) + 1].decode() if part.cut else ""


def _texts(names: Iterable[str], read: Read) -> Iterator[tuple[str, str]]:
    """Yield name and text of each member that is UTF-8; others, such as old encodings, are left out."""
    for name in names:
        try:
            yield name, read(name).decode("utf-8").replace("\r\n", "\n")
        except UnicodeDecodeError:
            continue


def _conversations(names: Iterable[str], read: Read) -> Iterator[tuple[str, str]]:
    """Yield key and text of each conversation, one message a line."""
    for name in names:
        try:
            for key, conversation in json.loads(read(name)).items():
                lines = [message["text"] for turn in conversation["messages"] for message in turn]
                yield key, "".join(f"{line}\n" for line in lines)
        except (ValueError, KeyError, TypeError, AttributeError):
            raise TokbenchError(f"{name}: not an object of conversations; correct the list of archives") from None


def _emoji(names: Iterable[str], read: Read) -> Iterator[tuple[str, str]]:
    """Yield label and characters of each emoji, and of its forms by tone of skin."""
    for name in names:
        try:
            for emoji in json.loads(read(name)):
                yield from ((form["label"], form["unicode"]) for form in (emoji, *emoji.get("skins", ())))
        except (ValueError, KeyError, TypeError, AttributeError):
            raise TokbenchError(f"{name}: not a list of emoji; correct the list of archives") from None


READERS = {"texts": _texts, "conversations": _conversations, "emoji": _emoji}
"""Functions that yield title and text of documents, by the format of their members."""


def _sample(documents: list[tuple[str, str]], max_bytes: int | None) -> list[tuple[str, str]]:
    """Return documents within a total of bytes: a sample by the checksum of their names, in given order."""
    if max_bytes is None:
        return documents
    room, kept = max_bytes, set()
    for title, text in sorted(documents, key=lambda document: hashlib.sha256(document[0].encode()).digest()):
        if (size := len(text.encode())) <= room:
            room -= size
            kept.add(title)
    return [(title, text) for title, text in documents if title in kept]
