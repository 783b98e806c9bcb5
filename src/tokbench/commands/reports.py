"""Commands that collect results in tables, compute statistics and write reports."""

import shutil
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tokbench.commands.declaration import command
from tokbench.commands.inputs import CONFIGURATION, EXPECTED, EXPERIMENT, FOLDER, by_corpus, content_options
from tokbench.commands.outputs import OutputFolder, keys, output_file, own_text_script, page
from tokbench.commands.parameters import Real
from tokbench.errors import TokbenchError
from tokbench.runtime import exit_status
from tokbench.statistics.significance.verdicts import DETECT, LEAST

if TYPE_CHECKING:
    from tokbench.report.content import ReportContent


@command("analyse", "compute statistics over the tables", group="stages", place=370)
@click.argument("tables", type=FOLDER)
@click.option(
    "--experiment",
    type=EXPERIMENT,
    help="File experiment/analyse.json of the experiment, instead of the options.",
)
@click.option(
    "--recipes",
    default="{}",
    help="Complete variants and models as JSON: identifies seeds of one model, and published numbers to compare with.",
)
@click.option("--baseline", "baselines", multiple=True, metavar="CORPUS=VARIANT", help="Baseline of a corpus.")
@click.option(
    "--pilot",
    type=click.Path(exists=True, file_okay=False),
    help="Statistics of a pilot, to estimate the seeds needed.",
)
@click.option(
    "--detect",
    type=Real(LEAST),
    default=DETECT,
    show_default=True,
    help="Smallest difference to detect, in bits per byte.",
)
@click.option("--units", multiple=True, metavar="CORPUS=FILE", help="CSV of the units of a corpus's documents.")
@click.option(
    "--domain-weights",
    default="{}",
    help="Weights of domains in weighted means as JSON; default: their shares of bytes.",
)
@click.option("-o", "--output", required=True, type=OutputFolder("statistics"), help="Folder of the statistics.")
def analyse_command(
    tables: str,
    experiment: str | None,
    recipes: str,
    baselines: tuple[str, ...],
    pilot: str | None,
    detect: float,
    units: tuple[str, ...],
    domain_weights: str,
    output: str,
) -> None:
    """Compute statistics over the tidy TABLES: exact Wilcoxon tests with intervals, effect sizes, corrections and
    power; comparisons by question; bits per byte by seed, document and language; seeds needed; critical differences;
    variance between seeds; correlations between sizes and between metrics and models; published numbers.
    """
    from tokbench.commands.recipes import mapping_of
    from tokbench.config.load import read_settings
    from tokbench.options import validated
    from tokbench.stages.tables import StatisticsOptions
    from tokbench.statistics.inputs import StatisticsInputs, analyse
    from tokbench.tabulation.table import write_tables

    # Settings are options, or those of the experiment.
    settings: dict[str, Any] = {
        "recipes": mapping_of(recipes, "--recipes"),
        "baselines": by_corpus(baselines),
        "units": by_corpus(units, "--units", "FILE"),
        "pilot": pilot,
        "detect": detect,
        "domain_weights": mapping_of(domain_weights, "--domain-weights"),
    }
    if experiment is not None:
        settings |= read_settings(experiment, "recipes", "baselines", "units")
    weights = validated({"domain_weights": settings["domain_weights"]}, StatisticsOptions, "--domain-weights")
    material = StatisticsInputs(
        Path(tables),
        settings["recipes"],
        settings["baselines"],
        Path(settings["pilot"]) if settings["pilot"] else None,
        settings["detect"],
        {corpus: Path(path) for corpus, path in settings["units"].items()},
        weights.domain_weights,
    )
    made = analyse(material)
    write_tables(made, Path(output), "statistics")
    for table, frame in made.items():
        click.echo(f"{table.name}: {len(frame):,} rows", err=True)


