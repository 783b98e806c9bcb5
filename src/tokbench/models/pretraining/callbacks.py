"""Callbacks of a training: shared initialisation, learning rate, exports during training, and checksums of checkpoints.

Shared initialisation uses common random numbers (Glasserman and Yao 1992): models of different tokenizers draw their
common weights from the same numbers. Their difference then varies less from seed to seed than with independent draws.
The layers are drawn from the seed, and a token's embedding from the seed and its bytes. llm-foundry draws all
embeddings first, so its layers depend on the size of the vocabulary.
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
    """Draw a row of standard normal numbers per token from the seed and the token's bytes: float32 [tokens, width]."""
    draws = np.empty((len(tokens), width), np.float32)
    key = seed.to_bytes(8, "little")
    for row, token in enumerate(tokens):
        name = token or b"\0id %d, which no text gives" % row
        state = int.from_bytes(blake2b(name, digest_size=16, key=key).digest(), "little")
        draws[row] = np.random.Generator(np.random.PCG64(state)).standard_normal(width, np.float32)
    return draws


def init_with_common_random_numbers(model: MPTForCausalLM, tokens: Sequence[bytes], seed: int) -> None:
    """Redraw a model's weights from the distributions that llm-foundry uses.

    Embeddings have a standard deviation of sqrt(2 / width), llm-foundry's default (He et al. 2015). Rows of special
    tokens and padding rows are drawn from names that cannot be tokens.

    Args:
        model: the model, changed in place.
        tokens: bytes of each id; empty for ids that no text yields.
        seed: seed of the draws.
    """
    embeddings = model.transformer.wte.weight
    width = embeddings.shape[1]
    padding = [b"\0row %d after the tokens" % row for row in range(len(embeddings) - len(tokens))]
    draws = np.concatenate([rows(tokens, width, seed), rows(padding, width, seed)]) * np.float32(sqrt(2.0 / width))
    torch.manual_seed(seed)
    for block in model.transformer.blocks:
        block.apply(model.param_init_fn)
    with torch.no_grad():
        embeddings.copy_(torch.from_numpy(draws))


class CommonRandomInit(Callback):
    """Callback that runs :func:`init_with_common_random_numbers` before training, and before a checkpoint is loaded.

    Args:
        tokenizer: its folder. If None, rows are drawn by id.
        seed: seed of the draws.
    """

    def __init__(self, tokenizer: str | None, seed: int) -> None:
        self._tokens = Vocabulary.read(Path(tokenizer)).by_id if tokenizer is not None else ()
        self._seed = seed

    def init(self, state: State, logger: Logger) -> None:
        init_with_common_random_numbers(state.model.model, self._tokens, self._seed)


class MidTrainingExport(HuggingFaceCheckpointer):
    """llm-foundry's export of the model after certain batches.

    A training killed between an export and its next checkpoint writes the export again.

    Args:
        save_folder: folder of the final export.
        batches: batches to export after, counted from 1.
    """

    def __init__(self, save_folder: str, batches: list[int]) -> None:
        super().__init__(save_folder=save_folder, save_interval="1dur", precision="float32")
        chosen_batches = frozenset(batches)

        def is_wanted(state: State, event: Event) -> bool:
            return event == Event.BATCH_CHECKPOINT and int(state.timestamp.batch) in chosen_batches

        self.check_interval = is_wanted
        self.last_checkpoint_batch: Time | None = None


class LearningRateCallback(Callback):
    """Callback that sets the learning rate before every batch.

    Composer's schedulers run before a batch is counted, so that each batch would get the rate of the previous one.

    Args:
        options: the recipe, as a mapping.
        phases: number of batches of each phase.
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
    """Callback that adds checksums to Composer's checkpoints. Composer's own checkpoint callback runs last in a batch.

    Args:
        folder: Composer's checkpoint folder.
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
