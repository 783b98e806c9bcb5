"""Experiments that ran once without a fault, which every other run is held against."""

from pathlib import Path

import pytest

from tests.faults.trial import Trial

SMALL = Path(__file__).with_name("small.yaml")


@pytest.fixture(scope="session")
def demonstration(tmp_path_factory: pytest.TempPathFactory) -> Trial:
    """The default experiment; nobody writes to it any more."""
    made = Trial(tmp_path_factory.mktemp("demonstration"))
    made.run()
    return made


@pytest.fixture(scope="session")
def small(tmp_path_factory: pytest.TempPathFactory) -> Trial:
    """A small one with a language model; nobody writes to it any more."""
    made = Trial(tmp_path_factory.mktemp("small"), SMALL)
    made.run()
    return made
