"""Where data from outside lie that some tests read; docs/data.md says what they are and where to get them.

``TOKBENCH_DATA`` names their folder; without it they are looked for beside the checkout, in ``../shared/data``. Tests
whose data are absent are skipped and say what they miss.
"""

import os
from pathlib import Path

import pytest

from tests.support.workflow.checkout import ROOT

DATA = Path(os.environ.get("TOKBENCH_DATA") or ROOT.parent / "shared" / "data")
PUBLISHED = DATA.parent / "published"
"""Tables of the papers, typed off; they lie beside the data."""


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
