"""Uniform access to the tokenizer under check: required methods and optional attributes.

Required: ``encode``, ``decode``, ``encode_batch``, ``count`` and ``len``. Optional attributes are read into
:class:`Traits`. Tokbench's tokenizers have a vocabulary and a pre-tokenization; adapters have a library. Any other
object may define the attributes of :class:`Traits` directly. Accessing a missing part may raise :class:`TokbenchError`.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any

from tokbench.errors import TokbenchError
from tokbench.inspection.checks.contexts import PretokenAutomaton
from tokbench.inspection.checks.probes import EVERY_PROBE, emoji_sequences, invalid_utf8, numbers, white_space
from tokbench.pretokenization import Boundaries, schemes
from tokbench.runtime.exit_status import may_be_short
from tokbench.tokenizer import Tokenizer


@dataclass(frozen=True)
class Traits:
    """Optional attributes of a tokenizer; None or empty if absent.

    Attributes:
        tokens: bytes of each token, from ``vocabulary.tokens`` or ``listed.tokens``.
        continuation: for each token, True if it matches only inside a pre-token; from ``continuation`` of the same.
        ids: id of each token, from ``ids`` or ``ids`` of the same; None if ids are the indices of the tokens.
        id_limit: largest id plus one, including special tokens.
        special: ids of special tokens by name, from ``special_tokens`` (by name) or ``special`` (by id).
        unknown_id: id of the unknown token, from ``unknown_id`` or ``library.unknown``.
        bytes_of: function that returns the bytes of an id within a text, from ``bytes_of`` or ``library.bytes_of``.
        normalized: declared normaliser, from ``normalized`` or ``library.normalized``.
        boundaries: function that splits a text into pre-tokens, from ``scheme`` or ``pretokenization``.
        scheme: name of the pre-tokenization.
        patterns: regular expressions of the pre-tokenization, applied in sequence; empty unless they are compiled to
            a scanner.
        segmentation: name of the segmentation.
        last_cut: function that returns the last offset at which a text may be split.
    """

    tokens: Sequence[bytes] | None
    continuation: list[bool] | None
    ids: list[int] | None
    id_limit: int | None
    special: dict[str, int]
    unknown_id: int | None
    bytes_of: Callable[[int], bytes] | None
    normalized: Callable[[str], str] | None
    boundaries: Boundaries | None
    scheme: str
    patterns: tuple[str, ...]
    segmentation: str
    last_cut: Callable[[bytes], int] | None


def traits_of(tokenizer: Any) -> Traits:
    """Return the optional attributes of a tokenizer."""
    vocabulary, library = _part(tokenizer, "vocabulary"), _part(tokenizer, "library")
    if vocabulary is None:  # An adapted tokenizer lists the bytes of its tokens, without marks such as ``##``.
        vocabulary = _part(tokenizer, "listed")
    ids = _part(tokenizer, "ids")
    if ids is None or isinstance(ids, int):
        ids = _part(vocabulary, "ids")
    continuation, unknown = _part(vocabulary, "continuation"), _part(tokenizer, "unknown_id")
    scheme = _part(tokenizer, "pretokenization")
    name = scheme if isinstance(scheme, str) else ""
    own = _part(_part(tokenizer, "scheme"), "boundaries") or _part(scheme, "boundaries")
    return Traits(
        tokens=_part(vocabulary, "tokens"),
        continuation=None if continuation is None else [bool(value) for value in continuation],
        ids=None if ids is None else [int(value) for value in ids],
        id_limit=_part(tokenizer, "id_limit"),
        special=_special(tokenizer),
        unknown_id=_part(library, "unknown") if unknown is None else unknown,
        bytes_of=_part(tokenizer, "bytes_of") or _part(library, "bytes_of"),
        normalized=_normalized(tokenizer, library),
        boundaries=own or (schemes[name].function if name in schemes else None),
        scheme=name,
        patterns=_patterns(_part(tokenizer, "scheme")),
        segmentation=str(_part(tokenizer, "segmentation") or ""),
        last_cut=_part(tokenizer, "last_cut"),
    )


def _normalized(tokenizer: Any, library: Any) -> Callable[[str], str] | None:
    """Return the normaliser of a tokenizer or its library as a function of text; None if there is none."""
    if not isinstance(tokenizer, Tokenizer):
        return _part(tokenizer, "normalized") or _part(library, "normalized")
    if tokenizer.library_name or not tokenizer.normalization:
        normalise: Callable[[str], str] | None = _part(library, "normalized")
        return normalise
    return lambda text: tokenizer.normalized(text.encode("utf-8", "surrogatepass")).decode("utf-8", "surrogatepass")


def _part(whole: Any, name: str) -> Any:
    try:
        return getattr(whole, name, None)
    except TokbenchError:
        return None


def _patterns(scheme: Any) -> tuple[str, ...]:
    return tuple(_part(scheme, "splits") or ()) if _part(scheme, "scanner") is not None else ()


def _special(tokenizer: Any) -> dict[str, int]:
    by_name = _part(tokenizer, "special_tokens")
    if by_name:
        return {str(name): int(token_id) for name, token_id in by_name.items()}
    by_id = _part(tokenizer, "special") or _part(_part(tokenizer, "vocabulary"), "special") or {}
    return {bytes(name).decode("utf-8", "replace"): int(token_id) for token_id, name in by_id.items()}


class EncodeError(Exception):
    """Exception raised by a tokenizer for a text or for ids."""

    def __init__(self, error: Exception) -> None:
        lines = str(error).splitlines() or [""]
        super().__init__(f"{type(error).__name__}: {lines[0][:120]}".rstrip(": "))


@dataclass
class TokenizerUnderTest:
    """A tokenizer under check.

    Checks call ``encode``, ``decode``, ``encode_batch``, ``count`` and ``len``. Optional attributes
    (:class:`Traits`) are checked if present.

    Attributes:
        tokenizer: any object with these methods.
        folder: its folder, which may contain exported forms. Default: None.
        documents: the user's texts. Default: none.
    """

    tokenizer: Any
    folder: Path | None = None
    documents: Sequence[bytes] = ()

    def encode(self, text: bytes) -> list[int]:
        """Return the ids of a text.

        Raises:
            EncodeError: the tokenizer rejects the text.
        """
        return _plain(_call(self.tokenizer.encode, text))

    def encode_each(self, texts: Sequence[bytes]) -> list[list[int] | None]:
        """Return the ids of each text, None for those that the tokenizer rejects. Native tokenizers encode a batch."""
        if type(self.tokenizer) is Tokenizer:
            ids, bounds = (array.tolist() for array in self.tokenizer.encode_flat(texts))
            return [ids[start:end] for start, end in pairwise(bounds)]
        encoded: list[list[int] | None] = []
        for text in texts:
            try:
                encoded.append(self.encode(text))
            except EncodeError:
                encoded.append(None)
        return encoded

    def decode(self, ids: Sequence[int]) -> bytes:
        """Return the bytes of ids.

        Raises:
            EncodeError: the tokenizer rejects the ids.
        """
        decoded = _call(self.tokenizer.decode, list(ids))
        return decoded.encode("utf-8", "surrogatepass") if isinstance(decoded, str) else bytes(decoded)

    def round_trip(self, text: bytes) -> bytes:
        """Return a text after encoding and decoding."""
        return self.decode(self.encode(text))

    def batch(self, texts: Sequence[bytes], **options: Any) -> list[list[int]]:
        """Return the ids of several texts, from ``encode_batch``."""
        return [_plain(ids) for ids in _call(lambda given: list(self.tokenizer.encode_batch(given, **options)), texts)]

    def count(self, text: bytes, **options: Any) -> int:
        """Return the number of tokens of a text, from ``count``."""
        return int(_call(lambda given: self.tokenizer.count(given, **options), text))

    @cached_property
    def traits(self) -> Traits:
        """Optional attributes of the tokenizer."""
        return traits_of(self.tokenizer)

    @cached_property
    def ids(self) -> list[int]:
        """Id of every token that is not special, in vocabulary order."""
        known, special = self.traits.ids, set(self.traits.special.values())
        if known is not None:
            return known
        if self.traits.id_limit is None:
            return list(range(len(self.tokenizer)))
        decodable = [
            token_id for token_id in range(self.traits.id_limit) if token_id not in special and self._decodes(token_id)
        ]
        unknown = self.traits.unknown_id  # Some tokenizers count it in their length.
        return (
            [token_id for token_id in decodable if token_id != unknown]
            if len(decodable) == len(self.tokenizer) + 1
            else decodable
        )

    @cached_property
    def tokens(self) -> dict[int, bytes]:
        """Bytes of every token by id, without tokens that cannot be decoded in isolation."""
        tokens = self.traits.tokens
        if tokens is not None and len(tokens) == len(self.ids):
            return dict(zip(self.ids, tokens, strict=True))
        return dict(self._decoded())

    @cached_property
    def taken(self) -> list[bytes]:
        """Probes and documents that the tokenizer accepts."""
        probes = (b"", *EVERY_PROBE, *white_space(), *emoji_sequences()[:100], *invalid_utf8(), *self.documents)
        return [text for text, ids in zip(probes, self.encode_each(probes), strict=True) if ids is not None]

    @cached_property
    def numbers(self) -> dict[bytes, list[int]]:
        """Ids of the numbers from 0 to 9999.

        Raises:
            EncodeError: the tokenizer rejects a number.
        """
        return {number: self.encode(number) for number in numbers()}

    @cached_property
    def cuts_of_numbers(self) -> dict[int, Counter[str]]:
        """Splits of the numbers from 0 to 9999 by number of digits: token lengths joined by ``+``, with counts.

        Raises:
            EncodeError: the tokenizer rejects a number.
        """
        patterns: defaultdict[int, Counter[str]] = defaultdict(Counter)
        digits = {token_id: len(token.strip()) for token_id, token in self.tokens.items()}
        for number, ids in self.numbers.items():
            sizes = [digits.get(token_id, 0) for token_id in ids]
            if sum(sizes) == len(number):
                patterns[len(number)]["+".join(str(size) for size in sizes if size)] += 1
        return dict(patterns)

    @cached_property
    def pieces(self) -> PretokenAutomaton | None:
        """Automaton of the possible pre-tokens; None without compiled patterns."""
        from tokbench.pretokenization.patterns.parse import LanguageError
        from tokbench.pretokenization.patterns.sequence import automaton_of_sequence

        try:
            return PretokenAutomaton(automaton_of_sequence(self.traits.patterns)) if self.traits.patterns else None
        except LanguageError:  # For example, built-in pre-tokenizations that depend on the end of a text.
            return None

    def _decodes(self, token_id: int) -> bool:
        try:
            self.decode([token_id])
        except EncodeError:
            return False
        return True

    def _decoded(self) -> Iterator[tuple[int, bytes]]:
        """Yield each id with its bytes; prefers ``bytes_of``, because decoding may drop white space."""
        bytes_of = self.traits.bytes_of
        for token_id in self.ids:
            try:
                yield token_id, self.decode([token_id]) if bytes_of is None else bytes(_call(bytes_of, token_id))
            except EncodeError:
                continue

    @cached_property
    def forms(self) -> dict[int, tuple[bytes, bool]]:
        """Bytes of every token by id, with True if it matches only inside a pre-token."""
        inside = self.traits.continuation or [False] * len(self.ids)
        return {
            token_id: (self.tokens[token_id], flag)
            for token_id, flag in zip(self.ids, inside, strict=True)
            if token_id in self.tokens
        }


def _call(call: Callable[..., Any], given: Any) -> Any:
    try:
        return call(given)
    except Exception as error:
        if may_be_short(error):
            raise
        raise EncodeError(error) from error


def _plain(ids: Any) -> list[int]:
    return ids.tolist() if hasattr(ids, "tolist") else list(map(int, ids))
