"""Files of ids, documents and experiments, as commands read and write them.

Ids are decimal numbers between whitespace or a NumPy array, processed a piece at a time. Warnings about documents are
written once a command. The folder of an experiment is found by its path or its configuration.
"""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import click

from tokbench.errors import TokbenchError
from tokbench.io.compression import AS_USUAL, Fields
from tokbench.runtime.progress import clear, watched

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from tokbench.corpus.documents import Document


PIECE = 1 << 18
"""Maximum number of ids of an array, or bytes of decimal numbers, in memory at a time."""
LONGEST = 20
"""Maximum number of bytes of a decimal number."""


def read_ids(file: BinaryIO) -> "Iterator[NDArray[np.integer]]":
    """Yield the ids of a file, a piece at a time.

    Raises:
        TokbenchError: the file contains neither decimal numbers nor an integer array.
    """

    from tokbench.io.arrays import MAGIC

    try:
        head = file.read(len(MAGIC))
        yield from _array(file) if head == MAGIC else _decimals(head, file)
    except (ValueError, KeyError, OSError):
        raise TokbenchError(f"{file.name}: not a list of ids; make one with 'tokbench encode'") from None


def _array(file: BinaryIO) -> "Iterator[NDArray[np.integer]]":
    """Yield pieces of a NumPy array, one in memory at a time; nothing is ever unpickled."""
    import numpy as np

    from tokbench.io.arrays import read_header

    length, kind = read_header(file)
    for start in range(0, length, PIECE):
        size = min(PIECE, length - start)
        piece = np.frombuffer(file.read(size * kind.itemsize), kind)
        if len(piece) < size:
            raise ValueError("truncated")
        if start + size == length and file.read(1):
            raise ValueError("longer than it says")
        yield piece


def _decimals(rest: bytes, file: BinaryIO) -> "Iterator[NDArray[np.integer]]":
    """Yield pieces of a list of numbers that starts with ``rest``; a piece never ends within a number."""
    from tokbench.kernels.ids import from_decimals

    while block := file.read(PIECE):
        text = rest + block
        cut = max(map(text.rfind, (b" ", b"\n", b"\r", b"\t"))) + 1
        yield from_decimals(text[:cut])
        rest = text[cut:]
        if len(rest) > LONGEST:
            raise ValueError("no number is so long")
    yield from_decimals(rest)


def write_decimals(encoded: "Iterable[NDArray[np.int32]]", target: BinaryIO) -> None:
    """Write ids as decimal numbers separated by spaces."""
    from tokbench.kernels.ids import decimals

    between = b""
    for ids in encoded:
        for first in range(0, len(ids), PIECE):
            target.write(between)
            target.write(decimals(ids[first : first + PIECE]))
            between = b" "
    target.write(b"\n")


def write_array(encoded: "Iterable[NDArray[np.int32]]", target: BinaryIO) -> None:
    """Write ids in the format of ``numpy.save``; the header's length does not depend on the number of ids."""
    import numpy as np

    header = {"shape": (0,), "fortran_order": False, "descr": "<i4"}
    np.lib.format.write_array_header_1_0(target, header)
    written = 0
    for ids in encoded:
        target.write(ids.astype("<i4", copy=False).data)
        written += len(ids)
    target.seek(0)
    np.lib.format.write_array_header_1_0(target, header | {"shape": (written,)})


SAID = "tokbench.commands.files.said"
"""Key in a command's context of the lines written so far, as some commands read files several times."""


def documents_of(files: Sequence[str], fields: Fields = AS_USUAL) -> "Iterator[Document]":
    """Read documents as :func:`tokbench.corpus.text_files.read_files` does."""
    from tokbench.corpus.text_files import read_files

    return watched(read_files(files, fields, _say))


def shards_or_documents(files: Sequence[str], fields: Fields) -> "Iterator[Document]":
    """Return the documents of shards with their numbers, or those of other files, numbered as one text."""
    from tokbench.corpus.documents import is_shard, read_documents

    if not fields.flags and all(map(is_shard, files)):
        return watched(read_documents(files))
    return documents_of(files, fields)


def with_note(documents: "Iterator[Document]") -> "Iterator[Document]":
    """Return documents as :func:`tokbench.corpus.text_files.note_untagged` does."""
    from tokbench.corpus.text_files import note_untagged

    return note_untagged(documents, _say)


def _say(line: str) -> None:
    """Write a line to standard error, once a command."""
    context = click.get_current_context(silent=True)
    said = set() if context is None else context.meta.setdefault(SAID, set())
    if line not in said:
        said.add(line)
        clear()
        click.echo(line, err=True)


def experiment_folder(results: str | None, configfile: str | None) -> str:
    """Return the folder of an experiment; default: that of ``config.yaml``, as in the workflow.

    Raises:
        TokbenchError: both are given, or neither and there is no ``config.yaml``.
    """
    if results is not None:
        if configfile is not None:
            raise TokbenchError("RESULTS, --configfile: both name the experiment's folder; leave one out")
        return results
    if configfile is None and not Path("config.yaml").exists():
        raise TokbenchError(
            "RESULTS: missing, and there is no config.yaml here; name the folder of an experiment, such as results/demo"
        )

    from tokbench.config.load import read_all

    return str(read_all([configfile or "config.yaml"], {}).folder)
