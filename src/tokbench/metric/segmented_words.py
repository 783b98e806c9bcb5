"""Words of scripts without blanks, as a word segmenter finds them: tokens per word, and words in one token.

Chinese, Japanese, Thai and other texts have no blanks between words, so their pre-tokens are not words. A segmenter
finds the words of each document: ICU (rules and dictionaries of the Unicode consortium) or one that the user names. Its
name and version are part of each definition, because values by two segmenters must not be compared.

A word is a segment with a letter or a number. Its tokens are those with bytes of it; a token with bytes of several
words counts for each. The single-token retention rate (Nayeem et al. 2025) is over distinct words, each tokenized as a
text by itself.

Reference: ``tokens_of_spans`` in :mod:`tokbench.reference.documents`.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from functools import partial
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from itertools import pairwise
from operator import attrgetter
from typing import Any, NamedTuple, Self

import numpy as np
import regex
from numpy.typing import NDArray
from pydantic import field_validator, model_validator

from tokbench.corpus.languages import tag_of_untagged
from tokbench.errors import TokbenchError
from tokbench.metric import Shown, metric
from tokbench.metric.documents import Documents, TokenizedDocument
from tokbench.metric.measurement import Measurement, ratio
from tokbench.metric.pretoken_words import NO_LETTERS, UNSPACED, WITHOUT_BLANKS, words_of_pretokens
from tokbench.options import Options
from tokbench.runtime.user_code import user_code
from tokbench.tokenizer.encoder import shown

ICU, LETTERS = "icu", "letters"
FUNCTIONS = {"jieba": "jieba:lcut", "pythainlp": "pythainlp:word_tokenize"}
"""Functions of segmenters with a short name."""
NAMES = (ICU, "fugashi", *FUNCTIONS, LETTERS)
REMEDY = {ICU: "install libicu-dev, then pip install 'tokbench[icu]'"}
WITHOUT_BLANK = regex.compile(f"[{WITHOUT_BLANKS}]")
WORD = regex.compile(r"[\p{L}\p{N}]")
RUNS = regex.compile(r"[\p{L}\p{M}\p{N}]+")
PLACE = regex.compile(r"[\w.]+:[\w.]+")

Segment = Callable[[str], Iterable[tuple[int, int]]]
"""Function that returns start and end of the words of a text, in characters."""


class SegmentedWordOptions(Options):
    segmenter: str | None = None
    """Word segmenter: ``icu``, ``jieba``, ``pythainlp``, ``fugashi``, ``letters`` (runs of letters, marks and numbers
    in scripts with blanks, so it needs ``all_scripts``), or ``MODULE:FUNCTION`` of a package that is installed. The
    function returns the words of a text in order. Default: ``icu``."""
    all_scripts: bool = False
    """Whether words of scripts with blanks count, too. Default: only words with a letter of a script without blanks."""

    @field_validator("segmenter")
    @classmethod
    def _known(cls, name: str | None) -> str | None:
        if name is not None and name not in NAMES and not PLACE.fullmatch(name):
            raise ValueError(f"no segmenter {name!r:.60}; name one of {', '.join(NAMES)}, or MODULE:FUNCTION")
        return name

    @model_validator(mode="after")
    def _in_domain(self) -> Self:
        if self.segmenter == LETTERS and not self.all_scripts:
            raise ValueError(
                f"segmenter: '{LETTERS}' finds no words in scripts without blanks; "
                "set all_scripts: true, or name another"
            )
        return self


class Segmenter(NamedTuple):
    """A word segmenter.

    Attributes:
        label: its name with its version.
        segment: its function.
        by_blanks: True if it needs blanks between words (default: False).
    """

    label: str
    segment: Segment
    by_blanks: bool = False


def segmenter_of(name: str) -> Segmenter:
    """Return a word segmenter.

    Raises:
        TokbenchError: its package or function does not exist.
    """
    if name == LETTERS:
        return Segmenter("runs of letters, marks and numbers", _of_letters, by_blanks=True)
    module, _, function = FUNCTIONS.get(name, name).partition(":")
    place = f"segmented_words.segmenter: {name}"
    with user_code(place, "the import"):
        try:
            package = import_module(module)
            if name == ICU:
                words = package.BreakIterator.createWordInstance(package.Locale.getRoot())
                return Segmenter(f"ICU {package.ICU_VERSION}", partial(_icu, words))
            find = _of_fugashi(package.Tagger()) if name == "fugashi" else attrgetter(function)(package)
        except (ImportError, AttributeError) as error:
            remedy = REMEDY.get(name, f"install the package '{module.partition('.')[0]}' or name another segmenter")
            raise TokbenchError(f"is not available ({error}); {remedy}") from error
        if not callable(find):
            raise TokbenchError(f"{shown(find)} is not a function; name one")
    return Segmenter(_label(name, module), partial(_locate_words, place, find))


def _of_letters(text: str) -> list[tuple[int, int]]:
    """Return the runs of letters, marks and numbers, without those of scripts without blanks, which are no words."""
    return [match.span() for match in RUNS.finditer(text) if not WITHOUT_BLANK.search(match[0])]


def _single_span(text: str) -> list[tuple[int, int]]:
    return [(0, len(text))]


def _of_fugashi(tagger: Any) -> Callable[[str], list[str]]:
    return lambda text: [word.surface for word in tagger(text)]


def _label(name: str, module: str) -> str:
    try:
        return f"{name} {version(module.partition('.')[0])}"
    except PackageNotFoundError:
        return name


def _icu(words: Any, text: str) -> list[tuple[int, int]]:
    """Return the segments of a text; ICU counts in units of UTF-16."""
    words.setText(text)
    ends = np.fromiter(words, np.int64)
    codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)
    units = np.cumsum(1 + (codes > 0xFFFF), dtype=np.int64)
    places = [0, *(np.searchsorted(units, ends) + 1).tolist()]
    return [*pairwise(places)]


def _locate_words(name: str, find: Callable[[str], Iterable[str]], text: str) -> Iterator[tuple[int, int]]:
    """Yield the places of the words that a function returns; words that are not in the text are left out.

    Raises:
        TokbenchError: the function raises an exception, or does not return words.
    """
    with user_code(name, "the function"):
        result = find(text)
        is_sequence = isinstance(result, Iterable) and not isinstance(result, str | bytes | Mapping | Set)
        words = list(result) if is_sequence else None
        if words is None or not all(isinstance(word, str) for word in words):
            raise TokbenchError(f"the function returned {shown(result)}; return the words of the text in order")
    place = 0
    for word in words:
        start = text.find(word, place) if word else -1
        if start >= 0:
            place = start + len(word)
            yield start, place


def words_in(text: str, segment: Segment, *, all_scripts: bool) -> list[tuple[int, int]]:
    """Return start and end of the words of a text, in characters."""
    chosen = WORD if all_scripts else WITHOUT_BLANK
    if not chosen.search(text):
        return []
    return [
        (start, end)
        for start, end in segment(text)
        if chosen.search(text, start, end) and WORD.search(text, start, end)
    ]


class WordCounts:
    """Counts over the words of documents.

    Attributes:
        words: words with all bytes in tokens.
        tokens: tokens with bytes of these words.
        single: those of these words that have bytes in one token only.
        left_out: words with bytes in no token.
        distinct: the distinct words.
        letters: letters of the documents, if the segmenter needs blanks.
    """

    def __init__(self) -> None:
        self.letters = NO_LETTERS
        self.words = self.tokens = self.single = self.left_out = 0
        self.distinct: set[str] = set()

    def add(self, document: TokenizedDocument, text: str, words: Sequence[tuple[int, int]]) -> None:
        """Count the words of a document, given by start and end in characters."""
        starts, ends = _bytes(text)[np.array(words, np.int64)].T
        covered = document.are_covered(starts, ends)
        tokens = np.diff(document.token_ranges(starts[covered], ends[covered]), axis=1)[:, 0]
        self.words += len(tokens)
        self.tokens += int(tokens.sum())
        self.single += int((tokens == 1).sum())
        self.left_out += len(words) - len(tokens)
        self.distinct.update(text[start:end] for start, end in words)

    def __add__(self, other: "WordCounts") -> "WordCounts":
        """Return the sums of both."""
        total = WordCounts()
        for name in ("words", "tokens", "single", "left_out"):
            setattr(total, name, getattr(self, name) + getattr(other, name))
        total.distinct = self.distinct | other.distinct
        total.letters = self.letters.plus(other.letters)
        return total


def _bytes(text: str) -> NDArray[np.int64]:
    """Return the place in bytes of each character and of the end, int64 [characters + 1]."""
    data = np.frombuffer(text.encode(), np.uint8)
    return np.append(np.flatnonzero(data & 0xC0 != 0x80), len(data))


def count_words(documents: Documents, segmenter: Segmenter, *, all_scripts: bool) -> dict[str, WordCounts]:
    """Return the counts by language of documents that have words; documents that are not UTF-8 have none.

    If the segmenter needs blanks, documents that only have letters count, too.
    """
    by_language: dict[str, WordCounts] = {}
    for document in documents:
        try:
            text = document.text.decode()
        except UnicodeDecodeError:
            continue
        if words := words_in(text, segmenter.segment, all_scripts=all_scripts):
            by_language.setdefault(document.language, WordCounts()).add(document, text, words)
        if segmenter.by_blanks:
            data = np.frombuffer(document.text, np.uint8)
            letters = words_of_pretokens(data, np.array([0, len(data)])).letters
            if letters.letters:
                counts = by_language.setdefault(document.language, WordCounts())
                counts.letters = counts.letters.plus(letters)
    return by_language


@metric(
    "segmented_words",
    options=SegmentedWordOptions,
    of="documents",
    per_language=True,
    cites=("nayeem2025",),
    better={
        "segmented_word_fertility": "lowest",
        "segmented_words_in_one_token": "highest",
        "single_token_retention": "highest",
    },
    over_the_same=("segmented_word_fertility", "segmented_words_in_one_token"),
    shown=(
        Shown("segmented_word_fertility", "words", "tokens per segmented word"),
        Shown("segmented_words_in_one_token", "words", "segmented words in one token"),
        Shown("single_token_retention", "words", "single-token retention rate"),
        Shown("segmented_words_left_out", "words", "segmented words left out"),
    ),
)
def segmented_words(documents: Documents, options: SegmentedWordOptions) -> list[tuple[str, Measurement]]:
    """Return tokens per word, words in one token, and the single-token retention rate, by a word segmenter.

    Text without such words has no row. Without ICU, and if no segmenter is named, rows have that as their reason.

    Raises:
        TokbenchError: the segmenter of the options is not available.
    """
    missing = ""
    try:
        segmenter = segmenter_of(options.segmenter or ICU)
    except TokbenchError as error:
        if options.segmenter is not None:
            raise
        segmenter, missing = Segmenter("ICU", _single_span), str(error)
    by_language = count_words(documents, segmenter, all_scripts=options.all_scripts)
    if not by_language:
        return []
    total = sum(by_language.values(), start=WordCounts())
    scope = "" if options.all_scripts else " with a letter of a script without blanks"
    end = f"{scope}; words by {segmenter.label}"
    tokens = documents.tokenizer.count
    retained = {word for word in total.distinct if tokens(word.encode()) == 1} if not missing else set()
    rows = [("", row) for row in _rows(total, retained, end, missing)]
    if len(by_language) > 1:
        tag = tag_of_untagged(by_language)
        rows += [
            (language or tag, row)
            for language in sorted(by_language)
            for row in _rows(by_language[language], retained, end, missing)
        ]
    return rows


def _rows(counts: WordCounts, single: Set[str], end: str, missing: str) -> Iterator[Measurement]:
    """Yield the measurements of some counts.

    Args:
        counts: the counts.
        single: words that are one token as a text.
        end: end of the definitions.
        missing: reason if there is no segmenter, else empty.
    """
    if counts.letters.no_blanks:
        missing = f"{UNSPACED}; name a segmenter of that script"
    if missing:
        counts = WordCounts()
    none = missing or "no word has all its bytes in tokens"
    definition = f"tokens with bytes of a word / words{end}"
    yield ratio("segmented_word_fertility", definition, counts.tokens, counts.words, none)
    definition = f"words with bytes in one token only / words{end}"
    yield ratio("segmented_words_in_one_token", definition, counts.single, counts.words, none)
    definition = f"distinct words that are one token as a text / distinct words{end}"
    yield ratio("single_token_retention", definition, len(counts.distinct & single), len(counts.distinct), none)
    definition = f"words{end}; those that are left out, as some of their bytes are in no token"
    yield Measurement("segmented_words_left_out", definition, float(counts.left_out), counts.words + counts.left_out)
