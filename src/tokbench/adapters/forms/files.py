"""Files of tokenizers, read up to a size limit and decompressed."""

from pathlib import Path

from tokbench.errors import TokbenchError
from tokbench.io.contents import LARGEST_TOKENIZER, POINTER, REMEDY, names_in
from tokbench.io.text_files import PIECE, opened


def read_bounded(path: Path) -> bytes:
    """Return the bytes of a file, decompressed if it is compressed.

    Raises:
        TokbenchError: it cannot be read, or is larger than any tokenizer.
    """
    if path.is_dir():
        raise TokbenchError(f"{path}: a folder; name a file in it, or read it as 'transformers'")
    pieces, size = [], 0
    with opened(path, REMEDY) as file:
        while piece := file.read(PIECE):
            pieces.append(piece)
            size += len(piece)
            if size > LARGEST_TOKENIZER:
                raise TokbenchError(f"{path}: more than {LARGEST_TOKENIZER:,} bytes, as no tokenizer has; {REMEDY}")
    content = b"".join(pieces)
    if content.startswith(POINTER):
        raise TokbenchError(f"{path}: a pointer of Git LFS, not the file itself; run git lfs pull in its folder")
    return content


def named_file(folder: Path, name: str) -> Path | None:
    """Return the file of a name in a folder, compressed or not; None if there is none."""
    return next(iter(names_in(folder, name)), None)