@command("power", "estimate how many seeds a difference needs", group="stages", place=380)
@click.argument("pilot", type=FOLDER)
@click.option(
    "--detect",
    type=Real(LEAST),
    default=DETECT,
    show_default=True,
    help="Smallest difference to detect, in bits per byte.",
)
@click.option("-o", "--output", type=OutputFolder("statistics"), help="Folder of the tables; default: none.")
def power_command(pilot: str, detect: float, output: str | None) -> None:
    """Estimate from a PILOT how many seeds a difference in bits per byte needs, before training models. It uses the
    power of the paired t test, documents included, and the rule n = 15.7 (deviation / difference)^2.

    If the pilot has models of several sizes or budgets, it also estimates which of them, how many seeds and how many
    documents predict the difference at the next size.

    PILOT is the folder statistics of an experiment with similar models and at least two seeds.
    """
    from tokbench.statistics.inputs import read_ladders
    from tokbench.statistics.planning.ladder_plan import LADDER_PLAN, ladder_sentences, plan_ladders
    from tokbench.statistics.planning.seed_plan import SEED_PLAN, plan_sentences, seed_tables
    from tokbench.tabulation.table import write_tables

    tables = seed_tables(Path(pilot), detect)
    tables[LADDER_PLAN] = plan_ladders(read_ladders(Path(pilot)), detect)
    if output is not None:
        write_tables(tables, Path(output), "statistics")
    for line in (*plan_sentences(tables[SEED_PLAN]), *ladder_sentences(tables[LADDER_PLAN])):
        click.echo(line)


@command("cut_examples", "split the sentences that the report shows", group="stages", place=390)
@click.option("--recipe", required=True, help="JSON: examples, their tokenizers, tokenizers by corpus.")
@click.option("--tokenizer", "folders", multiple=True, help="Folder tokenizers/VARIANT/SIZE; may be repeated.")
@click.option(
    "--shard", "shards", multiple=True, metavar="CORPUS=FILE", help="Shard of an evaluation split; may be repeated."
)
@click.option("-o", "--output", required=True, type=OutputFolder("examples"), help="Folder of the tables.")
def cut_examples_command(recipe: str, folders: tuple[str, ...], shards: tuple[str, ...], output: str) -> None:
    """Choose sentences that tokenizers split differently, and split these and the user's own for the report.

    Keys of the recipe: 'examples', a list of texts; 'shown', the tokenizers that split them (VARIANT/SIZE); 'corpora',
    for each corpus the tokenizers that split its sentences.
    """
    from tokbench.examples.tables import ExampleInputs, Recipe, cut_examples
    from tokbench.io.json import parse_json
    from tokbench.options import validated
    from tokbench.tabulation.table import write_tables

    exit_status.describe_task("cut examples")
    asked = validated(parse_json(recipe, "--recipe", remedy="pass one JSON object"), Recipe, "--recipe")
    known = {"/".join(Path(folder).parts[-2:]): folder for folder in folders}
    chosen = ExampleInputs(
        _folders(asked.shown, known),
        {corpus: _folders(names, known) for corpus, names in asked.corpora.items()},
        dict(map(_shard, shards)),
        asked.examples,
    )
    write_tables(cut_examples(chosen), Path(output), "examples")


def _folders(names: Sequence[str], known: dict[str, str]) -> list[str]:
    for name in names:
        if name not in known:
            raise TokbenchError(f"--recipe: no --tokenizer is the folder of {name}; name it")
    return [known[name] for name in names]


def _shard(text: str) -> tuple[str, Path]:
    corpus, separator, path = text.partition("=")
    if not separator:
        raise TokbenchError(f"--shard {text}: expected CORPUS=FILE")
    return corpus, Path(path)


@command("draw", "draw the figures", group="stages", place=400)
@content_options
@click.option("-o", "--output", required=True, type=OutputFolder("figures"), help="Folder of the figures.")
def draw_command(output: str, **places: Any) -> None:
    """Draw every figure as SVG and PNG, in the width of a page and of a column."""
    from tokbench.report.html import write_figures

    write_figures(_content(**places), output)


