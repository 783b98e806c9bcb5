"""What the rules ask of an experiment's metrics and resources."""

from dataclasses import dataclass
from typing import Any

from tokbench.config.experiment import Experiment
from tokbench.config.sections import Resource
from tokbench.intrinsic.resource_files import resource_files
from tokbench.metric import Sight, families_of
from tokbench.resource import resource_types
from tokbench.workflow.canonical import canonical
from tokbench.workflow.fingerprint import fingerprint

BOUND_STEPS = 2000
"""Most steps of the search for a bound: any number of them proves one, and it mostly settles within 1,500."""
OF_TEXT: tuple[Sight, ...] = ("text", "languages")


@dataclass(frozen=True)
class Measurements:
    """The measurements of one experiment's tokenizers; wildcards name the resource where there is one."""

    experiment: Experiment

    def metrics(self, *of: Sight) -> str:
        """Options of the metrics that see one of these."""
        chosen = {method.name for method in families_of(*of)}
        return canonical(self.experiment.metrics.model_dump(mode="json", include=chosen))

    def resource_files(self, wildcards: Any) -> list[str]:
        """The user's files that a resource is read from."""
        resource = self._resource(wildcards)
        return [str(path) for _, path in resource_files(resource.type, resource)]

    def resource_recipe(self, wildcards: Any) -> str:
        """Type and options of a resource; files are inputs, and named here only where they have language tags."""
        recipe = self._resource(wildcards).model_dump(mode="json")
        if not isinstance(recipe["path"], dict):
            recipe.pop("path")
        return canonical(recipe)

    def resource_metrics(self, wildcards: Any) -> str:
        """Options of the metrics that are taken of a resource."""
        return self.metrics(resource_types[self._resource(wildcards).type].gold)

    def resource_source(self, wildcards: Any) -> str:
        """Fingerprint of how a resource is read and of every metric that is taken of it."""
        kind = resource_types[self._resource(wildcards).type]
        return measured_by("measure_resource", kind.gold, reader=kind.module)

    def _resource(self, wildcards: Any) -> Resource:
        return self.experiment.resources[wildcards.resource]


def bound_steps(wildcards: Any) -> int:
    """Most steps of the search for a bound, the same for all."""
    return BOUND_STEPS


def measured_by(command: str, *of: Sight, reader: str | None = None) -> str:
    """Fingerprint of a command that measures, and of every metric that sees one of these."""
    families = (method.module for method in families_of(*of))
    return fingerprint(f"tokbench.commands.{command}", *([reader] if reader else []), *families)
