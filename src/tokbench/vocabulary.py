"""Vocabularies: tokens in id order, with merges, scores and other data of segmentations."""

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tokbench.errors import TokbenchError
from tokbench.io.compression import read_regular
from tokbench.io.numbers import LARGEST_BYTES, LARGEST_VOCABULARY, REAL, whole_number
from tokbench.kernels.token_lists import flat_tokens, parse_ids, parse_merges, parse_tokens

BYTES: tuple[bytes, ...] = tuple(bytes([value]) for value in range(256))
"""The byte alphabet. Every vocabulary starts with it, so that id ``b`` is byte ``b``."""


EXCLUDED_SCORE = "-inf"
"""Score of a token that no text has."""
SCORE = re.compile(f"{EXCLUDED_SCORE}|{REAL.pattern}", re.ASCII)
VOCABULARY_FILES = (
    *("tokens.vocab", "merges.tsv", "scores.txt", "continuation.txt", "events.tsv"),
    *("ids.txt", "special_ids.tsv", "substring_counts.tsv", "tuples.tsv", "supermerges.tsv", "record.json"),
    *("added.txt", "unused_ids.tsv"),
)
"""Files of a vocabulary; all except the first are optional."""
RECORD = "record.json"
"""File about the construction; no id follows from it."""
INVALID = "invalid line; build the tokenizer again"
UNKNOWN_PENALTY = 10.0
"""Penalty in nats, below the lowest score, of a byte without a score; that of unknown characters in SentencePiece."""
UNITS = 512
"""Units per nat of scores as integers."""


class NamedTokens(NamedTuple):
    """Tokens of another library that are known only by name.

    Attributes:
        tokens: UTF-8 of the names, or the bytes of a token if the library exposes them.
        ids: int32 [tokens], id of each token.
        id_limit: largest id plus one.
    """

    tokens: tuple[bytes, ...]
    ids: NDArray[np.int32]
    id_limit: int


@dataclass(frozen=True, slots=True, eq=False)
class TokenList:
    """Tokens of another library by their bytes within a text. Some of the 256 bytes may be missing.

    Attributes:
        tokens: bytes of each token, without marks of continuation; a mark for a space is a space.
        ids: int32 [tokens], id of each token.
        continuation: as in :class:`Vocabulary`. Default: None.
        events: None, because libraries keep no record of removals.
    """

    tokens: tuple[bytes, ...]
    ids: NDArray[np.int32]
    continuation: NDArray[np.bool_] | None = None
    events: None = None

    def __len__(self) -> int:
        return len(self.tokens)

    def flat(self) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
        """Return concatenated bytes of the tokens, uint8, and offsets, int64 [tokens + 1]."""
        return flat_tokens(self.tokens)


class Event(NamedTuple):
    """A merge, or the removal of a token, in the history of a vocabulary that removes tokens.

    Attributes:
        split: False if the parts were merged into a token, True if that token was removed and split into the parts.
        parts: bytes of the parts, two for a merge; joined, they are the token. Bytes instead of ids, because a
            removed token has no id.
    """

    split: bool
    parts: tuple[bytes, ...]

    @property
    def token(self) -> bytes:
        """The token that was created or removed."""
        return b"".join(self.parts)


class SubstringCounts(NamedTuple):
    """Strings with their occurrences in the text of a construction.

    Attributes:
        data: uint8 [bytes], concatenated strings.
        offsets: int64 [n + 1], start of each string in ``data``.
        counts: int64 [n], occurrences, which may overlap.
    """

    data: NDArray[np.uint8]
    offsets: NDArray[np.int64]
    counts: NDArray[np.int64]

    @classmethod
    def from_pairs(cls, pairs: Iterable[tuple[bytes, int]]) -> "SubstringCounts":
        """Build from (string, count) pairs."""
        texts, counts = zip(*pairs, strict=True)
        offsets = np.cumsum([0, *map(len, texts)], dtype=np.int64)
        return cls(np.frombuffer(b"".join(texts), np.uint8), offsets, np.array(counts, np.int64))

    def items(self) -> Iterator[tuple[bytes, int]]:
        """Iterate over (string, count) pairs."""
        text, ends = self.data.tobytes(), self.offsets.tolist()
        for start, end, count in zip(ends, ends[1:], self.counts.tolist(), strict=False):
            yield text[start:end], count


