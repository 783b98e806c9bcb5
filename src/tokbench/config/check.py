"""Mistakes that no single section can see: names that lead nowhere, combinations that cannot work."""

from collections.abc import Iterator
from pathlib import Path

from tokbench.config.check_parallel import parallel_mistakes
from tokbench.config.check_variants import unknown_names, variant_mistakes
from tokbench.config.corpus import Split
from tokbench.config.experiment import Experiment
from tokbench.config.sections import Size
from tokbench.corpus.first import mistakes_of_fields
from tokbench.corpus.sources import (
    CountsSource,
    EmbeddedSource,
    FileSource,
    JsonLinesSource,
    ParallelSource,
    TextSource,
    files_of,
)
from tokbench.downstream.local import task_files
from tokbench.downstream.tasks import examples_of
from tokbench.errors import TokbenchError
from tokbench.inputs.paths import folder_mistakes, path_mistakes
from tokbench.intrinsic.resource_files import resource_files


def check(experiment: Experiment) -> list[str]:
    """One line a mistake, ``key: what is wrong; the remedy``; empty when there is none."""
    return [
        *_results(experiment),
        *_name(experiment),
        *_corpora(experiment),
        *parallel_mistakes(experiment),
        *_splits(experiment),
        *_resources(experiment),
        *variant_mistakes(experiment),
        *_suites(experiment),
        *_offline_tasks(experiment),
        *_runs(experiment),
        *_contradictions(experiment),
        *_statistics(experiment),
        *_report(experiment),
        *_released(experiment),
    ]


def _results(experiment: Experiment) -> Iterator[str]:
    mistakes = list(path_mistakes("results", [experiment.results]))
    yield from mistakes or folder_mistakes("results", experiment.folder)


def _name(experiment: Experiment) -> Iterator[str]:
    if Path(experiment.folder) == Path(experiment.published).parent:
        yield f"name: {experiment.folder} is where tables are kept that outlive experiments; choose another name"


def _corpora(experiment: Experiment) -> Iterator[str]:
    for name, corpus in experiment.corpora.items():
        key = f"corpora.{name}"
        shares = {split: share for split, share in corpus.splits.items() if not isinstance(share, str)}
        for split, share in corpus.splits.items():
            if isinstance(share, str):
                if share not in shares:
                    yield f"{key}.splits.{split}: '{share}' has no share of its own; give it one, or name another split"
            elif share < 0:
                yield f"{key}.splits.{split}: a share must not be negative (found {share:g})"
        if sum(shares.values()) > 1 + 1e-9:
            yield f"{key}.splits: the shares add up to {sum(shares.values()):g}; lower them to 1 or less in all"
        if corpus.parts > 1 and isinstance(corpus.source, EmbeddedSource | CountsSource | ParallelSource):
            yield f"{key}.parts: a source of type '{corpus.source.type}' has no parts; leave the key out"
        if isinstance(corpus.source, FileSource):
            if not corpus.source.path:
                yield f"{key}.source.path: no path given; add it, or say --config {name}=PATH on the command line"
                continue
            try:
                files = files_of(corpus.source)
                yield from path_mistakes(f"{key}.source.path", files, patterns=True)
                if isinstance(corpus.source, TextSource | JsonLinesSource) and corpus.parts > len(files):
                    told = f"{corpus.parts} parts of {len(files)} file{'s' * (len(files) > 1)}"
                    yield f"{key}.parts: {told}, which are not cut; ask for {len(files)}, or cut them into more files"
                yield from (f"{key}.source: {mistake}" for mistake in mistakes_of_fields(corpus.source))
            except TokbenchError as error:
                yield f"{key}.source.path: {error}"


def _resources(experiment: Experiment) -> Iterator[str]:
    for name, resource in experiment.resources.items():
        key = f"resources.{name}"
        if name in experiment.corpora:
            yield f"{key}: a corpus bears this name, too, and tables tell the two apart by it; rename one"
        if not resource.path:
            yield f"{key}.path: no path given; add it, or say --config {name}=PATH on the command line"
            continue
        try:
            files = [file for _, file in resource_files(resource.type, resource)]
            yield from path_mistakes(f"{key}.path", files, patterns=True)
        except TokbenchError as error:
            yield f"{key}.path: {error}"


