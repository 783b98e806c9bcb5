"""Existing tokenizers, ranked by bytes per token at their own sizes: scoreboard, languages and costs."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import polars as pl

from tokbench.report.content import ReportContent
from tokbench.report.exhibits import UNEXPLAINED, Drawing, Exhibit, NumberSource, PrintedColumn, Section, Table
from tokbench.report.existing_answer import languages_in_words, ranked_rows
from tokbench.report.figures import heat_map
from tokbench.report.sections.rows import path_of
from tokbench.report.sections.scoreboard import (
    FIRST,
    ONLY_UNCORRECTED,
    SIGNS,
    Key,
    cells_by_tokenizer,
    column_of_key,
    difference_in_print,
    is_significant_uncorrected,
)
from tokbench.report.wording import UNKNOWN_PRETOKENIZER, join_some, slug
from tokbench.statistics.comparisons.existing import CONTEXT, EXISTING_TOKENIZERS
from tokbench.statistics.comparisons.families import ALIKE, BASELINE, BEST, TOKENS, UNRANKED, UNTESTED
from tokbench.statistics.significance.verdicts import BETTER, NO_DIFFERENCE, WORSE, in_full

Row = dict[str, Any]
Place = tuple[int, str]
RULE = (
    "Existing tokenizers cannot be trained again at another size. Each is compared at its own size and with its own "
    "pre-tokenizer. A larger vocabulary alone needs fewer tokens, and more rows of embeddings."
)
TITLE = "Existing tokenizers"
LACKING = "not measured for this tokenizer"
TOKEN_FILES = ("tokens/{variant}/own/{corpus}.json",)
_LANGUAGE_SIGNS = {BEST: FIRST, ALIKE: SIGNS[NO_DIFFERENCE], UNTESTED: SIGNS[UNTESTED], UNRANKED: SIGNS[UNTESTED]}


def existing(content: ReportContent) -> Section:
    """Return the section of existing tokenizers; without exhibits if there are none to compare.

    Args:
        content: content of the report.
    """
    frame = content.existing
    if frame is None:
        return Section("existing", TITLE)
    exhibits: list[Exhibit] = [_ranking(content, frame.filter(pl.col("language").is_null()))]
    for corpus in content.corpora_of(frame):
        languages = frame.filter(pl.col("corpus") == corpus, pl.col("language").is_not_null())
        if not languages.is_empty():
            exhibits += _of_languages(content, str(corpus), languages)
    exhibits.append(_costs(content, frame.filter(pl.col("language").is_null())))
    return Section("existing", TITLE, [RULE], exhibits)


def _frame(rows: Sequence[Row], columns: Mapping[str, Any]) -> pl.DataFrame:
    return (
        pl.DataFrame(columns, schema_overrides={"size": pl.Int64}, infer_schema_length=None)
        if rows
        else (pl.DataFrame({name: [] for name in columns}))
    )


def _ranking(content: ReportContent, frame: pl.DataFrame) -> Table:
    """Return the table of all documents, with the differences from the best and from the baseline."""
    rows = ranked_rows(content, frame)
    corpora = content.corpora_of(frame)
    columns = _named_columns(content, rows, several=len(corpora) > 1)
    head = len(columns)
    columns |= {
        "bytes_per_token": (
            PrintedColumn("bytes_per_token", "bytes per token", "real", 3, better="highest",
                          about="bytes / tokens, with its 95 % interval; more are better"),
            [row["bytes_per_token"] for row in rows],
        ),
        "behind": (
            PrintedColumn("behind", "tokens above the best (%)", "percent", 1,
                          about="tokens / tokens of the best − 1, with its 95 % interval"),
            [row["behind"] for row in rows],
        ),
        "difference": (
            PrintedColumn("difference", "tokens above the baseline (%)", "percent", 1,
                          about="tokens / tokens of the baseline − 1, with its 95 % interval"),
            [row["difference"] for row in rows],
        ),
        "tokens": (PrintedColumn("tokens", "tokens", "count"), [row["tokens"] for row in rows]),
        "documents_changed": (PrintedColumn("documents_changed", "documents changed", "count", about="documents that "
                              "decoding does not return byte for byte"), [row["documents_changed"] for row in rows]),
    }  # fmt: skip
    intervals = {
        (index, name): (row[low], row[high])
        for index, row in enumerate(rows)
        for name, low, high in (
            ("bytes_per_token", "bytes_per_token_low", "bytes_per_token_high"),
            ("behind", "behind_low", "behind_high"),
            ("difference", "difference_low", "difference_high"),
        )
        if row[low] is not None
    }
    marks = {
        (index, "difference"): SIGNS[row["difference_verdict"]]
        for index, row in enumerate(rows)
        if row["difference_verdict"] in SIGNS and row["difference"] is not None
    }
    best = frozenset((index, "bytes_per_token") for index, row in enumerate(rows) if _is_best(rows, row))
    marks |= dict.fromkeys(best, FIRST) | {
        (index, "behind"): SIGNS[row["verdict"]]
        for index, row in enumerate(rows)
        if row["verdict"] in SIGNS and row["behind"] is not None
    }
    others, small_print, other_marks, firsts = _other_measures(content, rows)
    reasons: dict[Place, str] = {
        (index, name): in_full(row[reason] or UNEXPLAINED) if row[reason] else _why_empty(row, name)
        for index, row in enumerate(rows)
        for name, reason in (("behind", "reason"), ("difference", "difference_reason"))
    }
    remarks = {
        (index, name): in_full(row[reason])
        for index, row in enumerate(rows)
        for name, verdict, reason in (
            ("behind", "verdict", "reason"),
            ("difference", "difference_verdict", "difference_reason"),
        )
        if row[verdict] == UNTESTED and row[reason] and row[name] is not None
    } | {
        (index, name): ONLY_UNCORRECTED
        for index, row in enumerate(rows)
        for name, verdict in (("behind", "verdict"), ("difference", "difference_verdict"))
        if is_significant_uncorrected(row[verdict], row[f"{name}_low"], row[f"{name}_high"])
    }
    columns |= others
    printed = [column for column, _ in columns.values()]
    on = (
        f" on the evaluation splits of {join_some(corpora)}"
        if len(corpora) > 1
        else (f" on the evaluation split of {corpora[0]}")
    )
    baselines = dict.fromkeys(row["baseline"] for row in rows if row["baseline"])
    return Table(
        "existing",
        f"Existing tokenizers{on}, the most bytes per token first. Baseline: {join_some(list(baselines))}. "
        "Sizes and pre-tokenizers differ.",
        _frame(rows, {name: values for name, (_, values) in columns.items()}),
        printed,
        {**{(index, name): LACKING for index in range(len(rows)) for name in others}, **reasons},
        best=best | firsts,
        marks={**marks, **other_marks},
        intervals=intervals,
        small_print=small_print,
        remarks=remarks,
        definitions=[f"{column.header}: {column.about}." for column in printed[head:] if column.about],
        key=[
            (FIRST, "and bold: best value of all existing tokenizers" + " on a corpus" * (len(corpora) > 1)),
            (SIGNS[BETTER], "significantly better"),
            (SIGNS[NO_DIFFERENCE], "no significant difference"),
            (SIGNS[WORSE], "significantly worse"),
            (SIGNS[UNTESTED], "not tested or not ranked"),
        ],
        groups=["corpus"],
        notes=["Signs are at level 0.05, corrected for all pairs of a column. Intervals are not corrected."],
        source=NumberSource([path_of(EXISTING_TOKENIZERS)], TOKEN_FILES),
        choose=["corpus"] * (len(corpora) > 1),
    )


def _named_columns(
    content: ReportContent, rows: Sequence[Row], *, several: bool
) -> dict[str, tuple[PrintedColumn, list[Any]]]:
    """Return the columns that name a tokenizer: variant, size, pre-tokenizer, and the corpus if there are several."""
    columns: dict[str, tuple[PrintedColumn, list[Any]]] = {
        "variant": (PrintedColumn("variant"), [row["variant"] for row in rows]),
        "size": (PrintedColumn("size", kind="count", better="highest"), [row["size"] for row in rows]),
        "pretokenization": (
            PrintedColumn("pretokenization", "pre-tokenizer"),
            [row["pretokenization"] or UNKNOWN_PRETOKENIZER for row in rows],
        ),
    }
    if several:
        columns["corpus"] = PrintedColumn("corpus"), [row["corpus"] for row in rows]
    return columns


def _is_best(rows: Sequence[Row], row: Row) -> bool:
    """Return True if a tokenizer is the best of two or more on its corpus."""
    ranked = sum(1 for other in rows if other["corpus"] == row["corpus"] and other["best"] is not None)
    return row["verdict"] == BEST and ranked > 1


def _why_empty(row: Row, name: str) -> str:
    """Return the reason why a tokenizer has no difference from the best or the baseline."""
    if name == "behind":
        return "the best" if row["verdict"] == BEST else UNEXPLAINED
    return "the baseline" if row["difference_verdict"] == BASELINE else UNEXPLAINED


def _other_measures(
    content: ReportContent, rows: Sequence[Row]
) -> tuple[dict[str, tuple[PrintedColumn, list[Any]]], dict[Place, str], dict[Place, str], frozenset[Place]]:
    """Return the columns of the scoreboard's other measures, with their small print, signs and best cells."""
    frame = content.frames.get("scoreboard")
    if frame is None or not content.at_own_size:
        return {}, {}, {}, frozenset()
    keys, cells = cells_by_tokenizer(content, frame.filter(pl.col("variant").is_in(list(content.at_own_size))))
    columns: dict[str, tuple[PrintedColumn, list[Any]]] = {}
    small_print: dict[Place, str] = {}
    marks: dict[Place, str] = {}
    best = set()
    for key in [key for key in keys if key.measure != TOKENS]:
        of_rows = [_cell(cells, row, key) for row in rows]
        known = [cell for cell in of_rows if cell is not None]
        if all(cell["value"] is None for cell in known):
            continue
        columns[key.name] = (
            column_of_key(key, keys, known, groups=False), [None if cell is None else cell["value"] for cell in of_rows]
        )  # fmt: skip
        ranked = sum(1 for cell in known if cell["best"] is not None)
        for index, cell in enumerate(of_rows):
            if cell is None or cell["value"] is None:
                continue
            place = index, key.name
            first = cell["verdict"] == BEST and ranked > 1
            best |= {place} if first else set()
            marks[place] = FIRST * first + SIGNS.get(cell["difference_verdict"], "")
            small_print[place] = difference_in_print(key, cell, known)
    return (
        columns,
        {place: text for place, text in small_print.items() if text},
        {place: mark for place, mark in marks.items() if mark},
        frozenset(best),
    )


