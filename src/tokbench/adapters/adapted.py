"""A tokenizer that works through the library it was made for."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tokbench.adapters.adapted_folder import FILE, read_adapted, sealed_adapted
from tokbench.adapters.adapted_offsets import borders_of, byte_spans, character_spans_of
from tokbench.adapters.libraries import open_library, told
from tokbench.adapters.roundtrip import bytes_lost, readable
from tokbench.atomic import atomic_files
from tokbench.atomic.places import place_of_folder
from tokbench.errors import TokbenchError
from tokbench.given import bytes_of, characters_of, numbers_of, several
from tokbench.inputs.numbers import MOST_THREADS, whole_argument
from tokbench.parallel import mapped
from tokbench.saved import files_to_remove, outdated_export
from tokbench.tokenizer import Tokenizer
from tokbench.tokenizer_config import special_tokens, write_configuration
from tokbench.tokenizer_folder import SETTINGS
from tokbench.vocabulary import Named

OWN_PHASES = ("vocabulary", "pretokenization", "scheme", "segmentation", "options")
"""What a tokenizer in our three phases has, and this one has not."""
MEASURE = "measure it on documents, with 'tokbench measure --documents' or 'tokbench compare'"
STRANGE = ("\U0003134a", "\U0001304b", "\U0001fbf9", "\U0001ed3d", "\U0010fffd", "x" * 1000)
"""Letters, numbers and signs that hardly any vocabulary has, and a long word: which the unknown token stands for."""


class AdaptedTokenizer(Tokenizer):
    """A tokenizer with the interface of ours, for what our three phases do not do exactly.

    Texts are UTF-8: bytes that are not become U+FFFD before the library sees them. Whatever asks for the vocabulary or
    the segmentation of pre-tokens ends in one line.

    Args:
        library: the library's name, see :mod:`tokbench.adapters.libraries`.
        content: the file as the library gets it.
        settings: what the library is told beside it.
        special: ids that no text gives, with what they stand for.
        tokens: tokens that text can give.
        ids: ids in all.
        name: what tables call it.
        origin: where it comes from and what it loses.

    Raises:
        TokbenchError: the library is not installed, or does not take the file.
    """

    def __init__(
        self,
        library: str,
        content: bytes,
        settings: dict[str, Any],
        *,
        special: dict[int, bytes],
        tokens: int,
        ids: int,
        name: str = "",
        origin: dict[str, Any] | None = None,
    ) -> None:
        self.library_name, self.content, self.settings = library, content, settings
        self.special, self.tokens, self.ids = special, tokens, ids
        self.name = name
        self.origin = origin or {}
        self.library = open_library(library, content, settings, name or "the tokenizer")

    def __getstate__(self) -> dict[str, Any]:
        """What it is made of: the library's tokenizer is made anew of it."""
        return {
            "library": self.library_name,
            "content": self.content,
            "settings": self.settings,
            "special": self.special,
            "tokens": self.tokens,
            "ids": self.ids,
            "name": self.name,
            "origin": self.origin,
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(**state)  # type: ignore[misc]

    def __len__(self) -> int:
        return self.tokens

    @property
    def id_limit(self) -> int:
        return self.ids

    @property
    def ids_given(self) -> bool:
        return True

    @property
    def named(self) -> Named:
        """Every id that is not special, by what the library calls it."""
        names = {one: name for one in range(self.ids) if one not in self.special and (name := self.library.name(one))}
        return Named(tuple(names.values()), np.array([*names], np.int32), self.ids)

    @property
    def entries(self) -> int:
        """Ids that some text may give: the tokens, and that of what they cannot spell where there is such text."""
        unknown = self.library.unknown
        return self.tokens + (unknown is not None and any(unknown in self.encode(text) for text in STRANGE))

    @property
    def lossless(self) -> bool:
        """False: nothing is known of what the library does to every text."""
        return False

    def bytes_lost(self, text: bytes) -> int:
        """Bytes of a text that are not found again, in order, in what its ids decode to: at most so many."""
        return bytes_lost(text, self.decode(self.encode(text)))

    @property
    def end_and_padding(self) -> dict[str, int]:
        return special_tokens(self.ids, self.special, self.origin)

    def __repr__(self) -> str:
        return f"AdaptedTokenizer({self.name!r}, {self.library_name}, {len(self)} tokens)"

    def __getattr__(self, name: str) -> NoReturn:
        if name in OWN_PHASES:
            self._has_none(f"a {name} of ours")
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    def _has_none(self, what: str) -> NoReturn:
        raise TokbenchError(f"{self._who} and has no {what.removeprefix('a ')}; {MEASURE}")

    def encode(self, text: bytes | str, threads: int = 1) -> NDArray[np.int32]:
        """Ids of a text, int32 [tokens], as the library gives them."""
        with told(f"{self.name}: {self.library_name} ends on a text"):
            return np.array(self.library.encode(readable(text)), np.int32)

    def count(self, text: bytes | str, threads: int = 1) -> int:
        """How many tokens a text has."""
        return len(self.encode(text))

    def encode_batch(self, texts: Iterable[bytes | str], threads: int = 1) -> list[NDArray[np.int32]]:
        """Ids of each text, in order."""
        return list(mapped(self.encode, several(texts), whole_argument("threads", threads, 1, MOST_THREADS)))

    def offsets(self, text: bytes | str, threads: int = 1) -> NDArray[np.int64]:
        """Where the tokens of a text start in its bytes, int64 [tokens + 1]; the last entry is the number of its bytes.

        Raises:
            TokbenchError: its tokens do not lie end to end in this text, which is not UTF-8, or the library does not
                tell where they stand.
        """
        return borders_of(self.library, bytes_of(text), self._who)

    def byte_offsets(self, text: bytes | str, threads: int = 1) -> NDArray[np.int64]:
        """Where each token starts and ends in the bytes of a text, int64 [tokens, 2].

        By its own bytes where those of all tokens are the text, or are a space and the text; else it has the characters
        that the library gives it. These may overlap, be none, and leave out some of the text.

        Raises:
            TokbenchError: the text is not UTF-8, or the library does not tell.
        """
        return byte_spans(self.library, bytes_of(text), self._who)

    def character_offsets(self, text: str, threads: int = 1) -> NDArray[np.int64]:
        """Where each token starts and ends in the characters of a text, int64 [tokens, 2], as the library tells.

        Raises:
            TokbenchError: it is no ``str``, or as with :meth:`offsets`, where the library does not tell.
        """
        return character_spans_of(self.library, characters_of(text), self._who)

    @property
    def _who(self) -> str:
        return f"{self.name or 'the tokenizer'} works through {self.library_name}"

    def last_cut(self, text: bytes) -> int:
        """0: no place is known where the library's ids could be cut."""
        return 0

    def segment(self, counts: Any, threads: int = 1) -> NoReturn:
        """Pre-tokens are nothing that the library takes.

        Raises:
            TokbenchError: always.
        """
        self._has_none("a segmentation of pre-tokens")

    def decode(self, ids: ArrayLike) -> bytes:
        """Decode ids in one call of the library, because decoders depend on the ids before and after.

        Special ids become their names.

        Raises:
            TokbenchError: an id is not in the vocabulary, or is no whole number.
        """
        numbers: list[int] = numbers_of(ids).tolist()
        for one in (min(numbers, default=0), max(numbers, default=0)):
            if numbers and not 0 <= one < self.ids:
                raise TokbenchError(f"id {one} is not in the vocabulary (0 to {self.ids - 1})")
        with told(f"{self.name}: {self.library_name} does not decode these ids"):
            try:
                return self.library.decode(numbers, self.special)
            except KeyError as error:
                raise TokbenchError(f"id {error.args[0]} is not in the vocabulary, whose ids have holes") from None

    def save(self, folder: Path | str, *, configuration: bool = True) -> None:
        """Write the library's file and the settings into a folder; see :meth:`Tokenizer.save`.

        With ``configuration`` ``AutoTokenizer`` finds our class there, too, which says what to use in its place.
        """
        folder = Path(folder)
        place_of_folder(folder)
        stale = files_to_remove(folder / SETTINGS, configuration)
        with atomic_files(folder, "tokenizer", last=SETTINGS, stale=stale) as partial:
            (partial / FILE).write_bytes(self.content)
            settings = {
                "name": self.name,
                "library": self.library_name,
                "settings": self.settings,
                "special": {str(number): token.hex() for number, token in self.special.items()},
                "size": self.tokens,
                "ids": self.ids,
                "origin": self.origin,
            }
            (partial / SETTINGS).write_text(sealed_adapted(settings, self.content), encoding="utf-8")
            if configuration:
                write_configuration(partial, end=self.end_token)
            stale += outdated_export(folder / SETTINGS, partial)

    @classmethod
    def load(cls, folder: Path | str) -> "AdaptedTokenizer":
        """Read a tokenizer's folder.

        Raises:
            TokbenchError: the folder is none of ours, a file is not the one that was saved, or the library is missing.
        """
        settings, content = read_adapted(Path(folder))
        return cls(
            settings.library,
            content,
            settings.settings,
            special={int(number): bytes.fromhex(token) for number, token in settings.special.items()},
            tokens=settings.size,
            ids=settings.ids,
            name=settings.name,
            origin=settings.origin,
        )
