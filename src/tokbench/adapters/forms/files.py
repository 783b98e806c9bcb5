"""Files of tokenizers: read whole, decompressed, and not beyond a limit."""

from pathlib import Path

from tokbench.adapters.forms import LARGEST_FILE, REMEDY
from tokbench.errors import TokbenchError
from tokbench.inputs.endings import COMPRESSED
from tokbench.inputs.files import PIECE, opened


def read_bounded(path: Path) -> bytes:
    """The bytes of a file, decompressed where it is compressed.

    Raises:
        TokbenchError: it cannot be read, or has more bytes than any tokenizer.
    """
    if path.is_dir():
        raise TokbenchError(f"{path}: a folder; name a file in it, or read it as 'transformers'")
    pieces, size = [], 0
    with opened(path, REMEDY) as file:
        while piece := file.read(PIECE):
            pieces.append(piece)
            size += len(piece)
            if size > LARGEST_FILE:
                raise TokbenchError(f"{path}: more than {LARGEST_FILE:,} bytes, as no tokenizer has; {REMEDY}")
    return b"".join(pieces)


def named_file(folder: Path, name: str) -> Path | None:
    """Return the file of a name in a folder, compressed or not; None if there is none."""
    files = (folder / f"{name}{suffix}" for suffix in ("", *COMPRESSED))
    return next((file for file in files if file.exists() and not file.is_dir()), None)