def _cell(cells: Mapping[tuple[str, int, str, Key], Row], row: Row, key: Key) -> Row | None:
    """Return the cell of a tokenizer; measures without a corpus have one for all corpora."""
    at = row["size"], row["variant"], key
    return cells.get((row["corpus"], *at), cells.get(("", *at)))


def _of_languages(content: ReportContent, corpus: str, frame: pl.DataFrame) -> list[Exhibit]:
    """Return heat maps and tables of bytes per token and premium by language."""
    order = list(dict.fromkeys(row["variant"] for row in ranked_rows(content, frame)))
    totals = {row["variant"]: (row["bytes_per_token"] or 0.0) for row in
              content.existing.filter(pl.col("language").is_null(), pl.col("corpus") == corpus).iter_rows(named=True)
              } if content.existing is not None else {}  # fmt: skip
    order.sort(key=lambda name: (-totals.get(name, 0.0), name))
    languages = frame["language"].unique().sort().to_list()
    values = {(row["language"], row["variant"]): row for row in frame.iter_rows(named=True)}
    exhibits: list[Exhibit] = []
    for name, measure, about, decimals, highest in (
        ("bytes_per_token", "bytes per token", f"Bytes per token of {corpus}, by language", 2, True),
        ("premium", "tokens / tokens of the same text in English",
         f"Tokens of {corpus} relative to those of the same text in English, by language", 2, False),
    ):  # fmt: skip
        known = {place: row[name] for place, row in values.items() if row[name] is not None}
        if not known:
            continue
        shown = content.drawn_variants(order)
        caption = (
            f"{about}. Yellow is the best tokenizer of a language and dark purple the worst; "
            f"{'more' if highest else 'less'} is better.{content.omission_note(order)}"
        )
        draw = partial(
            heat_map.draw, {place: value for place, value in known.items() if place[1] in shown}, languages, shown,
            measure, decimals=decimals, higher_is_better=highest,
        )  # fmt: skip
        source = NumberSource([path_of(EXISTING_TOKENIZERS)], TOKEN_FILES, {"corpus": corpus})
        says = languages_in_words(frame) if highest else ""
        exhibits.append(Drawing(slug("existing", name.replace("_", "-"), corpus), caption, draw, source, says=says))
        exhibits.append(_language_table(corpus, name, about, values, languages, order))
    return exhibits


