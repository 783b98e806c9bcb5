"""Checks across sections: unknown names and combinations of options that cannot work.

They cover corpora, parallel corpora, variants (built and external), suites, runs and the report.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path

from tokbench.config.experiment import Experiment
from tokbench.config.sections import Size, Split, Variant, files_among, folder_options, mistakes_elsewhere
from tokbench.construction import InitialRecipe, constructions
from tokbench.corpus.read import mistakes_of_fields
from tokbench.corpus.sources import (
    CountsSource,
    EmbeddedSource,
    FileSource,
    JsonLinesSource,
    ParallelSource,
    TextSource,
    files_of,
)
from tokbench.corpus.units import read_units
from tokbench.errors import TokbenchError, unknown
from tokbench.io.paths import folder_mistakes, path_mistakes
from tokbench.models.evaluation.local_tasks import task_files
from tokbench.models.evaluation.offline_tasks import examples_of
from tokbench.resource import resource_files
from tokbench.segmentation import segmentations


def variant_mistakes(experiment: Experiment) -> Iterator[str]:
    """Yield one line for each mistake in variants, ``key: what is wrong; the remedy``."""
    yield from _measured(experiment)
    yield from _built(experiment)
    yield from _elsewhere(experiment)
    yield from _sizes(experiment)


def unknown_names(key: str, kind: str, names: Iterable[str], there: Iterable[str]) -> Iterator[str]:
    """Yield one line for each name that is not in ``there``."""
    for name in names:
        if name not in there:
            yield f"{key}: {unknown(name, kind, there)}"


def _measured(experiment: Experiment) -> Iterator[str]:
    """Yield mistakes in ``measured_on``: unknown corpora, and corpora of counts for external tokenizers."""
    yield from unknown_names("measured_on", "corpus", experiment.measured_on, experiment.corpora)
    for name, variant in experiment.variants.items():
        key = f"variants.{name}.measured_on"
        yield from unknown_names(key, "corpus", variant.measured_on or (), experiment.corpora)
        for corpus in experiment.measured_on_of(name) if name in experiment.elsewhere else ():
            if corpus in experiment.corpora and experiment.corpora[corpus].counted:
                yield f"{key}: corpus '{corpus}' contains counts, but an external tokenizer is measured on text"
        if experiment.segments_documents(name):
            for corpus in (experiment.corpus_of(name), *experiment.measured_on_of(name)):
                if corpus in experiment.corpora and experiment.corpora[corpus].counted:
                    yield (
                        f"variants.{name}: corpus '{corpus}' contains counts, but tokens of this variant may cross "
                        "pre-tokens; name a corpus of text"
                    )


def unit_mistakes(experiment: Experiment) -> Iterator[str]:
    """Yield one line for each table of units that cannot be used."""
    for name, corpus in experiment.corpora.items():
        if corpus.units is None:
            continue
        if corpus.counted:
            yield f"corpora.{name}.units: a corpus of counts has no documents; leave the key out"
            continue
        yield from path_mistakes(f"corpora.{name}.units", [corpus.units])
        if not corpus.units.is_file():
            yield f"corpora.{name}.units: no file '{corpus.units}'; name a CSV with the columns document and unit"
            continue
        try:
            read_units(corpus.units)
        except TokbenchError as error:
            yield f"corpora.{name}.units: {error}"


def _built(experiment: Experiment) -> Iterator[str]:
    for name, variant in experiment.built.items():
        key = f"variants.{name}"
        construction = constructions[variant.construction.method]
        folders = folder_options(variant.construction)
        for option, path in _files(variant).items():
            if option in folders and not path.exists():
                yield f"{key}.construction.{option}: no file or folder at '{path}'; name an existing one"
            elif option not in folders and not path.is_file():
                yield f"{key}.construction.{option}: no file at '{path}'; name an existing file"
            yield from path_mistakes(f"{key}.construction.{option}", [path], patterns=True)
        if variant.corpus is not None:
            yield from unknown_names(f"{key}.corpus", "corpus", [variant.corpus], experiment.corpora)
        corpus = experiment.corpora.get(experiment.corpus_of(name))
        if corpus is not None and corpus.counted and construction.source != "counts":
            yield f"{key}.corpus: '{construction.name}' reads text and this corpus holds counts; name a corpus of text"
        if construction.source == "scores":
            if variant.byte_lm is None:
                known = ", ".join(experiment.byte_lms) or "none; add one under byte_lms"
                yield f"{key}.byte_lm: '{construction.name}' reads a byte language model's scores; name one ({known})"
        elif variant.byte_lm is not None:
            yield f"{key}.byte_lm: '{construction.name}' does not read scores; remove this key"
        if variant.min_count > 1 and construction.source != "counts":
            yield f"{key}.min_count: '{construction.name}' reads no pre-token counts; remove this key"
        if variant.byte_lm is not None:
            yield from unknown_names(f"{key}.byte_lm", "byte language model", [variant.byte_lm], experiment.byte_lms)
        if variant.development is not None:
            yield from unknown_names(f"{key}.development", "corpus", [variant.development], experiment.corpora)
            if not construction.languages:
                yield f"{key}.development: '{construction.name}' does not compare languages; remove this key"
            elif getattr(variant.construction, "ratios", None) is not None:
                yield f"{key}.development: excludes ratios of the construction; remove one of them"
        yield from _segmentation(key, variant)
        yield from _leaks(experiment, name, variant)


def _leaks(experiment: Experiment, name: str, variant: Variant) -> Iterator[str]:
    """Yield one line for each resource that measures on gold words which a construction reads."""
    options = variant.construction
    gold = getattr(options, "gold", None)
    if gold is None:
        return
    for key, resource in experiment.resources.items():
        try:
            files = {path.resolve() for _, path in resource_files(resource.type, resource)}
        except TokbenchError:
            continue
        apart = resource.left_out >= options.gold_share and resource.left_out_seed == options.gold_seed
        if gold.resolve() in files and not apart:
            yield (
                f"resources.{key}.left_out: variant '{name}' is built from words of '{gold}'; set left_out: "
                f"{options.gold_share} and left_out_seed: {options.gold_seed}, so that other words are measured"
            )


def _files(variant: Variant) -> dict[str, Path]:
    """Return the files named by options of the construction and of its initial vocabulary."""
    files = files_among(variant.construction)
    initial = getattr(variant.construction, "initial", None)
    if isinstance(initial, InitialRecipe):
        files |= {f"initial.{option}": path for option, path in files_among(initial.options).items()}
    return files


def _elsewhere(experiment: Experiment) -> Iterator[str]:
    for name, variant in experiment.elsewhere.items():
        key = f"variants.{name}"
        if name in {*experiment.corpora, *experiment.resources, *experiment.suites}:
            yield f"{key}: a corpus, a resource or a suite has this name, too, and paths contain it; rename one"
        if variant.corpus is not None:
            yield from unknown_names(f"{key}.corpus", "corpus", [variant.corpus], experiment.corpora)
        corpus = experiment.corpora.get(experiment.corpus_of(name))
        if corpus is not None and corpus.counted:
            yield f"{key}.corpus: contains counts, and it is compared with its library on text; name one of text"
        yield from mistakes_elsewhere(key, name, variant)


def _segmentation(key: str, variant: Variant) -> Iterator[str]:
    construction = constructions[variant.construction.method]
    try:
        made = construction.own_segmentation().needs
    except TokbenchError as mistake:
        yield f"{key}.construction: {mistake}"
        return
    if variant.segmentation is None:
        return
    cut = variant.segmentation.method
    needs = segmentations[cut].needs
    if construction.continuation and not segmentations[cut].continuation:
        fitting = [method.name for method in segmentations.methods() if method.continuation]
        yield (
            f"{key}.segmentation: '{cut}' ignores the forms of the tokens of '{construction.name}'; "
            f"use {' or '.join(fitting)}"
        )
    elif needs not in (None, made):
        fitting = [method.name for method in segmentations.methods() if method.needs in (None, made)]
        yield (
            f"{key}.segmentation: '{cut}' needs {needs}, which '{construction.name}' does not make; "
            f"use one of {', '.join(fitting)}"
        )


def _sizes(experiment: Experiment) -> Iterator[str]:
    """Yield sizes that are too small or too large; a mistake in the common list is reported once."""
    alphabets = {
        name: constructions[variant.construction.method].alphabet for name, variant in experiment.built.items()
    }
    common = {name for name, variant in experiment.built.items() if variant.sizes is None}
    if common and not experiment.sizes:
        yield "sizes: this key is missing; add it"
    lists = [("sizes", experiment.sizes, common)] if common else []
    for name, variant in experiment.built.items():
        if variant.sizes is not None:
            lists.append((f"variants.{name}.sizes", variant.sizes, {name}))
        if constructions[variant.construction.method].initial:
            start = constructions[variant.construction.initial]
            if variant.construction.initial_size < start.alphabet:
                yield (
                    f"variants.{name}.construction.initial_size: {variant.construction.initial_size} is smaller than "
                    f"the alphabet of '{start.name}'; ask for {start.alphabet} or more"
                )
        initial = getattr(variant.construction, "initial_size", None)
        for size in variant.sizes or experiment.sizes:
            if initial is not None and size > initial:
                yield f"variants.{name}.construction.initial_size: {initial} is below the size {size}; raise it"
    for key, sizes, names in lists:
        widest = max(sorted(names), key=alphabets.__getitem__)
        for size in sizes:
            if size < alphabets[widest]:
                yield f"{key}: {size} is smaller than the alphabet of '{widest}'; ask for {alphabets[widest]} or more"


def parallel_mistakes(experiment: Experiment) -> Iterator[str]:
    """Yield one line for each mistake in parallel corpora and translations, ``key: what is wrong; the remedy``."""
    yield from _translations(experiment)
    for name, parallel in experiment.parallel_corpora.items():
        for split, source in parallel.sources().items():
            key = f"parallel_corpora.{name}.{split if split in ('train', 'dev') else f'tests.{split}'}.path"
            try:
                yield from path_mistakes(key, source.files(), patterns=True)
            except TokbenchError as error:
                yield f"{key}: {error}"
    for name, corpus in experiment.corpora.items():
        if not isinstance(corpus.source, ParallelSource):
            continue
        key = f"corpora.{name}.source"
        wanted = corpus.source.corpus
        yield from unknown_names(f"{key}.corpus", "parallel corpus", [wanted], experiment.parallel_corpora)
        if wanted in experiment.parallel_corpora:
            there = experiment.parallel_corpora[wanted].languages
            yield from unknown_names(f"{key}.languages", "language of it", corpus.source.languages or [], there)


def _translations(experiment: Experiment) -> Iterator[str]:
    scored: dict[tuple[str, ...], tuple[str, tuple[str, str]]] = {}
    for index, run in enumerate(experiment.translations):
        key = f"translations.{index}"
        yield from unknown_names(f"{key}.corpora", "parallel corpus", run.corpora, experiment.parallel_corpora)
        yield from unknown_names(f"{key}.models", "translation model", run.models, experiment.translation_models)
        for name in filter(experiment.parallel_corpora.__contains__, run.corpora):
            if {run.source, run.target} != set(experiment.parallel_corpora[name].languages):
                there = " and ".join(experiment.parallel_corpora[name].languages)
                yield f"{key}: '{name}' has {there}; name one as source and the other as target"
        for variant in dict.fromkeys(one for pair in run.pairs() for one in pair):
            yield from unknown_names(f"{key}.tokenizers", "variant", [variant], experiment.variants)
        for pair in run.pairs():
            if not experiment.variants.keys() >= set(pair):
                continue
            built = [variant for variant in pair if variant in experiment.built]
            for size in experiment.sizes_between(run, *pair):
                lacking = [variant for variant in built if size not in experiment.sizes_of(variant)]
                if lacking:
                    yield f"{key}.sizes: '{lacking[0]}' is not built at {size}; choose sizes that both sides have"
        if run.comet is not None:
            yield from path_mistakes(f"{key}.comet", [run.comet])
        way = (run.bleu_words, str(run.comet))
        for name in run.corpora:
            first, other = scored.setdefault((name, run.source, run.target), (key, way))
            if other != way:
                yield f"{key}: bleu_words and comet differ from those of {first} for '{name}'; use the same in both"


def check(experiment: Experiment) -> list[str]:
    """Return one line for each mistake, ``key: what is wrong; the remedy``; empty if there is none."""
    return [
        *_results(experiment),
        *_name(experiment),
        *_corpora(experiment),
        *parallel_mistakes(experiment),
        *_splits(experiment),
        *_resources(experiment),
        *unit_mistakes(experiment),
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
        yield f"name: {experiment.folder} is reserved for tables that outlive experiments; choose another name"


def _corpora(experiment: Experiment) -> Iterator[str]:
    for name, corpus in experiment.corpora.items():
        key = f"corpora.{name}"
        shares = {split: share for split, share in corpus.splits.items() if not isinstance(share, str)}
        for split, share in corpus.splits.items():
            if isinstance(share, str):
                if share not in shares:
                    yield f"{key}.splits.{split}: '{share}' has no share; give it one, or name another split"
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
                    yield f"{key}.parts: {told}, which are not split; ask for {len(files)}, or split them further"
                yield from (f"{key}.source: {mistake}" for mistake in mistakes_of_fields(corpus.source))
            except TokbenchError as error:
                yield f"{key}.source.path: {error}"


def _resources(experiment: Experiment) -> Iterator[str]:
    for name, resource in experiment.resources.items():
        key = f"resources.{name}"
        if name in experiment.corpora:
            yield f"{key}: a corpus has this name, too, and tables contain it; rename one"
        if not resource.path:
            yield f"{key}.path: no path given; add it, or say --config {name}=PATH on the command line"
            continue
        try:
            files = [file for _, file in resource_files(resource.type, resource)]
            yield from path_mistakes(f"{key}.path", files, patterns=True)
        except TokbenchError as error:
            yield f"{key}.path: {error}"


def _splits(experiment: Experiment) -> Iterator[str]:
    """Yield each split that is read but has no text, once."""
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
        if variant.development is not None:
            readers.setdefault((variant.development, "tokenizer"), f"variant '{name}' compares languages on")
    for run in experiment.runs:
        for name in filter(experiment.variants.__contains__, run.variants):
            corpus = run.corpus or experiment.corpus_of(name)
            readers.setdefault((corpus, "pretraining"), f"model '{run.models[0]}' is trained on")
            readers.setdefault((corpus, "evaluation"), f"model '{run.models[0]}' is tested on")
    words_of = experiment.metrics.vocabulary.words_of
    if words_of is not None:
        yield from unknown_names("metrics.vocabulary.words_of", "corpus", [words_of], experiment.corpora)
        readers.setdefault((words_of, "evaluation"), "metrics.vocabulary.words_of looks up words of")
    if experiment.ngram_bits is not None:
        for corpus in experiment.measured_corpora():
            if corpus in experiment.corpora and experiment.corpora[corpus].counted:
                yield f"ngram_bits: corpus '{corpus}' contains counts, but n-gram models need text; leave the key out"
                break
            readers.setdefault((corpus, experiment.ngram_bits.split), "n-gram models are trained on")
    for (corpus, split), reader in readers.items():
        if corpus not in experiment.corpora:
            continue
        if experiment.corpora[corpus].counted:
            if split in ("byte_lm", "pretraining"):
                yield f"corpora.{corpus}: contains counts and no text, which {reader}; name a corpus of text"
            continue
        if not experiment.corpora[corpus].splits.get(split):
            yield f"corpora.{corpus}.splits: no share for '{split}', which {reader}; give it one"


def _suites(experiment: Experiment) -> Iterator[str]:
    for name, suite in experiment.suites.items():
        if suite.source != "local":
            continue
        key = f"suites.{name}"
        if name in experiment.corpora or name in experiment.resources:
            yield f"{key}: a corpus or a resource has this name, too, and paths contain it; rename one"
        if suite.path is None:
            yield f"{key}.path: no path given; add it, or say --config {name}=PATH on the command line"
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
