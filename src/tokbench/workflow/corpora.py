"""What the rules ask of an experiment's corpora.

What the rules ask of pre-tokenization: which corpora are counted, and by what code.

What the rules ask of an experiment's byte language models.
"""

import hashlib
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from tokbench.config.experiment import Experiment
from tokbench.config.sections import LONGEST_DOCUMENT
from tokbench.corpus.parallel import FetchedPairs
from tokbench.corpus.parts import SourcePart, groups_of, parts_of
from tokbench.corpus.sources import FileSource, HubSource, ParallelSource, Source, files_of
from tokbench.errors import TokbenchError
from tokbench.io.encodings import UTF_8
from tokbench.io.parquet import parquet
from tokbench.models.byte_lm.options import AnyByteLm, ByteNgramOptions
from tokbench.models.memory import (
    BYTE_LM_BASE,
    NGRAMS_SCORED,
    byte_lm_scoring_memory,
    byte_lm_scoring_seconds,
    byte_lm_training_memory,
    byte_lm_training_seconds,
    ngram_counting_seconds,
    ngram_memory,
    on_processor,
)
from tokbench.pretokenization import Pretokenization as Scheme
from tokbench.pretokenization import pretokenization_of
from tokbench.workflow.fingerprint import fingerprint
from tokbench.workflow.resources import MAX_RUNTIME, OVERHEAD, estimated_runtime, memory_on_attempt, runtime_on_attempt
from tokbench.workflow.shell import canonical, canonical_setting