@command("typeset", "write the tables for publication", group="stages", place=420)
@content_options
@click.option("-o", "--output", required=True, type=OutputFolder("typeset tables"), help="Folder of the tables.")
def typeset_command(output: str, **places: Any) -> None:
    """Write every table of the report as CSV, Markdown and LaTeX."""
    from tokbench.report.html import write_tables

    write_tables(_content(**places), output)


def _content(*, experiment: str, tables: str, statistics: str, examples: str | None) -> "ReportContent":
    """Return the content of a report."""
    from tokbench.config.load import read_experiment_file
    from tokbench.report.loading import load

    folders = {"tables": tables, "statistics": statistics, **({"examples": examples} if examples else {})}
    return load(folders, *read_experiment_file(experiment))


@command("report", "write the HTML report", group="stages", place=430)
@EXPECTED
@content_options
@click.option("--speed", "speeds", multiple=True, help="Encoding speed of a tokenizer; may be repeated.")
@click.option(
    "--prepared", multiple=True, type=click.Path(exists=True, file_okay=False), help="Folder of a corpus; repeatable."
)
@click.option("--tokenizer", "tokenizers", multiple=True, help="Folder of a tokenizer for the reader's own text.")
@click.option("--leaderboard", type=click.Path(exists=True), help="Leaderboard, for documents and bytes of the splits.")
@output_file(
    "--own-text",
    "script",
    mark=own_text_script,
    help="File own_text.js next to the page, for tokenizers that do not fit into it.",
)
@output_file(mark=page, required=True, help="HTML file.")
def report_command(
    speeds: tuple[str, ...],
    prepared: tuple[str, ...],
    tokenizers: tuple[str, ...],
    leaderboard: str | None,
    script: str | None,
    output: str,
    **places: Any,
) -> None:
    """Write one self-contained HTML file with every table and figure."""
    from dataclasses import replace
    from pathlib import Path

    from tokbench.corpus.documents import lines_of, read_findings
    from tokbench.io.provenance import last_day
    from tokbench.report.html import render
    from tokbench.report.leaderboard import read_splits
    from tokbench.report.own_text import read_own_text, write_script
    from tokbench.report.speeds import read_speeds

    manifests = {folder.name: lines_of(read_findings(folder)) for folder in map(Path, prepared)}
    findings = {corpus: lines for corpus, lines in manifests.items() if lines}
    box = read_own_text(tokenizers, with_file=script is not None)
    content = replace(
        _content(**places),
        speeds=read_speeds(speeds),
        findings=findings,
        own_text=box,
        splits=read_splits(leaderboard) if leaderboard else {},
        finished=last_day(map(Path, tokenizers)),
    )
    if script is not None:
        write_script(box, script)
    render(content, output)


@command("leaderboard", "write the scoreboard as JSON", group="stages", place=440)
@click.option("--name", required=True, help="The experiment's name.")
@click.option("--statistics", required=True, type=click.Path(exists=True, file_okay=False), help="Its statistics.")
@click.option("--tokenizer", "tokenizers", multiple=True, help="Folder of a tokenizer; may be repeated.")
@click.option("--documents", multiple=True, help="Folder of a corpus; may be repeated.")
@click.option(
    "--counts", multiple=True, help="File CORPUS/SPLIT/SCHEME.parquet, for a corpus without documents; may be repeated."
)
@click.option("--model", "models", multiple=True, help="Folder models/MODEL/VARIANT/SIZE; may be repeated.")
@output_file("--table", help="CSV file of the scores, to write in addition.")
@output_file(mark=keys("format", "experiment", "tokbench", "scores"), required=True, help="JSON file.")
def leaderboard_command(
    name: str,
    statistics: str,
    tokenizers: tuple[str, ...],
    documents: tuple[str, ...],
    counts: tuple[str, ...],
    models: tuple[str, ...],
    table: str | None,
    output: str,
) -> None:
    """Write the scoreboard as JSON, with versions, commit, and checksums of corpora and tokenizers."""
    from tokbench.io.atomic import atomic_file
    from tokbench.io.job_record import current_job
    from tokbench.io.json import written
    from tokbench.io.tables import write_csv
    from tokbench.report.leaderboard import as_table, leaderboard_of

    board = leaderboard_of(name, statistics, tokenizers, documents, counts, models)
    with atomic_file(output) as partial:
        partial.write_text(written({**current_job(), **board}), encoding="utf-8")
    if table is not None:
        with atomic_file(table) as partial:
            write_csv(as_table(board), partial)


