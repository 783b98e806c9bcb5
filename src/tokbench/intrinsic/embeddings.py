"""Input embeddings of a trained model, and how often it met each token: where under-trained tokens show.

Source: "BPE Gets Picky", section 5, after Land and Bartolo 2024 ("Fishing for Magikarp"): tokens that a model has
hardly met keep embeddings of small L2 norm. The embeddings are those of the files that pretraining leaves, the
occurrences those in its packed sequences.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from tokbench.errors import TokbenchError
from tokbench.inputs.json import read_json
from tokbench.vocabulary import Vocabulary

WEIGHTS = "model.safetensors"
AGAIN, MAKE = "pretrain the model again", "make them with 'tokbench pack'"
TENSOR = "transformer.wte.weight"
"""Name of the input embeddings in transformers' MPT, tied to the output."""


@dataclass(frozen=True, slots=True, eq=False)
class Embeddings:
    """The tokens of a vocabulary as a trained model holds them; special tokens are left out.

    Attributes:
        vocabulary: the tokens.
        norms: float64 [tokens], L2 norm of each token's input embedding.
        occurrences: int64 [tokens], how often each stands in the packed pretraining text.
    """

    vocabulary: Vocabulary
    norms: NDArray[np.float64]
    occurrences: NDArray[np.int64]

    @property
    def probabilities(self) -> NDArray[np.float64]:
        """float64 [tokens], share of each token in the packed pretraining text, end-of-text tokens left out."""
        return self.occurrences / max(1, int(self.occurrences.sum()))

    def to_frame(self) -> pl.DataFrame:
        """One row a token in id order: ``id``, ``token`` (hexadecimal), ``text``, ``occurrences``, ``probability``,
        ``norm``; text that is no UTF-8 shows U+FFFD."""
        tokens = self.vocabulary.tokens
        return pl.DataFrame(
            {
                "id": np.arange(len(tokens)),
                "token": [token.hex() for token in tokens],
                "text": [token.decode("utf-8", "replace") for token in tokens],
                "occurrences": self.occurrences,
                "probability": self.probabilities,
                "norm": self.norms,
            }
        )


def embeddings_of(vocabulary: Vocabulary, model: Path, packed: Path) -> Embeddings:
    """The embeddings of a trained model and its tokens' occurrences.

    Args:
        vocabulary: the tokens of the model's tokenizer.
        model: folder of the model.
        packed: folder of the sequences that it was trained on.

    Raises:
        TokbenchError: a file is missing or is of another tokenizer.
    """
    matrix = _input_embeddings(model)
    if len(matrix) < len(vocabulary):
        raise TokbenchError(f"{model}: {len(matrix)} embeddings for {len(vocabulary)} tokens; name its tokenizer")
    norms = np.linalg.norm(matrix[: len(vocabulary)].astype(np.float64), axis=1)
    occurrences = np.zeros(len(vocabulary) + 1, np.int64)
    for ids in packed_ids(packed):
        if len(ids) and ids.min() < 0:
            raise TokbenchError(f"{packed}: id {ids.min()} is no token of this tokenizer; name the model's own")
        found = np.bincount(ids, minlength=len(occurrences))
        if len(found) > len(occurrences):
            raise TokbenchError(f"{packed}: id {len(found) - 1} is no token of this tokenizer; name the model's own")
        occurrences += found
    return Embeddings(vocabulary, norms, occurrences[:-1])


def _input_embeddings(model: Path) -> NDArray[np.floating]:
    from safetensors import SafetensorError, safe_open

    index = model / f"{WEIGHTS}.index.json"
    name = WEIGHTS
    if index.is_file():
        listed = read_json(index, AGAIN).get("weight_map")
        name = str(listed.get(TENSOR)) if isinstance(listed, dict) else ""
        if Path(name).name != name or not (model / name).is_file():
            raise TokbenchError(f"{index}: names no file of this folder for '{TENSOR}'; {AGAIN}")
    try:
        with safe_open(model / name, framework="np") as weights:
            matrix: NDArray[np.floating] = weights.get_tensor(TENSOR)
    except (OSError, TypeError, ValueError, SafetensorError) as error:
        raise TokbenchError(f"{model / name}: no input embeddings here ({error}); {AGAIN}") from None
    if matrix.ndim != 2 or not np.issubdtype(matrix.dtype, np.floating):
        raise TokbenchError(f"{model / name}: '{TENSOR}' is no matrix of numbers; {AGAIN}")
    return matrix


def packed_ids(folder: Path) -> Iterator[NDArray[np.int32]]:
    """The token ids of packed sequences (MDS, one column of int32), shard by shard.

    A shard is the number n of samples, n + 1 offsets of the samples from the file's start (all uint32), a description,
    and the samples, little-endian.

    Raises:
        TokbenchError: the folder holds no such sequences.
    """
    try:
        for shard in read_json(folder / "index.json", MAKE)["shards"]:
            name = shard["raw_data"]["basename"]
            if shard["compression"] or not shard["column_encodings"][0].startswith("ndarray:int32"):
                raise ValueError("another form of sequences")
            if Path(name).name != name:
                raise ValueError(f"{name!a} is no file of this folder")
            data = (folder / name).read_bytes()
            samples = int(np.frombuffer(data, "<u4", 1)[0])
            offsets = np.frombuffer(data, "<u4", samples + 1, 4)
            if not offsets[0] <= offsets[-1] <= len(data):
                raise ValueError(f"{name}: truncated")
            yield np.frombuffer(data, "<i4", (int(offsets[-1]) - int(offsets[0])) // 4, int(offsets[0]))
    except (OSError, ValueError, KeyError, IndexError, TypeError, AttributeError) as error:
        raise TokbenchError(f"{folder}: not packed sequences ({error}); {MAKE}") from None