@dataclass(frozen=True)
class Corpora:
    """The corpora of one experiment; wildcards name one, or the digest of a fetched one."""

    experiment: Experiment
    _found: dict[str, list[SourcePart]] = field(default_factory=dict)

    def digest(self, wildcards: Any) -> list[str]:
        """Names a hub corpus by its recipe, so that experiments share what was fetched; none for other corpora."""
        source = self.experiment.corpora[wildcards.corpus].source
        return [_digest(source)] if isinstance(source, HubSource) else []

    def fetch_recipe(self, wildcards: Any) -> str:
        """The hub source that has this digest."""
        sources = [corpus.source for corpus in self.experiment.corpora.values()]
        hub = (source for source in sources if isinstance(source, HubSource))
        return canonical(next(source for source in hub if _digest(source) == wildcards.digest))

    def files(self, wildcards: Any) -> list[str]:
        """The user's files that a corpus is read from."""
        source = self.experiment.corpora[wildcards.corpus].source
        return [str(path) for path in files_of(source)] if isinstance(source, FileSource) else []

    def parallel(self, wildcards: Any) -> list[str]:
        """The parallel corpus whose sides a corpus holds; none where it is of another source."""
        source = self.experiment.corpora[wildcards.corpus].source
        return [source.corpus] if isinstance(source, ParallelSource) else []

    def recipe(self, wildcards: Any) -> str:
        """Source, splits, shards and seed; the files are inputs and not named here."""
        recipe = self._recipe(wildcards)
        if not isinstance(recipe["source"].get("path"), dict):
            recipe["source"].pop("path", None)
        if recipe["parts"] == 1:
            del recipe["parts"]
        return canonical({**recipe, "seed": self.experiment.seed})

    def parallel_recipe(self, wildcards: Any) -> str:
        """Languages, files, splits, rules and seed of a parallel corpus."""
        corpus = self.experiment.parallel_corpora[wildcards.parallel]
        return canonical({**corpus.model_dump(mode="json"), "seed": self.experiment.seed})

    def parallel_files(self, wildcards: Any) -> list[str]:
        """The user's files that a parallel corpus is read from."""
        return [str(path) for path in self.experiment.parallel_corpora[wildcards.parallel].files()]

    def parallel_digests(self, wildcards: Any) -> list[str]:
        """Names what is fetched for a parallel corpus, as :meth:`digest` does."""
        return [_digest(pairs) for pairs in self.experiment.parallel_corpora[wildcards.parallel].on_hub()]

    def pairs_recipe(self, wildcards: Any) -> str:
        """The pairs of a hub that have this digest."""
        corpora = self.experiment.parallel_corpora.values()
        hub = (pairs for corpus in corpora for pairs in corpus.on_hub())
        return canonical(next(pairs for pairs in hub if _digest(pairs) == wildcards.digest))

    def files_at_once(self, wildcards: Any) -> list[str]:
        """The user's files of a corpus that one job reads."""
        return [] if self._in_parts(wildcards) else self.files(wildcards)

    def units(self, wildcards: Any) -> list[str]:
        """The table of units of a corpus, if it has one."""
        path = self.experiment.corpora[wildcards.corpus].units
        return [] if path is None else [str(path)]

    def units_at_once(self, wildcards: Any) -> list[str]:
        """The table of units of a corpus that one job reads."""
        return [] if self._in_parts(wildcards) else self.units(wildcards)

    def contents_at_once(self, wildcards: Any) -> list[str]:
        """The user's files that one job reads."""
        return self.files_at_once(wildcards) + self.units_at_once(wildcards)

    def digest_at_once(self, wildcards: Any) -> list[str]:
        """The digest of a hub corpus that one job reads."""
        return [] if self._in_parts(wildcards) else self.digest(wildcards)

    def parts(self, wildcards: Any) -> list[str]:
        """Names of the parts of a corpus."""
        return _names(self.experiment.corpora[wildcards.corpus].parts)

    def groups(self, wildcards: Any) -> list[str]:
        """Names of the groups in which the shards of a corpus in parts are written."""
        corpus = self.experiment.corpora[wildcards.corpus]
        splits = sum(not isinstance(share, str) for share in corpus.splits.values())
        return _names(len(groups_of(splits * corpus.shards, corpus.parts))) if self._in_parts(wildcards) else []

    def files_of_part(self, wildcards: Any) -> list[str]:
        """The user's files that a part is read from."""
        return [str(file) for _, file in self._part(wildcards).files]

    def begin(self, wildcards: Any) -> str:
        """How much of its first file goes before the part."""
        return "{}/{}".format(*self._part(wildcards).span.begin.as_integer_ratio())

    def end(self, wildcards: Any) -> str:
        """Where in its last file the part ends."""
        return "{}/{}".format(*self._part(wildcards).span.end.as_integer_ratio())

    def sizes_recipe(self, wildcards: Any) -> str:
        """How a part is read; nothing else of the corpus."""
        return canonical({**self._cut(wildcards), "source": self._source_of_part(wildcards, Source.model_fields)})

    def deal_recipe(self, wildcards: Any) -> str:
        """How a part is read, how its documents are tagged, and which shards are written together."""
        limits = ("languages", "max_bytes_per_language", "max_documents")
        source = self._source_of_part(wildcards, limits)
        return canonical({**self._sharing(wildcards), **self._cut(wildcards), "source": source})

    def split_recipe(self, wildcards: Any) -> str:
        """Limits, splits, shards and seed."""
        recipe = self._recipe(wildcards)
        source = {key: recipe["source"][key] for key in recipe["source"] if key != "path"}
        sharing = {**self._sharing(wildcards), **self._cut(wildcards)}
        dropped = {key: value for key, value in recipe.items() if key == "duplicates"}
        return canonical({**sharing, **dropped, "source": source, "seed": self.experiment.seed})

    def shards_recipe(self, wildcards: Any) -> str:
        """Splits and shards, and which of them are written together."""
        return canonical({**self._sharing(wildcards), "source": "embedded"})

    def code(self, wildcards: Any) -> str:
        """Fingerprint of what a corpus is prepared by; of a corpus in parts hardly more than its sizes are kept."""
        if not self._in_parts(wildcards):
            return fingerprint("tokbench.corpus.prepare:prepare")
        return fingerprint(
            "tokbench.corpus.sources:without_limits",
            "tokbench.corpus.parts:groups_of",
            "tokbench.corpus.read:read_source",
            "tokbench.corpus.parts:write_sizes",
            "tokbench.corpus.shuffle:assign_documents",
            "tokbench.corpus.partitions:partition_part",
            "tokbench.corpus.partitions:write_partitions",
            "tokbench.corpus.prepare:link_shards",
        )

    def shards(self, wildcards: Any) -> list[str]:
        """Names of the shards of each split."""
        return shard_names(self.experiment, wildcards.corpus)

    def _in_parts(self, wildcards: Any) -> bool:
        return self.experiment.corpora[wildcards.corpus].parts > 1

    def _recipe(self, wildcards: Any) -> dict[str, Any]:
        """A corpus's section without some newer keys at their defaults, so that recipes stay."""
        corpus = self.experiment.corpora[wildcards.corpus]
        recipe = corpus.model_dump(mode="json")
        if corpus.longest_document == LONGEST_DOCUMENT:
            del recipe["longest_document"]
        del recipe["units"]
        if corpus.duplicates == "keep":
            del recipe["duplicates"]
        for key, usual in {"encoding": UTF_8, "bad_lines": "reject"}.items():
            if recipe["source"].get(key) == usual:
                del recipe["source"][key]
        return recipe

    def _cut(self, wildcards: Any) -> dict[str, Any]:
        """How documents are cut, if not as in all corpora."""
        return {key: value for key, value in self._recipe(wildcards).items() if key == "longest_document"}

    def _sharing(self, wildcards: Any) -> dict[str, Any]:
        recipe = self._recipe(wildcards)
        return {key: recipe[key] for key in ("splits", "shards", "parts")}

    def _source_of_part(self, wildcards: Any, left_out: Collection[str]) -> dict[str, Any]:
        """The source but for some keys; of a mapping of tags to files, those of the part."""
        source = self._recipe(wildcards)["source"]
        tagged: dict[str, list[str]] = {}
        for tag, file in self._part(wildcards).files:
            tagged.setdefault(tag, []).append(str(file))
        paths = {"path": tagged} if isinstance(source.get("path"), dict) else {}
        return {key: source[key] for key in source if key not in {*left_out, "path"}} | paths

    def _part(self, wildcards: Any) -> SourcePart:
        return self._parts(wildcards.corpus)[int(wildcards.part)]

    def _parts(self, name: str) -> list[SourcePart]:
        """The parts of a corpus, found once: its tags are in order, as they are in recipes."""
        if name not in self._found:
            corpus = self.experiment.corpora[name]
            source = corpus.source
            if isinstance(source, FileSource) and isinstance(source.path, dict):
                source = source.model_copy(update={"path": dict(sorted(source.path.items()))})
            self._found[name] = parts_of(source, corpus.parts)
        return self._found[name]


