"""From the files that the earlier stages wrote to what a report shows."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl
import yaml

from tokbench.construction import constructions
from tokbench.pretokenization import pretokenization_of
from tokbench.provenance import provenance
from tokbench.report.content import ReportContent, read_frames
from tokbench.statistics.seeds import same_but_for_seed
from tokbench.tidy.collection import tables_of
from tokbench.tidy.table import TidyTable

NO_RUNS = "The configuration trains no language models; name models, variants and suites under runs."


def load(folders: Mapping[str, Path | str], experiment: Mapping[str, Any]) -> ReportContent:
    """What the report of an experiment shows.

    Args:
        folders: where the tables of ``tables``, ``statistics`` and, if there are any, ``examples`` lie.
        experiment: the configuration, as the user wrote it.
    """
    declared = tables_of("tabulate", "analyse", "cut_examples")
    frames = read_frames(folders, declared)
    return shown(experiment, declared, frames, provenance())


def shown(
    experiment: Mapping[str, Any],
    declared: Sequence[TidyTable],
    frames: Mapping[str, pl.DataFrame],
    made: Mapping[str, object],
) -> ReportContent:
    """What the report of an experiment shows, its frames and its provenance at hand.

    Args:
        experiment: the configuration, as the user wrote it.
        declared: the tables that there may be.
        frames: those that there are, by name.
        made: what made them, nothing where it is not known.
    """
    report = experiment.get("report", {})
    missing = {} if experiment.get("runs") else {table.name: NO_RUNS for table in declared if table.of_models}
    return ReportContent(
        title=report.get("title") or f"Tokenizers of the experiment {experiment['name']}",
        recipes={name: _recipe(variant) for name, variant in experiment["variants"].items()},
        configuration=yaml.safe_dump(dict(experiment), sort_keys=False, allow_unicode=True, width=100),
        provenance=made,
        declared=declared,
        frames=frames,
        missing=missing,
        preface=report.get("summary", ""),
        models=list(experiment.get("models", {})),
        seeds=_seeds(experiment),
        resources=list(experiment.get("resources", {})),
        corpora=_corpora(experiment),
        built_from=_built_from(experiment),
        baselines=_baselines(experiment),
    )


def _seeds(experiment: Mapping[str, Any]) -> dict[str, tuple[str, int]]:
    """Return the models that differ only in their seed; a recipe may be the name of a preset."""
    models = experiment.get("models", {})
    return same_but_for_seed({name: {"preset": one} if isinstance(one, str) else one for name, one in models.items()})


def _corpus_of(experiment: Mapping[str, Any]) -> dict[str, str]:
    """The corpus of each variant: the one that it names, or the first."""
    first = next(iter(experiment.get("corpora", {})), "")
    return {name: variant.get("corpus") or first for name, variant in experiment["variants"].items()}


def _built_from(experiment: Mapping[str, Any]) -> list[str]:
    """The corpora from which a vocabulary is built, in the order of the configuration."""
    of = _corpus_of(experiment)
    used = {of[name] for name, variant in experiment["variants"].items() if "from" not in variant}
    return [name for name in experiment.get("corpora", {}) if name in used]


def _corpora(experiment: Mapping[str, Any]) -> list[str]:
    """All corpora: those that a variant has as its own, then the others, each in the order of the configuration."""
    names, own = list(experiment.get("corpora", {})), set(_corpus_of(experiment).values())
    return sorted(names, key=lambda name: name not in own)


def _baselines(experiment: Mapping[str, Any]) -> list[str]:
    """The variant that others are relative to, of each corpus: the one that is named, or the first."""
    corpus_of = _corpus_of(experiment)
    chosen = experiment.get("report", {}).get("baseline") or {}
    if isinstance(chosen, str):
        chosen = {corpus_of.get(chosen): chosen}
    found: dict[str, str] = {}
    for name, corpus in corpus_of.items():
        found.setdefault(corpus, chosen.get(corpus, name))
    return list(dict.fromkeys(found.values()))


def _recipe(variant: Mapping[str, Any]) -> dict[str, Any]:
    """The three phases of a variant, with the construction's own segmentation where none is configured; of one that was
    made elsewhere what the configuration says of it."""
    if "from" in variant:
        told = {key: value for key, value in variant.items() if key in ("pattern", "segmentation", "added", "revision")}
        told |= {key: len(variant[key]) for key in ("special_tokens",) if variant.get(key)}
        return {"from": {"method": variant["from"], "path": str(variant.get("path", "")), **told}}
    construction = variant["construction"]
    method = construction if isinstance(construction, str) else construction["method"]
    default = constructions[method].segmentation
    return {
        "pretokenization": pretokenization_of(variant["pretokenization"]).label,
        "construction": construction,
        "segmentation": variant.get("segmentation", default),
        **({"byte_lm": variant["byte_lm"]} if variant.get("byte_lm") else {}),
    }
