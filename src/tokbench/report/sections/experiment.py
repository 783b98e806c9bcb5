"""What was run: the experiment in numbers, the recipes, the configuration, the provenance."""

from collections.abc import Mapping

import polars as pl

from tokbench.report.content import ReportContent
from tokbench.report.exhibits import Section
from tokbench.report.layout import Column, Source, Table
from tokbench.report.sections.rows import split
from tokbench.report.wording import counted, few, listed, words
from tokbench.statistics.board_alignment import ALL_RESOURCES
from tokbench.tabulation.imported import IMPORTED

_FIRST = ("pretokenization", "construction", "initial", "segmentation")


def experiment(content: ReportContent) -> Section:
    """How many variants, sizes, corpora, models and tasks."""
    facts = [f"{counted(len(content.variants), 'tokenizer variant')}: {few(content.variants)}."]
    intrinsic, accuracy = content.part("intrinsic"), content.part("accuracy")
    sized = [frame for frame in (intrinsic, accuracy) if frame is not None]
    sizes = sorted({size for frame in sized for size in frame["size"].unique()})
    if sizes:
        facts.append(f"{counted(len(sizes), 'vocabulary size')}: {listed([f'{size:,}' for size in sizes])}.")
    if intrinsic is not None:
        named = [one for one in content.corpora_of(intrinsic) if one != ALL_RESOURCES]
        corpora, gold = ([one for one in named if (one in content.resources) == of] for of in (False, True))
        if corpora:
            facts.append(f"{counted(len(corpora), 'corpus', 'corpora')} to measure on: {listed(corpora)}.")
        if gold:
            facts.append(f"{counted(len(gold), 'resource')} of gold data: {listed(gold)}.")
    if accuracy is not None:
        models = accuracy["model"].unique(maintain_order=True).to_list()
        facts.append(f"{counted(len(models), 'language-model recipe')}: {listed(models)}.")
        for (suite,), part in accuracy.sort("suite").group_by("suite", maintain_order=True):
            tasks = part["task"].unique().sort().to_list()
            facts.append(f"Suite {suite}, {counted(len(tasks), 'task')}: {listed(tasks)}.")
    for corpus, lines in content.findings.items():
        facts += [f"Corpus {corpus}: {line}." for line in lines]
    return Section("experiment", "The experiment", facts)


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
        [Column(name, words(name)) for name in frame.columns],
        reasons,
        source=Source(["tokenizers"], ["tokenizers/{variant}/{size}/tokbench.json"]),
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