@dataclass(frozen=True, slots=True, eq=False)
class Vocabulary:
    """Tokens in id order, including each of the 256 bytes.

    In vocabularies of Tokbench's constructions and folders, the bytes come first, so that id ``b`` is byte ``b``.
    External vocabularies may have them anywhere, and have explicit ``ids``.

    Attributes:
        tokens: bytes of each token. Equal bytes may occur twice only with different ``continuation``.
        merges: int32 [m, 3] (left id, right id, resulting id) in order of creation, for segmentation by merging.
            Default: None.
        scores: float64 [tokens], natural logarithms of probabilities, for segmentation by likelihood. Default: None.
        continuation: bool [tokens], True for a token that matches only inside a pre-token, False for one that
            matches only at its start; None if tokens match anywhere. Default: None.
        events: merges and removals in chronological order, for segmentation by events. The alphabet consists of tokens
            without a merge; the other tokens are those whose last event is a merge. Default: None.
        ids: int32 [tokens], id of each token of an external tokenizer; None if ids are the indices of the tokens.
            Merges, scores and metrics use indices. Default: None.
        special: names by id of the special tokens of an external tokenizer, in UTF-8; text never has these ids.
            Default: none.
        substring_counts: strings that may be parts of a split, including the 256 bytes, for segmentation by split
            trees. Default: None.
        tuples: parts of each merge, two or more, in order of rank, for segmentation by merges of tuples; joined, they
            are the token that it makes. Default: None.
        record: facts about the construction, as JSON values. No segmentation reads them. Default: None.
        supermerges: both parts of each merge of pre-tokens, in order of rank, for segmentation of documents into
            superwords. Default: None.
        added: bool [tokens], True for an added token: a pre-token that equals one is not split. Default: None.
        unused: bytes by id of all other ids of an external tokenizer that text never has, such as tokens that no merge
            makes. Decoding returns these bytes; they are not the name of anything in a text. Default: none.

    Raises:
        TokbenchError: a byte is missing, a token is empty or duplicate, or lengths or ids are inconsistent.

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
    substring_counts: SubstringCounts | None = None
    tuples: tuple[tuple[bytes, ...], ...] | None = None
    record: Mapping[str, Any] | None = None
    supermerges: tuple[tuple[bytes, bytes], ...] | None = None
    added: NDArray[np.bool_] | None = None
    unused: Mapping[int, bytes] = field(default_factory=dict)

    def __repr__(self) -> str:
        optional = (
            *("merges", "scores", "continuation", "events", "ids", "substring_counts", "tuples", "supermerges"),
            "added",
        )
        parts = [name for name in optional if getattr(self, name) is not None]
        return f"Vocabulary({', '.join([f'{len(self.tokens):,} tokens', *parts])})"

    def __post_init__(self) -> None:
        if {*map(type, self.tokens)} != {bytes}:
            for place, token in enumerate(self.tokens):
                if not isinstance(token, bytes):
                    raise TokbenchError(
                        f"vocabulary: token {place} is {type(token).__name__}, not bytes; pass each token as bytes"
                    )
        # Every byte, and no empty token.
        present = set(self.tokens)
        missing = [token for token in BYTES if token not in present]
        if missing:
            raise TokbenchError(
                f"vocabulary lacks {len(missing)} of the 256 bytes (first: {missing[0].hex()}); "
                "add every single byte, so that any text can be encoded"
            )
        if b"" in present:
            raise TokbenchError(f"vocabulary has an empty token (id {self.tokens.index(b'')}); remove it")
        # One flag for each token.
        if self.continuation is not None and self.continuation.shape != (len(self.tokens),):
            raise TokbenchError(
                f"vocabulary has continuation flags of shape {list(self.continuation.shape)} for {len(self.tokens)} "
                "tokens; pass one for each token"
            )
        if self.added is not None and self.added.shape != (len(self.tokens),):
            raise TokbenchError(
                f"vocabulary has flags of added tokens of shape {list(self.added.shape)} for {len(self.tokens)} "
                "tokens; pass one for each token"
            )
        # No token twice, except in both positions.
        if len(present) < len(self.tokens):
            flags = [False] * len(self.tokens) if self.continuation is None else self.continuation.tolist()
            seen: set[tuple[bytes, bool]] = set()
            for form in zip(self.tokens, flags, strict=True):
                if form in seen:
                    message = " inside pre-tokens" if form[1] else ""
                    raise TokbenchError(f"vocabulary has the token {form[0].hex()}{message} twice; remove one")
                seen.add(form)
        if self.ids is not None:
            self._check_ids(self.ids)

    def _check_ids(self, ids: NDArray[np.int32]) -> None:
        if ids.shape != (len(self.tokens),):
            raise TokbenchError(f"vocabulary has {ids.size} ids for {len(self.tokens)} tokens; pass one for each token")
        known = np.sort(np.concatenate([ids, np.array([*self.special, *self.unused], np.int64)]))
        if known[0] < 0 or known[-1] >= LARGEST_VOCABULARY:
            wrong = known[0] if known[0] < 0 else known[-1]
            raise TokbenchError(f"vocabulary has the id {wrong}; ids are 0 to {LARGEST_VOCABULARY - 1}")
        if len(twice := known[1:][known[1:] == known[:-1]]):
            raise TokbenchError(f"vocabulary has the id {twice[0]} twice; use different ids")

    def check_order(self) -> None:
        """Check that a vocabulary without explicit ids begins with the 256 bytes in order.

        Raises:
            TokbenchError: another token is in the place of a byte; the message names both.
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
        """Largest id plus one, including special ids; the number of rows of an embedding matrix."""
        if self.ids is None:
            return len(self.tokens)
        return max(int(self.ids.max()), *self.special, *self.unused, -1) + 1

    def flat(self) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
        """Return the tokens for kernels: concatenated bytes (uint8) and offsets (int64 [tokens + 1])."""
        return flat_tokens(self.tokens)

    @property
    def by_id(self) -> tuple[bytes, ...]:
        """Bytes of each id below :attr:`id_limit`; empty for ids that text never has."""
        if self.ids is None:
            return self.tokens
        tokens = dict(zip(self.ids.tolist(), self.tokens, strict=True))
        return tuple(tokens.get(number, b"") for number in range(self.id_limit))

    def write(self, folder: Path) -> None:
        """Write ``tokens.vocab`` and the optional files of :data:`VOCABULARY_FILES`.

        ``scores.txt`` and ``continuation.txt`` have one line per token in id order. ``merges.tsv`` has one line per
        merge, in order of creation: the two parts in hexadecimal. ``events.tsv`` has one line per event, in order:
        ``M`` and the two parts of a merge, or ``S``, the removed token and its parts, in hexadecimal. ``ids.txt`` has
        the id of each token, ``special_ids.tsv`` each special id with its name in hexadecimal, and ``unused_ids.tsv``
        each unused id with its bytes.
        ``substring_counts.tsv`` has a string in hexadecimal and its count per line.
        ``tuples.tsv`` and ``supermerges.tsv`` have the parts of one merge in hexadecimal per line. ``record.json`` has
        the record. ``added.txt`` has one line per token: 1 for an added token, otherwise 0.

        Raises:
            TokbenchError: the vocabulary does not begin with the 256 bytes.
        """
        self.check_order()
        for name in VOCABULARY_FILES:
            (folder / name).unlink(missing_ok=True)  # Files of an older vocabulary would be read with the new one.
        for name, lines in self.files():
            _write(folder / name, lines)

    def files(self) -> Iterator[tuple[str, Iterable[str]]]:
        """Yield name and lines of each file that :meth:`write` writes."""
        yield "tokens.vocab", (f"{token.hex()}\n" for token in self.tokens)
        # Tokens of a segmentation, each file only if the vocabulary has its content.
        if self.merges is not None:
            yield (
                "merges.tsv",
                (f"{self.tokens[left].hex()}\t{self.tokens[right].hex()}\n" for left, right, _ in self.merges.tolist()),
            )
        if self.scores is not None:
            yield "scores.txt", (f"{score!r}\n" for score in self.scores.tolist())
        if self.continuation is not None:
            yield "continuation.txt", (f"{int(flag)}\n" for flag in self.continuation.tolist())
        if self.added is not None:
            yield "added.txt", (f"{int(flag)}\n" for flag in self.added.tolist())
        if self.events is not None:
            yield "events.tsv", map(_event_line, self.events)
        if self.tuples is not None:
            yield "tuples.tsv", map(_tuple_line, self.tuples)
        # Facts about the construction, and numbers of tokens of other libraries.
        if self.record is not None:
            yield RECORD, [json.dumps(self.record) + "\n"]
        if self.supermerges is not None:
            yield "supermerges.tsv", map(_tuple_line, self.supermerges)
        if self.ids is not None:
            yield "ids.txt", (f"{number}\n" for number in self.ids.tolist())
        for name, others in (("special_ids.tsv", self.special), ("unused_ids.tsv", self.unused)):
            if others:
                yield name, (f"{number}\t{token.hex()}\n" for number, token in others.items())
        if self.substring_counts is not None:
            yield "substring_counts.tsv", (f"{text.hex()}\t{count}\n" for text, count in self.substring_counts.items())

    @property
    def digest(self) -> str:
        """SHA-256 of the files in hexadecimal digits, without the record of the construction."""
        content = hashlib.sha256()
        for name, lines in self.files():
            if name != RECORD:
                content.update(f"{name}\n".encode())
                content.update("".join(lines).encode())
        return content.hexdigest()

    @classmethod
    def read(cls, folder: Path) -> "Vocabulary":
        """Read the files of :meth:`write`.

        Raises:
            TokbenchError: a file is missing or damaged.
        """
        tokens = read_tokens(folder / "tokens.vocab")
        merges = _read_bytes(folder / "merges.tsv", lambda text: parse_merges(text, *flat_tokens(tokens)))
        scores = _read_file(folder / "scores.txt", _read_scores)
        continuation = _read_file(folder / "continuation.txt", _parse_lines(("0", "1").index))
        events = _read_file(folder / "events.tsv", _parse_lines(_read_event))
        tuples = _read_file(folder / "tuples.tsv", _parse_lines(_read_tuple))
        supermerges = _read_file(folder / "supermerges.tsv", _parse_lines(_read_supermerge))
        ids = _read_bytes(folder / "ids.txt", lambda text: parse_ids(text, LARGEST_VOCABULARY - 1))
        special = _read_file(folder / "special_ids.tsv", _parse_lines(_read_special))
        unused = _read_file(folder / "unused_ids.tsv", _parse_lines(_read_special))
        substrings = _read_file(folder / "substring_counts.tsv", _parse_lines(_read_count))
        record = _read_file(folder / RECORD, _read_record)
        added = _read_file(folder / "added.txt", _parse_lines(("0", "1").index))
        # One line for each token in these files.
        by_token = {"scores.txt": scores, "continuation.txt": continuation, "ids.txt": ids, "added.txt": added}
        for name, values in by_token.items():
            if values is not None and len(values) != len(tokens):
                raise TokbenchError(f"{folder / name}: {len(values)} lines for {len(tokens)} tokens; build it again")
        # The constructor checks the content; the message names the file.
        try:
            vocabulary = cls(
                tokens,
                merges,
                scores,
                None if continuation is None else np.array(continuation, np.bool_),
                None if events is None else tuple(events),
                ids,
                dict(special or ()),
                SubstringCounts.from_pairs(substrings) if substrings else None,
                None if tuples is None else tuple(tuples),
                record,
                None if supermerges is None else tuple(supermerges),
                None if added is None else np.array(added, np.bool_),
                dict(unused or ()),
            )
            vocabulary.check_order()
        except TokbenchError as error:
            raise TokbenchError(f"{folder / 'tokens.vocab'}: {error}") from None
        return vocabulary


