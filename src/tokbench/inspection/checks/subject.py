"""The tokenizer that is checked, behind the few calls that every check makes.

What a tokenizer may have beside ``encode``, ``decode``, ``encode_batch``, ``count`` and ``len``.

Ours have a vocabulary and a pre-tokenization, adapters the library that they work through. A tokenizer of anybody's may
have the attributes of :class:`Traits` itself. What asks for a part that a tokenizer has not may raise our own error.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from tokbench.errors import TokbenchError
from tokbench.inspection.checks.contexts import PretokenAutomaton
from tokbench.inspection.checks.probes import EVERY_PROBE, emoji_sequences, invalid_utf8, numbers, white_space
from tokbench.pretokenization import Boundaries, schemes
from tokbench.runtime.exit_status import may_be_short


@dataclass(frozen=True)
class Traits:
    """What a tokenizer has beside what every one answers; None or empty where it has not.

    Attributes:
        tokens: the bytes of its tokens, ``vocabulary.tokens``.
        continuation: whether each matches only inside a pre-token, ``vocabulary.continuation``.
        ids: the id of each token, ``ids`` or ``vocabulary.ids``, where it is not the token's place.
        id_limit: one more than the largest id, special ones included.
        special: ids that stand for special tokens, by name: ``special_tokens``, or ``special``, which has them by id.
        unknown_id: the id of what it has no token for, ``unknown_id`` or ``library.unknown``.
        bytes_of: what tells the bytes of an id within a text, ``bytes_of`` or ``library.bytes_of``.
        normalized: the normaliser that it declares, ``normalized`` or ``library.normalized``.
        boundaries: what cuts a text into its pre-tokens, that of ``scheme`` or of ``pretokenization``.
        scheme: the name of its pre-tokenization.
        patterns: regular expressions that cut as the pre-tokenization does, one after another, where a scanner was made
            of them.
        segmentation: the name of its segmentation.
        last_cut: what tells where a text may be cut.
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
    """What a tokenizer has."""
    vocabulary, library = _part(tokenizer, "vocabulary"), _part(tokenizer, "library")
    ids = _part(tokenizer, "ids")
    if ids is None or isinstance(ids, int):
        ids = _part(vocabulary, "ids")
    continuation, unknown = _part(vocabulary, "continuation"), _part(tokenizer, "unknown_id")
    scheme = _part(tokenizer, "pretokenization")
    name = scheme if isinstance(scheme, str) else ""
    own = _part(_part(tokenizer, "scheme"), "boundaries") or _part(scheme, "boundaries")
    return Traits(
        tokens=_part(vocabulary, "tokens"),
        continuation=None if continuation is None else [bool(one) for one in continuation],
        ids=None if ids is None else [int(one) for one in ids],
        id_limit=_part(tokenizer, "id_limit"),
        special=_special(tokenizer),
        unknown_id=_part(library, "unknown") if unknown is None else unknown,
        bytes_of=_part(tokenizer, "bytes_of") or _part(library, "bytes_of"),
        normalized=_part(tokenizer, "normalized") or _part(library, "normalized"),
        boundaries=own or (schemes[name].function if name in schemes else None),
        scheme=name,
        patterns=_patterns(_part(tokenizer, "scheme")),
        segmentation=str(_part(tokenizer, "segmentation") or ""),
        last_cut=_part(tokenizer, "last_cut"),
    )


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
        return {str(name): int(one) for name, one in by_name.items()}
    by_id = _part(tokenizer, "special") or _part(_part(tokenizer, "vocabulary"), "special") or {}
    return {bytes(name).decode("utf-8", "replace"): int(one) for one, name in by_id.items()}


class EncodeError(Exception):
    """What a tokenizer raised when it was given a text or ids."""

    def __init__(self, error: Exception) -> None:
        lines = str(error).splitlines() or [""]
        super().__init__(f"{type(error).__name__}: {lines[0][:120]}".rstrip(": "))


