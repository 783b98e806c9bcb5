"""Stages of the workflow. Each is declared once, in a module of :mod:`tokbench.stages` or of another distribution.

A declaration names the function that makes the results, the paths and targets of the results, and the sections of the
configuration that only this stage reads. The class of experiments, the checks of a configuration, the inputs of
``tabulate`` and the targets of the workflow follow from it.

Other distributions name the module of their stages in the entry-point group ``tokbench.stages``.
"""

import importlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import Field

from tokbench.errors import TokbenchError, unknown
from tokbench.options import Options
from tokbench.submodules import entry_points_of, submodules

Experiment = Any
"""An experiment, :class:`tokbench.config.experiment.Experiment`; its class is made from the sections of the stages."""
OF_LANGUAGE_MODELS = frozenset({"lm-eval", "sacrebleu", "torch"})
"""Distributions that only the environment of language models has."""
PACKAGE = "tokbench.stages"
"""Package of the stages, and the entry-point group of those of other distributions."""


@dataclass(frozen=True)
class Section:
    """A section of the configuration that belongs to a stage.

    Attributes:
        key: key at the top level of a configuration.
        options: class of its options.
        meaning: description of the key in the JSON schema.
        always: whether the stage runs without the section, with default options. Default: False, the value of a missing
            section is None.
        mistakes: function that yields one line for each mistake in a configuration with this section, ``key: what is
            wrong; the remedy``. Default: None.
        reads: function that yields the splits of corpora that the stage reads, ``(corpus, split), why``, to check that
            they have text. Default: None.
    """

    key: str
    options: type[Options]
    meaning: str
    always: bool = False
    mistakes: Callable[[Experiment], Iterator[str]] | None = None
    reads: Callable[[Experiment], Iterator[tuple[tuple[str, str], str]]] | None = None

    def of(self, experiment: Experiment) -> Any:
        """Return the section of an experiment; None if it is missing and the stage does not always run."""
        return getattr(experiment, self.key)

    def or_default(self, experiment: Experiment) -> Any:
        """Return the section of an experiment, or the default options."""
        section = self.of(experiment)
        return self.options() if section is None else section

    @property
    def definition(self) -> tuple[Any, Any]:
        """Type and default of the field in the class of experiments."""
        if self.always:
            return self.options, Field(default_factory=self.options, description=self.meaning)
        return self.options | None, Field(None, description=self.meaning)


@dataclass(frozen=True)
class Result:
    """A result of a stage.

    Attributes:
        name: name in tables: makers of tables take ``files.NAME``, and ``tokbench tabulate`` has an option of it. Empty
            for a result that no table reads.
        pattern: path within the experiment's folder, with the fields of a target in braces.
        targets: function that returns the targets of an experiment, named tuples with the fields of the pattern.
        meaning: description of the option. Default: empty.
    """

    name: str
    pattern: str
    targets: Callable[[Experiment], Iterable[Any]]
    meaning: str = ""

    def files(self, experiment: Experiment, begin: str | None = None) -> list[str]:
        """Return the paths of an experiment's results, below its folder or after another beginning of paths."""
        begin = f"{experiment.folder}/" if begin is None else begin
        paths = (self.pattern.format(**target._asdict()) for target in self.targets(experiment))
        return list(dict.fromkeys(f"{begin}{path}" for path in paths))


