"""Encodings with the interface of ``tokenizers.Encoding`` that ``transformers`` expects of a fast tokenizer.

Rows of a batch have offsets, words, windows and padding, and the attributes and methods used by
``transformers.BatchEncoding``. Offsets and words are computed on first access. Inputs are texts, pairs and words.
Truncation is that of the ``tokenizers`` library: the lengths of a pair's two texts, and the windows of each.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from typing import Any, NamedTuple, TypeVar

import numpy as np

from tokbench.errors import TokbenchError
from tokbench.tokenizer import Tokenizer
from tokbench.tokenizer.added_tokens import AddedTokenMatch, AddedTokens

Span = tuple[int, int]
Value = TypeVar("Value")


class EncodedSource:
    """A text, or the words of one, and its ids.

    Args:
        tokenizer: tokenizer that encodes it.
        added: added tokens to search for.
        texts: one text, or its words, each encoded separately.
        worded: whether they are words; offsets are then relative to a word.
        special: whether to search for special tokens.
    """

    def __init__(
        self, tokenizer: Tokenizer, added: AddedTokens, texts: Sequence[str], worded: bool, special: bool
    ) -> None:
        self.tokenizer = tokenizer
        self.texts = texts
        self.worded = worded
        self._parts = [added.split(text, special) for text in texts]
        self.ids: list[int] = []
        for text, parts in zip(texts, self._parts, strict=True):
            for part in parts:
                self.ids += tokenizer.encode(text[part.start : part.end]).tolist() if part.id is None else [part.id]

    @cached_property
    def offsets(self) -> list[Span]:
        """Start and end of each token in the characters of its text."""
        spans: list[Span] = []
        for text, parts in zip(self.texts, self._parts, strict=True):
            for start, end, index in parts:
                if index is None:
                    within = self.tokenizer.character_offsets(text[start:end]) + start
                    spans += map(tuple, within.tolist())
                else:
                    spans.append((start, end))
        return spans

    @cached_property
    def words(self) -> list[int]:
        """Number of each token's word: a given word, or otherwise the pre-token or added token."""
        numbers: list[int] = []
        for number, (text, parts) in enumerate(zip(self.texts, self._parts, strict=True)):
            first = 0
            for part in parts:
                cut = self._pretokens(text, part)
                numbers += [number if self.worded else first + place for place in cut]
                first += cut[-1] + 1
        return numbers

    def _pretokens(self, text: str, part: AddedTokenMatch) -> list[int]:
        """Return the number of each token's pre-token in a part."""
        if part.id is not None:
            return [0]
        data = text[part.start : part.end].encode("utf-8", "surrogatepass")
        normalization = self.tokenizer.normalization
        bounds = self.tokenizer.scheme.boundaries(normalization(data))
        bounds = normalization.origins(data, bounds) if normalization else bounds
        starts = self.tokenizer.offsets(data)[:-1]
        return (np.searchsorted(bounds, starts, side="right") - 1).tolist()


class Window(NamedTuple):
    """Tokens ``start`` to ``end`` of a source, which is text number ``sequence`` (0 or 1) of a pair."""

    source: EncodedSource
    start: int
    end: int
    sequence: int


@dataclass(frozen=True)
class Padding:
    """Padding tokens on one side of a row."""

    tokens: int = 0
    left: bool = False
    id: int = 0
    type_id: int = 0


