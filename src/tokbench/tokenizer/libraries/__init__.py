"""Common interface of other libraries: text to ids and back, by the library that a file was made for.

Characters changed by a normaliser are counted by the alignment of a text with its normalised form.
"""

import importlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any, Protocol

from tokbench.errors import TokbenchError, shortened
from tokbench.io.contents import REMEDY
from tokbench.io.text_files import first_line
from tokbench.runtime.exit_status import may_be_short

MODULES = {
    "tokenizers": "hugging_face",
    "sentencepiece": "sentence_piece",
    "tiktoken": "openai",
    "python": "python",
}
"""Libraries, each with its module here; a library is installed under its own name. ``python`` is files of the user."""
LONGEST_UNKNOWN = 1024
"""Maximum number of bytes that an unknown character may decode to. Real files have up to 10."""


class Library(Protocol):
    """A tokenizer of another library."""

    @property
    def unknown(self) -> int | None:
        """Id of the unknown token, None if there is none."""
        ...

    def encode(self, text: str) -> Sequence[int]:
        """Return the ids of a text, without ids that frame it."""
        ...

    def spans(self, text: str) -> Sequence[tuple[int, int]] | None:
        """Return start and end of each token in the characters of a text; None if the library reports no offsets."""
        ...

    def decode(self, ids: list[int], names: Mapping[int, bytes]) -> bytes:
        """Decode a complete sequence of ids.

        Args:
            ids: the sequence.
            names: names of special ids, for libraries that omit these or do not know them.

        Raises:
            KeyError: the library has no such id.
        """
        ...

    def name(self, token_id: int) -> bytes:
        """Return the library's name of an id: its bytes, or its name in UTF-8; empty if there is no such id."""
        ...

    def id_of(self, name: str) -> int | None:
        """Return the id of a name, None if there is none."""
        ...

    def bytes_of(self, token_id: int) -> bytes:
        """Return the bytes of an id within a text; decoding it separately may drop a space, or not be UTF-8.

        Raises:
            KeyError: there is no such id.
        """
        ...

    def form(self, token_id: int) -> tuple[bytes, bool] | None:
        """Return the bytes of an id within a text, and True if it occurs only inside a word; None if not known.

        The bytes are empty if there is no such id.
        """
        ...

    def normalized(self, text: str) -> str:
        """Return a text as normalised before pre-tokenization."""
        ...

    def changed(self, text: str) -> int:
        """Count characters, whitespace excluded, that the normaliser changes and decoding does not restore.

        Marks that the decoder removes, such as the mark for a space, are not changes.
        """
        ...


class Sets(Protocol):
    """Interface to a library's sets of characters, implemented by its module."""

    def unmatched(self, pattern: str, text: str) -> str:
        """Return the characters of a text that are not in a match of a pattern."""
        ...


def sets_of(name: str) -> Sets:
    """Return the module of a library, for its sets of characters."""
    module: Any = importlib.import_module(f"{__name__}.{MODULES[name]}")
    sets: Sets = module
    return sets


def open_library(name: str, content: bytes, settings: Mapping[str, Any], place: str) -> Library:
    """Open a tokenizer of another library.

    Args:
        name: the library.
        content: its file.
        settings: settings that the file lacks, see the library's module.
        place: name of the file in messages.

    Raises:
        TokbenchError: the library is not installed, or does not read the file.
    """
    try:
        module = importlib.import_module(f"{__name__}.{MODULES[name]}")
    except ModuleNotFoundError as error:
        if error.name != name:
            raise
        raise TokbenchError(
            f"{place}: needs the package '{name}', which is not installed; pip install {name}, or tokbench[existing]"
        ) from None
    with library_errors(f"{place}: {name} does not read it"):
        try:
            library: Library = module.open(content, **settings)
        except TokbenchError as error:
            raise TokbenchError(f"{place}: {error}") from None
        with suppress(KeyError):  # The file names an unknown token that it does not have.
            if library.unknown is not None and (size := len(library.decode([library.unknown], {}))) > LONGEST_UNKNOWN:
                raise TokbenchError(
                    f"{place}: the unknown token decodes to {size:,} bytes ({LONGEST_UNKNOWN:,} at most); shorten it"
                )
        return library


@contextmanager
def library_errors(what: str) -> Iterator[None]:
    """Convert exceptions of a library to one line; those of Rust libraries may not be an ``Exception``.

    Raises:
        TokbenchError: the library raised an exception.
    """
    try:
        yield
    except (TokbenchError, KeyboardInterrupt, SystemExit, GeneratorExit):
        raise
    except BaseException as error:
        if may_be_short(error):
            raise
        raise TokbenchError(f"{what} ({shortened(first_line(error), 200)}); {REMEDY}") from None


def characters_changed(text: str, parts: Iterable[tuple[str, int, int]]) -> int:
    """Count the characters of a text, whitespace excluded, that are missing from its normalised form.

    Parts that come from the same characters are merged. Within a part, the order of characters is ignored.

    Args:
        text: the text before normalisation.
        parts: the normalised text in order, each part with start and end of the characters that it comes from.
    """
    kept = start = end = 0
    normalised = ""
    for part, first, last in parts:
        if first >= end:
            kept += _kept(text[start:end], normalised)
            start, normalised = first, ""
        end, normalised = max(end, last), normalised + part
    return len(solid(text)) - kept - _kept(text[start:end], normalised)


def solid(text: str) -> str:
    """Return a text without whitespace."""
    return "".join(text.split())


def _kept(characters: str, normalised: str) -> int:
    if characters == normalised:
        return len(solid(characters))
    return (Counter(solid(characters)) & Counter(solid(normalised))).total()
