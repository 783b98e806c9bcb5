"""Where a trained translation model keeps the embeddings of encoder and decoder, and how often it met each token."""

from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tokbench.errors import TokbenchError
from tokbench.io.json import read_json
from tokbench.models.training import read_occurrences
from tokbench.models.translation.model import Ids
from tokbench.models.translation.options import SPECIAL
from tokbench.tokenizer import Tokenizer

AGAIN = "train the translation model again"
ENCODER, DECODER, BOTH = "encoder", "decoder", "both"
TENSORS = {
    ENCODER: "model.encoder.embed_tokens.weight",
    DECODER: "model.decoder.embed_tokens.weight",
    BOTH: "model.shared.weight",
}
"""Names of the embeddings in transformers' Marian; the decoder's are the output layer's, too."""


class EmbeddingSide(NamedTuple):
    """One matrix of embeddings.

    Attributes:
        name: encoder, decoder, or both for a joint vocabulary.
        tokenizer: whose tokens it has.
        tensor: its name.
        before: rows before that of the token with id 0.
        occurrences: int64 [ids + 1], of each id and of ends of sentences in the pairs that the model was trained on.
    """

    name: str
    tokenizer: Tokenizer
    tensor: str
    before: int
    occurrences: NDArray[np.int64]


def counts_of(side: str) -> str:
    """Name of the file that holds how often each id stands on a side of the training pairs."""
    return f"{side}_counts.parquet"


def occurrences(sentences: Ids, limit: int) -> NDArray[np.int64]:
    """How often each id below a limit stands in sentences that are trained on, then their ends: int64 [limit + 1]."""
    counts = np.zeros(limit + SPECIAL, np.int64)
    for ids in sentences:
        np.add.at(counts, ids, 1)
    return np.append(counts[SPECIAL:], len(sentences))


def sides_of(model: Path) -> list[EmbeddingSide]:
    """The matrices of a trained model: the encoder's and the decoder's, or the one that a joint vocabulary has.

    A joint vocabulary's tokens are counted on both sides together, for either trains their embeddings.

    Raises:
        TokbenchError: the folder is none that ``tokbench train_translation`` wrote.
    """
    config = read_json(model / "config.json", AGAIN)
    if "share_encoder_decoder_embeddings" not in config:
        raise TokbenchError(f"{model}: no translation model; {AGAIN}")
    own = {name: Tokenizer.load(model / name) for name in ("source", "target")}
    met = {name: read_occurrences(model / counts_of(name), tokenizer.id_limit) for name, tokenizer in own.items()}
    if config["share_encoder_decoder_embeddings"]:
        return [EmbeddingSide(BOTH, own["source"], TENSORS[BOTH], SPECIAL, met["source"] + met["target"])]
    return [
        EmbeddingSide(side, own[name], TENSORS[side], SPECIAL, met[name])
        for side, name in ((ENCODER, "source"), (DECODER, "target"))
    ]