@dataclass(frozen=True)
class Stage:
    """Declaration of a stage.

    Attributes:
        name: name of its rule and its command.
        run: function that makes its results, ``module:name``, or a function that chooses it from the experiment and
            the wildcards of a job. The fingerprint of the stage's code is that of this function.
        results: its results; none for intermediate files.
        sections: sections of the configuration that belong to it.
        methods: function that returns the definitions of registered methods, ``module:name``, that a job of the stage
            uses, from the experiment and the job's wildcards. The fingerprint covers them. Default: none.
        settings: function that returns the part of the configuration that a stage at the end of the workflow reads, as
            JSON-compatible values. The workflow writes it to ``experiment/STAGE.json``. Default: none.
        libraries: distributions whose versions can change a result, or a function that chooses them from the
            experiment. Jobs of a stage with one of :data:`OF_LANGUAGE_MODELS` run in the environment of language
            models. Default: none.
        cites: sources of the method, keys of ``tokbench/references.yaml``, for experiments that have results of the
            stage. Default: none.
    """

    name: str
    run: str | Callable[[Experiment, Any], str]
    results: tuple[Result, ...] = ()
    sections: tuple[Section, ...] = ()
    methods: Callable[[Experiment, Any], Iterable[str]] | None = None
    settings: Callable[[Experiment], dict[str, Any]] | None = None
    libraries: tuple[str, ...] | Callable[[Experiment], tuple[str, ...]] = ()
    cites: tuple[str, ...] = ()

    def code(self, experiment: Experiment, wildcards: Any) -> list[str]:
        """Return the definitions whose code a job of the stage runs."""
        run = self.run if isinstance(self.run, str) else self.run(experiment, wildcards)
        return [run, *(self.methods(experiment, wildcards) if self.methods else ())]

    def libraries_of(self, experiment: Experiment) -> tuple[str, ...]:
        """Return the distributions whose versions can change a result of an experiment."""
        return self.libraries if isinstance(self.libraries, tuple) else self.libraries(experiment)

    def needs_language_models(self, experiment: Experiment) -> bool:
        """Return whether jobs of the stage run in the environment of language models."""
        return not OF_LANGUAGE_MODELS.isdisjoint(self.libraries_of(experiment))


def _claims(stage: Stage) -> list[tuple[str, str]]:
    """Return the names that no other stage may have, with their kinds. Results without an option may share a name."""
    return [
        *(("section", section.key) for section in stage.sections),
        *(("result", result.name) for result in stage.results if result.meaning),
        *(("path", result.pattern) for result in stage.results),
    ]


class Stages:
    """All stages by name; their modules are imported on first use."""

    def __init__(self) -> None:
        self._stages: dict[str, Stage] = {}
        self._loaded = False

    def add(self, stage: Stage) -> Stage:
        """Register a stage and return it.

        Raises:
            TokbenchError: another stage has its name, a section of it, the path of a result, or the option of a result.
        """
        other = self._stages.get(stage.name)
        if other is not None and other != stage:
            raise TokbenchError(f"stage '{stage.name}' is declared twice; rename one of them")
        taken = {claim: known.name for known in self._stages.values() for claim in _claims(known)}
        for kind, name in _claims(stage):
            if (owner := taken.get((kind, name), stage.name)) != stage.name:
                raise TokbenchError(f"stage '{stage.name}': {kind} '{name}' is of '{owner}'; rename it")
        self._stages[stage.name] = stage
        return stage

    def __getitem__(self, name: str) -> Stage:
        """Return a stage by name.

        Raises:
            TokbenchError: there is none; the message lists the known names.
        """
        known = self._load()
        if name not in known:
            raise TokbenchError(unknown(name, "stage", known))
        return known[name]

    def __iter__(self) -> Iterator[Stage]:
        return iter(self._load().values())

    def sections(self) -> list[Section]:
        """Return the sections of all stages, in order of their keys."""
        return sorted((section for stage in self for section in stage.sections), key=lambda section: section.key)

    def tabulated(self, experiment: Experiment, begin: str | None = None) -> dict[str, list[str]]:
        """Return the paths of all results that tables read, by name of the result."""
        paths: dict[str, list[str]] = {}
        for result in self.results():
            paths.setdefault(result.name, []).extend(result.files(experiment, begin))
        return paths

    def results(self) -> list[Result]:
        """Return the results of all stages that tables read."""
        return [result for stage in self for result in stage.results if result.name]

    def targets(self, experiment: Experiment) -> list[str]:
        """Return the paths of all results of an experiment."""
        return [path for stage in self for result in stage.results for path in result.files(experiment)]

    def _load(self) -> Mapping[str, Stage]:
        if not self._loaded:
            package = importlib.import_module(PACKAGE)
            for name in submodules(package.__path__):
                importlib.import_module(f"{PACKAGE}.{name}")
            for entry in entry_points_of(PACKAGE):
                entry.load()
            self._loaded = True
        return self._stages


stages = Stages()
"""All stages of the workflow."""