def _splits(experiment: Experiment) -> Iterator[str]:
    """Splits that something reads and that get no text, each told once."""
    readers: dict[tuple[str, Split], str] = {}
    for name in experiment.variants:
        corpus = experiment.corpus_of(name)
        if name in experiment.built:
            readers.setdefault((corpus, "tokenizer"), f"variant '{name}' is built from")
        for measured in (corpus, *experiment.measured_on_of(name)):
            readers.setdefault((measured, "evaluation"), f"variant '{name}' is measured on")
    for name, variant in experiment.built.items():
        corpus = experiment.corpus_of(name)
        if variant.byte_lm is not None:
            readers.setdefault((corpus, "byte_lm"), f"byte language model '{variant.byte_lm}' is trained on")
    for run in experiment.runs:
        for name in filter(experiment.variants.__contains__, run.variants):
            corpus = run.corpus or experiment.corpus_of(name)
            readers.setdefault((corpus, "pretraining"), f"model '{run.models[0]}' is trained on")
            readers.setdefault((corpus, "evaluation"), f"model '{run.models[0]}' is tested on")
    if experiment.ngram_bits is not None:
        for corpus in experiment.measured_corpora():
            if corpus in experiment.corpora and experiment.corpora[corpus].counted:
                yield f"ngram_bits: corpus '{corpus}' holds counts and no text, which n-gram models need; leave it out"
                break
            readers.setdefault((corpus, experiment.ngram_bits.split), "n-gram models are trained on")
    for (corpus, split), reader in readers.items():
        if corpus not in experiment.corpora:
            continue
        if experiment.corpora[corpus].counted:
            if split in ("byte_lm", "pretraining"):
                yield f"corpora.{corpus}: holds counts and no text, which {reader}; give it a corpus of text"
            continue
        if not experiment.corpora[corpus].splits.get(split):
            yield f"corpora.{corpus}.splits: no share for '{split}', which {reader}; give it one"


def _suites(experiment: Experiment) -> Iterator[str]:
    for name, suite in experiment.suites.items():
        if suite.source != "local":
            continue
        key = f"suites.{name}"
        if name in experiment.corpora or name in experiment.resources:
            yield f"{key}: a corpus or a resource bears this name, too, and paths are told apart by it; rename one"
        if suite.path is None:
            yield f"{key}.path: no path given; add it, or say --config {name}=PATH on the command line"
            continue
        try:
            yield from path_mistakes(f"{key}.path", [suite.path, *task_files(suite)], patterns=True)
        except TokbenchError as error:
            yield f"{key}.path: {error}"


def _offline_tasks(experiment: Experiment) -> Iterator[str]:
    """Tasks and examples of offline suites in use that are not made."""
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
                told = f"{number} examples, and tasks.fewshot_pool is {pool}; raise it, or ask for fewer"
                yield f"suites.{name}.{key}: {told}"
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
    """Runs by which one language model would read two corpora, each told once."""
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


def _statistics(experiment: Experiment) -> Iterator[str]:
    pilot = experiment.statistics.pilot
    if pilot is None:
        return
    if not (pilot / "bits_comparisons.parquet").is_file():
        yield (
            f"statistics.pilot: no bits_comparisons.parquet in '{pilot}'; name the folder statistics of an experiment "
            "that trained language models, or leave the key out"
        )
    yield from path_mistakes("statistics.pilot", [pilot])


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
    yield from unknown_names("report.venn", "variant", report.venn, experiment.variants)
    if report.venn and len(set(report.venn)) != 3:
        yield "report.venn: a Venn diagram compares three different variants; name three, or leave the key out"


def _released(experiment: Experiment) -> Iterator[str]:
    if experiment.released is not None and not experiment.released.is_dir():
        yield f"released: {experiment.released} is no folder; name that of the released vocabularies, or leave it out"
    elif experiment.released is not None:
        yield from path_mistakes("released", [experiment.released], patterns=True)
