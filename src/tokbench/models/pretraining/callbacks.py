"""Weights that models of different tokenizers start with alike where the models are alike.

Common random numbers (Glasserman and Yao 1992): what two models share is drawn from the same numbers, so that their
difference varies less from seed to seed than it would between independent draws. The layers are drawn from the seed
alone, and the embedding of a token from the seed and its bytes: two vocabularies give the tokens that both have the
same rows. llm-foundry draws all embeddings first, so that its layers depend on how many there are.

Checkpoints along the way that are exported as the model is, to be tested once it stands.

The learning rate, set before every batch.

The callback that has checkpoints sealed once they are whole.
"""

from collections.abc import Sequence
from hashlib import blake2b
from math import sqrt
from pathlib import Path
from typing import Any

import numpy as np
import torch
from composer.core import Callback, Event, State, Time
from composer.loggers import Logger
from composer.utils import dist
from llmfoundry.callbacks.hf_checkpointer import HuggingFaceCheckpointer
from llmfoundry.models.mpt.modeling_mpt import MPTForCausalLM
from numpy.typing import NDArray

from tokbench.models.pretraining.budget import learning_rate
from tokbench.models.pretraining.checkpoints import write_checksums
from tokbench.models.pretraining.options import architecture_of
from tokbench.vocabulary import Vocabulary


def rows(tokens: Sequence[bytes], width: int, seed: int) -> NDArray[np.float32]:
    """A row of standard normal numbers for each token, drawn from the seed and its bytes: float32 [tokens, width]."""
    drawn = np.empty((len(tokens), width), np.float32)
    key = seed.to_bytes(8, "little")
    for row, token in enumerate(tokens):
        name = token or b"\0id %d, which no text gives" % row
        state = int.from_bytes(blake2b(name, digest_size=16, key=key).digest(), "little")
        drawn[row] = np.random.Generator(np.random.PCG64(state)).standard_normal(width, np.float32)
    return drawn


def init_with_common_random_numbers(model: MPTForCausalLM, tokens: Sequence[bytes], seed: int) -> None:
    """Draw a model's weights anew, distributed as llm-foundry's.

    Embeddings have a standard deviation of sqrt(2 / width), as its default has (He et al. 2015). The rows of special
    tokens, and those that pad the matrix, are drawn from names that are no tokens.

    Args:
        model: changed in place.
        tokens: bytes of each id, none of ids that no text gives.
        seed: of the draws.
    """
    embeddings = model.transformer.wte.weight
    width = embeddings.shape[1]
    others = [b"\0row %d after the tokens" % row for row in range(len(embeddings) - len(tokens))]
    drawn = np.concatenate([rows(tokens, width, seed), rows(others, width, seed)]) * np.float32(sqrt(2.0 / width))
    torch.manual_seed(seed)
    for block in model.transformer.blocks:
        block.apply(model.param_init_fn)
    with torch.no_grad():
        embeddings.copy_(torch.from_numpy(drawn))


class CommonRandomInit(Callback):
    """Calls :func:`start_alike` before training begins, and before a checkpoint is read where it goes on.

    Args:
        tokenizer: its folder; where its vocabulary is not told there, or this is left out, rows are drawn by number.
        seed: of the draws.
    """

    def __init__(self, tokenizer: str | None, seed: int) -> None:
        self._tokens = Vocabulary.read(Path(tokenizer)).by_id if tokenizer is not None else ()
        self._seed = seed

    def init(self, state: State, logger: Logger) -> None:
        init_with_common_random_numbers(state.model.model, self._tokens, self._seed)


class MidTrainingExport(HuggingFaceCheckpointer):
    """llm-foundry's export, after certain batches.

    A training that was killed between an export and its next checkpoint writes the export again.

    Args:
        save_folder: as of the export at the end.
        batches: after which of them, from 1.
    """

    def __init__(self, save_folder: str, batches: list[int]) -> None:
        super().__init__(save_folder=save_folder, save_interval="1dur", precision="float32")
        wanted = frozenset(batches)

        def is_wanted(state: State, event: Event) -> bool:
            return event == Event.BATCH_CHECKPOINT and int(state.timestamp.batch) in wanted

        self.check_interval = is_wanted
        self.last_checkpoint_batch: Time | None = None


class LearningRateCallback(Callback):
    """Sets the learning rate before every batch.

    A callback and none of Composer's schedulers: these are asked before a batch is counted, so that each batch gets the
    rate of the one before.

    Args:
        options: the recipe, as a mapping.
        phases: batches of each phase of the training.
    """

    def __init__(self, options: dict[str, Any], phases: Sequence[int]) -> None:
        self._options = architecture_of(options).model_validate(options)
        self._phases = tuple(phases)

    def batch_start(self, state: State, logger: Logger) -> None:
        rate = learning_rate(self._options, int(state.timestamp.batch), self._phases)
        for optimizer in state.optimizers:
            for group in optimizer.param_groups:
                group["lr"] = rate


class ChecksumCallback(Callback):
    """Seals what Composer, whose own callback for checkpoints comes last in a batch, has written since.

    Args:
        folder: where Composer keeps its checkpoints.
    """

    def __init__(self, folder: str) -> None:
        self._folder = Path(folder)

    def batch_start(self, state: State, logger: Logger) -> None:
        self._seal()

    def fit_end(self, state: State, logger: Logger) -> None:
        self._seal()

    def _seal(self) -> None:
        if dist.get_global_rank() == 0:
            write_checksums(self._folder)
