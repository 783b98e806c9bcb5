"""Functions that load the content of an experiment's report."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from tokbench.config.experiment import Experiment
from tokbench.corpus.sources import EmbeddedSource
from tokbench.io.provenance import provenance
from tokbench.io.tables import read_frame
from tokbench.io.yaml import dump_yaml
from tokbench.pretokenization import pretokenization_of
from tokbench.report.content import ReportContent
from tokbench.statistics.accuracies.seeds import same_but_for_seed
from tokbench.tabulation.table import TidyTable, tables_of

NO_RUNS = "The configuration trains no language models; add models, variants and suites under runs."


def read_frames(folders: Mapping[str, Path | str], declared: Iterable[TidyTable]) -> dict[str, pl.DataFrame]:
    """Return the available tables that a report shows, by name.

    Args:
        folders: folders of ``tables``, ``statistics`` and ``examples``, with files ``{name}.parquet``. Tables of a
            folder that is not named are left out.
        declared: declarations of all tables.

    Raises:
        TokbenchError: a file cannot be read.
    """
    there = [table for table in declared if table.prints and table.folder in folders]
    paths = {table.name: Path(folders[table.folder]) / f"{table.name}.parquet" for table in there}
    return {name: read_frame(path, "make the table again") for name, path in paths.items() if path.is_file()}


def load(folders: Mapping[str, Path | str], experiment: Experiment, configuration: Mapping[str, Any]) -> ReportContent:
    """Load the content of an experiment's report.

    Args:
        folders: folders of ``tables``, ``statistics`` and, if any, ``examples``.
        experiment: the experiment.
        configuration: its configuration without defaults, as the report prints it.

    Raises:
        TokbenchError: a table cannot be read, lacks a column, or has a share that is not between 0 and 1.
    """
    declared = tables_of("tabulate", "analyse", "cut_examples")
    frames = read_frames(folders, declared)
    return build_content(experiment, configuration, declared, frames, provenance())


def build_content(
    experiment: Experiment,
    configuration: Mapping[str, Any],
    declared: Sequence[TidyTable],
    frames: Mapping[str, pl.DataFrame],
    made: Mapping[str, object],
) -> ReportContent:
    """Build the content of an experiment's report from its frames and provenance.

    Args:
        experiment: the experiment.
        configuration: its configuration without defaults, as the report prints it.
        declared: declarations of all tables.
        frames: available tables by name.
        made: provenance of the tables; empty if unknown.
    """
    missing = {} if experiment.runs else {table.name: NO_RUNS for table in declared if table.of_models}
    own_corpora = {experiment.corpus_of(name) for name in experiment.variants}
    building = {experiment.corpus_of(name) for name in experiment.built}
    return ReportContent(
        title=experiment.report.title or f"Tokenizers of the experiment {experiment.name}",
        recipes={
            name: _recipe(variant, experiment.segmentation_of(name) if name in experiment.built else "")
            for name, variant in configuration["variants"].items()
        },
        configuration=dump_yaml(dict(configuration)),
        provenance=made,
        declared=declared,
        frames=frames,
        missing=missing,
        preface=experiment.report.summary,
        models=list(experiment.models),
        seeds=same_but_for_seed({name: model.recipe() for name, model in experiment.models.items()}),
        resources=list(experiment.resources),
        corpora=sorted(experiment.corpora, key=lambda name: name not in own_corpora),
        built_from=[name for name in experiment.corpora if name in building],
        baselines=list(dict.fromkeys(experiment.baselines().values())),
        demonstration=_is_demonstration(experiment),
        highlight=experiment.report.highlight or "",
    )


def _is_demonstration(experiment: Experiment) -> bool:
    """Return whether all text is that of CPython's documentation."""
    sources = (source for corpus in experiment.corpora.values() for source in corpus.named_sources.values())
    return all(isinstance(source, EmbeddedSource) for source in sources)


def _recipe(variant: Mapping[str, Any], segmentation: str) -> dict[str, Any]:
    """Return the three phases of a variant, with the name of its segmentation if it has no options; for an external
    tokenizer, its configuration."""
    if "from" in variant:
        options = {
            key: value for key, value in variant.items() if key in ("pattern", "segmentation", "added", "revision")
        }
        options |= {key: len(variant[key]) for key in ("special_tokens",) if variant.get(key)}
        return {"from": {"method": variant["from"], "path": str(variant.get("path", "")), **options}}
    return {
        "pretokenization": pretokenization_of(variant["pretokenization"]).label,
        "construction": variant["construction"],
        "segmentation": variant.get("segmentation", segmentation),
        **({"byte_lm": variant["byte_lm"]} if variant.get("byte_lm") else {}),
    }
