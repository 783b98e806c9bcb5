"""Checks of corpora: sources, splits and their readers, units, gold data, parallel corpora and translations."""

from collections.abc import Iterator

from tokbench.config.experiment import Experiment
from tokbench.config.missing_paths import MissingPath
from tokbench.corpus.parallel import LinePairs, ParallelCorpus
from tokbench.corpus.parts import is_divisible
from tokbench.corpus.read import mistakes_of_fields
from tokbench.corpus.source_files import files_of
from tokbench.corpus.sources import CountsSource, EmbeddedSource, FileSource, ParallelSource, type_of
from tokbench.corpus.units import read_units
from tokbench.errors import TokbenchError, unknown_names
from tokbench.io.paths import path_mistakes
from tokbench.resource import resource_files
from tokbench.stage import stages


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


def parallel_mistakes(experiment: Experiment) -> Iterator[str]:
    """Yield one line for each mistake in parallel corpora and translations, ``key: mistake; remedy``."""
    yield from _translations(experiment)
    for name, parallel in experiment.parallel_corpora.items():
        if splits := parallel.without_path():
            paths = ", ".join(f"{split}: {_paths(parallel, split)}" for split in splits)
            yield MissingPath.of(f"parallel_corpora.{name}", name, f"'{{{paths}}}'")
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


def _paths(parallel: ParallelCorpus, split: str) -> str:
    """Return the form of the path of a split: one for each language if it has files of lines."""
    if isinstance(parallel.sources()[split], LinePairs):
        return f"{{{', '.join(f'{language}: PATH' for language in parallel.languages)}}}"
    return "PATH"


def _translations(experiment: Experiment) -> Iterator[str]:
    scored: dict[tuple[str, ...], tuple[str, tuple[str, str]]] = {}
    for index, run in enumerate(experiment.translations):
        key = f"translations.{index}"
        # Names of corpora, models and tokenizers.
        yield from unknown_names(f"{key}.corpora", "parallel corpus", run.corpora, experiment.parallel_corpora)
        yield from unknown_names(f"{key}.models", "translation model", run.models, experiment.translation_models)
        for name in filter(experiment.parallel_corpora.__contains__, run.corpora):
            if {run.source, run.target} != set(experiment.parallel_corpora[name].languages):
                there = " and ".join(experiment.parallel_corpora[name].languages)
                yield f"{key}: '{name}' has {there}; name one as source and the other as target"
        for variant in dict.fromkeys(tokenizer for pair in run.pairs() for tokenizer in pair):
            yield from unknown_names(f"{key}.tokenizers", "variant", [variant], experiment.variants)
        # Both sides of a pair have the sizes.
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
        # One way of scoring for each test and pair of languages.
        way = (run.bleu_words, str(run.comet))
        for name in run.corpora:
            first, other = scored.setdefault((name, run.source, run.target), (key, way))
            if other != way:
                yield f"{key}: bleu_words and comet differ from those of {first} for '{name}'; use the same in both"


def corpus_mistakes(experiment: Experiment) -> Iterator[str]:
    """Yield one line for each mistake in shares of splits, parts, paths and fields of corpora."""
    for name, corpus in experiment.corpora.items():
        key = f"corpora.{name}"
        # Shares of the splits.
        shares = {split: share for split, share in corpus.splits.items() if not isinstance(share, str)}
        for split, share in corpus.splits.items():
            if isinstance(share, str):
                if share not in shares:
                    yield f"{key}.splits.{split}: '{share}' has no share; give it one, or name another split"
            elif share < 0:
                yield f"{key}.splits.{split}: a share must not be negative (found {share:g})"
        if sum(shares.values()) > 1 + 1e-9:
            yield f"{key}.splits: the shares add up to {sum(shares.values()):g}; lower them to 1 or less in all"
        # Parts and files.
        without_parts = isinstance(corpus.source, EmbeddedSource | CountsSource | ParallelSource)
        if corpus.parts > 1 and without_parts:
            yield f"{key}.parts: a source of type '{type_of(corpus.source)}' has no parts; leave the key out"
        if corpus.normalize is not None and corpus.counted:
            yield f"{key}.normalize: a corpus of counts has no text; leave the key out"
        if isinstance(corpus.source, FileSource):
            if not corpus.source.path:
                yield MissingPath.of(f"{key}.source.path", name)
                continue
            try:
                files = files_of(corpus.source)
                yield from path_mistakes(f"{key}.source.path", files, patterns=True)
                if not without_parts and not is_divisible(corpus.source) and corpus.parts > len(files):
                    message = f"{corpus.parts} parts of {len(files)} file{'s' * (len(files) > 1)}"
                    yield f"{key}.parts: {message}, which are not split; ask for {len(files)}, or split them further"
                yield from (f"{key}.source: {mistake}" for mistake in mistakes_of_fields(corpus.source))
            except TokbenchError as error:
                yield f"{key}.source.path: {error}"


def resource_mistakes(experiment: Experiment) -> Iterator[str]:
    """Yield one line for each mistake in names and paths of gold data."""
    for name, resource in experiment.resources.items():
        key = f"resources.{name}"
        if name in experiment.corpora:
            yield f"{key}: a corpus has this name, too, and tables contain it; rename one"
        if not resource.path:
            yield MissingPath.of(f"{key}.path", name)
            continue
        try:
            files = [file for _, file in resource_files(resource.type, resource)]
            yield from path_mistakes(f"{key}.path", files, patterns=True)
        except TokbenchError as error:
            yield f"{key}.path: {error}"


def split_mistakes(experiment: Experiment) -> Iterator[str]:
    """Yield each split that is read but has no text, once."""
    # What reads each split: variants, models, metrics and stages.
    readers: dict[tuple[str, str], str] = {}
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
    for section in stages.sections():
        if section.reads is not None and section.of(experiment) is not None:
            for read, reader in section.reads(experiment):
                readers.setdefault(read, reader)
    # A split that something reads has text and a share.
    for (corpus, split), reader in readers.items():
        if corpus not in experiment.corpora:
            continue
        if experiment.corpora[corpus].counted:
            if split in ("byte_lm", "pretraining"):
                yield f"corpora.{corpus}: contains counts and no text, which {reader}; name a corpus of text"
            continue
        shares: dict[str, float | str] = dict(experiment.corpora[corpus].splits.items())
        if not shares.get(split):
            yield f"corpora.{corpus}.splits: no share for '{split}', which {reader}; give it one"