def _language_table(
    corpus: str, name: str, about: str, values: Mapping[tuple[str, str], Row], languages: Sequence[str],
    order: Sequence[str],
) -> Table:  # fmt: skip
    """Return a table with a row for each language and a column for each tokenizer."""
    marks = {}
    reasons = {}
    if name == "bytes_per_token":
        for index, language in enumerate(languages):
            for variant in order:
                row = values.get((language, variant))
                if row is not None and (mark := _LANGUAGE_SIGNS.get(row["verdict"])):
                    marks[index, variant] = mark
    for index, language in enumerate(languages):
        for variant in order:
            row = values.get((language, variant))
            if row is None or row[name] is None:
                reasons[index, variant] = "no tokens" if row else LACKING
    frame = pl.DataFrame(
        {
            "language": list(languages),
            "documents": [max(values[key]["documents"] for key in values if key[0] == one) for one in languages],
            **{
                variant: [values[one, variant][name] if (one, variant) in values else None for one in languages]
                for variant in order
            },
        },
        schema_overrides=dict.fromkeys(order, pl.Float64),
    )
    key = [
        (FIRST, "fewest tokens of the language"),
        (SIGNS[NO_DIFFERENCE], "no significant difference from it"),
        (SIGNS[UNTESTED], "not tested or not ranked"),
    ]
    return Table(
        slug("existing", name.replace("_", "-"), corpus),
        f"{about}." + " Values without a sign are significantly worse than the best."
        * (name == "bytes_per_token"),
        frame,
        [PrintedColumn("language"), PrintedColumn("documents", kind="count"),
         *(PrintedColumn(variant, kind="real", decimals=2) for variant in order)],
        reasons,
        marks=marks,
        key=key if marks else [],
        source=NumberSource([path_of(EXISTING_TOKENIZERS)], ["tokens/*/own/{corpus}.json"], {"corpus": corpus}),
        folded=True,
        finding=f"{len(languages):,} languages",
    )  # fmt: skip


