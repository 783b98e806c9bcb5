"""Cache of external tokenizers that were read and compared with their library.

Reading a file of 128,000 tokens and proving its ids takes seconds of processor time. The result depends only on what
its key has: the content and the name of the file, the options, the versions of the libraries that read it and prove
it, and the installed code of Tokbench. Tokenizers are kept as folders of Tokbench in the folder ``tokenizers`` of the
user's cache, see :mod:`tokbench.io.user_cache`.
"""

import hashlib
import shutil
import unicodedata
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from tokbench.adapters.forms.folder_settings import FILES as SETTINGS
from tokbench.adapters.forms.transformers import ORIGINAL
from tokbench.errors import TokbenchError
from tokbench.io.compression import plain_name
from tokbench.io.contents import FILES as TOKENIZER_FILES
from tokbench.io.user_cache import remove_oldest, user_cache
from tokbench.tokenizer import Tokenizer

FILES = (
    *(name for group in TOKENIZER_FILES for name in group if not name.endswith("*")),
    *("vocab.json", "encoder.json", "target.spm", "target_vocab.json", "tiktoken.json", *SETTINGS),
)
"""Files of a tokenizer: those that are downloaded from a repository, and those that readers open next to a file."""
CODE_FILES = "tokenization_"
"""Beginning of the names of code files, whose names say that a pattern is in the code."""
LIBRARIES = ("tokbench", "tokenizers", "tiktoken", "sentencepiece", "transformers", "regex")
ROOT = Path(__file__).parents[1]
CODE = ("adapters", "kernels", "pretokenization", "segmentation", "tokenizer", "vocabulary.py")
"""Packages and modules whose code decides ids and probes."""
SUFFIXES = (".json", ".txt", ".model", ".tiktoken", ".spm", ".bpe", ".vocab")
"""Endings of files of a folder whose content counts. Of others, such as weights, only name and size do."""
MOST = 100
"""Number of tokenizers that are kept, the last ones."""


def cached(path: Path, settings: str, read: Callable[[], Tokenizer], *, again: bool = False) -> Tokenizer:
    """Return the tokenizer of a file from the cache, or read and keep it.

    Args:
        path: file or folder of the tokenizer.
        settings: everything else that determines the result of ``read``: form, options and name.
        read: function that reads the file and compares its ids with those of its library.
        again: read the file even if its tokenizer is in the cache. Default: False.

    Raises:
        TokbenchError: ``read`` raises it.
    """
    folder = user_cache("tokenizers")
    if folder is None or not (path.is_file() or path.is_dir()):  # A pipe can be read only once.
        return read()
    kept = folder / _key(path, settings)
    if kept.is_dir() and not again:
        with suppress(TokbenchError, OSError):  # A damaged folder is written again.
            return Tokenizer.load(kept)
    tokenizer = read()
    with suppress(TokbenchError, OSError):  # A cache that cannot be written is not an error.
        shutil.rmtree(kept, ignore_errors=True)
        kept.parent.mkdir(parents=True, exist_ok=True)
        tokenizer.save(kept, configuration=False)
        remove_oldest(folder, MOST)
    return tokenizer


def _key(path: Path, settings: str) -> str:
    """Return the name of a tokenizer in the cache, in hexadecimal digits."""
    digest = hashlib.sha256(
        "\n".join((settings, path.name, unicodedata.unidata_version, *_installed())).encode("utf-8", "surrogateescape")
    )
    for file in _files_of(path):
        content = file.read_bytes() if file == path or file.suffix in SUFFIXES else b""
        digest.update(
            f"\n{file.name} {file.stat().st_size} {hashlib.sha256(content).hexdigest()}".encode(
                "utf-8", "surrogateescape"
            )
        )
    return digest.hexdigest()


def _files_of(path: Path) -> Iterator[Path]:
    """Yield the files that readers may open: those of a folder, or a file and those next to it with known names."""
    if not path.is_dir():
        yield path
    above = [path.parent.parent] if path.parent.name == ORIGINAL else []
    for folder in (path, path / ORIGINAL, path.parent, *above):
        for file in sorted(folder.iterdir()) if folder.is_dir() else ():
            known = folder == path or plain_name(file.name) in FILES or file.name.startswith(CODE_FILES)
            if known and file != path and file.is_file():
                yield file


@cache
def _installed() -> tuple[str, ...]:
    """Return the versions of the libraries, and names, sizes and dates of the files of our code."""
    return (*map(_version, LIBRARIES), *sorted(_files()))


def _version(distribution: str) -> str:
    try:
        return version(distribution)
    except PackageNotFoundError:
        return ""


def _files() -> Iterator[str]:
    for name in CODE:
        place = ROOT / name
        for file in place.rglob("*") if place.is_dir() else [place]:
            if file.suffix in (".py", ".so"):
                state = file.stat()
                yield f"{file.relative_to(ROOT)} {state.st_size} {state.st_mtime_ns}"
