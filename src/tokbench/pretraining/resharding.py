"""A checkpoint in the form that the processes read which go on from it: one file, or shards."""

from pathlib import Path

from torch.distributed.checkpoint.format_utils import dcp_to_torch_save, torch_save_to_dcp

from tokbench.pretraining.checkpoints import SHARDED, UNSEALED, UNSEALED_SHARDS, newest, recover, seal


def reshard(folder: Path, *, sharded: bool) -> None:
    """Rewrite the newest checkpoint if it has the other form, as a checkpoint like any other.

    Shards of another number of processes are read as they are; processes that each hold the whole model read one file.
    Called by one process while the others wait. A kill leaves one of the two forms, whole.

    Args:
        folder: checkpoints, which :func:`tokbench.pretraining.checkpoints.recover` has held against their checksums.
        sharded: whether shards are read, and not one file.
    """
    found = newest(folder)
    if found is None or (found.suffix == SHARDED) == sharded:
        return
    if sharded:
        torch_save_to_dcp(found, folder / f"{UNSEALED_SHARDS}{found.stem}")
    else:
        dcp_to_torch_save(found, folder / f"{found.stem}{UNSEALED}")
    seal(folder)
    recover(folder)
