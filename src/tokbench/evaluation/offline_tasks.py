"""Downstream tasks made from the evaluation split, without network or licences, for any language that writes spaces.

Each task is an lm-eval task over local JSON Lines: ``{task}.yaml``, ``{task}.test.jsonl`` and, for examples in the
prompt, ``{task}.fewshot.jsonl``. ``tasks.json`` records the options and counts. Questions have a right answer by
construction. Each maker yields all its questions, in the order of the text or of the generator's draws.
:func:`make_tasks` then shuffles, limits and writes them. Choices begin at a word: they follow the context after one
space.

Passages are paragraphs of words, and sentences within them. They are found only from white space and sentence marks.
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
    from tokbench.evaluation.suites import SuiteOptions


SENTENCE_END = re.compile(r"[.!?…。।؟]+[\"'”’»)\]]*$")
ABBREVIATION = re.compile(r"[^\W\d_a-z]\w{0,2}\.$")
CHOICES = 4
"""Number of choices of a question, except for questions that compare a text with one perturbation."""
BAND = 20
"""Number of words of similar frequency that distractors are drawn from. The bands are fixed. A band centred on the
right word would reveal it by its frequency."""
DRAWS = 64
"""Number of passages of the right length that are drawn before a question is skipped."""
FEWEST_CONTEXT_WORDS = 6
"""Smallest number of words before a last word, and between the ends of a perturbed sentence."""
TaskName = Literal["continuation", "last_word", "unperturbed", "word_order"]


@dataclass(frozen=True, slots=True)
class Paragraph:
    """Words of successive lines of a document, up to a blank line or one that is not text."""

    document: int
    words: tuple[str, ...]


def read_paragraphs(documents: Iterable[tuple[int, bytes]], max_bytes: int) -> tuple[list[Paragraph], int]:
    """Split documents into paragraphs, in order, until ``max_bytes`` have been read.

    The last document is cut at white space. Words lose the white space between them, including line ends. Passages are
    later written with single spaces.

    Returns:
        The paragraphs, and the number of lines skipped because they are not valid UTF-8. Such a line ends a paragraph,
        so that no passage spans it.
    """
    paragraphs: list[Paragraph] = []
    invalid, left = 0, max_bytes
    for document, text in documents:
        kept = text if len(text) <= left else b"".join(text[:left].rsplit(maxsplit=1)[:1])
        words: list[str] = []
        for line in [*kept.split(b"\n"), b""]:
            try:
                line_words = line.decode("utf-8").split()
            except UnicodeDecodeError:
                line_words = []
                invalid += 1
            if not line_words and words:
                paragraphs.append(Paragraph(document, tuple(words)))
                words = []
            words.extend(line_words)
        left -= len(text)
        if left <= 0:
            break
    return paragraphs, invalid


def sentences(paragraph: Paragraph) -> Iterator[tuple[int, int]]:
    """Yield the start and end (in words) of each complete sentence of a paragraph.

    A sentence ends at a word with a closing mark such as ``.`` or ``?"``, unless the next word begins in lower case. It
    also ends with the paragraph if its last word has such a mark. Short capitalised words (``Mr.``, ``J.``) are treated
    as abbreviations.
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


@dataclass(frozen=True, slots=True)
class Question:
    """A context (empty if full texts are compared), the right choice and the wrong ones."""

    document: int
    context: str
    truth: str
    distractors: tuple[str, ...]


class Lengths(Protocol):
    """Lengths that a maker needs, see :class:`TaskOptions`."""

    @property
    def context_words(self) -> int: ...

    @property
    def continuation_words(self) -> int: ...

    @property
    def max_sentence_words(self) -> int: ...


Maker = Callable[[Sequence[Paragraph], Lengths, Random], Iterator[Question]]


def continuation(paragraphs: Sequence[Paragraph], lengths: Lengths, rng: Random) -> Iterator[Question]:
    """Yield questions for the passage that follows a context.

    The three distractors are other passages with the same numbers of words and characters. Questions do not overlap. A
    distractor never begins a paragraph, since the right passage never does, and never overlaps the question's own
    passage.
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
    """Yield questions for the last word of a sentence.

    The three distractors end other sentences and have similar frequency. Words are in lower case, have three or more
    letters, and exclude the sentence's closing marks. Frequencies are counts in the text read, with ties in order of
    the word. The context is from the sentence only, so that no question contains the answer to another.
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
    """Yield pairs of a sentence and the same sentence with two words exchanged.

    Two full texts of the same words are compared, as in BLiMP (Warstadt et al., 2020). The first and the last word stay
    in place.
    """
    for document, words in _whole_sentences(paragraphs, lengths):
        left, right = sorted(rng.sample(range(1, len(words) - 1), 2))
        if words[left] != words[right]:
            yield Question(document, "", " ".join(words), (" ".join(_exchange(words, left, right)),))