@command("cite", "write the references as BibTeX", group="stages", place=450)
@click.argument("configuration", required=False, type=CONFIGURATION)
@click.option("--cited", "keys", metavar="JSON", help="List of references as JSON, instead of a configuration.")
@output_file(help="BibTeX file; default: standard output.")
def cite_command(configuration: str | None, keys: str | None, output: str | None) -> None:
    """Write the references of an experiment's methods, metrics, gold data and corpora as BibTeX. CONFIGURATION is a
    file such as config.yaml.
    """
    from tokbench.config.experiment import Experiment
    from tokbench.errors import TokbenchError
    from tokbench.io.json import parse_json
    from tokbench.io.yaml import read_yaml
    from tokbench.options import validated
    from tokbench.references import bibliography
    from tokbench.report.bibliography import publication_keys

    if (configuration is None) == (keys is None):
        raise TokbenchError("cite: name the file of a configuration, or pass --cited, one of the two")
    # Publications by their keys, or those that an experiment uses.
    if keys is not None:
        remedy = "pass a list of keys and entries as JSON"
        sources = parse_json(keys, "--cited", remedy=remedy)
        if not isinstance(sources, list) or not all(isinstance(source, str) for source in sources):
            raise TokbenchError(f"--cited: not a list of texts; {remedy}")
    else:
        sources = publication_keys(validated(read_yaml(str(configuration)), Experiment, str(configuration)))
    text = bibliography(sources)
    if output is None:
        click.echo(text, nl=False)
        return
    from tokbench.io.atomic import atomic_file
    from tokbench.io.job_record import comment_of_job

    with atomic_file(output) as partial:
        partial.write_text(text + comment_of_job(".bib"), encoding="utf-8")


@command("published", "recompute numbers that the papers print", group="stages", place=460)
@click.option(
    "--released",
    type=click.Path(exists=True, file_okay=False),
    help="Folder of the vocabularies released with 'Tokenization Is More Than Compression'.",
)
@output_file("--numbers", help="CSV file of every number next to the paper's.")
@click.option("--keep", type=OutputFolder("published"), help="Folder to replace by a copy of the output at the end.")
@click.option("-o", "--output", required=True, type=OutputFolder("published"), help="Folder of tables and figures.")
def published_command(released: str | None, numbers: str | None, keep: str | None, output: str) -> None:
    """Recompute the derived numbers that the papers print, compare them, and draw the papers' figures."""
    import polars as pl

    from tokbench.io.atomic import NOT_CONTENT, atomic_file, atomic_folder
    from tokbench.io.tables import write_csv
    from tokbench.report.published import write_published

    statistics = write_published(output, released)
    if numbers is not None:
        with atomic_file(numbers) as partial:
            write_csv(pl.DataFrame([asdict(table) for table in statistics], infer_schema_length=None), partial)
    if keep is not None:
        with atomic_folder(keep, "published") as partial:
            shutil.copytree(output, partial, dirs_exist_ok=True, ignore=shutil.ignore_patterns(*NOT_CONTENT))
    for verdict, count in Counter(statistic.verdict for statistic in statistics).items():
        click.echo(f"{verdict}: {count:,}", err=True)
