"""A tokenizer that works through the library it was made for.

The folder of a tokenizer that works through another library: its file, and settings with one checksum over both.

Where the tokens of another library stand in a text: by their own bytes where these are the text, else as it says.
"""

import hashlib
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Literal, NoReturn

import numpy as np
from numpy.typing import ArrayLike, NDArray
from pydantic import BaseModel, ConfigDict, ValidationError

from tokbench.adapters.libraries import Library, open_library, told
from tokbench.adapters.roundtrip import bytes_lost, readable
from tokbench.errors import TokbenchError
from tokbench.io.atomic import atomic_files
from tokbench.io.compression import read_regular
from tokbench.io.json import read_json
from tokbench.io.numbers import MOST_THREADS, whole_argument
from tokbench.io.output_place import place_of_folder
from tokbench.io.text_files import first_line
from tokbench.kernels.threads import parallel_map
from tokbench.tokenizer import Tokenizer
from tokbench.tokenizer.encoder import as_bytes, as_ids, character_spans, require_str, require_texts
from tokbench.tokenizer.folder import SETTINGS, outdated_export, stale_files
from tokbench.tokenizer.hugging_face import special_tokens, write_configuration
from tokbench.vocabulary import Named

FILE = "adapted"
"""The library's file, as it gets it."""
AGAIN = "import the tokenizer again"


class AdaptedSettings(BaseModel):
    """What ``tokbench.json`` holds.

    Attributes:
        format: that of this file.
        name: what tables call the tokenizer.
        library: whose tokenizer it is.
        settings: what the library is told beside its file.
        special: ids that no text gives, with what they stand for in hexadecimal.
        size: tokens that text can give.
        ids: ids in all.
        sha256: checksum of the file and of all other settings.
        origin: where it comes from and what it loses.
    """

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    format: Literal["adapted 1"] = "adapted 1"
    name: str
    library: Literal["tokenizers", "sentencepiece", "tiktoken"]
    settings: dict[str, Any]
    special: dict[str, str]
    size: int
    ids: int
    sha256: str = ""
    origin: dict[str, Any]

    def digest(self, content: bytes) -> str:
        """Checksum of all of it."""
        digest = hashlib.sha256(content)
        digest.update(json.dumps(self.model_dump(exclude={"sha256"}), sort_keys=True).encode())
        return digest.hexdigest()


def sealed_adapted(values: dict[str, Any], content: bytes) -> str:
    """The text of ``tokbench.json``, of the settings ``values`` and the library's file."""
    settings = AdaptedSettings.model_validate(json.loads(json.dumps(values)))
    signed = settings.model_copy(update={"sha256": settings.digest(content)})
    return json.dumps(signed.model_dump(), indent=2) + "\n"


def read_adapted(folder: Path) -> tuple[AdaptedSettings, bytes]:
    """The settings of a folder, and the library's file.

    Raises:
        TokbenchError: they are damaged, or not those that were saved.
    """
    values = read_json(folder / SETTINGS, AGAIN)
    try:
        settings = AdaptedSettings.model_validate(values)
        content = read_regular(folder / FILE)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        key = ascii(".".join(map(str, first["loc"])))[1:-1]
        raise TokbenchError(f"{folder / SETTINGS}: damaged ({key:.80}: {first['msg']}); {AGAIN}") from None
    except OSError as error:
        raise TokbenchError(f"{folder / FILE}: cannot be read ({first_line(error)}); {AGAIN}") from None
    if settings.sha256 != settings.digest(content):
        raise TokbenchError(f"{folder}: the tokenizer is not the one that was saved, or the settings are not; {AGAIN}")
    return settings, content


PREFIX = b" "
"""What some libraries put before a text: the first token begins with it, or is it, and the text has none of it."""
SUFFIX = b" "
"""What others put after a text: SentencePiece, where pieces mark the ends of words."""


def byte_spans(library: Library, text: bytes, name: str) -> NDArray[np.int64]:
    """Where each token starts and ends in the bytes of a text, int64 [tokens, 2].

    Where the tokens' own bytes, end to end, are the text, with or without a space before or after it, each stands where
    its bytes are.
    Elsewhere each has the characters that the library gives it: tokens may overlap, have none, and leave some out.

    Args:
        library: the library.
        text: UTF-8.
        name: what messages call the tokenizer, and its library.

    Raises:
        TokbenchError: the text is not UTF-8, or the library does not tell.
    """
    characters = _characters(text, name)
    with told(f"{name}, which ends on a text"):
        borders = _by_bytes(library, library.encode(characters), text)
    if borders is not None:
        return np.stack([borders[:-1], borders[1:]], axis=1)
    spans = _told_by(library, characters, name)
    if spans is None:
        raise TokbenchError(
            f"{name}, which does not tell where tokens stand, and those of this text do not spell it; "
            "give a text that comes back"
        )
    return np.cumsum([0, *(len(one.encode()) for one in characters)], dtype=np.int64)[spans]


