"""All other measures: a table for each subject and corpus, dot plots of the best-known measures, and distributions."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar

import polars as pl

from tokbench.metric import direction, requires_equal_n
from tokbench.report.content import ReportContent
from tokbench.report.exhibits import UNEXPLAINED, Drawing, Exhibit, Heading, NumberSource, PrintedColumn, Section, Table
from tokbench.report.figure_sentences import value_range
from tokbench.report.figures import dots
from tokbench.report.figures.style import styles
from tokbench.report.sections import ngram_bits
from tokbench.report.sections.balancing import balancing
from tokbench.report.sections.distributions import distributions
from tokbench.report.sections.intrinsic_values import corpus_values, first_definition
from tokbench.report.sections.rows import EMBEDDINGS, RESOURCE, TEXT, files_of_metric, path_of, split
from tokbench.report.sections.subjects import Measure, by_subject
from tokbench.report.wording import definition_lines, join_all, join_some, pluralise, slug, words
from tokbench.statistics.comparisons.families import GAP
from tokbench.statistics.inputs import IN_PARTS
from tokbench.statistics.undersized import NOMINAL
from tokbench.tabulation.bounds import BOUNDS
from tokbench.tabulation.domains import DOMAIN_METRICS
from tokbench.tabulation.intrinsic import INTRINSIC
from tokbench.tabulation.table import Kind

Row = TypeVar("Row", bound=tuple[Any, ...])
UNLIKE = " Compare only tokenizers with the same pre-tokenizer."
DRAWN = ("corpus_token_count", "gap", "renyi_efficiency_2.5", "mean_token_length")
"""Metrics with a figure, each for its first definition."""
VOCABULARY = "tokenizers/{variant}/{size}/tokens.vocab"
OF_VOCABULARY = ("vocabulary_size", "common_token_share", "removed_tokens", "dropped_tokens", "added_tokens")
OF_TOKENS = re.compile(r"^(?!.*(text|uses)).*/ tokens of the vocabulary$|\(added\)|\(dropped\)|removed")
"""Definitions that count tokens of vocabularies, not of a text."""
EXCHANGED = re.compile(r"\((added|dropped)\)")
THE_BASELINE = "the baseline itself: nothing is added or dropped"
REMOVED = "removed_tokens"
"""Metric that is left out of tables in which no construction removes tokens."""
ABOVE = "above the optimum"
"""Name of the metric ``gap`` on pages."""
GAPS = "compression"
"""Subject with the gaps; the table of bounds follows it."""
OWN, GROUP = "pretokenization", "size and pre-tokenizer"
"""Columns of tables: the pre-tokenizer, and the group in which the best is chosen (not shown)."""
DOMAINS = NumberSource([path_of(DOMAIN_METRICS)], list(DOMAIN_METRICS.prints[0].files))
"""Files of numbers by domain."""
KEYS = {"variant", "size", "language", "domain", OWN}
"""Columns of tables that are no measures."""
ALL = "all resources"
"""Name in place of a corpus for averages over resources."""


def intrinsic(content: ReportContent) -> Section:
    """Return the section on intrinsic measures, with definitions and n.

    Args:
        content: content of the report.
    """
    frame = content.part("intrinsic")
    if frame is None:
        return Section(
            "intrinsic", "All other measures", missing=[f"Intrinsic measures: {content.why_missing('intrinsic')}"]
        )
    exhibits: list[Exhibit] = []
    missing: list[str] = []
    corpora = content.corpora_of(frame)
    several = len(corpora) > 1
    by_domain = content.part(DOMAIN_METRICS.name)
    for corpus, part in ((name, frame.filter(corpus=name)) for name in corpora):
        overall, split = corpus_values(part)
        about = texts = _measured_text(content, corpus)
        if split > 1:
            texts += f" (unweighted mean over {pluralise(split, 'language')})"
        figures = f"{_title(content, corpus)}: figures" if several else "Figures"
        exhibits.append(Heading(slug("measures", corpus), figures))
        exhibits += _drawings(content, overall, corpus, texts)
        # Distributions of vocabularies are the same for every corpus; show each once.
        drawn = [
            (drawing.caption, drawing.variants, drawing.says) for drawing in exhibits if isinstance(drawing, Drawing)
        ]
        exhibits += [
            drawing
            for drawing in distributions(content, part, corpus, about)
            if (drawing.caption, drawing.variants, drawing.says) not in drawn
        ]
        exhibits += balancing(content, part, corpus, about, _source(content, corpus))
        exhibits += _tables(content, overall, corpus, texts, several, missing)
        if part["language"].n_unique() > 1:
            exhibits += _tables(content, part, corpus, f"{about}, by language", several, missing, by="language")
        domains = None if by_domain is None else by_domain.filter(corpus=corpus)
        if domains is not None and len(domains):
            exhibits += _tables(content, domains, corpus, f"{about}, by domain", several, missing, by="domain")
    exhibits += [*_bounds(content, set(corpora)), *ngram_bits.ngram_exhibits(content)]
    return Section("intrinsic", "All other measures", exhibits=list(_without_empty_headings(exhibits)), missing=missing)


def _without_empty_headings(exhibits: list[Exhibit]) -> Iterator[Exhibit]:
    """Yield exhibits without the headings that have no exhibit."""
    for exhibit, following in zip(exhibits, [*exhibits[1:], None], strict=True):
        if not isinstance(exhibit, Heading) or (following is not None and not isinstance(following, Heading)):
            yield exhibit


def _title(content: ReportContent, corpus: str) -> str:
    return "All resources" if corpus == ALL else corpus


def _tables(
    content: ReportContent,
    part: pl.DataFrame,
    corpus: str,
    texts: str,
    several: bool,
    missing: list[str],
    by: str = "",
) -> Iterator[Exhibit]:
    """Yield a heading and a table for each subject; ``missing`` gets a sentence on each subject without values.

    Tables have a row for each ``language`` or ``domain`` if ``by`` says so.
    """
    known = part.filter(~pl.col("metric").is_in(IN_PARTS))
    if by == "language":
        spoken = known.filter(pl.col("language") != "")["metric"].unique().to_list()
        known = known.filter(pl.col("metric").is_in(spoken))
    for subject, measures in by_subject(known.select("metric", "definition").rows()):
        end = [f"{by}s"] * bool(by)
        name = slug("intrinsic", corpus, subject.identifier, *end)
        title = subject.title + f", by {by}" * bool(by)
        if several:
            title = f"{_title(content, corpus)}: {title[0].lower()}{title[1:]}"
        yield Heading(slug("measures", corpus, subject.identifier, *end), title)
        table = _table(content, known, name, subject.title, measures, corpus, texts, by)
        if {column.name for column in table.columns} <= KEYS:
            missing.append(f"{title}: {' '.join(table.notes)}")
        else:
            yield table
        if subject.identifier == GAPS and not by:
            yield from _bounds_of(content, corpus)


def _bounds(content: ReportContent, shown: set[str]) -> list[Table]:
    """Return the tables of bounds for corpora without other tables."""
    bounds = content.part("bounds")
    corpora = [] if bounds is None else content.corpora_of(bounds)
    return [table for corpus in corpora if corpus not in shown for table in _bounds_of(content, corpus)]


def _bounds_of(content: ReportContent, corpus: str) -> list[Table]:
    """Return the tables of bounds for one corpus, without columns that are constant."""
    tables = []
    for table in split(content, BOUNDS, corpus=corpus):
        by_language = (table.frame["language"] != "").any()
        silent = {"corpus"} if by_language else {"corpus", "language"}
        tables.append(replace(table, columns=[column for column in table.columns if column.name not in silent]))
    return tables


def _measured_text(content: ReportContent, corpus: str) -> str:
    """Return the measured text or gold data, in words."""
    if corpus in content.resources:
        return f"the words of {corpus}"
    return ALL if corpus == ALL else f"the text of the evaluation split of {corpus}"


def _table(
    content: ReportContent,
    part: pl.DataFrame,
    name: str,
    title: str,
    measures: list[tuple[Measure, str]],
    corpus: str,
    texts: str,
    by: str = "",
) -> Table:
    keys = ["variant", "size", *[by] * bool(by)]
    heads = [PrintedColumn("variant"), *[PrintedColumn(OWN, "pre-tokenizer")] * content.several_pretokenizers]
    heads += [PrintedColumn("size", kind="count"), *[PrintedColumn(by)] * bool(by)]
    shown = part.filter(pl.col("metric").is_in({metric for (metric, _), _ in measures}))
    values = {row[:-3]: row[-3:] for row in shown.select("metric", "definition", *keys, "value", "n", "reason").rows()}
    tokenizers = _group_by_pretokenizer(content, content.sort_rows(set(shown.select(keys).rows())))
    data = {key: [tokenizer[place] for tokenizer in tokenizers] for place, key in enumerate(keys)}
    data[OWN] = [
        content.pretokenizer(tokenizer[0]) if content.several_pretokenizers else "" for tokenizer in tokenizers
    ]
    data[GROUP] = [f"{tokenizer[1]} {own}" for tokenizer, own in zip(tokenizers, data[OWN], strict=True)]
    columns, notes, reasons, unlike = [], [], {}, []
    empty: dict[str, list[str]] = {}
    for number, ((metric, definition), name_of_column) in enumerate(measures, 1):
        header = f"{name_of_column.replace('gap to the optimum', ABOVE)} (%)" if metric == GAP else name_of_column
        column = f"{metric}.{number}"
        rows = [values.get((metric, definition, *tokenizer)) for tokenizer in tokenizers]
        data[column] = [row[0] if row else None for row in rows]
        if all(value is None for value in data[column]):
            empty.setdefault(next((row[2] for row in rows if row and row[2]), UNEXPLAINED), []).append(header)
            continue
        if metric == REMOVED and not any(data[column]):
            continue
        for index, row in enumerate(rows):
            if row is None or row[0] is None:
                itself = tokenizers[index][0] in content.baselines and EXCHANGED.search(definition) is not None
                lacking = THE_BASELINE if itself else "not measured for this tokenizer"
                reasons[index, column] = (row[2] or UNEXPLAINED) if row else lacking
        over = [(group, row[1]) for group, row in zip(data[GROUP], rows, strict=True) if row and row[0] is not None]
        notes.append((header, f"{plain_definition(definition)}{_shared_n([n for _, n in over])}."))
        alike = not requires_equal_n(metric, definition) or len(set(over)) == len({group for group, _ in over})
        best = None if by or not alike else direction(metric)
        unlike += [header] * (not by and not alike and direction(metric) is not None)
        kind: Kind = "percent" if metric == GAP else "real"
        columns.append(
            PrintedColumn(
                column, header, kind, best=best, files=files_of_metric(metric), about=plain_definition(definition)
            )
        )
    caption = INTRINSIC.prints[0].caption.format(metrics=title, texts=_measured_on(measures, texts))
    if any(column.best for column in columns):
        each = "size and pre-tokenizer" if content.several_pretokenizers else "size"
        caption += f" Bold: the best at each {each}, in columns with a better end."
    frame = pl.DataFrame(data, infer_schema_length=None)
    unranked, fewer = content.unranked_cells(
        {
            (row, column.name): tokenizer[:2]
            for row, tokenizer in enumerate(tokenizers)
            for column in columns
            if column.best
        }
    )
    return Table(
        name, caption, frame, [*heads, *columns], reasons, unranked=unranked, best_within="" if by else GROUP,
        definitions=definition_lines(notes),
        notes=[
            *[f"No best, because the denominator depends on the tokenizer: {join_all(unlike)}."] * bool(unlike),
            *fewer,
            *[f"No tokenizer has a value of {join_all(headers)}: {reason}." for reason, headers in empty.items()],
            *([] if by else _incomplete(tokenizers, measures, values)),
        ],
        source=DOMAINS if by == "domain" else _source(content, corpus, measures), folded=True,
    )  # fmt: skip


def _incomplete(
    tokenizers: Sequence[Row],
    measures: Sequence[tuple[Measure, str]],
    values: Mapping[tuple[Any, ...], tuple[Any, ...]],
) -> list[str]:
    """Return one sentence on each thing that values leave out, with the tokenizers."""
    named: dict[str, dict[str, None]] = {}
    for tokenizer in tokenizers:
        for measure, _ in measures:
            value, _, reason = values.get((*measure, *tokenizer), (None, None, None))
            for note in reason.split("; ") if value is not None and reason else ():
                named.setdefault(note, {})[str(tokenizer[0])] = None
    return [f"{join_all(list(variants))}: {note}." for note, variants in named.items()]


def plain_definition(definition: str) -> str:
    """Return a definition for readers, with an explanation of the nominal vocabulary size."""
    return definition.replace(NOMINAL, f"{NOMINAL}, i.e. the requested number of tokens")


def _measured_on(measures: list[tuple[Measure, str]], texts: str) -> str:
    """Return the measured objects of a table, in words: the text, vocabularies, or embeddings of models."""
    kinds = {_kind(*measure) for measure, _ in measures}
    phrases = {TEXT: texts, EMBEDDINGS: "the input embeddings of language models", VOCABULARY: "the vocabularies"}
    return join_all([where for kind, where in phrases.items() if kind in kinds])


def _kind(metric: str, definition: str) -> str:
    """Return the file of a measure: of a text, of embeddings, or of a vocabulary."""
    if files_of_metric(metric) == (EMBEDDINGS,):
        return EMBEDDINGS
    return VOCABULARY if metric in OF_VOCABULARY or OF_TOKENS.search(definition) else TEXT


def _shared_n(counts: list[int]) -> str:
    """Return ``; over 7`` if n is the same for all values and greater than 1; empty otherwise."""
    return f"; over {min(counts):,}" if counts and min(counts) == max(counts) > 1 else ""


def _source(content: ReportContent, corpus: str, measures: Sequence[tuple[Measure, str]] = ()) -> NumberSource:
    if {files_of_metric(metric) for (metric, _), _ in measures} == {(EMBEDDINGS,)}:
        return NumberSource([path_of(INTRINSIC)], [EMBEDDINGS])
    if corpus in content.resources:
        return NumberSource([path_of(INTRINSIC)], [RESOURCE], {"corpus": corpus})
    return NumberSource([path_of(INTRINSIC)], [RESOURCE if corpus == ALL else TEXT])


def _group_by_pretokenizer(content: ReportContent, rows: Sequence[Row]) -> list[Row]:
    """Return rows that begin with a variant sorted by pre-tokenizer, the baselines' first (stable)."""
    return sorted(rows, key=lambda row: content.place_of_pretokenizer(content.pretokenizers.get(row[0])))


