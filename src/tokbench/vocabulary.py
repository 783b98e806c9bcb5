"""A vocabulary: the tokens in id order, with what a segmentation may need beside them.

Scores by which tokens are chosen for their likelihood, where some are barred by minus infinity.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tokbench.errors import TokbenchError
from tokbench.io.atomic import atomic_file
from tokbench.io.compression import read_regular
from tokbench.io.numbers import LARGEST_VOCABULARY, real_number, whole_number

BYTES: tuple[bytes, ...] = tuple(bytes([value]) for value in range(256))
"""The byte alphabet. Every vocabulary starts with it, so that id ``b`` is byte ``b``."""


VOCABULARY_FILES = (
    *("tokens.vocab", "merges.tsv", "scores.txt", "continuation.txt", "events.tsv"),
    *("ids.txt", "special_ids.tsv"),
)
"""What a vocabulary is written to; all but the first only where it has them."""


class Named(NamedTuple):
    """Tokens of which no more is known than what another library calls them.

    Attributes:
        tokens: UTF-8 of the names, or the bytes of a token where the library tells these.
        ids: int32 [tokens], their ids.
        id_limit: one more than the largest id that there is.
    """

    tokens: tuple[bytes, ...]
    ids: NDArray[np.int32]
    id_limit: int


class Event(NamedTuple):
    """A merge, or the removal of a token, in the history of a vocabulary that removes tokens.

    Attributes:
        split: False where the parts became one token, True where the token of these parts was removed and left them.
        parts: the bytes of the parts, two for a merge; joined they are the token. Bytes rather than ids, since a
            removed token has no id.
    """

    split: bool
    parts: tuple[bytes, ...]

    @property
    def token(self) -> bytes:
        """The token that was made or removed."""
        return b"".join(self.parts)


@dataclass(frozen=True, slots=True, eq=False)
class Vocabulary:
    """Tokens in id order, each of the 256 bytes among them.

    In what a construction makes and a folder holds, the bytes come first, so that id ``b`` is byte ``b``. A vocabulary
    that was made elsewhere may have them anywhere, and says by which ids its tokens are known there.

    Attributes:
        tokens: the bytes of each token. Bytes may stand twice only where ``continuation`` tells the two apart.
        merges: int32 [m, 3] (left id, right id, resulting id) in order of creation, for segmentation by merging.
        scores: float64 [tokens], natural logarithms of probabilities, for segmentation by likelihood.
        continuation: bool [tokens], True for a token that matches only inside a pre-token, False for one that
            matches only at its start; None where tokens match anywhere.
        events: merges and removals in the order in which they happened, for segmentation by events. What no merge
            makes is the alphabet; the other tokens are those whose last event is a merge.
        ids: int32 [tokens], the id by which a tokenizer gives each token where it was made elsewhere; None where that
            is the token's place. Merges, scores and metrics go by place.
        special: ids that no text gives, with the bytes that stand for them: special tokens, and what spells no bytes.

    Examples:
        >>> tokbench.Vocabulary((*(bytes([value]) for value in range(256)), b"th", b"the"))
        Vocabulary(258 tokens)
    """

    tokens: tuple[bytes, ...]
    merges: NDArray[np.int32] | None = None
    scores: NDArray[np.float64] | None = None
    continuation: NDArray[np.bool_] | None = None
    events: tuple[Event, ...] | None = None
    ids: NDArray[np.int32] | None = None
    special: Mapping[int, bytes] = field(default_factory=dict)

    def __repr__(self) -> str:
        parts = [
            name for name in ("merges", "scores", "continuation", "events", "ids") if getattr(self, name) is not None
        ]
        return f"Vocabulary({', '.join([f'{len(self.tokens):,} tokens', *parts])})"

    def __post_init__(self) -> None:
        for place, token in enumerate(self.tokens):
            if not isinstance(token, bytes):
                raise TokbenchError(
                    f"vocabulary: token {place} is {type(token).__name__}, not bytes; give each token as bytes"
                )
        present = set(self.tokens)
        missing = [token for token in BYTES if token not in present]
        if missing:
            raise TokbenchError(
                f"vocabulary lacks {len(missing)} of the 256 bytes (first: {missing[0].hex()}); "
                "add every single byte, so that any text can be encoded"
            )
        if b"" in present:
            raise TokbenchError(f"vocabulary holds an empty token (id {self.tokens.index(b'')}); remove it")
        if self.continuation is not None and self.continuation.shape != (len(self.tokens),):
            raise TokbenchError(
                f"vocabulary has continuation flags of shape {list(self.continuation.shape)} for {len(self.tokens)} "
                "tokens; give one for each token"
            )
        if len(present) < len(self.tokens):
            flags = [False] * len(self.tokens) if self.continuation is None else self.continuation.tolist()
            seen: set[tuple[bytes, bool]] = set()
            for form in zip(self.tokens, flags, strict=True):
                if form in seen:
                    told = " inside pre-tokens" if form[1] else ""
                    raise TokbenchError(f"vocabulary holds the token {form[0].hex()}{told} twice; remove one")
                seen.add(form)
        if self.ids is not None:
            self._check_ids(self.ids)

    def _check_ids(self, ids: NDArray[np.int32]) -> None:
        if ids.shape != (len(self.tokens),):
            raise TokbenchError(f"vocabulary has {ids.size} ids for {len(self.tokens)} tokens; give one for each token")
        known = np.sort(np.concatenate([ids, np.fromiter(self.special, np.int64, len(self.special))]))
        if known[0] < 0 or known[-1] >= LARGEST_VOCABULARY:
            wrong = known[0] if known[0] < 0 else known[-1]
            raise TokbenchError(f"vocabulary has the id {wrong}; ids are 0 to {LARGEST_VOCABULARY - 1}")
        if len(twice := known[1:][known[1:] == known[:-1]]):
            raise TokbenchError(f"vocabulary has the id {twice[0]} twice; give each token its own")

    def check_order(self) -> None:
        """Reject a vocabulary without ids of its own that does not begin with the 256 bytes.

        Raises:
            TokbenchError: another token is where a byte belongs; the message names both.
        """
        if self.ids is None and self.tokens[: len(BYTES)] != BYTES:
            place = next(index for index, byte in enumerate(BYTES) if self.tokens[index] != byte)
            raise TokbenchError(
                f"vocabulary has the token {self.tokens[place].hex()} where the byte {place:02x} belongs (id {place}); "
                "begin with the 256 bytes in order, so that id b is byte b"
            )

    def __len__(self) -> int:
        return len(self.tokens)

    @property
    def id_limit(self) -> int:
        """One more than the largest id, special ones included: rows that a model needs for its embeddings."""
        if self.ids is None:
            return len(self.tokens)
        return max(int(self.ids.max()), *self.special, -1) + 1

    def flat(self) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
        """The tokens as kernels take them: uint8 bytes end to end, int64 [tokens + 1] offsets."""
        data = np.frombuffer(b"".join(self.tokens), dtype=np.uint8)
        offsets = np.zeros(len(self.tokens) + 1, np.int64)
        np.cumsum(np.fromiter(map(len, self.tokens), np.int64, len(self.tokens)), out=offsets[1:])
        return data, offsets

    @property
    def by_id(self) -> tuple[bytes, ...]:
        """The bytes of each id below :attr:`id_limit`; none of ids that no text gives."""
        if self.ids is None:
            return self.tokens
        known = dict(zip(self.ids.tolist(), self.tokens, strict=True))
        return tuple(known.get(one, b"") for one in range(self.id_limit))

    def write(self, folder: Path) -> None:
        """Write ``tokens.vocab`` and, where there is any, what segmentations need beside it.

        ``scores.txt`` and ``continuation.txt`` have one line a token in id order. ``merges.tsv`` has one line a merge,
        in order of creation: the two parts in hexadecimal. ``events.tsv`` has one line an event, in order: ``M`` and
        the two parts of a merge, or ``S``, the removed token and its parts, in hexadecimal. ``ids.txt`` has the id of
        each token, and ``special_ids.tsv`` each special id with its bytes in hexadecimal.

        Raises:
            TokbenchError: the vocabulary does not begin with the 256 bytes.
        """
        self.check_order()
        for name in VOCABULARY_FILES:
            (folder / name).unlink(missing_ok=True)  # Those of an older vocabulary would be read with this one.
        write_tokens(self.tokens, folder / "tokens.vocab")
        if self.merges is not None:
            pairs = (
                f"{self.tokens[left].hex()}\t{self.tokens[right].hex()}\n" for left, right, _ in self.merges.tolist()
            )
            _write(folder / "merges.tsv", pairs)
        if self.scores is not None:
            _write(folder / "scores.txt", (f"{score!r}\n" for score in self.scores.tolist()))
        if self.continuation is not None:
            _write(folder / "continuation.txt", (f"{int(flag)}\n" for flag in self.continuation.tolist()))
        if self.events is not None:
            _write(folder / "events.tsv", map(_event_line, self.events))
        if self.ids is not None:
            _write(folder / "ids.txt", (f"{one}\n" for one in self.ids.tolist()))
        if self.special:
            _write(folder / "special_ids.tsv", (f"{one}\t{token.hex()}\n" for one, token in self.special.items()))

    @classmethod
    def read(cls, folder: Path) -> "Vocabulary":
        """Read what :meth:`write` wrote.

        Raises:
            TokbenchError: a file is missing, or is not what its name says.
        """
        tokens = read_tokens(folder / "tokens.vocab")
        ids = {token: index for index, token in enumerate(tokens)}
        merges = _read_lines(folder / "merges.tsv", lambda line: _read_merge(line, ids))
        scores = _read_lines(folder / "scores.txt", _read_score)
        continuation = _read_lines(folder / "continuation.txt", ("0", "1").index)
        events = _read_lines(folder / "events.tsv", _read_event)
        own = _read_lines(folder / "ids.txt", _read_id)
        special = _read_lines(folder / "special_ids.tsv", _read_special)
        for name, values in (("scores.txt", scores), ("continuation.txt", continuation), ("ids.txt", own)):
            if values is not None and len(values) != len(tokens):
                raise TokbenchError(f"{folder / name}: {len(values)} lines for {len(tokens)} tokens; build it again")
        try:
            vocabulary = cls(
                tokens,
                None if merges is None else np.array(merges, np.int32).reshape(-1, 3),
                None if scores is None else np.array(scores, np.float64),
                None if continuation is None else np.array(continuation, np.bool_),
                None if events is None else tuple(events),
                None if own is None else np.array(own, np.int32),
                dict(special or ()),
            )
            vocabulary.check_order()
        except TokbenchError as error:
            raise TokbenchError(f"{folder / 'tokens.vocab'}: {error}") from None
        return vocabulary


def _read_score(line: str) -> float:
    """A logarithm of a probability; minus infinity bars a token."""
    return -math.inf if line == "-inf" else real_number(line)


def _read_id(line: str) -> int:
    return whole_number(line, 0, LARGEST_VOCABULARY - 1)


def _read_special(line: str) -> tuple[int, bytes]:
    number, token = line.split("\t")
    return _read_id(number), bytes.fromhex(token)


def _read_merge(line: str, ids: dict[bytes, int]) -> tuple[int, int, int]:
    left, right = map(bytes.fromhex, line.split("\t"))
    return ids[left], ids[right], ids[left + right]


def _event_line(event: Event) -> str:
    fields = ["S", event.token.hex()] if event.split else ["M"]
    return "\t".join([*fields, *(part.hex() for part in event.parts)]) + "\n"


def _read_event(line: str) -> Event:
    kind, *fields = line.split("\t")
    event = Event(kind == "S", tuple(map(bytes.fromhex, fields[1:] if kind == "S" else fields)))
    number = len(event.parts)
    if _event_line(event).rstrip("\n") != line or not all(event.parts) or (number < 2 if event.split else number != 2):
        raise ValueError(line)
    return event


def _read_lines(path: Path, parse: Callable[[str], Any]) -> list[Any] | None:
    """What each line holds; None where there is no such file."""
    if not path.exists():
        return None
    values = []
    for number, line in enumerate(_lines(path), 1):
        try:
            values.append(parse(line))
        except (ValueError, KeyError):
            raise TokbenchError(f"{path}:{number}: this line does not belong here; build the tokenizer again") from None
    return values


def read_tokens(path: Path | str) -> tuple[bytes, ...]:
    """Read a file of tokens, one in hexadecimal a line, in id order (the form that PathPiece and SaGe use).

    Raises:
        TokbenchError: the file is missing or a line is not hexadecimal.
    """
    path = Path(path)
    tokens = []
    for number, line in enumerate(_lines(path), 1):
        try:
            tokens.append(bytes.fromhex(line))
        except ValueError:
            raise TokbenchError(f"{path}:{number}: this line is not a token in hexadecimal") from None
    return tuple(tokens)


def _lines(path: Path) -> list[str]:
    try:
        return read_regular(path).decode("ascii").splitlines()
    except OSError as error:
        raise TokbenchError(f"{path}: not a readable vocabulary ({error.strerror}); name or build another") from None
    except UnicodeDecodeError as error:
        raise TokbenchError(
            f"{path}: not a readable vocabulary (byte {error.start} is not ASCII); name or build another"
        ) from None


def write_tokens(tokens: Sequence[bytes], path: Path | str) -> None:
    """Write tokens, one in lowercase hexadecimal a line; the file appears whole or not at all."""
    _write(Path(path), (f"{token.hex()}\n" for token in tokens))


def _write(path: Path, lines: Iterable[str]) -> None:
    with atomic_file(path) as partial:
        partial.write_text("".join(lines), encoding="ascii")


UNKNOWN_PENALTY = 10.0
"""Nats below the lowest score at which a byte without a score is used, as unknown characters are in SentencePiece."""


def usable_scores(
    tokens: Sequence[bytes], scores: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Scores, finite for barred tokens too, and which tokens may be used: all single bytes may.

    At least one score is finite.
    """
    finite = np.isfinite(scores)
    single = np.fromiter((len(token) == 1 for token in tokens), np.bool_, len(tokens))
    return np.where(finite, scores, scores[finite].min() - UNKNOWN_PENALTY), finite | single
