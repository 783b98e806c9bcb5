"""What a tokenizer may have beside ``encode``, ``decode``, ``encode_batch``, ``count`` and ``len``.

Ours have a vocabulary and a pre-tokenization, adapters the library that they work through. A tokenizer of anybody's may
have the attributes of :class:`Traits` itself. What asks for a part that a tokenizer has not may raise our own error.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from tokbench.errors import TokbenchError
from tokbench.pretokenization import Boundaries, schemes


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
