"""Input embeddings of a trained model, and how often it met each token: where under-trained tokens show.

Source: "BPE Gets Picky", section 5, after Land and Bartolo 2024 ("Fishing for Magikarp"): tokens that a model has
hardly met have embeddings of small L2 norm. The embeddings are those of the files that pretraining leaves, the
occurrences those in its packed sequences.
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
"""Bytes for each number of the embeddings: as they lie in their file, and in double precision with its squares; 20
measured of numbers of four bytes."""
PER_TOKEN = 3_000
"""Bytes for each token beside them, its name and what metrics sort; 2,100 measured."""


@dataclass(frozen=True)
class EmbeddingLayout:
    """Where a model keeps input embeddings.

    Attributes:
        tensors: their name, of which a model has one.
        before: rows before that of the token with id 0.
        text: what the model was trained on, in words.
        again: the remedy for a damaged file.
    """

    tensors: tuple[str, ...]
    before: int = 0
    text: str = "pretraining text"
    again: str = "pretrain the model again"


LANGUAGE_MODEL = EmbeddingLayout(("transformer.wte.weight", "model.embed_tokens.weight"))
"""In transformers' MPT and Llama, where they are tied to the output."""


class Tokens(Protocol):
    """Tokens and their ids: a vocabulary, or what another library calls its tokens."""

    @property
    def tokens(self) -> Sequence[bytes]: ...

    @property
    def ids(self) -> NDArray[np.int32] | None:
        """None where a token's id is its place."""
        ...

    @property
    def id_limit(self) -> int: ...


@dataclass(frozen=True, slots=True, eq=False)
class Embeddings:
    """The tokens of a vocabulary as a trained model holds them; special tokens are left out.

    Attributes:
        vocabulary: the tokens.
        norms: float64 [tokens], L2 norm of each token's input embedding.
        occurrences: int64 [tokens], how often each stands in what the model was trained on.
        text: what that is, in words.
    """

    vocabulary: Tokens
    norms: NDArray[np.float64]
    occurrences: NDArray[np.int64]
    text: str = LANGUAGE_MODEL.text

    @property
    def probabilities(self) -> NDArray[np.float64]:
        """float64 [tokens], share of each token in what the model was trained on, ends of text left out."""
        return self.occurrences / max(1, int(self.occurrences.sum()))

    def to_frame(self) -> "pl.DataFrame":
        """One row a token in the vocabulary's order: ``id``, ``token`` (hexadecimal), ``text``, ``occurrences``,
        ``probability``, ``norm``; text that is no UTF-8 shows U+FFFD."""
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
    """The embeddings of a trained model and its tokens' occurrences.

    Args:
        vocabulary: the tokens of the model's tokenizer.
        model: folder of the model.
        occurrences: int64 [ids + 1], of each id and of the end of text in what the model was trained on.
        layout: where the embeddings are.

    Raises:
        TokbenchError: a file is missing or is of another tokenizer.
    """
    matrix = _input_embeddings(model, layout)[layout.before :]
    if len(matrix) < vocabulary.id_limit:
        raise TokbenchError(f"{model}: {len(matrix)} embeddings for {vocabulary.id_limit} tokens; name its tokenizer")
    rows = rows_of(vocabulary)
    norms = np.linalg.norm(matrix[rows].astype(np.float64), axis=1)
    return Embeddings(vocabulary, norms, occurrences[rows], layout.text)


def room(model: Path, layout: EmbeddingLayout = LANGUAGE_MODEL) -> int:
    """Bytes in which the embeddings of a trained model are measured.

    Raises:
        TokbenchError: they are not there.
    """
    with _tensor(model, layout) as (_, tensor):
        shape = tensor.get_shape()
    return PER_NUMBER * math.prod(shape) + PER_TOKEN * max(shape, default=0)


def rows_of(vocabulary: Tokens) -> NDArray[np.int64]:
    """int64 [tokens], the row of each token in a matrix of embeddings: its id."""
    return np.arange(len(vocabulary.tokens)) if vocabulary.ids is None else vocabulary.ids.astype(np.int64)


def _input_embeddings(model: Path, layout: EmbeddingLayout) -> NDArray[np.floating]:
    with _tensor(model, layout) as (file, tensor):
        matrix: NDArray[np.floating] = tensor[:]
        if matrix.ndim != 2 or not np.issubdtype(matrix.dtype, np.floating):
            raise TokbenchError(f"{file}: '{layout.tensors[0]}' is no matrix of numbers; {layout.again}")
        return matrix


@contextmanager
def _tensor(model: Path, layout: EmbeddingLayout) -> Iterator[tuple[Path, Any]]:
    """The file of a model's input embeddings, and they, which are read where they are asked for."""
    from safetensors import SafetensorError, safe_open

    index = model / f"{WEIGHTS}.index.json"
    name = WEIGHTS
    if index.is_file():
        listed = read_json(index, layout.again).get("weight_map")
        named = [listed[tensor] for tensor in layout.tensors if tensor in listed] if isinstance(listed, dict) else []
        name = str(named[0]) if named else ""
        if Path(name).name != name or not (model / name).is_file():
            raise TokbenchError(f"{index}: names no file of this folder for '{layout.tensors[0]}'; {layout.again}")
    reject_altered(model / name, f"delete its folder and {layout.again}")
    try:
        with safe_open(model / name, framework="np") as weights:
            there = set(weights.keys())
            yield (
                model / name,
                weights.get_slice(next((one for one in layout.tensors if one in there), layout.tensors[0])),
            )
    except (OSError, TypeError, ValueError, SafetensorError) as error:
        raise TokbenchError(f"{model / name}: no input embeddings here ({error}); {layout.again}") from None