def _read_scores(lines: Sequence[str]) -> NDArray[np.float64]:
    """Parse logarithms of probabilities, float64 [lines]; minus infinity excludes a token."""
    if not all(map(SCORE.fullmatch, lines)):
        raise ValueError
    scores = np.array([*map(float, lines)], np.float64)
    if np.count_nonzero(np.isinf(scores)) > lines.count(EXCLUDED_SCORE):
        raise ValueError
    return scores


def _read_id(line: str) -> int:
    return whole_number(line, 0, LARGEST_VOCABULARY - 1)


def _read_count(line: str) -> tuple[bytes, int]:
    text, count = line.split("\t")
    return bytes.fromhex(text), whole_number(count, 0, LARGEST_BYTES)


def _read_special(line: str) -> tuple[int, bytes]:
    number, token = line.split("\t")
    return _read_id(number), bytes.fromhex(token)


def _read_record(lines: Sequence[str]) -> dict[str, Any]:
    record = json.loads("\n".join(lines))
    if not isinstance(record, dict):
        raise ValueError(record)
    return record


def _tuple_line(parts: tuple[bytes, ...]) -> str:
    return "\t".join(part.hex() for part in parts) + "\n"


def _read_tuple(line: str) -> tuple[bytes, ...]:
    parts = tuple(map(bytes.fromhex, line.split("\t")))
    if _tuple_line(parts).rstrip("\n") != line or not all(parts) or len(parts) < 2:
        raise ValueError(line)
    return parts


