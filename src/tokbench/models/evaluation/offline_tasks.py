"""Downstream tasks made from the evaluation split: no network, no licence, any language that writes spaces.

Each task is an lm-eval task over local JSON lines: ``{task}.yaml``, ``{task}.test.jsonl`` and, for examples in the
prompt, ``{task}.fewshot.jsonl``; ``tasks.json`` says what was made of what.

Questions with a right answer by construction, asked of plain text.

Each maker yields every question that it finds, in the order of the text or of the generator's draws; ``tasks``
shuffles, trims and lays them out. Choices begin at a word: they follow the context after one space.

Passages of plain text: paragraphs of words, and the sentences in them.

Only white space and full stops are relied on, so that any language that writes both will do.
"""

import json
import re
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from itertools import combinations
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Annotated, Any, Literal, Protocol

import yaml
from pydantic import Field

from tokbench.errors import TokbenchError
from tokbench.io.atomic import atomic_folder
from tokbench.io.numbers import LARGEST_BYTES
from tokbench.options import Options, Seed

if TYPE_CHECKING:
    from tokbench.models.evaluation.suites import SuiteOptions


SENTENCE_END = re.compile(r"[.!?…。।؟]+[\"'”’»)\]]*$")
ABBREVIATION = re.compile(r"[^\W\d_a-z]\w{0,2}\.$")


@dataclass(frozen=True, slots=True)
class Paragraph:
    """The words of successive lines of a document, up to a blank line or one that is not text."""

    document: int
    words: tuple[str, ...]


def read_paragraphs(documents: Iterable[tuple[int, bytes]], max_bytes: int) -> tuple[list[Paragraph], int]:
    """Cut documents into paragraphs, in order, until ``max_bytes`` have been read.

    The last document is cut at white space. Words lose the white space between them, line ends included: passages are
    later written with single spaces.

    Returns:
        The paragraphs, and the number of lines passed over because they are not valid UTF-8. Such a line ends a
        paragraph, so that no passage bridges it.
    """
    paragraphs: list[Paragraph] = []
    invalid, left = 0, max_bytes
    for document, text in documents:
        kept = text if len(text) <= left else b"".join(text[:left].rsplit(maxsplit=1)[:1])
        words: list[str] = []
        for line in [*kept.split(b"\n"), b""]:
            try:
                found = line.decode("utf-8").split()
            except UnicodeDecodeError:
                found = []
                invalid += 1
            if not found and words:
                paragraphs.append(Paragraph(document, tuple(words)))
                words = []
            words.extend(found)
        left -= len(text)
        if left <= 0:
            break
    return paragraphs, invalid


def sentences(paragraph: Paragraph) -> Iterator[tuple[int, int]]:
    """Begin and end (in words) of each complete sentence of a paragraph.

    A sentence ends at a word that closes with a mark such as ``.`` or ``?"`` before a word that does not begin in
    lower case, or at the paragraph's end. Short capitalised words (``Mr.``, ``J.``) are taken for abbreviations.
    """
    words = paragraph.words
    begin = 0
    for position, word in enumerate(words):
        if not SENTENCE_END.search(word) or ABBREVIATION.fullmatch(word):
            continue
        following = words[position + 1].lstrip("\"'“‘«([") if position + 1 < len(words) else ""
        if following[:1].islower():
            continue
        yield begin, position + 1
        begin = position + 1


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


TaskName = Literal["continuation", "last_word", "unperturbed", "word_order"]


class TaskOptions(Options):
    """How the offline tasks are made."""

    tasks: tuple[TaskName, ...] = Field(
        default=("continuation", "last_word", "unperturbed", "word_order"), min_length=1
    )
    """Tasks to make: the true continuation of a passage, the last word of a sentence, a sentence against two of its
    words exchanged, a sentence against neighbouring words swapped."""
    questions: int = Field(default=200, ge=1)
    """Questions of each task; fewer are made where the text gives no more."""
    fewshot_pool: int = Field(default=16, ge=0)
    """Further questions of each task, never among those asked, from which the examples in a prompt are drawn."""
    context_words: int = Field(default=24, ge=6)
    """Words before a continuation; the most words before a last word."""
    continuation_words: int = Field(default=8, ge=1)
    """Words of each continuation."""
    max_sentence_words: int = Field(default=40, ge=8)
    """The longest sentence that is set against a perturbation of itself, in words."""
    max_bytes: int = Field(default=4_000_000, ge=1, le=LARGEST_BYTES)
    """Text read from the start of the split, in bytes, which bounds the memory."""
    seed: Seed = 0
    """Seed of every draw."""


