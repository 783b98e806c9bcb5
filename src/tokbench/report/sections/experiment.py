"""The experiment: facts, recipes, configuration, provenance, published values, and example sentences."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from unicodedata import bidirectional

import polars as pl

from tokbench.examples.cut import visible
from tokbench.examples.tables import CONFIGURED, LONGEST, OF_LANGUAGE, SHORTEST
from tokbench.published.comparison import PUBLISHED_VALUES
from tokbench.published.translations import PUBLISHED_TRANSLATIONS
from tokbench.report.content import ReportContent
from tokbench.report.exhibits import Cutting, NumberSource, PrintedColumn, Section, ShownToken, Table
from tokbench.report.sections.rows import rows, split, split_all
from tokbench.report.wording import join_all, join_some, pluralise, words
from tokbench.statistics.comparisons.scoreboard_rows import ALL_RESOURCES
from tokbench.tabulation.documents import LEAKAGE
from tokbench.tabulation.external_tokenizers import IMPORTED

_FIRST = ("pretokenization", "construction", "initial", "segmentation")
HOW = (
    "Each row is one tokenizer{sizes}; the small number is its number of tokens. Orange: {baseline} has no token with "
    "these bounds. ␣ is a space; bytes in hexadecimal are in ⟨brackets⟩. Point at a token to see its id."
)
NAMED = "Sentences of the configuration come first. The others are"
CHOSEN = (
    "chosen automatically from the evaluation split: the sentences with the most disagreement on boundaries per byte. "
    f"Candidates: the first {OF_LANGUAGE} sentences of each language in the first shard that are mostly letters and "
    f"have {SHORTEST} to {LONGEST} bytes. At most three are of one language, and one of a document."
)
Span = tuple[int | None, int | None]


def experiment(content: ReportContent) -> Section:
    """Return the section on variants, sizes, corpora, models and tasks, and on leakage into evaluation splits.

    Args:
        content: content of the report.
    """
    facts = [f"{pluralise(len(content.variants), 'tokenizer variant')}: {join_some(content.variants)}."]
    intrinsic, accuracy = content.part("intrinsic"), content.part("accuracy")
    sized = [frame for frame in (intrinsic, accuracy) if frame is not None]
    sizes = sorted({size for frame in sized for size in frame["size"].unique()})
    if sizes:
        facts.append(f"{pluralise(len(sizes), 'vocabulary size')}: {join_all([f'{size:,}' for size in sizes])}.")
    if intrinsic is not None:
        named = [name for name in content.corpora_of(intrinsic) if name != ALL_RESOURCES]
        corpora, gold = ([name for name in named if (name in content.resources) == of] for of in (False, True))
        if corpora:
            facts.append(f"{pluralise(len(corpora), 'evaluation corpus', 'evaluation corpora')}: {join_all(corpora)}.")
        if gold:
            facts.append(f"{pluralise(len(gold), 'resource')} of gold data: {join_all(gold)}.")
    if accuracy is not None:
        models = accuracy["model"].unique(maintain_order=True).to_list()
        facts.append(f"{pluralise(len(models), 'language-model recipe')}: {join_all(models)}.")
        for (suite,), part in accuracy.sort("suite").group_by("suite", maintain_order=True):
            tasks = part["task"].unique().sort().to_list()
            facts.append(f"Suite {suite}, {pluralise(len(tasks), 'task')}: {join_all(tasks)}.")
    for corpus, lines in content.findings.items():
        facts += [f"Corpus {corpus}: {line}." for line in lines]
    return Section("experiment", "The experiment", facts, exhibits=[*split(content, LEAKAGE)])


def tokenizers(content: ReportContent) -> Section:
    """Return the section with a row per recipe, its phases in order of execution, and a row per external tokenizer.

    Args:
        content: content of the report.
    """
    keys = dict.fromkeys(key for recipe in content.recipes.values() for key in recipe)
    keys = dict.fromkeys([*(key for key in _FIRST if key in keys), *keys])
    rows = [
        {"variant": variant, **{key: _setting(recipe.get(key)) for key in keys}}
        for variant in content.reading_order
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
    """Return ``method (key value, key value)`` for a mapping with a method, and other values as text."""
    if isinstance(value, Mapping):
        others = {key: inner for key, inner in value.items() if key not in ("method", "type")}
        sentence = ", ".join(f"{words(str(key))} {_setting(inner)}" for key, inner in others.items())
        name = value.get("method", value.get("type"))
        return sentence if name is None else f"{name} ({sentence})" if sentence else str(name)
    if isinstance(value, list | tuple):
        return join_all([str(_setting(inner)) for inner in value])
    return None if value is None else str(value)


def configuration(content: ReportContent) -> Section:
    """Return the section with the configuration file.

    Args:
        content: content of the report.
    """
    return Section(
        "configuration",
        "Configuration",
        ["This file and the source revision below determine all results of this report, except times."],
        verbatim=content.configuration,
    )


def provenance(content: ReportContent) -> Section:
    """Return the section on versions, revision and hardware, with nested mappings as rows.

    Args:
        content: content of the report.
    """
    rows = _leaves(content.provenance)
    if not rows:
        return Section("provenance", "Provenance", missing=[f"Provenance: {content.why_missing('provenance')}"])
    frame = pl.DataFrame(rows, schema={"what": pl.String, "value": pl.String})
    times = "The times of all stages are in run.html, because they differ from run to run."
    files = "Machine-readable results: leaderboard.json and leaderboard.csv. Publications to cite: references.bib. "
    files += "All of these files are in the folder of this page."
    table = Table("provenance", "Provenance of these results.", frame, folded=True, finding="versions and hardware")
    return Section("provenance", "Provenance", [times, files], exhibits=[table])


def _leaves(tree: Mapping[str, object], above: str = "") -> list[dict[str, str]]:
    """Return the path and the text of each value of a tree, as ``what`` and ``value``."""
    leaves: list[dict[str, str]] = []
    for key, value in tree.items():
        if isinstance(value, Mapping):
            leaves += _leaves(value, f"{above}{key} › ")
        else:
            text = "not known" if value is None else _text_of_value(value)
            leaves.append({"what": f"{above}{words(key)}", "value": text})
    return leaves


def _text_of_value(value: object) -> str:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return f"{value:,}"
    return join_all([str(inner) for inner in value]) if isinstance(value, list | tuple) else str(value)


def published(content: ReportContent) -> Section:
    """Return the section with a row per published value and its source; empty if there are no published values.

    Args:
        content: content of the report.
    """
    frame = content.part("published")
    shown = [] if frame is None else [frame.with_columns(pl.col("measure").str.replace_all("_", " "))]
    tables = [*(rows(PUBLISHED_VALUES, name) for name in shown), *split_all(content, PUBLISHED_TRANSLATIONS)]
    return Section("published", "Comparison with published values", exhibits=tables)


def examples(content: ReportContent) -> Section:
    """Return the section with every sentence as each tokenizer splits it; empty if none were split.

    Args:
        content: content of the report.
    """
    sentences, cuts = content.part("examples"), content.part("cuts")
    if sentences is None or cuts is None:
        return Section("examples", "Example sentences, split by each tokenizer")
    variants = cuts["variant"].unique(maintain_order=True).to_list()
    baseline = next((name for name in content.baselines if name in variants), variants[0])
    sizes = cuts["size"].unique().to_list()
    at = f", all of {sizes[0]:,} tokens" if len(sizes) == 1 else " at the vocabulary size next to its name"
    parts = [HOW.format(sizes=at, baseline=baseline)]
    sources = set(sentences["source"])
    if sources != {CONFIGURED}:
        parts.append(f"{NAMED if CONFIGURED in sources else 'The sentences are'} {CHOSEN}")
    if len(variants) < len(content.variants):
        which = "the baseline, then the first in the configuration, each at one vocabulary size"
        parts.append(f"Shown: {len(variants):,} of {pluralise(len(content.variants), 'variant')}, {which}.")
    by_example = {number: part for (number,), part in cuts.group_by("example", maintain_order=True)}
    exhibits = [
        _cutting(row, by_example[row["example"]], baseline, len(sizes) > 1)
        for row in sentences.iter_rows(named=True)
        if row["example"] in by_example
    ]
    return Section("examples", "Example sentences, split by each tokenizer", parts, exhibits)


def _cutting(sentence: dict[str, Any], cuts: pl.DataFrame, baseline: str, several: bool) -> Cutting:
    """Return one sentence, in which tokens that the baseline does not have are marked.

    Args:
        sentence: row of the table of sentences.
        cuts: its tokens.
        baseline: variant that the others are compared with, at its largest size.
        several: True to print sizes after names.
    """
    tokenizers = {
        (str(variant), int(str(size))): list(part.select("start", "end", "id", "token").iter_rows())
        for (variant, size), part in cuts.group_by("variant", "size", maintain_order=True)
    }
    known = [key for key in tokenizers if key[0] == baseline] or [*tokenizers]
    bounds = {row[:2] for row in tokenizers[max(known, key=lambda key: key[1])]}
    comparable = all(start is not None for start, _ in bounds)
    rows = [
        (f"{variant} {size:,}" if several else variant, list(_tokens(tokens, bounds if comparable else None)))
        for (variant, size), tokens in tokenizers.items()
    ]
    return Cutting(sentence["example"], _caption(sentence), sentence["text"], _direction(sentence["text"]), rows)


def _tokens(rows: Sequence[tuple[int | None, int | None, int, str]], bounds: set[Span] | None) -> Iterator[ShownToken]:
    """Yield the tokens of one row; none differs if bounds are unknown."""
    for start, end, token_id, token in rows:
        data = bytes.fromhex(token)
        differs = bounds is not None and start is not None and (start, end) not in bounds
        yield ShownToken(visible(data), token_id, data.hex(" "), differs)


def _caption(sentence: dict[str, Any]) -> str:
    if sentence["source"] == CONFIGURED:
        return "From the configuration."
    language = f", {sentence['language']}" if sentence["language"] else ""
    return f"From {sentence['corpus']}{language}, document {sentence['document']:,}."


def _direction(text: str) -> str:
    """Return the direction of the first letter that has one."""
    strong = next((kind for character in text if (kind := bidirectional(character)) in ("L", "R", "AL")), "L")
    return "ltr" if strong == "L" else "rtl"
