"""Import of a local suite's files as lm-eval tasks: ``{task}.yaml`` and its questions as JSON Lines.

Each distributed format is read into one of three shapes. ``choices``: a context and the choices that may follow it.
``schemas``: several openings of one ending (Winograd schemas, scored by the likelihood of the ending after each
opening: Trinh and Le, 2018, "partial" evaluation). ``completions``: one text to be continued exactly. Contexts lose
their trailing white space, and the following text begins with its own space. The start of a word thus does not depend
on the file.
"""

import csv
import io
import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Any, Literal, NamedTuple

import yaml

from tokbench.errors import TokbenchError
from tokbench.evaluation.suites import LocalTask, SuiteOptions
from tokbench.io.atomic import atomic_folder
from tokbench.io.json import parse_json
from tokbench.io.text_files import read_bytes

Shape = Literal["choices", "schemas", "completions"]
Row = dict[str, Any]
MASK = "[MASK]"
LETTERS = "ABCD"
DETERMINERS = ("a", "an", "the", "she", "he", "it", "they", "my", "his", "her", "their")
"""Words that lose their capital if a candidate is inserted into a sentence, as in lm-eval's wsc273."""
REMEDY = "name a file of UTF-8 text"
METRICS = {"choices": ("acc", "acc_norm"), "schemas": ("acc",), "completions": ("acc",)}
TEMPLATES: dict[Shape, dict[str, Any]] = {
    "choices": {
        "output_type": "multiple_choice",
        "doc_to_text": "context",
        "doc_to_choice": "choices",
        "doc_to_target": "gold",
        "target_delimiter": " ",
    },
    "schemas": {
        "output_type": "multiple_choice",
        "doc_to_text": "gold",
        "doc_to_choice": "openings",
        "doc_to_target": "ending",
        "target_delimiter": "",
    },
    "completions": {
        "output_type": "loglikelihood",
        "doc_to_text": "context",
        "doc_to_target": "continuation",
        "target_delimiter": "",
    },
}
"""lm-eval's keys for each shape of questions."""


@dataclass(frozen=True)
class FileForm:
    """Reader of one file format.

    Attributes:
        shape: shape of its records.
        read: function from the text of a file to pairs of record number, from 1, and row. A row of choices has
            ``context``, ``choices`` and ``gold``; one of schemas ``openings``, ``ending`` and ``gold``; one of
            completions ``context`` and ``continuation``. ``group`` names the row's part of the task, or is empty.
    """

    shape: Shape
    read: Callable[[str], Iterator[tuple[int, Row]]]


def _json_lines(text: str) -> Iterator[tuple[int, Row]]:
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            row = parse_json(line, f"record {number}", remedy="correct the line")
            if not isinstance(row, dict):
                raise TokbenchError(f"record {number}: an object is expected; correct the line")
            yield number, row


def _take(row: Row, key: str, kind: type, number: int) -> Any:
    if not isinstance(row.get(key), kind) or isinstance(row[key], bool):
        raise TokbenchError(
            f"record {number}: no key '{key}' with a value of type {kind.__name__}; "
            "correct the record, or name another format"
        )
    return row[key]


def _texts(row: Row, key: str, number: int) -> list[str]:
    """Return the texts to choose from. A number becomes text in Python's notation."""
    values = _take(row, key, list, number)
    for place, value in enumerate(values, 1):
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            raise TokbenchError(f"record {number}: {key} {place} is not text (found {value!r:.20}); correct the record")
    return [str(value) for value in values]


def fault(row: Row) -> str | None:
    """Return the reason why no model can answer a question, or None.

    A right choice that equals another has the same score, and an empty text has no score. Wrong choices may be equal,
    as in ARC, because that does not change the result.
    """
    if "continuation" in row:
        return None if row["continuation"].strip() else "the continuation is empty"
    if "openings" in row and not row["ending"].strip():
        return "the ending is empty"
    texts = row["choices"] if "choices" in row else row["openings"]
    if len(texts) < 2:
        return "there is one choice only, so every answer is right"
    if not all(text.strip() for text in texts):
        return "a choice is empty"
    right = texts[row["gold"]]
    return f"the right choice equals another ({right!r:.40})" if texts.count(right) > 1 else None


