"""Embeddings of a language model carried to another tokenizer, from one safetensors file to another.

The file is copied a block at a time. Only tensors with a row for each id are made again: input embeddings, and the
weights and biases of an untied output.
"""

import json
import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tokbench.errors import TokbenchError, listed
from tokbench.io.atomic import atomic_file
from tokbench.tokenizer.id_map import IdSource, with_rows

EMBEDDINGS = (
    *("embed_tokens.weight", "wte.weight", "word_embeddings.weight", "embed_in.weight", "tok_embeddings.weight"),
    *("token_embedding.weight", "shared.weight"),
)
"""Last parts of the names of input embeddings in models of ``transformers`` and others."""
OUTPUTS = (
    *("lm_head.weight", "lm_head.bias", "embed_out.weight", "output.weight", "output_projection.weight"),
    *("predictions.bias", "predictions.decoder.weight", "predictions.decoder.bias"),
)
"""Last parts of the names of the output's weights and biases."""
FLOATS = {"F64": np.float64, "F32": np.float32, "F16": np.float16, "BF16": np.uint16}
"""Types of numbers whose rows have a mean, as NumPy stores them."""
METADATA = "__metadata__"
BLOCK_BYTES = 1 << 24
"""Bytes that are copied or made at a time."""
SPARE_ROWS = 1024
"""Embeddings with unknown names have fewer rows than this in addition to those of the ids."""


@dataclass(frozen=True)
class Tensor:
    """A tensor of a safetensors file.

    Attributes:
        name: its name.
        dtype: type of its numbers, as in the file.
        shape: its shape.
        begin: offset of its first byte after the header.
        end: offset after its last byte.
    """

    name: str
    dtype: str
    shape: tuple[int, ...]
    begin: int
    end: int


class Carried(NamedTuple):
    """Result of carrying embeddings.

    Attributes:
        names: names of the tensors that were made again.
        old_rows: their rows before.
        sources: old ids of each new row.
        copied_names: names of copied tensors that have the same number of rows.
    """

    names: list[str]
    old_rows: int
    sources: list[IdSource]
    copied_names: list[str]


def carry_embeddings(
    weights: Path, output: Path, sources: Sequence[IdSource], *, least: int, keys: Collection[str] = ()
) -> Carried:
    """Write a model's weights with embeddings for other ids. All other tensors are copied byte for byte.

    A row is that of the same token, the mean of the rows of its segmentation, or the mean of all old rows.

    Args:
        weights: safetensors file of the model.
        output: file to write.
        sources: old ids of each new id, see :func:`tokbench.tokenizer.id_map.map_ids`.
        least: number of ids of the old tokenizer; embeddings have this number of rows or more.
        keys: names of the tensors with a row for each id (default: those with well-known names; otherwise the matrices
            whose number of rows fits, if it is one number).

    Raises:
        TokbenchError: the file is damaged, has no such tensors, or these are not floating-point numbers.
    """
    tensors, metadata, start = _read_header(weights)
    chosen = _chosen(weights, tensors, keys, least)
    rows = chosen[0].shape[0]
    kept = with_rows(sources, rows)

    # Offsets of the new file: tensors stay in the order of their data.
    names = {tensor.name for tensor in chosen}
    header: dict[str, Any] = {METADATA: metadata} if metadata else {}
    place = 0
    for tensor in tensors:
        shape = (len(kept), *tensor.shape[1:]) if tensor.name in names else tensor.shape
        size = (tensor.end - tensor.begin) // max(1, tensor.shape[0]) * len(kept) if tensor.name in names else None
        end = place + (tensor.end - tensor.begin if size is None else size)
        header[tensor.name] = {"dtype": tensor.dtype, "shape": shape, "data_offsets": [place, end]}
        place = end
    head = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode()
    head += b" " * (-len(head) % 8)

    with atomic_file(output) as partial, weights.open("rb") as old, partial.open("wb") as new:
        new.write(len(head).to_bytes(8, "little") + head)
        for tensor in tensors:
            if tensor.name in names:
                new.writelines(_rows_for(weights, start, tensor, kept))
            else:
                _copy(old, new, start + tensor.begin, tensor.end - tensor.begin)
    copied_names = [tensor.name for tensor in tensors if tensor.name not in names and rows in tensor.shape[:2]]
    return Carried(sorted(names), rows, kept, copied_names)


def _read_header(weights: Path) -> tuple[list[Tensor], dict[str, str], int]:
    """Return the tensors in the order of their data, the metadata, and the place of the data.

    Raises:
        TokbenchError: the file is not a valid safetensors file.
    """
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(weights, framework="np"):  # It checks sizes and offsets.
            pass
        with weights.open("rb") as file:
            size = int.from_bytes(file.read(8), "little")
            values = json.loads(file.read(size))
    except (OSError, ValueError, SafetensorError) as error:
        raise TokbenchError(f"{weights}: not a readable safetensors file ({error}); name another") from None
    metadata = values.pop(METADATA, {})
    tensors = [
        Tensor(name, entry["dtype"], tuple(entry["shape"]), *entry["data_offsets"]) for name, entry in values.items()
    ]
    return sorted(tensors, key=lambda tensor: (tensor.begin, tensor.end)), metadata, 8 + size


