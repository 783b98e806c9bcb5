"""Embedding matrices of a trained translation model, and token counts of its training pairs."""

from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tokbench.errors import TokbenchError
from tokbench.io.identity import Maker, Role, makers_in, model_digest, require_model
from tokbench.io.json import read_json
from tokbench.models.training import read_occurrences
from tokbench.models.translation.options import SPECIAL
from tokbench.tokenizer import Tokenizer

AGAIN = "train the translation model again"
ENCODER, DECODER, BOTH = "encoder", "decoder", "both"
TENSORS = {
    ENCODER: "model.encoder.embed_tokens.weight",
    DECODER: "model.decoder.embed_tokens.weight",
    BOTH: "model.shared.weight",
}
"""Names of the embeddings in the Marian model of ``transformers``. The output layer shares the decoder's."""
SIDES = ("source", "target")
"""Folders of the tokenizers in the folder of a model."""
ROLES: tuple[Role, Role] = ("source_tokenizer", "target_tokenizer")


class EmbeddingSide(NamedTuple):
    """One embedding matrix.

    Attributes:
        name: encoder, decoder, or both for a joint vocabulary.
        tokenizer: tokenizer of its tokens.
        tensor: its name.
        before: rows before that of the token with id 0.
        occurrences: int64 [ids + 1], counts of each id and of ends of sentences in the training pairs.
    """

    name: str
    tokenizer: Tokenizer
    tensor: str
    before: int
    occurrences: NDArray[np.int64]


def tokenizers_of(model: Path) -> dict[str, Tokenizer]:
    """Return the tokenizers of a translation model, by side.

    Raises:
        TokbenchError: a folder is not that of the tokenizer that the model was trained with.
    """
    tokenizers = {side: Tokenizer.load(model / side) for side in SIDES}
    for role, (side, tokenizer) in zip(ROLES, tokenizers.items(), strict=True):
        require_model(model, role, Maker(tokenizer.digest, model / side), AGAIN)
    return tokenizers


def makers_of(model: Path) -> dict[str, str]:
    """Return the digests of a translation model and of the tokenizers that it names."""
    return {"model": model_digest(model), **makers_in(read_json(model / "config.json", AGAIN))}


def counts_of(side: str) -> str:
    """Return the name of the file with the counts of ids on one side of the training pairs."""
    return f"{side}_counts.parquet"


def occurrences(sentences: list[NDArray[np.int32]], limit: int) -> NDArray[np.int64]:
    """Count each id below ``limit`` in training sentences, then their ends: int64 [limit + 1]."""
    counts = np.zeros(limit + SPECIAL, np.int64)
    for ids in sentences:
        np.add.at(counts, ids, 1)
    return np.append(counts[SPECIAL:], len(sentences))


def sides_of(model: Path) -> list[EmbeddingSide]:
    """Return the embedding matrices of a trained model: those of encoder and decoder, or that of a joint vocabulary.

    Tokens of a joint vocabulary are counted on both sides together, because both train their embeddings.

    Raises:
        TokbenchError: the folder was not written by ``tokbench train_translation``.
    """
    config = read_json(model / "config.json", AGAIN)
    if "share_encoder_decoder_embeddings" not in config:
        raise TokbenchError(f"{model}: not a translation model; {AGAIN}")
    tokenizers = tokenizers_of(model)
    met = {
        name: read_occurrences(model / counts_of(name), tokenizer.id_limit, Maker(tokenizer.digest, model / name))
        for name, tokenizer in tokenizers.items()
    }
    if config["share_encoder_decoder_embeddings"]:
        return [EmbeddingSide(BOTH, tokenizers["source"], TENSORS[BOTH], SPECIAL, met["source"] + met["target"])]
    return [
        EmbeddingSide(side, tokenizers[name], TENSORS[side], SPECIAL, met[name])
        for side, name in ((ENCODER, "source"), (DECODER, "target"))
    ]
