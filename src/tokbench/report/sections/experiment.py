"""What was run: the experiment in numbers, the recipes, the configuration, the provenance.

Published values beside ours.

How tokenizers cut the same sentences.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from unicodedata import bidirectional

import polars as pl

from tokbench.examples.cut import visible
from tokbench.examples.tables import CONFIGURED, LONGEST, OF_LANGUAGE, SHORTEST
from tokbench.published.comparison import BESIDE
from tokbench.published.translations import PUBLISHED_TRANSLATIONS
from tokbench.report.content import ReportContent
from tokbench.report.layout import Cutting, NumberSource, PrintedColumn, Section, ShownToken, Table
from tokbench.report.sections.rows import rows, split, split_all
from tokbench.report.wording import join_some, listed, pluralise, words
from tokbench.statistics.scoreboard_rows import ALL_RESOURCES
from tokbench.tabulation.documents import LEAKAGE
from tokbench.tabulation.external_tokenizers import IMPORTED

_FIRST = ("pretokenization", "construction", "initial", "segmentation")


def experiment(content: ReportContent) -> Section:
    """How many variants, sizes, corpora, models and tasks, and what evaluation splits share with others."""
    facts = [f"{pluralise(len(content.variants), 'tokenizer variant')}: {join_some(content.variants)}."]
    intrinsic, accuracy = content.part("intrinsic"), content.part("accuracy")
    sized = [frame for frame in (intrinsic, accuracy) if frame is not None]
    sizes = sorted({size for frame in sized for size in frame["size"].unique()})
    if sizes:
        facts.append(f"{pluralise(len(sizes), 'vocabulary size')}: {listed([f'{size:,}' for size in sizes])}.")
    if intrinsic is not None:
        named = [one for one in content.corpora_of(intrinsic) if one != ALL_RESOURCES]
        corpora, gold = ([one for one in named if (one in content.resources) == of] for of in (False, True))
        if corpora:
            facts.append(f"{pluralise(len(corpora), 'corpus', 'corpora')} to measure on: {listed(corpora)}.")
        if gold:
            facts.append(f"{pluralise(len(gold), 'resource')} of gold data: {listed(gold)}.")
    if accuracy is not None:
        models = accuracy["model"].unique(maintain_order=True).to_list()
        facts.append(f"{pluralise(len(models), 'language-model recipe')}: {listed(models)}.")
        for (suite,), part in accuracy.sort("suite").group_by("suite", maintain_order=True):
            tasks = part["task"].unique().sort().to_list()
            facts.append(f"Suite {suite}, {pluralise(len(tasks), 'task')}: {listed(tasks)}.")
    for corpus, lines in content.findings.items():
        facts += [f"Corpus {corpus}: {line}." for line in lines]
    return Section("experiment", "The experiment", facts, exhibits=[*split(content, LEAKAGE)])


def tokenizers(content: ReportContent) -> Section:
    """One row per recipe, its phases in the order of the work, and one per tokenizer that was made elsewhere."""
    keys = dict.fromkeys(key for recipe in content.recipes.values() for key in recipe)
    keys = dict.fromkeys([*(key for key in _FIRST if key in keys), *keys])
    rows = [
        {"variant": variant, **{key: _setting(recipe.get(key)) for key in keys}}
        for variant in content.reading
        for recipe in [content.recipes[variant]]
    ]
    frame = pl.DataFrame(rows, schema=dict.fromkeys(["variant", *keys], pl.String))
    reasons = {(index, key): "not set" for index, row in enumerate(rows) for key in keys if row[key] is None}
    table = Table(
        "recipes",
        "The recipe of each variant, as configured. A variant at one vocabulary size is a tokenizer.",
        frame,
        [PrintedColumn(name, words(name)) for name in frame.columns],
        reasons,
        source=NumberSource(["tokenizers"], ["tokenizers/{variant}/{size}/tokbench.json"]),
    )
    return Section("tokenizers", "Tokenizers", exhibits=[table, *split(content, IMPORTED)])


def _setting(value: object) -> str | None:
    """``method (key value, key value)`` for a mapping that names a method; other values as they are."""
    if isinstance(value, Mapping):
        others = {key: inner for key, inner in value.items() if key not in ("method", "type")}
        told = ", ".join(f"{words(str(key))} {_setting(inner)}" for key, inner in others.items())
        name = value.get("method", value.get("type"))
        return told if name is None else f"{name} ({told})" if told else str(name)
    if isinstance(value, list | tuple):
        return listed([str(_setting(inner)) for inner in value])
    return None if value is None else str(value)


def configuration(content: ReportContent) -> Section:
    """The configuration file as it was."""
    return Section(
        "configuration",
        "Configuration",
        ["Everything in this report follows from this file and the source revision below."],
        verbatim=content.configuration,
    )


def provenance(content: ReportContent) -> Section:
    """Versions, revision, hardware and time, nested mappings written out."""
    rows = list(_leaves(content.provenance))
    if not rows:
        return Section("provenance", "Provenance", missing=[f"Provenance: {content.why_missing('provenance')}"])
    frame = pl.DataFrame(rows, schema={"what": pl.String, "value": pl.String}, orient="row")
    times = "How long each stage took is told beside this page, in run.html, since times differ from run to run."
    files = "For programs: leaderboard.json and leaderboard.csv. For a paper: references.bib, what this run rests on. "
    files += "All three are beside this page."
    return Section(
        "provenance", "Provenance", [times, files], exhibits=[Table("provenance", "What made these results.", frame)]
    )


def _leaves(tree: Mapping[str, object], above: str = "") -> list[tuple[str, str]]:
    found = []
    for key, value in tree.items():
        if isinstance(value, Mapping):
            found += _leaves(value, f"{above}{key} › ")
        else:
            found.append((f"{above}{words(key)}", "not known" if value is None else _written(value)))
    return found


def _written(value: object) -> str:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return f"{value:,}"
    return listed([str(inner) for inner in value]) if isinstance(value, list | tuple) else str(value)


def published(content: ReportContent) -> Section:
    """One row per published value, its source named; empty where the experiment has no published counterpart."""
    frame = content.part("published")
    shown = [] if frame is None else [frame.with_columns(pl.col("measure").str.replace_all("_", " "))]
    tables = [*(rows(BESIDE, one) for one in shown), *split_all(content, PUBLISHED_TRANSLATIONS)]
    return Section("published", "Beside published values", exhibits=tables)


HOW = (
    "Each row is the same sentence, cut by one tokenizer at the vocabulary size beside its name; the small number "
    "counts its tokens. A token is coloured where some other tokenizer here does not have the same piece, and ends "
    "with a heavy line where some other has no boundary. A space is shown as ␣, what cannot be seen by its code point, "
    "and bytes that are no whole character in hexadecimal, in ⟨brackets⟩. Point at a token to see its id."
)
NAMED = "Sentences that the configuration names come first. The others are"
CHOSEN = (
    "those on which these tokenizers differ most: with the most boundaries, for each byte, that not all of them share. "
    f"They are from the first shard of the evaluation split, of the first {OF_LANGUAGE} sentences of each language "
    f"that are mostly letters and of {SHORTEST} to {LONGEST} bytes; at most three of a language, and one of a document."
)
Span = tuple[int | None, int | None]


def examples(content: ReportContent) -> Section:
    """Every sentence with its cuts; nothing where none were made."""
    sentences, cuts = content.part("examples"), content.part("cuts")
    if sentences is None or cuts is None:
        return Section("examples", "The same sentences, cut by each tokenizer")
    shown = cuts["variant"].n_unique()
    sources = set(sentences["source"])
    told = [HOW]
    if sources != {CONFIGURED}:
        told.append(f"{NAMED if CONFIGURED in sources else 'The sentences are'} {CHOSEN}")
    if shown < len(content.variants):
        which = "the baseline, then the first of the configuration, each at one vocabulary size"
        told.append(f"Shown are {shown:,} of {pluralise(len(content.variants), 'variant')}: {which}.")
    by_example = {number: part for (number,), part in cuts.group_by("example", maintain_order=True)}
    exhibits = [
        _cutting(row, by_example[row["example"]])
        for row in sentences.iter_rows(named=True)
        if row["example"] in by_example
    ]
    return Section("examples", "The same sentences, cut by each tokenizer", told, exhibits)


def _cutting(sentence: dict[str, Any], cuts: pl.DataFrame) -> Cutting:
    tokenizers = [
        (f"{variant} {size:,}", list(part.select("start", "end", "id", "token").iter_rows()))
        for (variant, size), part in cuts.group_by("variant", "size", maintain_order=True)
    ]
    placed = [{row[:2] for row in rows} for _, rows in tokenizers if all(row[0] is not None for row in rows)]
    same = set.intersection(*placed) if placed else set()
    ends = [{end for _, end in spans} for spans in placed]
    borders = set.intersection(*ends) if ends else set()
    rows = [(name, list(_tokens(tokens, same, borders))) for name, tokens in tokenizers]
    return Cutting(sentence["example"], _caption(sentence), sentence["text"], _direction(sentence["text"]), rows)


def _tokens(
    rows: Sequence[tuple[int | None, int | None, int, str]], same: set[Span], borders: set[int | None]
) -> Iterator[ShownToken]:
    for start, end, one, token in rows:
        data = bytes.fromhex(token)
        placed = start is not None
        yield ShownToken(
            visible(data), one, data.hex(" "), placed and (start, end) not in same, placed and end not in borders
        )


def _caption(sentence: dict[str, Any]) -> str:
    if sentence["source"] == CONFIGURED:
        return "Named in the configuration."
    language = f", {sentence['language']}" if sentence["language"] else ""
    return f"From {sentence['corpus']}{language}, document {sentence['document']:,}."


def _direction(text: str) -> str:
    """That of the first letter with one."""
    strong = next((kind for one in text if (kind := bidirectional(one)) in ("L", "R", "AL")), "L")
    return "ltr" if strong == "L" else "rtl"
