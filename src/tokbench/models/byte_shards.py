"""Training of byte language models on corpus shards, and scores of the bytes of shards, for each kind of model."""

from collections.abc import Sequence
from pathlib import Path

from tokbench.corpus.documents import read_documents, read_shard
from tokbench.models.byte_lm.options import ByteLmOptions, ByteLmRecipeOptions, ByteNgramOptions
from tokbench.models.memory import byte_lm_scoring_memory, byte_lm_training_memory, ngram_memory
from tokbench.runtime.memory_limit import allowance, check_memory


def train_byte_lm(
    shards: Sequence[str],
    options: ByteLmRecipeOptions | ByteNgramOptions,
    output: Path,
    checkpoints: Path,
    *,
    megabytes: int | None = None,
) -> None:
    """Train a byte language model on corpus shards.

    Args:
        shards: the shards.
        options: recipe of the model.
        output: folder of the model.
        checkpoints: folder of this run's checkpoints, for a neural model.
        megabytes: memory limit in MB (10^6 bytes). N-grams that do not fit are sorted on disk. Default: None, no limit.

    Raises:
        TokbenchError: a shard is damaged, the device does not exist, or more memory is needed than allowed.
    """
    if isinstance(options, ByteNgramOptions):
        train_ngrams(shards, options, output, megabytes)
    else:
        train_neural(shards, options, output, checkpoints, megabytes)


def score_bytes(
    shards: Sequence[str],
    model: Path,
    options: ByteLmRecipeOptions | ByteNgramOptions,
    output: Path,
    *,
    megabytes: int | None = None,
) -> None:
    """Write the scores of every byte of corpus shards.

    Args:
        shards: the shards.
        model: folder of the model.
        options: recipe of the model.
        output: file of scores, see :func:`tokbench.models.byte_lm.scores.write_scores`.
        megabytes: memory limit in MB (10^6 bytes). Default: None, no limit.

    Raises:
        TokbenchError: the folder does not contain a model of this kind, the device does not exist, or more memory is
            needed than allowed.
    """
    if isinstance(options, ByteNgramOptions):
        score_ngrams(shards, model, output, megabytes)
    elif options.score_context == "document":
        score_documents(shards, model, options, output, megabytes)
    else:
        score_joined_documents(shards, model, options, output, megabytes)


def train_ngrams(shards: Sequence[str], options: ByteNgramOptions, output: Path, megabytes: int | None) -> None:
    """Count the n-grams of corpus shards; see :func:`train_byte_lm`."""
    from tokbench.models.byte_lm import ngram

    # The other half is for documents.
    room = None if megabytes is None else allowance(megabytes, ngram.LEAST).room // 2
    ngram.train((document.text for document in read_documents(shards)), options, output, room)


def train_neural(
    shards: Sequence[str], options: ByteLmRecipeOptions, output: Path, checkpoints: Path, megabytes: int | None
) -> None:
    """Train a neural model on corpus shards; see :func:`train_byte_lm`."""
    from tokbench.models.byte_lm.model import on_gpu
    from tokbench.models.byte_lm.train import train

    if megabytes is not None:
        allowance(megabytes, int(byte_lm_training_memory(options, on_gpu(options.device))))
    train((document.text for document in read_documents(shards)), options.without_score_context, output, checkpoints)


def score_ngrams(shards: Sequence[str], model: Path, output: Path, megabytes: int | None) -> None:
    """Write the scores of an n-gram model; see :func:`score_bytes`."""
    from tokbench.models.byte_lm import ngram

    check_memory(megabytes, ngram_memory(model))
    ngram.score(read_documents(shards), model, output)


def score_documents(
    shards: Sequence[str], model: Path, options: ByteLmOptions, output: Path, megabytes: int | None
) -> None:
    """Write the scores of a neural model, which reads one document at a time; see :func:`score_bytes`."""
    from tokbench.models.byte_lm.score import score

    _check_scoring_memory(options, megabytes)
    score(read_documents(shards), model, output, options)


def score_joined_documents(
    shards: Sequence[str], model: Path, options: ByteLmOptions, output: Path, megabytes: int | None
) -> None:
    """Write the scores of a neural model, which reads the joined documents of a shard; see :func:`score_bytes`."""
    from tokbench.models.byte_lm.score import score_dataset

    _check_scoring_memory(options, megabytes)
    score_dataset([read_shard(shard) for shard in shards], model, output, options)


def _check_scoring_memory(options: ByteLmOptions, megabytes: int | None) -> None:
    from tokbench.models.byte_lm.model import on_gpu

    check_memory(megabytes, int(byte_lm_scoring_memory(options, on_gpu(options.device))))
