"""Tokenizers that run through the library they were made for, and their folders.

A folder contains the library's file and settings, with one checksum over both.
"""

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NoReturn, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tokbench.errors import TokbenchError
from tokbench.io.atomic import atomic_files
from tokbench.io.compression import read_regular
from tokbench.io.identity import digest_of
from tokbench.io.json import read_json
from tokbench.io.numbers import MOST_THREADS, whole_argument
from tokbench.io.output_place import place_of_folder
from tokbench.io.text_files import first_line
from tokbench.kernels.loss import bytes_lost
from tokbench.kernels.threads import parallel_map
from tokbench.pretokenization import Pretokenization, pretokenization_of
from tokbench.tokenizer.encoder import TokenSpans, as_bytes, as_ids, require_str, require_texts
from tokbench.tokenizer.folder import ADAPTED, SETTINGS, Checks, check_values, outdated_export, stale_files
from tokbench.tokenizer.hugging_face import special_tokens, write_configuration
from tokbench.tokenizer.libraries import MODULES, library_errors, open_library
from tokbench.tokenizer.offsets import borders_of, byte_spans, character_spans_of, not_placed, token_spans
from tokbench.tokenizer.roundtrip import readable
from tokbench.tokenizer.tokenizer import MEASURE, OTHER_FORMATS, Tokenizer
from tokbench.vocabulary import NamedTokens, TokenList

AGAIN = "import the tokenizer again"
FORMAT = f"{ADAPTED} 1"


@dataclass(frozen=True)
class AdaptedSettings:
    """Content of ``tokbench.json``.

    Attributes:
        name: name of the tokenizer in tables.
        library: library of the tokenizer.
        settings: settings of the library in addition to its file.
        special: ids that encoding never returns, with their names in hexadecimal.
        size: number of tokens that encoding can return.
        ids: number of ids, one more than the largest.
        origin: record of the import: source and losses.
        sha256: checksum of the file and of all other settings.
        format: version of this file.
    """

    name: str
    library: str
    settings: dict[str, Any]
    special: dict[str, str]
    size: int
    ids: int
    origin: dict[str, Any]
    sha256: str = ""
    format: str = FORMAT

    def digest(self, content: bytes) -> str:
        """Return the checksum of the file ``content`` and all settings but ``sha256``."""
        values = {key: value for key, value in vars(self).items() if key != "sha256"}
        digest = hashlib.sha256(content)
        digest.update(json.dumps(values, sort_keys=True).encode())
        return digest.hexdigest()


def _is_names(value: Any) -> bool:
    """Return whether a value has names in hexadecimal by id."""
    return isinstance(value, dict) and all(
        number.isdecimal() and isinstance(name, str) and not set(name) - HEXADECIMAL for number, name in value.items()
    )


HEXADECIMAL = frozenset("0123456789abcdef")
CHECKS: Checks = {
    "format": (lambda value: value == FORMAT, f"Input should be '{FORMAT}'"),
    "name": (lambda value: isinstance(value, str), "Input should be a valid string"),
    "library": (
        lambda value: isinstance(value, str) and value in MODULES,
        f"Input should be one of {', '.join(MODULES)}",
    ),
    "settings": (lambda value: isinstance(value, dict), "Input should be a valid dictionary"),
    "special": (_is_names, "Input should be names in hexadecimal by id"),
    "size": (lambda value: type(value) is int, "Input should be a valid integer"),
    "ids": (lambda value: type(value) is int, "Input should be a valid integer"),
    "sha256": (lambda value: isinstance(value, str), "Input should be a valid string"),
    "origin": (lambda value: isinstance(value, dict), "Input should be a valid dictionary"),
}
"""Condition on each setting, in the order of the file, and the message if it is not met."""


def sealed_adapted(values: dict[str, Any], content: bytes) -> str:
    """Return the text of ``tokbench.json`` for settings and the library's file, with their checksum."""
    settings = AdaptedSettings(**json.loads(json.dumps(values)))
    written = {**vars(settings), "sha256": settings.digest(content)}
    return json.dumps({key: written[key] for key in CHECKS}, indent=2) + "\n"


