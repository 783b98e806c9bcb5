"""Packed sequences as training data for llm-foundry.

The training is one pass over a stream of batches. Each batch depends only on its number. Training can therefore resume
at any batch without reading earlier ones, and any number of devices sees the same batches. streaming's own dataset is
not used, because it keeps named shared memory, which concurrent starts race for and killed runs leave behind.

Sequences are read in their stored order, which is the same order of documents for every tokenizer.
"""

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import torch
from composer.core import DataSpec
from composer.utils import dist
from streaming import LocalDataset
from torch.utils.data import DataLoader, IterableDataset

UNTRAINED = -100
"""Label of an id that is not trained on, as defined by PyTorch's cross entropy."""


class PackedSequences(IterableDataset):
    """This device's share of every batch: ids and labels, int64 [sequence_length] each.

    Args:
        folder: packed sequences.
        batch: sequences per batch, over all devices.
        sequences: sequences of the training. An incomplete last batch is filled with untrained sequences.
        padding: ids at the end of the folder's last sequence that are not trained on.
        last: ids of the training's last sequence that are trained on.
    """

    def __init__(self, folder: Path, *, batch: int, sequences: int, padding: int, last: int) -> None:
        self._data = LocalDataset(str(folder))
        self._batch = batch
        self._sequences = sequences
        self._padding = padding
        self._last = last
        self._share = batch // dist.get_world_size()
        self._start = 0

    @property
    def batches(self) -> int:
        """Number of batches of the training."""
        return -(-self._sequences // self._batch)

    def __len__(self) -> int:
        return self.batches * self._share

    def __iter__(self) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
        first = dist.get_global_rank() * self._share
        for number in range(self._start, self.batches):
            for index in range(number * self._batch + first, number * self._batch + first + self._share):
                yield self._sequence(index)

    def _sequence(self, index: int) -> tuple[torch.Tensor, torch.Tensor]:
        position = index % len(self._data)
        ids = torch.from_numpy(self._data[position]["tokens"].astype(np.int64))
        labels = ids.clone()
        if position == len(self._data) - 1 and self._padding:
            labels[-self._padding :] = UNTRAINED
        if index >= self._sequences - 1:
            labels[self._last if index == self._sequences - 1 else 0 :] = UNTRAINED
        return ids, labels

    def state_dict(self, num_samples: int, from_beginning: bool) -> dict[str, Any]:
        """Return the position of training. Composer passes the number of samples that all devices have seen."""
        del from_beginning
        return {"batch": num_samples // self._batch}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Resume from a position."""
        self._start = state["batch"]


class Phases(IterableDataset):
    """This device's share of every batch of consecutive phases.

    Args:
        phases: the phases, each with its own batches.
    """

    def __init__(self, phases: Sequence[PackedSequences]) -> None:
        self._phases = phases

    def __len__(self) -> int:
        return sum(map(len, self._phases))

    def __iter__(self) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
        return chain.from_iterable(self._phases)

    def state_dict(self, num_samples: int, from_beginning: bool) -> dict[str, Any]:
        """Return the position of training. Composer passes the number of samples that all devices have seen."""
        return self._phases[0].state_dict(num_samples, from_beginning)

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Resume from a position."""
        left = state["batch"]
        for phase in self._phases:
            batches_done = min(left, phase.batches)
            phase.load_state_dict({"batch": batches_done})
            left -= batches_done


def packed_loader(
    *,
    tokenizer: object,
    device_batch_size: int,
    batch: int,
    phases: Sequence[dict[str, Any]],
    boundary: int | None = None,
) -> DataSpec:
    """Return the data loader ``tokbench_packed`` of llm-foundry. Ids are already packed, so no tokenizer is needed.

    Args:
        tokenizer: ignored.
        device_batch_size: sequences per batch for this device.
        batch: sequences per batch over all devices.
        phases: folder, sequences, padding and last ids of each phase, see :class:`PackedSequences`.
        boundary: id that begins a document, for attention within documents. Default: None, there is no boundary.
    """
    del tokenizer
    sequences = Phases([PackedSequences(Path(phase["folder"]), batch=batch, **_counts(phase)) for phase in phases])
    loader = DataLoader(
        sequences, batch_size=device_batch_size, collate_fn=partial(_collate, boundary=boundary), num_workers=0
    )
    return DataSpec(loader, get_num_tokens_in_batch=_tokens)


def _counts(phase: dict[str, Any]) -> dict[str, int]:
    return {name: phase[name] for name in ("sequences", "padding", "last")}


def _collate(
    sequences: list[tuple[torch.Tensor, torch.Tensor]], boundary: int | None = None
) -> dict[str, torch.Tensor]:
    ids, labels = map(torch.stack, zip(*sequences, strict=True))
    batch = {"input_ids": ids, "labels": labels}
    return batch if boundary is None else batch | {"sequence_id": sequence_ids(ids, boundary)}


def sequence_ids(ids: torch.Tensor, boundary: int) -> torch.Tensor:
    """Return the number of the document of each id within its sequence, from 0.

    The numbers are those of llm-foundry's ``ConcatenatedSequenceCollatorWrapper`` for a token that begins documents.
    A document begins with the end of text before it, as in evaluation, so that its first token has this context. The
    first document of a sequence is usually the rest of one that began in the previous sequence.

    Args:
        ids: int64 [batch, sequence_length].
        boundary: id that begins a document.

    Returns:
        int64 [batch, sequence_length].
    """
    numbers = (ids == boundary).cumsum(dim=1)
    return numbers - numbers[:, :1]


def _tokens(batch: dict[str, torch.Tensor]) -> dict[str, int]:
    """Count the tokens that are trained on, and those that are predicted: all but the first of each sequence.

    Composer weights the mean loss of a pass by the latter.
    """
    trained = batch["labels"] != UNTRAINED
    return {"total": int(trained.sum()), "loss_generating": int(trained[:, 1:].sum())}
