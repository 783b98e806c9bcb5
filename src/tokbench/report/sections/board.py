"""The scoreboard: a row for each tokenizer, a column for each thing that is asked first."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import polars as pl

from tokbench.report.content import ReportContent
from tokbench.report.layout import UNEXPLAINED, Column, Source, Table
from tokbench.report.sections.comparisons import SELECTED
from tokbench.report.sections.origins import RESOURCE, TEXT, path_of
from tokbench.report.sections.significance import BELOW, UNSURE
from tokbench.report.wording import defined, listed
from tokbench.statistics.scoreboard import ACCURACY, ALIGNMENT, BITS, GAP, NGRAM, SCOREBOARD, TOKENS
from tokbench.statistics.standing import ALIKE, BEST, WORSE
from tokbench.statistics.verdicts import NOT_TESTED, may_rank, why_untested
from tokbench.tidy.table import Kind

FIRST, SAME = "★", "≈"
SIGNS = {BEST: FIRST, ALIKE: SAME, WORSE: BELOW, NOT_TESTED: UNSURE}
SPEED = "speed"
ORDER = (TOKENS, GAP, NGRAM, BITS, ACCURACY, ALIGNMENT, SPEED)
DOWNSTREAM = "downstream/{model}/{variant}/{size}/{suite}.json"
FILES = {TOKENS: TEXT, NGRAM: "ngram_bits/{variant}/{size}.json", BITS: DOWNSTREAM, ACCURACY: DOWNSTREAM,
         ALIGNMENT: RESOURCE, GAP: "bounds/{corpus}/*/{size}.json",
         SPEED: "speeds/{variant}/{size}/*.json"}  # fmt: skip
ABOUT = {
    TOKENS: "tokens that the text takes; the fewer the better",
    GAP: "how many more tokens than a proven lower bound for any vocabulary of this size and the same pre-tokens, in "
    "percent. Compare only tokenizers of the same pre-tokenization by it",
    NGRAM: "how well models that count runs of tokens predict the text; the fewer bits the better. A quick stand-in "
    "for a language model, good for ordering tokenizers; its level says nothing",
    BITS: "how well a language model trained with the tokenizer predicts held-out text; the fewer bits the better",
    ACCURACY: "questions answered right, an unweighted mean over the tasks, in percent; the more the better",
    ALIGNMENT: "how often tokens of a word end where its morphemes do (F1, from 0 to 1); the more the better. Each "
    "tokenizer is scored on words of its own: those that are no token while all their morphemes are",
    SPEED: "megabytes of text that one thread encodes in a second of processor time, having met the text "
    "before; the fastest of three rounds. A rough number that differs from run to run and is not tested, since other "
    "jobs ran beside it",
}
UNTESTED = {
    GAP: "the bound is of this very text, not of others like it",
    SPEED: "three rounds are too few for one",
}
"""Why columns have no interval whatever was measured."""
SEEDS = "Intervals of models with one seed are over documents or questions; another seed can change the numbers."
FEW_PAIRS = f"Of so many variants only the pairs with the best and with the baseline are tested. {SELECTED}"


_TIMED = dict.fromkeys(("low", "high", "n", "over", "seeds", "reason", "verdict"), None) | {"definition": ""}


class Key(NamedTuple):
    """A column: what is measured, by which model on which suite."""

    measure: str
    model: str
    suite: str

    @property
    def name(self) -> str:
        return ".".join(filter(None, self))

    def header(self, of: str) -> str:
        """What stands above the column.

        Args:
            of: what tells it from others of its measure, see :func:`_told_apart`.
        """
        return {
            TOKENS: "tokens",
            GAP: "above the optimum (%)",
            NGRAM: "bits per byte, n-grams",
            BITS: f"bits per byte, {self.model}",
            ACCURACY: f"accuracy, {of} (%)",
            ALIGNMENT: "alignment with morphemes",
            SPEED: "encoding (MB/s)",
        }[self.measure]

    @property
    def kind(self) -> Kind:
        return "count" if self.measure == TOKENS else "percent" if self.measure in (GAP, ACCURACY) else "real"


def scoreboard(content: ReportContent) -> Table | None:
    """The table; None where nothing of it was measured."""
    frame = content.frames.get(SCOREBOARD.name)
    if frame is None or frame.is_empty():
        return None
    frame = frame.with_columns(pl.col("corpus", "model", "suite").fill_null(""))
    timed = {Key(SPEED, "", "")} if content.speeds else set()
    keys = sorted(
        {Key(*row) for row in frame.select("measure", "model", "suite").rows()} | timed,
        key=lambda key: (ORDER.index(key.measure), _place(content, key.model), key.model, key.suite),
    )
    cells: dict[tuple[str, int, str, Key], dict[str, Any]] = {}
    for row in frame.iter_rows(named=True):
        corpus = "" if row["measure"] in (ACCURACY, ALIGNMENT) else row["corpus"]
        cells[corpus, row["size"], row["variant"], Key(row["measure"], row["model"], row["suite"])] = row
    known = {key[:3] for key in cells}
    for at, speed in content.speeds.items():
        if at in known:
            cells[*at, Key(SPEED, "", "")] = {**_TIMED, "value": speed}
    return _table(content, keys, cells)


def _table(content: ReportContent, keys: list[Key], cells: dict[tuple[str, int, str, Key], dict[str, Any]]) -> Table:
    tokenizers = {(size, variant) for _, size, variant, _ in cells}
    corpora = sorted({corpus for corpus, *_ in cells} - {""}, key=content.place_of_corpus)
    several = len(corpora) > 1
    rows = sorted(
        {(corpus, size, variant) for corpus, size, variant, _ in cells if corpus}
        | {("", *one) for one in tokenizers - {(size, variant) for corpus, size, variant, _ in cells if corpus}},
        key=lambda row: (content.place_of_corpus(row[0]), -row[1], _level(cells, keys, *row), row[2]),
    )
    found = [[cells.get((*row, key), cells.get(("", *row[1:], key))) for key in keys] for row in rows]
    data: dict[str, list[Any]] = {"variant": [row[2] for row in rows], "size": [row[1] for row in rows]}
    if several:
        data["corpus"] = [row[0] for row in rows]
    for number, key in enumerate(keys):
        data[key.name] = [None if (cell := row[number]) is None else cell["value"] for row in found]
    flat = [
        ((index, key.name), key, cell) for index, row in enumerate(found) for key, cell in zip(keys, row, strict=True)
    ]
    known = [(place, key, cell) for place, key, cell in flat if cell is not None]
    columns = [Column("variant"), Column("size", kind="count"), *[Column("corpus")] * several]
    columns += [_column(key, keys, [cell for _, one, cell in known if one == key]) for key in keys]
    lacking = "not measured for this tokenizer"
    marks = {place: SIGNS[cell["verdict"]] for place, _, cell in known if cell["verdict"] in SIGNS}
    return Table(
        "scoreboard",
        _caption(corpora),
        pl.DataFrame(data, infer_schema_length=None),
        columns,
        {place: (cell["reason"] or UNEXPLAINED) if cell else lacking for place, _, cell in flat},
        best=frozenset(place for place, _, cell in known if cell["verdict"] == BEST),
        marks=marks,
        intervals={place: (cell["low"], cell["high"]) for place, _, cell in known if cell["low"] is not None},
        definitions=defined([(column.header, f"{column.about}.") for column in columns[2 + several :]]),
        notes=[*_notes([cell for _, _, cell in known]), *[FEW_PAIRS] * content.many],
        source=Source([path_of(SCOREBOARD)], list(dict.fromkeys(FILES[key.measure] for key in keys))),
        choose=["size", *["corpus"] * several],
    )  # fmt: skip


def _told_apart(key: Key, keys: Sequence[Key]) -> str:
    """Model and suite of a column of accuracy, or the one of them that differs where there are several columns."""
    models, suites = ({one[place] for one in keys if one.measure == key.measure} for place in (1, 2))
    if len(models) == len(suites) == 1 or (len(models) > 1 and len(suites) > 1):
        return f"{key.model} on {key.suite}"
    return key.model if len(models) > 1 else key.suite


def _place(content: ReportContent, model: str) -> int:
    names = list(content.models)
    first = model.partition(" (")[0]
    return names.index(first) if first in names else len(names)


def _level(cells: dict[tuple[str, int, str, Key], dict[str, Any]], keys: list[Key], *row: Any) -> float:
    """What rows of a size are ordered by: the first column."""
    cell = cells.get((*row, keys[0])) or cells.get(("", *row[1:], keys[0]))
    return cell["value"] if cell and cell["value"] is not None else float("inf")


def _column(key: Key, keys: Sequence[Key], cells: list[dict[str, Any]]) -> Column:
    drawn = {(cell["n"], cell["over"]) for cell in cells if cell["low"] is not None}
    told, of = ABOUT[key.measure], _told_apart(key, keys)
    if key.measure == ACCURACY and of in (key.model, key.suite):
        shared = f"of {key.suite}" if of == key.model else f"that {key.model}"
        told = told.replace("questions", f"questions {shared}", 1)
    definitions = sorted({cell["definition"] for cell in cells})
    if key.measure in (NGRAM, ALIGNMENT) and len(definitions) == 1:
        told += f" ({definitions[0]})"
    if drawn:
        most = max(n for n, _ in drawn)
        told += f"; interval over {most:,} {sorted(drawn)[0][1]}" + " or fewer" * (len({n for n, _ in drawn}) > 1)
    elif key.measure in UNTESTED:
        told += f"; without an interval: {UNTESTED[key.measure]}"
    else:
        told += "; without an interval: " + (sorted({cell["reason"] or "" for cell in cells})[-1] or UNEXPLAINED)
    decimals = 1 if key.kind == "percent" or key.measure == SPEED else None
    at = {"model": key.model, "suite": key.suite} if key.model else {}
    return Column(
        key.name, key.header(of), key.kind, decimals, None, at, [FILES[key.measure]], told, timed=key.measure == SPEED
    )


def _caption(corpora: list[str]) -> str:
    split, one = ("split", "size") if len(corpora) == 1 else ("splits", "size on one corpus")
    on = f" on the evaluation {split} of {listed(corpora)}" if corpora else ""
    return (
        f"The scoreboard: every tokenizer{on}. Small numbers are 95 % intervals. {FIRST} and bold: the best of its "
        f"size{' and corpus' * (len(corpora) > 1)}. {SAME}: no significant difference from the best at level 0.05, "
        f"corrected for all pairs of its column at one {one}. {BELOW}: significantly worse than the best. {UNSURE}: "
        f"not tested. Numbers without a sign are not ranked. Compare only tokenizers of one {one}."
    )


def _notes(cells: list[dict[str, Any]]) -> list[str]:
    trained = sorted({cell["seeds"] for cell in cells if cell["seeds"] is not None})
    why = dict.fromkeys(filter(None, map(why_untested, trained)))
    told = [f"{UNSURE} in columns of language models: {'; '.join(why)}."] * bool(why)
    return told + [SEEDS] * (bool(trained) and not may_rank(trained[0]))