def _read_supermerge(line: str) -> tuple[bytes, bytes]:
    left, right = _read_tuple(line)
    return left, right


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


def _parse_lines(parse: Callable[[str], Any]) -> Callable[[Sequence[str]], list[Any]]:
    return lambda lines: [*map(parse, lines)]


def _read_file(path: Path, parse: Callable[[Sequence[str]], Any]) -> Any:
    """Parse the lines of a file; return None if the file does not exist.

    Raises:
        TokbenchError: a line cannot be parsed; the message has the number of the first such line.
    """
    if not path.exists():
        return None
    lines = _ascii(path).decode().splitlines()
    try:
        return parse(lines)
    except (ValueError, KeyError):
        pass
    for number, line in enumerate(lines, 1):
        try:
            parse([line])
        except (ValueError, KeyError):
            raise TokbenchError(f"{path}:{number}: {INVALID}") from None
    raise AssertionError(path)


def _read_bytes(path: Path, parse: Callable[[bytes], NDArray[np.int32]]) -> NDArray[np.int32] | None:
    """Parse a file by a kernel, which raises ValueError with the number of the first invalid line; as _read_file."""
    if not path.exists():
        return None
    try:
        return parse(_ascii(path))
    except ValueError as error:
        raise TokbenchError(f"{path}:{error}: {INVALID}") from None


