"""Packed sequences as llm-foundry's training data.

The whole training is one pass over a stream of batches, each a function of its number alone. So training resumes at
any batch without reading what came before, any number of devices sees the same batches, and runs that share a machine
share nothing else: streaming's own dataset keeps named shared memory that concurrent starts race for and killed runs
leave behind.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
from composer.core import DataSpec
from composer.utils import dist
from numpy.typing import NDArray
from streaming import LocalDataset
from torch.utils.data import DataLoader, IterableDataset


class PackedSequences(IterableDataset):
    """This device's share of every batch, as int64 [sequence_length] tensors.

    An epoch passes once over all whole batches in an order drawn from the seed and the epoch.

    Args:
        folder: packed sequences.
        batches: batches of the whole training.
        batch: sequences in a batch, over all devices.
        seed: seed of the order.
    """

    def __init__(self, folder: Path, *, batches: int, batch: int, seed: int) -> None:
        self._data = LocalDataset(str(folder))
        self._batches = batches
        self._batch = batch
        self._seed = seed
        self._share = batch // dist.get_world_size()
        self._start = 0

    def __len__(self) -> int:
        return self._batches * self._share

    def __iter__(self) -> Iterator[torch.Tensor]:
        in_epoch = len(self._data) // self._batch
        shown = -1
        order: NDArray[np.int64] = np.empty(0, np.int64)
        first = dist.get_global_rank() * self._share
        for number in range(self._start, self._batches):
            epoch, position = divmod(number, in_epoch)
            if epoch != shown:
                order = np.random.default_rng([self._seed, epoch]).permutation(len(self._data))
                shown = epoch
            batch = order[position * self._batch : (position + 1) * self._batch]
            for index in batch[first : first + self._share]:
                yield torch.from_numpy(self._data[int(index)]["tokens"].astype(np.int64))

    def state_dict(self, num_samples: int, from_beginning: bool) -> dict[str, Any]:
        """Where training stands; Composer asks with the samples all devices have seen."""
        del from_beginning
        return {"batch": num_samples // self._batch}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on from there."""
        self._start = state["batch"]


def packed_loader(
    *, tokenizer: object, device_batch_size: int, folder: str, batches: int, batch: int, seed: int
) -> DataSpec:
    """The data loader ``tokbench_packed`` of llm-foundry; ids come packed, so no tokenizer takes part."""
    del tokenizer
    sequences = PackedSequences(Path(folder), batches=batches, batch=batch, seed=seed)
    loader = DataLoader(sequences, batch_size=device_batch_size, collate_fn=_collate, num_workers=0)
    return DataSpec(loader, get_num_tokens_in_batch=_tokens)


def _collate(sequences: list[torch.Tensor]) -> dict[str, torch.Tensor]:
    ids = torch.stack(sequences)
    return {"input_ids": ids, "labels": ids.clone()}


def _tokens(batch: dict[str, torch.Tensor]) -> int:
    return batch["input_ids"].numel()