def read_adapted(folder: Path) -> tuple[AdaptedSettings, bytes]:
    """Read a folder; return its settings and the library's file.

    Raises:
        TokbenchError: they are damaged, or are not those that were saved.
    """
    values = read_json(folder / SETTINGS, AGAIN)
    check_values(values, CHECKS, ("format", "sha256"), folder / SETTINGS, AGAIN)
    settings = AdaptedSettings(**values)
    try:
        content = read_regular(folder / ADAPTED)
    except OSError as error:
        raise TokbenchError(f"{folder / ADAPTED}: cannot be read ({first_line(error)}); {AGAIN}") from None
    if settings.sha256 != settings.digest(content):
        raise TokbenchError(f"{folder}: the tokenizer or its settings are not those that were saved; {AGAIN}")
    return settings, content


OWN_PHASES = ("vocabulary", "pretokenization", "scheme", "segmentation", "options")
"""Attributes of a tokenizer in Tokbench's three phases that this one lacks."""
WORDS_BY = "gpt2"
"""Pre-tokenization whose pre-tokens are the words of a text, because a library's own are not known."""
UNUSUAL_TEXTS = ("\U0003134a", "\U0001304b", "\U0001fbf9", "\U0001ed3d", "\U0010fffd", "x" * 1000)
"""Letters, numbers and signs that hardly any vocabulary has, and a long word: they are encoded to the unknown token."""


