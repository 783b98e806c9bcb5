"""Checks across sections: unknown names and combinations of options that cannot work.

They cover corpora, parallel corpora, variants (built and external), suites, runs and the report.
"""

from collections.abc import Iterator
from pathlib import Path

from tokbench.config.check_corpora import (
    corpus_mistakes,
    parallel_mistakes,
    resource_mistakes,
    split_mistakes,
    unit_mistakes,
)
from tokbench.config.check_variants import variant_mistakes
from tokbench.config.experiment import Experiment
from tokbench.config.missing_paths import MissingPath
from tokbench.config.sections import Size
from tokbench.errors import TokbenchError, unknown_names
from tokbench.evaluation.local_tasks import task_files
from tokbench.evaluation.offline_tasks import examples_of
from tokbench.io.paths import folder_mistakes, path_mistakes
from tokbench.stage import stages


def check(experiment: Experiment) -> list[str]:
    """Return one line for each mistake, ``key: mistake; remedy``; empty if there is none."""
    return [
        *_results(experiment),
        *_name(experiment),
        *corpus_mistakes(experiment),
        *parallel_mistakes(experiment),
        *split_mistakes(experiment),
        *resource_mistakes(experiment),
        *unit_mistakes(experiment),
        *variant_mistakes(experiment),
        *_suites(experiment),
        *_offline_tasks(experiment),
        *_runs(experiment),
        *_contradictions(experiment),
        *_sections(experiment),
        *_report(experiment),
        *_released(experiment),
    ]


def _results(experiment: Experiment) -> Iterator[str]:
    mistakes = list(path_mistakes("results", [experiment.results]))
    yield from mistakes or folder_mistakes("results", experiment.folder)


def _name(experiment: Experiment) -> Iterator[str]:
    if Path(experiment.folder) == Path(experiment.published).parent:
        yield f"name: {experiment.folder} is reserved for tables that outlive experiments; choose another name"


def _suites(experiment: Experiment) -> Iterator[str]:
    for name, suite in experiment.suites.items():
        if suite.source != "local":
            continue
        key = f"suites.{name}"
        if name in experiment.corpora or name in experiment.resources:
            yield f"{key}: a corpus or a resource has this name, too, and paths contain it; rename one"
        if suite.path is None:
            yield MissingPath.of(f"{key}.path", name)
            continue
        try:
            yield from path_mistakes(f"{key}.path", [suite.path, *task_files(suite)], patterns=True)
        except TokbenchError as error:
            yield f"{key}.path: {error}"


def _offline_tasks(experiment: Experiment) -> Iterator[str]:
    """Yield tasks of offline suites in use that are not defined, and numbers of few-shot examples above the pool."""
    pool = experiment.tasks.fewshot_pool
    for name in dict.fromkeys(name for run in experiment.runs for name in run.suites):
        suite = experiment.suites.get(name)
        if suite is None or suite.source != "offline":
            continue
        yield from unknown_names(f"suites.{name}.tasks", "task under tasks.tasks", suite.tasks, experiment.tasks.tasks)
        for task, number in examples_of(suite).items():
            if number > pool:
                own = task in suite.overrides and suite.overrides[task].num_fewshot is not None
                key = f"overrides.{task}.num_fewshot" if own else "num_fewshot"
                message = f"{number} examples, and tasks.fewshot_pool is {pool}; raise it, or ask for fewer"
                yield f"suites.{name}.{key}: {message}"
                break


def _runs(experiment: Experiment) -> Iterator[str]:
    for index, run in enumerate(experiment.runs):
        key = f"runs.{index}"
        yield from unknown_names(f"{key}.models", "model", run.models, experiment.models)
        yield from unknown_names(f"{key}.variants", "variant", run.variants, experiment.variants)
        yield from unknown_names(f"{key}.suites", "suite", run.suites, experiment.suites)
        if run.corpus is not None:
            yield from unknown_names(f"{key}.corpus", "corpus", [run.corpus], experiment.corpora)
        for variant in run.variants:
            sizes = experiment.sizes_of(variant) if variant in experiment.built else []
            wrong = [size for size in run.sizes or [] if size not in sizes]
            if sizes and wrong:
                yield f"{key}.sizes: '{variant}' is not built at {wrong[0]}; choose among {', '.join(map(str, sizes))}"


def _contradictions(experiment: Experiment) -> Iterator[str]:
    """Yield runs in which one language model would read two corpora, each once."""
    known: dict[tuple[str, str, Size], tuple[str, str]] = {}
    for index, run in enumerate(experiment.runs):
        if not experiment.variants.keys() >= set(run.variants):
            continue
        key = f"runs.{index}"
        for trained, corpus in experiment.corpora_of(run).items():
            other, first = known.setdefault(trained, (corpus, key))
            if other != corpus:
                named = "'{}' with '{}' at {}".format(*trained)
                yield (
                    f"{key}.corpus: {named} reads '{corpus}' here and '{other}' in {first}; "
                    "name one corpus in both, or give the model a second name"
                )
                break


def _sections(experiment: Experiment) -> Iterator[str]:
    """Yield the mistakes in the sections of stages."""
    for section in stages.sections():
        if section.mistakes is not None and section.of(experiment) is not None:
            yield from section.mistakes(experiment)


def _report(experiment: Experiment) -> Iterator[str]:
    report = experiment.report
    named = {"": report.baseline} if isinstance(report.baseline, str) else report.baseline or {}
    for corpus, variant in named.items():
        key = f"report.baseline.{corpus}".rstrip(".")
        yield from unknown_names(key, "variant", [variant], experiment.variants)
        if corpus:
            yield from unknown_names(key, "corpus", [corpus], experiment.corpora)
        known = corpus in experiment.corpora and variant in experiment.variants
        if known and corpus not in (experiment.corpus_of(variant), *experiment.measured_on_of(variant)):
            yield f"{key}: '{variant}' is built from '{experiment.corpus_of(variant)}'; name a variant of '{corpus}'"
    if report.highlight is not None:
        yield from unknown_names("report.highlight", "variant", [report.highlight], experiment.variants)
    compared: set[frozenset[str]] = set()
    for triple in report.venn_triples:
        yield from unknown_names("report.venn", "variant", triple, experiment.variants)
        if len(triple) != 3:
            yield "report.venn: a Venn diagram compares three different variants; name three, or leave the key out"
        elif frozenset(triple) in compared:
            yield f"report.venn: {', '.join(triple)} are compared twice; remove one"
        compared.add(frozenset(triple))
    if report.byte_signals and not any(variant.byte_lm for variant in experiment.built.values()):
        yield "report.byte_signals: no variant reads a byte language model; add one with byte_lm, or leave the key out"


def _released(experiment: Experiment) -> Iterator[str]:
    if experiment.released is not None and not experiment.released.is_dir():
        yield f"released: {experiment.released} is not a folder; name the folder of vocabularies, or leave it out"
    elif experiment.released is not None:
        yield from path_mistakes("released", [experiment.released], patterns=True)
