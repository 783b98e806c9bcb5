"""Other people's libraries behind one interface: text to ids and back, by the library that a file was made for.

Characters that a normaliser changes, counted by where each part of a normalised text comes from.
"""

import importlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any, Protocol

from tokbench.errors import TokbenchError, shortened
from tokbench.io.text_files import first_line
from tokbench.runtime.exit_status import may_be_short

MODULES = {"tokenizers": "hugging_face", "sentencepiece": "sentence_piece", "tiktoken": "openai"}
"""The libraries, each with the module that knows it; a library is installed by its own name."""
LONGEST_UNKNOWN = 1024
"""Bytes that each unknown character of a text may become. Real files have up to 10."""


class Library(Protocol):
    """A tokenizer of another library."""

    @property
    def unknown(self) -> int | None:
        """The id of what the vocabulary cannot spell, None where there is none."""
        ...

    def encode(self, text: str) -> Sequence[int]:
        """Ids of a text, without ids that frame it."""
        ...

    def spans(self, text: str) -> Sequence[tuple[int, int]] | None:
        """The first character of a text that each of its tokens stands for, and that behind the last; None where the
        library tells nothing of it."""
        ...

    def decode(self, ids: list[int], names: Mapping[int, bytes]) -> bytes:
        """Decode a whole sequence of ids.

        Args:
            ids: the sequence.
            names: names of special ids, for libraries that leave these out or do not know them.

        Raises:
            KeyError: the library has no such id.
        """
        ...

    def name(self, one: int) -> bytes:
        """What the library calls an id: its bytes, or the UTF-8 of its name; empty where there is no such id."""
        ...

    def id_of(self, name: str) -> int | None:
        """Return the id of a name, None if there is none."""
        ...

    def bytes_of(self, one: int) -> bytes:
        """What an id stands for within a text, where decoding it alone may drop a blank or not be UTF-8.

        Raises KeyError for an id that there is not.
        """
        ...

    def normalized(self, text: str) -> str:
        """A text as it is before it is cut."""
        ...

    def changed(self, text: str) -> int:
        """Count the characters of a text, white space excluded, that the normaliser changes for good.

        Marks that the decoder removes, such as the mark for a blank, are no changes.
        """
        ...


class Sets(Protocol):
    """The sets of characters of a library: its module."""

    def unmatched(self, pattern: str, text: str) -> str:
        """Return the characters of a text that are not in a match of a pattern."""
        ...


def sets_of(name: str) -> Sets:
    """Return the module that knows the sets of characters of a library."""
    found: Any = importlib.import_module(f"{__name__}.{MODULES[name]}")
    sets: Sets = found
    return sets


def open_library(name: str, content: bytes, settings: Mapping[str, Any], place: str) -> Library:
    """A tokenizer of another library.

    Args:
        name: the library.
        content: its file.
        settings: what the file does not say, see the library's module.
        place: what messages call the file.

    Raises:
        TokbenchError: the library is not installed, or does not take the file.
    """
    try:
        module = importlib.import_module(f"{__name__}.{MODULES[name]}")
    except ModuleNotFoundError as error:
        if error.name != name:
            raise
        raise TokbenchError(
            f"{place}: needs the package '{name}', which is not installed; pip install {name}, or tokbench[existing]"
        ) from None
    with told(f"{place}: {name} does not read it"):
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
def told(what: str) -> Iterator[None]:
    """Whatever a library raises, told in one line; those in Rust raise what is no ``Exception``.

    Raises:
        TokbenchError: something was raised.
    """
    try:
        yield
    except (TokbenchError, KeyboardInterrupt, SystemExit, GeneratorExit):
        raise
    except BaseException as error:
        if may_be_short(error):
            raise
        raise TokbenchError(f"{what} ({shortened(first_line(error), 200)}); give a whole file of its form") from None


def characters_changed(text: str, parts: Iterable[tuple[str, int, int]]) -> int:
    """Count the characters of a text, white space excluded, that are missing from its normalised form.

    Parts that come from the same characters are one part. In each, characters are counted in any order.

    Args:
        text: the text before it is normalised.
        parts: the normalised text in order, each part with the start and the end of the characters it comes from.
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
    """Return a text without white space."""
    return "".join(text.split())


def _kept(characters: str, normalised: str) -> int:
    if characters == normalised:
        return len(solid(characters))
    return (Counter(solid(characters)) & Counter(solid(normalised))).total()
