"""Parameters, inputs and resources of the rules for byte language models."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tokbench.config.experiment import Experiment
from tokbench.errors import TokbenchError
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
from tokbench.options import canonical
from tokbench.pretokenization import pretokenization_of
from tokbench.workflow.corpora import shard_names
from tokbench.workflow.resources import MAX_RUNTIME, OVERHEAD, estimated_runtime, memory_on_attempt, runtime_on_attempt
from tokbench.workflow.shell import canonical_setting

MEMORY = 4000
"""Minimum MB that training and scoring request, which leaves room for documents."""
ROOM = 2e8
"""Bytes for documents, and for deviations from measured memory."""
SCORING = 1440
"""Minutes that scoring requests before its shard exists."""


@dataclass(frozen=True)
class ByteLms:
    """The byte language models of one experiment; wildcards name one."""

    experiment: Experiment

    def training_recipe(self, wildcards: Any) -> str:
        """Return the options, with those that only scoring reads set to fixed values."""
        options = self._options(wildcards)
        if isinstance(options, ByteNgramOptions):
            return canonical(options)
        scoring = {"stride": options.context, "score_batch": 1}
        return canonical(options.without_score_context.model_copy(update=scoring))

    def recipe(self, wildcards: Any) -> str:
        """Return the options, without the score context if it is the default, so that existing recipes do not
        change."""
        options = self._options(wildcards)
        if isinstance(options, ByteNgramOptions) or options.score_context == "dataset":
            return canonical(options)
        return canonical(options.without_score_context)

    def training_memory(self, wildcards: Any, attempt: int) -> int:
        """Return the MB that training requests; on a GPU, the host memory of a model on a GPU."""
        options = self._options(wildcards)
        if isinstance(options, ByteNgramOptions):
            return memory_on_attempt(MEMORY, attempt)
        return _requested_memory(byte_lm_training_memory(options, not on_processor(options)), attempt)

    def scoring_memory(self, wildcards: Any, input: Any, attempt: int) -> int:
        """Return the MB that scoring requests; for n-grams, by their number after they are counted."""
        options = self._options(wildcards)
        if isinstance(options, ByteNgramOptions):
            return _requested_memory(ngram_memory(Path(str(input.model))), attempt)
        return _requested_memory(byte_lm_scoring_memory(options, not on_processor(options)), attempt)

    def training_time(self, wildcards: Any, input: Any, attempt: int) -> int:
        """Return the minutes that training requests.

        The estimate is arithmetic for neural models, and by text size for n-grams (two days before the text exists).
        """
        options = self._options(wildcards)
        if not isinstance(options, ByteNgramOptions):
            return estimated_runtime(byte_lm_training_seconds(options), attempt)
        text = _text(sorted(Path(str(input.corpus), "byte_lm").glob("*.parquet")))
        return (
            runtime_on_attempt(MAX_RUNTIME, attempt)
            if text is None
            else estimated_runtime(ngram_counting_seconds(text), attempt)
        )

    def scoring_time(self, wildcards: Any, input: Any, attempt: int) -> int:
        """Return the minutes that scoring requests, by the shard's text after it exists."""
        options = self._options(wildcards)
        text = _text([Path(str(input.corpus), "tokenizer", f"{wildcards.shard}.parquet")])
        if text is None:
            return runtime_on_attempt(SCORING, attempt)
        if isinstance(options, ByteNgramOptions):
            return estimated_runtime(text / NGRAMS_SCORED, attempt)
        return estimated_runtime(byte_lm_scoring_seconds(options, text), attempt)

    def gpus(self, wildcards: Any) -> int:
        """Return the number of GPUs to train or apply the model: 1 for a neural model that does not run on
        processors."""
        options = self._options(wildcards)
        return int(not isinstance(options, ByteNgramOptions) and not on_processor(options))

    def threads(self, wildcards: Any) -> int:
        """Return the threads of matrix products; n-grams are counted by one thread."""
        options = self._options(wildcards)
        return 1 if isinstance(options, ByteNgramOptions) else options.cpu_threads

    def _options(self, wildcards: Any) -> AnyByteLm:
        return self.experiment.byte_lms[wildcards.byte_lm]

    def shards(self, wildcards: Any) -> list[str]:
        """Return the names of the scored shards."""
        return shard_names(self.experiment, wildcards.corpus)

    def sentences(self, wildcards: Any) -> list[str]:
        """Return flags with the sentences, and with pre-tokenization and threshold of the first variant that reads the
        model."""
        variant = next(
            variant
            for name, variant in self.experiment.built.items()
            if (self.experiment.corpus_of(name), variant.byte_lm) == (wildcards.corpus, wildcards.byte_lm)
        )
        scheme = canonical_setting(pretokenization_of(variant.pretokenization))
        low = getattr(variant.construction, "threshold_percentile", 30.0)
        texts = [word for text in self.experiment.report.byte_signals for word in ("--text", text)]
        return ["--pretokenization", scheme, "--percentile", repr(low), *texts]


def _text(shards: list[Path]) -> int | None:
    """Return the bytes of text in shards; None if a shard does not exist."""
    if not shards or not all(shard.is_file() for shard in shards):
        return None
    try:
        return sum(map(_text_of, shards))
    except TokbenchError:  # The job itself reports the error.
        return None


def _text_of(shard: Path) -> int:
    with parquet(shard, "a shard of a corpus", "prepare the corpus again") as file:
        about = file.metadata
        column = file.schema_arrow.get_field_index("text")
        groups = (about.row_group(group).column(column) for group in range(about.num_row_groups))
        return int(sum(group.total_uncompressed_size for group in groups))


def _requested_memory(room: float, attempt: int) -> int:
    """Return the MB that a job requests for this number of bytes in addition to its imports."""
    return memory_on_attempt(max(MEMORY, OVERHEAD + round((BYTE_LM_BASE + ROOM + room) / 1e6)), attempt)
