"""From the files that the earlier stages wrote to what a report shows."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from tokbench.construction import constructions
from tokbench.manifest import provenance
from tokbench.report.content import ReportContent, read_frames

LANGUAGE_MODEL_PARTS = (
    "accuracy",
    "bits_per_byte",
    "curves",
    "embedding_norms",
    "ranks",
    "ranks_by_size",
    "intervals",
    "comparisons",
    "power",
    "critical_differences",
    "question_intervals",
    "question_comparisons",
    "behind_the_best",
    "seeds",
    "correlations",
    "r_squared",
)
NO_RUNS = "The configuration trains no language models; name models, variants and suites under runs."


def load(tables: Path | str, statistics: Path | str, experiment: Mapping[str, Any]) -> ReportContent:
    """What the report of an experiment shows.

    Args:
        tables: folder of tidy tables.
        statistics: folder of statistics.
        experiment: the configuration, as the user wrote it.
    """
    report = experiment.get("report", {})
    missing = {} if experiment.get("runs") else dict.fromkeys(LANGUAGE_MODEL_PARTS, NO_RUNS)
    return ReportContent(
        title=report.get("title") or f"Tokenizers of the experiment {experiment['name']}",
        recipes={name: _recipe(variant) for name, variant in experiment["variants"].items()},
        configuration=yaml.safe_dump(dict(experiment), sort_keys=False, allow_unicode=True, width=100),
        provenance=provenance(),
        missing=missing,
        preface=report.get("summary", ""),
        models=list(experiment.get("models", {})),
        resources=list(experiment.get("resources", {})),
        **read_frames(tables),
        **read_frames(statistics),
    )


def _recipe(variant: Mapping[str, Any]) -> dict[str, Any]:
    """The three phases of a variant, with the construction's own segmentation where none is configured."""
    construction = variant["construction"]
    method = construction if isinstance(construction, str) else construction["method"]
    default = constructions[method].segmentation
    return {
        "pretokenization": variant["pretokenization"],
        "construction": construction,
        "segmentation": variant.get("segmentation", default),
        **({"byte_lm": variant["byte_lm"]} if variant.get("byte_lm") else {}),
    }
