"""What is odd in a configuration and no mistake: equal recipes, and recipes that nothing uses."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from tokbench.config.experiment import Experiment


def notes(experiment: Experiment) -> Iterator[str]:
    """Yield one line for each recipe that equals an earlier one or is not used, ``key: what is odd``."""
    runs, translations = experiment.runs, experiment.translations
    built = experiment.built.values()
    measured = {*experiment.measured_corpora(), *(run.corpus for run in runs)}
    sections: list[tuple[str, Mapping[str, Any], Iterable[str | None]]] = [
        ("corpora", experiment.corpora, measured),
        ("byte_lms", experiment.byte_lms, [variant.byte_lm for variant in built]),
        ("variants", experiment.variants, experiment.variants),
        ("models", experiment.models, [name for run in runs for name in run.models]),
        ("suites", experiment.suites, [name for run in runs for name in run.suites]),
        ("translation_models", experiment.translation_models, [name for run in translations for name in run.models]),
    ]
    for section, entries, used in sections:
        yield from _equal(section, entries)
        yield from (f"{section}.{name}: nothing uses it" for name in entries if name not in set(used))


def _equal(section: str, entries: Mapping[str, Any]) -> Iterator[str]:
    first: dict[str, str] = {}
    for name, entry in entries.items():
        other = first.setdefault(entry.model_dump_json(), name)
        if other != name:
            yield f"{section}.{name}: equals {section}.{other}"