def _costs(content: ReportContent, frame: pl.DataFrame) -> Table:
    """Return the table of costs: tokens per word and character, the content of a context, and rows of embeddings."""
    rows = ranked_rows(content, frame)
    corpora = content.corpora_of(frame)
    columns = _named_columns(content, rows, several=len(corpora) > 1)
    names = ("tokens_per_1000_words", "tokens_per_1000_characters", "words_in_context", "characters_in_context", "ids")
    for name in names:
        declared = EXISTING_TOKENIZERS[name]
        better = "highest" if name.endswith("context") else None
        columns[name] = (
            PrintedColumn(name, declared.heading, declared.kind, declared.decimals, better=better,  # type: ignore[arg-type]
                          about=declared.definition),
            [row[name] for row in rows],
        )  # fmt: skip
    printed = [column for column, _ in columns.values()]
    return Table(
        "existing-costs",
        f"Costs of existing tokenizers on the evaluation splits: tokens of text, text in a context of {CONTEXT:,} "
        "tokens, and rows of an embedding matrix.",
        _frame(rows, {name: values for name, (_, values) in columns.items()}),
        printed,
        definitions=["Words are runs of characters other than white space; languages without spaces have few."],
        groups=["corpus"],
        source=NumberSource([path_of(EXISTING_TOKENIZERS)], TOKEN_FILES),
        choose=["corpus"] * (len(corpora) > 1),
    )