def _values_by_pretokenizer(
    content: ReportContent, values: Mapping[tuple[str, int], float]
) -> dict[str, dict[tuple[str, int], float]]:
    """Return values by variant and size for each pre-tokenizer, the baselines' first."""
    groups: dict[str, dict[tuple[str, int], float]] = {}
    for key in _group_by_pretokenizer(content, list(values)):
        groups.setdefault(content.pretokenizer(key[0]), {})[key] = values[key]
    return groups


def _drawings(content: ReportContent, overall: pl.DataFrame, corpus: str, texts: str) -> list[Drawing]:
    drawings = []
    for metric in DRAWN:
        definition, values = first_definition(overall, metric)
        if values:
            order = [variant for (variant,) in content.sort_rows({(variant,) for variant, _ in values})]
            smaller = sorted(values.keys() & content.undersized)
            own = requires_equal_n(metric, definition)
            label, title, factor = (f"{ABOVE} (%)", f"Tokens {ABOVE} (gap, %)", 100) if metric == GAP else (
                words(metric), words(metric).capitalize(), 1
            )  # fmt: skip
            values = {key: factor * value for key, value in values.items()}
            digits = 1 if metric == GAP else None
            what, alike = f"{title} on {corpus}", content.full_size_values(values)
            if own and content.several_pretokenizers:
                groups = _values_by_pretokenizer(content, alike)
                says = " ".join(
                    value_range(f"{what}, pre-tokenizer {name},", group, digits) for name, group in groups.items()
                )
            else:
                says = value_range(what, content.by_label_and_size(alike), digits)
            shown = set(content.drawn_variants(order))
            values = content.by_label_and_size({key: value for key, value in values.items() if key[0] in shown})
            rows = _group_by_pretokenizer(content, [(variant,) for variant in content.reading_order])
            looks = content.by_label(styles(content.variants, content.highlight))
            labels = [content.label(variant) for (variant,) in rows]
            draw = partial(dots.draw, values, labels, looks, label)
            caption = f"{title} on {texts}, by variant and vocabulary size: {plain_definition(definition)}."
            if smaller:
                named = join_some([f"{variant} at {size:,}" for variant, size in smaller])
                caption += f" Not ranked (fewer tokens than others of their size): {named}."
            if own:
                caption += UNLIKE
                says += UNLIKE
            caption += content.omission_note(order) + content.bracket_note
            source = _source(content, corpus)
            drawings.append(Drawing(slug(metric, corpus), caption, draw, source, content.drawn_variants(order), says))
    return drawings
