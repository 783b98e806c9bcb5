"""A corpus put together from shards that were written by several jobs."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from tokbench.atomic import link_or_copy
from tokbench.corpus.manifest import read_findings, write_findings
from tokbench.corpus.prepare import link_splits
from tokbench.corpus.shards import shard_paths
from tokbench.errors import TokbenchError


def gather(groups: Sequence[Path], shares: Mapping[str, float | str], shards: int, folder: Path) -> None:
    """Fill a corpus's folder with the shards that lie in several others.

    A shard gets a second name where it lies, and is copied where it cannot have one. The others' stays, so that
    nothing is lost where the process is killed.

    Args:
        groups: folders with ``{split}/{shard}.parquet``, each shard in one of them.
        shares: see :func:`tokbench.corpus.prepare.prepare`.
        shards: shards a split.
        folder: where the corpus goes.

    Raises:
        TokbenchError: one is no folder, or a shard is in none of them.
    """
    for group in groups:
        if not group.is_dir():
            raise TokbenchError(
                f"{group}: no folder of shards; a corpus in parts is prepared from those that 'tokbench write_shards' "
                "made, and one without 'parts' from its source"
            )
    found = {file.relative_to(group): file for group in groups for file in group.glob("*/*.parquet")}
    for split, share in shares.items():
        if isinstance(share, str):
            continue
        (folder / split).mkdir()
        for path in shard_paths(folder, split, shards):
            shard = found.get(path.relative_to(folder))
            if shard is None:
                told = f"{split}/{path.name} is in none of the {len(groups)} folders of shards"
                raise TokbenchError(f"{told}; name all that 'tokbench write_shards' made")
            link_or_copy(shard, path)
    link_splits(folder, shares)
    write_findings(folder, read_findings(groups[0]))
