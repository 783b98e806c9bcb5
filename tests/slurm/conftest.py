"""The cluster that the tests of a file share."""

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.slurm.cluster import Cluster, cluster


@pytest.fixture(scope="module")
def slurm() -> Iterator[Cluster]:
    """Not below the folders of tests, which none but their user may enter: munge wants its socket where all may."""
    with (
        TemporaryDirectory(prefix="slurm", dir="/tmp") as folder,
        cluster(Path(folder), nodes=4, memory=9000) as running,
    ):
        yield running
