"""Stages of the tables and statistics, which read the results of all others."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field

from tokbench.config.targets import SingleTarget, all_drawn, single_target
from tokbench.errors import unknown_names
from tokbench.io.paths import path_mistakes
from tokbench.options import Options, canonical
from tokbench.pretokenization import pretokenization_of
from tokbench.stage import Result, Section, Stage, stages
from tokbench.stages import token_effects
from tokbench.stages.tokenizers import default_segmentation
from tokbench.statistics.significance.verdicts import DETECT, LEAST

if TYPE_CHECKING:
    from tokbench.config.experiment import Experiment


class StatisticsOptions(Options):
    """Power analysis before the runs: the number of seeds needed, estimated from a finished pilot. Also the weights of
    domains, for corpora of several sources."""

    pilot: Path | None = None
    """Folder ``statistics`` of an experiment that trained similar models with two seeds or more. The number of seeds
    needed is written to ``power/`` before any model is trained, and to the report."""
    detect: float = Field(DETECT, ge=LEAST)
    """Difference in bits per byte that should be detected."""
    domain_weights: dict[str, Annotated[float, Field(ge=0)]] = Field(default_factory=dict)
    """Weight of each domain (source of a mixture) in weighted means over domains. Default: the shares of the domains in
    the bytes of the evaluation split. A change computes the statistics and the report again, nothing else."""


def _mistakes(experiment: "Experiment") -> Iterator[str]:
    yield from _weight_mistakes(experiment)
    pilot = STATISTICS.of(experiment).pilot
    if pilot is None:
        return
    if not (pilot / "bits_comparisons.parquet").is_file():
        yield (
            f"statistics.pilot: no bits_comparisons.parquet in '{pilot}'; name the folder statistics of an experiment "
            "that trained language models, or leave the key out"
        )
    yield from path_mistakes("statistics.pilot", [pilot])


def _weight_mistakes(experiment: "Experiment") -> Iterator[str]:
    key, weights = "statistics.domain_weights", STATISTICS.of(experiment).domain_weights
    if not weights:
        return
    mixtures = {name: list(corpus.sources) for name, corpus in experiment.corpora.items() if corpus.sources}
    known = dict.fromkeys(domain for domains in mixtures.values() for domain in domains)
    yield from unknown_names(key, "domain", weights, known)
    for name, domains in mixtures.items():
        if lacking := [domain for domain in domains if domain not in weights]:
            yield f"{key}: no weight of '{lacking[0]}', a source of corpus '{name}'; add it (0 leaves it out)"
        elif not any(weights[domain] for domain in domains):
            yield f"{key}: all domains of corpus '{name}' have weight 0; give one a weight above 0"


STATISTICS = Section(
    "statistics",
    StatisticsOptions,
    "Power analysis before the runs: a pilot experiment and the effect size to detect. Weights of domains.",
    always=True,
    mistakes=_mistakes,
)


def pilot_tables(experiment: "Experiment") -> list[str]:
    """Return the tables of a pilot's comparisons and ladders; empty if there was no pilot."""
    pilot = STATISTICS.of(experiment).pilot
    tables = [] if pilot is None else [pilot / "bits_comparisons.parquet", pilot / "scale_ladders.parquet"]
    return [str(table) for table in tables if table.name == "bits_comparisons.parquet" or table.is_file()]


def units(experiment: "Experiment") -> dict[str, Path]:
    """Return the table of units of each corpus that has one. That of drawn documents is left out if nothing is measured
    on them, since only results have their new numbers."""
    drawn = {target.corpus for target in all_drawn(experiment)}
    with_units = {name: corpus for name, corpus in experiment.corpora.items() if corpus.draw is None or name in drawn}
    return {name: corpus.units for name, corpus in with_units.items() if corpus.units}


def unit_tables(experiment: "Experiment") -> list[str]:
    """Return the tables of units of all corpora that have one."""
    return list(dict.fromkeys(map(str, units(experiment).values())))