def word_order(paragraphs: Sequence[Paragraph], lengths: Lengths, rng: Random) -> Iterator[Question]:
    """Yield a sentence and three versions with swapped neighbours: either of two pairs, or both.

    The pairs are plain words in lower case, neither first nor last in the sentence. With both pairs swapped in one
    choice, a model without knowledge is right once in four. With three single swaps it would be right only once in
    eight, whenever it happens to dislike each of the three.
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
    """Return the words with two of them exchanged."""
    exchanged = list(words)
    exchanged[left], exchanged[right] = exchanged[right], exchanged[left]
    return exchanged


def _whole_sentences(paragraphs: Sequence[Paragraph], lengths: Lengths) -> Iterator[tuple[int, tuple[str, ...]]]:
    """Yield the document and the words of each sentence that is neither too short nor too long for a question."""
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


class TaskOptions(Options):
    """Options of the offline tasks."""

    tasks: tuple[TaskName, ...] = Field(
        default=("continuation", "last_word", "unperturbed", "word_order"), min_length=1
    )
    """Tasks to make: the continuation of a passage, the last word of a sentence, a sentence versus two of its words
    exchanged, a sentence versus neighbouring words swapped."""
    questions: int = Field(default=200, ge=1)
    """Questions of each task. Fewer are made if the text does not yield that many."""
    fewshot_pool: int = Field(default=16, ge=0)
    """Further questions of each task, separate from those asked, from which the examples in a prompt are drawn."""
    context_words: int = Field(default=24, ge=6)
    """Words before a continuation, and the largest number of words before a last word."""
    continuation_words: int = Field(default=8, ge=1)
    """Words of each continuation."""
    max_sentence_words: int = Field(default=40, ge=8)
    """Longest sentence that is compared with a perturbation, in words."""
    max_bytes: int = Field(default=4_000_000, ge=1, le=LARGEST_BYTES)
    """Text read from the start of the split, in bytes. It limits the memory."""
    seed: Seed = 0
    """Seed of every draw."""


class PromptExamples(Options):
    """Examples that prompts need."""

    tasks: dict[TaskName, Annotated[int, Field(ge=0)]] = Field(default_factory=dict)
    """Number of examples by task."""


def make_tasks(
    documents: Iterable[tuple[int, bytes]],
    folder: Path | str,
    options: TaskOptions,
    examples: Mapping[TaskName, int] | None = None,
) -> None:
    """Write the offline tasks of one evaluation split, the folder atomically.

    Questions are drawn without repetition. The right answer is equally often (within one) at each position. The draws
    of one task do not depend on the other tasks. If the text is short, at most a quarter of the questions found are
    used as few-shot examples.

    Args:
        documents: (position in the source, bytes), in ascending order.
        folder: output folder, which is replaced.
        options: tasks and their sizes.
        examples: number of examples that a prompt needs, by task. Default: none.

    Raises:
        TokbenchError: the text yields no question for one of the tasks, or too few for the examples.
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
            # Each task has draws of its own.
            rng = Random(f"{options.seed} {task}")
            questions = _distinct(MAKERS[task](paragraphs, options, rng))
            if not questions:
                raise TokbenchError(
                    f"evaluation split: its {manifest['words']} words give no question for the task '{task}' "
                    f"({invalid} lines are not UTF-8); give a longer split of running text, or leave '{task}' out"
                )

            # Examples come first in the random order, then the questions that are asked.
            rng.shuffle(questions)
            pool = min(options.fewshot_pool, len(questions) // 4)
            if pool < (needed := examples.get(task, 0)):
                raise TokbenchError(
                    f"evaluation split: {pool} questions of the task '{task}' are left for examples, and a suite asks "
                    f"for {needed} (num_fewshot); lower num_fewshot, or give a longer split of running text"
                )
            asked = questions[pool : pool + options.questions]
            _write_questions(partial / f"{task}.test.jsonl", asked, rng)
            if pool:
                _write_questions(partial / f"{task}.fewshot.jsonl", questions[:pool], rng)
            (partial / f"{task}.yaml").write_text(_task_yaml(task, fewshot=pool > 0), encoding="utf-8")
            manifest["tasks"][task] = {
                "questions": len(asked),
                "asked_for": options.questions,
                "found": len(questions),
                "fewshot_pool": pool,
                "random_baseline": 1 / (1 + len(asked[0].distractors)),
            }
        (partial / "tasks.json").write_text(json.dumps(manifest, indent=1) + "\n", encoding="utf-8")


def examples_of(suite: "SuiteOptions") -> dict[str, int]:
    """Return the number of examples in the prompts of an offline suite, by task, without tasks that have none."""
    asked = {name: suite.settings(name).num_fewshot or 0 for name in suite.tasks if suite.source == "offline"}
    return {name: number for name, number in asked.items() if number and name in MAKERS and _allows_examples(name)}


def _allows_examples(task: str) -> bool:
    """Return True unless the template of a task forbids examples in its prompts."""
    return bool(yaml.safe_load(_template(task)).get("num_fewshot", 1))


def _template(task: str) -> str:
    """Return the YAML template of an offline task, which is part of the package."""
    return files("tokbench.evaluation").joinpath("templates", f"{task}.yaml").read_text(encoding="utf-8")


def _distinct(questions: Iterable[Question]) -> list[Question]:
    """Return the questions without repetitions of context and right answer; the last of equal ones stays."""
    return list({(question.context, question.truth): question for question in questions}.values())


def _write_questions(path: Path, questions: Sequence[Question], rng: Random) -> None:
    """Write questions as JSON Lines; the right answer is equally often, within one, at each position."""
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
    """Return the task's template, without its few-shot split if that is empty."""
    text = _template(task)
    if fewshot:
        return text
    config = yaml.safe_load(text)
    for key in ("training_split", "fewshot_split"):
        del config[key]
    del config["dataset_kwargs"]["data_files"]["train"]
    return yaml.safe_dump(config, sort_keys=False)