class PromptExamples(Options):
    """Examples that prompts need."""

    tasks: dict[TaskName, Annotated[int, Field(ge=0)]] = Field(default_factory=dict)
    """By task, how many."""


def make_tasks(
    documents: Iterable[tuple[int, bytes]],
    folder: Path | str,
    options: TaskOptions,
    examples: Mapping[TaskName, int] | None = None,
) -> None:
    """Write the offline tasks of one evaluation split, the folder whole or not at all.

    Questions are drawn without repetition, the right answer stands equally often (within one) at each position, and
    the draws of one task do not depend on which others are made. Where the text is short, at most a quarter of the
    questions found go to the few-shot pool.

    Args:
        documents: (position in the source, bytes), in ascending order.
        folder: where the files go; it is replaced.
        options: what to make.
        examples: by task, how many examples a prompt needs.

    Raises:
        TokbenchError: the text does not give a single question for one of the tasks, or too few for the examples.
    """
    examples = examples or {}
    paragraphs, invalid = read_paragraphs(documents, options.max_bytes)
    manifest: dict[str, Any] = {
        "options": options.model_dump(mode="json"),
        "documents": len({paragraph.document for paragraph in paragraphs}),
        "words": sum(len(paragraph.words) for paragraph in paragraphs),
        "lines_not_utf8": invalid,
        "tasks": {},
    }
    with atomic_folder(folder, "tasks") as partial:
        for task in dict.fromkeys(options.tasks):
            rng = Random(f"{options.seed} {task}")
            found = _distinct(MAKERS[task](paragraphs, options, rng))
            if not found:
                raise TokbenchError(
                    f"evaluation split: its {manifest['words']} words give no question for the task '{task}' "
                    f"({invalid} lines are not UTF-8); give a longer split of running text, or leave '{task}' out"
                )
            rng.shuffle(found)
            pool = min(options.fewshot_pool, len(found) // 4)
            if pool < (needed := examples.get(task, 0)):
                raise TokbenchError(
                    f"evaluation split: {pool} questions of the task '{task}' are left for examples, and a suite asks "
                    f"for {needed} (num_fewshot); lower num_fewshot, or give a longer split of running text"
                )
            asked = found[pool : pool + options.questions]
            _write_questions(partial / f"{task}.test.jsonl", asked, rng)
            if pool:
                _write_questions(partial / f"{task}.fewshot.jsonl", found[:pool], rng)
            (partial / f"{task}.yaml").write_text(_task_yaml(task, fewshot=pool > 0), encoding="utf-8")
            manifest["tasks"][task] = {
                "questions": len(asked),
                "asked_for": options.questions,
                "found": len(found),
                "fewshot_pool": pool,
                "random_baseline": 1 / (1 + len(asked[0].distractors)),
            }
        (partial / "tasks.json").write_text(json.dumps(manifest, indent=1) + "\n", encoding="utf-8")


def examples_of(suite: "SuiteOptions") -> dict[str, int]:
    """Return by task how many examples the prompts of an offline suite have, without tasks that have none."""
    asked = {name: suite.settings(name).num_fewshot or 0 for name in suite.tasks if suite.source == "offline"}
    return {name: number for name, number in asked.items() if number and name in MAKERS and _allows_examples(name)}


def _allows_examples(task: str) -> bool:
    return bool(yaml.safe_load(_template(task)).get("num_fewshot", 1))


def _template(task: str) -> str:
    return files("tokbench.models.evaluation").joinpath("templates", f"{task}.yaml").read_text(encoding="utf-8")


def _distinct(questions: Iterable[Question]) -> list[Question]:
    return list({(question.context, question.truth): question for question in questions}.values())


def _write_questions(path: Path, questions: Sequence[Question], rng: Random) -> None:
    choices = 1 + len(questions[0].distractors)
    golds = [number % choices for number in range(len(questions))]
    rng.shuffle(golds)
    with path.open("w", encoding="utf-8", newline="\n") as lines:
        for question, gold in zip(questions, golds, strict=True):
            row = {
                "document": question.document,
                "context": question.context,
                "choices": [*question.distractors[:gold], question.truth, *question.distractors[gold:]],
                "gold": gold,
            }
            lines.write(json.dumps(row, ensure_ascii=False) + "\n")


def _task_yaml(task: str, *, fewshot: bool) -> str:
    """The task's template; without its few-shot split when that is empty."""
    text = _template(task)
    if fewshot:
        return text
    config = yaml.safe_load(text)
    for key in ("training_split", "fewshot_split"):
        del config[key]
    del config["dataset_kwargs"]["data_files"]["train"]
    return yaml.safe_dump(config, sort_keys=False)
