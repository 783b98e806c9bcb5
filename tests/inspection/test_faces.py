"""One table of cases against every face: command, Python, tables, report. All give the same sentence or reason."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import tokbench
from tests.conftest import Tokbench
from tests.support import library_tokenizers as made
from tokbench.report.sentences import baseline_sentence, comparison_sentence
from tokbench.statistics.comparisons.model_bits import compare_model_bits
from tokbench.statistics.comparisons.paired_comparisons import paired_comparisons
from tokbench.statistics.comparisons.scoreboard import SCOREBOARD, scoreboard, scoreboard_families
from tokbench.statistics.significance.judgements import reversed_row
from tokbench.tabulation.columns import QUESTION_MEASURES
from tokbench.tabulation.documents import ALIGNMENT_BY_WORD, DOCUMENT_BITS, TOKENS_BY_DOCUMENT
from tokbench.tabulation.external_tokenizers import IMPORTED
from tokbench.tabulation.intrinsic import INTRINSIC
from tokbench.tabulation.ngram_bits import NGRAM_DOCUMENTS
from tokbench.tabulation.table import TidyTable, schema, tables_of
from tokbench.tokenizer import Tokenizer
from tokbench.vocabulary import BYTES, Vocabulary

SIZE = 300
ENOUGH = [f"the cat sat on the mat {number} times and the hat {number * 7} more " * number for number in range(1, 9)]
"""Eight documents: enough for a verdict on one pair."""


def own(*tokens: bytes, scheme: str = "gpt2", name: str) -> Tokenizer:
    """Return a tokenizer of Tokbench with the bytes and some tokens."""
    return Tokenizer(
        Vocabulary((*BYTES, *tokens)), scheme, "greedy", name=name, origin={"requested_size": 256 + len(tokens)}
    )


def first() -> Tokenizer:
    return own(b"th", b"at", name="first")


def better() -> Tokenizer:
    return own(b"the", b" the", name="other")


def slightly() -> Tokenizer:
    return own(b"th", b"ca", name="other")


def undersized() -> Tokenizer:
    other = own(b"the", name="other")
    other.origin["requested_size"] = 258
    return other


def other_size() -> Tokenizer:
    return own(b"the", b" the", b" cat", name="other")


def other_pretokenizer() -> Tokenizer:
    return own(b"the", b" the", scheme="first_space", name="other")


def twin() -> Tokenizer:
    return own(b"th", b"at", name="other")


def never() -> Tokenizer:
    """Return a tokenizer whose tokens do not occur: its counts are those of bytes."""
    return own(b"QQ", b"ZZ", name="other")


@dataclass(frozen=True)
class Case:
    """Two tokenizers on a text, and what every face says of the second against the first.

    Attributes:
        name: name of the case.
        other: the second tokenizer.
        texts: the documents.
        says: end of the sentence.
        lossy: True if the second one loses text: it is a file that folds case (default: False).
        tables: True if tables of an experiment can have the case (default: True).
        evidence: text in the brackets of the sentence (default: none).
    """

    name: str
    other: Callable[[], Tokenizer]
    texts: Sequence[str]
    says: str
    lossy: bool = False
    tables: bool = True
    evidence: str = ""


BETTER = ": significantly better."
NEED = "; a verdict needs 6."
SMALLER = ": not tested: other has fewer tokens than others of its size."
LOSES = ": not tested: lower does not restore all of the text."
TEXT_CASES = [
    Case("better", better, ENOUGH, BETTER, evidence="; 8 documents)"),
    Case("worse", never, ENOUGH, ": significantly worse."),
    Case("no difference", slightly, ENOUGH, "", evidence="; 8 documents)"),
    Case("the same counts", twin, ENOUGH, ": no significant difference.", evidence="no interval; 8 documents)"),
    Case("six documents", better, ENOUGH[:6], BETTER, evidence="; 6 documents)"),
    Case("five documents", better, ENOUGH[:5], f": not tested: 5 documents{NEED}"),
    Case("three documents", better, ENOUGH[:3], f": not tested: 3 documents{NEED}"),
    Case("two documents", better, ENOUGH[:2], f": not tested: 2 documents{NEED}"),
    Case("one document", better, ENOUGH[:1], f": not tested: 1 document{NEED}", evidence="(no interval; 1 document)"),
    Case("one document and empty ones", better, [ENOUGH[0], *[""] * 19], f": not tested: 1 document{NEED}"),
    Case("empty documents among enough", better, ["", *ENOUGH, ""], BETTER, evidence="; 8 documents)"),
    Case("proportional counts", never, ["the " * n for n in range(1, 9)], ": not tested: the difference is the same in "
         "all documents."),
    Case("fewer tokens", undersized, ENOUGH, SMALLER),
    Case("fewer tokens, few documents", undersized, ENOUGH[:3], SMALLER),
    Case("other pre-tokenizer", other_pretokenizer, ENOUGH, BETTER, evidence="than first (pre-tokenizer gpt2)"),
    Case("other pre-tokenizer, few documents", other_pretokenizer, ENOUGH[:3], f": not tested: 3 documents{NEED}"),
    # Sizes differ or texts have copies only by hand: an experiment compares one size, and its counts have no text.
    Case("other size", other_size, ENOUGH, ": not tested: different sizes, 258 and 259 tokens.", tables=False),
    Case("copies of one document", better, [ENOUGH[3]] * 20, f": not tested: 1 document{NEED}", tables=False),
    Case("copies among enough", better, [*ENOUGH, *ENOUGH[:3]], BETTER, tables=False, evidence="; 8 documents)"),
    Case("copies that make six", better, [*ENOUGH[:4], *ENOUGH[:4]], f": not tested: 4 documents{NEED}", tables=False),
    Case("lossy", better, [text.upper() for text in ENOUGH], LOSES, lossy=True, tables=False),
    Case("lossy, few documents", better, ["ABC", "DEF"], LOSES, lossy=True, tables=False),
    Case("lossy file, text that it restores", better, ENOUGH, BETTER, lossy=True, tables=False),
]  # fmt: skip


@pytest.mark.parametrize("case", TEXT_CASES, ids=lambda case: case.name)
def test_faces_say_the_same_of_texts(case: Case, tmp_path: Path, tokbench: Tokbench) -> None:
    said = {"Python": said_in_python(case, tmp_path), "command": said_by_command(case, tmp_path, tokbench)}
    if case.tables:
        said |= said_in_tables(case)
    assert len(set(said.values())) == 1, said
    [sentence] = set(said.values())
    assert sentence.endswith(case.says)
    assert case.evidence in sentence


def tokenizers(case: Case, folder: Path) -> tuple[Tokenizer, Tokenizer]:
    if not case.lossy:
        return first(), case.other()
    path = made.written(folder / "lower.json", made.byte_level(420) | {"normalizer": {"type": "Lowercase"}})
    return first(), tokbench.load(path)


def said_in_python(case: Case, folder: Path) -> str:
    return tokbench.compare(tokenizers(case, folder), case.texts).best()


def said_by_command(case: Case, folder: Path, run: Tokbench) -> str:
    a, b = tokenizers(case, folder)
    places = [folder / "first", folder / "lower.json" if case.lossy else folder / "other"]
    a.save(places[0])
    if not case.lossy:
        b.save(places[1])
    text = folder / "texts.jsonl"
    text.write_text("".join(json.dumps({"text": one}) + "\n" for one in case.texts))
    done = run("compare", *places, text, "--json")
    assert done.status == 0, done.stderr
    found = json.loads(done.stdout)
    assert run("compare", *places, text).stdout.decode().count(found["sentences"][0]) == 1
    [sentence] = found["sentences"]
    return str(sentence).replace("lower.json", "lower")  # The command names the file.


def said_in_tables(case: Case) -> dict[str, str]:
    """Return the sentences of the table of pairs and of the report, from the tables of an experiment."""
    pair = {"first": first(), "other": case.other()}
    texts = [text.encode() for text in case.texts]
    counted = [
        (name, SIZE, "books", number, 1, len(text), one.count(text))
        for name, one in pair.items() for number, text in enumerate(texts)
    ]  # fmt: skip
    documents = pl.DataFrame(counted, schema=TOKENS_BY_DOCUMENT.schema, orient="row")
    measured = [
        (name, SIZE, "books", "", metric, "", value, 1, None)
        for name, one in pair.items()
        for metric, value in (
            ("vocabulary_size", float(len(one))),
            ("corpus_token_count", float(sum(map(one.count, texts)))),
        )
    ]
    intrinsic = pl.DataFrame(measured, schema=INTRINSIC.schema, orient="row")
    families = families_of(intrinsic=intrinsic, tokens_by_document=documents)
    labels = {name: one.scheme.label for name, one in pair.items()}
    return said_of(families, labels, "tokens")


def families_of(**tables: pl.DataFrame) -> list[Any]:
    """Return the families of some tables; the others are empty."""
    empty: dict[str, Any] = {
        "intrinsic": INTRINSIC.schema,
        "imported": IMPORTED.schema,
        "tokens_by_document": TOKENS_BY_DOCUMENT.schema,
        "ngram_documents": NGRAM_DOCUMENTS.schema,
        "bits_by_seed": {**DOCUMENT_BITS.schema, "seed": pl.Int64},
        "ranks_by_size": RANKED,
        "answers_by_seed": {**schema(QUESTION_MEASURES), "seed": pl.Int64},
        "alignment_by_word": ALIGNMENT_BY_WORD.schema,
    }
    frames = {name: tables.get(name, pl.DataFrame(schema=kinds)) for name, kinds in empty.items()}
    return scoreboard_families(**frames, trainings={}, unit_names=UNITS)


UNITS = {"books": "documents"}
BASELINES = {"first": "first", "other": "first"}


def declared(name: str) -> TidyTable:
    return next(table for table in tables_of("analyse") if table.name == name)


RANKED = declared("ranks_by_size").schema


def said_of(families: list[Any], pretokenizers: dict[str, str], measure: str) -> dict[str, str]:
    """Return the sentence of the table of pairs, and that of the report on the scoreboard."""
    others = [
        pl.DataFrame(schema=declared(name).schema)
        for name in ("task_measure_comparisons", "robustness_comparisons", "perturbed_comparisons",
                     "segmentation_loss_comparisons", "ngram_languages", "bits_languages", "domain_comparisons")
    ]  # fmt: skip
    pairs = paired_comparisons(families, BASELINES, pretokenizers, *others).filter(measure=measure)
    [row] = pairs.rows(named=True)
    forth = row if row["a"] == "other" else reversed_row(row, relative=measure == "tokens")
    found = {"table of pairs": comparison_sentence(forth)}
    board = scoreboard(families, BASELINES, pretokenizers)
    SCOREBOARD.check(board)
    [place] = board.filter(variant="other", measure=measure).rows(named=True)
    if place["difference"] is None:
        assert place["difference_verdict"] == "not tested"
        assert place["difference_reason"] in forth["reason"]
    else:
        found["report"] = baseline_sentence(place)
    return found


@dataclass(frozen=True)
class ModelCase:
    """Bits per byte of models with two tokenizers, and what every face says.

    Attributes:
        name: name of the case.
        seeds: trainings of the first and of the second.
        documents: number of documents.
        apart: bits per byte between the two.
        says: end of the sentence.
        empty: number of documents without bytes (default: 0).
        unit: name of the units (default: documents).
        shared: numbers of the seeds of the second (default: those of the first).
    """

    name: str
    seeds: tuple[int, int]
    documents: int
    apart: float
    says: str
    empty: int = 0
    unit: str = "documents"
    shared: Sequence[int] = field(default_factory=list)


MODEL_CASES = [
    ModelCase("three trainings", (3, 3), 8, 0.5, ": significantly worse."),
    ModelCase("five trainings", (5, 5), 12, 0.5, ": significantly worse."),
    ModelCase("one training", (1, 1), 8, 0.5, ": not tested: one training."),
    ModelCase("two trainings", (2, 2), 8, 0.5, ": not tested: two trainings; significance needs three."),
    ModelCase("one of the two trained once", (3, 1), 8, 0.5, ": not tested: one training."),
    ModelCase("three authors", (5, 5), 3, 0.5, f": not tested: 3 authors{NEED}", unit="authors"),
    ModelCase("six authors", (5, 5), 6, 0.5, ": significantly worse.", unit="authors"),
    ModelCase("one document", (3, 3), 1, 0.5, f": not tested: 1 document{NEED}"),
    ModelCase("documents without bytes", (3, 3), 5, 0.5, f": not tested: 5 documents{NEED}", empty=9),
    ModelCase("few trainings and few documents", (1, 1), 3, 0.5, ": not tested: one training."),
    ModelCase("equal levels", (3, 3), 8, 0.0, ": no significant difference."),
    ModelCase("no seed in common", (3, 3), 8, 0.5, ": not tested: no seed in common.", shared=(7, 8, 9)),
]


def bits_of(case: ModelCase) -> pl.DataFrame:
    rng = np.random.default_rng(5)
    hard = rng.normal(2, 0.2, case.documents)
    rows = []
    for name, count, level in (("first", case.seeds[0], 0.0), ("other", case.seeds[1], case.apart)):
        numbers = list(case.shared) if name == "other" and case.shared else list(range(count))
        for seed in numbers:
            run = rng.normal(0, 0.01)
            for number in range(case.documents + case.empty):
                size = 100 if number < case.documents else 0
                bits = size * (hard[min(number, case.documents - 1)] + level + run + rng.normal(0, 0.02))
                of = seed if max(case.seeds) > 1 else None
                rows.append(("m", name, SIZE, "text", "books", number, "", size, bits or 3.0, 0, of))
    return pl.DataFrame(rows, schema={**DOCUMENT_BITS.schema, "seed": pl.Int64}, orient="row")


@pytest.mark.parametrize("case", MODEL_CASES, ids=lambda case: case.name)
def test_faces_say_the_same_of_models(case: ModelCase, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tables of pairs, the table of bits, and the report; the command and pages read the table of pairs."""
    monkeypatch.setitem(UNITS, "books", case.unit)
    frame = bits_of(case)
    said = said_of(families_of(bits_by_seed=frame), {}, "bits_per_byte")
    [row] = compare_model_bits(frame, {}, frozenset(), UNITS).rows(named=True)
    sides = {"measure": "bits_per_byte", "pretokenization_a": None, "pretokenization_b": None}
    values = {"value_a": None, "value_b": None}
    if case.name != "no seed in common":
        said["table of bits"] = comparison_sentence(reversed_row(row | sides | values))
    else:
        assert row["reason"] == "not tested: no seed in common"
    assert len(set(said.values())) == 1, said
    assert next(iter(said.values())).endswith(case.says)
