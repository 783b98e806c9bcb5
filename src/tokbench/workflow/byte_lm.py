"""What the rules ask of an experiment's byte language models."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tokbench.byte_lm.options import AnyByteLm, ByteNgramOptions
from tokbench.config.experiment import Experiment
from tokbench.errors import TokbenchError
from tokbench.inputs.parquet import parquet
from tokbench.model_memory import (
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
from tokbench.workflow.canonical import canonical
from tokbench.workflow.fingerprint import fingerprint
from tokbench.workflow.resources import MAX_RUNTIME, OVERHEAD, estimated_runtime, memory_on_attempt, runtime_on_attempt

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
        return canonical(options.model_copy(update={"stride": options.context, "score_batch": 1}))

    def recipe(self, wildcards: Any) -> str:
        """Options."""
        return canonical(self._options(wildcards))

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

    def training_source(self, wildcards: Any) -> str:
        """Fingerprint of what trains a model of this kind."""
        return self._fingerprint(wildcards, "tokbench.byte_lm.ngram:train", "tokbench.byte_lm.train:train")

    def source(self, wildcards: Any) -> str:
        """Fingerprint of what scores with a model of this kind."""
        return self._fingerprint(wildcards, "tokbench.byte_lm.ngram:score", "tokbench.byte_lm.score:score")

    def _fingerprint(self, wildcards: Any, counted: str, neural: str) -> str:
        kind = counted if isinstance(self._options(wildcards), ByteNgramOptions) else neural
        return fingerprint("tokbench.corpus.documents:read_documents", kind)

    def _options(self, wildcards: Any) -> AnyByteLm:
        return self.experiment.byte_lms[wildcards.byte_lm]


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