def _gold(row: Row, choices: list[str], number: int) -> int:
    gold: int = _take(row, "gold", int, number)
    if not 0 <= gold < len(choices):
        raise TokbenchError(
            f"record {number}: gold is {gold}, but there are {len(choices)} choices; correct the record"
        )
    return gold


def read_choices(text: str) -> Iterator[tuple[int, Row]]:
    """Read JSON Lines {query, choices, gold}, the format of llm-foundry's multiple-choice sets."""
    for number, row in _json_lines(text):
        choices = [choice.strip() for choice in _texts(row, "choices", number)]
        query = _take(row, "query", str, number).rstrip()
        yield number, {"context": query, "choices": choices, "gold": _gold(row, choices, number), "group": ""}


def read_schemas(text: str) -> Iterator[tuple[int, Row]]:
    """Read JSON Lines {context_options, continuation, gold}, the format of llm-foundry's schemas."""
    for number, row in _json_lines(text):
        openings = [opening.rstrip() for opening in _texts(row, "context_options", number)]
        ending = " " + _take(row, "continuation", str, number).strip()
        yield number, {"openings": openings, "ending": ending, "gold": _gold(row, openings, number), "group": ""}


def read_completions(text: str) -> Iterator[tuple[int, Row]]:
    """Read JSON Lines {context, continuation} with optional {category}, llm-foundry's format of LAMBADA and
    Jeopardy."""
    for number, row in _json_lines(text):
        context = _take(row, "context", str, number).rstrip()
        continuation = " " + _take(row, "continuation", str, number).strip()
        yield number, {"context": context, "continuation": continuation, "group": str(row.get("category", ""))}


def read_minimal_pairs(text: str) -> Iterator[tuple[int, Row]]:
    """Read JSON Lines {sentence_good, sentence_bad} with optional {UID}, the format of BLiMP (Warstadt et al., 2020).

    Full sentences are compared. The good one is first and second in turn, so that no rule for equal scores favours it.
    """
    for number, row in _json_lines(text):
        pair = [_take(row, key, str, number) for key in ("sentence_good", "sentence_bad")]
        gold = (number - 1) % 2
        yield number, {"context": "", "choices": pair[:: 1 - 2 * gold], "gold": gold, "group": str(row.get("UID", ""))}


def read_mmlu(text: str) -> Iterator[tuple[int, Row]]:
    """Read CSV of a question, four answers and the right one (A to D, or 0 to 3), with or without a header.

    The prompt lists the answers, and the choices are their letters, as in lm-eval.
    """
    for number, row in _csv(text):
        if not row or (number == 1 and row[0] == "question"):
            continue
        key = row[5].strip() if len(row) == 6 else ""
        if len(key) != 1 or key not in LETTERS + "0123":
            raise TokbenchError(
                f"record {number}: a question, four answers and one of A, B, C, D or 0, 1, 2, 3 are expected "
                f"(found {len(row)} fields, the last {row[-1]!r:.20}); correct the record, or name another format"
            )
        gold = LETTERS.index(key) if key in LETTERS else int(key)
        lines = [row[0].strip(), *(f"{letter}. {answer}" for letter, answer in zip(LETTERS, row[1:5], strict=True))]
        context = "\n".join([*lines, "Answer:"])
        yield number, {"context": context, "choices": list(LETTERS), "gold": gold, "group": ""}


def _csv(text: str) -> Iterator[tuple[int, list[str]]]:
    number = 0
    try:
        for number, row in enumerate(csv.reader(io.StringIO(text)), 1):
            yield number, row
    except csv.Error as error:
        raise TokbenchError(f"record {number + 1}: not CSV ({error}); correct the record") from None


