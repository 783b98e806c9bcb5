"""Scoreboard: a row for each tokenizer, a column for each main measure."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import polars as pl

from tokbench.intrinsic.encoding_speed import TOO_SHORT
from tokbench.report.claims import WITHOUT_CORPUS
from tokbench.report.content import ReportContent
from tokbench.report.exhibits import UNEXPLAINED, NumberSource, PrintedColumn, Table
from tokbench.report.measure_words import words_of
from tokbench.report.sections.accuracy_marks import BELOW, UNSURE
from tokbench.report.sections.rows import RESOURCE, TEXT, path_of
from tokbench.report.sentences import DIFFERENCE, SELECTED, difference_texts
from tokbench.report.wording import UNKNOWN_PRETOKENIZER, definition_lines, join_all
from tokbench.statistics.comparisons.families import (
    ACCURACY,
    ALIGNMENT,
    BASELINE,
    BEST,
    BITS,
    GAP,
    NGRAM,
    TOKENS,
    UNRANKED,
    UNTESTED,
)
from tokbench.statistics.comparisons.scoreboard import SCOREBOARD
from tokbench.statistics.significance.eligibility import ONE_TRAINING
from tokbench.statistics.significance.verdicts import BETTER, NO_DIFFERENCE, WORSE, in_full
from tokbench.tabulation.table import Kind

FIRST = "★"
SIGNS = {BETTER: "↑", WORSE: BELOW, NO_DIFFERENCE: "≈", UNTESTED: UNSURE}
"""Sign of each verdict on a difference from the baseline."""
SPEED = "speed"
ORDER = (TOKENS, GAP, NGRAM, BITS, ACCURACY, ALIGNMENT, SPEED)
DOWNSTREAM = "downstream/{model}/{variant}/{size}/{suite}.json"
FILES = {TOKENS: TEXT, NGRAM: "ngram_bits/{variant}/{size}.json", BITS: DOWNSTREAM, ACCURACY: DOWNSTREAM,
         ALIGNMENT: RESOURCE, GAP: "bounds/{corpus}/*/{size}.json",
         SPEED: "speeds/{variant}/{size}/*.json"}  # fmt: skip
ABOUT = {
    TOKENS: "tokens of the text; fewer are better",
    GAP: "tokens above a proven lower bound for any vocabulary of this size and the same pre-tokens, in percent; fewer "
    "are better. Compare only tokenizers with the same pre-tokenizer",
    NGRAM: "bits per byte of the text with token n-gram models; fewer are better. A cheap substitute for a language "
    "model that orders tokenizers; its absolute value has no meaning",
    BITS: "bits per byte of held-out text with a language model trained with the tokenizer; fewer are better",
    ACCURACY: "questions answered correctly, unweighted mean over the tasks, in percent; more are better",
    ALIGNMENT: "agreement of token boundaries with morpheme boundaries of words (F1, from 0 to 1); higher is better. "
    "The words differ by tokenizer: those that are not a token and whose morphemes all are tokens",
    SPEED: "megabytes per second of one thread's processor time, cold: first pass of a new tokenizer over the text, "
    "median of several rounds; more are better. It varies between runs, because other jobs run at the same time",
}
TIMES = "times of one run are not independent"
WITHOUT_INTERVAL = {
    GAP: "the bound is of this very text, not of others like it",
    SPEED: TIMES,
}
"""Reasons why columns never have an interval."""
SEEDS = (
    f"Language models with one seed have no {FIRST} and no difference from the baseline: another seed can change their "
    "order."
)
FEW_PAIRS = f"Because variants are many, only pairs with the best and with the baseline are tested. {SELECTED}"


_TIMED = dict.fromkeys(
    ("low", "high", "n", "over", "seeds", "best", "reason", "pretokenization", "baseline", *DIFFERENCE)
) | {
    "definition": "",
    "verdict": UNRANKED,
    "difference_verdict": UNTESTED,
    "difference_reason": TIMES,
}
Cell = dict[str, Any]
"""A row of the scoreboard, i.e. a cell of the printed table."""
Place = tuple[int, str]


_HEADS = {
    "variant": PrintedColumn("variant"),
    "pretokenization": PrintedColumn("pretokenization", "pre-tokenizer"),
    "size": PrintedColumn("size", kind="count"),
    "corpus": PrintedColumn("corpus"),
}
LACKING = "not measured for this tokenizer"
ONLY_UNCORRECTED = "the interval excludes zero, but the difference is not significant after correction for all pairs"
"""Reason of the sign of no significant difference next to an interval without zero."""


class Key(NamedTuple):
    """A column: measure, model and suite; the latter two are empty for other measures."""

    measure: str
    model: str
    suite: str

    @property
    def name(self) -> str:
        return ".".join(filter(None, self))

    def header(self, of: str) -> str:
        """Return the header of the column.

        Args:
            of: model and suite, or the one of them that differs between columns, see :func:`_differing_names`.
        """
        return {
            TOKENS: "tokens",
            GAP: "above the optimum (%)",
            NGRAM: "bits per byte, n-grams",
            BITS: f"bits per byte, {self.model}",
            ACCURACY: f"accuracy, {of} (%)",
            ALIGNMENT: "alignment with morphemes",
            SPEED: "encoding, cold (MB/s)",
        }[self.measure]

    @property
    def kind(self) -> Kind:
        return words_of(self.measure).kind


def scoreboard(content: ReportContent) -> Table | None:
    """Return the scoreboard; None if it has no values.

    Args:
        content: content of the report.
    """
    frame = content.scoreboard
    if frame is None or frame.is_empty():
        return None
    keys, cells = cells_by_tokenizer(content, frame)
    return _table(content, keys, cells)


def cells_by_tokenizer(
    content: ReportContent, frame: pl.DataFrame
) -> tuple[list["Key"], dict[tuple[str, int, str, "Key"], Cell]]:
    """Return the columns of rows of the scoreboard, and cells by corpus, size, variant and column, with speeds.

    Args:
        content: content of the report.
        frame: rows of the scoreboard.
    """
    frame = frame.with_columns(pl.col("corpus", "model", "suite").fill_null(""))
    timed = {Key(SPEED, "", "")} if content.speeds else set()
    keys = sorted(
        {Key(*row) for row in frame.select("measure", "model", "suite").rows()} | timed,
        key=lambda key: (ORDER.index(key.measure), _place(content, key.model), key.model, key.suite),
    )
    cells: dict[tuple[str, int, str, Key], dict[str, Any]] = {}
    for row in frame.iter_rows(named=True):
        corpus = "" if row["measure"] in WITHOUT_CORPUS else row["corpus"]
        cells[corpus, row["size"], row["variant"], Key(row["measure"], row["model"], row["suite"])] = row
    known = {key[:3] for key in cells}
    for at, speed in content.speeds.items():
        if at in known:
            measured = {"value": None, "reason": TOO_SHORT} if speed is None else {"value": speed.megabytes_per_second}
            cells[*at, Key(SPEED, "", "")] = _TIMED | measured | {"timed": speed}
    return keys, cells


def _table(content: ReportContent, keys: list[Key], cells: dict[tuple[str, int, str, Key], Cell]) -> Table:
    tokenizers = {(size, variant) for _, size, variant, _ in cells}
    corpora = sorted({corpus for corpus, *_ in cells} - {""}, key=content.place_of_corpus)
    of = {variant: cell["pretokenization"] for (_, _, variant, key), cell in cells.items() if key.measure != SPEED}
    pretokenizers = sorted(set(of.values()), key=content.place_of_pretokenizer)
    several, groups = len(corpora) > 1, len(pretokenizers) > 1
    rows = sorted(
        {(corpus, size, variant) for corpus, size, variant, _ in cells if corpus}
        | {("", *key) for key in tokenizers - {(size, variant) for corpus, size, variant, _ in cells if corpus}},
        key=lambda row: (
            content.place_of_corpus(row[0]), -row[1], pretokenizers.index(of[row[2]]), _level(cells, keys, *row), row[2]
        ),
    )  # fmt: skip
    values = [[cells.get((*row, key), cells.get(("", *row[1:], key))) for key in keys] for row in rows]
    data: dict[str, list[Any]] = {"variant": [row[2] for row in rows]}
    if groups:
        data["pretokenization"] = [of[row[2]] or UNKNOWN_PRETOKENIZER for row in rows]
    data["size"] = [row[1] for row in rows]
    if several:
        data["corpus"] = [row[0] for row in rows]
    heads = [_HEADS[name] for name in data]
    for number, key in enumerate(keys):
        data[key.name] = [None if (cell := row[number]) is None else cell["value"] for row in values]
    flat = [
        ((index, key.name), key, cell) for index, row in enumerate(values) for key, cell in zip(keys, row, strict=True)
    ]
    known = [(place, key, cell) for place, key, cell in flat if cell is not None]
    by_key = {key: [cell for _, other, cell in known if other == key] for key in keys}
    columns = [*heads, *(column_of_key(key, keys, by_key[key], groups=groups) for key in keys)]
    first = _first(known, rows, of)
    valued = [(place, key, cell) for place, key, cell in known if cell["value"] is not None]
    differences = {place: difference_in_print(key, cell, by_key[key]) for place, key, cell in valued}
    marks = {place: FIRST * (place in first) + SIGNS.get(cell["difference_verdict"], "") for place, _, cell in valued}
    return Table(
        "scoreboard",
        _caption(content, corpora, pretokenizers, [cell for _, _, cell in known]),
        pl.DataFrame(data, infer_schema_length=None),
        columns,
        {place: (cell["reason"] or UNEXPLAINED) if cell else LACKING for place, _, cell in flat},
        best=first,
        marks={place: mark for place, mark in marks.items() if mark},
        small_print={place: text for place, text in differences.items() if text},
        remarks={**_pretokenizer_remarks(rows, values, of), **_reasons(valued, by_key)},
        definitions=definition_lines([(column.header, f"{column.about}.") for column in columns[len(heads) :]]),
        key=_key(corpora, groups),
        bars=_bars(valued, rows),
        groups=["corpus", "size", "pretokenization"],
        notes=[_tests(corpora), *_notes([cell for _, _, cell in known]), *[FEW_PAIRS] * content.has_many_variants],
        source=NumberSource([path_of(SCOREBOARD)], list(dict.fromkeys(FILES[key.measure] for key in keys))),
        choose=["size", *["corpus"] * several],
    )  # fmt: skip


def _first(
    known: Sequence[tuple[Place, Key, Cell]], rows: Sequence[tuple[str, int, str]], of: Mapping[str, str | None]
) -> frozenset[Place]:
    """Return the best cells of columns, for each corpus, size and pre-tokenizer with two or more ranked."""
    ranked: Counter[tuple[Any, ...]] = Counter()
    groups = {}
    for place, key, cell in known:
        corpus, size, variant = rows[place[0]]
        if cell["best"] is not None:
            groups[place] = (corpus, size, of[variant], key)
            ranked[groups[place]] += 1
    return frozenset(place for place, _, cell in known if cell["verdict"] == BEST and ranked[groups[place]] > 1)


def difference_in_print(key: Key, cell: Cell, column: Sequence[Cell]) -> str:
    """Return the difference from the baseline with its interval; "baseline" for the baseline; empty for others."""
    if cell["difference_verdict"] == BASELINE:
        return BASELINE
    return "" if cell["difference"] is None else "; ".join(filter(None, difference_texts(key.measure, cell, column)))


def _pretokenizer_remarks(
    rows: Sequence[tuple[str, int, str]], values: Sequence[Sequence[Cell | None]], of: Mapping[str, str | None]
) -> dict[Place, str]:
    """Return remarks on rows whose baseline has another pre-tokenizer."""
    reasons = {}
    for index, (row, cells) in enumerate(zip(rows, values, strict=True)):
        baseline = next((cell["baseline"] for cell in cells if cell and cell["baseline"]), None)
        if baseline is None:
            continue
        other = next(cell["baseline_pretokenization"] for cell in cells if cell and cell["baseline"])
        if other != of[row[2]]:
            mine, theirs = of[row[2]] or UNKNOWN_PRETOKENIZER, other or UNKNOWN_PRETOKENIZER
            reasons[index, "pretokenization"] = (
                f"pre-tokenizer {mine}, baseline {baseline} has {theirs}: differences from the baseline include that "
                "of pre-tokenizers"
            )
    return reasons


def _reasons(valued: Sequence[tuple[Place, Key, Cell]], by_key: Mapping[Key, Sequence[Cell]]) -> dict[Place, str]:
    """Return reasons of signs.

    A cell that is not tested has one, except where the definition of the column has the only reason. So has a cell
    without a significant difference whose interval excludes zero.
    """
    untested = {
        place: in_full(cell["difference_reason"] or UNEXPLAINED)
        for place, key, cell in valued
        if cell["difference_verdict"] == UNTESTED and len(_why_untested(by_key[key])) > 1
    }
    return untested | {
        place: ONLY_UNCORRECTED
        for place, _, cell in valued
        if is_significant_uncorrected(cell["difference_verdict"], cell["difference_low"], cell["difference_high"])
    }


def is_significant_uncorrected(verdict: str, low: float | None, high: float | None) -> bool:
    """Return True if a difference is not significant, but its interval, which is not corrected, excludes zero."""
    return verdict == NO_DIFFERENCE and low is not None and high is not None and (low > 0 or high < 0)


def _why_untested(column: Sequence[Cell]) -> set[str | None]:
    """Return the reasons of a column, including None if a cell is tested."""
    return {cell["difference_reason"] for cell in column if cell["difference_verdict"] != BASELINE}


def _differing_names(key: Key, keys: Sequence[Key]) -> str:
    """Return model and suite of a column of accuracy, or the one of them that differs if there are several columns."""
    models, suites = ({other[place] for other in keys if other.measure == key.measure} for place in (1, 2))
    if len(models) == len(suites) == 1 or (len(models) > 1 and len(suites) > 1):
        return f"{key.model} on {key.suite}"
    return key.model if len(models) > 1 else key.suite


def _place(content: ReportContent, model: str) -> int:
    names = list(content.models)
    first = model.partition(" (")[0]
    return names.index(first) if first in names else len(names)


def _level(cells: dict[tuple[str, int, str, Key], dict[str, Any]], keys: list[Key], *row: Any) -> float:
    """Return the sort key of rows of a size: the value of the first column."""
    cell = cells.get((*row, keys[0])) or cells.get(("", *row[1:], keys[0]))
    return cell["value"] if cell and cell["value"] is not None else float("inf")


def column_of_key(key: Key, keys: Sequence[Key], cells: list[dict[str, Any]], *, groups: bool) -> PrintedColumn:
    """Return the printed column of a measure, whose definition says what the intervals are over.

    Args:
        key: the column.
        keys: all columns of the table.
        cells: cells of the column.
        groups: True if rows are grouped by pre-tokenizer.
    """
    drawn = {(cell["n"], cell["over"]) for cell in cells if cell["difference_low"] is not None}
    about, of = ABOUT[key.measure], _differing_names(key, keys)
    if key.measure == ACCURACY and of in (key.model, key.suite):
        shared = f"of {key.suite}" if of == key.model else f"that {key.model}"
        about = about.replace("questions", f"questions {shared}", 1)
    definitions = sorted({cell["definition"] for cell in cells})
    if key.measure in (NGRAM, ALIGNMENT) and len(definitions) == 1:
        about += f" ({definitions[0]})"
    if drawn:
        most = max(n for n, _ in drawn)
        about += f"; interval over {most:,} {sorted(drawn)[0][1]}" + " or fewer" * (len({n for n, _ in drawn}) > 1)
    why = _why_untested(cells)
    if key.measure in WITHOUT_INTERVAL:
        about += f"; {in_full(WITHOUT_INTERVAL[key.measure])}"
    elif len(why) == 1 and (reason := next(iter(why))) is not None:
        about += f"; {in_full(reason)}"
    elif not drawn and why:
        about += f"; {in_full(max(filter(None, why), default=UNEXPLAINED))}"
    if key.measure == SPEED and (timed := [cell["timed"] for cell in cells if cell["timed"]]):
        sizes, rounds = ({f"{getattr(speed, name):,}" for speed in timed} for name in ("bytes", "rounds"))
        about += f"; text of {join_all(sorted(sizes))} bytes, {join_all(sorted(rounds))} rounds"
    decimals = 1 if key.kind == "percent" or key.measure == SPEED else None
    at = {"model": key.model, "suite": key.suite} if key.model else {}
    return PrintedColumn(
        key.name, key.header(of), key.kind, decimals, None, at, [FILES[key.measure]], about, timed=key.measure == SPEED,
        better="highest" if key.measure == SPEED or words_of(key.measure).highest else "lowest",
        within="pretokenization" if key.measure == GAP and groups else "",
    )  # fmt: skip


def _caption(
    content: ReportContent, corpora: list[str], pretokenizers: Sequence[str | None], cells: Sequence[Cell]
) -> str:
    split = "split" if len(corpora) == 1 else "splits"
    on = f" on the evaluation {split} of {join_all(corpora)}" if corpora else ""
    sentence = f"The scoreboard: every tokenizer{on}."
    if len(pretokenizers) > 1:
        sentence += " Rows are grouped by pre-tokenizer."
    elif pretokenizers[0] is not None:
        sentence += f" All have the pre-tokenizer {pretokenizers[0]}."
    named = {cell["baseline"] for cell in cells} - {None}
    baselines = sorted(
        named, key=lambda name: content.reading_order.index(name) if name in content.reading_order else 0
    )
    if baselines:
        which = f"baseline {baselines[0]}" if len(baselines) == 1 else f"baseline of its corpus ({join_all(baselines)})"
        sentence += f" Small numbers: the difference from the {which}, with its 95 % interval."
    same = "size on one corpus" if len(corpora) > 1 else "size"
    return f"{sentence} Compare only tokenizers of the same {same}."


def _key(corpora: list[str], groups: bool) -> list[tuple[str, str]]:
    """Return the signs and their meanings."""
    several = len(corpora) > 1
    of = ["size", *["corpus"] * several, *["pre-tokenizer"] * groups]
    return [
        (FIRST, f"and bold: best value of its {join_all(of)}, if two or more are ranked"),
        (SIGNS[BETTER], "significantly better than the baseline"),
        (SIGNS[NO_DIFFERENCE], "no significant difference from the baseline"),
        (SIGNS[WORSE], "significantly worse than the baseline"),
        (SIGNS[UNTESTED], "not tested"),
        ("–", "no value; the letter refers to the reason below"),
    ]


def _tests(corpora: list[str]) -> str:
    """Return a note on the tests behind signs and intervals."""
    on = " on one corpus" * (len(corpora) > 1)
    return (
        "A difference, its interval and its sign come from one paired test over the documents, words, questions or "
        f"seeds that the column names. Signs are at level 0.05, corrected for all pairs of the column at one size{on}. "
        "Intervals are not corrected."
    )


def _bars(valued: Sequence[tuple[Place, Key, Cell]], rows: Sequence[tuple[str, int, str]]) -> dict[Place, float]:
    """Return differences from the baseline, relative to the largest of the column at one size and on one corpus."""
    known = {
        place: ((key, *rows[place[0]][:2]), cell["difference"])
        for place, key, cell in valued
        if cell["difference"] is not None
    }
    largest: dict[tuple[Any, ...], float] = {}
    for group, difference in known.values():
        largest[group] = max(largest.get(group, 0.0), abs(difference))
    return {place: difference / largest[group] for place, (group, difference) in known.items() if largest[group]}


def _notes(cells: list[dict[str, Any]]) -> list[str]:
    return [SEEDS] * any(ONE_TRAINING in (cell["reason"], cell["difference_reason"]) for cell in cells)
