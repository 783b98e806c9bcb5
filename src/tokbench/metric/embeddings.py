"""Input embeddings of a trained model with token occurrences in its training text, to find under-trained tokens.

Source: "BPE Gets Picky", section 5, after Land and Bartolo 2024 ("Fishing for Magikarp"): tokens that a model rarely
saw have embeddings of small L2 norm. Embeddings are read from the files of pretraining, and occurrences from its packed
sequences.
"""

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from tokbench.errors import TokbenchError
from tokbench.io.atomic import reject_altered
from tokbench.io.json import read_json

if TYPE_CHECKING:
    import polars as pl


WEIGHTS = "model.safetensors"
PER_NUMBER = 24
"""Memory per number of the embeddings, in bytes: the file's copy, and double precision with squares. Measured: 20 for
numbers of four bytes."""
PER_TOKEN = 3_000
"""Additional memory per token for its name and for sorting in metrics, in bytes. Measured: 2,100."""


@dataclass(frozen=True)
class EmbeddingLayout:
    """Location of input embeddings in a model's files.

    Attributes:
        tensors: possible names of the tensor; a model has one of them.
        before: rows before that of the token with id 0 (default: 0).
        text: description of the training text in definitions (default: ``pretraining text``).
        again: remedy for a damaged file, in messages (default: ``pretrain the model again``).
    """

    tensors: tuple[str, ...]
    before: int = 0
    text: str = "pretraining text"
    again: str = "pretrain the model again"


LANGUAGE_MODEL = EmbeddingLayout(("transformer.wte.weight", "model.embed_tokens.weight"))
"""Names in transformers' MPT and Llama, where input embeddings are tied to the output."""


class Tokens(Protocol):
    """Tokens with ids: a vocabulary, or the tokens of another library."""

    @property
    def tokens(self) -> Sequence[bytes]: ...

    @property
    def ids(self) -> NDArray[np.int32] | None:
        """Ids of the tokens, int32; None if a token's id is its position."""
        ...

    @property
    def id_limit(self) -> int: ...


@dataclass(frozen=True, slots=True, eq=False)
class Embeddings:
    """Tokens of a vocabulary with their embeddings in a trained model; special tokens are left out.

    Attributes:
        vocabulary: the tokens.
        norms: float64 [tokens], L2 norm of each token's input embedding.
        occurrences: int64 [tokens], occurrences of each token in the training text.
        text: description of the training text (default: ``pretraining text``).
    """

    vocabulary: Tokens
    norms: NDArray[np.float64]
    occurrences: NDArray[np.int64]
    text: str = LANGUAGE_MODEL.text

    @property
    def probabilities(self) -> NDArray[np.float64]:
        """Share of each token in the training text, float64 [tokens]; ends of text are left out."""
        return self.occurrences / max(1, int(self.occurrences.sum()))

    def to_frame(self) -> "pl.DataFrame":
        """Return one row per token, in the vocabulary's order.

        Columns are ``id``, ``token`` (hexadecimal), ``text``, ``occurrences``, ``probability`` and ``norm``. In
        ``text`` U+FFFD replaces invalid UTF-8.
        """
        import polars as pl

        tokens = self.vocabulary.tokens
        return pl.DataFrame(
            {
                "id": rows_of(self.vocabulary),
                "token": [token.hex() for token in tokens],
                "text": [token.decode("utf-8", "replace") for token in tokens],
                "occurrences": self.occurrences,
                "probability": self.probabilities,
                "norm": self.norms,
            }
        )


def embeddings_of(
    vocabulary: Tokens, model: Path, occurrences: NDArray[np.int64], layout: EmbeddingLayout = LANGUAGE_MODEL
) -> Embeddings:
    """Read the embeddings of a trained model, and combine them with its tokens' occurrences.

    Args:
        vocabulary: tokens of the model's tokenizer.
        model: folder of the model.
        occurrences: int64 [ids + 1], occurrences of each id and of the end of text in the training text.
        layout: location of the embeddings (default: that of language models).

    Raises:
        TokbenchError: a file is missing or belongs to another tokenizer.
    """
    matrix = _input_embeddings(model, layout)[layout.before :]
    if len(matrix) < vocabulary.id_limit:
        raise TokbenchError(f"{model}: {len(matrix)} embeddings for {vocabulary.id_limit} tokens; pass its tokenizer")
    rows = rows_of(vocabulary)
    norms = np.linalg.norm(matrix[rows].astype(np.float64), axis=1)
    return Embeddings(vocabulary, norms, occurrences[rows], layout.text)


def room(model: Path, layout: EmbeddingLayout = LANGUAGE_MODEL) -> int:
    """Estimate the bytes of memory needed to measure the embeddings of a trained model.

    Raises:
        TokbenchError: the embeddings are missing.
    """
    with _tensor(model, layout) as (_, tensor):
        shape = tensor.get_shape()
    return PER_NUMBER * math.prod(shape) + PER_TOKEN * max(shape, default=0)


def rows_of(vocabulary: Tokens) -> NDArray[np.int64]:
    """Return the row of each token in a matrix of embeddings, int64 [tokens]: its id."""
    return np.arange(len(vocabulary.tokens)) if vocabulary.ids is None else vocabulary.ids.astype(np.int64)


def _input_embeddings(model: Path, layout: EmbeddingLayout) -> NDArray[np.floating]:
    with _tensor(model, layout) as (file, tensor):
        matrix: NDArray[np.floating] = tensor[:]
        if matrix.ndim != 2 or not np.issubdtype(matrix.dtype, np.floating):
            raise TokbenchError(f"{file}: '{layout.tensors[0]}' is not a matrix of numbers; {layout.again}")
        return matrix


@contextmanager
def _tensor(model: Path, layout: EmbeddingLayout) -> Iterator[tuple[Path, Any]]:
    """Open a model's input embeddings: their file, and a lazily read tensor."""
    from safetensors import SafetensorError, safe_open

    index = model / f"{WEIGHTS}.index.json"
    name = WEIGHTS
    if index.is_file():
        listed = read_json(index, layout.again).get("weight_map")
        named = [listed[tensor] for tensor in layout.tensors if tensor in listed] if isinstance(listed, dict) else []
        name = str(named[0]) if named else ""
        if Path(name).name != name or not (model / name).is_file():
            raise TokbenchError(f"{index}: lists no file of this folder for '{layout.tensors[0]}'; {layout.again}")
    reject_altered(model / name, f"delete its folder and {layout.again}")
    try:
        with safe_open(model / name, framework="np") as weights:
            keys = set(weights.keys())
            yield (
                model / name,
                weights.get_slice(next((tensor for tensor in layout.tensors if tensor in keys), layout.tensors[0])),
            )
    except (OSError, TypeError, ValueError, SafetensorError) as error:
        raise TokbenchError(f"{model / name}: no input embeddings here ({error}); {layout.again}") from None