def read_winograd(text: str) -> Iterator[tuple[int, Row]]:
    """Read records of a text with [MASK], the mask, the candidates and the right one, separated by blank lines.

    A candidate replaces the mask. Inside a sentence, one that begins with a determiner loses its capital. It gets the
    article that it has in the rest of the text (WinoGender has the candidate "technician" and "the technician" in the
    text). Candidates are sorted, because some files have the right one first.
    """
    for start, block in _blocks(text):
        if len(block) != 4 or block[0].count(MASK) != 1:
            raise TokbenchError(
                f"record at line {start}: a text with one {MASK}, the mask, the candidates and the right one are "
                "expected on four lines; correct the record, or name another format"
            )
        candidates = sorted(candidate.strip() for candidate in block[2].split(","))
        if block[3].strip() not in candidates:
            raise TokbenchError(
                f"record at line {start}: '{block[3].strip()}' is not a candidate ({', '.join(candidates)}); correct it"
            )
        before, after = (" ".join(part.split()) for part in block[0].split(MASK))
        attached = not after or re.match(r"[^\w\s\"(]", after) is not None
        yield (
            start,
            {
                "openings": [f"{before} {_placed(candidate, before, block[0])}".lstrip() for candidate in candidates],
                "ending": after if attached else " " + after,
                "gold": candidates.index(block[3].strip()),
                "group": "",
            },
        )


def _blocks(text: str) -> Iterator[tuple[int, list[str]]]:
    """Yield runs of nonblank lines, each with the number of its first line."""
    block: list[str] = []
    for number, line in enumerate([*text.split("\n"), ""], 1):
        if line.strip():
            block.append(line)
        elif block:
            yield number - len(block), block
            block = []


def _placed(candidate: str, before: str, text: str) -> str:
    """Return a candidate in the form that it has after ``before``."""
    first, _, rest = candidate.partition(" ")
    begins = not before or before[-1] in ".!?"
    if first.lower() in DETERMINERS:
        return f"{first.capitalize() if begins else first.lower()} {rest}".rstrip()
    if candidate.islower() and re.search(rf"\bthe {re.escape(candidate)}\b", text, re.IGNORECASE):
        return f"{'The' if begins else 'the'} {candidate}"
    return candidate


FORMS: dict[str, FileForm] = {
    "choices": FileForm("choices", read_choices),
    "schemas": FileForm("schemas", read_schemas),
    "completions": FileForm("completions", read_completions),
    "mmlu": FileForm("choices", read_mmlu),
    "winograd": FileForm("schemas", read_winograd),
    "minimal_pairs": FileForm("choices", read_minimal_pairs),
}


def task_files(suite: SuiteOptions) -> list[Path]:
    """Return every file of a local suite, each once.

    Raises:
        TokbenchError: the suite has no path, or a task has no file. The message names it.
    """
    files: dict[Path, None] = {}
    for name in suite.tasks:
        task = suite.local_task(name)
        for pattern in filter(None, (task.file, task.fewshot_file)):
            files |= dict.fromkeys(_matching(suite, pattern, name))
    return list(files)


def _matching(suite: SuiteOptions, pattern: str, task: str) -> list[Path]:
    if suite.path is None:
        raise TokbenchError("path: a local suite needs the folder of its files; add it")
    files = sorted(file for file in suite.path.glob(pattern) if file.is_file())
    if not files:
        raise TokbenchError(
            f"no file '{pattern}' of the task '{task}' in '{suite.path}'; leave the task out, or name its file "
            f"under files.{task}"
        )
    return files


class Written(NamedTuple):
    """Number of questions of a task that were written, and that were left out because no model can answer them."""

    questions: int
    skipped: int


