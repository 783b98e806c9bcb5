"""Segmented words, the input of metrics that compare tokens with gold data, and readers of gold data files.

A word is segmented as in running text, after a space. If the pre-tokenizer attaches that space to the word, the space
is part of it, as in the intrinsic benchmark of Uzan et al. 2024 ("Greed is all you need"), whose words begin with
``Ġ``. If every space is a separate pre-token, the word has none.

Resources are converted to two kinds of rows: a word with its parts, and a word with reading times. Boundaries between
parts are byte offsets into the word, so that they can be compared with tokens in any script. A segmentation that does
not spell its word (``mak|ing`` does, ``make|ing`` does not) has no boundaries.

Files of gold data are plain or compressed text in UTF-8.
"""

import csv
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from io import StringIO
from itertools import accumulate, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from tokbench.errors import TokbenchError, check_once, listed
from tokbench.io.text_files import read_lines
from tokbench.metric.usage import CountSegmenter
from tokbench.pretokenization import Boundaries, pretokenization_of
from tokbench.pretokens import PretokenCounts
from tokbench.vocabulary import TokenList, Vocabulary

if TYPE_CHECKING:
    import polars as pl

REMEDY = "name the resource's own file"


class WordSegmenter(CountSegmenter, Protocol):
    """Required methods of a tokenizer: vocabulary, pre-tokenizer, and segmentation of unique pre-tokens."""

    @property
    def pretokenization(self) -> str: ...