class AdaptedTokenizer(Tokenizer):
    """External tokenizer with Tokbench's interface, for files that its three phases do not reproduce exactly.

    Texts are UTF-8: other bytes become U+FFFD before the library reads them. Attributes and methods that need a
    vocabulary or the segmentation of pre-tokens raise :class:`TokbenchError`.

    Args:
        library: name of the library, see :mod:`tokbench.tokenizer.libraries`.
        content: file that the library reads.
        settings: settings of the library in addition to the file.
        special: ids that encoding never returns, with their names.
        tokens: number of tokens that encoding can return.
        ids: number of ids, one more than the largest.
        name: name of the tokenizer in tables; default: empty.
        origin: record of the import: source and losses; default: empty.

    Raises:
        TokbenchError: the library is not installed, or does not read the file.
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
        """Return the constructor's arguments; the library's object is not pickled."""
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

    def __copy__(self) -> Self:
        """Return a tokenizer with a new object of the library, whose cache is empty."""
        return type(self)(**self.__getstate__())

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(**state)  # type: ignore[misc]

    def __len__(self) -> int:
        return self.tokens

    @property
    def id_limit(self) -> int:
        return self.ids

    @property
    def has_explicit_ids(self) -> bool:
        return True

    @property
    def named(self) -> NamedTokens:
        """Every id that is not special, with its name in the library."""
        names = {
            token_id: name
            for token_id in range(self.ids)
            if token_id not in self.special and (name := self.library.name(token_id))
        }
        return NamedTokens(tuple(names.values()), np.array([*names], np.int32), self.ids)

    @property
    def entries(self) -> int:
        """Number of ids that encoding may return: the tokens, and the unknown token if a text has one."""
        unknown = self.library.unknown
        return self.tokens + (unknown is not None and any(unknown in self.encode(text) for text in UNUSUAL_TEXTS))

    @property
    def segments_documents(self) -> bool:
        """True: the library segments complete texts."""
        return True

    @property
    def pretokenizer_label(self) -> str:
        return f"{self.name}'s own"

    @property
    def lossless(self) -> bool:
        """False: the library may change texts."""
        return False

    def bytes_lost(self, text: bytes) -> int:
        """Return an upper bound on the bytes of a text that decoding does not restore, in order."""
        return bytes_lost(text, self.restored(self.encode(text)))

    @property
    def can_decode(self) -> bool:
        return bool(getattr(self.library, "can_decode", True))

    def require_decode(self) -> None:
        if not self.can_decode:
            raise TokbenchError(getattr(self.library, "no_decode", f"{self.name}: has no decode"))

    @property
    def decode_limit(self) -> int:
        """Ids that are decoded are below this number."""
        return self.ids

    @property
    def end_and_padding(self) -> dict[str, int]:
        return special_tokens(self.ids, self.special, self.origin)

    @property
    def digest(self) -> str:
        """SHA-256 of the library's file, the settings and the special ids, in hexadecimal digits."""
        if self._digest is None:
            special = {str(token_id): name.hex() for token_id, name in self.special.items()}
            settings = {"library": self.library_name, "settings": self.settings, "special": special}
            content = hashlib.sha256(self.content).hexdigest()
            self._digest = digest_of({"content": content, **settings, **self._ends()})
        return self._digest

    def __repr__(self) -> str:
        return f"AdaptedTokenizer({self.name!r}, {self.library_name}, {len(self)} tokens)"

    def __getattr__(self, name: str) -> NoReturn:
        if name in OWN_PHASES:
            self._has_none(f"a {name} of ours")
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    def _bytes_of(self, token_id: int) -> bytes:
        return self.library.bytes_of(token_id)

    def _has_none(self, what: str) -> NoReturn:
        raise TokbenchError(f"{self._who} and has no {what.removeprefix('a ')}; {MEASURE}")

    def encode(self, text: bytes | str, threads: int = 1) -> NDArray[np.int32]:
        """Encode a text by the library; return ids, int32 [tokens]."""
        with library_errors(f"{self.name}: {self.library_name} fails on a text"):
            return np.array(self.library.encode(readable(text)), np.int32)

    def count(self, text: bytes | str, threads: int = 1) -> int:
        """Return the number of tokens of a text."""
        return len(self.encode(text))

    def encode_batch(self, texts: Iterable[bytes | str], threads: int = 1) -> list[NDArray[np.int32]]:
        """Return the ids of each text, in order."""
        return list(
            parallel_map(self.encode, require_texts(texts), whole_argument("threads", threads, 1, MOST_THREADS))
        )

    def encode_flat(
        self, texts: Iterable[bytes | str], threads: int = 1
    ) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        """Return the concatenated ids of several texts, and the start of each text's ids, int64 [texts + 1]."""
        batch = self.encode_batch(texts, threads)
        return np.concatenate([np.empty(0, np.int32), *batch]), np.cumsum([0, *map(len, batch)], dtype=np.int64)

    def offsets(self, text: bytes | str, threads: int = 1) -> NDArray[np.int64]:
        """Return the starts of the tokens in the bytes of a text, int64 [tokens + 1]; the last entry is its length.

        Raises:
            TokbenchError: the tokens are not contiguous in this text, the text is not UTF-8, or the library reports no
                offsets.
        """
        return borders_of(self.library, as_bytes(text), self._who)

    def byte_offsets(self, text: bytes | str, threads: int = 1) -> NDArray[np.int64]:
        """Return start and end of each token in the bytes of a text, int64 [tokens, 2].

        Spans follow from the tokens' own bytes if these spell the text, or a space and the text. Otherwise they are the
        characters that the library reports: tokens may then overlap, be empty, and omit parts of the text.

        Raises:
            TokbenchError: the text is not UTF-8, or the library reports no offsets.
        """
        return byte_spans(self.library, as_bytes(text), self._who)

    def encode_spans(self, text: bytes | str) -> TokenSpans:
        """Return the ids of a text and the bytes that each token covers; see :mod:`tokbench.tokenizer.offsets`."""
        ids = self.encode(text)
        return token_spans(self.library, ids, as_bytes(text), self.unknown_id) if self.can_decode else not_placed(ids)

    def encode_word(self, word: bytes) -> TokenSpans:
        """Encode one word as a text; spans refer to the word after a space, which most libraries of words add."""
        if not self._adds_space:
            return super().encode_word(word)
        encoded = self.encode_spans(word)
        spans = encoded.spans + 1
        if b"".join(map(self._bytes_of, encoded.ids.tolist())) == b" " + word:
            ends = np.cumsum([0, *(len(self._bytes_of(token_id)) for token_id in encoded.ids.tolist())], dtype=np.int64)
            return encoded._replace(spans=np.stack([ends[:-1], ends[1:]], axis=1), placed=np.ones(len(spans), np.bool_))
        if (
            len(spans)
            and spans[0, 0] == 1
            and encoded.placed[0]
            and self._bytes_of(int(encoded.ids[0])).startswith(b" ")
        ):
            spans[0, 0] = 0
        return encoded._replace(spans=spans)

    @cached_property
    def _adds_space(self) -> bool:
        """Whether the library prepends a space to a text."""
        first = self.encode("a")[:1].tolist()
        try:
            return bool(first) and self._bytes_of(first[0]).startswith(b" ")
        except (KeyError, TokbenchError):
            return False

    @cached_property
    def listed(self) -> TokenList | None:
        """Tokens by their bytes within a text; None if the library does not know them."""
        unknown = self.unknown_id
        forms = {
            token_id: self.library.form(token_id)
            for token_id in range(self.ids)
            if token_id not in self.special and token_id != unknown
        }
        if None in forms.values():
            return None
        known = {token_id: form for token_id, form in forms.items() if form is not None and form[0]}
        inside = np.array([inside for _, inside in known.values()], np.bool_)
        tokens = tuple(token for token, _ in known.values())
        return TokenList(tokens, np.array([*known], np.int32), inside if inside.any() else None) if known else None

    @property
    def words_by(self) -> Pretokenization:
        return pretokenization_of(WORDS_BY)

    @property
    def unknown_id(self) -> int | None:
        return self.library.unknown

    def normalized(self, text: bytes) -> bytes:
        """Return a text as the library normalises it."""
        with library_errors(f"{self.name}: {self.library_name} fails on a text"):
            return self.library.normalized(readable(text)).encode("utf-8", "surrogatepass")

    def character_offsets(self, text: str, threads: int = 1) -> NDArray[np.int64]:
        """Return start and end of each token in the characters of a text, int64 [tokens, 2], from the library.

        Raises:
            TokbenchError: the text is not a ``str``, or see :meth:`offsets`, if the library reports no offsets.
        """
        return character_spans_of(self.library, require_str(text), self._who)

    @property
    def _who(self) -> str:
        return f"{self.name or 'the tokenizer'} works through {self.library_name}"

    def last_cut(self, text: bytes) -> int:
        """Return 0: the library's ids may depend on all of the text, so it is never divided."""
        return 0

    def segment(self, counts: Any, threads: int = 1) -> NoReturn:
        """Raise an error: the library does not read pre-tokens.

        Raises:
            TokbenchError: always.
        """
        self._has_none("a segmentation of pre-tokens")

    def decode(self, ids: ArrayLike) -> bytes:
        """Decode ids in one call of the library, because decoders depend on the ids before and after.

        Special ids are decoded to their names.

        Raises:
            TokbenchError: an id is not in the vocabulary, or is not an integer.
        """
        numbers: list[int] = as_ids(ids).tolist()
        for token_id in (min(numbers, default=0), max(numbers, default=0)):
            if numbers and not 0 <= token_id < self.decode_limit:
                raise TokbenchError(f"id {token_id} is not in the vocabulary (0 to {self.decode_limit - 1})")
        with library_errors(f"{self.name}: {self.library_name} does not decode these ids"):
            try:
                return self.library.decode(numbers, self.special)
            except KeyError as error:
                raise TokbenchError(f"id {error.args[0]} is not in the vocabulary, whose ids have gaps") from None

    def save(self, folder: Path | str, *, configuration: bool = True) -> None:
        """Write the library's file and the settings into a folder; see :meth:`Tokenizer.save`.

        With ``configuration`` (default), ``AutoTokenizer`` finds our class there, too, which names the alternative.
        """
        folder = Path(folder)
        place_of_folder(folder)
        stale = stale_files(folder / SETTINGS, configuration)
        with atomic_files(folder, "tokenizer", last=SETTINGS, stale=stale) as partial:
            (partial / ADAPTED).write_bytes(self.content)
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
            TokbenchError: Tokbench did not write the folder, a file is not the one that was saved, or the library is
                missing.
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


OTHER_FORMATS[ADAPTED] = AdaptedTokenizer
