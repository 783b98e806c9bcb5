"""Paths of external test data; docs/data.md lists the files and their sources.

``TOKBENCH_DATA`` names their folder (default: ``../shared/data`` next to the checkout). Tests whose data are absent are
skipped with the missing path as the reason.
"""

import os
from pathlib import Path

import pytest

from tests.support.workflow.checkout import ROOT

DATA = Path(os.environ.get("TOKBENCH_DATA") or ROOT.parent / "shared" / "data")
PUBLISHED = DATA.parent / "published"
"""Tables of the papers, typed off, next to the data."""


def needs(*paths: Path) -> pytest.MarkDecorator:
    """Skips tests where one of the paths is absent."""
    return pytest.mark.skipif(bool(absent(*paths)), reason=absent(*paths))


def skip_without(*paths: Path) -> None:
    """Skip the running test where one of the paths is absent."""
    if told := absent(*paths):
        pytest.skip(told)


def absent(*paths: Path) -> str:
    """What to say of the paths that are absent; nothing if all are there."""
    gone = [path for path in paths if not path.exists()]
    return f"{gone[0]} is absent; docs/data.md says where to get it, TOKBENCH_DATA where it is" if gone else ""