@dataclass(frozen=True)
class EncodedRow:
    """A row of a batch: one window, or two of a pair, and padding.

    Attributes:
        windows: tokens of the text or texts.
        spell: function from ids to tokens.
        padding: padding before or after the windows.
    """

    windows: tuple[Window, ...]
    spell: Callable[[list[int]], list[str]]
    padding: Padding = Padding()

    def padded(self, length: int, padding: Padding) -> "EncodedRow":
        """Return the row padded to a length."""
        return replace(self, padding=replace(padding, tokens=max(0, length - len(self))))

    def __len__(self) -> int:
        return sum(window.end - window.start for window in self.windows) + self.padding.tokens

    def _padded(self, of: Callable[[Window], Sequence[Value]], pad: Value) -> list[Value]:
        values = [value for window in self.windows for value in of(window)]
        filling = [pad] * self.padding.tokens
        return filling + values if self.padding.left else values + filling

    @property
    def ids(self) -> list[int]:
        return self._padded(lambda window: window.source.ids[window.start : window.end], self.padding.id)

    @property
    def tokens(self) -> list[str]:
        return self.spell(self.ids)

    @property
    def type_ids(self) -> list[int]:
        return self._padded(lambda window: [window.sequence] * (window.end - window.start), self.padding.type_id)

    @property
    def attention_mask(self) -> list[int]:
        return self._padded(lambda window: [1] * (window.end - window.start), 0)

    @property
    def special_tokens_mask(self) -> list[int]:
        """1 only for padding: special tokens in a text are part of it."""
        return [1 - mask for mask in self.attention_mask]

    @property
    def offsets(self) -> list[Span]:
        return self._padded(lambda window: window.source.offsets[window.start : window.end], (0, 0))

    @property
    def word_ids(self) -> list[int | None]:
        return self._padded(lambda window: window.source.words[window.start : window.end], None)

    @property
    def sequence_ids(self) -> list[int | None]:
        """Return the text of a pair (0 or 1) that each token belongs to; None for padding."""
        return self._padded(lambda window: [window.sequence] * (window.end - window.start), None)

    @property
    def n_sequences(self) -> int:
        return len(self.windows)

    def token_to_sequence(self, token: int) -> int | None:
        return self.sequence_ids[token]

    def token_to_word(self, token: int) -> int | None:
        return self.word_ids[token]

    def token_to_chars(self, token: int) -> Span | None:
        return None if self.sequence_ids[token] is None else self.offsets[token]

    def char_to_token(self, character: int, sequence: int = 0) -> int | None:
        """Return the first token that contains the character."""
        of = self.sequence_ids
        return next(
            (
                place
                for place, (start, end) in enumerate(self.offsets)
                if of[place] == sequence and start <= character < end
            ),
            None,
        )

    def char_to_word(self, character: int, sequence: int = 0) -> int | None:
        token = self.char_to_token(character, sequence)
        return None if token is None else self.word_ids[token]

    def word_to_tokens(self, word: int, sequence: int = 0) -> Span | None:
        """Return the first token of a word, and the one after its last."""
        of = self.sequence_ids
        places = [place for place, word_id in enumerate(self.word_ids) if word_id == word and of[place] == sequence]
        return (places[0], places[-1] + 1) if places else None

    def word_to_chars(self, word: int, sequence: int = 0) -> Span | None:
        tokens = self.word_to_tokens(word, sequence)
        return None if tokens is None else (self.offsets[tokens[0]][0], self.offsets[tokens[1] - 1][1])


@dataclass(frozen=True)
class Truncation:
    """Settings of truncation.

    Attributes:
        strategy: ``longest_first``, ``only_first`` or ``only_second``.
        most: maximum number of tokens of a text and its pair together.
        stride: number of tokens that neighbouring windows share.
        left: keep the end instead of the beginning.

    Raises:
        TokbenchError: windows share all their tokens.
    """

    strategy: str
    most: int
    stride: int = 0
    left: bool = False

    def __post_init__(self) -> None:
        if self.stride and self.stride >= self.most:
            raise TokbenchError(f"stride {self.stride} leaves nothing of max_length {self.most}; pass a smaller one")


def lengths(sizes: Sequence[int], truncation: Truncation) -> Sequence[int]:
    """Return the numbers of tokens that remain of a text, or of the two of a pair, with ``sizes`` tokens.

    Raises:
        TokbenchError: the text to truncate is shorter than the excess, or there is no second text.
    """
    most, strategy = truncation.most, truncation.strategy
    excess = sum(sizes) - most
    if excess <= 0:
        return sizes
    if strategy == "longest_first":
        return [most] if len(sizes) == 1 else _balanced(sizes[0], sizes[1], most)
    if strategy == "only_second" and len(sizes) == 1:
        raise TokbenchError("truncation 'only_second': there is no second text; pass pairs, or choose another")
    place = 0 if strategy == "only_first" else 1
    if sizes[place] <= excess and most:
        raise TokbenchError(
            f"truncation '{strategy}': the text has {sizes[place]} tokens and {excess} must go; choose 'longest_first'"
        )
    return [max(0, size - excess) if number == place else size for number, size in enumerate(sizes)]