def write_local_tasks(suite: SuiteOptions, folder: Path | str) -> dict[str, Written]:
    """Write the tasks of a local suite, the folder atomically.

    Questions keep the order of their files and the number of their record. If a task has groups (BLiMP's paradigms)
    they alternate, so that a limit on the questions includes equal numbers of each.

    Args:
        suite: tasks and files.
        folder: output folder, which is replaced.

    Returns:
        Numbers of questions of each task.

    Raises:
        TokbenchError: a file is missing, a record is not in its format, or no model can answer it.
    """
    with atomic_folder(folder, "tasks") as partial:
        written = {name: _write_task(suite, name, partial) for name in suite.tasks}
        manifest: dict[str, dict[str, int]] = {"questions": {name: task.questions for name, task in written.items()}}
        if skipped := {name: task.skipped for name, task in written.items() if task.skipped}:
            manifest["skipped"] = skipped
        (partial / "tasks.json").write_text(json.dumps(manifest, indent=1) + "\n", encoding="utf-8")
    return written


def _write_task(suite: SuiteOptions, name: str, folder: Path) -> Written:
    task = suite.local_task(name)
    shape = FORMS[task.format].shape
    questions, skipped = _read(_matching(suite, task.file, name), task)
    if not questions:
        raise TokbenchError(f"{suite.path}/{task.file}: no question of the task '{name}'; name a file with questions")
    _write_rows(folder / f"{name}.test.jsonl", questions)
    config: dict[str, Any] = {
        "task": name,
        "dataset_path": "json",
        "dataset_kwargs": {"data_files": {"test": f"{name}.test.jsonl"}},
        "test_split": "test",
        **TEMPLATES[shape],
        "description": task.description,
        "metric_list": [
            {"metric": metric, "aggregation": "mean", "higher_is_better": True} for metric in METRICS[shape]
        ],
    }
    if shape == "choices" and not any(row["context"] for row in questions):
        config["num_fewshot"] = 0  # Full texts are compared. lm-eval never overrides a zero.
    available = len(questions) - 1
    if task.fewshot_file is not None:
        examples, left_out = _read(_matching(suite, task.fewshot_file, name), task)
        _write_rows(folder / f"{name}.fewshot.jsonl", examples)
        skipped += left_out
        available = len(examples)
        config["dataset_kwargs"]["data_files"]["train"] = f"{name}.fewshot.jsonl"
        config |= {"training_split": "train", "fewshot_split": "train"}
        if task.format == "mmlu":
            config["fewshot_config"] = {"sampler": "first_n"}
    needed = 0 if config.get("num_fewshot") == 0 else suite.settings(name).num_fewshot or 0
    if available < needed:
        raise TokbenchError(
            f"{suite.path}/{task.fewshot_file or task.file}: {available} questions of the task '{name}' are left for "
            f"examples, and num_fewshot asks for {needed}; lower num_fewshot, or name a file with more questions"
        )
    (folder / f"{name}.yaml").write_text(yaml.safe_dump(config, sort_keys=False, allow_unicode=True), encoding="utf-8")
    return Written(len(questions), skipped)


def _read(files: Sequence[Path], task: LocalTask) -> tuple[list[Row], int]:
    """Return the rows of a task's files with groups alternating, and the number of rows left out."""
    rows, skipped = [], 0
    for file in files:
        try:
            text = read_bytes(file, REMEDY).decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise TokbenchError(f"{file}: cannot be read ({error}); {REMEDY}") from None
        try:
            for number, row in FORMS[task.format].read(text):
                if reason := fault(row):
                    if task.bad_records == "reject":
                        raise TokbenchError(
                            f"record {number}: {reason}; correct the record, or set 'bad_records: skip' for the task"
                        )
                    skipped += 1
                    continue
                if "context" in row:
                    row["context"] += task.ending
                rows.append({"file": file.name, "record": number, **row})
        except TokbenchError as error:
            raise TokbenchError(f"{file}, {error}") from None
    groups: dict[str, list[Row]] = {}
    for row in rows:
        groups.setdefault(row["group"], []).append(row)
    return [row for turn in zip_longest(*groups.values()) for row in turn if row is not None], skipped


def _write_rows(path: Path, rows: Sequence[Row]) -> None:
    with path.open("w", encoding="utf-8", newline="\n") as lines:
        lines.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