@dataclass(frozen=True, slots=True, eq=False)
class Words:
    """Words of a resource and their tokens.

    Attributes:
        vocabulary: the tokens.
        gold: table of the resource, one row per word.
        spaces: int64 [n], 1 if the space before a word is part of it, otherwise 0.
        cuts: ends of the pre-tokens of each word, as byte offsets without the space; the last is the word's length.
        ids: int32 [tokens], concatenated segmentations of the words.
        bounds: int64 [n + 1], start of each word's ids.
        unlisted: reason why the tokens of the vocabulary are not known (default: empty, they are known).
            ``vocabulary`` then has only the tokens that the words have.
    """

    vocabulary: Vocabulary | TokenList
    gold: "pl.DataFrame"
    spaces: NDArray[np.int64]
    cuts: list[tuple[int, ...]]
    ids: NDArray[np.int32]
    bounds: NDArray[np.int64]
    unlisted: str = ""

    def __len__(self) -> int:
        return len(self.spaces)

    @property
    def tokens_per_word(self) -> NDArray[np.int64]:
        """Number of tokens of each word, int64 [n]; a space that is part of the word may be a token and then counts."""
        return np.diff(self.bounds)

    def token_ends(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the boundaries between tokens: index of the word, and byte offset in it, both int64 [boundaries].

        The end of a word is not a boundary. The offset is 0 after a token that is the word's leading space.
        """
        lengths = np.fromiter(map(len, self.vocabulary.tokens), np.int64, len(self.vocabulary))
        ends = np.concatenate([[0], np.cumsum(lengths[self.ids])])
        words = np.repeat(np.arange(len(self)), self.tokens_per_word)
        offsets = ends[1:] - ends[self.bounds[:-1]][words] - self.spaces[words]
        inner = np.ones(len(self.ids), np.bool_)
        inner[self.bounds[1:][self.tokens_per_word > 0] - 1] = False
        return words[inner], offsets[inner]

    def filter_words(self, chosen: NDArray[np.bool_]) -> "Words":
        """Return the words with ``kept``, bool [n], True."""
        lengths = self.tokens_per_word
        return Words(
            self.vocabulary,
            self.gold.filter(chosen),
            self.spaces[chosen],
            [cuts for cuts, keep in zip(self.cuts, chosen.tolist(), strict=True) if keep],
            self.ids[np.repeat(chosen, lengths)],
            np.concatenate([[0], np.cumsum(lengths[chosen])]),
            self.unlisted,
        )


def words_of(tokenizer: WordSegmenter, gold: "pl.DataFrame") -> Words:
    """Segment all words of a resource, column ``word``, at once.

    Raises:
        TokbenchError: the tokenizer's pre-tokenizer is not known.
    """
    boundaries = pretokenization_of(tokenizer.pretokenization).boundaries
    normalization = getattr(tokenizer, "normalization", None)
    pieces: list[bytes] = []
    first_pieces, spaces, cuts = [0], [], []
    for spelled in encode_words(gold):
        word = normalization.inside(spelled) if normalization else spelled
        space, ends = cut_word(boundaries, word)
        text = b" " + word
        pieces += (text[1 + start : 1 + end] for start, end in pairwise((-space, *ends)))
        first_pieces.append(len(pieces))
        spaces.append(space)
        cuts.append(ends)
    offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(np.fromiter(map(len, pieces), np.int64, len(pieces)))])
    data = np.frombuffer(b"".join(pieces), np.uint8)
    ids, bounds = tokenizer.segment(PretokenCounts(data, offsets, np.ones(len(pieces), np.int64)))
    return Words(tokenizer.vocabulary, gold, np.array(spaces, np.int64), cuts, ids, bounds[first_pieces])


def cut_word(boundaries: Boundaries, word: bytes) -> tuple[int, tuple[int, ...]]:
    """Return 1 if the space before a word is part of it, else 0, and the ends of its pre-tokens without the space."""
    edges = boundaries(b" " + word).tolist()
    space = int(edges[1] > 1 or not word)
    return space, tuple(end - 1 for end in edges[2 - space :])


def encode_words(gold: "pl.DataFrame") -> Iterator[bytes]:
    """Yield the words of a resource in UTF-8."""
    return (word.encode("utf-8", "surrogatepass") for word in gold["word"])


class SegmentedWord(NamedTuple):
    """A word and its parts, as in a file; no parts if the file does not segment the word."""

    language: str
    word: str
    segments: Sequence[str]


class Decision(NamedTuple):
    """A word or nonword with the results of a lexical decision experiment."""

    language: str
    word: str
    lexicality: str
    reaction_time: float | None
    accuracy: float | None


def boundaries(word: str, segments: Sequence[str]) -> list[int] | None:
    """Return byte offsets of the boundaries between a word's parts; None if the parts do not spell the word.

    Case is ignored, because parts of a German compound may keep their capitals.
    """
    joined = "".join(segments)
    if not segments or not all(segments) or len(joined) != len(word) or joined.lower() != word.lower():
        return None
    ends = list(accumulate(map(len, segments)))[:-1]
    return [len(word[:end].encode("utf-8", "surrogatepass")) for end in ends]


def lines(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the lines of a file that are not blank, without line ends, numbered from 1.

    Raises:
        TokbenchError: the file cannot be read or is not UTF-8.
    """
    number = 0
    for data in read_lines(path, REMEDY):
        try:
            text = data.decode("utf-8" if number else "utf-8-sig")
        except UnicodeDecodeError as error:
            raise TokbenchError(f"{path}:{number + 1}: cannot be read ({error}); {REMEDY}") from None
        for number, line in enumerate(StringIO(text, newline=""), number + 1):  # noqa: B020 (lines may end in CR alone)
            if line.strip():
                yield number, line.rstrip("\r\n")


def fields(path: Path, min_fields: int, form: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the fields of each line of a tab-separated file without a header.

    Args:
        path: path of the file.
        min_fields: smallest number of fields of a line.
        form: expected form of a line, for messages.

    Raises:
        TokbenchError: a line has fewer fields; the message names file and line.
    """
    for number, line in lines(path):
        parts = line.split("\t")
        if len(parts) < min_fields:
            raise TokbenchError(f"{path}:{number}: expected '{form}', found {line[:60]!r}; correct the line")
        yield number, parts


def records(path: Path, columns: Sequence[str], delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the named columns of a table with a header, in the order of ``columns``.

    Args:
        path: path of the file.
        columns: names that the header must have; others are ignored.
        delimiter: separator of fields, which may be quoted.

    Raises:
        TokbenchError: a column is missing, or a line has another number of fields than the header.
    """
    last = [0]

    def counted() -> Iterator[str]:
        for last[0], line in lines(path):
            yield line

    try:
        reader = csv.reader(counted(), delimiter=delimiter)
        head = next(reader, [])
        absent = [column for column in columns if column not in head]
        if absent:
            raise TokbenchError(f"{path}: no column '{absent[0]}' (there are {listed(head)})")
        check_once(path, head, columns)
        places = [head.index(column) for column in columns]
        for row in reader:
            if len(row) != len(head):
                raise TokbenchError(
                    f"{path}:{last[0]}: {len(row)} fields, the header has {len(head)}; correct the line"
                )
            yield last[0], [row[place].strip() for place in places]
    except csv.Error as error:
        raise TokbenchError(f"{path}:{last[0]}: not a table ({error}); name the resource's own file") from None


def language_tag(path: Path, end: str) -> str:
    """Return the language tag before ``end`` in a file's name: ``eng`` of ``eng.word.dev.tsv`` for ``.``."""
    return path.name.partition(end)[0]
