"""Weights that models of different tokenizers start with alike where the models are alike.

Common random numbers (Glasserman and Yao 1992): what two models share is drawn from the same numbers, so that their
difference varies less from seed to seed than it would between independent draws. The layers are drawn from the seed
alone, and the embedding of a token from the seed and its bytes: two vocabularies give the tokens that both have the
same rows. llm-foundry draws all embeddings first, so that its layers depend on how many there are.
"""

from collections.abc import Sequence
from hashlib import blake2b
from math import sqrt
from pathlib import Path

import numpy as np
import torch
from composer.core import Callback, State
from composer.loggers import Logger
from llmfoundry.models.mpt.modeling_mpt import MPTForCausalLM
from numpy.typing import NDArray

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


def start_alike(model: MPTForCausalLM, tokens: Sequence[bytes], seed: int) -> None:
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


class Alike(Callback):
    """Calls :func:`start_alike` before training begins, and before a checkpoint is read where it goes on.

    Args:
        tokenizer: its folder; where its vocabulary is not told there, or this is left out, rows are drawn by number.
        seed: of the draws.
    """

    def __init__(self, tokenizer: str | None, seed: int) -> None:
        self._tokens = Vocabulary.read(Path(tokenizer)).by_id if tokenizer is not None else ()
        self._seed = seed

    def init(self, state: State, logger: Logger) -> None:
        start_alike(state.model.model, self._tokens, self._seed)