@dataclass
class TokenizerUnderTest:
    """A tokenizer under check.

    Of the tokenizer are asked ``encode``, ``decode``, ``encode_batch``, ``count`` and ``len``. What it may have beside
    them is asked in :mod:`tokbench.inspection.checks.subject`, and then checked as well.

    Attributes:
        tokenizer: any object that answers these.
        folder: where it lies, with its exported forms beside it; None for one that lies nowhere.
        documents: texts of the user's.
    """

    tokenizer: Any
    folder: Path | None = None
    documents: Sequence[bytes] = ()

    def encode(self, text: bytes) -> list[int]:
        """Ids of a text.

        Raises:
            Rejection: the tokenizer does not take it.
        """
        return _plain(_asked(self.tokenizer.encode, text))

    def decode(self, ids: Sequence[int]) -> bytes:
        """Bytes of ids.

        Raises:
            Rejection: the tokenizer does not take them.
        """
        decoded = _asked(self.tokenizer.decode, list(ids))
        return decoded.encode("utf-8", "surrogatepass") if isinstance(decoded, str) else bytes(decoded)

    def back(self, text: bytes) -> bytes:
        """What a text comes back as."""
        return self.decode(self.encode(text))

    def batch(self, texts: Sequence[bytes], **options: Any) -> list[list[int]]:
        """Ids of several texts, as ``encode_batch`` gives them."""
        return [_plain(ids) for ids in _asked(lambda given: list(self.tokenizer.encode_batch(given, **options)), texts)]

    def count(self, text: bytes, **options: Any) -> int:
        """How many tokens a text has, as ``count`` tells."""
        return int(_asked(lambda given: self.tokenizer.count(given, **options), text))

    @cached_property
    def traits(self) -> Traits:
        """What the tokenizer has beside what every one answers."""
        return traits_of(self.tokenizer)

    @cached_property
    def ids(self) -> list[int]:
        """The id of every token that a text may give, in the vocabulary's order."""
        known, special = self.traits.ids, set(self.traits.special.values())
        if known is not None:
            return known
        if self.traits.id_limit is None:
            return list(range(len(self.tokenizer)))
        found = [one for one in range(self.traits.id_limit) if one not in special and self._decodes(one)]
        unknown = self.traits.unknown_id  # A token to some and not to others.
        return [one for one in found if one != unknown] if len(found) == len(self.tokenizer) + 1 else found

    @cached_property
    def tokens(self) -> dict[int, bytes]:
        """The bytes of every token, by id; tokens that cannot be decoded by themselves are not there."""
        tokens = self.traits.tokens
        if tokens is not None and len(tokens) == len(self.ids):
            return dict(zip(self.ids, tokens, strict=True))
        return dict(self._decoded())

    @cached_property
    def taken(self) -> list[bytes]:
        """Probes and documents that the tokenizer takes."""
        found = []
        for text in (b"", *EVERY_PROBE, *white_space(), *emoji_sequences()[:100], *invalid_utf8(), *self.documents):
            with suppress(EncodeError):
                self.encode(text)
                found.append(text)
        return found

    @cached_property
    def numbers(self) -> dict[bytes, list[int]]:
        """Ids of the numbers from 0 to 9999.

        Raises:
            Rejection: the tokenizer does not take them.
        """
        return {number: self.encode(number) for number in numbers()}

    @cached_property
    def cuts_of_numbers(self) -> dict[int, Counter[str]]:
        """By length: how numbers from 0 to 9999 are cut, as lengths of their parts, with counts.

        Raises:
            Rejection: the tokenizer does not take them.
        """
        found: defaultdict[int, Counter[str]] = defaultdict(Counter)
        digits = {one: len(token.strip()) for one, token in self.tokens.items()}
        for number, ids in self.numbers.items():
            sizes = [digits.get(one, 0) for one in ids]
            if sum(sizes) == len(number):
                found[len(number)]["+".join(str(size) for size in sizes if size)] += 1
        return dict(found)

    @cached_property
    def pieces(self) -> PretokenAutomaton | None:
        """What pre-tokens there are, where patterns that are compiled cut texts."""
        from tokbench.pretokenization.patterns.parse import LanguageError
        from tokbench.pretokenization.patterns.sequence import automaton_of_sequence

        try:
            return PretokenAutomaton(automaton_of_sequence(self.traits.patterns)) if self.traits.patterns else None
        except LanguageError:  # As of the built-in pre-tokenizations that count the end of a text.
            return None

    def _decodes(self, one: int) -> bool:
        try:
            self.decode([one])
        except EncodeError:
            return False
        return True

    def _decoded(self) -> Iterator[tuple[int, bytes]]:
        """Each id by itself; what its own tokenizer says of it counts, since decoding may drop blanks."""
        told = self.traits.bytes_of
        for one in self.ids:
            try:
                yield one, self.decode([one]) if told is None else bytes(_asked(told, one))
            except EncodeError:
                continue

    @cached_property
    def forms(self) -> dict[int, tuple[bytes, bool]]:
        """Every token with whether it matches only inside a pre-token, by id."""
        inside = self.traits.continuation or [False] * len(self.ids)
        return {one: (self.tokens[one], flag) for one, flag in zip(self.ids, inside, strict=True) if one in self.tokens}


def _asked(call: Callable[..., Any], given: Any) -> Any:
    try:
        return call(given)
    except Exception as error:
        if may_be_short(error):
            raise
        raise EncodeError(error) from error


def _plain(ids: Any) -> list[int]:
    return ids.tolist() if hasattr(ids, "tolist") else list(map(int, ids))
