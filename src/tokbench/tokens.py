"""A vocabulary: the tokens in id order, with what a segmentation may need beside them."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tokbench.atomic import atomic_file
from tokbench.registry import TokbenchError

BYTES: tuple[bytes, ...] = tuple(bytes([value]) for value in range(256))
"""The byte alphabet. Every vocabulary starts with it, so that id ``b`` is byte ``b``."""


VOCABULARY_FILES = ("tokens.vocab", "merges.tsv", "scores.txt", "continuation.txt", "events.tsv")
"""What a vocabulary is written to; all but the first only where it has them."""


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
    """Tokens in id order; ids 0 to 255 are the 256 bytes.

    Attributes:
        tokens: the bytes of each token. Bytes may stand twice only where ``continuation`` tells the two apart.
        merges: int32 [m, 3] (left id, right id, resulting id) in order of creation, for segmentation by merging.
        scores: float64 [tokens], natural logarithms of probabilities, for segmentation by likelihood.
        continuation: bool [tokens], True for a token that matches only inside a pre-token, False for one that
            matches only at its start; None where tokens match anywhere.
        events: merges and removals in the order in which they happened, for segmentation by events. What no merge
            makes is the alphabet; the other tokens are those whose last event is a merge.
    """

    tokens: tuple[bytes, ...]
    merges: NDArray[np.int32] | None = None
    scores: NDArray[np.float64] | None = None
    continuation: NDArray[np.bool_] | None = None
    events: tuple[Event, ...] | None = None

    def __post_init__(self) -> None:
        present = set(self.tokens)
        missing = [token for token in BYTES if token not in present]
        if missing:
            raise TokbenchError(
                f"vocabulary lacks {len(missing)} of the 256 bytes (first: {missing[0].hex()}); "
                "add every single byte, so that any text can be encoded"
            )
        if b"" in present:
            raise TokbenchError(f"vocabulary holds an empty token (id {self.tokens.index(b'')}); remove it")
        if self.continuation is None and len(present) < len(self.tokens):
            seen: set[bytes] = set()
            twice = next(token for token in self.tokens if token in seen or seen.add(token))  # type: ignore[func-returns-value]
            raise TokbenchError(f"vocabulary holds the token {twice.hex()} twice; remove one")

    def __len__(self) -> int:
        return len(self.tokens)

    def flat(self) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
        """The tokens as kernels take them: uint8 bytes end to end, int64 [tokens + 1] offsets."""
        data = np.frombuffer(b"".join(self.tokens), dtype=np.uint8)
        offsets = np.zeros(len(self.tokens) + 1, np.int64)
        np.cumsum([len(token) for token in self.tokens], out=offsets[1:])
        return data, offsets

    def write(self, folder: Path) -> None:
        """Write ``tokens.vocab`` and, where there is any, what segmentations need beside it.

        ``scores.txt`` and ``continuation.txt`` have one line a token in id order. ``merges.tsv`` has one line a merge,
        in order of creation: the two parts in hexadecimal. ``events.tsv`` has one line an event, in order: ``M`` and
        the two parts of a merge, or ``S``, the removed token and its parts, in hexadecimal.
        """
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

    @classmethod
    def read(cls, folder: Path) -> "Vocabulary":
        """Read what :meth:`write` wrote.

        Raises:
            TokbenchError: a file is missing, or is not what its name says.
        """
        tokens = read_tokens(folder / "tokens.vocab")
        ids = {token: index for index, token in enumerate(tokens)}
        merges = _read_lines(folder / "merges.tsv", lambda line: _read_merge(line, ids))
        scores = _read_lines(folder / "scores.txt", float)
        continuation = _read_lines(folder / "continuation.txt", lambda line: bool(int(line)))
        events = _read_lines(folder / "events.tsv", _read_event)
        for name, values in (("scores.txt", scores), ("continuation.txt", continuation)):
            if values is not None and len(values) != len(tokens):
                raise TokbenchError(f"{folder / name}: {len(values)} lines for {len(tokens)} tokens; build it again")
        try:
            return cls(
                tokens,
                None if merges is None else np.array(merges, np.int32).reshape(-1, 3),
                None if scores is None else np.array(scores, np.float64),
                None if continuation is None else np.array(continuation, np.bool_),
                None if events is None else tuple(events),
            )
        except TokbenchError as error:
            raise TokbenchError(f"{folder / 'tokens.vocab'}: {error}") from None


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
    if not path.exists():
        return None
    values = []
    for number, line in enumerate(path.read_text(encoding="ascii").splitlines(), 1):
        try:
            values.append(parse(line))
        except (ValueError, KeyError):
            raise TokbenchError(
                f"{path}:{number}: {line[:60]!r} does not belong here; build the tokenizer again"
            ) from None
    return values


def read_tokens(path: Path | str) -> tuple[bytes, ...]:
    """Read a file of tokens, one in hexadecimal a line, in id order (the form that PathPiece and SaGe use).

    Raises:
        TokbenchError: the file is missing or a line is not hexadecimal.
    """
    path = Path(path)
    try:
        lines = path.read_text(encoding="ascii").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise TokbenchError(f"{path}: not a readable vocabulary ({error})") from None
    tokens = []
    for number, line in enumerate(lines, 1):
        try:
            tokens.append(bytes.fromhex(line))
        except ValueError:
            raise TokbenchError(f"{path}:{number}: {line[:60]!r} is not a token in hexadecimal") from None
    return tuple(tokens)


def write_tokens(tokens: Sequence[bytes], path: Path | str) -> None:
    """Write tokens, one in lowercase hexadecimal a line; the file appears whole or not at all."""
    _write(Path(path), (f"{token.hex()}\n" for token in tokens))


def _write(path: Path, lines: Iterable[str]) -> None:
    with atomic_file(path) as partial:
        partial.write_text("".join(lines), encoding="ascii")