def _chosen(weights: Path, tensors: Sequence[Tensor], keys: Collection[str], least: int) -> list[Tensor]:
    """Return the tensors with a row for each id, all of one number of rows.

    Raises:
        TokbenchError: there are none, or they do not fit.
    """
    known = {tensor.name: tensor for tensor in tensors}
    if missing := [key for key in keys if key not in known]:
        raise TokbenchError(f"{weights}: no tensor '{missing[0]}' (found {listed(sorted(known))}); name another")
    chosen = [known[key] for key in keys] or _found(tensors, least)
    if not chosen:
        raise TokbenchError(
            f"{weights}: no tensor has a known name of embeddings and {least:,} rows or more; name it with --key"
        )
    rows = {tensor.name: tensor.shape[0] if tensor.shape else 0 for tensor in chosen}
    if len(set(rows.values())) > 1:
        different = listed([f"{name} ({number:,} rows)" for name, number in rows.items()])
        raise TokbenchError(f"{weights}: tensors of different numbers of rows ({different}); choose with --key")
    for tensor in chosen:
        if not tensor.shape or tensor.shape[0] < least:
            raise TokbenchError(
                f"{weights}: '{tensor.name}' has {rows[tensor.name]:,} rows, fewer than the old tokenizer's "
                f"{least:,} ids; name its tokenizer"
            )
        if tensor.dtype not in FLOATS:
            raise TokbenchError(
                f"{weights}: '{tensor.name}' has numbers of type {tensor.dtype}, whose rows have no mean; name weights "
                f"of {listed(sorted(FLOATS))}"
            )
    return chosen


def _found(tensors: Sequence[Tensor], least: int) -> list[Tensor]:
    """Return the tensors with well-known names, otherwise the matrices whose number of rows is that of ids."""

    def ends(tensor: Tensor, names: Sequence[str]) -> bool:
        return any(tensor.name == name or tensor.name.endswith("." + name) for name in names)

    inputs = [
        tensor for tensor in tensors if ends(tensor, EMBEDDINGS) and len(tensor.shape) == 2 and tensor.shape[0] >= least
    ]
    if inputs:
        outputs = [tensor for tensor in tensors if ends(tensor, OUTPUTS) and tensor.shape[:1] == inputs[0].shape[:1]]
        return inputs + outputs
    return [tensor for tensor in tensors if len(tensor.shape) == 2 and least <= tensor.shape[0] < least + SPARE_ROWS]


def _rows_for(weights: Path, start: int, tensor: Tensor, sources: Sequence[IdSource]) -> Iterator[bytes]:
    """Yield the bytes of the new rows of a tensor, a block at a time."""
    width = math.prod(tensor.shape[1:])
    kind = np.dtype(FLOATS[tensor.dtype]).newbyteorder("<")
    old: NDArray[Any] = np.memmap(weights, kind, "r", start + tensor.begin, (tensor.shape[0], width))
    missing = any(source.kind == "none" for source in sources)
    mean = _as_stored(_mean_row(old, tensor.dtype), tensor.dtype) if missing else None
    step = max(1, BLOCK_BYTES // max(1, width * kind.itemsize))
    for first in range(0, len(sources), step):
        block = np.empty((len(sources[first : first + step]), width), kind)
        for row, source in enumerate(sources[first : first + step]):
            if source.kind == "none":
                block[row] = mean
            elif len(source.ids) == 1:
                block[row] = old[source.ids[0]]
            else:
                numbers = _as_float(old[list(source.ids)], tensor.dtype)
                block[row] = _as_stored(numbers.mean(axis=0), tensor.dtype)
        yield block.tobytes()


def _mean_row(old: NDArray[Any], dtype: str) -> NDArray[np.float64]:
    total = np.zeros(old.shape[1])
    step = max(1, BLOCK_BYTES // max(1, 8 * old.shape[1]))
    for first in range(0, len(old), step):
        total += _as_float(old[first : first + step], dtype).sum(axis=0)
    return total / len(old)


def _as_float(values: NDArray[Any], dtype: str) -> NDArray[np.float64]:
    """Return numbers in double precision; those of BF16 are the upper halves of single precision."""
    if dtype == "BF16":
        values = (values.astype(np.uint32) << 16).view(np.float32)
    return values.astype(np.float64)


def _as_stored(values: NDArray[np.float64], dtype: str) -> NDArray[Any]:
    """Return numbers as a file stores them, rounded to the nearest, ties to even."""
    if dtype != "BF16":
        return values.astype(FLOATS[dtype])
    bits = values.astype(np.float32).view(np.uint32)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)


def _copy(old: BinaryIO, new: BinaryIO, place: int, size: int) -> None:
    old.seek(place)
    while size:
        block = old.read(min(size, BLOCK_BYTES))
        new.write(block)
        size -= len(block)


def summary(carried: Carried, unused: int) -> str:
    """Return the numbers of rows of each kind as a sentence.

    Args:
        carried: result of :func:`carry_embeddings`.
        unused: number of old tokens that have no row any more.
    """
    number: Mapping[str, int] = {
        kind: sum(source.kind == kind for source in carried.sources) for kind in ("same", "mean", "none")
    }
    return (
        f"{len(carried.sources):,} rows (before: {carried.old_rows:,}): {number['same']:,} are the same, "
        f"{number['mean']:,} are means of old rows, {number['none']:,} have no old rows (the mean of all); "
        f"{unused:,} old tokens are lost"
    )
