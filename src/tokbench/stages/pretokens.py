"""Stages that count pre-tokens. Counts of shards and of parts are temporary, so that all have the same code."""

from typing import TYPE_CHECKING, Any

from tokbench.pretokenization import pretokenization_of
from tokbench.stage import Stage, stages

if TYPE_CHECKING:
    from tokbench.config.experiment import Experiment

COUNT = "tokbench.commands.counts:count_command"
MERGE = "tokbench.commands.counts:merge_counts_command"


def _pretokenization(experiment: "Experiment", wildcards: Any) -> list[str]:
    """Return the modules of the pre-tokenization with a name in paths, and the code of counting and merging."""
    chosen = (pretokenization_of(variant.pretokenization) for variant in experiment.built.values())
    named = (scheme for scheme in chosen if scheme.slug == wildcards.scheme)
    scheme = next(named, None) or pretokenization_of(wildcards.scheme)
    return [COUNT, MERGE, *scheme.modules]


COUNT_SPLIT = stages.add(Stage("count_split", run=COUNT, methods=_pretokenization))
COUNT_SHARD = stages.add(Stage("count", run=COUNT, methods=_pretokenization))
MERGE_PART = stages.add(Stage("merge_part", run=MERGE, methods=_pretokenization))
MERGE_COUNTS = stages.add(Stage("merge_counts", run=MERGE, methods=_pretokenization))
IMPORT_COUNTS = stages.add(Stage("import_counts", run="tokbench.commands.counts:import_counts_command"))
