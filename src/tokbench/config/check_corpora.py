"""Checks of corpora: sources, splits and their readers, units, gold data, parallel corpora and translations."""

from collections.abc import Iterator

from tokbench.config.corpus import Corpus
from tokbench.config.experiment import Experiment
from tokbench.config.missing_paths import MissingPath
from tokbench.corpus.parallel import LinePairs, ParallelCorpus
from tokbench.corpus.parts import is_divisible
from tokbench.corpus.read import mistakes_of_fields
from tokbench.corpus.source_files import files_of
from tokbench.corpus.sources import CountsSource, EmbeddedSource, FileSource, HubSource, ParallelSource, Source, type_of
from tokbench.corpus.units import read_domain_units, read_units
from tokbench.errors import TokbenchError, unknown_names
from tokbench.io.compression import HEAD, compression_of
from tokbench.io.encodings import BYTES, UTF_8
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
            columns = "domain, document" if corpus.sources else "document"
            yield f"corpora.{name}.units: no file '{corpus.units}'; name a CSV with the columns {columns} and unit"
            continue
        try:
            (read_domain_units if corpus.sources else read_units)(corpus.units)
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
            continue  # A mixture rejects such sources.
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
        yield from _draw_mistakes(key, corpus)
        if corpus.normalize is not None and corpus.counted:
            yield f"{key}.normalize: a corpus of counts has no text; leave the key out"
        # Parts and files of each source.
        for place, source in corpus.keyed_sources.items():
            yield from _source_mistakes(key, f"{key}.{place}", name, source, corpus.parts)


def _source_mistakes(key: str, place: str, name: str, source: Source, parts: int) -> Iterator[str]:
    """Yield mistakes in parts, paths and fields of one source of a corpus."""
    without_parts = isinstance(source, EmbeddedSource | CountsSource | ParallelSource)
    if parts > 1 and without_parts:
        yield f"{key}.parts: a source of type '{type_of(source)}' has no parts; leave the key out"
    if not isinstance(source, FileSource):
        return
    if not source.path:
        domain = place.removeprefix(f"{key}.").partition(".")[2].partition(".")[0]
        yield MissingPath.of(f"{place}.path", name, f"'{{{domain}: PATH}}'" if domain else "PATH")
        return
    try:
        files = files_of(source)
        yield from path_mistakes(f"{place}.path", files, patterns=True)
        if not without_parts and not is_divisible(source) and parts > len(files):
            message = f"{parts} parts of {len(files)} file{'s' * (len(files) > 1)}"
            yield f"{key}.parts: {message}, which are not split; ask for {len(files)}, or split them further"
        yield from (f"{place}: {mistake}" for mistake in mistakes_of_fields(source))
    except TokbenchError as error:
        yield f"{place}.path: {error}"


def _draw_mistakes(key: str, corpus: Corpus) -> Iterator[str]:
    """Yield mistakes in the sources and weights of a mixture, and in the draw of documents."""
    drawn = corpus.draw is not None
    if corpus.counted and drawn:
        yield f"{key}: a corpus of counts has no documents to draw; leave 'sample' and 'bytes' out"
    weighted = [name for name, source in corpus.sources.items() if source.weight is not None]
    if weighted and len(weighted) < len(corpus.sources):
        without = next(name for name, source in corpus.sources.items() if source.weight is None)
        yield f"{key}.sources.{without}.weight: other sources have a weight; give one to each source, or to none"
    if corpus.temperature is not None and (weighted or not corpus.sources):
        why = "the sources have weights" if weighted else "there is one source"
        yield f"{key}.temperature: changes shares by the sizes of sources, and {why}; leave the key out"
    for name, source in corpus.sources.items():
        if isinstance(source.source, CountsSource | ParallelSource):
            kind = type_of(source.source)
            yield f"{key}.sources.{name}.source: type '{kind}' cannot be mixed; name files of documents"
    yield from _read_twice(key, corpus)
    yield from _too_small(key, corpus)


def _read_twice(key: str, corpus: Corpus) -> Iterator[str]:
    """Yield the sources of a mixture that read a file, or a data set, of another source."""
    first: dict[str, str] = {}
    for name, source in corpus.sources.items():
        for read in _content_of(source.source):
            if first.setdefault(read, name) != name:
                yield f"{key}.sources.{name}: reads {read}, as '{first[read]}' does; name it in one source only"
                break


def _content_of(source: Source) -> list[str]:
    """Return the files of a source, or its data set; files that do not exist are reported elsewhere."""
    if isinstance(source, HubSource):
        return [f"{source.dataset} ({source.config}, {source.split})"]
    if isinstance(source, EmbeddedSource):
        return ["the embedded text"]
    try:
        return [str(file.resolve()) for file in files_of(source)] if isinstance(source, FileSource) else []
    except TokbenchError:
        return []


def _too_small(key: str, corpus: Corpus) -> Iterator[str]:
    """Yield a line if files have fewer bytes than are to be drawn from them, before anything is read.

    Only plain UTF-8 files are known to have no more text than bytes.
    """
    draw = corpus.draw
    if draw is None or draw.bytes is None or corpus.normalize is not None or corpus.counted:
        return
    sources = corpus.named_sources
    given = [weight for weight in draw.weights.values() if weight is not None]
    if len(given) not in (0, len(sources)):
        return
    sizes = [_most_text(source) for source in sources.values()]
    known = [size for size in sizes if size is not None]
    if not given and (len(known) < len(sizes) or draw.temperature != 1):
        return
    shares = draw.shares(known if not given else [1] * len(sizes))
    for name, size, share in zip(sources, sizes, shares, strict=True):
        needed = int(draw.bytes * share)
        if size is not None and size < needed:
            if name:
                most = int(size / share)
                yield (
                    f"{key}.sources.{name}: its share of the {draw.bytes:,} bytes is {needed:,}, but its files have "
                    f"{size:,}; set 'bytes' to {most:,} or less, leave 'bytes' out, or lower the weight of this source"
                )
            else:
                yield f"{key}.bytes: {draw.bytes:,} requested, but the files have {size:,}; lower it, or leave it out"


def _most_text(source: Source) -> int | None:
    """Return the bytes of a source's plain UTF-8 files, which its text does not exceed; None if they are not plain, or
    if it has no path yet."""
    if not isinstance(source, FileSource) or not source.path or type_of(source) not in ("text", "jsonl"):
        return None
    if getattr(source, "encoding", UTF_8) not in (UTF_8, BYTES):
        return None
    size = 0
    try:
        for file in files_of(source):
            with file.open("rb") as opened:
                if compression_of(opened.read(HEAD)) is not None:
                    return None
            size += file.stat().st_size
    except (TokbenchError, OSError):
        return None
    return size


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