def _balanced(first: int, second: int, most: int) -> tuple[int, int]:
    """Return the remaining lengths if the longer text is truncated first."""
    short, long = sorted((first, second))
    long = short if short > most else max(short, most - short)
    if short + long > most:
        short = most // 2
        long = short + most % 2
    return (long, short) if first > second else (short, long)


def windows(size: int, most: int, truncation: Truncation) -> list[tuple[int, int]]:
    """Return start and end of each window of a text, the first one first.

    Args:
        size: number of tokens of the text.
        most: number of tokens of a window; a shorter text is one window.
        truncation: the stride, and the end that is kept.
    """
    if size <= most:
        return [(0, size)]
    if not most:
        return [(0, 0), (0, size)]
    step = most - truncation.stride
    starts = range(0, size - most + step, step)
    if truncation.left:
        return [(max(0, size - start - most), size - start) for start in starts]
    return [(start, min(start + most, size)) for start in starts]


def is_batch(text: Any, worded: bool) -> bool:
    """Return whether an argument is a batch of samples.

    Args:
        text: a text, the words of one, or a list of either.
        worded: whether texts are passed as their words.
    """
    if worded:
        text = text[0] if isinstance(text, list | tuple) and text else None
    return isinstance(text, list | tuple)


def samples_of(texts: Sequence[Any], pairs: Any) -> Sequence[Any]:
    """Return the samples of a batch: its texts, each with its pair if there are pairs.

    Raises:
        TokbenchError: the pairs are not a list of the same length.
    """
    if pairs is None:
        return texts
    if not isinstance(pairs, list | tuple) or len(pairs) != len(texts):
        raise TokbenchError(f"text_pair: {pairs!r:.60} is not a list of {len(texts)} texts; pass a pair for each text")
    return list(zip(texts, pairs, strict=True))


def texts_of(sample: Any, worded: bool) -> list[list[str]]:
    """Return the text of a sample, or the two of a pair, each as a list of words or of one text.

    Raises:
        TokbenchError: the sample is neither a text nor a pair, or words are expected and it has none.
    """
    pair = isinstance(sample, list | tuple) and (not worded or bool(sample and isinstance(sample[0], list | tuple)))
    texts = list(sample) if pair else [sample]
    if not worded:
        texts = [[text] for text in texts]
    flat = [word for text in texts if isinstance(text, list | tuple) for word in text]
    if (
        not 1 <= len(texts) <= 2
        or not all(isinstance(text, list | tuple) for text in texts)
        or any(not isinstance(word, str) for word in flat)
    ):
        raise TokbenchError(
            f"{sample!r:.60} is neither text nor a pair of texts; pass text, or words and is_split_into_words"
        )
    return texts


def rows_of(
    sources: list[EncodedSource], spell: Callable[[list[int]], list[str]], truncation: Truncation | None
) -> Iterator[EncodedRow]:
    """Yield the truncated text or pair, and then the windows of the rest.

    All later windows of the first text precede those of only the second, as in ``tokenizers``.

    Args:
        sources: the text, or the two of a pair.
        spell: function from ids to tokens.
        truncation: settings; None truncates nothing.

    Raises:
        TokbenchError: see :func:`tokbench.adapters.encoding.lengths`.
    """
    sizes = [len(source.ids) for source in sources]
    left = lengths(sizes, truncation) if truncation else sizes
    each = []
    for number, (source, size, kept) in enumerate(zip(sources, sizes, left, strict=True)):
        spans = windows(size, kept, truncation) if truncation else [(0, size)]
        each.append([Window(source, *span, number) for span in spans])
    yield EncodedRow(tuple(cuts[0] for cuts in each), spell)
    places = product(*(range(len(cuts)) for cuts in each))
    for place in sorted(places, key=lambda place: (place[0] == 0, place)):
        if any(place):
            yield EncodedRow(tuple(cuts[window] for cuts, window in zip(each, place, strict=True)), spell)