def shard_names(experiment: Experiment, corpus: str) -> list[str]:
    """Names of the shards of each split of a corpus."""
    return _names(experiment.corpora[corpus].shards)


def _names(number: int) -> list[str]:
    return [f"{each:04}" for each in range(number)]


def _digest(source: HubSource | FetchedPairs) -> str:
    return hashlib.sha256(canonical(source).encode()).hexdigest()[:16]


AT_ONCE = 16
"""Shards that one job counts, and files of counts that one job merges. Each shard of a larger corpus has a job."""


@dataclass(frozen=True)
class CountingTargets:
    """The counting of one experiment's corpora."""

    experiment: Experiment

    def code(self, wildcards: Any) -> str:
        """Fingerprint of counting, merging and the pre-tokenization: the counts of shards are not kept."""
        return fingerprint(
            "tokbench.corpus.text_files:read_files",
            "tokbench.pretokens.external_count:count_external",
            "tokbench.pretokens.external_count:merge_external",
            *self._scheme(wildcards).modules,
        )

    def setting(self, wildcards: Any) -> str:
        """The pre-tokenization that paths name, with its options."""
        return canonical_setting(self._scheme(wildcards))

    def _scheme(self, wildcards: Any) -> Scheme:
        return self._schemes.get(wildcards.scheme) or pretokenization_of(wildcards.scheme)

    @cached_property
    def _schemes(self) -> dict[str, Scheme]:
        """The pre-tokenizations of the variants that are built, by what paths call them."""
        chosen = [pretokenization_of(variant.pretokenization) for variant in self.experiment.built.values()]
        return {scheme.slug: scheme for scheme in chosen}

    def files(self, wildcards: Any, input: Any) -> list[str]:
        """The shards of a split."""
        return [f"{input.corpus}/{wildcards.split}/{shard}.parquet" for shard in self._shards(wildcards.corpus)]

    def parts(self, wildcards: Any) -> list[str]:
        """Names of the merged parts of a split."""
        return [f"{part:04}" for part in range(-(-len(self._shards(wildcards.corpus)) // AT_ONCE))]

    def shards_of_part(self, wildcards: Any) -> list[str]:
        """Names of the shards that one part is merged from."""
        first = int(wildcards.part) * AT_ONCE
        return self._shards(wildcards.corpus)[first : first + AT_ONCE]

    def _shards(self, corpus: str) -> list[str]:
        return shard_names(self.experiment, corpus)

    @property
    def counted_at_once(self) -> str:
        """A pattern of the corpora with few shards."""
        return _either(name for name in self._texts if len(self._shards(name)) <= AT_ONCE)

    @property
    def counted_by_shard(self) -> str:
        """A pattern of the corpora with many shards."""
        return _either(name for name in self._texts if len(self._shards(name)) > AT_ONCE)

    @property
    def imported(self) -> str:
        """A pattern of the corpora that are given as counts."""
        return _either(name for name in self.experiment.corpora if name not in self._texts)

    @property
    def _texts(self) -> list[str]:
        return [name for name, corpus in self.experiment.corpora.items() if not corpus.counted]


def _either(names: Iterable[str]) -> str:
    """A pattern that matches these names; nothing where there are none."""
    return "|".join(names) or "(?!)"


MEMORY = 4000
"""MB that training and scoring ask for at least: there is room for documents beside a model."""
ROOM = 2e8
"""Bytes for documents, and for what differs from what was measured."""
SCORING = 1440
"""Minutes that scoring asks for while its shard is not there."""


@dataclass(frozen=True)
class ByteLms:
    """The byte language models of one experiment; wildcards name one."""

    experiment: Experiment

    def training_recipe(self, wildcards: Any) -> str:
        """Options, those that only scoring reads set to fixed values."""
        options = self._options(wildcards)
        if isinstance(options, ByteNgramOptions):
            return canonical(options)
        scoring = {"stride": options.context, "score_batch": 1}
        return canonical(options.without_score_context.model_copy(update=scoring))

    def recipe(self, wildcards: Any) -> str:
        """Options, without a score context at its default, so that recipes stay."""
        options = self._options(wildcards)
        if isinstance(options, ByteNgramOptions) or options.score_context == "dataset":
            return canonical(options)
        return canonical(options.without_score_context)

    def training_memory(self, wildcards: Any, attempt: int) -> int:
        """MB that training asks for: those of a model on a GPU where it takes one that is there."""
        options = self._options(wildcards)
        if isinstance(options, ByteNgramOptions):
            return memory_on_attempt(MEMORY, attempt)
        return _asked(byte_lm_training_memory(options, not on_processor(options)), attempt)

    def scoring_memory(self, wildcards: Any, input: Any, attempt: int) -> int:
        """MB that scoring asks for; of n-grams by their number, once they are counted."""
        options = self._options(wildcards)
        if isinstance(options, ByteNgramOptions):
            return _asked(ngram_memory(Path(str(input.model))), attempt)
        return _asked(byte_lm_scoring_memory(options, not on_processor(options)), attempt)

    def training_time(self, wildcards: Any, input: Any, attempt: int) -> int:
        """Minutes that training asks for: by arithmetic, or by the text whose n-grams are counted, two days while it is
        not there."""
        options = self._options(wildcards)
        if not isinstance(options, ByteNgramOptions):
            return estimated_runtime(byte_lm_training_seconds(options), attempt)
        text = _text(sorted(Path(str(input[0]), "byte_lm").glob("*.parquet")))
        return (
            runtime_on_attempt(MAX_RUNTIME, attempt)
            if text is None
            else estimated_runtime(ngram_counting_seconds(text), attempt)
        )

    def scoring_time(self, wildcards: Any, input: Any, attempt: int) -> int:
        """Minutes that scoring asks for, by the shard's text once it is there."""
        options = self._options(wildcards)
        text = _text([Path(str(input.corpus), "tokenizer", f"{wildcards.shard}.parquet")])
        if text is None:
            return runtime_on_attempt(SCORING, attempt)
        if isinstance(options, ByteNgramOptions):
            return estimated_runtime(text / NGRAMS_SCORED, attempt)
        return estimated_runtime(byte_lm_scoring_seconds(options, text), attempt)

    def gpus(self, wildcards: Any) -> int:
        """GPUs that train or apply the model: one, where it is a neural one that is not for processors."""
        options = self._options(wildcards)
        return int(not isinstance(options, ByteNgramOptions) and not on_processor(options))

    def threads(self, wildcards: Any) -> int:
        """Threads of matrix products; one counts n-grams."""
        options = self._options(wildcards)
        return 1 if isinstance(options, ByteNgramOptions) else options.cpu_threads

    def training_code(self, wildcards: Any) -> str:
        """Fingerprint of what trains a model of this kind."""
        return self._fingerprint(
            wildcards, "tokbench.models.byte_lm.ngram:train", "tokbench.models.byte_lm.train:train"
        )

    def code(self, wildcards: Any) -> str:
        """Fingerprint of what scores with a model of this kind."""
        options = self._options(wildcards)
        joined = not isinstance(options, ByteNgramOptions) and options.score_context == "dataset"
        neural = "tokbench.models.byte_lm.score:score_dataset" if joined else "tokbench.models.byte_lm.score:score"
        return self._fingerprint(wildcards, "tokbench.models.byte_lm.ngram:score", neural)

    def _fingerprint(self, wildcards: Any, counted: str, neural: str) -> str:
        kind = counted if isinstance(self._options(wildcards), ByteNgramOptions) else neural
        return fingerprint("tokbench.corpus.documents:read_documents", kind)

    def _options(self, wildcards: Any) -> AnyByteLm:
        return self.experiment.byte_lms[wildcards.byte_lm]

    def drawing_code(self, wildcards: Any) -> str:
        """Fingerprint of what draws the bytes of sentences."""
        counted, neural = "tokbench.models.byte_lm.ngram:load", "tokbench.models.byte_lm.score:score_texts"
        return fingerprint(
            "tokbench.candidates.scored_text:read_scores",
            "tokbench.construction.bytespan:percentile",
            "tokbench.report.figures.signals:byte_signals",
            "tokbench.report.figures.signals:byte_table",
            "tokbench.report.figures.signals:draw",
            "tokbench.report.figures.style:save",
            "tokbench.report.figures.style:COLUMN",
            "tokbench.pretokenization:pretokenization_of",
            counted if isinstance(self._options(wildcards), ByteNgramOptions) else neural,
        )

    @property
    def drawn(self) -> list[tuple[str, str]]:
        """Corpus and name of the models whose scores of sentences are drawn; none where no sentence is named."""
        if not self.experiment.report.byte_signals:
            return []
        built = self.experiment.built.items()
        return list(dict.fromkeys((self.experiment.corpus_of(name), one.byte_lm) for name, one in built if one.byte_lm))

    def shards(self, wildcards: Any) -> list[str]:
        """Names of the scored shards."""
        return shard_names(self.experiment, wildcards.corpus)

    def sentences(self, wildcards: Any) -> list[str]:
        """The sentences, and the pre-tokenization and threshold of the first variant that reads the model, as flags."""
        variant = next(
            one
            for name, one in self.experiment.built.items()
            if (self.experiment.corpus_of(name), one.byte_lm) == (wildcards.corpus, wildcards.byte_lm)
        )
        scheme = canonical_setting(pretokenization_of(variant.pretokenization))
        low = getattr(variant.construction, "threshold_percentile", 30.0)
        texts = [word for text in self.experiment.report.byte_signals for word in ("--text", text)]
        return ["--pretokenization", scheme, "--percentile", repr(low), *texts]


def _text(shards: list[Path]) -> int | None:
    """Bytes of text in shards; None while they are not there."""
    if not shards or not all(shard.is_file() for shard in shards):
        return None
    try:
        return sum(map(_text_of, shards))
    except TokbenchError:  # The job itself tells what is wrong with them.
        return None


def _text_of(shard: Path) -> int:
    with parquet(shard, "a shard of a corpus", "prepare the corpus again") as file:
        about = file.metadata
        column = file.schema_arrow.get_field_index("text")
        groups = (about.row_group(group).column(column) for group in range(about.num_row_groups))
        return int(sum(group.total_uncompressed_size for group in groups))


def _asked(room: float, attempt: int) -> int:
    """Bytes beside what is imported as the MB that a job asks for."""
    return memory_on_attempt(max(MEMORY, OVERHEAD + round((BYTE_LM_BASE + ROOM + room) / 1e6)), attempt)