def borders_of(library: Library, text: bytes, name: str) -> NDArray[np.int64]:
    """Where tokens start that lie end to end, int64 [tokens + 1]; the last entry is the number of the text's bytes.

    Raises:
        TokbenchError: those of this text do not lie so, or as :func:`byte_spans`.
    """
    spans = byte_spans(library, text, name)
    borders = np.append(spans[:, 0], spans[-1, 1] if len(spans) else 0)
    if borders[0] or borders[-1] != len(text) or not np.array_equal(spans[:-1, 1], spans[1:, 0]):
        raise TokbenchError(
            f"{name}, whose tokens do not lie end to end in this text; ask byte_offsets() where each starts and ends"
        )
    return borders


def character_spans_of(library: Library, text: str, name: str) -> NDArray[np.int64]:
    """Where each token starts and ends in the characters of a text, int64 [tokens, 2], as the library gives it.

    Raises:
        TokbenchError: as :func:`borders_of`, where the library does not tell.
    """
    data = text.encode("utf-8", "surrogatepass")
    _characters(data, name)
    spans = _told_by(library, text, name)
    return character_spans(text, borders_of(library, data, name)) if spans is None else spans


def _characters(text: bytes, name: str) -> str:
    try:
        return text.decode()
    except UnicodeDecodeError as error:
        raise TokbenchError(
            f"{name}, which sees U+FFFD for what is not UTF-8 (byte {error.start}) and tells no places in it; "
            "give a text that is"
        ) from None


def _by_bytes(library: Library, ids: Sequence[int], text: bytes) -> NDArray[np.int64] | None:
    """Where tokens start, the last one ends, by their bytes; None where these are not the text."""
    known = {one: library.bytes_of(one) for one in dict.fromkeys(ids)}
    written = b"".join(map(known.__getitem__, ids))
    ends = np.cumsum([0, *(len(known[one]) for one in ids)], dtype=np.int64)
    if written in (text, PREFIX + text):
        return np.maximum(ends - (len(written) - len(text)), 0)
    return np.minimum(ends, len(text)) if written == text + SUFFIX else None


def _told_by(library: Library, text: str, name: str) -> NDArray[np.int64] | None:
    with told(f"{name}, which ends on a text"):
        spans = library.spans(text)
    return None if spans is None else np.array(spans, np.int64).reshape(-1, 2)


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

    def _bytes_of(self, one: int) -> bytes:
        return self.library.bytes_of(one)

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
        return list(
            parallel_map(self.encode, require_texts(texts), whole_argument("threads", threads, 1, MOST_THREADS))
        )

    def offsets(self, text: bytes | str, threads: int = 1) -> NDArray[np.int64]:
        """Where the tokens of a text start in its bytes, int64 [tokens + 1]; the last entry is the number of its bytes.

        Raises:
            TokbenchError: its tokens do not lie end to end in this text, which is not UTF-8, or the library does not
                tell where they stand.
        """
        return borders_of(self.library, as_bytes(text), self._who)

    def byte_offsets(self, text: bytes | str, threads: int = 1) -> NDArray[np.int64]:
        """Where each token starts and ends in the bytes of a text, int64 [tokens, 2].

        By its own bytes where those of all tokens are the text, or are a space and the text; else it has the characters
        that the library gives it. These may overlap, be none, and leave out some of the text.

        Raises:
            TokbenchError: the text is not UTF-8, or the library does not tell.
        """
        return byte_spans(self.library, as_bytes(text), self._who)

    def character_offsets(self, text: str, threads: int = 1) -> NDArray[np.int64]:
        """Where each token starts and ends in the characters of a text, int64 [tokens, 2], as the library tells.

        Raises:
            TokbenchError: it is no ``str``, or as with :meth:`offsets`, where the library does not tell.
        """
        return character_spans_of(self.library, require_str(text), self._who)

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
        numbers: list[int] = as_ids(ids).tolist()
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
        stale = stale_files(folder / SETTINGS, configuration)
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