def read_tokens(path: Path | str) -> tuple[bytes, ...]:
    """Read a file of tokens, one per line in hexadecimal, in id order (the format of PathPiece and SaGe).

    Raises:
        TokbenchError: the file is missing or a line is not hexadecimal.
    """
    try:
        return tuple(parse_tokens(_ascii(Path(path))))
    except ValueError as error:
        raise TokbenchError(f"{path}:{error}: this line is not a token in hexadecimal; correct it") from None


def _ascii(path: Path) -> bytes:
    try:
        content = read_regular(path)
        content.decode("ascii")
    except OSError as error:
        raise TokbenchError(f"{path}: not a readable vocabulary ({error.strerror}); name or build another") from None
    except UnicodeDecodeError as error:
        raise TokbenchError(
            f"{path}: not a readable vocabulary (byte {error.start} is not ASCII); name or build another"
        ) from None
    return content


def write_tokens(tokens: Sequence[bytes], path: Path | str) -> None:
    """Write tokens, one per line in lowercase hexadecimal, atomically."""
    _write(Path(path), (f"{token.hex()}\n" for token in tokens))


def _write(path: Path, lines: Iterable[str]) -> None:
    from tokbench.io.atomic import atomic_file

    with atomic_file(path) as partial:
        partial.write_text("".join(lines), encoding="ascii")


def usable_scores(
    tokens: Sequence[bytes], scores: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Return finite scores for all tokens, and a mask of the usable tokens, which include all single bytes.

    At least one score must be finite.
    """
    finite = np.isfinite(scores)
    single = np.fromiter((len(token) == 1 for token in tokens), np.bool_, len(tokens))
    return np.where(finite, scores, scores[finite].min() - UNKNOWN_PENALTY), finite | single


def costs_of(scores: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return costs, int64 [tokens]: negated scores in units of 1/512 nat, rounded."""
    return np.rint(-UNITS * scores).astype(np.int64)
