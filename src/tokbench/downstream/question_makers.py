"""Questions with a right answer by construction, asked of plain text.

Each maker yields every question that it finds, in the order of the text or of the generator's draws; ``tasks``
shuffles, trims and lays them out. Choices begin at a word: they follow the context after one space.
"""

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from random import Random
from typing import Protocol

from tokbench.downstream.passages import Paragraph, sentences

CHOICES = 4
"""Choices of a question, except where the text is set against one perturbation of itself."""

BAND = 20
"""Words of like frequency that are drawn as each other's rivals. The bands are fixed: were rivals sought around the
right word, that would lie in their middle, and frequency alone would seldom find it."""

DRAWS = 64
"""Passages of the right length that are drawn before a question is given up."""

FEWEST_CONTEXT_WORDS = 6
"""Words that must precede a last word, or that a perturbed sentence must have between its ends."""


@dataclass(frozen=True, slots=True)
class Question:
    """A context (empty when whole texts are compared), the choice that is right and those that are wrong."""

    document: int
    context: str
    truth: str
    distractors: tuple[str, ...]


class Lengths(Protocol):
    """The lengths that a maker needs: see ``TaskOptions``."""

    @property
    def context_words(self) -> int: ...

    @property
    def continuation_words(self) -> int: ...

    @property
    def max_sentence_words(self) -> int: ...


Maker = Callable[[Sequence[Paragraph], Lengths, Random], Iterator[Question]]


def continuation(paragraphs: Sequence[Paragraph], lengths: Lengths, rng: Random) -> Iterator[Question]:
    """Which passage follows? The true one stands among three of equal words and characters from elsewhere.

    Questions of the text do not overlap. No wrong passage opens a paragraph, since the true one never does, and none
    touches the question's own passage.
    """
    wanted = lengths.continuation_words
    by_length: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for number, paragraph in enumerate(paragraphs):
        for start in range(1, len(paragraph.words) - wanted + 1):
            by_length[len(" ".join(paragraph.words[start : start + wanted]))].append((number, start))
    for number, paragraph in enumerate(paragraphs):
        span = lengths.context_words + wanted
        for begin in range(0, len(paragraph.words) - span + 1, span):
            middle, end = begin + lengths.context_words, begin + span
            truth = " ".join(paragraph.words[middle:end])
            places = by_length[len(truth)]
            distractors: list[str] = []
            for other, start in rng.sample(places, min(DRAWS, len(places))):
                if other == number and start + wanted > begin and start < end:
                    continue
                passage = " ".join(paragraphs[other].words[start : start + wanted])
                if passage != truth and passage not in distractors:
                    distractors.append(passage)
                if len(distractors) == CHOICES - 1:
                    context = " ".join(paragraph.words[begin:middle])
                    yield Question(paragraph.document, context, truth, tuple(distractors))
                    break


def last_word(paragraphs: Sequence[Paragraph], lengths: Lengths, rng: Random) -> Iterator[Question]:
    """Which word ends the sentence? The true one stands among three that end other sentences, of like frequency.

    Words are in lower case, of three letters or more, without the sentence's closing marks. Frequencies are counts in
    the text read; ties in order of the word. The context is of the sentence alone, so that no question holds the
    answer to another.
    """
    counts = Counter(word.strip("\"'“”‘’.,;:!?()") for paragraph in paragraphs for word in paragraph.words)
    asked: list[tuple[Paragraph, int, int, str]] = []
    for paragraph in paragraphs:
        for begin, end in sentences(paragraph):
            word = paragraph.words[end - 1].rstrip("\"'”’».!?…。।؟)]")
            start = max(begin, end - 1 - lengths.context_words)
            if len(word) >= 3 and word.isalpha() and word == word.lower() and end - 1 - begin >= FEWEST_CONTEXT_WORDS:
                asked.append((paragraph, start, end - 1, word))
    ranked = sorted({(counts[word], word) for *_, word in asked})
    for paragraph, start, end, word in asked:
        first = bisect_left(ranked, (counts[word], word)) // BAND * BAND
        context = paragraph.words[start:end]
        others = [other for _, other in ranked[first : first + BAND] if other != word and other not in context]
        if len(others) >= CHOICES - 1:
            yield Question(paragraph.document, " ".join(context), word, tuple(rng.sample(others, CHOICES - 1)))


def unperturbed(paragraphs: Sequence[Paragraph], lengths: Lengths, rng: Random) -> Iterator[Question]:
    """Which is the sentence as written? In the other two words have changed places.

    Two whole texts of the same words are compared, as in BLiMP (Warstadt et al., 2020). The first and the last word
    stay.
    """
    for document, words in _whole_sentences(paragraphs, lengths):
        left, right = sorted(rng.sample(range(1, len(words) - 1), 2))
        if words[left] != words[right]:
            yield Question(document, "", " ".join(words), (" ".join(_exchange(words, left, right)),))


def word_order(paragraphs: Sequence[Paragraph], lengths: Lengths, rng: Random) -> Iterator[Question]:
    """Which is the sentence as written? In the others one, the other or both of two pairs of neighbours are swapped.

    The pairs are plain words in lower case, neither first nor last. Both pairs are swapped in one of the choices
    because a model that knows nothing must be right once in four: of the text and three swaps of it alone it would
    prefer the text only where it happens to dislike each of three swaps, once in eight.
    """
    for document, words in _whole_sentences(paragraphs, lengths):
        plain = [word.isalpha() and word == word.lower() for word in words]
        places = [
            place
            for place in range(1, len(words) - 2)
            if plain[place] and plain[place + 1] and words[place] != words[place + 1]
        ]
        pairs = [(left, right) for left, right in combinations(places, 2) if right - left > 1]
        if pairs:
            left, right = rng.choice(pairs)
            first, second = _exchange(words, left, left + 1), _exchange(words, right, right + 1)
            swapped = first, second, _exchange(first, right, right + 1)
            yield Question(document, "", " ".join(words), tuple(map(" ".join, swapped)))


def _exchange(words: Sequence[str], left: int, right: int) -> list[str]:
    """The words with two of them in each other's place."""
    exchanged = list(words)
    exchanged[left], exchanged[right] = exchanged[right], exchanged[left]
    return exchanged


def _whole_sentences(paragraphs: Sequence[Paragraph], lengths: Lengths) -> Iterator[tuple[int, tuple[str, ...]]]:
    for paragraph in paragraphs:
        for begin, end in sentences(paragraph):
            if FEWEST_CONTEXT_WORDS + 2 <= end - begin <= lengths.max_sentence_words:
                yield paragraph.document, paragraph.words[begin:end]


MAKERS: dict[str, Maker] = {
    "continuation": continuation,
    "last_word": last_word,
    "unperturbed": unperturbed,
    "word_order": word_order,
}