def venn_triples(experiment: "Experiment") -> list[list[str]]:
    """Return three variants for each Venn diagram: those of the report, or the first three built ones."""
    first = list(experiment.built)[:3]
    return experiment.report.venn_triples or [first] * (len(first) == 3)


def table_settings(experiment: "Experiment") -> dict[str, Any]:
    """Return the results that the tables read, and baselines and choices of the report."""
    return {
        "files": stages.tabulated(experiment, ""),
        "baselines": experiment.baselines(),
        "venn": venn_triples(experiment),
        "overlaps": experiment.report.overlaps,
    }


def statistics_settings(experiment: "Experiment") -> dict[str, Any]:
    """Return what the statistics read of a configuration."""
    options = STATISTICS.of(experiment)
    pilot = {} if options.pilot is None else {"pilot": str(options.pilot), "detect": options.detect}
    tables = {corpus: str(path) for corpus, path in units(experiment).items()}
    weights = {"domain_weights": options.domain_weights} if options.domain_weights else {}
    return {"recipes": recipes(experiment), "baselines": experiment.baselines(), "units": tables, **pilot, **weights}


def recipes(experiment: "Experiment") -> dict[str, Any]:
    """Return all options of variants, models and targets, each variant with its segmentation and the name of its
    pre-tokenizer."""
    variants: dict[str, dict[str, Any]] = {
        name: {"corpus": experiment.corpus_of(name), "from": variant.form}
        for name, variant in experiment.external.items()
    }
    for name, variant in experiment.built.items():
        cut = variant.segmentation
        segmentation = default_segmentation(variant) if cut is None else cut.model_dump(mode="json")
        variants[name] = {
            "corpus": experiment.corpus_of(name),
            "pretokenization": variant.pretokenization,
            "pretokenizer": pretokenization_of(variant.pretokenization).label,
            "construction": _by_name(variant.construction),
            "segmentation": segmentation,
        }
    models = {name: model.recipe() for name, model in experiment.models.items()}
    effect = token_effects.SECTION.of(experiment)
    effects = {} if effect is None else {"causal_effect": effect.recipe()}
    translating = {name: model.model_dump(mode="json") for name, model in experiment.translation_models.items()}
    planned = {name: target.model_dump(mode="json", exclude_none=True) for name, target in experiment.targets.items()}
    targets = {"targets": planned} if planned else {}
    every = {"variants": variants, "models": models, "translation_models": translating, **effects, **targets}
    written = canonical(every)
    recipes: dict[str, Any] = json.loads(written)
    return recipes


def _by_name(construction: Any) -> dict[str, Any]:
    """Return all options of a construction, with the name of its initial vocabulary in place of its options."""
    values: dict[str, Any] = construction.model_dump(mode="json")
    return values | ({"initial": str(construction.initial)} if isinstance(values.get("initial"), dict) else {})


def _with_pilot(experiment: "Experiment") -> list[SingleTarget]:
    return [] if STATISTICS.of(experiment).pilot is None else single_target(experiment)


WRITE_EXPERIMENT = stages.add(
    Stage("write_experiment", run="tokbench.commands.experiments:write_experiment_command"),
)
TABULATE = stages.add(
    Stage(
        "tabulate",
        run="tokbench.commands.tabulate:tabulate_command",
        results=(Result("", "tables", single_target),),
        settings=table_settings,
        libraries=("polars",),
    )
)
POWER = stages.add(
    Stage(
        "power",
        run="tokbench.commands.reports:power_command",
        results=(Result("", "power", _with_pilot),),
        sections=(STATISTICS,),
    )
)
ANALYSE = stages.add(
    Stage(
        "analyse",
        run="tokbench.commands.reports:analyse_command",
        results=(Result("", "statistics", single_target),),
        settings=statistics_settings,
        libraries=("polars", "scipy"),
    )
)
